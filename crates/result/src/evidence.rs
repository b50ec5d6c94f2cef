//! What one trial saw. Facts only: a missing sensor is `None`, never a zero.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::plan::Machine;

pub use crate::sampled::{
    Cgroup, ClientUse, Collects, Compiles, CpuSource, Limits, MachineUse, ProcessUse, Runtime,
    Sample, Sampling, ServerUse, ThreadGroup, ThreadUse,
};

/// So much of a contender's memory may be unseen, as a share, before that is told.
const UNSEEN_MEMORY_MAX: f64 = 0.05;

/// All that one trial saw.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Evidence {
    /// Where the contender and the load ran.
    pub place: Place,
    /// Whether the study lets it leave cores idle.
    pub may_idle: bool,
    /// How the contender's process fared.
    pub process: Process,
    /// The contract's steps, each with what came of it.
    pub contract: Vec<ContractStep>,
    /// The size of one right answer, before the load.
    pub answer: Option<AnswerSize>,
    /// Those of the contract's steps that a few answers under load could be held to.
    pub contract_under_load: Vec<ContractStep>,
    /// The contract's steps again, right after the load, where it came to that.
    pub contract_after: Vec<ContractStep>,
    /// The work that it did, where it was reached.
    pub work: Option<Work>,
    /// What was seen outside by whoever drove the contender, of several hosts together; none where
    /// it drives itself.
    pub clients: Vec<ClientSide>,
    /// What more client made of it, where the client was near its limit.
    pub second_client: Option<SecondClient>,
    /// What was sampled while measuring.
    pub samples: Vec<Sample>,
    /// CPU seconds of the contender's processes within the measured window.
    pub server_cpu_s: Option<f64>,
    /// Seconds of the window that the contender's processors spent on interrupts which the
    /// kernel counts apart from programs (`CONFIG_IRQ_TIME_ACCOUNTING`). `None` where it
    /// counts them as the time of the program that they interrupt.
    pub server_interrupt_s: Option<f64>,
    /// Bytes that the contender wrote to disk within the measured window.
    pub server_disk_write_bytes: Option<u64>,
    /// Bytes that it wrote to its output while there was load, warm-up included:
    /// in the seconds of `load_s`.
    pub server_output_bytes: Option<u64>,
    /// How much the files in the trial's own folder grew while there was load, in bytes:
    /// in the seconds of `load_s`.
    pub server_folder_bytes: Option<u64>,
    /// The contender's largest resident memory, in bytes.
    pub server_rss_max_bytes: Option<u64>,
    /// The same with what it has in files in memory that none of its processes maps. `None` where
    /// no control group counts that, and in older runs.
    pub server_memory_max_bytes: Option<u64>,
    /// What the contender's listeners dropped within the window: connections for
    /// which their queues were full, and the last acknowledgement of each that they
    /// deferred to accept (TCP_DEFER_ACCEPT), which loses nothing.
    pub listen_drops: Option<u64>,
    /// The backlog of the shortest of its listen queues: what the program asked for, within
    /// `net.core.somaxconn`. Linux lets one more connection wait.
    pub listen_backlog: Option<u32>,
    /// TCP segments sent again in this network namespace from before the first connection on.
    pub tcp_retransmits: Option<u64>,
    /// Share of the time of the contender's and the client's processors that the host
    /// took within the window.
    pub steal_share: Option<f64>,
    /// CPU seconds of all other processes within the window.
    pub others_cpu_s: Option<f64>,
    /// Seconds within the window for which something ran on the processors of the contender
    /// and, where there is one, the client, and on the siblings of these: contender, client,
    /// bakeoff and others together. `None` where the machine has no further processors, where the kernel doesn't
    /// tell, and in older runs.
    pub near_cpu_s: Option<f64>,
    /// What the contender used, and how it was divided.
    pub server: ServerUse,
    /// What the client's process used.
    pub client: Option<ClientUse>,
    /// What limits contender and client, and how often it did.
    pub limits: Limits,
    /// What the machine went through.
    pub machine: MachineUse,
    /// What became of a store's keys; `None` of anything else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub store: Option<StoreSeen>,
    /// What robots heard of each other; `None` of a server that passes nothing on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deliveries: Option<DeliveriesSeen>,
    /// How fast the contender's processors were. Empty where nothing was measured.
    pub core_speeds: Vec<CoreSpeed>,
    /// What the sampling took.
    pub sampling: Sampling,
    /// Seconds from the start to the first right answer.
    pub ready_s: Option<f64>,
    /// CPU seconds that a contender which drives itself took from its start until it was ready.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ready_cpu_s: Option<f64>,
    /// Seconds that the contract's steps took.
    pub contract_s: Option<f64>,
    /// Seconds from the load's first connection to its last answer: warm-up and
    /// window, with what it takes to open connections and to drain them.
    pub load_s: Option<f64>,
    /// Seconds that the contender took to stop.
    pub stop_s: Option<f64>,
    /// Seconds of the trial outside of the measured window, with those of a second
    /// client.
    pub overhead_s: f64,
}

