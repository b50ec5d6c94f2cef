//! Steps at one rate after the other, of `--find-rate`.

use std::time::Duration;

use load::Error;
use load::outcome::Outcome;
use load::plan::keys::{Keys, Operation};
use load::plan::{Plan, Workload};
use load::verdict::condition::Condition;
use load::verdict::search::{self, Pool, Step};
use report::units;

use super::super::arguments::LoadArguments;
use super::super::pace::{self, ArrivalsChoice};
use super::{Sought, Steps};

/// Where the search begins, unless so low a rate has too few samples a step.
const START: f64 = 1_000.0;

/// The steps of a search for a rate.
pub struct RateSteps<'a> {
    plan: &'a Plan,
    condition: &'a Condition,
    arrivals: ArrivalsChoice,
    pool: Pool,
    /// Why there are no more connections, as a sentence.
    no_more: String,
}

impl<'a> RateSteps<'a> {
    /// Those of this plan at other rates.
    pub fn new(
        arguments: &LoadArguments,
        plan: &'a Plan,
        condition: &'a Condition,
    ) -> RateSteps<'a> {
        let (pool, no_more) = pool(arguments, plan);
        RateSteps { plan, condition, arrivals: arguments.arrivals, pool, no_more }
    }
}

impl Steps for RateSteps<'_> {
    fn sought(&self) -> Sought {
        Sought::Rate
    }

    fn bounds(&self) -> (f64, f64, f64) {
        (START, pace::lowest_rate(self.condition, self.plan), pace::HIGHEST)
    }

    fn headline(&self) -> String {
        let most = match self.pool.most() {
            most if most > self.pool.connections() => {
                let most = units::whole(most.into());
                format!(", with up to {most} connections where they are the limit")
            }
            _ => String::new(),
        };
        format!(
            "searching the highest rate at which {}, in steps of {}{most}",
            self.condition,
            lengths(self.plan)
        )
    }

    fn plan(&self, rate: f64, step: usize) -> Plan {
        Plan {
            work: work(self.plan, step),
            arrivals: self.arrivals.at(rate),
            connections: self.pool.connections(),
            seed: seed(self.plan, step),
            ..self.plan.clone()
        }
    }

    fn believed(&mut self, step: &Step, rate: f64, outcome: &Outcome) -> Option<Step> {
        self.pool.judge(self.condition, step.clone(), rate, outcome)
    }

    fn no_more(&self) -> String {
        self.no_more.clone()
    }
}

/// How long steps are, and their warm-up.
pub fn lengths(plan: &Plan) -> String {
    let length = time(pace::step_length(plan));
    if plan.warmup.is_zero() {
        length
    } else {
        format!("{length} after {} of warm-up", time(plan.warmup))
    }
}

fn time(time: Duration) -> String {
    units::time(time.as_secs_f64() * 1e6)
}

/// The seed of a step. Of HTTP each has its own, so that none is answered with what one before
/// it asked. What a store holds was written by the first one's, which alone knows it again.
fn seed(plan: &Plan, step: usize) -> u64 {
    match &plan.work {
        Workload::Http(_) | Workload::Rooms(_) => plan.seed.wrapping_add(step as u64),
        Workload::Keys(_) => plan.seed,
    }
}

/// What a step asks for. One before it may have removed any key of a store, so that from the second
/// on none has to be there.
fn work(plan: &Plan, step: usize) -> Workload {
    match &plan.work {
        Workload::Keys(keys) if step > 0 && keys.share_of(Operation::Delete) > 0.0 => {
            Workload::Keys(Keys { are_there: false, ..keys.clone() })
        }
        work => work.clone(),
    }
}

/// The connections of the steps, and why there are no more of them, as a sentence. As many
/// as were asked for, if so; else as many as it takes, as far as they may be had.
fn pool(arguments: &LoadArguments, plan: &Plan) -> (Pool, String) {
    let first = plan.connections;
    if arguments.connections.is_some() {
        let told = "They are as many as -c says; without it the search makes more where they are \
                    the limit.";
        return (Pool::new(first, first), told.into());
    }
    let mut most = first;
    while most < search::CONNECTIONS_MAX {
        let more = most.saturating_mul(2).min(search::CONNECTIONS_MAX);
        if let Err(error) = allow(&Plan { connections: more, ..plan.clone() }) {
            return (Pool::new(first, most), format!("More can't be had here: {error}."));
        }
        most = more;
    }
    let told = "A search makes no more by itself; ask for more (-c).";
    (Pool::new(first, most), told.into())
}

/// Whether this machine lets a plan have its connections.
///
/// # Errors
/// What it lacks.
pub fn allow(plan: &Plan) -> Result<(), Error> {
    // No more threads than this carry it out.
    let threads = plan.threads.max(load::allowed_cpus().map_or(1, |cpus| cpus.len()));
    load::allow_connections(plan.connections, threads)?;
    load::allow_memory(plan)
}

#[cfg(test)]
mod tests {
    use super::super::super::arguments::tests::parse;
    use super::*;

    #[test]
    fn the_steps_of_a_search_know_again_what_the_preload_wrote() {
        let plan = |url| parse(&[url, "--seed", "7"]).unwrap().plan().unwrap();
        let seeds = |url| [0, 1, 2].map(|step| seed(&plan(url), step));
        assert_eq!(seeds("http://127.0.0.1/"), [7, 8, 9]);
        assert_eq!(seeds("redis://127.0.0.1/"), [7, 7, 7]);
    }

    /// Else an honest store is blamed for what an earlier step has removed.
    #[test]
    fn what_a_step_removed_the_next_one_needn_t_find() {
        let are_there = |mix: &str, step| {
            let arguments = parse(&["redis://127.0.0.1/", "--mix", mix]).unwrap();
            let Workload::Keys(keys) = work(&arguments.plan().unwrap(), step) else { panic!() };
            keys.are_there
        };
        assert!(are_there("get=1,delete=1", 0) && !are_there("get=1,delete=1", 1));
        assert!(are_there("get=1,set=1", 1), "nothing is removed");
    }
}
