//! What a contender that drives itself has to keep: its own account of its work.
//!
//! It is held against the lab's clock and against the numbers of what it was given to work on,
//! so that work which wasn't done, was counted twice or was timed by a clock that stands still
//! is found.

use load::Stop;
use load::outcome::SampledAnswer;
use result::evidence::ContractStep;

use super::{Contract, Depth};
use crate::place::Running;
use crate::study::Sum;

/// How far its clock may be from the lab's over the window, as a share: beside it, a line may
/// have waited for a processor.
const CLOCKS_APART: f64 = 0.02;
/// The same in seconds, for short windows.
const CLOCKS_APART_S: f64 = 0.1;

/// Units a second that no program does, on however many processors: the lab, which adds up a
/// number of each, would be busy with a lie for ever.
const RATE_MAX: f64 = 2e9;

/// The id of the step that its clock passes.
const CLOCK: &str = "clock";
/// Seconds that its first line may tell of: it came when the lab's clock began.
const BEFORE_S: f64 = 1.0;
/// The id of the step that its sum passes.
const SUM: &str = "sum";

/// A contract that is kept by what a program tells of its work.
#[derive(Debug, Clone, Copy)]
pub struct ProgramJob {
    /// What shows that the work was done.
    pub sum: Option<Sum>,
}

/// What a program told at one moment, with its time of arrival.
#[derive(Debug, Clone, PartialEq)]
pub struct Told {
    /// Seconds by its own clock.
    pub own_s: f64,
    /// Seconds by the lab's.
    pub arrived_s: f64,
    /// Units of work that it had done.
    pub done: u64,
    /// Their sum, if it told one.
    pub sum: Option<u64>,
}

/// What a contender that drives itself was given to work on.
#[derive(Debug, Clone, Copy)]
pub struct GivenWork<'a> {
    /// The trial's seed.
    pub seed: u64,
    /// The numbers of its records, in their order; none where the study has no records.
    pub records: &'a [u64],
}

impl Contract for ProgramJob {
    /// Nobody can ask it anything before its work.
    fn check(
        &self,
        _on: &Running,
        _depth: Depth,
        _stop: &Stop,
        _tell: &mut dyn FnMut(&ContractStep),
    ) -> Vec<ContractStep> {
        Vec::new()
    }

    fn under_work(
        &self,
        _answers: &[SampledAnswer],
        told: &[Told],
        given: &GivenWork,
    ) -> Vec<ContractStep> {
        let (Some(first), Some(last)) = (told.first(), told.last()) else { return Vec::new() };
        let sum = self.sum.map(|of| match of {
            Sum::Payloads => {
                let payloads = Payloads::new(Payloads::seed(given.seed));
                sum(told, "sums the payloads of all that it has done", payloads)
            }
            Sum::Records => {
                let numbers = given.records.iter().copied().cycle();
                sum(told, "sums the numbers of all records that it has done", numbers)
            }
        });
        [clock(first, last)].into_iter().chain(sum).collect()
    }
}

fn step(id: &str, asked: &str, saw: String, is_right: bool, wrong: &str) -> ContractStep {
    let wrong = (!is_right).then(|| wrong.to_string());
    ContractStep { id: id.into(), asked: asked.into(), saw, wrong, hung: false }
}

fn clock(first: &Told, last: &Told) -> ContractStep {
    let own = last.own_s - first.own_s;
    let ours = last.arrived_s - first.arrived_s;
    let allowed = CLOCKS_APART_S.max(CLOCKS_APART * ours);
    step(
        CLOCK,
        "times its work by a clock that goes",
        format!("{own:.3} s by its clock, {ours:.3} s by ours"),
        (own - ours).abs() <= allowed,
        "its clock doesn't go as ours: what it says of a second isn't known",
    )
}

/// Each sum has to be that of as many units, with these numbers, as it says it has done.
fn sum(told: &[Told], asked: &str, mut numbers: impl Iterator<Item = u64>) -> ContractStep {
    let (mut expected, mut done) = (0, 0);
    for one in told {
        if one.done as f64 > RATE_MAX * one.arrived_s.max(BEFORE_S) {
            let saw = format!("{} units after {:.3} s", one.done, one.arrived_s);
            return step(SUM, asked, saw, false, "no program does so much");
        }
        let next = numbers.by_ref().take((one.done - done) as usize);
        expected = next.fold(expected, |sum, number| (sum + number) % SUMS_END);
        done = one.done;
        let saw = match one.sum {
            Some(sum) if sum == expected => continue,
            Some(sum) => format!("{sum} after {done} units, and {expected} are right"),
            None => format!("no sum after {done} units"),
        };
        return step(SUM, asked, saw, false, "it didn't do the work that it counts");
    }
    step(SUM, asked, format!("right after {done} units"), true, "")
}

/// Its sums are told modulo 2^32.
const SUMS_END: u64 = 1 << 32;

