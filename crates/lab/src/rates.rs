//! The rates of open loops, from what the closed loop of the same run showed.
//!
//! A contender's maximum is the median of its rates over the closed loop's
//! blocks, of those trials that no check calls invalid. Trials of twins are left
//! out, so that everybody's maximum is made of as many.

use std::collections::BTreeMap;

use result::finding::{Verdict, worst};
use result::plan::{Arrivals, Load};
use result::{Run, Trial};

use crate::statistics::median;

/// The one rate that all contenders are offered, and how it was found.
#[derive(Debug, Clone, PartialEq)]
pub struct EqualRate {
    /// Requests a second.
    pub rate: f64,
    /// One sentence.
    pub rule: String,
}

/// The rate that a contender is to be offered under a load; `None` in a closed
/// loop, which has none.
///
/// # Errors
/// One sentence that says why there is no rate to offer.
pub fn offered(run: &Run, contender: &str, load: &Load) -> Result<Option<f64>, String> {
    match load.arrivals {
        Arrivals::Closed => Ok(None),
        Arrivals::Equal { percent } => equal(run, load, percent).map(|equal| Some(equal.rate)),
        Arrivals::Own { percent } => {
            of_curve(run, contender, load).map(|maximum| Some(share(maximum, percent)))
        }
    }
}

fn share(maximum: f64, percent: u32) -> f64 {
    maximum * f64::from(percent) / 100.0
}

/// A contender's answers a second in the closed loop of a load.
///
/// # Errors
/// One sentence that says why none can be told.
pub fn maximum(run: &Run, contender: &str, load: &Load) -> Result<f64, String> {
    let closed = load.with(Arrivals::Closed);
    let trials: Vec<&Trial> = run
        .trials
        .iter()
        .filter(|trial| {
            let slot = &trial.slot;
            slot.contender == contender && slot.load == closed && !slot.twin
        })
        .filter(|trial| trial.evidence.load.is_some())
        .collect();
    let usable = trials.iter().filter(|trial| worst(&trial.findings) != Verdict::Invalid);
    let rates: Vec<f64> =
        usable.filter_map(|trial| Some(trial.evidence.load.as_ref()?.rate)).collect();
    match median(&rates).filter(|&rate| rate > 0.0) {
        Some(maximum) => Ok(maximum),
        None if trials.is_empty() => {
            Err("its maximum is not known: no trial of the closed loop got as far as load".into())
        }
        None => Err(format!(
            "its maximum is not known: every trial of the closed loop is invalid, most by {}",
            most_frequent_fault(&trials)
        )),
    }
}

/// What 100 % of a contender's curve is: its maximum. Once a trial of the curve was
/// made, it stays, whatever becomes known afterwards, as when a closed loop's trial
/// is made again or judged anew: else the points of one curve would be shares of
/// different maxima.
///
/// # Errors
/// One sentence that says why none can be told.
pub fn of_curve(run: &Run, contender: &str, load: &Load) -> Result<f64, String> {
    let closed = load.with(Arrivals::Closed);
    let begun = made(run).find_map(|trial| {
        let slot = &trial.slot;
        let Arrivals::Own { percent } = slot.load.arrivals else { return None };
        let is_of_it = slot.contender == contender && slot.load.with(Arrivals::Closed) == closed;
        let offered = is_of_it.then(|| trial.evidence.load.as_ref()?.offered_rate)??;
        Some(offered * 100.0 / f64::from(percent))
    });
    begun.map_or_else(|| maximum(run, contender, load), Ok)
}

/// All trials that were made, also those that were set aside.
fn made(run: &Run) -> impl Iterator<Item = &Trial> {
    run.trials.iter().chain(&run.disturbed)
}

/// The check that most often says invalid.
fn most_frequent_fault(trials: &[&Trial]) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let findings = trials.iter().flat_map(|trial| &trial.findings);
    for finding in findings.filter(|finding| finding.verdict == Verdict::Invalid) {
        *counts.entry(&finding.check).or_default() += 1;
    }
    let most = counts.into_iter().max_by_key(|(_, count)| *count);
    most.map_or("a rate of 0".into(), |(check, _)| format!("`{check}`"))
}

