//! Puts work on a contender that runs, and says what it saw.

pub mod client;
pub mod generator;

use std::time::{Duration, Instant};

use keeper::cgroup::Group;
use load::outcome::SampledAnswer;
use load::{Error, Stop};
use result::evidence::{ClientSide, Work};
use result::plan::{Plan, Slot};

use crate::place::Running;
use crate::study::{self, ContractFile, DriverKind};

use self::generator::Generator;

/// What puts work on contenders.
pub trait Driver {
    /// Whether a contender can be given work. It is asked every few ms from the contender's
    /// start on.
    fn ready(&self, on: &Running, stop: &Stop) -> Readiness;

    /// Gets ready what is outside of the contender, without giving it work yet.
    ///
    /// # Errors
    /// Where that couldn't be had, which is not the contender's fault.
    fn prepare(&self, on: &Running, what: &Drive) -> Result<Box<dyn Driving>, Error>;
}

/// Whether a contender can be given work.
pub enum Readiness {
    /// It can.
    Yes,
    /// Not yet, as far as can be seen, and what was seen.
    NotYet(String),
    /// It does something else than it should, which it may do for a moment only.
    Wrong(String),
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
    /// The processors of what is outside of the contender.
    pub cpus: &'a [usize],
}

impl Drive<'_> {
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

    /// Puts the work on it, and tells when the window has begun and when it is going to end;
    /// `None` if it was stopped on the way.
    ///
    /// # Errors
    /// Where nothing could be measured, which is not the contender's fault.
    fn run(
        &mut self,
        stop: &Stop,
        in_window: &mut dyn FnMut(Instant),
    ) -> Result<Option<Driven>, Error>;
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
}

/// The driver of a study, for contenders that keep this contract.
pub fn of<'a>(driver: &study::Driver, contract: &'a ContractFile) -> Box<dyn Driver + 'a> {
    match driver.kind {
        DriverKind::Generator => Box::new(Generator { contract }),
    }
}
