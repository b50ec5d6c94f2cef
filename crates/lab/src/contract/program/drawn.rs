//! Numbers that follow from a trial's seed.

use payloads::Payloads;
use sha2::{Digest, Sha256};

/// The seed of a trial's payloads: from 1 to 2^31 − 2. A digest, because what else follows from the
/// trial's seed is none of the program's business.
pub fn payloads_seed(of_trial: u64) -> u64 {
    drawn("payloads", of_trial) % (Payloads::MODULUS - 1) + 1
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
    fn any_seed_of_a_trial_makes_one_that_never_ends_in_zeros() {
        for seed in [0, 1, Payloads::MODULUS - 1, Payloads::MODULUS, u64::MAX] {
            let seed = payloads_seed(seed);
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
