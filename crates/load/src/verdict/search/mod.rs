//! The search for the highest rate at which a condition holds.
//!
//! Decisions only: whoever searches asks [`Search::next`] for a rate, runs a
//! step there, and tells [`Search::record`] what came of it. The rate is
//! doubled until the condition fails, then the gap between the highest rate that
//! holds and the lowest that doesn't is halved on a logarithmic scale, then both
//! are repeated until one answer leads. The majority of a rate's steps counts, so
//! that a step spoilt by chance is found out by its repeats, and the search goes
//! on from there. How many connections a step has is decided by the [`Pool`].

mod pool;

use std::time::Duration;

pub use self::pool::{CONNECTIONS_MAX, Pool};
use crate::outcome::Outcome;
use crate::plan::Plan;
use crate::verdict::condition::{Condition, Verdict, good_share};
use crate::verdict::limit::{self, Warning};
use crate::verdict::metric::Metric;
use histogram::reading::Statistic;

/// The gap at which the search is over: 5 %.
pub const PRECISION: f64 = 1.05;
/// A side of the gap is believed when so many more of its steps say the one than
/// the other: where chance spoils one step in twenty, one such lead in 6,859 is
/// false (19³).
pub const LEAD: usize = 3;
/// Or after so many steps, by the majority: such a rate is at the limit itself.
pub const REPEATS_MAX: usize = 7;
/// The search gives up narrowing after so many steps.
pub const STEPS_MAX: usize = 60;
/// The share of the requests that must have had a good answer for a step to hold: a
/// condition on response times alone is met by a server that turns most requests away.
const GOOD_SHARE_MIN: f64 = 0.99;
/// The least pause after a step that left requests behind, by the step's length.
const PAUSE_MIN: f64 = 0.1;
/// The longest, likewise.
const PAUSE_MAX: f64 = 10.0;
/// No pause is longer, unless the least is.
const PAUSE_LIMIT: Duration = Duration::from_secs(10);

/// What came of a step at one rate.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// The condition held.
    Holds,
    /// It didn't, or it is not known to have held.
    Fails,
    /// It held among the good answers, and fewer than [`good_share_min`] of the requests
    /// had one.
    TooFewGood,
    /// The client was the limit, for this reason: the step says nothing of the
    /// server.
    ClientLimit(Warning),
    /// All connections, so many, were taken: with more of them it may have held.
    ConnectionsLimit(u32),
}

/// What a run at one rate means for the search.
pub fn step(condition: &Condition, plan: &Plan, outcome: &Outcome) -> Step {
    let mut warnings = limit::warnings(plan, outcome).into_iter();
    if let Some(why) = warnings.find(Warning::is_client_limit) {
        return Step::ClientLimit(why);
    }
    match condition.judge(outcome).verdict {
        Verdict::Holds if has_enough_good(condition, outcome) => Step::Holds,
        Verdict::Holds => Step::TooFewGood,
        Verdict::Fails | Verdict::Unknown => Step::Fails,
    }
}

/// The share of the requests, up to 1, that must have had a good answer for a step to hold.
/// A percentile speaks of those within it, so that it takes as many good answers. A condition
/// that is itself on a share says what it takes.
pub fn good_share_min(condition: &Condition) -> f64 {
    match condition.metric() {
        Metric::Time(_, Statistic::Percentile(percentile)) => {
            GOOD_SHARE_MIN.max(percentile / 100.0)
        }
        Metric::Time(_, Statistic::Max) => 1.0,
        Metric::Time(_, Statistic::Mean) | Metric::Rate | Metric::Errors => GOOD_SHARE_MIN,
        Metric::ErrorShare | Metric::GoodShare => 0.0,
    }
}

fn has_enough_good(condition: &Condition, outcome: &Outcome) -> bool {
    // 99.9 / 100 is a little more than 0.999.
    good_share(outcome) >= good_share_min(condition) - 1e-9
}

