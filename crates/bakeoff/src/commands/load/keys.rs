//! The arguments of `bakeoff load` that are for stores, and what they ask of one.

use std::ops::RangeInclusive;

use load::plan::keys::{Chosen, Dialect, Keys, KeysPhase, Operation};

use super::quantity;
use super::target::Store;

/// Under this heading.
const KEYS: &str = "Keys (redis://, memcached://)";

/// What is asked of a store.
#[derive(Debug, Clone, clap::Args)]
pub struct KeysArguments {
    /// Operations with their weights, as get=90,set=10; there is delete as well [default: get=90,set=10]
    #[arg(long, value_name = "LIST", value_parser = mix, help_heading = KEYS)]
    pub mix: Option<Mix>,

    /// How many keys there are, as 1M [default: 100k]
    #[arg(long, value_name = "N", value_parser = quantity::count, help_heading = KEYS)]
    pub keys: Option<u64>,

    /// Which are asked for: sequential, uniform, zipf:SKEW, latest:SKEW, or hot:REQUESTS:KEYS, both
    /// in per cent [default: uniform]
    #[arg(long, value_name = "HOW", help_heading = KEYS)]
    pub key_choice: Option<Chosen>,

    /// Bytes of a value, as 100, or from 100 to 1000 as 100-1000 [default: 100]
    #[arg(long, value_name = "BYTES", value_parser = value_bytes, help_heading = KEYS)]
    pub value_bytes: Option<RangeInclusive<u32>>,

    /// Keys that one get asks for [default: 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1000),
        help_heading = KEYS)]
    pub keys_a_get: Option<u16>,

    /// Let values expire after so many seconds
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(1..),
        help_heading = KEYS)]
    pub expire: Option<u32>,

    /// Don't write all keys before: those that aren't there are misses then, and no errors
    #[arg(long, help_heading = KEYS)]
    pub no_preload: bool,

    /// The store may throw values away: keys that were written and aren't there are no errors
    #[arg(long, help_heading = KEYS)]
    pub evicts: bool,

    /// Speak version 3 of RESP
    #[arg(long, help_heading = KEYS)]
    pub resp3: bool,

    /// Speak memcached's meta commands, whose answers say which request they are of
    #[arg(long, help_heading = KEYS)]
    pub meta: bool,
}

/// Operations with their weights.
#[derive(Debug, Clone, PartialEq)]
pub struct Mix(pub Vec<(Operation, u32)>);

/// Keys where nothing is said.
const COUNT: u64 = 100_000;
/// Bytes of a value where nothing is said, as in 2009.
const VALUE_BYTES: RangeInclusive<u32> = 100..=100;

impl KeysArguments {
    /// What they ask of a store.
    ///
    /// # Errors
    /// What doesn't go with the store's URL, as a sentence.
    pub fn of(&self, store: Store) -> Result<Keys, String> {
        let dialect = match store {
            Store::Resp(_) if self.meta => {
                return Err("--meta is for memcached://, which has meta commands".into());
            }
            Store::Resp(resp) => {
                Dialect::Resp(load::plan::keys::Resp { is_third: self.resp3, ..resp })
            }
            Store::Memcached if self.resp3 => {
                return Err("--resp3 is for redis://: memcached doesn't speak RESP".into());
            }
            Store::Memcached if self.meta => Dialect::MemcachedMeta,
            Store::Memcached => Dialect::MemcachedText,
        };
        let usual = || vec![(Operation::Get, 90), (Operation::Set, 10)];
        Ok(Keys {
            dialect,
            phase: KeysPhase::Mix,
            mix: self.mix.clone().map_or_else(usual, |mix| mix.0),
            count: self.keys.unwrap_or(COUNT),
            chosen: self.key_choice.unwrap_or(Chosen::Uniform),
            value_bytes: self.value_bytes.clone().unwrap_or(VALUE_BYTES),
            together: self.keys_a_get.unwrap_or(1),
            expires_s: self.expire.unwrap_or(0),
            are_there: !self.no_preload,
            evicts: self.evicts,
        })
    }

    /// The first of them that was given, by its name.
    pub fn first_given(&self) -> Option<&'static str> {
        let given = [
            ("--mix", self.mix.is_some()),
            ("--keys", self.keys.is_some()),
            ("--key-choice", self.key_choice.is_some()),
            ("--value-bytes", self.value_bytes.is_some()),
            ("--keys-a-get", self.keys_a_get.is_some()),
            ("--expire", self.expire.is_some()),
            ("--no-preload", self.no_preload),
            ("--evicts", self.evicts),
            ("--resp3", self.resp3),
            ("--meta", self.meta),
        ];
        given.into_iter().find_map(|(name, is_given)| is_given.then_some(name))
    }
}

/// Operations with their weights, of a text as `get=90,set=10`.
///
/// # Errors
/// What is wrong with it, in a sentence.
pub fn mix(text: &str) -> Result<Mix, String> {
    let one = |part: &str| {
        let (name, weight) = part.split_once('=').unwrap_or((part, "1"));
        let operation = Operation::of_name(name)
            .ok_or_else(|| format!("there is no operation {name:?}: get, set, delete"))?;
        let weight = weight.parse().map_err(|_| format!("{weight:?} is no weight, as 90"))?;
        Ok((operation, weight))
    };
    let all: Vec<(Operation, u32)> = text.split(',').map(one).collect::<Result<_, String>>()?;
    for (number, (operation, _)) in all.iter().enumerate() {
        if all[..number].iter().any(|(before, _)| before == operation) {
            return Err(format!("{} stands there twice", operation.name()));
        }
    }
    Ok(Mix(all))
}

fn value_bytes(text: &str) -> Result<RangeInclusive<u32>, String> {
    let number = |text: &str| {
        text.parse::<u32>()
            .map_err(|_| "bytes of a value are a number, or two as 100-1000".to_string())
    };
    match text.split_once('-') {
        None => number(text).map(|bytes| bytes..=bytes),
        Some((least, most)) => Ok(number(least)?..=number(most)?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mixes_and_sizes_are_read_or_refused() {
        assert_eq!(mix("get=9,set").unwrap().0, [(Operation::Get, 9), (Operation::Set, 1)]);
        assert_eq!(value_bytes("100-200"), Ok(100..=200));
        let refused =
            [mix("put=1").unwrap_err(), mix("get=x").unwrap_err(), mix("get,get").unwrap_err()];
        assert_eq!(
            refused,
            [
                "there is no operation \"put\": get, set, delete",
                "\"x\" is no weight, as 90",
                "get stands there twice",
            ]
        );
        assert!(value_bytes("-5").is_err());
    }

    #[test]
    fn each_argument_is_named_where_it_has_no_use() {
        #[derive(clap::Parser)]
        struct Line {
            #[command(flatten)]
            keys: KeysArguments,
        }
        use clap::{CommandFactory, Parser};
        let command = Line::command();
        for argument in command.get_arguments().filter(|it| it.get_long() != Some("help")) {
            let name = format!("--{}", argument.get_long().unwrap());
            let value = match &*name {
                "--mix" => Some("get"),
                "--key-choice" => Some("uniform"),
                _ => argument.get_action().takes_values().then_some("100"),
            };
            let line = ["bakeoff", &name].into_iter().chain(value);
            let given = Line::parse_from(line).keys.first_given();
            assert_eq!(given, Some(&*name));
        }
    }
}
