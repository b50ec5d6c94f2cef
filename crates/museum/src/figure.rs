//! The figure that somebody who believes what he sees would have printed, and the
//! true one beside it.

use histogram::median;
use result::evidence::{Evidence, Percentiles};
use result::figure::RATE;
use result::outcome::Row;
use result::{Run, Trial};

use crate::mistake::Naive;
use crate::verdict;

/// Trials of which the best is taken.
const BEST_OF: usize = 3;
const NS_A_US: f64 = 1_000.0;

/// A figure as somebody would print it.
#[derive(Debug, Clone, PartialEq)]
pub enum Figure {
    /// So many of these a second: `requests/s`.
    Rate(f64, Box<str>),
    /// A 99th percentile, in µs.
    TimeUs(f64),
    /// The longest of all times, in µs.
    LongestUs(f64),
    /// Connections at once.
    Connections(f64),
    /// Who does most, and how many times as much as the next.
    Winner(String, f64),
    /// None before another.
    Tie,
    /// It can't be told.
    None,
}

/// The naive figure of the run with the mistake, and the true one.
pub fn of(sabotaged: &Run, clean: &Run, naive: Naive) -> (Figure, Figure) {
    let both = |figure: fn(&Evidence) -> Option<f64>, as_a: fn(f64) -> Figure| {
        (median_of(sabotaged, figure, as_a), median_of(clean, figure, as_a))
    };
    let unit = sabotaged.study.figure(RATE).map(|it| it.short.as_str()).unwrap_or_default();
    let a_second = |rate| Figure::Rate(rate, unit.into());
    match naive {
        Naive::Rate => (median_of(sabotaged, rate, a_second), median_of(clean, rate, a_second)),
        Naive::RateByOwnClock => {
            (median_of(sabotaged, rate_by_own_clock, a_second), median_of(clean, rate, a_second))
        }
        Naive::P99 => both(response_p99, Figure::TimeUs),
        Naive::LongestConnect => both(|it| it.clients.first()?.connect_us.max, Figure::LongestUs),
        Naive::Connections => {
            let established =
                |it: &Evidence| Some(it.clients.first()?.connections_established.into());
            both(established, Figure::Connections)
        }
        Naive::P99OfStalls => {
            let by_time: fn(&Evidence) -> _ =
                |it| judge::checks::p99_by_time_us(&it.work.as_ref()?.response_us);
            let counted = median_of(sabotaged, response_p99, Figure::TimeUs);
            (counted, median_of(sabotaged, by_time, Figure::TimeUs))
        }
        Naive::P99OfOne => {
            let until_all: fn(&Evidence) -> _ = |it| p99(&it.deliveries.as_ref()?.until_all_us);
            let of_one = median_of(sabotaged, response_p99, Figure::TimeUs);
            (of_one, median_of(sabotaged, until_all, Figure::TimeUs))
        }
        Naive::RateDue => {
            (median_of(sabotaged, rate_due, a_second), median_of(sabotaged, rate, a_second))
        }
        Naive::Winner => {
            let truth = ranked(clean).unwrap_or_else(|| winner(clean, median));
            (winner(sabotaged, median), truth)
        }
        Naive::BestOfThree => (winner(sabotaged, best), ranked(clean).unwrap_or(Figure::None)),
    }
}

/// What trials of a contender saw that got as far as work.
fn measured<'a>(run: &'a Run, contender: &str) -> Vec<&'a Evidence> {
    let of = |trial: &&Trial| trial.slot.contender == contender && !trial.slot.twin;
    let seen = run.trials.iter().filter(of).map(|trial| &trial.evidence);
    seen.filter(|evidence| evidence.work.is_some()).collect()
}

/// Of the contender that the run names first.
fn median_of(
    run: &Run,
    figure: fn(&Evidence) -> Option<f64>,
    as_a: impl Fn(f64) -> Figure,
) -> Figure {
    let first = run.contenders.first().map(|it| it.name.as_str()).unwrap_or_default();
    let figures: Vec<f64> = measured(run, first).into_iter().filter_map(figure).collect();
    median(&figures).map_or(Figure::None, as_a)
}

