//! When what came was there to be seen.

use std::collections::VecDeque;

/// Events after which it is looked whether more came meanwhile: what waits longer in the
/// queue would have what these take in its time.
pub(super) const LOOK_AFTER: u32 = 32;

/// When completions came: each time that the queue is looked at, all in it
/// came by then.
///
/// While one batch is seen to, the next comes in, and may wait there for
/// milliseconds: without this, that wait would be taken for the server's.
#[derive(Default)]
pub(super) struct ArrivalTimes {
    /// How many had come in all, and by when: of those looks after the current one.
    looks: VecDeque<(u64, u64)>,
    /// The look that brought what is taken now.
    current: (u64, u64),
    /// How many have come.
    come: u64,
    /// How many were taken.
    taken: u64,
    /// How many are taken before the next batch.
    batch_end: u64,
    /// How many were taken since the last look.
    since_look: u32,
}

impl ArrivalTimes {
    /// Notes that so many lie in the queue.
    pub(super) fn note(&mut self, ready: u64, now: u64) {
        self.since_look = 0;
        let come = self.taken + ready;
        if self.come < come {
            self.come = come;
            self.looks.push_back((come, now));
        }
    }

    /// How many lie in the queue, as far as was noted.
    pub(super) fn ready(&self) -> usize {
        (self.come - self.taken) as usize
    }

    /// How many have come in all.
    pub(super) fn come(&self) -> u64 {
        self.come
    }

    /// How many were taken since it was looked what is there.
    pub(super) fn since_look(&self) -> u32 {
        self.since_look
    }

    /// Lets all that have come be taken; whether there are any.
    pub(super) fn begin_batch(&mut self) -> bool {
        self.batch_end = self.come;
        self.batch_end > self.taken
    }

    /// Takes the next of the batch; gives when it had come.
    pub(super) fn take(&mut self) -> Option<u64> {
        if self.taken == self.batch_end {
            return None;
        }
        while self.current.0 <= self.taken {
            self.current = self.looks.pop_front()?;
        }
        self.taken += 1;
        self.since_look += 1;
        Some(self.current.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_completion_came_when_it_was_first_seen() {
        let mut arrivals = ArrivalTimes::default();
        arrivals.note(2, 100);
        assert!(arrivals.begin_batch());
        assert_eq!(arrivals.take(), Some(100));
        // Seen while the batch is at work: one is left of it, two are new.
        arrivals.note(3, 150);
        arrivals.note(3, 160);
        assert_eq!(arrivals.take(), Some(100));
        assert_eq!(arrivals.take(), None, "a batch has no end while answers keep coming");
        assert!(arrivals.begin_batch());
        assert_eq!(arrivals.take(), Some(150));
        assert_eq!(arrivals.take(), Some(150));
        assert!(!arrivals.begin_batch());
        arrivals.note(1, 900);
        assert!(arrivals.begin_batch());
        assert_eq!(arrivals.take(), Some(900));
    }
}
