//! Chart: how fast stores write, by how much of it is gone after a cut.

use maud::{Markup, html};
use result::Run;
use result::durability::Class;
use result::finding::Verdict;

use super::decades::Decades;
use super::looks;
use super::percentiles::axis_time;
use crate::names;
use crate::rate_by_loss::{Loss, RateByLoss, Store, TITLE};
use crate::text::visible_name;
use crate::units;

/// The least height of the chart, and what a label takes of it, in pixels.
const HEIGHT: f64 = 220.0;
const LABEL: f64 = 14.0;

/// Where what has no place on the axis of seconds stands, as shares of the width.
const NOTHING_AT: f64 = 0.04;
const ALL_AT: f64 = 0.77;
const UNUSABLE_AT: f64 = 0.90;
/// Where that axis begins and ends.
const SECONDS: [f64; 2] = [0.16, 0.63];

/// All classes, in the order of their marks.
const CLASSES: [Class; 4] = [Class::None, Class::Process, Class::Machine, Class::Power];

/// The chart, which leads the page.
pub fn rate_by_loss(run: &Run, all: &RateByLoss) -> Markup {
    let stores = &all.stores;
    let Some(rates) = Decades::over(stores.iter().map(|it| it.rate.median)) else {
        return html! {};
    };
    let lost = |loss: Loss| stores.iter().any(|store| store.loss == loss);
    let has = |verdict: Verdict| stores.iter().any(|store| store.verdict == verdict);
    html! {
        figure.lead {
            figcaption {
                (TITLE) " "
                span.quiet {
                    "Vertical: writes a second (" (names::settings(run, &[all.writes])) "). Horizontal: "
                    "seconds of acknowledged writes that the worst cut took. Up and to the left is better."
                }
            }
            (Chart::new(rates, stores).plot(run, stores))
            ul.key {
                @for class in CLASSES.into_iter().filter(|class| stores.iter().any(|it| it.class == *class)) {
                    li { (sample(class)) "survives " (class.survives()) }
                }
            }
            p.quiet {
                @if lost(Loss::All) { "All: nothing that it had acknowledged was left. " }
                @if lost(Loss::Unusable) { "Unusable: it had values that nobody wrote, or didn't start. " }
                @if has(Verdict::Suspect) { "A name with ? has a suspect rate. " }
                @if has(Verdict::Invalid) { "Grey: the rate is invalid. " }
                @if !all.missing.is_empty() { "Not on the chart: " (all.missing.join(", ")) "." }
            }
        }
    }
}

/// Its axes and how high it is.
struct Chart {
    rates: Decades,
    seconds: Option<Decades>,
    height: f64,
}

impl Chart {
    fn new(rates: Decades, dots: &[Store]) -> Chart {
        let seconds = dots.iter().filter_map(|dot| match dot.loss {
            Loss::Seconds(span) => Some(span),
            _ => None,
        });
        let height = HEIGHT.max(LABEL * (dots.len() + 2) as f64);
        Chart { rates, seconds: Decades::over(seconds), height }
    }

    /// A share of the width.
    fn x(&self, loss: Loss) -> f64 {
        match loss {
            Loss::Nothing => NOTHING_AT,
            Loss::Seconds(span) => self.seconds.as_ref().map_or(SECONDS[0], |axis| at(axis, span)),
            Loss::All => ALL_AT,
            Loss::Unusable => UNUSABLE_AT,
        }
    }

    /// Pixels from above.
    fn y(&self, rate: f64) -> f64 {
        (1.0 - self.rates.share(rate)) * self.height
    }

    /// What stands along the lower edge, and where.
    fn columns(&self) -> Vec<(f64, String)> {
        let seconds = self.seconds.iter().flat_map(|axis| {
            axis.lines().into_iter().map(|span| (at(axis, span), axis_time(span * 1e6)))
        });
        let nothing = (NOTHING_AT, "0".to_string());
        let ends = [(ALL_AT, "all".to_string()), (UNUSABLE_AT, "unusable".to_string())];
        [nothing].into_iter().chain(seconds).chain(ends).collect()
    }

