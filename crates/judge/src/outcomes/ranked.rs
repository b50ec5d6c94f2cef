//! Who is the best by each figure that ranks: where all go as fast as they can, and at one
//! rate for all. At one rate nobody is at a limit, so that noise moves its figures least.

use std::collections::BTreeSet;

use result::durability::Classes;
use result::figure::{Better, Figure};
use result::finding::{Verdict, worst};
use result::outcome::{Offered, Outcome, Ranking, Row, Standing};
use result::plan::{PaceKind, Setting};
use result::{Run, Trial};

use super::doubt;
use super::group::{Group, by_setting};
use super::limit::limit;
use super::sentence::sentence;
use crate::checks::is_of_no_class;
use crate::rates;
use crate::statistics::BLOCKS_MIN;

/// One outcome a setting at a free pace that has trials, for each class of stores.
pub(super) fn at_free_pace(run: &Run) -> Vec<Outcome> {
    let mut outcomes = Vec::new();
    for (setting, trials) in by_setting(run, PaceKind::Free) {
        outcomes.extend(of_each_class(run, (setting, trials), None));
    }
    outcomes
}

/// One outcome a rate for all that has trials, for each class of stores.
pub(super) fn at_one_rate(run: &Run) -> Vec<Outcome> {
    let mut outcomes = Vec::new();
    for (setting, trials) in by_setting(run, PaceKind::Equal) {
        let Ok(offered) = rates::equal(run, setting) else { continue };
        outcomes.extend(of_each_class(run, (setting, trials), Some(offered)));
    }
    outcomes
}

/// The outcomes under one setting. A store that keeps nothing is no rival of one that waits for
/// its disk, so each class has its own; there is one of contenders that have no class.
fn of_each_class(
    run: &Run,
    (setting, trials): (&Setting, Vec<&Trial>),
    offered: Option<Offered>,
) -> Vec<Outcome> {
    let measured = trials.iter().map(|trial| run.classes(&trial.slot.contender));
    let classes: BTreeSet<Option<Classes>> = measured.collect();
    let of_class = |&classes: &Option<Classes>| {
        let group = Group::new(run, setting, trials.clone()).of_class(run, classes);
        Outcome {
            class: classes.and_then(|it| it.least),
            class_at_most: classes.map(|it| it.most),
            ..outcome(&group, offered.clone())
        }
    };
    classes.iter().rev().map(of_class).collect()
}

fn outcome(group: &Group, offered: Option<Offered>) -> Outcome {
    let contenders = group.contenders.iter();
    let mut rows: Vec<Row> = contenders.filter_map(|it| row(group, &it.name)).collect();
    let rate = offered.as_ref().map(|it| it.rate);
    let pace = group.setting.pace.kind();
    let ranking = group.figures.iter().filter(|figure| figure.ranks_at(pace));
    // The first comes last, so that rows stay in its order.
    let mut rankings: Vec<Ranking> =
        ranking.rev().map(|figure| rank(group, &mut rows, figure, rate)).collect();
    rankings.reverse();
    let setting = group.setting.clone();
    Outcome { setting, class: None, class_at_most: None, offered, rankings, rows }
}

/// A contender's row, without its standings; `None` where no trial of it got as far as work.
fn row(group: &Group, contender: &str) -> Option<Row> {
    let findings = group.findings(contender);
    let figures = group.figures(contender, &findings)?;
    let is_free = group.setting.pace.kind() == PaceKind::Free;
    Some(Row {
        contender: contender.into(),
        limit: is_free.then(|| limit(&findings, &group.of(contender, false))),
        figures,
        standings: Default::default(),
        verdict: worst(&findings),
        findings,
    })
}

/// Puts the rows in the order of a figure, and gives each its standing.
fn rank(group: &Group, rows: &mut [Row], figure: &Figure, offered: Option<f64>) -> Ranking {
    // All are of one class.
    let classes = rows.first().and_then(|row| group.classes(&row.contender));
    let noise_floor = group.noise_floor(&figure.id, classes);
    for row in rows.iter_mut() {
        let unranked = unranked(row, figure, noise_floor);
        row.standings.insert(figure.id.clone(), Standing { unranked, ..Standing::default() });
    }
    rows.sort_by(|a, b| in_order(a, b, figure));
    let noise_floor = noise_floor.ok();
    group.rank(rows, figure, noise_floor);
    tell_doubt(rows, figure);
    let sentence = sentence(group, rows, figure, offered);
    Ranking { figure: figure.id.clone(), noise_floor, sentence }
}

