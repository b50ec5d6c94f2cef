//! What the machine tells: counters since it started, and what is now.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use keeper::cgroup::{self, Pressure};
use keeper::proc_file;
use procfs::Current;
use result::evidence::Place;
use rustix::time::ClockId;

use super::seconds_on;
use crate::place::processors;

/// Of more processors than these the frequency isn't asked.
const FREQUENCIES_MAX: usize = 16;

/// One reading.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Machine {
    /// What the host took of the contender's processors and the client's,
    pub steal_s: Option<f64>,
    /// and the time of all of these, idle or not.
    pub passed_s: Option<f64>,
    /// The time for which something ran on the processors where it matters what others do;
    /// `None` where the machine has no further ones.
    pub near_ran_s: Option<f64>,
    /// What the contender's processors spent on interrupts; `None` where the kernel counts
    /// that as the programs' time.
    pub interrupt_s: Option<f64>,
    pub load_average: Option<f64>,
    pub swap_in_bytes: Option<u64>,
    pub swap_out_bytes: Option<u64>,
    pub major_faults: Option<u64>,
    pub oom_kills: Option<u64>,
    pub memory_available_bytes: Option<u64>,
    /// Memory in files that have none on a disk.
    pub shared_bytes: Option<u64>,
    pub pressure: Pressure,
    pub tcp_retransmits: Option<u64>,
    pub listen_overflows: Option<u64>,
    pub loopback_bytes: Option<u64>,
    pub tcp_sockets: Option<TcpSockets>,
    /// In MHz, of the same processors each time, in the same order; empty where none is
    /// known.
    pub frequencies: Vec<Option<f64>>,
}

/// The processors that are looked at.
#[derive(Debug)]
pub(super) struct Looked {
    /// The contender's and the client's,
    pub cpus: BTreeSet<usize>,
    /// the contender's alone,
    pub server_cpus: Vec<usize>,
    /// and those where it matters what others do: of these two, and their siblings.
    pub near: BTreeSet<usize>,
}

impl Looked {
    /// Those of a place. Where no client runs, nobody needs its processors.
    pub fn at(place: &Place, has_client: bool) -> Looked {
        let server_cpus = place.server_cpus.clone();
        let client_cpus = if has_client { &place.client_cpus[..] } else { &[] };
        let siblings = |&cpu: &usize| processors::siblings(cpu).unwrap_or_else(|| vec![cpu]);
        let near = server_cpus.iter().chain(client_cpus).flat_map(siblings).collect();
        Looked { cpus: place.cpus(), server_cpus, near }
    }
}

/// Reads everything: of these processors the time, and the frequency of some.
pub(super) fn read(looked: &Looked, frequency: &Frequency) -> Machine {
    let stat = proc_file::text("/proc/stat");
    let now_s = seconds_on(ClockId::Monotonic);
    let ticks = stat.as_ref().and_then(|text| ticks_in(text, &looked.cpus));
    let near = stat.as_ref().filter(|text| processors_in(text) > looked.near.len());
    let near = near.and_then(|text| ticks_in(text, &looked.near));
    let seconds = |count: u64| count as f64 / procfs::ticks_per_second() as f64;
    let near_ran_s = near.map(|ticks| {
        let interrupts = if load::interrupts::are_apart() { ticks.interrupts } else { 0 };
        let none_ran = seconds(ticks.idle + ticks.stolen + interrupts);
        now_s * looked.near.len() as f64 - none_ran
    });
    let vmstat = proc_file::text("/proc/vmstat");
    let of_vm = |name| numbers_after(vmstat.as_ref()?, name)?.next();
    let pages = |name| Some(of_vm(name)? * procfs::page_size());
    let memory = procfs::Meminfo::current().ok();
    Machine {
        steal_s: ticks.map(|ticks| seconds(ticks.stolen)),
        passed_s: ticks.map(|ticks| seconds(ticks.passed)),
        near_ran_s,
        interrupt_s: load::interrupts::seconds_apart(&looked.server_cpus),
        load_average: procfs::LoadAverage::current().ok().map(|average| f64::from(average.one)),
        swap_in_bytes: pages("pswpin"),
        swap_out_bytes: pages("pswpout"),
        major_faults: of_vm("pgmajfault"),
        oom_kills: of_vm("oom_kill"),
        memory_available_bytes: memory.as_ref().and_then(|it| it.mem_available),
        shared_bytes: memory.and_then(|it| it.shmem),
        pressure: cgroup::pressure(Path::new("/proc/pressure"), ""),
        tcp_retransmits: proc_file::text("/proc/net/snmp")
            .and_then(|text| counter_in(&text, "Tcp:", "RetransSegs")),
        listen_overflows: proc_file::text("/proc/net/netstat")
            .and_then(|text| counter_in(&text, "TcpExt:", "ListenOverflows")),
        // The first number is what was received; on this interface that is all.
        loopback_bytes: proc_file::text("/proc/net/dev")
            .and_then(|text| numbers_after(&text, "lo:")?.next()),
        tcp_sockets: tcp_sockets(),
        frequencies: frequency.read(),
    }
}

