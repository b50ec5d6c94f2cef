//! How much is measured: `[profile.NAME]` of `study.toml`.

use std::collections::BTreeMap;

use result::plan::{Cores, Pace, Setting, Value};
use serde::Deserialize;
use toml::Spanned;

use super::limits;
use super::{Asks, Parameter};

/// What is expected of contenders beside their contract: `[expects]`.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expects {
    /// Whether the work keeps all cores busy that a contender is given.
    pub saturates: bool,
}

impl Default for Expects {
    fn default() -> Expects {
        Expects { saturates: true }
    }
}

/// How much is measured.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// Blocks of the closed loop and of the equal rate: each holds every
    /// contender once a load.
    #[serde(deserialize_with = "limits::blocks")]
    pub blocks: u32,
    /// Seconds measured a trial.
    #[serde(deserialize_with = "limits::seconds")]
    pub measure_s: f64,
    /// Seconds of load before measuring.
    #[serde(deserialize_with = "limits::seconds")]
    pub warmup_s: f64,
    /// How often each store is cut off in each way before it is timed; not at all, if it isn't
    /// said.
    #[serde(default, deserialize_with = "limits::cuts")]
    pub cuts: u32,
    /// What contenders are compared under in the closed loop. None where nothing is measured but
    /// one rate for all that somebody chose.
    pub settings: Vec<Settings>,
    /// One rate for all.
    pub equal_rate: Option<Spanned<EqualRate>>,
    /// One rate for all that somebody chose.
    pub fixed_rate: Option<Spanned<FixedRate>>,
    /// Rates up to each contender's own maximum, and beyond.
    pub curve: Option<Spanned<Curve>>,
    /// These contenders only, unless somebody chooses others; all, if none is
    /// named.
    #[serde(default)]
    pub contenders: Vec<Spanned<String>>,
}

/// Settings that have cores in common: one for each combination of values.
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "SettingsTable")]
pub struct Settings {
    /// Cores given to the contender.
    pub cores: Cores,
    /// Connections at once; none where contenders drive themselves.
    pub connections: Vec<u32>,
    /// Whether connections are kept alive.
    pub kept: Vec<bool>,
    /// What stores are asked, how many keys they have, and how large their values are.
    pub of_stores: OfStores,
    /// The values of a study's own parameters.
    pub parameters: BTreeMap<String, Spanned<toml::Value>>,
    /// These parameters, in the study's order. They stand elsewhere in its file.
    pub declared: Vec<Parameter>,
}

/// The values of the dimensions that only stores have: all empty for other contenders.
#[derive(Debug, Clone, Default)]
pub struct OfStores {
    /// What they are asked, by its name in the study's file.
    pub asks: Vec<String>,
    /// How many keys they have.
    pub keys: Vec<u64>,
    /// How large their values are, in bytes.
    pub value_bytes: Vec<u64>,
}

/// The same as a file has it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SettingsTable {
    #[serde(deserialize_with = "limits::cores")]
    cores: Cores,
    #[serde(default, deserialize_with = "limits::connections")]
    connections: Vec<u32>,
    #[serde(default = "kept_alive", deserialize_with = "limits::modes")]
    kept: Vec<bool>,
    #[serde(default)]
    asks: Vec<String>,
    #[serde(default, deserialize_with = "limits::keys")]
    keys: Vec<u64>,
    #[serde(default, deserialize_with = "limits::value_bytes")]
    value_bytes: Vec<u64>,
    #[serde(default)]
    parameters: BTreeMap<String, Spanned<toml::Value>>,
}

fn kept_alive() -> Vec<bool> {
    vec![true]
}

impl TryFrom<SettingsTable> for Settings {
    type Error = String;

    fn try_from(table: SettingsTable) -> Result<Settings, String> {
        let SettingsTable { cores, connections, kept, asks, keys, value_bytes, parameters } = table;
        let of_stores = OfStores { asks, keys, value_bytes };
        if connections.is_empty() && parameters.is_empty() {
            Err("missing key `connections`, or `parameters` of contenders that drive \
                 themselves"
                .into())
        } else {
            Ok(Settings { cores, connections, kept, of_stores, parameters, declared: Vec::new() })
        }
    }
}

/// An open loop at one rate for all contenders.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EqualRate {
    /// Cores given to the contender.
    #[serde(deserialize_with = "limits::cores")]
    pub cores: Cores,
    /// Connections at once.
    pub connections: u32,
    /// Whether they are kept alive.
    #[serde(default = "yes")]
    pub kept: bool,
    /// What stores are asked.
    pub asks: Option<String>,
    /// How many keys they have.
    pub keys: Option<u64>,
    /// How large their values are, in bytes.
    pub value_bytes: Option<u64>,
    /// The rate, out of 100 of the lowest maximum.
    #[serde(deserialize_with = "limits::percent")]
    pub percent: u32,
}

/// An open loop at a rate for all contenders that somebody chose.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FixedRate {
    /// Cores given to the contender.
    #[serde(deserialize_with = "limits::cores")]
    pub cores: Cores,
    /// Connections at once.
    pub connections: u32,
    /// Whether they are kept alive.
    #[serde(default = "yes")]
    pub kept: bool,
    /// Requests a second.
    #[serde(deserialize_with = "limits::rate")]
    pub per_s: u32,
}

