//! The clock that the threads of a run share.

use std::time::{Duration, Instant};

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

    /// The moment that this clock shows as `nanoseconds`.
    pub(crate) fn moment(self, nanoseconds: u64) -> Instant {
        self.0 + Duration::from_nanos(nanoseconds)
    }
}
