//! What a contender that drives itself has to keep: its own account of its work.
//!
//! It is held against the lab's clock and against the numbers of what it was given to work on,
//! so that work which wasn't done, was counted twice or was timed by a clock that stands still
//! is found.

mod drawn;
mod sums;

use load::Stop;
use load::outcome::SampledAnswer;
use result::evidence::ContractStep;

pub(crate) use self::drawn::{drawn, payloads_seed};

use super::{Contract, Depth};
use crate::place::Running;
use crate::study::Sum;

/// How far its clock may be from the lab's over the window, as a share: beside it, a line may
/// have waited for a processor.
const CLOCKS_APART: f64 = 0.02;
/// The same in seconds, for short windows.
const CLOCKS_APART_S: f64 = 0.1;

/// The id of the step that its clock passes.
const CLOCK: &str = "clock";

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
    /// Seconds by the lab's, from when it was ready.
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
        stop: &Stop,
    ) -> Vec<ContractStep> {
        let (Some(first), Some(last)) = (told.first(), told.last()) else { return Vec::new() };
        let sum = self.sum.map(|of| sums::sum(of, told, given, stop));
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

#[cfg(test)]
mod tests {
    use super::*;

    fn wrong(own_s: impl Fn(f64) -> f64) -> bool {
        let told = |at: f64| Told { own_s: own_s(at), arrived_s: at + 0.01, done: 7, sum: None };
        let program = ProgramJob { sum: None };
        let given = GivenWork { seed: 7, records: &[] };
        let told = [told(0.5), told(1.0), told(3.0)];
        let steps = program.under_work(&[], &told, &given, &Stop::default());
        assert_eq!(steps.len(), 1, "there is no sum to hold it to");
        steps[0].wrong.is_some()
    }

    #[test]
    fn a_clock_that_stands_or_goes_slower_or_faster_is_found() {
        assert!(!wrong(|at| at));
        assert!(wrong(|_| 1.0));
        assert!(wrong(|at| at * 0.9));
        assert!(wrong(|at| at * 1.1));
        assert!(!wrong(|at| at + 1_000.0), "it may begin anywhere");
    }
}
