//! What follows from the trials: estimates over blocks, ratios, ranks with ties,
//! and the verdict that each row carries.

use std::collections::{BTreeMap, BTreeSet};

use result::Trial;
use result::evidence;
use result::finding::{Verdict, worst};
use result::outcome::{Estimate, Outcome, Row};
use result::plan::{Contender, Load, Plan, Tier};

use crate::judge::{self, CLIENT_LIMIT};
use crate::statistics::{
    BLOCKS_MIN, SIGNIFICANCE, log_ratios, median, median_interval, noise_floor, sign_flip_test,
};

/// Concludes what can be concluded so far: one outcome a load that has trials.
pub fn outcomes(plan: &Plan, contenders: &[Contender], trials: &[Trial]) -> Vec<Outcome> {
    let mut by_load: BTreeMap<&Load, Vec<&Trial>> = BTreeMap::new();
    for trial in trials {
        by_load.entry(&trial.slot.load).or_default().push(trial);
    }
    let mut by_load: Vec<_> = by_load.into_iter().collect();
    by_load.sort_by_key(|(load, _)| (load.cores, load.connections, load.keep_alive));
    by_load
        .into_iter()
        .map(|(load, trials)| Group { seed: plan.seed, contenders, trials }.outcome(load))
        .collect()
}

/// The trials under one load.
struct Group<'a> {
    seed: u64,
    contenders: &'a [Contender],
    trials: Vec<&'a Trial>,
}

impl<'a> Group<'a> {
    fn outcome(&self, load: &Load) -> Outcome {
        let mut rows: Vec<Row> =
            self.contenders.iter().filter_map(|contender| self.row(&contender.name)).collect();
        rows.sort_by(|a, b| b.rate.median.total_cmp(&a.rate.median));
        let noise_floor = self.noise_floor();
        self.rank(&mut rows, noise_floor);
        if let Some(best) = best_ranked(&rows) {
            for row in rows.iter_mut().filter(|row| row.rank.is_some()) {
                row.rate_ratio = self.ratio(&row.contender, &best);
            }
        }
        let sentence = self.sentence(&rows);
        Outcome { load: load.clone(), noise_floor, rows, sentence }
    }

