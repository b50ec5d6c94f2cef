//! What no run can have that bakeoff made. It is looked at when a file is read, which somebody
//! else may have written, so that nothing behind has to be ready for it: a plan of another shape is
//! refused, and a trial whose numbers are beyond all bounds has no figures. What one contender
//! counted takes nothing from the others.

use std::collections::BTreeMap;

use judge::statistics::BLOCKS_MAX;
use result::evidence::{ClientSide, Evidence};
use result::plan::Slot;
use result::{Run, Trial};

use crate::drive::program::is_a_figure;
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
    all.clone().find_map(|trial| beyond_of(&trial.slot, &names)).or_else(|| too_often(&run.trials))
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

/// Takes the figures of trials that counted what nobody can, and says so in their place.
pub(crate) fn leave_out(run: &mut Run) {
    let trials = run.trials.iter_mut().chain(&mut run.disturbed).chain(&mut run.failed);
    for Trial { evidence, .. } in trials {
        let beyond = counts(evidence).find(|&count| count > COUNT_MAX);
        if let Some(count) = beyond {
            let why = format!("it counted {count}, which nothing can: its figures are left out");
            evidence.process.failure.get_or_insert(why);
            evidence.work = None;
            evidence.clients.clear();
        }
        if let Some(work) = &mut evidence.work {
            work.result.retain(|_, number| is_a_figure(*number));
        }
    }
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
