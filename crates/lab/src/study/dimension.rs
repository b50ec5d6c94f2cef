//! Values of dimensions in a study's file: read in one place, by the descriptors of its kind,
//! whichever table they stand in.

use std::collections::BTreeMap;
use std::fmt;

use result::kind::{Declared, Kind, Values};
use result::plan::{Cores, Pace, Setting, Value};
use serde::de::{DeserializeSeed, Deserializer, Error, IntoDeserializer, MapAccess, Visitor};
use serde::{Deserialize, forward_to_deserialize_any};
use toml::Spanned;

use super::Parameter;
use super::limits::checked;

/// A table of a file that has values of dimensions beside its own keys.
#[derive(Debug, Clone)]
pub struct Valued<T> {
    /// Its own keys.
    pub own: T,
    /// The values that it has, by the dimension's id.
    pub given: GivenValues,
    /// The values of all dimensions of its study, in their order. They follow from elsewhere in
    /// the file.
    pub values: Vec<(String, Vec<Value>)>,
}

/// Values by the id of their dimension.
pub type GivenValues = BTreeMap<&'static str, Vec<Value>>;

/// How many values of a dimension a table may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HowMany {
    /// One.
    One,
    /// A list of them.
    List,
    /// Either.
    OneOrList,
}

/// One value, or several.
#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrSeveral<T> {
    One(T),
    Several(Vec<T>),
}

impl<T> From<OneOrSeveral<T>> for Vec<T> {
    fn from(values: OneOrSeveral<T>) -> Vec<T> {
        match values {
            OneOrSeveral::One(one) => vec![one],
            OneOrSeveral::Several(several) => several,
        }
    }
}

/// The own keys of a table that has values of dimensions.
pub trait OwnKeys {
    /// The kinds of study that may have it.
    const KINDS: &'static [Kind];
    /// How many values of a dimension it may have.
    const VALUES: HowMany = HowMany::One;

    /// Cores given to the contender.
    fn cores(&self) -> Cores;

    /// The values of a study's own parameters.
    fn parameters(&self) -> Option<&BTreeMap<String, Spanned<toml::Value>>> {
        None
    }

    /// What speaks against them with these values beside them.
    fn complaint(&self, _given: &GivenValues) -> Option<&'static str> {
        None
    }
}

impl<T: OwnKeys> Valued<T> {
    /// Tells it which dimensions its study has.
    pub(super) fn declare(&mut self, kind: Kind, parameters: &[Parameter]) {
        let of_kind = kind.declared().iter().filter_map(|declared| {
            let values = self.given.get(declared.id).cloned();
            Some((declared.id.to_string(), values.or_else(|| if_not_given(declared))?))
        });
        let of_parameter = |parameter: &Parameter| {
            let name = parameter.name.get_ref();
            let values = self.own.parameters()?.get(name)?;
            Some((name.clone(), parameter.values(values.get_ref()).ok()?))
        };
        self.values = of_kind.chain(parameters.iter().filter_map(of_parameter)).collect();
    }

    /// One setting at a free pace for each combination of values, the first dimension's going
    /// fastest.
    pub(super) fn combinations(&self) -> Vec<Setting> {
        let mut all = vec![Vec::new()];
        for (id, values) in self.values.iter().rev() {
            let with = |value: &Value, others: &Vec<(String, Value)>| {
                [vec![(id.clone(), value.clone())], others.clone()].concat()
            };
            all = all
                .iter()
                .flat_map(|others| values.iter().map(move |value| with(value, others)))
                .collect();
        }
        let cores = self.own.cores();
        all.into_iter().map(|values| Setting { cores, values, pace: Pace::Free }).collect()
    }

    /// The first of these settings: of a table that has one value of each dimension the only one.
    pub fn closed_loop(&self) -> Setting {
        self.combinations().swap_remove(0)
    }

    /// The first dimension of this kind that it lacks, and whose values have to be given.
    pub(super) fn lacks(&self, kind: Kind) -> Option<&'static str> {
        let is_optional = |it: &Declared| matches!(it.values, Values::Optional(_));
        let lacks = |it: &&Declared| {
            !self.given.contains_key(it.id) && !is_optional(it) && if_not_given(it).is_none()
        };
        kind.declared().iter().find(lacks).map(|declared| declared.id)
    }

    /// The names among its values.
    pub(super) fn names(&self) -> impl Iterator<Item = &String> {
        self.given.values().flatten().filter_map(|value| match value {
            Value::Word(name) => Some(name),
            Value::Flag(_) | Value::Number(_) => None,
        })
    }

    /// The first that it has and that isn't one of this kind, with the kind that has it.
    pub(super) fn foreign(&self, kind: Kind) -> Option<(&'static str, Kind)> {
        let has = |kind: Kind, id: &str| kind.declared().iter().any(|it| it.id == id);
        let id = *self.given.keys().find(|id| !has(kind, id))?;
        Some((id, Kind::ALL.into_iter().find(|&kind| has(kind, id))?))
    }
}

/// The values where a file has none; `None` where it has to.
fn if_not_given(declared: &Declared) -> Option<Vec<Value>> {
    match declared.values {
        Values::Flags(..) => Some(vec![true.into()]),
        Values::Numbers(_) | Values::Optional(_) | Values::Names => None,
    }
}

