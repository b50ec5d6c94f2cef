//! From readings to evidence: what happened within the measured window, and in
//! each of its seconds.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use keeper::cgroup::{Counted, Group};
use keeper::process_tree::Member;
use result::evidence::{
    Cgroup, ClientUse, Collects, Compiles, CpuSource, Evidence, MachineUse, ProcessUse, Runtime,
    ServerUse, ThreadGroup, ThreadUse,
};

use super::seconds::Seconds;
use super::series::{
    Counter, GAP_MAX, Growth, KeyedSeries, NEAR, Series, Write, counters, growth, growth_of_all,
    growths, is_seen, largest_growth, rounded, series, servers, table,
};
use super::threads::{Thread, is_erlang, is_hotspot, is_hotspot_compiler, kind};
use super::{Most, Reading, Sampled};

/// Processes, threads and groups that are told of; the rest is a number.
const BUSIEST: usize = 8;

/// Counters that each reading has, and where their growth within the window belongs.
const OF_EACH: [Counter<Reading, Evidence>; 3] = [
    (|it| it.server_cpu_s, |to, by| to.server_cpu_s = Some(by.amount)),
    (|it| it.client_cpu_s, |to, by| to.client.iter_mut().for_each(|it| it.cpu_s = by.exact())),
    (|it| it.others_cpu_s, |to, by| to.others_cpu_s = Some(by.amount)),
];

/// The same of those that are read about once a second. Of two for one figure the later is
/// told, if it is known.
const OF_MOST: [Counter<Most, Evidence>; 21] = [
    (|it| Some(it.used?.disk_bytes?.1 as f64), |to, by| to.server_disk_write_bytes = by.count()),
    (|it| it.machine.interrupt_s, |to, by| to.server_interrupt_s = Some(by.amount)),
    (|it| it.machine.near_ran_s, |to, by| to.near_cpu_s = by.exact()),
    (|it| Some(it.listeners?.dropped.into()), |to, by| to.listen_drops = by.count()),
    (|it| Some(it.used?.system_cpu_s), |to, by| to.server.system_cpu_s = by.exact()),
    (|it| it.group.as_ref()?.system_cpu_s, |to, by| to.server.system_cpu_s = by.exact()),
    (|it| Some(it.used?.major_faults as f64), |to, by| to.server.major_faults = by.count()),
    (|it| Some(it.used?.disk_bytes?.0 as f64), |to, by| to.server.disk_read_bytes = by.count()),
    (|it| Some(it.code_bytes? as f64), |to, by| to.server.code_grown_bytes = by.count()),
    (
        |it| Some(it.client_disk_bytes?.0 as f64),
        |to, by| to.client.iter_mut().for_each(|it| it.disk_read_bytes = by.count()),
    ),
    (
        |it| Some(it.client_disk_bytes?.1 as f64),
        |to, by| to.client.iter_mut().for_each(|it| it.disk_write_bytes = by.count()),
    ),
    (
        |it| Some(it.throttled?.periods as f64),
        // A part of one, by the readings around the window, is one that may be in it.
        |to, by| to.limits.throttled_periods = Some((by.amount - 1e-6).ceil() as u64),
    ),
    (|it| Some(it.throttled?.seconds), |to, by| to.limits.throttled_s = by.exact()),
    (|it| Some(it.machine.swap_in_bytes? as f64), |to, by| to.machine.swap_in_bytes = by.count()),
    (|it| Some(it.machine.swap_out_bytes? as f64), |to, by| to.machine.swap_out_bytes = by.count()),
    (|it| Some(it.machine.major_faults? as f64), |to, by| to.machine.major_faults = by.count()),
    (|it| it.machine.pressure.cpu_s, |to, by| to.machine.cpu_pressure_share = by.share()),
    (|it| it.machine.pressure.memory_s, |to, by| to.machine.memory_pressure_share = by.share()),
    (|it| it.machine.pressure.io_s, |to, by| to.machine.io_pressure_share = by.share()),
    (|it| Some(it.machine.loopback_bytes? as f64), |to, by| to.machine.loopback_bytes = by.count()),
    (
        |it| Some(it.machine.listen_overflows? as f64),
        |to, by| to.machine.listen_overflows_of_all = by.count(),
    ),
];

/// The same of a control group.
const OF_GROUP: [Counter<Counted, Cgroup>; 5] = [
    (|it| Some(it.io_bytes?.0 as f64), |to, by| to.io_read_bytes = Some(by.amount as u64)),
    (|it| Some(it.io_bytes?.1 as f64), |to, by| to.io_write_bytes = Some(by.amount as u64)),
    (|it| it.pressure.cpu_s, |to, by| to.cpu_pressure_share = by.share()),
    (|it| it.pressure.memory_s, |to, by| to.memory_pressure_share = by.share()),
    (|it| it.pressure.io_s, |to, by| to.io_pressure_share = by.share()),
];

