//! One trial: a fresh process of one contender under one load.
//!
//! start pinned → ready → contract → warm up → measure → contract → stop. A store that survives
//! its own crash is killed before it is stopped, and read. Whatever happens on the way is evidence:
//! a contender that fails is a result, not an error. What is played with gateways besides, once for
//! each, is in [`scripts`].

mod code;
mod crash;
pub mod first;
mod made;
pub mod nobody;
pub mod order;
mod records;
pub mod scripts;
mod tool;

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use keeper::Order;
use keeper::affinity::Moved;
use keeper::kept::{Exit, Kept, NotStarted, Stopped};
use keeper::process_tree;
use load::Stop;
use result::evidence::{ContractStep, Evidence, Place, Process, StoreSeen};
use result::figure::ROBOT_BYTES;
use result::kind::Kind;
use result::plan::{Plan, Setting, Slot};

use crate::contract::program::GivenWork;
use crate::contract::{Contract, Depth};
use crate::drive::read_back::Written;
use crate::drive::{Drive, DriveEnd, Filled, LoadFrom, Readiness, WorkDriver};
use crate::environment;
use crate::place::yardstick::{self, Speed};
use crate::place::{Host, Running};
use crate::sample::{self, Expected, Sampler};
use crate::study::Data;
use crate::study::contender::Contender;

use self::records::Records;

/// Lines of a contender's output that are kept where it failed.
const LINES: usize = 10;
/// Time for a contender that answers, but wrongly, to come to its senses: some have
/// no page yet while they start.
const WRONG_ANSWERS_FOR: Duration = Duration::from_secs(3);
/// Between two tries whether a contender is ready.
const TRY_EVERY: Duration = Duration::from_millis(5);

/// How long the end of a process may take to be told: until then, its children may seem
/// to be nobody's.
const ADOPTED_WITHIN: Duration = Duration::from_millis(200);

/// What all trials of a contender have in common.
#[derive(Clone, Copy)]
pub struct Bench<'a> {
    /// Where they are made.
    pub host: &'a dyn Host,
    /// What puts work on it.
    pub driver: &'a dyn WorkDriver,
    /// What kind of study it is.
    pub kind: Kind,
    /// What it works on, where the study makes that.
    pub data: Option<&'a Data>,
    /// What it has to do.
    pub contract: &'a dyn Contract,
    /// Where its load comes from.
    pub from: LoadFrom<'a>,
    /// Whether it is known to survive its own crash, which it is then held to in each trial.
    pub survives_crash: bool,
    /// Ends a trial early.
    pub stop: &'a Stop,
}

/// Why there is no contender that answers.
enum Fails {
    /// It failed, and so fared its process: that is evidence.
    Contender(Process),
    /// The machine doesn't let any contender start, and why: that tells nothing of this one.
    Machine(String),
}

/// How a contender fared that never ran.
fn never_ran(why: String) -> Process {
    Process { failure: Some(why), ..Process::default() }
}