impl<'de, T: OwnKeys + Deserialize<'de>> Deserialize<'de> for Valued<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Valued<T>, D::Error> {
        let mut given = GivenValues::new();
        let (kinds, values) = (T::KINDS, T::VALUES);
        let own = T::deserialize(Apart { of: deserializer, kinds, values, given: &mut given })?;
        match own.complaint(&given) {
            Some(what) => Err(D::Error::custom(what)),
            None => Ok(Valued { own, given, values: Vec::new() }),
        }
    }
}

/// Takes values of dimensions out of a table while that is read: it stands around whatever reads
/// the table, and who reads the own keys sees nothing of them.
struct Apart<'a, Of> {
    of: Of,
    kinds: &'static [Kind],
    values: HowMany,
    given: &'a mut GivenValues,
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Apart<'_, D> {
    type Error = D::Error;

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        own: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        let Apart { of, kinds, values, given } = self;
        of.deserialize_map(Apart { of: (visitor, own), kinds, values, given })
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.of.deserialize_any(visitor)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 char str string bytes byte_buf option unit
        unit_struct newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

type Names = &'static [&'static str];

impl<'de, V: Visitor<'de>> Visitor<'de> for Apart<'_, (V, Names)> {
    type Value = V::Value;

    fn expecting(&self, to: &mut fmt::Formatter) -> fmt::Result {
        self.of.0.expecting(to)
    }

    fn visit_map<M: MapAccess<'de>>(self, map: M) -> Result<V::Value, M::Error> {
        let Apart { of: (visitor, own), kinds, values, given } = self;
        visitor.visit_map(Apart { of: (map, own), kinds, values, given })
    }
}

impl<'de, M: MapAccess<'de>> MapAccess<'de> for Apart<'_, (M, Names)> {
    type Error = M::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        mut seed: K,
    ) -> Result<Option<K::Value>, M::Error> {
        loop {
            let (kinds, (map, own)) = (self.kinds, &mut self.of);
            match map.next_key_seed(KeySeed { own, kinds, seed })? {
                None => return Ok(None),
                Some(Key::Own(key)) => return Ok(Some(key)),
                Some(Key::Dimension(declared, back)) => {
                    let how_many = self.values;
                    let values = map.next_value_seed(ValuesSeed { declared, how_many })?;
                    self.given.insert(declared.id, values);
                    seed = back;
                }
            }
        }
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, M::Error> {
        self.of.0.next_value_seed(seed)
    }
}

/// What a key of a table is.
enum Key<Own, Seed> {
    Own(Own),
    Dimension(&'static Declared, Seed),
}

struct KeySeed<Seed> {
    own: Names,
    kinds: &'static [Kind],
    seed: Seed,
}

impl<'de, Seed: DeserializeSeed<'de>> DeserializeSeed<'de> for KeySeed<Seed> {
    type Value = Key<Seed::Value, Seed>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        let name = String::deserialize(deserializer)?;
        if self.own.contains(&&*name) {
            return self.seed.deserialize(name.into_deserializer()).map(Key::Own);
        }
        let declared = || self.kinds.iter().flat_map(|kind| kind.declared());
        if let Some(declared) = declared().find(|it| it.id == name) {
            return Ok(Key::Dimension(declared, self.seed));
        }
        let mut known: Vec<&str> = self.own.to_vec();
        for Declared { id, .. } in declared() {
            if !known.contains(id) {
                known.push(id);
            }
        }
        let known = known.join("`, `");
        Err(D::Error::custom(format!("unknown field `{name}`, expected one of `{known}`")))
    }
}

struct ValuesSeed {
    declared: &'static Declared,
    how_many: HowMany,
}

impl<'de> DeserializeSeed<'de> for ValuesSeed {
    type Value = Vec<Value>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Vec<Value>, D::Error> {
        match &self.declared.values {
            Values::Numbers(range) | Values::Optional(range) => {
                let numbers =
                    |how: &str| format!("{how} from {} to {}", range.start(), range.end());
                let allowed = (numbers("a number"), numbers("a list of numbers"));
                self.values(deserializer, allowed, |number: &u64| range.contains(number))
            }
            Values::Flags(..) => {
                let allowed = ("true or false".into(), "a list of true, false or both".into());
                self.values(deserializer, allowed, |_: &bool| true)
            }
            Values::Names => {
                let allowed = ("a name".into(), "a list of names".into());
                self.values(deserializer, allowed, |_: &String| true)
            }
        }
    }
}

impl ValuesSeed {
    fn values<'de, D: Deserializer<'de>, T: Deserialize<'de> + Into<Value>>(
        &self,
        deserializer: D,
        (one, list): (String, String),
        is_allowed: impl Fn(&T) -> bool,
    ) -> Result<Vec<Value>, D::Error> {
        let are_allowed = |values: &Vec<T>| !values.is_empty() && values.iter().all(&is_allowed);
        let values: Vec<T> = match self.how_many {
            HowMany::One => vec![checked(deserializer, &one, is_allowed)?],
            HowMany::List => checked(deserializer, &list, are_allowed)?,
            HowMany::OneOrList => {
                let values = OneOrSeveral::<T>::deserialize(deserializer).ok().map(Vec::from);
                let wrong = || D::Error::custom(format!("this has to be {one}, or {list}"));
                values.filter(are_allowed).ok_or_else(wrong)?
            }
        };
        Ok(values.into_iter().map(Into::into).collect())
    }
}
