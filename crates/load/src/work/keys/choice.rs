//! Which operation a request is, and of which key: by its number and the seed alone.

use rand::SeedableRng;
use rand::rngs::SmallRng;
use rand_distr::{Distribution, Zipf};

use crate::plan::keys::{Chosen, Keys, KeysPhase, Operation};
use crate::plan::template::mix;

/// Sets requests of a preload apart from those of the mix, which count from 0.
pub(crate) const PRELOADED: u64 = 1 << 63;

/// Draws requests.
#[derive(Debug, Clone)]
pub(crate) struct Choice {
    phase: KeysPhase,
    seed: u64,
    count: u64,
    chosen: Chosen,
    /// The operations, each with the sum of all weights up to its own.
    up_to: Vec<(Operation, u64)>,
    all_weights: u64,
    zipf: Option<Zipf<f64>>,
    spread: Spread,
}

/// What a request asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct KeyAsked {
    pub operation: Operation,
    /// The key, or the first of several.
    pub key: u64,
    /// What its write is known by.
    pub write: u64,
}

impl Choice {
    pub(crate) fn new(keys: &Keys, seed: u64) -> Choice {
        let up_to = keys.mix.iter().scan(0, |sum, (operation, weight)| {
            *sum += u64::from(*weight);
            Some((*operation, *sum))
        });
        let up_to: Vec<(Operation, u64)> = up_to.collect();
        let zipf = match keys.chosen {
            Chosen::Zipf { skew } | Chosen::Latest { skew } => {
                Zipf::new(keys.count as f64, skew).ok()
            }
            Chosen::Sequential | Chosen::Uniform | Chosen::Hot { .. } => None,
        };
        Choice {
            phase: keys.phase,
            seed,
            count: keys.count,
            chosen: keys.chosen,
            all_weights: up_to.last().map_or(0, |(_, sum)| *sum),
            up_to,
            zipf,
            spread: Spread::new(keys.count, seed),
        }
    }

    /// What the request with this number asks for.
    pub(crate) fn of(&self, number: u64) -> KeyAsked {
        match self.phase {
            KeysPhase::Preload => {
                let key = number % self.count;
                KeyAsked { operation: Operation::Set, key, write: PRELOADED | key }
            }
            KeysPhase::Mix => self.of_mix(number),
        }
    }

    /// Whether a write that is known by this number is one of this key.
    pub(crate) fn is_write_of(&self, write: u64, key: u64) -> bool {
        if write & PRELOADED != 0 {
            return write & !PRELOADED == key;
        }
        let asked = self.of_mix(write);
        asked.operation == Operation::Set && asked.key == key
    }

    /// The key that a get of several asks for at this place.
    pub(crate) fn nth(&self, first: u64, place: u16) -> u64 {
        let key = first + u64::from(place);
        // The usual case, which takes no division.
        if key < self.count { key } else { key % self.count }
    }

    fn of_mix(&self, number: u64) -> KeyAsked {
        let drawn = mix(self.seed ^ mix(number));
        let operation = self.operation(drawn);
        let key = self.key(operation, number, mix(drawn));
        KeyAsked { operation, key, write: number }
    }

    fn operation(&self, drawn: u64) -> Operation {
        let [(only, _)] = self.up_to[..] else {
            let weight = below(drawn, self.all_weights);
            let fits = self.up_to.iter().find(|(_, up_to)| weight < *up_to);
            return fits.expect("it is less than all weights").0;
        };
        only
    }

    fn key(&self, operation: Operation, number: u64, drawn: u64) -> u64 {
        match self.chosen {
            Chosen::Sequential => number % self.count,
            Chosen::Uniform => below(drawn, self.count),
            Chosen::Zipf { .. } => self.spread.key(self.rank(drawn)),
            Chosen::Latest { .. } if operation != Operation::Get => number % self.count,
            Chosen::Latest { .. } => {
                (number % self.count + self.count - self.rank(drawn)) % self.count
            }
            Chosen::Hot { requests, keys } => {
                let hot = (self.count * u64::from(keys)).div_ceil(100);
                let is_hot = below(drawn, 100) < u64::from(requests) || hot == self.count;
                let drawn = mix(drawn);
                let rank =
                    if is_hot { below(drawn, hot) } else { hot + below(drawn, self.count - hot) };
                self.spread.key(rank)
            }
        }
    }

    /// From 0, the most frequent one.
    fn rank(&self, drawn: u64) -> u64 {
        let Some(zipf) = &self.zipf else { return 0 };
        let rank = zipf.sample(&mut SmallRng::seed_from_u64(drawn));
        (rank as u64).clamp(1, self.count) - 1
    }
}

/// A number below `end`, of which each comes from as many draws (Lemire, "Fast random integer
/// generation in an interval", 2019, without its rejections: `end` is far below 2^64).
fn below(drawn: u64, end: u64) -> u64 {
    ((u128::from(drawn) * u128::from(end)) >> 64) as u64
}

/// Gives each rank a key of its own, so that frequent keys aren't neighbours: a Feistel network
/// over the next power of four, walked on until it falls among the keys.
#[derive(Debug, Clone, Copy)]
struct Spread {
    count: u64,
    half_bits: u32,
    seed: u64,
}

impl Spread {
    const ROUNDS: u64 = 4;

    fn new(count: u64, seed: u64) -> Spread {
        let bits = u64::BITS - count.saturating_sub(1).leading_zeros();
        Spread { count, half_bits: bits.div_ceil(2).max(1), seed }
    }

    fn key(self, rank: u64) -> u64 {
        let mut key = rank;
        loop {
            key = self.round_trip(key);
            if key < self.count {
                return key;
            }
        }
    }

