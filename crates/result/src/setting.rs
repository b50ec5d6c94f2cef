//! Under what contenders are compared.
//!
//! A study declares its [`Dimension`]s, such as connections at once. A [`Setting`] has a value
//! of each, and settings are only compared for equality and shown by declared names: nothing
//! in judging or reports knows what a dimension means, but for those that the load
//! generator itself has.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The load generator's dimension of connections at once: a number.
pub const CONNECTIONS: &str = "connections";
/// The load generator's dimension of whether a connection serves many requests or one: a flag.
pub const KEPT: &str = "kept";
/// The load generator's dimension of how many hosts the load comes from: a number. A setting
/// without it has the load of one client on the contender's machine, or of all hosts of the run.
pub const CLIENTS: &str = "clients";
/// The dimension of what stores are asked: a word.
pub const ASKS: &str = "asks";
/// The dimension of how large their values are, in bytes: a number.
pub const VALUE_BYTES: &str = "value_bytes";
/// The dimension of how many keys they have: a number.
pub const KEYS: &str = "keys";
/// The dimension of how many robots are in a room together: a number.
pub const ROOM: &str = "room";
/// The dimension of how long their messages are, in bytes: a number.
pub const MESSAGE_BYTES: &str = "bytes";

/// Under what contenders are compared.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Setting {
    /// Cores given to the contender.
    pub cores: Cores,
    /// A value of each dimension of the study, by its id, in the study's order.
    pub values: Vec<(String, Value)>,
    /// How fast work comes.
    pub pace: Pace,
}

impl Setting {
    /// A closed loop of the load generator.
    pub fn closed(connections: u32, cores: Cores, kept: bool) -> Setting {
        let values = vec![
            (CONNECTIONS.to_string(), Value::Number(connections.into())),
            (KEPT.to_string(), Value::Flag(kept)),
        ];
        Setting { cores, values, pace: Pace::Free }
    }

    /// The same at another pace.
    pub fn with(&self, pace: Pace) -> Setting {
        Setting { pace, ..self.clone() }
    }

    /// The value of a dimension; `None` where the study has no such.
    pub fn value(&self, dimension: &str) -> Option<&Value> {
        self.values.iter().find(|(id, _)| id == dimension).map(|(_, value)| value)
    }

    /// Gives a dimension another value.
    pub fn set(&mut self, dimension: &str, value: impl Into<Value>) {
        let value = value.into();
        match self.values.iter_mut().find(|(id, _)| id == dimension) {
            Some((_, known)) => *known = value,
            None => self.values.push((dimension.into(), value)),
        }
    }

    /// The load generator's connections at once; 0 where something else drives contenders.
    pub fn connections(&self) -> u32 {
        let connections = self.number(CONNECTIONS).unwrap_or(0);
        u32::try_from(connections).unwrap_or(u32::MAX)
    }

    /// How many hosts its load comes from; `None` where it doesn't say.
    pub fn clients(&self) -> Option<usize> {
        self.number(CLIENTS).and_then(|count| usize::try_from(count).ok())
    }

    /// Whether connections serve many requests. Those of studies that know no other are kept.
    pub fn kept(&self) -> bool {
        self.value(KEPT) != Some(&Value::Flag(false))
    }

    /// A dimension's number; `None` where the study has no such, or its value is none.
    pub fn number(&self, dimension: &str) -> Option<u64> {
        match self.value(dimension) {
            Some(Value::Number(number)) => Some(*number),
            _ => None,
        }
    }
}

/// The value of a dimension.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Value {
    /// Yes or no.
    Flag(bool),
    /// How much or how many.
    Number(u64),
    /// One of several that have names.
    Word(String),
}

impl From<bool> for Value {
    fn from(flag: bool) -> Value {
        Value::Flag(flag)
    }
}

impl From<String> for Value {
    fn from(word: String) -> Value {
        Value::Word(word)
    }
}

impl From<u64> for Value {
    fn from(number: u64) -> Value {
        Value::Number(number)
    }
}

/// As data have it: `true`, `100`, `zipf`.
impl std::fmt::Display for Value {
    fn fmt(&self, to: &mut std::fmt::Formatter) -> std::fmt::Result {
        match self {
            Value::Flag(flag) => flag.fmt(to),
            Value::Number(number) => number.fmt(to),
            Value::Word(word) => word.fmt(to),
        }
    }
}

/// In what settings of a study may differ, beside cores and pace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dimension {
    /// What its values stand under in a [`Setting`].
    pub id: String,
    /// What one of it is called, where its values are numbers: `connection`.
    #[serde(default)]
    pub one: String,
    /// What many of it are called: `connections`.
    #[serde(default)]
    pub many: String,
    /// What readers see for a value that is no number: of `true`, `kept alive`.
    #[serde(default)]
    pub words: BTreeMap<String, String>,
}

/// How fast work comes to a contender. A rate that nobody chose is known only after the same
/// run's free pace, so a plan has it as a share; a trial's evidence has the rate itself.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Pace {
    /// As fast as it goes: of the load generator, a closed loop.
    #[default]
    Free,
    /// At one rate for all contenders: this share of the lowest of their maxima.
    Equal {
        /// Out of 100.
        percent: u32,
    },
    /// At one rate for all contenders that somebody chose.
    Fixed {
        /// Units of work a second.
        per_s: u32,
    },
    /// At this share of the contender's own maximum.
    Own {
        /// Out of 100; more offers what it can't do.
        percent: u32,
    },
}

impl Pace {
    /// Which kind it is.
    pub fn kind(self) -> PaceKind {
        match self {
            Pace::Free => PaceKind::Free,
            Pace::Equal { .. } | Pace::Fixed { .. } => PaceKind::Equal,
            Pace::Own { .. } => PaceKind::Own,
        }
    }

    /// The share of a maximum, out of 100; `None` where it isn't one.
    pub fn percent(self) -> Option<u32> {
        match self {
            Pace::Free | Pace::Fixed { .. } => None,
            Pace::Equal { percent } | Pace::Own { percent } => Some(percent),
        }
    }
}

/// A pace without its share: the part of a plan that a setting belongs to. In the order of
/// measuring, since the others need the maxima that the free pace shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PaceKind {
    /// As fast as it goes.
    Free,
    /// One rate for all.
    Equal,
    /// Shares of each contender's own maximum.
    Own,
}

impl PaceKind {
    /// All of them, in order.
    pub const ALL: [PaceKind; 3] = [PaceKind::Free, PaceKind::Equal, PaceKind::Own];
}

/// How many cores a contender is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cores {
    /// One core, the client on the others.
    One,
    /// Every core of the machine, but for those that the client can have alone.
    All,
}
