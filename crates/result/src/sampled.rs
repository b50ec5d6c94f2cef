//! What was sampled while a trial measured: the contender, the client and the
//! machine. Facts only: a missing sensor is `None`, never a zero.
//!
//! Where a field says nothing else, it is of the measured window.

use serde::{Deserialize, Serialize};

/// One sample, taken about once a second while measuring. Counters tell how much
/// they grew since the sample before.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Sample {
    /// Seconds from the start of the window.
    pub at_s: f64,
    /// CPU seconds of the contender.
    pub server_cpu_s: Option<f64>,
    /// Resident memory of the contender's process tree, in bytes.
    pub server_rss_bytes: Option<u64>,
    /// Threads of the contender.
    pub server_threads: Option<u32>,
    /// Context switches of the contender's threads.
    pub server_context_switches: Option<u64>,
    /// Seconds that the contender's threads, ready to run, waited for a processor.
    pub server_run_delay_s: Option<f64>,
    /// Page faults of the contender that had to wait for a disk.
    pub server_major_faults: Option<u64>,
    /// Files that the contender has open, its sockets among them.
    pub server_open_files: Option<u64>,
    /// Bytes that the contender handed to the disks.
    pub server_disk_write_bytes: Option<u64>,
    /// Time that the contender's JVM stood still for garbage collection.
    pub server_gc_pause_s: Option<f64>,
    /// CPU seconds of the contender's JVM for compiling.
    pub server_jit_cpu_s: Option<f64>,
    /// Connections established at the contender's port, where they are kept.
    pub connections_established: Option<u32>,
    /// Connections of those that the contender hasn't accepted yet.
    pub accept_queue: Option<u32>,
    /// What the contender's listeners dropped.
    pub listen_drops: Option<u64>,
    /// TCP segments sent again in this network namespace.
    pub tcp_retransmits: Option<u64>,
    /// TCP sockets that are open in this network namespace: of contender, client and
    /// all others, a connection within it twice.
    pub tcp_sockets: Option<u64>,
    /// CPU seconds of the client's process.
    pub client_cpu_s: Option<f64>,
    /// Resident memory of the client's process, in bytes.
    pub client_rss_bytes: Option<u64>,
    /// Context switches of the client's threads.
    pub client_context_switches: Option<u64>,
    /// Share of the time of the contender's and the client's processors that the host took.
    pub steal_share: Option<f64>,
    /// The machine's load average over one minute.
    pub load_average: Option<f64>,
    /// Bytes read back from swap, machine-wide.
    pub swap_in_bytes: Option<u64>,
    /// Bytes written to swap, machine-wide.
    pub swap_out_bytes: Option<u64>,
    /// Lowest frequency among the contender's processors, in MHz.
    pub server_cpu_mhz_min: Option<f64>,
    /// Share of the time that some task of the machine waited for a processor.
    pub cpu_pressure_share: Option<f64>,
    /// The same for memory.
    pub memory_pressure_share: Option<f64>,
    /// The same for disks.
    pub io_pressure_share: Option<f64>,
    /// Time that contender or client were kept from running by a CPU quota.
    pub throttled_s: Option<f64>,
}

/// What the sampling itself took, from before the first connection until after
/// the window.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Sampling {
    /// CPU seconds of the thread that samples, by its own clock.
    pub sampling_cpu_s: Option<f64>,
    /// Seconds that it sampled.
    pub sampling_s: f64,
    /// CPU seconds meanwhile of all other threads of bakeoff, and of the contender's keeper,
    /// which are in no other figure.
    pub harness_cpu_s: Option<f64>,
    /// Readings of what costs more that were left out to keep the sampling cheap.
    pub readings_put_off: u32,
}

impl Sampling {
    /// The share of one core that it took.
    pub fn core_share(&self) -> Option<f64> {
        (self.sampling_s > 0.0).then_some(self.sampling_cpu_s? / self.sampling_s)
    }

    /// Cores that bakeoff's other threads and the keeper used, on average.
    pub fn harness_cores(&self) -> Option<f64> {
        (self.sampling_s > 0.0).then_some(self.harness_cpu_s? / self.sampling_s)
    }
}

