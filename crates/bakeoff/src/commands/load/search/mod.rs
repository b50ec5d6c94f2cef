//! `--find-rate` and `--find-connections`: runs with more and more load, told step by step.
//!
//! - this file: the steps of a search;
//! - `rate`: steps at one rate after the other;
//! - `robots`: steps with more and more robots;
//! - `words`: the line of a step, and what was found.

mod rate;
mod robots;
mod words;

use std::time::{Duration, Instant};

use load::Stop;
use load::outcome::Outcome;
use load::plan::Plan;
use load::verdict::condition::{Condition, Measured, good_share};
use load::verdict::limit::Warning;
use load::verdict::search::{self, Edge, Found, Next, Search, Step};

pub use self::robots::Crowd;
use super::super::printing::Output;
use super::arguments::LoadArguments;
use super::clients::Clients;
use super::exit::{Exit, Failure};
use super::pace::{self, ArrivalsChoice};
use super::summary;

/// How often a pause looks whether it is to end.
const LOOK: Duration = Duration::from_millis(50);

/// What a search raises.
#[derive(Debug, Clone)]
pub enum Sought {
    /// The rate, in requests a second.
    Rate,
    /// The number of robots.
    Robots(Crowd),
}

/// How steps are made, and which of them are believed.
trait Steps {
    /// What is raised.
    fn sought(&self) -> Sought;
    /// Where the search begins, and the least and the most that it tries.
    fn bounds(&self) -> (f64, f64, f64);
    /// What the search begins with and how far it goes, as a line.
    fn headline(&self) -> String;
    /// The plan of a step with so much of it; so many steps came before.
    fn plan(&self, sought: f64, step: usize) -> Plan;
    /// What is believed of a step; `None` if it is to be made again.
    fn believed(&mut self, step: &Step, sought: f64, outcome: &Outcome) -> Option<Step>;
    /// Why a step can't have more than the most, as a sentence.
    fn no_more(&self) -> String;
}

/// What came of a search.
pub struct Searched {
    /// What was raised.
    pub sought: Sought,
    /// What was searched for.
    pub condition: Condition,
    /// When the requests of each step were due.
    pub arrivals: ArrivalsChoice,
    /// What was found.
    pub found: Found,
    /// Every step, in the order in which they were made.
    pub steps: Vec<StepMade>,
    /// Why a step can't have more connections, or robots, as a sentence.
    pub no_more: String,
    /// Whether it was interrupted.
    pub interrupted: bool,
    /// Whether it ended with a step without one good answer: the first, or one in which
    /// nobody could be connected to any more.
    pub no_answer: bool,
    /// Where somebody listens then, in the other address family, as a sentence.
    pub elsewhere: Option<String>,
}

impl Searched {
    /// What the exit code says.
    pub fn exit(&self) -> Exit {
        if self.interrupted {
            Exit::Interrupted
        } else if self.no_answer {
            Exit::Unanswered
        } else if self.found.holds.is_some() {
            Exit::Ok
        } else {
            Exit::Condition
        }
    }

    /// The number of the step in which nobody could be connected to any more, if there is
    /// one.
    fn gone_in(&self) -> Option<usize> {
        (self.no_answer && self.steps.len() > 1).then_some(self.steps.len())
    }
}

/// A step and what came of it.
pub struct StepMade {
    /// How much of what is raised.
    pub sought: f64,
    /// Requests a second that were offered.
    pub offered_rate: f64,
    /// Good answers a second.
    pub rate: f64,
    /// The share of the requests offered that had a good answer.
    pub good_share: f64,
    /// What the condition looks at.
    pub measured: Measured,
    /// What it means.
    pub step: Step,
    /// Connections at once.
    pub connections: u32,
    /// What to know before using its figures.
    pub warnings: Vec<Warning>,
    /// Whether it counts for how much it had. One that is made again with more connections
    /// doesn't, nor one that ended the search.
    pub counts: bool,
}

impl StepMade {
    /// Its word.
    pub fn verdict(&self) -> &'static str {
        match self.step {
            Step::Holds => "holds",
            Step::Fails | Step::TooFewGood => "fails",
            Step::ClientLimit(_) => "client_limit",
            Step::ConnectionsLimit(_) => "connections_limit",
        }
    }
}

