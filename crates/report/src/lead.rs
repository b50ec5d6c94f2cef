//! Which comparison a report leads with.

use result::Run;
use result::finding::Verdict;
use result::outcome::{Estimate, Outcome};
use result::plan::PaceKind;

use crate::standing::ranked;

/// The comparison that a report leads with: one that stands. Where the client was the limit
/// of the highest rate, that rate is a bound, and what was found at one rate for all says
/// more.
pub fn lead(run: &Run) -> Option<&Outcome> {
    let candidates = most_standing(run);
    let of = |pace: PaceKind| {
        candidates.iter().copied().filter(move |outcome| outcome.setting.pace.kind() == pace)
    };
    let at = |pace: PaceKind| of(pace).filter(|outcome| ranked(outcome) > 1);
    let stands = |outcome: &&Outcome| first_estimate(outcome).is_some_and(|it| !it.at_least);
    first_of_most_ranks(at(PaceKind::Free).filter(stands))
        .or_else(|| at(PaceKind::Equal).next())
        .or_else(|| first_of_most_ranks(at(PaceKind::Free)))
        .or_else(|| first_of_most_ranks(of(PaceKind::Free)))
        .or_else(|| of(PaceKind::Equal).next())
}

/// Of the comparisons that have ranks, if any has, those of which most figures stand: what is
/// doubtful or invalid follows them. On a busy machine of two cores that is CPU time at one rate,
/// where all rates are doubtful.
fn most_standing(run: &Run) -> Vec<&Outcome> {
    let are_ranked = run.outcomes.iter().any(|outcome| ranked(outcome) > 1);
    let candidates = || run.outcomes.iter().filter(|it| !are_ranked || ranked(it) > 1);
    let standing = |outcome: &Outcome| {
        outcome.rows.iter().filter(|row| row.verdict < Verdict::Suspect).count()
    };
    let most = candidates().map(standing).max();
    candidates().filter(|outcome| Some(standing(outcome)) == most).collect()
}

fn first_estimate(outcome: &Outcome) -> Option<&Estimate> {
    outcome.rows.first()?.figure(&outcome.ranking()?.figure)
}

fn first_of_most_ranks<'a>(outcomes: impl Iterator<Item = &'a Outcome>) -> Option<&'a Outcome> {
    outcomes.min_by_key(|outcome| std::cmp::Reverse(ranked(outcome)))
}
