//! The trials under one load: what they say of each contender, and how two
//! contenders compare, block by block.

use std::collections::{BTreeMap, BTreeSet};

use result::finding::{Finding, Verdict};
use result::outcome::{EqualRateRow, Estimate, Row};
use result::plan::{Contender, Load, Tier};
use result::{Run, Trial, evidence};

use crate::judge;
use crate::statistics::{
    BLOCKS_MIN, SIGNIFICANCE, log_ratios, median, median_interval, noise_floor, sign_flip_test,
};

/// The trials under one load.
pub(super) struct Group<'a> {
    pub(super) load: &'a Load,
    pub(super) contenders: &'a [Contender],
    trials: Vec<&'a Trial>,
}

/// A figure of a trial that contenders are compared by; `None` where the trial
/// doesn't have it.
pub(super) type Figure = fn(&Trial) -> Option<f64>;

impl<'a> Group<'a> {
    pub(super) fn new(run: &'a Run, load: &'a Load, trials: Vec<&'a Trial>) -> Group<'a> {
        Group { load, contenders: &run.contenders, trials }
    }

    /// One contender's trials in block order.
    pub(super) fn of(&self, contender: &str, twin: bool) -> Vec<&'a Trial> {
        let mut trials: Vec<&Trial> = self
            .trials
            .iter()
            .copied()
            .filter(|trial| trial.slot.contender == contender && trial.slot.twin == twin)
            .collect();
        trials.sort_by_key(|trial| trial.slot.block);
        trials
    }

    /// What the checks say of a contender's figures, the worst first.
    pub(super) fn findings(&self, contender: &str) -> Vec<Finding> {
        let contender = self.contender(contender).expect("a row is a contender's");
        judge::judge_row(contender, self.contenders, &self.trials)
    }

    /// A figure over a contender's blocks that have it; `None` where none has.
    pub(super) fn estimate(&self, contender: &str, figure: Figure) -> Option<Estimate> {
        self.estimate_of(self.of(contender, false).into_iter().filter_map(figure).collect())
    }

    /// The same, if every block has it: else it would be the median of the
    /// luckier ones.
    pub(super) fn estimate_of_all(&self, contender: &str, figure: Figure) -> Option<Estimate> {
        let blocks = self.of(contender, false).len();
        self.estimate(contender, figure).filter(|estimate| estimate.blocks.len() == blocks)
    }

    /// A percentile of the times that readers mean by latency: in a closed loop
    /// from the send, in an open one from when the request was due.
    pub(super) fn latency_us(&self, contender: &str, percentile: f64) -> Option<Estimate> {
        let trials = self.of(contender, false);
        let found: Vec<evidence::Percentile> =
            trials.iter().filter_map(|trial| latency(trial, percentile)).collect();
        if found.len() < trials.len() {
            return None;
        }
        let at_least = found.iter().any(|one| one.at_least);
        let estimate = self.estimate_of(found.iter().map(|one| one.value).collect())?;
        Some(Estimate { at_least, ..estimate })
    }

    fn estimate_of(&self, blocks: Vec<f64>) -> Option<Estimate> {
        let interval = median_interval(&blocks);
        Some(Estimate { median: median(&blocks)?, interval, at_least: false, blocks })
    }

    /// The figures of two contenders in the blocks that have both.
    fn pairs(&self, a: (&str, bool), b: (&str, bool), figure: Figure) -> Vec<(f64, f64)> {
        let others = self.of(b.0, b.1);
        self.of(a.0, a.1)
            .into_iter()
            .filter_map(|one| {
                let other = others.iter().find(|other| other.slot.block == one.slot.block)?;
                figure(one).zip(figure(other))
            })
            .collect()
    }

    /// What the two identical entries differ by.
    pub(super) fn noise_floor(&self, figure: Figure) -> Option<f64> {
        let twin = &self.trials.iter().find(|trial| trial.slot.twin)?.slot.contender;
        noise_floor(&log_ratios(&self.pairs((twin, true), (twin, false), figure)))
    }

    /// The ratio of two contenders' figures, from paired blocks.
    pub(super) fn ratio(&self, contender: &str, best: &str, figure: Figure) -> Option<Estimate> {
        let ratios = log_ratios(&self.pairs((contender, false), (best, false), figure));
        let Estimate { median, interval, at_least, blocks } = self.estimate_of(ratios)?;
        Some(Estimate {
            median: median.exp(),
            interval: interval.map(|(low, high)| (low.exp(), high.exp())),
            at_least,
            blocks: blocks.into_iter().map(f64::exp).collect(),
        })
    }

