//! Percentiles of a row, from the trials behind it.

use histogram::{median, text};
use result::Trial;
use result::evidence::{Percentiles, Work};
use result::plan::{Pace, Setting};

/// Samples that have to lie beyond a percentile: with fewer, a few single events
/// decide it. The lab withholds its percentiles by the same rule.
const BEYOND_MIN: f64 = 100.0;

const NS_A_US: f64 = 1000.0;

/// A time that may be only a lower bound.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Time {
    /// In µs.
    pub us: f64,
    /// Whether some request that waited at least this long never had its answer.
    pub at_least: bool,
}

/// The distribution that a reader means by latency, which [`begins`] as the setting has it.
pub fn read(work: &Work) -> &Percentiles {
    &work.response_us
}

/// What the times under a setting count from.
pub fn begins(setting: &Setting) -> &'static str {
    match (setting.pace, setting.kept()) {
        (Pace::Free, true) => "the send",
        // As a user waits for it, and as ab counted in 2009.
        (Pace::Free, false) => "the send and the handshake before it",
        _ => "the intended start",
    }
}

/// The median over the trials. `None` where one of them saw no load, or has too few
/// samples beyond it: a median over the others would be one of the better trials.
pub fn percentile(trials: &[&Trial], percentile: f64) -> Option<Time> {
    let mut at_least = false;
    let mut values = Vec::new();
    for trial in trials {
        let work = trial.evidence.work.as_ref()?;
        let found = read(work).at.iter().find(|at| (at.percentile - percentile).abs() < 1e-9)?;
        at_least |= found.at_least;
        values.push(found.value);
    }
    median(&values).map(|us| Time { us, at_least })
}

/// The largest over the trials.
pub fn largest(trials: &[&Trial]) -> Option<Time> {
    let seen = || works(trials).map(read);
    let us = seen().filter_map(|percentiles| percentiles.max).max_by(f64::total_cmp)?;
    Some(Time { us, at_least: seen().any(|percentiles| percentiles.censored > 0) })
}

/// How many nines a percentile has, which is how far to the right a plot has it:
/// 0 of none, 1 of 90 %, 2 of 99 %.
pub fn nines(percentile: f64) -> f64 {
    -(1.0 - percentile / 100.0).log10()
}

/// A point of the line that a row's percentiles make.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// How many [`nines`] its percentile has.
    pub nines: f64,
    /// The median over the trials.
    pub time: Time,
}

/// Why a row has no line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoLine {
    /// A trial has no histogram that can be read.
    NoHistogram,
    /// A trial ended before there was load.
    NoLoad,
    /// A trial has fewer samples than have to lie beyond a percentile.
    TooFew,
}

/// Where a line begins: the few fastest requests tell little, and would take half
/// of the plot's height.
pub const LINE_BEGINS: f64 = 10.0;

/// The line of a row's percentiles: ten points for each nine, and these
/// percentiles among them. It ends where a trial has too few samples beyond, by
/// the rule of [`percentile`].
pub fn line(trials: &[&Trial], among: &[f64]) -> Result<Vec<Point>, NoLine> {
    let mut histograms = Vec::new();
    for trial in trials {
        let percentiles = read(trial.evidence.work.as_ref().ok_or(NoLine::NoLoad)?);
        histograms
            .push((percentiles, text::decode(&percentiles.histogram).ok_or(NoLine::NoHistogram)?));
    }
    let fewest = histograms.iter().map(|(_, it)| it.len()).min().ok_or(NoLine::NoHistogram)?;
    let end = (fewest as f64 / BEYOND_MIN).log10();
    let begin = nines(LINE_BEGINS);
    if end <= begin {
        return Err(NoLine::TooFew);
    }
    let tenths = (1_u32..).map(|tenth| f64::from(tenth) / 10.0);
    let mut places: Vec<f64> = [begin]
        .into_iter()
        .chain(tenths)
        .take_while(|nines| *nines < end)
        .chain(among.iter().map(|percentile| nines(*percentile)).filter(|nines| *nines < end))
        .chain([end])
        .collect();
    places.sort_by(f64::total_cmp);
    places.dedup_by(|a, b| (*a - *b).abs() < 1e-6);
    let point = |nines: f64| {
        let share = 1.0 - 10_f64.powf(-nines);
        let values = histograms.iter().map(|(_, it)| it.value_at_quantile(share) as f64 / NS_A_US);
        let at_least = histograms.iter().any(|(it, _)| is_bound(it, share * 100.0));
        Some(Point { nines, time: Time { us: median(&values.collect::<Vec<_>>())?, at_least } })
    };
    Ok(places.into_iter().filter_map(point).collect())
}

