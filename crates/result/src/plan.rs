//! What a run was asked to do: the study, its contenders, the machine, and the
//! trials in their order.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::figure::{Figure, RATE};
use crate::kind::Kind;
pub use crate::setting::{Cores, Dimension, Pace, PaceKind, Setting, Value};

/// The question that a study asks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Study {
    /// Its folder's name under `studies/`.
    pub name: String,
    /// A short title.
    pub title: String,
    /// The question in one or two sentences.
    pub question: String,
    /// What a contender must do, in one or two sentences.
    pub contract: String,
    /// Which kind of study it is.
    pub kind: Kind,
    /// In what its settings differ, in the order of their values.
    #[serde(default)]
    pub dimensions: Vec<Dimension>,
    /// What contenders are compared by. The first is what every row has.
    #[serde(default)]
    pub figures: Vec<Figure>,
    /// The same as it is asked.
    pub asks: Option<Asks>,
    /// Lighter contracts, for contenders that can't do all of it.
    #[serde(default)]
    pub lighter: Vec<LighterContract>,
    /// Figures that somebody published for the same question.
    pub published: Vec<Published>,
    /// What somebody claimed, for the run to decide.
    #[serde(default)]
    pub claims: Vec<Claim>,
    /// What its figures can't say, a sentence each.
    #[serde(default)]
    pub cannot_say: Vec<String>,
    /// SHA-256 of its `study.toml`, in hex, so that no run is gone on with under
    /// another contract.
    pub file_sha256: Option<String>,
}

/// A host that load came from.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientHost {
    /// Its name, as the user's file has it.
    pub name: String,
    /// Its kernel's version.
    pub kernel: String,
    /// The processors that its load may use.
    pub cpus: Vec<usize>,
    /// Whether it is the contenders' machine all the same.
    pub is_here: bool,
}

impl Study {
    /// One of its figures.
    pub fn figure(&self, id: &str) -> Option<&Figure> {
        self.figures.iter().find(|figure| figure.id == id)
    }

    /// What its rates are of: `requests a second`.
    pub fn rate_of(&self) -> &str {
        let words = self.figure(RATE).and_then(|figure| figure.words.as_ref());
        words.map_or("units of work a second", |words| &words.of)
    }
}

/// A contract that asks for less than the study's own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LighterContract {
    /// The name that contenders call it by.
    pub name: String,
    /// What it asks for and what it leaves out, in one or two sentences.
    pub says: String,
    /// What it asks for.
    pub asks: Option<Asks>,
}

/// What a contract asks of a contender, beside what is asked of all.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asks {
    /// Path and query that are asked for, with placeholders.
    pub path: String,
    /// The status of a right answer.
    pub status: RightStatus,
    /// What its body holds, with placeholders.
    pub body: String,
    /// Whether that is all of it.
    pub whole_body: bool,
    /// Whether a part of each answer is made anew.
    pub fresh: bool,
    /// Whether nothing but answers is asked about, and not what a contender does with odd requests.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub answers_only: bool,
    /// Requests that have to be refused.
    pub refuses: Vec<Refusal>,
    /// The requests that are asked, where that isn't one GET of `path` without more.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requests: Vec<AskedRequest>,
}

/// Which statuses a right answer may have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum RightStatus {
    /// This one.
    One(u16),
    /// Any of a list, as `200-299,304`.
    List(String),
}

impl fmt::Display for RightStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RightStatus::One(status) => write!(f, "{status}"),
            RightStatus::List(list) => write!(f, "{list}"),
        }
    }
}

/// One of the requests that a contract asks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AskedRequest {
    /// What it is called, where its times are told apart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its method.
    pub method: String,
    /// Its path and query, with placeholders.
    pub path: String,
    /// Its own headers, with placeholders. A secret is `{env:NAME}`.
    pub headers: Vec<(String, String)>,
    /// Bytes of its body, before placeholders are filled in.
    pub body_bytes: u64,
    /// SHA-256 of its body, in hex; `None` where it has none.
    pub body_sha256: Option<String>,
    /// How often it is sent beside the others.
    pub weight: u32,
    /// The status of a right answer to it.
    pub status: RightStatus,
    /// What the body of that answer holds, with placeholders; empty where it is held to none.
    pub answer_body: String,
}

/// How long the bodies of a contender's right answers are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum BodyBytes {
    /// All of them have so many bytes.
    All(u64),
    /// Those to each of the contract's requests.
    Each(Vec<u64>),
}

