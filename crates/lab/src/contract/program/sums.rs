//! The sums that a program tells, made again.

use load::Stop;
use payloads::Payloads;
use result::evidence::ContractStep;

use super::{GivenWork, Told, drawn, payloads_seed, step};
use crate::study::Sum;

/// Units a second that no program does, on however many processors: see the check `arithmetic`.
const RATE_MAX: f64 = 2e9;
/// Seconds that its first line may tell of where it came at once.
const FIRST_S: f64 = 1.0;
/// Units whose numbers are summed again: a few seconds of the lab's. Of a program that tells more,
/// lines are drawn by chance.
const UNITS_MAX: u64 = 1_000_000_000;
/// Units between two looks whether the run is to end.
const LOOK_EVERY: usize = 1_000_000;
/// How many ways a round over all records may change them: its payload, modulo this.
const WAYS: u64 = 16;

/// The id of the step.
pub(super) const SUM: &str = "sum";
const WRONG: &str = "it didn't do the work that it counts";

/// How numbers become a sum, modulo 2^32.
#[derive(Debug, Clone, Copy)]
struct Rule {
    /// What the sum is multiplied by before a number is added.
    factor: u32,
    asked: &'static str,
}

impl Rule {
    fn of(sum: Sum) -> Rule {
        let (factor, asked) = match sum {
            Sum::Payloads => (1, "sums the payloads of all that it has done"),
            Sum::PayloadsInOrder => {
                (31, "sums the payloads of all that it has done, in their order")
            }
            Sum::Records => {
                (31, "sums the numbers of all records that it has done, in their order")
            }
        };
        Rule { factor, asked }
    }

    fn add(self, sum: u32, number: u64) -> u32 {
        payloads::add(sum, self.factor, number)
    }
}

/// What a program did from one line to the next, or from its start to its first line.
#[derive(Debug, Clone, Copy)]
struct Stretch {
    from: (u64, u32),
    to: (u64, Option<u64>),
}

impl Stretch {
    fn units(&self) -> u64 {
        self.to.0 - self.from.0
    }
}

/// Each sum has to be that of as many units, with these numbers, as it says it has done.
pub(super) fn sum(of: Sum, told: &[Told], given: &GivenWork, stop: &Stop) -> ContractStep {
    let rule = Rule::of(of);
    let failed = |saw: String, wrong: &str| step(SUM, rule.asked, saw, false, wrong);
    let too_many = told.iter().find(|one| one.done as f64 > RATE_MAX * one.arrived_s.max(FIRST_S));
    if let Some(Told { done, arrived_s, .. }) = too_many {
        return failed(format!("{done} units after {arrived_s:.3} s"), "no program does so much");
    }
    let stretches = stretches(told);
    if let Some(most) = stretches.iter().map(Stretch::units).find(|&units| units > UNITS_MAX) {
        return failed(
            format!("{most} units between two lines"),
            "no program does so much at once",
        );
    }
    let (looked_at, units) = looked_at(&stretches, given.seed);
    for stretch in &looked_at {
        let Some(right) = made_again(of, rule, stretch, given, stop) else { break };
        let done = stretch.to.0;
        let saw = match stretch.to.1 {
            Some(sum) if sum == u64::from(right) => continue,
            Some(sum) => format!("{sum} after {done} units, and {right} are right"),
            None => format!("no sum after {done} units"),
        };
        return failed(saw, WRONG);
    }
    let saw = if looked_at.len() == stretches.len() {
        format!("right after {units} units")
    } else {
        let all = stretches.len();
        format!("right in {} of {all} lines, drawn by chance, for {units} units", looked_at.len())
    };
    step(SUM, rule.asked, saw, true, "")
}

fn stretches(told: &[Told]) -> Vec<Stretch> {
    let ends = told.iter().map(|one| (one.done, one.sum));
    // A sum that isn't below 2^32 is none, and is found where it ends a stretch.
    let begins = ends.clone().map(|(done, sum)| (done, sum.unwrap_or_default() as u32));
    let begins = [(0, 0)].into_iter().chain(begins);
    begins.zip(ends).map(|(from, to)| Stretch { from, to }).collect()
}

