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
/// Counting thousands of connections takes milliseconds, so it is done once a
/// second: every so many readings.
const CONNECTIONS_EVERY: usize = 4;

/// One reading of everything.
#[derive(Debug, Clone)]
struct Reading {
    at: Instant,
    server: Option<Usage>,
    connections: Option<Connections>,
    own_cpu_s: Option<f64>,
    busy_s: Option<f64>,
    steal_s: Option<f64>,
    all_s: Option<f64>,
    load_average: Option<f64>,
    listen_overflows: Option<u64>,
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
            let mut readings = vec![read(root)];
            while stopped.recv_timeout(EVERY) == Err(RecvTimeoutError::Timeout) {
                let mut reading = read(root);
                if readings.len() % CONNECTIONS_EVERY == 0 {
                    reading.connections = connections::at_port(port);
                }
                readings.push(reading);
            }
            readings.push(read(root));
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

fn read(root: i32) -> Reading {
    let at = Instant::now();
    let cpu = procfs::KernelStats::current().ok().map(|stats| stats.total);
    let ticks = procfs::ticks_per_second() as f64;
    let seconds = |count: u64| count as f64 / ticks;
    let steal = cpu.as_ref().and_then(|cpu| cpu.steal);
    let busy = cpu.as_ref().map(|cpu| {
        cpu.user + cpu.nice + cpu.system + cpu.irq.unwrap_or(0) + cpu.softirq.unwrap_or(0)
    });
    let idle = cpu.as_ref().map(|cpu| cpu.idle + cpu.iowait.unwrap_or(0));
    Reading {
        at,
        server: process_tree::usage(root),
        connections: None,
        own_cpu_s: procfs::process::Process::myself()
            .and_then(|process| process.stat())
            .ok()
            .map(|stat| seconds(stat.utime + stat.stime)),
        busy_s: busy.map(seconds),
        steal_s: steal.map(seconds),
        all_s: busy.zip(idle).map(|(busy, idle)| seconds(busy + idle + steal.unwrap_or(0))),
        load_average: procfs::LoadAverage::current().ok().map(|average| f64::from(average.one)),
        listen_overflows: network_counter("/proc/net/netstat", "TcpExt:", "ListenOverflows"),
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
        let all = difference(readings, from, to, &|reading| reading.all_s)?;
        (all > 0.0).then(|| (stolen / all).clamp(0.0, 1.0))
    };

    evidence.server_cpu_s = within(&server_cpu);
    evidence.server_disk_write_bytes = within(&disk).map(|bytes| bytes as u64);
    evidence.server_rss_max_bytes =
        readings.iter().filter_map(|reading| Some(reading.server?.rss_bytes)).max();
    evidence.listen_overflows = whole(&|reading| reading.listen_overflows);
    evidence.tcp_retransmits = whole(&|reading| reading.retransmits);
    evidence.steal_share = steal(began, ended);
    evidence.others_cpu_s = within(&|reading| reading.busy_s)
        .zip(within(&server_cpu))
        .zip(within(&|reading| reading.own_cpu_s))
        .map(|((busy, server), own)| (busy - server - own).max(0.0));

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

/// A counter's value at a moment, between the two readings around it. At most
/// one interval beyond the readings, the nearest one stands for it.
fn at(readings: &[Reading], moment: Instant, of: &dyn Fn(&Reading) -> Option<f64>) -> Option<f64> {
    let before = readings.iter().rfind(|reading| reading.at <= moment);
    let after = readings.iter().find(|reading| reading.at > moment);
    match (before, after) {
        (Some(before), Some(after)) => {
            let (low, high) = (of(before)?, of(after)?);
            let share = (moment - before.at).as_secs_f64() / (after.at - before.at).as_secs_f64();
            Some(low + (high - low) * share)
        }
        (Some(before), None) if moment - before.at <= EVERY => of(before),
        (None, Some(after)) if after.at - moment <= EVERY => of(after),
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
            connections: Some(Connections { established: 30, accept_queue: 2 }),
            own_cpu_s: Some(0.0),
            busy_s: Some(cpu_s + 0.5),
            steal_s: Some(0.0),
            all_s: None,
            load_average: Some(0.5),
            listen_overflows: Some(7),
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
        assert_eq!(evidence.others_cpu_s.map(|cpu| cpu.round()), Some(0.0));
        assert_eq!(evidence.samples[1].server_context_switches, Some(100));
        assert_eq!(evidence.samples[1].connections_established, Some(30));
        assert_eq!(evidence.samples[1].accept_queue, Some(2));
        assert_eq!(evidence.server_rss_max_bytes, Some(1000));
        assert_eq!(evidence.listen_overflows, Some(0));
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
            difference(&readings, late, late + Duration::from_secs(1), &|reading| reading.busy_s),
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
