//! Shares of each contender's own maximum: how response times grow with the
//! rate, up to the maximum and beyond.

use std::collections::BTreeMap;

use result::finding::worst;
use result::outcome::{Curve, CurveLine, CurvePoint};
use result::plan::{Pace, PaceKind, Setting};
use result::{Run, Trial};

use super::group::Group;
use crate::checks;
use crate::rates;
use histogram::median;

/// One curve a closed loop that shares of its maxima were planned of, as far as it was
/// begun.
pub(super) fn outcomes(run: &Run) -> Vec<Curve> {
    let mut shares: BTreeMap<Setting, Vec<u32>> = BTreeMap::new();
    for slot in &run.plan.slots {
        if let Pace::Own { percent } = slot.setting.pace {
            let percents = shares.entry(slot.setting.with(Pace::Free)).or_default();
            if let Err(place) = percents.binary_search(&percent) {
                percents.insert(place, percent);
            }
        }
    }
    let groups: Vec<Group> = super::by_setting(run, PaceKind::Own)
        .into_iter()
        .map(|(setting, trials)| Group::new(run, setting, trials))
        .collect();
    shares
        .into_iter()
        .map(|(setting, percents)| {
            let lines = planned(run, &setting)
                .map(|contender| line(run, &groups, &setting, &percents, contender))
                .collect();
            Curve { setting, lines }
        })
        // A run that ended in the closed loop has no curve yet.
        .filter(|curve| curve.lines.iter().any(tells_something))
        .collect()
}

fn tells_something(line: &CurveLine) -> bool {
    !line.points.is_empty() || line.left_out.is_some()
}

/// The contenders that a curve was planned for.
fn planned<'a>(run: &'a Run, setting: &'a Setting) -> impl Iterator<Item = &'a str> {
    let has_slot = |name: &str| {
        run.plan.slots.iter().any(|slot| {
            slot.contender == name
                && slot.setting.pace.kind() == PaceKind::Own
                && slot.setting.with(Pace::Free) == *setting
        })
    };
    run.contenders.iter().map(|it| it.name.as_str()).filter(move |name| has_slot(name))
}

fn line(
    run: &Run,
    groups: &[Group],
    setting: &Setting,
    percents: &[u32],
    contender: &str,
) -> CurveLine {
    let points = percents.iter().filter_map(|&percent| {
        let setting = setting.with(Pace::Own { percent });
        let group = groups.iter().find(|group| *group.setting == setting)?;
        point(group, percent, contender)
    });
    let points: Vec<CurvePoint> = points.collect();
    let is_of_curve =
        |of: &Setting| of.pace.kind() == PaceKind::Own && of.with(Pace::Free) == *setting;
    let left_out =
        run.left_out.iter().find(|it| it.contender == contender && is_of_curve(&it.setting));
    // Who was asked and failed has no point either.
    let failed = || {
        let own = |it: &&Trial| it.slot.contender == contender && is_of_curve(&it.slot.setting);
        run.trials.iter().filter(own).find_map(|it| it.evidence.process.failure.clone())
    };
    let left_out = left_out.map(|it| it.reason.clone());
    CurveLine {
        contender: contender.into(),
        maximum_rate: rates::of_curve(run, contender, setting).ok(),
        left_out: left_out.or_else(|| failed().filter(|_| points.is_empty())),
        points,
    }
}

/// One point; `None` where no trial of it got as far as work.
fn point(group: &Group, percent: u32, contender: &str) -> Option<CurvePoint> {
    let trials = group.of(contender, false);
    let offered: Vec<f64> =
        trials.iter().filter_map(|trial| trial.evidence.offered_rate()).collect();
    let findings = checks::over_blocks(&trials);
    Some(CurvePoint {
        percent,
        offered_rate: median(&offered)?,
        figures: group.figures(contender, &findings)?,
        verdict: worst(&findings),
        findings,
    })
}

