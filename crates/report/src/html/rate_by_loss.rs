//! Chart: how fast stores write, by how much of it is gone after a cut.

use maud::{Markup, html};
use result::Run;
use result::durability::{Class, Durability, Verdict as Cut};
use result::figure::{RATE, Unit};
use result::finding::Verdict;
use result::plan::{Pace, Setting};

use super::decades::Decades;
use super::percentiles::axis_time;
use crate::figures;
use crate::summary;
use crate::text::visible_name;
use crate::units;

/// What its writes are called.
const SET: &str = "set";

/// The least height of the chart, and what a label takes of it, in pixels.
const HEIGHT: f64 = 220.0;
const LABEL: f64 = 14.0;

/// Where what has no place on the axis of seconds stands, as shares of the width.
const NOTHING_AT: f64 = 0.04;
const ALL_AT: f64 = 0.76;
const UNUSABLE_AT: f64 = 0.90;
/// Where that axis begins and ends.
const SECONDS: [f64; 2] = [0.13, 0.68];

/// All classes, in the order of their marks.
const CLASSES: [Class; 4] = [Class::None, Class::Process, Class::Machine, Class::Power];

/// What the worst cut of a store took, over all the ways in which it was cut off.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Loss {
    Nothing,
    /// Writes of so many seconds.
    Seconds(f64),
    /// All that was acknowledged.
    All,
    /// It had what nobody wrote, or didn't start.
    Unusable,
}

impl Loss {
    fn of(seen: &Durability) -> Loss {
        let rungs = || seen.rungs.iter();
        if rungs().any(|rung| matches!(rung.verdict, Cut::Corrupt | Cut::DoesNotStart)) {
            return Loss::Unusable;
        }
        let most = || rungs().filter_map(|rung| rung.most_lost());
        if most().any(|cut| cut.lost >= cut.acknowledged) {
            return Loss::All;
        }
        let seconds = rungs().filter_map(|rung| rung.longest_loss_s()).max_by(f64::total_cmp);
        seconds.map_or(Loss::Nothing, Loss::Seconds)
    }

    fn says(self) -> String {
        match self {
            Loss::Nothing => "lost nothing".into(),
            Loss::Seconds(span) => format!("lost {}", units::time(span * 1e6)),
            Loss::All => "lost all".into(),
            Loss::Unusable => "unusable".into(),
        }
    }
}

/// A store on the chart.
struct Dot {
    contender: String,
    who: String,
    verdict: Verdict,
    class: Class,
    loss: Loss,
    rate: f64,
    says: String,
}

/// The chart; nothing where nobody cut stores off, or none has a rate of writes.
pub fn rate_by_loss(run: &Run) -> Markup {
    let Some(writes) = writes(run) else { return html! {} };
    let (dots, missing): (Vec<_>, Vec<_>) =
        run.durability.iter().map(|seen| dot(run, writes, seen)).partition(Result::is_ok);
    let dots: Vec<Dot> = dots.into_iter().flatten().collect();
    let Some(rates) = Decades::over(dots.iter().map(|dot| dot.rate)) else { return html! {} };
    let missing: Vec<String> = missing.into_iter().filter_map(Result::err).collect();
    let has = |verdict: Verdict| dots.iter().any(|dot| dot.verdict == verdict);
    html! {
        figure {
            figcaption {
                "Rate by what is lost "
                span.quiet {
                    "upwards the requests/s of " (summary::names(run, &[writes])) "; to the right the "
                    "seconds of acknowledged writes that the worst cut took; up and to the left is better"
                }
            }
            (Chart::new(rates, &dots).plot(&dots))
            ul.key {
                @for class in CLASSES.into_iter().filter(|class| dots.iter().any(|dot| dot.class == *class)) {
                    li { (sample(class)) "survives " (class.survives()) }
                }
            }
            p.quiet {
                "All: nothing that it had acknowledged was left. "
                "Unusable: it had values that nobody wrote, or didn't start. "
                @if has(Verdict::Suspect) { "A name with ? has a suspect rate. " }
                @if has(Verdict::Invalid) { "Grey: the rate is invalid. " }
                @if !missing.is_empty() { "Not on the chart: " (missing.join(", ")) "." }
            }
        }
    }
}

/// The first closed loop that only writes.
fn writes(run: &Run) -> Option<&Setting> {
    let only_writes = |setting: &Setting| {
        let trials = run.trials.iter().filter(|trial| trial.slot.setting == *setting);
        let mut stores = trials.filter_map(|trial| trial.evidence.store.as_ref()).peekable();
        stores.peek().is_some()
            && stores.all(|store| store.operations.iter().all(|seen| seen.operation == SET))
    };
    let settings = run.outcomes.iter().map(|outcome| &outcome.setting);
    settings.into_iter().find(|setting| setting.pace == Pace::Free && only_writes(setting))
}