impl Evidence {
    /// Whether the contender hung in a step of its contract, before the load or after it.
    pub fn hung(&self) -> bool {
        self.contract.iter().chain(&self.contract_after).any(|step| step.hung)
    }

    /// CPU seconds that the contender took within the window: its processes', and what its
    /// processors spent on interrupts where the kernel counts that apart. Over loopback who
    /// sends has its packets delivered within these, which other kernels count as its time.
    /// On processors that it shares with the client they are both's, and left out.
    pub fn contender_cpu_s(&self) -> Option<f64> {
        let apart = self.server_interrupt_s.filter(|_| !self.place.shared());
        Some(self.server_cpu_s? + apart.unwrap_or(0.0))
    }

    /// The most memory that the contender had, in bytes, and whether it may have had more: in files
    /// in memory, which only a control group counts for it alone.
    pub fn memory(&self) -> Option<(u64, bool)> {
        if let Some(all) = self.server_memory_max_bytes {
            return Some((all, false));
        }
        let resident = self.server_rss_max_bytes?;
        let machine = &self.machine;
        let grown = machine.shared_max_bytes.zip(machine.shared_before_bytes);
        let grown = grown.map_or(0, |(most, before)| most.saturating_sub(before));
        let unmapped = grown.saturating_sub(self.server.shared_mapped_max_bytes.unwrap_or(0));
        Some((resident, unmapped as f64 > UNSEEN_MEMORY_MAX * resident as f64))
    }

    /// Requests that the client's processes offered a second together; `None` of a closed loop.
    pub fn offered_rate(&self) -> Option<f64> {
        self.clients.iter().filter_map(|client| client.offered_rate).reduce(|all, one| all + one)
    }

    /// The hosts that the load came from; none where it came from this machine's own client.
    pub fn hosts(&self) -> impl Iterator<Item = &HostSide> {
        self.clients.iter().flat_map(|client| &client.hosts)
    }

    /// CPU seconds of those that are this machine all the same. To whoever looks at processes,
    /// they are others.
    fn hosts_here_cpu_s(&self) -> f64 {
        self.hosts().filter(|host| host.is_here).map(|host| host.side.cpu_s).sum()
    }

    /// CPU seconds of the client's processes within the window; `None` where there were none.
    pub fn client_cpu_s(&self) -> Option<f64> {
        (!self.clients.is_empty()).then(|| self.clients.iter().map(|client| client.cpu_s).sum())
    }

    /// Cores that other processes used within the window, on average.
    pub fn others_cores(&self) -> Option<f64> {
        let seconds = self.work.as_ref()?.seconds;
        let others_cpu_s = self.others_cpu_s? - self.hosts_here_cpu_s();
        (seconds > 0.0).then_some(others_cpu_s.max(0.0) / seconds)
    }

    /// Cores that other processes used within the window, on average, where contender or client
    /// feel it most: on their own processors and on the siblings of these. All that others used
    /// where it isn't known what they used there.
    pub fn others_near_cores(&self) -> Option<f64> {
        let all = self.others_cores()?;
        Some(self.unaccounted_near_cores().map_or(all, |near| near.clamp(0.0, all)))
    }

    /// Cores that other processes used on all further processors; `None` where the machine has
    /// none, or it isn't known.
    pub fn others_elsewhere_cores(&self) -> Option<f64> {
        self.unaccounted_near_cores()?;
        Some(self.others_cores()? - self.others_near_cores()?)
    }

