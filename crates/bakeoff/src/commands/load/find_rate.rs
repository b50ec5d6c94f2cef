//! `--find-rate`: runs at one rate after the other, told step by step.

use std::time::{Duration, Instant};

use load::plan::keys::{Keys, Operation};
use load::plan::{Plan, Workload};
use load::verdict::condition::{Condition, Measured, good_share};
use load::verdict::limit::Warning;
use load::verdict::search::{self, Edge, Found, Next, Pool, Search, Step, good_share_min};
use load::{Error, Stop};
use report::units;

use super::super::printing::Output;
use super::arguments::LoadArguments;
use super::clients::Clients;
use super::exit::{Exit, Failure};
use super::pace::ArrivalsChoice;
use super::run::{measured, rate};
use super::{pace, summary, words};

/// Where the search begins, unless so low a rate has too few samples a step.
const START: f64 = 1_000.0;
/// How often a pause looks whether it is to end.
const LOOK: Duration = Duration::from_millis(50);

/// What came of a search.
pub struct Searched {
    /// What was searched for.
    pub condition: Condition,
    /// When the requests of each step were due.
    pub arrivals: ArrivalsChoice,
    /// What was found.
    pub found: Found,
    /// Every step, in the order in which they were made.
    pub steps: Vec<StepMade>,
    /// Why there are no more connections than there are, as a sentence.
    pub no_more_connections: String,
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
    /// Whether it counts for its rate. One that is made again with more connections doesn't,
    /// nor one that ended the search.
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

    fn line(&self, number: usize, condition: &Condition) -> String {
        let word = match &self.step {
            Step::Holds => "holds".into(),
            Step::Fails => "fails".into(),
            Step::TooFewGood => format!("fails: {}", good_answers(self.good_share)),
            Step::ClientLimit(_) => "not believed: the client was the limit".to_string(),
            Step::ConnectionsLimit(all) => {
                let again = if self.counts { "" } else { ", so again with more" };
                format!("not believed: {} taken{again}", all_were(*all))
            }
        };
        let ids: Vec<&str> = self.warnings.iter().map(Warning::id).collect();
        let warnings =
            if ids.is_empty() { String::new() } else { format!(" ({})", ids.join(", ")) };
        format!(
            "  step {number:>2}  offered {:>8}  answered {:>8}  {}  {word}{warnings}\n",
            rate(self.offered_rate),
            rate(self.rate),
            measured(condition, self.measured),
        )
    }
}

/// Searches the highest rate at which the condition holds.
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
    let lowest = pace::lowest_rate(condition, plan);
    let mut search = Search::new(START, lowest, pace::HIGHEST);
    let (mut pool, no_more_connections) = pool(arguments, plan);
    let mut steps: Vec<StepMade> = Vec::new();
    let pace = match arguments.arrivals {
        ArrivalsChoice::Constant => "open loop, constant arrivals",
        ArrivalsChoice::Poisson => "open loop, random arrivals",
    };
    let at = |rate: f64, connections: u32, step: usize| Plan {
        work: work(plan, step),
        arrivals: arguments.arrivals.at(rate),
        connections,
        seed: seed(plan, step),
        ..plan.clone()
    };
    output.print(&format!(
        "{}\nsearching the highest rate at which {condition}, in steps of {}{}{}\n\n",
        summary::plan(&arguments.shown_url(), pace, &at(START, pool.connections(), 0)),
        time(step_length),
        if plan.warmup.is_zero() {
            String::new()
        } else {
            format!(" after {} of warm-up", time(plan.warmup))
        },
        if pool.most() > pool.connections() {
            let most = units::whole(pool.most().into());
            format!(", with up to {most} connections where they are the limit")
        } else {
            String::new()
        },
    ));
    let (mut no_answer, mut elsewhere, mut pause) = (false, None, Duration::ZERO);
    let found = loop {
        let offered = match search.next() {
            Next::Try(offered) => offered,
            Next::Done(found) => break found,
        };
        rest(pause, stop);
        let plan = at(offered, pool.connections(), steps.len());
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
        let believed =
            if no_answer { None } else { pool.judge(condition, step.clone(), offered, outcome) };
        if let Some(step) = &believed {
            search.record(offered, step.clone());
        }
        let made = StepMade {
            offered_rate: offered,
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
        output.print(&made.line(steps.len() + 1, condition));
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
        condition: condition.clone(),
        arrivals: arguments.arrivals,
        found,
        steps,
        no_more_connections,
        interrupted: stop.asked(),
        no_answer: no_answer && !stop.asked(),
        elsewhere,
    };
    output.print(&format!("\n{}\n", textwrap::fill(&conclusion(&searched), 100)));
    Ok(searched)
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
        if let Err(error) = allow(more, plan) {
            return (Pool::new(first, most), format!("More can't be had here: {error}."));
        }
        most = more;
    }
    let told = "A search makes no more by itself; ask for more (-c).";
    (Pool::new(first, most), told.into())
}

