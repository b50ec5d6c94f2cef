//! What was found under one load.

use maud::{Markup, html};
use result::Run;
use result::evidence::ErrorKind;
use result::finding::{Finding, Verdict};
use result::outcome::{Estimate, Outcome, Row};

use super::bars::{Axis, Fill};
use super::{badge, figure, overview, prose, scrolling, seconds};
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
            @if let Some(finding) = summary::finding(run, outcome) { p { (prose(&finding)) } }
            (rates(run, outcome))
            @for missing in summary::without_figure(run, outcome) {
                p { strong { (missing.who) } " has no figure: " (prose(missing.reason)) }
                (last_words(missing.last_words))
            }
            (cpu(run, outcome))
            (times(run, outcome))
            (seconds::strips(run, outcome))
        }
    }
}

/// How a chart's numbers are written.
struct Scale {
    number: fn(f64) -> String,
    range: fn(units::Range) -> String,
    /// Where there is no room for it, `short`.
    unit: &'static str,
    short: &'static str,
}

const RATE: Scale =
    Scale { number: units::count, range: units::count_range, unit: " answers/s", short: "/s" };
const CPU: Scale =
    Scale { number: units::plain, range: units::plain_range, unit: " µs", short: " µs" };

/// One figure of a chart.
struct Figure<'a> {
    title: &'a str,
    verdict: Verdict,
    estimate: &'a Estimate,
    at_least: bool,
    scale: Scale,
}

impl Figure<'_> {
    fn bar(&self, axis: &Axis) -> Markup {
        let fill = match self.verdict {
            Verdict::Invalid => Fill::Outline,
            _ if self.at_least => Fill::Hatched,
            _ => Fill::Solid,
        };
        axis.bar(self.estimate, fill, &self.alternative())
    }

    fn median(&self) -> String {
        let median = (self.scale.number)(self.estimate.median);
        format!("{}{median}", units::at_least(self.at_least))
    }

    /// What a reader who can't see the bar is told.
    fn alternative(&self) -> String {
        let Figure { title, verdict, estimate, scale, .. } = self;
        let range = match summary::range(estimate) {
            Range::Interval(range) => format!(", 95 % interval {}", (scale.range)(range)),
            Range::Blocks(range) => format!(", blocks from {}", (scale.range)(range)),
            Range::None => String::new(),
        };
        format!("{title}: {}{}{range}, {}", self.median(), scale.unit, verdict.word())
    }

    fn value(&self) -> Markup {
        let range = self.scale.range;
        html! {
            span.value {
                (figure(self.verdict, html! { strong { (self.median()) } }))
                @match summary::range(self.estimate) {
                    Range::Interval(interval) => { " " span.quiet { "(" (range(interval)) ")" } }
                    Range::Blocks(blocks) => { " " span.quiet { "[" (range(blocks)) "]" } }
                    Range::None => {}
                }
            }
        }
    }
}

fn rates(run: &Run, outcome: &Outcome) -> Markup {
    let axis = Axis::over(outcome.rows.iter().map(|row| &row.rate));
    html! {
        figure {
            figcaption { "Answers a second " span.quiet { "more is better" } }
            @for row in &outcome.rows {
                @let title = &summary::title(run, &row.contender);
                @let (verdict, estimate, at_least) = (row.verdict, &row.rate, row.rate_at_least);
                @let rate = Figure { title, verdict, estimate, at_least, scale: RATE };
                details {
                    summary.row {
                        span.who {
                            span.rank { (summary::rank(outcome, row)) }
                            (title) " " span.quiet { (tier(run, row)) }
                        }
                        (rate.bar(&axis)) (rate.value()) (badge(verdict))
                    }
                    (checks(run, outcome, row))
                }
            }
            div.row { (axis.scale(RATE.short)) }
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
                @for (row, estimate) in known() {
                    @let title = &summary::title(run, &row.contender);
                    @let verdict = row.verdict;
                    @let cpu = Figure { title, verdict, estimate, at_least: false, scale: CPU };
                    div.row { span.who { (title) } (cpu.bar(&axis)) (cpu.value()) }
                }
                div.row { (axis.scale(CPU.short)) }
            }
        }
    }
}

fn tier(run: &Run, row: &Row) -> &'static str {
    summary::contender(run, &row.contender).map_or("", |it| summary::tier_name(it.tier))
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
                span {
                    "Time to the whole answer, " (from)
                    "; – where fewer than 100 requests lie beyond"
                }
            }
            thead {
                tr {
                    th scope="col" { "Contender" }
                    th.number scope="col" { "rate of best" }
                    @for percentile in PERCENTILES { th.number scope="col" { "p" (percentile) } }
                    th.number scope="col" { "max" }
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
            th scope="row" { (summary::title(run, &row.contender)) }
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
            @for time in times {
                td.number {
                    @match time {
                        None => (units::NOTHING),
                        Some(time) => {
                            @let bound = units::at_least(time.at_least);
                            (figure(row.verdict, html! { (bound) (units::time(time.us)) }))
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

fn last_words(lines: &[String]) -> Markup {
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