    /// Cores in use on the processors of contender and client and on their siblings, without
    /// those that contender, client and bakeoff used. The kernel's own work is among them.
    fn unaccounted_near_cores(&self) -> Option<f64> {
        let seconds = self.work.as_ref()?.seconds;
        let client_cpu_s = self.client.as_ref().map_or(Some(0.0), |client| client.cpu_s)?;
        let bakeoff = [self.sampling.core_share(), self.sampling.harness_cores()];
        let bakeoff: f64 = bakeoff.into_iter().flatten().sum();
        let own_cpu_s = self.server_cpu_s? + client_cpu_s + self.hosts_here_cpu_s();
        (seconds > 0.0).then_some((self.near_cpu_s? - own_cpu_s) / seconds - bakeoff)
    }

    /// Cores that the host took of the contender's and the client's within the window, on
    /// average.
    pub fn stolen_cores(&self) -> Option<f64> {
        Some(self.steal_share? * self.place.cpus().len() as f64)
    }
}

/// Where a trial ran.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Place {
    /// The contender's processors.
    pub server_cpus: Vec<usize>,
    /// The load's processors.
    pub client_cpus: Vec<usize>,
    /// The machine's processors by physical core. Empty where it doesn't tell.
    #[serde(default)]
    pub cores: Vec<Vec<usize>>,
}

impl Place {
    /// Whether server and client share a processor, so that each takes time
    /// from the other.
    pub fn shared(&self) -> bool {
        self.server_cpus.iter().any(|cpu| self.client_cpus.contains(cpu))
    }

    /// Who has which of the machine's processors, in words. Nothing is said of a contender or a
    /// client that has none of its own.
    pub fn in_words(&self, machine: &Machine) -> String {
        let own = self.cpus();
        // What runs on a sibling is felt.
        let is_near = |core: &&Vec<usize>| core.iter().any(|cpu| own.contains(cpu));
        let siblings: Vec<usize> = self.cores.iter().filter(is_near).flatten().copied().collect();
        let is_left = |cpu: &usize| !own.contains(cpu) && !siblings.contains(cpu);
        let left: Vec<usize> = machine.cpus.iter().copied().filter(is_left).collect();
        let on = |who: &str, cpus: &[usize]| {
            (!cpus.is_empty()).then(|| format!("{who} CPU {}", cpu_list(cpus)))
        };
        let server = on("contender on", &self.server_cpus);
        let client = on("client on", &self.client_cpus);
        let mut words: Vec<String> = if self.shared() {
            vec![format!("contender and client share CPU {}", cpu_list(&self.server_cpus))]
        } else {
            server.into_iter().chain(client).collect()
        };
        if !left.is_empty() {
            words.push(format!("CPU {} left to others", cpu_list(&left)));
        }
        words.join(", ")
    }

    /// The contender's processors and the load's.
    pub fn cpus(&self) -> BTreeSet<usize> {
        self.server_cpus.iter().chain(&self.client_cpus).copied().collect()
    }
}

/// Numbers of processors in rising order, as the kernel writes them: `0-2,8`.
pub fn cpu_list(cpus: &[usize]) -> String {
    let rising: BTreeSet<usize> = cpus.iter().copied().collect();
    let mut ranges: Vec<(usize, usize)> = Vec::new();
    for cpu in rising {
        match ranges.last_mut().filter(|(_, last)| last + 1 == cpu) {
            Some((_, last)) => *last = cpu,
            None => ranges.push((cpu, cpu)),
        }
    }
    let range = |(first, last): (usize, usize)| {
        if first == last { first.to_string() } else { format!("{first}-{last}") }
    };
    ranges.into_iter().map(range).collect::<Vec<_>>().join(",")
}

/// How the contender's process fared.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Process {
    /// The one sentence about what went wrong, where something did.
    pub failure: Option<String>,
    /// Its last output lines, bounded, where it failed.
    pub last_words: Vec<String>,
    /// Whether it had to be killed because it ignored SIGTERM.
    pub killed: bool,
    /// Bytes that it wrote to its output from start to stop.
    pub output_bytes: Option<u64>,
    /// Whether it ran before the trial and runs on after it: somebody else started it, so that
    /// what it uses can't be seen, and nobody knows what it went through before.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub runs_already: bool,
    /// What became of the folder that all its trials are started in; `None` where each has its
    /// own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shared_folder: Option<SharedFolder>,
}

