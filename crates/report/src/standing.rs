//! How the rows of an outcome stand to each other: ranks with their ties, and shares of the best.

use result::Run;
use result::figure::Better;
use result::outcome::{Estimate, Outcome, Row};

use crate::figures;
use crate::units;

/// How many have a rank by the figure that rows are in the order of.
pub fn ranked(outcome: &Outcome) -> usize {
    let Some(ranking) = outcome.ranking() else { return 0 };
    outcome.rows.iter().filter(|row| row.rank(&ranking.figure).is_some()).count()
}

/// A row's rank with its tie, as `=1`, by the figure that rows are in the order of.
pub fn rank(outcome: &Outcome, row: &Row) -> String {
    let of = |row: &Row| row.rank(&outcome.ranking()?.figure);
    let Some(number) = of(row) else { return units::NOTHING.into() };
    let tied = outcome.rows.iter().filter(|other| of(other) == Some(number)).count() > 1;
    format!("{}{number}", if tied { "=" } else { "" })
}

/// Whether a row is first, or ties for it.
pub fn is_first(outcome: &Outcome, row: &Row) -> bool {
    outcome.ranking().is_some_and(|ranking| row.rank(&ranking.figure) == Some(1))
}

/// The shares of the best figure that a table has.
pub fn shares<'a>(run: &Run, outcome: &'a Outcome) -> Vec<Option<&'a Estimate>> {
    let Some(figure) = figures::ranking(run, outcome) else {
        return vec![None; outcome.rows.len()];
    };
    let last = match figure.better {
        Better::More => f64::MIN,
        Better::Less => f64::MAX,
    };
    let rows = outcome
        .rows
        .iter()
        .map(|row| (row.figure(&figure.id).map_or(last, |it| it.median), row.ratio(&figure.id)));
    consistent(&rows.collect::<Vec<_>>())
}

/// The shares of a table's rows, each a median of ratios within blocks, beside the medians of
/// the rows. Both estimate the same, and may put two rows in another order: such shares are
/// left out, since a table that contradicts itself tells nothing.
pub fn consistent<'a>(rows: &[(f64, Option<&'a Estimate>)]) -> Vec<Option<&'a Estimate>> {
    let agree = |(median, share): (f64, &Estimate)| {
        let others =
            rows.iter().filter_map(|(median, share)| Some((*median, share.as_ref()?.median)));
        others.into_iter().all(|(other, its)| (median - other) * (share.median - its) >= 0.0)
    };
    rows.iter().map(|(median, share)| share.filter(|share| agree((*median, share)))).collect()
}

/// A rate as a share of the best one, with a sign where one of the two is a bound.
pub fn share_of_best(ratio: &Estimate) -> String {
    let (at_least, at_most) = (units::at_least(ratio.at_least), units::at_most(ratio.at_most));
    format!("{at_least}{at_most}{}", units::percent(ratio.median))
}

/// What limited a row's rate, in a word or two.
pub fn limited_by(row: &Row) -> &'static str {
    row.limit.as_ref().map_or(units::NOTHING, |limit| limit.by.word())
}