impl BodyBytes {
    /// Of the answer to the request with this number, from 0.
    pub fn of(&self, request: usize) -> Option<u64> {
        match self {
            BodyBytes::All(bytes) => Some(*bytes),
            BodyBytes::Each(bytes) => bytes.get(request).copied(),
        }
    }
}

/// A request that has to be refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// Its method.
    pub method: String,
    /// Its path and query.
    pub path: String,
    /// The status that it has to get.
    pub status: u16,
}

/// A claim that one contender is better than others by a figure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Claim {
    /// In its author's words.
    pub says: String,
    /// Who said it, and when.
    pub source: String,
    /// The contender that it speaks for.
    pub contender: String,
    /// Those that it has to be ahead of.
    pub against: Vec<String>,
    /// The id of the figure that decides.
    #[serde(default = "rate")]
    pub figure: String,
    /// How many times as good its contender is at least, by its words; `None` if they only say
    /// better.
    #[serde(default)]
    pub lead: Option<f64>,
    /// The cores that it speaks of; `None` of any.
    #[serde(default)]
    pub cores: Option<Cores>,
    /// The settings that it speaks of, by values of dimensions.
    pub values: BTreeMap<String, Vec<Value>>,
}

/// What decides claims that don't say it.
fn rate() -> String {
    RATE.into()
}

/// A row of figures that somebody published.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Published {
    /// What was measured, as its author named it.
    pub row: String,
    /// The contender of today that it is set beside, if there is one.
    pub contender: Option<String>,
    /// Who published it, and when.
    pub source: String,
    /// What was wrong with it, where that is known.
    pub mistake: Option<String>,
    /// Cores that it had.
    pub cores: Option<Cores>,
    /// The figures, one a setting.
    pub figures: Vec<PublishedFigure>,
}

/// One published figure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PublishedFigure {
    /// The values of the study's dimensions that it was measured under; those that aren't known
    /// are left out.
    #[serde(default)]
    pub values: Vec<(String, Value)>,
    /// Units of work a second.
    pub rate: f64,
    /// The time within which 99 % of requests were answered, in milliseconds.
    pub p99_ms: Option<f64>,
}

/// How a contender was made, which decides what it may be ranked with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tier {
    /// As the documentation of the thing shows it.
    Idiomatic,
    /// With settings that its documentation recommends for load.
    Tuned,
    /// Hand-made for benchmarks.
    Engine,
}

impl Tier {
    /// The word that readers see.
    pub fn word(self) -> &'static str {
        match self {
            Tier::Idiomatic => "idiomatic",
            Tier::Tuned => "tuned",
            Tier::Engine => "engine",
        }
    }
}

/// A program to compare.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Contender {
    /// Its folder's name under the study's.
    pub name: String,
    /// A short title for tables.
    pub title: String,
    /// The language that its author would name.
    pub language: String,
    /// How it was made; `None` of a command that nobody wrote a contender for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tier: Option<Tier>,
    /// The lighter contract that it keeps; `None` for the study's full one.
    pub lighter_contract: Option<String>,
    /// What it is spoken with, for readers: of a gateway that speaks no frames. `None` of anything
    /// else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wire: Option<String>,
    /// What a reader of its figures has to know of it, in its author's words.
    pub remark: Option<String>,
    /// Versions as the thing itself told them: what, and the first line said.
    pub versions: Vec<Version>,
    /// Folders beside its own that it is made from as well, as its file names them:
    /// `../NAME`.
    #[serde(default)]
    pub sources: Vec<String>,
    /// SHA-256 over the files of its folder and of its sources, without what builds made
    /// there, in hex, so that what was measured can be told from what is there now;
    /// `None` if they couldn't be read.
    pub source_sha256: Option<String>,
    /// The command that built it, empty if there was nothing to build; `None` in
    /// records of versions that didn't keep it.
    pub build: Option<Vec<String>>,
    /// The texts that it is built from, scripts first, as far as there is room for them: flags
    /// may stand there. None in records of versions that didn't keep them.
    #[serde(default)]
    pub build_files: Vec<TextFile>,
    /// The texts of the files of its folder that each trial has a copy of, with their
    /// placeholders filled in there: its configuration. None in records of versions that
    /// didn't keep them.
    #[serde(default)]
    pub configuration: Vec<TextFile>,
    /// The command that starts it. `$HOST`, `$PORT` and the like stand for what
    /// differs from trial to trial. Empty of one that runs already.
    pub run: Vec<String>,
    /// Where it listens whatever it is told; `None` where it listens as it is told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// Bytes of the body of its right answer, where it is held to a length of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body_bytes: Option<BodyBytes>,
    /// The settings it sets beside that, as text, for disclosure. `{env:NAME}` stands for what
    /// it is handed on from the environment of bakeoff, which isn't kept.
    pub environment: Vec<(String, String)>,
    /// Seconds of load that it needs before it is measured, where the plan gives
    /// less; 0 where the plan's are enough.
    #[serde(default)]
    pub warmup_s: f64,
    /// Why it is absent from the run, if it is: what is missing and what gives it.
    pub absent: Option<String>,
}

