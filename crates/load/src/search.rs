//! The search for the highest rate at which a condition holds.
//!
//! Decisions only: whoever searches asks [`Search::next`] for a rate, runs a
//! step there, and tells [`Search::record`] what came of it. The rate is
//! doubled until the condition fails, then the gap between the highest rate that
//! holds and the lowest that doesn't is halved on a logarithmic scale, then both
//! are repeated until one answer leads. The majority of a rate's steps counts, so
//! that a step spoilt by chance is found out by its repeats, and the search goes
//! on from there.

use crate::condition::{Condition, Verdict};
use crate::limit;
use crate::outcome::Outcome;
use crate::plan::Plan;

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
/// Requests that must have had a good answer for a step to hold: a condition on
/// response times alone is met by a server that turns most requests away.
pub const GOOD_SHARE_MIN: f64 = 0.99;

/// What came of a step at one rate.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// The condition held.
    Holds,
    /// It didn't, or it is not known to have held.
    Fails,
    /// It held among the good answers, and fewer than [`GOOD_SHARE_MIN`] of the requests
    /// had one.
    TooFewGood,
    /// The client was the limit, for this reason: the step says nothing of the
    /// server.
    ClientLimit(String),
}

/// What a run at one rate means for the search.
pub fn step(condition: &Condition, plan: &Plan, outcome: &Outcome) -> Step {
    let warnings = limit::warnings(plan, outcome);
    if let Some(warning) = warnings.iter().find(|warning| warning.is_client_limit()) {
        return Step::ClientLimit(warning.to_string());
    }
    match condition.judge(outcome).verdict {
        Verdict::Holds if good_share(outcome) >= GOOD_SHARE_MIN => Step::Holds,
        Verdict::Holds => Step::TooFewGood,
        Verdict::Fails | Verdict::Unknown => Step::Fails,
    }
}

/// The share of the requests offered that had a good answer.
pub fn good_share(outcome: &Outcome) -> f64 {
    outcome.account.good as f64 / outcome.account.scheduled.max(1) as f64
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
    pub client_limit: Option<String>,
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
        let clients: Vec<&String> = self
            .at(rate)
            .filter_map(|step| match step {
                Step::ClientLimit(why) => Some(why),
                Step::Holds | Step::Fails | Step::TooFewGood => None,
            })
            .collect();
        let servers = steps - held - clients.len();
        let client_limit = clients.last().filter(|_| clients.len() >= servers);
        Edge { rate, steps, held, client_limit: client_limit.map(ToString::to_string) }
    }

    fn at(&self, rate: f64) -> impl Iterator<Item = &Step> {
        self.steps.iter().filter(move |step| step.0 == rate).map(|step| &step.1)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::condition::tests::outcome;
    use crate::outcome::ThreadUse;
    use crate::plan::{Arrivals, Target};
    use crate::template::{Request, mix};

    const LOWEST: f64 = 100.0;
    const HIGHEST: f64 = 10e6;

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
            search(
                |rate, _| {
                    if rate < 30_000.0 { Step::Holds } else { Step::ClientLimit("busy".into()) }
                },
            );
        assert_eq!(found.fails.unwrap().client_limit.as_deref(), Some("busy"));
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
            if tries_above % 4 == 0 { Step::ClientLimit("busy".into()) } else { Step::Fails }
        });
        let fails = found.fails.unwrap();
        assert_eq!((fails.held, fails.client_limit), (0, None), "most steps failed without it");
    }

    #[test]
    fn a_server_of_pure_chance_ends_the_search_all_the_same() {
        for seed in 0..100 {
            let (_, steps) = search(|_, step| holds_if(random(seed, step) < 0.5));
            assert!(steps <= STEPS_MAX);
        }
    }

    #[test]
    fn a_step_holds_only_if_the_client_was_no_limit_and_the_answers_were_good() {
        let target = Target {
            address: "127.0.0.1:80".parse().unwrap(),
            authority: "127.0.0.1".into(),
            path: "/".into(),
        };
        let mut plan = Plan::new(target, vec![Request::get("/")]);
        plan.arrivals = Arrivals::Constant(1_000.0);
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
