//! How long a run will take, learnt from what was made of it.
//!
//! Of stores nobody knows it before: one that syncs each write may take a thousand times as long to
//! be filled as one that keeps all in memory. So until each of them was seen, what is told is the
//! least: it is made of what the quickest stores take.

use std::collections::BTreeMap;
use std::iter::Sum;
use std::ops::Add;

use result::Run;
use result::plan::{Contender, Plan, Script, Setting, Slot};

use crate::drive::scripts;
use crate::study::{Study, StudyFile};

/// Seconds that a trial takes beside warm-up and window, until the first trials
/// have shown it: start, contract and stop.
const OVERHEAD_S: f64 = 0.5;
/// The same of a store, at least.
const STORE_OVERHEAD_S: f64 = 0.2;
/// Seconds that a cut takes, at least, until the first was made: a second or two of writing, two
/// starts, and reading all back. In the kept run of `studies/kv` 35 cuts took 2.8 s each.
const CUT_S: f64 = 1.6;

/// How long something will take.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TimeLeft {
    /// Seconds.
    pub seconds: f64,
    /// Whether that is the least that it will take, and nobody knows how much more it may be.
    pub is_least: bool,
}

impl Add for TimeLeft {
    type Output = TimeLeft;

    fn add(self, other: TimeLeft) -> TimeLeft {
        let is_least = self.is_least || other.is_least;
        TimeLeft { seconds: self.seconds + other.seconds, is_least }
    }
}

impl Sum for TimeLeft {
    fn sum<I: Iterator<Item = TimeLeft>>(all: I) -> TimeLeft {
        all.fold(TimeLeft { seconds: 0.0, is_least: false }, Add::add)
    }
}

/// Cuts that were made of a store which is still being cut off, and what they took.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct CutsMade {
    pub(super) cuts: u32,
    pub(super) seconds: f64,
}

/// The time for cuts of these stores, of one of which some were made. How far up each one comes
/// isn't known, so those of the lowest rung alone are counted.
fn of_cuts(stores: usize, cuts: u32, made: CutsMade, each_s: f64) -> TimeLeft {
    let due = (stores as u64 * u64::from(cuts)).saturating_sub(made.cuts.min(cuts).into());
    let is_least = stores > 0 && cuts > 0;
    TimeLeft { seconds: due as f64 * each_s, is_least }
}

/// The time for these scripts with so many gateways.
fn of_scripts(gateways: usize, scripts: &[Script]) -> TimeLeft {
    let each_s: f64 = scripts.iter().map(|it| scripts::seconds(*it)).sum();
    TimeLeft { seconds: gateways as f64 * each_s, is_least: false }
}

/// The time that a run will take until its first trial. Cuts take as long as those that were made.
pub(super) fn until_trials(run: &Run, of_store: CutsMade) -> TimeLeft {
    let present = || run.contenders.iter().filter(|it| it.absent.is_none());
    let stores = present().count();
    let is_played = |it: &&Contender| !it.run.is_empty() && run.scripts(&it.name).is_none();
    let gateways = present().filter(is_played).count();
    let rungs = run.durability.iter().flat_map(|it| &it.rungs);
    let made = rungs.map(|rung| rung.cuts.len()).sum::<usize>() as f64 + f64::from(of_store.cuts);
    let took_s = run.spent.cuts_s + of_store.seconds;
    let each_s = if made > 0.0 { took_s / made } else { CUT_S };
    of_cuts(stores.saturating_sub(run.durability.len()), run.plan.cuts, of_store, each_s)
        + of_scripts(gateways, &run.plan.scripts)
}

/// The time that these trials will take. Each is expected to be as those most like
/// it were: of the same contender under the same load, else of the same
/// contender, else of any, else as its study's file lets expect.
pub(super) fn of_trials<'a>(
    run: &Run,
    study: &StudyFile,
    slots: impl IntoIterator<Item = &'a Slot>,
) -> TimeLeft {
    let seen = Seen::of(run, study);
    let of_one = |slot: &Slot| TimeLeft {
        seconds: run.plan.measure_s + warmup_s(run, slot) + seen.overhead_s(study, slot),
        is_least: study.kind().keeps_data() && seen.of_load(slot).is_none(),
    };
    slots.into_iter().map(of_one).sum()
}

