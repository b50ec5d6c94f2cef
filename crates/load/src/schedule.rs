//! When requests are due in an open loop: computed ahead, from the rate alone,
//! whatever is answered and whenever the loop wakes up.

use crate::plan::Arrivals;
use crate::template::mix;

/// The due times of one thread's requests, in nanoseconds from the start.
#[derive(Debug, Clone)]
pub(crate) enum Schedule {
    /// Every `interval`, from `offset` on, so that threads take turns.
    Constant { interval: f64, offset: f64, next: u64 },
    /// Independent exponential gaps of this mean.
    Poisson { mean: f64, due: f64, seed: u64, next: u64 },
}

impl Schedule {
    /// The schedule of thread `thread` of `threads`; `None` for a closed loop.
    pub(crate) fn new(
        arrivals: Arrivals,
        thread: usize,
        threads: usize,
        seed: u64,
    ) -> Option<Self> {
        let nanoseconds = 1e9 * threads as f64;
        match arrivals {
            Arrivals::Closed => None,
            Arrivals::Constant(rate) => Some(Schedule::Constant {
                interval: nanoseconds / rate,
                offset: 1e9 / rate * thread as f64,
                next: 0,
            }),
            Arrivals::Poisson(rate) => {
                let mut schedule = Schedule::Poisson {
                    mean: nanoseconds / rate,
                    due: 0.0,
                    seed: mix(seed ^ mix(thread as u64 + 1)),
                    next: 0,
                };
                // The first arrival, too, comes after a random gap.
                schedule.advance();
                Some(schedule)
            }
        }
    }

    /// When the next request is due.
    pub(crate) fn due(&self) -> u64 {
        match *self {
            // Multiplied, not added up: no error grows with time.
            Schedule::Constant { interval, offset, next } => {
                (offset + interval * next as f64) as u64
            }
            Schedule::Poisson { due, .. } => due as u64,
        }
    }

    /// Goes on to the request after the next.
    pub(crate) fn advance(&mut self) {
        match self {
            Schedule::Constant { next, .. } => *next += 1,
            Schedule::Poisson { mean, due, seed, next } => {
                // 53 random bits give a number in (0, 1].
                let uniform = ((mix(*seed ^ *next) >> 11) + 1) as f64 / (1u64 << 53) as f64;
                *due -= *mean * uniform.ln();
                *next += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(schedule: &mut Schedule, count: usize) -> Vec<u64> {
        (0..count)
            .map(|_| {
                let due = schedule.due();
                schedule.advance();
                due
            })
            .collect()
    }

    #[test]
    fn constant_arrivals_of_all_threads_together_are_evenly_spaced() {
        let mut all: Vec<u64> = (0..3)
            .flat_map(|thread| {
                let mut one = Schedule::new(Arrivals::Constant(1e6), thread, 3, 1).unwrap();
                first(&mut one, 1000)
            })
            .collect();
        all.sort_unstable();
        for (index, due) in all.iter().enumerate() {
            assert!(due.abs_diff(index as u64 * 1000) <= 1, "request {index} is due at {due} ns");
        }
    }

    #[test]
    fn poisson_gaps_have_the_mean_and_spread_of_an_exponential() {
        let mut schedule = Schedule::new(Arrivals::Poisson(1000.0), 0, 1, 9).unwrap();
        let due = first(&mut schedule, 100_001);
        let gaps: Vec<f64> = due.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let deviation =
            (gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64).sqrt();
        assert!((mean / 1e6 - 1.0).abs() < 0.02, "mean gap {mean} ns");
        assert!((deviation / mean - 1.0).abs() < 0.02, "deviation by mean {}", deviation / mean);
    }

    #[test]
    fn a_closed_loop_has_no_schedule() {
        assert!(Schedule::new(Arrivals::Closed, 0, 1, 1).is_none());
    }
}
