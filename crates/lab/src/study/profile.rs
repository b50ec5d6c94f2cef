//! How much is measured: `[profile.NAME]` of `study.toml`.

use std::collections::BTreeMap;

use result::kind::Kind;
use result::plan::{Cores, Pace, Script, Setting};
use result::setting::CONNECTIONS;
use serde::Deserialize;
use toml::Spanned;

use super::Parameter;
use super::dimension::{GivenValues, HowMany, OwnKeys, Valued};
use super::limits;

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
    /// The scripts that are played with each gateway before it is timed; none, if it isn't said.
    #[serde(default, deserialize_with = "limits::scripts")]
    pub scripts: Vec<Script>,
    /// What contenders are compared under in the closed loop. None where nothing is measured but
    /// one rate for all that somebody chose, as with robots in rooms.
    pub settings: Vec<Valued<Settings>>,
    /// One rate for all.
    pub equal_rate: Option<Spanned<Valued<EqualRate>>>,
    /// One rate for all that somebody chose.
    pub fixed_rate: Option<Spanned<Valued<FixedRate>>>,
    /// Rates up to each contender's own maximum, and beyond.
    pub curve: Option<Spanned<Valued<Curve>>>,
    /// These contenders only, unless somebody chooses others; all, if none is
    /// named.
    #[serde(default)]
    pub contenders: Vec<Spanned<String>>,
}

/// Settings that have cores in common: one for each combination of values.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// Cores given to the contender.
    #[serde(deserialize_with = "limits::cores")]
    pub cores: Cores,
    /// The values of a study's own parameters.
    #[serde(default)]
    pub parameters: BTreeMap<String, Spanned<toml::Value>>,
}

/// An open loop at one rate for all contenders.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EqualRate {
    /// Cores given to the contender.
    #[serde(deserialize_with = "limits::cores")]
    pub cores: Cores,
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
    /// Requests or deliveries a second.
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
    /// The rates, out of 100 of the contender's own maximum.
    #[serde(deserialize_with = "limits::percents")]
    pub percent: Vec<u32>,
    /// Blocks: each holds every contender once a rate.
    #[serde(deserialize_with = "limits::blocks")]
    pub blocks: u32,
}

/// The kinds of study that have a closed loop, whose maxima others are shares of.
const WITH_CLOSED_LOOPS: &[Kind] = &[Kind::Http, Kind::Keys];

impl OwnKeys for Settings {
    const KINDS: &'static [Kind] = WITH_CLOSED_LOOPS;
    const VALUES: HowMany = HowMany::List;

    fn cores(&self) -> Cores {
        self.cores
    }

    fn parameters(&self) -> Option<&BTreeMap<String, Spanned<toml::Value>>> {
        Some(&self.parameters)
    }

    fn complaint(&self, given: &GivenValues) -> Option<&'static str> {
        (!given.contains_key(CONNECTIONS) && self.parameters.is_empty()).then_some(
            "missing key `connections`, or `parameters` of contenders that drive themselves",
        )
    }
}

impl OwnKeys for EqualRate {
    const KINDS: &'static [Kind] = WITH_CLOSED_LOOPS;

    fn cores(&self) -> Cores {
        self.cores
    }
}

impl OwnKeys for FixedRate {
    const KINDS: &'static [Kind] = &[Kind::Http, Kind::Rooms];
    const VALUES: HowMany = HowMany::OneOrList;

    fn cores(&self) -> Cores {
        self.cores
    }
}

impl OwnKeys for Curve {
    const KINDS: &'static [Kind] = WITH_CLOSED_LOOPS;

    fn cores(&self) -> Cores {
        self.cores
    }
}

impl Profile {
    /// The contenders that it names.
    pub fn contender_names(&self) -> Vec<String> {
        self.contenders.iter().map(|name| name.get_ref().clone()).collect()
    }

    /// Tells its tables which dimensions their study has.
    pub(crate) fn declare(&mut self, kind: Kind, parameters: &[Parameter]) {
        self.settings.iter_mut().for_each(|it| it.declare(kind, parameters));
        self.equal_rate.iter_mut().for_each(|it| it.as_mut().declare(kind, parameters));
        self.fixed_rate.iter_mut().for_each(|it| it.as_mut().declare(kind, parameters));
        self.curve.iter_mut().for_each(|it| it.as_mut().declare(kind, parameters));
    }

    /// The settings at one rate for all that somebody chose.
    pub fn fixed_settings(&self) -> Vec<Setting> {
        let fixed_rate = self.fixed_rate.as_ref().map(Spanned::get_ref);
        let with_rate = |table: &Valued<FixedRate>| {
            let pace = Pace::Fixed { per_s: table.own.per_s };
            table.combinations().iter().map(|setting| setting.with(pace)).collect()
        };
        fixed_rate.map_or_else(Vec::new, with_rate)
    }

    /// All settings at a free pace, each once.
    pub fn free_settings(&self) -> Vec<Setting> {
        let mut settings = Vec::new();
        for setting in self.settings.iter().flat_map(Valued::combinations) {
            if !settings.contains(&setting) {
                settings.push(setting);
            }
        }
        settings
    }
}
