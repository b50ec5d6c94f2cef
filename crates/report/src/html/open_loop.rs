//! What an answer costs at one rate for all, and how response times grow with the
//! rate.

use maud::{Markup, html};
use result::Run;
use result::finding::Verdict;
use result::outcome::{Curve, CurveLine, CurvePoint, EqualRate, EqualRateRow, Estimate};
use result::plan::Arrivals;

use super::bars::Axis;
use super::checks::{self, in_cell, sign};
use super::times::PERCENTILES;
use super::{Detail, figure, percentiles, prose, scrolling};
use crate::latency;
use crate::summary::{self, Range};
use crate::text::visible_name;
use crate::units;

/// A table for each rate that all were offered.
pub fn equal_rates(run: &Run, detail: Detail) -> Markup {
    html! { @for outcome in &run.equal_rates { (equal_rate(run, outcome, detail)) } }
}

fn equal_rate(run: &Run, outcome: &EqualRate, detail: Detail) -> Markup {
    let rate = units::whole(outcome.offered_rate.round() as u64);
    let closed = outcome.load.with(Arrivals::Closed);
    let table = html! {
        table.sortable {
            caption { span { (rate) " requests a second; times count from when a request was due" } }
            thead {
                tr {
                    th scope="col" { "Contender" }
                    th.number scope="col" { "rank" }
                    th.number scope="col" { "CPU µs an answer" }
                    th.number scope="col" { "of least" }
                    @for percentile in PERCENTILES { th.number scope="col" { "p" (percentile) } }
                    th scope="col" { "verdict" }
                }
            }
            tbody {
                @for (row, share) in outcome.rows.iter().zip(summary::cpu_shares(outcome)) {
                    (equal_rate_row(run, outcome, (row, share), detail))
                }
            }
        }
    };
    html! {
        section.one-rate {
            h2 { "One rate for all: CPU time an answer" }
            p { (summary::load_names(&[&closed])) ". " (prose(&outcome.rule)) }
            p {
                (prose(&outcome.sentence))
                @if let Some(floor) = outcome.noise_floor { " " (summary::noise(floor)) }
            }
            (scrolling("One rate for all", table))
            (checks::missing(&summary::without_cost(run, outcome)))
            (percentiles::plot(run, &outcome.load, outcome.rows.iter().map(|row| (&*row.contender, row.verdict))))
        }
    }
}

fn equal_rate_row(
    run: &Run,
    outcome: &EqualRate,
    (row, share): (&EqualRateRow, Option<&Estimate>),
    detail: Detail,
) -> Markup {
    let ranks = outcome.rows.iter().map(|row| row.rank);
    let trials = summary::trials(run, &outcome.load, &row.contender);
    html! {
        tr data-contender=(visible_name(&row.contender)) data-verdicts=(row.verdict.word()) {
            th scope="row" { (summary::who(run, &row.contender)) }
            td.number { (summary::rank_among(ranks, row.rank)) }
            td.number data-value=[row.server_cpu_us.as_ref().map(|it| units::digits(it.median))] {
                @if let Some(cpu) = &row.server_cpu_us {
                    (figure(row.verdict, html! { (units::plain(cpu.median)) }))
                    @match summary::range(cpu) {
                        Range::Interval(it) => { " " span.quiet { "(" (units::plain_range(it)) ")" } }
                        Range::Blocks(it) => { " " span.quiet { "[" (units::plain_range(it)) "]" } }
                        Range::None => {}
                    }
                } @else { (units::NOTHING) }
            }
            td.number data-value=[share.map(|it| units::digits(it.median))] {
                (share.map_or(units::NOTHING.into(), |it| units::percent(it.median)))
            }
            @for time in PERCENTILES.map(|percentile| latency::percentile(&trials, percentile)) {
                td.number data-value=[time.map(|it| it.us.round())] {
                    @match time {
                        None => (units::NOTHING),
                        Some(time) => {
                            @let bound = units::at_least(time.at_least);
                            (figure(row.verdict, html! { (bound) (units::time(time.us)) }))
                        }
                    }
                }
            }
            td { (in_cell(row.verdict, &row.findings, detail)) }
        }
    }
}

fn response(time: Option<&Estimate>) -> String {
    time.map_or(units::NOTHING.into(), |time| {
        format!("{}{}", units::at_least(time.at_least), units::time(time.median))
    })
}

