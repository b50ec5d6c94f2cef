//! How a piece of work is ended before its end.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// The longest that the writing of all keys of a store may take before the work: 5,000,000 of them
/// at 3,000 a second.
pub const PRELOADED_WITHIN: Duration = Duration::from_secs(30 * 60);
/// How often an order to stop is looked for meanwhile.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Stops a run early from another thread or a signal handler.
#[derive(Debug, Clone, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Asks the run to end; it does so within a few milliseconds, and reports
    /// what it has.
    pub fn now(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether the run was asked to end.
    pub fn asked(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Has a piece of work stopped where an order says so, or when its time is over; whether its time
/// was over.
pub fn in_time<T>(within: Duration, stop: &Stop, work: impl FnOnce(&Stop) -> T) -> (T, bool) {
    let own = Stop::default();
    let (done, is_done) = mpsc::channel::<()>();
    let began = Instant::now();
    let did = std::thread::scope(|scope| {
        let to_stop = own.clone();
        scope.spawn(move || {
            while is_done.recv_timeout(LOOK_EVERY) == Err(mpsc::RecvTimeoutError::Timeout) {
                if stop.asked() || began.elapsed() > within {
                    to_stop.now();
                }
            }
        });
        let did = work(&own);
        drop(done);
        did
    });
    (did, own.asked() && !stop.asked())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Else a store that takes a second a write is waited for for weeks.
    #[test]
    fn what_takes_too_long_is_stopped_and_told_from_an_order_to_stop() {
        let until_stopped = |stop: &Stop| {
            while !stop.asked() {
                std::thread::yield_now();
            }
        };
        let stop = Stop::default();
        assert!(in_time(Duration::ZERO, &stop, until_stopped).1);
        assert_eq!(in_time(PRELOADED_WITHIN, &stop, |_| 7), (7, false));
        stop.now();
        assert!(!in_time(PRELOADED_WITHIN, &stop, until_stopped).1);
    }
}
