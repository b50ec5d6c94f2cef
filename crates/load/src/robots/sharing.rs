//! What threads share: rooms that lie on several of them, and a storm.
//!
//! A thread tells the others of each of its turns before anything of it goes out. So each keeps the
//! same books of what all say, for the members that it has itself, and knows of a message before
//! it can hear it. It tells them as well what the server confirms to its robots: who misses such a
//! message may be on any thread. Where rooms lie on one thread whole, nobody tells anybody
//! anything.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, Sender, TryRecvError};
use std::sync::{Mutex, PoisonError};

use crate::pace::window::Phase;

/// Between the last thread's readiness and the storm: time for all to wake up.
const STRIKES_AHEAD_NS: u64 = 2_000_000;

/// What became of a turn to speak.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Word {
    /// The next turn has come.
    Due { phase: Phase, intended: u64 },
    /// The next turn has come, and is left out: its robot says nothing.
    LeftOut { phase: Phase, intended: u64 },
    /// Nothing more is said until a storm is over.
    Silent,
    /// The message of this turn is handed over at this time.
    HandedOver { turn: u64, at: u64 },
    /// The server confirmed the message of this turn to its sender.
    Confirmed { turn: u64 },
    /// The message of this turn is never handed over.
    Shed { turn: u64 },
}

/// A thread's line to the others.
#[derive(Debug)]
pub(crate) struct Others {
    thread: u32,
    /// To each other one, until nothing more is to be said.
    to: Vec<Sender<ThreadWord>>,
    from: Receiver<ThreadWord>,
    /// Others that may still say something.
    speak: usize,
}

/// Which thread says what; `None`: nothing more.
type ThreadWord = (u32, Option<Word>);

impl Others {
    /// The lines of so many threads, in their order.
    pub(crate) fn of(threads: u32) -> Vec<Others> {
        let (to, from): (Vec<_>, Vec<_>) = (0..threads).map(|_| mpsc::channel()).unzip();
        let line = |(thread, from)| {
            let others = (0..).zip(&to).filter(|(other, _)| *other != thread);
            let to: Vec<Sender<ThreadWord>> = others.map(|(_, to)| to.clone()).collect();
            Others { thread, speak: to.len(), to, from }
        };
        (0..threads).zip(from).map(line).collect()
    }

    /// The line of a thread that needs no other.
    pub(crate) fn none() -> Others {
        let (_, from) = mpsc::channel();
        Others { thread: 0, to: Vec::new(), from, speak: 0 }
    }

    /// Tells all others.
    pub(crate) fn tell(&self, word: Word) {
        self.send(Some(word));
    }

    /// Nothing more is said by this thread.
    pub(crate) fn fall_silent(&mut self) {
        self.send(None);
        self.to.clear();
    }

    fn send(&self, what: Option<Word>) {
        for to in &self.to {
            // Who is gone has no more use for it.
            let _ = to.send((self.thread, what));
        }
    }

    /// Whether another thread may still say something.
    pub(crate) fn speak(&self) -> bool {
        self.speak > 0
    }

    /// The next that another thread said, if there is more by now.
    pub(crate) fn next(&mut self) -> Option<(u32, Word)> {
        while self.speak > 0 {
            match self.from.try_recv() {
                Ok((thread, Some(word))) => return Some((thread, word)),
                Ok((_, None)) => self.speak -= 1,
                Err(TryRecvError::Empty) => return None,
                Err(TryRecvError::Disconnected) => self.speak = 0,
            }
        }
        None
    }
}

impl Drop for Others {
    /// A thread that fails says so: the others would wait for its next word.
    fn drop(&mut self) {
        self.fall_silent();
    }
}

/// How a message fared, with all members or with some.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Settled {
    /// They have it. When the first and the last one had it.
    Whole { first: u64, last: u64 },
    /// Not all have it, though they waited until then. Whether somebody misses it though it was
    /// confirmed.
    Lacking { until: u64, is_confirmed_missing: bool },
}

impl Settled {
    /// With nobody: they all have it.
    pub(crate) const NOBODY: Settled = Settled::Whole { first: u64::MAX, last: 0 };

    /// How it fared with both.
    fn and(self, other: Settled) -> Settled {
        match (self, other) {
            (Settled::Whole { first, last }, Settled::Whole { first: next, last: later }) => {
                Settled::Whole { first: first.min(next), last: last.max(later) }
            }
            (
                Settled::Lacking { until, is_confirmed_missing },
                Settled::Lacking { until: later, is_confirmed_missing: next },
            ) => {
                let is_confirmed_missing = is_confirmed_missing || next;
                Settled::Lacking { until: until.max(later), is_confirmed_missing }
            }
            (lacking @ Settled::Lacking { .. }, _) | (_, lacking) => lacking,
        }
    }
}

/// The rooms of which several threads have a part.
#[derive(Debug)]
pub(crate) struct SharedRooms {
    /// By room, how many members came into it on any thread.
    joined: Box<[AtomicU32]>,
    /// By thread and turn, messages that are settled with some members: with how many they aren't
    /// yet, and how they fared with the others.
    settled: Mutex<HashMap<(u32, u64), (u32, Settled)>>,
}

impl SharedRooms {
    /// So many, with nobody in them.
    pub(crate) fn new(rooms: u32) -> SharedRooms {
        SharedRooms {
            joined: (0..rooms).map(|_| AtomicU32::new(0)).collect(),
            settled: Mutex::default(),
        }
    }

