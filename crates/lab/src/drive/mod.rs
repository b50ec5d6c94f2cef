//! Puts work on a contender that runs, and says what it saw.
//!
//! - [`client`]: the load generator's client, a process; [`offering`]: that client, or hosts in its
//!   place; [`generator`]: what is told and heard, between the terms of a trial and those of `load`;
//! - [`http`]: the generator for web servers; [`store`]: for stores, which are filled before;
//!   [`rooms`]: for gateways, whose robots say nothing at first; [`scripts`]: what else these do,
//!   once for each gateway;
//! - `memory`: how much a contender holds meanwhile;
//! - [`read_back`]: what a store has of what it was given, read when the work is over;
//! - [`program`]: contenders that drive themselves: what they are started with, and the lines
//!   that they print.

pub mod client;
pub mod generator;
pub mod http;
mod memory;
mod offering;
pub mod program;
pub mod read_back;
pub mod rooms;
pub mod scripts;
pub mod store;

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use keeper::cgroup::Group;
use load::outcome::SampledAnswer;
use load::read_back::KeysDue;
use load::{Error, Stop};
use result::evidence::{AfterCrash, ClientSide, DeliveriesSeen, Preload, StoreSeen, Work};
use result::plan::{Plan, Slot};

use self::read_back::Written;
use crate::contract::program::Told;
use crate::place::Running;
use crate::place::reach::Reach;

/// What puts work on contenders.
pub trait WorkDriver {
    /// What a contender is started with beside its own command.
    fn arguments(&self, _what: &Drive) -> Vec<String> {
        Vec::new()
    }

    /// Where a contender is to answer, as its users write it.
    fn location(&self, address: SocketAddr) -> String {
        address.to_string()
    }

    /// The sign that a contender is ready.
    fn sign(&self) -> Sign;

    /// Whether a contender can be given work. It is asked every few ms from the contender's
    /// start on.
    fn ready(&self, on: &Running, stop: &Stop) -> Readiness;

    /// Gives a contender what has to be there before the work.
    ///
    /// # Errors
    /// Where that couldn't be offered, which is not the contender's fault.
    fn fill(&self, _on: &Running, _what: &Drive, _stop: &Stop) -> Result<Filled, Error> {
        Ok(Filled::Nothing)
    }

    /// Gets ready what is outside of the contender, without giving it work yet.
    ///
    /// # Errors
    /// Where that couldn't be had, which is not the contender's fault.
    fn prepare<'a>(&'a self, on: &'a Running, what: &Drive)
    -> Result<Box<dyn Driving + 'a>, Error>;

    /// Goes on with the writes of the work until this crash is over: what has to be there
    /// afterwards, and what came of the crash. `None`, without a crash, where that isn't known.
    fn write_on(
        &self,
        _on: &Running,
        _written: &Written,
        _crash: &dyn Fn() -> Result<(), String>,
    ) -> Option<(KeysDue, Result<(), String>)> {
        None
    }

    /// What is there after a crash of what has to be.
    fn after_crash(&self, _on: &Running, _written: &Written, _due: &KeysDue) -> AfterCrash {
        AfterCrash::Unread("nothing was written".into())
    }
}

/// The sign that a contender is ready, as a sentence has it after *it*.
pub struct Sign {
    /// Of one that gave it.
    pub given: &'static str,
    /// Of one that didn't.
    pub missing: &'static str,
}

/// Whether a contender can be given work.
pub enum Readiness {
    /// It can.
    Yes,
    /// Not yet, as far as can be seen, and what was seen.
    NotYet(String),
    /// It does something else than it should, which it may do for a moment only.
    Wrong(String),
    /// It does what no other look can mend.
    Failed(String),
}

/// What came of giving a contender what has to be there.
pub enum Filled {
    /// It needs nothing.
    Nothing,
    /// It has all of it.
    With(Preload),
    /// It is at fault that it hasn't, and why.
    Failed(String),
    /// Somebody asked for the end.
    Stopped,
}

