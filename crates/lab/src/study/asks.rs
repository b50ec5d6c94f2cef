//! What stores are asked: `[asks.NAME]` of `study.toml`.

use std::collections::BTreeMap;

use load::plan::keys::{Chosen, Operation};
use serde::Deserialize;
use serde::de::{Deserializer, Error};

use super::limits;

/// What stores are asked, under a name that settings have.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Asks {
    /// What readers see for the name: `writes of all keys in turn`.
    #[serde(deserialize_with = "limits::phrase")]
    pub says: String,
    /// The operations, each with its weight.
    #[serde(deserialize_with = "mix")]
    pub mix: Vec<(Operation, u32)>,
    /// Which keys are asked for.
    #[serde(default = "uniform", deserialize_with = "key_choice")]
    pub key_choice: Chosen,
    /// Keys that one get asks for.
    #[serde(default = "one", deserialize_with = "limits::together")]
    pub keys_a_get: u16,
    /// Requests under way at once on a connection.
    #[serde(default = "one", deserialize_with = "limits::together")]
    pub pipeline: u16,
    /// Whether all keys are written before.
    #[serde(default = "yes")]
    pub preload: bool,
    /// Whether the store may throw values away.
    #[serde(default)]
    pub evicts: bool,
}

fn uniform() -> Chosen {
    Chosen::Uniform
}

fn one() -> u16 {
    1
}

fn yes() -> bool {
    true
}

fn mix<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<(Operation, u32)>, D::Error> {
    let table = BTreeMap::<String, u32>::deserialize(deserializer)?;
    if table.values().all(|&weight| weight == 0) {
        return Err(D::Error::custom(
            "this has to be operations with their weights: `{ get = 90, set = 10 }`",
        ));
    }
    let operation = |(name, weight): (String, u32)| match Operation::of_name(&name) {
        Some(operation) => Ok((operation, weight)),
        None => {
            let what = format!("there is no operation `{name}`: get, set, delete");
            Err(D::Error::custom(what))
        }
    };
    table.into_iter().map(operation).collect()
}

fn key_choice<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Chosen, D::Error> {
    let text = String::deserialize(deserializer)?;
    text.parse().map_err(|allowed| D::Error::custom(format!("this has to be {allowed}")))
}
