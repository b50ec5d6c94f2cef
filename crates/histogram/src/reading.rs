//! What may be said of a distribution.

use hdrhistogram::Histogram;

use crate::latency::{Latency, Quantile};

/// Samples that must lie beyond a percentile before anything is said of it:
/// with fewer, a handful of requests decides its value.
pub const SAMPLES_BEYOND_MIN: u64 = 100;

/// What is read of a distribution.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Statistic {
    /// The value that so many per cent of the samples lie at or below.
    Percentile(f64),
    /// The arithmetic mean.
    Mean,
    /// The largest sample.
    Max,
}

impl Statistic {
    /// The samples that it takes.
    pub fn samples_needed(self) -> u64 {
        match self {
            Statistic::Percentile(percentile) => {
                let needed = SAMPLES_BEYOND_MIN as f64 / (1.0 - percentile / 100.0);
                // The division is a little too large at times: 1,000.0000000000002 for p90.
                (needed - 1e-3).ceil() as u64
            }
            Statistic::Mean | Statistic::Max => 1,
        }
    }
}

/// What came of reading a statistic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reading {
    /// Its value, which may be a lower bound.
    Value(Quantile),
    /// Withheld.
    TooFewSamples {
        /// The samples that there are.
        samples: u64,
        /// The samples that it takes.
        needed: u64,
    },
}

impl Reading {
    /// The value, if there is one.
    pub fn value(self) -> Option<Quantile> {
        match self {
            Reading::Value(value) => Some(value),
            Reading::TooFewSamples { .. } => None,
        }
    }
}

/// Reads a statistic of a distribution, or says why it can't be read.
pub fn read(latency: &Latency, statistic: Statistic) -> Reading {
    let (samples, needed) = (latency.samples(), statistic.samples_needed());
    if samples < needed {
        return Reading::TooFewSamples { samples, needed };
    }
    let censored = !latency.censored.is_empty();
    let value = match statistic {
        Statistic::Percentile(percentile) => latency.quantile(percentile / 100.0),
        // The true value of a censored sample may be larger than all others.
        Statistic::Max => Some(Quantile {
            nanoseconds: latency.good.max().max(latency.censored.max()),
            at_least: censored,
        }),
        Statistic::Mean => Some(Quantile { nanoseconds: mean(latency), at_least: censored }),
    };
    value.map_or(Reading::TooFewSamples { samples, needed }, Reading::Value)
}

/// The same for a distribution without censored samples.
pub fn read_exact(histogram: &Histogram<u64>, statistic: Statistic) -> Reading {
    let censored = Histogram::new_from(histogram);
    read(&Latency { good: histogram.clone(), censored }, statistic)
}

fn mean(latency: &Latency) -> u64 {
    let sum = |histogram: &Histogram<u64>| histogram.mean() * histogram.len() as f64;
    ((sum(&latency.good) + sum(&latency.censored)) / latency.samples() as f64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn latency(good: &[u64], censored: &[u64]) -> Latency {
        let mut latency = Latency::default();
        good.iter().for_each(|&value| latency.good.record(value).unwrap());
        censored.iter().for_each(|&value| latency.censored.record(value).unwrap());
        latency
    }

    #[test]
    fn a_percentile_needs_a_hundred_samples_beyond_it() {
        let needed = [50.0, 90.0, 99.0, 99.9, 99.99]
            .map(|percentile| Statistic::Percentile(percentile).samples_needed());
        assert_eq!(needed, [200, 1_000, 10_000, 100_000, 1_000_000]);
        let values: Vec<u64> = (1..=199).collect();
        let p50 = Statistic::Percentile(50.0);
        assert_eq!(
            read(&latency(&values, &[]), p50),
            Reading::TooFewSamples { samples: 199, needed: 200 }
        );
        assert!(read(&latency(&values, &[5]), p50).value().is_some());
    }

    #[test]
    fn censored_samples_make_mean_and_max_lower_bounds() {
        let known = latency(&[100, 200], &[]);
        assert_eq!(
            read(&known, Statistic::Max).value(),
            Some(Quantile { nanoseconds: 200, at_least: false })
        );
        let partly = latency(&[100, 200], &[60]);
        assert_eq!(
            read(&partly, Statistic::Mean).value(),
            Some(Quantile { nanoseconds: 120, at_least: true })
        );
        assert_eq!(
            read(&partly, Statistic::Max).value(),
            Some(Quantile { nanoseconds: 200, at_least: true })
        );
    }

    #[test]
    fn a_few_censored_samples_leave_the_median_exact_and_the_tail_not() {
        let values: Vec<u64> = (0..20_000).map(|n| 1_000_000 + n * 50).collect();
        let latency = latency(&values, &[10; 20]);
        let read = |percentile| read(&latency, Statistic::Percentile(percentile)).value().unwrap();
        assert!(!read(50.0).at_least, "20 of 20,020 samples hardly move the median");
        let censored_beyond = self::latency(&values, &[5_000_000; 400]);
        assert!(
            super::read(&censored_beyond, Statistic::Percentile(99.0)).value().unwrap().at_least
        );
        let mostly = self::latency(&[1_000; 10], &[10; 1_000]);
        assert!(super::read(&mostly, Statistic::Percentile(50.0)).value().unwrap().at_least);
    }

    #[test]
    fn nothing_is_said_of_no_samples() {
        for statistic in [Statistic::Percentile(50.0), Statistic::Mean, Statistic::Max] {
            assert_eq!(read_exact(&Latency::default().good, statistic).value(), None);
        }
    }
}
