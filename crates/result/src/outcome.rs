//! What follows from the trials: estimates over blocks, a rank with ties, and
//! the verdict that each figure carries.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::durability::{Class, Classes};
use crate::finding::{Finding, Verdict};
use crate::plan::Setting;

/// What is concluded under one setting: a row a contender.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// The setting.
    pub setting: Setting,
    /// What its contenders survive at least, where they are stores and that is known: those of
    /// another class are compared in an outcome of their own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<Class>,
    /// The most that they may survive, where they are stores. Older runs don't say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class_at_most: Option<Class>,
    /// The rate that all were offered, where that was one.
    pub offered: Option<Offered>,
    /// What each figure that ranks at this pace says, in the order of the study's figures.
    pub rankings: Vec<Ranking>,
    /// One row a contender that was measured, the best first by the first ranking.
    pub rows: Vec<Row>,
}

impl Outcome {
    /// The ranking that rows are in the order of; `None` where no figure ranks at this pace.
    pub fn ranking(&self) -> Option<&Ranking> {
        self.rankings.first()
    }

    /// What is known of its contenders' class; `None` where they have none.
    pub fn classes(&self) -> Option<Classes> {
        let most = self.class_at_most.or(self.class)?;
        Some(Classes { least: self.class, most })
    }
}

/// What became of a claim.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClaimOutcome {
    /// Under all its settings together.
    pub word: ClaimWord,
    /// The doubt in the figures that decide it.
    #[serde(default = "undoubted")]
    pub verdict: Verdict,
    /// Under each that was measured.
    pub settings: Vec<ClaimInSetting>,
}

/// What became of a claim under one setting.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClaimInSetting {
    /// The setting.
    pub setting: Setting,
    /// Whether it holds there.
    pub word: ClaimWord,
    /// The doubt in the figures that decide it.
    #[serde(default = "undoubted")]
    pub verdict: Verdict,
    /// Each that its contender should be ahead of, in the claim's order.
    #[serde(default)]
    pub against: Vec<ClaimAgainst>,
}

/// What became of a claim beside one of those that it names.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClaimAgainst {
    /// The other contender.
    pub contender: String,
    /// Where that stands.
    pub stands: Beside,
    /// The figure of the claim's contender divided by the other's, from paired blocks; `None`
    /// where one of them has none.
    pub ratio: Option<Estimate>,
    /// The doubt in that: the worse verdict of both, unless no doubt can change where it stands.
    #[serde(default = "undoubted")]
    pub verdict: Verdict,
}

/// Older runs told of no doubt.
fn undoubted() -> Verdict {
    Verdict::Valid
}

/// Where another contender stands beside the one that a claim speaks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Beside {
    /// It is worse, beyond chance and noise, and by as much as the claim says.
    Behind,
    /// It is as good, or better, or worse by less than the claim says: that is shown too.
    NotBehind,
    /// Neither is shown.
    NotToldApart,
    /// One of the two may not be ranked.
    NotRanked,
    /// It has no figure there, and decides nothing.
    NotMeasured,
}

impl Beside {
    /// For readers.
    pub fn says(self) -> &'static str {
        match self {
            Beside::Behind => "behind",
            Beside::NotBehind => "not behind",
            Beside::NotToldApart => "not told apart",
            Beside::NotRanked => "not ranked",
            Beside::NotMeasured => "not measured",
        }
    }
}

/// Whether a claim holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClaimWord {
    /// It is ahead of all others that were measured, beyond chance and noise.
    Holds,
    /// One of the others is shown to be as good, or better.
    DoesNot,
    /// It holds under some settings.
    Depends,
    /// Those that it compares have no ranks, or can't be told apart.
    NotKnown,
}

impl ClaimWord {
    /// For readers.
    pub fn says(self) -> &'static str {
        match self {
            ClaimWord::Holds => "holds",
            ClaimWord::DoesNot => "doesn't hold",
            ClaimWord::Depends => "depends",
            ClaimWord::NotKnown => "not known",
        }
    }
}

/// One rate for all.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Offered {
    /// Units of work a second.
    pub rate: f64,
    /// How that rate was found, in one sentence.
    pub rule: String,
}

/// What one figure says of all contenders under one setting.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ranking {
    /// The figure's id.
    pub figure: String,
    /// The noise floor: the ratio, above 1, up to which the figures of two identical entries
    /// differ. `None` where too few blocks of an A/A pair stand.
    pub noise_floor: Option<f64>,
    /// The finding in one sentence, or why there is none.
    pub sentence: String,
}

/// A noise floor in words, as checks and reports say it alike: `two identical entries (A/A
/// pair) up to 1.2 % apart`. Whole per cent from ten on, as all shares that people read.
pub fn identical_entries(noise_floor: f64) -> String {
    let percent = (noise_floor - 1.0) * 100.0;
    let text = if percent < 9.95 { format!("{percent:.1}") } else { format!("{percent:.0}") };
    let percent = text.strip_suffix(".0").unwrap_or(&text);
    format!("two identical entries (A/A pair) up to {percent} % apart")
}