/// Memory in files that have none on a disk, of the whole machine.
pub fn shared_bytes() -> Option<u64> {
    procfs::Meminfo::current().ok()?.shmem
}

/// The time of some processors since the machine started, in the kernel's ticks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Ticks {
    passed: u64,
    /// Of these, what the host took,
    stolen: u64,
    /// those in which nothing ran, which a kernel that rests without a tick takes by its clock,
    /// while it only samples who ran in the others,
    idle: u64,
    /// and those of interrupts.
    interrupts: u64,
}

/// How many processors it has.
fn processors_in(stat: &str) -> usize {
    let numbers = stat.lines().filter_map(|line| line.strip_prefix("cpu"));
    numbers.filter(|rest| rest.starts_with(|first: char| first.is_ascii_digit())).count()
}

/// From `/proc/stat`; `None` if it lacks one of the processors. The whole machine's line
/// would hide what two of many processors lost.
fn ticks_in(stat: &str, cpus: &BTreeSet<usize>) -> Option<Ticks> {
    /// User, nice, system, idle, I/O wait, two kinds of interrupts, stolen; those of
    /// guests, which follow, are in the first two (proc_stat(5)).
    const KINDS: usize = 8;
    /// Where idle stands; after it I/O wait, which is idle too, and both kinds of interrupts.
    const IDLE: usize = 3;
    cpus.iter().try_fold(Ticks::default(), |all, cpu| {
        let kinds: Vec<u64> = numbers_after(stat, &format!("cpu{cpu}"))?.take(KINDS).collect();
        let stolen = kinds.get(KINDS - 1)?;
        Some(Ticks {
            passed: all.passed + kinds.iter().sum::<u64>(),
            stolen: all.stolen + stolen,
            idle: all.idle + kinds[IDLE] + kinds[IDLE + 1],
            interrupts: all.interrupts + kinds[IDLE + 2] + kinds[IDLE + 3],
        })
    })
}

/// The numbers that follow the first word of a line.
fn numbers_after<'a>(text: &'a str, first: &str) -> Option<impl Iterator<Item = u64> + use<'a>> {
    let mut lines = text.lines().map(str::split_ascii_whitespace);
    let line = lines.find_map(|mut words| (words.next()? == first).then_some(words))?;
    Some(line.map_while(|word| word.parse().ok()))
}

/// A counter of `/proc/net`, where a line of names is followed by a line of
/// values.
fn counter_in(text: &str, table: &str, name: &str) -> Option<u64> {
    let mut lines = text.lines().filter(|line| line.split(' ').next() == Some(table));
    let (names, values) = (lines.next()?, lines.next()?);
    let at = names.split(' ').position(|have| have == name)?;
    values.split(' ').nth(at)?.parse().ok()
}

/// TCP sockets of this network namespace, as the kernel counts them while it opens and
/// closes them: to read that costs the same however many there are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct TcpSockets {
    /// In use: both ends of a connection within the machine.
    pub open: u64,
    /// Ended, waiting for late segments.
    pub time_wait: u64,
}

pub(super) fn tcp_sockets() -> Option<TcpSockets> {
    let v4 = proc_file::text("/proc/net/sockstat")?;
    // Not there where IPv6 isn't.
    let v6 = proc_file::text("/proc/net/sockstat6").unwrap_or_default();
    tcp_sockets_in(&v4, &v6)
}

/// From `TCP: inuse 5 orphan 0 tw 3 alloc 6 mem 1`, where the waiting ones are those of
/// both versions, and `TCP6: inuse 2`. A server that listens on IPv6 has its IPv4
/// connections there.
fn tcp_sockets_in(v4: &str, v6: &str) -> Option<TcpSockets> {
    let after = |text: &str, table: &str, name: &str| -> Option<u64> {
        let line = text.lines().find_map(|line| line.strip_prefix(table))?;
        let mut words = line.split_ascii_whitespace();
        words.find(|word| *word == name)?;
        words.next()?.parse().ok()
    };
    let v6_open = after(v6, "TCP6:", "inuse").unwrap_or(0);
    let open = after(v4, "TCP:", "inuse")? + v6_open;
    Some(TcpSockets { open, time_wait: after(v4, "TCP:", "tw")? })
}

