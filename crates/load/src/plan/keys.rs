//! What is asked of a key-value store, and what it may answer.
//!
//! Operation, key and value follow from a request's number and the seed: nothing is stored, runs
//! repeat, and threads needn't talk. The parts:
//!
use std::ops::RangeInclusive;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// What is asked of a store.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Keys {
    /// How it is spoken with.
    pub dialect: Dialect,
    /// Whether every key is written once, in order, or the mix is asked.
    pub phase: KeysPhase,
    /// The operations, each with its weight.
    pub mix: Vec<(Operation, u32)>,
    /// How many keys there are.
    pub count: u64,
    /// Which of them are asked for.
    pub chosen: Chosen,
    /// Bytes of a value.
    pub value_bytes: RangeInclusive<u32>,
    /// Keys that one get asks for.
    pub together: u16,
    /// Seconds after which the store may forget a value; 0 for never.
    pub expires_s: u32,
    /// Whether all keys were written before, by a run with this seed.
    pub are_there: bool,
    /// Whether the store may throw values away.
    pub evicts: bool,
}

/// What is done with keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KeysPhase {
    /// Each is written once, in order.
    Preload,
    /// Operations are drawn from the mix.
    Mix,
}

/// What is done with a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Operation {
    /// Its value is read.
    Get,
    /// It is given a value.
    Set,
    /// It is removed.
    Delete,
}

impl Operation {
    /// All of them, in the order of their numbers.
    pub const ALL: [Operation; 3] = [Operation::Get, Operation::Set, Operation::Delete];

    /// Its name in output and in conditions.
    pub fn name(self) -> &'static str {
        match self {
            Operation::Get => "get",
            Operation::Set => "set",
            Operation::Delete => "delete",
        }
    }

    /// The one of this name.
    pub fn of_name(name: &str) -> Option<Operation> {
        Operation::ALL.into_iter().find(|operation| operation.name() == name)
    }
}

/// Which keys are asked for.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Chosen {
    /// One after the other, round and round.
    Sequential,
    /// All alike, at random.
    Uniform,
    /// A few often and most of them seldom: the one of rank `r` as often as `1 / r^skew`.
    Zipf {
        /// The exponent, above 0.
        skew: f64,
    },
    /// Writes one after the other; reads by a Zipf distribution, those written last most often.
    Latest {
        /// The exponent, above 0.
        skew: f64,
    },
    /// A share of the requests asks for a share of the keys, out of 100.
    Hot {
        /// Of the requests.
        requests: u8,
        /// Of the keys.
        keys: u8,
    },
}

/// As people write it: `zipf:0.99`. The error is what it has to be.
impl FromStr for Chosen {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Chosen, &'static str> {
        const ALLOWED: &str = "sequential, uniform, zipf:0.99, latest:0.99 or hot:90:10";
        const SKEW: f64 = 0.99;
        let mut words = text.split(':');
        let name = words.next().unwrap_or_default();
        let given: Vec<&str> = words.collect();
        let skew = || given.first().map_or(Ok(SKEW), |it| it.parse::<f64>()).map_err(|_| ALLOWED);
        let share = |text: &str| text.parse::<u8>().map_err(|_| ALLOWED);
        match (name, given.len()) {
            ("sequential", 0) => Ok(Chosen::Sequential),
            ("uniform", 0) => Ok(Chosen::Uniform),
            ("zipf", 0 | 1) => Ok(Chosen::Zipf { skew: skew()? }),
            ("latest", 0 | 1) => Ok(Chosen::Latest { skew: skew()? }),
            ("hot", 2) => Ok(Chosen::Hot { requests: share(given[0])?, keys: share(given[1])? }),
            _ => Err(ALLOWED),
        }
    }
}

/// How a store is spoken with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Dialect {
    /// What Redis and Valkey speak.
    Resp(Resp),
    /// memcached's text protocol.
    MemcachedText,
    /// memcached's meta commands, whose answers say which request they are of.
    MemcachedMeta,
}

/// A connection's first words with a store that speaks RESP.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resp {
    /// Whether it is version 3 of the protocol, and not 2.
    pub is_third: bool,
    /// Who asks: the default user, if none is given.
    pub user: Option<String>,
    /// What they know.
    pub password: Option<String>,
    /// The number of the database.
    pub database: u32,
}

impl Keys {
    /// Whether keys are removed.
    pub(crate) fn deletes(&self) -> bool {
        self.mix.iter().any(|(operation, _)| *operation == Operation::Delete)
    }

    /// Whether what is written is read in the same run, so that a value may be an old one.
    pub(crate) fn reads_what_it_writes(&self) -> bool {
        let has = |read: bool| self.mix.iter().any(|(it, _)| (*it == Operation::Get) == read);
        self.phase == KeysPhase::Mix && has(true) && has(false)
    }

    /// The most bytes of a value.
    pub(crate) fn value_bytes_max(&self) -> usize {
        *self.value_bytes.end() as usize
    }

    /// The share of the requests that are of this operation, from 0 to 1.
    pub fn share_of(&self, operation: Operation) -> f64 {
        let weight = |of: &(Operation, u32)| f64::from(of.1);
        let all: f64 = self.mix.iter().map(weight).sum();
        let its: f64 = self.mix.iter().filter(|of| of.0 == operation).map(weight).sum();
        if all > 0.0 { its / all } else { 0.0 }
    }

