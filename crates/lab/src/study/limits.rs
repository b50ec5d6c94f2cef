//! What a value in a study's or contender's file may be. Refused while the file
//! is read, so that the complaint has the value's line.

use std::collections::BTreeSet;
use std::fmt;

use judge::statistics::BLOCKS_MAX;
use result::plan::Cores;
use serde::de::{Deserialize, Deserializer, Error, IntoDeserializer, Visitor};

fn checked<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
    allowed: &str,
    is_allowed: impl Fn(&T) -> bool,
) -> Result<T, D::Error> {
    let value = T::deserialize(deserializer)?;
    match is_allowed(&value) {
        true => Ok(value),
        false => Err(D::Error::custom(format!("this has to be {allowed}"))),
    }
}

/// How often a comparison is repeated.
pub(crate) fn blocks<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    let allowed = format!("a number from 1 to {BLOCKS_MAX}");
    checked(deserializer, &allowed, |blocks| (1..=BLOCKS_MAX as u32).contains(blocks))
}

/// How often a store is cut off in each way.
pub(crate) fn cuts<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    checked(deserializer, "a number from 1 to 1000", |cuts| (1..=1000).contains(cuts))
}

/// The longest time that a file may ask for.
pub(crate) const SECONDS_MAX: f64 = 3600.0;

/// A time.
pub(crate) fn seconds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    let allowed = format!("from 0.1 to {SECONDS_MAX} seconds");
    checked(deserializer, &allowed, |seconds| (0.1..=SECONDS_MAX).contains(seconds))
}

/// Seconds of writes that may be lost.
pub(crate) fn lost_s<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    let allowed = format!("from 0 to {SECONDS_MAX} seconds");
    checked(deserializer, &allowed, |seconds| (0.0..=SECONDS_MAX).contains(seconds)).map(Some)
}

/// Whose words are texts, which a number that is meant for one isn't.
pub(crate) fn cores<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Cores, D::Error> {
    struct Word;
    impl Visitor<'_> for Word {
        type Value = Cores;

        fn expecting(&self, to: &mut fmt::Formatter) -> fmt::Result {
            to.write_str("`\"one\"` or `\"all\"`, as text")
        }

        fn visit_str<E: Error>(self, word: &str) -> Result<Cores, E> {
            Cores::deserialize(word.into_deserializer())
        }
    }
    deserializer.deserialize_str(Word)
}

/// Load levels.
pub(crate) fn connections<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<u32>, D::Error> {
    checked(deserializer, "a list of numbers from 1 to 100000", |levels: &Vec<u32>| {
        !levels.is_empty() && levels.iter().all(|level| (1..=100_000).contains(level))
    })
}

/// Numbers of keys.
pub(crate) fn keys<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u64>, D::Error> {
    let allowed = "a list of numbers from 1 to 1000000000";
    checked(deserializer, allowed, |counts: &Vec<u64>| {
        counts.iter().all(|count| (1..=1_000_000_000).contains(count))
    })
}

/// Sizes of values: each has room for what says whose it is.
pub(crate) fn value_bytes<'de, D>(deserializer: D) -> Result<Vec<u64>, D::Error>
where
    D: Deserializer<'de>,
{
    let (least, most) = (load::keys::VALUE_BYTES_MIN, load::keys::VALUE_BYTES_MAX);
    let allowed = format!("a list of numbers from {least} to {most}");
    checked(deserializer, &allowed, |sizes: &Vec<u64>| {
        sizes.iter().all(|&bytes| (least.into()..=most.into()).contains(&bytes))
    })
}

/// Requests, or keys of one, that are asked for together.
pub(crate) fn together<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u16, D::Error> {
    checked(deserializer, "a number from 1 to 1000", |count| (1..=1000).contains(count))
}

/// Whether connections are kept alive.
pub(crate) fn modes<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<bool>, D::Error> {
    checked(deserializer, "a list of true, false or both", |modes: &Vec<bool>| !modes.is_empty())
}

fn is_share(percent: &u32) -> bool {
    (1..=200).contains(percent)
}

/// A share of a maximum.
pub(crate) fn percent<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    checked(deserializer, "a number from 1 to 200", is_share)
}

/// Requests a second.
pub(crate) fn rate<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    checked(deserializer, "a number from 1 to 100000000", |rate| (1..=100_000_000).contains(rate))
}

