//! When requests are due in an open loop: one schedule for all threads, computed from the
//! rate and the seed alone, whatever is answered and whenever the loops wake up.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use crate::plan::template::mix;
use crate::plan::{Arrivals, Share};

/// Random due times that are computed together. Some microseconds of work, for which no
/// request is late that anybody could see.
const BLOCK: u64 = 256;
/// Blocks that are kept for threads that look at them a little later than others.
const KEPT: usize = 4;

/// When each request of a run is due, in nanoseconds from the run's start.
#[derive(Debug)]
pub(crate) enum Schedule {
    /// One every `interval`, the first when this share of it is over.
    Constant { interval: f64, begins: f64 },
    /// Independent exponential gaps, each the sum of those before it later.
    Poisson(Mutex<Gaps>),
}

/// The random gaps, block after block.
#[derive(Debug)]
pub(crate) struct Gaps {
    mean: f64,
    seed: u64,
    /// When the last request of the last block is due.
    end: f64,
    /// The next block's number.
    next: u64,
    /// The last blocks that were made, in order.
    blocks: VecDeque<Arc<[u64]>>,
}

/// The block of due times that a thread looked at last.
#[derive(Debug, Default)]
pub(crate) struct Block {
    number: u64,
    dues: Option<Arc<[u64]>>,
}

impl Schedule {
    /// The schedule of a run; `None` for a closed loop.
    pub(crate) fn new(arrivals: Arrivals, seed: u64, share: Share) -> Option<Self> {
        match arrivals {
            Arrivals::Closed => None,
            Arrivals::Constant(rate) => {
                Some(Schedule::Constant { interval: 1e9 / rate, begins: share.begins() })
            }
            Arrivals::Poisson(rate) => {
                // Each host has gaps of its own.
                let stream = mix(1 + u64::from(share.host));
                let (seed, blocks) = (mix(seed ^ stream), VecDeque::new());
                let gaps = Gaps { mean: 1e9 / rate, seed, end: 0.0, next: 0, blocks };
                Some(Schedule::Poisson(Mutex::new(gaps)))
            }
        }
    }

    /// When the request with this number is due; `None` if others asked for much later ones
    /// since. `block` is what this thread remembers from call to call.
    #[inline]
    pub(crate) fn due(&self, number: u64, block: &mut Block) -> Option<u64> {
        match self {
            // Multiplied, not added up: no error grows with time.
            Schedule::Constant { interval, begins } => {
                Some((interval * (number as f64 + begins)) as u64)
            }
            Schedule::Poisson(gaps) => {
                if block.dues.is_none() || block.number != number / BLOCK {
                    block.number = number / BLOCK;
                    // A thread that panicked left whole blocks behind.
                    let mut gaps = gaps.lock().unwrap_or_else(PoisonError::into_inner);
                    block.dues = gaps.block(block.number);
                }
                block.dues.as_ref().map(|dues| dues[(number % BLOCK) as usize])
            }
        }
    }
}

impl Gaps {
    /// The due times of a block; `None` if it is no longer kept.
    fn block(&mut self, number: u64) -> Option<Arc<[u64]>> {
        while self.next <= number {
            let due_times = (self.next * BLOCK..(self.next + 1) * BLOCK).map(|request| {
                // 53 random bits give a number in (0, 1].
                let uniform = ((mix(self.seed ^ request) >> 11) + 1) as f64 / (1u64 << 53) as f64;
                self.end -= self.mean * uniform.ln();
                self.end as u64
            });
            let due_times = due_times.collect();
            self.blocks.push_back(due_times);
            self.next += 1;
            if self.blocks.len() > KEPT {
                self.blocks.pop_front();
            }
        }
        let back = (self.next - number) as usize;
        let index = self.blocks.len().checked_sub(back)?;
        Some(self.blocks[index].clone())
    }
}

/// When the requests of a host in an open loop are due, one after the other, in nanoseconds from the
/// start of the run's warm-up. They are the same however many threads there are. A closed
/// loop has none.
pub fn due_times(arrivals: Arrivals, seed: u64, share: Share) -> impl Iterator<Item = u64> {
    let schedule = Schedule::new(arrivals, seed, share);
    let mut block = Block::default();
    (0..).map_while(move |number| schedule.as_ref()?.due(number, &mut block))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALONE: Share = Share { host: 0, hosts: 1, first_thread: 0 };

    #[test]
    fn three_hosts_with_equal_parts_of_a_rate_keep_the_pace_of_one_with_all_of_it() {
        let of = |host| {
            let share = Share { host, hosts: 3, ..ALONE };
            due_times(Arrivals::Constant(1e6 / 3.0), 1, share).take(1000)
        };
        let mut due: Vec<u64> = (0..3).flat_map(of).collect();
        due.sort_unstable();
        for (of_three, of_one) in due.into_iter().zip(due_times(Arrivals::Constant(1e6), 1, ALONE))
        {
            assert!(of_three.abs_diff(of_one) <= 1, "{of_three} in place of {of_one} ns");
        }
    }

    #[test]
    fn hosts_have_random_arrivals_of_their_own() {
        let of = |host| {
            let share = Share { host, hosts: 2, ..ALONE };
            due_times(Arrivals::Poisson(1000.0), 1, share).take(10).collect::<Vec<_>>()
        };
        assert_ne!(of(0), of(1), "two hosts would ask at the same moments");
        let alone = due_times(Arrivals::Poisson(1000.0), 1, ALONE);
        assert!(alone.take(10).eq(of(0)), "the first has those that it has alone");
    }

    #[test]
    fn constant_arrivals_are_evenly_spaced() {
        for (index, due) in due_times(Arrivals::Constant(1e6), 1, ALONE).take(3000).enumerate() {
            assert!(due.abs_diff(index as u64 * 1000) <= 1, "request {index} is due at {due} ns");
        }
    }

    #[test]
    fn poisson_gaps_have_the_mean_and_spread_of_an_exponential() {
        let due: Vec<u64> = due_times(Arrivals::Poisson(1000.0), 9, ALONE).take(100_001).collect();
        let gaps: Vec<f64> = due.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let deviation =
            (gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64).sqrt();
        assert!((mean / 1e6 - 1.0).abs() < 0.02, "mean gap {mean} ns");
        assert!((deviation / mean - 1.0).abs() < 0.02, "deviation by mean {}", deviation / mean);
        assert!(due[0] > 0, "the first arrival, too, comes after a random gap");
    }

    #[test]
    fn a_request_is_due_at_one_time_whichever_thread_asks_and_in_whatever_order() {
        let expected: Vec<u64> =
            due_times(Arrivals::Poisson(1000.0), 4, ALONE).take(1000).collect();
        let schedule = Schedule::new(Arrivals::Poisson(1000.0), 4, ALONE).unwrap();
        let (mut one, mut other) = (Block::default(), Block::default());
        for number in (0..1000).step_by(7) {
            let expected = Some(expected[number as usize]);
            assert_eq!(schedule.due(number, &mut one), expected);
            assert!(schedule.due(number.saturating_sub(300), &mut other).is_some());
            assert_eq!(schedule.due(number, &mut other), expected);
        }
        assert!(schedule.due(1_000_000, &mut one).is_some());
        assert_eq!(schedule.due(0, &mut other), None, "all blocks of a day would take gigabytes");
    }

    #[test]
    fn a_closed_loop_has_no_schedule() {
        assert_eq!(due_times(Arrivals::Closed, 1, ALONE).next(), None);
    }
}
