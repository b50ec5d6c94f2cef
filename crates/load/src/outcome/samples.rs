//! A few answers of a run, spread over it evenly however long it is.

use crate::outcome::SampledAnswer;
use crate::outcome::record::Sample;
use crate::plan::Plan;
use crate::plan::rotation::Rotation;
use crate::plan::template::Template;

/// The most seconds of which samples are kept.
const KEPT_MAX: usize = 16;

/// Keeps those of the first second that is offered, and from then on of each one that is as
/// far from the last.
#[derive(Debug)]
pub(crate) struct Samples {
    kept: Vec<Vec<Sample>>,
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
    /// Offers the samples of a thread's second.
    pub(crate) fn offer(&mut self, of_second: Vec<Sample>) {
        if of_second.is_empty() {
            return;
        }
        if self.offered.is_multiple_of(self.every) {
            self.kept.push(of_second);
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
        let Some(http) = plan.http() else { return Vec::new() };
        let text = |it| http.expect_of(it).body.as_deref().unwrap_or_default();
        let texts: Vec<Template> =
            http.requests.iter().map(|it| Template::parse(text(it).as_bytes())).collect();
        let rotation = Rotation::new(&http.requests, plan.seed);
        let with_text = |Sample { number, at, bytes }| {
            let request = rotation.index(number);
            let mut expected = Vec::new();
            texts[request].render(number, plan.seed, &mut expected);
            let expected = String::from_utf8_lossy(&expected).into_owned();
            SampledAnswer { at, request, expected, bytes }
        };
        self.kept.into_iter().flatten().map(with_text).collect()
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
                let sample = || Sample { number, at: Duration::ZERO, bytes: Vec::new() };
                samples.offer(vec![sample(), sample()]);
                samples.offer(Vec::new());
            }
            assert!(samples.kept.iter().all(|of_second| of_second.len() == 2), "they go together");
            let numbers: Vec<u64> = samples.kept.iter().map(|it| it[0].number).collect();
            assert!(numbers.len() <= KEPT_MAX, "{} are kept of {offered}", numbers.len());
            assert!(numbers.len() >= KEPT_MAX.min(offered as usize) / 2, "{numbers:?}");
            assert_eq!(numbers[0], 0);
            let gaps: Vec<u64> = numbers.windows(2).map(|pair| pair[1] - pair[0]).collect();
            assert!(gaps.iter().all(|&gap| gap == samples.every), "{offered}: {numbers:?}");
            assert!(offered - numbers.last().unwrap() <= samples.every, "{offered}: {numbers:?}");
        }
    }
}
