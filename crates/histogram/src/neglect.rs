//! Which waits without an answer are a server's neglect, and not its usual time.

use std::time::Duration;

/// The longest wait for answers after the window; then they count as in flight.
pub const PATIENCE_MAX: Duration = Duration::from_secs(2);
/// Where answers usually take more of the patience than this share, one that is still missing
/// may only be slow.
const USUAL_SHARE: f64 = 0.1;

/// How many of these, each without an answer for as long as `patience`, a server left waiting
/// while it answered others. `None` where that can't be told: its usual answer, the median
/// service time, takes too long itself or isn't known.
pub fn left_waiting(waiting: u64, usual: Option<Duration>, patience: Duration) -> Option<u64> {
    let is_quick = |usual: Duration| usual <= patience.mul_f64(USUAL_SHARE);
    usual.is_some_and(is_quick).then_some(waiting)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_waits_as_long_as_usual_is_not_left_waiting() {
        let of = |usual| left_waiting(3, usual, PATIENCE_MAX);
        assert_eq!(of(Some(Duration::from_millis(200))), Some(3));
        assert_eq!(of(Some(Duration::from_millis(201))), None, "slow answers were called none");
        assert_eq!(of(None), None, "nobody knows how long answers take here");
    }
}
