//! What changed between two runs: the data of `bakeoff compare --json`.

use serde::{Deserialize, Serialize};

use crate::figure::Figure;
use crate::finding::Verdict;
use crate::outcome::Estimate;
use crate::plan::{Dimension, Setting};

/// The version of a comparison's JSON. It grows by one when a reader of the older
/// form would misread the newer one.
///
/// 2: a figure's word may be that it can't be told apart from the machine, and `p` is
/// taken over all figures. Who reads by 1 knows no such word, and would take `p` for
/// one that still has to be adjusted.
///
/// 3: the speed of cores stands with each figure, of its own load. Who reads by 2 looks
/// for it beside the figures, and would take its absence for not known.
///
/// 4: what is compared is described by the runs themselves. Who reads by 3 knows two names of
/// figures, and would look for a load where there is a setting.
pub const SCHEMA: u32 = 4;

/// Two runs beside each other.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// Always [`SCHEMA`].
    pub schema: u32,
    /// The first run.
    pub a: RunName,
    /// The second one.
    pub b: RunName,
    /// In what settings differ, beside cores and pace.
    pub dimensions: Vec<Dimension>,
    /// Why nothing in them can be compared, a sentence each; empty if it can.
    pub obstacles: Vec<String>,
    /// What else differs between them as a whole, or isn't known of both, a sentence
    /// each: it hinders no comparison.
    pub differences: Vec<String>,
    /// Figures that both runs have: contender by contender within a setting.
    pub figures: Vec<Pair>,
    /// What only one of them has, a sentence each.
    pub only_in_one: Vec<String>,
}

/// Which run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunName {
    /// Its name.
    pub id: String,
    /// When it began, RFC 3339, UTC.
    pub started: String,
    /// The command that repeats it.
    pub command: String,
    /// Set where trials are missing.
    pub unfinished: Option<Unfinished>,
}

/// A run of which trials are missing: it goes on still, was stopped or killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unfinished {
    /// Trials that were over.
    pub trials_made: u64,
    /// Trials that were planned.
    pub trials_planned: u64,
}

/// How fast the cores that contenders ran on did work that keeps a core busy, in steps
/// a µs, over the blocks of two runs under one setting.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct CoreSpeeds {
    /// The median of the first run.
    pub a: f64,
    /// The median of the second run.
    pub b: f64,
    /// The second run's by the first one's.
    pub ratio: f64,
    /// Its 95 % interval.
    pub interval: (f64, f64),
}

impl CoreSpeeds {
    /// Whether they differ beyond chance.
    pub fn are_apart(&self) -> bool {
        let (low, high) = self.interval;
        low > 1.0 || high < 1.0
    }
}

/// One figure of one contender in both runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Pair {
    /// The contender's name.
    pub contender: String,
    /// Its title.
    pub title: String,
    /// The setting.
    pub setting: Setting,
    /// What is compared.
    pub of: Figure,
    /// In the first run.
    pub a: Estimate,
    /// In the second run.
    pub b: Estimate,
    /// The verdicts that it carries in both.
    pub verdicts: (Verdict, Verdict),
    /// Of a suspect figure: in which run, and by which checks, a sentence each.
    pub doubts: Vec<String>,
    /// The ratios, above 1, that two identical entries differed by within each run.
    pub noise_floors: (Option<f64>, Option<f64>),
    /// How fast the cores of all contenders were under this setting; `None` where either run
    /// has it of too few blocks.
    pub core_speeds: Option<CoreSpeeds>,
    /// What is different about the contender itself, such as its version.
    pub differences: Vec<String>,
    /// What can be said.
    pub word: Word,
}

/// What can be said of a figure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Word {
    /// It differs beyond chance, and by more than identical entries do.
    Changed(Ratio),
    /// It may differ, but by no more than chance or identical entries do.
    Unchanged(Ratio),
    /// Whether it changed can't be told apart from what other cores made of it.
    NotToldApart(Ratio),
    /// It can't be compared, for these reasons.
    NotComparable(Vec<String>),
}

/// The second run by the first one.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Ratio {
    /// The median ratio of a block of the second run to one of the first.
    pub median: f64,
    /// Its 95 % interval.
    pub interval: (f64, f64),
    /// How often chance alone would part any of the figures that are compared as far
    /// as this one is, if nothing differed.
    pub p: f64,
}