/// The payloads of a trial's units, in order and without end: Lehmer's generator with the
/// constants of Park, Miller and Stockmeyer ("Another test for goodness", 1993), C++'s
/// `minstd_rand`. Its products stay below 2^47, so that languages whose integers are doubles or
/// tagged words make it as cheaply as others.
#[derive(Debug, Clone)]
pub struct Payloads(u64);

impl Payloads {
    const MODULUS: u64 = (1 << 31) - 1;

    /// From the seed that a program is given: see [`Payloads::seed`].
    pub fn new(seed: u64) -> Payloads {
        Payloads(seed)
    }

    /// The seed of a trial as the generator takes it: from 1 to 2^31 − 2.
    pub fn seed(of_trial: u64) -> u64 {
        of_trial % (Self::MODULUS - 1) + 1
    }
}

impl Iterator for Payloads {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        self.0 = self.0 * 48_271 % Self::MODULUS;
        Some(self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEED: u64 = 7;

    /// What an honest program tells, every half second.
    fn honest() -> Vec<Told> {
        let mut payloads = Payloads::new(Payloads::seed(SEED));
        let mut sum = 0;
        let told = (1..=6_u32).map(|number| {
            sum = (sum + payloads.by_ref().take(100).sum::<u64>()) % SUMS_END;
            let at = f64::from(number) / 2.0;
            let (done, sum) = (u64::from(number) * 100, Some(sum));
            Told { own_s: at, arrived_s: at + 0.01, done, sum }
        });
        told.collect()
    }

    fn wrong_of(sum: Sum, records: &[u64], told: &[Told]) -> Vec<String> {
        let program = ProgramJob { sum: Some(sum) };
        let steps = program.under_work(&[], told, &GivenWork { seed: SEED, records });
        assert_eq!(steps.len(), 2);
        steps.into_iter().filter(|step| step.wrong.is_some()).map(|step| step.id).collect()
    }

    fn wrong(told: &[Told]) -> Vec<String> {
        wrong_of(Sum::Payloads, &[], told)
    }

    fn with(change: impl Fn(&mut Told)) -> Vec<String> {
        let mut told = honest();
        told.iter_mut().for_each(change);
        wrong(&told)
    }

    #[test]
    fn an_honest_program_keeps_it() {
        assert!(wrong(&honest()).is_empty());
    }

    #[test]
    fn work_that_was_counted_twice_or_left_out_is_found() {
        assert_eq!(with(|told| told.done *= 2), [SUM], "counted twice");
        assert_eq!(with(|told| told.done -= 1), [SUM], "one more was summed than counted");
        assert_eq!(with(|told| told.sum = Some(0)), [SUM], "nothing was summed");
        assert_eq!(with(|told| told.sum = None), [SUM]);
    }

    /// Else the lab would add up numbers for years.
    #[test]
    fn a_count_that_nobody_reaches_is_not_added_up() {
        for done in [u64::MAX, 1 << 60, 100_000_000_000] {
            let told = |at: f64| Told { own_s: at, arrived_s: at, done, sum: Some(0) };
            assert_eq!(wrong(&[told(0.0), told(0.5)]), [SUM], "{done}");
        }
    }

    #[test]
    fn records_are_summed_in_their_order_and_round_and_round() {
        let records = [5, SUMS_END - 1, 7];
        // Before each line as many records: 2, 4, and 1 more.
        let told = |sums: [u64; 3]| {
            let lines = [(0.0, 2, sums[0]), (0.5, 6, sums[1]), (1.0, 7, sums[2])];
            lines.map(|(at, done, sum)| Told { own_s: at, arrived_s: at, done, sum: Some(sum) })
        };
        assert!(wrong_of(Sum::Records, &records, &told([4, 22, 27])).is_empty());
        assert_eq!(wrong_of(Sum::Records, &records, &told([5, 22, 27])), [SUM], "it left one out");
        assert_eq!(wrong_of(Sum::Records, &records, &told([4, 22, 22])), [SUM]);
        assert_eq!(wrong_of(Sum::Records, &[], &told([4, 22, 27])), [SUM], "nothing was given");
    }

    #[test]
    fn a_clock_that_stands_or_goes_slower_is_found() {
        assert_eq!(with(|told| told.own_s = 1.0), [CLOCK]);
        assert_eq!(with(|told| told.own_s *= 0.9), [CLOCK]);
        assert!(with(|told| told.own_s += 1_000.0).is_empty(), "it may begin anywhere");
    }

    #[test]
    fn payloads_are_those_of_minstd() {
        // What the C++ standard says of `minstd_rand`, rand.predef.
        assert_eq!(Payloads::new(1).nth(9_999), Some(399_268_537));
    }

    #[test]
    fn any_seed_of_a_trial_makes_one_that_never_ends_in_zeros() {
        for seed in [0, 1, Payloads::MODULUS - 1, Payloads::MODULUS, u64::MAX] {
            let seed = Payloads::seed(seed);
            assert!((1..Payloads::MODULUS).contains(&seed), "{seed}");
        }
    }
}
