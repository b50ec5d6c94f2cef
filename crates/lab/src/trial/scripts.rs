//! The scripts that are played with a gateway before it is timed, each with a process of its own.
//!
//! A busy machine may make others wait as a slow robot does. So where the others only waited, and
//! not for long, the script is played again, and counts as it goes then. A gateway that has others
//! wait does so each time.

use std::cmp::Reverse;

use keeper::affinity::Moved;
use load::Error;
use result::evidence::Evidence;
use result::plan::{Pace, Plan, Script, Slot};
use result::scripts::{
    AfterStorm, Played, ScriptsSeen, SlowReader, SlowReaderSeen, StormEnding, StormPlayed,
};

use super::{Bench, ended};
use crate::drive::scripts::{slow_reader, storm};
use crate::drive::{Drive, LoadFrom};
use crate::environment;
use crate::place::Running;
use crate::study::contender::{Contender, Promises};

/// Nobody is kept waiting for a second by a scheduler: others that wait so long wait for a slow
/// robot.
const SURELY_WAITED_US: f64 = 1e6;
/// How often a script is played again at most. Two plays in a row may both be disturbed.
const AGAIN_MAX: u32 = 3;

/// The load that storms come from, of all that a plan has: the first of those with most robots.
pub fn slot_of(plan: &Plan) -> Option<&Slot> {
    let most = |slot: &&Slot| (slot.setting.connections(), Reverse(slot.number));
    plan.slots.iter().max_by_key(most)
}

impl Bench<'_> {
    /// Plays a plan's scripts with a contender, with robots as of this slot; `None` if it was stopped
    /// on the way.
    ///
    /// # Errors
    /// Where the machine let no contender start or no load be offered, which is not the
    /// contender's fault.
    pub fn scripts(
        &self,
        contender: &Contender,
        plan: &Plan,
        slot: &Slot,
    ) -> Result<Option<ScriptsSeen>, Error> {
        let promises = contender.file.promises.as_ref();
        let mut seen = ScriptsSeen {
            contender: contender.name.clone(),
            promised: promises.and_then(|it| it.slow_reader),
            may_lose: promises.is_some_and(Promises::may_lose),
            promised_in: promises.map(|it| it.source.clone()),
            slow: None,
            storms: Vec::new(),
        };
        if plan.scripts.contains(&Script::Slow) {
            let Some(slow) = self.slow_reader(contender, plan, slot)? else { return Ok(None) };
            seen.slow = Some(slow);
        }
        for ending in StormEnding::ALL {
            if !plan.scripts.contains(&Script::Storm) {
                break;
            }
            let how = (contender.file.wire.wire(), ending);
            let play = |on: &Running, what: &Drive| storm(on, what, how, self.stop);
            let after: Option<Played<AfterStorm>> = self.played(contender, plan, slot, play)?;
            let Some(after) = after else { return Ok(None) };
            seen.storms.push(StormPlayed { ending, after });
        }
        Ok(Some(seen))
    }

    fn slow_reader(
        &self,
        contender: &Contender,
        plan: &Plan,
        slot: &Slot,
    ) -> Result<Option<Played<SlowReaderSeen>>, Error> {
        let wire = contender.file.wire.wire();
        let play = |on: &Running, what: &Drive| slow_reader(on, what, wire, self.stop);
        let mut played = self.played(contender, plan, slot, play)?;
        let mut again = 0;
        while again < AGAIN_MAX && is_doubtful(played.as_ref()) {
            played = self.played(contender, plan, slot, play)?;
            again += 1;
        }
        Ok(played)
    }

    /// Plays something with a process of its own; `None` if it was stopped on the way.
    fn played<T>(
        &self,
        contender: &Contender,
        plan: &Plan,
        slot: &Slot,
        play: impl FnOnce(&Running, &Drive) -> Result<Option<T>, Error>,
    ) -> Result<Option<Played<T>>, Error> {
        let place = self.host.split(slot.setting.cores);
        let cpus = place.client_cpus.clone();
        let rate = match slot.setting.pace {
            Pace::Fixed { per_s } => Some(per_s.into()),
            Pace::Free | Pace::Equal { .. } | Pace::Own { .. } => None,
        };
        let from = LoadFrom::Here;
        let drive = Drive { plan, slot, warmup_s: plan.warmup_s, rate, cpus: &cpus, from };
        let mut evidence = Evidence { place, ..Evidence::default() };
        let mut seen = None;
        let ran = self.with_running(contender, &drive, &mut evidence, |running, evidence| {
            let _moved = Moved::to(&cpus);
            seen = play(running, &drive)?;
            if let Some(exit) = running.kept.exited() {
                evidence.process.failure = Some(ended(&running.kept, &exit, "during a script"));
            }
            Ok(None)
        });
        if self.stop.asked() {
            return Ok(None);
        }
        ran?;
        environment::hide(&mut evidence);
        Ok(evidence.process.failure.map(Played::Failed).or(seen.map(Played::Seen)))
    }
}

/// Whether others may have waited for something else than a slow robot.
fn is_doubtful(played: Option<&Played<SlowReaderSeen>>) -> bool {
    let Some(Played::Seen(seen)) = played else { return false };
    let waited = seen.others_waited_us().map_or(0.0, |(_, [_, meanwhile])| meanwhile);
    seen.word == Some(SlowReader::Blocks) && seen.others_shed == 0 && waited < SURELY_WAITED_US
}

#[cfg(test)]
mod tests {
    use result::evidence::{Percentile, Percentiles};
    use result::plan::{Cores, Setting};

    use super::*;

    #[test]
    fn a_short_wait_of_others_alone_is_doubtful() {
        let is_doubtful = |word, others_shed, value| {
            let at = vec![Percentile { percentile: 99.0, value, at_least: false }];
            let times = Percentiles { at, ..Percentiles::default() };
            let seen = SlowReaderSeen {
                word: Some(word),
                others_shed,
                others_before_us: times.clone(),
                others_meanwhile_us: times,
                ..SlowReaderSeen::default()
            };
            is_doubtful(Some(&Played::Seen(seen)))
        };
        assert!(is_doubtful(SlowReader::Blocks, 0, 9_000.0));
        assert!(!is_doubtful(SlowReader::Blocks, 0, 4e6), "they waited for it to the end");
        assert!(!is_doubtful(SlowReader::Blocks, 7, 9_000.0), "it took nothing from them");
        assert!(!is_doubtful(SlowReader::Cuts, 0, 9_000.0));
    }

    #[test]
    fn a_storm_is_of_the_most_robots() {
        let slot = |number, connections| {
            let setting = Setting::closed(connections, Cores::All, true);
            Slot { number, block: 0, contender: "a".into(), twin: false, setting }
        };
        let mut plan = judge::samples::run_of(&[], vec![]).plan;
        assert_eq!(slot_of(&plan), None);
        plan.slots = vec![slot(0, 10), slot(1, 6_500), slot(2, 6_500)];
        assert_eq!(slot_of(&plan).map(|it| it.number), Some(1));
    }
}
