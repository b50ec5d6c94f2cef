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
//! | `../connections.rs`, `counting.rs` | the connections at its port |
//! | `machine.rs` | the machine |
//! | `series.rs`, `window.rs`, `seconds.rs` | from readings to evidence |
//! | `pace.rs` | how often |

pub mod connections;

mod compiled_code;
mod counting;
mod hotspot;
mod machine;
mod pace;
mod seconds;
mod series;
mod threads;
mod window;

use std::collections::BTreeMap;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use counting::Counting;
use hotspot::PerfData;
use keeper::affinity;
use keeper::cgroup::{Counted, Group, Throttled, Trees};
use keeper::kept::Kept;
use keeper::process_tree::{self, Member, Used};
use load::Moment;
use machine::{Frequency, Looked, Machine};
use pace::{Pace, Schedule};
use result::evidence::{Evidence, Place, Sampling};
use rustix::time::ClockId;
use threads::{Thread, Threads};

use self::connections::Listeners;
pub use self::machine::shared_bytes;
use crate::drive::{Outside, Passage};

/// What sampling as a whole may take, of one core.
const WHOLE_SHARE: f64 = 0.01;
/// Of that, these may have so much, whose cost grows with what there is to read:
/// connections,
const COUNTING_SHARE: f64 = 0.002;
/// threads,
const THREADS_SHARE: f64 = 0.001;
/// and all processes of the machine.
const PROCESSES_SHARE: f64 = 0.001;

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
    /// Of all of them, and of those that have ended.
    used: Option<Used>,
    group: Option<Counted>,
    throttled: Option<Throttled>,
    machine: Machine,
    gc_pauses_s: Option<BTreeMap<i32, f64>>,
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

/// The load that is going to be sampled.
#[derive(Debug, Clone, Copy)]
pub struct Expected {
    /// Connections at once that are kept. Where each has one request, they come and go
    /// between two counts, and there is nothing to count.
    pub kept: Option<u32>,
    /// How long it takes before it is measured.
    pub warmup: Duration,
    /// How long it is measured.
    pub window: Duration,
}

impl Expected {
    /// The whole, by which sampling is paced.
    fn length(self) -> Duration {
        self.warmup + self.window
    }
}

/// A thread that samples until it is finished.
#[derive(Debug)]
pub struct Sampler {
    tell: Sender<Message>,
    thread: JoinHandle<Sampled>,
}

/// What it is told.
#[derive(Debug)]
enum Message {
    /// The window has begun or ended.
    Passes(Passage),
    /// The load is over.
    Finish,
}

/// All that was read.
#[derive(Debug)]
struct Sampled {
    readings: Vec<Reading>,
    /// The contender's control group, as far as it is in one.
    group: Group,
    /// The client's, where there is one.
    client_group: Option<Group>,
    /// The processors that each of the contender's threads may run on, at the end.
    allowed: BTreeMap<i32, Vec<usize>>,
    /// Whether the contender has a ring of io_uring open, at the end.
    uses_io_uring: Option<bool>,
    sampling: Sampling,
}

impl Sampler {
    /// Starts to sample a contender, the connections at its port, its client, and the
    /// machine, for about as long as this load will take.
    ///
    /// The thread runs on the load's processors: the contender's are its own, and
    /// what a client's thread loses shows in its busy share.
    pub fn start(
        kept: &Kept,
        outside: Option<&Outside>,
        port: u16,
        expected: Expected,
        place: &Place,
    ) -> Sampler {
        let mut sources = Sources::new(kept, outside, port, expected, place);
        let client_cpus = place.client_cpus.clone();
        let (tell, told) = mpsc::channel();
        let (begun, has_begun) = mpsc::channel::<()>();
        let thread = std::thread::spawn(move || {
            let _ = affinity::pin(&client_cpus);
            let began = Instant::now();
            let harness_before = sources.harness_cpu_s();
            let mut readings = vec![sources.read(Extent::Edge)];
            drop(begun);
            let mut schedule = Schedule::default();
            let mut at_the_end = None;
            loop {
                let (wait, depth) = schedule.next(Instant::now());
                let depth = match told.recv_timeout(wait) {
                    Ok(Message::Passes(Passage::Begins { until })) => {
                        schedule.window_ends = Some(until);
                        Extent::Window
                    }
                    Ok(Message::Passes(Passage::Connected)) => continue,
                    // It may be gone before all is over.
                    Ok(Message::Passes(Passage::Ends)) => {
                        at_the_end = Some(sources.of_processes());
                        Extent::Window
                    }
                    Err(RecvTimeoutError::Timeout) => sources.affordable(depth),
                    Ok(Message::Finish) | Err(RecvTimeoutError::Disconnected) => break,
                };
                let reading = sources.read(depth);
                schedule.was_read(reading.at, depth);
                readings.push(reading);
            }
            readings.push(sources.read(Extent::Edge));
            let (allowed, uses_io_uring) = at_the_end.unwrap_or_else(|| sources.of_processes());
            let harness = sources.harness_cpu_s().zip(harness_before);
            let sampling = Sampling {
                sampling_cpu_s: Some(own_cpu_s()),
                harness_cpu_s: harness.map(|(after, before)| (after - before).max(0.0)),
                sampling_s: began.elapsed().as_secs_f64(),
                readings_put_off: sources.put_off(),
            };
            let Sources { group, outside, .. } = sources;
            let client_group = outside.map(|outside| outside.cgroup);
            Sampled { readings, group, client_group, allowed, uses_io_uring, sampling }
        });
        // Until it has read what there was before.
        let _: Result<(), _> = has_begun.recv();
        Sampler { tell, thread }
    }