    fn round_trip(self, value: u64) -> u64 {
        let mask = (1 << self.half_bits) - 1;
        let (mut left, mut right) = (value >> self.half_bits, value & mask);
        for round in 0..Spread::ROUNDS {
            let next = left ^ mix(self.seed ^ mix(right ^ round << 56)) & mask;
            (left, right) = (right, next);
        }
        left << self.half_bits | right
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{HashMap, HashSet};

    use proptest::prelude::*;

    use super::*;
    use crate::plan::keys::tests::keys;

    fn choice(chosen: Chosen, count: u64) -> Choice {
        Choice::new(&Keys { chosen, count, ..keys() }, 7)
    }

    fn drawn(choice: &Choice, requests: u64) -> HashMap<u64, u64> {
        let mut times = HashMap::new();
        (0..requests).for_each(|number| *times.entry(choice.of(number).key).or_insert(0) += 1);
        times
    }

    #[test]
    fn operations_come_as_often_as_the_mix_says() {
        let choice = choice(Chosen::Uniform, 100);
        let sets = (0..100_000).filter(|&it| choice.of(it).operation == Operation::Set).count();
        // Ten of a hundred, give or take five standard deviations.
        assert!((9_500..=10_500).contains(&sets), "{sets}");
    }

    #[test]
    fn a_preload_writes_each_key_once_whatever_the_mix() {
        let preload = Keys { phase: KeysPhase::Preload, count: 500, ..keys() };
        let choice = Choice::new(&preload, 7);
        let asked: Vec<KeyAsked> = (0..500).map(|number| choice.of(number)).collect();
        assert!(asked.iter().all(|it| it.operation == Operation::Set));
        let written: HashSet<u64> = asked.iter().map(|it| it.key).collect();
        assert_eq!(written.len(), 500);
    }

    #[test]
    fn uniform_keys_are_alike() {
        // 100 keys, 1,000 requests each: by chance chi-square lies below 149 in 999 of 1,000.
        let times = drawn(&choice(Chosen::Uniform, 100), 100_000);
        let squares = |times: &u64| (*times as f64 - 1_000.0).powi(2) / 1_000.0;
        let chi_square: f64 = times.values().map(squares).sum();
        assert!(chi_square < 149.0, "{chi_square}");
    }

    #[test]
    fn the_key_of_a_rank_comes_as_often_as_zipf_has_it() {
        let (count, requests) = (1_000, 200_000);
        let choice = choice(Chosen::Zipf { skew: 0.99 }, count);
        let times = drawn(&choice, requests);
        let weight = |rank: u64| 1.0 / (rank as f64).powf(0.99);
        let all: f64 = (1..=count).map(weight).sum();
        for rank in [1, 2, 3, 10] {
            let expected = requests as f64 * weight(rank) / all;
            let seen = times[&choice.spread.key(rank - 1)] as f64;
            assert!((seen - expected).abs() < 5.0 * expected.sqrt(), "{rank}: {seen}, {expected}");
        }
    }

    #[test]
    fn a_hot_set_has_its_share() {
        let choice = choice(Chosen::Hot { requests: 90, keys: 10 }, 1_000);
        let hot: HashSet<u64> = (0..100).map(|rank| choice.spread.key(rank)).collect();
        let of_hot = (0..100_000).filter(|&it| hot.contains(&choice.of(it).key)).count();
        assert!((89_500..=90_500).contains(&of_hot), "{of_hot}");
    }

    #[test]
    fn reads_of_the_latest_are_of_what_was_written_last() {
        let choice = choice(Chosen::Latest { skew: 2.0 }, 1_000_000);
        let reads = (500_000..501_000).filter(|&it| choice.of(it).operation == Operation::Get);
        let ages: Vec<u64> = reads.map(|it| it - choice.of(it).key).collect();
        let young = ages.iter().filter(|&&age| age < 10).count();
        assert!(young > ages.len() * 8 / 10, "{young} of {}", ages.len());
    }

    proptest! {
        /// Two ranks with one key would make it too frequent, and others would never be asked.
        #[test]
        fn each_rank_has_a_key_of_its_own(count in 1_u64..3_000, seed: u64) {
            let spread = Spread::new(count, seed);
            let keys: HashSet<u64> = (0..count).map(|rank| spread.key(rank)).collect();
            prop_assert_eq!(keys.len() as u64, count);
            prop_assert!(keys.iter().all(|key| *key < count));
        }

        #[test]
        fn a_key_is_one_of_those_that_there_are(count in 1_u64..10_000, number: u64, hot in 1_u8..=100) {
            for chosen in [
                Chosen::Sequential,
                Chosen::Uniform,
                Chosen::Zipf { skew: 0.99 },
                Chosen::Latest { skew: 0.99 },
                Chosen::Hot { requests: 90, keys: hot },
            ] {
                let asked = choice(chosen, count).of(number >> 1);
                prop_assert!(asked.key < count, "{:?} {:?}", chosen, asked);
            }
        }

        #[test]
        fn a_write_is_known_again(number in 0_u64..1_000_000) {
            let choice = choice(Chosen::Uniform, 50);
            let asked = choice.of(number);
            let is_write = asked.operation == Operation::Set;
            prop_assert_eq!(choice.is_write_of(number, asked.key), is_write);
            prop_assert!(!choice.is_write_of(number, asked.key + 1));
            prop_assert!(choice.is_write_of(PRELOADED | 3, 3));
            prop_assert!(!choice.is_write_of(PRELOADED | 3, 4));
        }
    }
}
