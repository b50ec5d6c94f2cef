//! Which trials are made, in which order.
//!
//! First the closed loop, then what needs its maxima: one rate for all, and the
//! curve of each contender. Each of these phases has blocks of its own, and a
//! block holds every contender once a load. Within a block the loads are
//! shuffled, and within a load the contenders, so that those who are compared
//! are measured minutes apart at most, and none is always first or last. Where
//! contenders are ranked, one is measured twice in each block of a load: the
//! difference between the two is what equal things differ by, and the noise floor
//! of the comparison. Under each load it's another one, as far as they go: one that
//! fails, or that only measures the client, is the pair of one load, not of all. There
//! another takes its place while the run goes on, and each class of stores gets a pair
//! once it is known (`pair`).

pub(crate) mod pair;
pub(crate) mod repeat;
pub mod write_load;

use result::plan::{Cores, Pace, Plan, Setting, Slot};
use result::setting::CONNECTIONS;

use crate::study::Profile;
use crate::study::contender::Contender;

/// What of a profile is to be measured, where somebody chose.
#[derive(Debug, Clone, Default)]
pub struct Choice {
    /// These ways to give cores only.
    pub cores: Option<Vec<Cores>>,
    /// These numbers of connections, instead of the profile's.
    pub connections: Option<Vec<u32>>,
    /// Connections that are kept alive, or not, only.
    pub keep_alive: Option<Vec<bool>>,
    /// How long, instead of the profile's.
    pub length: Length,
}

/// How much of a profile is measured, where somebody chose other numbers than its own.
#[derive(Debug, Clone, Copy, Default)]
pub struct Length {
    /// Blocks. A curve, which has fewer, has no more than these.
    pub blocks: Option<u32>,
    /// Seconds measured a trial.
    pub measure_s: Option<f64>,
    /// Seconds of load before.
    pub warmup_s: Option<f64>,
}

impl Length {
    fn is_made(&self) -> bool {
        self.blocks.is_some() || self.measure_s.is_some() || self.warmup_s.is_some()
    }

    /// The profile with these numbers.
    fn of(&self, profile: &Profile) -> Profile {
        let mut profile = profile.clone();
        profile.measure_s = self.measure_s.unwrap_or(profile.measure_s);
        profile.warmup_s = self.warmup_s.unwrap_or(profile.warmup_s);
        if let Some(blocks) = self.blocks {
            profile.blocks = blocks;
            let curve = profile.curve.as_mut().map(|it| it.get_mut());
            curve.into_iter().for_each(|curve| curve.own.blocks = curve.own.blocks.min(blocks));
        }
        profile
    }
}

impl Choice {
    fn is_made(&self) -> bool {
        self.cores.is_some() || self.connections.is_some() || self.keep_alive.is_some()
    }

    /// What the profile is called with these.
    fn name(&self, profile: &str) -> String {
        let name = if self.is_made() { format!("part of {profile}") } else { profile.into() };
        if self.length.is_made() { format!("{name}, of another length") } else { name }
    }

    /// The profile's loads of the closed loop, narrowed.
    fn closed_loops(&self, profile: &Profile) -> Vec<Setting> {
        let mut profile = profile.clone();
        for settings in &mut profile.settings {
            let of_connections = settings.values.iter_mut().find(|(id, _)| id == CONNECTIONS);
            if let Some((chosen, (_, values))) = self.connections.as_ref().zip(of_connections) {
                *values = chosen.iter().map(|&count| u64::from(count).into()).collect();
            }
        }
        let mut loads = self.of_cores(profile.free_settings());
        loads.retain(|load| {
            let has_mode = |modes: &Vec<bool>| modes.contains(&load.kept());
            self.keep_alive.as_ref().is_none_or(has_mode)
        });
        loads
    }

    /// Those of these loads that have the chosen cores.
    fn of_cores(&self, mut loads: Vec<Setting>) -> Vec<Setting> {
        loads.retain(|load| self.cores.as_ref().is_none_or(|cores| cores.contains(&load.cores)));
        loads
    }
}

/// In which order the trials of a block are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    /// By chance, from the seed.
    #[default]
    Shuffled,
    /// Always the same. It is a mistake, which is there to be shown: whoever is
    /// first has the machine before it is warm, full or throttled.
    Fixed,
}

