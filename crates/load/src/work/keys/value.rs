//! Values that tell which write they are of, and are held to each of their bytes.
//!
//! A header names the write, the key, the writer, the run by its seed, and the length. All behind it is filler: words of
//! a stream whose key follows from seed, write and key. So a value is made and checked without a
//! look at memory beside it. Of a word only half of a product's bits are told, of two numbers that
//! nobody has, so that none gives away the next: no store keeps a value in less than its bytes.

use crate::plan::keys::VALUE_BYTES_MIN;
use std::ops::RangeInclusive;

use crate::plan::template::mix;

/// Write, key, writer and run, length: two numbers of eight bytes, two of two, one of four.
pub(crate) const HEADER_BYTES: usize = VALUE_BYTES_MIN as usize;
/// Where the run lies in the header.
const RUN_AT: usize = 18;
/// Bytes of a word of filler.
const WORD: usize = 8;
/// From one number that a word is made of to the next: 2⁶⁴ by the golden ratio, so that all of its
/// bytes change.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// Makes values and checks them.
#[derive(Debug, Clone)]
pub struct Values {
    seed: u64,
    /// A word of the run's, which follows from the seed.
    run: u16,
    bytes: RangeInclusive<u32>,
}

/// What a value's header says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Header {
    pub write: u64,
    pub key: u64,
    pub writer: u16,
    /// What tells the values of runs with different seeds apart, but for chance.
    run: u16,
    pub length: u32,
}

/// What a key is called in a store.
pub fn key_called(key: u64) -> String {
    super::shown(key)
}

impl Values {
    /// Those of a load with this seed, whose values have so many bytes.
    pub fn new(seed: u64, bytes: RangeInclusive<u32>) -> Values {
        Values { seed, run: mix(seed.rotate_left(32)) as u16, bytes }
    }

    /// The value that a write gives a key.
    pub fn value(&self, write: u64, key: u64) -> Vec<u8> {
        let mut value = Vec::new();
        self.append(write, key, 0, &mut value);
        value
    }

    /// The write that a value is of, if it is whole and of this key.
    ///
    /// # Errors
    /// What is wrong with it, for people.
    pub fn write_of(&self, value: &[u8], key: u64) -> Result<u64, String> {
        self.check(value, key).map(|header| header.write)
    }

    /// The bytes that the value of a write has.
    pub(crate) fn length(&self, write: u64) -> u32 {
        let (least, most) = (*self.bytes.start(), *self.bytes.end());
        // The usual case, which takes neither chance nor a division.
        if least == most {
            return least;
        }
        let span = u64::from(most - least) + 1;
        least + (mix(self.seed ^ mix(!write)) % span) as u32
    }

    /// Appends the value that a writer gives a key.
    pub(crate) fn append(&self, write: u64, key: u64, writer: u16, room: &mut Vec<u8>) {
        let length = self.length(write);
        room.extend_from_slice(&Header { write, key, writer, run: self.run, length }.bytes());
        let begin = room.len();
        room.resize(begin + length as usize - HEADER_BYTES, 0);
        self.filler(write, key).fill(&mut room[begin..]);
    }

    fn filler(&self, write: u64, key: u64) -> Filler {
        Filler::drawn(self.seed, mix(self.seed ^ write ^ mix(key)))
    }

    /// The header of a value that was asked for under this key, if it is whole and of that key.
    ///
    /// # Errors
    /// What is wrong with it, for people.
    pub(crate) fn check(&self, value: &[u8], key: u64) -> Result<Header, String> {
        let Some(header) = Header::of(value) else {
            return Err(format!(
                "{} bytes, too few for a value that was written here",
                value.len()
            ));
        };
        if header.key != key {
            return Err(format!("the value of key {}", header.key));
        }
        if header.length as usize != value.len() || !self.bytes.contains(&header.length) {
            return Err(format!("{} bytes, where its head says {}", value.len(), header.length));
        }
        if header.run != self.run {
            return Err(
                "a value whose head names another run: it was written with another --seed, \
                        it seems"
                    .into(),
            );
        }
        match first_other_byte(&value[HEADER_BYTES..], self.filler(header.write, key)) {
            None => Ok(header),
            Some(at) => Err(format!("another byte than was written at {}", HEADER_BYTES + at)),
        }
    }
}

/// The words of a value's filler, one after the other.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Filler {
    at: u64,
    secret: u64,
}

impl Filler {
    /// That of a run with this seed that begins at a number drawn for it.
    #[inline(always)]
    pub(crate) fn drawn(seed: u64, drawn: u64) -> Filler {
        Filler { at: drawn, secret: mix(!seed ^ drawn.rotate_left(32)) }
    }

    /// Fills all of these bytes.
    #[inline(always)]
    pub(crate) fn fill(mut self, bytes: &mut [u8]) {
        let mut words = bytes.chunks_exact_mut(WORD);
        for bytes in &mut words {
            bytes.copy_from_slice(&self.next().to_le_bytes());
        }
        let rest = words.into_remainder();
        rest.copy_from_slice(&self.next().to_le_bytes()[..rest.len()]);
    }

    /// Both halves of a product, folded, as wyhash has them.
    fn next(&mut self) -> u64 {
        self.at = self.at.wrapping_add(STEP);
        let product = u128::from(self.at) * u128::from(self.at ^ self.secret);
        product as u64 ^ (product >> 64) as u64
    }
}