fn allow(connections: u32, plan: &Plan) -> Result<(), Error> {
    // No more threads than this carry it out.
    let threads = plan.threads.max(load::allowed_cpus().map_or(1, |cpus| cpus.len()));
    load::allow_connections(connections, threads)?;
    load::allow_memory(&Plan { connections, ..plan.clone() })
}

/// Leaves the server alone for so long, unless the search is stopped.
fn rest(pause: Duration, stop: &Stop) {
    let end = Instant::now() + pause;
    while !stop.asked() && Instant::now() < end {
        std::thread::sleep(LOOK.min(end.saturating_duration_since(Instant::now())));
    }
}

/// How many of the requests had a good answer, as a clause.
fn good_answers(share: f64) -> String {
    format!("only {} of the requests had a good answer", units::percent(share))
}

/// That so many connections, which are all, were something.
fn all_were(connections: u32) -> String {
    match connections {
        1 => "the only connection was".into(),
        all => format!("all {} connections were", units::whole(all.into())),
    }
}

fn time(time: Duration) -> String {
    units::time(time.as_secs_f64() * 1e6)
}

/// What was found and how sure it is.
fn conclusion(searched: &Searched) -> String {
    let Searched { condition, found, .. } = searched;
    let votes = |edge: &Edge| {
        format!(
            "{} of {} held at {}",
            edge.held,
            units::of(edge.steps as u64, "step"),
            rate(edge.rate)
        )
    };
    let mut sentences = Vec::new();
    match (&found.holds, &found.fails) {
        _ if searched.no_answer && searched.gone_in().is_none() => {
            sentences.push("Not one answer was good, so there is nothing to search.".into());
        }
        (None, None) => sentences.push("Nothing was found.".into()),
        (None, Some(fails)) => sentences.push(format!(
            "{condition} holds at no rate that was tried; the lowest was {}. Below that a step \
             may have too few samples: for lower rates, make the steps longer (-d).",
            rate(fails.rate)
        )),
        (Some(holds), None) => {
            sentences.push(format!("{condition} holds up to {} at least.", rate(holds.rate)));
        }
        (Some(holds), Some(fails)) => {
            let at = rate(fails.rate);
            let above = match (&fails.client_limit, fails.connections_limit) {
                (Some(_), _) => format!("and perhaps higher: at {at} the client was the limit"),
                (None, Some(all)) => {
                    format!("and perhaps higher: at {at} {} taken", all_were(all))
                }
                (None, None) => format!("and not at {at}"),
            };
            sentences.push(format!("{condition} holds at {}, {above}.", rate(holds.rate)));
            sentences.push(format!("{}, {}.", votes(holds), votes(fails)));
        }
    }
    if let Some(fails) = &found.fails {
        sentences.extend(fails.client_limit.as_ref().map(words::sentences));
        if let Some(all) = fails.connections_limit {
            if found.holds.is_none() {
                sentences.push(format!("There {} taken.", all_were(all)));
            }
            sentences.push(searched.no_more_connections.clone());
        }
        sentences.extend(few_good(searched, fails));
    }
    sentences.extend(connections(searched));
    let edges = [&found.holds, &found.fails].into_iter().flatten();
    sentences.extend(edges.filter_map(|edge| told_warnings(&searched.steps, edge)));
    if searched.interrupted {
        sentences.push("The search was interrupted, and this is not confirmed.".into());
    } else if let Some(step) = searched.gone_in() {
        sentences.push(format!(
            "The search ended with step {step}, in which nobody could be connected to any more, \
             and this is not confirmed."
        ));
    } else if found.unfinished && !searched.no_answer {
        sentences.push(
            "The search was given up after too many steps: the steps contradict each other. Make \
             them longer (-d), or the machine quieter."
                .into(),
        );
    } else if !found.is_unanimous() {
        sentences.push(
            "The steps did not all agree: the limit lies near, or the machine is noisy. Longer \
             steps (-d) are surer."
                .into(),
        );
    }
    sentences.join(" ")
}

/// The steps that count for a side of the gap.
fn deciding<'a>(steps: &'a [StepMade], edge: &Edge) -> impl Iterator<Item = &'a StepMade> {
    let rate = edge.rate;
    steps.iter().filter(move |made| made.counts && made.offered_rate == rate)
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

/// The same as a sentence.
fn told_warnings(steps: &[StepMade], edge: &Edge) -> Option<String> {
    let counts = warnings(steps, edge);
    let each = counts.iter().map(|(id, count)| format!("{id} in {count} of {}", edge.steps));
    let each: Vec<String> = each.collect();
    (!each.is_empty())
        .then(|| format!("Warnings of the steps at {}: {}.", rate(edge.rate), each.join(", ")))
}

/// How many connections it took, if not as many as at first.
fn connections(searched: &Searched) -> Option<String> {
    let first = searched.steps.first()?.connections;
    let held = deciding(&searched.steps, searched.found.holds.as_ref()?);
    let most = held.map(|made| made.connections).max()?;
    (most > first).then(|| {
        format!(
            "That took {} connections: with {first} they were the limit.",
            units::whole(most.into())
        )
    })
}