/// Writes all of it, or nothing where a part of the window wasn't seen.
pub(super) fn write(sampled: &Sampled, began: Instant, length: Duration, evidence: &mut Evidence) {
    let window = Window::new(sampled, began, length);
    evidence.sampling = sampled.sampling.clone();
    // Where there was one, whatever is known of it.
    evidence.client = sampled.client_group.as_ref().map(|_| ClientUse::default());
    if window.has_gap() {
        return;
    }
    let seconds = Seconds::of(window.readings);
    evidence.samples = window.seconds().map(|second| seconds.sample(began, second)).collect();
    evidence.steal_share = seconds.steal(window.began, window.ended);
    let rss = |most: &Most| most.members.iter().map(|member| member.rss_bytes).sum::<u64>();
    let living = || window.mosts().filter(|most| !most.members.is_empty());
    evidence.server_rss_max_bytes = living().map(rss).max();
    evidence.server_memory_max_bytes =
        living().filter_map(|most| Some(rss(most) + unmapped(most)?)).max();
    evidence.listen_backlog = window.mosts().rev().find_map(|most| most.listeners?.backlog);
    evidence.tcp_retransmits = window.since_start(|most| most.machine.tcp_retransmits);
    let cgroup =
        |group: &Group, of| (!group.is_nowhere()).then(|| window.cgroup(group.trees(), of));
    evidence.server = ServerUse {
        cpu_source: cpu_source(&sampled.group),
        cgroup: cgroup(&sampled.group, |most| most.group.as_ref()),
        uses_io_uring: sampled.uses_io_uring,
        ..window.server()
    };
    evidence.client = sampled.client_group.as_ref().map(|group| ClientUse {
        cpu_source: cpu_source(group),
        cgroup: cgroup(group, |most| most.client_group.as_ref()),
        rss_max_bytes: window.mosts().filter_map(|most| most.client_rss_bytes).max(),
        ..ClientUse::default()
    });
    evidence.machine = window.machine();
    window.write_growths(&counters(window.readings, &OF_EACH, &OF_MOST), evidence);
}

/// What a contender has in files in memory that none of its processes maps. `None` where no
/// control group counts such files.
fn unmapped(most: &Most) -> Option<u64> {
    let all = most.group.as_ref()?.shared_bytes?;
    Some(all.saturating_sub(mapped(most)?))
}

/// What of its processes' resident memory lies in files in memory.
fn mapped(most: &Most) -> Option<u64> {
    most.members.iter().map(|member| member.shared_bytes).sum()
}

fn cpu_source(group: &Group) -> CpuSource {
    match group.cpu_s() {
        Some(_) => CpuSource::Cgroup,
        None => CpuSource::ProcessTree,
    }
}

/// The readings, and the window within them.
struct Window<'a> {
    readings: &'a [Reading],
    /// The processors that each of the contender's threads may run on.
    allowed: &'a BTreeMap<i32, Vec<usize>>,
    began: Instant,
    ended: Instant,
    /// CPU time of each of the contender's threads.
    threads: KeyedSeries<i32>,
    /// The process and the last name of each of them.
    names: BTreeMap<i32, (i32, &'a str)>,
}