/// The first byte that isn't this filler's.
pub(crate) fn first_other_byte(bytes: &[u8], filler: Filler) -> Option<usize> {
    let (words, rest) = bytes.as_chunks::<WORD>();
    let mut should = filler;
    // All words, without a branch at each.
    let mut differences = 0;
    for bytes in words {
        differences |= u64::from_le_bytes(*bytes) ^ should.next();
    }
    if !rest.is_empty() {
        let bits = u64::BITS - 8 * rest.len() as u32;
        let last = bytes.last_chunk::<WORD>().map(|last| u64::from_le_bytes(*last) >> bits);
        let should = should.next() << bits >> bits;
        // Fewer bytes than a word are looked at one by one.
        differences |= last.map_or(u64::MAX, |last| last ^ should);
    }
    if differences == 0 {
        return None;
    }
    let mut should = filler;
    let words = std::iter::repeat_with(|| should.next().to_le_bytes());
    bytes.iter().zip(words.flatten()).position(|(is, should)| *is != should)
}

impl Header {
    fn bytes(self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[..8].copy_from_slice(&self.write.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.key.to_le_bytes());
        bytes[16..RUN_AT].copy_from_slice(&self.writer.to_le_bytes());
        bytes[RUN_AT..20].copy_from_slice(&self.run.to_le_bytes());
        bytes[20..].copy_from_slice(&self.length.to_le_bytes());
        bytes
    }

    fn of(value: &[u8]) -> Option<Header> {
        let header = value.first_chunk::<HEADER_BYTES>()?;
        let number = |at: usize| u64::from_le_bytes(*header[at..].first_chunk().expect("24 bytes"));
        let short = |at: usize| u32::from_le_bytes(*header[at..].first_chunk().expect("24 bytes"));
        let (writer, run) = (short(16) as u16, (short(16) >> 16) as u16);
        Some(Header { write: number(0), key: number(8), writer, run, length: short(20) })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn value(values: &Values, write: u64, key: u64) -> Vec<u8> {
        let mut bytes = Vec::new();
        values.append(write, key, 3, &mut bytes);
        bytes
    }

    proptest! {
        #[test]
        fn a_value_says_whose_it_is(write: u64, key: u64, seed: u64) {
            let values = Values::new(seed, 24..=200);
            let bytes = value(&values, write, key);
            let header = values.check(&bytes, key).unwrap();
            prop_assert_eq!((header.write, header.key, header.writer), (write, key, 3));
            prop_assert_eq!(bytes.len(), values.length(write) as usize);
        }

        /// Whatever a store does to it, nobody takes it for the value that was written.
        #[test]
        fn a_value_with_another_byte_is_found(at in 0_usize..100, bit in 0_u8..8, cut in 0_usize..99) {
            let values = Values::new(7, 100..=100);
            let whole = value(&values, 5, 9);
            prop_assert!(values.check(&whole[..cut], 9).is_err());
            let mut bytes = whole.clone();
            bytes[at] ^= 1 << bit;
            let read = values.check(&bytes, 9);
            // Its writer alone is held to nothing but the rule of what may be read.
            prop_assert_eq!(read.is_ok(), (16..RUN_AT).contains(&at), "{:?}", read);
        }
    }

    /// Else a store keeps 20,000 bytes in 32, and seems to write what it doesn't.
    #[test]
    fn no_word_of_a_value_gives_away_the_next() {
        let bytes = value(&Values::new(7, 20_000..=20_000), 5, 9);
        let words: Vec<u64> = bytes[HEADER_BYTES..]
            .as_chunks::<WORD>()
            .0
            .iter()
            .map(|word| u64::from_le_bytes(*word))
            .collect();
        // Neither as they are, nor as steps from one to the next, nor as steps of steps.
        let steps = |words: &[u64]| -> Vec<u64> {
            words.windows(2).map(|pair| pair[1].wrapping_sub(pair[0])).collect()
        };
        let ratios: Vec<u64> = words.windows(2).map(|pair| pair[0] ^ pair[1]).collect();
        for of in [words.clone(), steps(&words), steps(&steps(&words)), ratios] {
            let distinct: std::collections::HashSet<u64> = of.iter().copied().collect();
            assert_eq!(distinct.len(), of.len());
        }
        // Each bit is set as often as not, within five standard deviations.
        for bit in 0..64 {
            let set = words.iter().filter(|word| **word >> bit & 1 == 1).count() as f64;
            let (half, deviation) = (words.len() as f64 / 2.0, (words.len() as f64).sqrt() / 2.0);
            assert!((set - half).abs() < 5.0 * deviation, "bit {bit}: {set}");
        }
    }

    #[test]
    fn another_keys_value_and_another_seeds_are_found() {
        let values = Values::new(7, 100..=100);
        let wrong = |bytes: &[u8]| values.check(bytes, 9).unwrap_err();
        assert_eq!(wrong(&value(&values, 5, 8)), "the value of key 8");
        let of_another_run = value(&Values::new(8, 100..=100), 5, 9);
        assert!(wrong(&of_another_run).ends_with("written with another --seed, it seems"));
        assert_eq!(wrong(b"x"), "1 bytes, too few for a value that was written here");
    }
}
