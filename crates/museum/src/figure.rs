//! The figure that somebody who believes what he sees would have printed, and the
//! true one beside it.

use load::histogram;
use result::evidence::{Load, Percentiles};
use result::{Run, Trial};

use crate::mistake::Naive;

/// Trials of which the best is taken.
const BEST_OF: usize = 3;
const NS_A_US: f64 = 1_000.0;

/// A figure as somebody would print it.
#[derive(Debug, Clone, PartialEq)]
pub enum Figure {
    /// Answers a second.
    Rate(f64),
    /// A 99th percentile, in µs.
    TimeUs(f64),
    /// The longest of all times, in µs.
    LongestUs(f64),
    /// Connections at once.
    Connections(f64),
    /// Who answers most, and how many times as many as the next.
    Winner(String, f64),
    /// None before another.
    Tie,
    /// It can't be told.
    None,
}

/// The naive figure of the run with the mistake, and the true one.
pub fn of(sabotaged: &Run, clean: &Run, naive: Naive) -> (Figure, Figure) {
    let both = |figure: fn(&Load) -> Option<f64>, as_a: fn(f64) -> Figure| {
        (median_of(sabotaged, figure, as_a), median_of(clean, figure, as_a))
    };
    match naive {
        Naive::Rate => both(rate, Figure::Rate),
        Naive::P99 => both(|load| p99(&load.service_us), Figure::TimeUs),
        Naive::LongestConnect => both(|load| load.connect_us.max, Figure::LongestUs),
        Naive::Connections => {
            both(|load| Some(load.connections_established.into()), Figure::Connections)
        }
        Naive::P99OfStalls => {
            let by_time: fn(&Load) -> _ = |load| lab::judge::p99_by_time_us(&load.service_us);
            let counted = median_of(sabotaged, |load| p99(&load.service_us), Figure::TimeUs);
            (counted, median_of(sabotaged, by_time, Figure::TimeUs))
        }
        Naive::Winner => (winner(sabotaged, median), winner(clean, median)),
        Naive::BestOfThree => (winner(sabotaged, best), ranked(clean)),
    }
}

fn loads<'a>(run: &'a Run, contender: &str) -> Vec<&'a Load> {
    let of = |trial: &&Trial| trial.slot.contender == contender && !trial.slot.twin;
    run.trials.iter().filter(of).filter_map(|trial| trial.evidence.load.as_ref()).collect()
}

/// Of the contender that the run names first.
fn median_of(run: &Run, figure: fn(&Load) -> Option<f64>, as_a: fn(f64) -> Figure) -> Figure {
    let first = run.contenders.first().map(|it| it.name.as_str()).unwrap_or_default();
    let figures: Vec<f64> = loads(run, first).into_iter().filter_map(figure).collect();
    median(&figures).map_or(Figure::None, as_a)
}

/// Answers a second, whatever they hold.
fn rate(load: &Load) -> Option<f64> {
    let is_answer = |kind: &str| matches!(kind, "wrong_body" | "wrong_status");
    let wrong: u64 = load.errors.iter().filter(|it| is_answer(&it.kind)).map(|it| it.count).sum();
    Some(load.rate + wrong as f64 / load.seconds)
}

fn p99(times: &Percentiles) -> Option<f64> {
    let all = histogram::decode(&times.histogram).filter(|all| !all.is_empty())?;
    Some(all.value_at_quantile(0.99) as f64 / NS_A_US)
}

fn median(values: &[f64]) -> Option<f64> {
    lab::statistics::median(values)
}

fn best(values: &[f64]) -> Option<f64> {
    values.iter().take(BEST_OF).copied().reduce(f64::max)
}

fn winner(run: &Run, of: fn(&[f64]) -> Option<f64>) -> Figure {
    let mut figures: Vec<(f64, String)> = run
        .contenders
        .iter()
        .filter_map(|contender| {
            let rates: Vec<f64> =
                loads(run, &contender.name).into_iter().filter_map(rate).collect();
            Some((of(&rates)?, contender.name.clone()))
        })
        .collect();
    figures.sort_by(|a, b| b.0.total_cmp(&a.0));
    match &figures[..] {
        [first, second, ..] => Figure::Winner(first.1.clone(), first.0 / second.0),
        _ => Figure::None,
    }
}

/// What the ranks say: nothing where an entry has none, since it may be before those
/// that have one.
fn ranked(run: &Run) -> Figure {
    let rows = run.outcomes.iter().flat_map(|outcome| &outcome.rows);
    let ranks: Option<Vec<u32>> = rows.map(|row| row.rank).collect();
    let first = ranks.map(|ranks| ranks.into_iter().filter(|&rank| rank == 1).count());
    match first {
        None | Some(0) => Figure::None,
        Some(1) => winner(run, median),
        Some(_) => Figure::Tie,
    }
}

#[cfg(test)]
mod tests {
    use result::evidence::Evidence;
    use result::outcome::Row;
    use result::plan::{self, Cores, Slot};

    use super::*;
    use crate::verdict::tests::{row_of, run};

    /// A run in which `a` answered twice as much as `b`, with these ranks.
    fn ranked_as(ranks: [Option<u32>; 2]) -> Figure {
        let both = ["a", "b"].into_iter().zip(ranks);
        let mut run = run(both.map(|(name, rank)| Row { rank, ..row_of(name, &[]) }).collect());
        for (contender, rate) in [("a", 200.0), ("b", 100.0)] {
            let (contender, load) = (contender.into(), plan::Load::closed(1, Cores::One, true));
            let seen = Load { rate, seconds: 1.0, ..Load::default() };
            run.trials.push(Trial {
                slot: Slot { number: 0, block: 0, contender, twin: false, load },
                started: String::new(),
                evidence: Evidence { load: Some(seen), ..Evidence::default() },
                findings: Vec::new(),
            });
        }
        ranked(&run)
    }

    #[test]
    fn who_is_first_is_told_only_where_everybody_has_a_rank() {
        assert_eq!(ranked_as([Some(1), Some(2)]), Figure::Winner("a".into(), 2.0));
        assert_eq!(ranked_as([Some(1), Some(1)]), Figure::Tie);
        for ranks in [[Some(1), None], [None, Some(1)], [None, None]] {
            assert_eq!(ranked_as(ranks), Figure::None, "{ranks:?}: who has none may be first");
        }
    }
}
