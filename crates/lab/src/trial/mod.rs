//! One trial: a fresh process of one contender under one load.
//!
//! start pinned → ready → contract → warm up → measure → stop. Whatever happens
//! on the way is evidence: a contender that fails is a result, not an error.

pub mod nobody;

use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, Instant};

use keeper::affinity::Moved;
use keeper::kept::{Exit, Kept, NotStarted, Stopped};
use keeper::process_tree;
use keeper::{Order, Scratch};
use load::Stop;
use result::evidence::{ContractStep, Evidence, Place, Process};
use result::plan::{Cores, Plan, Slot};

use crate::contract::http::{self, Depth};
use crate::contract::http_client::Wrong;
use crate::drive::client::Client;
use crate::drive::generator;
use crate::place::ThisMachine;
use crate::place::yardstick;
use crate::ready::programs;
use crate::sample::{Expected, Sampler};
use crate::study::Contract;
use crate::study::contender::{Contender, Placeholders};

/// Lines of a contender's output that are kept where it failed.
const LINES: usize = 10;
/// Time between SIGTERM and SIGKILL.
const GRACE: Duration = Duration::from_secs(3);
/// Time for a contender that answers, but wrongly, to come to its senses: some have
/// no page yet while they start.
const WRONG_ANSWERS_FOR: Duration = Duration::from_secs(3);
/// The status that says *not yet* (RFC 9110, 15.6.4), however long that takes.
const UNAVAILABLE: u16 = 503;
/// Between two tries whether a contender is ready.
const TRY_EVERY: Duration = Duration::from_millis(5);

/// What all trials of a run have in common.
#[derive(Debug, Clone, Copy)]
pub struct Bench<'a> {
    /// Where they are made.
    pub machine: &'a ThisMachine,
    /// What a contender has to do.
    pub contract: &'a Contract,
    /// Ends a trial early.
    pub stop: &'a Stop,
}

