//! When the kernel took what came, on the run's clock.

use std::time::Duration;

use crate::pace::clock::Clock;

/// A clock that is off by so much more than before was set. What was stamped before that can't be
/// told from what was stamped after it.
const SET_MIN: Duration = Duration::from_millis(1);

/// Brings the kernel's stamps, which are times since the Unix epoch, to the run's clock. How far
/// both are apart is asked once a look, since it costs two calls.
#[derive(Debug)]
pub(crate) struct KernelClock {
    clock: Clock,
    /// When the run's clock began.
    began: Option<Duration>,
    /// Whether the kernel's was set before the last look.
    was_set: bool,
}

impl KernelClock {
    pub(crate) fn beside(clock: Clock) -> KernelClock {
        KernelClock { clock, began: clock.began_unix(), was_set: false }
    }

    /// It was looked what came.
    pub(crate) fn look(&mut self) {
        self.take(self.clock.began_unix());
    }

    fn take(&mut self, began: Option<Duration>) {
        let apart = self.began.zip(began).map(|(before, now)| before.abs_diff(now));
        self.was_set = apart.is_some_and(|apart| apart > SET_MIN);
        self.began = began.or(self.began);
    }

    /// What the run's clock showed at a stamp of what this look brought; `None` where that isn't
    /// known.
    pub(crate) fn at(&self, stamp: Duration) -> Option<u64> {
        let began = self.began.filter(|_| !self.was_set)?;
        stamp.checked_sub(began).map(|since| since.as_nanos() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn a_stamp_is_a_time_on_the_runs_clock() {
        let clock = Clock::start();
        let mut kernel = KernelClock::beside(clock);
        kernel.take(Some(1000 * MS));
        kernel.take(Some(1000 * MS));
        assert_eq!(kernel.at(1007 * MS), Some(7_000_000));
        assert_eq!(kernel.at(999 * MS), None, "it came before the run was set up");
    }

    /// Else who sets the clock makes deliveries take hours, or none.
    #[test]
    fn what_a_look_brings_after_the_clock_was_set_has_no_stamp() {
        let mut kernel = KernelClock::beside(Clock::start());
        kernel.take(Some(1000 * MS));
        kernel.take(Some(5000 * MS));
        assert_eq!(kernel.at(5001 * MS), None);
        kernel.take(Some(5000 * MS + MS / 2));
        assert_eq!(kernel.at(5001 * MS), Some(500_000), "clocks drift");
        kernel.take(None);
        assert_eq!(kernel.at(5001 * MS), Some(500_000), "it couldn't be asked this time");
    }

    #[test]
    fn the_kernels_clock_and_the_runs_tell_the_same_time() {
        let clock = Clock::start();
        let mut kernel = KernelClock::beside(clock);
        let unix = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
        let before = clock.now();
        kernel.look();
        if let Some(at) = kernel.at(unix) {
            assert!(at <= before + 1_000_000, "{at} ns, and it was before {before} ns");
        }
    }
}
