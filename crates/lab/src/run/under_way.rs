//! A run under way: phase by phase the trials that are missing, each kept as
//! soon as it is over, then what follows from them.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Instant, SystemTime};

use judge::checks;
use judge::outcomes;
use judge::rates;
use load::Stop;
use result::durability::Class;
use result::evidence::{Evidence, Place, SecondClient};
use result::plan::{ClientHost, PaceKind, Setting, Slot};
use result::{LeftOut, Run, State, Trial};

use super::changed::changed_places;
use super::{
    CutsDue, Early, Ended, Event, Ladder, RunError, shared_folder, spent, still_to_make, time_left,
};
use crate::drive::LoadFrom;
use crate::place::awake::Awake;
use crate::place::client_hosts::ClientHosts;
use crate::place::{Host, ThisMachine};
use crate::plan::pair;
use crate::plan::repeat::take_back_disturbed;
use crate::plan::write_load::WriteLoad;
use crate::ready::source_digest;
use crate::run::folder::{self, Folder};
use crate::run::time_left::CutsMade;
use crate::study::Study;
use crate::study::contender::Contender;
use crate::trial::Bench;
use crate::trial::scripts::slot_of;

/// Trials in a row that came to no load, or in which the contender hung, after which it is
/// given up: a server that doesn't answer would cost its whole time limit in every trial.
const FAILURES_MAX: u32 = 2;

/// A run under way.
pub(super) struct UnderWay<'a> {
    study: &'a Study,
    folder: Folder,
    run: Run,
    hosts: Option<&'a ClientHosts>,
    ladder: &'a dyn Ladder,
    stop: &'a Stop,
    /// Failures in a row, by contender.
    failures: BTreeMap<String, u32>,
    /// Contenders whose files were changed since the run began.
    changed: BTreeSet<String>,
    /// Until when its time is counted.
    counted: Instant,
    /// When its first trial began.
    began: SystemTime,
    awake: Option<Awake>,
}

/// A trial to be made, and the rate to offer, where it is an open loop.
type Due = (Slot, Option<f64>);

impl<'a> UnderWay<'a> {
    pub(super) fn new(
        study: &'a Study,
        folder: Folder,
        run: Run,
        (hosts, ladder): (Option<&'a ClientHosts>, &'a dyn Ladder),
        stop: &'a Stop,
    ) -> Self {
        let counted = Instant::now();
        let began = shared_folder::began(&run);
        let (failures, changed) = (BTreeMap::new(), BTreeSet::new());
        let awake = Awake::where_virtual(&run.machine);
        UnderWay {
            study,
            folder,
            run,
            hosts,
            ladder,
            stop,
            failures,
            changed,
            counted,
            began,
            awake,
        }
    }

    /// Makes the trials that are missing, and concludes.
    pub(super) fn go_on(
        mut self,
        tell: &mut dyn FnMut(Event),
        builds_failed: Vec<String>,
    ) -> Ended {
        let to_make = still_to_make(&self.run, &self.study.file);
        tell(Event::Planned { run: &self.run, folder: self.folder.path(), to_make });
        let mut early = self.phases(tell).unwrap_or_else(|error| Some(Early::Failed(error)));
        outcomes::conclude(&mut self.run);
        if missing(&self.run).next().is_none() {
            self.run.state = State::Complete;
        }
        self.count_time();
        if let Err(error) = self.folder.write(&self.run) {
            early = early.or(Some(Early::Failed(error.into())));
        }
        Ended { run: self.run, folder: self.folder, early, builds_failed }
    }

    /// Those of the missing that will be made, as far as is known.
    fn left(&self) -> Vec<&Slot> {
        missing(&self.run).filter(|slot| !self.is_left_out(&slot.contender)).collect()
    }

    /// Finds out what each store survives that nobody has cut off yet; `false` if that was
    /// interrupted.
    fn cut_stores_off(&mut self, tell: &mut dyn FnMut(Event)) -> Result<bool, RunError> {
        let cuts = self.run.plan.cuts;
        let study = self.study;
        for store in study.contenders.iter().filter(|_| cuts > 0) {
            let is_absent =
                |it: &result::plan::Contender| it.name == store.name && it.absent.is_some();
            let is_known = self.run.durability.iter().any(|it| it.contender == store.name);
            if is_known || self.run.contenders.iter().any(is_absent) {
                continue;
            }
            tell(Event::CutsOff { store: &store.name, cuts });
            let machine = ThisMachine::new(&self.run.machine);
            let seed = self.run.plan.seed;
            let loads = WriteLoad::of(&self.run.plan.slots);
            let due = CutsDue { cuts, seed, loads };
            let (began, mut made) = (Instant::now(), 0);
            let mut was_cut = || {
                made += 1;
                let of_store = CutsMade { cuts: made, seconds: began.elapsed().as_secs_f64() };
                let trials = time_left::of_trials(&self.run, &self.study.file, missing(&self.run));
                let left = time_left::until_trials(&self.run, of_store) + trials;
                tell(Event::WasCutOff { store: &store.name, made, left });
            };
            let seen = self.ladder.climb(store, &machine, due, self.stop, &mut was_cut);
            let Some(seen) = seen else { return Ok(false) };
            self.run.spent.cuts_s += began.elapsed().as_secs_f64();
            self.run.durability.push(seen);
            self.keep(Folder::write)?;
        }
        Ok(true)
    }