/// Plans a profile for these contenders. The same seed gives the same plan.
///
/// Equal rate and curve are planned if the closed loop that they are a share of
/// is among the loads chosen.
pub fn plan(
    name: &str,
    profile: &Profile,
    choice: &Choice,
    contenders: &[&Contender],
    (seed, order): (u64, Order),
) -> Plan {
    let profile = &choice.length.of(profile);
    let closed_loops = choice.closed_loops(profile);
    let rng = fastrand::Rng::with_seed(seed);
    let mut blocks = Blocks { contenders, order, rng, twins_left: Vec::new(), slots: Vec::new() };
    blocks.add_ranked(profile.blocks, closed_loops.clone());
    if let Some(equal_rate) = profile.equal_rate.as_ref().map(|it| it.get_ref())
        && closed_loops.contains(&equal_rate.closed_loop())
    {
        let percent = equal_rate.own.percent;
        let load = equal_rate.closed_loop().with(Pace::Equal { percent });
        blocks.add_ranked(profile.blocks, vec![load]);
    }
    blocks.add_ranked(profile.blocks, choice.of_cores(profile.fixed_settings()));
    if let Some(curve) = profile.curve.as_ref().map(|it| it.get_ref())
        && closed_loops.contains(&curve.closed_loop())
    {
        let loads: Vec<(Setting, Option<&Contender>)> = curve
            .own
            .percent
            .iter()
            .map(|&percent| (curve.closed_loop().with(Pace::Own { percent }), None))
            .collect();
        blocks.add(curve.own.blocks, &loads);
    }
    Plan {
        profile: choice.name(name),
        seed,
        blocks: profile.blocks,
        measure_s: profile.measure_s,
        warmup_s: profile.warmup_s,
        may_idle: false,
        cuts: profile.cuts,
        scripts: profile.scripts.clone(),
        slots: blocks.slots,
    }
}

/// The trials, block by block.
struct Blocks<'a> {
    contenders: &'a [&'a Contender],
    order: Order,
    rng: fastrand::Rng,
    /// Who hasn't been measured twice under a load since all had been.
    twins_left: Vec<&'a Contender>,
    slots: Vec<Slot>,
}

impl<'a> Blocks<'a> {
    /// Blocks of loads under which contenders are ranked.
    fn add_ranked(&mut self, blocks: u32, loads: Vec<Setting>) {
        let draw = |load: Setting| {
            let twin = self.draw_twin(&load);
            (load, twin)
        };
        let loads: Vec<(Setting, Option<&Contender>)> = loads.into_iter().map(draw).collect();
        self.add(blocks, &loads);
    }

