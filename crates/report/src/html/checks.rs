//! What the checks said: of all figures, of one, and what they are.

use std::collections::BTreeMap;

use maud::{Markup, html};
use result::Run;
use result::evidence::ErrorKind;
use result::finding::{Finding, Verdict};
use result::outcome::{Outcome, Row};

use super::detail::Detail;
use super::markup::prose;
use super::verdict::{anchor, badge, sign};
use crate::findings::{self, ByCheck, Case, Group};
use crate::missing::Missing;
use crate::names;
use crate::text::visible;
use crate::trials;
use crate::units;

/// Figures that a finding names where there is little room.
const CASES_MAX: usize = 12;

/// What stands against figures: a line a check, which opens.
pub fn against(run: &Run, detail: Detail) -> Markup {
    let cases_max = if detail == Detail::Bare { CASES_MAX } else { usize::MAX };
    let checks = findings::by_check(run);
    let first = |of: Verdict| checks.iter().position(|it| it.groups[0].verdict == of);
    let check = |at: usize, by_check: &ByCheck| {
        let (groups, worst) = (&by_check.groups, &by_check.groups[0]);
        let is_first = first(worst.verdict) == Some(at);
        html! {
            details.finding id=[is_first.then_some(anchor(worst.verdict))] {
                summary {
                    (badge(worst.verdict)) " " code { (visible(worst.check)) } " "
                    span.quiet { (by_check.counts()) } " "
                    (prose(&said_of(groups, worst.verdict)))
                }
                @for group in groups { (of_group(run, group, cases_max)) }
            }
        }
    };
    html! {
        @if !checks.is_empty() { h2 { "Before you use a figure" } }
        @for (at, by_check) in checks.iter().enumerate() { (check(at, by_check)) }
    }
}

/// All that a check says with this verdict, each sentence once: of some figures it may say the
/// opposite of what it says of others, and then go on alike.
fn said_of(groups: &[Group], verdict: Verdict) -> String {
    let mut said: Vec<&str> = Vec::new();
    for group in groups.iter().filter(|group| group.verdict == verdict) {
        for sentence in group.says.split_inclusive(". ").map(str::trim_end) {
            if !said.contains(&sentence) {
                said.push(sentence);
            }
        }
    }
    said.join(" ")
}

/// What a check says alike of several figures.
fn of_group(run: &Run, group: &Group, cases_max: usize) -> Markup {
    html! {
        p { (badge(group.verdict)) " " (prose(group.says)) }
        ul {
            @for case in group.cases.iter().take(cases_max) { li { (case_line(run, case)) } }
            @if let Some(more @ 1..) = group.cases.len().checked_sub(cases_max) {
                li { "and " (units::whole(more as u64)) " more" }
            }
        }
        @if !group.threshold.is_empty() {
            p { strong { "Threshold: " } (prose(group.threshold)) }
        }
        @if !group.fix.is_empty() { p { strong { "Fix: " } (prose(group.fix)) } }
    }
}

fn case_line(run: &Run, case: &Case) -> Markup {
    html! {
        (case.names())
        @if !case.value.is_empty() { ": " (prose(case.value)) }
        " " span.quiet { "(" (names::settings(run, &case.settings)) ")" }
    }
}

/// What a row's badge opens; empty where nothing is left of it on a large run's page.
pub fn of_row(run: &Run, outcome: &Outcome, row: &Row, detail: Detail) -> Markup {
    let trials = trials::trials(run, &outcome.setting, &row.contender);
    let mut errors: Vec<ErrorKind> = Vec::new();
    for error in trials.iter().filter_map(|it| it.evidence.work.as_ref()).flat_map(|it| &it.errors)
    {
        match errors.iter_mut().find(|known| known.kind == error.kind) {
            Some(known) => known.count += error.count,
            None => errors.push(error.clone()),
        }
    }
    let failures = trials.iter().filter(|trial| trial.evidence.process.failure.is_some());
    html! {
        @for reason in row.standings.values().filter_map(|it| it.unranked.as_ref()) {
            p { "Not ranked: " (prose(reason)) }
        }
        @if detail > Detail::Bare {
            ul {
                @for finding in row.findings.iter().filter(|it| it.verdict >= Verdict::Suspect) {
                    (against_figure(finding, detail))
                }
            }
            @for verdict in [Verdict::NotChecked, Verdict::Valid] {
                (not_against_figure(&row.findings, verdict, detail))
            }
        }
        @for error in errors {
            p {
                (units::of(error.count, "error")) " of kind " code { (visible(&error.kind)) }
                ", the first: " (visible(&error.example))
            }
        }
        @for (number, trial) in failures.enumerate() {
            @let process = &trial.evidence.process;
            p {
                "Block " (trial.slot.block + 1) ": "
                (prose(process.failure.as_deref().unwrap_or_default()))
            }
            // One that fails mostly says the same each time.
            @if detail == Detail::All || detail > Detail::Bare && number == 0 {
                (last_words(&process.last_words))
            }
        }
    }
}

