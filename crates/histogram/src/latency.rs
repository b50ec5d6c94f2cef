//! A distribution of times, with those apart that are only known to be at least what they are.

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

/// A distribution of times with those apart that are only known to be at least
/// what they are.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Latency {
    /// Good answers.
    #[serde(with = "crate::text")]
    pub good: Histogram<u64>,
    /// Waits that ended without a whole answer, by an error of whatever kind or with the
    /// run. Each true value is at least this long.
    #[serde(with = "crate::text")]
    pub censored: Histogram<u64>,
}

impl Default for Latency {
    fn default() -> Latency {
        Latency { good: crate::empty(), censored: crate::empty() }
    }
}

impl Latency {
    /// With these samples beside its own.
    pub fn merge(mut self, next: &Latency) -> Latency {
        self.add(next);
        self
    }

    /// Adds these samples.
    pub fn add(&mut self, next: &Latency) {
        self.good += &next.good;
        self.censored += &next.censored;
    }

    /// Samples of both kinds.
    pub fn samples(&self) -> u64 {
        self.good.len() + self.censored.len()
    }

    /// The value that a share `quantile` (from 0 to 1) of all samples lies at or
    /// below, censored ones standing at their lower bounds; `None` without samples.
    ///
    /// It is a lower bound if it would be larger, by more than a hundredth, had
    /// the censored samples never ended. A few among many leave the median as it
    /// is.
    pub fn quantile(&self, quantile: f64) -> Option<Quantile> {
        if self.censored.is_empty() {
            return (!self.good.is_empty()).then(|| Quantile {
                nanoseconds: self.good.value_at_quantile(quantile),
                at_least: false,
            });
        }
        let mut all = self.good.clone();
        all.add(&self.censored).expect("histograms of one run have the same bounds");
        let nanoseconds = all.value_at_quantile(quantile);
        // The same rank, with all censored samples behind the good ones.
        let share_of_good = quantile * all.len() as f64 / self.good.len() as f64;
        let largest = self.good.value_at_quantile(share_of_good);
        let at_least = share_of_good > 1.0 || largest > nanoseconds + nanoseconds / 100;
        Some(Quantile { nanoseconds, at_least })
    }
}

/// A value of a distribution that may be only a lower bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quantile {
    /// The value, in nanoseconds.
    pub nanoseconds: u64,
    /// Whether the true value may be larger.
    pub at_least: bool,
}