/// Units of work a second: of answers, whatever they hold.
fn rate(evidence: &Evidence) -> Option<f64> {
    let work = evidence.work.as_ref()?;
    let is_answer = |kind: &str| matches!(kind, "wrong_body" | "wrong_status");
    let wrong: u64 = work.errors.iter().filter(|it| is_answer(&it.kind)).map(|it| it.count).sum();
    Some(work.rate + wrong as f64 / work.seconds)
}

/// Deliveries that were due a second, whether they came or not.
fn rate_due(evidence: &Evidence) -> Option<f64> {
    Some(evidence.clients.first()?.sent as f64 / evidence.work.as_ref()?.seconds)
}

/// What a program says that it does a second.
fn rate_by_own_clock(evidence: &Evidence) -> Option<f64> {
    let work = evidence.work.as_ref()?;
    let seconds = work.own_seconds.filter(|&seconds| seconds > 0.0)?;
    Some(work.done as f64 / seconds)
}

fn response_p99(evidence: &Evidence) -> Option<f64> {
    p99(&evidence.work.as_ref()?.response_us)
}

fn p99(times: &Percentiles) -> Option<f64> {
    let all = histogram::text::decode(&times.histogram).filter(|all| !all.is_empty())?;
    Some(all.value_at_quantile(0.99) as f64 / NS_A_US)
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
                measured(run, &contender.name).into_iter().filter_map(rate).collect();
            Some((of(&rates)?, contender.name.clone()))
        })
        .collect();
    figures.sort_by(|a, b| b.0.total_cmp(&a.0));
    match &figures[..] {
        [first, second, ..] => Figure::Winner(first.1.clone(), first.0 / second.0),
        _ => Figure::None,
    }
}

/// What the ranks say, if there are any: nothing where an entry has none, since it may
/// be before those that have one.
fn ranked(run: &Run) -> Option<Figure> {
    let rows: Vec<&Row> = verdict::rows(run).collect();
    if rows.iter().all(|row| row.rank(RATE).is_none()) {
        return None;
    }
    if rows.iter().any(|row| row.rank(RATE).is_none()) {
        return Some(Figure::None);
    }
    let first: Vec<&Row> = rows.iter().copied().filter(|row| row.rank(RATE) == Some(1)).collect();
    let next = rows.iter().find(|row| row.rank(RATE) > Some(1));
    let ratio = next.and_then(|row| row.ratio(RATE));
    Some(match (&first[..], ratio) {
        ([winner], Some(ratio)) => Figure::Winner(winner.contender.clone(), 1.0 / ratio.median),
        ([_, _, ..], _) => Figure::Tie,
        _ => Figure::None,
    })
}

#[cfg(test)]
mod tests {
    use result::evidence::{ClientSide, DeliveriesSeen, Work};
    use result::outcome::Standing;
    use result::plan::{Cores, Setting, Slot};

    use super::*;
    use crate::verdict::tests::{estimate, row_of, run, standing};

    /// A run in which others would call `a` the winner, since it answered more than `b`.
    /// With these ranks; whoever has the second is half as fast as the first.
    fn run_of_ranks(ranks: [Option<u32>; 2]) -> Run {
        let rows = ["a", "b"].into_iter().zip(ranks).map(|(name, rank)| {
            let ratio = rank.map(|rank| estimate(1.0 / f64::from(rank)));
            standing(row_of(name, &[]), Standing { rank, ratio, ..Standing::default() })
        });
        let mut run = run(rows.collect());
        for (contender, rate) in [("a", 200.0), ("b", 180.0)] {
            let (contender, setting) = (contender.into(), Setting::closed(1, Cores::One, true));
            let work = Some(Work { rate, seconds: 1.0, ..Work::default() });
            run.trials.push(Trial {
                slot: Slot { number: 0, block: 0, contender, twin: false, setting },
                started: String::new(),
                evidence: Evidence { work, ..Evidence::default() },
                findings: Vec::new(),
            });
        }
        run
    }