/// How long the server is left alone after a step of this length: twice as long as its
/// answers took, so that what the step left behind doesn't meet the next one. None, where it
/// left nothing.
pub fn pause(step: &Step, length: Duration, outcome: &Outcome) -> Duration {
    if *step == Step::Holds && outcome.account.in_flight == 0 {
        return Duration::ZERO;
    }
    let least = length.mul_f64(PAUSE_MIN);
    let most = length.mul_f64(PAUSE_MAX).min(PAUSE_LIMIT).max(least);
    let answers = outcome.service.quantile(0.99).map_or(0, |value| value.nanoseconds);
    Duration::from_nanos(answers.saturating_mul(2)).clamp(least, most)
}

/// A search under way.
#[derive(Debug, Clone)]
pub struct Search {
    start: f64,
    lowest: f64,
    highest: f64,
    /// In the order in which they were made.
    steps: Vec<(f64, Step)>,
}

/// What to do next.
#[derive(Debug, Clone, PartialEq)]
pub enum Next {
    /// Run a step at this rate.
    Try(f64),
    /// No more: this was found.
    Done(Found),
}

/// What a search found.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// The highest rate that holds; `None` if it fails at the lowest rate.
    pub holds: Option<Edge>,
    /// The lowest rate above that doesn't; `None` if the highest rate holds.
    pub fails: Option<Edge>,
    /// Whether it was given up before the gap was small enough and repeated.
    pub unfinished: bool,
}

impl Found {
    /// Whether every repeat at both sides of the gap said the same.
    pub fn is_unanimous(&self) -> bool {
        let full = |edge: &Edge, side: fn(&Edge) -> usize| side(edge) == edge.steps;
        self.holds.as_ref().is_none_or(|edge| full(edge, |edge| edge.held))
            && self.fails.as_ref().is_none_or(|edge| full(edge, |edge| edge.steps - edge.held))
    }
}

/// One side of the gap.
#[derive(Debug, Clone, PartialEq)]
pub struct Edge {
    /// The rate, a second.
    pub rate: f64,
    /// Steps made at it.
    pub steps: usize,
    /// Steps of these that held.
    pub held: usize,
    /// Why the client was the limit, in the last step in which it was; `None` if more
    /// steps failed without it, which then say what the server can.
    pub client_limit: Option<Warning>,
    /// How many connections were the limit, likewise.
    pub connections_limit: Option<u32>,
}

impl Edge {
    fn is_settled(&self) -> bool {
        let lead = self.held.abs_diff(self.steps - self.held);
        lead >= LEAD || self.steps >= REPEATS_MAX
    }
}

impl Search {
    /// A search from `start` on, within `lowest` and `highest`, all a second. It goes no
    /// higher than `highest`, whatever the others are.
    pub fn new(start: f64, lowest: f64, highest: f64) -> Search {
        let lowest = lowest.min(highest);
        Search { start: start.clamp(lowest, highest), lowest, highest, steps: Vec::new() }
    }

    /// Takes down what came of a step.
    pub fn record(&mut self, rate: f64, step: Step) {
        self.steps.push((rate, step));
    }

    /// What to do next.
    pub fn next(&self) -> Next {
        let (holds, fails) = self.edges();
        if self.steps.len() >= STEPS_MAX {
            return Next::Done(Found { holds, fails, unfinished: true });
        }
        let wider = match (&holds, &fails) {
            (None, None) => Some(self.start),
            (Some(holds), None) => {
                (holds.rate < self.highest).then(|| (holds.rate * 2.0).min(self.highest))
            }
            (None, Some(fails)) => {
                (fails.rate > self.lowest).then(|| (fails.rate / 2.0).max(self.lowest))
            }
            (Some(holds), Some(fails)) => {
                (fails.rate / holds.rate > PRECISION).then(|| (holds.rate * fails.rate).sqrt())
            }
        };
        // The fewer steps first, in turn, so that a machine that slows down
        // meanwhile doesn't spoil one side only.
        let repeat = [&holds, &fails]
            .into_iter()
            .flatten()
            .filter(|edge| !edge.is_settled())
            .min_by_key(|edge| edge.steps);
        match (wider, repeat) {
            (Some(rate), _) => Next::Try(rate),
            (None, Some(edge)) => Next::Try(edge.rate),
            (None, None) => Next::Done(Found { holds, fails, unfinished: false }),
        }
    }

