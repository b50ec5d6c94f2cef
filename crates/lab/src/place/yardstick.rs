//! How fast a processor is: two fixed pieces of work, timed (`crates/yardstick`).
//!
//! Virtual machines don't tell their frequency, and least of all what somebody else
//! gets of a core as its second thread. That shows in no steal, and hardly in work
//! that waits for itself step by step; but a server took 1.6 times the CPU time an
//! answer while work that keeps a core's units busy was slower by a fourth.

use histogram::median;
use keeper::affinity;
use result::evidence::CoreSpeed;

/// Of more processors than these the speed isn't measured, as it takes 6 ms each.
const PROCESSORS_MAX: usize = 16;

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
    let chain = yardstick::chain();
    let whole = yardstick::whole();
    Some(Speed { chain: chain.into_iter().max_by(f64::total_cmp)?, whole: median(&whole)? })
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
            assert!(speed.chain > 0.0 && speed.whole > 0.0, "{speed:?}");
        }
    }

    #[test]
    fn a_processor_that_isnt_there_has_no_speed() {
        assert_eq!(speeds(&[1_000]), [None]);
    }
}
