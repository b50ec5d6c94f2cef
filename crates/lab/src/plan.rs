//! Which trials are made, in which order.
//!
//! A block holds every contender once a load. Within a block the loads are
//! shuffled, and within a load the contenders, so that those who are compared
//! are measured minutes apart at most, and none is always first or last. One
//! contender is measured twice in each: the difference between the two is what
//! equal things differ by, and the noise floor of the comparison.

use result::plan::{Cores, Load, Plan, Slot};

use crate::study::Profile;

/// What of a profile is to be measured, where somebody chose.
#[derive(Debug, Clone, Default)]
pub struct Choice {
    /// These ways to give cores only.
    pub cores: Option<Vec<Cores>>,
    /// These numbers of connections, instead of the profile's.
    pub connections: Option<Vec<u32>>,
}

/// Plans a profile for these contenders. The same seed gives the same plan.
pub fn plan(
    name: &str,
    profile: &Profile,
    choice: &Choice,
    contenders: &[String],
    seed: u64,
) -> Plan {
    let chosen = choice.cores.is_some() || choice.connections.is_some();
    let loads = loads(profile, choice);
    let mut rng = fastrand::Rng::with_seed(seed);
    let twin = rng.choice(contenders).cloned();
    let mut slots = Vec::new();
    for block in 0..profile.blocks {
        let mut loads = loads.clone();
        rng.shuffle(&mut loads);
        for load in loads {
            let mut entries: Vec<(String, bool)> =
                contenders.iter().map(|contender| (contender.clone(), false)).collect();
            entries.extend(twin.clone().map(|contender| (contender, true)));
            rng.shuffle(&mut entries);
            for (contender, twin) in entries {
                let number = slots.len() as u32;
                slots.push(Slot { number, block, contender, twin, load: load.clone() });
            }
        }
    }
    Plan {
        profile: if chosen { "chosen".into() } else { name.into() },
        seed,
        blocks: profile.blocks,
        measure_s: profile.measure_s,
        warmup_s: profile.warmup_s,
        slots,
    }
}

fn loads(profile: &Profile, choice: &Choice) -> Vec<Load> {
    let mut loads = Vec::new();
    for declared in &profile.loads {
        if choice.cores.as_ref().is_some_and(|chosen| !chosen.contains(&declared.cores)) {
            continue;
        }
        let connections = choice.connections.as_ref().unwrap_or(&declared.connections);
        for &connections in connections {
            let load = Load { connections, cores: declared.cores, keep_alive: true };
            if !loads.contains(&load) {
                loads.push(load);
            }
        }
    }
    loads
}

/// Seconds that a trial takes beside warm-up and window, until the first trials
/// have shown it: start, contract and stop.
pub const OVERHEAD_S: f64 = 0.8;

/// Seconds that so many trials of a plan take.
pub fn seconds(plan: &Plan, trials: usize, overhead_s: f64) -> f64 {
    trials as f64 * (plan.measure_s + plan.warmup_s + overhead_s)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::study::Loads;

    fn profile(blocks: u32) -> Profile {
        Profile {
            blocks,
            measure_s: 2.0,
            warmup_s: 0.5,
            loads: vec![
                Loads { cores: Cores::One, connections: vec![30, 100] },
                Loads { cores: Cores::All, connections: vec![1000] },
            ],
        }
    }

    fn names(count: usize) -> Vec<String> {
        (0..count).map(|number| format!("contender-{number}")).collect()
    }

    proptest! {
        #[test]
        fn every_block_holds_every_contender_once_a_load_and_one_twin(
            seed in any::<u64>(), blocks in 1..8_u32, count in 1..6_usize,
        ) {
            let names = names(count);
            let plan = plan("quick", &profile(blocks), &Choice::default(), &names, seed);
            prop_assert_eq!(plan.slots.len(), blocks as usize * 3 * (count + 1));
            let twin = plan.slots.iter().find(|slot| slot.twin).unwrap().contender.clone();
            for (number, group) in plan.slots.chunks(count + 1).enumerate() {
                let mut seen: Vec<_> =
                    group.iter().filter(|slot| !slot.twin).map(|slot| &slot.contender).collect();
                seen.sort();
                prop_assert_eq!(seen, names.iter().collect::<Vec<_>>());
                let twins: Vec<_> = group.iter().filter(|slot| slot.twin).collect();
                prop_assert!(twins.len() == 1 && twins[0].contender == twin);
                prop_assert!(group.iter().all(|slot| slot.load == group[0].load));
                prop_assert!(group.iter().all(|slot| slot.block as usize == number / 3));
            }
            prop_assert!(plan.slots.iter().enumerate().all(|(at, slot)| slot.number as usize == at));
        }
    }

    #[test]
    fn the_seed_alone_decides_the_order() {
        let plan = |seed| plan("quick", &profile(6), &Choice::default(), &names(3), seed).slots;
        assert_eq!(plan(7), plan(7));
        assert_ne!(plan(7), plan(8));
    }

    #[test]
    fn nobody_is_always_first() {
        let plan = plan("quick", &profile(6), &Choice::default(), &names(3), 1);
        let mut first: Vec<_> = plan.slots.chunks(4).map(|group| &group[0].contender).collect();
        first.sort();
        first.dedup();
        assert!(first.len() > 1, "a fixed order would favour somebody");
    }

    #[test]
    fn a_choice_narrows_the_profile_and_is_named_so() {
        let choice = Choice { cores: Some(vec![Cores::One]), connections: Some(vec![7, 7]) };
        let plan = plan("full", &profile(1), &choice, &names(2), 1);
        assert_eq!(plan.profile, "chosen");
        assert_eq!(plan.slots.len(), 3, "one load, two contenders and a twin");
        assert!(plan.slots.iter().all(|slot| slot.load.connections == 7));
    }
}
