//! What follows from the trials: estimates over blocks, a rank with ties, and
//! the verdict that each figure carries.

use serde::{Deserialize, Serialize};

use crate::finding::{Finding, Verdict};
use crate::plan::Load;

/// What is concluded for one load: a row a contender.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// The load.
    pub load: Load,
    /// The noise floor of this load: the ratio, above 1, that two identical
    /// entries differ by. `None` where no A/A pair was run.
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
    /// Its rank from 1, equal among ties; `None` where it may not be ranked.
    pub rank: Option<u32>,
    /// Why it has no rank.
    pub unranked: Option<String>,
    /// Good answers a second.
    pub rate: Estimate,
    /// Whether the client was the limit, so that the rate is only a lower bound.
    pub rate_at_least: bool,
    /// Rate divided by the best ranked row's, from paired blocks.
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
    /// The findings behind it, one a check: the worst over its blocks.
    pub findings: Vec<Finding>,
}

/// A median over blocks with its interval and every block's value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// The median.
    pub median: f64,
    /// The 95 % interval; `None` with too few blocks for one.
    pub interval: Option<(f64, f64)>,
    /// Set on a time if requests without an answer are in a block's value, so
    /// that this is only a lower bound.
    #[serde(default)]
    pub at_least: bool,
    /// Every block's value, in block order.
    pub blocks: Vec<f64>,
}
