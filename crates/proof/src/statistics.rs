//! Medians and paired ratios.

use histogram::median;
use serde::Serialize;

/// A median with the smallest and the largest value behind it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Spread {
    /// The median.
    pub median: f64,
    /// The smallest value.
    pub min: f64,
    /// The largest value.
    pub max: f64,
}

impl Spread {
    /// Of some values; `None` if there is none.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Option<Spread> {
        let values: Vec<f64> = values.into_iter().collect();
        let median = median(&values)?;
        let min = values.iter().copied().reduce(f64::min)?;
        let max = values.into_iter().reduce(f64::max)?;
        Some(Spread { median, min, max })
    }

    /// For people: `0.68 (0.61 to 0.74)`.
    pub fn in_words(self) -> String {
        format!("{:.2} ({:.2} to {:.2})", self.median, self.min, self.max)
    }

    /// Of the ratios of values that were measured side by side: what disturbs a
    /// round disturbs both.
    pub fn of_ratios(pairs: impl IntoIterator<Item = (f64, f64)>) -> Option<Spread> {
        let ratios = pairs.into_iter().map(|(value, base)| value / base);
        Spread::of(ratios.filter(|ratio| ratio.is_finite()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_lies_in_the_middle() {
        let spread = |values: &[f64]| Spread::of(values.iter().copied());
        assert_eq!(spread(&[]), None);
        assert_eq!(spread(&[3.0, 1.0, 2.0]), Some(Spread { median: 2.0, min: 1.0, max: 3.0 }));
        assert_eq!(spread(&[4.0, 1.0]), Some(Spread { median: 2.5, min: 1.0, max: 4.0 }));
    }

    #[test]
    fn a_disturbance_of_a_whole_round_leaves_its_ratio_as_it_is() {
        let ratios = Spread::of_ratios([(1.0, 2.0), (10.0, 20.0), (0.5, 1.0), (1.0, 0.0)]);
        assert_eq!(ratios, Some(Spread { median: 0.5, min: 0.5, max: 0.5 }));
    }
}