impl<'a> Window<'a> {
    fn new(sampled: &'a Sampled, began: Instant, length: Duration) -> Window<'a> {
        let readings = &sampled.readings;
        let read = readings.iter().filter_map(|it| it.threads.as_ref()?.servers.as_ref());
        let names = read.flatten().map(|thread| (thread.tid, (thread.pid, &*thread.name)));
        Window {
            readings,
            allowed: &sampled.allowed,
            began,
            ended: began + length,
            threads: table(readings, |it| servers(it, |thread| Some(thread.cpu_s))),
            names: names.collect(),
        }
    }

    /// Its whole seconds: as many as it is nearest to, so that the last may be shorter.
    fn seconds(&self) -> impl Iterator<Item = (Instant, Instant)> {
        let whole = (self.ended - self.began).as_secs_f64().round() as u32;
        (0..whole).map(|second| {
            let from = self.began + Duration::from_secs(second.into());
            (from, (from + Duration::from_secs(1)).min(self.ended))
        })
    }

    fn has_gap(&self) -> bool {
        let touches = |from: Instant, to: Instant| from < self.ended && to > self.began;
        let mut pairs = self.readings.iter().zip(self.readings.iter().skip(1));
        pairs.any(|(a, b)| b.at - a.at > GAP_MAX && touches(a.at, b.at))
    }

    /// Writes how much each of these counters grew within the window.
    fn write_growths<To>(&self, counters: &[(Series, Write<To>)], to: &mut To) {
        let seconds = (self.ended - self.began).as_secs_f64();
        for (series, write) in counters {
            if let Some(amount) = growth(series, self.began, self.ended) {
                write(to, Growth { amount, seconds });
            }
        }
    }

    /// How much it grew from the first reading, before the first connection, on.
    fn since_start(&self, of: impl Fn(&Most) -> Option<u64>) -> Option<u64> {
        let series = series(self.readings, |it| Some(of(it.most.as_ref()?)? as f64));
        let (first, last) = (series.first()?.1, series.last()?.1);
        (series.len() > 1).then(|| (last - first).max(0.0) as u64)
    }

    /// What isn't read each time, from the first reading to the last.
    fn mosts(&self) -> impl DoubleEndedIterator<Item = &Most> {
        self.readings.iter().filter_map(|reading| reading.most.as_ref())
    }

    /// The same, within the window and just around it.
    fn mosts_in_window(&self) -> impl Iterator<Item = &Most> {
        let in_window =
            |reading: &&Reading| reading.at + NEAR >= self.began && reading.at <= self.ended + NEAR;
        self.readings.iter().filter(in_window).filter_map(|reading| reading.most.as_ref())
    }

    fn server(&self) -> ServerUse {
        let swap = |most: &Most| -> Option<u64> {
            let known = most.members.iter().map(|member| member.swap_bytes);
            known.reduce(|sum, more| Some(sum? + more?)).flatten()
        };
        let run_delay = table(self.readings, |it| servers(it, |thread| Some(thread.run_delay_s)));
        let (processes, processes_more) = self.processes();
        let (threads, threads_more) = self.busiest_threads();
        let (thread_groups, thread_groups_more) = self.thread_groups();
        ServerUse {
            processes,
            processes_more,
            threads,
            threads_more,
            thread_groups,
            thread_groups_more,
            run_delay_s: growth_of_all(&run_delay, self.began, self.ended).map(rounded),
            shared_mapped_max_bytes: self.mosts().filter_map(mapped).max(),
            swap_max_bytes: self.mosts_in_window().filter_map(swap).max(),
            code_bytes: self.mosts_in_window().filter_map(|most| most.code_bytes).max(),
            runtime: self.runtime(),
            ..ServerUse::default()
        }
    }

    fn processes(&self) -> (Vec<ProcessUse>, u32) {
        let all = |members: &[Member]| members.iter().map(|it| (it.pid, it.cpu_s)).collect();
        let table = table(self.readings, |reading| {
            Some(all(&reading.most.as_ref()?.members))
                .filter(|all: &BTreeMap<_, _>| !all.is_empty())
        });
        let mut known: BTreeMap<i32, ProcessUse> = BTreeMap::new();
        for member in self.mosts_in_window().flat_map(|most| &most.members) {
            let entry = known.entry(member.pid).or_default();
            entry.pid = member.pid;
            entry.name.clone_from(&member.name);
            entry.rss_max_bytes = entry.rss_max_bytes.max(member.rss_bytes);
        }
        for (pid, grown) in growths(&table, self.began, self.ended) {
            if let Some(entry) = known.get_mut(&pid) {
                entry.cpu_s = rounded(grown);
            }
        }
        let (mut told, more) = busiest(known.into_values(), |process| process.cpu_s);
        let by_second = self.by_second(&table);
        told.iter_mut().for_each(|it| it.cpu_s_per_second = of_one(&by_second, it.pid));
        (told, more)
    }

    fn busiest_threads(&self) -> (Vec<ThreadUse>, u32) {
        let uses =
            growths(&self.threads, self.began, self.ended).into_iter().map(|(tid, grown)| {
                let (pid, name) = self.names.get(&tid).copied().unwrap_or_default();
                ThreadUse {
                    pid,
                    tid,
                    name: name.into(),
                    cpu_s: rounded(grown),
                    cpu_s_per_second: Vec::new(),
                    cpus: self.allowed.get(&tid).cloned().unwrap_or_default(),
                }
            });
        let (mut told, more) = busiest(uses, |thread| thread.cpu_s);
        let by_second = self.by_second(&self.threads);
        told.iter_mut().for_each(|it| it.cpu_s_per_second = of_one(&by_second, it.tid));
        (told, more)
    }

    fn thread_groups(&self) -> (Vec<ThreadGroup>, u32) {
        let mut groups: BTreeMap<String, ThreadGroup> = BTreeMap::new();
        for (tid, grown) in growths(&self.threads, self.began, self.ended) {
            let name = kind(self.names.get(&tid).map_or("", |(_, name)| name));
            let group = groups.entry(name.clone()).or_default();
            group.name = name;
            group.threads += 1;
            group.cpu_s += grown;
        }
        let rounded = groups.into_values().map(|it| ThreadGroup { cpu_s: rounded(it.cpu_s), ..it });
        busiest(rounded, |group| group.cpu_s)
    }

    /// The growths second by second; none at all where not all seconds were seen.
    fn by_second(&self, table: &KeyedSeries<i32>) -> Vec<BTreeMap<i32, f64>> {
        if is_seen(table, self.began, self.ended, GAP_MAX) {
            self.seconds().map(|(from, to)| growths(table, from, to)).collect()
        } else {
            Vec::new()
        }
    }

    fn runtime(&self) -> Option<Runtime> {
        let has = |is: fn(&str) -> bool| self.names.values().any(|(_, name)| is(name));
        if has(is_hotspot) {
            let jit = |it: &Thread| is_hotspot_compiler(&it.name).then_some(it.cpu_s);
            let jit = table(self.readings, |it| servers(it, jit));
            let has_jit = jit.iter().any(|(_, threads)| !threads.is_empty());
            let pauses = table(self.readings, |it| it.most.as_ref()?.gc_pauses_s.clone());
            let jit_cpu_s = growth_of_all(&jit, self.began, self.ended).filter(|_| has_jit);
            // It counts how often code runs, and compiles what is worth it; all its
            // collectors stop the application, if only for moments ("HotSpot Virtual
            // Machine Garbage Collection Tuning Guide").
            return Some(Runtime {
                name: "HotSpot".into(),
                compiles: Some(Compiles::WhileRunning),
                collects: Some(Collects::StoppingAll),
                gc_pause_s: largest_growth(&pauses, self.began, self.ended).map(rounded),
                jit_cpu_s: jit_cpu_s.map(rounded),
            });
        }
        // BeamAsm turns a module into machine code when it is loaded, and never
        // again (erlang.org/doc/apps/erts/beamasm; before OTP 24, and where it is
        // left out, code is interpreted). A process's heap is its own, and is
        // collected by the scheduler that runs the process, while the others go on
        // (erlang.org/doc/apps/erts/garbagecollection).
        has(is_erlang).then(|| Runtime {
            name: "Erlang VM".into(),
            compiles: Some(Compiles::AtLoad),
            collects: Some(Collects::OneProcess),
            ..Runtime::default()
        })
    }

    /// What one of the groups counted.
    fn cgroup(&self, hierarchies: Vec<String>, group: fn(&Most) -> Option<&Counted>) -> Cgroup {
        let last = self.mosts().rev().find_map(group);
        let mut cgroup = Cgroup {
            hierarchies,
            memory_peak_bytes: last.and_then(|it| it.memory_peak_bytes),
            oom_kills: last.and_then(|it| it.oom_kills),
            ..Cgroup::default()
        };
        let counters = OF_GROUP.map(|(of, write)| {
            (series(self.readings, |reading| of(group(reading.most.as_ref()?)?)), write)
        });
        self.write_growths(&counters, &mut cgroup);
        cgroup
    }

    fn machine(&self) -> MachineUse {
        let machines = || self.mosts_in_window().map(|most| &most.machine);
        let averages = machines().filter_map(|it| it.load_average);
        // Just around it the processors have nothing to do, and may rest.
        let within = |it: &&Reading| it.at >= self.began && it.at <= self.ended;
        let readings = || self.readings.iter().filter(within);
        let frequencies = readings().filter_map(|it| Some(&it.most.as_ref()?.machine.frequencies));
        let of_most_changed = bounds_of_most_changed(frequencies);
        MachineUse {
            load_average_max: averages.reduce(f64::max).map(rounded),
            oom_kills: self.since_start(|most| most.machine.oom_kills),
            shared_max_bytes: self.mosts().filter_map(|most| most.machine.shared_bytes).max(),
            memory_available_min_bytes: machines().filter_map(|it| it.memory_available_bytes).min(),
            server_cpu_mhz_min: of_most_changed.map(|it| it.0),
            server_cpu_mhz_max: of_most_changed.map(|it| it.1),
            time_wait_max: machines().filter_map(|it| Some(it.tcp_sockets?.time_wait)).max(),
            ..MachineUse::default()
        }
    }
}

/// The lowest and the highest frequency of that processor, of many that may be of different
/// kinds, for which these are the farthest apart.
fn bounds_of_most_changed<'a>(
    readings: impl Iterator<Item = &'a Vec<Option<f64>>>,
) -> Option<(f64, f64)> {
    let mut bounds: BTreeMap<usize, (f64, f64)> = BTreeMap::new();
    for reading in readings {
        for (processor, mhz) in reading.iter().enumerate() {
            let Some(mhz) = *mhz else { continue };
            let (lowest, highest) = bounds.entry(processor).or_insert((mhz, mhz));
            (*lowest, *highest) = (lowest.min(mhz), highest.max(mhz));
        }
    }
    bounds.into_values().min_by(|a, b| (a.0 / a.1).total_cmp(&(b.0 / b.1)))
}

