//! How fast a processor is: a fixed piece of work, timed.
//!
//! Virtual machines don't tell their frequency, and this needs nobody to tell.

use std::hint::black_box;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

use crate::keeper;

/// Of more processors than these the speed isn't measured, as it takes 3 ms each.
const PROCESSORS_MAX: usize = 16;
/// Tries, of which the fastest counts: an interrupt, or a host that takes the
/// processor away, can only make one slower. A processor that rested takes the
/// first of them to get up to speed.
const TRIES: usize = 20;
/// Steps of one try: 0.15 ms on the AMD EPYC that this was made on.
const STEPS: u32 = 100_000;
/// Operations of a step, each of which waits for the one before it, so that
/// neither memory nor the second thread of a core matters much.
#[cfg(test)]
const OPERATIONS_A_STEP: f64 = 6.0;

/// Steps a µs on each of these processors, in their order; `None` on one where
/// this process may not run.
pub fn speeds(cpus: &[usize]) -> Vec<Option<f64>> {
    let cpus = &cpus[..cpus.len().min(PROCESSORS_MAX)];
    std::thread::scope(|scope| {
        let measure = |&cpu: &usize| {
            // A thread of its own, because it is bound to its processor for good.
            let bound = scope.spawn(move || keeper::pin(&[cpu]).ok().map(|()| fastest()));
            bound.join().ok().flatten()
        };
        cpus.iter().map(measure).collect()
    })
}

/// Steps a µs of this thread's own CPU time.
fn fastest() -> f64 {
    let tries = (0..TRIES).map(|_| {
        let began = cpu_time();
        black_box((0..STEPS).fold(black_box(1), step));
        cpu_time().saturating_sub(began)
    });
    let shortest = tries.min().unwrap_or_default().max(Duration::from_nanos(1));
    f64::from(STEPS) / (shortest.as_secs_f64() * 1e6)
}

/// Marsaglia's xorshift of 64 bits ("Xorshift RNGs", 2003). A compiler can't make
/// one operation of several steps, as it does of a multiplication and an addition.
fn step(mut x: u64, _: u32) -> u64 {
    x ^= x << 13;
    x ^= x >> 7;
    x ^ (x << 17)
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
            // No processor makes more than 8 of such operations a ns: they take a
            // cycle each. Built with optimisation, this would show steps left out.
            assert!(speed > 0.0 && speed * OPERATIONS_A_STEP < 8_000.0, "{speed} steps a µs");
        }
    }

    #[test]
    fn a_processor_that_isnt_there_has_no_speed() {
        assert_eq!(speeds(&[1_000]), [None]);
    }
}
