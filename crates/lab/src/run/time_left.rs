//! How long trials will take, learnt from those that were made.

use std::collections::BTreeMap;

use result::Run;
use result::plan::{Plan, Setting, Slot};

use crate::study::{Study, StudyFile};

/// Seconds that a trial takes beside warm-up and window, until the first trials
/// have shown it: start, contract and stop.
const OVERHEAD_S: f64 = 0.5;
/// Ways in which stores are cut off.
const WAYS: f64 = 3.0;
/// Seconds that a cut takes, about: a second or two of writing, two starts, and
/// reading all back.
const CUT_S: f64 = 3.0;

/// Seconds that it will take to cut so many stores off so often in each way.
fn of_cuts(stores: usize, cuts: u32) -> f64 {
    stores as f64 * f64::from(cuts) * WAYS * CUT_S
}

/// Seconds that a run will take until its first trial.
pub(super) fn until_trials(run: &Run) -> f64 {
    let stores = run.contenders.iter().filter(|it| it.absent.is_none()).count();
    of_cuts(stores.saturating_sub(run.durability.len()), run.plan.cuts)
}

/// Seconds that a trial takes beside warm-up and window, as far as the study's file tells.
fn told_by(study: &StudyFile, slot: &Slot) -> f64 {
    OVERHEAD_S + study.more_s(&slot.setting)
}

/// Seconds that these trials will take. Each is expected to be as those most like
/// it were: of the same contender under the same load, else of the same
/// contender, else of any, else as its study's file lets expect.
pub(super) fn seconds<'a>(
    run: &Run,
    study: &StudyFile,
    slots: impl IntoIterator<Item = &'a Slot>,
) -> f64 {
    let seen = Seen::of(run);
    let overhead_s = |slot: &Slot| seen.overhead_s(slot).unwrap_or_else(|| told_by(study, slot));
    let seconds = |slot: &Slot| run.plan.measure_s + warmup_s(run, slot) + overhead_s(slot);
    slots.into_iter().map(seconds).sum()
}

/// Seconds that these trials of a plan will take, and its cuts before them, as far as the study's
/// files tell, before anybody is made ready.
pub(super) fn before_builds<'a>(
    plan: &Plan,
    study: &Study,
    slots: impl IntoIterator<Item = &'a Slot>,
) -> f64 {
    let warmup_s = |slot: &Slot| {
        let contender = study.contenders.iter().find(|it| it.name == slot.contender);
        contender.map_or(plan.warmup_s, |it| plan.warmup_s.max(it.file.warmup_s))
    };
    let seconds = |slot: &Slot| plan.measure_s + warmup_s(slot) + told_by(&study.file, slot);
    of_cuts(study.contenders.len(), plan.cuts) + slots.into_iter().map(seconds).sum::<f64>()
}

/// Seconds of load before a trial's window.
pub(super) fn warmup_s(run: &Run, slot: &Slot) -> f64 {
    let contender = run.contenders.iter().find(|it| it.name == slot.contender);
    contender.map_or(run.plan.warmup_s, |contender| run.plan.warmup_s_of(contender))
}

/// Seconds beside warm-up and window, of the trials made.
#[derive(Default)]
struct Seen<'a> {
    of_load: BTreeMap<(&'a str, &'a Setting), Mean>,
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
    fn of(run: &'a Run) -> Seen<'a> {
        let mut seen = Seen::default();
        for trial in run.trials.iter().chain(&run.disturbed) {
            if trial.evidence.work.is_some() {
                let seconds = trial.evidence.overhead_s - warmup_s(run, &trial.slot);
                let contender = trial.slot.contender.as_str();
                seen.of_load.entry((contender, &trial.slot.setting)).or_default().add(seconds);
                seen.of_contender.entry(contender).or_default().add(seconds);
                seen.of_all.add(seconds);
            }
        }
        seen
    }

    fn overhead_s(&self, slot: &Slot) -> Option<f64> {
        let contender = slot.contender.as_str();
        let of_load = self.of_load.get(&(contender, &slot.setting)).and_then(|mean| mean.value());
        let of_contender = || self.of_contender.get(contender).and_then(|mean| mean.value());
        of_load.or_else(of_contender).or_else(|| self.of_all.value())
    }
}

#[cfg(test)]
mod tests {
    use judge::samples::{contender, run_of, trial};
    use result::plan::{Cores, Value};
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
        let told = |asks: &str, keys| {
            let mut setting = Setting::closed(16, Cores::One, true);
            setting.set(ASKS, Value::Word(asks.into()));
            setting.set(KEYS, Value::Number(keys));
            setting.set(VALUE_BYTES, 100);
            seconds(&run(&[]), &stores(), [&slot("a", &setting)]) - 1.0
        };
        assert_eq!(told("write", 5_000_000), OVERHEAD_S, "nothing is written before");
        let (few, many) = (told("read", 100_000), told("read", 5_000_000));
        assert!(few > OVERHEAD_S && many - OVERHEAD_S > 49.0 * (few - OVERHEAD_S), "{few} {many}");
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
        assert_eq!(seconds(&run, &stores(), &both), 2.0 + 1.5 + 0.5);
    }

    #[test]
    fn a_warm_up_of_its_own_is_counted_once_and_for_its_contender_only() {
        let [few, _] = loads();
        let mut run = run(&[]);
        run.contenders[1].warmup_s = 8.0;
        assert_eq!(seconds(&run, &stores(), [&slot("a", &few)]), 1.0 + OVERHEAD_S);
        assert_eq!(seconds(&run, &stores(), [&slot("b", &few)]), 1.0 + 8.0 + OVERHEAD_S);
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
        assert_eq!(seconds(&run, &stores(), [&slot("a", &few)]), 1.0 + OVERHEAD_S);
    }
}