/// A contender that answers.
struct Running {
    kept: Kept,
    address: SocketAddr,
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
        let mut evidence = Evidence { place, ..Evidence::default() };
        let measured = self.with_running(contender, &mut evidence, |running, evidence| {
            let (address, contract, stop) = (running.address, self.contract, self.stop);
            let steps = || http::check(address, contract, Depth::Quick, stop, |_| {});
            let began = Instant::now();
            evidence.contract = steps();
            let all_wrong = evidence.contract.iter().all(|step| step.wrong.is_some());
            let is_of_no_use = all_wrong || evidence.hung();
            if !is_of_no_use {
                evidence.answer = http::answer_size(address, contract, slot.setting.kept(), stop);
            }
            evidence.contract_s = Some(began.elapsed().as_secs_f64());
            if stop.asked() || is_of_no_use || running.kept.exited().is_some() {
                return Ok(());
            }
            let cpus = evidence.place.client_cpus.clone();
            let warmup_s = plan.warmup_s.max(contender.file.warmup_s);
            let load = generator::load_plan(plan, slot, warmup_s, rate, contract, address, cpus);
            self.measure(&load, Duration::from_secs_f64(plan.measure_s), running, evidence)?;
            if !self.stop.asked() && running.kept.exited().is_none() {
                let began = Instant::now();
                evidence.contract_after = steps();
                let seconds = began.elapsed().as_secs_f64();
                evidence.contract_s = evidence.contract_s.map(|before| before + seconds);
            }
            Ok(())
        });
        // A shutdown ends the client and the contender as well: that is no failure of theirs.
        if self.stop.asked() {
            return Ok(None);
        }
        measured?.transpose()?;
        let seconds = evidence.work.as_ref().map_or(0.0, |load| load.seconds);
        evidence.overhead_s = began.elapsed().as_secs_f64() - seconds;
        Ok(Some(evidence))
    }

    /// Starts a contender on such cores, goes through its contract, and stops it.
    ///
    /// # Errors
    /// Where the machine let no contender start.
    pub fn check(
        &self,
        contender: &Contender,
        cores: Cores,
        depth: Depth,
        mut tell: impl FnMut(&ContractStep),
    ) -> Result<Evidence, load::Error> {
        let place = self.machine.split(cores);
        let mut evidence = Evidence { place, ..Evidence::default() };
        self.with_running(contender, &mut evidence, |running, evidence| {
            let Bench { contract, stop, .. } = *self;
            evidence.contract = http::check(running.address, contract, depth, stop, &mut tell);
        })?;
        Ok(evidence)
    }

    /// Starts a contender, does something with it, stops it, and writes down how
    /// its process fared. `None` if it couldn't be started.
    ///
    /// # Errors
    /// Where the machine let no contender start.
    fn with_running<T>(
        &self,
        contender: &Contender,
        evidence: &mut Evidence,
        act: impl FnOnce(&Running, &mut Evidence) -> T,
    ) -> Result<Option<T>, load::Error> {
        let began = Instant::now();
        let mut running = match self.start(contender, &evidence.place) {
            Ok(running) => running,
            Err(Fails::Contender(process)) => {
                evidence.process = process;
                return Ok(None);
            }
            Err(Fails::Machine(why)) => {
                let what = format!("starting {}", contender.name);
                return Err(load::Error::System { what, source: io::Error::other(why) });
            }
        };
        evidence.ready_s = Some(began.elapsed().as_secs_f64());
        let result = act(&running, evidence);
        let process = &mut evidence.process;
        if let Some(exit) = running.kept.exited() {
            let when = match evidence.work {
                Some(_) => "under load",
                None => "before there was load",
            };
            process.failure = Some(ended(&running.kept, &exit, when));
            process.last_words = running.kept.last_lines(LINES);
        }
        if self.stop.asked() {
            running.kept.hurry();
        }
        let began = Instant::now();
        match running.kept.stop(0) {
            Ok(stopped) => {
                process.killed = stopped.killed;
                process.output_bytes = Some(stopped.output_bytes);
            }
            Err(why) => process.failure = Some(why),
        }
        evidence.stop_s = Some(began.elapsed().as_secs_f64());
        Ok(Some(result))
    }

    /// Starts a contender and waits until it gives a right answer.
    fn start(&self, contender: &Contender, place: &Place) -> Result<Running, Fails> {
        let failed = |why| Fails::Contender(never_ran(why));
        let address = self.machine.free_address().map_err(Fails::Machine)?;
        let order = self.order(contender, place, address).map_err(failed)?;
        let mut kept = self.machine.start(&order).map_err(|why| match why {
            NotStarted::Program(why) => failed(why),
            NotStarted::Machine(why) => Fails::Machine(why),
        })?;
        let ready = self.wait_until_ready(contender, &kept, address);
        if self.stop.asked() {
            kept.hurry();
        }
        match ready {
            Ok(()) => Ok(Running { kept, address }),
            Err(sentence) => {
                // What it said before it was stopped, not its farewell.
                let last_words = kept.last_lines(LINES);
                Err(Fails::Contender(match kept.stop(0) {
                    Ok(Stopped { killed, output_bytes, .. }) => Process {
                        failure: Some(sentence),
                        last_words,
                        killed,
                        output_bytes: Some(output_bytes),
                    },
                    Err(why) => Process { last_words, ..never_ran(why) },
                }))
            }
        }
    }

    fn order(
        &self,
        contender: &Contender,
        place: &Place,
        address: SocketAddr,
    ) -> Result<Order, String> {
        let file = &contender.file;
        let dir = self.machine.scratch();
        let placeholders = Placeholders {
            source: contender.source.clone(),
            build: contender.build_folder(),
            dir: dir.clone(),
            host: address.ip().to_string(),
            port: address.port(),
            cores: place.server_cpus.len(),
        };
        let mut files = Vec::new();
        for name in &file.files {
            let text = std::fs::read_to_string(contender.source.join(name))
                .map_err(|error| format!("couldn't read its file {name}: {error}"))?;
            files.push((name.clone(), placeholders.fill(&text)));
        }
        Ok(Order {
            command: placeholders.fill_all(&file.run),
            environment: environment(contender, &placeholders, &dir),
            folder: None,
            scratch: Some(Scratch { path: dir, files }),
            cgroup: self.machine.cgroup(place),
            client_cgroup: self.machine.cgroup(place),
            cpus: place.server_cpus.clone(),
            grace: GRACE,
        })
    }

    fn wait_until_ready(
        &self,
        contender: &Contender,
        kept: &Kept,
        address: SocketAddr,
    ) -> Result<(), String> {
        let within = Duration::from_secs_f64(contender.file.ready_within_s);
        let began = Instant::now();
        let mut first_wrong = None;
        loop {
            let asked = match self.machine.may_listen(address) {
                true => http::ask_once(address, self.contract, self.stop),
                false => Err(Wrong::NoConnection("nobody listens there".into())),
            };
            if let Some(exit) = kept.exited() {
                return Err(ended(kept, &exit, "before it gave a right answer"));
            }
            let wrong = match asked {
                Ok(()) => break,
                Err(wrong) => wrong,
            };
            if self.stop.asked() {
                return Err("it was stopped before it gave a right answer".into());
            }
            let is_answer = match wrong {
                Wrong::Status { seen, .. } => seen != UNAVAILABLE,
                Wrong::Answer(_) => true,
                Wrong::NoConnection(_)
                | Wrong::Closed
                | Wrong::Broke(_)
                | Wrong::TooLate(_)
                | Wrong::StaysOpen(_)
                | Wrong::Stopped
                | Wrong::At { .. } => false,
            };
            if is_answer {
                let first = *first_wrong.get_or_insert_with(Instant::now);
                if first.elapsed() > WRONG_ANSWERS_FOR {
                    return Err(format!("it gives no right answer: {wrong}"));
                }
            }
            if began.elapsed() > within {
                return Err(format!(
                    "it gave no right answer within {} s of its start; at last: {wrong}; {}",
                    within.as_secs_f64(),
                    self.what_to_do(kept, address)
                ));
            }
            std::thread::sleep(TRY_EVERY);
        }
        match self.machine.foreign_listener(address, kept.root()) {
            None => Ok(()),
            Some(who) => Err(format!("{who} listens on its port {} as well", address.port())),
        }
    }

    /// What helps a contender that gives no right answer.
    fn what_to_do(&self, kept: &Kept, address: SocketAddr) -> String {
        let own = address.port();
        let ports = self.machine.listening_ports(kept.root());
        let listens = match ports.first() {
            _ if ports.contains(&own) => "it listens on its port",
            Some(port) => {
                return format!("it listens on port {port}, and was given {own} as $PORT");
            }
            None => "it listens on no port",
        };
        format!(
            "{listens}: if it needs longer to start, say so with `ready_within_s` in its \
             contender.toml"
        )
    }

    fn measure(
        &self,
        load: &load::Plan,
        window: Duration,
        running: &Running,
        evidence: &mut Evidence,
    ) -> Result<(), load::Error> {
        let cpus = evidence.place.server_cpus.clone();
        let speeds_before = yardstick::speeds(&cpus);
        // What bakeoff does meanwhile, and the threads that it starts for it.
        let _moved = Moved::to(&evidence.place.client_cpus);
        let group = running.kept.client_cgroup().clone();
        let mut client = Client::start(group, &evidence.place.client_cpus)?;
        let port = running.address.port();
        let kept = load.keep_alive.then_some(load.connections);
        let expected = Expected { kept, warmup: load.warmup, window };
        let sampler = Sampler::start(&running.kept, &client, port, expected, &evidence.place);
        let scratch_bytes = running.kept.scratch_bytes();
        let began = Instant::now();
        let output_bytes = running.kept.output_bytes();
        let mut is_in_window = false;
        let seen = client.run(load, self.stop, &mut |progress| {
            // It is told when a second has ended, the last of the warm-up among them.
            let measured_s = progress.elapsed_s - load.warmup.as_secs_f64();
            if measured_s >= 0.0 && !is_in_window {
                is_in_window = true;
                let left_s = (window.as_secs_f64() - measured_s).max(0.0);
                sampler.in_window(Instant::now() + Duration::from_secs_f64(left_s));
            }
        })?;
        let Some(seen) = seen else { return Ok(()) };
        evidence.load_s = Some(began.elapsed().as_secs_f64());
        evidence.server_output_bytes = Some(running.kept.output_bytes() - output_bytes);
        let scratch_bytes = scratch_bytes.zip(running.kept.scratch_bytes());
        evidence.server_folder_bytes =
            scratch_bytes.map(|(before, after)| after.saturating_sub(before));
        sampler.finish(seen.window_began, seen.window, evidence);
        evidence.contract_under_load = http::under_load(self.contract, &seen.sampled_answers);
        evidence.work = Some(generator::work(&seen));
        evidence.clients = vec![generator::client_side(load, &seen)];
        evidence.core_speeds = yardstick::speeds_since(&cpus, &speeds_before);
        Ok(())
    }
}

