//! What is sampled while a trial measures: the contender, the client's own
//! process, and the machine.
//!
//! A thread reads counters that only grow, so that what happened within the
//! measured window is the difference between its edges, each interpolated between
//! the readings around it. CPU time is read four times a second, the rest about
//! once. The evidence has a sample a second of that.
//!
//! | file | what it reads |
//! |---|---|
//! | `../cgroup/` | the contender's control group, and the quotas above it |
//! | `../process_tree.rs` | its processes in `/proc` |
//! | `threads.rs`, `hotspot.rs` | its threads; what a JVM tells of its collections |
//! | `../connections.rs` | the connections at its port |
//! | `machine.rs` | the machine |
//! | `series.rs`, `window.rs` | from readings to evidence |
//!
//! The client is threads of bakeoff itself. It has no control group: its threads'
//! CPU time and memory are known without one, and its quota is that of bakeoff's
//! own group.

mod hotspot;
mod machine;
mod series;
mod threads;
mod window;

use std::collections::BTreeMap;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use procfs::process::Process;
use result::evidence::{Evidence, Sampling};
use rustix::time::ClockId;

use crate::cgroup::{Counted, Group, Throttled, Trees};
use crate::connections::{self, Connections};
use crate::process_tree::{self, Member};
use crate::{keeper, kept::Kept};
use hotspot::PerfData;
use machine::{Frequency, Machine};
use threads::{Thread, Threads};

const EVERY: Duration = Duration::from_millis(250);
/// Everything is read so many times less often, which is at least once a second.
const RARELY: usize = 3;
/// The share of one core that sampling may take before what costs most is put
/// off. Its goal is 1 %.
const CORE_SHARE_MAX: f64 = 0.008;

/// One reading.
#[derive(Debug, Clone)]
struct Reading {
    at: Instant,
    server_cpu_s: Option<f64>,
    own_cpu_s: f64,
    most: Option<Most>,
    dear: Option<Dear>,
}

/// What is read about once a second.
#[derive(Debug, Clone)]
struct Most {
    members: Vec<Member>,
    group: Option<Counted>,
    throttled: Option<Throttled>,
    machine: Machine,
    gc_pause_s: Option<f64>,
    own_rss_bytes: Option<u64>,
}

/// What costs more the more there is of it, and is put off where that is much.
#[derive(Debug, Clone)]
struct Dear {
    threads: Option<Vec<Thread>>,
    own_threads: Option<Vec<Thread>>,
    connections: Option<Connections>,
    /// Of all processes that can be seen.
    all_cpu_s: Option<f64>,
}

/// A thread that samples until it is finished.
#[derive(Debug)]
pub struct Sampler {
    stop: Sender<()>,
    thread: JoinHandle<Sampled>,
}

/// All that was read.
#[derive(Debug)]
struct Sampled {
    readings: Vec<Reading>,
    /// The contender's control group, as far as it is in one.
    group: Group,
    sampling: Sampling,
}

impl Sampler {
    /// Starts to sample a contender, the connections at its port, and the machine.
    ///
    /// The thread runs on the load's processors: the contender's are its own, and
    /// what a client's thread loses shows in its busy share.
    pub fn start(
        kept: &Kept,
        port: u16,
        server_cpus: &[usize],
        client_cpus: Vec<usize>,
    ) -> Sampler {
        let mut sources = Sources::new(kept.root(), kept.cgroup(), port, server_cpus);
        let (stop, stopped) = mpsc::channel();
        let thread = std::thread::spawn(move || {
            let _ = keeper::pin(&client_cpus);
            let began = Instant::now();
            let mut readings_put_off = 0;
            let mut readings = vec![sources.read(Depth::All)];
            while stopped.recv_timeout(EVERY) == Err(RecvTimeoutError::Timeout) {
                let is_cheap = own_cpu_s() <= CORE_SHARE_MAX * began.elapsed().as_secs_f64();
                let depth = match readings.len() % RARELY {
                    0 if is_cheap => Depth::All,
                    0 => Depth::Most,
                    _ => Depth::Cpu,
                };
                readings_put_off += u32::from(depth == Depth::Most);
                readings.push(sources.read(depth));
            }
            // A thread may have changed its name after it began.
            sources.threads.forget_names();
            readings.push(sources.read(Depth::All));
            let sampling = Sampling {
                sampling_cpu_s: Some(own_cpu_s()),
                sampling_s: began.elapsed().as_secs_f64(),
                readings_put_off,
            };
            Sampled { readings, group: sources.group, sampling }
        });
        Sampler { stop, thread }
    }

    /// Ends, and writes into the evidence what was seen within the window.
    pub fn finish(self, began: Instant, window: Duration, evidence: &mut Evidence) {
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
    /// All but what costs most.
    Most,
    All,
}

/// Where is read from, and what is remembered for the next time.
struct Sources {
    /// The keeper, whose descendants are the contender's.
    root: i32,
    group: Group,
    port: u16,
    trees: Trees,
    frequency: Frequency,
    pids: Vec<i32>,
    threads: Threads,
    jvms: BTreeMap<i32, PerfData>,
}

impl Sources {
    fn new(root: i32, group: &Group, port: u16, server_cpus: &[usize]) -> Sources {
        Sources {
            root,
            group: group.inhabited(),
            port,
            trees: Trees::of_this_process(),
            frequency: Frequency::of(server_cpus),
            pids: Vec::new(),
            threads: Threads::default(),
            jvms: BTreeMap::new(),
        }
    }

    fn read(&mut self, depth: Depth) -> Reading {
        if depth != Depth::Cpu {
            self.pids = match self.group.is_nowhere() {
                true => process_tree::descendants(self.root),
                false => self.group.processes(),
            };
        }
        // The clock, the CPU times and the rest, in the order of their weight.
        let at = Instant::now();
        let by_group = self.group.cpu_s();
        let server_cpu_s = by_group.or_else(|| process_tree::cpu_of(self.root, &self.pids));
        let own_cpu_s = clock_s(ClockId::ProcessCPUTime);
        let dear = (depth == Depth::All).then(|| self.dear());
        let most = (depth != Depth::Cpu).then(|| self.most());
        Reading { at, server_cpu_s, own_cpu_s, most, dear }
    }

    fn dear(&mut self) -> Dear {
        let threads = self.threads.read(&self.pids);
        for thread in threads.iter().flatten().filter(|it| threads::is_hotspot(&it.name)) {
            if !self.jvms.contains_key(&thread.pid) {
                let data = PerfData::of(thread.pid);
                self.jvms.extend(data.map(|data| (thread.pid, data)));
            }
        }
        Dear {
            threads,
            own_threads: self.threads.read(&[std::process::id() as i32]),
            connections: connections::at_port(self.port),
            all_cpu_s: process_tree::cpu_of_all(),
        }
    }

    fn most(&self) -> Most {
        let own = Process::myself().and_then(|process| process.statm()).ok();
        Most {
            members: self.pids.iter().filter_map(|&pid| process_tree::member(pid)).collect(),
            group: (!self.group.is_nowhere()).then(|| self.group.counted()),
            throttled: self.trees.throttled(),
            machine: machine::read(&self.frequency),
            gc_pause_s: self
                .jvms
                .values()
                .map(PerfData::gc_pause_s)
                .reduce(|sum, more| Some(sum? + more?))
                .flatten(),
            own_rss_bytes: own.map(|own| own.resident * procfs::page_size()),
        }
    }
}
