//! The rates of open loops, from what the closed loop of the same run showed.
//!
//! A contender's maximum is the median of its rates over the closed loop's
//! blocks, of those trials that no check calls invalid. Trials of twins are left
//! out, so that everybody's maximum is made of as many.

use std::collections::BTreeMap;

use result::figure::RATE;
use result::finding::{Verdict, worst};
use result::outcome::Offered;
use result::plan::{Contender, Pace, Setting};
use result::{Run, Trial};

use histogram::median;

/// The rate that a contender is to be offered under a setting; `None` in a closed
/// loop, which has none.
///
/// # Errors
/// One sentence that says why there is no rate to offer.
pub fn offered(run: &Run, contender: &str, setting: &Setting) -> Result<Option<f64>, String> {
    match setting.pace {
        Pace::Free => Ok(None),
        Pace::Equal { .. } | Pace::Fixed { .. } => {
            equal(run, setting).map(|offered| Some(offered.rate))
        }
        Pace::Own { percent } => {
            of_curve(run, contender, setting).map(|maximum| Some(share(maximum, percent)))
        }
    }
}

fn share(maximum: f64, percent: u32) -> f64 {
    maximum * f64::from(percent) / 100.0
}

/// A contender's answers a second in the closed loop of a setting.
///
/// # Errors
/// One sentence that says why none can be told.
pub fn maximum(run: &Run, contender: &str, setting: &Setting) -> Result<f64, String> {
    let closed = setting.with(Pace::Free);
    let trials: Vec<&Trial> = run
        .trials
        .iter()
        .filter(|trial| {
            let slot = &trial.slot;
            slot.contender == contender && slot.setting == closed && !slot.twin
        })
        .filter(|trial| trial.evidence.work.is_some())
        .collect();
    let usable = trials.iter().filter(|trial| worst(&trial.findings) != Verdict::Invalid);
    let rates: Vec<f64> =
        usable.filter_map(|trial| Some(trial.evidence.work.as_ref()?.rate)).collect();
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
pub fn of_curve(run: &Run, contender: &str, setting: &Setting) -> Result<f64, String> {
    let closed = setting.with(Pace::Free);
    let begun = made(run).find_map(|trial| {
        let slot = &trial.slot;
        let Pace::Own { percent } = slot.setting.pace else { return None };
        let is_of_it = slot.contender == contender && slot.setting.with(Pace::Free) == closed;
        let offered = is_of_it.then(|| trial.evidence.offered_rate())??;
        Some(offered * 100.0 / f64::from(percent))
    });
    begun.map_or_else(|| maximum(run, contender, setting), Ok)
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

/// The rate that all contenders are offered under a setting: a share of the lowest
/// maximum. Once a trial was made with it, it stays, whatever becomes known
/// afterwards, as when a run is resumed: else it would not be equal.
///
/// # Errors
/// One sentence that says why there is none.
pub fn equal(run: &Run, setting: &Setting) -> Result<Offered, String> {
    if let Pace::Fixed { per_s } = setting.pace {
        let rule = "This rate was chosen before the run.".into();
        return Ok(Offered { rate: f64::from(per_s), rule });
    }
    let percent = setting.pace.percent().unwrap_or(100);
    let lowest = run
        .contenders
        .iter()
        .filter_map(|contender| Some((maximum(run, &contender.name, setting).ok()?, contender)))
        .min_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(maximum, contender)| Offered {
            rate: share(maximum, percent),
            rule: rule(run, contender, setting, (maximum, percent)),
        });
    let begun = made(run)
        .filter(|trial| trial.slot.setting == *setting)
        .find_map(|trial| trial.evidence.offered_rate());
    match (begun, lowest) {
        (None, lowest) => lowest.ok_or_else(|| {
            "no contender has a maximum that is not invalid, so that there is no rate to offer"
                .into()
        }),
        (Some(rate), Some(lowest)) if (lowest.rate / rate - 1.0).abs() < 1e-6 => Ok(lowest),
        (Some(rate), _) => Ok(Offered {
            rate,
            rule: format!(
                "This is {percent} % of the lowest maximum in the closed loop, as it was known when \
                 the first trial at this rate was made. Other trials of the closed loop came later."
            ),
        }),
    }
}

/// How a share of a contender's maximum is told, with the word on the figure of the
/// closed loop that it is of, once that is known.
fn rule(
    run: &Run,
    contender: &Contender,
    setting: &Setting,
    (maximum, percent): (f64, u32),
) -> String {
    let closed = setting.with(Pace::Free);
    let row = run.row(&closed, &contender.name);
    let caveat = row.and_then(|row| row.verdict.caveat());
    let caveat = caveat.map(|caveat| format!(" ({caveat})")).unwrap_or_default();
    let is_bound = row.and_then(|row| row.figure(RATE)).is_some_and(|rate| rate.at_least);
    let bound = if is_bound { "at least " } else { "" };
    format!(
        "This is {percent} % of the lowest maximum in the closed loop. {}{caveat} has it, with \
         {bound}{maximum:.0} requests a second.",
        contender.title
    )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use result::finding::Finding;
    use result::plan::Cores;

    use super::*;
    use crate::checks::CLIENT_LIMIT;
    use crate::outcomes::conclude;
    use crate::samples::{contender, finding, invalid, run_of, suspect, trial};

    fn base() -> Setting {
        Setting::closed(100, Cores::One, true)
    }

    /// `a` and `b` with these rates in the closed loop, block by block.
    fn run(a: &[f64], b: &[f64]) -> Run {
        let mut trials = Vec::new();
        for (name, rates) in [("a", a), ("b", b)] {
            trials.extend((0..).zip(rates).map(|(block, &rate)| trial(name, block, &base(), rate)));
        }
        run_of(&[contender("a"), contender("b")], trials)
    }

    fn at(run: &Run, contender: &str, arrivals: Pace) -> Option<f64> {
        offered(run, contender, &base().with(arrivals)).unwrap()
    }

    #[test]
    fn a_share_is_of_the_contenders_own_median() {
        let run = run(&[100.0, 300.0, 200.0], &[50.0]);
        assert_eq!(at(&run, "a", Pace::Own { percent: 110 }), Some(220.0));
        assert_eq!(at(&run, "b", Pace::Own { percent: 10 }), Some(5.0));
        assert_eq!(at(&run, "a", Pace::Free), None);
    }

    #[test]
    fn invalid_trials_and_other_loads_have_no_part_in_a_maximum() {
        let mut run = run(&[100.0, 300.0, 900.0], &[50.0]);
        run.trials[2].findings.push(invalid("errors"));
        run.trials.push(trial("a", 3, &Setting::closed(30, Cores::One, true), 7.0));
        run.trials.push(trial("a", 3, &base().with(Pace::Own { percent: 10 }), 7.0));
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
        let why = |contender| offered(&run, contender, &base().with(Pace::Own { percent: 9 }));
        insta::assert_snapshot!(why("a").unwrap_err(), @"its maximum is not known: every trial of the closed loop is invalid, most by `client-limit`");
        insta::assert_snapshot!(why("b").unwrap_err(), @"its maximum is not known: no trial of the closed loop got as far as load");
        let equal = Pace::Equal { percent: 80 };
        insta::assert_snapshot!(offered(&run, "a", &base().with(equal)).unwrap_err(), @"no contender has a maximum that is not invalid, so that there is no rate to offer");
    }

    /// The rate that all are offered is a share of that figure.
    #[test]
    fn the_lowest_maximum_has_the_word_on_the_figure_that_it_is_of() {
        let load = base().with(Pace::Equal { percent: 80 });
        let told = |against: &[Finding]| {
            let mut run = run(&[1000.0; 6], &[500.0; 6]);
            // The noise has to be known, or no figure is checked in full.
            for (block, rate) in (0..).zip([1010.0, 990.0, 1010.0, 990.0, 1010.0, 990.0]) {
                run.trials.push(trial("a", block, &base(), rate));
                run.trials.last_mut().unwrap().slot.twin = true;
            }
            let of_b = run.trials.iter_mut().find(|it| it.slot.contender == "b").unwrap();
            of_b.findings.extend_from_slice(against);
            conclude(&mut run);
            equal(&run, &load).unwrap().rule
        };
        insta::assert_snapshot!(told(&[]), @"This is 80 % of the lowest maximum in the closed loop. B has it, with 500 requests a second.");
        insta::assert_snapshot!(told(&[finding("memory", Verdict::NotChecked)]), @"This is 80 % of the lowest maximum in the closed loop. B (not checked in full) has it, with 500 requests a second.");
        insta::assert_snapshot!(told(&[suspect("server-cores")]), @"This is 80 % of the lowest maximum in the closed loop. B (suspect) has it, with 500 requests a second.");
        insta::assert_snapshot!(told(&[invalid("errors")]), @"This is 80 % of the lowest maximum in the closed loop. B (invalid) has it, with 500 requests a second.");
        insta::assert_snapshot!(told(&[suspect(CLIENT_LIMIT.id)]), @"This is 80 % of the lowest maximum in the closed loop. B (suspect) has it, with at least 500 requests a second.");
    }

    #[test]
    fn an_equal_rate_stays_what_it_was_once_a_trial_was_made_with_it() {
        let mut run = run(&[100.0], &[200.0]);
        let load = base().with(Pace::Equal { percent: 50 });
        let before = equal(&run, &load).unwrap();
        assert_eq!(before.rate, 50.0);
        let mut first = trial("a", 0, &load, 50.0);
        first.evidence.clients[0].offered_rate = Some(50.0);
        run.trials.push(first);
        assert_eq!(equal(&run, &load).unwrap(), before);
        // The run was resumed, and more is known of `a`.
        run.trials.push(trial("a", 1, &base(), 60.0));
        let after = equal(&run, &load).unwrap();
        assert_eq!(after.rate, 50.0, "contenders would be offered different rates");
        assert_ne!(after.rule, before.rule);
    }

    #[test]
    fn a_curves_points_stay_shares_of_one_maximum() {
        let mut run = run(&[100.0, 300.0], &[50.0]);
        let mut first = trial("a", 0, &base().with(Pace::Own { percent: 10 }), 20.0);
        first.evidence.clients[0].offered_rate = at(&run, "a", first.slot.setting.pace);
        run.trials.push(first);
        run.trials[1].findings.push(invalid("errors"));
        assert_eq!(maximum(&run, "a", &base()), Ok(100.0), "judged anew after the first point");
        assert_eq!(of_curve(&run, "a", &base()), Ok(200.0));
        assert_eq!(at(&run, "a", Pace::Own { percent: 110 }), Some(220.0));
        assert_eq!(at(&run, "b", Pace::Own { percent: 10 }), Some(5.0), "a's is b's");
    }

    proptest! {
        #[test]
        fn every_contender_is_offered_the_same_and_none_more_than_its_share(
            a in prop::collection::vec(1.0..1e6_f64, 1..7),
            b in prop::collection::vec(1.0..1e6_f64, 1..7),
            percent in 1..100_u32,
        ) {
            let run = run(&a, &b);
            let of_a = at(&run, "a", Pace::Equal { percent }).unwrap();
            let of_b = at(&run, "b", Pace::Equal { percent }).unwrap();
            prop_assert_eq!(of_a, of_b);
            for contender in ["a", "b"] {
                let own = at(&run, contender, Pace::Own { percent }).unwrap();
                prop_assert!(of_a <= own * (1.0 + 1e-12));
            }
        }
    }
}
