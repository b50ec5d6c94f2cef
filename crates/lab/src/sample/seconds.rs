//! Second by second: what of all readings falls into each second of a window. A window
//! may have thousands, so that nothing here is made for each of them that could be made
//! once for all.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use result::evidence::Sample;

use super::series::{
    Counter, GAP_MAX, Growth, KeyedSeries, NEAR, Series, Write, by_tid, counters, growth,
    growth_of_all, is_seen, largest_growth, rounded, series, servers, table,
};
use super::threads::is_hotspot_compiler;
use super::{Most, Reading};

/// Counters of the whole that each reading has, and where a sample has their growth.
const OF_EACH: [Counter<Reading, Sample>; 2] = [
    (|it| it.server_cpu_s, |to, by| to.server_cpu_s = by.exact()),
    (|it| it.client_cpu_s, |to, by| to.client_cpu_s = by.exact()),
];

/// The same of those that are read about once a second.
const OF_MOST: [Counter<Most, Sample>; 10] = [
    (|it| Some(it.used?.major_faults as f64), |to, by| to.server_major_faults = by.count()),
    (|it| Some(it.used?.disk_bytes?.1 as f64), |to, by| to.server_disk_write_bytes = by.count()),
    (|it| Some(it.listeners?.dropped.into()), |to, by| to.listen_drops = by.count()),
    (|it| Some(it.machine.tcp_retransmits? as f64), |to, by| to.tcp_retransmits = by.count()),
    (|it| Some(it.machine.swap_in_bytes? as f64), |to, by| to.swap_in_bytes = by.count()),
    (|it| Some(it.machine.swap_out_bytes? as f64), |to, by| to.swap_out_bytes = by.count()),
    (|it| it.machine.pressure.cpu_s, |to, by| to.cpu_pressure_share = by.share()),
    (|it| it.machine.pressure.memory_s, |to, by| to.memory_pressure_share = by.share()),
    (|it| it.machine.pressure.io_s, |to, by| to.io_pressure_share = by.share()),
    (|it| Some(it.throttled?.seconds), |to, by| to.throttled_s = by.exact()),
];

/// What of the growths of several stands for all.
type Together = fn(&KeyedSeries<i32>, Instant, Instant) -> Option<f64>;
/// A reading's counters by thread or process.
type Each = fn(&Reading) -> Option<BTreeMap<i32, f64>>;

/// The same of counters that each thread or process has. Of several JVMs the one that
/// stood still most is told of: the others may have gone on meanwhile.
const TABLES: [(Each, Together, Write<Sample>); 5] = [
    (
        |it| servers(it, |thread| Some(thread.switches as f64)),
        growth_of_all,
        |to, by| to.server_context_switches = by.count(),
    ),
    (
        |it| servers(it, |thread| Some(thread.run_delay_s)),
        growth_of_all,
        |to, by| to.server_run_delay_s = by.exact(),
    ),
    (
        |it| servers(it, |thread| is_hotspot_compiler(&thread.name).then_some(thread.cpu_s)),
        growth_of_all,
        |to, by| to.server_jit_cpu_s = by.exact(),
    ),
    (
        |it| {
            let client = it.threads.as_ref()?.client.as_ref()?;
            Some(by_tid(client, |thread| Some(thread.switches as f64)))
        },
        growth_of_all,
        |to, by| to.client_context_switches = by.count(),
    ),
    (
        |it| it.most.as_ref()?.gc_pauses_s.clone(),
        largest_growth,
        |to, by| to.server_gc_pause_s = by.exact(),
    ),
];

/// All readings, by what is told of a second.
pub(super) struct Seconds<'a> {
    readings: &'a [Reading],
    counters: Vec<(Series, Write<Sample>)>,
    tables: Vec<(KeyedSeries<i32>, Together, Write<Sample>)>,
    stolen: Series,
    passed: Series,
}

