//! Which trials are made again: those during which others used the machine, and, when
//! somebody resumes the run, those that failed.
//!
//! For no other reason. Who repeats a trial for its result chooses the result.

use std::collections::BTreeSet;

use judge::checks;
use result::Run;
use result::Trial;
use result::plan::PaceKind;
use result::plan::{Setting, Slot};

/// Share of a phase's comparisons that may be made again. Beyond it the machine
/// is as it is, and the figures say so.
const SHARE_MAX: f64 = 0.25;

/// Sets a disturbed comparison of a phase aside, and gives its slots, to be made
/// again: all of a block's trials under one load, since they are compared with
/// each other. A phase is put right before the next begins, whose rates rest on
/// it.
///
/// No comparison is made again twice, and none any more once one was disturbed
/// again, or where all of a phase were: a machine that stays busy is not waited for.
pub(crate) fn take_back_disturbed(run: &mut Run, phase: PaceKind) -> Vec<Slot> {
    let comparisons = |slots: &mut dyn Iterator<Item = &Slot>| -> BTreeSet<(u32, Setting)> {
        slots.filter(|slot| slot.setting.pace.kind() == phase).map(comparison).collect()
    };
    let repeated = comparisons(&mut run.disturbed.iter().map(|trial| &trial.slot));
    let disturbed = comparisons(
        &mut run.trials.iter().filter(|trial| checks::is_disturbed(trial)).map(|trial| &trial.slot),
    );
    let all = comparisons(&mut run.plan.slots.iter());
    let repeats_max = (all.len() as f64 * SHARE_MAX).ceil() as usize;
    let stays_busy = !repeated.is_disjoint(&disturbed) || disturbed.is_superset(&all);
    if repeated.len() >= repeats_max || stays_busy {
        return Vec::new();
    }
    let Some(first) = disturbed.first() else { return Vec::new() };
    // A contender that failed before there was load did so whoever else ran.
    let (aside, kept): (Vec<Trial>, Vec<Trial>) = run
        .trials
        .drain(..)
        .partition(|trial| comparison(&trial.slot) == *first && trial.evidence.work.is_some());
    let slots = aside.iter().map(|trial| trial.slot.clone()).collect();
    run.trials = kept;
    run.disturbed.extend(aside);
    slots
}

/// Sets aside what failed and has no figure, so that it is made again: whoever
/// resumes a run may have mended what was wrong. It stays in the report.
pub(crate) fn take_back_failed(run: &mut Run) {
    let (kept, failed) = run.trials.drain(..).partition(|trial| trial.evidence.work.is_some());
    run.trials = kept;
    run.failed.extend::<Vec<Trial>>(failed);
}

/// Trials that are compared with each other have this in common.
fn comparison(slot: &Slot) -> (u32, Setting) {
    (slot.block, slot.setting.clone())
}

#[cfg(test)]
mod tests {
    use judge::samples::run_of;
    use result::evidence::Evidence;
    use result::kind::Kind;
    use result::plan::Cores;

    use super::*;

    /// A run of two contenders in eight blocks, disturbed in these trials.
    fn run(disturbed: &[u32]) -> Run {
        let load = Setting::closed(30, Cores::One, true);
        let slots: Vec<Slot> = (0..16)
            .map(|number| Slot {
                number,
                block: number / 2,
                contender: if number % 2 == 0 { "a" } else { "b" }.into(),
                twin: false,
                setting: load.clone(),
            })
            .collect();
        let trials = slots.iter().map(|slot| trial(slot, disturbed.contains(&slot.number)));
        let mut run = run_of(&[], trials.collect());
        run.plan.slots = slots;
        run
    }

    fn trial(slot: &Slot, disturbed: bool) -> Trial {
        let evidence = Evidence {
            work: Some(result::evidence::Work { seconds: 1.0, ..Default::default() }),
            others_cpu_s: Some(if disturbed { 1.0 } else { 0.0 }),
            steal_share: Some(0.0),
            ..Evidence::default()
        };
        let findings = checks::judge(Kind::Http, slot, &evidence);
        Trial { slot: slot.clone(), started: String::new(), evidence, findings }
    }