/// The time that these trials of a plan will take, and its cuts before them, as far as the study's
/// files tell, before anybody is made ready.
pub(super) fn before_builds<'a>(
    plan: &Plan,
    study: &Study,
    slots: impl IntoIterator<Item = &'a Slot>,
) -> TimeLeft {
    let warmup_s = |slot: &Slot| {
        let contender = study.contenders.iter().find(|it| it.name == slot.contender);
        contender.map_or(plan.warmup_s, |it| plan.warmup_s.max(it.file.warmup_s))
    };
    let nothing = Seen::default();
    let of_one = |slot: &Slot| TimeLeft {
        seconds: plan.measure_s + warmup_s(slot) + nothing.overhead_s(&study.file, slot),
        is_least: study.file.kind().keeps_data(),
    };
    let trials: TimeLeft = slots.into_iter().map(of_one).sum();
    let cuts = of_cuts(study.contenders.len(), plan.cuts, CutsMade::default(), CUT_S);
    cuts + of_scripts(study.contenders.len(), &plan.scripts) + trials
}

/// Seconds of load before a trial's window.
pub(super) fn warmup_s(run: &Run, slot: &Slot) -> f64 {
    let contender = run.contenders.iter().find(|it| it.name == slot.contender);
    contender.map_or(run.plan.warmup_s, |contender| run.plan.warmup_s_of(contender))
}

/// Seconds that the trials made took beside warm-up and window.
#[derive(Default)]
struct Seen<'a> {
    /// All of them, of one contender under one load.
    of_load: BTreeMap<(&'a str, &'a Setting), Mean>,
    /// Those that the study's file tells nothing of: the filling of a store under one load, with
    /// so many connections, says little of that under another.
    of_contender: BTreeMap<&'a str, Mean>,
    of_all: Mean,
}

#[derive(Debug, Clone, Copy, Default)]
struct Mean {
    sum: f64,
    count: u32,
}

impl Mean {
    fn add(&mut self, value: f64) {
        self.sum += value;
        self.count += 1;
    }

    fn value(self) -> Option<f64> {
        (self.count > 0).then(|| self.sum / f64::from(self.count))
    }
}

impl<'a> Seen<'a> {
    fn of(run: &'a Run, study: &StudyFile) -> Seen<'a> {
        let mut seen = Seen::default();
        for trial in run.trials.iter().chain(&run.disturbed) {
            let (slot, evidence) = (&trial.slot, &trial.evidence);
            if evidence.work.is_none() {
                continue;
            }
            let contender = slot.contender.as_str();
            let all_s = evidence.overhead_s - warmup_s(run, slot);
            let preload = evidence.store.as_ref().and_then(|store| store.preload.as_ref());
            let more_s =
                preload.map_or_else(|| study.more_s(&slot.setting), |preload| preload.seconds);
            seen.of_load.entry((contender, &slot.setting)).or_default().add(all_s);
            seen.of_contender.entry(contender).or_default().add(all_s - more_s);
            seen.of_all.add(all_s - more_s);
        }
        seen
    }

    fn overhead_s(&self, study: &StudyFile, slot: &Slot) -> f64 {
        let unseen_s = if study.kind().keeps_data() { STORE_OVERHEAD_S } else { OVERHEAD_S };
        let of_contender = || self.of_contender.get(&*slot.contender).and_then(|it| it.value());
        let others = || of_contender().or_else(|| self.of_all.value()).unwrap_or(unseen_s);
        let of_load = self.of_load(slot).and_then(Mean::value);
        of_load.unwrap_or_else(|| others() + study.more_s(&slot.setting))
    }

    /// What those of this contender under this load took, if one was made.
    fn of_load(&self, slot: &Slot) -> Option<Mean> {
        self.of_load.get(&(slot.contender.as_str(), &slot.setting)).copied()
    }
}

#[cfg(test)]
mod tests {
    use judge::samples::{contender, cut_off, run_of, trial};
    use result::evidence::{Preload, StoreSeen};
    use result::plan::{Cores, Value};
    use result::scripts::ScriptsSeen;
    use result::setting::{ASKS, KEYS, VALUE_BYTES};

