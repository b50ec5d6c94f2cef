//! What the machine must allow before a run: file descriptors, processors.

use std::io;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::plan::{Rooms, Workload};
use crate::protocol::Protocol;
use crate::protocol::http1::Http1;
use crate::protocol::store::Store;
use crate::robots::ledger::row_bytes;
use crate::thread::TOGETHER_BYTES;
use crate::thread::slots::Flight;
use crate::work::pages::Pages;
use crate::{Error, Plan};

/// Descriptors beside the connections and the threads: output, libraries.
const OTHERS: u64 = 64;
/// Descriptors of a thread: its ring or epoll instance, a file in which the kernel counts
/// its time, or a listener, and what other threads wake it with.
const PER_THREAD: u64 = 3;

/// Open files that so many connections take, spread over so many threads.
fn needed(connections: u32, threads: usize) -> u64 {
    u64::from(connections) + PER_THREAD * threads as u64 + OTHERS
}

/// Raises the limit of open files to what so many connections of so many threads need,
/// for this process and those that it starts.
///
/// # Errors
/// [`Error::Plan`] with the number needed and the command that gives it.
pub fn allow_connections(connections: u32, threads: usize) -> Result<(), Error> {
    let needed = needed(connections, threads);
    let limit = getrlimit(Resource::Nofile);
    if limit.current.is_none_or(|current| current >= needed) {
        return Ok(());
    }
    let raise = |maximum: Option<u64>| {
        setrlimit(Resource::Nofile, Rlimit { current: Some(needed), maximum })
    };
    let within = limit.maximum.is_none_or(|maximum| maximum >= needed);
    let raised = if within { raise(limit.maximum) } else { raise(Some(needed)) };
    raised.map_err(|_| {
        Error::Plan(format!(
            "{connections} connections need {needed} open files, and this process may have {}; \
             run `ulimit -n {needed}` first, as root or after raising the hard limit",
            limit.maximum.map_or_else(|| "fewer".to_string(), |maximum| maximum.to_string()),
        ))
    })
}

/// The most bytes of requests under way.
const UNDER_WAY_BYTES_MAX: u64 = 4 << 30;

/// Refuses more requests under way than this machine has memory for.
///
/// # Errors
/// [`Error::Plan`] with what they would take.
pub fn allow_memory(plan: &Plan) -> Result<(), Error> {
    let (rendered, largest) = match &plan.work {
        Workload::Http(http) => bytes_of(&Http1::new(plan, http, Pages::new(plan, http))),
        Workload::Keys(keys) => bytes_of(&Store::new(plan, keys)),
        Workload::Rooms(rooms) => return allow_owed(*rooms, plan, available_memory()),
    };
    // Requests that go out together lie together, and else only those that vary.
    let bytes = match usize::from(plan.pipeline) {
        1 => rendered,
        depth => largest.saturating_mul(depth).min(TOGETHER_BYTES + largest),
    };
    allow_under_way(plan.connections, plan.pipeline, bytes, available_memory())
}

/// The most bytes that a request renders to, and that one has.
fn bytes_of(protocol: &impl Protocol) -> (usize, usize) {
    (protocol.rendered_bytes_max(), protocol.request_bytes_max())
}

/// The same where each connection has so many bytes of requests, and so much memory is left.
fn allow_under_way(
    connections: u32,
    pipeline: u16,
    bytes: usize,
    available: Option<u64>,
) -> Result<(), Error> {
    let each = (size_of::<Flight>() * usize::from(pipeline) + bytes) as u64;
    let needed = u64::from(connections).saturating_mul(each);
    let most = available.unwrap_or(u64::MAX).min(UNDER_WAY_BYTES_MAX);
    if needed <= most {
        return Ok(());
    }
    let gib = |bytes: u64| bytes as f64 / f64::from(1 << 30);
    Err(Error::Plan(format!(
        "{connections} connections with {pipeline} requests under way on each take {:.1} GiB of \
         memory, {each} bytes a connection, and there are {:.1} GiB for them; take fewer \
         connections (-c) or requests (--pipeline)",
        gib(needed),
        gib(most)
    )))
}

/// Refuses more messages under way than this machine has memory for, if the server handed on none
/// of them: each is awaited for as long as the timeout, and its sender may have it for as long.
fn allow_owed(rooms: Rooms, plan: &Plan, available: Option<u64>) -> Result<(), Error> {
    let Some(rate) = plan.arrivals.rate() else { return Ok(()) };
    let messages = rooms.messages(rate) * 2.0 * plan.timeout.as_secs_f64();
    let threads = plan.threads_of(&allowed_cpus().unwrap_or_default());
    // Each thread that has members of a room has a row of each of its messages.
    let rows = rooms.threads_of_one(plan.connections, threads) as u32;
    let needed = messages * f64::from(rows) * row_bytes(rooms.members.div_ceil(rows)) as f64;
    let most = available.unwrap_or(u64::MAX).min(UNDER_WAY_BYTES_MAX) as f64;
    if needed <= most {
        return Ok(());
    }
    let gib = |bytes: f64| bytes / f64::from(1 << 30);
    Err(Error::Plan(format!(
        "the account of {messages:.0} messages, as many as may be under way, takes {:.1} GiB of \
         memory, and there are {:.1} GiB for it; take a lower rate (--rate), or a shorter timeout \
         (--timeout)",
        gib(needed),
        gib(most)
    )))
}

