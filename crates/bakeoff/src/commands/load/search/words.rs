//! A search in words: the line of a step, and what was found.

use load::verdict::condition::Condition;
use load::verdict::limit::Warning;
use load::verdict::search::{Edge, Step, good_share_min};
use report::units;

use super::super::run::{measured, rate};
use super::super::{rooms, words};
use super::{Searched, Sought, StepMade, deciding, warnings};

impl Sought {
    /// Where a step was made that had so much of it.
    fn at(&self, sought: f64) -> String {
        match self {
            Sought::Rate => format!("at {}", rate(sought)),
            Sought::Robots(crowd) => {
                format!("with {}", units::of(crowd.robots(sought).into(), "robot"))
            }
        }
    }

    /// That it holds nowhere, and what to do to look further down.
    fn nowhere(&self, fails: &Edge) -> String {
        match self {
            Sought::Rate => format!(
                "at no rate that was tried; the lowest was {}. Below that a step may have too few \
                 samples: for lower rates, make the steps longer (-d)",
                rate(fails.rate)
            ),
            Sought::Robots(_) => format!(
                "with no number of robots that was tried: not even {}. With fewer a step may have \
                 too few samples: for fewer robots, make the steps longer (-d)",
                self.at(fails.rate)
            ),
        }
    }

    /// More of it.
    fn more(&self) -> &'static str {
        match self {
            Sought::Rate => "higher",
            Sought::Robots(_) => "with more",
        }
    }

    /// How many of the requests had a good answer, or how many deliveries came, as a clause.
    fn good(&self, share: f64) -> String {
        let share = units::percent(share);
        match self {
            Sought::Rate => format!("only {share} of the requests had a good answer"),
            Sought::Robots(_) => format!("only {share} of the deliveries came"),
        }
    }

    /// A warning of a step.
    pub fn warns(&self, why: &Warning) -> String {
        match self {
            Sought::Rate => words::sentences(why),
            Sought::Robots(_) => rooms::sentences(why),
        }
    }
}

/// The line of a step.
pub fn line(made: &StepMade, number: usize, sought: &Sought, condition: &Condition) -> String {
    let word = match &made.step {
        Step::Holds => "holds".into(),
        Step::Fails => "fails".into(),
        Step::TooFewGood => format!("fails: {}", sought.good(made.good_share)),
        Step::ClientLimit(_) => "not believed: the client was the limit".to_string(),
        Step::ConnectionsLimit(all) => {
            let again = if made.counts { "" } else { ", so again with more" };
            format!("not believed: {} taken{again}", all_were(*all))
        }
    };
    let ids: Vec<&str> = made.warnings.iter().map(Warning::id).collect();
    let warnings = if ids.is_empty() { String::new() } else { format!(" ({})", ids.join(", ")) };
    let load = match sought {
        Sought::Rate => format!("offered {:>8}  answered", rate(made.offered_rate)),
        Sought::Robots(_) => {
            let robots = units::whole(made.connections.into());
            format!("robots {robots:>9}  due {:>8}  delivered", rate(made.offered_rate))
        }
    };
    format!(
        "  step {number:>2}  {load} {:>8}  {}  {word}{warnings}\n",
        rate(made.rate),
        measured(condition, made.measured),
    )
}

/// That so many connections, which are all, were something.
fn all_were(connections: u32) -> String {
    match connections {
        1 => "the only connection was".into(),
        all => format!("all {} connections were", units::whole(all.into())),
    }
}

/// What was found and how sure it is.
pub fn conclusion(searched: &Searched) -> String {
    let Searched { sought, condition, found, .. } = searched;
    let votes = |edge: &Edge| {
        format!(
            "{} of {} held {}",
            edge.held,
            units::of(edge.steps as u64, "step"),
            sought.at(edge.rate)
        )
    };
    let mut sentences = Vec::new();
    match (&found.holds, &found.fails) {
        _ if searched.no_answer && searched.gone_in().is_none() => {
            sentences.push("Not one answer was good, so there is nothing to search.".into());
        }
        (None, None) => sentences.push("Nothing was found.".into()),
        (None, Some(fails)) => {
            sentences.push(format!("{condition} holds {}.", sought.nowhere(fails)));
        }
        (Some(holds), None) => match sought {
            Sought::Rate => {
                sentences.push(format!("{condition} holds up to {} at least.", rate(holds.rate)));
            }
            Sought::Robots(_) => {
                let with = sought.at(holds.rate);
                sentences.push(format!("{condition} holds {with} at least."));
                sentences.push(searched.no_more.clone());
            }
        },
        (Some(holds), Some(fails)) => {
            let (at, more) = (sought.at(fails.rate), sought.more());
            let above = match (&fails.client_limit, fails.connections_limit) {
                (Some(_), _) => format!("and perhaps {more}: {at} the client was the limit"),
                (None, Some(all)) => format!("and perhaps {more}: {at} {} taken", all_were(all)),
                (None, None) => format!("and not {at}"),
            };
            sentences.push(format!("{condition} holds {}, {above}.", sought.at(holds.rate)));
            sentences.push(format!("{}, {}.", votes(holds), votes(fails)));
        }
    }
    if let Some(fails) = &found.fails {
        sentences.extend(fails.client_limit.as_ref().map(|why| sought.warns(why)));
        if let Some(all) = fails.connections_limit {
            if found.holds.is_none() {
                sentences.push(format!("There {} taken.", all_were(all)));
            }
            sentences.push(searched.no_more.clone());
        }
        sentences.extend(few_good(searched, fails));
    }
    sentences.extend(connections(searched));
    let edges = [&found.holds, &found.fails].into_iter().flatten();
    sentences.extend(edges.filter_map(|edge| told_warnings(searched, edge)));
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

/// The warnings of the steps that count for a side of the gap, as a sentence.
fn told_warnings(searched: &Searched, edge: &Edge) -> Option<String> {
    let counts = warnings(&searched.steps, edge);
    let each = counts.iter().map(|(id, count)| format!("{id} in {count} of {}", edge.steps));
    let each: Vec<String> = each.collect();
    let at = searched.sought.at(edge.rate);
    (!each.is_empty()).then(|| format!("Warnings of the steps {at}: {}.", each.join(", ")))
}

/// How many connections it took to hold a rate, if not as many as at first.
fn connections(searched: &Searched) -> Option<String> {
    let Sought::Rate = searched.sought else { return None };
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
        let at = searched.sought.at(fails.rate);
        let (good, takes) =
            (searched.sought.good(least), units::percent(good_share_min(&searched.condition)));
        let what = match searched.sought {
            Sought::Rate => "the good answers",
            Sought::Robots(_) => "those that came",
        };
        format!("{} {what} met the condition, but {good}, and a step takes {takes}.", upper(&at))
    })
}

