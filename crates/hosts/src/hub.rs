//! The hub: greets the agents, and runs a plan on all of them.
//!
//! Nothing waits for ever: each step has a deadline, and a host that says nothing for
//! [`SILENT_MAX`] is lost. Before the start one host that fails ends the run, by its name. After
//! it the others are stopped, and tell what they saw; their load is not redistributed.

use std::collections::VecDeque;
use std::net::IpAddr;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use keeper::text::harmless;
use load::agent::SILENT_MAX;
use load::outcome::Second;
use load::{Moment, News, Outcome, Plan, Progress, Stop};

use crate::agent::boot_id;
use crate::clock::{self, Offset};
use crate::pipe::{Heard, Pipe};
use crate::seen::{HostSeen, Together};
use crate::split::{Part, split};
use crate::wire::{Build, HostFacts, ToAgent, ToHub};
use crate::{Host, HostError};

/// How long a host may take to greet.
const HELLO_WITHIN: Duration = Duration::from_secs(10);
/// How long it may take to tell the time.
const CLOCK_WITHIN: Duration = Duration::from_secs(1);
/// What it may take beyond making its connections, and beyond the load.
const BEYOND_CONNECTING: Duration = Duration::from_secs(5);
const BEYOND_LOAD: Duration = Duration::from_secs(30);
/// So much later than all are ready the load begins, at least: and so many round trips.
const AHEAD_MIN: Duration = Duration::from_millis(100);
const AHEAD_ROUND_TRIPS: u32 = 4;
/// Between two looks whether the run is to end.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// More answers a second than any thread takes.
const ANSWERS_A_SECOND_MAX: f64 = 1e8;
/// Seconds of a host that are kept until the others have told theirs.
const SECONDS_MAX: usize = 1000;

/// The agents, greeted. Dropping it ends them.
pub struct Hub {
    agents: Vec<Agent>,
    heard: Receiver<(usize, Heard)>,
    runs: u64,
}

/// An agent as the hub knows it.
struct Agent {
    host: Host,
    pipe: Pipe,
    facts: Option<HostFacts>,
    clock: Offset,
    heard_at: Instant,
    /// Why it is lost, if it is.
    lost: Option<String>,
}

/// How far a host is within a run.
#[derive(Default)]
struct Progressed {
    open: u32,
    is_ready: bool,
    /// Seconds that the others haven't told yet.
    seconds: VecDeque<Progress>,
    outcome: Option<Outcome>,
}

impl Hub {
    /// Reaches all hosts, greets the agents, and asks what time it is there.
    ///
    /// # Errors
    /// The first host that can't be reached, or has another program.
    pub fn greet(hosts: &[Host], build: &Build) -> Result<Hub, HostError> {
        let (to, heard) = mpsc::channel();
        let agents = hosts.iter().enumerate().map(|(number, host)| {
            Agent::reach(host, build, number, to.clone()).map_err(|error| HostError {
                host: host.name.clone(),
                what: format!("starting {}: {error}", host.shown(build)),
            })
        });
        let mut hub = Hub { agents: agents.collect::<Result<_, _>>()?, heard, runs: 0 };
        let deadline = Instant::now() + HELLO_WITHIN;
        while let Some(missing) = hub.agents.iter().position(|agent| agent.facts.is_none()) {
            if let Some((number, ToHub::Hello(facts), _)) = hub.hear(LOOK_EVERY) {
                hub.agents[number].facts = Some(*facts);
            }
            hub.each_is_there()?;
            if Instant::now() >= deadline {
                let agent = &hub.agents[missing];
                let seconds = HELLO_WITHIN.as_secs();
                let words = agent.pipe.last_words();
                return Err(agent.error(format!("no agent greeted within {seconds} s{words}")));
            }
        }
        hub.agents.iter().try_for_each(|agent| agent.is_of(build))?;
        let clocks = hub.ask_clocks();
        hub.each_is_there()?;
        for (agent, clock) in hub.agents.iter_mut().zip(clocks) {
            agent.clock = clock.ok_or_else(|| agent.error("it doesn't tell the time".into()))?;
        }
        Ok(hub)
    }

    /// The hosts, what they are, and what is known of their clocks.
    pub fn hosts(&self) -> impl Iterator<Item = (&Host, &HostFacts, Offset)> {
        self.agents.iter().map(|agent| (&agent.host, agent.facts(), agent.clock))
    }

    /// Why not all hosts can reach a server of this machine at an address, for people; `None` where
    /// nothing speaks against it.
    pub fn complaint(&self, address: IpAddr) -> Option<String> {
        let own = boot_id();
        let mut elsewhere = self.hosts().filter(|(_, facts, _)| facts.boot_id != own);
        let (host, ..) = elsewhere.next().filter(|_| address.is_loopback())?;
        Some(format!(
            "{address} is on each host the host itself: give the address at which {} reaches the \
             server",
            host.name
        ))
    }

