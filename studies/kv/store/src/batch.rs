//! The writes of one turn of a thread's loop, over all of its connections: they are committed
//! together, and acknowledged after that.

use std::hash::{BuildHasher, RandomState};
use std::ops::Range;

use hashbrown::HashTable;

use crate::value::Head;

/// What a batch keeps room for between turns; what a larger one took is given back.
const KEPT_BYTES: usize = 1 << 20;

/// Writes in one piece of memory.
#[derive(Debug, Default)]
pub struct Batch {
    bytes: Vec<u8>,
    writes: Vec<Entry>,
    /// The last write of each key, by its place in `writes`: reads of the same turn see it.
    last: HashTable<usize>,
    hasher: RandomState,
}

#[derive(Debug)]
struct Entry {
    key: Range<usize>,
    /// `None` removes the key.
    kept: Option<Range<usize>>,
    /// A later write of the same key stands for it.
    is_over: bool,
}

impl Batch {
    /// A value that replaces that of the key.
    pub fn put(&mut self, key: &[u8], head: &Head, value: &[u8]) {
        let key = self.append(key);
        let begin = self.bytes.len();
        self.bytes.extend_from_slice(&head.bytes());
        self.bytes.extend_from_slice(value);
        let kept = Some(begin..self.bytes.len());
        self.add(Entry { key, kept, is_over: false });
    }

    /// Removes a key, or does nothing where there is none.
    pub fn delete(&mut self, key: &[u8]) {
        let key = self.append(key);
        self.add(Entry { key, kept: None, is_over: false });
    }

    fn append(&mut self, bytes: &[u8]) -> Range<usize> {
        let begin = self.bytes.len();
        self.bytes.extend_from_slice(bytes);
        begin..self.bytes.len()
    }

    fn add(&mut self, entry: Entry) {
        let at = self.writes.len();
        let Batch { bytes, writes, last, hasher } = self;
        let key = &bytes[entry.key.clone()];
        let hash = hasher.hash_one(key);
        match last.find_mut(hash, |&at| &bytes[writes[at].key.clone()] == key) {
            Some(last) => {
                writes[*last].is_over = true;
                *last = at;
            }
            None => {
                last.insert_unique(hash, at, |&at| hasher.hash_one(&bytes[writes[at].key.clone()]));
            }
        }
        writes.push(entry);
    }

    /// What the batch says of a key: `None` if nothing, `Some(None)` if it removes it.
    pub fn find(&self, key: &[u8]) -> Option<Option<&[u8]>> {
        if self.writes.is_empty() {
            return None;
        }
        let hash = self.hasher.hash_one(key);
        let is_it = |&at: &usize| &self.bytes[self.writes[at].key.clone()] == key;
        let &at = self.last.find(hash, is_it)?;
        Some(self.writes[at].kept.clone().map(|kept| &self.bytes[kept]))
    }

    /// Each key once, with what is to be kept of it; `None` removes it.
    pub fn writes(&self) -> impl Iterator<Item = (&[u8], Option<&[u8]>)> {
        self.writes.iter().filter(|entry| !entry.is_over).map(|entry| {
            let kept = entry.kept.clone().map(|kept| &self.bytes[kept]);
            (&self.bytes[entry.key.clone()], kept)
        })
    }

    pub fn is_empty(&self) -> bool {
        self.writes.is_empty()
    }

    /// Bytes of all keys and values.
    pub fn bytes(&self) -> usize {
        self.bytes.len()
    }

    pub fn clear(&mut self) {
        self.bytes.clear();
        self.bytes.shrink_to(KEPT_BYTES);
        self.writes.clear();
        self.last.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_write_of_a_key_is_the_one_that_is_found_and_told() {
        let mut batch = Batch::default();
        assert_eq!(batch.find(b"a"), None);
        for number in 0..1000_u32 {
            let key = (number % 300).to_string();
            batch.put(key.as_bytes(), &Head::default(), &number.to_le_bytes());
        }
        batch.delete(b"7");
        let kept = batch.find(b"299").flatten().and_then(Head::split).map(|(_, value)| value);
        assert_eq!(kept, Some(&899_u32.to_le_bytes()[..]));
        assert_eq!(batch.find(b"7"), Some(None), "it was removed");
        assert_eq!(batch.find(b"300"), None, "nothing is said of it");
        assert_eq!(batch.writes().count(), 300, "each key once");
        assert_eq!(batch.writes().last(), Some((&b"7"[..], None)));
        batch.clear();
        assert_eq!(batch.find(b"7"), None);
    }
}
