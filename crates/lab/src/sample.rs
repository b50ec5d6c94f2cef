//! What is sampled while a trial measures: the contender, the client's own
//! process, and the machine.
//!
//! A thread reads counters that only grow, four times a second, so that what
//! happened within the measured window is the difference between its edges, each
//! interpolated between the two readings around it. The evidence has a sample a
//! second of that.

use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use procfs::{Current, CurrentSI};
use result::evidence::{Evidence, Sample};

use crate::connections::{self, Connections};
use crate::keeper;
use crate::process_tree::{self, Usage};

const EVERY: Duration = Duration::from_millis(250);
/// Counting thousands of connections, and all processes, takes milliseconds, so
/// it is done about once a second: every so many readings.
const RARELY: usize = 3;
/// A reading stands for a moment that lies so far beyond it at most.
const REACH: Duration = Duration::from_millis(800);

/// One reading of everything.
#[derive(Debug, Clone)]
struct Reading {
    at: Instant,
    server: Option<Usage>,
    connections: Option<Connections>,
    own_cpu_s: Option<f64>,
    /// Of all processes that can be seen.
    all_cpu_s: Option<f64>,
    steal_s: Option<f64>,
    /// Of all processors, idle or not.
    passed_s: Option<f64>,
    load_average: Option<f64>,
    retransmits: Option<u64>,
}

/// A thread that samples until it is finished.
#[derive(Debug)]
pub struct Sampler {
    stop: Sender<()>,
    thread: JoinHandle<Vec<Reading>>,
}

impl Sampler {
    /// Starts to sample the descendants of `root`, the connections at `port`, and
    /// the machine, from the load's processors: the contender's are its own.
    pub fn start(root: i32, port: u16, cpus: Vec<usize>) -> Sampler {
        let (stop, stopped) = mpsc::channel();
        let thread = std::thread::spawn(move || {
            let _ = keeper::pin(&cpus);
            let mut readings = vec![read_all(root, port)];
            while stopped.recv_timeout(EVERY) == Err(RecvTimeoutError::Timeout) {
                readings.push(match readings.len() % RARELY {
                    0 => read_all(root, port),
                    _ => read(root),
                });
            }
            readings.push(read_all(root, port));
            readings
        });
        Sampler { stop, thread }
    }

    /// Ends, and writes into the evidence what was seen within the window.
    pub fn finish(self, began: Instant, window: Duration, evidence: &mut Evidence) {
        let _ = self.stop.send(());
        if let Ok(readings) = self.thread.join() {
            write(&readings, began, window, evidence);
        }
    }
}

/// One reading, with what takes longer.
fn read_all(root: i32, port: u16) -> Reading {
    Reading {
        connections: connections::at_port(port),
        all_cpu_s: process_tree::cpu_of_all(),
        ..read(root)
    }
}

fn read(root: i32) -> Reading {
    let at = Instant::now();
    let cpu = procfs::KernelStats::current().ok().map(|stats| stats.total);
    let ticks = procfs::ticks_per_second() as f64;
    let seconds = |count: u64| count as f64 / ticks;
    let steal = cpu.as_ref().and_then(|cpu| cpu.steal);
    let passed = cpu.as_ref().map(|cpu| {
        let optional = [cpu.iowait, cpu.irq, cpu.softirq, cpu.steal];
        cpu.user + cpu.nice + cpu.system + cpu.idle + optional.into_iter().flatten().sum::<u64>()
    });
    Reading {
        at,
        server: process_tree::usage(root),
        connections: None,
        own_cpu_s: procfs::process::Process::myself()
            .and_then(|process| process.stat())
            .ok()
            .map(|stat| seconds(stat.utime + stat.stime)),
        all_cpu_s: None,
        steal_s: steal.map(seconds),
        passed_s: passed.map(seconds),
        load_average: procfs::LoadAverage::current().ok().map(|average| f64::from(average.one)),
        retransmits: network_counter("/proc/net/snmp", "Tcp:", "RetransSegs"),
    }
}

/// A counter of `/proc/net`, where a line of names is followed by a line of
/// values.
fn network_counter(file: &str, table: &str, name: &str) -> Option<u64> {
    counter_in(&std::fs::read_to_string(file).ok()?, table, name)
}

