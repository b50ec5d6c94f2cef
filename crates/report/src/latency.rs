//! Percentiles of a row, from the trials behind it.

use result::Trial;
use result::evidence::{Load, Percentiles};

/// A time that may be only a lower bound.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Time {
    /// In µs.
    pub us: f64,
    /// Whether some request that waited at least this long never had its answer.
    pub at_least: bool,
}

/// The distribution that a reader means by latency: from the intended start in
/// an open loop, from the send in a closed one, which has no intended start.
pub fn read(load: &Load) -> &Percentiles {
    if load.offered_rate.is_some() { &load.response_us } else { &load.service_us }
}

/// The median over the trials. `None` where one of them has too few samples
/// beyond it: a median over the others would be one of the better trials.
pub fn percentile(trials: &[&Trial], percentile: f64) -> Option<Time> {
    let mut at_least = false;
    let mut values = Vec::new();
    for load in loads(trials) {
        let found = read(load).at.iter().find(|at| (at.percentile - percentile).abs() < 1e-9)?;
        at_least |= found.at_least;
        values.push(found.value);
    }
    median(values).map(|us| Time { us, at_least })
}

/// The largest over the trials.
pub fn largest(trials: &[&Trial]) -> Option<Time> {
    let seen = || loads(trials).map(read);
    let us = seen().filter_map(|percentiles| percentiles.max).max_by(f64::total_cmp)?;
    Some(Time { us, at_least: seen().any(|percentiles| percentiles.censored > 0) })
}

fn loads<'a>(trials: &'a [&'a Trial]) -> impl Iterator<Item = &'a Load> {
    trials.iter().filter_map(|trial| trial.evidence.load.as_ref())
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    if values.is_empty() {
        return None;
    }
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    Some(if values.len() % 2 == 1 {
        values[middle]
    } else {
        (values[middle - 1] + values[middle]) / 2.0
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use result::evidence::{Evidence, Percentile};
    use result::plan::{self, Cores, Slot};

    fn trial(offered_rate: Option<f64>, at: &[(f64, f64, bool)]) -> Trial {
        let percentiles = Percentiles {
            count: 1,
            censored: at.iter().filter(|at| at.2).count() as u64,
            max: at.iter().map(|at| at.1).max_by(f64::total_cmp),
            at: at
                .iter()
                .map(|&(percentile, value, at_least)| Percentile { percentile, value, at_least })
                .collect(),
            ..Percentiles::default()
        };
        let load = Load { offered_rate, service_us: percentiles, ..Load::default() };
        let slot = Slot {
            number: 0,
            block: 0,
            contender: "go".into(),
            twin: false,
            load: plan::Load::closed(1, Cores::One, true),
        };
        Trial {
            slot,
            started: String::new(),
            evidence: Evidence { load: Some(load), ..Evidence::default() },
            findings: vec![],
        }
    }

    #[test]
    fn one_trial_with_a_lower_bound_makes_the_median_one() {
        let trials = [trial(None, &[(99.0, 10.0, false)]), trial(None, &[(99.0, 30.0, true)])];
        let trials: Vec<_> = trials.iter().collect();
        assert_eq!(percentile(&trials, 99.0), Some(Time { us: 20.0, at_least: true }));
        assert_eq!(largest(&trials), Some(Time { us: 30.0, at_least: true }));
    }

    #[test]
    fn a_percentile_that_one_trial_withheld_is_withheld() {
        let trials = [
            trial(None, &[(50.0, 1.0, false), (99.0, 10.0, false)]),
            trial(None, &[(50.0, 1.0, false)]),
        ];
        let trials: Vec<_> = trials.iter().collect();
        assert_eq!(percentile(&trials, 99.0), None);
        assert!(percentile(&trials, 50.0).is_some());
    }

    #[test]
    fn an_open_loop_counts_from_the_intended_start() {
        let open = trial(Some(1_000.0), &[(50.0, 1.0, false)]);
        assert_eq!(percentile(&[&open], 50.0), None, "service time was shown as response time");
    }

    #[test]
    fn no_trial_gives_no_percentile() {
        assert_eq!(percentile(&[], 50.0), None);
        assert_eq!(largest(&[]), None);
    }
}
