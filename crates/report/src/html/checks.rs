//! What the checks said: of all figures, of one, and what they are.

use std::collections::BTreeMap;

use maud::{Markup, html};
use result::Run;
use result::evidence::ErrorKind;
use result::finding::{Finding, Verdict};
use result::outcome::{Outcome, Row};

use super::prose;
use crate::summary::{self, Case};
use crate::text::visible;
use crate::units;

/// A verdict's word and sign. The sign tells it from the others without colour.
pub fn badge(verdict: Verdict) -> Markup {
    html! { span.badge.(class(verdict)) { (summary::sign(verdict)) " " (verdict.word()) } }
}

/// The sign alone, where a table has no room for the word.
pub fn sign(verdict: Verdict) -> Markup {
    html! { span.(class(verdict)) title=(verdict.word()) { (summary::sign(verdict)) } }
}

fn class(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Valid => "valid",
        Verdict::NotChecked => "not-checked",
        Verdict::Suspect => "suspect",
        Verdict::Invalid => "invalid",
    }
}

/// What stands against figures. What makes them invalid is open, the rest opens.
pub fn against(run: &Run) -> Markup {
    let groups = summary::findings_against(run);
    html! {
        @if !groups.is_empty() { h2 { "Before you use a figure" } }
        @for group in &groups {
            details.finding open[group.verdict == Verdict::Invalid] {
                summary {
                    (badge(group.verdict)) " " code { (visible(group.check)) } " " (prose(group.says))
                }
                ul { @for case in &group.cases { li { (case_line(case)) } } }
                @if !group.threshold.is_empty() {
                    p { strong { "Threshold: " } (prose(group.threshold)) }
                }
                @if !group.fix.is_empty() { p { strong { "Fix: " } (prose(group.fix)) } }
            }
        }
    }
}

fn case_line(case: &Case) -> Markup {
    html! {
        (case.names())
        @if !case.value.is_empty() { ": " (prose(case.value)) }
        " " span.quiet { "(" (summary::load_names(&case.loads)) ")" }
    }
}

/// What a row's badge opens.
pub fn of_row(run: &Run, outcome: &Outcome, row: &Row) -> Markup {
    let trials = summary::trials(run, &outcome.load, &row.contender);
    let mut errors: Vec<ErrorKind> = Vec::new();
    for error in trials.iter().filter_map(|it| it.evidence.load.as_ref()).flat_map(|it| &it.errors)
    {
        match errors.iter_mut().find(|known| known.kind == error.kind) {
            Some(known) => known.count += error.count,
            None => errors.push(error.clone()),
        }
    }
    let failures = trials.iter().filter(|trial| trial.evidence.process.failure.is_some());
    html! {
        div.checks {
            @if let Some(reason) = &row.unranked { p { "Not ranked: " (prose(reason)) } }
            ul { @for finding in &row.findings { (check(finding)) } }
            @for error in errors {
                p {
                    (units::of(error.count, "error")) " of kind " code { (visible(&error.kind)) }
                    ", the first: " (visible(&error.example))
                }
            }
            @for trial in failures {
                @let process = &trial.evidence.process;
                p {
                    "Block " (trial.slot.block + 1) ": "
                    (prose(process.failure.as_deref().unwrap_or_default()))
                }
                (last_words(&process.last_words))
            }
        }
    }
}

/// What a server printed last.
pub fn last_words(lines: &[String]) -> Markup {
    html! {
        @if !lines.is_empty() { pre { @for line in lines { (visible(line)) "\n" } } }
    }
}

/// One check. A valid one has a line only, as there are thousands in a page; its
/// threshold is in the list of checks.
fn check(finding: &Finding) -> Markup {
    let Finding { check, verdict, value, threshold, says, fix } = finding;
    html! {
        li {
            @if *verdict == Verdict::Valid {
                (summary::sign(*verdict)) " " code { (visible(check)) } " " (prose(value))
            } @else {
                (badge(*verdict)) " " code { (visible(check)) } " " (prose(value))
                div { (prose(says)) }
                @if !threshold.is_empty() { div { strong { "Threshold: " } (prose(threshold)) } }
                @if !fix.is_empty() { div { strong { "Fix: " } (prose(fix)) } }
            }
        }
    }
}

/// Every check with its threshold.
pub fn all(run: &Run) -> Markup {
    let thresholds: BTreeMap<&str, &str> = run
        .outcomes
        .iter()
        .flat_map(|outcome| &outcome.rows)
        .flat_map(|row| &row.findings)
        .map(|finding| (&*finding.check, &*finding.threshold))
        .collect();
    html! {
        dl {
            @for (check, threshold) in thresholds {
                div { dt { code { (visible(check)) } } dd { (prose(threshold)) } }
            }
        }
    }
}