/// A verdict in a table, which opens what is against the figure, as far as the page has
/// room for that.
pub fn in_cell(verdict: Verdict, findings: &[Finding], detail: Detail) -> Markup {
    let against = || findings.iter().filter(|finding| finding.verdict >= Verdict::Suspect);
    let word = html! { (sign(verdict)) " " (verdict.word()) };
    if detail < Detail::All || against().next().is_none() {
        return word;
    }
    html! {
        details {
            summary { (word) }
            ul { @for finding in against() { (against_figure(finding, detail)) } }
        }
    }
}

/// Who has no figure, why, and what it printed last.
pub fn missing(missing: &[Missing]) -> Markup {
    html! {
        @for missing in missing {
            p { strong { (missing.who) } " has no figure: " (prose(missing.reason)) }
            (last_words(missing.last_words))
        }
    }
}

/// What a server printed last.
pub fn last_words(lines: &[String]) -> Markup {
    html! {
        @if !lines.is_empty() { pre { @for line in lines { (visible(line)) "\n" } } }
    }
}

/// A check that has something against a figure. Threshold and fix are said above all
/// loads too.
fn against_figure(finding: &Finding, detail: Detail) -> Markup {
    let Finding { check, verdict, value, threshold, says, fix, off_by_max: _ } = finding;
    html! {
        li {
            (badge(*verdict)) " " code { (visible(check)) } " " (prose(value))
            div { (prose(says)) }
            @if detail == Detail::All {
                @if !threshold.is_empty() { div { strong { "Threshold: " } (prose(threshold)) } }
                @if !fix.is_empty() { div { strong { "Fix: " } (prose(fix)) } }
            }
        }
    }
}

/// The checks of a figure that have nothing against it, and what they saw, in few
/// bytes: there are thousands in a page. Their thresholds are in the list of checks;
/// what those need that couldn't look is said before all loads.
fn not_against_figure(findings: &[Finding], verdict: Verdict, detail: Detail) -> Markup {
    let those = || findings.iter().filter(|finding| finding.verdict == verdict);
    let said = match detail {
        Detail::All => {
            let said = those().map(|it| {
                let saw = if verdict == Verdict::Valid { &it.value } else { &it.says };
                format!("{}: {}", visible(&it.check), visible(saw))
            });
            said.collect::<Vec<_>>().join("; ")
        }
        _ => units::of(those().count() as u64, "check"),
    };
    html! {
        @if those().next().is_some() { p { (badge(verdict)) " " (said) } }
    }
}

/// Every check with its threshold. A finding may name only the part of it that its value
/// was held against; the longest is the whole.
pub fn all(run: &Run) -> Markup {
    let mut thresholds: BTreeMap<&str, &str> = BTreeMap::new();
    for finding in findings::all(run) {
        let known = thresholds.entry(&finding.check).or_default();
        if finding.threshold.len() > known.len() {
            *known = &finding.threshold;
        }
    }
    html! {
        dl {
            @for (check, threshold) in thresholds {
                div { dt { code { (visible(check)) } } dd { (prose(threshold)) } }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Else what a check says alike of all its figures stands in its line as often as the rest differs.
    #[test]
    fn a_sentence_that_a_check_says_of_several_figures_is_said_once() {
        let group = |says| Group {
            check: "client-limit",
            verdict: Verdict::Invalid,
            says,
            threshold: "",
            fix: "",
            cases: Vec::new(),
        };
        let groups = [
            group("The client was at its limit: who knows. Of the 2 cores none is left."),
            group("The client was the limit: the server can do more. Of the 2 cores none is left."),
        ];
        assert_eq!(
            said_of(&groups, Verdict::Invalid),
            "The client was at its limit: who knows. Of the 2 cores none is left. The client was \
             the limit: the server can do more."
        );
        assert_eq!(said_of(&groups, Verdict::Suspect), "");
    }
}
