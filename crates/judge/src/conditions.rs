//! Conditions on the figures of contenders, as *is its rate less than 0.95 of the other's?*
//! They are decided as ranks and ties are: beyond chance, and beyond what two identical entries
//! differ by.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use histogram::median;
use histogram::reading::{Statistic, read_exact};
use result::figure::{CLIENT_CPU_US, CPU_US, RATE};
use result::finding::{Finding, Verdict};
use result::outcome::{Outcome, Row};
use result::{Run, Trial};

use crate::checks;
use crate::figures::{self, Value};
use crate::statistics::{log_ratios, median_interval, side, smallest_seen};

/// A figure that has a value in each trial.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Figure {
    /// Requests a second with a good answer.
    Rate,
    /// The contender's CPU time a request, in µs.
    CpuTime,
    /// The load generator's CPU time a request, in µs.
    ClientCpuTime,
    /// A percentile (above 0, below 100) of response time, in µs.
    Percentile(f64),
}

/// What is counted over all trials of a contender.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Count {
    /// Requests that ended in an error.
    Errors,
    /// Their share of all requests, from 0 to 1.
    ErrorShare,
    /// The share of all requests that had a good answer, from 0 to 1.
    GoodShare,
}

/// A figure of one contender.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Of<'a> {
    /// The contender's name.
    pub contender: &'a str,
    /// The figure.
    pub figure: Figure,
}

/// What a figure is held against.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Against<'a> {
    /// A number in the figure's unit.
    Number(f64),
    /// So many times another figure.
    Times(f64, Of<'a>),
}

/// How a figure lies to what it is held against.
#[derive(Debug, Clone, PartialEq)]
pub struct Compared {
    /// Whether it is more or less; `None` where that can't be told.
    pub side: Option<Ordering>,
    /// The median over blocks of the figure itself where it is held against a number, else of
    /// its ratio to the other figure.
    pub median: f64,
    /// The 95 % interval of that; `None` with too few blocks.
    pub interval: Option<(f64, f64)>,
    /// The blocks that it rests on.
    pub blocks: usize,
    /// The ratio, above 1, up to which two identical entries differed, or why that isn't known.
    pub noise_floor: Result<f64, &'static str>,
    /// The smallest change in the direction that was asked for that would have been told: a
    /// ratio, below 1 for less and above 1 for more. `None` where none would have been.
    pub smallest_change: Option<f64>,
    /// Whether a side can't be told because a figure is only a lower bound.
    pub is_bound: bool,
    /// Whether a side can't be told because a figure is 0 in a block, which gives no ratio: the
    /// blocks that are left would be chosen by their outcome.
    pub has_zero: bool,
}

/// Holds a figure against another one or a number, in a run of one setting, for whoever asks
/// whether it is more or less.
///
/// # Errors
/// Why a figure isn't there or doesn't stand, in a sentence.
pub fn compare(run: &Run, of: Of, against: Against, towards: Ordering) -> Result<Compared, String> {
    let left = Blocks::of(run, of)?;
    let (pairs, right_is_bound, other) = match against {
        Against::Number(number) => {
            (left.values.values().map(|value| (*value, number)).collect(), false, None)
        }
        Against::Times(factor, other) => {
            let right = Blocks::of(run, other)?;
            (left.paired_with(&right, factor), right.at_least, Some(other))
        }
    };
    let pairs: Vec<(f64, f64)> = pairs;
    let ratios = log_ratios(&pairs);
    let floors = [Some(of), other].into_iter().flatten().map(|it| floor(run, it));
    let noise_floor = floors.reduce(|a, b| Ok(a?.max(b?))).expect("there is a left side");
    let known_floor = noise_floor.ok();
    let has_zero = ratios.len() < pairs.len();
    let told = side(&ratios, known_floor).filter(|_| !has_zero);
    // A bound may be larger, and its ratio with it.
    let is_open = match told {
        Some(Ordering::Greater) => right_is_bound,
        Some(_) => left.at_least,
        None => false,
    };
    // As the reader wrote it: in the unit of the number, or as a ratio to the other figure.
    let scale = match against {
        Against::Number(number) => number,
        Against::Times(factor, _) => factor,
    };
    let shown: Vec<f64> = pairs.iter().map(|(left, right)| left / right * scale).collect();
    Ok(Compared {
        side: told.filter(|_| !is_open),
        median: median(&shown).ok_or("the two have no block in common")?,
        interval: median_interval(&shown),
        blocks: ratios.len(),
        noise_floor,
        smallest_change: smallest_seen(&ratios, known_floor, towards)
            .filter(|_| !has_zero)
            .map(f64::exp),
        is_bound: is_open,
        has_zero,
    })
}