/// What became of a folder, from the first trial of a run to the beginning of this one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SharedFolder {
    /// Nothing.
    AsItWas,
    /// Something in it was made, changed or removed: this, or the folder that it was in.
    Changed(String),
    /// Nobody could look, and why.
    Unknown(String),
}

/// How fast a processor worked on something fixed while the contender had nothing
/// to do.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct CoreSpeed {
    /// The processor's number.
    pub cpu: usize,
    /// Steps a µs just before the load, of work that waits for itself: it follows
    /// the processor's frequency.
    pub before: f64,
    /// The same just after the load.
    pub after: f64,
    /// Steps a µs just before the load, of work that keeps the whole core busy: it
    /// feels who has the core's other thread.
    pub whole_before: Option<f64>,
    /// The same just after the load.
    pub whole_after: Option<f64>,
}

/// One step of the contract check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContractStep {
    /// Which step it is, in each trial and each study alike.
    #[serde(default)]
    pub id: String,
    /// What was asked of the contender.
    pub asked: String,
    /// What was seen, bounded.
    pub saw: String,
    /// What was wrong with its answer; `None` where it was right.
    pub wrong: Option<String>,
    /// Whether nothing came in time, so that no further step was tried.
    #[serde(default)]
    pub hung: bool,
}

/// Two Dates this far apart must differ.
pub const DATE_STEP: Duration = Duration::from_millis(2_200);
/// The id of the step whose sight is the Date, where that is looked at once.
pub const DATE: &str = "date";

/// The size of an answer as it was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnswerSize {
    /// Bytes of the status line and the headers.
    pub head_bytes: u64,
    /// Bytes of the body, without what chunks add.
    pub body_bytes: u64,
    /// All bytes, with what chunks add.
    pub whole_bytes: Option<u64>,
}

/// The work that a contender did within the measured window, whatever drove it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Work {
    /// Seconds measured.
    pub seconds: f64,
    /// Units of work done: of the load generator, good answers that arrived.
    pub done: u64,
    /// Units of work done a second.
    pub rate: f64,
    /// Errors by kind.
    pub errors: Vec<ErrorKind>,
    /// Seconds of the window in turn, where the load generator drove it.
    pub per_second: Vec<Second>,
    /// What was done between the lines of a contender that drives itself, within the window.
    pub intervals: Vec<Interval>,
    /// The same from its first line to the window: its warm-up, which no figure counts.
    pub warmup: Vec<Interval>,
    /// Numbers that such a contender told at its end, or that its study or bakeoff counted, by their
    /// names.
    pub result: BTreeMap<String, f64>,
    /// The names of those that a study counted, or that bakeoff counted of servers that pass
    /// messages on.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub counted: BTreeSet<String>,
    /// How long the window was by the clock of a contender that drives itself.
    pub own_seconds: Option<f64>,
    /// From the intended start to the whole answer, in µs.
    pub response_us: Percentiles,
    /// From the send to the whole answer, in µs.
    pub service_us: Percentiles,
    /// The same of each operation on a store, and of each request that has a name.
    pub operations: Vec<OperationSeen>,
    /// Whether it was cut short.
    pub interrupted: bool,
}

impl Work {
    /// Its rates in turn, each with the seconds that it held for. A part of a second at the
    /// window's end is left out: it would look like a part of the rate.
    pub fn rates(&self) -> Vec<(f64, f64)> {
        if !self.intervals.is_empty() {
            return self.intervals.iter().map(|it| (it.seconds, it.rate())).collect();
        }
        let whole = (self.seconds + 0.01) as usize;
        self.per_second.iter().take(whole).map(|second| (1.0, second.good as f64)).collect()
    }
}