/// What the contender used and how it was divided.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ServerUse {
    /// Where its CPU seconds were read.
    pub cpu_source: CpuSource,
    /// CPU seconds of it that were spent in the kernel, as far as the kernel's clock
    /// tick tells.
    pub system_cpu_s: Option<f64>,
    /// The control group that held it, where one could be made for it.
    pub cgroup: Option<Cgroup>,
    /// Its processes, the busiest first; a few of them.
    pub processes: Vec<ProcessUse>,
    /// How many more there were.
    pub processes_more: u32,
    /// Its threads, the busiest first; a few of them. Empty where the kernel
    /// doesn't tell.
    pub threads: Vec<ThreadUse>,
    /// How many more there were.
    pub threads_more: u32,
    /// All its threads by their names, numbers left out, the busiest first.
    pub thread_groups: Vec<ThreadGroup>,
    /// How many more groups there were.
    pub thread_groups_more: u32,
    /// Seconds that its threads, ready to run, waited for a processor.
    pub run_delay_s: Option<f64>,
    /// Page faults that had to wait for a disk.
    pub major_faults: Option<u64>,
    /// Bytes that came from disks for its processes, as they count them. `None` in older
    /// runs.
    pub disk_read_bytes: Option<u64>,
    /// The most of its processes' resident memory that lay in files in memory, in bytes. `None` in
    /// older runs.
    pub shared_mapped_max_bytes: Option<u64>,
    /// The most of it that was in swap at once, in bytes.
    pub swap_max_bytes: Option<u64>,
    /// Machine code that its processes have made themselves since their start, in
    /// bytes: 0 for a program without a compiler in it, and where code is interpreted.
    /// `None` of a JVM, whose threads tell more, and where the kernel doesn't tell.
    pub code_bytes: Option<u64>,
    /// How much of that came within the measured window.
    pub code_grown_bytes: Option<u64>,
    /// Whether a process of it had a ring of io_uring open right after the load. `None`
    /// where none was seen and not all open files could be.
    pub uses_io_uring: Option<bool>,
    /// The virtual machine that it runs on, where it is one whose threads can be
    /// told apart from outside.
    pub runtime: Option<Runtime>,
}

/// What the client's process used.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ClientUse {
    /// Where its CPU seconds were read.
    pub cpu_source: CpuSource,
    /// CPU seconds.
    pub cpu_s: Option<f64>,
    /// The most resident memory seen, in bytes.
    pub rss_max_bytes: Option<u64>,
    /// Bytes that came from disks for it.
    pub disk_read_bytes: Option<u64>,
    /// Bytes that it handed to the disks.
    pub disk_write_bytes: Option<u64>,
    /// The control group that held it, where one could be made for it.
    pub cgroup: Option<Cgroup>,
}

/// Where CPU seconds were read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CpuSource {
    /// From the control group: every process that was ever in it, to the
    /// microsecond.
    Cgroup,
    /// From the process tree: to the clock tick (10 ms), and what ends without
    /// being waited for is lost.
    #[default]
    ProcessTree,
}

/// What a control group counted: the contender's, or the client's.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Cgroup {
    /// The hierarchies in which it was made: `v2`, or the name of a controller
    /// of v1.
    pub hierarchies: Vec<String>,
    /// The most memory it held since it was started, its page cache and socket
    /// buffers among it.
    pub memory_peak_bytes: Option<u64>,
    /// Processes that the kernel killed because the group's memory was used up.
    pub oom_kills: Option<u64>,
    /// Bytes that came from disks.
    pub io_read_bytes: Option<u64>,
    /// Bytes that reached disks. Under v1 those of direct writes only.
    pub io_write_bytes: Option<u64>,
    /// Share of the time that some task of the group waited for a processor.
    pub cpu_pressure_share: Option<f64>,
    /// The same for memory.
    pub memory_pressure_share: Option<f64>,
    /// The same for disks. From Linux 6.5 on, a wait in io_uring counts as one for a
    /// disk, also where it is one for the network, unless who waits forbids it, as the
    /// client does from Linux 6.15 on.
    pub io_pressure_share: Option<f64>,
}

/// One process.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ProcessUse {
    /// Its number.
    pub pid: i32,
    /// The name it gives itself.
    pub name: String,
    /// CPU seconds, its ended and reaped children's among them.
    pub cpu_s: f64,
    /// The same for each second; empty where no seconds are known.
    pub cpu_s_per_second: Vec<f64>,
    /// The most resident memory seen, in bytes.
    pub rss_max_bytes: u64,
}

