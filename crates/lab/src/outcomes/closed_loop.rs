//! The closed loop: who answers most requests a second.

use result::Run;
use result::finding::{Verdict, worst};
use result::outcome::{Outcome, Row};

use super::group::{Group, client_cpu_us, rate, server_cpu_us, times, unranked};
use super::limit::limit;
use crate::judge::CLIENT_LIMIT;
use crate::plan::Phase;

/// One outcome a load that has trials.
pub(super) fn outcomes(run: &Run) -> Vec<Outcome> {
    super::by_load(run, Phase::ClosedLoop)
        .into_iter()
        .map(|(load, trials)| outcome(&Group::new(run, load, trials)))
        .collect()
}

fn outcome(group: &Group) -> Outcome {
    let noise_floor = group.noise_floor(rate);
    let contenders = group.contenders.iter();
    let mut rows: Vec<Row> =
        contenders.filter_map(|contender| row(group, &contender.name, noise_floor)).collect();
    rows.sort_by(|a, b| b.rate.median.total_cmp(&a.rate.median));
    group.rank(&mut rows, rate, noise_floor);
    let sentence = sentence(group, &rows);
    Outcome { load: group.load.clone(), noise_floor, rows, sentence }
}

/// A contender's row; `None` where no trial of it got as far as load.
fn row(group: &Group, contender: &str, noise_floor: Option<f64>) -> Option<Row> {
    let mut rate = group.estimate(contender, rate)?;
    let findings = group.findings(contender);
    let verdict = worst(&findings);
    rate.at_least = findings
        .iter()
        .any(|finding| finding.check == CLIENT_LIMIT.id && finding.verdict >= Verdict::Suspect);
    Some(Row {
        contender: contender.into(),
        rank: None,
        unranked: unranked(verdict, rate.blocks.len(), noise_floor),
        rate,
        limit: Some(limit(&findings, &group.of(contender, false))),
        rate_ratio: None,
        server_cpu_us: group.estimate_of_all(contender, server_cpu_us),
        client_cpu_us: group.estimate_of_all(contender, client_cpu_us),
        p50_us: group.latency_us(contender, 50.0),
        p99_us: group.latency_us(contender, 99.0),
        verdict,
        findings,
    })
}

fn sentence(group: &Group, rows: &[Row]) -> String {
    group.sentence(rows, |[winner, second], [first_title, second_title]| {
        let apart = match group.ratio(winner.contender, second.contender, rate) {
            Some(ratio) => format!("{} as many requests a second as", times(&ratio)),
            None => "more requests a second than".into(),
        };
        format!("{first_title} answers {apart} {second_title}.")
    })
}

#[cfg(test)]
mod tests {
    use result::Trial;
    use result::plan::{Contender, Cores, Load, Tier};

    use super::super::tests::{contender, invalid, run_of, suspect, trial};
    use super::*;