/// Whether a percentile may be a lower bound only. The histogram has requests
/// without an answer among the others, so this rests on the percentiles that are
/// told: up to the last that is exact, all are.
fn is_bound(percentiles: &Percentiles, percentile: f64) -> bool {
    let is_exact =
        percentiles.at.iter().any(|known| known.percentile >= percentile - 1e-9 && !known.at_least);
    percentiles.censored > 0 && !is_exact
}

fn works<'a>(trials: &'a [&'a Trial]) -> impl Iterator<Item = &'a Work> {
    trials.iter().filter_map(|trial| trial.evidence.work.as_ref())
}

#[cfg(test)]
mod tests {
    use super::*;
    use result::evidence::{Evidence, Percentile};
    use result::plan::{Cores, Slot};

    fn trial(at: &[(f64, f64, bool)]) -> Trial {
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
        let work = Work { response_us: percentiles, ..Work::default() };
        let slot = Slot {
            number: 0,
            block: 0,
            contender: "go".into(),
            twin: false,
            setting: Setting::closed(1, Cores::One, true),
        };
        Trial {
            slot,
            started: String::new(),
            evidence: Evidence { work: Some(work), ..Evidence::default() },
            findings: vec![],
        }
    }

    #[test]
    fn one_trial_with_a_lower_bound_makes_the_median_one() {
        let trials = [trial(&[(99.0, 10.0, false)]), trial(&[(99.0, 30.0, true)])];
        let trials: Vec<_> = trials.iter().collect();
        assert_eq!(percentile(&trials, 99.0), Some(Time { us: 20.0, at_least: true }));
        assert_eq!(largest(&trials), Some(Time { us: 30.0, at_least: true }));
    }

    #[test]
    fn a_percentile_that_one_trial_withheld_is_withheld() {
        let trials =
            [trial(&[(50.0, 1.0, false), (99.0, 10.0, false)]), trial(&[(50.0, 1.0, false)])];
        let trials: Vec<_> = trials.iter().collect();
        assert_eq!(percentile(&trials, 99.0), None);
        assert!(percentile(&trials, 50.0).is_some());
    }

    #[test]
    fn without_load_in_one_trial_there_is_none() {
        let good = trial(&[(50.0, 1.0, false)]);
        let mut failed = good.clone();
        failed.evidence.work = None;
        assert_eq!(percentile(&[&good, &failed], 50.0), None);
    }

    #[test]
    fn what_was_waited_for_a_connection_is_part_of_the_time() {
        let mut closed = trial(&[(50.0, 1_300.0, false)]);
        closed.slot.setting.set(result::setting::KEPT, false);
        let work = closed.evidence.work.as_mut().unwrap();
        work.service_us = work.response_us.clone();
        work.service_us.at[0].value = 300.0;
        assert_eq!(percentile(&[&closed], 50.0).map(|time| time.us), Some(1_300.0));
        assert_eq!(begins(&closed.slot.setting), "the send and the handshake before it");
    }

    #[test]
    fn no_trial_gives_no_percentile() {
        assert_eq!(percentile(&[], 50.0), None);
        assert_eq!(largest(&[]), None);
    }
}
