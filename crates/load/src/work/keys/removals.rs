//! Which keys some thread has asked a store to remove.
//!
//! A thread knows its own removals alone. So without this a read that finds nothing could be told
//! by nobody from one whose key another thread removed, and a store that loses what it was given
//! would look like an honest one.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Keys that are told apart: 1 MiB of bits. Of more keys several have one bit.
const TOLD_APART_MAX: u64 = 1 << 23;

/// What all threads of a run asked to be removed, from its start on.
#[derive(Debug, Clone)]
pub(crate) struct Removals(Arc<[AtomicU64]>);

impl Removals {
    /// Of so many keys.
    pub(crate) fn new(keys: u64) -> Removals {
        let words = keys.min(TOLD_APART_MAX).div_ceil(64).max(1);
        Removals((0..words).map(|_| AtomicU64::new(0)).collect())
    }

    /// A removal of this key is about to be sent.
    pub(crate) fn begins(&self, key: u64) {
        let (word, bit) = self.place(key);
        // Nobody waits for a line of memory that others write, where there is nothing to write.
        if word.load(Ordering::Relaxed) & bit == 0 {
            word.fetch_or(bit, Ordering::SeqCst);
        }
    }

    /// Whether this key may have been removed: a removal of it, or of one that it isn't told
    /// apart from, was sent.
    pub(crate) fn may_have(&self, key: u64) -> bool {
        let (word, bit) = self.place(key);
        word.load(Ordering::SeqCst) & bit != 0
    }

    fn place(&self, key: u64) -> (&AtomicU64, u64) {
        let word = (key / 64 % self.0.len() as u64) as usize;
        (&self.0[word], 1 << (key % 64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_thread_removes_another_knows() {
        let removals = Removals::new(1_000);
        let of_another = removals.clone();
        std::thread::spawn(move || of_another.begins(999)).join().unwrap();
        assert!(removals.may_have(999));
        assert!((0..999).all(|key| !removals.may_have(key)), "it is told apart from all others");
    }

    #[test]
    fn of_very_many_keys_several_have_one_bit() {
        let removals = Removals::new(1_000_000_000_000);
        assert_eq!(removals.0.len() as u64, TOLD_APART_MAX / 64);
        removals.begins(TOLD_APART_MAX + 7);
        assert!(removals.may_have(7) && removals.may_have(TOLD_APART_MAX + 7));
        assert!(!removals.may_have(8));
    }
}
