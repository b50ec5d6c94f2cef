//! What a run of load saw.

pub mod deliveries;
pub(crate) mod fault;
pub(crate) mod merge;
pub(crate) mod record;
pub mod rooms;
pub(crate) mod samples;
pub mod slow;
pub mod storm;
mod units;

use std::time::Duration;

use histogram::{Histogram, Latency};
use serde::{Deserialize, Serialize};

use crate::outcome::deliveries::{DeliveriesSeen, SaidInSecond};
use crate::outcome::units::{microseconds, seconds};
use crate::pace::clock::Moment;

/// What a run saw, or a part of it. Histograms are in nanoseconds.
///
/// Its plain parts are written as docs/load-json.md has them, wherever they are written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// The requests whose turn came within the measured window, and what became
    /// of each.
    pub account: Account,
    /// The same for the warm-up, so that a server's own count can be matched.
    pub warmup: Account,
    /// When the measured window began, so that what others sampled meanwhile can
    /// be laid beside it.
    pub window_began: Moment,
    /// The measured window's true length.
    pub window: Duration,
    /// Good answers that arrived within the window: what the rate is made of.
    pub answers_in_window: u64,
    /// Bytes received within the window.
    pub bytes_received: u64,
    /// Bytes of the requests sent within the window.
    pub bytes_sent: u64,
    /// From the intended start to the whole answer.
    pub response: Latency,
    /// From the send to the whole answer.
    pub service: Latency,
    /// The generator's own delay: sent minus intended; where a request has a
    /// connection of its own, without the handshake, which is the server's. Empty in a
    /// closed loop.
    #[serde(with = "histogram::text")]
    pub lateness: Histogram<u64>,
    /// The part of lateness that is not the generator's own: of the requests that
    /// found every connection taken, from the intended start until one was free.
    /// Empty in a closed loop.
    #[serde(with = "histogram::text")]
    pub connection_wait: Histogram<u64>,
    /// From the SYN to the established connection.
    #[serde(with = "histogram::text")]
    pub connect: Histogram<u64>,
    /// From the established connection to the answer to its first words, where it has such: a
    /// store's `HELLO`, `AUTH` and `SELECT`.
    #[serde(with = "histogram::text")]
    pub opening: Histogram<u64>,
    /// How much later answers were seen than they had come to this machine, by the kernel's
    /// stamps on a few connections of each thread. It is part of the service times.
    #[serde(with = "histogram::text")]
    pub seen_late: Histogram<u64>,
    /// How the connections fared.
    pub connections: Connections,
    /// What was like that of which only the first is kept.
    pub firsts: Firsts,
    /// The window, second by second.
    pub seconds: Vec<Second>,
    /// A few good answers of the run, warm-up included, in the order of their seconds.
    pub sampled_answers: Vec<SampledAnswer>,
    /// What became of the keys that a store was asked for; `None` where none was.
    #[serde(default)]
    pub keys: Option<KeysSeen>,
    /// The times of the classes that are told apart, of the window's requests.
    #[serde(default)]
    pub classes: Vec<ClassSeen>,
    /// What robots heard of each other; `None` where there were none. The account is then one of
    /// deliveries, and so are all times.
    #[serde(default)]
    pub deliveries: Option<Box<DeliveriesSeen>>,
    /// What the client's threads spent.
    pub threads: Vec<ThreadUse>,
    /// The backend that carried the load, and why not the other, if asked; where it
    /// differs, with the number of threads that had it.
    pub backend: String,
    /// Whether the run was stopped before its end.
    pub interrupted: bool,
}

impl Outcome {
    /// Good answers a second within the window; 0 for an empty window.
    pub fn rate(&self) -> f64 {
        let seconds = self.window.as_secs_f64();
        if seconds > 0.0 { self.answers_in_window as f64 / seconds } else { 0.0 }
    }

