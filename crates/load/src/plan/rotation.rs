//! Which of several requests a number is: in turn, or as often as their weights say.
//!
//! Nothing is stored or drawn. Numbers go in rounds, each as long as all weights together. In a
//! round each request comes exactly as often as its weight says, so that runs differ in no share.
//! The places of a request are spread over the round by a step that shares no factor with the
//! round's length, near the golden section of it. Each round begins elsewhere, as the seed says.

use crate::plan::template::{Request, mix};

/// The order of several requests.
#[derive(Debug, Clone)]
pub(crate) struct Rotation {
    /// For each request the sum of all weights up to its own.
    up_to: Vec<u64>,
    /// The length of a round.
    all: u64,
    /// From one place of a round to the next; `None` where requests come in turn.
    step: Option<u64>,
    seed: u64,
}

impl Rotation {
    /// Of these requests, in a run with this seed.
    pub(crate) fn new(requests: &[Request], seed: u64) -> Rotation {
        let weights = requests.iter().map(|it| u64::from(it.weight));
        let shared = weights.clone().fold(0, greatest_divisor).max(1);
        let up_to: Vec<u64> = weights
            .scan(0, |sum, weight| {
                *sum += weight / shared;
                Some(*sum)
            })
            .collect();
        let all = up_to.last().copied().unwrap_or(0).max(1);
        let is_in_turn = all == requests.len() as u64;
        let golden = (all as f64 * 0.618) as u64;
        let mut steps = golden.max(1)..;
        let step = steps.find(|&step| greatest_divisor(step, all) == 1);
        Rotation { up_to, all, step: step.filter(|_| !is_in_turn), seed }
    }

    /// The request with this number.
    pub(crate) fn index(&self, number: u64) -> usize {
        let (round, at) = (number / self.all, number % self.all);
        let Some(step) = self.step else { return at as usize };
        let place = (at * step + mix(self.seed ^ mix(round)) % self.all) % self.all;
        self.up_to.partition_point(|&up_to| up_to <= place)
    }
}

fn greatest_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { greatest_divisor(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rotation(weights: &[u32], seed: u64) -> Rotation {
        let request = |&weight: &u32| Request { weight, ..Request::get("/") };
        Rotation::new(&weights.iter().map(request).collect::<Vec<_>>(), seed)
    }

    fn sequence(weights: &[u32], seed: u64, count: u64) -> Vec<usize> {
        let rotation = rotation(weights, seed);
        (0..count).map(|number| rotation.index(number)).collect()
    }

    #[test]
    fn equal_weights_are_in_turn() {
        for weights in [[1, 1, 1], [7, 7, 7]] {
            assert_eq!(sequence(&weights, 3, 7), [0, 1, 2, 0, 1, 2, 0]);
        }
        assert_eq!(sequence(&[5], 3, 3), [0, 0, 0]);
    }

    /// Else a heavy request would come more often in one trial than in the next.
    #[test]
    fn in_each_round_each_request_comes_as_often_as_its_weight_says() {
        for weights in [&[9, 1][..], &[90, 10], &[1, 2, 3], &[97, 2, 1], &[10_000, 1]] {
            for seed in 0..5 {
                let rotation = rotation(weights, seed);
                for round in [0, 1, 77] {
                    let mut times = vec![0; weights.len()];
                    let numbers = round * rotation.all..(round + 1) * rotation.all;
                    numbers.for_each(|number| times[rotation.index(number)] += 1);
                    let shares = weights.iter().zip(times).map(|(&weight, times)| weight / times);
                    let shares: Vec<u32> = shares.collect();
                    assert!(shares.iter().all(|&it| it == shares[0]), "{weights:?}: {shares:?}");
                }
            }
        }
    }

    #[test]
    fn the_sequence_follows_from_the_seed_and_rounds_differ() {
        let of = |seed| sequence(&[9, 1], seed, 1000);
        assert_eq!(of(1), of(1));
        assert_ne!(of(1), of(2));
        let places: std::collections::BTreeSet<usize> =
            of(1).chunks(10).filter_map(|round| round.iter().position(|&it| it == 1)).collect();
        assert!(places.len() > 5, "always at {places:?}: a server could learn it");
    }

    #[test]
    fn a_request_of_half_the_weight_comes_in_no_long_run() {
        let sequence = sequence(&[51, 49], 1, 10_000);
        let longest = sequence.chunk_by(|a, b| a == b).map(<[_]>::len).max();
        assert!(longest <= Some(4), "{longest:?} in a row");
    }
}