/// A text file that a contender is built or run with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TextFile {
    /// Its name, from the contender's folder.
    pub name: String,
    /// What it holds.
    pub text: String,
    /// Whether that is only its beginning, because it is longer.
    pub cut: bool,
}

/// A version that a program told of itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Version {
    /// The program.
    pub of: String,
    /// What it said.
    pub says: String,
}

/// The machine, as it told of itself before the first trial.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Machine {
    /// The processor's name.
    pub cpu: String,
    /// Processors that this run may use, by number.
    pub cpus: Vec<usize>,
    /// Groups of those that share a physical core; a group of one has its own. Empty where
    /// the machine doesn't tell.
    pub smt_siblings: Vec<Vec<usize>>,
    /// Groups of those on one NUMA node. Empty where the machine doesn't tell, and in older runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub numa_nodes: Vec<Vec<usize>>,
    /// Groups of those that are equally fast, the fastest first. Empty where the machine doesn't
    /// tell, and in older runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub speeds: Vec<Vec<usize>>,
    /// The tightest CPU quota above bakeoff, in cores. `None` where there is none, or it can't
    /// be seen, and in older runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_quota_cores: Option<f64>,
    /// Bytes of memory.
    pub memory_bytes: Option<u64>,
    /// Name and version of the kernel.
    pub kernel: String,
    /// The distribution's name for itself.
    pub distribution: String,
    /// Whether it is a virtual machine, as far as the processor tells.
    pub virtual_machine: Option<bool>,
    /// Open files allowed to a process.
    pub open_files_max: u64,
    /// Settings of the kernel that matter for the load, by name.
    pub sysctl: Vec<(String, String)>,
}

impl Machine {
    /// The processors by physical core: each by itself where the machine doesn't tell.
    pub fn cores(&self) -> Vec<Vec<usize>> {
        if self.smt_siblings.is_empty() {
            self.cpus.iter().map(|&cpu| vec![cpu]).collect()
        } else {
            self.smt_siblings.clone()
        }
    }
}

/// The trials in the order of measuring, and what made that order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// The profile's name, such as `quick`; `part of quick` where options chose of it.
    pub profile: String,
    /// The seed of the shuffle and of every trial's load.
    pub seed: u64,
    /// Blocks of the free pace: each holds every contender once a setting,
    /// shuffled.
    pub blocks: u32,
    /// Seconds measured a trial.
    pub measure_s: f64,
    /// Seconds of load before measuring.
    pub warmup_s: f64,
    /// Whether contenders may leave cores idle: the study doesn't expect its work to keep
    /// them busy.
    #[serde(default)]
    pub may_idle: bool,
    /// How often each store is cut off in each way before it is timed.
    #[serde(default)]
    pub cuts: u32,
    /// The scripts that are played with each gateway before it is timed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scripts: Vec<Script>,
    /// All trials, in order, with the A/A pairs of classes once these are known; then those that
    /// were added for another A/A pair, each of which is made at the end of its block.
    pub slots: Vec<Slot>,
}

impl Plan {
    /// Seconds of load before a contender is measured: the plan's, or its own
    /// where it needs more.
    pub fn warmup_s_of(&self, contender: &Contender) -> f64 {
        self.warmup_s.max(contender.warmup_s)
    }
}

/// What is played once with a gateway's robots, beside trials.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Script {
    /// A few robots read nothing for some time.
    Slow,
    /// All robots end at once and come back: once by closing, once by breaking off.
    Storm,
}

/// One planned trial.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Slot {
    /// Its number in the order of measuring, from 0; of one that was added, the next
    /// that was free.
    pub number: u32,
    /// Its block, from 0.
    pub block: u32,
    /// The contender's name.
    pub contender: String,
    /// Set on the second of two identical entries, the A/A pair, whose
    /// difference is the noise floor.
    pub twin: bool,
    /// What it is put under.
    pub setting: Setting,
}
