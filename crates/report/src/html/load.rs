//! What was found under one load.

use maud::{Markup, html};
use result::Run;
use result::evidence::ErrorKind;
use result::finding::{Finding, Verdict};
use result::outcome::{Estimate, Outcome, Row};

use super::bars::{Axis, Fill};
use super::{badge, figure, overview, scrolling, seconds};
use crate::latency;
use crate::summary::{self, Range};
use crate::text::visible;
use crate::units;

/// Percentiles that a reader may look for.
const PERCENTILES: [f64; 5] = [50.0, 90.0, 99.0, 99.9, 99.99];

/// One load's part of the page.
pub fn load(run: &Run, outcome: &Outcome) -> Markup {
    html! {
        section id=(overview::anchor(outcome)) {
            h3 { (units::of(outcome.load.connections.into(), "connection")) }
            p { (visible(&summary::finding(outcome))) }
            (rates(run, outcome))
            @for (who, reason) in summary::without_figure(run, outcome) {
                p { strong { (visible(who)) } " has no figure: " (visible(reason)) }
            }
            (cpu(run, outcome))
            (times(run, outcome))
            (seconds::strips(run, outcome))
        }
    }
}

fn rates(run: &Run, outcome: &Outcome) -> Markup {
    let axis = Axis::over(outcome.rows.iter().map(|row| &row.rate));
    html! {
        figure {
            figcaption { "Answers a second " span.quiet { "more is better" } }
            @for row in &outcome.rows {
                @let title = visible(summary::title(run, &row.contender));
                @let bound = if row.rate_at_least { "≥" } else { "" };
                @let rate = format!("{bound}{}", units::count(row.rate.median));
                @let alternative = alternative(&title, &rate, "answers/s", row, &row.rate);
                details {
                    summary.row {
                        span.who {
                            span.rank { (summary::rank(outcome, row)) } " "
                            (title) " " span.quiet { (tier(run, row)) }
                        }
                        (axis.bar(&row.rate, fill(row), &alternative))
                        (value(row, &rate, &row.rate, units::count_range))
                        (badge(row.verdict))
                    }
                    (checks(run, outcome, row))
                }
            }
            div.row { (axis.scale(units::tick)) span.value.quiet { "answers/s" } }
        }
    }
}

fn cpu(run: &Run, outcome: &Outcome) -> Markup {
    let known = || outcome.rows.iter().filter_map(|row| Some((row, row.server_cpu_us.as_ref()?)));
    let axis = Axis::over(known().map(|(_, cpu)| cpu));
    html! {
        @if known().next().is_some() {
            figure {
                figcaption { "Server CPU an answer " span.quiet { "less is better" } }
                @for (row, cpu) in known() {
                    @let title = visible(summary::title(run, &row.contender));
                    @let time = units::plain(cpu.median);
                    @let alternative = alternative(&title, &time, "µs", row, cpu);
                    @let fill = if row.verdict == Verdict::Invalid { Fill::Outline } else { Fill::Solid };
                    div.row {
                        span.who { (title) }
                        (axis.bar(cpu, fill, &alternative))
                        (value(row, &time, cpu, units::plain_range))
                    }
                }
                div.row { (axis.scale(units::tick)) span.value.quiet { "µs" } }
            }
        }
    }
}

fn fill(row: &Row) -> Fill {
    match row.verdict {
        Verdict::Invalid => Fill::Outline,
        _ if row.rate_at_least => Fill::Hatched,
        _ => Fill::Solid,
    }
}

fn tier(run: &Run, row: &Row) -> &'static str {
    summary::contender(run, &row.contender).map_or("", |it| summary::tier_name(it.tier))
}

/// What a reader who can't see a bar is told.
fn alternative(title: &str, figure: &str, unit: &str, row: &Row, estimate: &Estimate) -> String {
    let range = match summary::range(estimate) {
        Range::Interval(range) => format!(", 95 % interval {}", units::count_range(range)),
        Range::Blocks(range) => format!(", blocks from {}", units::count_range(range)),
        Range::None => String::new(),
    };
    format!("{title}: {figure} {unit}{range}, {}", row.verdict.word())
}