    /// Runs a plan on all hosts together, to its end or until stopped.
    ///
    /// # Errors
    /// Where a host failed before the start. What happens to hosts later is in what they saw.
    pub fn run(
        &mut self,
        plan: &Plan,
        stop: &Stop,
        tell: &mut dyn FnMut(&News),
    ) -> Result<Together, RunError> {
        let parts: Vec<Part> = self.agents.iter().map(Agent::part).collect();
        let plans = split(plan, &parts).map_err(RunError::Plan)?;
        self.runs += 1;
        for (agent, plan) in self.agents.iter().zip(&plans) {
            agent.pipe.say(&ToAgent::Prepare { run: self.runs, plan: Box::new(plan.clone()) });
        }
        let mut progressed: Vec<Progressed> = plans.iter().map(|_| Progressed::default()).collect();
        self.await_ready(&plans, &mut progressed, stop, tell)?;
        let trips = self.agents.iter().map(|agent| agent.clock.round_trip);
        let ahead = trips.max().unwrap_or_default().saturating_mul(AHEAD_ROUND_TRIPS);
        let start = Moment::now().after(ahead.max(AHEAD_MIN));
        for agent in &self.agents {
            agent.pipe.say(&ToAgent::Start { run: self.runs, at: agent.clock.there(start) });
        }
        self.gather(&plans, &mut progressed, stop, tell);
        let clocks = self.ask_clocks();
        let seen = plans.into_iter().zip(progressed).zip(clocks).zip(&mut self.agents);
        let seen = seen.map(|(((plan, progressed), clock), agent)| {
            agent.seen(plan, progressed.outcome, start, clock)
        });
        Ok(together(seen.collect()))
    }

    /// Waits until each host has made the connections that are kept.
    fn await_ready(
        &mut self,
        plans: &[Plan],
        progressed: &mut [Progressed],
        stop: &Stop,
        tell: &mut dyn FnMut(&News),
    ) -> Result<(), HostError> {
        let connecting = plans.iter().map(Plan::connects_within).max().unwrap_or_default();
        let within = connecting.saturating_add(BEYOND_CONNECTING);
        let (since, mut has_stopped) = (Instant::now(), false);
        while let Some(missing) = progressed.iter().position(|it| !it.is_ready) {
            match self.hear_of_run(LOOK_EVERY) {
                Some((number, ToHub::Connecting { open, .. })) => {
                    progressed[number].open = open;
                    tell(&News::Connecting(progressed.iter().map(|it| it.open).sum()));
                }
                Some((number, ToHub::Ready { .. })) => progressed[number].is_ready = true,
                Some((number, ToHub::Failed { error, .. })) => {
                    return Err(self.agents[number].error(error.to_string()));
                }
                Some(_) | None => {}
            }
            self.each_is_there()?;
            // A client that is to end begins, and ends at once.
            has_stopped = has_stopped || stop.asked() && self.stop();
            if since.elapsed() > within {
                let what = format!("it wasn't ready within {} s", within.as_secs());
                return Err(self.agents[missing].error(what));
            }
        }
        Ok(())
    }

    /// Hears what hosts see until each has told its outcome, or is lost.
    fn gather(
        &mut self,
        plans: &[Plan],
        progressed: &mut [Progressed],
        stop: &Stop,
        tell: &mut dyn FnMut(&News),
    ) {
        let longest = plans.iter().map(Plan::longest).max().flatten();
        let within = longest.map(|longest| longest.saturating_add(BEYOND_LOAD));
        let (since, mut has_stopped) = (Instant::now(), false);
        loop {
            let ended = progressed.iter().zip(&self.agents);
            if ended.clone().all(|(it, agent)| it.outcome.is_some() || agent.lost.is_some()) {
                return;
            }
            match self.hear_of_run(LOOK_EVERY) {
                Some((number, ToHub::Second { second, .. })) => {
                    let seconds = &mut progressed[number].seconds;
                    if seconds.len() < SECONDS_MAX {
                        seconds.push_back(second);
                    }
                    self.tell_seconds(progressed, tell);
                }
                Some((number, ToHub::Ended { outcome, .. })) => {
                    let passed = since.elapsed().saturating_add(BEYOND_CONNECTING);
                    match implausible(&plans[number], &outcome, passed) {
                        Some(what) => self.agents[number].is_lost(what),
                        None => progressed[number].outcome = Some(*outcome),
                    }
                }
                Some((number, ToHub::Failed { error, .. })) => {
                    self.agents[number].is_lost(error.to_string());
                }
                Some(_) | None => {}
            }
            if let Some(within) = within.filter(|&within| since.elapsed() > within) {
                let what = format!("it told no outcome within {} s", within.as_secs());
                let late = progressed.iter().zip(&mut self.agents);
                let late = late.filter(|(it, _)| it.outcome.is_none());
                late.for_each(|(_, agent)| agent.is_lost(what.clone()));
            }
            let is_over = stop.asked() || self.agents.iter().any(|agent| agent.lost.is_some());
            has_stopped = has_stopped || is_over && self.stop();
        }
    }

