//! Figures as people read them: numbers by the unit that they are measured in, and which of
//! a study's figures a table has.

use result::Run;
use result::figure::{Figure, Unit};
use result::outcome::{Estimate, Outcome};

use crate::text::visible_name;
use crate::units;
use crate::words;

/// A number.
pub fn number(unit: Unit, value: f64) -> String {
    match unit {
        Unit::PerSecond => units::count(value),
        Unit::CpuMicros => units::plain(value),
        Unit::Micros => units::time(value),
        Unit::Bytes => units::bytes(value as u64),
        Unit::Count => units::count(value),
    }
}

/// Two numbers that something lies between.
fn between(unit: Unit, (low, high): units::Range) -> String {
    match unit {
        Unit::PerSecond => units::count_range((low, high)),
        Unit::CpuMicros => units::plain_range((low, high)),
        Unit::Micros | Unit::Bytes => format!("{}–{}", number(unit, low), number(unit, high)),
        Unit::Count => units::count_range((low, high)),
    }
}

/// A median, with a sign where it is a bound.
pub fn median(unit: Unit, estimate: &Estimate) -> String {
    format!("{}{}", units::at_least(estimate.at_least), number(unit, estimate.median))
}

/// The same with what it is measured in.
pub fn median_with_unit(unit: Unit, estimate: &Estimate) -> String {
    let sign = match unit {
        // It stands in these already.
        Unit::Micros | Unit::Bytes => "",
        Unit::PerSecond | Unit::CpuMicros | Unit::Count => unit.sign(),
    };
    format!("{}{sign}", median(unit, estimate))
}

/// A median, or that there is none.
pub fn median_if_any(unit: Unit, estimate: Option<&Estimate>) -> String {
    estimate.map_or_else(|| units::NOTHING.into(), |estimate| median(unit, estimate))
}

/// What a median lies between.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Spread {
    /// The 95 % interval.
    Interval(units::Range),
    /// The lowest and highest block, where there are too few for an interval.
    Blocks(units::Range),
    /// One block tells nothing.
    None,
}

/// How far a median may be off.
pub fn spread(estimate: &Estimate) -> Spread {
    match (estimate.interval, estimate.blocks.as_slice()) {
        (Some(interval), _) => Spread::Interval(interval),
        (None, [] | [_]) => Spread::None,
        (None, blocks) => Spread::Blocks((
            blocks.iter().copied().fold(f64::INFINITY, f64::min),
            blocks.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        )),
    }
}

/// How far a median may be off: its interval, or what its blocks lie between; empty of one.
pub fn range(unit: Unit, estimate: &Estimate) -> String {
    match spread(estimate) {
        Spread::Interval(interval) => format!("({})", between(unit, interval)),
        Spread::Blocks(blocks) => format!("[{}]", between(unit, blocks)),
        Spread::None => String::new(),
    }
}

/// The figure that an outcome's rows are in the order of.
pub fn ranking<'a>(run: &'a Run, outcome: &Outcome) -> Option<&'a Figure> {
    run.study.figure(&outcome.ranking()?.figure)
}

/// The figures of an outcome that tables have beside that one: no details, and no rate where
/// one was given to all. What contenders tell of themselves has a column where one of them did.
pub fn beside<'a>(
    run: &'a Run,
    outcome: &'a Outcome,
) -> impl Iterator<Item = &'a Figure> + use<'a> {
    let first = outcome.ranking().map(|ranking| ranking.figure.clone());
    let is_offered = outcome.offered.is_some();
    plain(run)
        .filter(move |figure| Some(&figure.id) != first.as_ref())
        .filter(move |figure| !is_offered || figure.unit != Unit::PerSecond)
        .filter(|figure| {
            let is_told = matches!(figure.unit, Unit::Bytes | Unit::Count);
            !is_told || outcome.rows.iter().any(|row| row.figure(&figure.id).is_some())
        })
}

/// All of a study's figures but details.
pub fn plain(run: &Run) -> impl Iterator<Item = &Figure> {
    run.study.figures.iter().filter(|figure| !figure.is_detail)
}

/// Whether a study compares times.
pub fn has_times(run: &Run) -> bool {
    run.study.figures.iter().any(|figure| figure.unit == Unit::Micros)
}

/// What the share of the best is called: of something that is counted, or that is spent.
pub fn of_best(figure: &Figure) -> &'static str {
    match figure.better {
        result::figure::Better::More => "of best",
        result::figure::Better::Less => "of least",
    }
}

/// A figure's name as the head of a column, visible.
pub fn short(figure: &Figure) -> String {
    visible_name(&figure.short).into_owned()
}

/// A figure's title as the head of a chart, visible.
pub fn heading(figure: &Figure) -> String {
    words::sentence_case(&visible_name(&figure.title))
}

/// A rate that was offered, in words.
pub fn offered(run: &Run, rate: f64) -> String {
    format!("{} {}", units::whole(rate.round() as u64), run.study.rate_of())
}
