//! The clock that the threads of a run share, and moments that other processes know.

use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

/// Two clocks that are read within so long are read at once.
const AT_ONCE_NS: u64 = 10_000;

/// Nanoseconds since a run was set up.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock(Instant);

impl Clock {
    /// A clock that begins now.
    pub(crate) fn start() -> Clock {
        Clock(Instant::now())
    }

    pub(crate) fn now(self) -> u64 {
        self.0.elapsed().as_nanos() as u64
    }

    /// What this clock shows at a time since the Unix epoch, by how far both clocks are
    /// apart now.
    pub(crate) fn of_unix(self, time: Duration) -> u64 {
        let unix = clock_gettime(ClockId::Realtime);
        let unix = Duration::new(unix.tv_sec as u64, unix.tv_nsec as u32);
        let ago = unix.saturating_sub(time).as_nanos() as u64;
        self.now().saturating_sub(ago)
    }

    /// The time since the Unix epoch at which this clock began, by how far both are apart now;
    /// `None` if they couldn't be read at once, since this thread was kept from it.
    pub(crate) fn began_unix(self) -> Option<Duration> {
        let before = self.now();
        let unix = clock_gettime(ClockId::Realtime);
        let took = self.now() - before;
        let shown = Duration::from_nanos(before + took / 2);
        let unix = Duration::new(unix.tv_sec as u64, unix.tv_nsec as u32);
        (took <= AT_ONCE_NS).then(|| unix.saturating_sub(shown))
    }

    /// What this clock shows at a moment.
    pub(crate) fn of(self, Moment(then): Moment) -> u64 {
        let (now, Moment(moment)) = (self.now(), Moment::now());
        let (ahead, ago) = (then.saturating_sub(moment), moment.saturating_sub(then));
        (now + ahead.as_nanos() as u64).saturating_sub(ago.as_nanos() as u64)
    }

    /// The moment that this clock shows as `nanoseconds`.
    pub(crate) fn moment(self, nanoseconds: u64) -> Moment {
        let Moment(now) = Moment::now();
        let then = now + Duration::from_nanos(nanoseconds);
        Moment(then.saturating_sub(Duration::from_nanos(self.now())))
    }
}

/// A moment of CLOCK_MONOTONIC, which is one clock for all processes of a machine.
/// [`Instant`] shows the same clock, and can't leave its process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Moment(Duration);

impl Moment {
    /// This moment.
    pub fn now() -> Moment {
        let time = clock_gettime(ClockId::Monotonic);
        Moment(Duration::new(time.tv_sec as u64, time.tv_nsec as u32))
    }

    /// The moment at which CLOCK_MONOTONIC showed this.
    pub fn at(shown: Duration) -> Moment {
        Moment(shown)
    }

    /// What CLOCK_MONOTONIC shows at it.
    pub fn shown(self) -> Duration {
        self.0
    }

    /// The moment that comes so long after this one.
    pub fn after(self, time: Duration) -> Moment {
        Moment(self.0.saturating_add(time))
    }

    /// How long ago it was; nothing, if it is still to come.
    pub fn elapsed(self) -> Duration {
        Moment::now().0.saturating_sub(self.0)
    }
}
