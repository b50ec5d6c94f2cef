//! What one trial gives for each figure that a study may compare by.

use result::Trial;
use result::evidence::Work;
use result::figure::{CLIENT_CPU_US, CPU_US, MEMORY, P50_US, P99_US, RATE, WRITTEN};
use result::setting::VALUE_BYTES;

/// What a trial gives for a figure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Value {
    /// In the figure's unit.
    pub value: f64,
    /// Whether it is only known to be no less.
    pub at_least: bool,
}

impl From<f64> for Value {
    fn from(value: f64) -> Value {
        Value { value, at_least: false }
    }
}

/// The value of a figure; `None` where the trial doesn't have it.
pub fn value(trial: &Trial, figure: &str) -> Option<Value> {
    let work = trial.evidence.work.as_ref()?;
    match figure {
        RATE => Some(work.rate.into()),
        CPU_US => a_unit(trial.evidence.contender_cpu_s()?, work),
        CLIENT_CPU_US => a_unit(trial.evidence.client_cpu_s()?, work),
        P50_US => percentile(work, 50.0),
        P99_US => percentile(work, 99.0),
        MEMORY => Some((trial.evidence.server_rss_max_bytes? as f64).into()),
        WRITTEN => written_a_byte(trial),
        told => work.result.get(told).map(|&value| value.into()),
    }
}

/// Bytes that a store wrote to disk, for each byte of the values that it was given meanwhile;
/// `None` where it was given none.
fn written_a_byte(trial: &Trial) -> Option<Value> {
    let Work { operations, .. } = trial.evidence.work.as_ref()?;
    let writes = operations.iter().find(|it| it.operation == "set")?.response_us.count;
    let given = (writes * trial.slot.setting.number(VALUE_BYTES)?) as f64;
    let written = trial.evidence.server_disk_write_bytes? as f64;
    (given > 0.0).then(|| (written / given).into())
}

/// CPU time a unit of work, in µs.
fn a_unit(cpu_s: f64, work: &Work) -> Option<Value> {
    (work.done > 0).then(|| (cpu_s * 1e6 / work.done as f64).into())
}

/// Of the times that readers mean by latency: from when a request was due, with the wait for
/// its connection if it has one of its own.
fn percentile(work: &Work, percentile: f64) -> Option<Value> {
    let one = work.response_us.at.iter().find(|one| one.percentile == percentile)?;
    Some(Value { value: one.value, at_least: one.at_least })
}
