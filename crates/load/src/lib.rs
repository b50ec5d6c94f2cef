//! A load generator that costs less CPU a request than what it measures.
//!
//! One thread a client core; a thread owns its connections, its event loop and
//! its histograms, and shares only the queue of requests. The parts, in the
//! order that data takes through them:
//!
//! - [`plan`]: what is asked for, and the requests as they are written;
//! - [`work`]: what is asked, and what an answer is worth;
//! - `protocol`: what the bytes mean;
//! - `pace`: when a request is due, and which thread takes it;
//! - `thread`: a thread's loop, over its connections;
//! - `robots`: the same where nobody asks, and connections are robots that hear each other;
//! - `backend`: how bytes get to the kernel and back, by io_uring or epoll;
//! - [`outcome`]: what was seen;
//! - [`verdict`]: what is made of it.
//!
//! `jobs` has what a thread does, and `run` the threads, their common start, and what they saw, put
//! together. Before robots come, one of them is a [`scout`]. A run in a process of its own is a [`agent`]: a plan comes in, an outcome goes out, as
//! text.
//!
//! What others read with the same eyes: [`answers`] of servers, [`replies`] of stores, what a [`member`]
//! of a room hears; what a store has to have afterwards: [`read_back`]; whose a value is: [`value`]. What
//! others send with the same hands: [`requests`]. What a request costs, step by step: [`ladder`].
//!
//! What lies beside a program's own CPU time: [`interrupts`].

pub mod agent;
pub mod answers;
mod backend;
pub mod interrupts;
mod jobs;
pub mod ladder;
mod limits;
pub mod member;
pub mod outcome;
mod pace;
pub mod plan;
mod protocol;
pub mod requests;
mod robots;
mod run;
mod scout;
#[cfg(any(test, feature = "simulator"))]
pub mod simulator;
#[cfg(test)]
mod skipped;
mod stop;
mod thread;
pub mod verdict;
pub mod work;

pub use limits::{allow_connections, allow_memory, allowed_cpus};
/// What the fuzz targets are.
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing {
    pub use crate::protocol::http1::splits::in_any_split as http1_answer;
    pub use crate::protocol::pushing::splits::in_any_split as pushed_stream;
    pub use crate::protocol::store::splits::in_any_split as store_answer;
}

use serde::{Deserialize, Serialize};

pub use outcome::Outcome;
pub use pace::clock::Moment;
pub use pace::schedule::due_times;
pub use plan::Plan;
pub use protocol::store::replies;
pub use run::{START_AHEAD, chosen_backend, run};
pub use scout::scout;
pub use stop::{PRELOADED_WITHIN, Stop, in_time};
pub use thread::address::ONE_SOURCE_MAX;
pub use work::keys::{read_back, value};

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
        #[serde(with = "agent::kernel_error")]
        source: std::io::Error,
    },
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
