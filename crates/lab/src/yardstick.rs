//! How fast a processor is: a fixed piece of work, timed.
//!
//! Virtual machines don't tell their frequency, and least of all what others get
//! of the core that they share with them as its second thread. That shows in no
//! steal: on a rented machine it made a server's CPU time an answer 1.6 times as
//! long, while work that waits for itself, step by step, took but 4 % longer.
//! So this work keeps all of a core's arithmetic units busy.

use std::hint::black_box;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

use crate::keeper;
use crate::statistics::median;

/// Of more processors than these the speed isn't measured, as it takes 3 ms each.
const PROCESSORS_MAX: usize = 16;
/// Tries, of which the median counts: an interrupt slows one of them down, and a
/// processor that rested takes the first to get up to speed; who shares the core
/// slows down most.
const TRIES: usize = 20;
/// Steps of one try: 0.15 ms on the AMD EPYC that this was made on.
const STEPS: u64 = 150_000;
/// By how many bits each sum is shifted. The sums don't wait for one another, and
/// are as many as keep a core's units busy; with one shift for all, a compiler
/// would do them two at a time in wide registers.
const SHIFTS: [u32; 6] = [3, 5, 7, 11, 13, 17];
/// Operations of a step.
#[cfg(test)]
const OPERATIONS_A_STEP: f64 = 3.0 * SHIFTS.len() as f64;

/// Steps a µs on each of these processors, in their order; `None` on one where
/// this process may not run.
pub fn speeds(cpus: &[usize]) -> Vec<Option<f64>> {
    let cpus = &cpus[..cpus.len().min(PROCESSORS_MAX)];
    std::thread::scope(|scope| {
        let measure = |&cpu: &usize| {
            // A thread of its own, because it is bound to its processor for good.
            let bound = scope.spawn(move || keeper::pin(&[cpu]).ok().and_then(|()| usual()));
            bound.join().ok().flatten()
        };
        cpus.iter().map(measure).collect()
    })
}

/// Steps a µs of this thread's own CPU time.
fn usual() -> Option<f64> {
    let mut sums = black_box([1; SHIFTS.len()]);
    let tries = (0..TRIES).map(|_| {
        let began = cpu_time();
        sums = (0..STEPS).fold(sums, step);
        black_box(sums);
        let took = cpu_time().saturating_sub(began).max(Duration::from_nanos(1));
        STEPS as f64 / (took.as_secs_f64() * 1e6)
    });
    median(&tries.collect::<Vec<_>>())
}

/// A shift, an addition and an exclusive or of each sum, of which a compiler
/// can't make one operation for several steps.
fn step(mut sums: [u64; SHIFTS.len()], number: u64) -> [u64; SHIFTS.len()] {
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
            // No processor makes more than 8 of such operations a cycle, at 6 GHz.
            // Built with optimisation, this would show steps left out.
            assert!(speed > 0.0 && speed * OPERATIONS_A_STEP < 48_000.0, "{speed} steps a µs");
        }
    }

    #[test]
    fn a_processor_that_isnt_there_has_no_speed() {
        assert_eq!(speeds(&[1_000]), [None]);
    }
}