/// Tells of each row behind the first whether their order holds whatever is doubted of them.
fn tell_doubt(rows: &mut [Row], figure: &Figure) {
    let Some(first) = rows.iter().find(|row| row.rank(&figure.id) == Some(1)).cloned() else {
        return;
    };
    for row in rows.iter_mut().filter(|row| row.rank(&figure.id) > Some(1)) {
        let is_doubted = [first.verdict, row.verdict].contains(&Verdict::Suspect);
        let ratio = row.ratio(&figure.id);
        let holds = is_doubted && ratio.is_some_and(|it| doubt::cannot_change(&first, row, it));
        if let Some(standing) = row.standings.get_mut(&figure.id) {
            standing.beyond_doubt = holds;
        }
    }
}

/// The better one first; who isn't known, last.
fn in_order(a: &Row, b: &Row, figure: &Figure) -> std::cmp::Ordering {
    let worst = match figure.better {
        Better::More => f64::MIN,
        Better::Less => f64::MAX,
    };
    let [a, b] = [a, b].map(|row| row.figure(&figure.id).map_or(worst, |it| it.median));
    match figure.better {
        Better::More => b.total_cmp(&a),
        Better::Less => a.total_cmp(&b),
    }
}

/// Why a row may not be ranked by a figure.
pub(super) fn unranked(
    row: &Row,
    figure: &Figure,
    noise_floor: Result<f64, &str>,
) -> Option<String> {
    let Some(estimate) = row.figure(&figure.id) else {
        return Some(format!("its {} is not known in every block", figure.title));
    };
    if row.verdict == Verdict::Invalid {
        return Some("the figures are invalid".into());
    }
    if row.findings.iter().any(is_of_no_class) {
        return Some("it isn't known which of these stores survive more".into());
    }
    if estimate.blocks.iter().any(|value| *value <= 0.0) {
        // Those that are left would be chosen by their outcome.
        return Some(format!("its {} is 0 in a block, which gives no ratio", figure.title));
    }
    if estimate.blocks.len() < BLOCKS_MIN {
        return Some(format!("a rank needs {BLOCKS_MIN} blocks, and this run has fewer"));
    }
    noise_floor.err().map(|why| format!("a rank needs a noise floor, and {why}"))
}

#[cfg(test)]
mod tests {
    use result::durability::Class;
    use result::finding::Finding;
    use result::plan::{Contender, Cores, Tier};

    use result::figure::{CLIENT_CPU_US, CPU_US, P99_US, RATE};

    use super::*;
    use crate::checks::CLIENT_LIMIT;
    use crate::samples::{contender, finding, invalid, run_of, suspect, trial};
    use crate::statistics::SIGNIFICANCE;

    /// Contenders, whether each is the second of the A/A pair, and their rates, block
    /// by block.
    fn trials_of(entries: &[(&str, bool, &[f64])]) -> Vec<Trial> {
        let load = Setting::closed(100, Cores::One, true);
        let mut trials = Vec::new();
        for &(name, is_twin, rates) in entries {
            for (block, rate) in (0..).zip(rates) {
                let mut trial = trial(name, block, &load, *rate);
                trial.slot.twin = is_twin;
                trials.push(trial);
            }
        }
        trials
    }

    /// Rates of contenders `a` and `b` and of `a`'s twin, block by block.
    fn trials(a: &[f64], b: &[f64], twin: &[f64]) -> Vec<Trial> {
        trials_of(&[("a", false, a), ("b", false, b), ("a", true, twin)])
    }

    /// Steady rates of `a`, which has a twin, `b`, `c` and so on.
    fn steady(rates: &[f64]) -> Vec<Trial> {
        let each: Vec<[f64; 6]> = rates.iter().map(|rate| [*rate; 6]).collect();
        let names = ["a", "b", "c", "d"];
        let mut entries: Vec<(&str, bool, &[f64])> =
            names.into_iter().zip(&each).map(|(name, rates)| (name, false, &rates[..])).collect();
        let twin = NOISY.map(|rate| rate * rates[0] / 100.0);
        entries.push(("a", true, &twin[..]));
        trials_of(&entries)
    }

    /// Lets a check speak against a contender's first trial.
    fn object(trials: &mut [Trial], contender: &str, finding: Finding) {
        let of = trials.iter_mut().find(|it| it.slot.contender == contender && !it.slot.twin);
        of.unwrap().findings.push(finding);
    }