/// Bytes of memory that the machine can still give; `None` where the kernel doesn't tell.
fn available_memory() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix(" kB")?.parse::<u64>().ok()?.checked_mul(1024)
}

/// The processors that this process may run on, by number.
///
/// # Errors
/// The kernel's.
pub fn allowed_cpus() -> io::Result<Vec<usize>> {
    let set = rustix::thread::sched_getaffinity(None)?;
    Ok((0..rustix::thread::CpuSet::MAX_CPU).filter(|&cpu| set.is_set(cpu)).collect())
}

/// Binds this thread to one processor.
pub(crate) fn bind(cpu: usize) -> Result<(), Error> {
    let mut set = rustix::thread::CpuSet::new();
    if cpu >= rustix::thread::CpuSet::MAX_CPU {
        return Err(Error::Plan(format!("there is no processor {cpu}")));
    }
    set.set(cpu);
    rustix::thread::sched_setaffinity(None, &set).map_err(|source| Error::System {
        what: format!("binding a thread to processor {cpu}"),
        source: source.into(),
    })
}

/// Keeps this thread on some processors, and lets it go back when dropped.
pub(crate) struct Elsewhere(Option<rustix::thread::CpuSet>);

impl Elsewhere {
    /// Moves this thread to these processors; without any, or where it may not, it stays.
    pub(crate) fn move_to(cpus: &[usize]) -> Elsewhere {
        let mut set = rustix::thread::CpuSet::new();
        let known = cpus.iter().filter(|&&cpu| cpu < rustix::thread::CpuSet::MAX_CPU);
        known.for_each(|&cpu| set.set(cpu));
        let before = rustix::thread::sched_getaffinity(None).ok();
        let moved = set.count() > 0 && rustix::thread::sched_setaffinity(None, &set).is_ok();
        Elsewhere(before.filter(|_| moved))
    }
}

impl Drop for Elsewhere {
    fn drop(&mut self) {
        if let Some(before) = &self.0 {
            // It was allowed there before.
            let _ = rustix::thread::sched_setaffinity(None, before);
        }
    }
}

/// Lets this thread's sleeps end when they should: the kernel else puts them
/// together with others up to 50 µs later.
pub(crate) fn wake_on_time() {
    // SAFETY: this option takes a number, and changes this thread only. It
    // can't fail for a number above 0.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1) };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Arrivals;
    use crate::plan::rooms::Wire;

    #[test]
    fn requests_under_way_that_no_memory_holds_are_refused_with_what_they_take() {
        let gib = 1 << 30;
        let allow = |connections, pipeline, bytes| {
            allow_under_way(connections, pipeline, bytes, Some(8 * gib))
        };
        assert!(allow(1_000_000, 1, 0).is_ok() && allow(10_000, 64, 64 << 10).is_ok());
        let told = allow(1_000_000, 1024, 0).unwrap_err().to_string();
        assert!(told.contains("take 30.5 GiB") && told.contains("are 4.0 GiB"), "{told}");
        assert!(allow(10_000, 1, 1 << 20).is_err(), "large bodies that are rendered count");
        let told = allow_under_way(1_000_000, 64, 0, Some(gib)).unwrap_err().to_string();
        assert!(told.contains("take 1.9 GiB") && told.contains("are 1.0 GiB"), "{told}");
        assert!(allow_under_way(1_000_000, 64, 0, None).is_ok(), "nothing is known of it");
        assert!(available_memory().is_none_or(|bytes| bytes > 1 << 20));
    }

    /// Else a server that hands nothing on takes the client's memory, and the machine's.
    #[test]
    fn an_account_that_no_memory_holds_is_refused_with_what_it_takes() {
        let target = crate::plan::Target {
            address: "127.0.0.1:1".parse().unwrap(),
            authority: String::new(),
            path: String::new(),
        };
        let allow = |members, rate| {
            let plan =
                Plan { arrivals: Arrivals::Constant(rate), ..Plan::new(target.clone(), vec![]) };
            allow_owed(Rooms::plain(Wire::Frames, members, 64), &plan, Some(1 << 30))
        };
        assert!(allow(1, 1e6).is_ok() && allow(10_000, 1e6).is_ok());
        let told = allow(1, 1e7).unwrap_err().to_string();
        assert!(told.contains("100000000 messages") && told.contains("are 1.0 GiB"), "{told}");
        assert!(allow(10, 1e7).is_ok(), "a tenth of the messages makes as many deliveries");
    }

    #[test]
    fn each_thread_takes_files_of_its_own() {
        let (few, many) = (needed(900, 1), needed(900, 128));
        assert!(few <= 1_024, "{few}: 900 connections fit into the usual limit");
        assert!(many >= 900 + 2 * 128, "{many}: no room for the rings of 128 threads");
        assert!(many - few >= 2 * 127, "{few} and {many}");
    }
}