    /// In what the books of this run contradict each other, if they do. Each of them is kept for
    /// itself: what was due, what was sent, what came of it, and the seconds.
    pub fn contradiction(&self) -> Option<String> {
        let parts = [("warm-up", &self.warmup), ("window", &self.account)];
        let in_account = parts.iter().find_map(|(part, account)| {
            account.contradiction().map(|what| format!("in the {part}, {what}"))
        });
        let (good, timed) = (self.account.good, self.service.good.len());
        in_account.or_else(|| {
            (good != timed).then(|| {
                format!("{good} requests had a good answer, and the seconds have {timed} times")
            })
        })
    }
}

/// The conserved account: `scheduled = sent + shed` and
/// `sent = good + errors + in_flight`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Account {
    /// Requests whose turn came.
    pub scheduled: u64,
    /// Those that were never sent.
    pub shed: u64,
    /// Those that were sent, or for which a connection was tried.
    pub sent: u64,
    /// Those with a good answer.
    pub good: u64,
    /// Those with an error, by kind.
    pub errors: Vec<ErrorCount>,
    /// Those without an answer when the run ended.
    pub in_flight: u64,
    /// The answers, good and bad ones, by status in ascending order; empty of a store, whose
    /// answers have none.
    #[serde(default)]
    pub statuses: Vec<StatusCount>,
}

/// Answers with one status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatusCount {
    /// The status.
    pub status: u16,
    /// Whole answers with it.
    pub count: u64,
    /// Those of them that were good.
    pub good: u64,
}

impl Account {
    /// Errors of all kinds.
    pub fn errors_total(&self) -> u64 {
        self.errors.iter().map(|error| error.count).sum()
    }

    /// What was lost or counted twice, if anything was.
    pub fn contradiction(&self) -> Option<String> {
        let Account { scheduled, sent, shed, good, in_flight, .. } = *self;
        let errors = self.errors_total();
        let by_status: u64 = self.statuses.iter().map(|of_one| of_one.good).sum();
        if scheduled != sent + shed {
            Some(format!("{scheduled} requests were due, but {sent} sent and {shed} never sent"))
        } else if sent != good + errors + in_flight {
            Some(format!(
                "{sent} requests were sent, but {good} good, {errors} errors and {in_flight} in \
                 flight"
            ))
        } else if !self.statuses.is_empty() && by_status != good {
            Some(format!("{good} answers were good, but {by_status} by their statuses"))
        } else {
            None
        }
    }
}

/// What kind of answer it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AnswerKind {
    /// Its status, below 1000; 0 where the protocol has none.
    pub status: u16,
    /// The class of its request, if that has one.
    pub class: u16,
}

/// What became of the keys that gets asked a store for, from the run's start on: in a request
/// with several keys each is counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeysSeen {
    /// Values that may be read.
    pub hits: u64,
    /// Keys without a value, which may be so.
    pub misses: u64,
    /// Keys without a value that must have one.
    pub missing: u64,
    /// Values that aren't those that were written for their keys.
    pub wrong: u64,
    /// Values that were overwritten before.
    pub stale: u64,
    /// Messages that the store sent though nobody asked, as it may with RESP3.
    #[serde(default)]
    pub pushes: u64,
}

/// The times of one class of requests, of the window's requests.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClassSeen {
    /// Its name: of a store's requests the operation's.
    pub name: String,
    /// From the intended start to the whole answer.
    pub response: Latency,
    /// From the send to the whole answer.
    pub service: Latency,
}

/// The kinds of error that a request can end in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum ErrorKind {
    /// Nobody listens, or the listener refused.
    Refused,
    /// No connection within the timeout.
    ConnectTimeout,
    /// The connection was reset.
    Reset,
    /// The connection ended before the answer did.
    ClosedEarly,
    /// No whole answer within the timeout.
    Timeout,
    /// Bytes that are no answer in this protocol.
    Malformed,
    /// An answer with a status that isn't expected.
    WrongStatus,
    /// An answer with another body than was expected.
    WrongBody,
    /// The client's own limit: no port, no file descriptor, no buffer.
    Client,
    /// Any other error of the network.
    Network,
    /// A connection that was used before ended without a byte of an answer, and asking
    /// again isn't safe or ended so as well.
    Unanswered,
    /// The connection was lost by a request that was asked before this one on it, and asking
    /// again isn't safe or ended so as well.
    Behind,
    /// A store's own word that it couldn't or wouldn't: `OOM`, `READONLY`, `SERVER_ERROR`.
    ServerError,
    /// A value that isn't one that was written for its key.
    WrongValue,
    /// A value that was overwritten before it was asked for.
    Stale,
    /// A key without a value that was written and that nobody may have removed; of rooms, a
    /// message that a member didn't hear.
    Missing,
}