/// The growths second by second of one of them.
fn of_one(by_second: &[BTreeMap<i32, f64>], key: i32) -> Vec<f64> {
    by_second.iter().map(|it| rounded(*it.get(&key).unwrap_or(&0.0))).collect()
}

/// The busiest few, and how many more there are.
fn busiest<T>(all: impl Iterator<Item = T>, cpu_s: impl Fn(&T) -> f64) -> (Vec<T>, u32) {
    let mut all: Vec<T> = all.collect();
    all.sort_by_key(|it| Reverse((cpu_s(it) * 1e4) as u64));
    let more = all.len().saturating_sub(BUSIEST) as u32;
    all.truncate(BUSIEST);
    (all, more)
}

#[cfg(test)]
mod tests {
    use keeper::cgroup::{Pressure, Throttled};
    use keeper::process_tree::Used;
    use result::evidence::{Limits, Sample, Sampling};

    use super::super::machine::{Machine, TcpSockets};
    use super::super::{AllThreads, own_cpu_s};
    use super::*;
    use crate::sample::connections::Listeners;

    fn member(cpu_s: f64) -> Member {
        Member {
            pid: 7,
            name: "server".into(),
            cpu_s,
            used: used(cpu_s),
            rss_bytes: 1000,
            shared_bytes: Some(100),
            swap_bytes: Some(0),
            threads: 2,
            open_files: Some(9),
        }
    }

    fn used(cpu_s: f64) -> Used {
        Used {
            system_cpu_s: cpu_s / 4.0,
            major_faults: (cpu_s * 4.0) as u64,
            disk_bytes: Some(((cpu_s * 4096.0) as u64, (cpu_s * 8.0) as u64)),
        }
    }

    fn thread(tid: i32, name: &str, cpu_s: f64) -> Thread {
        Thread {
            pid: 7,
            tid,
            name: name.into(),
            cpu_s,
            run_delay_s: cpu_s / 10.0,
            switches: (cpu_s * 100.0) as u64,
        }
    }