/// Searches the most at which the condition holds.
///
/// # Errors
/// Where no load can be offered.
pub fn run(
    arguments: &LoadArguments,
    (plan, condition): (&Plan, &Condition),
    clients: &mut Clients,
    stop: &Stop,
    output: &mut Output,
) -> Result<Searched, Failure> {
    let step_length = pace::step_length(plan);
    let mut steps_of = steps_of(arguments, plan, condition);
    let (start, lowest, highest) = steps_of.bounds();
    let mut search = Search::new(start, lowest, highest);
    let mut steps: Vec<StepMade> = Vec::new();
    let pace = match arguments.arrivals {
        ArrivalsChoice::Constant => "open loop, constant arrivals",
        ArrivalsChoice::Poisson => "open loop, random arrivals",
    };
    output.print(&format!(
        "{}\n{}\n\n",
        summary::plan(&arguments.shown_url(), pace, &steps_of.plan(start, 0)),
        steps_of.headline(),
    ));
    let (mut no_answer, mut elsewhere, mut pause) = (false, None, Duration::ZERO);
    let found = loop {
        let sought = match search.next() {
            Next::Try(sought) => sought,
            Next::Done(found) => break found,
        };
        rest(pause, stop);
        let plan = steps_of.plan(sought, steps.len());
        let offered_load = clients.offer(&plan, stop, arguments.quiet)?.whole()?;
        let outcome = &offered_load.outcome;
        if stop.asked() {
            break search.so_far();
        }
        let step = search::step(condition, &plan, outcome);
        pause = search::pause(&step, step_length, outcome);
        // A server that isn't there any more says nothing of a rate. One that is only
        // overwhelmed has connections, and may have answers in the next step.
        let is_servers = !matches!(step, Step::ClientLimit(_));
        let is_gone = outcome.connections.established == 0 && is_servers;
        no_answer = outcome.account.good == 0 && (steps.is_empty() || is_gone);
        let believed = if no_answer { None } else { steps_of.believed(&step, sought, outcome) };
        if let Some(step) = &believed {
            search.record(sought, step.clone());
        }
        let made = StepMade {
            sought,
            offered_rate: plan.arrivals.rate().unwrap_or_default(),
            rate: outcome.rate(),
            good_share: good_share(outcome),
            measured: condition.judge(outcome).measured,
            connections: plan.connections,
            warnings: offered_load.warnings.clone(),
            counts: believed.is_some(),
            step: match believed {
                Some(step) => step,
                None if no_answer => step,
                None => Step::ConnectionsLimit(plan.connections),
            },
        };
        output.print(&words::line(&made, steps.len() + 1, &steps_of.sought(), condition));
        steps.push(made);
        if no_answer {
            if let Some(errors) = summary::errors(&outcome.account) {
                output.print(&format!("\n{errors}\n"));
            }
            elsewhere = super::other_family(&plan, outcome);
            break search.so_far();
        }
    };
    let searched = Searched {
        sought: steps_of.sought(),
        condition: condition.clone(),
        arrivals: arguments.arrivals,
        found,
        steps,
        no_more: steps_of.no_more(),
        interrupted: stop.asked(),
        no_answer: no_answer && !stop.asked(),
        elsewhere,
    };
    output.print(&format!("\n{}\n", textwrap::fill(&words::conclusion(&searched), 100)));
    Ok(searched)
}

/// How the steps of this search are made.
fn steps_of<'a>(
    arguments: &LoadArguments,
    plan: &'a Plan,
    condition: &'a Condition,
) -> Box<dyn Steps + 'a> {
    match Crowd::of(plan) {
        Some(crowd) => Box::new(robots::RobotSteps::new(plan, condition, crowd)),
        None => Box::new(rate::RateSteps::new(arguments, plan, condition)),
    }
}

/// Leaves the server alone for so long, unless the search is stopped.
fn rest(pause: Duration, stop: &Stop) {
    let end = Instant::now() + pause;
    while !stop.asked() && Instant::now() < end {
        std::thread::sleep(LOOK.min(end.saturating_duration_since(Instant::now())));
    }
}

/// The steps that count for a side of the gap.
fn deciding<'a>(steps: &'a [StepMade], edge: &Edge) -> impl Iterator<Item = &'a StepMade> {
    let sought = edge.rate;
    steps.iter().filter(move |made| made.counts && made.sought == sought)
}

/// The warnings of the steps that count for a side of the gap, each with how many of them
/// had it.
pub fn warnings(steps: &[StepMade], edge: &Edge) -> Vec<(&'static str, usize)> {
    let mut counts: Vec<(&'static str, usize)> = Vec::new();
    for id in deciding(steps, edge).flat_map(|made| made.warnings.iter().map(Warning::id)) {
        match counts.iter_mut().find(|(known, _)| *known == id) {
            Some((_, count)) => *count += 1,
            None => counts.push((id, 1)),
        }
    }
    counts
}

#[cfg(test)]
pub mod tests {
    pub use super::words::tests::{searched, searched_robots};
}
