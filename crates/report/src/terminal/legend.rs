//! The marks of tables, explained.

use result::Run;
use result::figure::{LINES_OF_CODE, ROBOT_BYTES, Unit};
use result::finding::Verdict;
use result::outcome::{CurvePoint, Estimate, Row};

use super::page::{DIM, Page};
use super::table::mark;
use crate::caveats;
use crate::figures::{self, Spread};

/// A mark in the tables: whether a run has it, and what it says.
pub(super) type Mark = (fn(&Run) -> bool, &'static str);

pub(super) const MARKS: [Mark; 17] = [
    (
        |run| figures::has_times(run) && !counts_deliveries(run),
        "requests a second count good answers only",
    ),
    (counts_deliveries, "a delivery is one message that reached one member of its room"),
    (
        |run| has_column(run, ROBOT_BYTES),
        "mem/robot is memory with all robots there and silent, less that without them",
    ),
    (
        |run| has_column(run, LINES_OF_CODE),
        "lines of own source files, without blank ones and comments",
    ),
    (
        |run| rows(run).any(|row| !mark(run, &row.contender).is_empty()),
        "* keeps a lighter contract, as said above",
    ),
    (|run| ranges(run).any(|it| matches!(it, Spread::Interval(_))), "(a–b) 95 % interval"),
    (
        |run| ranges(run).any(|it| matches!(it, Spread::Blocks(_))),
        "[a–b] lowest and highest block, too few for an interval",
    ),
    (
        |run| estimates(run, &[Unit::PerSecond]).any(|it| it.at_least),
        "≥ before a rate: the client was the limit",
    ),
    (
        |run| ratios(run).any(|it| it.at_least || it.at_most),
        "≥ or ≤ before a share: one of the two figures behind it is a bound",
    ),
    (
        |run| has_bounds_of_times(run) && !counts_deliveries(run),
        "≥ before a time: requests without an answer are in it",
    ),
    (
        |run| has_bounds_of_times(run) && counts_deliveries(run),
        "≥ before a time: deliveries that never came are in it",
    ),
    (
        caveats::has_more_bytes,
        "≥ before bytes: there may be more, in files in memory or elsewhere on a disk",
    ),
    (caveats::figures_share_memory, "memory is summed over processes: what two share counts twice"),
    (|run| is_said(run, Verdict::Valid), "✓ valid"),
    (|run| is_said(run, Verdict::NotChecked), "○ not checked in full"),
    (|run| is_said(run, Verdict::Suspect), "? doubtful, for the reason below"),
    (|run| is_said(run, Verdict::Invalid), "✗ not a figure to use, for the reason below"),
];

fn counts_deliveries(run: &Run) -> bool {
    run.study.kind.passes_on()
}

fn has_column(run: &Run, figure: &str) -> bool {
    rows(run).any(|row| row.figure(figure).is_some())
}

fn has_bounds_of_times(run: &Run) -> bool {
    estimates(run, &[Unit::Micros]).any(|it| it.at_least)
}

fn rows(run: &Run) -> impl Iterator<Item = &Row> {
    run.outcomes.iter().flat_map(|outcome| &outcome.rows)
}

fn points(run: &Run) -> impl Iterator<Item = &CurvePoint> {
    run.curves.iter().flat_map(|curve| &curve.lines).flat_map(|line| &line.points)
}

fn is_said(run: &Run, verdict: Verdict) -> bool {
    let of_rows = rows(run).map(|row| row.verdict);
    of_rows.chain(points(run).map(|point| point.verdict)).any(|it| it == verdict)
}

/// How far the figures that rank may be off.
fn ranges(run: &Run) -> impl Iterator<Item = Spread> {
    let ranked = run.outcomes.iter().filter_map(|it| Some((it, it.ranking()?)));
    ranked
        .flat_map(|(outcome, ranking)| {
            outcome.rows.iter().filter_map(|row| row.figure(&ranking.figure))
        })
        .map(figures::spread)
}

fn ratios(run: &Run) -> impl Iterator<Item = &Estimate> {
    rows(run).flat_map(|row| row.standings.values()).filter_map(|it| it.ratio.as_ref())
}

/// The figures in tables that are measured in one of these.
fn estimates<'a>(run: &'a Run, units: &'static [Unit]) -> impl Iterator<Item = &'a Estimate> {
    let figures = || figures::plain(run).filter(|figure| units.contains(&figure.unit));
    let of_rows = rows(run).flat_map(move |row| figures().filter_map(|it| row.figure(&it.id)));
    of_rows
        .chain(points(run).flat_map(move |point| figures().filter_map(|it| point.figure(&it.id))))
}

impl Page {
    /// Explains the marks, those only that were used.
    pub(super) fn legend(&mut self, run: &Run) {
        let used: Vec<&str> =
            MARKS.iter().filter(|(is_used, _)| is_used(run)).map(|(_, says)| *says).collect();
        if !used.is_empty() {
            self.line("");
            self.paragraph(DIM, "", &used.join(" · "));
        }
    }
}