/// What became of the keys that a store was asked for, and what it says of itself.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct StoreSeen {
    /// The writing of all keys before the work; `None` where none was to be there.
    pub preload: Option<Preload>,
    /// Reads that found a value that may be read, from the warm-up on.
    pub hits: u64,
    /// Reads of keys without a value, which may be so.
    pub misses: u64,
    /// Reads of keys without a value that must have one.
    pub missing: u64,
    /// Reads of values that weren't written for their keys.
    pub wrong: u64,
    /// Reads of values that had been overwritten.
    pub stale: u64,
    /// What its data lie on; `None` where the kernel doesn't tell.
    pub file_system: Option<FileSystem>,
    /// What the files take that it had open for writing outside of its folder, or in it without a
    /// name, when the work was over; `None` where they can't be seen, and in older runs.
    #[serde(default)]
    pub elsewhere_bytes: Option<u64>,
    /// Requests that may have been under way at once; `None` where that isn't known.
    pub under_way_max: Option<u64>,
    /// Some of the keys that were written, read when the work was over; `None` where that tells
    /// nothing.
    pub read_back: Option<ReadBack>,
    /// What it had after SIGKILL at the end of the trial; `None` where it wasn't killed.
    pub after_crash: Option<AfterCrash>,
    /// Whether it may throw values away for want of memory.
    pub may_evict: bool,
    /// How many keys it has to have at the end, at least and at most. In older runs `None` where
    /// the work deletes keys, or lets them expire.
    pub keys_due: Option<(u64, u64)>,
    /// How many it says that it has; `None` where it doesn't tell.
    pub keys_there: Option<u64>,
    /// How many values it says that it threw away for want of memory; `None` where it doesn't
    /// tell.
    pub evictions: Option<u64>,
    /// What it said in the place of one of these counts, bounded and escaped, where that is none.
    pub told_wrong: Option<String>,
}

/// What robots in rooms heard of each other, from the run's start on unless it says otherwise. Of
/// deliveries, the client's account has how many were due and came; those that never came are its
/// errors of the kind `missing`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct DeliveriesSeen {
    /// Rooms.
    pub rooms: u32,
    /// Robots that came into their rooms before the load.
    pub joined: u32,
    /// Robots whose connection the server ended, or that was ended because of what it sent.
    pub cut: u32,
    /// Messages of the window that were handed over.
    pub messages_sent: u64,
    /// Messages that were heard within the window, good ones or not.
    pub messages_received: u64,
    /// Messages that came again.
    pub duplicates: u64,
    /// Deliveries that came after a later one of the same sender.
    pub out_of_order: u64,
    /// Messages that came to another room.
    pub leaked: u64,
    /// What is no message that was sent.
    pub wrong: u64,
    /// Missing deliveries that came after they had been given up.
    pub overdue: u64,
    /// Messages of the window that the server confirmed to their senders; `None` where it has no
    /// words for that.
    pub confirmed: Option<u64>,
    /// Those that it didn't confirm, though it confirms others.
    pub unconfirmed: u64,
    /// Messages that it confirmed, and that a member never had.
    pub confirmed_missing: u64,
    /// Deliveries of the window that end at the kernel's stamp of their last packet.
    pub stamped: u64,
    /// Those that end when they were seen, which is later.
    pub unstamped: u64,
    /// What the first of each kind was like, by the name of its count: bounded and escaped.
    pub firsts: BTreeMap<String, String>,
    /// From when a message was due until all members had it, in µs.
    pub until_all_us: Percentiles,
    /// From the first member that had a message to the last, in µs.
    pub first_to_last_us: Percentiles,
    /// From an established connection until its robot was in its room, in µs.
    pub join_us: Percentiles,
    /// The contender's resident memory with no robot there, in bytes.
    pub memory_before_bytes: Option<u64>,
    /// The same with all robots in their rooms, before the first message.
    pub memory_idle_bytes: Option<u64>,
    /// Whether the contender's documentation promises no more than that a message comes once at
    /// most.
    pub may_lose: bool,
}

impl DeliveriesSeen {
    /// What a robot takes of the contender's memory while it says nothing, in bytes; `None` where
    /// that can't be seen.
    pub fn robot_bytes(&self) -> Option<f64> {
        let grown = self.memory_idle_bytes?.saturating_sub(self.memory_before_bytes?);
        (self.joined > 0).then(|| grown as f64 / f64::from(self.joined))
    }
}

/// The writing of all keys before the work.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Preload {
    /// Keys to be written.
    pub keys: u64,
    /// Writes that were acknowledged.
    pub acknowledged: u64,
    /// Seconds that it took.
    pub seconds: f64,
}

/// What a folder lies on.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct FileSystem {
    /// As `mount` has it: `ext4`.
    pub name: String,
    /// Whether it is in memory, where a sync costs nothing.
    pub in_memory: bool,
}