    /// One contender's trials in block order.
    fn of(&self, contender: &str, twin: bool) -> impl Iterator<Item = &'a Trial> {
        let mut trials: Vec<&Trial> = self
            .trials
            .iter()
            .copied()
            .filter(|trial| trial.slot.contender == contender && trial.slot.twin == twin)
            .collect();
        trials.sort_by_key(|trial| trial.slot.block);
        trials.into_iter()
    }

    /// A contender's row; `None` where no trial of it got as far as load.
    fn row(&self, contender: &str) -> Option<Row> {
        let trials: Vec<&Trial> = self.of(contender, false).collect();
        let each = |of: &dyn Fn(&Trial, &evidence::Load) -> Option<f64>| {
            let values: Vec<f64> = trials
                .iter()
                .filter_map(|trial| of(trial, trial.evidence.load.as_ref()?))
                .collect();
            self.estimate(values)
        };
        // A figure that a block lacks would be the median of the luckier ones.
        let every = |of: &dyn Fn(&Trial, &evidence::Load) -> Option<f64>| {
            each(of).filter(|estimate| estimate.blocks.len() == trials.len())
        };
        let service = |at: f64| {
            let loads = trials.iter().filter_map(|trial| trial.evidence.load.as_ref());
            let at_least = loads.filter_map(|load| percentile(load, at)).any(|it| it.at_least);
            let estimate = every(&|_, load| Some(percentile(load, at)?.value))?;
            Some(Estimate { at_least, ..estimate })
        };
        let rate = each(&|_, load| Some(load.rate))?;
        let findings = judge::worst_of_each(trials.iter().copied());
        let rate_at_least = findings
            .iter()
            .any(|finding| finding.check == CLIENT_LIMIT.id && finding.verdict >= Verdict::Suspect);
        Some(Row {
            contender: contender.into(),
            rank: None,
            unranked: None,
            rate,
            rate_at_least,
            rate_ratio: None,
            server_cpu_us: every(&|trial, load| {
                a_request(trial.evidence.server_cpu_s?, load.answers)
            }),
            client_cpu_us: every(&|_, load| a_request(load.client_cpu_s, load.answers)),
            p50_us: service(50.0),
            p99_us: service(99.0),
            verdict: worst(&findings),
            findings,
        })
    }

    fn estimate(&self, blocks: Vec<f64>) -> Option<Estimate> {
        let interval = median_interval(&blocks, self.seed);
        Some(Estimate { median: median(&blocks)?, interval, at_least: false, blocks })
    }

    /// The rates of two contenders in the blocks that have both.
    fn pairs(&self, a: (&str, bool), b: (&str, bool)) -> Vec<(f64, f64)> {
        let rate = |trial: &Trial| trial.evidence.load.as_ref().map(|load| load.rate);
        self.of(a.0, a.1)
            .filter_map(|one| {
                let other = self.of(b.0, b.1).find(|other| other.slot.block == one.slot.block)?;
                rate(one).zip(rate(other))
            })
            .collect()
    }

    /// What the two identical entries differ by.
    fn noise_floor(&self) -> Option<f64> {
        let twin = &self.trials.iter().find(|trial| trial.slot.twin)?.slot.contender;
        noise_floor(&log_ratios(&self.pairs((twin, true), (twin, false))), self.seed)
    }

    /// The ratio of two contenders' rates, from paired blocks.
    fn ratio(&self, contender: &str, best: &str) -> Option<Estimate> {
        let ratios = log_ratios(&self.pairs((contender, false), (best, false)));
        let Estimate { median, interval, at_least, blocks } = self.estimate(ratios)?;
        Some(Estimate {
            median: median.exp(),
            interval: interval.map(|(low, high)| (low.exp(), high.exp())),
            at_least,
            blocks: blocks.into_iter().map(f64::exp).collect(),
        })
    }

    /// Gives ranks to rows in the order of their rates. A row ties with those
    /// above it unless it differs from the first of them, beyond chance and
    /// beyond what identical entries differ by.
    fn rank(&self, rows: &mut [Row], noise_floor: Option<f64>) {
        let mut first_of_tie: Option<(String, u32)> = None;
        let mut ranked = 0;
        for row in rows {
            row.unranked = unranked(row, noise_floor);
            if row.unranked.is_some() {
                continue;
            }
            ranked += 1;
            let rank = match &first_of_tie {
                Some((first, rank)) if self.is_tie(first, &row.contender, noise_floor) => *rank,
                _ => {
                    first_of_tie = Some((row.contender.clone(), ranked));
                    ranked
                }
            };
            row.rank = Some(rank);
        }
    }

    fn is_tie(&self, a: &str, b: &str, noise_floor: Option<f64>) -> bool {
        let ratios = log_ratios(&self.pairs((a, false), (b, false)));
        let by_chance = ratios.len() < BLOCKS_MIN || sign_flip_test(&ratios) > SIGNIFICANCE;
        let apart = median(&ratios).map_or(1.0, |ratio| ratio.abs().exp());
        by_chance || noise_floor.is_none_or(|floor| apart <= floor)
    }

    fn sentence(&self, rows: &[Row]) -> String {
        let first: Vec<&Row> = rows.iter().filter(|row| row.rank == Some(1)).collect();
        let second = rows.iter().find(|row| row.rank.is_some_and(|rank| rank > 1));
        let tiers: BTreeSet<Tier> = self.ranked(rows).into_iter().map(|it| it.tier).collect();
        let named = |row: &Row| self.named(row, tiers.len() > 1);
        let sentence = match (&first[..], second) {
            ([], _) => nobody_ranked(rows),
            ([only], None) => format!("{} alone could be ranked.", named(only)),
            ([winner], Some(second)) => {
                let ratio = second.rate_ratio.as_ref();
                let apart = ratio.map(|ratio| match ratio.interval {
                    Some((low, high)) => format!(
                        " {:.2} times ({:.2} to {:.2}) as many requests a second as",
                        1.0 / ratio.median,
                        1.0 / high,
                        1.0 / low
                    ),
                    None => {
                        format!(" {:.2} times as many requests a second as", 1.0 / ratio.median)
                    }
                });
                let apart = apart.unwrap_or(" more requests a second than".into());
                format!("{} answers{apart} {}.", named(winner), named(second))
            }
            (tied, _) => {
                let names: Vec<String> = tied.iter().map(|row| named(row)).collect();
                format!("{} tie: no difference beyond chance and noise.", names.join(" and "))
            }
        };
        let contracts = contracts(&self.ranked(rows)).map(|contracts| format!("{contracts}."));
        [Some(sentence), contracts].into_iter().flatten().collect::<Vec<_>>().join(" ")
    }

    /// The contenders that have a rank, the highest rate first.
    fn ranked(&self, rows: &[Row]) -> Vec<&'a Contender> {
        rows.iter().filter(|row| row.rank.is_some()).filter_map(|row| self.contender(row)).collect()
    }

    /// A row's title, with what a reader of the sentence alone must know of it.
    fn named(&self, row: &Row, tiers_differ: bool) -> String {
        let contender = self.contender(row);
        let title = contender.map_or(&row.contender, |it| &it.title);
        let tier = contender.filter(|_| tiers_differ).map(|it| it.tier.word());
        let doubt = (row.verdict == Verdict::Suspect).then(|| row.verdict.word());
        let caveats: Vec<&str> = tier.into_iter().chain(doubt).collect();
        match caveats.is_empty() {
            true => title.clone(),
            false => format!("{title} ({})", caveats.join(", ")),
        }
    }

    fn contender(&self, row: &Row) -> Option<&'a Contender> {
        self.contenders.iter().find(|contender| contender.name == row.contender)
    }
}