    /// Rates of contenders `a` and `b` and of `a`'s twin, block by block.
    fn trials(a: &[f64], b: &[f64], twin: &[f64]) -> Vec<Trial> {
        let of = |name: &'static str, is_twin: bool, rates: &[f64]| {
            let (rates, load) = (rates.to_vec(), Load::closed(100, Cores::One, true));
            (0..).zip(rates).map(move |(block, rate)| {
                let mut trial = trial(name, block, &load, rate);
                trial.slot.twin = is_twin;
                trial
            })
        };
        of("a", false, a).chain(of("b", false, b)).chain(of("a", true, twin)).collect()
    }

    fn concluded(trials: &[Trial]) -> Outcome {
        let run = run_of(&[contender("a"), contender("b")], trials.to_vec());
        let mut outcomes = outcomes(&run);
        assert_eq!(outcomes.len(), 1);
        outcomes.remove(0)
    }

    fn ranks(outcome: &Outcome) -> Vec<(&str, Option<u32>)> {
        outcome.rows.iter().map(|row| (&*row.contender, row.rank)).collect()
    }

    const STEADY: [f64; 6] = [100.0; 6];
    const NOISY: [f64; 6] = [101.0, 99.0, 101.0, 99.0, 101.0, 99.0];

    #[test]
    fn a_clear_difference_is_ranked_with_its_ratio() {
        let outcome = concluded(&trials(&STEADY, &[50.0; 6], &NOISY));
        assert_eq!(ranks(&outcome), [("a", Some(1)), ("b", Some(2))]);
        assert_eq!(outcome.rows[1].rate_ratio.as_ref().unwrap().interval, Some((0.5, 0.5)));
        insta::assert_snapshot!(outcome.sentence, @"A answers 2.00 times (2.00 to 2.00) as many requests a second as B.");
    }

    #[test]
    fn a_difference_within_the_noise_of_twins_is_a_tie() {
        let outcome = concluded(&trials(&STEADY, &[99.5; 6], &NOISY));
        assert_eq!(ranks(&outcome), [("a", Some(1)), ("b", Some(1))]);
        insta::assert_snapshot!(outcome.sentence, @"A and B tie: no difference beyond chance and noise.");
    }

    /// 400 runs of which chance lets 3.1 % pass the exact test alone.
    #[test]
    fn of_equal_contenders_at_most_5_of_100_runs_name_a_winner() {
        let mut rng = fastrand::Rng::with_seed(9);
        let mut rates = || -> Vec<f64> { (0..6).map(|_| 100.0 + 10.0 * rng.f64()).collect() };
        let winners = (0..400).filter(|_| {
            let outcome = concluded(&trials(&rates(), &rates(), &rates()));
            outcome.rows.iter().any(|row| row.rank == Some(2))
        });
        let count = winners.count();
        assert!(count <= 20, "{count} of 400 runs of equals have a winner");
    }

    #[test]
    fn a_difference_that_changes_sides_is_a_tie_however_large() {
        let b = [50.0, 150.0, 50.0, 150.0, 50.0, 140.0];
        let outcome = concluded(&trials(&STEADY, &b, &STEADY));
        assert_eq!(ranks(&outcome), [("a", Some(1)), ("b", Some(1))]);
    }

    #[test]
    fn five_blocks_are_not_ranked() {
        let outcome = concluded(&trials(&STEADY[..5], &[50.0; 5], &NOISY[..5]));
        assert_eq!(ranks(&outcome), [("a", None), ("b", None)]);
        assert_eq!(outcome.rows[0].rate.interval, None);
        insta::assert_snapshot!(outcome.sentence, @"Nobody is ranked: a rank needs 6 blocks, and this run has fewer.");
    }

    #[test]
    fn without_twins_nobody_is_ranked() {
        let outcome = concluded(&trials(&STEADY, &[50.0; 6], &[]));
        assert_eq!(ranks(&outcome), [("a", None), ("b", None)]);
    }

    #[test]
    fn one_invalid_block_takes_the_rank_and_not_the_figures() {
        let mut trials = trials(&STEADY, &[50.0; 6], &NOISY);
        trials[3].findings.push(invalid("errors"));
        let outcome = concluded(&trials);
        assert_eq!(ranks(&outcome), [("a", None), ("b", Some(1))]);
        assert_eq!(outcome.rows[0].verdict, Verdict::Invalid);
        assert_eq!(outcome.rows[0].rate.median, 100.0, "it stays in the report, struck out");
        insta::assert_snapshot!(outcome.sentence, @"Only B could be ranked.");
    }

    #[test]
    fn a_doubtful_figure_is_named_so_in_the_finding_itself() {
        let mut trials = trials(&STEADY, &[50.0; 6], &NOISY);
        trials[0].findings.push(suspect("server-cores"));
        insta::assert_snapshot!(concluded(&trials).sentence, @"A (suspect) answers 2.00 times (2.00 to 2.00) as many requests a second as B.");
        trials[6].findings.push(invalid("errors"));
        insta::assert_snapshot!(concluded(&trials).sentence, @"Only A (suspect) could be ranked.");
    }

    #[test]
    fn who_is_not_ranked_is_named_where_reasons_differ() {
        let mut trials = trials(&STEADY[..5], &[50.0; 5], &NOISY[..5]);
        trials[0].findings.push(invalid("errors"));
        insta::assert_snapshot!(concluded(&trials).sentence, @"Nobody is ranked (a: the figures are invalid; b: a rank needs 6 blocks, and this run has fewer).");
    }

    #[test]
    fn where_the_client_was_near_its_limit_a_rate_is_a_lower_bound() {
        let mut trials = trials(&STEADY, &[50.0; 6], &NOISY);
        trials[0].findings.push(suspect(CLIENT_LIMIT.id));
        let outcome = concluded(&trials);
        assert!(outcome.rows[0].rate.at_least && !outcome.rows[1].rate.at_least);
    }

    #[test]
    fn a_percentile_that_one_block_lacks_is_withheld() {
        let mut trials = trials(&STEADY, &[50.0; 6], &NOISY);
        assert_eq!(concluded(&trials).rows[0].p99_us.as_ref().unwrap().median, 10_000.0);
        trials[2].evidence.load.as_mut().unwrap().service_us.at.clear();
        assert_eq!(concluded(&trials).rows[0].p99_us, None);
    }

    #[test]
    fn a_percentile_that_is_a_lower_bound_in_one_block_is_one() {
        let mut trials = trials(&STEADY, &[50.0; 6], &NOISY);
        trials[2].evidence.load.as_mut().unwrap().service_us.at[0].at_least = true;
        let outcome = concluded(&trials);
        let at_least = |row: usize| outcome.rows[row].p99_us.as_ref().unwrap().at_least;
        assert!(at_least(0) && !at_least(1));
    }

    #[test]
    fn without_answers_there_is_no_cpu_a_request() {
        let mut trials = trials(&STEADY, &[50.0; 6], &NOISY);
        trials[2].evidence.load.as_mut().unwrap().answers = 0;
        let row = &concluded(&trials).rows[0];
        assert_eq!((&row.server_cpu_us, &row.client_cpu_us), (&None, &None), "never 0");
    }

    #[test]
    fn cpu_a_request_is_cpu_by_answers() {
        let outcome = concluded(&trials(&STEADY, &[50.0; 6], &NOISY));
        assert_eq!(outcome.rows[0].server_cpu_us.as_ref().unwrap().median, 10_000.0);
        assert_eq!(outcome.rows[1].client_cpu_us.as_ref().unwrap().median, 10_000.0);
    }

    #[test]
    fn who_never_got_as_far_as_load_has_no_row() {
        let mut trials = trials(&STEADY, &[50.0], &NOISY);
        trials[6].evidence.load = None;
        assert_eq!(ranks(&concluded(&trials)), [("a", Some(1))]);
    }

    /// What is said where `b` answers half of what `a` does, after a change to `b`.
    fn sentence_with(change: impl FnOnce(&mut Contender)) -> String {
        let mut b = contender("b");
        change(&mut b);
        let trials = trials(&STEADY, &[50.0; 6], &NOISY);
        outcomes(&run_of(&[contender("a"), b], trials))[0].sentence.clone()
    }

    #[test]
    fn unequal_tiers_are_not_compared_without_saying_so() {
        let sentence = sentence_with(|b| b.tier = Tier::Tuned);
        insta::assert_snapshot!(sentence, @"A (idiomatic) answers 2.00 times (2.00 to 2.00) as many requests a second as B (tuned).");
    }

    #[test]
    fn unequal_contracts_are_not_compared_without_saying_so() {
        let sentence = sentence_with(|b| b.lighter_contract = Some("static".into()));
        insta::assert_snapshot!(sentence, @"A answers 2.00 times (2.00 to 2.00) as many requests a second as B. b keeps the lighter contract `static`, the others the full one.");
    }
}
