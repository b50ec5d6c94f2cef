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
/// What a robot in a room takes of a gateway's memory while it says nothing, in bytes.
pub const ROBOT_BYTES: &str = "robot_bytes";
/// The 99th percentile of the times from when a message was due until all of its room had it, in
/// µs.
pub const UNTIL_ALL_P99_US: &str = "until_all_p99_us";
/// Lines of the contender's own source files that are neither blank nor only a comment.
pub const LINES_OF_CODE: &str = "lines_of_code";
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
    pub(crate) fn of(does: &str, did: &str, how: &str, of: &str) -> Words {
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
    /// Units of work a second, of which contenders do so many; it ranks where they are to do
    /// what they can.
    pub(crate) fn rate(many: &str, (does, did): (&str, &str)) -> Figure {
        let title = format!("{many} a second");
        let words = Words::of(does, did, "many", &title);
        Figure {
            ranks: vec![PaceKind::Free],
            words: Some(words),
            ..Figure::told(RATE, &title, &format!("{many}/s"), Unit::PerSecond, Better::More)
        }
    }

    /// The contender's CPU time a unit of work. It ranks nowhere.
    pub(crate) fn cpu(one: &str) -> Figure {
        let title = format!("CPU time a {one}");
        let words = Words::of("takes", "took", "much", &title);
        Figure { words: Some(words), ..Figure::less(CPU_US, &title, "CPU µs", Unit::CpuMicros) }
    }

    /// One of which less is better, and that never ranks.
    pub(crate) fn less(id: &str, title: &str, short: &str, unit: Unit) -> Figure {
        Figure::told(id, title, short, unit, Better::Less)
    }

    /// One that never ranks, such as a contender tells of itself in its result, under this id.
    pub fn told(id: &str, title: &str, short: &str, unit: Unit, better: Better) -> Figure {
        let (id, title, short) = (id.into(), title.into(), short.into());
        Figure { id, title, short, unit, better, ranks: vec![], is_detail: false, words: None }
    }

    /// Whether contenders are ranked by it at a pace.
    pub fn ranks_at(&self, pace: PaceKind) -> bool {
        self.ranks.contains(&pace)
    }
}