/// Shares of a maximum. One that came twice would be measured twice in a block, and count as
/// two blocks.
pub(crate) fn percents<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u32>, D::Error> {
    let allowed = "a list of different numbers from 1 to 200";
    checked(deserializer, allowed, |percents: &Vec<u32>| {
        let are_different = BTreeSet::from_iter(percents).len() == percents.len();
        !percents.is_empty() && are_different && percents.iter().all(is_share)
    })
}

/// Bytes of a path. Servers are advised to take 8,000 (RFC 9112, 3); a contract may ask
/// for the refusal of a longer one.
const PATH_BYTES_MAX: usize = 10_000;

/// The start of a request.
pub(crate) fn path<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let allowed = "a path that begins with / and has no space, of 10000 bytes at most";
    checked(deserializer, allowed, |path: &String| {
        path.starts_with('/')
            && path.len() <= PATH_BYTES_MAX
            && path.chars().all(|c| c.is_ascii_graphic())
    })
}

/// A method. The longest that is registered has 17 letters.
pub(crate) fn method<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    checked(deserializer, "1 to 20 letters, - among them", |method: &String| {
        (1..=20).contains(&method.len())
            && method.chars().all(|c| c.is_ascii_alphabetic() || c == '-')
    })
}

/// A status that refuses.
pub(crate) fn refusal<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u16, D::Error> {
    checked(deserializer, "a status from 400 to 599", |status| (400..=599).contains(status))
}

/// What stands in a line of a table.
pub(crate) fn phrase<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let allowed = "text of 1 to 100 characters in one line";
    checked(deserializer, allowed, |text: &String| is_line(text, 100))
}

/// A sentence of a report.
pub(crate) fn remark<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<String>, D::Error> {
    let allowed = "text of 1 to 300 characters in one line";
    checked(deserializer, allowed, |text: &String| is_line(text, 300)).map(Some)
}

/// Several of those.
pub(crate) fn remarks<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    let allowed = "a list of 10 texts at most, each of 1 to 300 characters in one line";
    checked(deserializer, allowed, |texts: &Vec<String>| {
        texts.len() <= 10 && texts.iter().all(|text| is_line(text, 300))
    })
}

fn is_line(text: &str, chars_max: usize) -> bool {
    !text.is_empty() && text.chars().count() <= chars_max && !text.chars().any(char::is_control)
}

/// Steps of a contract. All are gone through before each trial and after it, and a server
/// that is silent is waited for in each.
pub(crate) fn refusals<'de, D, T>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    checked(deserializer, "a list of 20 tables at most", |refusals: &Vec<T>| refusals.len() <= 20)
}

/// A status that the load generator takes for a success.
pub(crate) fn success<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u16, D::Error> {
    let allowed = "a status from 200 to 299, but 204, which has no body";
    checked(deserializer, allowed, |status| (200..=299).contains(status) && *status != 204)
}

/// What would be found in any answer if it were empty.
pub(crate) fn not_empty<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    checked(deserializer, "text that is not empty", |text: &String| !text.is_empty())
}

/// A program and its arguments.
pub(crate) fn command<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    checked(deserializer, "a list with a program and its arguments", |command: &Vec<String>| {
        command.first().is_some_and(|program| !program.is_empty())
    })
}

/// Files beside a contender's file.
pub(crate) fn file_names<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<String>, D::Error> {
    checked(deserializer, "a list of names of files in the contender's folder", |names: &Vec<_>| {
        names.iter().all(|name: &String| {
            !name.is_empty() && !name.contains('/') && name != "." && name != ".."
        })
    })
}

/// What a number stands under in a program's result.
pub(crate) fn result_name<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let allowed = "1 to 30 lower-case letters, digits and underscores, the first a letter";
    checked(deserializer, allowed, |name: &String| {
        name.starts_with(|char: char| char.is_ascii_lowercase())
            && name.len() <= 30
            && name.chars().all(|it| it.is_ascii_lowercase() || it.is_ascii_digit() || it == '_')
    })
}

/// What a parameter is passed as.
pub(crate) fn option<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<toml::Spanned<String>, D::Error> {
    let allowed = "1 to 30 lower-case letters, digits and dashes, the first a letter";
    checked(deserializer, allowed, |name: &toml::Spanned<String>| {
        let name = name.get_ref();
        name.starts_with(|char: char| char.is_ascii_lowercase())
            && name.len() <= 30
            && name.chars().all(|it| it.is_ascii_lowercase() || it.is_ascii_digit() || it == '-')
    })
}
