//! Which of its own writes a thread may no longer read.
//!
//! A write that was acknowledged before another one of the same key was even sent is overwritten
//! once that is acknowledged too: who then asks and gets it has read a stale value, or the later
//! write was lost. That is so for any store that claims that its reads see its writes. Of writes
//! under way together either may be the last, and of other threads' nothing is known here. Where
//! there is one thread alone, its writes also tell whether a key is there.

use super::choice::PRELOADED;
use crate::plan::template::mix;

/// Keys whose writes are remembered: what stays in a processor's cache.
const KEPT_MAX: u64 = 1 << 15;

/// What one thread knows of its own writes.
#[derive(Debug, Clone)]
pub(crate) struct Register {
    /// One of so many keys is remembered, as a power of two: a division a request would be
    /// dear.
    every: u32,
    /// Which of so many, by the seed: else a store would know them.
    from: u64,
    of: Vec<Own>,
}

/// In place of a write: none.
const NONE: u64 = u64::MAX;

/// The writes of one key: two to a cache line, for they are looked at in no order.
#[derive(Debug, Clone, Copy)]
#[repr(align(32))]
struct Own {
    /// The only one under way since all before it were acknowledged; [`NONE`] if there are
    /// several.
    alone: u64,
    /// All writes before this one are overwritten; [`NONE`] before the first.
    last: u64,
    /// Since when, in ns of the run's clock.
    since: u64,
    /// How long it had taken by then, in µs, rounded up.
    took_us: u32,
    under_way: u16,
    /// Whether nothing has come to the key since the last write, or ever.
    is_settled: bool,
    /// Whether a write was sent again. The server may come to read the first of both at any time:
    /// its end of a connection that was lost may still hold it.
    is_repeated: bool,
}

impl Own {
    const NOTHING: Own = Own {
        alone: NONE,
        last: NONE,
        since: 0,
        took_us: 0,
        under_way: 0,
        is_settled: true,
        is_repeated: false,
    };

    /// The last write, if it was acknowledged before that time.
    fn written_by(&self, asked: u64) -> Option<u64> {
        (self.last != NONE && asked >= self.since).then_some(self.last)
    }

    /// Whether it is known what the key has once nothing is under way.
    fn is_known(&self) -> bool {
        self.is_settled && !self.is_repeated
    }

    /// What that is.
    fn left(&self) -> FoundBefore {
        if self.last == NONE { FoundBefore::Nobodys } else { FoundBefore::Write(self.last) }
    }
}

/// What a key had when a write came to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FoundBefore {
    /// What was there before the thread's first write.
    Nobodys,
    /// What this write made of it.
    Write(u64),
}

impl Register {
    /// Of so many keys; of none where no write is read, which spares each request a look.
    pub(crate) fn new(keys: u64, seed: u64) -> Register {
        let every = keys.div_ceil(KEPT_MAX).next_power_of_two();
        let of = vec![Own::NOTHING; keys.div_ceil(every) as usize];
        Register { every: every.trailing_zeros(), from: mix(!seed) & (every - 1), of }
    }

    fn own(&mut self, key: u64) -> Option<&mut Own> {
        let nth = key >> self.every;
        let is_kept = (nth << self.every) + self.from == key;
        if is_kept { self.of.get_mut(nth as usize) } else { None }
    }

    /// A write is about to be sent.
    pub(crate) fn begins(&mut self, key: u64, write: u64) {
        let Some(own) = self.own(key) else { return };
        // One that is sent again is under way already, and may have been done.
        if own.alone == write {
            own.is_repeated = true;
            return;
        }
        if own.under_way == 0 {
            own.alone = write;
        } else {
            (own.alone, own.is_settled) = (NONE, false);
        }
        own.under_way = own.under_way.saturating_add(1);
    }

    /// A write was sent at this time, and acknowledged at that. One that never was stays under way
    /// for ever: it may still come to the store.
    pub(crate) fn is_done(&mut self, key: u64, write: u64, (sent, at): (u64, u64)) {
        let Some(own) = self.own(key) else { return };
        own.under_way = own.under_way.saturating_sub(1);
        if own.alone == write {
            (own.alone, own.last, own.since, own.is_settled) = (NONE, write, at, true);
            own.took_us = u32::try_from(at.saturating_sub(sent).div_ceil(1000)).unwrap_or(u32::MAX);
        }
    }