impl ErrorKind {
    /// Every kind, in the order of its number.
    pub const ALL: [ErrorKind; 16] = [
        ErrorKind::Refused,
        ErrorKind::ConnectTimeout,
        ErrorKind::Reset,
        ErrorKind::ClosedEarly,
        ErrorKind::Timeout,
        ErrorKind::Malformed,
        ErrorKind::WrongStatus,
        ErrorKind::WrongBody,
        ErrorKind::Client,
        ErrorKind::Network,
        ErrorKind::Unanswered,
        ErrorKind::Behind,
        ErrorKind::ServerError,
        ErrorKind::WrongValue,
        ErrorKind::Stale,
        ErrorKind::Missing,
    ];

    /// Its name in output.
    pub fn name(self) -> &'static str {
        match self {
            ErrorKind::Refused => "refused",
            ErrorKind::ConnectTimeout => "connect_timeout",
            ErrorKind::Reset => "reset",
            ErrorKind::ClosedEarly => "closed_early",
            ErrorKind::Timeout => "timeout",
            ErrorKind::Malformed => "malformed",
            ErrorKind::WrongStatus => "wrong_status",
            ErrorKind::WrongBody => "wrong_body",
            ErrorKind::Client => "client",
            ErrorKind::Network => "network",
            ErrorKind::Unanswered => "unanswered",
            ErrorKind::Behind => "behind",
            ErrorKind::ServerError => "server_error",
            ErrorKind::WrongValue => "wrong_value",
            ErrorKind::Stale => "stale",
            ErrorKind::Missing => "missing",
        }
    }
}

/// One kind of error in an account.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ErrorCount {
    /// The kind.
    pub kind: ErrorKind,
    /// How often.
    pub count: u64,
    /// From the start of the account's part of the run to the first.
    #[serde(rename = "first_s", with = "seconds")]
    pub first: Duration,
    /// What the first one looked like: bounded, escaped, for people.
    pub example: String,
}

/// How the connections fared.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Connections {
    /// Asked for, at once.
    pub asked: u32,
    /// The most that were established at once, of all threads within the same
    /// second, from the start of the warm-up on.
    pub established: u32,
    /// Connections made after a slot's first one.
    pub reconnects: u64,
    /// Connections that were to be kept and that the server ended, in the window: after an
    /// answer, or while none was under way.
    pub cut: u64,
    /// Requests sent again on a new connection: the server ended the old one without a byte
    /// of an answer, or said that it closes it after the answer to an earlier request.
    pub resent: u64,
    /// Answers to the window's requests that came before their request was sent whole.
    #[serde(default)]
    pub early: u64,
    /// How often the server spoke on a connection on which nothing was asked, its last words
    /// left out.
    #[serde(default)]
    pub unasked: u64,
    /// How often it told there why it ends the connection.
    #[serde(default)]
    pub last_words: u64,
    /// Attempts that failed.
    pub failed: u64,
    /// SYN segments that had to be sent again, over all connections looked at.
    pub syn_retransmits: u64,
    /// Connections that were made in the window: for its requests, where each has one of
    /// its own.
    pub made_in_window: u64,
    /// SYN segments of such connections, those that came to nothing among them, that had to
    /// be sent again.
    pub syn_retransmits_in_window: u64,
    /// The fewest good answers to the window's requests that a slot for a connection had.
    pub answers_min: u64,
    /// The most good answers to the window's requests that a slot for a connection had.
    pub answers_max: u64,
    /// Slots without a good answer to a request of the window that left one waiting: sent in
    /// the window, or before and still under way when that began.
    #[serde(default)]
    pub unanswered: u32,
}

