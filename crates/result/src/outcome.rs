//! What follows from the trials: estimates over blocks, a rank with ties, and
//! the verdict that each figure carries.

use serde::{Deserialize, Serialize};

use crate::finding::{Finding, Verdict};
use crate::plan::Load;

/// What is concluded for one load of the closed loop: a row a contender.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// The load.
    pub load: Load,
    /// The noise floor of this load: the ratio, above 1, up to which two identical
    /// entries differ. `None` where too few blocks of an A/A pair stand.
    pub noise_floor: Option<f64>,
    /// One row a contender that was measured, the highest rate first.
    pub rows: Vec<Row>,
    /// The finding in one sentence, or why there is none.
    pub sentence: String,
}

/// One contender under one load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// The contender's name.
    pub contender: String,
    /// Its rank from 1, equal among ties; `None` where it may not be ranked. A rate
    /// that is a lower bound is never placed below another.
    pub rank: Option<u32>,
    /// Why it has no rank.
    pub unranked: Option<String>,
    /// Good answers a second; a lower bound where the client was the limit.
    pub rate: Estimate,
    /// What kept the rate from being higher. `None` in runs made before this was
    /// kept.
    #[serde(default)]
    pub limit: Option<Limit>,
    /// Rate divided by the best ranked row's, from paired blocks. `None` where both
    /// are lower bounds: it may be anything then.
    pub rate_ratio: Option<Estimate>,
    /// The contender's CPU µs a good answer.
    pub server_cpu_us: Option<Estimate>,
    /// The client's CPU µs a good answer.
    pub client_cpu_us: Option<Estimate>,
    /// Median service time, µs.
    pub p50_us: Option<Estimate>,
    /// 99th percentile of service time, µs.
    pub p99_us: Option<Estimate>,
    /// The worst verdict over its blocks.
    pub verdict: Verdict,
    /// The findings behind it, one a check that applies: the worst over its blocks.
    pub findings: Vec<Finding>,
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

/// What is concluded where all contenders were offered the same rate: what an
/// answer costs each of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EqualRate {
    /// The load.
    pub load: Load,
    /// Requests offered a second.
    pub offered_rate: f64,
    /// How that rate was found, in one sentence.
    pub rule: String,
    /// The noise floor: the ratio, above 1, up to which the CPU time of two identical
    /// entries differs. `None` where too few blocks of an A/A pair stand.
    pub noise_floor: Option<f64>,
    /// One row a contender that was measured, the cheapest answer first.
    pub rows: Vec<EqualRateRow>,
    /// The finding in one sentence, or why there is none.
    pub sentence: String,
}

/// One contender at the rate that all were offered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EqualRateRow {
    /// The contender's name.
    pub contender: String,
    /// Its rank from 1, equal among ties; `None` where it may not be ranked.
    pub rank: Option<u32>,
    /// Why it has no rank.
    pub unranked: Option<String>,
    /// The contender's CPU µs a good answer, which is what ranks it.
    pub server_cpu_us: Option<Estimate>,
    /// The same, divided by the best ranked row's, from paired blocks.
    pub cpu_ratio: Option<Estimate>,
    /// Good answers a second.
    pub rate: Estimate,
    /// Median response time, from when a request was due, in µs.
    pub p50_us: Option<Estimate>,
    /// 99th percentile of response time, in µs.
    pub p99_us: Option<Estimate>,
    /// The worst verdict over its blocks.
    pub verdict: Verdict,
    /// The findings behind it, one a check that applies: the worst over its blocks.
    pub findings: Vec<Finding>,
}

/// What is concluded from shares of each contender's own maximum: how its
/// response time grows with the rate. Nobody is ranked by it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Curve {
    /// The closed loop that the shares are of.
    pub load: Load,
    /// One line a contender that was to be measured.
    pub lines: Vec<CurveLine>,
}

/// One contender's line of a curve.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CurveLine {
    /// The contender's name.
    pub contender: String,
    /// Its answers a second in the closed loop, as known when the curve was begun,
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
    /// Requests offered a second.
    pub offered_rate: f64,
    /// Good answers a second.
    pub rate: Estimate,
    /// Median response time, from when a request was due, in µs.
    pub p50_us: Option<Estimate>,
    /// 99th percentile of response time, in µs.
    pub p99_us: Option<Estimate>,
    /// The contender's CPU µs a good answer.
    pub server_cpu_us: Option<Estimate>,
    /// The worst verdict over its blocks.
    pub verdict: Verdict,
    /// The findings behind it, one a check that applies: the worst over its blocks.
    pub findings: Vec<Finding>,
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