    /// What a key had when this write came to it: that of another, or what was there before all.
    /// `None` where it isn't known.
    pub(crate) fn found_by(&mut self, key: u64, write: u64) -> Option<FoundBefore> {
        let own = self.own(key)?;
        (own.alone == write && own.is_known()).then(|| own.left())
    }

    /// What a key has for who asked at that time and has the answer now. `None` where it isn't
    /// known, as where something came to the key meanwhile.
    pub(crate) fn left_for(&mut self, key: u64, asked: u64) -> Option<FoundBefore> {
        let own = self.own(key)?;
        let is_left = own.last == NONE || own.written_by(asked).is_some();
        (own.under_way == 0 && own.is_known() && is_left).then(|| own.left())
    }

    /// The write after which this one may not be read any more by who asked at that time.
    pub(crate) fn overwritten_by(
        &mut self,
        key: u64,
        write: u64,
        is_own: bool,
        asked: u64,
    ) -> Option<u64> {
        let own = self.own(key)?;
        let last = own.written_by(asked)?;
        // Of a write that was sent twice the first may come after the last.
        let is_before = write & PRELOADED != 0 || is_own && write < last && !own.is_repeated;
        is_before.then_some(last)
    }

    /// Whether a write of this key was acknowledged before that time.
    pub(crate) fn was_written(&mut self, key: u64, asked: u64) -> bool {
        self.own(key).is_some_and(|own| own.written_by(asked).is_some())
    }

