//! Reads one stream of a store's answers in any split, and says what came of it: what the fuzz
//! target and its seeds hold the decoders to.

use std::ops::RangeInclusive;

use super::{LINE_BYTES_MAX, Store, StoreConnection, resp};
use crate::outcome::KeysSeen;
use crate::plan::keys::{Chosen, Dialect, Keys, KeysPhase, Operation, Resp};
use crate::protocol::Protocol;
use crate::protocol::splits::{self, StreamStep, random_cuts};
use crate::work::keys::Writers;
use crate::work::keys::value::Values;

/// Requests whose answers a stream has.
const REQUESTS: u64 = 4;
/// Bytes of a value: a header alone, which can be written by hand, or a little more.
const VALUE_BYTES: RangeInclusive<u32> = 24..=32;
const SEED: u64 = 7;

/// What came of a stream.
#[derive(Debug, PartialEq)]
pub struct Came {
    /// Answer by answer.
    pub steps: Vec<StreamStep>,
    /// What became of the keys.
    pub keys: KeysSeen,
}

/// Reads one input of the fuzz target whole and in several splits, which must all come to the
/// same; gives what came of it, or `None` where the input is too short to be one.
///
/// The first byte says what four requests asked, one for each of the keys 0 to 3. Bits 0 and 1
/// are the dialect: RESP 2, memcached's text commands, its meta commands, RESP 3 with a greeting
/// of two commands. Bits 2 and 3 are the operation: get, set, delete, or a get of three keys,
/// which meta commands don't have. Bit 4 says that values may be gone. (`@` gets by RESP 2, `A`
/// by text, `E` sets by text.) The second byte decides the splits. The rest is the stream.
///
/// # Panics
/// Where a split leads to something else, or a decoder goes beyond a bound.
pub fn in_any_split(input: &[u8]) -> Option<Came> {
    let [asked, seed, stream @ ..] = input else { return None };
    let keys = keys(*asked);
    let read = |cuts: Vec<usize>| read(&keys, stream, cuts);
    let whole = read(Vec::new());
    let cut = usize::from(*seed) * stream.len() / 256;
    assert_eq!(read(vec![cut]), whole, "cut at {cut}");
    assert_eq!(read((0..stream.len()).collect()), whole, "byte by byte");
    for longest in [2, 7, 40] {
        let cuts = random_cuts(stream.len(), longest, u64::from(*seed));
        assert_eq!(read(cuts.clone()), whole, "cuts {cuts:?}");
    }
    Some(whole)
}

/// What the first byte of an input says.
fn keys(asked: u8) -> Keys {
    let dialect = match asked & 3 {
        0 => Dialect::Resp(Resp::default()),
        1 => Dialect::MemcachedText,
        2 => Dialect::MemcachedMeta,
        _ => Dialect::Resp(Resp { is_third: true, database: 1, ..Resp::default() }),
    };
    let (operation, together) = match asked >> 2 & 3 {
        0 => (Operation::Get, 1),
        1 => (Operation::Set, 1),
        2 => (Operation::Delete, 1),
        _ if dialect == Dialect::MemcachedMeta => (Operation::Get, 1),
        _ => (Operation::Get, 3),
    };
    Keys {
        dialect,
        phase: KeysPhase::Mix,
        mix: vec![(operation, 1)],
        count: REQUESTS,
        chosen: Chosen::Sequential,
        value_bytes: VALUE_BYTES,
        together,
        expires_s: 0,
        are_there: true,
        evicts: asked >> 4 & 1 == 1,
    }
}

/// Reads a stream cut at these places (ascending), as one connection whose server closes at the
/// end, until each request has its answer.
fn read(keys: &Keys, stream: &[u8], cuts: Vec<usize>) -> Came {
    let mut store = Store::of_values(Values::new(SEED, VALUE_BYTES), SEED, keys, Writers::Threads);
    let mut requests = Vec::new();
    (0..REQUESTS).for_each(|number| store.ask(number, &mut requests));
    assert!(requests.len() <= REQUESTS as usize * store.request_bytes_max());
    let kept_max = kept_max(keys);
    let is_bounded = |on: &StoreConnection| on.kept.len() <= kept_max;
    let steps = splits::read(&mut store, REQUESTS as usize, stream, cuts, is_bounded);
    Came { steps, keys: store.keys_seen().unwrap_or_default() }
}

/// The most bytes of an answer that is not whole: values, each with a line before it, and a line
/// behind them, and in RESP3 what stands beside them, the last of which isn't whole; or what a
/// greeting is answered with.
fn kept_max(keys: &Keys) -> usize {
    let value = LINE_BYTES_MAX + keys.value_bytes_max() + 2;
    usize::from(keys.together) * value + LINE_BYTES_MAX + 2 * resp::GREETING_BYTES_MAX
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::sample::Index;

    use super::*;
    use crate::protocol::splits::{in_lines, seeds};

    proptest! {
        /// What a fuzz target does at first.
        #[test]
        fn a_seed_with_other_bytes_comes_to_the_same_in_any_split(
            which: Index,
            others in prop::collection::vec((any::<Index>(), any::<u8>()), 1..4),
        ) {
            let seeds = seeds("store_answer");
            let mut input = which.get(&seeds).1.clone();
            for (at, byte) in others {
                *at.get_mut(&mut input) = byte;
            }
            in_any_split(&input);
        }
    }

    /// Else a change that breaks a decoder on them, or alters what it makes of them, would show
    /// only where somebody fuzzes.
    #[test]
    fn every_seed_of_the_fuzz_target_comes_to_what_it_did_before_in_any_split() {
        let came = seeds("store_answer").into_iter().map(|(name, input)| {
            let Came { steps, keys } = in_any_split(&input).expect("a seed is a whole input");
            format!("{name}{}\n    {keys:?}", in_lines(&steps))
        });
        let came: Vec<String> = came.collect();
        insta::assert_snapshot!(came.join("\n"));
    }
}
