//! How response times grow with the rate.

use maud::{Markup, html};
use result::Run;
use result::figure::{P50_US, P99_US, RATE, Unit};
use result::finding::Verdict;
use result::outcome::{Curve, CurveLine, CurvePoint, Estimate};

use super::bars::Axis;
use super::checks::in_cell;
use super::detail::Detail;
use super::figures::in_table;
use super::markup::{prose, scrolling};
use super::verdict::sign;
use super::{looks, percentiles};
use crate::contenders;
use crate::curve;
use crate::figures;
use crate::names;
use crate::text::visible_name;
use crate::units;

/// Times that the chart has.
const TIMES: [&str; 2] = [P50_US, P99_US];

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
            (names::settings(run, &[&curve.setting])) "."
        }
        figure {
            figcaption {
                "Response time by rate "
                span.quiet {
                    "Horizontal: requests a second. Vertical: time, each line ten times the one "
                    "below. ● p99, ○ p50."
                    @if is_invalid_anywhere(curve) { " Dashed: invalid." }
                    @if is_bound_anywhere(curve) { " A stroke upwards: a lower bound, the time may be longer." }
                }
            }
            @for line in curve.lines.iter().filter(|line| !line.points.is_empty()) {
                @let who = contenders::who(run, &line.contender);
                div.row data-contender=(visible_name(&line.contender)) data-verdicts=(verdicts(line)) {
                    span.who { (who) }
                    (axes.chart(run, line, &who))
                    span.value.quiet { (hundred_percent(run, curve, line)) }
                }
            }
            div.row { (axes.rate.scale("/s")) }
        }
        @for line in &curve.lines {
            @if let Some(reason) = &line.left_out {
                p { strong { (contenders::who(run, &line.contender)) } ": " (prose(reason)) }
            }
        }
        (scrolling("Points of the curve", points(run, curve, detail)))
    }
}

/// What 100 % is, with what stands beside the figure of the closed loop that it is of.
fn hundred_percent(run: &Run, curve: &Curve, line: &CurveLine) -> Markup {
    html! {
        (curve::hundred_percent(run, curve, line))
        @if let Some(row) = run.row(&curve.setting, &line.contender) {
            " " (sign(row.verdict))
        }
    }
}

/// Whether a time of the chart is but a lower bound.
fn is_bound_anywhere(curve: &Curve) -> bool {
    let points = curve.lines.iter().flat_map(|line| &line.points);
    points.flat_map(times).any(|time| time.at_least)
}

/// The times of a point that the chart has.
fn times(point: &CurvePoint) -> impl Iterator<Item = &Estimate> {
    TIMES.iter().filter_map(|time| point.figure(time))
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
                    @for figure in figures::plain(run) { th.number scope="col" { (figures::short(figure)) } }
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
    html! {
        tr data-contender=(visible_name(&line.contender)) data-verdicts=(point.verdict.word()) {
            th scope="row" { (contenders::who(run, &line.contender)) }
            td.number data-value=(point.percent) { (point.percent) " %" }
            td.number data-value=(units::digits(point.offered_rate)) { (units::count(point.offered_rate)) }
            @for figure in figures::plain(run) {
                (in_table(point.verdict, figure, point.figure(&figure.id)))
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
        let times = || points().flat_map(times).map(|time| time.median);
        let times = || times().filter(|us| us.is_finite() && *us > 0.0);
        let low = times().fold(f64::INFINITY, f64::min);
        let high = times().fold(0.0, f64::max);
        let (low, high) = if low <= high { (low, high) } else { (1.0, 10.0) };
        let us_min = 10_f64.powf(low.log10().floor());
        let us_max = 10_f64.powf(high.log10().ceil()).max(us_min * 10.0);
        Axes { rate: Axis::over(points().filter_map(|point| point.figure(RATE))), us_min, us_max }
    }

    fn x(&self, point: &CurvePoint) -> String {
        self.rate.percent(point.figure(RATE).map_or(0.0, |rate| rate.median))
    }

    fn y(&self, us: f64) -> f64 {
        let share = (us / self.us_min).log10() / (self.us_max / self.us_min).log10();
        HEIGHT - 4.0 - share.clamp(0.0, 1.0) * (HEIGHT - 8.0)
    }

    fn powers(&self) -> impl Iterator<Item = f64> {
        let (min, max) = (self.us_min, self.us_max);
        (0..12).map(move |power| min * 10_f64.powi(power)).take_while(move |us| *us <= max * 1.01)
    }

    fn chart(&self, run: &Run, line: &CurveLine, who: &str) -> Markup {
        let of = |time: &str| -> Vec<Dot> {
            let known = line.points.iter().filter_map(|point| Some((point, point.figure(time)?)));
            let dot = |(point, time): (&CurvePoint, &Estimate)| Dot {
                x: self.x(point),
                y: self.y(time.median),
                is_invalid: point.verdict == Verdict::Invalid,
                at_least: time.at_least,
            };
            known.map(dot).collect()
        };
        let [p50, p99] = TIMES.map(of);
        html! {
            svg.curve.(looks::class(run, &line.contender)) width="100%" height=(HEIGHT) role="img" aria-label=(alternative(line, who)) {
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
            format!(
                "{} at {} %{invalid}",
                figures::median_if_any(Unit::Micros, point.figure(P99_US)),
                point.percent
            )
        })
        .collect();
    format!("{who}, p99 by share of its maximum: {}", points.join(", "))
}