impl Bench<'_> {
    /// Makes one trial of a plan at this place, with the rate to offer where it is an open loop;
    /// `None` if it was stopped on the way, so that it tells nothing.
    ///
    /// # Errors
    /// Where the machine let no contender start or no load be offered, which is not the
    /// contender's fault.
    pub fn trial(
        &self,
        plan: &Plan,
        slot: &Slot,
        place: Place,
        rate: Option<f64>,
        contender: &Contender,
    ) -> Result<Option<Evidence>, load::Error> {
        let began = Instant::now();
        let cpus = self.cpus_outside(&place);
        let warmup_s = plan.warmup_s.max(contender.file.warmup_s);
        let drive = Drive { plan, slot, warmup_s, rate, cpus: &cpus, from: self.from };
        let may_idle = plan.may_idle;
        let place = self.own(contender, place);
        let mut evidence = Evidence { place, may_idle, ..Evidence::default() };
        let speeds = self.speeds_ahead(&evidence.place);
        let measured = self.with_running(contender, &drive, &mut evidence, |running, evidence| {
            let steps = || self.contract.check(running, Depth::Quick, self.stop, &mut |_| {});
            let began = Instant::now();
            evidence.contract = steps();
            let is_broken = |step: &ContractStep| step.wrong.is_some();
            let all_wrong =
                !evidence.contract.is_empty() && evidence.contract.iter().all(is_broken);
            let is_of_no_use = all_wrong || evidence.hung();
            if !is_of_no_use {
                evidence.answer = self.contract.answer_size(running, &slot.setting, self.stop);
            }
            evidence.contract_s = Some(began.elapsed().as_secs_f64());
            let has_ended = self.kind.is_asked() && running.kept.exited().is_some();
            if self.stop.asked() || is_of_no_use || has_ended {
                return Ok(None);
            }
            let written = self.measure(&drive, speeds, running, evidence)?;
            if !self.stop.asked() && running.kept.exited().is_none() {
                let began = Instant::now();
                evidence.contract_after = steps();
                let seconds = began.elapsed().as_secs_f64();
                evidence.contract_s = evidence.contract_s.map(|before| before + seconds);
            }
            Ok(written)
        });
        // A shutdown ends the client and the contender as well: that is no failure of theirs.
        if self.stop.asked() {
            return Ok(None);
        }
        measured?;
        let seconds = evidence.work.as_ref().map_or(0.0, |work| work.seconds);
        evidence.overhead_s = began.elapsed().as_secs_f64() - seconds;
        environment::hide(&mut evidence);
        Ok(Some(evidence))
    }

    /// Starts a contender under a setting, goes through its contract, and stops it. One that
    /// drives itself works for some tenths of a second.
    ///
    /// # Errors
    /// Where the machine let no contender start.
    pub fn check(
        &self,
        contender: &Contender,
        setting: &Setting,
        depth: Depth,
        mut tell: impl FnMut(&ContractStep),
    ) -> Result<Evidence, load::Error> {
        let place = self.host.split(setting.cores);
        let (cpus, own) = (place.client_cpus.clone(), contender.name.clone());
        let setting = setting.clone();
        let slot = Slot { number: 0, block: 0, contender: own, twin: false, setting };
        let plan = Plan {
            profile: String::new(),
            seed: 1,
            blocks: 1,
            measure_s: 0.3,
            warmup_s: 0.1,
            may_idle: false,
            cuts: 0,
            scripts: Vec::new(),
            slots: Vec::new(),
        };
        let (warmup_s, from) = (plan.warmup_s, LoadFrom::Here);
        let drive = Drive { plan: &plan, slot: &slot, warmup_s, rate: None, cpus: &cpus, from };
        let place = self.own(contender, place);
        let mut evidence = Evidence { place, ..Evidence::default() };
        let speeds = self.speeds_ahead(&evidence.place);
        self.with_running(contender, &drive, &mut evidence, |running, evidence| {
            evidence.contract = self.contract.check(running, depth, self.stop, &mut tell);
            if self.kind.is_asked() {
                return Ok(None);
            }
            let measured = self.measure(&drive, speeds, running, evidence);
            evidence.contract.iter().for_each(tell);
            measured
        })?;
        environment::hide(&mut evidence);
        Ok(evidence)
    }

    /// The processors of what is outside of the contender, on its machine.
    fn cpus_outside(&self, place: &Place) -> Vec<usize> {
        match self.from {
            LoadFrom::Here => place.client_cpus.clone(),
            LoadFrom::Hosts { hub_cpus, .. } => hub_cpus.to_vec(),
        }
    }

    /// How fast processors are before a contender starts that works from then on.
    fn speeds_ahead(&self, place: &Place) -> Option<Vec<Option<Speed>>> {
        (!self.kind.is_asked()).then(|| self.host.speeds(&place.server_cpus))
    }

    /// What of a place is the contender's, and what is shared with others: with nobody, where it
    /// drives itself. One that runs already has the processors that somebody else gave it.
    fn own(&self, contender: &Contender, place: Place) -> Place {
        if contender.runs_already() {
            return Place { server_cpus: Vec::new(), ..place };
        }
        if !self.kind.is_asked() && place.shared() {
            Place { client_cpus: Vec::new(), ..place }
        } else {
            place
        }
    }

    /// Starts a contender, does something with it, stops it, and writes down how
    /// its process fared. What was written to a store tells what it has to have after a crash.
    ///
    /// # Errors
    /// Where the machine let no contender start, or nothing could be done with it.
    fn with_running(
        &self,
        contender: &Contender,
        drive: &Drive,
        evidence: &mut Evidence,
        act: impl FnOnce(&Running, &mut Evidence) -> Result<Option<Written>, load::Error>,
    ) -> Result<(), load::Error> {
        let system = |what: String, why: String| {
            Err(load::Error::System { what, source: io::Error::other(why) })
        };
        let records = match self.data.map(|data| records::make(data, drive, self.stop)).transpose()
        {
            Ok(records) => records.unwrap_or_default(),
            Err(why) => return system("making records".into(), why),
        };
        let shared_before = sample::shared_bytes();
        let began = Instant::now();
        let mut running = match self.start(contender, drive, records, &evidence.place) {
            Ok(running) => running,
            Err(Fails::Contender(process)) => {
                evidence.process = process;
                return Ok(());
            }
            Err(Fails::Machine(why)) => {
                return system(format!("starting {}", contender.name), why);
            }
        };
        evidence.ready_s = Some(began.elapsed().as_secs_f64());
        if !self.kind.is_asked() {
            evidence.ready_cpu_s = cpu_s(&running.kept);
        }
        let result = act(&running, evidence);
        evidence.machine.shared_before_bytes = shared_before;
        if contender.runs_already() {
            forget_who_stood_in(evidence);
        }
        let process = &mut evidence.process;
        // One that drives itself ends once it has done its work, or says why not.
        let exit = running.kept.exited();
        let is_at_fault = |exit: &Exit| self.kind.is_asked() || exit.code != Some(0);
        if let Some(exit) = exit.filter(is_at_fault)
            && process.failure.is_none()
        {
            let when = match evidence.work {
                Some(_) => "under load",
                None => "before there was load",
            };
            process.failure = Some(ended(&running.kept, &exit, when));
        }
        if process.failure.is_some() {
            process.last_words = running.kept.last_lines(LINES);
        }
        let is_sound = process.failure.is_none() && !self.stop.asked();
        let crashed = match &result {
            Ok(Some(written)) if self.survives_crash && is_sound => {
                self.crash(contender, &running, written, evidence)
            }
            _ => Ok(()),
        };
        if self.stop.asked() {
            running.kept.hurry();
        }
        let process = &mut evidence.process;
        let began = Instant::now();
        match running.kept.stop(0) {
            Ok(stopped) => {
                process.killed = stopped.killed;
                process.output_bytes = Some(stopped.output_bytes);
            }
            Err(why) => process.failure = Some(why),
        }
        let stop_s = began.elapsed().as_secs_f64();
        evidence.stop_s = (!contender.runs_already()).then_some(stop_s);
        result.and(crashed)
    }

    /// Starts a contender and waits until it can be given work.
    fn start(
        &self,
        contender: &Contender,
        drive: &Drive,
        records: Records,
        place: &Place,
    ) -> Result<Running, Fails> {
        let failed = |why| Fails::Contender(never_ran(why));
        let address = order::address(contender, self.host).map_err(Fails::Machine)?;
        let dir =
            if self.kind.keeps_data() { self.host.scratch_on_disk() } else { self.host.scratch() };
        let order = order::order(contender, self.host, place, address, dir);
        let mut order = order.map_err(failed)?;
        order.command.extend(self.driver.arguments(drive));
        order.lines = !self.kind.is_asked();
        let mut made = None;
        if let (Some(scratch), Some(data)) = (order.scratch.as_mut(), self.data) {
            let path = scratch.path.join(records::FILE).display().to_string();
            order.command.extend(["--records".into(), path]);
            scratch.files.push((records::FILE.into(), records.text));
            if !data.counted_by.is_empty() {
                let path = scratch.path.join(made::FILE);
                order.command.extend(["--made".into(), path.display().to_string()]);
                made = Some(path);
            }
        }
        self.launch(contender, order, address, (records.numbers, made))
    }

    /// Starts what is ordered, and waits until it can be given work.
    fn launch(
        &self,
        contender: &Contender,
        order: Order,
        address: SocketAddr,
        (records, made): (Vec<u64>, Option<PathBuf>),
    ) -> Result<Running, Fails> {
        let kept = self.host.start(&order).map_err(|why| match why {
            NotStarted::Program(why) => Fails::Contender(never_ran(why)),
            NotStarted::Machine(why) => Fails::Machine(why),
        })?;
        let mut running = Running { kept, order, address, records, made };
        let ready = self.wait_until_ready(contender, &running);
        if self.stop.asked() {
            running.kept.hurry();
        }
        let Err(sentence) = ready else { return Ok(running) };
        // What it said before it was stopped, not its farewell.
        let last_words = running.kept.last_lines(LINES);
        Err(Fails::Contender(match running.kept.stop(0) {
            Ok(Stopped { killed, output_bytes, .. }) => Process {
                failure: Some(sentence),
                last_words,
                killed,
                output_bytes: Some(output_bytes),
                ..Process::default()
            },
            Err(why) => Process { last_words, ..never_ran(why) },
        }))
    }

    fn wait_until_ready(&self, contender: &Contender, running: &Running) -> Result<(), String> {
        let Running { kept, address, .. } = running;
        let within = Duration::from_secs_f64(contender.file.ready_within_s);
        let began = Instant::now();
        let mut first_wrong = None;
        let sign = self.driver.sign();
        loop {
            let may_answer =
                !self.kind.is_asked() || contender.runs_already() || self.host.may_listen(*address);
            let readiness = if may_answer {
                self.driver.ready(running, self.stop)
            } else {
                Readiness::NotYet("no connection: nobody listens there".into())
            };
            if matches!(readiness, Readiness::Yes) {
                break;
            }
            if let Some(exit) = kept.exited() {
                return Err(ended(kept, &exit, &format!("before it {}", sign.given)));
            }
            if self.stop.asked() {
                return Err(format!("it was stopped before it {}", sign.given));
            }
            let seen = match readiness {
                Readiness::Failed(why) => return Err(why),
                Readiness::Yes => break,
                Readiness::Wrong(seen) => {
                    let first = *first_wrong.get_or_insert_with(Instant::now);
                    if first.elapsed() > WRONG_ANSWERS_FOR {
                        return Err(format!("it gives no right answer: {seen}"));
                    }
                    seen
                }
                Readiness::NotYet(seen) => seen,
            };
            if began.elapsed() > within {
                return Err(format!(
                    "it {} within {} s of its start; at last: {seen}; {}",
                    sign.missing,
                    within.as_secs_f64(),
                    self.what_to_do(contender, kept, *address)
                ));
            }
            std::thread::sleep(TRY_EVERY);
        }
        if !self.kind.is_asked() || contender.runs_already() {
            return Ok(());
        }
        let foreign = || self.host.foreign_listener(*address, kept.root());
        // One whose parent just ended belongs to nobody for a moment.
        let foreign = foreign().and_then(|_| {
            kept.wait(ADOPTED_WITHIN);
            foreign()
        });
        match (kept.exited(), foreign) {
            (Some(exit), _) => Err(ended(kept, &exit, &format!("before it {}", sign.given))),
            (None, Some(who)) => {
                Err(format!("{who} listens on its port {} as well", address.port()))
            }
            (None, None) => Ok(()),
        }
    }

    /// What helps a contender that isn't ready.
    fn what_to_do(&self, contender: &Contender, kept: &Kept, address: SocketAddr) -> String {
        if contender.runs_already() {
            let location = self.driver.location(address);
            return format!("it is to run already: see whether it answers at {location}");
        }
        let longer = "if it needs longer to start, say so with `ready_within_s` in its \
                      contender.toml";
        if !self.kind.is_asked() {
            return longer.into();
        }
        let own = address.port();
        let listening = self.host.listening(kept.root());
        match listening.iter().map(SocketAddr::port).max_by_key(|&port| port == own) {
            Some(port) if port == own => format!("it listens on its port: {longer}"),
            Some(port) => format!("it listens on port {port}, and was given {own} as $PORT"),
            None => format!("it listens on no port: {longer}"),
        }
    }

    /// Puts work on a contender and measures it. The speeds of its processors are measured
    /// first, unless they were before: one that drives itself works from its start on. What was
    /// written to it, where it is a store.
    fn measure(
        &self,
        what: &Drive,
        speeds: Option<Vec<Option<Speed>>>,
        running: &Running,
        evidence: &mut Evidence,
    ) -> Result<Option<Written>, load::Error> {
        let preload = match self.driver.fill(running, what, self.stop)? {
            Filled::Nothing => None,
            Filled::With(preload) => Some(preload),
            Filled::Failed(why) => {
                evidence.process.failure = Some(why);
                return Ok(None);
            }
            Filled::Stopped => return Ok(None),
        };
        let cpus = evidence.place.server_cpus.clone();
        let speeds_before = speeds.unwrap_or_else(|| self.host.speeds(&cpus));
        // What bakeoff does meanwhile, and the threads that it starts for it.
        let _moved = Moved::to(what.cpus);
        let made = running.made.as_deref();
        let made = made.map(|file| made::content(file).map(|content| (file, content)));
        let made = match made.transpose() {
            Ok(made) => made,
            Err(why) => {
                evidence.process.failure = Some(why);
                return Ok(None);
            }
        };
        let mut driving = self.driver.prepare(running, what)?;
        let outside = driving.outside();
        let port = running.address.port();
        let setting = &what.slot.setting;
        let is_kept = self.kind.is_asked() && setting.kept();
        let kept = is_kept.then(|| setting.connections());
        let expected = Expected { kept, warmup: what.warmup(), window: what.window() };
        let kept = &running.kept;
        let sampler = Sampler::start(kept, outside.as_ref(), port, expected, &evidence.place);
        let scratch_bytes = kept.scratch_bytes();
        let began = Instant::now();
        let output_bytes = kept.output_bytes();
        let driven = match driving.run(self.stop, &mut |passage| sampler.pass(passage))? {
            DriveEnd::Driven(driven) => *driven,
            DriveEnd::Stopped => return Ok(None),
            DriveEnd::Failed(why) => {
                evidence.process.failure = Some(why);
                return Ok(None);
            }
        };
        evidence.load_s = Some(began.elapsed().as_secs_f64());
        evidence.server_output_bytes = Some(kept.output_bytes() - output_bytes);
        let scratch_bytes = scratch_bytes.zip(kept.scratch_bytes());
        evidence.server_folder_bytes =
            scratch_bytes.map(|(before, after)| after.saturating_sub(before));
        sampler.finish(driven.window_began, driven.window, evidence);
        let given = GivenWork { seed: what.seed(), records: &running.records };
        let steps = self.contract.under_work(&driven.answers, &driven.told, &given, self.stop);
        if self.kind.is_asked() {
            evidence.contract_under_load = steps
        } else {
            evidence.contract = steps
        }
        evidence.clients = driven.clients;
        evidence.store = driven.store.map(|seen| StoreSeen { preload, ..seen });
        evidence.deliveries = driven.deliveries;
        evidence.core_speeds = yardstick::both(&cpus, &speeds_before, &self.host.speeds(&cpus));
        let mut work = driven.work;
        if let (Some(data), Some(made)) = (self.data, made) {
            match made::count(data, what, made, self.stop) {
                Ok(figures) => {
                    work.counted.extend(figures.keys().cloned());
                    work.result.extend(figures);
                }
                Err(why) => {
                    evidence.process.failure = Some(why);
                    return Ok(None);
                }
            }
        }
        evidence.work = Some(work);
        Ok(driven.written)
    }
}

