//! Who is measured twice where the A/A pair that was planned doesn't stand.
//!
//! A trial of the pair that is invalid, or saw no load, tells nothing of the noise,
//! and of six blocks none may be missing: one such trial would cost a load all its
//! ranks. On a machine of two cores, where the fastest contenders only measure the
//! client, that would be so in every other run. So a block whose pair doesn't stand
//! gets another one, of a contender whose own trial stands, and the blocks after it
//! have that one from the start.
//!
//! No result is chosen by that: by how much the two of a pair differ isn't looked
//! at, and a pair that stands is never replaced.

use judge::checks;
use judge::statistics::BLOCKS_MIN;
use result::Run;
use result::plan::PaceKind;
use result::plan::{Setting, Slot};

/// Plans another pair for each load of a block whose own doesn't stand, and gives the
/// trials that this takes. All others of the block have been made before.
///
/// A block gets one more trial a load at most. What is drawn follows from the plan
/// and the trials alone, so that a run that is resumed comes to the same.
pub(crate) fn complete(run: &mut Run, phase: PaceKind, block: u32) -> Vec<Slot> {
    // So few give nobody a rank, whatever is known of the noise.
    if (run.plan.blocks as usize) < BLOCKS_MIN {
        return Vec::new();
    }
    let mut added = Vec::new();
    for setting in settings(run, phase, block) {
        let Some(contender) = draw(run, block, &setting) else { continue };
        let is_made =
            |slot: &Slot| run.trials.iter().chain(&run.disturbed).any(|trial| trial.slot == *slot);
        let is_later = |slot: &Slot| slot.twin && slot.block > block && slot.setting == setting;
        for slot in &mut run.plan.slots {
            if is_later(slot) && !is_made(slot) {
                slot.contender.clone_from(&contender);
            }
        }
        let number = run.plan.slots.len() as u32;
        let slot = Slot { number, block, contender, twin: true, setting };
        run.plan.slots.push(slot.clone());
        added.push(slot);
    }
    added
}

/// The loads of a block under which somebody is measured twice, in the plan's order.
fn settings(run: &Run, phase: PaceKind, block: u32) -> Vec<Setting> {
    let mut loads: Vec<Setting> = Vec::new();
    for slot in &run.plan.slots {
        let is_pair = slot.twin && slot.block == block && slot.setting.pace.kind() == phase;
        if is_pair && !loads.contains(&slot.setting) {
            loads.push(slot.setting.clone());
        }
    }
    loads
}

