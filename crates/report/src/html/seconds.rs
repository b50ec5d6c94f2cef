//! The rate second by second: whether a figure was steady.

use std::fmt::Write;

use maud::{Markup, html};
use result::Run;
use result::Trial;
use result::evidence::Second;
use result::outcome::Outcome;

use super::checks::sign;
use super::figure;
use crate::summary;
use crate::text::visible_name;
use crate::units;

/// Height of a strip in units of its own, which are pixels.
const HEIGHT: f64 = 30.0;

/// Seconds' worth of space between two blocks.
const GAP: f64 = 0.5;

/// A strip a contender, every block of it in turn, on a common axis.
pub fn strips(run: &Run, outcome: &Outcome) -> Markup {
    let trials = |name| summary::trials(run, &outcome.setting, name);
    let highest = outcome
        .rows
        .iter()
        .flat_map(|row| trials(&row.contender))
        .flat_map(seconds)
        .map(|second| second.good)
        .max();
    let Some(highest @ 1..) = highest else { return html! {} };
    html! {
        figure {
            figcaption {
                "Second by second "
                span.quiet {
                    "each from 0 to " (units::count(highest as f64)) "/s"
                    ", seconds from left to right, with a gap between blocks; those with errors are \
                     marked below"
                }
            }
            @for row in &outcome.rows {
                @let title = summary::who(run, &row.contender);
                @let trials = trials(&row.contender);
                div.row data-contender=(visible_name(&row.contender)) data-verdicts=(row.verdict.word()) {
                    span.who { (title) " " (sign(row.verdict)) }
                    (strip(&trials, highest))
                    span.value.quiet { (figure(row.verdict, range(&trials))) }
                }
            }
        }
    }
}

/// The whole seconds of a trial: of a window of 1.2 s the second one is a fifth, and would
/// look like a fifth of the rate.
fn seconds(trial: &Trial) -> &[Second] {
    whole_and_cut(trial).0
}

/// The whole seconds of a trial, and what the window cuts.
fn whole_and_cut(trial: &Trial) -> (&[Second], &[Second]) {
    trial.evidence.work.as_ref().map_or((&[], &[]), |work| {
        work.per_second.split_at(work.per_second.len().min(work.seconds as usize))
    })
}

fn errors(trial: &Trial) -> u64 {
    let work = trial.evidence.work.as_ref();
    work.map_or(0, |work| work.per_second.iter().map(|second| second.errors).sum())
}

fn strip(trials: &[&Trial], highest: u64) -> Markup {
    let mut rates = String::new();
    let mut errors = String::new();
    let mut mark = |at: f64| {
        // Writing to a string can't fail.
        let _ = write!(errors, "M{at},{}h1", HEIGHT - 1.0);
    };
    let mut at = 0.0;
    for trial in trials {
        let (whole, cut) = whole_and_cut(trial);
        for (number, second) in whole.iter().enumerate() {
            let y = HEIGHT - 2.0 - second.good as f64 / highest as f64 * (HEIGHT - 4.0);
            let join = if number == 0 { format!("M{at}") } else { "V".into() };
            let comma = if number == 0 { "," } else { "" };
            let _ = write!(rates, "{join}{comma}{y:.1}H{}", at + 1.0);
            if second.errors > 0 {
                mark(at);
            }
            at += 1.0;
        }
        // One that the window cuts has a place only for its errors.
        if cut.iter().any(|second| second.errors > 0) {
            mark(at);
            at += 1.0;
        }
        at += GAP;
    }
    let width = (at - GAP).max(1.0);
    let view = format!("0 0 {width} {HEIGHT}");
    html! {
        svg.strip viewBox=(view) preserveAspectRatio="none" aria-hidden="true" {
            path.rates d=(rates) {}
            @if !errors.is_empty() { path.errors d=(errors) {} }
        }
    }
}

fn range(trials: &[&Trial]) -> String {
    let all = || trials.iter().flat_map(|trial| seconds(trial));
    let (Some(low), Some(high)) =
        (all().map(|second| second.good).min(), all().map(|second| second.good).max())
    else {
        return units::NOTHING.into();
    };
    let range = units::count_range((low as f64, high as f64));
    match trials.iter().map(|trial| errors(trial)).sum() {
        0 => range,
        errors => format!("{range}, {} came up", units::of(errors, "error")),
    }
}
