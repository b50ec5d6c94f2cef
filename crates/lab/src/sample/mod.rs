//! What is sampled while a trial measures: the contender, the client, and the
//! machine.
//!
//! A thread reads counters that only grow, so that what happened within the
//! measured window is the difference between its edges, each interpolated between
//! the readings around it. CPU time is read four times a second, the rest about
//! once. The evidence has a sample a second of that.
//!
//! | file | what it reads |
//! |---|---|
//! | `../cgroup/` | the control groups of contender and client, and the quotas above them |
//! | `../process_tree.rs` | their processes in `/proc` |
//! | `threads.rs`, `hotspot.rs` | their threads; what a JVM tells of its collections |
//! | `compiled_code.rs` | how much machine code the contender's processes have made themselves |
//! | `../connections.rs` | the connections at its port |
//! | `machine.rs` | the machine |
//! | `series.rs`, `window.rs` | from readings to evidence |

mod compiled_code;
mod hotspot;
mod machine;
mod series;
mod threads;
mod window;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use load::Moment;
use result::evidence::{Evidence, Place, Sampling};
use rustix::time::ClockId;

use crate::cgroup::{Counted, Group, Throttled, Trees};
use crate::client::Client;
use crate::connections::{self, Listeners};
use crate::process_tree::{self, Member};
use crate::{keeper, kept::Kept};
use hotspot::PerfData;
use machine::{Frequency, Machine};
use threads::{Thread, Threads};

const EVERY: Duration = Duration::from_millis(250);
/// Everything is read so many times less often, which is at least once a second.
const RARELY: usize = 3;
/// What sampling as a whole may take is 1 % of one core. Of that, these may have
/// so much, whose cost grows with what there is to read: counting connections,
const COUNTING_SHARE: f64 = 0.002;
/// reading threads,
const THREADS_SHARE: f64 = 0.001;
/// and reading all processes of the machine.
const PROCESSES_SHARE: f64 = 0.001;
/// To count connections the kernel goes through all of the machine, those that
/// have ended and wait among them: so long for each, as measured. It is told
/// beforehand, because the first count can be the one too many.
const COUNTING_S_A_WAITING: f64 = 0.1e-6;
/// Connections within the machine have two ends, of which one is counted.
const COUNTING_S_AN_END: f64 = 0.6e-6;

/// One reading.
#[derive(Debug, Clone)]
struct Reading {
    at: Instant,
    server_cpu_s: Option<f64>,
    client_cpu_s: Option<f64>,
    most: Option<Most>,
    threads: Option<AllThreads>,
    established: Option<u32>,
    /// CPU seconds of all processes that can be seen, but for those of contender,
    /// client and bakeoff.
    others_cpu_s: Option<f64>,
}

/// What is read about once a second.
#[derive(Debug, Clone)]
struct Most {
    members: Vec<Member>,
    group: Option<Counted>,
    throttled: Option<Throttled>,
    machine: Machine,
    gc_pause_s: Option<f64>,
    /// Machine code of their own making, of all processes but JVMs.
    code_bytes: Option<u64>,
    client_group: Option<Counted>,
    client_rss_bytes: Option<u64>,
    /// Read and written.
    client_disk_bytes: Option<(u64, u64)>,
    listeners: Option<Listeners>,
}

/// Threads at one moment.
#[derive(Debug, Clone)]
struct AllThreads {
    servers: Option<Vec<Thread>>,
    client: Option<Vec<Thread>>,
}

/// A thread that samples until it is finished.
#[derive(Debug)]
pub struct Sampler {
    stop: Sender<()>,
    in_window: Arc<AtomicBool>,
    thread: JoinHandle<Sampled>,
}

/// All that was read.
#[derive(Debug)]
struct Sampled {
    readings: Vec<Reading>,
    /// The contender's control group, as far as it is in one.
    group: Group,
    /// The client's.
    client_group: Group,
    /// The processors that each of the contender's threads may run on, at the end.
    allowed: BTreeMap<i32, Vec<usize>>,
    sampling: Sampling,
}

