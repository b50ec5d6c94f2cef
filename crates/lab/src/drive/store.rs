//! The load generator as the driver of stores: what a setting asks becomes a plan of load, all
//! keys are written before, and the store says afterwards what it has.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use load::outcome::{KeysSeen, Outcome};
use load::plan::keys::{Keys, KeysPhase, Operation};
use load::plan::{Target, Until, Workload};
use load::read_back::KeysDue;
use load::{PRELOADED_WITHIN, Stop, in_time};
use procfs::Current;
use result::evidence::{AfterCrash, Preload, StoreSeen};
use result::figure::{DISK_BYTES, FLUSHES, LOAD_AVERAGE};
use result::plan::Value;
use result::setting::{ASKS, KEYS, VALUE_BYTES};

use super::generator::{Loading, arrivals};
use super::read_back::Written;
use super::{Drive, DriveEnd, Driving, Filled, Outside, Passage, Readiness, Sign, WorkDriver};
use crate::contract::store::ask_once;
use crate::contract::store_client::{StoreClient, StoreWrong};
use crate::place::Running;
use crate::place::disk;
use crate::study::Asks;
use crate::study::contender::Speaks;

/// Time for a store to say what it has.
const WITHIN: Duration = Duration::from_secs(5);

/// The load generator, for stores.
#[derive(Debug, Clone)]
pub struct StoreDriver {
    /// What they are spoken with.
    pub speaks: Speaks,
    /// What they are asked, by the word that settings have for it.
    pub asks: BTreeMap<String, Asks>,
    /// A program that asks them in the place of bakeoff's own client.
    pub client: Option<PathBuf>,
}

impl WorkDriver for StoreDriver {
    fn sign(&self) -> Sign {
        Sign { given: "gave an answer", missing: "gave no answer" }
    }

    fn ready(&self, on: &Running, _stop: &Stop) -> Readiness {
        match ask_once(on, self.speaks) {
            Ok(()) => Readiness::Yes,
            // It may be reading what it has on its disk.
            Err(
                wrong @ (StoreWrong::NoConnection(_)
                | StoreWrong::TooLate(_)
                | StoreWrong::Refused(_)),
            ) => Readiness::NotYet(wrong.to_string()),
            Err(wrong @ StoreWrong::Answer(_)) => Readiness::Wrong(wrong.to_string()),
        }
    }

    fn fill(&self, on: &Running, what: &Drive, stop: &Stop) -> Result<Filled, load::Error> {
        let Some(plan) = self.plan(on, what)?.preload() else { return Ok(Filled::Nothing) };
        let Until::Requests(keys) = plan.until else { return Ok(Filled::Nothing) };
        let mut loading = Loading::prepare(on, what, plan)?;
        let (seen, is_late) =
            in_time(PRELOADED_WITHIN, stop, |stop| loading.offer(stop, &mut |_| {}));
        if is_late {
            let minutes = PRELOADED_WITHIN.as_secs() / 60;
            return Ok(Filled::Failed(format!(
                "it hadn't acknowledged the {keys} writes that have to be there before the work \
                 within {minutes} min"
            )));
        }
        let Some(seen) = seen? else { return Ok(Filled::Stopped) };
        let acknowledged = seen.account.good;
        Ok(if acknowledged == keys {
            let seconds = seen.window.as_secs_f64();
            Filled::With(Preload { keys, acknowledged, seconds })
        } else {
            Filled::Failed(not_filled(keys, &seen))
        })
    }

    fn prepare<'a>(
        &'a self,
        on: &'a Running,
        what: &Drive,
    ) -> Result<Box<dyn Driving + 'a>, load::Error> {
        let plan = self.plan(on, what)?;
        let loading = match &self.client {
            None => Loading::prepare(on, what, plan)?,
            Some(program) => Loading::prepare_other(program, on, what, plan)?,
        };
        Ok(Box::new(Asking { loading, on, speaks: self.speaks }))
    }

    fn write_on(
        &self,
        on: &Running,
        written: &Written,
        crash: &dyn Fn() -> Result<(), String>,
    ) -> Option<(KeysDue, Result<(), String>)> {
        written.write_on(|| StoreClient::connect(on.address, self.speaks, WITHIN), crash)
    }

    fn after_crash(&self, on: &Running, written: &Written, due: &KeysDue) -> AfterCrash {
        let connect = || StoreClient::connect(on.address, self.speaks, WITHIN);
        let mut read = written.read(due, connect);
        read.refused.take().map_or(AfterCrash::Read(read), AfterCrash::Unread)
    }
}

