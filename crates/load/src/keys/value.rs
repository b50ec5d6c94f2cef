//! Values that tell which write they are of, and are held to each of their bytes.
//!
//! A header names the write, the key, the writer and the length. All behind it is a piece of one
//! random block, at a place that follows from seed, write and key: so a value is made by one copy
//! and checked by one comparison.

use std::ops::RangeInclusive;

use crate::template::mix;

/// Write, key, writer, length: two numbers of eight bytes, two of four.
pub(crate) const HEADER_BYTES: usize = 24;
/// Places in the block at which a piece may begin.
const PLACES: u64 = 1 << 20;

/// Makes values and checks them.
#[derive(Debug)]
pub(crate) struct Values {
    block: Vec<u8>,
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
        let length = PLACES as usize + *bytes.end() as usize;
        let words = (0..length.div_ceil(8) as u64).map(|number| mix(mix(seed) ^ number));
        let block = words.flat_map(u64::to_le_bytes).take(length).collect();
        Values { block, seed, bytes }
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
        room.extend_from_slice(self.piece(write, key, length));
    }

    fn piece(&self, write: u64, key: u64, length: u32) -> &[u8] {
        let from = (mix(self.seed ^ write ^ mix(key)) % PLACES) as usize;
        &self.block[from..from + length as usize - HEADER_BYTES]
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
        let (is, should) = (&value[HEADER_BYTES..], self.piece(header.write, key, header.length));
        // As a whole first: to look for the place takes a step a byte.
        if is == should {
            return Ok(header);
        }
        let same = is.iter().zip(should).take_while(|(is, should)| is == should).count();
        Err(format!("another byte than was written at {}", HEADER_BYTES + same))
    }
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