#[cfg(test)]
mod tests {
    use result::LeftOut;
    use result::plan::{Cores, Slot};

    use result::figure::{P99_US, RATE};

    use super::*;
    use crate::samples::{contender, run_of, trial};

    fn base() -> Setting {
        Setting::closed(100, Cores::One, true)
    }

    fn share(percent: u32) -> Setting {
        base().with(Pace::Own { percent })
    }

    /// A curve of two shares was planned for `a` and `b`; `a` was measured in two
    /// blocks, `b` had no maximum.
    fn run() -> Run {
        let mut trials: Vec<_> = (0..6).map(|block| trial("a", block, &base(), 1000.0)).collect();
        for (block, rate_at_110) in [(0, 990.0), (1, 970.0)] {
            for (percent, rate) in [(110, rate_at_110), (50, 500.0)] {
                let mut trial = trial("a", block, &share(percent), rate);
                let offered = f64::from(percent) * 10.0;
                trial.evidence.clients[0].offered_rate = Some(offered);
                trials.push(trial);
            }
        }
        let mut run = run_of(&[contender("a"), contender("b")], trials);
        for (number, (name, percent)) in (0..).zip([("a", 110), ("a", 50), ("b", 110), ("b", 50)]) {
            let (contender, setting) = (name.into(), share(percent));
            run.plan.slots.push(Slot { number, block: 0, contender, twin: false, setting });
        }
        for percent in [110, 50] {
            let (contender, setting) = ("b".into(), share(percent));
            run.left_out.push(LeftOut { contender, setting, reason: "no maximum".into() });
        }
        run
    }

    #[test]
    fn a_line_has_its_points_in_rising_order_with_what_was_offered_and_what_came() {
        let curves = outcomes(&run());
        assert_eq!((curves.len(), &curves[0].setting), (1, &base()));
        let line = &curves[0].lines[0];
        assert_eq!(
            (&*line.contender, line.maximum_rate, &line.left_out),
            ("a", Some(1000.0), &None)
        );
        let points: Vec<_> = line
            .points
            .iter()
            .map(|point| (point.percent, point.offered_rate, point.figures[RATE].median))
            .collect();
        assert_eq!(points, [(50, 500.0, 500.0), (110, 1100.0, 980.0)]);
    }

    #[test]
    fn a_contender_without_a_maximum_keeps_its_line_with_the_reason() {
        let line = &outcomes(&run())[0].lines[1];
        assert_eq!(line.contender, "b");
        assert_eq!(line.left_out.as_deref(), Some("no maximum"));
        assert!(line.points.is_empty() && line.maximum_rate.is_none());
    }

    #[test]
    fn a_contender_that_failed_at_every_share_keeps_its_line_with_the_reason() {
        let mut run = run();
        run.left_out.clear();
        let mut failed = trial("b", 0, &share(50), 1.0);
        failed.evidence.work = None;
        failed.evidence.process.failure = Some("it ended with code 1".into());
        run.trials.push(failed);
        let line = &outcomes(&run)[0].lines[1];
        assert_eq!(line.left_out.as_deref(), Some("it ended with code 1"));
        assert!(line.points.is_empty());
    }

    #[test]
    fn a_curve_that_was_not_begun_is_none() {
        let mut run = run();
        run.left_out.clear();
        run.trials.retain(|trial| trial.slot.setting == base());
        assert!(outcomes(&run).is_empty());
    }

    #[test]
    fn times_of_an_open_loop_count_from_when_a_request_was_due() {
        let mut run = run();
        for work in run.trials.iter_mut().filter_map(|trial| trial.evidence.work.as_mut()) {
            work.service_us.at = work.response_us.at.clone();
            work.response_us.at[0].value *= 3.0;
        }
        let point = &outcomes(&run)[0].lines[0].points[0];
        assert_eq!(point.figures[P99_US].median, 3.0 * 1e6 / 500.0);
    }
}