    /// Plays the plan's scripts with each gateway with which nobody has played them yet; `false` if
    /// that was interrupted. One that runs already can't have a fresh process for each.
    fn play_scripts(&mut self, tell: &mut dyn FnMut(Event)) -> Result<bool, RunError> {
        let slot = slot_of(&self.run.plan).filter(|_| !self.run.plan.scripts.is_empty());
        let Some(slot) = slot.cloned() else { return Ok(true) };
        let study = self.study;
        for gateway in study.contenders.iter().filter(|it| !it.runs_already()) {
            let is_absent =
                |it: &result::plan::Contender| it.name == gateway.name && it.absent.is_some();
            let is_known = self.run.scripts(&gateway.name).is_some();
            if is_known || self.run.contenders.iter().any(is_absent) {
                continue;
            }
            let trials = time_left::of_trials(&self.run, &study.file, missing(&self.run));
            let left = time_left::until_trials(&self.run, CutsMade::default()) + trials;
            tell(Event::PlaysScripts { gateway: &gateway.name, left });
            let began = Instant::now();
            let machine = ThisMachine::new(&self.run.machine);
            let (driver, contract) = study.driver_and_contract(gateway);
            let bench = Bench {
                host: &machine,
                driver: &*driver,
                kind: study.file.kind(),
                data: None,
                contract: &*contract,
                from: LoadFrom::Here,
                survives_crash: false,
                stop: self.stop,
            };
            let Some(seen) = bench.scripts(gateway, &self.run.plan, &slot)? else {
                return Ok(false);
            };
            self.run.spent.scripts_s += began.elapsed().as_secs_f64();
            self.run.scripts.push(seen);
            self.keep(Folder::write)?;
        }
        Ok(true)
    }

    fn phases(&mut self, tell: &mut dyn FnMut(Event)) -> Result<Option<Early>, RunError> {
        let was_open = still_to_make(&self.run, &self.study.file).at_most.is_some();
        let known = self.run.durability.len();
        if !self.cut_stores_off(tell)? {
            return Ok(Some(Early::Interrupted));
        }
        if pair::plan_each_class(&mut self.run) {
            self.keep(Folder::write)?;
        }
        if was_open || self.run.durability.len() > known {
            tell(Event::ClassesKnown(still_to_make(&self.run, &self.study.file)));
        }
        if !self.play_scripts(tell)? {
            return Ok(Some(Early::Interrupted));
        }
        for phase in PaceKind::ALL {
            let slots = self.run.plan.slots.iter();
            let of_phase = slots.filter(|slot| slot.setting.pace.kind() == phase);
            let blocks: BTreeSet<u32> = of_phase.map(|slot| slot.block).collect();
            for block in blocks {
                if !self.block(phase, block, tell)? {
                    return Ok(Some(Early::Interrupted));
                }
            }
            loop {
                let slots = take_back_disturbed(&mut self.run, phase);
                let Some(slot) = slots.first() else { break };
                tell(Event::Disturbed { block: slot.block, setting: &slot.setting });
                self.keep(Folder::write)?;
                if !self.block(phase, slot.block, tell)? {
                    return Ok(Some(Early::Interrupted));
                }
            }
        }
        if let Some(contender) = self.changed.iter().find_map(|name| self.contender(name)) {
            let places = changed_places(contender, self.began);
            let contender = contender.name.clone();
            return Err(RunError::ChangedMeanwhile { contender, places });
        }
        let given_up: Vec<String> =
            self.failures.keys().filter(|it| self.is_given_up(it)).cloned().collect();
        Ok((!given_up.is_empty()).then_some(Early::GivenUp(given_up)))
    }