impl StoreDriver {
    /// The load of a slot.
    ///
    /// # Errors
    /// Where its setting isn't one of a store's.
    fn plan(&self, on: &Running, what: &Drive) -> Result<load::Plan, load::Error> {
        let no = || load::Error::Plan("the setting doesn't say what a store is asked".into());
        let setting = &what.slot.setting;
        let Some(Value::Word(word)) = setting.value(ASKS) else { return Err(no()) };
        let asks = self.asks.get(word).ok_or_else(no)?;
        let count = setting.number(KEYS).ok_or_else(no)?;
        let bytes = setting.number(VALUE_BYTES).and_then(|it| u32::try_from(it).ok());
        let bytes = bytes.ok_or_else(no)?;
        let keys = Keys {
            dialect: self.speaks.dialect(),
            phase: KeysPhase::Mix,
            mix: asks.mix.clone(),
            count,
            chosen: asks.key_choice,
            value_bytes: bytes..=bytes,
            together: asks.keys_a_get,
            expires_s: 0,
            are_there: asks.preload,
            evicts: asks.evicts,
        };
        let (address, path) = (on.address, String::new());
        Ok(load::Plan {
            work: Workload::Keys(keys),
            arrivals: arrivals(what.slot, what.rate),
            connections: setting.connections(),
            pipeline: asks.pipeline,
            until: Until::Elapsed(what.window()),
            warmup: what.warmup(),
            cpus: what.cpus.to_vec(),
            seed: what.seed(),
            ..load::Plan::new(Target { address, authority: address.to_string(), path }, Vec::new())
        })
    }
}

/// That not all keys could be written, with the most frequent reason.
fn not_filled(keys: u64, seen: &Outcome) -> String {
    let most = seen.account.errors.iter().max_by_key(|error| error.count);
    let most = most.map(|error| {
        let example = keeper::text::harmless(&error.example);
        format!("; {} times {}: {example}", error.count, error.kind.name())
    });
    format!(
        "it acknowledged {} of the {keys} writes that have to be there before the work{}",
        seen.account.good,
        most.unwrap_or_default()
    )
}

/// A client that waits for its plan, and the store that it asks.
struct Asking<'a> {
    loading: Loading,
    on: &'a Running,
    speaks: Speaks,
}

impl Driving for Asking<'_> {
    fn outside(&self) -> Option<Outside> {
        self.loading.outside()
    }

    fn run(&mut self, stop: &Stop, tell: &mut dyn FnMut(Passage)) -> Result<DriveEnd, load::Error> {
        let folder = self.on.kept.scratch();
        let mut flushes = None;
        let seen = self.loading.offer(stop, &mut |passage| {
            flushes = folder.and_then(Flushes::now);
            tell(passage);
        })?;
        let Some(seen) = seen else { return Ok(DriveEnd::Stopped) };
        let flushes = flushes.and_then(|before| before.per_second(Flushes::now(folder?)?));
        // Which keys several hosts wrote isn't known from their sum.
        let is_alone = self.loading.is_alone();
        let written = is_alone.then(|| Written::of(self.loading.plan(), &seen));
        let store = self.seen(&seen, written.as_ref());
        let mut driven = self.loading.driven(seen);
        (driven.store, driven.written) = (Some(store), written);
        let disk_bytes = self.on.kept.scratch_bytes().map(|bytes| bytes as f64);
        let load_average = procfs::LoadAverage::current().ok().map(|it| f64::from(it.one));
        let told = [(DISK_BYTES, disk_bytes), (FLUSHES, flushes), (LOAD_AVERAGE, load_average)];
        let told = told.into_iter().filter_map(|(id, value)| Some((id.to_string(), value?)));
        driven.work.result.extend(told);
        Ok(DriveEnd::Driven(Box::new(driven)))
    }
}