    use super::*;

    /// A run of windows of a second, of which these trials took so many seconds beside
    /// the window.
    fn run(made: &[(&str, &Setting, f64)]) -> Run {
        let trials = made.iter().map(|(contender, load, overhead_s)| {
            let mut trial = trial(contender, 0, load, 100.0);
            trial.evidence.overhead_s = *overhead_s;
            trial
        });
        run_of(&["a", "b", "c"].map(contender), trials.collect())
    }

    fn seconds(run: &Run, study: &StudyFile, slots: [&Slot; 1]) -> f64 {
        of_trials(run, study, slots).seconds
    }

    /// A load of a store.
    fn asks_of(asks: &str, keys: u64) -> Setting {
        let mut setting = Setting::closed(16, Cores::One, true);
        setting.set(ASKS, Value::Word(asks.into()));
        setting.set(KEYS, Value::Number(keys));
        setting.set(VALUE_BYTES, 100);
        setting
    }

    fn slot(contender: &str, load: &Setting) -> Slot {
        let (contender, setting) = (contender.into(), load.clone());
        Slot { number: 0, block: 1, contender, twin: false, setting }
    }

    fn loads() -> [Setting; 2] {
        [30, 1000].map(|connections| Setting::closed(connections, Cores::One, true))
    }

    /// A study of stores, which reads from full ones and writes to empty ones.
    fn stores() -> StudyFile {
        toml::from_str(
            "title = 't'
            question = 'q'
            driver = { kind = 'generator', protocol = 'keys' }
            contract = { says = 's' }
            profile = {}
            asks.read = { says = 'reads', mix = { get = 1 } }
            asks.write = { says = 'writes', mix = { set = 1 }, preload = false }",
        )
        .unwrap()
    }

    #[test]
    fn keys_that_are_written_before_take_their_time() {
        let told =
            |asks: &str, keys| seconds(&run(&[]), &stores(), [&slot("a", &asks_of(asks, keys))]);
        let around = 1.0 + STORE_OVERHEAD_S;
        assert_eq!(told("write", 5_000_000), around, "nothing is written before");
        let (few, many) = (told("read", 100_000), told("read", 5_000_000));
        assert!(few > around && many - around > 49.0 * (few - around), "{few} {many}");
    }

    /// Else a store that syncs each write is told to take as long as one that never does, until
    /// the run is over.
    #[test]
    fn how_long_a_store_takes_to_be_filled_is_known_once_it_was_seen() {
        let [few, many] = [10_000, 50_000].map(|keys| asks_of("read", keys));
        let mut run = run(&[("a", &few, 20.3)]);
        let preload = Some(Preload { keys: 10_000, acknowledged: 10_000, seconds: 20.0 });
        run.trials[0].evidence.store = Some(StoreSeen { preload, ..StoreSeen::default() });
        let told = |run: &Run, contender, load| {
            let left = of_trials(run, &stores(), [&slot(contender, load)]);
            ((left.seconds * 10.0).round() / 10.0, left.is_least)
        };
        assert_eq!(told(&run, "a", &few), (21.3, false), "as it was");
        assert_eq!(told(&run, "a", &many), (1.4, true), "nobody has seen it filled so");
        assert_eq!(told(&run, "b", &few), (1.3, true), "nobody has seen this one");
        assert!(told(&self::run(&[]), "a", &few).1, "nobody has seen any");
        let written = asks_of("write", 50_000);
        assert_eq!(told(&run, "a", &written), (1.3, true), "it isn't filled");
    }

