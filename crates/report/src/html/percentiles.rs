//! Response time by percentile: one line a contender, as far as samples go.

use std::fmt::Write;

use maud::{Markup, html};
use result::Run;
use result::finding::Verdict;
use result::plan::{Pace, Setting};

use super::decades::Decades;
use super::looks::{self, LOOKS};
use crate::caveats;
use crate::contenders;
use crate::latency::{self, NoLine, Point};
use crate::text::visible_name;
use crate::trials;
use crate::units;
use crate::words;

/// Percentiles that are marked on a line, and named on the axis.
pub const MARKED: [f64; 6] = [50.0, 90.0, 99.0, 99.9, 99.99, 99.999];

/// Kinds of dashes, the whole line among them: they tell lines apart where there are more than
/// colours and marks, which go together.
const DASHES: usize = 3;

/// Height of the plot in pixels.
const HEIGHT: f64 = 220.0;
/// Width and height in the units of paths, which stretch with the page.
const PATH_WIDTH: f64 = 1000.0;
const PATH_HEIGHT: f64 = HEIGHT * 2.0;

/// Said under a plot of a closed loop.
const CLOSED_LOOP: &str = "What the lines can't show: a closed loop asks only as fast as it is \
    answered. While a server stalls, nothing more is sent, so the waits that independent users \
    would have had then are missing (coordinated omission), and the right end looks better than \
    it is.";

/// Said under a plot of an open loop.
const OPEN_LOOP: &str =
    "Times count from when a request was due, so that what waited behind a stall is in the lines.";

/// The same of robots in rooms.
const ROOMS: &str =
    "Times count from when a message was due, so that what waited behind a stall is in the lines.";

/// A contender's line, or why it has none.
struct Line {
    contender: String,
    who: String,
    verdict: Verdict,
    look: usize,
    points: Result<Vec<Point>, NoLine>,
}

/// The plot of a load, with its legend and what it can't show. Its contenders come
/// with the verdict on their figures.
pub fn plot<'a>(
    run: &'a Run,
    setting: &Setting,
    contenders: impl Iterator<Item = (&'a str, Verdict)>,
) -> Markup {
    let lines: Vec<Line> = contenders
        .map(|(contender, verdict)| Line {
            contender: visible_name(contender).into_owned(),
            who: contenders::who(run, contender).into_owned(),
            verdict,
            look: looks::place(run, contender),
            points: latency::line(&trials::trials(run, setting, contender), &MARKED),
        })
        .collect();
    let Some(axes) = Axes::over(&lines) else {
        let known = lines.iter().any(|line| line.points != Err(NoLine::NoHistogram));
        return html! {
            p.quiet {
                @if known { "No percentile plot: a block has too few " (words::either(run, "requests", "deliveries")) ", or none." }
                @else { "No percentile plot: this run keeps no histograms that can be read." }
            }
        };
    };
    let says = match setting.pace {
        Pace::Free => CLOSED_LOOP,
        _ => words::either(run, OPEN_LOOP, ROOMS),
    };
    let requests = words::either(run, "requests", "deliveries");
    let has = |what: fn(&Line) -> bool| lines.iter().any(what);
    html! {
        figure {
            figcaption {
                (words::either(run, "Response time by percentile ", "Time of delivery by percentile "))
                span.quiet {
                    "counted from " (latency::begins(setting)) ". Vertical: time. Horizontal: share of " (requests)
                    " that " (words::either(run, "were answered", "came")) " within that time. Less is better."
                }
            }
            (axes.plot(&lines))
            ul.key {
                @for line in &lines {
                    li data-contender=(line.contender) data-verdicts=(line.verdict.word()) {
                        @match &line.points {
                            Ok(_) => { (sample(line)) (line.who) }
                            Err(NoLine::NoLoad) => { (line.who) ": no line, a block saw no load" }
                            Err(NoLine::TooFew) => { (line.who) ": no line, too few " (requests) }
                            Err(NoLine::NoHistogram) => { (line.who) ": no line, its histograms can't be read" }
                        }
                    }
                }
            }
            p.quiet {
                "Each point is the median over blocks. A line ends where fewer than 100 " (requests) " of a block "
                "took longer: further right, a few " (requests) " would decide. "
                @if has(|line| line.verdict == Verdict::Invalid) { "Grey: the figures are invalid. " }
                @if has(Line::has_bounds) { "Dotted: a lower bound, since " (caveats::bound_of_time(run)) " are in it. " }
                (says)
            }
        }
    }
}

impl Line {
    fn points(&self) -> &[Point] {
        self.points.as_deref().unwrap_or_default()
    }

    fn has_bounds(&self) -> bool {
        self.points().iter().any(|point| point.time.at_least)
    }

    fn class(&self) -> String {
        let (look, dash) = (self.look % LOOKS, self.look / LOOKS % DASHES);
        let void = if self.verdict == Verdict::Invalid { " void" } else { "" };
        format!("look{look} dash{dash}{void}")
    }

