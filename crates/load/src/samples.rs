//! A few answers of a run, spread over it evenly however long it is.

use crate::outcome::SampledAnswer;
use crate::plan::Plan;
use crate::record::Sample;
use crate::template::Template;

/// The most that are kept.
const KEPT_MAX: usize = 16;

/// Keeps the first of those offered, and from then on each one that is as far from the
/// last.
#[derive(Debug)]
pub(crate) struct Samples {
    kept: Vec<Sample>,
    /// Of so many offered one is kept.
    every: u64,
    offered: u64,
}

impl Default for Samples {
    fn default() -> Samples {
        Samples { kept: Vec::new(), every: 1, offered: 0 }
    }
}

impl Samples {
    pub(crate) fn offer(&mut self, sample: Sample) {
        if self.offered.is_multiple_of(self.every) {
            self.kept.push(sample);
        }
        self.offered += 1;
        if self.kept.len() > KEPT_MAX {
            let mut nth = 0..;
            self.kept.retain(|_| nth.next().is_some_and(|nth: u64| nth.is_multiple_of(2)));
            self.every *= 2;
        }
    }

    /// Those kept, each with the text that this plan expects of it.
    pub(crate) fn with_texts(self, plan: &Plan) -> Vec<SampledAnswer> {
        let text = Template::parse(plan.expect.body.as_deref().unwrap_or_default().as_bytes());
        let with_text = |Sample { number, at, bytes }| {
            let mut expected = Vec::new();
            text.render(number, plan.seed, &mut expected);
            let expected = String::from_utf8_lossy(&expected).into_owned();
            SampledAnswer { at, expected, bytes }
        };
        self.kept.into_iter().map(with_text).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_long_run_has_few_samples_from_its_start_to_its_end() {
        for offered in [1, 16, 17, 100, 86_400] {
            let mut samples = Samples::default();
            for number in 0..offered {
                samples.offer(Sample { number, at: Duration::ZERO, bytes: Vec::new() });
            }
            let numbers: Vec<u64> = samples.kept.iter().map(|sample| sample.number).collect();
            assert!(numbers.len() <= KEPT_MAX, "{} are kept of {offered}", numbers.len());
            assert!(numbers.len() >= KEPT_MAX.min(offered as usize) / 2, "{numbers:?}");
            assert_eq!(numbers[0], 0);
            let gaps: Vec<u64> = numbers.windows(2).map(|pair| pair[1] - pair[0]).collect();
            assert!(gaps.iter().all(|&gap| gap == samples.every), "{offered}: {numbers:?}");
            assert!(offered - numbers.last().unwrap() <= samples.every, "{offered}: {numbers:?}");
        }
    }
}