    /// Says that the window has begun or ended. When it begins, all connections that are kept
    /// have to be there, and what was used before was used by the warm-up.
    pub fn pass(&self, passage: Passage) {
        let _ = self.tell.send(Message::Passes(passage));
    }

    /// Ends, and writes into the evidence what was seen within the window. The client
    /// has to be alive still.
    pub fn finish(self, began: Moment, window: Duration, evidence: &mut Evidence) {
        let began = Instant::now() - began.elapsed();
        let _ = self.tell.send(Message::Finish);
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
    seconds_on(ClockId::ThreadCPUTime)
}

fn seconds_on(clock: ClockId) -> f64 {
    let time = rustix::time::clock_gettime(clock);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// How much is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Extent {
    /// CPU time.
    Cpu,
    /// What is due.
    Most,
    /// All, whatever it costs, when the window begins: else what the warm-up used would
    /// be the window's.
    Window,
    /// The same before the first connection and after the last, but for connections, of
    /// which there are none.
    Edge,
}

/// Where is read from, and what is remembered for the next time.
struct Sources {
    /// The keeper, whose descendants are the contender's.
    root: i32,
    group: Group,
    outside: Option<Outside>,
    port: u16,
    trees: Trees,
    frequency: Frequency,
    looked: Looked,
    pids: Vec<i32>,
    threads: Threads,
    /// Each JVM among the processes, with its counters if it keeps some.
    jvms: BTreeMap<i32, Option<PerfData>>,
    counting: Counting,
    is_in_window: bool,
    whole: Pace,
    /// CPU seconds of the first reading: the last one will take as many.
    edge_s: f64,
    thread_reading: Pace,
    process_reading: Pace,
}

impl Sources {
    fn new(
        kept: &Kept,
        outside: Option<&Outside>,
        port: u16,
        expected: Expected,
        place: &Place,
    ) -> Sources {
        let length = expected.length();
        Sources {
            root: kept.root(),
            group: kept.cgroup().inhabited(),
            outside: outside.map(|it| Outside { pid: it.pid, cgroup: it.cgroup.inhabited() }),
            port,
            trees: Trees::of_this_process(),
            frequency: Frequency::of(&place.server_cpus),
            looked: Looked::at(place, outside.is_some()),
            pids: Vec::new(),
            threads: Threads::default(),
            jvms: BTreeMap::new(),
            counting: Counting::new(
                port,
                expected.kept,
                COUNTING_SHARE * length.as_secs_f64(),
                outside.is_some(),
            ),
            is_in_window: false,
            whole: Pace::new(WHOLE_SHARE, length),
            edge_s: 0.0,
            thread_reading: Pace::new(THREADS_SHARE, length),
            process_reading: Pace::new(PROCESSES_SHARE, length),
        }
    }

    /// So much of it as there is CPU time for: all that is read takes from the whole. What
    /// is put off is counted.
    fn affordable(&mut self, depth: Extent) -> Extent {
        if depth == Extent::Cpu {
            return depth;
        }
        self.whole.spent_s = own_cpu_s();
        if self.whole.is_due(self.whole.last_s, self.ahead() * self.edge_s) {
            depth
        } else {
            Extent::Cpu
        }
    }

    /// CPU seconds of this process but for the calling thread, and of the keeper without
    /// what it has waited for, which is the contender's. `None` where that one is gone.
    fn harness_cpu_s(&self) -> Option<f64> {
        let keeper = process_tree::member(self.root)?.cpu_s;
        Some(keeper + seconds_on(ClockId::ProcessCPUTime) - own_cpu_s())
    }