fn counter_in(text: &str, table: &str, name: &str) -> Option<u64> {
    let mut lines = text.lines().filter(|line| line.split(' ').next() == Some(table));
    let (names, values) = (lines.next()?, lines.next()?);
    let at = names.split(' ').position(|have| have == name)?;
    values.split(' ').nth(at)?.parse().ok()
}

fn write(readings: &[Reading], began: Instant, window: Duration, evidence: &mut Evidence) {
    let ended = began + window;
    let within = |of: &dyn Fn(&Reading) -> Option<f64>| difference(readings, began, ended, of);
    // The whole load counts here: connections are made before the window.
    let whole = |of: &dyn Fn(&Reading) -> Option<u64>| {
        let (first, last) = (of(readings.first()?)?, of(readings.last()?)?);
        Some(last.saturating_sub(first))
    };
    let server_cpu = |reading: &Reading| reading.server.map(|usage| usage.cpu_s);
    let disk = |reading: &Reading| reading.server?.disk_write_bytes.map(|bytes| bytes as f64);
    let steal = |from, to| {
        let stolen = difference(readings, from, to, &|reading| reading.steal_s)?;
        let passed = difference(readings, from, to, &|reading| reading.passed_s)?;
        (passed > 0.0).then(|| (stolen / passed).clamp(0.0, 1.0))
    };

    evidence.server_cpu_s = within(&server_cpu);
    evidence.server_disk_write_bytes = within(&disk).map(|bytes| bytes as u64);
    evidence.server_rss_max_bytes =
        readings.iter().filter_map(|reading| Some(reading.server?.rss_bytes)).max();
    evidence.listen_overflows = readings
        .iter()
        .rev()
        .find_map(|reading| reading.connections)
        .map(|counted| counted.dropped.into());
    evidence.tcp_retransmits = whole(&|reading| reading.retransmits);
    evidence.steal_share = steal(began, ended);
    evidence.others_cpu_s = within(&|reading| reading.all_cpu_s)
        .zip(within(&server_cpu))
        .zip(within(&|reading| reading.own_cpu_s))
        .map(|((all, server), own)| (all - server - own).max(0.0));

    let whole_seconds = window.as_secs_f64().round() as u32;
    evidence.samples = (0..whole_seconds)
        .map(|second| {
            let from = began + Duration::from_secs(second.into());
            let to = (from + Duration::from_secs(1)).min(ended);
            let near = readings
                .iter()
                .min_by_key(|reading| reading.at.max(to).duration_since(reading.at.min(to)));
            let usage = near.and_then(|reading| reading.server);
            let switches = |reading: &Reading| {
                reading.server.and_then(|usage| Some(usage.context_switches? as f64))
            };
            let counted = readings
                .iter()
                .filter(|reading| reading.at > from && reading.at <= to)
                .find_map(|reading| reading.connections);
            Sample {
                at_s: to.duration_since(began).as_secs_f64(),
                server_cpu_s: difference(readings, from, to, &server_cpu),
                server_rss_bytes: usage.map(|usage| usage.rss_bytes),
                server_threads: usage.map(|usage| usage.threads),
                server_context_switches: difference(readings, from, to, &switches)
                    .map(|switches| switches.round() as u64),
                connections_established: counted.map(|counted| counted.established),
                accept_queue: counted.map(|counted| counted.accept_queue),
                client_cpu_s: difference(readings, from, to, &|reading| reading.own_cpu_s),
                steal_share: steal(from, to),
                load_average: near.and_then(|reading| reading.load_average),
            }
        })
        .collect();
}

/// How much a counter grew between two moments.
fn difference(
    readings: &[Reading],
    from: Instant,
    to: Instant,
    of: &dyn Fn(&Reading) -> Option<f64>,
) -> Option<f64> {
    Some((at(readings, to, of)? - at(readings, from, of)?).max(0.0))
}