    /// Tells each second that all hosts have told which are there and not at their end.
    fn tell_seconds(&self, progressed: &mut [Progressed], tell: &mut dyn FnMut(&News)) {
        let is_there =
            |it: &Progressed, agent: &Agent| it.outcome.is_none() && agent.lost.is_none();
        loop {
            let mut there = progressed.iter_mut().zip(&self.agents);
            let there: Vec<&mut Progressed> = there
                .by_ref()
                .filter(|(it, agent)| is_there(it, agent))
                .map(|(it, _)| it)
                .collect();
            if there.is_empty() || there.iter().any(|it| it.seconds.is_empty()) {
                return;
            }
            let seconds = there.into_iter().filter_map(|it| it.seconds.pop_front());
            if let Some(second) = seconds.reduce(both) {
                tell(&News::Second(second));
            }
        }
    }

    /// Asks all to end the run early; they tell what they saw.
    fn stop(&self) -> bool {
        let there = self.agents.iter().filter(|agent| agent.lost.is_none());
        there.for_each(|agent| agent.pipe.say(&ToAgent::Stop { run: self.runs }));
        true
    }

    /// What a host says of this run, if one says something.
    fn hear_of_run(&mut self, within: Duration) -> Option<(usize, ToHub)> {
        let (number, said, _) = self.hear(within)?;
        let run = match &said {
            ToHub::Connecting { run, .. }
            | ToHub::Ready { run }
            | ToHub::Second { run, .. }
            | ToHub::Ended { run, .. }
            | ToHub::Failed { run, .. } => *run,
            ToHub::Hello(_) | ToHub::Clock { .. } | ToHub::Alive => return None,
        };
        (run == self.runs && self.agents[number].lost.is_none()).then_some((number, said))
    }

    /// The next that a host says, and when it came. Who is gone or silent is lost from then on.
    fn hear(&mut self, within: Duration) -> Option<(usize, ToHub, Moment)> {
        let heard = match self.heard.recv_timeout(within) {
            Ok((number, Heard::Said(said, at))) => {
                self.agents[number].heard_at = Instant::now();
                Some((number, said, at))
            }
            Ok((number, Heard::Unreadable(why))) => {
                let why = format!("what it said can't be understood: {why}");
                self.agents[number].is_lost(why);
                None
            }
            Ok((number, Heard::Gone)) => {
                let agent = &mut self.agents[number];
                let mut how = agent.pipe.how_it_ended();
                if agent.facts.is_none() && agent.host.binary.is_none() {
                    how += ". If bakeoff isn't there: bakeoff hosts install";
                }
                agent.is_lost(how);
                None
            }
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => None,
        };
        let greeted = self.agents.iter_mut().filter(|agent| agent.facts.is_some());
        for agent in greeted.filter(|agent| agent.heard_at.elapsed() > SILENT_MAX) {
            agent.is_lost(format!("nothing was heard of it for {} s", SILENT_MAX.as_secs()));
        }
        heard
    }

    /// # Errors
    /// The first host that is lost.
    fn each_is_there(&self) -> Result<(), HostError> {
        let lost = self.agents.iter().find_map(|agent| Some((agent, agent.lost.clone()?)));
        lost.map_or(Ok(()), |(agent, what)| Err(agent.error(what)))
    }

    /// What each host's clock shows; `None` of one that is lost, or doesn't tell.
    fn ask_clocks(&mut self) -> Vec<Option<Offset>> {
        (0..self.agents.len()).map(|number| self.ask_clock(number)).collect()
    }

    fn ask_clock(&mut self, number: usize) -> Option<Offset> {
        let asked = (0..clock::ASKED).map_while(|n| self.ask_clock_once(number, n));
        let offsets: Vec<Offset> = asked.collect();
        clock::best(offsets)
    }

    fn ask_clock_once(&mut self, number: usize, n: u32) -> Option<Offset> {
        let asked = Moment::now();
        self.agents[number].pipe.say(&ToAgent::Clock { n });
        while asked.elapsed() < CLOCK_WITHIN && self.agents[number].lost.is_none() {
            match self.hear(LOOK_EVERY) {
                Some((of, ToHub::Clock { n: answered, at }, came))
                    if (of, answered) == (number, n) =>
                {
                    return Some(Offset::of(asked, at, came));
                }
                _ => {}
            }
        }
        None
    }
}