    /// Else a run whose stores take long to come back is told to be over soon.
    #[test]
    fn cuts_take_what_the_first_took() {
        let mut run = run(&[]);
        run.plan.cuts = 5;
        let left = |seconds| TimeLeft { seconds, is_least: true };
        let none = CutsMade::default();
        assert_eq!(until_trials(&run, none), left(15.0 * CUT_S));
        let one = CutsMade { cuts: 1, seconds: 60.0 };
        assert_eq!(until_trials(&run, one), left(14.0 * 60.0), "the first took a minute");
        run.durability.push(cut_off("a", [Some(0), Some(1), None]));
        run.spent.cuts_s = 40.0;
        assert_eq!(until_trials(&run, none), left(10.0 * 20.0), "two cuts took 40 s");
        let higher = CutsMade { cuts: 8, seconds: 60.0 };
        assert_eq!(until_trials(&run, higher), left(5.0 * 10.0), "nobody knows how many more");
        run.durability.extend(["b", "c"].map(|store| cut_off(store, [Some(1), None, None])));
        assert_eq!(until_trials(&run, none), TimeLeft { seconds: 0.0, is_least: false });
        run.durability.clear();
        run.plan.cuts = 0;
        assert!(!until_trials(&run, none).is_least, "nobody is cut off");
    }

    #[test]
    fn scripts_are_awaited_of_gateways_that_are_started_and_had_none() {
        let mut run = run(&[]);
        let left = |run: &Run| until_trials(run, CutsMade::default()).seconds;
        assert_eq!(left(&run), 0.0, "none is to be played");
        run.plan.scripts = vec![Script::Slow, Script::Storm];
        let each_s = scripts::seconds(Script::Slow) + scripts::seconds(Script::Storm);
        run.contenders.iter_mut().for_each(|it| it.run = vec!["gateway".into()]);
        run.contenders[2].run.clear();
        assert_eq!(left(&run), 2.0 * each_s, "one of them runs already");
        run.scripts.push(ScriptsSeen {
            contender: "a".into(),
            promised: None,
            may_lose: false,
            promised_in: None,
            slow: None,
            storms: Vec::new(),
        });
        assert_eq!(left(&run), each_s);
    }

    #[test]
    fn a_trial_is_expected_to_take_what_those_most_like_it_took() {
        let [few, many] = loads();
        let run = run(&[("a", &few, 1.0), ("a", &few, 2.0), ("a", &many, 4.5), ("b", &few, 0.5)]);
        let beside = |contender, load| seconds(&run, &stores(), [&slot(contender, load)]) - 1.0;
        assert_eq!(beside("a", &few), 1.5, "as under this load");
        assert_eq!(beside("a", &many), 4.5, "as under this load");
        assert_eq!(beside("b", &many), 0.5, "as under another load");
        assert_eq!(beside("c", &few), 2.0, "as the others");
        let both = [slot("a", &few), slot("b", &few)];
        assert_eq!(of_trials(&run, &stores(), &both).seconds, 2.0 + 1.5 + 0.5);
    }

    #[test]
    fn a_warm_up_of_its_own_is_counted_once_and_for_its_contender_only() {
        let [few, _] = loads();
        let mut run = run(&[]);
        run.contenders[1].warmup_s = 8.0;
        assert_eq!(seconds(&run, &stores(), [&slot("a", &few)]), 1.0 + STORE_OVERHEAD_S);
        assert_eq!(seconds(&run, &stores(), [&slot("b", &few)]), 1.0 + 8.0 + STORE_OVERHEAD_S);
        let mut made = trial("b", 0, &few, 100.0);
        made.evidence.overhead_s = 8.0 + 0.5;
        run.trials.push(made);
        assert_eq!(seconds(&run, &stores(), [&slot("b", &few)]), 1.0 + 8.0 + 0.5);
        assert_eq!(seconds(&run, &stores(), [&slot("a", &few)]), 1.0 + 0.5);
    }

    #[test]
    fn a_trial_without_load_tells_nothing_of_how_long_others_take() {
        let [few, _] = loads();
        let mut run = run(&[("a", &few, 30.0)]);
        run.trials[0].evidence.work = None;
        assert_eq!(seconds(&run, &stores(), [&slot("a", &few)]), 1.0 + STORE_OVERHEAD_S);
    }
}
