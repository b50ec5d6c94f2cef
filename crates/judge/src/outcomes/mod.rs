//! What follows from the trials: estimates over blocks, ratios, ranks with ties,
//! and the verdict that each figure carries. One file a kind of outcome; what
//! they have in common is in `group`.

mod closed_loop;
mod curve;
mod equal_rate;
mod group;
mod limit;

use std::collections::BTreeMap;

use result::plan::Load;
use result::plan::Phase;
use result::{Run, Trial};

/// Concludes what can be concluded so far.
pub fn conclude(run: &mut Run) {
    run.outcomes = closed_loop::outcomes(run);
    run.equal_rates = equal_rate::outcomes(run);
    run.curves = curve::outcomes(run);
}

/// The trials of a phase by load, in the order in which a reader expects loads.
fn by_load(run: &Run, phase: Phase) -> Vec<(&Load, Vec<&Trial>)> {
    let mut by_load: BTreeMap<&Load, Vec<&Trial>> = BTreeMap::new();
    for trial in run.trials.iter().filter(|trial| Phase::of(&trial.slot.load) == phase) {
        by_load.entry(&trial.slot.load).or_default().push(trial);
    }
    let mut by_load: Vec<_> = by_load.into_iter().collect();
    by_load.sort_by_key(|(load, _)| (load.cores, load.connections, load.keep_alive));
    by_load
}