impl Sampler {
    /// Starts to sample a contender, the connections at its port, its client, and the
    /// machine.
    ///
    /// The thread runs on the load's processors: the contender's are its own, and
    /// what a client's thread loses shows in its busy share.
    pub fn start(kept: &Kept, client: &Client, port: u16, place: &Place) -> Sampler {
        let in_window = Arc::new(AtomicBool::new(false));
        let cpus = &place.server_cpus;
        let mut sources = Sources::new(kept, client, port, cpus, in_window.clone());
        let client_cpus = place.client_cpus.clone();
        let (stop, stopped) = mpsc::channel();
        let thread = std::thread::spawn(move || {
            let _ = keeper::pin(&client_cpus);
            let began = Instant::now();
            let mut readings = vec![sources.read(Depth::Edge)];
            while stopped.recv_timeout(EVERY) == Err(RecvTimeoutError::Timeout) {
                let depth = if readings.len() % RARELY == 0 { Depth::Most } else { Depth::Cpu };
                readings.push(sources.read(depth));
            }
            readings.push(sources.read(Depth::Edge));
            let allowed = threads::allowed(&sources.pids);
            let sampling = Sampling {
                sampling_cpu_s: Some(own_cpu_s()),
                sampling_s: began.elapsed().as_secs_f64(),
                readings_put_off: sources.put_off(),
            };
            let Sources { group, client_group, .. } = sources;
            Sampled { readings, group, client_group, allowed, sampling }
        });
        Sampler { stop, in_window, thread }
    }

    /// Says that the window has begun: from now on a count of connections is worth
    /// its cost, whatever that is, once.
    pub fn in_window(&self) {
        self.in_window.store(true, Ordering::Relaxed);
    }

    /// Ends, and writes into the evidence what was seen within the window. The client
    /// has to be alive still.
    pub fn finish(self, began: Moment, window: Duration, evidence: &mut Evidence) {
        let began = Instant::now() - began.elapsed();
        let _ = self.stop.send(());
        if let Ok(sampled) = self.thread.join() {
            window::write(&sampled, began, window, evidence);
        }
        let trees = Trees::of_this_process();
        evidence.limits.cpu_quota_cores = trees.cpu_quota_cores();
        evidence.limits.memory_limit_bytes = trees.memory_limit_bytes();
    }
}

/// CPU seconds of the calling thread.
fn own_cpu_s() -> f64 {
    clock_s(ClockId::ThreadCPUTime)
}

fn clock_s(clock: ClockId) -> f64 {
    let time = rustix::time::clock_gettime(clock);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// How much is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Depth {
    /// CPU time.
    Cpu,
    /// What is due.
    Most,
    /// Before the first connection and after the last: all but connections, of
    /// which there are none.
    Edge,
}

/// Where is read from, and what is remembered for the next time.
struct Sources {
    /// The keeper, whose descendants are the contender's.
    root: i32,
    group: Group,
    client_pid: i32,
    client_group: Group,
    port: u16,
    trees: Trees,
    frequency: Frequency,
    pids: Vec<i32>,
    threads: Threads,
    /// Each JVM among the processes, with its counters if it keeps some.
    jvms: BTreeMap<i32, Option<PerfData>>,
    in_window: Arc<AtomicBool>,
    counted_in_window: bool,
    counting: Pace,
    thread_reading: Pace,
    process_reading: Pace,
}

impl Sources {
    fn new(
        kept: &Kept,
        client: &Client,
        port: u16,
        server_cpus: &[usize],
        in_window: Arc<AtomicBool>,
    ) -> Sources {
        Sources {
            root: kept.root(),
            group: kept.cgroup().inhabited(),
            client_pid: client.pid(),
            client_group: client.cgroup().inhabited(),
            port,
            trees: Trees::of_this_process(),
            frequency: Frequency::of(server_cpus),
            pids: Vec::new(),
            threads: Threads::default(),
            jvms: BTreeMap::new(),
            in_window,
            counted_in_window: false,
            counting: Pace::new(COUNTING_SHARE),
            thread_reading: Pace::new(THREADS_SHARE),
            process_reading: Pace::new(PROCESSES_SHARE),
        }
    }

    fn read(&mut self, depth: Depth) -> Reading {
        let is_edge = depth == Depth::Edge;
        if depth != Depth::Cpu {
            self.pids = match self.group.is_nowhere() {
                true => process_tree::descendants(self.root),
                false => self.group.processes(),
            };
        }
        let at = Instant::now();
        let by_group = self.group.cpu_s();
        let server_cpu_s = by_group.or_else(|| process_tree::cpu_of(self.root, &self.pids));
        let by_group = self.client_group.cpu_s();
        let client_cpu_s = by_group.or_else(|| process_tree::cpu_of_one(self.client_pid));
        let mut reading = Reading {
            at,
            server_cpu_s,
            client_cpu_s,
            most: None,
            threads: None,
            established: None,
            others_cpu_s: None,
        };
        if !is_edge && self.is_to_be_counted(depth) {
            reading.established = self.counting.timed(|| connections::established(self.port));
        }
        if depth == Depth::Cpu {
            return reading;
        }
        if is_edge || self.process_reading.is_due(None) {
            let all = self.process_reading.timed(process_tree::cpu_of_all);
            let own = clock_s(ClockId::ProcessCPUTime);
            let known = all.zip(server_cpu_s).zip(client_cpu_s);
            reading.others_cpu_s = known.map(|((all, server), client)| all - server - client - own);
        }
        if is_edge || self.thread_reading.is_due(None) {
            let (threads, pids, client) = (&mut self.threads, &self.pids, self.client_pid);
            reading.threads = Some(self.thread_reading.timed(|| AllThreads {
                servers: threads.read(pids),
                client: threads.read(&[client]),
            }));
            self.find_jvms(reading.threads.as_ref());
        }
        reading.most = Some(self.most());
        reading
    }

