//! The trials of a run: how many were made, and those behind a row.

use result::plan::Setting;
use result::{Run, Trial};

use crate::units;

/// How many trials were made, of how many.
pub fn trials_made(run: &Run) -> String {
    let (made, planned) = (run.trials.len() as u64, run.plan.slots.len() as u64);
    format!("{} of {}", units::whole(made), units::of(planned, "trial"))
}

/// The trials behind a row, in block order.
pub fn trials<'a>(run: &'a Run, setting: &Setting, contender: &str) -> Vec<&'a Trial> {
    let mut trials: Vec<&Trial> = run
        .trials
        .iter()
        .filter(|trial| {
            trial.slot.setting == *setting && trial.slot.contender == contender && !trial.slot.twin
        })
        .collect();
    trials.sort_by_key(|trial| trial.slot.block);
    trials
}