    /// A reading at so many seconds, by when so many CPU seconds were used.
    fn reading(start: Instant, at_s: f64, cpu_s: f64) -> Reading {
        Reading {
            at: start + Duration::from_secs_f64(at_s),
            server_cpu_s: Some(cpu_s),
            client_cpu_s: Some(cpu_s / 2.0),
            most: Some(Most {
                members: vec![member(cpu_s)],
                used: Some(used(cpu_s)),
                group: None,
                throttled: Some(Throttled { periods: (at_s * 4.0) as u64, seconds: at_s / 2.0 }),
                machine: Machine {
                    swap_in_bytes: Some((at_s * 4096.0) as u64),
                    interrupt_s: Some(at_s / 16.0),
                    near_ran_s: Some(7.0 + at_s * 1.5),
                    pressure: Pressure { cpu_s: Some(at_s / 4.0), ..Pressure::default() },
                    frequencies: vec![Some(2000.0 - at_s), None, Some(3000.0)],
                    load_average: Some(0.5),
                    tcp_sockets: Some(TcpSockets { open: 61, time_wait: 3 }),
                    ..Machine::default()
                },
                gc_pauses_s: Some(BTreeMap::from([(6, at_s / 8.0), (7, at_s / 16.0)])),
                code_bytes: Some(4096 * (100 + at_s as u64)),
                client_group: None,
                client_rss_bytes: Some(5),
                client_disk_bytes: Some(((at_s * 8.0) as u64, (at_s * 16.0) as u64)),
                listeners: Some(Listeners {
                    accept_queue: 2,
                    dropped: (at_s * 2.0) as u32,
                    backlog: Some(511),
                }),
            }),
            threads: Some(AllThreads {
                servers: Some(vec![
                    thread(8, "C2 CompilerThre", cpu_s / 4.0),
                    thread(9, "worker-1", cpu_s / 2.0),
                    thread(10, "worker-2", cpu_s / 4.0),
                ]),
                client: None,
            }),
            established: Some(30),
            others_cpu_s: Some(cpu_s * 0.5),
        }
    }

    /// One of a contender with so many threads.
    fn reading_of_threads(start: Instant, at_s: f64, count: i32) -> Reading {
        with(start, at_s, |it| {
            let threads = (0..count).map(|tid| thread(tid, "worker", at_s)).collect();
            it.threads.as_mut().unwrap().servers = Some(threads);
        })
    }

    fn written(readings: Vec<Reading>, began: Instant, seconds: u64) -> Evidence {
        let group = Group::default();
        let sampled = Sampled {
            readings,
            group: group.clone(),
            client_group: Some(group),
            allowed: BTreeMap::from([(9, vec![0, 3]), (10, vec![0])]),
            uses_io_uring: Some(true),
            sampling: Sampling::default(),
        };
        let mut evidence = Evidence::default();
        write(&sampled, began, Duration::from_secs(seconds), &mut evidence);
        evidence
    }

    /// Two seconds from 1.1 s on, of a contender that uses one CPU second a second.
    fn steady() -> Evidence {
        let start = Instant::now();
        let readings = (0..=16).map(|n| f64::from(n) / 4.0).map(|at| reading(start, at, at));
        written(readings.collect(), start + Duration::from_millis(1_100), 2)
    }

    fn is(value: Option<f64>, expected: f64) -> bool {
        value.is_some_and(|value| (value - expected).abs() < 1e-3)
    }

    #[test]
    fn the_windows_edges_lie_between_readings() {
        let evidence = steady();
        assert!(is(evidence.server_cpu_s, 2.0), "{:?}", evidence.server_cpu_s);
        assert!(is(evidence.others_cpu_s, 1.0), "{:?}", evidence.others_cpu_s);
        assert_eq!(evidence.server_rss_max_bytes, Some(1000));
        assert!(is(evidence.server_interrupt_s, 0.125), "{:?}", evidence.server_interrupt_s);
        assert!(is(evidence.near_cpu_s, 3.0), "{:?}", evidence.near_cpu_s);
        assert_eq!(evidence.listen_drops, Some(4), "two a second");
        assert_eq!(evidence.listen_backlog, Some(511));
        assert!(is(evidence.limits.throttled_s, 1.0), "{:?}", evidence.limits);
        assert_eq!(evidence.limits.throttled_periods, Some(8));
        assert_eq!(evidence.machine.swap_in_bytes, Some(8192));
        assert!(is(evidence.machine.cpu_pressure_share, 0.25), "{:?}", evidence.machine);
        let frequencies =
            (evidence.machine.server_cpu_mhz_min, evidence.machine.server_cpu_mhz_max);
        assert_eq!(frequencies, (Some(1_997.0), Some(1_998.75)), "of the one that changed");
        assert_eq!(evidence.server.cpu_source, CpuSource::ProcessTree);
        assert_eq!(evidence.server.cgroup, None);
        assert!(is(evidence.server.system_cpu_s, 0.5), "{:?}", evidence.server);
        assert_eq!(evidence.server_disk_write_bytes, Some(16));
        assert_eq!(evidence.server.disk_read_bytes, Some(8192));
        let client = evidence.client.expect("it was sampled");
        assert!(is(client.cpu_s, 1.0), "{client:?}");
        assert_eq!(client.rss_max_bytes, Some(5));
        assert_eq!((client.disk_read_bytes, client.disk_write_bytes), (Some(16), Some(32)));
    }

    /// Else a contender that keeps its values there seems to need no memory.
    #[test]
    fn files_in_memory_that_nobody_maps_are_memory_too() {
        let start = Instant::now();
        let of = |shared_bytes: Option<u64>| {
            let at = |at_s: f64, more: u64| {
                with(start, at_s, |it| {
                    let most = it.most.as_mut().unwrap();
                    let shared_bytes = shared_bytes.map(|bytes| bytes + more);
                    most.group = Some(Counted { shared_bytes, ..Counted::default() });
                    most.machine.shared_bytes = Some(7_000 + more);
                })
            };
            let readings = vec![at(0.5, 0), at(1.5, 40), at(2.5, 0)];
            written(readings, start + Duration::from_secs(1), 1)
        };
        let seen = of(Some(5_000));
        assert_eq!(seen.server_memory_max_bytes, Some(1_000 + 5_040 - 100), "100 are mapped");
        assert_eq!(seen.server_rss_max_bytes, Some(1_000));
        assert_eq!(of(Some(30)).server_memory_max_bytes, Some(1_000), "two may map the same");
        let unseen = of(None);
        assert_eq!(unseen.server_memory_max_bytes, None);
        assert_eq!(unseen.server.shared_mapped_max_bytes, Some(100));
        assert_eq!(unseen.machine.shared_max_bytes, Some(7_040));
    }