/// What is too much to be kept each time. Texts are bounded, escaped, for people.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Firsts {
    /// What the server said on a connection on which nothing was asked, its last words left out.
    pub unasked: Option<First<String>>,
    /// The kind of a failed attempt to connect, and what it looked like.
    pub failed: Option<First<(ErrorKind, String)>>,
}

/// What something was like when it happened first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct First<T> {
    /// When, from the time on at which the run was set up.
    pub at: Duration,
    /// What it was like.
    pub what: T,
}

impl<T> First<T> {
    /// What came first of both.
    pub(crate) fn of_both(one: Option<First<T>>, another: Option<First<T>>) -> Option<First<T>> {
        [one, another].into_iter().flatten().min_by_key(|first| first.at)
    }
}

/// One second of the window.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Second {
    /// Good answers that arrived in it.
    pub good: u64,
    /// Errors that came up in it.
    pub errors: u64,
    /// Bytes received in it.
    pub bytes: u64,
    /// Median service time of its answers, in nanoseconds; `None` without any.
    #[serde(rename = "p50_us", with = "microseconds")]
    pub p50: Option<u64>,
    /// 99th percentile of service time of its answers, in nanoseconds; `None`
    /// without any.
    #[serde(rename = "p99_us", with = "microseconds")]
    pub p99: Option<u64>,
    /// What robots said in it; `None` where there were none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub said: Option<SaidInSecond>,
}

/// A good answer as it came, so that more of it can be looked at than its status and the
/// text that it has to hold.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SampledAnswer {
    /// When it came, since the Unix epoch.
    pub at: Duration,
    /// Which of the plan's requests it answers, from 0.
    #[serde(default)]
    pub request: usize,
    /// The text that it had to hold, with its request's placeholders filled in; empty if
    /// none was asked for.
    pub expected: String,
    /// Its bytes, from the status line to the body's end. Hostile, and 4 KiB at most.
    pub bytes: Vec<u8>,
}

/// What a client thread spent within the window.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ThreadUse {
    /// The backend that it had, and why not the other, if asked.
    pub backend: String,
    /// The processor that it was bound to, if it was.
    pub cpu: Option<usize>,
    /// CPU seconds in user mode.
    pub user_s: f64,
    /// CPU seconds in the kernel.
    pub system_s: f64,
    /// CPU seconds by wall seconds, from 0 to 1, with the interrupts of its processor where
    /// the kernel counts them apart: meanwhile it can't run.
    pub busy_share: f64,
    /// The same of the seconds that it was ready to run, and waited for a
    /// processor; `None` where the kernel doesn't count them.
    pub run_delay_share: Option<f64>,
    /// The longest time, in seconds, for which it didn't look for answers though it meant
    /// to; 0 if that was never long. The process was stopped, or its machine was.
    pub away_s: f64,
    /// How often it slept: gave its processor away of its own accord. This and what follows is 0
    /// of a client that doesn't tell.
    #[serde(default)]
    pub sleeps: u64,
    /// Calls of the kernel by which it waited, looked for answers or handed requests over, and
    /// without io_uring those by which it sent and received.
    #[serde(default)]
    pub enters: u64,
    /// Events that the kernel told: answers, connections, and what else came of requests.
    #[serde(default)]
    pub events: u64,
    /// The most, in µs, by which an answer may have been seen later so that the thread was woken
    /// for several at once; 0 where it never slept on for that.
    #[serde(default)]
    pub gathers_us: f64,
}

impl ThreadUse {
    /// The share of its time in which it had none to spare: busy, or waiting for a
    /// processor as far as that is known.
    pub fn taken_share(&self) -> f64 {
        self.busy_share + self.run_delay_share.unwrap_or(0.0)
    }
}