    /// The ranks of contenders in the order of their figures, the best first. One
    /// ties with those above it unless it differs from the first of them, beyond
    /// chance and beyond what identical entries differ by.
    fn ranks(&self, in_order: &[&str], figure: Figure, noise_floor: Option<f64>) -> Vec<u32> {
        let mut first_of_tie: Option<(&str, u32)> = None;
        let mut ranks = Vec::new();
        for (place, contender) in (1..).zip(in_order) {
            let rank = match first_of_tie {
                Some((first, rank)) if self.is_tie(first, contender, figure, noise_floor) => rank,
                _ => {
                    first_of_tie = Some((contender, place));
                    place
                }
            };
            ranks.push(rank);
        }
        ranks
    }

    fn is_tie(&self, a: &str, b: &str, figure: Figure, noise_floor: Option<f64>) -> bool {
        let ratios = log_ratios(&self.pairs((a, false), (b, false), figure));
        let by_chance = ratios.len() < BLOCKS_MIN || sign_flip_test(&ratios) > SIGNIFICANCE;
        let apart = median(&ratios).map_or(1.0, |ratio| ratio.abs().exp());
        by_chance || noise_floor.is_none_or(|floor| apart <= floor)
    }

    /// Ranks the rows that may be, which stand in the order of their figures, and
    /// gives each its ratio to the first of them.
    pub(super) fn rank<R: Rankable>(
        &self,
        rows: &mut [R],
        figure: Figure,
        noise_floor: Option<f64>,
    ) {
        let mut ranked: Vec<&mut R> =
            rows.iter_mut().filter(|row| row.standing().unranked.is_none()).collect();
        let names: Vec<String> =
            ranked.iter().map(|row| row.standing().contender.to_string()).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let ranks = self.ranks(&names, figure, noise_floor);
        for ((row, rank), name) in ranked.iter_mut().zip(ranks).zip(&names) {
            row.place(rank, self.ratio(name, names[0], figure));
        }
    }

    /// The finding in one sentence: who is first among the ranked rows, or why
    /// nobody is. `apart` says what the first does more or less of than the second,
    /// whose titles it is given.
    pub(super) fn sentence<R: Rankable>(
        &self,
        rows: &[R],
        apart: impl FnOnce([&Ranked; 2], [&str; 2]) -> String,
    ) -> String {
        let ranked: Vec<Ranked> = rows
            .iter()
            .filter_map(|row| {
                let Standing { contender, verdict, rank, .. } = row.standing();
                Some(Ranked { contender, rank: rank?, verdict })
            })
            .collect();
        if ranked.is_empty() {
            let unranked = rows.iter().map(Rankable::standing);
            return nobody_ranked(
                unranked.map(|row| (row.contender, row.unranked.unwrap_or_default())),
            );
        }
        self.sentence_of(&ranked, apart)
    }

    fn sentence_of(
        &self,
        ranked: &[Ranked],
        apart: impl FnOnce([&Ranked; 2], [&str; 2]) -> String,
    ) -> String {
        let contenders: Vec<&Contender> =
            ranked.iter().filter_map(|it| self.contender(it.contender)).collect();
        let tiers: BTreeSet<Tier> = contenders.iter().map(|it| it.tier).collect();
        let named = |it: &Ranked| self.named(it, tiers.len() > 1);
        let first: Vec<&Ranked> = ranked.iter().filter(|it| it.rank == 1).collect();
        let second = ranked.iter().find(|it| it.rank > 1);
        let sentence = match (&first[..], second) {
            ([only], None) => format!("Only {} could be ranked.", named(only)),
            ([winner], Some(second)) => apart([winner, second], [&named(winner), &named(second)]),
            (tied, _) => {
                let names: Vec<String> = tied.iter().map(|it| named(it)).collect();
                format!("{} tie: no difference beyond chance and noise.", names.join(" and "))
            }
        };
        let contracts = contracts(&contenders).map(|contracts| format!("{contracts}."));
        [Some(sentence), contracts].into_iter().flatten().collect::<Vec<_>>().join(" ")
    }