    /// The operations that are asked for, by name, each with its share.
    pub(super) fn classes(&self) -> Vec<(&str, f64)> {
        let all = Operation::ALL.map(|it| (it.name(), self.share_of(it)));
        all.into_iter().filter(|(_, share)| *share > 0.0).collect()
    }

    /// What speaks against it, for people.
    ///
    /// # Errors
    /// The first thing that does.
    pub(crate) fn check(&self) -> Result<(), String> {
        let (least, most) = (*self.value_bytes.start(), *self.value_bytes.end());
        let wrong = if self.count == 0 {
            "there are no keys to ask for".into()
        } else if self.count > COUNT_MAX {
            format!("there are at most {COUNT_MAX} keys")
        } else if self.mix.iter().all(|(_, weight)| *weight == 0) {
            "no operation is asked for".into()
        } else if least > most {
            format!("values of {least} to {most} bytes are none")
        } else if least < VALUE_BYTES_MIN {
            format!("a value has at least {VALUE_BYTES_MIN} bytes, which say whose it is")
        } else if most > VALUE_BYTES_MAX {
            format!("a value has at most {VALUE_BYTES_MAX} bytes")
        } else if self.together == 0 {
            "a get asks for at least one key".into()
        } else if self.together > 1 && self.dialect == Dialect::MemcachedMeta {
            "a meta command asks for one key: ask for several by the text protocol".into()
        } else if self.expires_s > MEMCACHED_EXPIRES_S_MAX
            && !matches!(self.dialect, Dialect::Resp(_))
        {
            format!(
                "memcached takes an expiry of more than {MEMCACHED_EXPIRES_S_MAX} s (30 days) for a \
                 date, one of 1970, and keeps nothing: give fewer seconds, or none"
            )
        } else if let Chosen::Zipf { skew } | Chosen::Latest { skew } = self.chosen
            && !(skew > 0.0 && skew.is_finite())
        {
            "the skew of a Zipf distribution is above 0".into()
        } else if let Chosen::Hot { requests, keys } = self.chosen
            && (requests > 100 || keys == 0 || keys > 100)
        {
            "a hot set is a share of the requests and of the keys, out of 100".into()
        } else {
            return Ok(());
        };
        Err(wrong)
    }
}

/// Keys have twelve digits.
const COUNT_MAX: u64 = 1_000_000_000_000;
/// What is more is a Unix time to memcached (its `doc/protocol.txt`, "Expiration times").
const MEMCACHED_EXPIRES_S_MAX: u32 = 30 * 24 * 60 * 60;
/// What Redis and memcached take at most lies above.
pub const VALUE_BYTES_MAX: u32 = 64 << 20;
/// A value's header says whose it is.
pub const VALUE_BYTES_MIN: u32 = 24;

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Ten thousand keys with values of 100 bytes, all of them there, nine reads a write.
    pub(crate) fn keys() -> Keys {
        Keys {
            dialect: Dialect::Resp(Resp::default()),
            phase: KeysPhase::Mix,
            mix: vec![(Operation::Get, 90), (Operation::Set, 10)],
            count: 10_000,
            chosen: Chosen::Uniform,
            value_bytes: 100..=100,
            together: 1,
            expires_s: 0,
            are_there: true,
            evicts: false,
        }
    }

    #[test]
    fn choices_of_keys_are_read_or_refused() {
        assert_eq!("zipf:1.2".parse(), Ok(Chosen::Zipf { skew: 1.2 }));
        assert_eq!("hot:90:10".parse(), Ok(Chosen::Hot { requests: 90, keys: 10 }));
        for wrong in ["", "zipf:x", "hot:90", "hot:900:10", "uniform:1"] {
            assert!(wrong.parse::<Chosen>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_no_store_could_be_asked_is_refused() {
        let wrong = |change: fn(&mut Keys)| {
            let mut keys = keys();
            change(&mut keys);
            keys.check().unwrap_err()
        };
        assert_eq!(keys().check(), Ok(()));
        assert!(wrong(|keys| keys.count = 0).contains("no keys"));
        assert!(wrong(|keys| keys.count = u64::MAX).contains("at most"));
        assert!(wrong(|keys| keys.mix.clear()).contains("no operation"));
        assert!(wrong(|keys| keys.value_bytes = 8..=8).contains("at least 24"));
        for dialect in [Dialect::MemcachedText, Dialect::MemcachedMeta] {
            let far = Keys { dialect, expires_s: 2_592_001, ..keys() };
            assert!(far.check().unwrap_err().contains("30 days"), "each key is gone at once");
            assert_eq!(Keys { expires_s: 2_592_000, ..far }.check(), Ok(()));
        }
        assert_eq!(Keys { expires_s: u32::MAX, ..keys() }.check(), Ok(()), "Redis counts on");
        assert!(
            wrong(|keys| keys.value_bytes = RangeInclusive::new(200, 100)).contains("are none")
        );
        assert!(wrong(|keys| keys.value_bytes = 100..=u32::MAX).contains("at most"));
        assert!(wrong(|keys| keys.chosen = Chosen::Zipf { skew: 0.0 }).contains("skew"));
        assert!(wrong(|keys| keys.chosen = Chosen::Hot { requests: 90, keys: 0 }).contains("hot"));
        let several = |keys: &mut Keys| {
            (keys.together, keys.dialect) = (10, Dialect::MemcachedMeta);
        };
        assert!(wrong(several).contains("text protocol"));
    }
}