/// The least and the most that a count over all trials of a contender may be, also over those in
/// which it was the second of an A/A pair: an error there is an error of it. They differ where
/// requests have no answer.
///
/// # Errors
/// Why it isn't known, in a sentence.
pub fn count(run: &Run, contender: &str, count: Count) -> Result<(f64, f64), String> {
    let (_, row) = row(run, contender)?;
    let trials = run.trials.iter().filter(|it| it.slot.contender == row.contender);
    let (mut errors, mut good, mut open, mut scheduled) = (0, 0, 0, 0);
    for trial in trials {
        let work = trial.evidence.work.iter();
        errors += work.flat_map(|it| &it.errors).map(|kind| kind.count).sum::<u64>();
        for client in &trial.evidence.clients {
            good += client.good;
            open += client.shed + client.in_flight;
            scheduled += client.scheduled;
        }
    }
    if scheduled == 0 {
        return Err(format!("{contender} was asked for nothing"));
    }
    let share = |requests: u64| requests as f64 / scheduled as f64;
    Ok(match count {
        Count::Errors => (errors as f64, (errors + open) as f64),
        Count::ErrorShare => (share(errors), share(errors + open)),
        Count::GoodShare => (share(good), share(good)),
    })
}

/// The worst that checks say of a contender's figures.
///
/// # Errors
/// Where there are no figures.
pub fn verdict(run: &Run, contender: &str) -> Result<Verdict, String> {
    row(run, contender).map(|(_, row)| row.verdict)
}

/// The checks that speak against a contender's figures.
///
/// # Errors
/// Where there are no figures.
pub fn doubts<'a>(run: &'a Run, contender: &str) -> Result<Vec<&'a Finding>, String> {
    let (_, row) = row(run, contender)?;
    Ok(row.findings.iter().filter(|it| it.verdict >= Verdict::Suspect).collect())
}

/// A contender's row and the setting that it stands under.
fn row<'a>(run: &'a Run, contender: &str) -> Result<(&'a Outcome, &'a Row), String> {
    let of_outcome = |outcome: &'a Outcome| {
        let row = outcome.rows.iter().find(|row| row.contender == contender)?;
        Some((outcome, row))
    };
    let found = run.outcomes.iter().find_map(of_outcome);
    found.ok_or_else(|| format!("{contender} has no figures"))
}

/// A figure of a contender by block.
struct Blocks {
    values: BTreeMap<u32, f64>,
    /// Whether it is only known to be no less.
    at_least: bool,
}

impl Blocks {
    /// Those of a figure that stands and that every block has.
    fn of(run: &Run, of: Of) -> Result<Blocks, String> {
        let (outcome, row) = row(run, of.contender)?;
        if row.verdict == Verdict::Invalid {
            let check = row.findings.first().map_or("a check", |it| it.check.as_str());
            return Err(format!("the figures of {} are invalid by `{check}`", of.contender));
        }
        let is_own = |trial: &&Trial| {
            trial.slot.contender == of.contender
                && !trial.slot.twin
                && trial.slot.setting == outcome.setting
        };
        let known = of.figure.id().and_then(|id| row.figure(id));
        let mut blocks =
            Blocks { values: BTreeMap::new(), at_least: known.is_some_and(|it| it.at_least) };
        for trial in run.trials.iter().filter(is_own) {
            let value = of
                .figure
                .value(trial)
                .ok_or_else(|| format!("{} {}", of.contender, of.figure.why_it_is_missing()))?;
            blocks.values.entry(trial.slot.block).or_insert(value.value);
            blocks.at_least |= value.at_least;
        }
        Ok(blocks)
    }

