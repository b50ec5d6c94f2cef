//! What a value in a study's or contender's file may be. Refused while the file
//! is read, so that the complaint has the value's line.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::marker::PhantomData;

use judge::statistics::BLOCKS_MAX;
use load::plan::Statuses;
use load::plan::template::meant_by;
use result::plan::{BodyBytes, Cores, Script};
use serde::de::value::MapAccessDeserializer;
use serde::de::{
    Deserialize, Deserializer, Error, IntoDeserializer, MapAccess, SeqAccess, Visitor,
};
use toml::Spanned;

pub(super) fn checked<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
    allowed: &str,
    is_allowed: impl Fn(&T) -> bool,
) -> Result<T, D::Error> {
    let value = T::deserialize(deserializer)?;
    if is_allowed(&value) {
        Ok(value)
    } else {
        Err(D::Error::custom(format!("this has to be {allowed}")))
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

/// The scripts that are played with each gateway.
pub(crate) fn scripts<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Script>, D::Error> {
    checked(deserializer, "a list of different scripts", |scripts: &Vec<Script>| {
        !scripts.is_empty() && BTreeSet::from_iter(scripts).len() == scripts.len()
    })
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

/// Requests, or keys of one, that are asked for together.
pub(crate) fn together<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u16, D::Error> {
    checked(deserializer, "a number from 1 to 1000", |count| (1..=1000).contains(count))
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
    checked(deserializer, "1 to 20 letters, - among them, as GET and not get", |method: &String| {
        (1..=20).contains(&method.len())
            && meant_by(method).is_none()
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

/// What statuses of right answers are, in words.
const STATUSES: &str = "a status from 200 to 999, as 201, or a list of such with ranges, as \
                        \"200-299,304\"";

/// Statuses of right answers.
pub(crate) fn statuses<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Statuses, D::Error> {
    let told = match toml::Value::deserialize(deserializer)? {
        toml::Value::Integer(status) => u16::try_from(status).ok().and_then(Statuses::one),
        toml::Value::String(list) => list.parse().ok(),
        _ => None,
    };
    told.ok_or_else(|| D::Error::custom(format!("this has to be {STATUSES}")))
}

/// Those of one request.
pub(crate) fn own_statuses<'de, D>(deserializer: D) -> Result<Option<Statuses>, D::Error>
where
    D: Deserializer<'de>,
{
    statuses(deserializer).map(Some)
}

/// A method of a request that is measured.
pub(crate) fn own_method<'de, D>(deserializer: D) -> Result<Option<String>, D::Error>
where
    D: Deserializer<'de>,
{
    let method = method(deserializer)?;
    match method.as_str() {
        "CONNECT" => Err(D::Error::custom("after CONNECT a connection is a tunnel, and not HTTP")),
        _ => Ok(Some(method)),
    }
}

/// A text that a body holds.
pub(crate) fn own_text<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<String>, D::Error> {
    not_empty(deserializer).map(Some)
}

/// Headers of a request.
pub(crate) fn headers<'de, D>(
    deserializer: D,
) -> Result<Option<Spanned<BTreeMap<String, String>>>, D::Error>
where
    D: Deserializer<'de>,
{
    let headers = Spanned::<BTreeMap<String, String>>::deserialize(deserializer)?;
    for (name, value) in headers.get_ref() {
        load::plan::headers::check(name, value).map_err(D::Error::custom)?;
        if name.eq_ignore_ascii_case("connection") {
            let what = "the header Connection follows from `kept` of the settings: leave it out";
            return Err(D::Error::custom(what));
        }
    }
    Ok(Some(headers))
}

/// How often a request is sent beside others.
pub(crate) fn weight<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    let weights = 1..=load::plan::WEIGHT_MAX;
    checked(deserializer, &super::request::a_weight(), |weight| weights.contains(weight))
}

/// Requests that are measured. Each is a step of the contract.
pub(crate) fn requests<'de, D, T>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    checked(deserializer, "a list of 1 to 20 tables", |requests: &Vec<T>| {
        (1..=20).contains(&requests.len())
    })
}

/// Lengths of bodies.
pub(crate) fn body_bytes<'de, D>(deserializer: D) -> Result<Option<BodyBytes>, D::Error>
where
    D: Deserializer<'de>,
{
    let bytes = |value: &toml::Value| value.as_integer().and_then(|it| u64::try_from(it).ok());
    let told = match toml::Value::deserialize(deserializer)? {
        toml::Value::Array(each) => {
            each.iter().map(bytes).collect::<Option<_>>().map(BodyBytes::Each)
        }
        one => bytes(&one).map(BodyBytes::All),
    };
    let wrong = || D::Error::custom("this has to be a number, or a list with one for each request");
    told.map(Some).ok_or_else(wrong)
}

/// Settings of a contender: a table, or a list of names of variables that are handed on as they
/// are.
pub(crate) fn environment<'de, D, T>(deserializer: D) -> Result<BTreeMap<String, T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + From<Handed>,
{
    struct Environment<T>(PhantomData<T>);

    impl<'de, T: Deserialize<'de> + From<Handed>> Visitor<'de> for Environment<T> {
        type Value = BTreeMap<String, T>;

        fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
            f.write_str("a table of texts, or a list of names of variables")
        }

        fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
            BTreeMap::deserialize(MapAccessDeserializer::new(map))
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut names: A) -> Result<Self::Value, A::Error> {
            let mut all = BTreeMap::new();
            while let Some(name) = names.next_element::<String>()? {
                if !load::plan::headers::is_variable(&name) {
                    return Err(A::Error::custom(format!(
                        "`{name}` is no name of a variable of the environment, which has letters, \
                         digits and _"
                    )));
                }
                let value = Handed(format!("{{env:{name}}}"));
                all.insert(name, value.into());
            }
            Ok(all)
        }
    }

    deserializer.deserialize_any(Environment(PhantomData))
}

/// The value of a variable that is handed on.
pub(crate) struct Handed(String);

impl From<Handed> for String {
    fn from(Handed(value): Handed) -> String {
        value
    }
}

impl From<Handed> for Spanned<String> {
    fn from(Handed(value): Handed) -> Spanned<String> {
        Spanned::new(0..0, value)
    }
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
) -> Result<Spanned<String>, D::Error> {
    let allowed = "1 to 30 lower-case letters, digits and dashes, the first a letter";
    checked(deserializer, allowed, |name: &Spanned<String>| {
        let name = name.get_ref();
        name.starts_with(|char: char| char.is_ascii_lowercase())
            && name.len() <= 30
            && name.chars().all(|it| it.is_ascii_lowercase() || it.is_ascii_digit() || it == '-')
    })
}