    /// Whether connections are counted at this reading: where that is cheap
    /// enough, and once in the window whatever it costs.
    fn is_to_be_counted(&mut self, depth: Depth) -> bool {
        let is_owed = self.in_window.load(Ordering::Relaxed) && !self.counted_in_window;
        self.counted_in_window |= is_owed;
        is_owed
            || depth == Depth::Most && {
                let there_are = machine::tcp_sockets().unwrap_or_default();
                let seconds = there_are.open as f64 * COUNTING_S_AN_END
                    + there_are.time_wait as f64 * COUNTING_S_A_WAITING;
                self.counting.is_due(Some(seconds))
            }
    }

    fn find_jvms(&mut self, threads: Option<&AllThreads>) {
        let servers = threads.and_then(|all| all.servers.as_ref());
        for thread in servers.into_iter().flatten() {
            if threads::is_hotspot(&thread.name) {
                let data = self.jvms.entry(thread.pid).or_default();
                if data.is_none() {
                    *data = PerfData::of(thread.pid);
                }
            }
        }
    }

    fn most(&self) -> Most {
        Most {
            members: self.pids.iter().filter_map(|&pid| process_tree::member(pid)).collect(),
            group: (!self.group.is_nowhere()).then(|| self.group.counted()),
            throttled: self.trees.throttled(),
            machine: machine::read(&self.frequency),
            gc_pause_s: self
                .jvms
                .values()
                .map(|data| data.as_ref()?.gc_pause_s())
                .reduce(|sum, more| Some(sum? + more?))
                .flatten(),
            code_bytes: compiled_code::bytes_of_all(
                self.pids.iter().copied().filter(|pid| !self.jvms.contains_key(pid)),
            ),
            client_group: (!self.client_group.is_nowhere()).then(|| self.client_group.counted()),
            client_rss_bytes: process_tree::rss_bytes(self.client_pid),
            client_disk_bytes: process_tree::disk_bytes(self.client_pid),
            listeners: connections::listeners(self.port),
        }
    }

    fn put_off(&self) -> u32 {
        [&self.counting, &self.thread_reading, &self.process_reading]
            .iter()
            .map(|pace| pace.put_off)
            .sum()
    }
}

/// How often something is read that may cost much: as often as its share of one
/// core allows.
#[derive(Debug)]
struct Pace {
    core_share: f64,
    began: Instant,
    spent_s: f64,
    /// What it cost the last time.
    last_s: f64,
    put_off: u32,
}

impl Pace {
    fn new(core_share: f64) -> Pace {
        Pace { core_share, began: Instant::now(), spent_s: 0.0, last_s: 0.0, put_off: 0 }
    }

    /// Whether its share covers one more, which will cost so much, or as much as
    /// the last time.
    fn is_due(&mut self, cost_s: Option<f64>) -> bool {
        let cost_s = cost_s.unwrap_or(self.last_s);
        let allowed_s = self.core_share * self.began.elapsed().as_secs_f64();
        let is_due = self.spent_s + cost_s <= allowed_s;
        self.put_off += u32::from(!is_due);
        is_due
    }

    fn timed<T>(&mut self, read: impl FnOnce() -> T) -> T {
        let before = own_cpu_s();
        let read = read();
        self.last_s = own_cpu_s() - before;
        self.spent_s += self.last_s;
        read
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_costs_more_than_its_share_is_put_off() {
        let mut pace = Pace::new(0.5);
        pace.began -= Duration::from_secs(10);
        assert!(pace.is_due(Some(4.9)), "half of ten seconds covers it");
        assert!(!pace.is_due(Some(5.1)));
        pace.spent_s = 3.0;
        assert!(!pace.is_due(Some(2.1)), "a part is spent");
        assert_eq!(pace.put_off, 2);
    }

    #[test]
    fn what_it_cost_the_last_time_is_expected_again() {
        let mut pace = Pace::new(1e-12);
        assert!(pace.is_due(None), "the first time its cost isn't known");
        pace.timed(|| std::hint::black_box((0..1000).sum::<u64>()));
        assert!(pace.last_s > 0.0 && !pace.is_due(None));
    }
}