    /// Makes the slots again, and tells their numbers.
    fn made_again(run: &mut Run, disturbed: bool) -> Vec<u32> {
        let slots = take_back_disturbed(run, PaceKind::Free);
        run.trials.extend(slots.iter().map(|slot| trial(slot, disturbed)));
        slots.iter().map(|slot| slot.number).collect()
    }

    #[test]
    fn all_that_are_compared_with_a_disturbed_trial_are_made_again() {
        let mut run = run(&[5]);
        assert_eq!(made_again(&mut run, false), [4, 5]);
        assert_eq!(made_again(&mut run, false), [] as [u32; 0], "the repeat was quiet");
        assert_eq!((run.trials.len(), run.disturbed.len()), (16, 2), "nothing is deleted");
    }

    #[test]
    fn a_contender_that_failed_stays_failed() {
        let mut run = run(&[5]);
        run.trials[4].evidence.work = None;
        assert_eq!(made_again(&mut run, false), [5]);
    }

    #[test]
    fn a_comparison_that_got_another_pair_is_made_again_with_both() {
        let mut run = run(&[5]);
        for (number, name) in [(16, "a"), (17, "b")] {
            let of_block = run.plan.slots[4].clone();
            let slot = Slot { number, contender: name.into(), twin: true, ..of_block };
            run.trials.push(trial(&slot, false));
            run.plan.slots.push(slot);
        }
        assert_eq!(made_again(&mut run, false), [4, 5, 16, 17]);
        assert_eq!((run.trials.len(), run.disturbed.len()), (18, 4));
        assert_eq!(made_again(&mut run, false), [] as [u32; 0]);
    }

    #[test]
    fn what_failed_is_made_again_only_when_a_run_is_resumed() {
        let mut run = run(&[]);
        run.trials[4].evidence.work = None;
        assert_eq!(made_again(&mut run, false), [] as [u32; 0], "a run goes on without it");
        take_back_failed(&mut run);
        assert_eq!((run.trials.len(), run.failed.len()), (15, 1), "nothing is deleted");
        assert_eq!(run.failed[0].slot.number, 4);
    }

    #[test]
    fn a_phase_has_its_own_repeats() {
        let mut run = run(&[5]);
        assert_eq!(take_back_disturbed(&mut run, PaceKind::Own), []);
        assert_eq!(run.trials.len(), 16, "a trial of another phase was taken back");
    }

    #[test]
    fn a_quiet_run_is_left_as_it_is() {
        let mut run = run(&[]);
        assert_eq!(made_again(&mut run, false), [] as [u32; 0]);
        assert_eq!(run.trials.len(), 16);
    }

    #[test]
    fn a_machine_that_stays_busy_is_not_waited_for() {
        let mut run = run(&[0, 2, 4]);
        assert_eq!(made_again(&mut run, true), [0, 1]);
        assert_eq!(made_again(&mut run, true), [] as [u32; 0]);
    }

    #[test]
    fn a_machine_that_was_busy_all_the_time_is_not_waited_for() {
        let in_each_block = [0, 3, 4, 6, 8, 11, 12, 14];
        assert_eq!(made_again(&mut run(&in_each_block), false), [] as [u32; 0]);
        let in_all_but_one = &in_each_block[1..];
        assert_eq!(made_again(&mut run(in_all_but_one), false), [2, 3]);
    }

    #[test]
    fn at_most_a_quarter_is_made_again() {
        let mut run = run(&[0, 2, 4, 6]);
        assert_eq!(made_again(&mut run, false), [0, 1]);
        assert_eq!(made_again(&mut run, false), [2, 3]);
        assert_eq!(made_again(&mut run, false), [] as [u32; 0], "two of eight blocks are enough");
    }
}
