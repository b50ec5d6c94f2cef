//! The web study's profiles as they are in the tree: they measure what the study asks.

use std::collections::BTreeSet;
use std::path::Path;

use lab::plan::{Choice, Order, plan};
use lab::study::contender::Contender;
use lab::study::{Profile, Study};
use result::plan::{Cores, Pace, Plan, Published, Setting, Slot};

/// Those of the question, which are those of 2009.
const CONNECTIONS: [u32; 4] = [30, 100, 1_000, 5_000];
/// The fewest that allow a rank.
const BLOCKS: u32 = 6;

fn study() -> Study {
    let studies = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies");
    Study::read(&studies, "web").unwrap_or_else(|why| panic!("{why}"))
}

/// The plan of a profile, or of a part of it, for these contenders.
fn planned(profile: &Profile, choice: &Choice, names: &[String]) -> Plan {
    let study = study().only(names).unwrap_or_else(|why| panic!("{why}"));
    let contenders: Vec<&Contender> = study.contenders.iter().collect();
    plan("web", profile, choice, &contenders, (1, Order::Shuffled))
}

fn loads(plan: &Plan) -> BTreeSet<Setting> {
    plan.slots.iter().map(|slot| slot.setting.clone()).collect()
}

/// How many blocks measure this contender under this load.
fn blocks(plan: &Plan, contender: &str, load: &Setting) -> usize {
    let is_it = |slot: &&Slot| !slot.twin && slot.contender == contender && slot.setting == *load;
    plan.slots.iter().filter(is_it).count()
}

#[test]
fn the_full_profile_has_every_contender_under_every_load_of_the_question() {
    let study = study();
    let profile = &study.file.profile["full"];
    let named = profile.contender_names();
    assert!(named.is_empty(), "only some contenders are measured: {named:?}");
    let names: Vec<String> = study.contenders.iter().map(|it| it.name.clone()).collect();
    let plan = planned(profile, &Choice::default(), &names);

    let at = Setting::closed(100, Cores::One, true);
    let mut ranked = vec![at.with(Pace::Equal { percent: 50 })];
    for cores in [Cores::One, Cores::All] {
        for connections in CONNECTIONS {
            let closed = |keep_alive| Setting::closed(connections, cores, keep_alive);
            ranked.extend([true, false].map(closed));
        }
    }
    let curve = [10, 25, 50, 75, 90, 100, 110].map(|percent| at.with(Pace::Own { percent }));
    for name in &names {
        for load in &ranked {
            assert_eq!(blocks(&plan, name, load), BLOCKS as usize, "{name} under {load:?}");
        }
        for load in &curve {
            assert!(blocks(&plan, name, load) > 0, "{name} isn't measured under {load:?}");
        }
    }
}

#[test]
fn the_quick_profile_is_a_part_of_the_full_one_and_allows_ranks() {
    let study = study();
    let [quick, full] = ["quick", "full"].map(|name| &study.file.profile[name]);
    assert_eq!(quick.blocks, BLOCKS);
    let names = quick.contender_names();
    let plan_of = |profile: &Profile| planned(profile, &Choice::default(), &names);
    let (quick, full) = (loads(&plan_of(quick)), loads(&plan_of(full)));
    let more: Vec<&Setting> = quick.difference(&full).collect();
    assert!(more.is_empty(), "the full profile lacks {more:?}");
}

/// Twins and the points of the curve included, warm-ups not.
#[test]
fn the_quick_profile_measures_for_4_minutes_at_most() {
    let study = study();
    let quick = &study.file.profile["quick"];
    let plan = planned(quick, &Choice::default(), &quick.contender_names());
    let measured_s = plan.slots.len() as f64 * plan.measure_s;
    assert!(measured_s <= 240.0, "it measures for {measured_s} s");
}

/// As studies/web/README.md has them: those of one core, and those of all, a connection a request.
#[test]
fn the_seven_rows_of_2009_take_25_minutes_of_measuring_at_most() {
    let study = study();
    let profile = &study.file.profile["full"];
    // The eighth was struck out by its author, so nobody stands beside it.
    let rows: Vec<&Published> =
        study.file.published.iter().map(|it| &it.row).filter(|it| it.contender.is_some()).collect();
    assert_eq!(rows.len(), 7);
    let mut measured_s = 0.0;
    for cores in [Cores::One, Cores::All] {
        let of_cores = rows.iter().filter(|row| row.cores == Some(cores));
        let names: Vec<String> = of_cores.filter_map(|row| row.contender.clone()).collect();
        let choice =
            Choice { cores: Some(vec![cores]), keep_alive: Some(vec![false]), ..Choice::default() };
        let plan = planned(profile, &choice, &names);
        for name in &names {
            for connections in CONNECTIONS {
                let load = Setting::closed(connections, cores, false);
                assert_eq!(blocks(&plan, name, &load), BLOCKS as usize, "{name} under {load:?}");
            }
        }
        measured_s += plan.slots.len() as f64 * plan.measure_s;
    }
    let minutes = measured_s / 60.0;
    assert!(minutes <= 25.0, "they take {minutes:.1} minutes");
}
