//! What no run can have that bakeoff made: refused when a file is read, which somebody
//! else may have written, so that nothing behind has to be ready for it.

use std::collections::BTreeMap;

use judge::statistics::BLOCKS_MAX;
use result::plan::Slot;
use result::{Run, Trial, evidence};

use crate::study::limits::SECONDS_MAX;

/// More trials than these a run doesn't have: they would take a year.
const NUMBER_MAX: u32 = 1_000_000;
/// What a program that isn't Rust can count to without loss (RFC 8259, 6). Sums of such
/// counts fit.
const COUNT_MAX: u64 = 1 << 53;

/// What in a run is beyond its bounds, in a sentence, if something is.
pub(crate) fn beyond(run: &Run) -> Option<String> {
    let plan = &run.plan;
    if plan.blocks as usize > BLOCKS_MAX {
        return Some(format!("its plan has {} blocks, and {BLOCKS_MAX} are the most", plan.blocks));
    }
    for (what, seconds) in [("measure_s", plan.measure_s), ("warmup_s", plan.warmup_s)] {
        if !(0.0..=SECONDS_MAX).contains(&seconds) {
            return Some(format!(
                "its plan has {seconds} s as {what}, and {SECONDS_MAX} is the most"
            ));
        }
    }
    let names: Vec<&str> = run.contenders.iter().map(|it| it.name.as_str()).collect();
    if let Some(why) = plan.slots.iter().find_map(|slot| beyond_of(slot, &names)) {
        return Some(why);
    }
    let estimates = run.outcomes.iter().flat_map(|outcome| &outcome.rows).map(|row| &row.rate);
    if let Some(many) = estimates.map(|it| it.blocks.len()).find(|&blocks| blocks > BLOCKS_MAX) {
        return Some(format!("a rate has {many} blocks, and {BLOCKS_MAX} are the most"));
    }
    let all = run.trials.iter().chain(&run.disturbed).chain(&run.failed);
    all.clone().find_map(|trial| beyond_of_trial(trial, &names)).or_else(|| too_often(&run.trials))
}

fn beyond_of(slot: &Slot, contenders: &[&str]) -> Option<String> {
    let Slot { number, block, contender, .. } = slot;
    if *block as usize >= BLOCKS_MAX {
        return Some(format!(
            "a trial of {contender} is of block {block}, and {} is the last that there can be",
            BLOCKS_MAX - 1
        ));
    }
    if *number > NUMBER_MAX {
        return Some(format!("a trial of {contender} has the number {number}"));
    }
    (!contenders.contains(&contender.as_str()))
        .then(|| format!("a trial is of {contender}, which is none of its contenders"))
}

fn beyond_of_trial(trial: &Trial, contenders: &[&str]) -> Option<String> {
    beyond_of(&trial.slot, contenders).or_else(|| {
        let count = counts(trial.evidence.load.as_ref()?).find(|&count| count > COUNT_MAX)?;
        Some(format!("a trial of {} counted {count}", trial.slot.contender))
    })
}

fn counts(load: &evidence::Load) -> impl Iterator<Item = u64> {
    let errors = load.errors.iter().chain(&load.warmup_errors).map(|error| error.count);
    let seconds = load.per_second.iter().flat_map(|second| [second.good, second.errors]);
    let evidence::Load { scheduled, shed, sent, good, in_flight, answers, .. } = *load;
    [scheduled, shed, sent, good, in_flight, answers, load.reconnects, load.received_bytes]
        .into_iter()
        .chain(errors)
        .chain(seconds)
}

/// Each trial of a contender under a load is of another block.
fn too_often(trials: &[Trial]) -> Option<String> {
    let mut times: BTreeMap<_, usize> = BTreeMap::new();
    for Slot { contender, twin, load, .. } in trials.iter().map(|trial| &trial.slot) {
        let count = times.entry((contender, *twin, load)).or_default();
        *count += 1;
        if *count > BLOCKS_MAX {
            return Some(format!(
                "it has more than {BLOCKS_MAX} trials of {contender} under one load"
            ));
        }
    }
    None
}