    /// A member came into this room, while nobody speaks.
    pub(crate) fn comes_in(&self, room: u32) {
        self.joined[room as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// A member left it again, while nobody speaks.
    pub(crate) fn goes_out(&self, room: u32) {
        self.joined[room as usize].fetch_sub(1, Ordering::Relaxed);
    }

    /// A message of this room, said in a turn of a thread, is settled with so many members; gives
    /// how it fared with all, if these were the last.
    pub(crate) fn settle(
        &self,
        room: u32,
        (thread, turn): (u32, u64),
        (members, fate): (u32, Settled),
    ) -> Option<Settled> {
        // A thread that panicked left whole entries behind.
        let mut settled = self.settled.lock().unwrap_or_else(PoisonError::into_inner);
        let (left, fate) = match settled.remove(&(thread, turn)) {
            Some((left, so_far)) => (left, so_far.and(fate)),
            None => (self.joined[room as usize].load(Ordering::Relaxed), fate),
        };
        if left == members {
            return Some(fate);
        }
        settled.insert((thread, turn), (left - members, fate));
        None
    }
}

/// What threads have together so that the storm is one of all robots.
#[derive(Debug)]
pub(crate) struct SharedStorm {
    threads: u32,
    /// Threads on which all that was said is settled.
    ready: AtomicU32,
    /// When it strikes; 0 until that is known.
    strikes_at: AtomicU64,
    /// Threads whose robots are back, or don't come back.
    back: AtomicU32,
}

impl SharedStorm {
    /// That of so many threads.
    pub(crate) fn of(threads: u32) -> SharedStorm {
        let (ready, back) = (AtomicU32::new(0), AtomicU32::new(0));
        SharedStorm { threads, ready, strikes_at: AtomicU64::new(0), back }
    }

    /// A thread is ready by now.
    pub(crate) fn is_ready(&self, now: u64) {
        if self.ready.fetch_add(1, Ordering::Relaxed) + 1 == self.threads {
            self.strikes_at.store(now + STRIKES_AHEAD_NS, Ordering::Relaxed);
        }
    }

    /// When it strikes, once all are ready.
    pub(crate) fn strikes_at(&self) -> Option<u64> {
        Some(self.strikes_at.load(Ordering::Relaxed)).filter(|at| *at > 0)
    }

    /// The robots of a thread are back. What it did before is seen by those who see this.
    pub(crate) fn is_back(&self) {
        self.back.fetch_add(1, Ordering::Release);
    }

    /// Whether the robots of all threads are.
    pub(crate) fn are_all_back(&self) -> bool {
        self.back.load(Ordering::Acquire) == self.threads
    }
}

/// What a thread shares with others.
pub(crate) struct Sharing<'a> {
    pub others: Others,
    /// `None` where rooms lie on one thread whole.
    pub rooms: Option<&'a SharedRooms>,
    pub storm: &'a SharedStorm,
}

#[cfg(test)]
mod tests {
    use super::*;

    const DUE: Word = Word::Due { phase: Phase::Window, intended: 7 };

    #[test]
    fn each_other_thread_is_told_until_a_thread_falls_silent() {
        let mut lines = Others::of(3);
        lines[1].tell(DUE);
        lines[1].fall_silent();
        assert_eq!(lines[0].next(), Some((1, DUE)));
        assert_eq!((lines[0].next(), lines[0].speak()), (None, true), "the third may speak");
        assert_eq!(lines[1].next(), None, "a thread tells itself nothing");
        // One that fails is silent as well.
        drop(lines.pop());
        assert_eq!((lines[0].next(), lines[0].speak()), (None, false));
        let mut alone = Others::none();
        alone.tell(DUE);
        assert_eq!((alone.next(), alone.speak()), (None, false));
    }

    /// Else *until all have it* is until those of one thread have it.
    #[test]
    fn a_message_is_settled_once_it_is_with_the_members_of_all_threads() {
        let rooms = SharedRooms::new(2);
        (0..5).for_each(|_| rooms.comes_in(1));
        let (one, another) = ((0, 9), (1, 9));
        let whole = |first, last| Settled::Whole { first, last };
        assert_eq!(rooms.settle(1, one, (2, whole(30, 40))), None);
        assert_eq!(rooms.settle(1, another, (4, whole(1, 2))), None, "another thread's turn");
        assert_eq!(rooms.settle(1, one, (2, whole(20, 35))), None);
        assert_eq!(rooms.settle(1, one, (1, whole(37, 41))), Some(whole(20, 41)));
        let lacking =
            |until, is_confirmed_missing| Settled::Lacking { until, is_confirmed_missing };
        assert_eq!(rooms.settle(1, another, (1, lacking(90, true))), Some(lacking(90, true)));
        let third = (0, 10);
        assert_eq!(rooms.settle(1, third, (3, lacking(95, true))), None);
        assert_eq!(rooms.settle(1, third, (2, lacking(99, false))), Some(lacking(99, true)));
        assert!(rooms.settled.lock().unwrap().is_empty(), "what is settled takes memory");
    }

    #[test]
    fn a_storm_strikes_once_all_threads_are_ready_and_is_over_once_all_are_back() {
        let shared = SharedStorm::of(2);
        shared.is_ready(100);
        assert_eq!(shared.strikes_at(), None, "robots of another thread are owed something still");
        shared.is_ready(200);
        assert_eq!(shared.strikes_at(), Some(200 + STRIKES_AHEAD_NS));
        shared.is_back();
        assert!(!shared.are_all_back());
        shared.is_back();
        assert!(shared.are_all_back());
    }
}