/// One contender under one setting.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// The contender's name.
    pub contender: String,
    /// What kept its rate from being higher, at a free pace.
    pub limit: Option<Limit>,
    /// Its figures by their ids, as far as they are known in every block.
    pub figures: BTreeMap<String, Estimate>,
    /// Where it stands by each figure that ranks, by the figure's id.
    pub standings: BTreeMap<String, Standing>,
    /// The worst verdict over its blocks.
    pub verdict: Verdict,
    /// The findings behind it, one a check that applies: the worst over its blocks.
    pub findings: Vec<Finding>,
}

impl Row {
    /// One of its figures; `None` where that isn't known in every block.
    pub fn figure(&self, id: &str) -> Option<&Estimate> {
        self.figures.get(id)
    }

    /// Its rank by a figure.
    pub fn rank(&self, id: &str) -> Option<u32> {
        self.standings.get(id)?.rank
    }

    /// A figure of it divided by the first's.
    pub fn ratio(&self, id: &str) -> Option<&Estimate> {
        self.standings.get(id)?.ratio.as_ref()
    }
}

/// Where a contender stands by one figure.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Standing {
    /// Its rank from 1, equal among ties; `None` where it may not be ranked. A rate
    /// that is a lower bound is never placed below another.
    pub rank: Option<u32>,
    /// Why it has no rank.
    pub unranked: Option<String>,
    /// Its figure divided by that of the first ranked row, from paired blocks. `None` where
    /// both are lower bounds: it may be anything then.
    pub ratio: Option<Estimate>,
    /// Whether one of the two is suspect, and all that is doubted of both together can't
    /// change their order.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub beyond_doubt: bool,
}

/// What kept a rate from being higher, as far as evidence and findings tell.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limit {
    /// What it was.
    pub by: LimitedBy,
    /// How that shows, or why nothing can be said, in one or two sentences.
    pub says: String,
}

/// What a rate was limited by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LimitedBy {
    /// The cores that the contender was given: it used them up.
    Cores,
    /// The cores that contender and client shared: together they used them up.
    SharedCores,
    /// The client: the contender can do at least this rate.
    Client,
    /// A CPU quota.
    Quota,
    /// Something else, or nobody could look.
    Unknown,
}

impl LimitedBy {
    /// The word that readers see.
    pub fn word(self) -> &'static str {
        match self {
            LimitedBy::Cores => "its cores",
            LimitedBy::SharedCores => "shared cores",
            LimitedBy::Client => "client",
            LimitedBy::Quota => "CPU quota",
            LimitedBy::Unknown => "not known",
        }
    }
}

/// What is concluded from shares of each contender's own maximum: how its
/// response time grows with the rate. Nobody is ranked by it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Curve {
    /// The setting that the shares are of, at a free pace.
    pub setting: Setting,
    /// One line a contender that was to be measured.
    pub lines: Vec<CurveLine>,
}

/// One contender's line of a curve.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CurveLine {
    /// The contender's name.
    pub contender: String,
    /// Its rate at a free pace, as known when the curve was begun,
    /// which are 100 %.
    pub maximum_rate: Option<f64>,
    /// Why points are missing, where they are.
    pub left_out: Option<String>,
    /// Its points, the lowest share first.
    pub points: Vec<CurvePoint>,
}

/// One contender at one share of its own maximum.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CurvePoint {
    /// The share, out of 100.
    pub percent: u32,
    /// Units of work offered a second.
    pub offered_rate: f64,
    /// Its figures by their ids, as far as they are known in every block.
    pub figures: BTreeMap<String, Estimate>,
    /// The worst verdict over its blocks.
    pub verdict: Verdict,
    /// The findings behind it, one a check that applies: the worst over its blocks.
    pub findings: Vec<Finding>,
}

impl CurvePoint {
    /// One of its figures; `None` where that isn't known in every block.
    pub fn figure(&self, id: &str) -> Option<&Estimate> {
        self.figures.get(id)
    }
}

/// A median over blocks with its interval and every block's value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// The median.
    pub median: f64,
    /// The 95 % interval; `None` with too few blocks for one.
    pub interval: Option<(f64, f64)>,
    /// Whether this is only a lower bound: a rate where the client was the limit, its
    /// ratio to another, a time if requests without an answer are in a block's value.
    #[serde(default)]
    pub at_least: bool,
    /// Whether this is only an upper bound: a ratio to a rate that is a lower one.
    #[serde(default)]
    pub at_most: bool,
    /// Every block's value, in block order.
    pub blocks: Vec<f64>,
}
