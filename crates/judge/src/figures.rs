//! What one trial gives for each figure that a study may compare by.

use result::Trial;
use result::evidence::Work;
use result::figure::{CLIENT_CPU_US, CPU_US, DISK_BYTES, MEMORY, P50_US, P99_US, RATE, WRITTEN};
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
        MEMORY => {
            let (bytes, at_least) = trial.evidence.memory()?;
            Some(Value { value: bytes as f64, at_least })
        }
        DISK_BYTES => on_disk(trial),
        WRITTEN => written_a_byte(trial),
        told => work.result.get(told).map(|&value| value.into()),
    }
}

/// What the files in a store's folder take. On disks there may be more, if it has files elsewhere,
/// or if it wrote to one and its folder has nothing.
fn on_disk(trial: &Trial) -> Option<Value> {
    let evidence = &trial.evidence;
    let value = *evidence.work.as_ref()?.result.get(DISK_BYTES)?;
    let elsewhere = evidence.store.as_ref().and_then(|store| store.elsewhere_bytes);
    let wrote = evidence.server_disk_write_bytes > Some(0);
    Some(Value { value, at_least: elsewhere > Some(0) || (wrote && value < 1.0) })
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

#[cfg(test)]
mod tests {
    use result::evidence::{Evidence, StoreSeen};
    use result::plan::{Cores, Setting};

    use super::*;
    use crate::samples;

    /// A figure of a trial with this evidence: its value, and whether there may be more.
    fn of(figure: &str, change: impl FnOnce(&mut Evidence)) -> Option<(f64, bool)> {
        let mut trial = samples::trial("a", 1, &Setting::closed(1, Cores::One, true), 100.0);
        change(&mut trial.evidence);
        value(&trial, figure).map(|it| (it.value, it.at_least))
    }

    /// Else a contender that keeps its values in files in memory needs none.
    #[test]
    fn memory_that_no_control_group_counts_may_be_more() {
        let with = |all: Option<u64>, before: u64| {
            of(MEMORY, |evidence| {
                evidence.server_rss_max_bytes = Some(1_000);
                evidence.server_memory_max_bytes = all;
                evidence.server.shared_mapped_max_bytes = Some(200);
                evidence.machine.shared_max_bytes = Some(5_000);
                evidence.machine.shared_before_bytes = Some(before);
            })
        };
        assert_eq!(with(Some(4_000), 1_000), Some((4_000.0, false)), "its group knows");
        assert_eq!(with(None, 4_000), Some((1_000.0, true)), "800 more may be its");
        assert_eq!(with(None, 4_760), Some((1_000.0, false)), "40 are next to nothing");
        let older = of(MEMORY, |evidence| evidence.server_rss_max_bytes = Some(1_000));
        assert_eq!(older, Some((1_000.0, false)));
        assert_eq!(of(MEMORY, |_| {}), None, "a missing sensor");
    }

    /// Else a store whose files lie elsewhere takes no disk.
    #[test]
    fn files_outside_of_a_stores_folder_make_its_disk_bytes_a_bound() {
        let with = |in_folder: f64, elsewhere: Option<u64>, wrote: u64| {
            of(DISK_BYTES, |evidence| {
                let work = evidence.work.as_mut().unwrap();
                work.result.insert(DISK_BYTES.into(), in_folder);
                evidence.server_disk_write_bytes = Some(wrote);
                let elsewhere_bytes = elsewhere;
                evidence.store = Some(StoreSeen { elsewhere_bytes, ..StoreSeen::default() });
            })
        };
        assert_eq!(with(4_096.0, Some(0), 9_000), Some((4_096.0, false)));
        assert_eq!(with(4_096.0, Some(512), 9_000), Some((4_096.0, true)));
        assert_eq!(with(0.0, Some(0), 0), Some((0.0, false)), "it keeps all in memory");
        assert_eq!(with(0.0, Some(0), 9_000), Some((0.0, true)), "it wrote somewhere");
        assert_eq!(with(4_096.0, None, 9_000), Some((4_096.0, false)), "an older run");
    }
}
