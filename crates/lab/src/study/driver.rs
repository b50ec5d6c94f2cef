//! What puts work on contenders: `[driver]` of `study.toml`, and `[[parameter]]`.

use std::collections::BTreeMap;

use result::figure::{Better, Figure, Unit};
use result::kind::Kind;
use result::plan::{Dimension, Value};
use serde::Deserialize;
use toml::Spanned;

use super::limits;

/// What puts work on a contender.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Driver {
    /// Which it is.
    pub kind: DriverKind,
    /// What the load generator speaks with a contender.
    pub protocol: Option<Protocol>,
    /// What is counted of a contender that drives itself.
    pub unit: Option<Noun>,
}

/// The drivers that there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DriverKind {
    /// The load generator.
    Generator,
    /// The contender itself, which works and tells of it.
    Program,
}

/// What the load generator can speak.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Protocol {
    /// HTTP/1.1.
    Http1,
    /// What each store speaks: RESP, or memcached's text protocol.
    Keys,
    /// Frames, by which robots join rooms and speak with each other.
    Rooms,
}

/// What something is called.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Noun {
    /// One of it: `message`.
    #[serde(deserialize_with = "limits::phrase")]
    pub one: String,
    /// Several: `messages`.
    #[serde(deserialize_with = "limits::phrase")]
    pub many: String,
}

/// A parameter of contenders that drive themselves: a dimension of the study.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameter {
    /// What it is passed as: `pairs` of `--pairs 100`.
    #[serde(deserialize_with = "limits::option")]
    pub name: Spanned<String>,
    /// What its values count, where they are numbers.
    pub unit: Option<Noun>,
    /// The values that it can have, where they are no numbers, each with its words.
    #[serde(default)]
    pub words: BTreeMap<String, String>,
}

/// A figure that contenders tell of themselves, in their result: `[[figure]]`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToldFigure {
    /// What it stands under in a result.
    #[serde(deserialize_with = "limits::result_name")]
    pub id: String,
    /// What readers call it.
    #[serde(deserialize_with = "limits::phrase")]
    pub title: String,
    /// The same in the head of a column.
    #[serde(deserialize_with = "limits::phrase")]
    pub short: String,
    /// What it is told in.
    pub unit: ToldUnit,
    /// Which end of it is the good one.
    pub better: Better,
}

/// What contenders tell their own figures in.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToldUnit {
    /// Bytes.
    Bytes,
    /// So many of something.
    Number,
}

impl ToldFigure {
    /// As a run's record has it.
    pub(super) fn figure(&self) -> Figure {
        let unit = match self.unit {
            ToldUnit::Bytes => Unit::Bytes,
            ToldUnit::Number => Unit::Count,
        };
        Figure::told(&self.id, &self.title, &self.short, unit, self.better)
    }
}

impl Driver {
    /// The kind of its study. One that lacks its protocol is refused.
    pub fn study(&self) -> Kind {
        match (self.kind, self.protocol) {
            (DriverKind::Program, _) => Kind::Program,
            (DriverKind::Generator, Some(Protocol::Keys)) => Kind::Keys,
            (DriverKind::Generator, Some(Protocol::Rooms)) => Kind::Rooms,
            (DriverKind::Generator, _) => Kind::Http,
        }
    }

    /// What speaks against it whatever its kind.
    pub(super) fn complaint(&self) -> Option<&'static str> {
        let is_missing = self.kind == DriverKind::Generator && self.protocol.is_none();
        is_missing
            .then_some("missing key `protocol`: the load generator has to know what it speaks")
    }
}

impl Parameter {
    /// As a run's record has it.
    pub(super) fn dimension(&self) -> Dimension {
        let unit = self.unit.clone().unwrap_or_default();
        let (id, words) = (self.name.get_ref().clone(), self.words.clone());
        Dimension { id, one: unit.one, many: unit.many, words }
    }

    /// What speaks against it.
    pub(super) fn complaint(&self) -> Option<&'static str> {
        let has_one = self.unit.is_some() == self.words.is_empty();
        match &**self.name.get_ref() {
            _ if !has_one => Some("a parameter has either `unit`, for numbers, or `words`"),
            "seed" | "seconds" | "records" => {
                Some("each program is started with `--seed`, `--seconds` and `--records` already")
            }
            _ => None,
        }
    }

    /// Its values in a setting of a file.
    ///
    /// # Errors
    /// What they have to be.
    pub(super) fn values(&self, file: &toml::Value) -> Result<Vec<Value>, String> {
        let value = |value: &toml::Value| match value {
            toml::Value::Integer(number) if self.words.is_empty() => {
                u64::try_from(*number).ok().map(Value::Number)
            }
            toml::Value::String(word) if self.words.contains_key(word) => {
                Some(Value::Word(word.clone()))
            }
            _ => None,
        };
        let allowed = || {
            if self.words.is_empty() {
                "a list of whole numbers that aren't negative".to_string()
            } else {
                let words = self.words.keys().map(|word| format!("`{word}`"));
                format!("a list of some of {}", words.collect::<Vec<_>>().join(", "))
            }
        };
        let values = file.as_array().and_then(|list| list.iter().map(value).collect());
        let values: Option<Vec<Value>> = values;
        let values = values.filter(|values| !values.is_empty());
        values.ok_or_else(|| format!("this has to be {}", allowed()))
    }
}
