//! What no run can have that bakeoff made: refused when a file is read, which somebody
//! else may have written, so that nothing behind has to be ready for it.

use std::collections::BTreeMap;

use judge::statistics::BLOCKS_MAX;
use result::evidence::{ClientSide, Evidence};
use result::plan::Slot;
use result::{Run, Trial};

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
    let estimates =
        run.outcomes.iter().flat_map(|outcome| &outcome.rows).flat_map(|row| row.figures.values());
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
        let count = counts(&trial.evidence).find(|&count| count > COUNT_MAX)?;
        Some(format!("a trial of {} counted {count}", trial.slot.contender))
    })
}

fn counts(evidence: &Evidence) -> impl Iterator<Item = u64> {
    let of_work = evidence.work.iter().flat_map(|work| {
        let seconds = work.per_second.iter().flat_map(|second| [second.good, second.errors]);
        let intervals = work.intervals.iter().chain(&work.warmup).map(|interval| interval.done);
        let seconds = seconds.chain(intervals);
        seconds.chain(work.errors.iter().map(|error| error.count)).chain([work.done])
    });
    let of_clients = evidence.clients.iter().flat_map(|client| {
        let ClientSide { scheduled, shed, sent, good, in_flight, .. } = *client;
        [scheduled, shed, sent, good, in_flight, client.reconnects, client.received_bytes]
            .into_iter()
            .chain(client.warmup_errors.iter().map(|error| error.count))
    });
    of_work.chain(of_clients)
}

/// Each trial of a contender under a load is of another block.
fn too_often(trials: &[Trial]) -> Option<String> {
    let mut times: BTreeMap<_, usize> = BTreeMap::new();
    for Slot { contender, twin, setting, .. } in trials.iter().map(|trial| &trial.slot) {
        let count = times.entry((contender, *twin, setting)).or_default();
        *count += 1;
        if *count > BLOCKS_MAX {
            return Some(format!(
                "it has more than {BLOCKS_MAX} trials of {contender} under one setting"
            ));
        }
    }
    None
}