    fn concluded(trials: &[Trial]) -> Outcome {
        let names: BTreeSet<&str> = trials.iter().map(|it| &*it.slot.contender).collect();
        let contenders: Vec<Contender> = names.into_iter().map(contender).collect();
        let run = run_of(&contenders, trials.to_vec());
        let mut outcomes = at_free_pace(&run);
        assert_eq!(outcomes.len(), 1);
        outcomes.remove(0)
    }

    fn ranks(outcome: &Outcome) -> Vec<(&str, Option<u32>)> {
        outcome.rows.iter().map(|row| (&*row.contender, row.rank(RATE))).collect()
    }

    const STEADY: [f64; 6] = [100.0; 6];
    const NOISY: [f64; 6] = [101.0, 99.0, 101.0, 99.0, 101.0, 99.0];

    #[test]
    fn a_clear_difference_is_ranked_with_its_ratio() {
        let outcome = concluded(&trials(&STEADY, &[50.0; 6], &NOISY));
        assert_eq!(ranks(&outcome), [("a", Some(1)), ("b", Some(2))]);
        assert_eq!(outcome.rows[1].ratio(RATE).unwrap().interval, Some((0.5, 0.5)));
        insta::assert_snapshot!(outcome.rankings[0].sentence, @"A answers 2.00 times (2.00 to 2.00) as many requests a second as B.");
    }

