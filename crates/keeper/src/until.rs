//! Waiting for what tells nobody that it has come.

use std::time::{Duration, Instant};

/// Looks every 2 ms whether something is so, for at most so long. Whether it came to be.
pub(crate) fn until(at_most: Duration, mut is_so: impl FnMut() -> bool) -> bool {
    let deadline = Instant::now() + at_most;
    loop {
        if is_so() {
            return true;
        }
        if Instant::now() >= deadline {
            return false;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}