/// Those that are summed again, and their units: all, or as many as there is time for.
fn looked_at(stretches: &[Stretch], seed: u64) -> (Vec<Stretch>, u64) {
    let all = stretches.iter().map(Stretch::units).sum();
    if all <= UNITS_MAX {
        return (stretches.to_vec(), all);
    }
    let mut drawn_first = stretches.to_vec();
    fastrand::Rng::with_seed(drawn("lines", seed)).shuffle(&mut drawn_first);
    let mut units = 0;
    let fits = |stretch: &Stretch| {
        let fits = units + stretch.units() <= UNITS_MAX;
        units += if fits { stretch.units() } else { 0 };
        fits
    };
    let looked_at = drawn_first.into_iter().filter(fits).collect();
    (looked_at, units)
}

/// The sum at the end of a stretch; `None` if somebody asked for the end meanwhile.
fn made_again(
    of: Sum,
    rule: Rule,
    stretch: &Stretch,
    given: &GivenWork,
    stop: &Stop,
) -> Option<u32> {
    let (before, sum) = stretch.from;
    let units = stretch.units() as usize;
    let payloads = Payloads::new(payloads_seed(given.seed));
    match (of, given.records) {
        (Sum::Payloads | Sum::PayloadsInOrder, _) => {
            let mut payloads = payloads.skip_ahead(before);
            in_parts(sum, units, stop, |sum, some| payloads.add_to(sum, rule.factor, some))
        }
        (Sum::Records, []) => Some(0),
        (Sum::Records, records) => {
            let round = before / records.len() as u64;
            let first = (before % records.len() as u64) as usize;
            let rounds = payloads.skip_ahead(round).map(|payload| payload % WAYS);
            let numbers = rounds.flat_map(|way| records.iter().map(move |number| number + way));
            let mut numbers = numbers.skip(first);
            in_parts(sum, units, stop, |sum, some| {
                numbers.by_ref().take(some).fold(sum, |sum, number| rule.add(sum, number))
            })
        }
    }
}