/// A store's place, or why it has none.
fn dot(run: &Run, writes: &Setting, seen: &Durability) -> Result<Dot, String> {
    let who = summary::title(run, &seen.contender).into_owned();
    let Some(class) = seen.class else {
        return Err(format!("{who} (what it survives isn't known)"));
    };
    let row = run.row(writes, &seen.contender);
    let Some((row, rate)) = row.and_then(|row| Some((row, row.figure(RATE)?))) else {
        return Err(format!("{who} (it has no rate of writes)"));
    };
    let loss = Loss::of(seen);
    let bound = units::at_least(rate.at_least);
    Ok(Dot {
        says: format!(
            "{who}: {bound}{}/s, {}",
            figures::number(Unit::PerSecond, rate.median),
            loss.says()
        ),
        contender: visible_name(&seen.contender).into_owned(),
        verdict: row.verdict,
        rate: rate.median,
        who,
        class,
        loss,
    })
}

/// Its axes and how high it is.
struct Chart {
    rates: Decades,
    seconds: Option<Decades>,
    height: f64,
}

impl Chart {
    fn new(rates: Decades, dots: &[Dot]) -> Chart {
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

    fn plot(&self, dots: &[Dot]) -> Markup {
        let alternatives: Vec<&str> = dots.iter().map(|dot| &*dot.says).collect();
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
                        g.(look(dot)) data-contender=(dot.contender) data-verdicts=(dot.verdict.word()) {
                            title { (dot.says) }
                            use href={ "#mark" (mark(dot.class)) } x=(percent(self.x(dot.loss))) y=(px(self.y(dot.rate))) {}
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
    fn label(&self, dot: &Dot, y: f64) -> Markup {
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
    fn labels(&self, dots: &[Dot]) -> Vec<f64> {
        let mut places: Vec<f64> = dots.iter().map(|dot| self.y(dot.rate)).collect();
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

fn look(dot: &Dot) -> String {
    let void = if dot.verdict == Verdict::Invalid { " void" } else { "" };
    format!("look{}{void}", mark(dot.class))
}

/// A class's mark, for the legend.
fn sample(class: Class) -> Markup {
    let mark = mark(class);
    html! {
        svg.sample.{ "look" (mark) } aria-hidden="true" { use href={ "#mark" (mark) } x="17" y="7" {} }
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
    use result::durability::{self, Rung, RungSeen};

    use super::*;

    fn seen(rungs: Vec<(Rung, durability::Cut)>) -> Durability {
        let rungs = rungs.into_iter().map(|(rung, cut)| RungSeen::new(rung, vec![cut], None, None));
        Durability {
            contender: "a".into(),
            seed: 1,
            promised_in: None,
            rungs: rungs.collect(),
            class: None,
        }
    }

    fn cut(lost: u64, span: Option<f64>, corrupt: u64) -> durability::Cut {
        durability::Cut {
            acknowledged: 100,
            lost,
            lost_span_s: span,
            corrupt,
            restart_s: Some(0.1),
            ..durability::Cut::default()
        }
    }

    #[test]
    fn the_worst_cut_decides_where_a_store_stands() {
        let kept = || (Rung::Process, cut(0, None, 0));
        for (rungs, loss) in [
            (vec![kept()], Loss::Nothing),
            (vec![kept(), (Rung::Machine, cut(9, Some(0.4), 0))], Loss::Seconds(0.4)),
            (vec![(Rung::Process, cut(100, Some(1.6), 0))], Loss::All),
            (vec![kept(), (Rung::Machine, cut(100, Some(1.6), 1))], Loss::Unusable),
        ] {
            assert_eq!(Loss::of(&seen(rungs)), loss);
        }
    }

    #[test]
    fn names_stand_apart_and_within_the_chart() {
        let dot = |rate: f64| Dot {
            contender: "a".into(),
            who: "a".into(),
            verdict: Verdict::Valid,
            class: Class::Power,
            loss: Loss::Nothing,
            rate,
            says: String::new(),
        };
        let dots: Vec<Dot> = [100.0, 1e5, 1.001e5, 100.2, 100.1].map(dot).into();
        let rates = Decades::over(dots.iter().map(|dot| dot.rate)).unwrap();
        let chart = Chart::new(rates, &dots);
        let mut labels = chart.labels(&dots);
        assert!(labels[1] > labels[2], "the faster one stands above: {labels:?}");
        labels.sort_by(f64::total_cmp);
        assert!(labels.windows(2).all(|two| two[1] - two[0] >= LABEL - 1e-9), "{labels:?}");
        assert!(labels.iter().all(|y| (0.0..=chart.height).contains(y)), "{labels:?}");
    }
}
