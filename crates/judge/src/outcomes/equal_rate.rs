//! One rate for all: whose answers cost the least CPU time. It is the figure
//! that noise moves least, since nobody is at a limit.

use result::Run;
use result::finding::worst;
use result::outcome::{EqualRate, EqualRateRow};
use result::plan::Arrivals;
use result::plan::Phase;

use super::group::{Best, Group, rate, server_cpu_us, times, unranked};
use crate::rates;

/// One outcome a load that has trials.
pub(super) fn outcomes(run: &Run) -> Vec<EqualRate> {
    super::by_load(run, Phase::EqualRate)
        .into_iter()
        .filter_map(|(load, trials)| {
            let Arrivals::Equal { percent } = load.arrivals else { return None };
            let rate = rates::equal(run, load, percent).ok()?;
            Some(outcome(&Group::new(run, load, trials), rate))
        })
        .collect()
}

fn outcome(group: &Group, rate: rates::EqualRate) -> EqualRate {
    let noise_floor = group.noise_floor(server_cpu_us);
    let contenders = group.contenders.iter();
    let mut rows: Vec<EqualRateRow> =
        contenders.filter_map(|contender| row(group, &contender.name, noise_floor)).collect();
    // Unknown costs stand last.
    let cost = |row: &EqualRateRow| row.server_cpu_us.as_ref().map_or(f64::MAX, |it| it.median);
    rows.sort_by(|a, b| cost(a).total_cmp(&cost(b)));
    let noise_floor = noise_floor.ok();
    group.rank(&mut rows, (server_cpu_us, Best::Least), noise_floor);
    let sentence = sentence(group, &rows, rate.rate);
    EqualRate {
        load: group.load.clone(),
        offered_rate: rate.rate,
        rule: rate.rule,
        noise_floor,
        rows,
        sentence,
    }
}

/// A contender's row; `None` where no trial of it got as far as load.
fn row(
    group: &Group,
    contender: &str,
    noise_floor: Result<f64, &'static str>,
) -> Option<EqualRateRow> {
    let rate = group.estimate(contender, rate)?;
    let findings = group.findings(contender);
    let verdict = worst(&findings);
    let server_cpu_us = group.estimate_of_all(contender, server_cpu_us);
    let unranked = match &server_cpu_us {
        Some(cpu) => unranked(verdict, cpu.blocks.len(), noise_floor),
        None => Some("its CPU time is not known in every block".into()),
    };
    Some(EqualRateRow {
        contender: contender.into(),
        rank: None,
        unranked,
        server_cpu_us,
        cpu_ratio: None,
        rate,
        p50_us: group.latency_us(contender, 50.0),
        p99_us: group.latency_us(contender, 99.0),
        verdict,
        findings,
    })
}

fn sentence(group: &Group, rows: &[EqualRateRow], rate: f64) -> String {
    let better = "took less CPU time than";
    group.sentence(rows, better, |[winner, second], [first_title, second_title]| {
        let apart = match group.ratio(second.contender, winner.contender, server_cpu_us) {
            Some(ratio) => format!("{} as much CPU time an answer as", times(&ratio)),
            None => "more CPU time an answer than".into(),
        };
        format!("At {rate:.0} requests a second {second_title} takes {apart} {first_title}.")
    })
}

#[cfg(test)]
mod tests {
    use result::finding::Verdict;
    use result::plan::{Cores, Load};

    use super::*;
    use crate::samples::{contender, invalid, run_of, trial};

    fn base() -> Load {
        Load::closed(100, Cores::One, true)
    }

    /// Two contenders with maxima of 1,000 and 500 answers a second, offered 400,
    /// at this many CPU µs an answer, block by block; the twin is `a`'s.
    fn costs(a: &[f64], b: &[f64], twin: &[f64]) -> Run {
        let equal = base().with(Arrivals::Equal { percent: 80 });
        let mut trials = Vec::new();
        for (name, maximum) in [("a", 1000.0), ("b", 500.0)] {
            trials.extend((0..6).map(|block| trial(name, block, &base(), maximum)));
        }
        for (name, is_twin, costs) in [("a", false, a), ("b", false, b), ("a", true, twin)] {
            for (block, cost) in (0..).zip(costs) {
                let mut trial = trial(name, block, &equal, 400.0);
                trial.slot.twin = is_twin;
                trial.evidence.load.as_mut().unwrap().offered_rate = Some(400.0);
                trial.evidence.server_cpu_s = Some(cost * 400.0 / 1e6);
                trials.push(trial);
            }
        }
        run_of(&[contender("a"), contender("b")], trials)
    }

    const STEADY: [f64; 6] = [20.0; 6];
    const NOISY: [f64; 6] = [20.2, 19.8, 20.2, 19.8, 20.2, 19.8];

    fn concluded(run: &Run) -> EqualRate {
        let mut outcomes = outcomes(run);
        assert_eq!(outcomes.len(), 1);
        outcomes.remove(0)
    }

    fn ranks(outcome: &EqualRate) -> Vec<(&str, Option<u32>)> {
        outcome.rows.iter().map(|row| (&*row.contender, row.rank)).collect()
    }

    #[test]
    fn the_cheaper_answer_is_first_whoever_has_the_higher_maximum() {
        let outcome = concluded(&costs(&STEADY, &[10.0; 6], &NOISY));
        assert_eq!(ranks(&outcome), [("b", Some(1)), ("a", Some(2))]);
        let ratio = outcome.rows[1].cpu_ratio.as_ref().unwrap();
        assert!((ratio.median - 2.0).abs() < 1e-9, "{ratio:?}");
        insta::assert_snapshot!(outcome.sentence, @"At 400 requests a second A takes 2.00 times (2.00 to 2.00) as much CPU time an answer as B.");
        insta::assert_snapshot!(outcome.rule, @"80 % of the lowest maximum in the closed loop, that of B: 500 answers a second.");
    }

    #[test]
    fn costs_within_the_noise_of_twins_tie() {
        let outcome = concluded(&costs(&STEADY, &[19.9; 6], &NOISY));
        assert_eq!(ranks(&outcome), [("b", Some(1)), ("a", Some(1))]);
    }

    #[test]
    fn who_couldnt_hold_the_rate_has_no_rank() {
        let mut run = costs(&STEADY, &[10.0; 6], &NOISY);
        let held = |trial: &&mut result::Trial| trial.slot.load.arrivals != Arrivals::Closed;
        let of_b = run.trials.iter_mut().filter(held).find(|it| it.slot.contender == "b");
        of_b.unwrap().findings.push(invalid("offered-rate"));
        let outcome = concluded(&run);
        assert_eq!(ranks(&outcome), [("b", None), ("a", Some(1))]);
        assert_eq!(outcome.rows[0].verdict, Verdict::Invalid);
        insta::assert_snapshot!(outcome.sentence, @"Only A could be ranked. Not ranked: B (the figures are invalid). B took less CPU time than A.");
    }

    #[test]
    fn an_unknown_cpu_time_stands_last_without_a_rank() {
        let mut run = costs(&STEADY, &[10.0; 6], &NOISY);
        run.trials.iter_mut().filter(|trial| trial.slot.contender == "b").for_each(|trial| {
            trial.evidence.server_cpu_s = None;
        });
        let outcome = concluded(&run);
        assert_eq!(ranks(&outcome), [("a", Some(1)), ("b", None)]);
        assert!(outcome.rows[1].unranked.as_ref().unwrap().contains("CPU time is not known"));
    }
}