/// Which of the ranked keep a lighter contract, where not all keep the same.
fn contracts(ranked: &[&Contender]) -> Option<String> {
    let of = |contender: &Contender| contender.lighter_contract.clone();
    let first = of(ranked.first()?);
    if ranked.iter().all(|contender| of(contender) == first) {
        return None;
    }
    let mut lighter: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for contender in ranked {
        if let Some(name) = of(contender) {
            lighter.entry(name).or_default().push(&contender.name);
        }
    }
    let mut parts: Vec<String> = lighter
        .iter()
        .map(|(contract, names)| {
            let keep = if names.len() == 1 { "keeps" } else { "keep" };
            format!("{} {keep} the lighter contract `{contract}`", names.join(" and "))
        })
        .collect();
    if ranked.iter().any(|contender| of(contender).is_none()) {
        parts.push("the others the full one".into());
    }
    Some(parts.join(", "))
}

fn a_request(cpu_s: f64, answers: u64) -> Option<f64> {
    (answers > 0).then(|| cpu_s * 1e6 / answers as f64)
}

fn percentile(load: &evidence::Load, percentile: f64) -> Option<evidence::Percentile> {
    load.service_us.at.iter().find(|one| one.percentile == percentile).copied()
}

fn best_ranked(rows: &[Row]) -> Option<String> {
    rows.iter().find(|row| row.rank == Some(1)).map(|row| row.contender.clone())
}

/// Why a row may not be ranked.
fn unranked(row: &Row, noise_floor: Option<f64>) -> Option<String> {
    let blocks = row.rate.blocks.len();
    if row.verdict == Verdict::Invalid {
        Some("the figures are invalid".into())
    } else if blocks < BLOCKS_MIN {
        Some(format!("a rank needs {BLOCKS_MIN} blocks, and this run has fewer"))
    } else if noise_floor.is_none() {
        Some("a rank needs a noise floor, and no A/A pair was measured".into())
    } else {
        None
    }
}

fn nobody_ranked(rows: &[Row]) -> String {
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    for row in rows {
        let reason = row.unranked.as_deref().unwrap_or_default();
        match reasons.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, names)) => names.push(&row.contender),
            None => reasons.push((reason, vec![&row.contender])),
        }
    }
    match &reasons[..] {
        [] => "Nobody could be measured.".into(),
        [(reason, _)] => format!("Nobody is ranked: {reason}."),
        several => {
            let named =
                several.iter().map(|(reason, names)| format!("{}: {reason}", names.join(" and ")));
            format!("Nobody is ranked ({}).", named.collect::<Vec<_>>().join("; "))
        }
    }
}

#[cfg(test)]
mod tests {
    use result::evidence::{Evidence, Load as Seen, Percentile, Percentiles};
    use result::finding::Finding;
    use result::plan::{Cores, Slot, Tier};

    use super::*;

    fn load() -> Load {
        Load { connections: 100, cores: Cores::One, keep_alive: true }
    }

    fn contender(name: &str) -> Contender {
        Contender {
            name: name.into(),
            title: name.to_uppercase(),
            language: "C".into(),
            tier: Tier::Idiomatic,
            lighter_contract: None,
            versions: Vec::new(),
            run: Vec::new(),
            environment: Vec::new(),
            absent: None,
        }
    }

    fn finding(check: &str, verdict: Verdict) -> Finding {
        Finding {
            check: check.into(),
            verdict,
            value: String::new(),
            threshold: String::new(),
            says: String::new(),
            fix: String::new(),
        }
    }