    /// When the last write that was acknowledged before that time had been sent.
    pub(crate) fn written_at(&mut self, key: u64, asked: u64) -> Option<u64> {
        let own = self.own(key)?;
        own.written_by(asked)?;
        Some(own.since.saturating_sub(u64::from(own.took_us) * 1000))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes 10 and 20 of key 3, one after the other.
    fn in_turn() -> Register {
        let mut register = Register::new(100, 7);
        register.begins(3, 10);
        register.is_done(3, 10, (1_000, 1_000));
        register.begins(3, 20);
        register.is_done(3, 20, (2_000, 2_000));
        register
    }

    #[test]
    fn what_was_overwritten_may_not_be_read_by_who_asks_later() {
        let mut register = in_turn();
        assert_eq!(register.overwritten_by(3, 10, true, 2_000), Some(20));
        assert_eq!(register.overwritten_by(3, PRELOADED | 3, false, 2_500), Some(20));
        assert_eq!(register.overwritten_by(3, 10, true, 1_999), None, "it asked before");
        assert_eq!(register.overwritten_by(3, 20, true, 2_500), None, "it is the last");
        assert_eq!(register.overwritten_by(3, 10, false, 2_500), None, "it is another thread's");
        assert_eq!(register.overwritten_by(4, 10, true, 2_500), None, "it is another key's");
        assert!(register.was_written(3, 2_000) && !register.was_written(4, 2_000));
    }

    #[test]
    fn of_writes_under_way_together_either_may_be_the_last() {
        let mut register = Register::new(100, 7);
        register.begins(3, 10);
        register.begins(3, 20);
        register.is_done(3, 20, (1_000, 1_000));
        register.is_done(3, 10, (1_100, 1_100));
        assert_eq!(register.overwritten_by(3, 10, true, 2_000), None);
        assert_eq!(register.overwritten_by(3, 20, true, 2_000), None);
        // The next one is alone again, and follows both.
        register.begins(3, 30);
        register.is_done(3, 30, (3_000, 3_000));
        assert_eq!(register.overwritten_by(3, 20, true, 3_000), Some(30));
    }

    #[test]
    fn a_write_that_was_never_acknowledged_may_come_at_any_time() {
        let mut register = Register::new(100, 7);
        register.begins(3, 10);
        register.begins(3, 20);
        register.is_done(3, 20, (1_000, 1_000));
        register.begins(3, 30);
        register.is_done(3, 30, (2_000, 2_000));
        assert_eq!(register.overwritten_by(3, 20, true, 3_000), None);
    }

    #[test]
    fn a_write_lives_from_when_it_was_sent() {
        let mut register = Register::new(100, 7);
        register.begins(3, 10);
        register.is_done(3, 10, (5_000_000, 7_000_500));
        assert_eq!(register.written_at(3, 7_000_499), None);
        assert_eq!(register.written_at(3, 8_000_000), Some(4_999_500), "it is told no later");
    }

    /// Else a store is blamed for what the client itself couldn't know.
    #[test]
    fn what_a_key_had_is_known_where_no_other_write_was_under_way() {
        let mut register = Register::new(100, 7);
        let found = |register: &mut Register, write| register.found_by(3, write);
        register.begins(3, 10);
        assert_eq!(found(&mut register, 10), Some(FoundBefore::Nobodys));
        register.is_done(3, 10, (1, 1));
        register.begins(3, 20);
        assert_eq!(found(&mut register, 20), Some(FoundBefore::Write(10)));
        register.is_done(3, 20, (2, 2));
        register.begins(3, 30);
        register.begins(3, 40);
        register.is_done(3, 40, (3, 3));
        register.is_done(3, 30, (3, 3));
        register.begins(3, 50);
        assert_eq!(found(&mut register, 50), None, "either of two may have been the last");
        register.is_done(3, 50, (4, 4));
        register.begins(3, 60);
        assert_eq!(found(&mut register, 60), Some(FoundBefore::Write(50)));
        register.begins(3, 60);
        assert_eq!(found(&mut register, 60), None, "it was sent again, and may have been done");
    }

    /// Else a store is blamed for what the client itself sent twice.
    #[test]
    fn the_first_of_a_write_that_was_sent_twice_may_come_after_the_next_write() {
        let mut register = Register::new(100, 7);
        register.begins(3, 10);
        register.begins(3, 10);
        register.is_done(3, 10, (1, 1));
        register.begins(3, 20);
        register.is_done(3, 20, (2, 2));
        assert_eq!(register.overwritten_by(3, 10, true, 3), None, "its twin came late");
        assert_eq!(register.overwritten_by(3, PRELOADED | 3, false, 3), Some(20));
        assert_eq!(register.left_for(3, 3), None, "its twin may have removed it");
    }

    /// Else each miss beside deletes is forgiven, or none.
    #[test]
    fn what_a_key_has_is_known_where_nothing_came_to_it_meanwhile() {
        let mut register = Register::new(100, 7);
        assert_eq!(register.left_for(3, 1), Some(FoundBefore::Nobodys));
        register.begins(3, 10);
        assert_eq!(register.left_for(3, 1), None, "a write is under way");
        register.is_done(3, 10, (1, 5));
        assert_eq!(register.left_for(3, 4), None, "who asked before that may have either");
        assert_eq!(register.left_for(3, 5), Some(FoundBefore::Write(10)));
        assert_eq!(register.left_for(4, 5), Some(FoundBefore::Nobodys), "it is another key");
    }

    #[test]
    fn one_that_is_sent_again_is_one_write() {
        let mut register = Register::new(100, 7);
        register.begins(3, 10);
        register.begins(3, 10);
        register.is_done(3, 10, (1_000, 1_000));
        assert_eq!(register.overwritten_by(3, PRELOADED | 3, false, 1_000), Some(10));
    }

    #[test]
    fn a_register_of_no_keys_knows_of_no_write() {
        let mut register = Register::new(0, 7);
        register.begins(0, 10);
        register.is_done(0, 10, (1_000, 1_000));
        assert!(!register.was_written(0, 2_000));
        assert_eq!(register.overwritten_by(0, PRELOADED, false, 2_000), None);
    }

    #[test]
    fn of_very_many_keys_some_are_remembered() {
        let mut register = Register::new(5_000_000, 7);
        assert!(register.of.len() <= KEPT_MAX as usize);
        for key in 0..1_000 {
            register.begins(key, 10);
            register.is_done(key, 10, (1, 1));
        }
        let known = (0..1_000).filter(|&key| register.was_written(key, 1)).count();
        assert_eq!(known, 1_000_usize.div_ceil(1 << register.every));
        register.begins(4_999_999, 11);
    }
}