    /// With so many times the other's figure of the same block, where both have it.
    fn paired_with(&self, other: &Blocks, factor: f64) -> Vec<(f64, f64)> {
        let pair = |(block, value): (&u32, &f64)| Some((*value, other.values.get(block)? * factor));
        self.values.iter().filter_map(pair).collect()
    }
}

/// Up to which ratio two identical entries differ in a figure.
fn floor(run: &Run, of: Of) -> Result<f64, &'static str> {
    let setting = run.outcomes.first().map(|outcome| &outcome.setting);
    let trials: Vec<&Trial> =
        run.trials.iter().filter(|it| Some(&it.slot.setting) == setting).collect();
    let classes = run.classes(of.contender);
    let is_of_its_class = |name: &str| run.classes(name) == classes;
    checks::noise_floor(&trials, is_of_its_class, |trial| Some(of.figure.value(trial)?.value))
}

impl Figure {
    /// What a row has it under, if it has.
    fn id(self) -> Option<&'static str> {
        match self {
            Figure::Rate => Some(RATE),
            Figure::CpuTime => Some(CPU_US),
            Figure::ClientCpuTime => Some(CLIENT_CPU_US),
            Figure::Percentile(_) => None,
        }
    }

    /// Its value in a trial; `None` where the trial doesn't have it.
    fn value(self, trial: &Trial) -> Option<Value> {
        match self {
            Figure::Percentile(percentile) => of_percentile(trial, percentile),
            Figure::Rate | Figure::CpuTime | Figure::ClientCpuTime => {
                figures::value(trial, self.id()?)
            }
        }
    }

    /// Behind whose it is.
    fn why_it_is_missing(self) -> String {
        match self {
            Figure::Percentile(percentile) => format!(
                "has no p{percentile} in every block: fewer than 100 answers lie beyond it; \
                 measure for longer (--seconds)"
            ),
            Figure::Rate => "has no rate in every block".into(),
            Figure::CpuTime => "has no CPU time in every block".into(),
            Figure::ClientCpuTime => "has no CPU time of the client in every block".into(),
        }
    }
}

/// A percentile of response time in a trial, as far as enough samples lie beyond it.
fn of_percentile(trial: &Trial, percentile: f64) -> Option<Value> {
    let times = &trial.evidence.work.as_ref()?.response_us;
    if let Some(one) = times.at.iter().find(|one| one.percentile == percentile) {
        return Some(Value { value: one.value, at_least: one.at_least });
    }
    let all = histogram::text::decode(&times.histogram)?;
    let value = read_exact(&all, Statistic::Percentile(percentile)).value()?;
    Some(Value { value: value.nanoseconds as f64 / 1e3, at_least: times.censored > 0 })
}

#[cfg(test)]
mod tests {
    use result::plan::{Cores, Setting};

    use super::*;
    use crate::outcomes::conclude;
    use crate::samples::{contender, invalid, run_of, suspect, trial};

    const STEADY: [f64; 6] = [100.0, 101.0, 99.0, 100.0, 102.0, 98.0];

    /// A run of `old`, which has a twin that differs by so many per cent, and of `new`, by their
    /// rates in each block.
    fn run(old: &[f64], new: &[f64], noise: f64) -> Run {
        let setting = Setting::closed(64, Cores::One, true);
        let twin: Vec<f64> = old.iter().map(|rate| rate * (1.0 + noise / 100.0)).collect();
        let mut trials = Vec::new();
        for (name, is_twin, rates) in
            [("old", false, old), ("new", false, new), ("old", true, &twin[..])]
        {
            for (block, rate) in (0..).zip(rates) {
                let mut one = trial(name, block, &setting, *rate);
                one.slot.twin = is_twin;
                trials.push(one);
            }
        }
        let mut run = run_of(&["old", "new"].map(contender), trials);
        conclude(&mut run);
        run
    }