    /// A trial with this rate and a 99th percentile of 1,000,000 / rate µs.
    fn trial(contender: &str, twin: bool, block: u32, rate: f64) -> Trial {
        let p99 = Percentile { percentile: 99.0, value: 1e6 / rate, at_least: false };
        Trial {
            slot: Slot { number: 0, block, contender: contender.into(), twin, load: load() },
            started: String::new(),
            evidence: Evidence {
                load: Some(Seen {
                    seconds: 1.0,
                    rate,
                    answers: rate as u64,
                    client_cpu_s: 0.5,
                    service_us: Percentiles { at: vec![p99], ..Percentiles::default() },
                    ..Seen::default()
                }),
                server_cpu_s: Some(1.0),
                ..Evidence::default()
            },
            findings: vec![finding("contract", Verdict::Valid)],
        }
    }

    /// Rates of contenders `a` and `b` and of `a`'s twin, block by block.
    fn trials(a: &[f64], b: &[f64], twin: &[f64]) -> Vec<Trial> {
        let of = |name: &'static str, is_twin: bool, rates: &[f64]| {
            let rates = rates.to_vec();
            (0..).zip(rates).map(move |(block, rate)| trial(name, is_twin, block, rate))
        };
        of("a", false, a).chain(of("b", false, b)).chain(of("a", true, twin)).collect()
    }

    fn concluded(trials: &[Trial]) -> Outcome {
        let plan = Plan {
            profile: "full".into(),
            seed: 1,
            blocks: 6,
            measure_s: 1.0,
            warmup_s: 0.0,
            slots: Vec::new(),
        };
        let mut outcomes = outcomes(&plan, &[contender("a"), contender("b")], trials);
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
        trials[3].findings.push(finding("errors", Verdict::Invalid));
        let outcome = concluded(&trials);
        assert_eq!(ranks(&outcome), [("a", None), ("b", Some(1))]);
        assert_eq!(outcome.rows[0].verdict, Verdict::Invalid);
        assert_eq!(outcome.rows[0].rate.median, 100.0, "it stays in the report, struck out");
        insta::assert_snapshot!(outcome.sentence, @"B alone could be ranked.");
    }

    #[test]
    fn a_doubtful_figure_is_named_so_in_the_finding_itself() {
        let mut trials = trials(&STEADY, &[50.0; 6], &NOISY);
        trials[0].findings.push(finding("steady", Verdict::Suspect));
        insta::assert_snapshot!(concluded(&trials).sentence, @"A (suspect) answers 2.00 times (2.00 to 2.00) as many requests a second as B.");
        trials[6].findings.push(finding("errors", Verdict::Invalid));
        insta::assert_snapshot!(concluded(&trials).sentence, @"A (suspect) alone could be ranked.");
    }

    #[test]
    fn who_is_not_ranked_is_named_where_reasons_differ() {
        let mut trials = trials(&STEADY[..5], &[50.0; 5], &NOISY[..5]);
        trials[0].findings.push(finding("errors", Verdict::Invalid));
        insta::assert_snapshot!(concluded(&trials).sentence, @"Nobody is ranked (a: the figures are invalid; b: a rank needs 6 blocks, and this run has fewer).");
    }

    #[test]
    fn where_the_client_was_near_its_limit_a_rate_is_a_lower_bound() {
        let mut trials = trials(&STEADY, &[50.0; 6], &NOISY);
        trials[0].findings.push(finding(CLIENT_LIMIT.id, Verdict::Suspect));
        let outcome = concluded(&trials);
        assert!(outcome.rows[0].rate_at_least && !outcome.rows[1].rate_at_least);
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
        let plan = Plan {
            profile: "full".into(),
            seed: 1,
            blocks: 6,
            measure_s: 1.0,
            warmup_s: 0.0,
            slots: Vec::new(),
        };
        let trials = trials(&STEADY, &[50.0; 6], &NOISY);
        outcomes(&plan, &[contender("a"), b], &trials)[0].sentence.clone()
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

    #[test]
    fn every_lighter_contract_among_the_ranked_is_named() {
        let keeps = |name: &str, contract: Option<&str>| Contender {
            lighter_contract: contract.map(str::to_string),
            ..contender(name)
        };
        let [a, b, c, d] = [("a", None), ("b", Some("x")), ("c", Some("y")), ("d", Some("x"))]
            .map(|(n, c)| keeps(n, c));
        assert_eq!(contracts(&[&a, &a]), None, "all keep the full one");
        assert_eq!(contracts(&[&b, &d]), None, "all keep the same");
        insta::assert_snapshot!(contracts(&[&b, &c, &d]).unwrap(), @"b and d keep the lighter contract `x`, c keeps the lighter contract `y`");
        insta::assert_snapshot!(contracts(&[&a, &b, &c, &d]).unwrap(), @"b and d keep the lighter contract `x`, c keeps the lighter contract `y`, the others the full one");
    }
}