/// The rate that all contenders are offered under a load: a share of the lowest
/// maximum. Once a trial was made with it, it stays, whatever becomes known
/// afterwards, as when a run is resumed: else it would not be equal.
///
/// # Errors
/// One sentence that says why there is none.
pub fn equal(run: &Run, load: &Load, percent: u32) -> Result<EqualRate, String> {
    let lowest = run
        .contenders
        .iter()
        .filter_map(|contender| Some((maximum(run, &contender.name, load).ok()?, contender)))
        .min_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(maximum, contender)| EqualRate {
            rate: share(maximum, percent),
            rule: format!(
                "{percent} % of the lowest maximum in the closed loop, that of {}: {maximum:.0} \
                 answers a second.",
                contender.title
            ),
        });
    let begun = made(run)
        .filter(|trial| trial.slot.load == *load)
        .find_map(|trial| trial.evidence.load.as_ref()?.offered_rate);
    match (begun, lowest) {
        (None, lowest) => lowest.ok_or_else(|| {
            "no contender has a maximum that is not invalid, so that there is no rate to offer"
                .into()
        }),
        (Some(rate), Some(lowest)) if (lowest.rate / rate - 1.0).abs() < 1e-6 => Ok(lowest),
        (Some(rate), _) => Ok(EqualRate {
            rate,
            rule: format!(
                "{percent} % of what was the lowest maximum in the closed loop when the first \
                 trial at this rate was made; other trials of the closed loop came later."
            ),
        }),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use result::plan::Cores;

    use super::*;
    use crate::outcomes::tests::{contender, invalid, run_of, trial};

    fn base() -> Load {
        Load::closed(100, Cores::One, true)
    }

    /// `a` and `b` with these rates in the closed loop, block by block.
    fn run(a: &[f64], b: &[f64]) -> Run {
        let mut trials = Vec::new();
        for (name, rates) in [("a", a), ("b", b)] {
            trials.extend((0..).zip(rates).map(|(block, &rate)| trial(name, block, &base(), rate)));
        }
        run_of(&[contender("a"), contender("b")], trials)
    }

    fn at(run: &Run, contender: &str, arrivals: Arrivals) -> Option<f64> {
        offered(run, contender, &base().with(arrivals)).unwrap()
    }

    #[test]
    fn a_share_is_of_the_contenders_own_median() {
        let run = run(&[100.0, 300.0, 200.0], &[50.0]);
        assert_eq!(at(&run, "a", Arrivals::Own { percent: 110 }), Some(220.0));
        assert_eq!(at(&run, "b", Arrivals::Own { percent: 10 }), Some(5.0));
        assert_eq!(at(&run, "a", Arrivals::Closed), None);
    }

    #[test]
    fn invalid_trials_and_other_loads_have_no_part_in_a_maximum() {
        let mut run = run(&[100.0, 300.0, 900.0], &[50.0]);
        run.trials[2].findings.push(invalid("errors"));
        run.trials.push(trial("a", 3, &Load::closed(30, Cores::One, true), 7.0));
        run.trials.push(trial("a", 3, &base().with(Arrivals::Own { percent: 10 }), 7.0));
        run.trials.push(trial("a", 3, &base(), 7.0));
        run.trials.last_mut().unwrap().slot.twin = true;
        assert_eq!(maximum(&run, "a", &base()), Ok(200.0));
    }

    #[test]
    fn who_has_no_maximum_is_told_why() {
        let mut run = run(&[100.0, 100.0], &[]);
        for trial in &mut run.trials {
            trial.findings.push(invalid("client-limit"));
        }
        let why = |contender| offered(&run, contender, &base().with(Arrivals::Own { percent: 9 }));
        insta::assert_snapshot!(why("a").unwrap_err(), @"its maximum is not known: every trial of the closed loop is invalid, most by `client-limit`");
        insta::assert_snapshot!(why("b").unwrap_err(), @"its maximum is not known: no trial of the closed loop got as far as load");
        let equal = Arrivals::Equal { percent: 80 };
        insta::assert_snapshot!(offered(&run, "a", &base().with(equal)).unwrap_err(), @"no contender has a maximum that is not invalid, so that there is no rate to offer");
    }

    #[test]
    fn an_equal_rate_stays_what_it_was_once_a_trial_was_made_with_it() {
        let mut run = run(&[100.0], &[200.0]);
        let load = base().with(Arrivals::Equal { percent: 50 });
        let before = equal(&run, &load, 50).unwrap();
        assert_eq!(before.rate, 50.0);
        let mut first = trial("a", 0, &load, 50.0);
        first.evidence.load.as_mut().unwrap().offered_rate = Some(50.0);
        run.trials.push(first);
        assert_eq!(equal(&run, &load, 50).unwrap(), before);
        // The run was resumed, and more is known of `a`.
        run.trials.push(trial("a", 1, &base(), 60.0));
        let after = equal(&run, &load, 50).unwrap();
        assert_eq!(after.rate, 50.0, "contenders would be offered different rates");
        assert_ne!(after.rule, before.rule);
    }

    #[test]
    fn a_curves_points_stay_shares_of_one_maximum() {
        let mut run = run(&[100.0, 300.0], &[50.0]);
        let mut first = trial("a", 0, &base().with(Arrivals::Own { percent: 10 }), 20.0);
        first.evidence.load.as_mut().unwrap().offered_rate =
            at(&run, "a", first.slot.load.arrivals);
        run.trials.push(first);
        run.trials[1].findings.push(invalid("errors"));
        assert_eq!(maximum(&run, "a", &base()), Ok(100.0), "judged anew after the first point");
        assert_eq!(of_curve(&run, "a", &base()), Ok(200.0));
        assert_eq!(at(&run, "a", Arrivals::Own { percent: 110 }), Some(220.0));
        assert_eq!(at(&run, "b", Arrivals::Own { percent: 10 }), Some(5.0), "a's is b's");
    }

    proptest! {
        #[test]
        fn every_contender_is_offered_the_same_and_none_more_than_its_share(
            a in prop::collection::vec(1.0..1e6_f64, 1..7),
            b in prop::collection::vec(1.0..1e6_f64, 1..7),
            percent in 1..100_u32,
        ) {
            let run = run(&a, &b);
            let of_a = at(&run, "a", Arrivals::Equal { percent }).unwrap();
            let of_b = at(&run, "b", Arrivals::Equal { percent }).unwrap();
            prop_assert_eq!(of_a, of_b);
            for contender in ["a", "b"] {
                let own = at(&run, contender, Arrivals::Own { percent }).unwrap();
                prop_assert!(of_a <= own * (1.0 + 1e-12));
            }
        }
    }
}
