//! What contenders are compared by.
//!
//! A study's figures are described in its run, so that ranks, reports, comparisons of runs and
//! exports are loops over them: none of these names a figure.

use serde::{Deserialize, Serialize};

use crate::setting::PaceKind;

/// Units of work done a second, within the window.
pub const RATE: &str = "rate";
/// The contender's CPU time a unit of work, in µs.
pub const CPU_US: &str = "cpu_us";
/// The load generator's CPU time a unit of work, in µs.
pub const CLIENT_CPU_US: &str = "client_cpu_us";
/// The median of the times that readers mean by latency, in µs.
pub const P50_US: &str = "p50_us";
/// The 99th percentile of these, in µs.
pub const P99_US: &str = "p99_us";

/// The most memory that the contender's processes had resident at once, in bytes.
pub const MEMORY: &str = "memory_bytes";
/// What the files of a store take at the window's end, in bytes.
pub const DISK_BYTES: &str = "disk_bytes";
/// Bytes that a store wrote to disk within the window, for each byte of the values that it was
/// given.
pub const WRITTEN: &str = "written_a_byte";
/// Flushes a second of the disk that a store's files lie on, whoever asked for them.
pub const FLUSHES: &str = "flushes_per_s";
/// The machine's load average over the minute that ended with the window, as 2009's tables of
/// stores have it.
pub const LOAD_AVERAGE: &str = "load_average";

/// A figure that contenders are compared by.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Figure {
    /// What its values stand under in a row.
    pub id: String,
    /// What readers call it: `requests a second`.
    pub title: String,
    /// The same in the head of a column: `requests/s`.
    pub short: String,
    /// What it is measured in.
    pub unit: Unit,
    /// Which end of it is the good one.
    pub better: Better,
    /// At which paces contenders are ranked by it.
    #[serde(default)]
    pub ranks: Vec<PaceKind>,
    /// Whether readers see it only where there is room for detail.
    #[serde(default)]
    pub is_detail: bool,
    /// The words of a sentence that compares two contenders by it; none where it never ranks.
    #[serde(default)]
    pub words: Option<Words>,
}

/// How a sentence compares two contenders: A *answers* twice as *many* *requests a second* as B.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Words {
    /// What a contender does: `answers`.
    pub does: String,
    /// What it did: `answered`.
    pub did: String,
    /// `many` of what is counted, `much` of anything else.
    pub how: String,
    /// Of what: `requests a second`.
    pub of: String,
}

impl Words {
    fn of(does: &str, did: &str, how: &str, of: &str) -> Words {
        Words { does: does.into(), did: did.into(), how: how.into(), of: of.into() }
    }
}

/// What a figure is measured in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Unit {
    /// So many a second.
    #[serde(rename = "/s")]
    PerSecond,
    /// Microseconds of CPU time.
    #[serde(rename = "us of CPU")]
    CpuMicros,
    /// Microseconds that passed.
    #[serde(rename = "us")]
    Micros,
    /// Bytes.
    #[serde(rename = "B")]
    Bytes,
    /// So many of something.
    #[serde(rename = "number")]
    Count,
}

impl Unit {
    /// How it stands behind a number.
    pub fn sign(self) -> &'static str {
        match self {
            Unit::PerSecond => "/s",
            Unit::CpuMicros | Unit::Micros => " µs",
            Unit::Bytes | Unit::Count => "",
        }
    }
}

/// Which end of a figure is the good one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Better {
    /// The more, the better.
    More,
    /// The less, the better.
    Less,
}

impl Better {
    /// For readers of a chart.
    pub fn says(self) -> &'static str {
        match self {
            Better::More => "more is better",
            Better::Less => "less is better",
        }
    }
}

impl Figure {
    fn new(id: &str, title: &str, short: &str, unit: Unit, better: Better) -> Figure {
        let (id, title, short) = (id.into(), title.into(), short.into());
        Figure { id, title, short, unit, better, ranks: vec![], is_detail: false, words: None }
    }

    fn ranking(self, at: PaceKind, words: Words) -> Figure {
        Figure { ranks: vec![at], words: Some(words), ..self }
    }

    /// Whether contenders are ranked by it at a pace.
    pub fn ranks_at(&self, pace: PaceKind) -> bool {
        self.ranks.contains(&pace)
    }

    /// What a study of the load generator compares. Rates rank where contenders are to do
    /// what they can; at one rate for all, which leaves rates nothing to say, CPU time ranks.
    pub fn of_generator() -> Vec<Figure> {
        let (cpu, time, less) = (Unit::CpuMicros, Unit::Micros, Better::Less);
        let rate =
            Figure::new(RATE, "requests a second", "requests/s", Unit::PerSecond, Better::More);
        let cpu_us = Figure::new(CPU_US, "CPU time an answer", "CPU µs", cpu, less);
        let client = "client CPU time an answer";
        let client = Figure::new(CLIENT_CPU_US, client, "client CPU µs", cpu, less);
        let answers = Words::of("answers", "answered", "many", "requests a second");
        let takes = Words::of("takes", "took", "much", "CPU time an answer");
        vec![
            rate.ranking(PaceKind::Free, answers),
            cpu_us.ranking(PaceKind::Equal, takes),
            Figure { is_detail: true, ..client },
            Figure::new(P50_US, "p50", "p50", time, less),
            Figure::new(P99_US, "p99", "p99", time, less),
        ]
    }

    /// What a study of stores compares: what servers are compared by, and what the values take.
    pub fn of_stores() -> Vec<Figure> {
        let (less, per_second) = (Better::Less, Unit::PerSecond);
        let own = [
            Figure::new(MEMORY, "peak memory", "memory", Unit::Bytes, less),
            Figure::new(DISK_BYTES, "bytes on disk", "on disk", Unit::Bytes, less),
        ];
        let written = "bytes written a byte stored";
        let details = [
            Figure::new(WRITTEN, written, "written/stored", Unit::Count, less),
            Figure::new(FLUSHES, "flushes of the disk", "flushes/s", per_second, less),
            Figure::new(LOAD_AVERAGE, "load average", "load", Unit::Count, less),
        ];
        let details = details.map(|figure| Figure { is_detail: true, ..figure });
        Figure::of_generator().into_iter().chain(own).chain(details).collect()
    }

    /// What a study of programs compares, whose work is counted in such a unit.
    pub fn of_programs(one: &str, many: &str) -> Vec<Figure> {
        let rate = format!("{many} a second");
        let cpu = format!("CPU time a {one}");
        let does = Words::of("does", "did", "many", &rate);
        let takes = Words::of("takes", "took", "much", &cpu);
        let (micros, less) = (Unit::CpuMicros, Better::Less);
        let rate = Figure::new(RATE, &rate, &format!("{many}/s"), Unit::PerSecond, Better::More);
        let cpu =
            Figure { words: Some(takes), ..Figure::new(CPU_US, &cpu, "CPU µs", micros, less) };
        let memory = Figure::new(MEMORY, "peak memory", "memory", Unit::Bytes, less);
        vec![rate.ranking(PaceKind::Free, does), cpu, memory]
    }

    /// One that a contender tells of itself in its result, under this id.
    pub fn told(id: &str, title: &str, short: &str, unit: Unit, better: Better) -> Figure {
        Figure::new(id, title, short, unit, better)
    }
}
