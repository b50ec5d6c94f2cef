//! Who is measured twice beside those that were planned: in a class of stores that has no A/A
//! pair, and where the pair that was planned doesn't stand.
//!
//! A class is known only once its stores were cut off. Stores are compared within it, and a sync
//! to a disk scatters more than memory does. So each class with two stores or more gets a pair of
//! its own, before the first trial. The pair that was planned is moved there where it is of a store
//! that is alone in its class, and so is compared with nobody.
//!
//! A trial of the pair that is invalid, or saw no load, tells nothing of the noise,
//! and of six blocks none may be missing: one such trial would cost a load all its
//! ranks. On a machine of two cores, where the fastest contenders only measure the
//! client, that would be so in every other run. So a block whose pair doesn't stand
//! gets another one, of a contender of the same class whose own trial stands, and the
//! blocks after it have that one from the start.
//!
//! No result is chosen by that: by how much the two of a pair differ isn't looked
//! at, and a pair that stands is never replaced.

use std::collections::{BTreeMap, BTreeSet};

use fastrand::Rng;
use judge::checks;
use judge::statistics::BLOCKS_MIN;
use result::Run;
use result::durability::Classes;
use result::plan::PaceKind;
use result::plan::{Plan, Setting, Slot};

/// Plans a pair for each class of stores that has several under a load and none of them twice.
/// Tells whether it planned any.
///
/// Nothing is changed once a trial was made, whose slot is told by its number. What is drawn
/// follows from the plan and the classes alone, so that a run that is resumed comes to the same.
pub(crate) fn plan_each_class(run: &mut Run) -> bool {
    if has_begun(run) || is_too_short(&run.plan) {
        return false;
    }
    let mut rng = Rng::with_seed(run.plan.seed);
    let missing = classes_without_pair(run);
    for (setting, stores) in &missing {
        let contender = draw_of_class(&run.plan, stores, &mut rng);
        match pair_of_one_alone(run, setting) {
            Some(alone) => move_pair(&mut run.plan, setting, &alone, &contender),
            None => add_pair(&mut run.plan, setting, &contender, &mut rng),
        }
    }
    for (slot, number) in run.plan.slots.iter_mut().zip(0..) {
        slot.number = number;
    }
    !missing.is_empty()
}

fn has_begun(run: &Run) -> bool {
    [&run.trials, &run.disturbed, &run.failed].iter().any(|it| !it.is_empty())
}

/// The most trials that [`plan_each_class`] may add to a run, as far as its classes aren't known.
pub(crate) fn may_be_added(run: &Run) -> Vec<Slot> {
    let mut present = run.contenders.iter().filter(|it| it.absent.is_none());
    let is_cut = |name: &str| run.durability.iter().any(|it| it.contender == name);
    let are_known = present.all(|it| is_cut(&it.name));
    if has_begun(run) || are_known { Vec::new() } else { may_be_added_to(&run.plan) }
}

/// The same of a plan whose stores nobody has cut off yet: of two stores and two others there may
/// be two classes, and one has its pair already.
pub(crate) fn may_be_added_to(plan: &Plan) -> Vec<Slot> {
    if plan.cuts == 0 || is_too_short(plan) {
        return Vec::new();
    }
    let pairs = plan.slots.iter().filter(|slot| slot.twin);
    let added = pairs.flat_map(|pair| {
        let is_beside = |it: &&Slot| it.block == pair.block && it.setting == pair.setting;
        let stores = plan.slots.iter().filter(is_beside).filter(|it| !it.twin).count();
        std::iter::repeat_n(pair.clone(), (stores / 2).saturating_sub(1))
    });
    added.collect()
}

/// Whether nobody gets a rank in so few blocks, whatever is known of the noise.
fn is_too_short(plan: &Plan) -> bool {
    (plan.blocks as usize) < BLOCKS_MIN
}

