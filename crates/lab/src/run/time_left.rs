//! How long trials will take, learnt from those that were made.

use std::collections::BTreeMap;

use result::Run;
use result::plan::{Load, Slot};

/// Seconds that a trial takes beside warm-up and window, until the first trials
/// have shown it: start, contract and stop.
const OVERHEAD_S: f64 = 0.8;

/// Seconds that these trials will take. Each is expected to be as those most like
/// it were: of the same contender under the same load, else of the same
/// contender, else of any.
pub(super) fn seconds<'a>(run: &Run, slots: impl IntoIterator<Item = &'a Slot>) -> f64 {
    let seen = Seen::of(run);
    let seconds = |slot: &Slot| run.plan.measure_s + warmup_s(run, slot) + seen.overhead_s(slot);
    slots.into_iter().map(seconds).sum()
}

/// Seconds of load before a trial's window.
pub(super) fn warmup_s(run: &Run, slot: &Slot) -> f64 {
    let contender = run.contenders.iter().find(|it| it.name == slot.contender);
    contender.map_or(run.plan.warmup_s, |contender| run.plan.warmup_s_of(contender))
}

/// Seconds beside warm-up and window, of the trials made.
#[derive(Default)]
struct Seen<'a> {
    of_load: BTreeMap<(&'a str, &'a Load), Mean>,
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
            if trial.evidence.load.is_some() {
                let seconds = trial.evidence.overhead_s - warmup_s(run, &trial.slot);
                let contender = trial.slot.contender.as_str();
                seen.of_load.entry((contender, &trial.slot.load)).or_default().add(seconds);
                seen.of_contender.entry(contender).or_default().add(seconds);
                seen.of_all.add(seconds);
            }
        }
        seen
    }

    fn overhead_s(&self, slot: &Slot) -> f64 {
        let contender = slot.contender.as_str();
        let of_load = self.of_load.get(&(contender, &slot.load)).and_then(|mean| mean.value());
        let of_contender = || self.of_contender.get(contender).and_then(|mean| mean.value());
        of_load.or_else(of_contender).or_else(|| self.of_all.value()).unwrap_or(OVERHEAD_S)
    }
}
