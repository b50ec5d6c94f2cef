//! Two fixed pieces of work, timed on the thread that calls: what the speed of a processor is
//! told by.
//!
//! A crate of its own, so that it is optimised where all around it isn't: without that, it
//! takes fifty times as long, and what runs beside it is disturbed by that.

use std::hint::black_box;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// Tries of each piece of work.
const TRIES: usize = 20;
/// Steps of one try: 0.15 ms each on the AMD EPYC that this was made on.
const CHAIN_STEPS: u64 = 100_000;
const WHOLE_STEPS: u64 = 150_000;
/// By how many bits each sum is shifted. The sums don't wait for one another, and
/// are as many as keep a core's units busy; with one shift for all, a compiler
/// would do them two at a time in wide registers.
const SHIFTS: [u32; 6] = [3, 5, 7, 11, 13, 17];
/// Operations of a step, of which a compiler can't make one for several steps.
#[cfg(test)]
const CHAIN_OPERATIONS: f64 = 6.0;
#[cfg(test)]
const WHOLE_OPERATIONS: f64 = 3.0 * SHIFTS.len() as f64;

/// A chain, where each operation waits for the one before: steps a µs of CPU time, of each
/// try.
pub fn chain() -> Vec<f64> {
    tries(CHAIN_STEPS, || (0..CHAIN_STEPS).fold(black_box(1), in_chain))
}

/// Sums side by side: steps a µs of CPU time, of each try.
pub fn whole() -> Vec<f64> {
    tries(WHOLE_STEPS, || (0..WHOLE_STEPS).fold(black_box([1; SHIFTS.len()]), side_by_side))
}

/// Steps a µs of each try.
fn tries<T>(steps: u64, work: impl Fn() -> T) -> Vec<f64> {
    let one = |_| {
        let began = cpu_time();
        black_box(work());
        let took = cpu_time().saturating_sub(began).max(Duration::from_nanos(1));
        steps as f64 / (took.as_secs_f64() * 1e6)
    };
    (0..TRIES).map(one).collect()
}

/// Marsaglia's xorshift of 64 bits ("Xorshift RNGs", 2003).
fn in_chain(mut x: u64, _: u64) -> u64 {
    x ^= x << 13;
    x ^= x >> 7;
    x ^ (x << 17)
}

fn side_by_side(mut sums: [u64; SHIFTS.len()], number: u64) -> [u64; SHIFTS.len()] {
    for (sum, shift) in sums.iter_mut().zip(SHIFTS) {
        *sum = sum.wrapping_add(*sum << shift) ^ number;
    }
    sums
}

/// What this thread has had of its processor.
pub fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// No processor makes more than 8 operations a cycle, at 6 GHz, and of a chain but one.
    /// Built with optimisation, this shows steps left out.
    #[test]
    fn no_step_is_left_out() {
        for per_us in chain().into_iter().map(|steps| steps * CHAIN_OPERATIONS) {
            assert!(per_us > 0.0 && per_us < 8_000.0, "{per_us} operations a µs in a chain");
        }
        for per_us in whole().into_iter().map(|steps| steps * WHOLE_OPERATIONS) {
            assert!(per_us > 0.0 && per_us < 48_000.0, "{per_us} operations a µs side by side");
        }
    }
}
