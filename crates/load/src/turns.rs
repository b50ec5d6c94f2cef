//! Whose turn it is: when a thread may begin a request, and when no more.

use crate::plan::{Plan, Until};
use crate::record::Phase;
use crate::schedule::Schedule;

/// The borders of a run on the threads' common clock, in nanoseconds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Window {
    /// When the warm-up begins.
    pub start: u64,
    /// When the warm-up is over.
    pub begin: u64,
    /// When the last request may be due; the largest number if only a count
    /// of requests ends it.
    pub end: u64,
}

/// A request's turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Turn {
    /// The request's number in the run.
    pub number: u64,
    /// When it is due.
    pub intended: u64,
    /// The account that it belongs to.
    pub phase: Phase,
}

/// Hands out one thread's turns.
#[derive(Debug)]
pub(crate) struct Turns {
    window: Window,
    /// `None` in a closed loop.
    schedule: Option<Schedule>,
    /// Turns left in the window, if they are counted.
    left: u64,
    number: u64,
    /// Threads take numbers in turn.
    step: u64,
}

impl Turns {
    /// The turns of thread `thread` of `threads`.
    pub(crate) fn new(plan: &Plan, window: Window, thread: usize, threads: usize) -> Turns {
        let (thread_number, step) = (thread as u64, threads as u64);
        Turns {
            window,
            schedule: Schedule::new(plan.arrivals, thread, threads, plan.seed),
            left: match plan.until {
                Until::Elapsed(_) => u64::MAX,
                Until::Requests(all) => all / step + u64::from(thread_number < all % step),
            },
            number: thread_number,
            step,
        }
    }

    /// No turns: while connections are made ahead.
    pub(crate) fn none() -> Turns {
        let window = Window { start: 0, begin: u64::MAX, end: 0 };
        Turns { window, schedule: None, left: 0, number: 0, step: 1 }
    }

    /// Takes the next turn, if it has come.
    #[inline]
    pub(crate) fn take(&mut self, now: u64) -> Option<Turn> {
        let intended = match &self.schedule {
            None => now,
            Some(schedule) => self.due_on(schedule),
        };
        if intended > now || !self.goes_on(intended) {
            return None;
        }
        let phase = self.phase(intended);
        if phase == Phase::Window {
            self.left -= 1;
        }
        if let Some(schedule) = &mut self.schedule {
            schedule.advance();
        }
        let number = self.number;
        self.number += self.step;
        Some(Turn { number, intended, phase })
    }

    /// The account of a request that was due at this time.
    pub(crate) fn phase(&self, intended: u64) -> Phase {
        if intended < self.window.begin { Phase::Warmup } else { Phase::Window }
    }

    /// When the next turn comes; `None` if it is there at any time, or never comes.
    pub(crate) fn due(&self) -> Option<u64> {
        let due = self.due_on(self.schedule.as_ref()?);
        self.goes_on(due).then_some(due)
    }

    /// When the next turn of this schedule comes. At the end of all time it stays: beyond
    /// that it would come at once.
    fn due_on(&self, schedule: &Schedule) -> u64 {
        self.window.start.saturating_add(schedule.due())
    }

    /// Whether turns still come at this time.
    pub(crate) fn goes_on(&self, now: u64) -> bool {
        now < self.window.end && (self.left > 0 || now < self.window.begin)
    }

    /// Whether the turns of an open loop are handed out.
    pub(crate) fn is_open_loop(&self) -> bool {
        self.schedule.is_some()
    }

    /// No turn comes after this time.
    pub(crate) fn end_at(&mut self, now: u64) {
        self.window.end = self.window.end.min(now);
    }

    /// The borders, as they are now.
    pub(crate) fn window(&self) -> Window {
        self.window
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::plan::{Arrivals, Target};

    fn turns(arrivals: Arrivals, until: Until, thread: usize) -> Turns {
        let target = Target {
            address: "127.0.0.1:1".parse().unwrap(),
            authority: String::new(),
            path: String::new(),
        };
        let plan = Plan { arrivals, until, ..Plan::new(target, Vec::new()) };
        let end = match until {
            Until::Elapsed(time) => 200 + time.as_nanos() as u64,
            Until::Requests(_) => u64::MAX,
        };
        Turns::new(&plan, Window { start: 100, begin: 200, end }, thread, 2)
    }

    fn all(turns: &mut Turns, now: u64) -> Vec<Turn> {
        std::iter::from_fn(|| turns.take(now)).take(1000).collect()
    }

    #[test]
    fn counted_turns_of_all_threads_have_every_number_once() {
        let mut numbers: Vec<u64> = (0..2)
            .flat_map(|thread| all(&mut turns(Arrivals::Closed, Until::Requests(7), thread), 300))
            .map(|turn| turn.number)
            .collect();
        numbers.sort_unstable();
        assert_eq!(numbers, [0, 1, 2, 3, 4, 5, 6]);
    }

    #[test]
    fn the_warm_up_takes_nothing_from_the_count() {
        let mut turns = turns(Arrivals::Closed, Until::Requests(2), 0);
        assert_eq!(turns.take(150).unwrap().phase, Phase::Warmup);
        assert_eq!(turns.take(250).unwrap().phase, Phase::Window);
        assert_eq!(turns.take(250), None);
    }

    #[test]
    fn an_open_loop_keeps_its_schedule_however_late_it_is_asked() {
        let rate = Arrivals::Constant(2e8);
        let mut turns = turns(rate, Until::Elapsed(Duration::from_nanos(50)), 0);
        assert_eq!(turns.due(), Some(100));
        assert_eq!(turns.take(99), None, "a request went out before it was due");
        let taken = all(&mut turns, 1_000_000);
        let intended: Vec<u64> = taken.iter().map(|turn| turn.intended).collect();
        assert_eq!(intended, (0..15).map(|n| 100 + n * 10).collect::<Vec<_>>());
        assert_eq!(taken[9].phase, Phase::Warmup);
        assert_eq!(taken[10].phase, Phase::Window);
        assert_eq!(turns.due(), None);
    }

    #[test]
    fn what_is_due_after_the_end_of_all_time_is_not_due_at_once() {
        for until in [Until::Elapsed(Duration::from_secs(1)), Until::Requests(5)] {
            let mut turns = turns(Arrivals::Constant(1e-11), until, 0);
            assert_eq!(all(&mut turns, 1_000_000).len(), 1, "the first is due at the start");
            assert_eq!(turns.due(), None);
        }
    }

    #[test]
    fn nothing_is_due_after_an_early_end() {
        let mut turns = turns(Arrivals::Closed, Until::Elapsed(Duration::from_secs(1)), 0);
        turns.end_at(300);
        assert!(turns.take(299).is_some());
        assert!(turns.take(300).is_none());
    }
}