    fn plot(&self, run: &Run, dots: &[Store]) -> Markup {
        let alternatives: Vec<String> = dots.iter().map(Store::says).collect();
        let labels = self.labels(dots);
        html! {
            div.plot {
                svg.times width="100%" height=(self.height) aria-hidden="true" {
                    @for rate in self.rates.lines() {
                        text x="100%" y=(px(self.y(rate))) dy="4" text-anchor="end" { (units::tick(rate)) }
                    }
                }
                svg.lines width="100%" height=(self.height) role="img" aria-label=(alternatives.join("; ")) {
                    @for rate in self.rates.lines() {
                        line.grid x1="0" x2="100%" y1=(px(self.y(rate))) y2=(px(self.y(rate))) {}
                    }
                    @for (x, _) in self.columns() {
                        line.grid x1=(percent(x)) x2=(percent(x)) y1="0" y2="100%" {}
                    }
                    @for (dot, label_y) in dots.iter().zip(labels) {
                        g.(look(run, dot)) data-contender=(visible_name(dot.contender)) data-verdicts=(dot.verdict.word()) {
                            title { (dot.says()) }
                            use href={ "#mark" (mark(dot.class)) } x=(percent(self.x(dot.loss))) y=(px(self.y(dot.rate.median))) {}
                            (self.label(dot, label_y))
                        }
                    }
                }
                svg.percentiles width="100%" height="18" aria-hidden="true" {
                    @for (x, says) in self.columns() {
                        text x=(percent(x)) y="13" text-anchor="middle" { (says) }
                    }
                }
            }
        }
    }

    /// The name beside a dot: on the side that has more room.
    fn label(&self, dot: &Store, y: f64) -> Markup {
        let x = self.x(dot.loss);
        let (dx, anchor) = if x < 0.5 { ("8", "start") } else { ("-8", "end") };
        html! {
            text.name x=(percent(x)) y=(px(y)) dx=(dx) dy="4" text-anchor=(anchor) {
                (dot.who)
                @if dot.verdict == Verdict::Suspect { " ?" }
            }
        }
    }

    /// How far down each name stands, in the order of the dots: beside its dot, but for names
    /// of the same side of the chart that would stand upon each other.
    fn labels(&self, dots: &[Store]) -> Vec<f64> {
        let mut places: Vec<f64> = dots.iter().map(|dot| self.y(dot.rate.median)).collect();
        for side in [false, true] {
            let on_side = |at: &usize| (self.x(dots[*at].loss) < 0.5) == side;
            let mut order: Vec<usize> = (0..dots.len()).filter(on_side).collect();
            order.sort_by(|a, b| places[*a].total_cmp(&places[*b]));
            let mut above = f64::NEG_INFINITY;
            for &at in &order {
                places[at] = places[at].max(above + LABEL);
                above = places[at];
            }
            let mut below = self.height + LABEL / 2.0;
            for &at in order.iter().rev() {
                places[at] = places[at].min(below - LABEL);
                below = places[at];
            }
        }
        places
    }
}

/// Where a span stands, as a share of the width.
fn at(axis: &Decades, span: f64) -> f64 {
    let [begin, end] = SECONDS;
    begin + (end - begin) * axis.share(span)
}

/// A class's mark, and its colour.
fn mark(class: Class) -> usize {
    CLASSES.iter().position(|it| *it == class).unwrap_or(0)
}

fn look(run: &Run, dot: &Store) -> String {
    let void = if dot.verdict == Verdict::Invalid { " void" } else { "" };
    format!("{}{void}", looks::class(run, dot.contender))
}

/// A class's mark, for the legend.
fn sample(class: Class) -> Markup {
    let mark = mark(class);
    html! {
        svg.sample aria-hidden="true" { use href={ "#mark" (mark) } x="17" y="7" {} }
    }
}

fn px(pixels: f64) -> String {
    format!("{pixels:.1}")
}

fn percent(share: f64) -> String {
    format!("{:.1}%", share * 100.0)
}

#[cfg(test)]
mod tests {
    use result::outcome::Estimate;

    use super::*;

    #[test]
    fn names_stand_apart_and_within_the_chart() {
        let estimates = [100.0, 1e5, 1.001e5, 100.2, 100.1].map(|median| Estimate {
            median,
            interval: None,
            at_least: false,
            at_most: false,
            blocks: vec![],
        });
        let dot = |rate| Store {
            contender: "a",
            who: "a".into(),
            verdict: Verdict::Valid,
            class: Class::Power,
            loss: Loss::Nothing,
            rate,
        };
        let dots: Vec<Store> = estimates.iter().map(dot).collect();
        let rates = Decades::over(dots.iter().map(|dot| dot.rate.median)).unwrap();
        let chart = Chart::new(rates, &dots);
        let mut labels = chart.labels(&dots);
        assert!(labels[1] > labels[2], "the faster one stands above: {labels:?}");
        labels.sort_by(f64::total_cmp);
        assert!(labels.windows(2).all(|two| two[1] - two[0] >= LABEL - 1e-9), "{labels:?}");
        assert!(labels.iter().all(|y| (0.0..=chart.height).contains(y)), "{labels:?}");
    }
}
