//! One figure of one row: its bar, and its number.

use maud::{Markup, html};
use result::figure::{Figure, Unit};
use result::finding::Verdict;
use result::outcome::{Estimate, Row};

use super::bars::{Axis, Fill};
use super::markup::figure;
use crate::figures;
use crate::units;

/// A figure of a row.
pub struct Cell<'a> {
    /// What may be said of it.
    verdict: Verdict,
    estimate: &'a Estimate,
    unit: Unit,
}

impl Cell<'_> {
    /// A figure of a row; `None` where that isn't known.
    pub fn of<'a>(row: &'a Row, figure: &Figure) -> Option<Cell<'a>> {
        let estimate = row.figure(&figure.id)?;
        Some(Cell { verdict: row.verdict, estimate, unit: figure.unit })
    }

    /// Its bar, in its contender's colour.
    pub fn bar(&self, axis: &Axis, look: &str) -> Markup {
        let fill = match self.verdict {
            Verdict::Invalid => Fill::Outline,
            _ if self.estimate.at_least => Fill::Hatched,
            _ => Fill::Solid,
        };
        axis.bar(self.estimate, fill, look)
    }

    /// Its number, with how far that may be off.
    pub fn value(&self) -> Markup {
        let median = match self.unit {
            // Nothing beside the bar tells it from a number of something.
            Unit::CpuMicros => figures::median_with_unit(self.unit, self.estimate),
            _ => figures::median(self.unit, self.estimate),
        };
        let range = figures::range(self.unit, self.estimate);
        html! {
            span.value {
                (figure(self.verdict, html! { strong { (median) } }))
                @if !range.is_empty() { " " span.quiet { (range) } }
            }
        }
    }
}

/// The cell of a table that has a figure of a row.
pub fn in_table(verdict: Verdict, of: &Figure, estimate: Option<&Estimate>) -> Markup {
    html! {
        td.number data-value=[estimate.map(|it| units::digits(it.median))] {
            (figure(verdict, figures::median_if_any(of.unit, estimate)))
        }
    }
}