fn value(
    row: &Row,
    median: &str,
    estimate: &Estimate,
    range: fn(units::Range) -> String,
) -> Markup {
    html! {
        span.value {
            (figure(row.verdict, html! { strong { (median) } }))
            @match summary::range(estimate) {
                Range::Interval(interval) => { " " span.quiet { "(" (range(interval)) ")" } }
                Range::Blocks(blocks) => { " " span.quiet { "[" (range(blocks)) "]" } }
                Range::None => {}
            }
        }
    }
}

fn times(run: &Run, outcome: &Outcome) -> Markup {
    let open_loop = run.trials.iter().any(|trial| {
        trial.slot.load == outcome.load
            && trial.evidence.load.as_ref().is_some_and(|load| load.offered_rate.is_some())
    });
    let from = if open_loop { "from the intended start" } else { "from the send" };
    let table = html! {
        table {
            caption {
                "Time to the whole answer, " (from) "; – where fewer than 100 requests lie beyond"
            }
            thead {
                tr {
                    th scope="col" { "Contender" }
                    @for percentile in PERCENTILES { th.number scope="col" { "p" (percentile) } }
                    th.number scope="col" { "max" }
                    th.number scope="col" { "rate of best" }
                    th.number scope="col" { "client CPU" }
                    th.number scope="col" { "memory" }
                }
            }
            tbody { @for row in &outcome.rows { (times_row(run, outcome, row)) } }
        }
    };
    scrolling("Times and costs", table)
}

fn times_row(run: &Run, outcome: &Outcome, row: &Row) -> Markup {
    let trials = summary::trials(run, &outcome.load, &row.contender);
    let mut times: Vec<_> =
        PERCENTILES.iter().map(|percentile| latency::percentile(&trials, *percentile)).collect();
    times.push(latency::largest(&trials));
    let memory = trials.iter().filter_map(|trial| trial.evidence.server_rss_max_bytes).max();
    html! {
        tr {
            th scope="row" { (visible(summary::title(run, &row.contender))) }
            @for time in times {
                td.number {
                    @match time {
                        None => (units::NOTHING),
                        Some(time) => {
                            @let bound = if time.at_least { "≥" } else { "" };
                            (figure(row.verdict, html! { (bound) (units::time(time.us)) }))
                        }
                    }
                }
            }
            td.number {
                @match &row.rate_ratio {
                    None => (units::NOTHING),
                    Some(ratio) => {
                        (units::percent(ratio.median))
                        @if let Some((low, high)) = ratio.interval && low < high {
                            " " span.quiet { "(" (units::percent_range((low, high))) ")" }
                        }
                    }
                }
            }
            td.number { (units::time(row.client_cpu_us.median)) }
            td.number { (memory.map_or(units::NOTHING.into(), units::bytes)) }
        }
    }
}

/// What a row's badge opens.
fn checks(run: &Run, outcome: &Outcome, row: &Row) -> Markup {
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
            @if let Some(reason) = &row.unranked { p { "Not ranked: " (visible(reason)) } }
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
                    (visible(process.failure.as_deref().unwrap_or_default()))
                }
                @if !process.last_words.is_empty() {
                    pre { @for line in &process.last_words { (visible(line)) "\n" } }
                }
            }
        }
    }
}

fn check(finding: &Finding) -> Markup {
    html! {
        li {
            (badge(finding.verdict)) " " code { (visible(&finding.check)) } " "
            (visible(&finding.value))
            @if !finding.threshold.is_empty() { ", against " (visible(&finding.threshold)) }
            @if finding.verdict != Verdict::Valid {
                div { (visible(&finding.says)) }
                @if !finding.fix.is_empty() { div { strong { "Fix: " } (visible(&finding.fix)) } }
            }
        }
    }
}