/// Where the frequency of some processors can be read.
#[derive(Debug)]
pub(super) enum Frequency {
    /// The kernel controls it: a file a processor, in kHz.
    Controlled(Vec<PathBuf>),
    /// `/proc/cpuinfo` has what these processors measured.
    Measured(Vec<usize>),
    /// Nowhere. To a virtual machine the host shows a figure that never changes.
    Unknown,
}

impl Frequency {
    pub fn of(cpus: &[usize]) -> Frequency {
        let cpus = &cpus[..cpus.len().min(FREQUENCIES_MAX)];
        let file =
            |cpu| format!("/sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_cur_freq").into();
        let files: Vec<PathBuf> =
            cpus.iter().map(file).filter(|it: &PathBuf| it.exists()).collect();
        if !files.is_empty() {
            return Frequency::Controlled(files);
        }
        match fs::read_to_string("/proc/cpuinfo") {
            Ok(text) if measured_mhz(&text, cpus).iter().any(Option::is_some) => {
                Frequency::Measured(cpus.to_vec())
            }
            _ => Frequency::Unknown,
        }
    }

    /// Each one's, in MHz.
    fn read(&self) -> Vec<Option<f64>> {
        let controlled = |file: &PathBuf| {
            Some(fs::read_to_string(file).ok()?.trim().parse::<f64>().ok()? / 1000.0)
        };
        match self {
            Frequency::Controlled(files) => files.iter().map(controlled).collect(),
            Frequency::Measured(cpus) => fs::read_to_string("/proc/cpuinfo")
                .map_or_else(|_| Vec::new(), |text| measured_mhz(&text, cpus)),
            Frequency::Unknown => Vec::new(),
        }
    }
}