/// That it was for lack of good answers that a rate was not held, in most of its steps
/// that weren't, though its condition was met by those that came.
fn few_good(searched: &Searched, fails: &Edge) -> Option<String> {
    let at = deciding(&searched.steps, fails);
    let few: Vec<f64> =
        at.filter(|made| made.step == Step::TooFewGood).map(|made| made.good_share).collect();
    let least = few.iter().copied().reduce(f64::min)?;
    (few.len() * 2 > fails.steps - fails.held).then(|| {
        format!(
            "At {} the good answers met the condition, but {}, and a step takes {}.",
            rate(fails.rate),
            good_answers(least),
            units::percent(good_share_min(&searched.condition))
        )
    })
}

#[cfg(test)]
pub mod tests {
    use super::super::arguments::tests::parse;
    use super::*;

    fn edge(rate: f64, held: usize, steps: usize, client_limit: Option<Warning>) -> Edge {
        Edge { rate, steps, held, client_limit, connections_limit: None }
    }

    fn no_port() -> Warning {
        Warning::ClientErrors { count: 3, example: "no port".into() }
    }

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

    /// A search that found something.
    pub fn searched() -> Searched {
        let step = |offered_rate: f64, step| StepMade {
            offered_rate,
            rate: offered_rate * 0.999,
            good_share: 0.999,
            measured: Measured::Value { value: 8.5e6, at_least: false },
            step,
            connections: 50,
            warnings: vec![],
            counts: true,
        };
        let shed = Warning::Shed { shed: 12, scheduled: 20_000 };
        Searched {
            condition: "p99 < 10ms".parse().unwrap(),
            arrivals: ArrivalsChoice::Constant,
            found: Found {
                holds: Some(edge(20_100.0, 3, 3, None)),
                fails: Some(edge(21_000.0, 0, 3, None)),
                unfinished: false,
            },
            steps: vec![
                step(1_000.0, Step::Holds),
                step(2_000.0, Step::Fails),
                step(4_000.0, Step::ClientLimit(no_port())),
                StepMade {
                    connections: 100,
                    counts: false,
                    ..step(21_000.0, Step::ConnectionsLimit(100))
                },
                StepMade {
                    connections: 200,
                    warnings: vec![Warning::SynRetransmits { count: 3 }],
                    ..step(20_100.0, Step::Holds)
                },
                StepMade {
                    good_share: 0.953,
                    warnings: vec![Warning::SynRetransmits { count: 3 }, shed],
                    ..step(21_000.0, Step::TooFewGood)
                },
                step(42_000.0, Step::ConnectionsLimit(200)),
            ],
            no_more_connections: "They are as many as -c says.".into(),
            interrupted: false,
            no_answer: false,
            elsewhere: None,
        }
    }

    #[test]
    fn the_conclusion_says_how_sure_it_is() {
        let with = |change: &dyn Fn(&mut Searched)| {
            let mut searched = searched();
            change(&mut searched);
            conclusion(&searched)
        };
        let conclusions = [
            with(&|_| {}),
            with(&|searched| searched.found.holds = Some(edge(20_100.0, 4, 7, None))),
            with(&|searched| searched.found.fails = Some(edge(21_000.0, 0, 1, None))),
            with(&|searched| {
                searched.found.fails = Some(edge(21_000.0, 0, 3, Some(no_port())));
            }),
            with(&|searched| {
                let fails = edge(21_000.0, 0, 3, None);
                searched.found.fails = Some(Edge { connections_limit: Some(50), ..fails });
            }),
            with(&|searched| {
                searched.found.holds = None;
                let fails = edge(21_000.0, 0, 3, None);
                searched.found.fails = Some(Edge { connections_limit: Some(1), ..fails });
            }),
            with(&|searched| searched.found.fails = None),
            with(&|searched| searched.found.holds = None),
            with(&|searched| searched.found.unfinished = true),
            with(&|searched| {
                searched.interrupted = true;
                searched.found.unfinished = true;
            }),
            with(&|searched| {
                searched.no_answer = true;
                searched.found.unfinished = true;
                searched.found.holds = None;
                searched.steps.truncate(1);
            }),
            with(&|searched| {
                searched.no_answer = true;
                searched.found.unfinished = true;
            }),
        ];
        insta::assert_snapshot!(conclusions.join("\n\n"));
    }

    #[test]
    fn what_held_before_the_server_was_gone_is_no_result() {
        let mut searched = searched();
        assert_eq!(searched.exit(), Exit::Ok);
        searched.no_answer = true;
        assert_eq!(searched.exit(), Exit::Unanswered);
        searched.interrupted = true;
        assert_eq!(searched.exit(), Exit::Interrupted);
    }

    #[test]
    fn each_step_is_a_line() {
        let searched = searched();
        let lines: String = searched
            .steps
            .iter()
            .enumerate()
            .map(|(index, step)| step.line(index + 1, &searched.condition))
            .collect();
        insta::assert_snapshot!(lines);
    }
}