/// A sum to which so many units are added, some at a time.
fn in_parts(
    mut sum: u32,
    mut units: usize,
    stop: &Stop,
    mut with_some: impl FnMut(u32, usize) -> u32,
) -> Option<u32> {
    while units > 0 {
        if stop.asked() {
            return None;
        }
        let some = units.min(LOOK_EVERY);
        sum = with_some(sum, some);
        units -= some;
    }
    Some(sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEED: u64 = 7;

    fn payloads() -> Payloads {
        Payloads::new(payloads_seed(SEED))
    }

    /// What an honest program tells, every half second: so many units and their sum.
    fn honest(of: Sum, units: u64, numbers: impl Iterator<Item = u64>) -> Vec<Told> {
        let (mut sum, mut numbers) = (0, numbers);
        let lines = (1..=6_u32).map(|line| {
            let some = numbers.by_ref().take(units as usize);
            sum = some.fold(sum, |sum, number| Rule::of(of).add(sum, number));
            let (at, done) = (f64::from(line) / 2.0, u64::from(line) * units);
            Told { own_s: at, arrived_s: at, done, sum: Some(sum.into()) }
        });
        lines.collect()
    }

    fn of_payloads(of: Sum) -> Vec<Told> {
        honest(of, 100, payloads())
    }

    fn looked(of: Sum, records: &[u64], told: &[Told]) -> ContractStep {
        sum(of, told, &GivenWork { seed: SEED, records }, &Stop::default())
    }

    fn is_wrong(of: Sum, told: &[Told]) -> bool {
        looked(of, &[], told).wrong.is_some()
    }

    #[test]
    fn work_that_was_counted_twice_left_out_or_never_summed_is_found() {
        for of in [Sum::Payloads, Sum::PayloadsInOrder] {
            let with = |change: fn(&mut Told)| {
                let mut told = of_payloads(of);
                told.iter_mut().for_each(change);
                is_wrong(of, &told)
            };
            assert!(!with(|_| {}), "an honest program");
            assert!(with(|told| told.done *= 2), "counted twice");
            assert!(with(|told| told.done -= 1), "one more was summed than counted");
            assert!(with(|told| told.sum = Some(0)), "nothing was summed");
            assert!(with(|told| told.sum = None));
            assert!(
                with(|told| told.sum = told.sum.map(|sum| sum + (1 << 32))),
                "no sum modulo 2^32"
            );
        }
    }

    /// Whoever adds up what came in any order doesn't read messages one after the other.
    #[test]
    fn payloads_out_of_order_are_found_where_order_counts() {
        let swapped = |of| {
            let mut numbers: Vec<u64> = payloads().take(600).collect();
            numbers.swap(41, 42);
            is_wrong(of, &honest(of, 100, numbers.into_iter()))
        };
        assert!(swapped(Sum::PayloadsInOrder));
        assert!(!swapped(Sum::Payloads), "of many who read at once there is no order");
    }

    fn rounds(records: &[u64]) -> impl Iterator<Item = u64> {
        payloads().flat_map(move |way| records.iter().map(move |number| number + way % WAYS))
    }

    #[test]
    fn records_are_summed_round_and_round_and_each_round_changes_them() {
        let records = [5, u64::from(u32::MAX), 7];
        let told = honest(Sum::Records, 100, rounds(&records));
        assert_eq!(looked(Sum::Records, &records, &told).wrong, None);
        assert!(looked(Sum::Records, &[], &told).wrong.is_some(), "nothing was given");
        let kept = honest(Sum::Records, 100, records.iter().copied().cycle());
        assert!(looked(Sum::Records, &records, &kept).wrong.is_some(), "one round, for ever");
        let one = honest(Sum::Records, 100, rounds(&records[..1]));
        assert!(looked(Sum::Records, &records, &one).wrong.is_some(), "one record, for ever");
    }

    /// Else the lab would add up numbers for years.
    #[test]
    fn a_count_that_nobody_reaches_is_not_added_up() {
        for done in [u64::MAX, 1 << 60, 100_000_000_000] {
            let told = |at: f64| Told { own_s: at, arrived_s: at, done, sum: Some(0) };
            assert!(is_wrong(Sum::Payloads, &[told(0.0), told(0.5)]), "{done}");
        }
        let at_once = Told { own_s: 1.0, arrived_s: 1.0, done: UNITS_MAX + 1, sum: Some(0) };
        let step = looked(Sum::Payloads, &[], &[at_once]);
        assert_eq!(step.wrong.as_deref(), Some("no program does so much at once"));
    }

    /// A minute of sums in each trial would be the lab's, and nobody could end it.
    #[test]
    fn of_very_many_units_some_lines_are_summed_again_and_drawn_by_chance() {
        let told: Vec<Stretch> = (0..12)
            .map(|line| {
                let at = |line: u64| line * UNITS_MAX / 4;
                Stretch { from: (at(line), 0), to: (at(line + 1), Some(0)) }
            })
            .collect();
        let (some, units) = looked_at(&told, SEED);
        assert_eq!((some.len(), units), (4, UNITS_MAX));
        let first = |seed| looked_at(&told, seed).0[0].from.0;
        assert!((0..20).any(|seed| first(seed) != first(SEED)), "others in each trial");
        assert_eq!(looked_at(&told[..4], SEED).0.len(), 4, "all, where there is time");
    }

    #[test]
    fn who_asks_for_the_end_waits_for_no_sum() {
        let stop = Stop::default();
        stop.now();
        let told = [Told { own_s: 1.0, arrived_s: 1.0, done: UNITS_MAX, sum: Some(0) }];
        let step = sum(Sum::Payloads, &told, &GivenWork { seed: SEED, records: &[] }, &stop);
        assert_eq!(step.wrong, None, "the trial tells nothing then");
    }
}
