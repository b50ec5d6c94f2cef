//! The numbers that a program's units of work have, and their sum.
//!
//! A crate of its own, so that it is optimised where all around it isn't: a program does hundreds
//! of millions of units a second, and their numbers are summed again.

/// The payloads of a program's units, in order and without end: Lehmer's generator with the
/// constants of Park, Miller and Stockmeyer ("Another test for goodness", 1993), C++'s
/// `minstd_rand`. Its products stay below 2^47, so that languages whose integers are doubles or
/// tagged words make it as cheaply as others.
#[derive(Debug, Clone)]
pub struct Payloads(u64);

impl Payloads {
    /// Seeds are from 1 to one less than this, and so are payloads.
    pub const MODULUS: u64 = (1 << 31) - 1;
    const FACTOR: u64 = 48_271;

    /// From this seed.
    pub fn new(seed: u64) -> Payloads {
        Payloads(seed)
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

    /// A sum with the next so many added: see [`add`].
    pub fn add_to(&mut self, sum: u32, factor: u32, units: usize) -> u32 {
        self.take(units).fold(sum, |sum, payload| add(sum, factor, payload))
    }
}

impl Iterator for Payloads {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        self.0 = self.0 * Self::FACTOR % Self::MODULUS;
        Some(self.0)
    }
}

/// A sum with a number added, modulo 2^32. With a factor other than 1, by which the sum is
/// multiplied before, it tells the numbers' order as well.
pub fn add(sum: u32, factor: u32, number: u64) -> u32 {
    // Numbers are below 2^32.
    sum.wrapping_mul(factor).wrapping_add(number as u32)
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
    fn a_sum_goes_on_where_it_stopped_and_tells_the_order_where_it_has_to() {
        let first: Vec<u64> = Payloads::new(7).take(3).collect();
        let [one, two, three] = [first[0], first[1], first[2]];
        let mut payloads = Payloads::new(7);
        let sum = payloads.add_to(0, 1, 2);
        assert_eq!(u64::from(sum), (one + two) % (1 << 32));
        let sum = payloads.add_to(sum, 1, 1);
        assert_eq!(u64::from(sum), (one + two + three) % (1 << 32));
        let in_order = Payloads::new(7).add_to(0, 31, 3);
        assert_eq!(u64::from(in_order), ((one * 31 + two) * 31 + three) % (1 << 32));
    }
}