/// Who becomes the pair of a block under a load; `None` where its own stands, where it
/// got another one already, and where nobody's trial stands.
fn draw(run: &Run, block: u32, load: &Setting) -> Option<String> {
    let slots = run.plan.slots.iter().filter(|slot| slot.block == block && slot.setting == *load);
    let (twins, firsts): (Vec<&Slot>, Vec<&Slot>) = slots.partition(|slot| slot.twin);
    let &[twin] = &twins[..] else { return None };
    let stands =
        |slot: &Slot| run.trials.iter().any(|trial| trial.slot == *slot && checks::stands(trial));
    let (of_pair, others): (Vec<&Slot>, Vec<&Slot>) = firsts
        .into_iter()
        .filter(|slot| stands(slot))
        .partition(|slot| slot.contender == twin.contender);
    if stands(twin) && !of_pair.is_empty() {
        return None;
    }
    // Whose second trial didn't stand is the likeliest to fail again.
    let candidates = if others.is_empty() { of_pair } else { others };
    let number = run.plan.slots.len() as u64;
    let mut rng = fastrand::Rng::with_seed(run.plan.seed.wrapping_add(number));
    rng.choice(candidates).map(|slot| slot.contender.clone())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use judge::outcomes;
    use judge::samples::{contender, invalid, run_of, trial};
    use result::Trial;
    use result::plan::{Cores, Pace};

    use result::figure::RATE;

    use super::*;

    const BLOCKS: u32 = 6;

    fn load() -> Setting {
        Setting::closed(1000, Cores::One, false)
    }

    /// Six blocks of `a` with its twin, `b` and `c` are planned under each of these
    /// loads, and none is made.
    fn run(loads: &[Setting]) -> Run {
        let mut run = run_of(&["a", "b", "c"].map(contender), Vec::new());
        for block in 0..BLOCKS {
            for load in loads {
                for (name, twin) in [("b", false), ("a", true), ("c", false), ("a", false)] {
                    let number = run.plan.slots.len() as u32;
                    let (contender, setting) = (name.into(), load.clone());
                    run.plan.slots.push(Slot { number, block, contender, twin, setting });
                }
            }
        }
        run
    }

    /// Makes the trials of a block that are missing, some of them invalid ones.
    fn make(run: &mut Run, block: u32, is_invalid: impl Fn(&Slot) -> bool) {
        let is_made = |slot: &Slot| run.trials.iter().any(|trial| trial.slot == *slot);
        let missing = run.plan.slots.iter().filter(|it| it.block == block && !is_made(it));
        let made: Vec<Trial> = missing
            .map(|slot| {
                let rate = if slot.contender == "c" { 50.0 } else { 100.0 };
                let mut trial = trial(&slot.contender, block, &slot.setting, rate);
                trial.slot = slot.clone();
                trial.findings.extend(is_invalid(slot).then(|| invalid("client-limit")));
                trial
            })
            .collect();
        run.trials.extend(made);
    }

    /// Makes a block and what its pairs need.
    fn go_on(run: &mut Run, block: u32, is_invalid: impl Fn(&Slot) -> bool) {
        make(run, block, &is_invalid);
        while !complete(run, PaceKind::Free, block).is_empty() {
            make(run, block, &is_invalid);
        }
    }

    /// The whole run.
    fn made(loads: &[Setting], is_invalid: impl Fn(&Slot) -> bool) -> Run {
        let mut run = run(loads);
        (0..BLOCKS).for_each(|block| go_on(&mut run, block, &is_invalid));
        run
    }

    /// Who was measured twice under a load in a block, in the order of measuring.
    fn pairs<'a>(run: &'a Run, block: u32, load: &Setting) -> Vec<&'a str> {
        let slots = run.trials.iter().map(|trial| &trial.slot);
        let pairs = slots.filter(|slot| slot.twin && slot.block == block && slot.setting == *load);
        pairs.map(|slot| &*slot.contender).collect()
    }

    #[test]
    fn a_pair_that_stands_is_never_replaced() {
        let run = made(&[load()], |slot| slot.contender == "b");
        assert_eq!(run.plan, self::run(&[load()]).plan);
    }

    #[test]
    fn a_pair_of_which_either_trial_is_invalid_costs_nobody_a_rank() {
        for is_twin in [true, false] {
            let mut run = made(&[load()], |slot| slot.contender == "a" && slot.twin == is_twin);
            let [first, other] = pairs(&run, 0, &load())[..] else {
                panic!("the first block got no other pair: {:?}", run.plan.slots);
            };
            assert_eq!(first, "a");
            assert_ne!(other, "a");
            for block in 1..BLOCKS {
                assert_eq!(pairs(&run, block, &load()), [other], "block {block} isn't changed");
            }
            assert_eq!(run.trials.len(), run.plan.slots.len(), "a trial isn't the plan's");
            outcomes::conclude(&mut run);
            let outcome = &run.outcomes[0];
            let ranking = outcome.ranking().unwrap();
            assert!(ranking.noise_floor.is_some(), "{}", ranking.sentence);
            let ranked = outcome.rows.iter().filter(|row| row.rank(RATE).is_some());
            let ranked: BTreeSet<&str> = ranked.map(|row| &*row.contender).collect();
            assert!(ranked.contains("b") && ranked.contains("c"), "{}", ranking.sentence);
        }
    }

    #[test]
    fn a_pair_without_load_is_completed_too() {
        let mut run = run(&[load()]);
        make(&mut run, 0, |_| false);
        let twin = run.trials.iter_mut().find(|trial| trial.slot.twin).unwrap();
        twin.evidence.work = None;
        assert_eq!(complete(&mut run, PaceKind::Free, 0).len(), 1);
    }

    #[test]
    fn a_pair_that_was_given_up_is_completed_too() {
        let mut run = run(&[load()]);
        make(&mut run, 0, |_| false);
        run.trials.retain(|trial| trial.slot.contender != "a");
        assert_eq!(complete(&mut run, PaceKind::Free, 0).len(), 1);
    }

    #[test]
    fn a_block_gets_one_more_trial_a_load_at_most_and_each_another_contender() {
        let run = made(&[load()], |slot| slot.twin);
        assert_eq!(run.plan.slots.len(), self::run(&[load()]).plan.slots.len() + 6);
        for block in 0..BLOCKS {
            let [before, after] = pairs(&run, block, &load())[..] else { panic!("block {block}") };
            assert_ne!(before, after, "the same one is likely to fail again");
            let next = pairs(&run, block + 1, &load());
            assert!(next.first().is_none_or(|&it| it == after), "block {block} isn't gone on from");
        }
    }

    #[test]
    fn where_nobody_else_stands_the_same_contender_gets_another_chance() {
        let is_invalid = |slot: &Slot| slot.contender != "a" || slot.twin && slot.number == 1;
        let run = made(&[load()], is_invalid);
        assert_eq!(pairs(&run, 0, &load()), ["a", "a"]);
        assert_eq!(pairs(&run, 1, &load()), ["a"]);
    }

    #[test]
    fn where_nobody_stands_nothing_is_added() {
        let run = made(&[load()], |_| true);
        assert_eq!(run.plan, self::run(&[load()]).plan);
    }

    #[test]
    fn blocks_too_few_for_a_rank_get_no_other_pair() {
        let mut run = run(&[load()]);
        run.plan.blocks = 5;
        make(&mut run, 0, |slot| slot.twin);
        assert_eq!(complete(&mut run, PaceKind::Free, 0), []);
    }

    #[test]
    fn loads_and_phases_have_pairs_of_their_own() {
        let kept = Setting::closed(1000, Cores::One, true);
        let equal = load().with(Pace::Equal { percent: 80 });
        let loads = [kept.clone(), load(), equal.clone()];
        let run = made(&loads, |slot| slot.contender == "a" && slot.setting != kept);
        for block in 0..BLOCKS {
            assert_eq!(pairs(&run, block, &kept), ["a"], "its pair stands");
            assert_eq!(pairs(&run, block, &equal), ["a"], "its phase is still to come");
        }
        assert_eq!(pairs(&run, 0, &load()).len(), 2);
    }

    #[test]
    fn a_resumed_run_comes_to_the_same_plan() {
        let mut run = run(&[load()]);
        make(&mut run, 0, |slot| slot.contender == "a");
        // It ended before the plan was written, and its trials came in another order.
        let mut resumed = run.clone();
        resumed.trials.reverse();
        let added = complete(&mut run, PaceKind::Free, 0);
        assert_eq!(added.len(), 1);
        assert_eq!(complete(&mut resumed, PaceKind::Free, 0), added);
        assert_eq!(resumed.plan, run.plan);
        // It ended after that: what was added is still to be made.
        assert_eq!(complete(&mut resumed, PaceKind::Free, 0), []);
        assert_eq!(resumed.plan, run.plan);
    }

    #[test]
    fn trials_that_were_made_stay_the_plans() {
        let mut run = made(&[load()], |_| false);
        let aside = run.trials.iter().position(|it| it.slot.block == 4 && it.slot.twin).unwrap();
        let aside = run.trials.remove(aside);
        run.disturbed.push(aside);
        // A comparison of an early block was made again, and its pair doesn't stand now.
        let twin = run.trials.iter_mut().find(|it| it.slot.block == 2 && it.slot.twin).unwrap();
        twin.findings.push(invalid("errors"));
        assert_eq!(complete(&mut run, PaceKind::Free, 2).len(), 1);
        for trial in run.trials.iter().chain(&run.disturbed) {
            assert!(run.plan.slots.contains(&trial.slot), "{:?} has no trial now", trial.slot);
        }
    }

    #[test]
    fn the_seed_decides_who_is_drawn_and_everybody_may_be() {
        let drawn = |seed| {
            let mut run = run(&[load()]);
            run.plan.seed = seed;
            make(&mut run, 0, |slot| slot.contender == "a");
            complete(&mut run, PaceKind::Free, 0).remove(0).contender
        };
        let all: BTreeSet<String> = (0..20).map(drawn).collect();
        assert_eq!(all, BTreeSet::from(["b", "c"].map(String::from)));
        assert_eq!(drawn(u64::MAX), drawn(u64::MAX));
    }
}