    /// A store that keeps nothing is no rival of one that waits for its disk.
    #[test]
    fn stores_are_ranked_within_what_they_survive_and_never_beside_others() {
        let trials = steady(&[100.0, 50.0, 20.0, 10.0]);
        let contenders = ["a", "b", "c", "d"].map(contender);
        let mut run = run_of(&contenders, trials);
        let (kept, lost, unknown) = (Some(0), Some(9), None);
        let rungs = [[kept, lost, unknown], [kept; 3], [kept; 3], [kept, unknown, unknown]];
        for (contender, rungs) in contenders.iter().zip(rungs) {
            run.durability.push(crate::samples::cut_off(&contender.name, rungs));
        }
        let outcomes = at_free_pace(&run);
        let seen: Vec<_> = outcomes.iter().map(|it| (it.class, ranks(it))).collect();
        let of = |class, ranks: &[(&'static str, Option<u32>)]| (Some(class), ranks.to_vec());
        assert_eq!(
            seen,
            [
                of(Class::Power, &[("b", Some(1)), ("c", Some(2))]),
                of(Class::Process, &[("d", None)]),
                of(Class::Process, &[("a", Some(1))]),
            ]
        );
        let sentences = outcomes.iter().map(|it| &*it.rankings[0].sentence);
        assert_eq!(
            sentences.collect::<Vec<_>>(),
            [
                "B answers 2.50 times (2.50 to 2.50) as many requests a second as C.",
                "Nobody is ranked: it isn't known which of these stores survive more.",
                "Only A could be ranked.",
            ]
        );
    }

    /// Two stores that wait for their disk are 3 % apart in each block, and identical ones up to
    /// 8 %. That two in memory are alike to 1 % tells nothing of them.
    #[test]
    fn each_class_has_the_noise_of_its_own_pair() {
        let of = |rate: f64, noise: f64| -> [f64; 6] {
            std::array::from_fn(|block| rate * (1.0 + if block % 2 == 0 { noise } else { -noise }))
        };
        let (quiet, noisy) = (of(1000.0, 0.01), of(100.0, 0.08));
        let trials = trials_of(&[
            ("a", false, &[1000.0; 6]),
            ("a", true, &quiet),
            ("b", false, &[970.0; 6]),
            ("c", false, &[100.0; 6]),
            ("c", true, &noisy),
            ("d", false, &[97.0; 6]),
        ]);
        let contenders = ["a", "b", "c", "d"].map(contender);
        let mut run = run_of(&contenders, trials);
        for (contender, lost) in contenders.iter().zip([9, 9, 0, 0]) {
            run.durability.push(crate::samples::cut_off(&contender.name, [Some(lost); 3]));
        }
        let outcomes = at_free_pace(&run);
        let seen: Vec<_> = outcomes.iter().map(ranks).collect();
        assert_eq!(seen[0], [("c", Some(1)), ("d", Some(1))], "a difference within its noise");
        assert_eq!(seen[1], [("a", Some(1)), ("b", Some(2))], "a difference beyond its noise");
        let said = |outcome: &Outcome| {
            let finding = outcome.rows[0].findings.iter().find(|it| it.check == "replication");
            finding.unwrap().value.clone()
        };
        assert!(said(&outcomes[0]).contains("up to 8.7 %"), "{}", said(&outcomes[0]));
        assert!(said(&outcomes[1]).contains("up to 1 %"), "{}", said(&outcomes[1]));

        // A run that was made with one pair a load reads as it did.
        run.trials.retain(|trial| !(trial.slot.twin && trial.slot.contender == "c"));
        let outcomes = at_free_pace(&run);
        assert_eq!(ranks(&outcomes[0]), [("c", Some(1)), ("d", Some(2))]);
    }

    /// Where the way is missing to find it out, a store that syncs each write and one that never
    /// does survive the same as far as anybody knows.
    #[test]
    fn stores_of_which_it_isnt_known_who_survives_more_are_not_ranked() {
        let contenders = ["a", "b"].map(contender);
        let mut run = run_of(&contenders, trials(&STEADY, &[50.0; 6], &NOISY));
        for contender in ["a", "b"] {
            run.durability.push(crate::samples::cut_off(contender, [Some(0), None, None]));
        }
        let outcomes = at_free_pace(&run);
        let [outcome] = &outcomes[..] else { panic!("{outcomes:?}") };
        assert_eq!(ranks(outcome), [("a", None), ("b", None)]);
        assert_eq!(
            (outcome.class, outcome.class_at_most),
            (Some(Class::Process), Some(Class::Power))
        );
        assert!(outcome.rows.iter().all(|row| row.verdict == Verdict::Suspect));
    }

    /// Of three times, no noisy neighbour makes another order.
    #[test]
    fn doubt_that_cannot_change_an_order_says_so() {
        let doubted = |off_by_max| {
            let mut trials = trials(&STEADY, &[33.0; 6], &NOISY);
            object(&mut trials, "b", Finding { off_by_max, ..suspect("server-cores") });
            concluded(&trials)
        };
        let outcome = doubted(Some(1.5));
        assert!(outcome.rows[1].standings[RATE].beyond_doubt);
        insta::assert_snapshot!(outcome.rankings[0].sentence, @"A answers 3.03 times (3.03 to 3.03) as many requests a second as B, far beyond what is doubted.");
        for off_by_max in [Some(3.1), None] {
            let outcome = doubted(off_by_max);
            assert!(!outcome.rows[1].standings[RATE].beyond_doubt);
            assert!(outcome.rankings[0].sentence.contains("(suspect)"));
        }
    }

    #[test]
    fn a_difference_within_the_noise_of_twins_is_a_tie() {
        let outcome = concluded(&trials(&STEADY, &[99.5; 6], &NOISY));
        assert_eq!(ranks(&outcome), [("a", Some(1)), ("b", Some(1))]);
        insta::assert_snapshot!(outcome.rankings[0].sentence, @"A and B tie: no difference beyond chance and noise.");
    }

    /// Of 400 runs chance lets 3.1 % pass the exact test alone: the rest is the noise
    /// of twins.
    #[test]
    fn of_equal_contenders_at_most_2_of_100_runs_name_a_winner() {
        let mut rng = fastrand::Rng::with_seed(9);
        let mut rates = || -> Vec<f64> { (0..6).map(|_| 100.0 + 10.0 * rng.f64()).collect() };
        let winners = (0..400).filter(|_| {
            let outcome = concluded(&trials(&rates(), &rates(), &rates()));
            outcome.rows.iter().any(|row| row.rank(RATE) == Some(2))
        });
        let count = winners.count();
        assert!(count <= 8, "{count} of 400 runs of equals have a winner");
    }

    /// Six blocks of so many equals, whose trials are 3 % off by chance. Those of the
    /// A/A pair are so many times less.
    fn equals(rng: &mut fastrand::Rng, count: usize, quieter: f64) -> Vec<Trial> {
        let mut rates = |noise: f64| -> Vec<f64> {
            let mut normal = || (0..12).map(|_| rng.f64()).sum::<f64>() - 6.0;
            (0..6).map(|_| 100.0 * (1.0 + noise * normal())).collect()
        };
        let pair = [rates(0.03 / quieter), rates(0.03 / quieter)];
        let others: Vec<(String, Vec<f64>)> =
            (1..count).map(|number| (format!("c{number}"), rates(0.03))).collect();
        let mut entries: Vec<(&str, bool, &[f64])> =
            others.iter().map(|(name, rates)| (&**name, false, &rates[..])).collect();
        entries.push(("c0", false, &pair[0]));
        entries.push(("c0", true, &pair[1]));
        trials_of(&entries)
    }

    /// The first of many equals is the luckiest of them, and each is compared with it
    /// or with another first of a tie. What chance parts all the same is less than the
    /// report says, which counts 5 % of the comparisons: it is about 1 %, since a
    /// difference has to go beyond the noise as well, and 3 to 4 % if the A/A pair shows a
    /// third of the noise, or none.
    #[test]
    fn of_many_equals_chance_parts_fewer_comparisons_than_the_report_says() {
        const RUNS: usize = 150;
        let mut rng = fastrand::Rng::with_seed(11);
        for (count, quieter, most) in
            [(8, 1.0, 0.02), (14, 1.0, 0.02), (8, 3.0, SIGNIFICANCE), (14, 3.0, SIGNIFICANCE)]
        {
            let mut parted = 0;
            for _ in 0..RUNS {
                let outcome = concluded(&equals(&mut rng, count, quieter));
                let ranks: BTreeSet<_> = outcome.rows.iter().map(|row| row.rank(RATE)).collect();
                parted += ranks.len() - 1;
            }
            let share = parted as f64 / (RUNS * (count - 1)) as f64;
            assert!(share <= most, "{count} equals, pair {quieter} times quieter: {share}");
        }
    }

    #[test]
    fn a_difference_that_changes_sides_is_a_tie_however_large() {
        let b = [50.0, 150.0, 50.0, 150.0, 50.0, 140.0];
        let outcome = concluded(&trials(&STEADY, &b, &STEADY));
        assert_eq!(ranks(&outcome), [("a", Some(1)), ("b", Some(1))]);
    }

    /// In eight of nine blocks `b` is the faster one by a tenth, and the block in the
    /// middle is the other.
    #[test]
    fn an_order_that_the_blocks_contradict_is_a_tie() {
        let a = [130.0, 60.0, 150.0, 50.0, 100.0, 140.0, 80.0, 120.0, 70.0];
        let b = a.map(|rate| rate * if rate == 100.0 { 0.95 } else { 1.1 });
        let outcome = concluded(&trials(&a, &b, &a.map(|rate| rate * 1.001)));
        assert_eq!(ranks(&outcome), [("a", Some(1)), ("b", Some(1))]);
    }

    /// Else five blocks that are left of six, or six of seven, make a rank.
    #[test]
    fn a_figure_of_nothing_in_a_block_takes_the_rank() {
        let rates = [0.0, 50.0, 50.0, 50.0, 50.0, 50.0, 50.0];
        let twin = [101.0, 99.0, 101.0, 99.0, 101.0, 99.0, 100.0];
        let outcome = concluded(&trials(&[100.0; 7], &rates, &twin));
        assert_eq!(ranks(&outcome), [("a", Some(1)), ("b", None)]);
        let why = outcome.rows[1].standings[RATE].unranked.as_deref();
        assert!(why.is_some_and(|it| it.contains("is 0 in a block")), "{why:?}");
    }

    #[test]
    fn five_blocks_are_not_ranked() {
        let outcome = concluded(&trials(&STEADY[..5], &[50.0; 5], &NOISY[..5]));
        assert_eq!(ranks(&outcome), [("a", None), ("b", None)]);
        assert_eq!(outcome.rows[0].figures[RATE].interval, None);
        insta::assert_snapshot!(outcome.rankings[0].sentence, @"Nobody is ranked: a rank needs 6 blocks, and this run has fewer.");
    }

    #[test]
    fn without_twins_nobody_is_ranked() {
        let outcome = concluded(&trials(&STEADY, &[50.0; 6], &[]));
        assert_eq!(ranks(&outcome), [("a", None), ("b", None)]);
        insta::assert_snapshot!(outcome.rankings[0].sentence, @"Nobody is ranked: a rank needs a noise floor, and no A/A pair was measured.");
    }

    #[test]
    fn where_the_pair_is_invalid_nobody_is_ranked() {
        let mut trials = steady(&[100.0, 50.0]);
        trials.last_mut().unwrap().findings.push(invalid("errors"));
        let outcome = concluded(&trials);
        assert_eq!(
            (outcome.rankings[0].noise_floor, outcome.rows[0].verdict),
            (None, Verdict::NotChecked)
        );
        insta::assert_snapshot!(outcome.rankings[0].sentence, @"Nobody is ranked: a rank needs a noise floor, and the A/A pair's figures are invalid.");
    }

    #[test]
    fn the_noise_is_told_by_the_blocks_in_which_the_pair_stands() {
        let twin = [101.0, 99.0, 101.0, 99.0, 101.0, 99.0, 20.0];
        let mut trials = trials(&[100.0; 7], &[50.0; 7], &twin);
        trials.last_mut().unwrap().findings.push(invalid("errors"));
        let outcome = concluded(&trials);
        assert!(
            outcome.rankings[0].noise_floor.is_some_and(|floor| floor < 1.02),
            "{:?}",
            outcome.rankings[0].noise_floor
        );
        assert_eq!(ranks(&outcome), [("a", Some(1)), ("b", Some(2))]);
    }

    #[test]
    fn one_invalid_block_takes_the_rank_and_not_the_figures() {
        let mut trials = steady(&[100.0, 50.0]);
        object(&mut trials, "b", invalid("errors"));
        let outcome = concluded(&trials);
        assert_eq!(ranks(&outcome), [("a", Some(1)), ("b", None)]);
        assert_eq!(outcome.rows[1].verdict, Verdict::Invalid);
        assert_eq!(
            outcome.rows[1].figures[RATE].median, 50.0,
            "it stays in the report, struck out"
        );
        insta::assert_snapshot!(outcome.rankings[0].sentence, @"Only A could be ranked. Not ranked: B (the figures are invalid).");
    }

    #[test]
    fn who_answered_more_and_is_struck_out_is_named_so_in_the_finding() {
        let mut trials = steady(&[100.0, 50.0, 200.0, 20.0]);
        object(&mut trials, "c", invalid("errors"));
        object(&mut trials, "d", invalid("errors"));
        insta::assert_snapshot!(concluded(&trials).rankings[0].sentence, @"A answers 2.00 times (2.00 to 2.00) as many requests a second as B. Not ranked: C and D (the figures are invalid). C answered more requests a second than A.");
        object(&mut trials, "d", invalid(CLIENT_LIMIT.id));
        insta::assert_snapshot!(concluded(&trials).rankings[0].sentence, @"A answers 2.00 times (2.00 to 2.00) as many requests a second as B. Not ranked: C (the figures are invalid); D (the figures are invalid, the rate a lower bound). C answered more requests a second than A.");
    }

    #[test]
    fn a_doubtful_figure_is_named_so_in_the_finding_itself() {
        let mut trials = trials(&STEADY, &[50.0; 6], &NOISY);
        trials[0].findings.push(suspect("server-cores"));
        insta::assert_snapshot!(concluded(&trials).rankings[0].sentence, @"A (suspect) answers 2.00 times (2.00 to 2.00) as many requests a second as B.");
        trials[6].findings.push(invalid("errors"));
        insta::assert_snapshot!(concluded(&trials).rankings[0].sentence, @"Only A (suspect) could be ranked. Not ranked: B (the figures are invalid).");
    }

    #[test]
    fn a_figure_that_is_not_checked_in_full_is_named_so_too() {
        let mut trials = steady(&[100.0, 50.0]);
        object(&mut trials, "b", finding("memory", Verdict::NotChecked));
        insta::assert_snapshot!(concluded(&trials).rankings[0].sentence, @"A answers 2.00 times (2.00 to 2.00) as many requests a second as B (not checked in full).");
    }

    #[test]
    fn who_is_not_ranked_is_named_where_reasons_differ() {
        let mut trials = trials(&STEADY[..5], &[50.0; 5], &NOISY[..5]);
        trials[0].findings.push(invalid("errors"));
        insta::assert_snapshot!(concluded(&trials).rankings[0].sentence, @"Nobody is ranked (a: the figures are invalid; b: a rank needs 6 blocks, and this run has fewer).");
    }

    #[test]
    fn where_the_client_was_near_its_limit_a_rate_is_a_lower_bound() {
        let mut trials = trials(&STEADY, &[50.0; 6], &NOISY);
        trials[0].findings.push(suspect(CLIENT_LIMIT.id));
        let outcome = concluded(&trials);
        assert!(outcome.rows[0].figures[RATE].at_least && !outcome.rows[1].figures[RATE].at_least);
        let is_bound = |row: usize| {
            let ratio = outcome.rows[row].ratio(RATE).unwrap();
            (ratio.at_least, ratio.at_most)
        };
        assert_eq!((is_bound(0), is_bound(1)), ((false, false), (false, true)));
        insta::assert_snapshot!(outcome.rankings[0].sentence, @"A (suspect) answers at least 2.00 times (2.00 or more) as many requests a second as B.");
    }

    #[test]
    fn a_lower_bound_is_not_placed_below_another_and_others_are_below_it() {
        let mut trials = steady(&[100.0, 90.0, 50.0]);
        object(&mut trials, "b", suspect(CLIENT_LIMIT.id));
        let outcome = concluded(&trials);
        assert_eq!(ranks(&outcome), [("a", Some(1)), ("b", None), ("c", Some(2))]);
        assert_eq!(outcome.rows[1].ratio(RATE), None);
        insta::assert_snapshot!(outcome.rankings[0].sentence, @"A answers 2.00 times (2.00 to 2.00) as many requests a second as C. Not ranked: B (the rate is a lower bound: nobody is known to be faster).");
    }

    #[test]
    fn a_lower_bound_may_tie_for_first_and_not_for_less() {
        let mut trials = steady(&[100.0, 99.5, 50.0, 49.9]);
        object(&mut trials, "b", suspect(CLIENT_LIMIT.id));
        object(&mut trials, "d", suspect(CLIENT_LIMIT.id));
        let outcome = concluded(&trials);
        assert_eq!(ranks(&outcome), [("a", Some(1)), ("b", Some(1)), ("c", Some(3)), ("d", None)]);
        assert!(outcome.rows[1].ratio(RATE).unwrap().at_least);
        insta::assert_snapshot!(outcome.rankings[0].sentence, @"A and B (suspect) tie: no difference beyond chance and noise, but the rate of B is a lower bound. Not ranked: D (the rate is a lower bound: nobody is known to be faster).");
        object(&mut trials, "a", suspect(CLIENT_LIMIT.id));
        let outcome = concluded(&trials);
        assert_eq!(outcome.rows[1].ratio(RATE), None, "of two lower bounds the ratio isn't known");
        assert!(outcome.rows[2].ratio(RATE).unwrap().at_most);
    }

    #[test]
    fn a_percentile_that_one_block_lacks_is_withheld() {
        let mut trials = trials(&STEADY, &[50.0; 6], &NOISY);
        assert_eq!(concluded(&trials).rows[0].figures[P99_US].median, 10_000.0);
        trials[2].evidence.work.as_mut().unwrap().response_us.at.clear();
        assert_eq!(concluded(&trials).rows[0].figure(P99_US), None);
    }

    #[test]
    fn a_percentile_that_is_a_lower_bound_in_one_block_is_one() {
        let mut trials = trials(&STEADY, &[50.0; 6], &NOISY);
        trials[2].evidence.work.as_mut().unwrap().response_us.at[0].at_least = true;
        let outcome = concluded(&trials);
        let at_least = |row: usize| outcome.rows[row].figures[P99_US].at_least;
        assert!(at_least(0) && !at_least(1));
    }

    #[test]
    fn without_answers_there_is_no_cpu_a_request() {
        let mut trials = trials(&STEADY, &[50.0; 6], &NOISY);
        trials[2].evidence.work.as_mut().unwrap().done = 0;
        let row = &concluded(&trials).rows[0];
        assert_eq!((row.figure(CPU_US), row.figure(CLIENT_CPU_US)), (None, None), "never 0");
    }

    #[test]
    fn cpu_a_request_is_cpu_by_answers() {
        let outcome = concluded(&trials(&STEADY, &[50.0; 6], &NOISY));
        assert_eq!(outcome.rows[0].figures[CPU_US].median, 10_000.0);
        assert_eq!(outcome.rows[1].figures[CLIENT_CPU_US].median, 10_000.0);
    }

    #[test]
    fn who_never_got_as_far_as_load_has_no_row() {
        let mut trials = trials(&STEADY, &[50.0], &NOISY);
        trials[6].evidence.work = None;
        assert_eq!(ranks(&concluded(&trials)), [("a", Some(1))]);
    }

    /// What is said where `b` answers half of what `a` does, after a change to `b`.
    fn sentence_with(change: impl FnOnce(&mut Contender)) -> String {
        let mut b = contender("b");
        change(&mut b);
        let trials = trials(&STEADY, &[50.0; 6], &NOISY);
        at_free_pace(&run_of(&[contender("a"), b], trials))[0].rankings[0].sentence.clone()
    }

    #[test]
    fn unequal_tiers_are_not_compared_without_saying_so() {
        let sentence = sentence_with(|b| b.tier = Some(Tier::Tuned));
        insta::assert_snapshot!(sentence, @"A (idiomatic) answers 2.00 times (2.00 to 2.00) as many requests a second as B (tuned).");
    }

    #[test]
    fn unequal_contracts_are_not_compared_without_saying_so() {
        let sentence = sentence_with(|b| b.lighter_contract = Some("static".into()));
        insta::assert_snapshot!(sentence, @"A answers 2.00 times (2.00 to 2.00) as many requests a second as B. b keeps the lighter contract `static`, the others the full one.");
    }
}

#[cfg(test)]
mod tests_at_one_rate {
    use result::plan::{Cores, Setting};

    use result::figure::CPU_US;
    use result::plan::Pace;

    use super::*;
    use crate::samples::{contender, invalid, run_of, trial};

    fn base() -> Setting {
        Setting::closed(100, Cores::One, true)
    }

    /// Two contenders with maxima of 1,000 and 500 answers a second, offered 400,
    /// at this many CPU µs an answer, block by block; the twin is `a`'s.
    fn costs(a: &[f64], b: &[f64], twin: &[f64]) -> Run {
        let equal = base().with(Pace::Equal { percent: 80 });
        let mut trials = Vec::new();
        for (name, maximum) in [("a", 1000.0), ("b", 500.0)] {
            trials.extend((0..6).map(|block| trial(name, block, &base(), maximum)));
        }
        for (name, is_twin, costs) in [("a", false, a), ("b", false, b), ("a", true, twin)] {
            for (block, cost) in (0..).zip(costs) {
                let mut trial = trial(name, block, &equal, 400.0);
                trial.slot.twin = is_twin;
                trial.evidence.clients[0].offered_rate = Some(400.0);
                trial.evidence.server_cpu_s = Some(cost * 400.0 / 1e6);
                trials.push(trial);
            }
        }
        run_of(&[contender("a"), contender("b")], trials)
    }

    const STEADY: [f64; 6] = [20.0; 6];
    const NOISY: [f64; 6] = [20.2, 19.8, 20.2, 19.8, 20.2, 19.8];

    fn concluded(run: &Run) -> Outcome {
        let mut outcomes = at_one_rate(run);
        assert_eq!(outcomes.len(), 1);
        outcomes.remove(0)
    }

    fn ranks(outcome: &Outcome) -> Vec<(&str, Option<u32>)> {
        outcome.rows.iter().map(|row| (&*row.contender, row.rank(CPU_US))).collect()
    }

    #[test]
    fn the_cheaper_answer_is_first_whoever_has_the_higher_maximum() {
        let outcome = concluded(&costs(&STEADY, &[10.0; 6], &NOISY));
        assert_eq!(ranks(&outcome), [("b", Some(1)), ("a", Some(2))]);
        let ratio = outcome.rows[1].ratio(CPU_US).unwrap();
        assert!((ratio.median - 2.0).abs() < 1e-9, "{ratio:?}");
        insta::assert_snapshot!(outcome.rankings[0].sentence, @"At 400 requests a second A takes 2.00 times (2.00 to 2.00) as much CPU time a request as B.");
        insta::assert_snapshot!(outcome.offered.as_ref().unwrap().rule, @"This is 80 % of the lowest maximum in the closed loop. B has it, with 500 requests a second.");
    }

    #[test]
    fn costs_within_the_noise_of_twins_tie() {
        let outcome = concluded(&costs(&STEADY, &[19.9; 6], &NOISY));
        assert_eq!(ranks(&outcome), [("b", Some(1)), ("a", Some(1))]);
    }

    #[test]
    fn who_couldnt_hold_the_rate_has_no_rank() {
        let mut run = costs(&STEADY, &[10.0; 6], &NOISY);
        let held = |trial: &&mut result::Trial| trial.slot.setting.pace != Pace::Free;
        let of_b = run.trials.iter_mut().filter(held).find(|it| it.slot.contender == "b");
        of_b.unwrap().findings.push(invalid("offered-rate"));
        let outcome = concluded(&run);
        assert_eq!(ranks(&outcome), [("b", None), ("a", Some(1))]);
        assert_eq!(outcome.rows[0].verdict, Verdict::Invalid);
        insta::assert_snapshot!(outcome.rankings[0].sentence, @"Only A could be ranked. Not ranked: B (the figures are invalid). B took less CPU time a request than A.");
    }

    #[test]
    fn an_unknown_cpu_time_stands_last_without_a_rank() {
        let mut run = costs(&STEADY, &[10.0; 6], &NOISY);
        run.trials.iter_mut().filter(|trial| trial.slot.contender == "b").for_each(|trial| {
            trial.evidence.server_cpu_s = None;
        });
        let outcome = concluded(&run);
        assert_eq!(ranks(&outcome), [("a", Some(1)), ("b", None)]);
        assert!(
            outcome.rows[1].standings[CPU_US]
                .unranked
                .as_ref()
                .unwrap()
                .contains("CPU time a request is not known")
        );
    }
}