/// Why a plan wasn't run.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// It can't be split.
    #[error("{0}")]
    Plan(String),
    /// A host failed before the start.
    #[error(transparent)]
    Host(#[from] HostError),
}

impl Agent {
    /// # Errors
    /// The kernel's.
    fn reach(
        host: &Host,
        build: &Build,
        number: usize,
        to: Sender<(usize, Heard)>,
    ) -> std::io::Result<Agent> {
        let pipe = Pipe::open(host, &host.program(build), number, to)?;
        pipe.say(&ToAgent::Hello(build.clone()));
        Ok(Agent {
            host: host.clone(),
            pipe,
            facts: None,
            clock: Offset { ns: 0, round_trip: Duration::ZERO },
            heard_at: Instant::now(),
            lost: None,
        })
    }

    fn facts(&self) -> &HostFacts {
        self.facts.as_ref().expect("it has greeted")
    }

    fn error(&self, what: String) -> HostError {
        HostError { host: self.host.name.clone(), what }
    }

    /// It is lost, for this reason or an earlier one.
    fn is_lost(&mut self, why: String) {
        self.lost.get_or_insert(why);
    }

    /// Whether it has the hub's own program.
    ///
    /// # Errors
    /// Which other it has.
    fn is_of(&self, build: &Build) -> Result<(), HostError> {
        let there = &self.facts().build;
        if there == build {
            return Ok(());
        }
        Err(self.error(format!(
            "bakeoff {} ({:.12}) runs there, and here it is {} ({:.12}): figures of two programs \
             don't add. To bring this one: bakeoff hosts install",
            harmless(&there.version),
            harmless(&there.digest),
            build.version,
            build.digest
        )))
    }

    /// What its part of a plan depends on.
    fn part(&self) -> Part {
        let cpus = cpus(&self.host, self.facts());
        Part { weight: cpus.len().max(1) as u32, cpus: cpus.to_vec() }
    }

    /// What it saw of a run that was to start at this moment.
    fn seen(
        &mut self,
        plan: Plan,
        outcome: Option<Outcome>,
        start: Moment,
        after: Option<Offset>,
    ) -> HostSeen {
        let clock = self.clock;
        let due = clock.there(start).after(plan.warmup).shown();
        let begun = outcome.as_ref().map(|outcome| outcome.window_began.shown());
        let seen = HostSeen {
            name: self.host.name.clone(),
            facts: self.facts().clone(),
            plan,
            clock,
            drift_ns: after.map(|after| after.ns.wrapping_sub(clock.ns)),
            start_late: begun.map_or(Duration::ZERO, |begun| begun.saturating_sub(due)),
            outcome: outcome.map(|outcome| Outcome {
                window_began: clock.here(outcome.window_began),
                ..outcome
            }),
            lost: self.lost.clone(),
        };
        self.clock = after.unwrap_or(clock);
        seen
    }
}

/// The processors of a host's load: those that the user names, or all that it is allowed.
pub fn cpus<'a>(host: &'a Host, facts: &'a HostFacts) -> &'a [usize] {
    if host.cpus.is_empty() { &facts.cpus } else { &host.cpus }
}

/// All that hosts saw, and its sum.
fn together(hosts: Vec<HostSeen>) -> Together {
    let outcomes = hosts.iter().filter_map(|host| host.outcome.clone());
    let outcome = outcomes.reduce(Outcome::merge);
    let outcome = outcome.unwrap_or_else(|| Outcome::nothing(Moment::now()));
    Together { outcome, hosts }
}

/// Two hosts' same second.
fn both(one: Progress, other: Progress) -> Progress {
    Progress {
        elapsed_s: one.elapsed_s.max(other.elapsed_s),
        warming_up: one.warming_up || other.warming_up,
        second: Second::merge(one.second, other.second),
        errors: one.errors + other.errors,
    }
}

/// What a host tells that can't be, of a plan that began so long ago.
fn implausible(plan: &Plan, outcome: &Outcome, passed: Duration) -> Option<String> {
    if let Some(what) = outcome.contradiction() {
        return Some(format!("its books contradict each other: {what}"));
    }
    if outcome.window > passed {
        let [told, passed] = [outcome.window, passed].map(|it| it.as_secs_f64());
        return Some(format!("it told of {told:.1} s, and {passed:.1} s have passed"));
    }
    let [account, warmup] = [&outcome.account, &outcome.warmup].map(|it| it.sent as f64);
    let threads = plan.threads_of(&plan.cpus).max(outcome.threads.len().min(1024)) as f64;
    (account + warmup > ANSWERS_A_SECOND_MAX * threads * passed.as_secs_f64())
        .then(|| format!("it told of {:.0} requests, more than any host sends", account + warmup))
}