impl Asking<'_> {
    /// What became of the keys, and what the store says of them.
    fn seen(&self, seen: &Outcome, written: Option<&Written>) -> StoreSeen {
        let KeysSeen { hits, misses, missing, wrong, stale, .. } = seen.keys.unwrap_or_default();
        // Each on a connection of its own: behind an answer that is none more may come.
        let mut told_wrong = None;
        let mut ask = |what: fn(&mut StoreClient) -> Result<Option<u64>, StoreWrong>| {
            let client = StoreClient::connect(self.on.address, self.speaks, WITHIN);
            client.and_then(|mut client| what(&mut client)).unwrap_or_else(|wrong| {
                if let StoreWrong::Answer(why) = wrong {
                    told_wrong.get_or_insert(why);
                }
                None
            })
        };
        let connect = || StoreClient::connect(self.on.address, self.speaks, WITHIN);
        let mut due = written.and_then(|written| Some((written, written.due()?)));
        let mut read_back = due.as_ref().map(|(written, due)| written.read(due, connect));
        let (keys_there, evictions) = (ask(StoreClient::count), ask(StoreClient::evictions));
        // These may be of keys that weren't there before, so the store has told their number.
        if let (Some((written, due)), Some(back)) = (&mut due, &mut read_back) {
            written.read_at_once(due, connect, back);
        }
        StoreSeen {
            preload: None,
            hits,
            misses,
            missing,
            wrong,
            stale,
            under_way_max: Some(self.under_way_max()),
            file_system: self.on.kept.scratch().and_then(disk::file_system),
            elsewhere_bytes: self.on.kept.bytes_outside_scratch(),
            // `None` where nothing can be read, which the check of what was compared says.
            read_back,
            after_crash: None,
            may_evict: self.keys().is_some_and(|keys| keys.evicts),
            keys_due: self.keys_due(seen),
            keys_there,
            evictions,
            told_wrong,
        }
    }

    fn under_way_max(&self) -> u64 {
        let plan = self.loading.plan();
        u64::from(plan.connections) * u64::from(plan.pipeline)
    }

    fn keys(&self) -> Option<&Keys> {
        match &self.loading.plan().work {
            Workload::Keys(keys) => Some(keys),
            Workload::Http(_) | Workload::Rooms(_) => None,
        }
    }

    /// How many keys the store has to have, at least and at most.
    fn keys_due(&self, seen: &Outcome) -> Option<(u64, u64)> {
        let keys = self.keys().filter(|keys| keys.are_there || self.loading.is_alone())?;
        let accounts = [&seen.account, &seen.warmup];
        let sum = |of: fn(&load::outcome::Account) -> u64| accounts.iter().map(|it| of(it)).sum();
        let (sent, good): (u64, u64) = (sum(|it| it.sent), sum(|it| it.good));
        keys_due(keys, sent, good)
    }
}

/// How many keys a store has to have after so many requests, of which so many were good.
fn keys_due(keys: &Keys, sent: u64, good: u64) -> Option<(u64, u64)> {
    let count = keys.count;
    let share = |operation| keys.share_of(operation);
    if share(Operation::Delete) > 0.0 || keys.expires_s > 0 {
        return Some((0, count));
    }
    if keys.are_there {
        return Some((count, count));
    }
    let is_in_turn = keys.chosen == load::plan::keys::Chosen::Sequential;
    let least = if !is_in_turn || share(Operation::Set) != 1.0 {
        0
    } else if sent <= count {
        // Each wrote another key.
        good
    } else {
        count.saturating_sub(sent - good)
    };
    Some((least, count.min(sent)))
}

/// The flushes of a disk up to a moment.
#[derive(Debug, Clone, Copy)]
struct Flushes {
    at: Instant,
    count: u64,
}

impl Flushes {
    /// Of the disk that a folder lies on; `None` where it doesn't tell.
    fn now(folder: &Path) -> Option<Flushes> {
        Some(Flushes { at: Instant::now(), count: disk::flushes(folder)? })
    }

    /// How many there were a second until then.
    fn per_second(self, then: Flushes) -> Option<f64> {
        let seconds = (then.at - self.at).as_secs_f64();
        (seconds > 0.0).then(|| then.count.saturating_sub(self.count) as f64 / seconds)
    }
}

#[cfg(test)]
mod tests {
    use load::plan::keys::{Chosen, Dialect};

    use super::*;

    fn keys(mix: &[(Operation, u32)], are_there: bool) -> Keys {
        Keys {
            dialect: Dialect::MemcachedText,
            phase: KeysPhase::Mix,
            mix: mix.to_vec(),
            count: 100,
            chosen: Chosen::Sequential,
            value_bytes: 100..=100,
            together: 1,
            expires_s: 0,
            are_there,
            evicts: false,
        }
    }

    /// Else a store that lost keys, or never had them, would pass for one that has all.
    #[test]
    fn the_keys_that_have_to_be_there_follow_from_what_was_acknowledged() {
        let writes = keys(&[(Operation::Set, 1)], false);
        assert_eq!(keys_due(&writes, 50, 40), Some((40, 50)));
        assert_eq!(keys_due(&writes, 1_000, 1_000), Some((100, 100)));
        assert_eq!(keys_due(&writes, 1_000, 990), Some((90, 100)));
        let random = Keys { chosen: Chosen::Uniform, ..writes };
        assert_eq!(keys_due(&random, 50, 50), Some((0, 50)));
        let mixed = keys(&[(Operation::Get, 9), (Operation::Set, 1)], true);
        assert_eq!(keys_due(&mixed, 7, 7), Some((100, 100)));
        let deleting = keys(&[(Operation::Set, 1), (Operation::Delete, 1)], true);
        assert_eq!(
            keys_due(&deleting, 7, 7),
            Some((0, 100)),
            "more than were written it can't have"
        );
    }
}
