//! What a run of load is asked to do.

use std::net::SocketAddr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::template::Request;

/// Everything that decides a run, apart from chance: the same plan against the
/// same server offers the same load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// Where the requests go.
    pub target: Target,
    /// What is sent: one template after the other, in turn.
    pub requests: Vec<Request>,
    /// What an answer must be to count as good.
    pub expect: Expect,
    /// When requests are due.
    pub arrivals: Arrivals,
    /// Connections at once, over all threads.
    pub connections: u32,
    /// Whether a connection serves many requests or one.
    pub keep_alive: bool,
    /// Requests under way at once on a connection.
    pub pipeline: u16,
    /// When the measured window ends.
    pub until: Until,
    /// Load before the measured window.
    pub warmup: Duration,
    /// The longest wait for a connection and for an answer.
    pub timeout: Duration,
    /// The processors to run on, one thread each in turn. Empty: all allowed.
    pub cpus: Vec<usize>,
    /// Threads; 0 for one a processor.
    pub threads: usize,
    /// How to talk to the kernel.
    pub backend: BackendChoice,
    /// Decides nonces and Poisson arrivals.
    pub seed: u64,
}

impl Plan {
    /// A closed loop of ten seconds on one connection, as a base to change.
    pub fn new(target: Target, requests: Vec<Request>) -> Plan {
        Plan {
            target,
            requests,
            expect: Expect::default(),
            arrivals: Arrivals::Closed,
            connections: 1,
            keep_alive: true,
            pipeline: 1,
            until: Until::Elapsed(Duration::from_secs(10)),
            warmup: Duration::ZERO,
            timeout: Duration::from_secs(5),
            cpus: Vec::new(),
            threads: 0,
            backend: BackendChoice::Auto,
            seed: 1,
        }
    }
}

/// Where the requests go.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Target {
    /// The address that is connected to.
    pub address: SocketAddr,
    /// Host and port as the URL has them: the `Host` header.
    pub authority: String,
    /// Path and query of the URL.
    pub path: String,
}

/// What an answer must be to count as good. A status outside 200 to 299 never is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Expect {
    /// Text that the body must hold; may have the request's own placeholders.
    /// Answers to HEAD, which have no body, are not held to it.
    pub body: Option<String>,
}

/// When requests are due.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Arrivals {
    /// As soon as a connection is free. Such a loop can't see a stalled server's
    /// true response times: while it waits, it asks nothing.
    Closed,
    /// At a constant pace of this many a second, whatever is answered.
    Constant(f64),
    /// At random with this mean rate a second, as from many independent users.
    Poisson(f64),
}

/// When the measured window ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Until {
    /// After this time.
    Elapsed(Duration),
    /// When this many requests have been scheduled and settled.
    Requests(u64),
}

/// How to talk to the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BackendChoice {
    /// io_uring where the kernel permits it, else epoll.
    Auto,
    /// io_uring or an error.
    Uring,
    /// epoll.
    Epoll,
}
