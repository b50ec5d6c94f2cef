//! Bars on a common axis: a median, its interval, and a dot a block.

use std::fmt::Write;

use maud::{Markup, html};
use result::outcome::Estimate;

use super::looks;
use crate::units;

/// An axis from zero to a little beyond the largest value.
pub struct Axis {
    end: f64,
}

/// How a bar is filled.
#[derive(Clone, Copy)]
pub enum Fill {
    /// The figure is what it seems to be.
    Solid,
    /// The figure is a lower bound.
    Hatched,
    /// The figure is invalid.
    Outline,
}

impl Axis {
    /// An axis that has all of these on it.
    pub fn over<'a>(estimates: impl IntoIterator<Item = &'a Estimate>) -> Axis {
        let values = estimates.into_iter().flat_map(|estimate| {
            let high = estimate.interval.map(|(_, high)| high);
            estimate.blocks.iter().copied().chain(high).chain([estimate.median])
        });
        let largest = values.filter(|value| value.is_finite()).fold(0.0, f64::max);
        Axis { end: if largest > 0.0 { largest * 1.03 } else { 1.0 } }
    }

    /// Where a value lies, in thousandths of the axis.
    fn thousandths(&self, value: f64) -> u32 {
        (value / self.end * 1000.0).clamp(0.0, 1000.0).round() as u32
    }

    /// The same in per cent.
    pub fn percent(&self, value: f64) -> String {
        format!("{:.1}%", f64::from(self.thousandths(value)) / 10.0)
    }

    /// A round distance that divides the axis into at most five parts.
    fn step(&self) -> f64 {
        let rough = self.end / 5.0;
        let power = 10_f64.powf(rough.log10().floor());
        let round = [1.0, 2.0, 5.0, 10.0].map(|times| times * power);
        round.into_iter().find(|step| *step >= rough).unwrap_or(rough)
    }

    fn ticks(&self) -> impl Iterator<Item = f64> {
        (0..6).map(|at| f64::from(at) * self.step()).take_while(|tick| *tick <= self.end)
    }

    /// The axis by itself, its values named.
    pub fn scale(&self, unit: &str) -> Markup {
        html! {
            svg.scale width="100%" height="16" aria-hidden="true" {
                @for tick in self.ticks() {
                    @let anchor = match tick / self.end {
                        share if share < 0.05 => "start",
                        share if share > 0.9 => "end",
                        _ => "middle",
                    };
                    text x=(self.percent(tick)) y="12" text-anchor=(anchor) {
                        (units::tick(tick)) @if tick > 0.0 { (unit) }
                    }
                }
            }
        }
    }

    /// The distance of grid lines, for the style of what holds the bars.
    pub fn grid(&self) -> String {
        format!("--tick: {}", self.percent(self.step()))
    }

    /// One bar. Who can't see it has the same in words beside it. A page has hundreds:
    /// what may be stretched is one path each, and dots are the round ends of strokes
    /// without length.
    pub fn bar(&self, estimate: &Estimate, fill: Fill, look: &str) -> Markup {
        let class = match fill {
            Fill::Solid => "solid",
            Fill::Hatched => "hatched",
            Fill::Outline => "outline",
        };
        let end = self.percent(estimate.median);
        let mut dots = String::new();
        for block in &estimate.blocks {
            // Writing to a string can't fail.
            let _ = write!(dots, "M{} 20h0", self.thousandths(*block));
        }
        html! {
            svg.bar.(look) aria-hidden="true" {
                rect.(class) y="3" width=(end) height="12" {}
                @if let Fill::Outline = fill { line.strike x2=(end) y1="9" y2="9" {} }
                svg viewBox="0 0 1000 24" preserveAspectRatio="none" {
                    @if let Some((low, high)) = estimate.interval {
                        @let (low, high) = (self.thousandths(low), self.thousandths(high));
                        path d={ "M" (low) " 9H" (high) "M" (low) " 5v8M" (high) " 5v8" } {}
                    }
                    path.dots d=(dots) {}
                }
            }
        }
    }
}

/// The patterns that hatched bars are filled with, one a colour, once a page.
pub fn hatching() -> Markup {
    html! {
        svg.definitions width="0" height="0" aria-hidden="true" {
            defs {
                @for look in looks::CLASSES {
                    pattern.(look) id={ "hatching-" (look) } width="6" height="6"
                        patternUnits="userSpaceOnUse" patternTransform="rotate(45)" {
                        rect.under width="6" height="6" {}
                        line.over x1="0" x2="0" y1="0" y2="6" {}
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(largest: f64) -> Axis {
        let (interval, blocks) = (None, Vec::new());
        let bars = Estimate { median: largest, interval, at_least: false, at_most: false, blocks };
        Axis::over(&[bars])
    }

    #[test]
    fn ticks_are_round_and_few() {
        for largest in [0.004, 1.0, 17.0, 99.0, 57_800.0, 1.3e6] {
            let ticks: Vec<f64> = axis(largest).ticks().collect();
            assert!((3..=6).contains(&ticks.len()), "{largest} has ticks {ticks:?}");
            assert_eq!(ticks[0], 0.0, "an axis must begin at zero, or bars lie");
        }
        assert_eq!(axis(57_800.0).ticks().collect::<Vec<_>>(), [0.0, 20_000.0, 40_000.0]);
    }

    #[test]
    fn what_is_no_number_stays_on_the_axis() {
        let axis = axis(f64::NAN);
        assert_eq!(
            [f64::NAN, f64::INFINITY, -1.0].map(|it| axis.percent(it)),
            ["0.0%", "100.0%", "0.0%"]
        );
    }
}