    /// The clock of who stops it while he waits: a half of the time.
    #[test]
    fn a_rate_has_its_studys_unit_and_may_be_by_the_programs_own_clock() {
        let mut run = run_of_ranks([None, None]);
        run.study.figures = result::kind::Kind::Program.figures(Some(("message", "messages")));
        for trial in &mut run.trials {
            let work = trial.evidence.work.as_mut().unwrap();
            (work.done, work.own_seconds) = (200, Some(0.5));
        }
        let told = |rate| Figure::Rate(rate, "messages/s".into());
        assert_eq!(of(&run, &run, Naive::Rate), (told(200.0), told(200.0)));
        assert_eq!(of(&run, &run, Naive::RateByOwnClock), (told(400.0), told(200.0)));
        for trial in &mut run.trials {
            trial.evidence.work.as_mut().unwrap().own_seconds = Some(0.0);
        }
        assert_eq!(of(&run, &run, Naive::RateByOwnClock).0, Figure::None, "it stands still");
    }

    /// Both are of the run with the mistake: without it there is nothing to tell apart.
    #[test]
    fn of_rooms_what_one_member_waited_and_what_was_due_stand_beside_what_came_to_all() {
        let mut run = run_of_ranks([None, None]);
        run.study.figures = result::kind::Kind::Rooms.figures(Some(("delivery", "deliveries")));
        let times = |us: u64| {
            let mut times = histogram::empty();
            times.record(us * 1_000).unwrap();
            Percentiles { histogram: histogram::text::encode(&times), ..Percentiles::default() }
        };
        for trial in &mut run.trials {
            trial.evidence.work.as_mut().unwrap().response_us = times(400);
            trial.evidence.clients = vec![ClientSide { sent: 250, ..ClientSide::default() }];
            let until_all_us = times(90_000);
            let seen = DeliveriesSeen { until_all_us, ..DeliveriesSeen::default() };
            trial.evidence.deliveries = Some(seen);
        }
        let clean = run_of_ranks([None, None]);
        let told = |rate| Figure::Rate(rate, "deliveries/s".into());
        assert_eq!(of(&run, &clean, Naive::RateDue), (told(250.0), told(200.0)));
        let (Figure::TimeUs(of_one), Figure::TimeUs(of_all)) = of(&run, &clean, Naive::P99OfOne)
        else {
            panic!("both are times")
        };
        assert!((of_one - 400.0).abs() < 1.0 && (of_all - 90_000.0).abs() < 100.0);
    }

    fn true_figure(naive: Naive, ranks: [Option<u32>; 2]) -> Figure {
        let run = run_of_ranks(ranks);
        of(&run, &run, naive).1
    }

    #[test]
    fn who_is_first_is_told_only_where_everybody_has_a_rank() {
        for naive in [Naive::Winner, Naive::BestOfThree] {
            let told = |ranks| true_figure(naive, ranks);
            assert_eq!(told([Some(1), Some(2)]), Figure::Winner("a".into(), 2.0));
            assert_eq!(told([Some(1), Some(1)]), Figure::Tie);
            for ranks in [[Some(1), None], [None, Some(1)]] {
                assert_eq!(told(ranks), Figure::None, "{ranks:?}: who has none may be first");
            }
        }
    }

    #[test]
    fn the_true_winner_is_who_was_ranked_first_and_not_who_answered_most() {
        for naive in [Naive::Winner, Naive::BestOfThree] {
            let told = true_figure(naive, [Some(2), Some(1)]);
            assert_eq!(told, Figure::Winner("b".into(), 2.0));
        }
    }

    #[test]
    fn without_ranks_who_answered_most_is_all_that_is_known_and_nothing_where_ranks_are_due() {
        let unranked = [None, None];
        let told = Figure::Winner("a".into(), 200.0 / 180.0);
        assert_eq!(true_figure(Naive::Winner, unranked), told);
        assert_eq!(true_figure(Naive::BestOfThree, unranked), Figure::None);
    }
}
