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
/// Steps of one try: about 0.15 ms. A step waits for the one before it, so that
/// neither memory nor the second thread of a core matters much.
const STEPS: u32 = 100_000;

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

/// Knuth's linear congruential generator for 64 bits.
fn step(x: u64, _: u32) -> u64 {
    x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407)
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
            // A step is a multiplication and an addition: no processor makes
            // 10,000 of them in a µs, which it would take to leave them out.
            assert!(speed > 0.0 && speed < 10_000.0, "{speed} steps a µs");
        }
    }

    #[test]
    fn a_processor_that_isnt_there_has_no_speed() {
        assert_eq!(speeds(&[1_000]), [None]);
    }
}