    /// The points that are marked: the named percentiles, and where the line ends.
    fn marked(&self) -> impl Iterator<Item = (String, &Point)> {
        let points = self.points();
        let named = MARKED.iter().filter_map(|percentile| {
            let nines = latency::nines(*percentile);
            let point = points.iter().find(|point| (point.nines - nines).abs() < 1e-6)?;
            Some((format!("p{percentile}"), point))
        });
        let last = points.last().map(|point| (format!("p{}", last_percentile(point.nines)), point));
        let last_is_named = points.last().is_some_and(|last| {
            MARKED.iter().any(|it| (latency::nines(*it) - last.nines).abs() < 1e-6)
        });
        named.chain(last.filter(|_| !last_is_named))
    }

    /// What a reader who can't see the line is told.
    fn alternative(&self) -> String {
        let times = self.marked().map(|(name, point)| {
            let bound = units::at_least(point.time.at_least);
            format!("{name} {bound}{}", units::time(point.time.us))
        });
        format!("{}: {}", self.who, times.collect::<Vec<_>>().join(", "))
    }
}

/// The percentile at which a line ends, to two digits of what lies beyond.
fn last_percentile(nines: f64) -> String {
    format!("{:.*}", nines as usize, 100.0 * (1.0 - 10_f64.powf(-nines)))
}

/// A piece of a line with its mark, for the legend.
fn sample(line: &Line) -> Markup {
    html! {
        svg.sample.(line.class()) aria-hidden="true" {
            path d="M0 7H34" {}
            use href={ "#mark" (line.look % LOOKS) } x="17" y="7" {}
        }
    }
}

/// The marks of lines, once a page.
pub fn marks() -> Markup {
    let shapes = [
        "M-3.5 0a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0-7 0z",
        "M-3-3h6v6h-6z",
        "M0-4.5l4.5 7.5h-9z",
        "M0-4.5l4.5 4.5l-4.5 4.5l-4.5-4.5z",
        "M0 4.5l4.5-7.5h-9z",
        "M-4-1.2h2.8v-2.8h2.4v2.8h2.8v2.4h-2.8v2.8h-2.4v-2.8h-2.8z",
        "M-4.5-3l1.5-1.5l3 3l3-3l1.5 1.5l-3 3l3 3l-1.5 1.5l-3-3l-3 3l-1.5-1.5l3-3z",
    ];
    html! {
        svg.definitions width="0" height="0" aria-hidden="true" {
            defs { @for (at, d) in shapes.iter().enumerate() { path.mark id={ "mark" (at) } d=(d) {} } }
        }
    }
}

/// Common axes of a plot: to the right the nines, upwards times in µs.
struct Axes {
    nines_max: f64,
    times: Decades,
}

impl Axes {
    /// Axes that have all lines on them; `None` where there are none.
    fn over(lines: &[Line]) -> Option<Axes> {
        let points = || lines.iter().flat_map(Line::points);
        let nines_max = points().map(|point| point.nines).max_by(f64::total_cmp)?;
        Some(Axes { nines_max, times: Decades::over(points().map(|point| point.time.us))? })
    }

    /// A share of the width.
    fn x(&self, nines: f64) -> f64 {
        let begin = latency::nines(latency::LINE_BEGINS);
        ((nines - begin) / (self.nines_max - begin)).clamp(0.0, 1.0)
    }

    /// A share of the height, from above.
    fn y(&self, us: f64) -> f64 {
        1.0 - self.times.share(us)
    }

    fn plot(&self, lines: &[Line]) -> Markup {
        let alternatives: Vec<String> =
            lines.iter().filter(|it| it.points.is_ok()).map(Line::alternative).collect();
        let named = || {
            let all = [latency::LINE_BEGINS].into_iter().chain(MARKED);
            all.map(|it| (it, latency::nines(it))).filter(|(_, nines)| *nines <= self.nines_max)
        };
        html! {
            div.plot {
                svg.times width="100%" height=(HEIGHT) aria-hidden="true" {
                    @for us in self.times.lines() {
                        text x="100%" y=(px(self.y(us))) dy="4" text-anchor="end" { (axis_time(us)) }
                    }
                }
                svg.lines width="100%" height=(HEIGHT) role="img" aria-label=(alternatives.join("; ")) {
                    @for us in self.times.lines() {
                        line.grid x1="0" x2="100%" y1=(px(self.y(us))) y2=(px(self.y(us))) {}
                    }
                    @for (_, nines) in named() {
                        line.grid x1=(percent(self.x(nines))) x2=(percent(self.x(nines))) y1="0" y2="100%" {}
                    }
                    svg width="100%" height="100%" viewBox={ "0 0 " (PATH_WIDTH) " " (PATH_HEIGHT) } preserveAspectRatio="none" {
                        @for line in lines.iter().filter(|line| line.points.is_ok()) {
                            @let (exact, bounds) = self.paths(line);
                            g.(line.class()) data-contender=(line.contender) data-verdicts=(line.verdict.word()) {
                                path d=(exact) {}
                                @if !bounds.is_empty() { path.bound d=(bounds) {} }
                            }
                        }
                    }
                    @for line in lines.iter().filter(|line| line.points.is_ok()) {
                        g.(line.class()) data-contender=(line.contender) data-verdicts=(line.verdict.word()) {
                            @for (_, point) in line.marked() {
                                use href={ "#mark" (line.look % LOOKS) } x=(percent(self.x(point.nines))) y=(px(self.y(point.time.us))) {}
                            }
                        }
                    }
                }
                svg.percentiles width="100%" height="18" aria-hidden="true" {
                    @for (percentile, nines) in named() {
                        @let x = self.x(nines);
                        @let anchor = match x {
                            x if x < 0.03 => "start",
                            x if x > 0.94 => "end",
                            _ => "middle",
                        };
                        text.begin[x == 0.0] x=(percent(x)) y="13" text-anchor=(anchor) {
                            (percentile) " %"
                        }
                    }
                }
            }
        }
    }

