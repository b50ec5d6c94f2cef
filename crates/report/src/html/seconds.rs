//! The rate second by second, or line by line of a program: whether a figure was steady.

use std::fmt::Write;

use maud::{Markup, html};
use result::Run;
use result::Trial;
use result::evidence::Work;
use result::outcome::Outcome;

use super::looks;
use super::markup::figure;
use super::verdict::sign;
use crate::contenders;
use crate::text::visible_name;
use crate::trials;
use crate::units;

/// Height of a strip in units of its own, which are pixels.
const HEIGHT: f64 = 30.0;

/// Seconds' worth of space between two blocks.
const GAP: f64 = 0.5;

/// A strip a contender, every block of it in turn, on a common axis.
pub fn strips(run: &Run, outcome: &Outcome) -> Markup {
    let trials = |name| trials::trials(run, &outcome.setting, name);
    let all = || outcome.rows.iter().flat_map(|row| trials(&row.contender));
    let seen = |trial| warmup(trial).into_iter().chain(rates(trial));
    let highest = all().flat_map(seen).map(|(_, rate)| rate).fold(0.0, f64::max);
    if highest < 1.0 {
        return html! {};
    }
    let is_of_lines = !run.study.kind.is_asked();
    let (title, each, beside) = if is_of_lines {
        ("Line by line ", "what each program told", "Pale: its warm-up, which isn't counted.")
    } else {
        ("Second by second ", "seconds", "Seconds with errors are marked below.")
    };
    html! {
        figure {
            figcaption {
                (title)
                span.quiet {
                    "Vertical: 0 to " (units::count(highest)) "/s. Horizontal: " (each)
                    ", with a gap between blocks. " (beside)
                }
            }
            @for row in &outcome.rows {
                @let title = contenders::who(run, &row.contender);
                @let trials = trials(&row.contender);
                div.row data-contender=(visible_name(&row.contender)) data-verdicts=(row.verdict.word()) {
                    span.who {
                        (title) " " (sign(row.verdict))
                        @if let (true, Some(seconds)) = (is_of_lines, ready_s(&trials)) {
                            " " span.quiet { "ready in " (units::time(seconds * 1e6)) }
                        }
                    }
                    (strip(&trials, highest, looks::class(run, &row.contender)))
                    span.value.quiet { (figure(row.verdict, range(&trials))) }
                }
            }
        }
    }
}

fn works(trial: &Trial) -> impl Iterator<Item = &Work> {
    trial.evidence.work.iter()
}

/// The rates of a trial in turn, each with its seconds.
fn rates(trial: &Trial) -> Vec<(f64, f64)> {
    works(trial).flat_map(Work::rates).collect()
}

/// The same of a program's warm-up.
fn warmup(trial: &Trial) -> Vec<(f64, f64)> {
    let intervals = works(trial).flat_map(|work| &work.warmup);
    intervals.map(|it| (it.seconds, it.rate())).collect()
}

/// How long contenders took to start: the median over blocks.
fn ready_s(trials: &[&Trial]) -> Option<f64> {
    let mut seconds: Vec<f64> = trials.iter().filter_map(|trial| trial.evidence.ready_s).collect();
    seconds.sort_by(f64::total_cmp);
    seconds.get(seconds.len() / 2).copied()
}

fn errors(trial: &Trial) -> u64 {
    works(trial).flat_map(|work| &work.per_second).map(|second| second.errors).sum()
}

fn strip(trials: &[&Trial], highest: f64, look: &str) -> Markup {
    let mut path = String::new();
    let mut pale = String::new();
    let mut errors = String::new();
    let mut at = 0.0;
    for trial in trials {
        let mut errors_of = works(trial).flat_map(|work| &work.per_second).map(|it| it.errors);
        // Writing to a string can't fail.
        let mut mark = |at: f64| {
            let _ = write!(errors, "M{at},{}h1", HEIGHT - 1.0);
        };
        at = steps(&mut pale, &warmup(trial), at, highest);
        steps(&mut path, &rates(trial), at, highest);
        for (seconds, _) in rates(trial) {
            if errors_of.next().is_some_and(|errors| errors > 0) {
                mark(at);
            }
            at += seconds;
        }
        // One that the window cuts has a place only for its errors.
        if errors_of.any(|errors| errors > 0) {
            mark(at);
            at += 1.0;
        }
        at += GAP;
    }
    let width = (at - GAP).max(1.0);
    let view = format!("0 0 {width} {HEIGHT}");
    html! {
        svg.strip.(look) viewBox=(view) preserveAspectRatio="none" aria-hidden="true" {
            @if !pale.is_empty() { path.rates.pale d=(pale) {} }
            path.rates d=(path) {}
            @if !errors.is_empty() { path.errors d=(errors) {} }
        }
    }
}

/// Draws rates from a place on, each for its seconds, and returns where they end.
fn steps(path: &mut String, rates: &[(f64, f64)], from: f64, highest: f64) -> f64 {
    let mut at = from;
    for (number, (seconds, rate)) in rates.iter().enumerate() {
        let y = HEIGHT - 2.0 - rate / highest * (HEIGHT - 4.0);
        let join = if number == 0 { format!("M{at},") } else { "V".into() };
        at = ((at + seconds) * 1e3).round() / 1e3;
        // Writing to a string can't fail.
        let _ = write!(path, "{join}{y:.1}H{at}");
    }
    at
}

fn range(trials: &[&Trial]) -> String {
    let all = || trials.iter().flat_map(|trial| rates(trial)).map(|(_, rate)| rate);
    let (Some(low), Some(high)) = (all().reduce(f64::min), all().reduce(f64::max)) else {
        return units::NOTHING.into();
    };
    let range = units::count_range((low, high));
    match trials.iter().map(|trial| errors(trial)).sum() {
        0 => range,
        errors => format!("{range}, {} came up", units::of(errors, "error")),
    }
}