    #[test]
    fn a_window_that_was_not_seen_as_a_whole_tells_nothing() {
        let start = Instant::now();
        // Stopped for three seconds, while the contender went on.
        let at = |at_s: f64| reading(start, at_s, at_s);
        let readings = || vec![at(0.0), at(0.25), at(3.5), at(3.75), at(4.0), at(4.25)];
        let unseen = written(readings(), start + Duration::from_millis(100), 4);
        assert_eq!(unseen.server_cpu_s, None);
        assert_eq!(unseen.samples.len(), 0);
        assert_eq!(unseen.client, Some(ClientUse::default()), "it was a process of its own");
        let seen = written(readings(), start + Duration::from_millis(3_500), 1);
        assert!(seen.server_cpu_s.is_some(), "the gap is before the window");
    }

    /// A reading as the whole has it, of what was read then.
    fn with(start: Instant, at_s: f64, change: impl Fn(&mut Reading)) -> Reading {
        let mut reading = reading(start, at_s, at_s);
        change(&mut reading);
        reading
    }

    #[test]
    fn processors_that_rest_before_and_after_the_window_are_not_slow_within_it() {
        let start = Instant::now();
        let at = |at_s: f64, mhz: f64| {
            with(start, at_s, |it| {
                it.most.as_mut().unwrap().machine.frequencies = vec![Some(mhz)];
            })
        };
        let readings = vec![at(0.5, 800.0), at(1.0, 3_500.0), at(2.5, 3_400.0), at(3.01, 800.0)];
        let evidence = written(readings, start + Duration::from_secs(1), 2);
        let machine = &evidence.machine;
        assert_eq!(machine.server_cpu_mhz_min, Some(3_400.0));
        assert_eq!(machine.server_cpu_mhz_max, Some(3_500.0));
        let of_seconds: Vec<_> = evidence.samples.iter().map(|it| it.server_cpu_mhz_min).collect();
        assert_eq!(of_seconds, [None, Some(3_400.0)]);
    }

    /// Else a worker's whole life would fall into the moment of its end.
    #[test]
    fn what_a_child_used_before_it_ended_is_not_its_parents_of_now() {
        let start = Instant::now();
        // The child, with four seconds of CPU time, ends after 1.5 s; the parent's sums have
        // it from then on.
        let at = |at_s: f64, ended: bool| {
            with(start, at_s, |it| {
                let most = it.most.as_mut().unwrap();
                let mut child = Member { pid: 8, ..member(4.0) };
                let mut parent = member(1.0);
                if ended {
                    parent.used = parent.used.and(child.used);
                } else {
                    child.cpu_s += at_s / 8.0;
                    most.members.push(child);
                }
                most.members[0] = parent;
                let all = most.members.iter().map(|it| it.used);
                most.used = all.reduce(Used::and);
            })
        };
        let readings = vec![at(0.0, false), at(1.0, false), at(2.0, true), at(3.0, true)];
        let server = written(readings, start, 3).server;
        assert_eq!((server.major_faults, server.disk_read_bytes), (Some(0), Some(0)));
        assert!(is(server.system_cpu_s, 0.0), "{:?}", server.system_cpu_s);
        let known: Vec<_> = server.processes.iter().map(|it| (it.pid, it.cpu_s)).collect();
        assert_eq!(known, [(8, 0.125), (7, 0.0)]);
    }

    #[test]
    fn a_period_that_a_quota_used_up_in_part_within_the_window_counts() {
        let start = Instant::now();
        let at = |at_s: f64, periods: u64| {
            with(start, at_s, |it| {
                let seconds = periods as f64 / 20.0;
                it.most.as_mut().unwrap().throttled = Some(Throttled { periods, seconds });
            })
        };
        let readings = vec![at(0.0, 0), at(1.2, 1), at(2.0, 1), at(3.0, 1)];
        let limits = written(readings, start + Duration::from_secs(1), 2).limits;
        assert_eq!(limits.throttled_periods, Some(1));
        assert!(limits.throttled_s > Some(0.0), "{limits:?}");
    }

    #[test]
    fn each_second_has_a_sample() {
        let evidence = steady();
        assert_eq!(evidence.samples.len(), 2);
        let second = &evidence.samples[1];
        assert!(is(second.server_cpu_s, 1.0), "{second:?}");
        assert!(is(second.server_gc_pause_s, 0.125), "{second:?}");
        assert!(is(second.server_jit_cpu_s, 0.25), "{second:?}");
        assert!(is(second.server_run_delay_s, 0.1), "{second:?}");
        assert_eq!(second.server_context_switches, Some(100));
        assert_eq!(second.server_major_faults, Some(4));
        assert_eq!(second.server_disk_write_bytes, Some(8));
        assert_eq!((second.server_threads, second.server_open_files), (Some(2), Some(9)));
        assert_eq!((second.connections_established, second.accept_queue), (Some(30), Some(2)));
        assert_eq!((second.tcp_sockets, evidence.machine.time_wait_max), (Some(61), Some(3)));
        assert_eq!(second.client_context_switches, None, "its threads weren't read");
    }