    /// The path of what is exact, and of what is only a lower bound.
    fn paths(&self, line: &Line) -> (String, String) {
        let first_bound = line.points().iter().position(|point| point.time.at_least);
        let (exact, bounds) = match first_bound {
            None => (line.points(), &[][..]),
            // Both hold the point between them, so that they join.
            Some(at) => (&line.points()[..at], &line.points()[at.saturating_sub(1)..]),
        };
        (self.path(exact), self.path(bounds))
    }

    /// In whole units and relative, and one step for equal ones that follow each other,
    /// because a page has hundreds of paths.
    fn path(&self, points: &[Point]) -> String {
        let place = |point: &Point| {
            let x = (self.x(point.nines) * PATH_WIDTH).round() as i32;
            (x, (self.y(point.time.us) * PATH_HEIGHT).round() as i32)
        };
        let Some(((x, y), others)) = points.split_first().map(|(it, all)| (place(it), all)) else {
            return String::new();
        };
        let mut steps: Vec<((i32, i32), i32)> = Vec::new();
        let mut last = (x, y);
        for (x, y) in others.iter().map(place) {
            let step = (x - last.0, y - last.1);
            match steps.last_mut() {
                _ if step == (0, 0) => {}
                Some((before, times)) if *before == step => *times += 1,
                _ => steps.push((step, 1)),
            }
            last = (x, y);
        }
        let mut path = format!("M{x} {y}");
        for (at, ((x, y), times)) in steps.into_iter().enumerate() {
            let join = ["l", " "][at.min(1)];
            let comma = if y < 0 { "" } else { " " };
            // Writing to a string can't fail.
            let _ = write!(path, "{join}{}{comma}{}", x * times, y * times);
        }
        path
    }
}

fn px(share: f64) -> String {
    format!("{:.1}", share * HEIGHT)
}

fn percent(share: f64) -> String {
    format!("{:.1}%", share * 100.0)
}

/// A round time without more digits than it needs, as `20 µs`.
pub fn axis_time(us: f64) -> String {
    let (factor, unit) = match us {
        us if us < 0.999 => (1e-3, "ns"),
        us if us < 999.0 => (1.0, "µs"),
        us if us < 999_000.0 => (1e3, "ms"),
        _ => (1e6, "s"),
    };
    format!("{} {unit}", (us / factor).round())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_on_an_axis_are_round() {
        assert_eq!(
            [0.2, 20.0, 5_000.0, 1e6, 2e7].map(axis_time),
            ["200 ns", "20 µs", "5 ms", "1 s", "20 s"]
        );
    }

    #[test]
    fn equal_steps_are_one_and_a_point_twice_is_none() {
        let times = Decades::over([1.0, 1e4].into_iter()).unwrap();
        let axes = Axes { nines_max: 2.0, times };
        let begin = latency::nines(latency::LINE_BEGINS);
        let point = |share: f64, us: f64| Point {
            nines: begin + share * (2.0 - begin),
            time: latency::Time { us, at_least: false },
        };
        let shares = [0.0, 0.25, 0.5, 0.5, 0.75, 1.0];
        let path = |us: [f64; 6]| {
            let points = shares.iter().zip(us).map(|(share, us)| point(*share, us));
            axes.path(&points.collect::<Vec<Point>>())
        };
        assert_eq!(path([1.0, 10.0, 100.0, 100.0, 1e3, 1e4]), "M0 440l1000-440");
        assert_eq!(path([1.0, 1.0, 1.0, 1.0, 1.0, 1e4]), "M0 440l750 0 250-440");
        assert_eq!(axes.path(&[]), "");
    }

    #[test]
    fn a_line_of_bounds_goes_on_where_the_exact_one_ends() {
        let point = |nines: f64, us: f64, at_least: bool| Point {
            nines,
            time: latency::Time { us, at_least },
        };
        let line = Line {
            contender: "go".into(),
            who: "Go".into(),
            verdict: Verdict::Valid,
            look: 0,
            points: Ok(vec![
                point(0.0, 10.0, false),
                point(1.0, 100.0, false),
                point(2.0, 1000.0, true),
            ]),
        };
        let axes = Axes::over(std::slice::from_ref(&line)).unwrap();
        let (exact, bounds) = axes.paths(&line);
        assert_eq!((&*exact, &*bounds), ("M0 440l488-220", "M488 220l512-220"));
    }
}