    /// Makes the trials of a block that are missing, and what its A/A pairs need
    /// besides; `false` if that was interrupted.
    fn block(
        &mut self,
        phase: PaceKind,
        block: u32,
        tell: &mut dyn FnMut(Event),
    ) -> Result<bool, RunError> {
        loop {
            let of_block = |slot: &&Slot| slot.block == block && slot.setting.pace.kind() == phase;
            let slots: Vec<Slot> = missing(&self.run).filter(of_block).cloned().collect();
            let due = self.due(slots, tell);
            if !self.trials(&due, tell)? {
                return Ok(false);
            }
            let added = pair::complete(&mut self.run, phase, block);
            if added.is_empty() {
                return Ok(true);
            }
            added.iter().for_each(|slot| tell(Event::AnotherPair(slot)));
            self.keep(Folder::write)?;
        }
    }

    /// The trials that can be made, with their rates. Those without are left out,
    /// and the run says why.
    fn due(&mut self, slots: Vec<Slot>, tell: &mut dyn FnMut(Event)) -> Vec<Due> {
        let mut due = Vec::new();
        for slot in slots {
            match rates::offered(&self.run, &slot.contender, &slot.setting) {
                Ok(rate) => due.push((slot, rate)),
                Err(reason) => {
                    let Slot { contender, setting, .. } = slot;
                    let left_out = LeftOut { contender, setting, reason };
                    if !self.run.left_out.contains(&left_out) {
                        tell(Event::NoRate(&left_out));
                        self.run.left_out.push(left_out);
                    }
                }
            }
        }
        due
    }

    /// Makes these trials; `false` if that was interrupted.
    fn trials(&mut self, due: &[Due], tell: &mut dyn FnMut(Event)) -> Result<bool, RunError> {
        for (slot, rate) in due {
            self.notice_a_change(slot, tell);
            if self.is_left_out(&slot.contender) {
                continue;
            }
            let left = self.left();
            let (trials, left) =
                (left.len(), time_left::of_trials(&self.run, &self.study.file, left));
            tell(Event::Begins { slot, trials, left });
            let Some(trial) = self.trial(slot, *rate, tell)? else { return Ok(false) };
            let failures = self.failures.entry(slot.contender.clone()).or_default();
            let failed = trial.evidence.work.is_none() || trial.evidence.hung();
            *failures = if failed { *failures + 1 } else { 0 };
            let warmup_s = time_left::warmup_s(&self.run, slot);
            spent::add(&mut self.run.spent, warmup_s, &trial.evidence);
            self.keep(|folder, _| folder.append(&trial))?;
            self.run.trials.push(trial.clone());
            let left = time_left::of_trials(&self.run, &self.study.file, self.left());
            tell(Event::Ended { trial: &trial, left });
            if self.is_given_up(&slot.contender) {
                tell(Event::GivenUp(&slot.contender));
            }
        }
        Ok(true)
    }

    /// Counts the time that has passed, so that what is written down has the whole beside
    /// its parts: should bakeoff be killed, nothing else would tell of it.
    fn count_time(&mut self) {
        let now = Instant::now();
        self.run.spent.whole_s += (now - self.counted).as_secs_f64();
        self.counted = now;
    }

    /// Writes something down, and how long that took.
    pub(super) fn keep(
        &mut self,
        write: impl FnOnce(&Folder, &Run) -> Result<(), folder::FolderError>,
    ) -> Result<(), RunError> {
        self.count_time();
        let began = Instant::now();
        write(&self.folder, &self.run)?;
        self.run.spent.keep_s += began.elapsed().as_secs_f64();
        Ok(())
    }

    /// Whether a store was cut off, and kept all that it had acknowledged when its process died.
    /// Who loses writes then says nothing by losing them again.
    fn survives_crash(&self, store: &Contender) -> bool {
        let classes = self.run.classes(&store.name);
        !store.runs_already() && classes.is_some_and(|it| it.least >= Some(Class::Process))
    }

    fn is_given_up(&self, contender: &str) -> bool {
        self.failures.get(contender).is_some_and(|&count| count >= FAILURES_MAX)
    }

    /// Whether no more trials of a contender are made. Those of the others are.
    fn is_left_out(&self, contender: &str) -> bool {
        self.is_given_up(contender) || self.changed.contains(contender)
    }

    /// Notes it if the files of a slot's contender aren't those that the run began with: its
    /// trials are compared as those of one thing.
    fn notice_a_change(&mut self, slot: &Slot, tell: &mut dyn FnMut(Event)) {
        let contender = self.contender(&slot.contender);
        let is_changed = contender.is_some_and(|it| !is_what_it_was(&self.run, it));
        if is_changed && self.changed.insert(slot.contender.clone()) {
            tell(Event::ChangedMeanwhile(&slot.contender));
        }
    }

