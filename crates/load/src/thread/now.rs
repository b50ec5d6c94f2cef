//! What time it is to a thread, and when it wasn't there to see what came.

use std::collections::VecDeque;

use crate::pace::window::Window;

/// A thread that comes back so long after it meant to was kept away: the process was
/// stopped, or others had the processor.
const AWAY_NS_MIN: u64 = 20_000_000;
/// Absences that are remembered: more than there are within a timeout where a quota keeps
/// this thread from running in each tenth of a second.
const ABSENCES: usize = 256;
/// Events that are seen to in so little time that it need not be asked for anew.
const EVENTS_AT_ONCE: u32 = 16;
/// The same in bytes.
const BYTES_AT_ONCE: u64 = 16 << 10;

/// The latest time that a thread knows, in nanoseconds. To ask the clock at each event would
/// cost too much, so it grows old.
pub(crate) struct Now {
    at: u64,
    /// From when until when this thread was kept away, the last times.
    absences: VecDeque<(u64, u64)>,
    /// Where an absence is one of the run.
    pub window: Window,
    /// The longest one there, in seconds.
    pub away_s: f64,
}

impl Now {
    pub(crate) fn new(at: u64) -> Now {
        let window = Window { start: 0, begin: u64::MAX, end: 0 };
        Now { at, absences: VecDeque::new(), window, away_s: 0.0 }
    }

    /// The latest time known.
    #[inline(always)]
    pub(crate) fn at(&self) -> u64 {
        self.at
    }

    /// The clock shows this time. That other work was done until now is no absence.
    #[inline(always)]
    pub(crate) fn ask(&mut self, now: u64) {
        self.at = now;
    }

    /// Whether the time is old, so that it is worth asking the clock: so much was seen to since
    /// it was asked.
    #[inline(always)]
    pub(crate) fn is_old(events: u32, bytes: u64) -> bool {
        events > EVENTS_AT_ONCE || bytes > BYTES_AT_ONCE
    }

    /// The clock shows this time after a sleep that was to end earlier.
    #[inline(always)]
    pub(crate) fn ask_after_sleep(&mut self, meant: u64, now: u64) {
        self.ask(now);
        self.note_absence(meant, now);
    }

    /// It is this time by now, as others know: the clock that they asked, or an event.
    #[inline(always)]
    pub(crate) fn pass_to(&mut self, now: u64) {
        self.note_absence(self.at, now);
        self.at = self.at.max(now);
    }

    /// How much of this time this thread was there to see what comes, in nanoseconds.
    pub(crate) fn watched(&self, from: u64, until: u64) -> u64 {
        let away = |(left, back): &(u64, u64)| until.min(*back).saturating_sub(from.max(*left));
        until.saturating_sub(from) - self.absences.iter().map(away).sum::<u64>()
    }

    /// Notes that this thread was kept away, if it meant to be back so much earlier.
    #[inline(always)]
    fn note_absence(&mut self, meant: u64, back: u64) {
        if back > meant + AWAY_NS_MIN {
            self.was_away(meant, back);
        }
    }

    #[cold]
    fn was_away(&mut self, from: u64, until: u64) {
        if self.absences.len() == ABSENCES {
            self.absences.pop_front();
        }
        self.absences.push_back((from, until));
        let within = until.min(self.window.end).saturating_sub(from.max(self.window.begin));
        self.away_s = self.away_s.max(within as f64 / 1e9);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_old_after_many_events_or_many_bytes() {
        assert!(!Now::is_old(EVENTS_AT_ONCE, BYTES_AT_ONCE));
        assert!(Now::is_old(EVENTS_AT_ONCE + 1, 0));
        assert!(Now::is_old(1, BYTES_AT_ONCE + 1));
    }

    #[test]
    fn what_a_thread_slept_through_is_no_time_that_it_watched() {
        let mut now = Now::new(1_000_000_000);
        let (start, away) = (now.at(), 2 * AWAY_NS_MIN);
        now.window = Window { start, begin: start + AWAY_NS_MIN / 2, end: u64::MAX };
        now.pass_to(start + away);
        assert_eq!(now.watched(start, start + away), 0);
        assert_eq!(now.watched(start + AWAY_NS_MIN, start + away + 5), 5);
        assert_eq!(now.away_s, 0.03, "what lies before the window is none of it");
        now.pass_to(now.at() + AWAY_NS_MIN);
        assert_eq!(now.watched(start + away, now.at()), AWAY_NS_MIN, "that is no absence");
    }
}