    /// What is known so far, for a search that was stopped.
    pub fn so_far(&self) -> Found {
        let (holds, fails) = self.edges();
        Found { holds, fails, unfinished: true }
    }

    /// The lowest rate that fails, and the highest below it that holds.
    fn edges(&self) -> (Option<Edge>, Option<Edge>) {
        let mut rates: Vec<f64> = self.steps.iter().map(|&(rate, _)| rate).collect();
        rates.sort_by(f64::total_cmp);
        rates.dedup();
        let first_failing = rates.iter().position(|&rate| !self.holds_at(rate));
        let below = first_failing.unwrap_or(rates.len());
        let edge = |index: usize| rates.get(index).map(|&rate| self.edge(rate));
        (below.checked_sub(1).and_then(edge), first_failing.and_then(edge))
    }

    /// Whether the condition holds at this rate by the majority of its steps; of
    /// a tie, the first decides.
    fn holds_at(&self, rate: f64) -> bool {
        let Edge { steps, held, .. } = self.edge(rate);
        match (held * 2).cmp(&steps) {
            std::cmp::Ordering::Greater => true,
            std::cmp::Ordering::Less => false,
            std::cmp::Ordering::Equal => self.at(rate).next() == Some(&Step::Holds),
        }
    }

    fn edge(&self, rate: f64) -> Edge {
        let steps = self.at(rate).count();
        let held = self.at(rate).filter(|step| **step == Step::Holds).count();
        let (mut client_limit, mut connections_limit, mut doubted) = (None, None, 0);
        for step in self.at(rate) {
            match step {
                Step::ClientLimit(why) => client_limit = Some(why.clone()),
                Step::ConnectionsLimit(connections) => connections_limit = Some(*connections),
                Step::Holds | Step::Fails | Step::TooFewGood => continue,
            }
            doubted += 1;
        }
        if doubted * 2 < steps - held {
            (client_limit, connections_limit) = (None, None);
        }
        Edge { rate, steps, held, client_limit, connections_limit }
    }

