//! What `bakeoff load --json -` reports: the fields that are looked at here, as
//! docs/load-json.md has them.

use histogram::Histogram;
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};

/// A report.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Report {
    /// The measured window's true length.
    pub seconds: f64,
    /// Good answers a second within it.
    pub rate: f64,
    /// The account of the window.
    pub requests: Account,
    /// The account of the warm-up.
    pub warmup_requests: Account,
    /// From the intended start to the answer.
    pub response_us: Times,
    /// From the send to the answer.
    pub service_us: Times,
    /// The window's errors by kind.
    pub errors: Vec<ErrorKind>,
    /// How the connections fared.
    pub connections: Connections,
    /// The client's threads.
    pub threads: Vec<IgnoredAny>,
    /// What to know before using the figures.
    pub warnings: Vec<Warning>,
}

/// What a bakeoff asked of the kernel within its window, a good answer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Calls {
    /// Times that it slept.
    pub sleeps: f64,
    /// Calls that wait, look or hand over, and without io_uring those that send and receive.
    pub enters: f64,
    /// Events that the kernel told.
    pub events: f64,
}

/// How much later than they came a bakeoff saw the window's answers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SeenLate {
    /// The median in µs.
    pub p50_us: f64,
    /// The 99th percentile in µs; none where too few answers lie beyond it.
    pub p99_us: Option<f64>,
}

/// What a bakeoff tells of itself; an older one tells less.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct OwnFigures {
    /// What it asked of the kernel.
    pub calls: Option<Calls>,
    /// How late it saw answers.
    pub seen_late: Option<SeenLate>,
}

/// What a report counts: the little of it that an older bakeoff has to tell as well.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Counted {
    /// The measured window's true length.
    pub seconds: f64,
    /// The account of the window.
    pub requests: Requests,
    /// What became of the keys that a store was asked for.
    pub keys: Option<Keys>,
    /// What the client's threads did.
    #[serde(default)]
    pub threads: Vec<Thread>,
    seen_late_us: Option<Times>,
}

/// What a thread asked of the kernel; an older bakeoff doesn't tell.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Thread {
    sleeps: Option<u64>,
    enters: Option<u64>,
    events: Option<u64>,
}

/// What became of requests.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Requests {
    /// With a good answer.
    pub good: u64,
    /// With an error.
    pub errors: u64,
}

/// What became of the keys that were asked for.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Keys {
    /// Keys without a value.
    pub misses: u64,
}

/// A report of robots in rooms.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Deliveries {
    /// What robots said within the window.
    pub messages: Messages,
    /// The account of the window's deliveries.
    pub deliveries: DeliveryAccount,
    /// From when a message was due until a member had it.
    pub delivery_us: Times,
    /// From then until all members had it.
    pub until_all_us: Times,
    /// From the first member that had it to the last.
    pub first_to_last_us: Times,
    /// What the client spent.
    pub cpu: DeliveryCpu,
    /// What its threads did.
    pub threads: Vec<RobotThread>,
}

/// What a client spent on deliveries.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct DeliveryCpu {
    /// CPU time a delivery in µs; none if there was none.
    pub us_per_delivery: Option<f64>,
}

/// What a thread of robots did.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct RobotThread {
    /// CPU time by wall time.
    pub busy_share: f64,
}

/// What robots said.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Messages {
    /// Handed over.
    pub sent: u64,
}

/// An account of deliveries.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct DeliveryAccount {
    /// That came.
    pub delivered: u64,
    /// That didn't.
    pub missing: u64,
    /// Still awaited at the end.
    pub in_flight: u64,
    duplicates: u64,
    out_of_order: u64,
    leaked: u64,
    wrong: u64,
}

impl DeliveryAccount {
    /// What no relay may do, whatever it is.
    pub fn wrong_in_all(&self) -> u64 {
        self.duplicates + self.out_of_order + self.leaked + self.wrong
    }
}

impl Deliveries {
    /// Reads one.
    pub fn read(output: &str) -> Result<Deliveries, String> {
        read(output)
    }
}

/// Reads a report of some kind.
fn read<R: DeserializeOwned>(output: &str) -> Result<R, String> {
    serde_json::from_str(output)
        .map_err(|error| format!("bakeoff's report is not as it is documented: {error}"))
}

/// An account of requests.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Account {
    /// Requests whose turn came.
    pub scheduled: u64,
    /// Of these, never sent.
    pub shed: u64,
    /// Sent.
    pub sent: u64,
    /// With a good answer.
    pub good: u64,
    /// With an error.
    pub errors: u64,
    /// Without an answer when the run ended.
    pub in_flight: u64,
}

/// A distribution of times.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Times {
    percentiles: Vec<Percentile>,
}

#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
struct Percentile {
    percentile: f64,
    /// None where too few samples lie beyond it.
    value: Option<f64>,
    at_least: bool,
}

/// One kind of error.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct ErrorKind {
    /// Its name.
    pub kind: String,
    /// How often.
    pub count: u64,
    /// What the first one looked like.
    pub example: String,
}

/// How the connections fared.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Connections {
    /// The most that were established at once.
    pub established: u32,
}

/// A warning.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Warning {
    /// Its name.
    pub id: String,
}

impl Counted {
    /// Reads it from a report.
    pub fn read(output: &str) -> Option<Counted> {
        serde_json::from_str(output).ok()
    }

    /// What it tells of itself.
    pub fn told(&self) -> OwnFigures {
        let seen_late = || {
            let times = self.seen_late_us.as_ref()?;
            Some(SeenLate { p50_us: times.at(0.5)?, p99_us: times.at(0.99) })
        };
        OwnFigures { calls: self.calls(), seen_late: seen_late() }
    }

    fn calls(&self) -> Option<Calls> {
        let each = |of: fn(&Thread) -> Option<u64>| {
            let all: u64 = self.threads.iter().map(of).sum::<Option<u64>>()?;
            Some(all as f64 / self.requests.good.max(1) as f64)
        };
        let is_told = !self.threads.is_empty();
        let calls = || {
            let (sleeps, enters) = (each(|it| it.sleeps)?, each(|it| it.enters)?);
            Some(Calls { sleeps, enters, events: each(|it| it.events)? })
        };
        is_told.then(calls).flatten()
    }
}

impl Report {
    /// Reads one.
    pub fn read(output: &str) -> Result<Report, String> {
        read(output)
    }

    /// Whether it warns of this.
    pub fn warns_of(&self, id: &str) -> bool {
        self.warnings.iter().any(|warning| warning.id == id)
    }

    /// Requests sent over window and warm-up.
    pub fn sent(&self) -> u64 {
        self.requests.sent + self.warmup_requests.sent
    }
}

/// One distribution, in nanoseconds, of those that `--hdr` writes: the one with this tag.
pub fn histogram(log: &str, tag: &str) -> Result<Histogram<u64>, String> {
    let begin = format!("Tag={tag},");
    let line =
        log.lines().find(|line| line.starts_with(&begin)).and_then(|it| it.rsplit(',').next());
    line.and_then(histogram::text::decode)
        .ok_or_else(|| format!("bakeoff's log has no histogram of the tag {tag}"))
}

impl Times {
    /// The value at a quantile in µs; `None` if it is withheld for want of
    /// samples, or known only to be at least something.
    pub fn at(&self, quantile: f64) -> Option<f64> {
        self.percentiles
            .iter()
            .find(|percentile| (percentile.percentile - quantile * 100.0).abs() < 1e-6)
            .filter(|percentile| !percentile.at_least)
            .and_then(|percentile| percentile.value)
    }
}