/// A counter's value at a moment, between the two readings around it that have
/// it. Somewhat beyond the readings, the nearest one stands for it.
fn at(readings: &[Reading], moment: Instant, of: &dyn Fn(&Reading) -> Option<f64>) -> Option<f64> {
    let mut known = readings.iter().filter_map(|reading| Some((reading.at, of(reading)?)));
    let before = known.clone().rfind(|(at, _)| *at <= moment);
    let after = known.find(|(at, _)| *at > moment);
    match (before, after) {
        (Some(before), Some(after)) => {
            let share = (moment - before.0).as_secs_f64() / (after.0 - before.0).as_secs_f64();
            Some(before.1 + (after.1 - before.1) * share)
        }
        (Some(before), None) if moment - before.0 <= REACH => Some(before.1),
        (None, Some(after)) if after.0 - moment <= REACH => Some(after.1),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(at: Instant, cpu_s: f64) -> Reading {
        Reading {
            at,
            server: Some(Usage {
                cpu_s,
                rss_bytes: 1000,
                threads: 3,
                disk_write_bytes: Some(0),
                context_switches: Some((cpu_s * 100.0) as u64),
            }),
            connections: Some(Connections { established: 30, accept_queue: 2, dropped: 7 }),
            own_cpu_s: Some(0.0),
            all_cpu_s: Some(cpu_s * 1.5),
            steal_s: Some(0.0),
            passed_s: None,
            load_average: Some(0.5),
            retransmits: None,
        }
    }

    #[test]
    fn the_windows_edges_lie_between_readings() {
        let start = Instant::now();
        let ms = |ms| start + Duration::from_millis(ms);
        // One CPU second a second.
        let readings: Vec<_> = (0..=16).map(|n| reading(ms(n * 250), n as f64 * 0.25)).collect();
        let mut evidence = Evidence::default();
        write(&readings, ms(1_100), Duration::from_secs(2), &mut evidence);
        let cpu = evidence.server_cpu_s.unwrap();
        assert!((cpu - 2.0).abs() < 1e-9, "{cpu}");
        assert_eq!(evidence.samples.len(), 2);
        assert!((evidence.samples[1].server_cpu_s.unwrap() - 1.0).abs() < 1e-9);
        let others = evidence.others_cpu_s.unwrap();
        assert!((others - 1.0).abs() < 1e-9, "{others}");
        assert_eq!(evidence.samples[1].server_context_switches, Some(100));
        assert_eq!(evidence.samples[1].connections_established, Some(30));
        assert_eq!(evidence.samples[1].accept_queue, Some(2));
        assert_eq!(evidence.server_rss_max_bytes, Some(1000));
        assert_eq!(evidence.listen_overflows, Some(7));
    }

    #[test]
    fn a_missing_sensor_is_none_and_never_zero() {
        let start = Instant::now();
        let mut gone = reading(start, 0.0);
        gone.server = None;
        gone.connections = None;
        let mut later = gone.clone();
        later.at = start + Duration::from_secs(1);
        let mut evidence = Evidence::default();
        write(&[gone, later], start, Duration::from_secs(1), &mut evidence);
        assert_eq!(evidence.server_cpu_s, None);
        assert_eq!(evidence.others_cpu_s, None);
        assert_eq!(evidence.steal_share, None);
        assert_eq!(evidence.tcp_retransmits, None);
        assert_eq!(evidence.samples[0].server_cpu_s, None);
        assert_eq!(evidence.samples[0].connections_established, None);
    }

    #[test]
    fn a_window_that_nobody_sampled_tells_nothing() {
        let start = Instant::now();
        let readings = [reading(start, 0.0), reading(start + Duration::from_secs(1), 1.0)];
        let late = start + Duration::from_secs(10);
        assert_eq!(
            difference(&readings, late, late + Duration::from_secs(1), &|reading| reading
                .all_cpu_s),
            None
        );
    }

    #[test]
    fn counters_are_found_by_name_whatever_their_order() {
        let text = "TcpExt: A ListenOverflows B\nTcpExt: 1 23 4\nIpExt: A\nIpExt: 9\n";
        assert_eq!(counter_in(text, "TcpExt:", "ListenOverflows"), Some(23));
        assert_eq!(counter_in(text, "TcpExt:", "NoSuch"), None);
        assert_eq!(counter_in(text, "IpExt:", "A"), Some(9));
    }
}