/// A chart a contender on common axes, and a table of all points.
pub fn curves(run: &Run, detail: Detail) -> Markup {
    html! { @for curve in &run.curves { (one(run, curve, detail)) } }
}

fn one(run: &Run, curve: &Curve, detail: Detail) -> Markup {
    let axes = Axes::of(curve);
    html! {
        h2 { "Response time as the rate grows" }
        p {
            "Each at shares of its own maximum in the closed loop: "
            (summary::load_names(&[&curve.load])) "."
        }
        figure {
            figcaption {
                "Response time by rate "
                span.quiet {
                    "from left to right answers/s; upwards the time, each line ten times the one "
                    "below; ● p99, ○ p50"
                    @if is_invalid_anywhere(curve) { ", dashed where invalid" }
                    @if is_bound_anywhere(curve) { ", with a stroke upwards where it may be longer" }
                }
            }
            @for line in curve.lines.iter().filter(|line| !line.points.is_empty()) {
                @let who = summary::who(run, &line.contender);
                div.row data-contender=(visible_name(&line.contender)) data-verdicts=(verdicts(line)) {
                    span.who { (who) }
                    (axes.chart(line, &who))
                    span.value.quiet { (hundred_percent(run, curve, line)) }
                }
            }
            div.row { (axes.rate.scale("/s")) }
        }
        @for line in &curve.lines {
            @if let Some(reason) = &line.left_out {
                p { strong { (summary::who(run, &line.contender)) } ": " (prose(reason)) }
            }
        }
        (scrolling("Points of the curve", points(run, curve, detail)))
    }
}

/// What 100 % is, with what stands beside the figure of the closed loop that it is of.
fn hundred_percent(run: &Run, curve: &Curve, line: &CurveLine) -> Markup {
    html! {
        (summary::hundred_percent(run, curve, line))
        @if let Some(row) = summary::row(run, &curve.load, &line.contender) {
            " " (sign(row.verdict))
        }
    }
}

/// Whether a time of the chart is but a lower bound.
fn is_bound_anywhere(curve: &Curve) -> bool {
    let points = curve.lines.iter().flat_map(|line| &line.points);
    let mut times = points.flat_map(|point| [&point.p50_us, &point.p99_us]).flatten();
    times.any(|time| time.at_least)
}

fn is_invalid_anywhere(curve: &Curve) -> bool {
    let mut points = curve.lines.iter().flat_map(|line| &line.points);
    points.any(|point| point.verdict == Verdict::Invalid)
}

fn verdicts(line: &CurveLine) -> String {
    line.points.iter().map(|point| point.verdict.word()).collect::<Vec<_>>().join(",")
}

fn points(run: &Run, curve: &Curve, detail: Detail) -> Markup {
    html! {
        table.sortable {
            caption { span { "Times count from when a request was due" } }
            thead {
                tr {
                    th scope="col" { "Contender" }
                    th.number scope="col" { "of its maximum" }
                    th.number scope="col" { "offered/s" }
                    th.number scope="col" { "answers/s" }
                    th.number scope="col" { "CPU µs an answer" }
                    th.number scope="col" { "p50" }
                    th.number scope="col" { "p99" }
                    th scope="col" { "verdict" }
                }
            }
            tbody {
                @for line in &curve.lines {
                    @for point in &line.points { (point_row(run, line, point, detail)) }
                }
            }
        }
    }
}

fn point_row(run: &Run, line: &CurveLine, point: &CurvePoint, detail: Detail) -> Markup {
    let cpu = point.server_cpu_us.as_ref().map(|it| it.median);
    html! {
        tr data-contender=(visible_name(&line.contender)) data-verdicts=(point.verdict.word()) {
            th scope="row" { (summary::who(run, &line.contender)) }
            td.number data-value=(point.percent) { (point.percent) " %" }
            td.number data-value=(units::digits(point.offered_rate)) { (units::count(point.offered_rate)) }
            td.number data-value=(units::digits(point.rate.median)) {
                (figure(point.verdict, units::count(point.rate.median)))
            }
            td.number data-value=[cpu.map(units::digits)] {
                (figure(point.verdict, cpu.map_or(units::NOTHING.into(), units::plain)))
            }
            @for time in [&point.p50_us, &point.p99_us] {
                td.number data-value=[time.as_ref().map(|it| units::digits(it.median))] {
                    (figure(point.verdict, response(time.as_ref())))
                }
            }
            td { (in_cell(point.verdict, &point.findings, detail)) }
        }
    }
}

