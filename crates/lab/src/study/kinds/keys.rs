//! Stores, which the load generator asks for keys.

use result::plan::{Setting, Value};
use result::setting::{ASKS, KEYS, VALUE_BYTES};

use super::{Kind, has_of_programs};
use crate::contract::{self, Contract};
use crate::drive::{self, WorkDriver};
use crate::study::contender::{Contender, Speaks};
use crate::study::{ContractFile, Study, StudyFile};

/// Seconds that a key takes, at least, which is written before a store is asked. The stores of
/// `studies/kv/README.md` took 2.4 to 4.9 µs for a key with 100 bytes, and 27 to 153 µs with
/// 20 kB (`preload` in its kept run). One that syncs each write may take milliseconds.
const KEY_S: f64 = 1.3e-6;
/// Seconds that a byte of its value takes, at least.
const BYTE_S: f64 = 1e-9;

pub(super) struct KeysKind;

impl Kind for KeysKind {
    fn key(&self) -> &'static str {
        "protocol = \"keys\""
    }

    fn complaint(&self, study: &StudyFile) -> Option<String> {
        has_of_programs(study)
    }

    fn contract_complaint(&self, contract: &ContractFile, _: &StudyFile) -> Option<String> {
        let what = "all stores have one contract: theirs has `says` alone";
        (contract.is_http() || contract.sum.is_some()).then(|| what.into())
    }

    fn contender_complaint(&self, contender: &Contender, _: &ContractFile) -> Option<String> {
        let what = "missing key `speaks`: the load generator has to know what a store is spoken \
                    with, `redis` or `memcached`";
        contender.file.speaks.is_none().then(|| what.into())
    }

    fn driver(&self, study: &Study, contender: &Contender) -> Box<dyn WorkDriver> {
        let asks = study.file.asks.clone();
        let (speaks, client) = (speaks(contender), study.client.clone());
        Box::new(drive::store::StoreDriver { speaks, asks, client })
    }

    fn contract(&self, _: &Study, contender: &Contender) -> Box<dyn Contract> {
        Box::new(contract::store::StoreJob { speaks: speaks(contender) })
    }

    /// All keys are written before a store is asked for them.
    fn more_s(&self, study: &StudyFile, setting: &Setting) -> f64 {
        let Some(Value::Word(word)) = setting.value(ASKS) else { return 0.0 };
        if !study.asks.get(word).is_some_and(|asks| asks.preload) {
            return 0.0;
        }
        let number = |name| setting.number(name).unwrap_or(0) as f64;
        number(KEYS) * (KEY_S + number(VALUE_BYTES) * BYTE_S)
    }
}

fn speaks(contender: &Contender) -> Speaks {
    contender.file.speaks.expect("a store without it is refused where its study is read")
}

#[cfg(test)]
mod tests {
    use load::plan::keys::{VALUE_BYTES_MAX, VALUE_BYTES_MIN};
    use result::kind::Values;

    use super::*;

    /// Else a study could ask for values that the load generator refuses, trial by trial.
    #[test]
    fn the_values_that_a_study_may_ask_for_are_those_of_the_load_generator() {
        let declared = result::kind::Kind::Keys.declared();
        let sizes = declared.iter().find(|it| it.id == VALUE_BYTES).unwrap();
        let Values::Numbers(sizes) = &sizes.values else { panic!("{sizes:?}") };
        assert_eq!(*sizes, VALUE_BYTES_MIN.into()..=VALUE_BYTES_MAX.into());
    }
}