impl<'a> Seconds<'a> {
    pub(super) fn of(readings: &'a [Reading]) -> Seconds<'a> {
        let tables = TABLES.into_iter().map(|(of, all, write)| (table(readings, of), all, write));
        // Of threads that there never were, nothing is known.
        let has_any = |table: &KeyedSeries<i32>| table.iter().any(|(_, each)| !each.is_empty());
        Seconds {
            readings,
            counters: counters(readings, &OF_EACH, &OF_MOST),
            tables: tables.filter(|(table, ..)| has_any(table)).collect(),
            stolen: series(readings, |it| it.most.as_ref()?.machine.steal_s),
            passed: series(readings, |it| it.most.as_ref()?.machine.passed_s),
        }
    }

    /// The share of all processors' time that the host took.
    pub(super) fn steal(&self, from: Instant, to: Instant) -> Option<f64> {
        let (stolen, passed) = (growth(&self.stolen, from, to)?, growth(&self.passed, from, to)?);
        (passed > 0.0).then(|| (stolen / passed).clamp(0.0, 1.0))
    }

    /// A second of a window that began then. What was too seldom read to be of this second
    /// alone is left out.
    pub(super) fn sample(&self, began: Instant, (from, to): (Instant, Instant)) -> Sample {
        let mut sample = self.at_its_end(from, to);
        sample.at_s = rounded((to - began).as_secs_f64());
        let seconds = (to - from).as_secs_f64();
        for (series, write) in &self.counters {
            if is_seen(series, from, to, GAP_MAX)
                && let Some(amount) = growth(series, from, to)
            {
                write(&mut sample, Growth { amount, seconds });
            }
        }
        for (table, together, write) in &self.tables {
            if is_seen(table, from, to, GAP_MAX)
                && let Some(amount) = together(table, from, to)
            {
                write(&mut sample, Growth { amount, seconds });
            }
        }
        if is_seen(&self.stolen, from, to, GAP_MAX) {
            sample.steal_share = self.steal(from, to).map(rounded);
        }
        sample
    }

    /// What is so at a moment, and isn't counted.
    fn at_its_end(&self, from: Instant, to: Instant) -> Sample {
        let near = self.nearest(to);
        let members = near.map(|most| &most.members).filter(|members| !members.is_empty());
        let in_second = &self.readings[self.after(from)..self.after(to)];
        let mosts = || in_second.iter().filter_map(|reading| reading.most.as_ref());
        // The reading that is nearest to the window's end comes after it, when the
        // connections are closed and processors may rest.
        let last = mosts().next_back();
        let listeners = mosts().find_map(|most| most.listeners);
        let open_files =
            |most: &Most| most.members.iter().map(|it| it.open_files).sum::<Option<u64>>();
        Sample {
            server_rss_bytes: members.map(|all| all.iter().map(|it| it.rss_bytes).sum()),
            server_threads: members.map(|all| all.iter().map(|it| it.threads).sum()),
            server_open_files: last.filter(|it| !it.members.is_empty()).and_then(open_files),
            connections_established: in_second.iter().find_map(|reading| reading.established),
            accept_queue: listeners.map(|it| it.accept_queue),
            tcp_sockets: last.and_then(|most| Some(most.machine.tcp_sockets?.open)),
            client_rss_bytes: near.and_then(|most| most.client_rss_bytes),
            load_average: near.and_then(|most| most.machine.load_average).map(rounded),
            server_cpu_mhz_min: last.and_then(|most| {
                most.machine.frequencies.iter().flatten().copied().reduce(f64::min)
            }),
            ..Sample::default()
        }
    }

    /// Where the readings after a moment begin.
    fn after(&self, moment: Instant) -> usize {
        self.readings.partition_point(|reading| reading.at <= moment)
    }

    /// The reading of all that is nearest to a moment, if it is near.
    fn nearest(&self, moment: Instant) -> Option<&Most> {
        let distance = |at: Instant| at.max(moment) - at.min(moment);
        let from = self.readings.partition_point(|it| it.at + NEAR < moment);
        let near = self.readings[from..].iter().take_while(|it| it.at <= moment + NEAR);
        let with_most = near.filter_map(|it| Some((distance(it.at), it.most.as_ref()?)));
        with_most.min_by_key(|(distance, _): &(Duration, _)| *distance).map(|(_, most)| most)
    }
}