/// What is put on a contender.
#[derive(Debug, Clone, Copy)]
pub struct Drive<'a> {
    /// How long, and from which seed.
    pub plan: &'a Plan,
    /// Under which setting, in which trial.
    pub slot: &'a Slot,
    /// Seconds of work before it is measured.
    pub warmup_s: f64,
    /// Units of work a second, where it isn't as fast as it goes.
    pub rate: Option<f64>,
    /// The processors of what is outside of the contender, on its machine.
    pub cpus: &'a [usize],
    /// Where its load comes from.
    pub from: LoadFrom<'a>,
}

/// Where the load of a trial comes from.
#[derive(Debug, Clone, Copy)]
pub enum LoadFrom<'a> {
    /// From a client on the contender's machine.
    Here,
    /// From several hosts together.
    Hosts {
        /// They, and what leads there.
        hosts: &'a [hosts::Host],
        /// The program that has to run on each.
        build: &'a hosts::wire::Build,
        /// The processors of this process, which hears them.
        hub_cpus: &'a [usize],
    },
}

impl Drive<'_> {
    /// What the trial's payloads follow from: twins and blocks have others.
    pub fn seed(&self) -> u64 {
        self.plan.seed.wrapping_add(self.slot.number.into())
    }

    /// Where the client of this contender is.
    pub fn reach(&self, on: &Running) -> Reach {
        Reach { group: on.kept.client_cgroup().clone(), cpus: self.cpus.to_vec() }
    }

    /// How long is measured.
    pub fn window(&self) -> Duration {
        Duration::from_secs_f64(self.plan.measure_s)
    }

    /// How long there is work before.
    pub fn warmup(&self) -> Duration {
        Duration::from_secs_f64(self.warmup_s)
    }
}

/// Work that is about to be put on a contender. Dropping it ends what is outside.
pub trait Driving {
    /// The process outside that does so; `None` where the contender drives itself.
    fn outside(&self) -> Option<Outside>;

    /// Puts the work on it, and tells what passes.
    ///
    /// # Errors
    /// Where nothing could be measured, which is not the contender's fault.
    fn run(&mut self, stop: &Stop, tell: &mut dyn FnMut(Passage)) -> Result<DriveEnd, Error>;
}

/// What passes while there is work.
#[derive(Debug, Clone, Copy)]
pub enum Passage {
    /// All connections that are kept are made, and nothing else was asked yet. The work begins once
    /// this is heard.
    Connected,
    /// The window has begun, and ends about then.
    Begins {
        /// When.
        until: Instant,
    },
    /// The window has ended, and the contender may be gone soon.
    Ends,
}

/// How it ended.
pub enum DriveEnd {
    /// It was measured.
    Driven(Box<Driven>),
    /// Somebody asked it to stop.
    Stopped,
    /// The contender is at fault that there is nothing to measure, and why.
    Failed(String),
}

/// A process that drives a contender from outside.
#[derive(Debug, Clone)]
pub struct Outside {
    /// Its id.
    pub pid: i32,
    /// The control group that it is in.
    pub cgroup: Group,
}

/// What was seen of the work.
#[derive(Debug)]
pub struct Driven {
    /// When the window began.
    pub window_began: load::Moment,
    /// How long it was.
    pub window: Duration,
    /// The work that was done in it.
    pub work: Work,
    /// What each process outside saw of its own side.
    pub clients: Vec<ClientSide>,
    /// A few answers that came meanwhile.
    pub answers: Vec<SampledAnswer>,
    /// What a contender told that drives itself, from its start on.
    pub told: Vec<Told>,
    /// What became of a store's keys; `None` of anything else.
    pub store: Option<StoreSeen>,
    /// What robots heard of each other; `None` where there were none.
    pub deliveries: Option<DeliveriesSeen>,
    /// What was written to it; `None` where that was nothing.
    pub written: Option<Written>,
}
