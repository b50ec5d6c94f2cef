//! What follows from the trials: estimates over blocks, ratios, ranks with ties,
//! and the verdict that each figure carries. Outcomes of settings are in `ranked`,
//! curves in `curve`, a study's claims in `claims`, and what they have in common in `group`.

mod claims;
mod curve;
mod doubt;
mod group;
mod limit;
mod ranked;
mod sentence;

use result::Run;

/// Concludes what can be concluded so far.
pub fn conclude(run: &mut Run) {
    // The rule of a rate for all says of whom the lowest maximum is, and with which verdict.
    run.outcomes = ranked::at_free_pace(run);
    run.outcomes.extend(ranked::at_one_rate(run));
    run.curves = curve::outcomes(run);
    run.claims = claims::outcomes(run);
}