/// One thread.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ThreadUse {
    /// Its process.
    pub pid: i32,
    /// Its own number.
    pub tid: i32,
    /// The name it gives itself; the kernel keeps 15 bytes of it.
    pub name: String,
    /// CPU seconds.
    pub cpu_s: f64,
    /// The same for each second; empty where no seconds are known.
    pub cpu_s_per_second: Vec<f64>,
    /// The processors that it may run on, as the kernel told right after the load. Empty
    /// where it had ended by then.
    #[serde(default)]
    pub cpus: Vec<usize>,
}

/// Threads of one name.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ThreadGroup {
    /// Their name, with `N` for each number in it.
    pub name: String,
    /// How many there were.
    pub threads: u32,
    /// CPU seconds of all of them.
    pub cpu_s: f64,
}

/// A virtual machine that a contender runs on.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Runtime {
    /// `HotSpot` or `Erlang VM`.
    pub name: String,
    /// When it compiles.
    pub compiles: Option<Compiles>,
    /// Whom a garbage collection stops.
    pub collects: Option<Collects>,
    /// Time that the application stood still for garbage collection, as the
    /// virtual machine counts it; of several JVMs that of the one that did so most, in older
    /// runs their sum. `None` where it doesn't tell.
    pub gc_pause_s: Option<f64>,
    /// CPU seconds of the threads that compile. `None` where no thread does only
    /// that.
    pub jit_cpu_s: Option<f64>,
}

/// When a virtual machine compiles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Compiles {
    /// While the code runs, and again as more is known of it.
    WhileRunning,
    /// Once, when the code is loaded.
    AtLoad,
}

/// Whom a virtual machine's garbage collection stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Collects {
    /// The whole application, for a part of the collection at least.
    StoppingAll,
    /// The one of its light processes whose memory is collected.
    OneProcess,
}

/// What limits contender and client, and how often it did.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Limits {
    /// The tightest CPU quota above the contender, in cores. `None` where there
    /// is none; whether one could be seen, `throttled_periods` tells.
    pub cpu_quota_cores: Option<f64>,
    /// Periods in which a quota was used up, above contender or client.
    pub throttled_periods: Option<u64>,
    /// Time that tasks were kept from running by that.
    pub throttled_s: Option<f64>,
    /// The tightest limit to the contender's memory, in bytes. `None` where there
    /// is none, or it can't be seen.
    pub memory_limit_bytes: Option<u64>,
}

/// What the machine went through.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct MachineUse {
    /// Whether its processors were kept from sleeping while they had nothing to do.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub kept_awake: bool,
    /// The highest load average over one minute.
    pub load_average_max: Option<f64>,
    /// Bytes read back from swap.
    pub swap_in_bytes: Option<u64>,
    /// Bytes written to swap.
    pub swap_out_bytes: Option<u64>,
    /// Page faults of all processes that had to wait for a disk.
    pub major_faults: Option<u64>,
    /// Processes that the kernel killed because memory was used up, from the
    /// first connection on.
    pub oom_kills: Option<u64>,
    /// Memory in files that have none on a disk (memfd_create(2), `/dev/shm`, System V's), in
    /// bytes: the most from the contender's first reading on, and before its start. `None` in
    /// older runs.
    pub shared_max_bytes: Option<u64>,
    /// See `shared_max_bytes`.
    pub shared_before_bytes: Option<u64>,
    /// The least memory that programs could have had, in bytes.
    pub memory_available_min_bytes: Option<u64>,
    /// Lowest frequency, in MHz, of that of the contender's processors that changed its own
    /// most. Virtual machines don't tell.
    pub server_cpu_mhz_min: Option<f64>,
    /// The highest.
    pub server_cpu_mhz_max: Option<f64>,
    /// Share of the time that some task waited for a processor.
    pub cpu_pressure_share: Option<f64>,
    /// The same for memory.
    pub memory_pressure_share: Option<f64>,
    /// The same for disks.
    pub io_pressure_share: Option<f64>,
    /// Bytes that came over the loopback interface: both directions of all
    /// connections of this network namespace.
    pub loopback_bytes: Option<u64>,
    /// Connections that any listener of this network namespace dropped, because
    /// its queue was full, within the window.
    pub listen_overflows_of_all: Option<u64>,
    /// The most sockets that waited for late segments after their end.
    pub time_wait_max: Option<u64>,
}