/// Height of a chart in pixels.
const HEIGHT: f64 = 64.0;

/// Length in pixels of the stroke that stands for more than a time that is a lower bound.
const STROKE: f64 = 9.0;

/// A time at a rate, as it is drawn.
struct Dot {
    x: String,
    y: f64,
    is_invalid: bool,
    at_least: bool,
}

/// Common axes: the rate from zero, times by powers of ten.
struct Axes {
    rate: Axis,
    us_min: f64,
    us_max: f64,
}

impl Axes {
    fn of(curve: &Curve) -> Axes {
        let points = || curve.lines.iter().flat_map(|line| &line.points);
        let times = || points().flat_map(|point| [&point.p50_us, &point.p99_us]).flatten();
        let times = || times().map(|time| time.median).filter(|us| us.is_finite() && *us > 0.0);
        let low = times().fold(f64::INFINITY, f64::min);
        let high = times().fold(0.0, f64::max);
        let (low, high) = if low <= high { (low, high) } else { (1.0, 10.0) };
        let us_min = 10_f64.powf(low.log10().floor());
        let us_max = 10_f64.powf(high.log10().ceil()).max(us_min * 10.0);
        Axes { rate: Axis::over(points().map(|point| &point.rate)), us_min, us_max }
    }

    fn x(&self, point: &CurvePoint) -> String {
        self.rate.percent(point.rate.median)
    }

    fn y(&self, us: f64) -> f64 {
        let share = (us / self.us_min).log10() / (self.us_max / self.us_min).log10();
        HEIGHT - 4.0 - share.clamp(0.0, 1.0) * (HEIGHT - 8.0)
    }

    fn powers(&self) -> impl Iterator<Item = f64> {
        let (min, max) = (self.us_min, self.us_max);
        (0..12).map(move |power| min * 10_f64.powi(power)).take_while(move |us| *us <= max * 1.01)
    }

    fn chart(&self, line: &CurveLine, who: &str) -> Markup {
        let of = |time: fn(&CurvePoint) -> &Option<Estimate>| -> Vec<Dot> {
            let known = line.points.iter().filter_map(|point| Some((point, time(point).as_ref()?)));
            let dot = |(point, time): (&CurvePoint, &Estimate)| Dot {
                x: self.x(point),
                y: self.y(time.median),
                is_invalid: point.verdict == Verdict::Invalid,
                at_least: time.at_least,
            };
            known.map(dot).collect()
        };
        let (p50, p99) = (of(|point| &point.p50_us), of(|point| &point.p99_us));
        html! {
            svg.curve width="100%" height=(HEIGHT) role="img" aria-label=(alternative(line, who)) {
                @for us in self.powers() {
                    line.grid x1="0" x2="100%" y1=(pixels(self.y(us))) y2=(pixels(self.y(us))) {}
                }
                // Names for all lines would lie on each other.
                text x="3" y=(pixels(self.y(self.us_max))) dy="11" {
                    (percentiles::axis_time(self.us_max))
                }
                text x="3" y=(pixels(self.y(self.us_min))) dy="-3" {
                    (percentiles::axis_time(self.us_min))
                }
                @for (dots, class) in [(&p50, "p50"), (&p99, "p99")] {
                    @for pair in dots.windows(2) {
                        line.(class)
                            x1=(pair[0].x) y1=(pixels(pair[0].y)) x2=(pair[1].x) y2=(pixels(pair[1].y)) {}
                    }
                    @for Dot { x, y, is_invalid, at_least } in dots {
                        @if *at_least {
                            line.bound x1=(x) y1=(pixels(*y)) x2=(x) y2=(pixels(y - STROKE)) {}
                        }
                        circle.(class).invalid[*is_invalid] cx=(x) cy=(pixels(*y)) r="2.5" {}
                    }
                }
            }
        }
    }
}

fn pixels(length: f64) -> String {
    format!("{length:.1}")
}

/// What a reader who can't see the chart is told.
fn alternative(line: &CurveLine, who: &str) -> String {
    let points: Vec<String> = line
        .points
        .iter()
        .map(|point| {
            let invalid = if point.verdict == Verdict::Invalid { ", which is invalid" } else { "" };
            format!("{} at {} %{invalid}", response(point.p99_us.as_ref()), point.percent)
        })
        .collect();
    format!("{who}, p99 by share of its maximum: {}", points.join(", "))
}