/// How a contender ended by itself, in a sentence.
fn ended(kept: &Kept, exit: &Exit, when: &str) -> String {
    let lives_on = !process_tree::descendants(kept.root()).is_empty();
    match exit.code {
        Some(0) if lives_on => format!(
            "it forked away: its first process ended with {} {when}, and others of it live on; \
             `run` has to start it in the foreground",
            exit.how
        ),
        _ => format!("it ended with {} {when}", exit.how),
    }
}

/// What a contender finds in its environment: what it is to do, and nothing of
/// the user's own, which would differ from machine to machine.
fn environment(
    contender: &Contender,
    placeholders: &Placeholders,
    dir: &Path,
) -> Vec<(String, String)> {
    let mut environment = vec![
        ("PATH".into(), programs::search_path()),
        ("HOME".into(), dir.display().to_string()),
        // What it leaves there is gone with the trial.
        ("TMPDIR".into(), dir.display().to_string()),
        ("LANG".into(), "C.UTF-8".into()),
        ("HOST".into(), placeholders.host.clone()),
        ("PORT".into(), placeholders.port.to_string()),
        ("CORES".into(), placeholders.cores.to_string()),
    ];
    for (name, value) in &contender.file.environment {
        environment.push((name.clone(), placeholders.fill(value)));
    }
    environment
}
