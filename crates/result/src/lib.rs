//! What a run saw and what is concluded from it: the data of `run.json`.
//!
//! Data only. The lab fills it, the report reads it, and neither knows the
//! other. The four parts follow the flow of a run:
//!
//! - [`plan`]: what was asked, of whom, on which machine;
//! - [`evidence`]: what one trial saw, as facts without opinion;
//! - [`finding`]: one check's word on that evidence;
//! - [`outcome`]: estimates over blocks, with the verdict each may carry.
//!
//! Which [`kind`] of study a run is of stands in it; nobody concludes that from what else is there.
//!
//! [`shell`] writes the commands in it as a shell reads them, for the lab and the report
//! alike.
//!
//! Units are in the names: `_us` microseconds, `_s` seconds, `_bytes` bytes,
//! `_share` a fraction from 0 to 1. Times of day are UTC in RFC 3339.

pub mod comparison;
pub mod durability;
pub mod evidence;
pub mod figure;
pub mod finding;
pub mod kind;
pub mod outcome;
pub mod plan;
pub mod sampled;
pub mod scripts;
pub mod setting;
pub mod shell;

use serde::{Deserialize, Serialize};

/// The version of `run.json`. It grows by one when a reader of the older form
/// would misread the newer one; added fields alone do not change it.
///
/// 2: loads have `arrivals`. Who reads by 1 would take an open loop's trials for
/// those of the closed loop.
///
/// 3: a rate that is a lower bound says so by its own `at_least`, as times do, and
/// no longer by `rate_at_least` beside it. Who reads by 2 would miss it.
///
/// 4: where each request has a connection of its own, a row's times have the wait for it
/// in them. Beside those of 3 they would look like a server that became slower.
///
/// 5: loads of HTTP became settings of any dimensions, a row's fields became figures that the
/// study describes, and the load became work and clients. Who reads by 4 would find none of
/// these.
///
/// 6: the times of a store's operations stand in the work, as those of requests with names do.
/// Who reads by 5 would take a store that was read from for one that was only written to.
pub const SCHEMA: u32 = 6;

/// The oldest version that is still read.
pub const SCHEMA_OLDEST: u32 = 1;

/// A whole run: the content of `run.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// Always [`SCHEMA`]: a run of an older version is brought to it when it is read.
    pub schema: u32,
    /// The version of bakeoff that wrote the file.
    pub bakeoff: String,
    /// SHA-256 of the program itself, in hex, which tells builds of one version apart.
    /// `None` if it couldn't be read, and where trials were made by more than one.
    pub bakeoff_sha256: Option<String>,
    /// The name of the run, which is also the name of its folder.
    pub id: String,
    /// When the run began, RFC 3339, UTC.
    pub started: String,
    /// Whether all planned trials are in it.
    pub state: State,
    /// The command that repeats this run.
    pub command: String,
    /// The machine it ran on.
    pub machine: plan::Machine,
    /// The hosts that the load came from, in the order of the user's file; none where it came from
    /// the same machine.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<plan::ClientHost>,
    /// The folder of studies that its study lies in, as seen from the run's own folder. `None`
    /// where that can't be told, and in older runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub studies: Option<String>,
    /// The question.
    pub study: plan::Study,
    /// The contenders, those that could not be had among them.
    pub contenders: Vec<plan::Contender>,
    /// What was to be measured, in which order.
    pub plan: plan::Plan,
    /// What was measured, in the order of measuring.
    pub trials: Vec<Trial>,
    /// Trials that were made again, because others used the machine meanwhile.
    /// No figure is made of them.
    #[serde(default)]
    pub disturbed: Vec<Trial>,
    /// Trials that failed, so that they have no figure, and were made again when the run was
    /// resumed.
    #[serde(default)]
    pub failed: Vec<Trial>,
    /// Planned trials that are not to be made, with the reason.
    #[serde(default)]
    pub left_out: Vec<LeftOut>,
    /// Where the run's time went.
    #[serde(default)]
    pub spent: Spent,
    /// What follows from what all did as fast as it goes, then from one rate for all. Empty
    /// until the run is complete or stopped, as are the next.
    pub outcomes: Vec<outcome::Outcome>,
    /// What follows from shares of each contender's own maximum.
    #[serde(default)]
    pub curves: Vec<outcome::Curve>,
    /// What stores kept of what they acknowledged; empty where nobody looked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub durability: Vec<durability::Durability>,
    /// What gateways did where robots don't do what is usual; empty where nobody looked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scripts: Vec<scripts::ScriptsSeen>,
    /// What became of the study's claims, in its order.
    #[serde(default)]
    pub claims: Vec<outcome::ClaimOutcome>,
}