    fn of(contender: &str) -> Of<'_> {
        Of { contender, figure: Figure::Rate }
    }

    /// Whether the new one's rate is less than so many times the old one's.
    fn is_less(run: &Run, factor: f64) -> Compared {
        compare(run, of("new"), Against::Times(factor, of("old")), Ordering::Less).unwrap()
    }

    fn new(times: f64) -> Vec<f64> {
        STEADY.map(|rate| rate * times).into()
    }

    #[test]
    fn what_lies_beyond_chance_and_noise_is_told_and_nothing_else() {
        let side = |times, factor, noise| is_less(&run(&STEADY, &new(times), noise), factor).side;
        assert_eq!(side(0.8, 0.9, 1.0), Some(Ordering::Less));
        assert_eq!(side(1.0, 0.9, 1.0), Some(Ordering::Greater), "it doesn't hold, by evidence");
        assert_eq!(side(0.8, 0.9, 15.0), None, "identical entries differ by more than that");
        assert_eq!(side(0.9, 0.9, 1.0), None, "it lies on the threshold");
        let noisy = [70.0, 110.0, 72.0, 111.0, 90.0, 89.0];
        assert_eq!(is_less(&run(&STEADY, &noisy, 1.0), 0.9).side, None, "chance decides");
    }

    /// The order of a table and a condition on it speak of the same figures.
    #[test]
    fn whom_a_condition_calls_less_no_rank_calls_equal() {
        let mut rng = fastrand::Rng::with_seed(46);
        let (mut told, mut tied) = (0, 0);
        for _ in 0..300 {
            let mut rates = |times: f64| -> Vec<f64> {
                (0..6).map(|_| times * (95.0 + 10.0 * rng.f64())).collect()
            };
            let (old, new) = (rates(1.0), rates(0.94));
            let run = run(&old, &new, 3.0);
            let rank = |name: &str| {
                let rows = &run.outcomes[0].rows;
                rows.iter().find(|row| row.contender == name).unwrap().rank(RATE)
            };
            let is_behind = rank("new") == Some(2);
            assert_eq!(is_less(&run, 1.0).side == Some(Ordering::Less), is_behind);
            told += u32::from(is_behind);
            tied += u32::from(rank("new") == rank("old"));
        }
        assert!(told > 20 && tied > 20, "{told} parted, {tied} tied: one of them isn't tested");
    }

    #[test]
    fn blocks_are_paired_by_their_number() {
        let mut run = run(&STEADY, &new(0.8), 1.0);
        run.trials.retain(|it| it.slot.contender != "old" || it.slot.block != 0);
        run.trials.retain(|it| it.slot.contender != "new" || it.slot.block != 5);
        let compared = is_less(&run, 1.0);
        assert_eq!(compared.blocks, 4);
        assert!((compared.median - 0.8).abs() < 1e-9, "{compared:?}");
    }

    #[test]
    fn the_smallest_change_is_told_and_is_no_less_than_the_noise() {
        let smallest = |noise, factor| {
            is_less(&run(&STEADY, &new(0.8), noise), factor).smallest_change.unwrap()
        };
        assert!((smallest(5.0, 1.0) - 1.0 / 1.05).abs() < 1e-3, "{}", smallest(5.0, 1.0));
        assert!(smallest(1.0, 0.9) > smallest(5.0, 0.9));
        let short = run(&STEADY[..5], &new(0.8)[..5], 1.0);
        let compared = is_less(&short, 1.0);
        assert_eq!((compared.side, compared.smallest_change), (None, None));
        assert!(compared.noise_floor.is_err(), "five blocks tell no noise");
    }

    #[test]
    fn a_number_is_decided_by_the_same_rule() {
        let run = run(&STEADY, &new(0.8), 2.0);
        let against =
            |number| compare(&run, of("new"), Against::Number(number), Ordering::Less).unwrap();
        assert_eq!(against(90.0).side, Some(Ordering::Less));
        assert_eq!(against(70.0).side, Some(Ordering::Greater));
        assert_eq!(against(80.5).side, None);
        let (low, high) = against(90.0).interval.unwrap();
        assert!(low < 80.0 && 80.0 < high && high < 82.0, "{low} to {high}");
    }

    #[test]
    fn what_isnt_there_or_invalid_has_its_reason() {
        let mut run = run(&STEADY, &new(0.8), 1.0);
        let why = |run: &Run, contender, figure| {
            let of = Of { contender, figure };
            compare(run, of, Against::Number(1.0), Ordering::Less).unwrap_err()
        };
        assert_eq!(why(&run, "nobody", Figure::Rate), "nobody has no figures");
        let withheld = why(&run, "new", Figure::Percentile(99.9));
        assert!(withheld.contains("new has no p99.9 in every block"), "{withheld}");
        run.trials[6].findings.push(invalid("errors"));
        conclude(&mut run);
        let refused = why(&run, "new", Figure::Rate);
        assert!(refused.contains("invalid by `errors`"), "{refused}");
    }

    #[test]
    fn a_lower_bound_is_never_told_to_be_less() {
        let mut run = run(&STEADY, &new(0.8), 1.0);
        run.trials[6].findings.push(suspect("client-limit"));
        conclude(&mut run);
        let compared = is_less(&run, 1.0);
        assert_eq!((compared.side, compared.is_bound), (None, true), "it may be the faster one");
        let turned =
            compare(&run, of("old"), Against::Times(1.0, of("new")), Ordering::Greater).unwrap();
        assert_eq!((turned.side, turned.is_bound), (None, true));
        assert_eq!(doubts(&run, "new").unwrap()[0].check, "client-limit");
    }

    /// Else a gate passes on the blocks that are left, and those were chosen by their outcome.
    #[test]
    fn a_block_that_gives_no_ratio_leaves_a_condition_untold() {
        let cpu = |contender| Of { contender, figure: Figure::CpuTime };
        let told = |of_first: f64| {
            let mut run = run(&[100.0; 7], &[80.0; 7], 1.0);
            let first = run.trials.iter_mut().find(|it| it.slot.contender == "new").unwrap();
            first.evidence.server_cpu_s = first.evidence.server_cpu_s.map(|it| it * of_first);
            compare(&run, cpu("new"), Against::Times(0.9, cpu("old")), Ordering::Greater).unwrap()
        };
        let whole = told(1.0);
        assert_eq!((whole.side, whole.has_zero), (Some(Ordering::Greater), false));
        let zero = told(0.0);
        assert_eq!((zero.side, zero.smallest_change, zero.has_zero), (None, None, true));
    }

    #[test]
    fn errors_are_counted_over_all_trials() {
        let mut run = run(&STEADY, &new(0.8), 1.0);
        for trial in run.trials.iter_mut().filter(|it| it.slot.contender == "new") {
            trial.evidence.clients[0].scheduled = 100;
            trial.evidence.clients[0].good = 97;
            trial.evidence.clients[0].in_flight = 1;
            let errors = vec![result::evidence::ErrorKind { count: 2, ..Default::default() }];
            trial.evidence.work.as_mut().unwrap().errors = errors;
        }
        let of = |what| count(&run, "new", what).unwrap();
        assert_eq!(of(Count::Errors), (12.0, 18.0), "one without an answer may have become one");
        assert_eq!(of(Count::ErrorShare), (0.02, 0.03));
        assert_eq!(of(Count::GoodShare), (0.97, 0.97));
        assert!(count(&run, "old", Count::Errors).unwrap_err().contains("asked for nothing"));
        let twin = run.trials.iter_mut().find(|it| it.slot.twin).unwrap();
        twin.evidence.clients[0].scheduled = 100;
        let errors = vec![result::evidence::ErrorKind { count: 5, ..Default::default() }];
        twin.evidence.work.as_mut().unwrap().errors = errors;
        let of_old = count(&run, "old", Count::Errors).unwrap();
        assert_eq!(of_old, (5.0, 5.0), "the second of the pair is the same server");
    }
}