/// A sentence's first words.
fn upper(text: &str) -> String {
    let mut characters = text.chars();
    characters
        .next()
        .map_or_else(String::new, |first| first.to_uppercase().chain(characters).collect())
}

#[cfg(test)]
pub mod tests {
    use load::verdict::condition::Measured;
    use load::verdict::search::Found;

    use super::super::super::arguments::tests::parse;
    use super::super::super::exit::Exit;
    use super::super::super::pace::ArrivalsChoice;
    use super::super::Crowd;
    use super::*;

    fn edge(rate: f64, held: usize, steps: usize, client_limit: Option<Warning>) -> Edge {
        Edge { rate, steps, held, client_limit, connections_limit: None }
    }

    fn no_port() -> Warning {
        Warning::ClientErrors { count: 3, example: "no port".into() }
    }

    /// A search that found something.
    pub fn searched() -> Searched {
        let step = |offered_rate: f64, step| StepMade {
            sought: offered_rate,
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
            sought: Sought::Rate,
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
            no_more: "They are as many as -c says.".into(),
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
            .map(|(index, step)| line(step, index + 1, &Sought::Rate, &searched.condition))
            .collect();
        insta::assert_snapshot!(lines);
    }

    /// A search for robots that found something, whose client was the limit, or that went as far as
    /// this machine does.
    pub fn searched_robots() -> Searched {
        let line = ["frames://127.0.0.1:7000", "--rate", "1k", "--find-connections", "p95 < 250ms"];
        let plan = parse(&line).unwrap().plan().unwrap();
        let step = |robots: u32, step| StepMade {
            sought: f64::from(robots),
            offered_rate: 10.0 * f64::from(robots),
            rate: 10.0 * f64::from(robots),
            good_share: 1.0,
            measured: Measured::Value { value: 8.5e6, at_least: false },
            step,
            connections: robots,
            warnings: vec![Warning::SynRetransmits { count: 3 }],
            counts: true,
        };
        Searched {
            sought: Sought::Robots(Crowd::of(&plan).unwrap()),
            condition: "p95 < 250ms".parse().unwrap(),
            arrivals: ArrivalsChoice::Constant,
            found: Found {
                holds: Some(edge(12_000.0, 3, 3, None)),
                fails: Some(edge(12_600.0, 0, 3, None)),
                unfinished: false,
            },
            steps: vec![
                step(100, Step::Holds),
                step(12_000, Step::Holds),
                StepMade { good_share: 0.9, ..step(12_600, Step::TooFewGood) },
                step(24_000, Step::ClientLimit(no_port())),
            ],
            no_more: "More can't be had here: only 20,000 files may be open.".into(),
            interrupted: false,
            no_answer: false,
            elsewhere: None,
        }
    }

    #[test]
    fn a_search_for_robots_is_told_in_robots() {
        let with = |change: &dyn Fn(&mut Searched)| {
            let mut searched = searched_robots();
            change(&mut searched);
            conclusion(&searched)
        };
        let searched = searched_robots();
        let lines = searched.steps.iter().enumerate();
        let lines =
            lines.map(|(index, made)| line(made, index + 1, &searched.sought, &searched.condition));
        let told = [
            lines.collect::<String>(),
            with(&|_| {}),
            with(&|searched| searched.found.fails = None),
            with(&|searched| searched.found.holds = None),
            with(&|searched| {
                searched.found.fails = Some(edge(24_000.0, 0, 3, Some(no_port())));
            }),
        ];
        insta::assert_snapshot!(told.join("\n\n"));
    }
}