    /// How many readings of everything are to come whatever they cost.
    fn ahead(&self) -> f64 {
        if self.is_in_window { 1.0 } else { 2.0 }
    }

    fn read(&mut self, depth: Extent) -> Reading {
        let before = own_cpu_s();
        self.is_in_window |= depth == Extent::Window;
        if depth != Extent::Cpu {
            self.pids = if self.group.is_nowhere() {
                process_tree::descendants(self.root)
            } else {
                self.group.processes()
            };
        }
        let at = Instant::now();
        let by_group = self.group.cpu_s();
        let server_cpu_s = by_group.or_else(|| process_tree::cpu_of(self.root, &self.pids));
        let client_cpu_s = self.outside.as_ref().and_then(|outside| {
            outside.cgroup.cpu_s().or_else(|| process_tree::cpu_of_one(outside.pid))
        });
        let mut reading = Reading {
            at,
            server_cpu_s,
            client_cpu_s,
            most: None,
            threads: None,
            established: None,
            others_cpu_s: None,
        };
        if depth != Extent::Cpu {
            self.read_more(depth, &mut reading);
        }
        if depth == Extent::Edge {
            self.edge_s = own_cpu_s() - before;
        }
        reading
    }

    fn read_more(&mut self, depth: Extent, reading: &mut Reading) {
        if depth != Extent::Edge && self.is_in_window {
            reading.established = self.counting.established();
        }
        let (is_due, ahead) = (depth != Extent::Most, self.ahead());
        if is_due || self.process_reading.is_due_again(ahead) {
            let own = [self.root, std::process::id() as i32];
            let outside = self.outside.iter().map(|outside| outside.pid);
            let known = self.pids.iter().copied().chain(own).chain(outside).collect();
            reading.others_cpu_s =
                self.process_reading.timed(|| process_tree::cpu_of_all_but(&known));
        }
        if is_due || self.thread_reading.is_due_again(ahead) {
            let (threads, pids, outside) = (&mut self.threads, &self.pids, &self.outside);
            reading.threads = Some(self.thread_reading.timed(|| AllThreads {
                servers: threads.read(pids),
                client: outside.as_ref().and_then(|outside| threads.read(&[outside.pid])),
            }));
            self.find_jvms(reading.threads.as_ref());
        }
        let before = own_cpu_s();
        reading.most = Some(self.most());
        self.whole.took(own_cpu_s() - before);
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
        let members: Vec<Member> =
            self.pids.iter().filter_map(|&pid| process_tree::member(pid)).collect();
        let outside = self.outside.as_ref();
        // What those had used that have ended since is their parent's by now, or the keeper's.
        let ended = process_tree::used(self.root);
        Most {
            used: ended.map(|ended| members.iter().map(|it| it.used).fold(ended, Used::and)),
            members,
            group: (!self.group.is_nowhere()).then(|| self.group.counted()),
            throttled: self.trees.throttled(),
            machine: machine::read(&self.looked, &self.frequency),
            gc_pauses_s: self.gc_pauses_s(),
            code_bytes: compiled_code::bytes_of_all(
                self.pids.iter().copied().filter(|pid| !self.jvms.contains_key(pid)),
            ),
            client_group: outside
                .map(|outside| &outside.cgroup)
                .filter(|group| !group.is_nowhere())
                .map(Group::counted),
            client_rss_bytes: outside.and_then(|outside| process_tree::rss_bytes(outside.pid)),
            client_disk_bytes: outside.and_then(|outside| process_tree::disk_bytes(outside.pid)),
            listeners: connections::listeners(self.port),
        }
    }

    /// Where its threads may run, and whether it has a ring of io_uring.
    fn of_processes(&self) -> (BTreeMap<i32, Vec<usize>>, Option<bool>) {
        (threads::allowed(&self.pids), process_tree::use_io_uring(&self.pids))
    }

    /// Of each JVM; `None` where there is none, or one doesn't tell.
    fn gc_pauses_s(&self) -> Option<BTreeMap<i32, f64>> {
        let each = self.jvms.iter().map(|(&pid, data)| Some((pid, data.as_ref()?.gc_pause_s()?)));
        each.collect::<Option<BTreeMap<_, _>>>().filter(|all| !all.is_empty())
    }

    fn put_off(&self) -> u32 {
        [&self.whole, &self.thread_reading, &self.process_reading]
            .iter()
            .map(|pace| pace.put_off)
            .sum()
    }
}