/// Open loops at shares of each contender's own maximum.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Curve {
    /// Cores given to the contender.
    #[serde(deserialize_with = "limits::cores")]
    pub cores: Cores,
    /// Connections at once.
    pub connections: u32,
    /// Whether they are kept alive.
    #[serde(default = "yes")]
    pub kept: bool,
    /// What stores are asked.
    pub asks: Option<String>,
    /// How many keys they have.
    pub keys: Option<u64>,
    /// How large their values are, in bytes.
    pub value_bytes: Option<u64>,
    /// The rates, out of 100 of the contender's own maximum.
    #[serde(deserialize_with = "limits::percents")]
    pub percent: Vec<u32>,
    /// Blocks: each holds every contender once a rate.
    #[serde(deserialize_with = "limits::blocks")]
    pub blocks: u32,
}

fn yes() -> bool {
    true
}

impl Profile {
    /// The contenders that it names.
    pub fn contender_names(&self) -> Vec<String> {
        self.contenders.iter().map(|name| name.get_ref().clone()).collect()
    }

    /// Tells its settings what parameters their study has.
    pub(super) fn declare(&mut self, parameters: &[Parameter]) {
        for settings in &mut self.settings {
            settings.declared = parameters.to_vec();
        }
    }

    /// All settings at a free pace, each once.
    pub fn free_settings(&self) -> Vec<Setting> {
        let mut settings = Vec::new();
        for declared in &self.settings {
            for setting in declared.combinations() {
                if !settings.contains(&setting) {
                    settings.push(setting);
                }
            }
        }
        settings
    }
}

impl Settings {
    /// What speaks against its keys, in a study of stores or another.
    pub(super) fn store_complaint(
        &self,
        is_of_stores: bool,
        known: &BTreeMap<String, Asks>,
    ) -> Option<String> {
        let OfStores { asks, keys, value_bytes } = &self.of_stores;
        let given = [
            ("asks", asks.is_empty()),
            ("keys", keys.is_empty()),
            ("value_bytes", value_bytes.is_empty()),
        ];
        if !is_of_stores {
            let (name, _) = given.iter().find(|(_, is_empty)| !is_empty)?;
            return Some(format!("`{name}` is for a driver with `protocol = \"keys\"`"));
        }
        if let Some((name, _)) = given.iter().find(|(_, is_empty)| *is_empty) {
            return Some(format!("missing key `{name}` in the `settings` of a study of stores"));
        }
        let unknown = asks.iter().find(|asks| !known.contains_key(*asks))?;
        let have: Vec<String> = known.keys().map(|name| format!("`{name}`")).collect();
        let have = if have.is_empty() { "none".into() } else { have.join(", ") };
        Some(format!("there is no `[asks.{unknown}]`; the study has {have}"))
    }

    /// One setting for each combination of values of a store's dimensions.
    fn of_stores(&self) -> Vec<Setting> {
        let OfStores { asks, keys, value_bytes } = &self.of_stores;
        let mut all = Vec::new();
        for asks in asks {
            for &bytes in value_bytes {
                for &keys in keys {
                    let of = |&connections| {
                        Setting::of_store(connections, self.cores, asks, (keys, bytes))
                    };
                    all.extend(self.connections.iter().map(of));
                }
            }
        }
        all
    }

    /// One setting for each combination of values, the first dimension's going fastest.
    fn combinations(&self) -> Vec<Setting> {
        if !self.of_stores.asks.is_empty() {
            return self.of_stores();
        }
        if !self.connections.is_empty() {
            let each = self.kept.iter().flat_map(|&kept| {
                let loads = self.connections.iter();
                loads.map(move |&connections| Setting::closed(connections, self.cores, kept))
            });
            return each.collect();
        }
        let mut all = vec![Vec::new()];
        for parameter in self.declared.iter().rev() {
            let name = parameter.name.get_ref();
            let values = self.parameters.get(name).map(|it| parameter.values(it.get_ref()));
            let values = values.and_then(Result::ok).unwrap_or_default();
            all = all
                .iter()
                .flat_map(|others: &Vec<(String, Value)>| {
                    values
                        .iter()
                        .map(|value| [vec![(name.clone(), value.clone())], others.clone()].concat())
                })
                .collect();
        }
        let (cores, pace) = (self.cores, Pace::Free);
        all.into_iter().map(|values| Setting { cores, values, pace }).collect()
    }
}

/// A closed loop: of a store, where it says what that is asked.
fn closed_loop(
    connections: u32,
    cores: Cores,
    kept: bool,
    of_store: (Option<&str>, Option<u64>, Option<u64>),
) -> Setting {
    match of_store {
        (Some(asks), Some(keys), Some(bytes)) => {
            Setting::of_store(connections, cores, asks, (keys, bytes))
        }
        _ => Setting::closed(connections, cores, kept),
    }
}

impl FixedRate {
    /// Under what contenders are compared.
    pub fn setting(&self) -> Setting {
        let FixedRate { cores, connections, kept, per_s } = *self;
        Setting::closed(connections, cores, kept).with(Pace::Fixed { per_s })
    }
}

impl EqualRate {
    /// The closed loop that shows the maxima.
    pub fn closed_loop(&self) -> Setting {
        let of_store = (self.asks.as_deref(), self.keys, self.value_bytes);
        closed_loop(self.connections, self.cores, self.kept, of_store)
    }
}

impl Curve {
    /// The closed loop that shows the maxima.
    pub fn closed_loop(&self) -> Setting {
        let of_store = (self.asks.as_deref(), self.keys, self.value_bytes);
        closed_loop(self.connections, self.cores, self.kept, of_store)
    }
}