/// CPU seconds of a contender from its start on.
fn cpu_s(kept: &Kept) -> Option<f64> {
    let of_tree = || process_tree::cpu_of(kept.root(), &process_tree::descendants(kept.root()));
    kept.cgroup().cpu_s().or_else(of_tree)
}

/// Leaves out what was seen of the process that stood in for a server that runs already. To
/// whoever looks at processes, that server is one of the others.
fn forget_who_stood_in(evidence: &mut Evidence) {
    evidence.process.runs_already = true;
    evidence.server = Default::default();
    evidence.samples.clear();
    evidence.core_speeds.clear();
    (evidence.server_cpu_s, evidence.server_interrupt_s) = (None, None);
    (evidence.server_rss_max_bytes, evidence.server_memory_max_bytes) = (None, None);
    evidence.server_disk_write_bytes = None;
    (evidence.server_output_bytes, evidence.server_folder_bytes) = (None, None);
    if let Some(deliveries) = &mut evidence.deliveries {
        (deliveries.memory_before_bytes, deliveries.memory_idle_bytes) = (None, None);
    }
    if let Some(work) = &mut evidence.work {
        work.result.remove(ROBOT_BYTES);
    }
    (evidence.others_cpu_s, evidence.ready_s, evidence.stop_s) = (None, None, None);
}

/// How a contender ended by itself, in a sentence.
fn ended(kept: &Kept, exit: &Exit, when: &str) -> String {
    let lives_on = !process_tree::descendants(kept.root()).is_empty();
    match exit.code {
        Some(0) if lives_on => format!(
            "it forked away: its first process ended with {} {when}, and others of it live on; \
             it has to be started in the foreground",
            exit.how
        ),
        _ => format!("it ended with {} {when}", exit.how),
    }
}