impl Run {
    /// What is known of a store's class; `None` where nobody cut it off.
    pub fn classes(&self, contender: &str) -> Option<durability::Classes> {
        let seen = self.durability.iter().find(|it| it.contender == contender)?;
        Some(seen.classes())
    }

    /// What a gateway did in scripts; `None` where none was played with it.
    pub fn scripts(&self, contender: &str) -> Option<&scripts::ScriptsSeen> {
        self.scripts.iter().find(|it| it.contender == contender)
    }

    /// A contender's row under a setting.
    pub fn row(&self, setting: &plan::Setting, contender: &str) -> Option<&outcome::Row> {
        let of_setting = self.outcomes.iter().filter(|outcome| outcome.setting == *setting);
        of_setting.flat_map(|outcome| &outcome.rows).find(|row| row.contender == contender)
    }

    /// What follows from one kind of pace.
    pub fn outcomes_at(&self, pace: plan::PaceKind) -> impl Iterator<Item = &outcome::Outcome> {
        self.outcomes.iter().filter(move |outcome| outcome.setting.pace.kind() == pace)
    }
}

/// How far a run got.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Trials are missing: it runs still, or was stopped and can be resumed.
    Unfinished,
    /// Every planned trial was made, or left out for a reason.
    Complete,
}

/// Where a run's time went, in seconds. What the parts leave of the whole went into
/// judging, and into what no part has.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Spent {
    /// From the first trial to the end, builds left out; where the run was resumed,
    /// of all its parts.
    pub whole_s: f64,
    /// Measured windows.
    pub window_s: f64,
    /// Load before them.
    pub warmup_s: f64,
    /// Trials made once more with a second client, from start to stop.
    #[serde(default)]
    pub second_client_s: f64,
    /// Stores cut off, and read back.
    #[serde(default)]
    pub cuts_s: f64,
    /// Scripts played with gateways.
    #[serde(default)]
    pub scripts_s: f64,
    /// Stores filled with keys before the load.
    #[serde(default)]
    pub fill_s: f64,
    /// Connections opened ahead of the load, and answers awaited after it.
    pub connect_s: f64,
    /// Contenders starting, until their first right answer.
    pub start_s: f64,
    /// The contract's steps.
    pub contract_s: f64,
    /// Contenders stopping.
    pub stop_s: f64,
    /// Trials written down.
    pub keep_s: f64,
}

impl Spent {
    /// Seconds that were neither load nor trials with a second client nor cuts nor scripts: the
    /// lab's own.
    pub fn overhead_s(&self) -> f64 {
        let of_trials = self.window_s + self.warmup_s + self.second_client_s;
        self.whole_s - of_trials - self.cuts_s - self.scripts_s
    }
}

/// Trials of one contender under one setting that are not to be made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LeftOut {
    /// The contender's name.
    pub contender: String,
    /// The setting.
    pub setting: plan::Setting,
    /// Why, in one sentence.
    pub reason: String,
}

/// One fresh process of one contender under one setting, with what it showed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// Which trial of the plan this is.
    pub slot: plan::Slot,
    /// When it began, RFC 3339, UTC.
    pub started: String,
    /// What was seen; how far it got where the contender failed.
    pub evidence: evidence::Evidence,
    /// What the checks say of it, the worst first.
    pub findings: Vec<finding::Finding>,
}
