//! How fast a processor is: two fixed pieces of work, timed.
//!
//! Virtual machines don't tell their frequency, and least of all what somebody else
//! gets of a core as its second thread. That shows in no steal, and hardly in work
//! that waits for itself step by step; but a server took 1.6 times the CPU time an
//! answer while work that keeps a core's units busy was slower by a fourth.

use std::hint::black_box;
use std::time::Duration;

use judge::statistics::median;
use keeper;
use keeper::affinity;
use result::evidence::CoreSpeed;
use rustix::time::{ClockId, clock_gettime};

/// Of more processors than these the speed isn't measured, as it takes 6 ms each.
const PROCESSORS_MAX: usize = 16;
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

/// How fast a processor did the work, in steps a µs of CPU time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Speed {
    /// Of a chain, where each operation waits for the one before: neither memory
    /// nor the core's other thread matters much, and frequency does. The fastest
    /// try counts: an interrupt, or a host that takes the processor away, can only
    /// make one slower.
    pub chain: f64,
    /// Of sums side by side. The median counts: who shares the core slows down most
    /// of the tries.
    pub whole: f64,
}

/// The speed of each of these processors, in their order; `None` on one where this
/// process may not run.
pub fn speeds(cpus: &[usize]) -> Vec<Option<Speed>> {
    let cpus = &cpus[..cpus.len().min(PROCESSORS_MAX)];
    std::thread::scope(|scope| {
        let measure = |&cpu: &usize| {
            // A thread of its own, because it is bound to its processor for good.
            let bound = scope.spawn(move || affinity::pin(&[cpu]).ok().and_then(|()| speed()));
            bound.join().ok().flatten()
        };
        cpus.iter().map(measure).collect()
    })
}

/// The speeds of those of these processors of which they are known before and after.
pub fn both(cpus: &[usize], before: &[Option<Speed>], after: &[Option<Speed>]) -> Vec<CoreSpeed> {
    cpus.iter()
        .zip(before.iter().zip(after))
        .filter_map(|(&cpu, (before, after))| {
            let (before, after) = ((*before)?, (*after)?);
            Some(CoreSpeed {
                cpu,
                before: before.chain,
                after: after.chain,
                whole_before: Some(before.whole),
                whole_after: Some(after.whole),
            })
        })
        .collect()
}

/// This thread's.
fn speed() -> Option<Speed> {
    // A processor that rested gets up to speed in the first of these.
    let chain = tries(CHAIN_STEPS, || (0..CHAIN_STEPS).fold(black_box(1), in_chain));
    let whole =
        tries(WHOLE_STEPS, || (0..WHOLE_STEPS).fold(black_box([1; SHIFTS.len()]), side_by_side));
    Some(Speed { chain: chain.into_iter().max_by(f64::total_cmp)?, whole: median(&whole)? })
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

fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_takes_time_on_every_processor_of_this_process() {
        let cpus = load::allowed_cpus().unwrap();
        let speeds = speeds(&cpus);
        assert_eq!(speeds.len(), cpus.len().min(PROCESSORS_MAX));
        for speed in speeds {
            let speed = speed.expect("it may run there");
            // No processor makes more than 8 operations a cycle, at 6 GHz, and of a
            // chain but one. Built with optimisation, this would show steps left out.
            let per_us = (speed.chain * CHAIN_OPERATIONS, speed.whole * WHOLE_OPERATIONS);
            assert!(per_us.0 > 0.0 && per_us.0 < 8_000.0, "{speed:?}");
            assert!(per_us.1 > 0.0 && per_us.1 < 48_000.0, "{speed:?}");
        }
    }

    #[test]
    fn a_processor_that_isnt_there_has_no_speed() {
        assert_eq!(speeds(&[1_000]), [None]);
    }
}