/// The stores of each class without a pair that has several, under each load that has a pair.
fn classes_without_pair(run: &Run) -> Vec<(Setting, Vec<String>)> {
    let mut loads: Vec<&Setting> = Vec::new();
    for slot in run.plan.slots.iter().filter(|slot| slot.twin) {
        if !loads.contains(&&slot.setting) {
            loads.push(&slot.setting);
        }
    }
    let mut missing = Vec::new();
    for load in loads {
        let mut classes: BTreeMap<Option<Classes>, (BTreeSet<&str>, bool)> = BTreeMap::new();
        for slot in run.plan.slots.iter().filter(|slot| slot.setting == *load) {
            let (stores, has_pair) = classes.entry(run.classes(&slot.contender)).or_default();
            stores.insert(&slot.contender);
            *has_pair |= slot.twin;
        }
        let without = classes.into_values().filter(|(stores, pair)| stores.len() > 1 && !pair);
        missing.extend(without.map(|(stores, _)| {
            (load.clone(), stores.into_iter().map(String::from).collect::<Vec<String>>())
        }));
    }
    missing
}

/// One of these stores: as far as they go, one that isn't the pair of another load.
fn draw_of_class(plan: &Plan, stores: &[String], rng: &mut Rng) -> String {
    let is_pair = |store: &&String| plan.slots.iter().any(|it| it.twin && it.contender == **store);
    let (_, left): (Vec<&String>, Vec<&String>) = stores.iter().partition(is_pair);
    let left = if left.is_empty() { stores.iter().collect() } else { left };
    rng.choice(left).expect("a class has stores").clone()
}

/// Who is measured twice under a load though nobody else under it is of its class.
fn pair_of_one_alone(run: &Run, setting: &Setting) -> Option<String> {
    let under_it = || run.plan.slots.iter().filter(|slot| slot.setting == *setting);
    let is_alone = |name: &str| {
        let mut others = under_it().filter(|it| it.contender != name);
        others.all(|it| run.classes(&it.contender) != run.classes(name))
    };
    let pair = under_it().find(|slot| slot.twin && is_alone(&slot.contender));
    pair.map(|slot| slot.contender.clone())
}

/// Makes the second entry of a contender under a load that of another one.
fn move_pair(plan: &mut Plan, setting: &Setting, from: &str, to: &str) {
    let is_it = |slot: &&mut Slot| slot.twin && slot.setting == *setting && slot.contender == from;
    plan.slots.iter_mut().filter(is_it).for_each(|slot| slot.contender = to.into());
}

/// Adds a second entry of a contender to each block of a load, anywhere among the others.
fn add_pair(plan: &mut Plan, setting: &Setting, contender: &str, rng: &mut Rng) {
    for block in 0..plan.blocks {
        let is_beside = |slot: &Slot| slot.block == block && slot.setting == *setting;
        let Some(first) = plan.slots.iter().position(is_beside) else { continue };
        let count = plan.slots[first..].iter().take_while(|slot| is_beside(slot)).count();
        let (contender, setting) = (contender.to_string(), setting.clone());
        let slot = Slot { number: 0, block, contender, twin: true, setting };
        plan.slots.insert(first + rng.usize(..=count), slot);
    }
}