    /// Who is measured twice under the next load: one who can be given it.
    fn draw_twin(&mut self, load: &Setting) -> Option<&'a Contender> {
        if !self.twins_left.iter().any(|contender| contender.takes(load)) {
            self.twins_left = self.contenders.to_vec();
        }
        let left = self.twins_left.iter().enumerate();
        let able: Vec<usize> =
            left.filter(|(_, contender)| contender.takes(load)).map(|(at, _)| at).collect();
        let at = self.rng.choice(able)?;
        Some(self.twins_left.swap_remove(at))
    }

    /// Blocks of loads, each with who is measured twice under it.
    fn add(&mut self, blocks: u32, settings: &[(Setting, Option<&Contender>)]) {
        for block in 0..blocks {
            let mut settings = settings.to_vec();
            self.shuffle(&mut settings);
            for (setting, twin) in settings {
                let able = self.contenders.iter().filter(|contender| contender.takes(&setting));
                let mut entries: Vec<(&Contender, bool)> =
                    able.map(|contender| (*contender, false)).collect();
                entries.extend(twin.map(|contender| (contender, true)));
                self.shuffle(&mut entries);
                for (contender, twin) in entries {
                    let number = self.slots.len() as u32;
                    let (contender, setting) = (contender.name.clone(), setting.clone());
                    self.slots.push(Slot { number, block, contender, twin, setting });
                }
            }
        }
    }

    fn shuffle<T>(&mut self, items: &mut [T]) {
        match self.order {
            Order::Shuffled => self.rng.shuffle(items),
            Order::Fixed => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use proptest::prelude::*;
    use result::kind::Kind;
    use result::plan::{PaceKind, Value};

    use super::*;

    /// One core with 30 and 100 connections, all with 1,000 in both modes; a rate
    /// for all and a curve of two blocks at 100.
    fn profile(blocks: u32) -> Profile {
        let text = format!(
            "blocks = {blocks}\nmeasure_s = 2\nwarmup_s = 0.5\n\
             settings = [\n\
                 {{ cores = 'one', connections = [30, 100] }},\n\
                 {{ cores = 'all', connections = [1000], kept = [true, false] }},\n\
             ]\n\
             equal_rate = {{ cores = 'one', connections = 100, percent = 80 }}\n\
             curve = {{ cores = 'one', connections = 100, percent = [10, 110], blocks = 2 }}\n"
        );
        let mut profile: Profile = toml::from_str(&text).unwrap();
        profile.declare(Kind::Http, &[]);
        profile
    }

    /// Contenders that take any setting.
    fn contenders(count: usize) -> Vec<Contender> {
        let file = "title = 't'\nlanguage = 'C'\ntier = 'idiomatic'\nrun = ['x']";
        let contender = |number| Contender {
            name: format!("contender-{number}"),
            source: "/".into(),
            file: toml::from_str(file).unwrap(),
            only: BTreeMap::new(),
        };
        (0..count).map(contender).collect()
    }

    fn planned(profile: &Profile, choice: &Choice, of: &[Contender], seed: u64) -> Plan {
        let of: Vec<&Contender> = of.iter().collect();
        plan("quick", profile, choice, &of, (seed, Order::Shuffled))
    }

    fn of(plan: &Plan, phase: PaceKind) -> Vec<&Slot> {
        plan.slots.iter().filter(|slot| slot.setting.pace.kind() == phase).collect()
    }

    proptest! {
        #[test]
        fn every_block_holds_every_contender_once_a_load_and_one_twin_where_it_ranks(
            seed in any::<u64>(), blocks in 1..8_u32, count in 1..6_usize,
        ) {
            let contenders = contenders(count);
            let names: Vec<&String> = contenders.iter().map(|it| &it.name).collect();
            let plan = planned(&profile(blocks), &Choice::default(), &contenders, seed);
            let mut twin_of: BTreeMap<&Setting, &String> = BTreeMap::new();
            for (phase, blocks, loads, twins) in [
                (PaceKind::Free, blocks as usize, 4, 1),
                (PaceKind::Equal, blocks as usize, 1, 1),
                (PaceKind::Own, 2, 2, 0),
            ] {
                let slots = of(&plan, phase);
                prop_assert_eq!(slots.len(), blocks * loads * (count + twins));
                for (number, group) in slots.chunks(count + twins).enumerate() {
                    let mut seen: Vec<_> = group
                        .iter()
                        .filter(|slot| !slot.twin)
                        .map(|slot| &slot.contender)
                        .collect();
                    seen.sort();
                    prop_assert_eq!(&seen, &names);
                    let twin_slots: Vec<_> = group.iter().filter(|slot| slot.twin).collect();
                    prop_assert_eq!(twin_slots.len(), twins);
                    for slot in twin_slots {
                        let first = *twin_of.entry(&slot.setting).or_insert(&slot.contender);
                        prop_assert_eq!(first, &slot.contender, "another twin in another block");
                    }
                    prop_assert!(group.iter().all(|slot| slot.setting == group[0].setting));
                    prop_assert!(group.iter().all(|slot| slot.block as usize == number / loads));
                }
            }
            let twins: BTreeSet<&String> = twin_of.into_values().collect();
            prop_assert_eq!(twins.len(), count.min(5), "one costs more than a load its ranks");
            prop_assert!(plan.slots.iter().enumerate().all(|(at, slot)| slot.number as usize == at));
            prop_assert!(
                plan.slots.is_sorted_by_key(|slot| slot.setting.pace.kind()),
                "an open loop before the closed one would have no maximum"
            );
        }

        #[test]
        fn every_open_loop_has_the_closed_one_that_it_is_a_share_of(
            cores in prop::option::of(prop::sample::subsequence(vec![Cores::One, Cores::All], 1..3)),
            connections in prop::option::of(prop::sample::subsequence(vec![30, 100, 7], 1..4)),
            keep_alive in prop::option::of(prop::sample::subsequence(vec![true, false], 1..3)),
        ) {
            let choice = Choice { cores, connections, keep_alive, ..Choice::default() };
            let plan = planned(&profile(1), &choice, &contenders(2), 1);
            for slot in &plan.slots {
                let closed = slot.setting.with(Pace::Free);
                prop_assert!(plan.slots.iter().any(|it| it.setting == closed), "{:?}", slot.setting);
            }
        }
    }

    /// One that can't do the work of a setting has no trial there, nor is it the pair.
    #[test]
    fn another_length_is_that_of_all_trials_and_a_curve_gets_no_longer_by_it() {
        let planned = |blocks, measure_s| {
            let length = Length { blocks, measure_s, warmup_s: None };
            let choice = Choice { length, ..Choice::default() };
            planned(&profile(6), &choice, &contenders(2), 1)
        };
        let blocks = |plan: &Plan, phase| {
            of(plan, phase).iter().map(|slot| slot.block).collect::<BTreeSet<_>>().len()
        };
        let plan = planned(Some(1), Some(0.7));
        assert_eq!((plan.blocks, plan.measure_s, plan.warmup_s), (1, 0.7, 0.5));
        assert_eq!((blocks(&plan, PaceKind::Free), blocks(&plan, PaceKind::Own)), (1, 1));
        assert_eq!(plan.profile, "quick, of another length");
        let plan = planned(Some(8), None);
        assert_eq!((blocks(&plan, PaceKind::Free), blocks(&plan, PaceKind::Own)), (8, 2));
        assert_eq!(planned(None, None).profile, "quick");
    }

    #[test]
    fn who_cannot_do_a_setting_is_left_out_of_it() {
        let mut contenders = contenders(3);
        contenders[1].only = BTreeMap::from([("connections".into(), vec![Value::Number(30)])]);
        for seed in 0..20 {
            let plan = planned(&profile(6), &Choice::default(), &contenders, seed);
            let can =
                |slot: &Slot| slot.contender != "contender-1" || slot.setting.connections() == 30;
            assert!(plan.slots.iter().all(can));
            let at_100 = |slot: &&Slot| slot.setting == Setting::closed(100, Cores::One, true);
            assert_eq!(plan.slots.iter().filter(at_100).count(), 6 * 3, "two and a pair");
        }
    }

    #[test]
    fn the_seed_alone_decides_the_order() {
        let plan = |seed| planned(&profile(6), &Choice::default(), &contenders(3), seed).slots;
        assert_eq!(plan(7), plan(7));
        assert_ne!(plan(7), plan(8));
    }

    #[test]
    fn nobody_is_always_first() {
        let plan = planned(&profile(6), &Choice::default(), &contenders(3), 1);
        let closed = of(&plan, PaceKind::Free);
        let mut first: Vec<_> = closed.chunks(4).map(|group| &group[0].contender).collect();
        first.sort();
        first.dedup();
        assert!(first.len() > 1, "a fixed order would favour somebody");
    }

    #[test]
    fn a_choice_narrows_the_profile_and_is_named_so() {
        let choice = Choice {
            cores: Some(vec![Cores::One]),
            connections: Some(vec![7, 7]),
            ..Choice::default()
        };
        let plan = planned(&profile(1), &choice, &contenders(2), 1);
        assert_eq!(plan.profile, "part of quick");
        assert_eq!(plan.slots.len(), 3, "one load, two contenders and a twin");
        assert!(plan.slots.iter().all(|slot| slot.setting.connections() == 7));
    }

    #[test]
    fn a_mode_is_chosen_as_cores_are() {
        let choice = Choice { keep_alive: Some(vec![false]), ..Choice::default() };
        let plan = planned(&profile(1), &choice, &contenders(2), 1);
        let loads: Vec<&Setting> = plan.slots.iter().map(|slot| &slot.setting).collect();
        assert_eq!(loads, [&Setting::closed(1000, Cores::All, false); 3]);
    }

    #[test]
    fn a_fixed_order_is_that_of_the_list_in_every_block() {
        let contenders = contenders(3);
        let of_them: Vec<&Contender> = contenders.iter().collect();
        let plan = plan("m", &profile(2), &Choice::default(), &of_them, (1, Order::Fixed));
        for group in of(&plan, PaceKind::Free).chunks(4) {
            let order: Vec<_> = group.iter().take(3).map(|slot| &slot.contender).collect();
            assert_eq!(order, contenders.iter().map(|it| &it.name).collect::<Vec<_>>());
            assert!(group[3].twin, "the A/A pair's second entry is the last");
        }
    }
}