/// Of each of these processors from `/proc/cpuinfo`, unless it is a virtual machine's.
fn measured_mhz(text: &str, cpus: &[usize]) -> Vec<Option<f64>> {
    let mut known = vec![None; cpus.len()];
    let mut asked = None;
    for (name, value) in text.lines().filter_map(|line| line.split_once(':')) {
        match name.trim() {
            "processor" => {
                let number = value.trim().parse().ok();
                asked = cpus.iter().position(|&cpu| number == Some(cpu));
            }
            "cpu MHz" => {
                if let Some(place) = asked {
                    known[place] = value.trim().parse().ok();
                }
            }
            "flags" if value.split(' ').any(|flag| flag == "hypervisor") => return Vec::new(),
            _ => {}
        }
    }
    known
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn counters_are_found_by_name_whatever_their_order() {
        let text = "TcpExt: A ListenOverflows B\nTcpExt: 1 23 4\nIpExt: A\nIpExt: 9\n";
        assert_eq!(counter_in(text, "TcpExt:", "ListenOverflows"), Some(23));
        assert_eq!(counter_in(text, "TcpExt:", "NoSuch"), None);
        assert_eq!(counter_in(text, "IpExt:", "A"), Some(9));
    }

    #[test]
    fn swap_and_faults_are_read_by_their_whole_names() {
        let text = "pgfault 7\npswpin 3\npswpout 4\npgmajfault 5\noom_kill 1\n";
        let first = |name| numbers_after(text, name)?.next();
        assert_eq!(first("pswpin"), Some(3));
        assert_eq!(first("pgmajfault"), Some(5));
        assert_eq!(first("oom"), None, "a part of a name is no name");
    }

    #[test]
    fn what_the_host_took_is_of_the_processors_that_are_measured() {
        let text = "cpu  40 0 0 4000 0 0 0 60 0 0\ncpu0 10 1 2 30 4 5 6 20 9 1\n\
                    cpu1 10 0 0 50 0 0 0 40 0 0\ncpu10 20 0 0 3920 0 0 0 0 0 0\nintr 7 0\n";
        let of = |cpus: &[usize]| ticks_in(text, &cpus.iter().copied().collect());
        assert_eq!(
            of(&[0]),
            Some(Ticks { passed: 78, stolen: 20, idle: 34, interrupts: 11 }),
            "guests counted twice"
        );
        assert_eq!(of(&[0, 1]), Some(Ticks { passed: 178, stolen: 60, idle: 84, interrupts: 11 }));
        assert_eq!(of(&[10]), Some(Ticks { passed: 3940, stolen: 0, idle: 3920, interrupts: 0 }));
        assert_eq!(of(&[0, 2]), None, "one is offline");
        assert_eq!(processors_in(text), 3);
    }

    #[test]
    fn the_loopbacks_bytes_are_those_received() {
        let text = "Inter-|   Receive\n face |bytes    packets\n  eth0: 9 1\n    lo: 123456 78 0\n";
        assert_eq!(numbers_after(text, "lo:").unwrap().next(), Some(123_456));
        assert!(numbers_after("no such interface", "lo:").is_none());
    }

    #[test]
    fn sockets_in_use_and_waiting_ones_are_told_apart() {
        let text = "sockets: used 45\nTCP: inuse 12 orphan 0 tw 5003 alloc 12 mem 76\n";
        assert_eq!(tcp_sockets_in(text, ""), Some(TcpSockets { open: 12, time_wait: 5003 }));
        let v6 = "TCP6: inuse 30\nUDP6: inuse 1\n";
        assert_eq!(tcp_sockets_in(text, v6), Some(TcpSockets { open: 42, time_wait: 5003 }));
        assert_eq!(tcp_sockets_in("TCP: inuse 12\n", v6), None);
    }

    #[test]
    fn both_ends_count_of_connections_to_a_server_that_listens_on_ipv6() {
        const CONNECTIONS: u64 = 200;
        let Ok(listener) = TcpListener::bind("[::]:0") else {
            return crate::skipped::skipped("there is no IPv6 here");
        };
        let to = ("127.0.0.1", listener.local_addr().unwrap().port());
        let mut seen = Vec::new();
        // Other tests open and close some meanwhile, but not each time.
        for _ in 0..50 {
            let before = tcp_sockets().unwrap().open;
            let ends: Vec<_> = (0..CONNECTIONS)
                .map(|_| (TcpStream::connect(to).unwrap(), listener.accept().unwrap()))
                .collect();
            let grown = tcp_sockets().unwrap().open.saturating_sub(before);
            drop(ends);
            if grown.abs_diff(2 * CONNECTIONS) < CONNECTIONS / 10 {
                return;
            }
            seen.push(grown);
        }
        panic!("{CONNECTIONS} connections were {seen:?} sockets");
    }

    #[test]
    fn a_frequency_that_a_host_made_up_is_none() {
        let cpu =
            |number, mhz| format!("processor\t: {number}\ncpu MHz\t\t: {mhz}\nflags\t\t: fpu");
        let text = [cpu(0, 3000.0), cpu(1, 1500.5), cpu(2, 800.0)].join("\n\n");
        assert_eq!(measured_mhz(&text, &[1, 0]), [Some(1500.5), Some(3000.0)]);
        assert_eq!(measured_mhz(&text, &[7, 2]), [None, Some(800.0)]);
        assert_eq!(measured_mhz(&format!("{text} hypervisor"), &[0, 1]), []);
    }

    #[test]
    fn this_machine_tells_what_every_kernel_tells() {
        let place = Place { server_cpus: vec![0], ..Place::default() };
        let machine = read(&Looked::at(&place, true), &Frequency::of(&[0]));
        assert!(machine.passed_s > Some(0.0) && machine.load_average.is_some(), "{machine:?}");
        assert!(machine.memory_available_bytes > Some(0), "{machine:?}");
        assert!(machine.shared_bytes.is_some(), "{machine:?}");
        assert!(machine.swap_in_bytes.is_some() && machine.major_faults.is_some(), "{machine:?}");
    }

    #[test]
    fn whatever_runs_on_a_processor_counts_as_what_ran_there() {
        let cpu = load::allowed_cpus().unwrap()[0];
        let place = Place { server_cpus: vec![cpu], ..Place::default() };
        let looked = Looked::at(&place, true);
        let ran = || read(&looked, &Frequency::Unknown).near_ran_s;
        let Some(before) = ran() else {
            return crate::skipped::skipped("the machine has no processor but one core's");
        };
        let used = std::thread::spawn(move || {
            keeper::affinity::pin(&[cpu]).unwrap();
            while super::super::own_cpu_s() < 0.1 {}
            super::super::own_cpu_s()
        });
        let used = used.join().unwrap();
        let grown = ran().unwrap() - before;
        // The kernel tells of both times to a hundredth of a second.
        assert!(grown >= used - 0.02 * looked.near.len() as f64, "{grown} s of {used} s");
    }
}
