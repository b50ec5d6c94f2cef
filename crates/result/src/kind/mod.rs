//! The kinds of study that there are. Each has a file with its descriptor: what judging, reports
//! and the lab have to know of all studies of the kind.

mod http;
mod keys;
mod program;
mod rooms;

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

use crate::figure::Figure;
use crate::setting::{Dimension, PaceKind};

/// A kind of study, as `run.json` has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Servers, which the load generator asks by HTTP/1.1.
    Http,
    /// Stores, which it asks for keys.
    Keys,
    /// Programs that drive themselves.
    Program,
    /// Servers that pass each message on to all members of its sender's room, which are the load
    /// generator's robots.
    Rooms,
}

/// What holds for all studies of a kind.
#[derive(Debug)]
struct Descriptor {
    is_asked: bool,
    keeps_data: bool,
    passes_on: bool,
    /// What its work is counted in, one and many, unless a study says otherwise.
    counts: (&'static str, &'static str),
    dimensions: &'static [Declared],
    /// What contenders are compared by, whose work is counted in one or many of something.
    figures: fn(&str, &str) -> Vec<Figure>,
}

/// A dimension of all studies of a kind, with the values that a study may choose from.
#[derive(Debug)]
pub struct Declared {
    /// What values stand under in a setting, and in `study.toml`.
    pub id: &'static str,
    /// What one of it is called, where its values are numbers.
    pub one: &'static str,
    /// What many of it are called.
    pub many: &'static str,
    /// Its values.
    pub values: Values,
}

/// What the values of a dimension may be.
#[derive(Debug)]
pub enum Values {
    /// Numbers from here to there.
    Numbers(RangeInclusive<u64>),
    /// The same, where a study may say nothing: then its settings have no such value.
    Optional(RangeInclusive<u64>),
    /// Yes and no, in these words. Yes, where a study doesn't say.
    Flags(&'static str, &'static str),
    /// Names, for which each study has its own words.
    Names,
}

impl Declared {
    const fn numbers(
        id: &'static str,
        (one, many): (&'static str, &'static str),
        values: RangeInclusive<u64>,
    ) -> Declared {
        Declared { id, one, many, values: Values::Numbers(values) }
    }

    /// As a run's record has it, without the words of names.
    pub fn dimension(&self) -> Dimension {
        let words = match self.values {
            Values::Flags(yes, no) => {
                BTreeMap::from([("true", yes), ("false", no)].map(|(a, b)| (a.into(), b.into())))
            }
            Values::Numbers(_) | Values::Optional(_) | Values::Names => BTreeMap::new(),
        };
        let (id, one, many) = (self.id.into(), self.one.into(), self.many.into());
        Dimension { id, one, many, words }
    }
}

impl Kind {
    /// All of them.
    pub const ALL: [Kind; 4] = [Kind::Http, Kind::Keys, Kind::Program, Kind::Rooms];

    fn descriptor(self) -> &'static Descriptor {
        match self {
            Kind::Http => &http::HTTP,
            Kind::Keys => &keys::KEYS,
            Kind::Program => &program::PROGRAM,
            Kind::Rooms => &rooms::ROOMS,
        }
    }

    /// Whether the load generator drives contenders. Others drive themselves, and tell what they
    /// did in units that their study names.
    pub fn is_asked(self) -> bool {
        self.descriptor().is_asked
    }

    /// Whether contenders keep what they are given: every value is compared with what was
    /// written, a disk is a part of the work, and what survives is of a class of durability.
    pub fn keeps_data(self) -> bool {
        self.descriptor().keeps_data
    }

    /// Whether contenders pass on what they are told, so that what is counted are deliveries, and
    /// nobody asks or answers.
    pub fn passes_on(self) -> bool {
        self.descriptor().passes_on
    }

    /// The pace at which contenders are compared before all others: as fast as they go; those that
    /// pass messages on, at one rate for all.
    pub fn pace(self) -> PaceKind {
        if self.passes_on() { PaceKind::Equal } else { PaceKind::Free }
    }

    /// In what settings of all its studies differ, in the order of their values. A study may
    /// declare others.
    pub fn declared(self) -> &'static [Declared] {
        self.descriptor().dimensions
    }

    /// Those that every setting has a value of, as a run's record has them, without the words of
    /// names.
    pub fn dimensions(self) -> Vec<Dimension> {
        let always = self.declared().iter().filter(|it| !matches!(it.values, Values::Optional(_)));
        always.map(Declared::dimension).collect()
    }

    /// What contenders are compared by, whose work is counted in one or many of something: in
    /// requests or deliveries, unless the study says otherwise.
    pub fn figures(self, unit: Option<(&str, &str)>) -> Vec<Figure> {
        let (one, many) = unit.unwrap_or(self.descriptor().counts);
        (self.descriptor().figures)(one, many)
    }
}
