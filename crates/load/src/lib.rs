//! A load generator that costs less CPU a request than what it measures.
//!
//! One thread a client core; a thread owns its connections, its event loop and
//! its histograms, and shares only the queue of requests. The parts, in the
//! order that data takes through them:
//!
//! - [`plan`]: what is asked for;
//! - [`template`]: the requests, with placeholders; [`headers`]: what theirs may be; `rotation`:
//!   which of several is next; [`keys`]: what is asked of stores, and what they may answer;
//! - `run`: the threads, their common start, and what they saw, put together;
//! - `schedule`: when requests are due in an open loop; `clock`: the threads' common time;
//! - `queue`: which is next, and which thread is awake for it; `turns`: a thread's hand in it;
//! - `worker`: a thread's loop, over
//!   - `protocol`: what the bytes mean, and
//!   - `backend`: how they get to the kernel and back, by io_uring or epoll;
//! - `connects`, `address`: how connections are opened: paced, and from which source address;
//! - `now`, `slots`, `line`: what time it is to a thread, what it knows of each connection, and
//!   which of the free ones is taken next;
//! - `record`: what a thread writes down; `samples`: a few whole answers of that;
//! - [`outcome`]: what was seen; `merge`: that of all threads.
//!
//! A run in a process of its own:
//!
//! - [`client`]: a plan comes in, an outcome goes out, as text;
//! - [`histogram`]: distributions as text.
//!
//! What is made of an outcome:
//!
//! - [`reading`]: percentiles, and when they are withheld;
//! - [`condition`]: `p99 < 10ms` and the like, cut into parts by [`comparison`];
//! - [`limit`]: what to know before using the figures;
//! - [`delayed_ack`]: whether times cluster where acknowledgements are late;
//! - [`search`]: the highest rate at which a condition holds.
//!
//! What others read with the same eyes: [`answers`]. What others send with the same hands:
//! [`requests`]. What a request costs at least: [`bare`].
//!
//! What lies beside a program's own CPU time: [`interrupts`].

mod address;
pub mod answers;
mod backend;
pub mod bare;
pub mod client;
mod clock;
pub mod comparison;
pub mod condition;
mod connects;
pub mod delayed_ack;
pub mod headers;
pub mod histogram;
pub mod interrupts;
pub mod keys;
pub mod limit;
mod limits;
mod line;
mod merge;
mod now;
pub mod outcome;
pub mod plan;
mod protocol;
mod queue;
pub mod reading;
mod record;
pub mod requests;
mod rotation;
mod run;
mod samples;
mod schedule;
pub mod search;
#[cfg(test)]
mod skipped;
mod slots;
mod statuses;
pub mod template;
mod turns;
mod worker;

pub use address::ONE_SOURCE_MAX;
pub use clock::Moment;
pub use limits::{allow_connections, allow_memory, allowed_cpus};
/// What the fuzz targets are.
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing {
    pub use crate::protocol::http1::splits::in_any_split as http1_answer;
    pub use crate::protocol::store::splits::in_any_split as store_answer;
}

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde::{Deserialize, Serialize};

pub use outcome::Outcome;
pub use plan::Plan;
pub use run::{chosen_backend, run};
pub use schedule::due_times;

/// Why no load could be offered at all. What happens to single requests is no
/// such error: it is in the [`Outcome`].
#[derive(Debug, thiserror::Error, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Error {
    /// The plan can't be carried out as it is.
    #[error("{0}")]
    Plan(String),
    /// The machine doesn't give what the plan needs.
    #[error("{what}: {source}")]
    System {
        /// What was tried.
        what: String,
        /// What the kernel said.
        #[serde(with = "client::kernel_error")]
        source: std::io::Error,
    },
}

/// Stops a run early from another thread or a signal handler.
#[derive(Debug, Clone, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Asks the run to end; it does so within a few milliseconds, and reports
    /// what it has.
    pub fn now(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether the run was asked to end.
    pub fn asked(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// What a run tells of itself while it goes on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum News {
    /// Kept connections are made ahead: so many are open by now. It is told now and then,
    /// and not at all where that takes no time.
    Connecting(u32),
    /// A second has ended.
    Second(Progress),
}

/// What a run shows of itself once a second.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// Seconds since the run began, warm-up included.
    pub elapsed_s: f64,
    /// Whether it is still warming up.
    pub warming_up: bool,
    /// The second just ended.
    pub second: outcome::Second,
    /// Errors so far.
    pub errors: u64,
}
