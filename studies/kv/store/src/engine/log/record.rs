//! A record of the log: what was written for a key.
//!
//! ```text
//! checksum (4)  bytes of the key (2)  bytes of the value (4)  key  value
//! ```
//!
//! Numbers are little-endian. The checksum is a CRC-32 of all behind it. A value of 2^32 - 1 bytes
//! stands for none: the key was removed. No key is empty, so that zeros are no record.

const HEAD_BYTES: usize = 10;
const REMOVED: u32 = u32::MAX;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record<'a> {
    pub key: &'a [u8],
    /// `None` removes the key.
    pub value: Option<&'a [u8]>,
}

/// A record and where it begins.
#[derive(Debug, PartialEq, Eq)]
pub struct Found<'a> {
    pub at: usize,
    pub record: Record<'a>,
}

/// Bytes of a record.
pub fn bytes(key_bytes: usize, value_bytes: usize) -> usize {
    value_begin(key_bytes) + value_bytes
}

/// Where the value begins in a record.
pub fn value_begin(key_bytes: usize) -> usize {
    HEAD_BYTES + key_bytes
}

impl<'a> Record<'a> {
    pub fn bytes(&self) -> usize {
        bytes(self.key.len(), self.value.map_or(0, <[u8]>::len))
    }

    /// Appends its bytes. Key and value are bounded where requests are read.
    pub fn encode(&self, to: &mut Vec<u8>) {
        let begin = to.len();
        let value_bytes = self.value.map_or(REMOVED, |value| value.len() as u32);
        to.extend_from_slice(&[0; 4]);
        to.extend_from_slice(&(self.key.len() as u16).to_le_bytes());
        to.extend_from_slice(&value_bytes.to_le_bytes());
        to.extend_from_slice(self.key);
        to.extend_from_slice(self.value.unwrap_or_default());
        let checksum = crc32fast::hash(&to[begin + 4..]);
        to[begin..begin + 4].copy_from_slice(&checksum.to_le_bytes());
    }

    /// The record at the begin of these bytes; `None` where there is no whole one.
    fn decode(from: &'a [u8]) -> Option<Record<'a>> {
        let head = Head::decode(from)?;
        let value_begin = value_begin(head.key_bytes);
        let end = value_begin + head.value_bytes.unwrap_or(0);
        let checked = from.get(4..end)?;
        if head.key_bytes == 0 || crc32fast::hash(checked) != head.checksum {
            return None;
        }
        let value = head.value_bytes.map(|_| &from[value_begin..end]);
        Some(Record { key: &from[HEAD_BYTES..value_begin], value })
    }

    /// As [`Record::decode`], but takes what is there for a record, whole or not.
    fn decode_unchecked(from: &'a [u8]) -> Option<Record<'a>> {
        let head = Head::decode(from)?;
        if head.key_bytes == 0 {
            return None;
        }
        let value_begin = value_begin(head.key_bytes).min(from.len());
        let end = |value_bytes| from.len().min(value_begin + value_bytes);
        let value = head.value_bytes.map(|bytes| &from[value_begin..end(bytes)]);
        Some(Record { key: &from[HEAD_BYTES..value_begin], value })
    }
}

struct Head {
    checksum: u32,
    key_bytes: usize,
    value_bytes: Option<usize>,
}

impl Head {
    fn decode(from: &[u8]) -> Option<Head> {
        let (checksum, rest) = from.split_first_chunk::<4>()?;
        let (key_bytes, rest) = rest.split_first_chunk::<2>()?;
        let value_bytes = u32::from_le_bytes(*rest.first_chunk::<4>()?);
        Some(Head {
            checksum: u32::from_le_bytes(*checksum),
            key_bytes: u16::from_le_bytes(*key_bytes).into(),
            value_bytes: (value_bytes != REMOVED).then_some(value_bytes as usize),
        })
    }
}

/// All records from the begin on, up to the first that isn't whole.
pub fn all(content: &[u8]) -> impl Iterator<Item = Found<'_>> {
    each(content, Record::decode)
}

/// All that look like records by their first bytes: of bytes that were just made, or as a fault.
pub fn all_unchecked(content: &[u8]) -> impl Iterator<Item = Found<'_>> {
    each(content, Record::decode_unchecked)
}

fn each<'a>(
    content: &'a [u8],
    decode: impl Fn(&'a [u8]) -> Option<Record<'a>>,
) -> impl Iterator<Item = Found<'a>> {
    let mut next = 0;
    std::iter::from_fn(move || {
        let at = next;
        let record = decode(&content[at..])?;
        next += record.bytes();
        Some(Found { at, record })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_found_up_to_the_first_that_is_cut() {
        let records = [
            Record { key: b"a", value: Some(b"first") },
            Record { key: b"bb", value: None },
            Record { key: b"a", value: Some(b"") },
        ];
        let mut bytes = Vec::new();
        records.iter().for_each(|record| record.encode(&mut bytes));
        let found = |bytes: &[u8]| all(bytes).map(|it| it.record.bytes()).collect::<Vec<_>>();
        assert_eq!(all(&bytes).map(|it| it.record).collect::<Vec<_>>(), records);
        let whole = found(&bytes);
        for cut in 0..bytes.len() {
            let mut zeroed = bytes.clone();
            zeroed[cut..].fill(0);
            for cut_off in [&bytes[..cut], &zeroed] {
                let found = found(cut_off);
                assert!(found.iter().sum::<usize>() <= cut && whole.starts_with(&found), "{cut}");
            }
        }
    }

    #[test]
    fn a_changed_bit_anywhere_makes_it_no_record() {
        let mut bytes = Vec::new();
        Record { key: b"key", value: Some(b"value") }.encode(&mut bytes);
        for bit in 0..bytes.len() * 8 {
            let mut changed = bytes.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(all(&changed).next(), None, "bit {bit}");
        }
    }

    #[test]
    fn without_a_check_a_cut_record_passes_for_a_whole_one() {
        let mut bytes = Vec::new();
        Record { key: b"key", value: Some(b"value") }.encode(&mut bytes);
        let cut = bytes.len() - 2;
        bytes[cut..].fill(0);
        let found = all_unchecked(&bytes).next().map(|it| it.record);
        assert_eq!(found, Some(Record { key: b"key", value: Some(b"val\0\0") }));
    }
}