    fn contender(&self, name: &str) -> Option<&'a Contender> {
        self.study.contenders.iter().find(|it| it.name == name)
    }

    /// Where a trial of this setting runs, and the processors of who hears hosts, where the load
    /// comes from them.
    fn place(&self, machine: &ThisMachine, setting: &Setting) -> (Place, Vec<usize>) {
        let Some(hosts) = self.hosts else { return (machine.split(setting.cores), Vec::new()) };
        let offering = hosts.first(setting.clients()).len();
        let greeted: Vec<&ClientHost> = self.run.hosts.iter().take(offering).collect();
        machine.for_hosts(setting.cores, &greeted)
    }

    /// Makes one trial; `None` if it was interrupted.
    fn trial(
        &mut self,
        slot: &Slot,
        rate: Option<f64>,
        tell: &mut dyn FnMut(Event),
    ) -> Result<Option<Trial>, RunError> {
        let contender = self.contender(&slot.contender);
        let contender = contender.expect("a plan is resumed with the contenders that it names");
        let machine = match self.hosts {
            Some(hosts) => ThisMachine::new(&self.run.machine).reached_at(hosts.address),
            None => ThisMachine::new(&self.run.machine),
        };
        let (place, hub_cpus) = self.place(&machine, &slot.setting);
        let from = self.hosts.map_or(LoadFrom::Here, |hosts| LoadFrom::Hosts {
            hosts: hosts.first(slot.setting.clients()),
            build: &hosts.build,
            hub_cpus: &hub_cpus,
        });
        let (driver, contract) = self.study.driver_and_contract(contender);
        let data = self.study.file.data.as_ref();
        let kind = self.study.file.kind();
        let (driver, contract, stop) = (&*driver, &*contract, self.stop);
        let survives_crash = self.survives_crash(contender);
        let bench =
            Bench { host: &machine, driver, kind, data, contract, from, survives_crash, stop };
        let started = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
        let runs = self.folder.path().parent().unwrap_or(self.folder.path());
        let shared = contender.file.folder.as_ref();
        let shared = shared.map(|it| shared_folder::look(it.get_ref(), self.began, runs));
        let Some(mut evidence) = bench.trial(&self.run.plan, slot, place, rate, contender)? else {
            return Ok(None);
        };
        evidence.process.shared_folder = shared;
        evidence.machine.kept_awake = self.awake.is_some();
        if checks::asks_for_second_client(slot, &evidence) {
            evidence.second_client = match machine.with_second_client(slot.setting.cores) {
                Err(why) => Some(SecondClient::Missing { why }),
                Ok(place) => {
                    tell(Event::SecondClient(slot));
                    let began = Instant::now();
                    // The first has shown whether it survives that.
                    let bench = Bench { survives_crash: false, ..bench };
                    let again = bench.trial(&self.run.plan, slot, place, rate, contender)?;
                    let seconds = began.elapsed().as_secs_f64();
                    self.run.spent.second_client_s += seconds;
                    // The next like it will take as long.
                    evidence.overhead_s += seconds;
                    let Some(again) = again else { return Ok(None) };
                    Some(second_client(&again))
                }
            };
        }
        let findings = checks::judge(self.run.study.kind, slot, &evidence);
        Ok(Some(Trial { slot: slot.clone(), started, evidence, findings }))
    }
}

/// Whether a contender's files are those that the run began with.
fn is_what_it_was(run: &Run, contender: &Contender) -> bool {
    let record = run.contenders.iter().find(|it| it.name == contender.name);
    let before = record.and_then(|it| it.source_sha256.as_ref());
    before.is_none_or(|before| source_digest(contender).as_ref() == Some(before))
}

/// The slots of a run's plan that have no trial yet, and aren't left out.
pub(super) fn missing(run: &Run) -> impl Iterator<Item = &Slot> {
    let made = |slot: &Slot| run.trials.iter().any(|trial| trial.slot == *slot);
    let left_out = |slot: &Slot| {
        let is_it = |it: &LeftOut| it.contender == slot.contender && it.setting == slot.setting;
        run.left_out.iter().any(is_it)
    };
    run.plan.slots.iter().filter(move |slot| !made(slot) && !left_out(slot))
}

/// What a trial with a second client adds to the evidence of the first.
fn second_client(again: &Evidence) -> SecondClient {
    let failure = again.process.failure.as_deref();
    let (Some(work), Some(client), None) = (&again.work, again.clients.first(), failure) else {
        let why = failure.unwrap_or("the contender broke its contract");
        return SecondClient::Missing {
            why: format!("With a second client there is no rate: {why}."),
        };
    };
    SecondClient::Measured {
        client_cpus: again.place.client_cpus.clone(),
        rate: work.rate,
        errors: work.errors.iter().map(|error| error.count).sum(),
        client_busy_share: client.busy_share.clone(),
        client_run_delay_share: client.run_delay_share.clone(),
        others_cores: again.others_near_cores(),
        steal_share: again.steal_share,
    }
}
