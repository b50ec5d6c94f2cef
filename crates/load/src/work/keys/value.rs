//! Values that tell which write they are of, and are held to each of their bytes.
//!
//! A header names the write, the key, the writer and the length. All behind it is filler: words
//! that go up from a random one by the same odd step. The first follows from seed, write and key.
//! So a value is made and checked without a look at memory beside it, and no store that looks for
//! words that it saw before makes it smaller.

use crate::plan::keys::VALUE_BYTES_MIN;
use std::ops::RangeInclusive;

use crate::plan::template::mix;

/// Write, key, writer, length: two numbers of eight bytes, two of four.
pub(crate) const HEADER_BYTES: usize = VALUE_BYTES_MIN as usize;
/// Bytes of a word of filler.
const WORD: usize = 8;
/// From a word of filler to the next: 2⁶⁴ by the golden ratio, so that all of its bytes change.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// Makes values and checks them.
#[derive(Debug, Clone)]
pub(crate) struct Values {
    seed: u64,
    bytes: RangeInclusive<u32>,
}

/// What a value's header says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Header {
    pub write: u64,
    pub key: u64,
    pub writer: u32,
    pub length: u32,
}

impl Values {
    pub(crate) fn new(seed: u64, bytes: RangeInclusive<u32>) -> Values {
        Values { seed, bytes }
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
    pub(crate) fn append(&self, write: u64, key: u64, writer: u32, room: &mut Vec<u8>) {
        let length = self.length(write);
        room.extend_from_slice(&Header { write, key, writer, length }.bytes());
        let begin = room.len();
        room.resize(begin + length as usize - HEADER_BYTES, 0);
        let first = self.first_word(write, key);
        let mut words = room[begin..].chunks_exact_mut(WORD);
        let mut word = first;
        for bytes in &mut words {
            bytes.copy_from_slice(&word.to_le_bytes());
            word = word.wrapping_add(STEP);
        }
        let rest = words.into_remainder();
        rest.copy_from_slice(&word.to_le_bytes()[..rest.len()]);
    }

    /// The first word of the filler.
    fn first_word(&self, write: u64, key: u64) -> u64 {
        mix(self.seed ^ write ^ mix(key))
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
        match first_other_byte(&value[HEADER_BYTES..], self.first_word(header.write, key)) {
            None => Ok(header),
            Some(at) => Err(format!("another byte than was written at {}", HEADER_BYTES + at)),
        }
    }
}

/// The first byte that isn't the filler's that begins with this word.
fn first_other_byte(filler: &[u8], first: u64) -> Option<usize> {
    let (words, rest) = filler.as_chunks::<WORD>();
    let mut word = first;
    // All words, without a look at each by itself, which the processor does several at a time.
    let mut differences = 0;
    for bytes in words {
        differences |= u64::from_le_bytes(*bytes) ^ word;
        word = word.wrapping_add(STEP);
    }
    if differences == 0 && *rest == word.to_le_bytes()[..rest.len()] {
        return None;
    }
    let words = (0..).map(|number: u64| first.wrapping_add(number.wrapping_mul(STEP)));
    let should = words.flat_map(u64::to_le_bytes);
    filler.iter().zip(should).position(|(is, should)| *is != should)
}

impl Header {
    fn bytes(self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[..8].copy_from_slice(&self.write.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.key.to_le_bytes());
        bytes[16..20].copy_from_slice(&self.writer.to_le_bytes());
        bytes[20..].copy_from_slice(&self.length.to_le_bytes());
        bytes
    }

    fn of(value: &[u8]) -> Option<Header> {
        let header = value.first_chunk::<HEADER_BYTES>()?;
        let number = |at: usize| u64::from_le_bytes(*header[at..].first_chunk().expect("24 bytes"));
        let short = |at: usize| u32::from_le_bytes(*header[at..].first_chunk().expect("24 bytes"));
        Some(Header { write: number(0), key: number(8), writer: short(16), length: short(20) })
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
            prop_assert_eq!(read.is_ok(), (16..20).contains(&at), "{:?}", read);
        }
    }

    #[test]
    fn another_keys_value_and_another_seeds_are_found() {
        let values = Values::new(7, 100..=100);
        let wrong = |bytes: &[u8]| values.check(bytes, 9).unwrap_err();
        assert_eq!(wrong(&value(&values, 5, 8)), "the value of key 8");
        let of_another_run = value(&Values::new(8, 100..=100), 5, 9);
        assert_eq!(wrong(&of_another_run), "another byte than was written at 24");
        assert_eq!(wrong(b"x"), "1 bytes, too few for a value that was written here");
    }
}