    fn contender(&self, name: &str) -> Option<&'a Contender> {
        self.contenders.iter().find(|contender| contender.name == name)
    }

    /// A title, with what a reader of the sentence alone must know of it.
    fn named(&self, ranked: &Ranked, tiers_differ: bool) -> String {
        let contender = self.contender(ranked.contender);
        let title = contender.map_or(ranked.contender, |it| &it.title);
        let tier = contender.filter(|_| tiers_differ).map(|it| it.tier.word());
        let doubt = (ranked.verdict == Verdict::Suspect).then(|| ranked.verdict.word());
        let caveats: Vec<&str> = tier.into_iter().chain(doubt).collect();
        match caveats.is_empty() {
            true => title.to_string(),
            false => format!("{title} ({})", caveats.join(", ")),
        }
    }
}

/// A row that may have a rank.
pub(super) trait Rankable {
    fn standing(&self) -> Standing<'_>;
    /// Gives it its rank, and its ratio to the first.
    fn place(&mut self, rank: u32, ratio: Option<Estimate>);
}

/// Where a row stands.
pub(super) struct Standing<'a> {
    contender: &'a str,
    verdict: Verdict,
    rank: Option<u32>,
    /// Why it may not be ranked.
    unranked: Option<&'a str>,
}

impl Rankable for Row {
    fn standing(&self) -> Standing<'_> {
        let Row { contender, verdict, rank, unranked, .. } = self;
        Standing { contender, verdict: *verdict, rank: *rank, unranked: unranked.as_deref() }
    }

    fn place(&mut self, rank: u32, ratio: Option<Estimate>) {
        (self.rank, self.rate_ratio) = (Some(rank), ratio);
    }
}

impl Rankable for EqualRateRow {
    fn standing(&self) -> Standing<'_> {
        let EqualRateRow { contender, verdict, rank, unranked, .. } = self;
        Standing { contender, verdict: *verdict, rank: *rank, unranked: unranked.as_deref() }
    }

    fn place(&mut self, rank: u32, ratio: Option<Estimate>) {
        (self.rank, self.cpu_ratio) = (Some(rank), ratio);
    }
}

/// A contender that has a rank.
pub(super) struct Ranked<'a> {
    pub(super) contender: &'a str,
    pub(super) rank: u32,
    pub(super) verdict: Verdict,
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

/// Why figures of so many blocks with this verdict may not be ranked.
pub(super) fn unranked(
    verdict: Verdict,
    blocks: usize,
    noise_floor: Option<f64>,
) -> Option<String> {
    if verdict == Verdict::Invalid {
        Some("the figures are invalid".into())
    } else if blocks < BLOCKS_MIN {
        Some(format!("a rank needs {BLOCKS_MIN} blocks, and this run has fewer"))
    } else if noise_floor.is_none() {
        Some("a rank needs a noise floor, and no A/A pair was measured".into())
    } else {
        None
    }
}

/// Said where nobody has a rank: contenders, each with the reason.
fn nobody_ranked<'a>(unranked: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    for (contender, reason) in unranked {
        match reasons.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, names)) => names.push(contender),
            None => reasons.push((reason, vec![contender])),
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

/// How many times as much, from a ratio: `2.00 times (1.90 to 2.10)`.
pub(super) fn times(ratio: &Estimate) -> String {
    match ratio.interval {
        Some((low, high)) => format!("{:.2} times ({low:.2} to {high:.2})", ratio.median),
        None => format!("{:.2} times", ratio.median),
    }
}

fn load(trial: &Trial) -> Option<&evidence::Load> {
    trial.evidence.load.as_ref()
}

/// Good answers a second.
pub(super) fn rate(trial: &Trial) -> Option<f64> {
    Some(load(trial)?.rate)
}

/// The contender's CPU µs a good answer.
pub(super) fn server_cpu_us(trial: &Trial) -> Option<f64> {
    an_answer(trial.evidence.server_cpu_s?, load(trial)?.answers)
}

/// The client's CPU µs a good answer.
pub(super) fn client_cpu_us(trial: &Trial) -> Option<f64> {
    an_answer(load(trial)?.client_cpu_s, load(trial)?.answers)
}

fn an_answer(cpu_s: f64, answers: u64) -> Option<f64> {
    (answers > 0).then(|| cpu_s * 1e6 / answers as f64)
}

fn latency(trial: &Trial, percentile: f64) -> Option<evidence::Percentile> {
    let load = load(trial)?;
    let times = if load.offered_rate.is_some() { &load.response_us } else { &load.service_us };
    times.at.iter().find(|one| one.percentile == percentile).copied()
}

#[cfg(test)]
mod tests {
    use super::super::tests::contender;
    use super::*;

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