    fn at(&self, rate: f64) -> impl Iterator<Item = &Step> {
        self.steps.iter().filter(move |step| step.0 == rate).map(|step| &step.1)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::outcome::{ErrorCount, ErrorKind, ThreadUse};
    use crate::plan::template::{Request, mix};
    use crate::plan::{Arrivals, Target};
    use crate::verdict::condition::tests::outcome;

    const LOWEST: f64 = 100.0;
    const HIGHEST: f64 = 10e6;
    const BUSY: Warning =
        Warning::ThreadBusy { thread: 0, busy_share: 0.95, run_delay_share: None };

    /// Searches against a server of which `serve` says what it does at a rate
    /// in the step with this number.
    fn search(mut serve: impl FnMut(f64, usize) -> Step) -> (Found, usize) {
        let mut search = Search::new(1_000.0, LOWEST, HIGHEST);
        loop {
            match search.next() {
                Next::Try(rate) => {
                    let step = serve(rate, search.steps.len());
                    search.record(rate, step);
                }
                Next::Done(found) => return (found, search.steps.len()),
            }
        }
    }

    fn holds_if(holds: bool) -> Step {
        if holds { Step::Holds } else { Step::Fails }
    }

    /// A number from 0 to 1.
    fn random(seed: u64, step: usize) -> f64 {
        (mix(seed ^ mix(step as u64)) >> 11) as f64 / (1u64 << 53) as f64
    }

    proptest! {
        #[test]
        fn the_limit_of_a_steady_server_lies_in_the_gap(limit in LOWEST..HIGHEST) {
            let (found, steps) = search(|rate, _| holds_if(rate <= limit));
            let (holds, fails) = (found.holds.clone().unwrap(), found.fails.clone());
            prop_assert!(holds.rate <= limit, "{found:?}");
            if let Some(fails) = fails {
                prop_assert!(limit < fails.rate && fails.rate / holds.rate <= PRECISION);
                prop_assert_eq!((fails.steps, fails.held), (LEAD, 0));
            }
            prop_assert_eq!((holds.steps, holds.held), (LEAD, LEAD));
            prop_assert!(found.is_unanimous() && !found.unfinished);
            prop_assert!(steps <= 30, "{steps} steps");
        }

        #[test]
        fn spoilt_steps_are_found_out_by_their_repeats(
            limit in LOWEST..HIGHEST,
            seed: u64,
        ) {
            // One step in ten goes wrong, whatever the rate.
            let (found, _) = search(|rate, step| {
                holds_if((rate <= limit) != (random(seed, step) < 0.1))
            });
            if let (Some(holds), Some(fails)) = (&found.holds, &found.fails) {
                prop_assert!(holds.held * 2 > holds.steps || found.unfinished);
                prop_assert!(fails.held * 2 < fails.steps || found.unfinished);
                prop_assert!(holds.rate < fails.rate);
            }
        }

        #[test]
        fn a_soft_limit_is_met_about_where_it_lies(limit in 1e3..1e6f64, seed: u64) {
            // The chance to hold falls from 95 % to 5 % within 12 % around the limit.
            let (found, _) = search(|rate, step| {
                let chance = 1.0 / (1.0 + (rate / limit).powf(50.0));
                holds_if(random(seed, step) < chance)
            });
            let holds = found.holds.unwrap().rate;
            prop_assert!((0.8..1.25).contains(&(holds / limit)), "found {holds} of {limit}");
        }
    }

    #[test]
    fn most_searches_survive_spoilt_steps() {
        let limit = 54_321.0;
        let hits = (0..1_000)
            .filter(|&seed| {
                let (found, _) =
                    search(|rate, step| holds_if((rate <= limit) != (random(seed, step) < 0.05)));
                found.holds.is_some_and(|edge| (0.9..=1.0).contains(&(edge.rate / limit)))
            })
            .count();
        assert!(hits >= 990, "only {hits} of 1,000 came within 10 % of the limit");
    }

    #[test]
    fn a_condition_that_never_holds_is_tried_thrice_at_the_lowest_rate() {
        let (found, _) = search(|_, _| Step::Fails);
        assert_eq!(found.holds, None);
        let fails = found.fails.unwrap();
        assert_eq!((fails.rate, fails.steps), (LOWEST, LEAD));
    }

    #[test]
    fn a_condition_that_always_holds_is_reported_at_the_highest_rate() {
        let (found, _) = search(|_, _| Step::Holds);
        assert_eq!((found.holds.unwrap().rate, found.fails), (HIGHEST, None));
    }

    #[test]
    fn where_the_lowest_rate_lies_above_the_highest_only_that_is_tried() {
        let search = Search::new(1_000.0, 2.0 * HIGHEST, HIGHEST);
        assert_eq!(search.next(), Next::Try(HIGHEST));
    }

    #[test]
    fn a_limit_of_the_client_is_not_taken_for_the_servers() {
        let (found, _) =
            search(|rate, _| if rate < 30_000.0 { Step::Holds } else { Step::ClientLimit(BUSY) });
        assert_eq!(found.fails.unwrap().client_limit, Some(BUSY));
        assert!(found.holds.unwrap().client_limit.is_none());
    }

    #[test]
    fn one_busy_moment_of_the_client_excuses_no_server_that_fails_by_itself() {
        let mut tries_above = 0;
        let (found, _) = search(|rate, _| {
            if rate < 30_000.0 {
                return Step::Holds;
            }
            tries_above += 1;
            if tries_above % 4 == 0 { Step::ClientLimit(BUSY) } else { Step::Fails }
        });
        let fails = found.fails.unwrap();
        assert_eq!((fails.held, fails.client_limit), (0, None), "most steps failed without it");
    }

    #[test]
    fn connections_that_were_the_limit_are_not_taken_for_the_servers() {
        let (found, _) =
            search(
                |rate, _| {
                    if rate < 30_000.0 { Step::Holds } else { Step::ConnectionsLimit(50) }
                },
            );
        assert_eq!(found.fails.unwrap().connections_limit, Some(50));
        assert_eq!(found.holds.unwrap().connections_limit, None);
    }

    /// A run of a second with so many good answers of 1 ms and so many errors at once, that
    /// are no waits.
    fn with_errors(good: usize, errors: u64) -> Outcome {
        let mut outcome = outcome(&vec![1_000; good], &[]);
        outcome.account.scheduled += errors;
        outcome.account.sent += errors;
        outcome.account.errors = vec![ErrorCount {
            kind: ErrorKind::WrongStatus,
            count: errors,
            first: Duration::ZERO,
            example: "status 503".into(),
        }];
        outcome
    }

    #[test]
    fn a_percentile_holds_only_if_as_many_requests_had_a_good_answer() {
        let of = |text: &str, errors: u64| {
            let condition: Condition = text.parse().unwrap();
            step(&condition, &plan(), &with_errors(200_000 - errors as usize, errors))
        };
        // 0.9 % of the requests.
        assert_eq!(of("p99.9 < 10ms", 1_800), Step::TooFewGood);
        assert_eq!(of("service_p99.9 < 10ms", 1_800), Step::TooFewGood);
        assert_eq!(of("p99 < 10ms", 1_800), Step::Holds);
        assert_eq!(of("p50 < 10ms", 2_200), Step::TooFewGood, "it takes 99 % all the same");
        assert_eq!(of("p99.9 < 10ms", 200), Step::Holds, "exactly 99.9 % were good");
        assert_eq!(of("max < 10ms", 1), Step::TooFewGood);
        assert_eq!(of("error_share < 5%", 1_800), Step::Holds, "so many are allowed");
        assert_eq!(of("good_share > 99.5%", 1_800), Step::Fails);
    }

    #[test]
    fn only_a_step_that_left_requests_behind_is_followed_by_a_pause() {
        let length = Duration::from_secs(10);
        let mut seen = outcome(&[3_000_000; 1_000], &[]);
        assert_eq!(pause(&Step::Holds, length, &seen), Duration::ZERO);
        let after_failure = pause(&Step::Fails, length, &seen).as_secs_f64();
        assert!((after_failure - 3.0).abs() < 0.1, "service took 1.5 s: {after_failure}");
        seen.account.in_flight = 1;
        assert!(pause(&Step::Holds, length, &seen) > Duration::from_secs(2));
        let quick = outcome(&[1_000; 1_000], &[]);
        assert_eq!(pause(&Step::Fails, length, &quick), Duration::from_secs(1));
        let never = outcome(&[], &[100_000_000; 1_000]);
        assert_eq!(pause(&Step::Fails, length, &never), length, "it is bounded");
        let short = Duration::from_millis(500);
        assert_eq!(pause(&Step::Fails, short, &never), short * 10);
        let long = length * 60;
        assert_eq!(pause(&Step::Fails, long, &quick), length * 6, "a tenth of the step");
    }

    #[test]
    fn a_server_of_pure_chance_ends_the_search_all_the_same() {
        for seed in 0..100 {
            let (_, steps) = search(|_, step| holds_if(random(seed, step) < 0.5));
            assert!(steps <= STEPS_MAX);
        }
    }

    fn plan() -> Plan {
        let target = Target {
            address: "127.0.0.1:80".parse().unwrap(),
            authority: "127.0.0.1".into(),
            path: "/".into(),
        };
        let arrivals = Arrivals::Constant(1_000.0);
        Plan { arrivals, ..Plan::new(target, vec![Request::get("/")]) }
    }

    #[test]
    fn a_step_holds_only_if_the_client_was_no_limit_and_the_answers_were_good() {
        let plan = plan();
        let condition: Condition = "p90 < 10ms".parse().unwrap();
        let of = |outcome: &Outcome| step(&condition, &plan, outcome);

        let good = outcome(&[1_000; 10_000], &[]);
        assert_eq!(of(&good), Step::Holds);
        assert_eq!(of(&outcome(&[20_000; 10_000], &[])), Step::Fails);
        assert_eq!(of(&outcome(&[1_000; 300], &[])), Step::Fails, "too few samples to know");
        let few = outcome(&[1_000; 9_700], &[5_000; 300]);
        assert_eq!((of(&few), good_share(&few)), (Step::TooFewGood, 0.97));
        let mut busy = good;
        busy.threads = vec![ThreadUse { busy_share: 0.95, ..ThreadUse::default() }];
        assert!(matches!(of(&busy), Step::ClientLimit(_)));
    }
}