/// Plans another pair for each load and class of a block whose own doesn't stand, and gives
/// the trials that this takes. All others of the block have been made before.
///
/// A block gets one more trial a load and class at most. What is drawn follows from the plan
/// and the trials alone, so that a run that is resumed comes to the same.
pub(crate) fn complete(run: &mut Run, phase: PaceKind, block: u32) -> Vec<Slot> {
    if is_too_short(&run.plan) {
        return Vec::new();
    }
    let mut added = Vec::new();
    for (setting, alike) in pairs(run, phase, block) {
        let Some(contender) = draw(run, block, &setting, &alike) else { continue };
        let is_made =
            |slot: &Slot| run.trials.iter().chain(&run.disturbed).any(|trial| trial.slot == *slot);
        let is_later = |slot: &Slot| {
            let is_of_class = alike.contains(&slot.contender);
            slot.twin && slot.block > block && slot.setting == setting && is_of_class
        };
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

/// The loads of a block under which somebody is measured twice, in the plan's order, each with
/// the contenders of that one's class.
fn pairs(run: &Run, phase: PaceKind, block: u32) -> Vec<(Setting, BTreeSet<String>)> {
    let mut seen: Vec<(&Setting, Option<Classes>)> = Vec::new();
    for slot in &run.plan.slots {
        let is_pair = slot.twin && slot.block == block && slot.setting.pace.kind() == phase;
        let pair = (&slot.setting, run.classes(&slot.contender));
        if is_pair && !seen.contains(&pair) {
            seen.push(pair);
        }
    }
    let alike = |classes| {
        let all = run.plan.slots.iter().map(|slot| &slot.contender);
        all.filter(|name| run.classes(name) == classes).cloned().collect()
    };
    seen.into_iter().map(|(setting, classes)| (setting.clone(), alike(classes))).collect()
}

/// Who becomes the pair of a block under a load, of those that are alike; `None` where their own
/// stands, where they got another one already, and where nobody's trial stands.
fn draw(run: &Run, block: u32, load: &Setting, alike: &BTreeSet<String>) -> Option<String> {
    let is_of_it = |slot: &&Slot| {
        slot.block == block && slot.setting == *load && alike.contains(&slot.contender)
    };
    let slots = run.plan.slots.iter().filter(is_of_it);
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
    let mut rng = Rng::with_seed(run.plan.seed.wrapping_add(number));
    rng.choice(candidates).map(|slot| slot.contender.clone())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use judge::outcomes;
    use judge::samples::{contender, cut_off, invalid, run_of, trial};
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

    /// Six blocks of two stores that keep nothing, `a` with its twin and `b`, of two that keep
    /// all, `c` and `d`, and of `e`, which alone survives its own crash.
    fn run_of_stores(loads: &[Setting]) -> Run {
        let names = ["a", "b", "c", "d", "e"];
        let mut run = run_of(&names.map(contender), Vec::new());
        for block in 0..BLOCKS {
            for load in loads {
                let entries = names.map(|name| (name, false)).into_iter().chain([("a", true)]);
                for (name, twin) in entries {
                    let number = run.plan.slots.len() as u32;
                    let (contender, setting) = (name.into(), load.clone());
                    run.plan.slots.push(Slot { number, block, contender, twin, setting });
                }
            }
        }
        let lost = [[9, 9, 9], [9, 9, 9], [0, 0, 0], [0, 0, 0], [0, 9, 9]];
        for (name, lost) in names.into_iter().zip(lost) {
            run.durability.push(cut_off(name, lost.map(Some)));
        }
        run
    }

    /// Else the noise of memory would decide between stores that wait for their disk.
    #[test]
    fn each_class_of_two_stores_or_more_has_a_pair_under_each_load() {
        let loads = [load(), load().with(Pace::Equal { percent: 80 })];
        let mut run = run_of_stores(&loads);
        assert!(plan_each_class(&mut run));
        let numbers = run.plan.slots.iter().map(|slot| slot.number);
        assert!(numbers.eq(0..run.plan.slots.len() as u32), "the numbers are the order");
        let mut of_second_class = BTreeSet::new();
        for load in &loads {
            let second = run
                .plan
                .slots
                .iter()
                .find(|it| it.twin && it.setting == *load && it.contender != "a");
            let second = second.expect("those that keep all have no pair").contender.clone();
            assert!(["c", "d"].contains(&&*second), "{second} is alone, or of the other class");
            for block in 0..BLOCKS {
                let group: Vec<&Slot> = run
                    .plan
                    .slots
                    .iter()
                    .filter(|it| it.block == block && it.setting == *load)
                    .collect();
                let twins = group.iter().filter(|it| it.twin).map(|it| &*it.contender);
                assert_eq!(twins.collect::<BTreeSet<_>>(), BTreeSet::from(["a", &second]));
                assert_eq!(group.len(), 7, "five and two pairs");
                let is_whole = group.windows(2).all(|two| two[1].number == two[0].number + 1);
                assert!(is_whole, "who is compared is measured one after the other");
            }
            of_second_class.insert(second);
        }
        assert_eq!(of_second_class.len(), 2, "one that fails would cost both loads their ranks");
        let planned = run.clone();
        assert!(!plan_each_class(&mut run), "a run that is resumed has them already");
        assert_eq!(run.plan, planned.plan);
    }

    /// A store that is alone in its class is compared with nobody, and its noise tells nothing.
    #[test]
    fn a_pair_of_a_store_that_is_alone_in_its_class_goes_to_a_class_of_several() {
        let loads = [load(), load().with(Pace::Equal { percent: 80 })];
        let mut run = run_of_stores(&loads);
        for slot in run.plan.slots.iter_mut().filter(|slot| slot.twin) {
            slot.contender = "e".into();
        }
        let before = run.plan.slots.len();
        assert!(plan_each_class(&mut run));
        let added = BLOCKS as usize * loads.len();
        assert_eq!(run.plan.slots.len(), before + added, "two classes, of which one took e's");
        for load in &loads {
            for block in 0..BLOCKS {
                let of_block = run.plan.slots.iter().filter(|it| it.block == block);
                let twins = of_block.filter(|it| it.twin && it.setting == *load);
                let mut classes: Vec<_> = twins.map(|it| run.classes(&it.contender)).collect();
                classes.sort();
                assert_eq!(classes, [run.classes("a"), run.classes("c")], "block {block}");
            }
        }
        let planned = run.clone();
        assert!(!plan_each_class(&mut run), "a run that is resumed has them already");
        assert_eq!(run.plan, planned.plan);

        // Where each is alone, the pair still shows the noise of the machine.
        let mut run = run_of_stores(&loads);
        run.plan.slots.retain(|it| ["a", "e"].contains(&&*it.contender));
        assert!(!plan_each_class(&mut run));
    }

    /// What is told of a run before its stores are cut off has to hold after that.
    #[test]
    fn no_more_is_added_than_was_told_before_classes_were_known() {
        let loads = [load(), load().with(Pace::Equal { percent: 80 })];
        let known = run_of_stores(&loads);
        assert_eq!(may_be_added(&known), [], "its classes are known");
        let mut run = run_of_stores(&loads);
        run.plan.cuts = 5;
        let told = |run: &Run| {
            let durability = run.durability[..1].to_vec();
            may_be_added(&Run { durability, ..run.clone() }).len()
        };
        let (before, most) = (run.plan.slots.len(), told(&run));
        assert_eq!(most, BLOCKS as usize * loads.len(), "of five stores there may be two classes");
        plan_each_class(&mut run);
        assert!(run.plan.slots.len() - before <= most);
        let mut two = run_of_stores(&loads);
        two.plan.cuts = 5;
        two.plan.slots.retain(|it| ["a", "c"].contains(&&*it.contender));
        assert_eq!(told(&two), 0, "of two stores there is one pair at most");
        let mut uncut = run_of_stores(&loads);
        uncut.plan.cuts = 0;
        assert_eq!(told(&uncut), 0);
    }

    #[test]
    fn nothing_is_planned_where_there_are_no_classes_or_no_ranks_or_trials_already() {
        let classless = run(&[load()]);
        let mut short = run_of_stores(&[load()]);
        short.plan.blocks = 5;
        let mut begun = run_of_stores(&[load()]);
        make(&mut begun, 0, |_| false);
        for mut run in [classless, short, begun] {
            let before = run.plan.clone();
            assert!(!plan_each_class(&mut run));
            assert_eq!(run.plan, before);
        }
    }

    #[test]
    fn a_pair_that_doesnt_stand_is_replaced_within_its_class_and_the_others_stays() {
        let mut run = run_of_stores(&[load()]);
        plan_each_class(&mut run);
        let twin = |run: &Run, block, of: [&str; 2]| {
            let pairs = pairs(run, block, &load());
            pairs.into_iter().filter(|it| of.contains(it)).map(String::from).collect::<Vec<_>>()
        };
        let first = run.plan.slots.iter().find(|it| it.twin && it.contender != "a").unwrap();
        let first = first.contender.clone();
        (0..BLOCKS).for_each(|block| go_on(&mut run, block, |it| it.contender == first));
        let other = if first == "c" { "d" } else { "c" };
        assert_eq!(twin(&run, 0, ["c", "d"]), [&*first, other]);
        for block in 1..BLOCKS {
            assert_eq!(twin(&run, block, ["c", "d"]), [other], "block {block} isn't gone on from");
        }
        for block in 0..BLOCKS {
            assert_eq!(twin(&run, block, ["a", "b"]), ["a"], "its pair stands");
        }
    }
}