/// Keys that were drawn from those that were written, read when the work was over.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ReadBack {
    /// Keys that were read.
    pub keys: u64,
    /// Those without a value.
    pub missing: u64,
    /// Those with another value than was ever written to them.
    pub wrong: u64,
    /// Those with a value that was overwritten long before.
    pub overwritten: u64,
    /// Requests that ended in an error: so many writes may be missing for that.
    pub errors: u64,
    /// The first thing that is wrong, in a sentence.
    pub example: Option<String>,
    /// Why the others couldn't be read, where the store didn't give them.
    #[serde(default)]
    pub refused: Option<String>,
}

impl ReadBack {
    /// How many of the keys lack what was acknowledged. A write that ended in an error may not be
    /// there, and nobody knows which one it was.
    pub fn lost(&self) -> u64 {
        self.wrong + (self.missing + self.overwritten).saturating_sub(self.errors)
    }
}

/// What a store had that was killed when the work was over, and started again on its own folder.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AfterCrash {
    /// Keys that it had acknowledged before.
    Read(ReadBack),
    /// Nothing could be read, and why.
    Unread(String),
}

/// How long the requests of one class took.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct OperationSeen {
    /// Its name: the operation on a store, `get`, or what a request is called, `home`.
    pub operation: String,
    /// From the intended start to the whole answer, in µs.
    pub response_us: Percentiles,
    /// From the send to the whole answer, in µs.
    pub service_us: Percentiles,
}

/// What a contender did between two of its lines.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// Between the arrivals of both.
    pub seconds: f64,
    /// Units of work done.
    pub done: u64,
}

impl Interval {
    /// Units of work done a second; 0 for lines that arrived together.
    pub fn rate(&self) -> f64 {
        if self.seconds > 0.0 { self.done as f64 / self.seconds } else { 0.0 }
    }
}

/// What one process of the load generator saw. Its own report has more; this is what is
/// judged.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ClientSide {
    /// Requests whose turn came; of robots in rooms, here and in what follows, deliveries.
    pub scheduled: u64,
    /// Requests of those that were never sent.
    pub shed: u64,
    /// Requests sent.
    pub sent: u64,
    /// Requests answered as the contract has it.
    pub good: u64,
    /// Requests without an answer when the run ended.
    pub in_flight: u64,
    /// Errors of the warm-up's requests by kind.
    pub warmup_errors: Vec<ErrorKind>,
    /// The offered rate of an open loop, a second.
    pub offered_rate: Option<f64>,
    /// The generator's own delay from intended to sent, in µs; open loop only.
    pub lateness_us: Option<Percentiles>,
    /// The part of that which is not the generator's own, in µs: from the intended
    /// start until a connection was free, 0 where one was. Open loop only.
    pub connection_wait_us: Option<Percentiles>,
    /// Time to connect, in µs.
    pub connect_us: Percentiles,
    /// Bytes received within the measured window.
    pub received_bytes: u64,
    /// Connections asked for.
    pub connections_asked: u32,
    /// Connections established at once.
    pub connections_established: u32,
    /// Connections opened again after the first time.
    pub reconnects: u64,
    /// Connections that were to be kept and that the server ended in order, within the
    /// window.
    pub cut: Option<u64>,
    /// Connections made within the window: for its requests, where each has one of its own.
    pub made: Option<u64>,
    /// SYN segments of such connections that had to be sent again.
    pub syn_retransmits: u64,
    /// Fewest and most answers to the window's requests that a connection had.
    pub answers_a_connection: (u64, u64),
    /// Connections that were asked, left waiting, and had no good answer to a request of the
    /// window; `None` in older runs.
    pub connections_unanswered: Option<u32>,
    /// How often the server spoke on a connection on which nothing was asked, its last words left
    /// out; `None` in older runs.
    pub unasked: Option<u64>,
    /// What it said the first time, bounded and escaped.
    pub first_unasked: Option<String>,
    /// CPU seconds of its threads within the measured window.
    pub cpu_s: f64,
    /// Busy share of each of its threads.
    pub busy_share: Vec<f64>,
    /// Share of the time that each thread was ready to run, and waited for a processor;
    /// `None` where the kernel doesn't tell.
    pub run_delay_share: Option<Vec<f64>>,
    /// The longest time, in seconds, for which a thread was kept from looking for answers:
    /// it was stopped, or its machine was.
    pub away_s: Option<f64>,
    /// Which backend carried the load.
    pub backend: String,
    /// What each host saw, of which this is the sum; empty where the load came from this machine.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<HostSide>,
}