    #[test]
    fn connections_that_are_closed_after_the_window_count_as_open_in_its_last_second() {
        let start = Instant::now();
        let open = |at_s, open| {
            let mut reading = reading(start, at_s, at_s);
            let most = reading.most.as_mut().unwrap();
            most.members[0].open_files = Some(open);
            most.machine.tcp_sockets = Some(TcpSockets { open: 2 * open, time_wait: 0 });
            reading
        };
        let readings = vec![open(0.5, 34), open(1.5, 34), open(2.25, 34), open(3.15, 4)];
        let evidence = written(readings, start + Duration::from_millis(1_100), 2);
        for sample in evidence.samples {
            let counted = (sample.server_open_files, sample.tcp_sockets);
            assert_eq!(counted, (Some(34), Some(68)), "at {} s", sample.at_s);
        }
    }

    #[test]
    fn seconds_of_what_was_seldom_read_are_not_made_up() {
        let start = Instant::now();
        let readings = (0..=16).map(|number| {
            let at_s = f64::from(number) / 4.0;
            let mut reading = reading(start, at_s, at_s);
            if number > 0 && number < 16 {
                // It would have cost too much.
                reading.threads = None;
            }
            reading
        });
        let evidence = written(readings.collect(), start + Duration::from_millis(500), 3);
        let second = &evidence.samples[1];
        assert!(is(second.server_cpu_s, 1.0), "what was read is told: {second:?}");
        assert_eq!((second.server_context_switches, second.server_jit_cpu_s), (None, None));
        let server = evidence.server;
        assert!(is(server.run_delay_s, 0.3), "the whole is known: {server:?}");
        assert_eq!(server.threads.len(), 3);
        assert!(server.threads.iter().all(|it| it.cpu_s_per_second.is_empty()), "{server:?}");
        assert_eq!(server.processes[0].cpu_s_per_second, [1.0; 3]);
    }

    #[test]
    fn seconds_without_a_reading_near_them_have_only_their_cpu_time() {
        let start = Instant::now();
        let readings = (0..=24).map(|number| {
            let at_s = f64::from(number) / 4.0;
            let mut reading = reading(start, at_s, at_s);
            let machine = &mut reading.most.as_mut().unwrap().machine;
            (machine.steal_s, machine.passed_s) = (Some(at_s / 4.0), Some(2.0 * at_s));
            // All but the first and the last two would have cost too much.
            if number > 0 && number < 20 {
                reading.most = None;
            }
            reading
        });
        let evidence = written(readings.collect(), start + Duration::from_millis(500), 5);
        let [.., second, _, last] = &evidence.samples[..] else { panic!("five seconds") };
        assert!(is(second.server_cpu_s, 1.0), "what was read is told: {second:?}");
        assert_eq!((second.server_rss_bytes, second.load_average), (None, None));
        assert_eq!((second.steal_share, second.cpu_pressure_share), (None, None));
        assert_eq!((second.swap_in_bytes, second.server_major_faults), (None, None));
        assert_eq!((last.server_rss_bytes, last.load_average), (Some(1000), Some(0.5)));
        assert!(is(evidence.steal_share, 0.125), "the whole is known: {:?}", evidence.steal_share);
        assert!(is(evidence.machine.cpu_pressure_share, 0.25), "{:?}", evidence.machine);
    }

    /// CPU seconds to tell of a window of so many seconds, read once in each.
    fn told_in(seconds: u64) -> f64 {
        let start = Instant::now();
        let readings = (0..=seconds + 1).map(|at| reading_of_threads(start, at as f64, 50));
        let readings = readings.collect();
        let before = own_cpu_s();
        let evidence = written(readings, start + Duration::from_millis(500), seconds);
        let took = own_cpu_s() - before;
        assert_eq!(evidence.samples.len() as u64, seconds);
        assert!(evidence.samples.iter().all(|it| it.server_context_switches.is_some()));
        took
    }

    #[test]
    fn an_hour_costs_ten_times_what_six_minutes_do() {
        let short = (0..3).map(|_| told_in(360)).fold(f64::MAX, f64::min);
        let long = told_in(3600);
        assert!(long < 40.0 * short, "{short} s, then {long} s: each second looks at all others");
    }

    #[test]
    fn threads_are_told_by_themselves_and_by_their_kind() {
        let server = steady().server;
        let busiest: Vec<_> = server.threads.iter().map(|it| (&*it.name, it.tid)).collect();
        assert_eq!(busiest[0], ("worker-1", 9), "{busiest:?}");
        assert_eq!((server.threads.len(), server.threads_more), (3, 0));
        assert_eq!(server.threads[0].cpu_s_per_second, [0.5, 0.5]);
        assert_eq!(server.threads[0].cpus, [0, 3]);
        let group = &server.thread_groups[0];
        assert_eq!((&*group.name, group.threads), ("worker-N", 2));
        assert!((group.cpu_s - 1.5).abs() < 1e-3, "{group:?}");
        assert_eq!(server.processes[0].cpu_s_per_second, [1.0, 1.0]);
        assert_eq!(server.uses_io_uring, Some(true));
        let runtime = server.runtime.expect("a thread compiles");
        assert_eq!(runtime.name, "HotSpot");
        // Of two JVMs none stood still for longer.
        assert!(is(runtime.gc_pause_s, 0.25) && is(runtime.jit_cpu_s, 0.5), "{runtime:?}");
    }

