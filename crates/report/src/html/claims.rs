//! A study's claims, each with what became of it and a chart of ratios.

use std::fmt::Write;

use maud::{Markup, html};
use result::Run;
use result::figure::Better;
use result::outcome::Estimate;

use super::markup::prose;
use crate::claims::{self, Claimed, InSetting};
use crate::figures;
use crate::units;

/// The width of a chart in units of its own.
const WIDTH: f64 = 1000.0;
/// The ratios that may be named on an axis, beside their inverses and 1.
const TICKS: [f64; 9] = [1.1, 1.2, 1.5, 2.0, 5.0, 10.0, 100.0, 1e3, 1e4];

/// All of them; nothing where the study has none.
pub fn claims(run: &Run) -> Markup {
    let all = claims::all(run);
    html! {
        @if !all.is_empty() {
            h2 id="claims" { "What was claimed" }
            p { (claims::rule(run)) }
            @for claim in &all { (claimed(claim)) }
        }
    }
}

fn claimed(claim: &Claimed) -> Markup {
    html! {
        section.claim {
            h3 { "“" (prose(&claim.says)) "”" }
            p {
                strong { (claim.word) }
                @if let Some(by) = claim.by() { " " (prose(&by)) }
                " " span.quiet { (prose(&claim.source)) }
            }
            @if !claim.settings.is_empty() { (chart(claim)) }
            @if let Some(unmeasured) = &claim.unmeasured { p.quiet { (prose(unmeasured)) } }
        }
    }
}

/// How many times as much the claim's contender has as each other: one axis for all settings.
fn chart(claim: &Claimed) -> Markup {
    let others = claim.settings.iter().flat_map(|setting| &setting.others);
    let axis = Ratios::over(others.filter_map(|other| other.ratio));
    let figure = claim.figure.map_or("Figure".into(), figures::heading);
    let lead = claim.lead.unwrap_or(1.0);
    let (side, border) = match claim.figure.map(|figure| figure.better) {
        Some(Better::Less) => ("left", 1.0 / lead),
        _ => ("right", lead),
    };
    let claimed = format!("{side} of {}", units::tick(border));
    html! {
        figure {
            figcaption {
                (figure) ": " (prose(&claim.who)) " divided by each other "
                span.quiet { "a dot is the median, a line its interval; as claimed, all lie " (claimed) }
            }
            @for setting in &claim.settings { (rows(setting, &axis)) }
            div.row { (axis.scale()) }
        }
    }
}

fn rows(setting: &InSetting, axis: &Ratios) -> Markup {
    html! {
        p.where { (prose(&setting.name)) ": " strong { (setting.word) } }
        @for (other, ratio) in setting.others.iter().filter_map(|it| Some((it, it.ratio?))) {
            div.row {
                span.who { (prose(&other.who)) }
                (axis.mark(ratio))
                span.value { (claims::times(ratio)) " " (claims::range(ratio)) }
                span.badge { (other.stands.says()) }
            }
        }
        @for other in setting.others.iter().filter(|it| it.ratio.is_none()) {
            p.quiet { (prose(&other.who)) ": " (other.stands.says()) }
        }
    }
}

/// An axis of ratios with 1 in its middle, on which half as much is as far from it as twice.
struct Ratios {
    /// The logarithm of the largest ratio on it.
    end: f64,
}

impl Ratios {
    /// An axis that has all of these on it.
    fn over<'a>(ratios: impl Iterator<Item = &'a Estimate>) -> Ratios {
        let ends = ratios.flat_map(|ratio| {
            let (low, high) = ratio.interval.unwrap_or((ratio.median, ratio.median));
            [low, high, ratio.median]
        });
        let logs = ends.map(|end| end.ln().abs()).filter(|log| log.is_finite());
        Ratios { end: logs.fold(TICKS[0].ln(), f64::max) * 1.08 }
    }

    fn place(&self, ratio: f64) -> f64 {
        let place = (WIDTH / 2.0) * (1.0 + ratio.ln() / self.end);
        // Of none, which has no logarithm, the end.
        if place.is_nan() { 0.0 } else { place.clamp(0.0, WIDTH).round() }
    }

    fn mark(&self, ratio: &Estimate) -> Markup {
        let mut line = String::new();
        if let Some((low, high)) = ratio.interval {
            // Writing to a string can't fail.
            let _ = write!(line, "M{} 12H{}", self.place(low), self.place(high));
        }
        html! {
            svg.ratio viewBox={ "0 0 " (WIDTH) " 24" } preserveAspectRatio="none" aria-hidden="true" {
                path.one d={ "M" (self.place(1.0)) " 0v24" } {}
                path d=(line) {}
                path.dot d={ "M" (self.place(ratio.median)) " 12h0" } {}
            }
        }
    }

    /// The axis by itself: 1, and the largest round ratio on either side.
    fn scale(&self) -> Markup {
        let round = TICKS.iter().rev().find(|tick| tick.ln() <= self.end).unwrap_or(&TICKS[0]);
        html! {
            svg.scale width="100%" height="16" aria-hidden="true" {
                @for tick in [1.0 / round, 1.0, *round] {
                    @let share = self.place(tick) / WIDTH;
                    // At either end there is no room on both sides.
                    @let anchor = match share {
                        share if share < 0.05 => "start",
                        share if share > 0.95 => "end",
                        _ => "middle",
                    };
                    text x=(format!("{:.1}%", share * 100.0)) y="12" text-anchor=(anchor) {
                        (units::tick(tick))
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ratio(median: f64) -> Estimate {
        let (interval, blocks) = (Some((median * 0.9, median * 1.1)), Vec::new());
        Estimate { median, interval, at_least: false, at_most: false, blocks }
    }

    /// Else a figure that is half would look nearer to equal than one that is twice.
    #[test]
    fn half_is_as_far_from_equal_as_twice() {
        let axis = Ratios::over([ratio(4.0), ratio(0.5)].iter());
        let middle = WIDTH / 2.0;
        assert_eq!(axis.place(1.0), middle);
        assert_eq!(axis.place(2.0) - middle, middle - axis.place(0.5));
        assert!(axis.place(4.4) < WIDTH, "the interval's end is on it");
    }

    #[test]
    fn what_is_no_ratio_stays_on_the_axis() {
        let axis = Ratios::over([ratio(f64::NAN), ratio(f64::INFINITY), ratio(0.0)].iter());
        for odd in [f64::NAN, f64::INFINITY, 0.0, -1.0] {
            assert!((0.0..=WIDTH).contains(&axis.place(odd)), "{odd}");
        }
    }
}