/// What a host saw of its part of the load.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct HostSide {
    /// Its name, as the user's file has it.
    pub name: String,
    /// Whether it is the contender's machine all the same: in a container, or in a network
    /// namespace.
    pub is_here: bool,
    /// The processors that its load was bound to.
    pub cpus: Vec<usize>,
    /// Its kernel's version.
    pub kernel: String,
    /// What it saw of its own side.
    pub side: ClientSide,
    /// Its requests that ended in an error.
    pub errors: u64,
    /// Its good answers within the window.
    pub done: u64,
    /// The median and the 99th percentile of its response times in µs, where it has samples
    /// enough.
    pub response_us: Vec<Percentile>,
    /// Its fastest good answer, in µs, from the send on.
    pub fastest_us: Option<f64>,
    /// By how much its clock may be wrong that its window was placed by, in µs.
    pub clock_within_us: f64,
    /// How far its clock had moved after the run, in µs; `None` where it couldn't be asked.
    pub drift_us: Option<f64>,
    /// How much later than planned it began, in µs.
    pub began_late_us: f64,
    /// Why its figures are no part of the sum.
    pub lost: Option<String>,
}

impl HostSide {
    /// By how much its clock may have been off at the end, in µs.
    pub fn apart_us(&self) -> f64 {
        self.clock_within_us + self.drift_us.map_or(0.0, f64::abs)
    }
}

/// The same contender under the same load, right after a trial whose client was
/// near its limit, with the connections spread over the first client's processors
/// and those of a second.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SecondClient {
    /// There was none.
    Missing {
        /// Why, in one sentence.
        why: String,
    },
    /// What both saw together.
    Measured {
        /// The processors of both.
        client_cpus: Vec<usize>,
        /// Good answers a second.
        rate: f64,
        /// Errors of all kinds.
        errors: u64,
        /// Busy share of each of their threads.
        client_busy_share: Vec<f64>,
        /// Share of the time that each of these was ready to run, and waited for a
        /// processor; `None` where the kernel doesn't tell.
        #[serde(default)]
        client_run_delay_share: Option<Vec<f64>>,
        /// Cores that other processes used meanwhile, on average: of those of contender and
        /// client, and of all in older runs.
        others_cores: Option<f64>,
        /// Share of the time of all their processors that the host took meanwhile.
        steal_share: Option<f64>,
    },
}

/// One kind of error.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ErrorKind {
    /// Its name in the load generator's taxonomy.
    pub kind: String,
    /// How often.
    pub count: u64,
    /// Seconds from the start of the window to the first.
    pub first_s: f64,
    /// What the first one looked like, bounded and escaped.
    pub example: String,
}

/// A distribution, cut to what is read of it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Percentiles {
    /// Samples, censored ones included.
    pub count: u64,
    /// Samples of those that are only known to be at least their value.
    pub censored: u64,
    /// Smallest; `None` of no samples, as are the next two.
    pub min: Option<f64>,
    /// Mean.
    pub mean: Option<f64>,
    /// Largest.
    pub max: Option<f64>,
    /// Percentile (0 to 100) and value, in rising order. Those with fewer than
    /// 100 samples beyond them are left out.
    pub at: Vec<Percentile>,
    /// The whole histogram: HdrHistogram V2, deflated, base64; nanoseconds.
    pub histogram: String,
}

/// One percentile.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Percentile {
    /// From 0 to 100.
    pub percentile: f64,
    /// The value.
    pub value: f64,
    /// Whether a censored sample lies at or below, so that the value is only a
    /// lower bound.
    pub at_least: bool,
}

/// One second of the measured window.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Second {
    /// Good answers.
    pub good: u64,
    /// Errors.
    pub errors: u64,
    /// Median service time, in µs; `None` where there was no answer.
    pub p50_us: Option<f64>,
    /// 99th percentile of service time, in µs; `None` where there was no answer.
    pub p99_us: Option<f64>,
}