    #[test]
    fn an_erlang_vm_is_told_by_its_schedulers_and_its_compiling_by_its_code() {
        let start = Instant::now();
        let readings = [0.0, 1.0, 2.0, 3.0].map(|at| {
            let mut reading = reading(start, at, at);
            reading.threads.as_mut().unwrap().servers = Some(vec![thread(8, "1_scheduler", at)]);
            reading
        });
        let server = written(readings.into(), start + Duration::from_secs(1), 2).server;
        let expected = Runtime {
            name: "Erlang VM".into(),
            compiles: Some(Compiles::AtLoad),
            collects: Some(Collects::OneProcess),
            ..Runtime::default()
        };
        assert_eq!(server.runtime, Some(expected));
        assert_eq!(server.code_bytes, Some(4096 * 103));
        assert_eq!(server.code_grown_bytes, Some(4096 * 2));
    }

    #[test]
    fn of_many_threads_the_busiest_are_told_and_the_rest_is_counted() {
        let start = Instant::now();
        let readings = [0.0, 1.0].map(|at| {
            let mut reading = reading(start, at, at);
            let threads = (0..300).map(|tid| thread(tid, "worker", at * f64::from(tid))).collect();
            reading.threads.as_mut().unwrap().servers = Some(threads);
            reading
        });
        let server = written(readings.into(), start, 1).server;
        assert_eq!(server.threads.len() + server.threads_more as usize, 300);
        assert_eq!(server.threads[0].tid, 299);
        assert_eq!(server.thread_groups[0].threads, 300);
    }

    #[test]
    fn a_control_groups_counters_are_of_the_window_but_for_its_peaks() {
        let start = Instant::now();
        let readings = [0.0, 1.0, 2.0].map(|at| {
            let mut reading = reading(start, at, at);
            let most = reading.most.as_mut().unwrap();
            most.client_group = Some(Counted { oom_kills: Some(at as u64), ..Counted::default() });
            most.group = Some(Counted {
                cpu_s: Some(at),
                system_cpu_s: Some(at / 4.0),
                memory_peak_bytes: Some(100 + at as u64),
                shared_bytes: None,
                oom_kills: Some(1),
                io_bytes: Some((at as u64 * 10, at as u64 * 20)),
                pressure: Pressure { io_s: Some(at / 2.0), ..Pressure::default() },
            });
            reading
        });
        let sampled = Sampled {
            readings: readings.into(),
            group: Group { v2: Some("/nowhere".into()), ..Group::default() },
            client_group: Some(Group { memory: Some("/nowhere".into()), ..Group::default() }),
            allowed: BTreeMap::new(),
            uses_io_uring: None,
            sampling: Sampling::default(),
        };
        let mut evidence = Evidence::default();
        write(&sampled, start + Duration::from_secs(1), Duration::from_secs(1), &mut evidence);
        let cgroup = evidence.server.cgroup.expect("there was one");
        assert_eq!(cgroup.hierarchies, ["v2"]);
        assert_eq!(cgroup.memory_peak_bytes, Some(102));
        assert_eq!(cgroup.oom_kills, Some(1));
        assert_eq!((cgroup.io_read_bytes, cgroup.io_write_bytes), (Some(10), Some(20)));
        assert!(is(cgroup.io_pressure_share, 0.5), "{cgroup:?}");
        assert_eq!(cgroup.memory_pressure_share, None);
        let of_client = evidence.client.and_then(|client| client.cgroup).expect("it had its own");
        let expected =
            Cgroup { hierarchies: vec!["memory".into()], oom_kills: Some(2), ..Cgroup::default() };
        assert_eq!(of_client, expected);
    }

    #[test]
    fn a_missing_sensor_is_none_and_never_zero() {
        let start = Instant::now();
        let readings = [0.0, 1.0].map(|at| {
            let mut reading = reading(start, at, at);
            reading.server_cpu_s = None;
            reading.client_cpu_s = None;
            reading.threads = None;
            reading.established = None;
            reading.others_cpu_s = None;
            reading.most = Some(Most {
                members: Vec::new(),
                used: None,
                group: None,
                throttled: None,
                machine: Machine::default(),
                gc_pauses_s: None,
                code_bytes: None,
                client_group: None,
                client_rss_bytes: None,
                client_disk_bytes: None,
                listeners: None,
            });
            reading
        });
        let mut evidence = written(readings.into(), start, 1);
        let second = evidence.samples.remove(0);
        let known = Sample { at_s: 1.0, ..Sample::default() };
        assert_eq!(second, known);
        assert_eq!(evidence.server_cpu_s, None);
        assert_eq!(evidence.others_cpu_s, None);
        assert_eq!(evidence.steal_share, None);
        assert_eq!(evidence.tcp_retransmits, None);
        assert_eq!(evidence.server_rss_max_bytes, None);
        assert_eq!(evidence.limits, Limits::default());
        assert_eq!(evidence.machine, MachineUse::default());
        assert_eq!(evidence.client, Some(ClientUse::default()));
        assert_eq!(evidence.server.runtime, None);
        assert_eq!(evidence.server.code_bytes, None);
        assert_eq!(evidence.server.code_grown_bytes, None);
        assert_eq!(evidence.server.run_delay_s, None);
        assert_eq!(evidence.server.disk_read_bytes, None);
    }
}
