//! The numbers that a program's units have.

use sha2::{Digest, Sha256};

/// The payloads of a trial's units, in order and without end: Lehmer's generator with the
/// constants of Park, Miller and Stockmeyer ("Another test for goodness", 1993), C++'s
/// `minstd_rand`. Its products stay below 2^47, so that languages whose integers are doubles or
/// tagged words make it as cheaply as others.
#[derive(Debug, Clone)]
pub struct Payloads(u64);

impl Payloads {
    const MODULUS: u64 = (1 << 31) - 1;
    const FACTOR: u64 = 48_271;

    /// From the seed that a program is given: see [`Payloads::seed`].
    pub fn new(seed: u64) -> Payloads {
        Payloads(seed)
    }

    /// The seed of a trial as the generator takes it: from 1 to 2^31 − 2. A digest, because
    /// what else follows from the trial's seed is none of the program's business.
    pub fn seed(of_trial: u64) -> u64 {
        drawn("payloads", of_trial) % (Self::MODULUS - 1) + 1
    }

    /// Without the first so many, which aren't made one by one.
    pub fn skip_ahead(self, mut count: u64) -> Payloads {
        let (mut state, mut factor) = (self.0, Self::FACTOR);
        while count > 0 {
            if count % 2 == 1 {
                state = state * factor % Self::MODULUS;
            }
            factor = factor * factor % Self::MODULUS;
            count /= 2;
        }
        Payloads(state)
    }
}

impl Iterator for Payloads {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        self.0 = self.0 * Self::FACTOR % Self::MODULUS;
        Some(self.0)
    }
}

/// A number that follows from a trial's seed, another one for each purpose: who knows one
/// doesn't know the others.
pub(crate) fn drawn(purpose: &str, seed: u64) -> u64 {
    let digest = Sha256::new().chain_update(purpose).chain_update(seed.to_le_bytes()).finalize();
    digest.iter().take(8).fold(0, |number, &byte| number << 8 | u64::from(byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn payloads_are_those_of_minstd() {
        // What the C++ standard says of `minstd_rand`, rand.predef.
        assert_eq!(Payloads::new(1).nth(9_999), Some(399_268_537));
    }

    #[test]
    fn to_skip_is_to_make_and_forget() {
        for count in [0, 1, 2, 63, 1_000, 9_999] {
            let mut made = Payloads::new(7);
            made.by_ref().take(count as usize).for_each(drop);
            assert_eq!(Payloads::new(7).skip_ahead(count).next(), made.next(), "{count}");
        }
    }

    #[test]
    fn any_seed_of_a_trial_makes_one_that_never_ends_in_zeros() {
        for seed in [0, 1, Payloads::MODULUS - 1, Payloads::MODULUS, u64::MAX] {
            let seed = Payloads::seed(seed);
            assert!((1..Payloads::MODULUS).contains(&seed), "{seed}");
        }
    }

    /// A program that knew when its window begins could work for that alone.
    #[test]
    fn what_is_drawn_for_one_purpose_tells_nothing_of_another() {
        let seeds = [7, 7 + Payloads::MODULUS - 1];
        let [first, second] = seeds.map(|seed| drawn("window", seed));
        assert_ne!(first, second, "nor does what a program might have in common with another");
        assert_ne!(drawn("window", 7), drawn("payloads", 7));
    }
}
