//! The trials under one load: what they say of each contender, and how two
//! contenders compare, block by block.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};

use result::finding::{Finding, Verdict};
use result::outcome::{EqualRateRow, Estimate, Row};
use result::plan::{Contender, Load, Tier};
use result::{Run, Trial, evidence};

use crate::checks;
use crate::statistics::{
    BLOCKS_MIN, SIGNIFICANCE, log_ratios, median, median_interval, noise_floor, sign_flip_test,
};

/// Why a lower bound has no rank where another would stand above it.
const MAY_BE_FASTER: &str = "the rate is a lower bound: nobody is known to be faster";

/// The trials under one load.
pub(super) struct Group<'a> {
    pub(super) load: &'a Load,
    pub(super) contenders: &'a [Contender],
    trials: Vec<&'a Trial>,
    /// What the checks say of the trials as a whole.
    of_load: OnceCell<Vec<Finding>>,
}

/// A figure of a trial that contenders are compared by; `None` where the trial
/// doesn't have it.
pub(super) type Figure = fn(&Trial) -> Option<f64>;

/// Which end of a figure is the best.
#[derive(Debug, Clone, Copy)]
pub(super) enum Best {
    Most,
    Least,
}

impl<'a> Group<'a> {
    pub(super) fn new(run: &'a Run, load: &'a Load, trials: Vec<&'a Trial>) -> Group<'a> {
        Group { load, contenders: &run.contenders, trials, of_load: OnceCell::new() }
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
        let of_load =
            self.of_load.get_or_init(|| checks::judge_load(self.contenders, &self.trials));
        checks::judge_row(contender, self.contenders, &self.trials, of_load)
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

    /// A percentile of the times that readers mean by latency: from when a request was
    /// due, with the wait for its connection if it has one of its own.
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
        let median = median(&blocks)?;
        Some(Estimate { median, interval, at_least: false, at_most: false, blocks })
    }

    /// The figures of two contenders in the blocks that have both.
    fn pairs(&self, a: &str, b: &str, figure: Figure) -> Vec<(f64, f64)> {
        let others = self.of(b, false);
        self.of(a, false)
            .into_iter()
            .filter_map(|one| {
                let other = others.iter().find(|other| other.slot.block == one.slot.block)?;
                figure(one).zip(figure(other))
            })
            .collect()
    }

    /// Up to which ratio the two identical entries differ, or why that isn't known.
    pub(super) fn noise_floor(&self, figure: Figure) -> Result<f64, &'static str> {
        let ratios = checks::twin_ratios(&self.trials, figure)?;
        Ok(noise_floor(&ratios).expect("they are as many as an interval needs"))
    }

    /// The ratio of two contenders' figures, from paired blocks.
    pub(super) fn ratio(&self, contender: &str, best: &str, figure: Figure) -> Option<Estimate> {
        let logs = self.estimate_of(log_ratios(&self.pairs(contender, best, figure)))?;
        Some(Estimate {
            median: logs.median.exp(),
            interval: logs.interval.map(|(low, high)| (low.exp(), high.exp())),
            blocks: logs.blocks.into_iter().map(f64::exp).collect(),
            ..logs
        })
    }

    /// The ranks of contenders in the order of their figures, the best first, each
    /// with whether its figure is a lower bound. One ties with those above it unless
    /// it differs from the first of them, beyond chance and beyond what identical
    /// entries differ by. A bound has no rank where others would stand above it, since
    /// it may be the faster one. Who stands below a bound is slower all the same.
    fn ranks(
        &self,
        in_order: &[(&str, bool)],
        by: (Figure, Best),
        noise_floor: Option<f64>,
    ) -> Vec<Option<u32>> {
        let mut first_of_tie: Option<(&str, u32)> = None;
        let mut place = 1;
        let mut ranks = Vec::new();
        for &(contender, is_bound) in in_order {
            let tie = first_of_tie.filter(|(it, _)| self.is_tie(it, contender, by, noise_floor));
            let rank = tie.map_or(place, |(_, rank)| rank);
            if is_bound && rank > 1 {
                ranks.push(None);
                continue;
            }
            if tie.is_none() {
                first_of_tie = Some((contender, rank));
            }
            ranks.push(Some(rank));
            place += 1;
        }
        ranks
    }

    /// Whether `b`, which stands below `a` by its median, can't be told from it. It
    /// can't either if block by block it is the better one.
    fn is_tie(
        &self,
        a: &str,
        b: &str,
        (figure, best): (Figure, Best),
        noise_floor: Option<f64>,
    ) -> bool {
        let ratios = log_ratios(&self.pairs(a, b, figure));
        let by_chance = ratios.len() < BLOCKS_MIN || sign_flip_test(&ratios) > SIGNIFICANCE;
        let ahead = median(&ratios).map_or(0.0, |ratio| match best {
            Best::Most => ratio,
            Best::Least => -ratio,
        });
        by_chance || noise_floor.is_none_or(|floor| ahead.exp() <= floor)
    }

    /// Ranks the rows that may be, which stand in the order of their figures, and
    /// gives each its ratio to the first of them.
    pub(super) fn rank<R: Rankable>(
        &self,
        rows: &mut [R],
        by: (Figure, Best),
        noise_floor: Option<f64>,
    ) {
        let mut ranked: Vec<&mut R> =
            rows.iter_mut().filter(|row| row.standing().unranked.is_none()).collect();
        let names: Vec<(String, bool)> = ranked
            .iter()
            .map(|row| (row.standing().contender.to_string(), row.standing().is_bound))
            .collect();
        let in_order: Vec<(&str, bool)> = names.iter().map(|(it, bound)| (&**it, *bound)).collect();
        let Some(&(first, first_is_bound)) = in_order.first() else { return };
        let ranks = self.ranks(&in_order, by, noise_floor);
        for ((row, rank), &(name, is_bound)) in ranked.iter_mut().zip(ranks).zip(&in_order) {
            let Some(rank) = rank else {
                row.pass_over(MAY_BE_FASTER);
                continue;
            };
            let ratio = self.ratio(name, first, by.0);
            let ratio = match (is_bound, first_is_bound) {
                _ if name == first => ratio,
                // It may be anything.
                (true, true) => None,
                (at_least, at_most) => ratio.map(|it| Estimate { at_least, at_most, ..it }),
            };
            row.place(rank, ratio);
        }
    }

    /// The finding in a sentence or two: who is first among the ranked rows, or why
    /// nobody is, and who isn't ranked. The rows stand in the order of their figures.
    /// `better` says what one did that stands above another, and `apart` what the
    /// first does more or less of than the second, whose titles it is given.
    pub(super) fn sentence<R: Rankable>(
        &self,
        rows: &[R],
        better: &str,
        apart: impl FnOnce([&Ranked; 2], [&str; 2]) -> String,
    ) -> String {
        let rows: Vec<Standing> = rows.iter().map(Rankable::standing).collect();
        let ranked: Vec<Ranked> = rows
            .iter()
            .filter_map(|row| {
                let &Standing { contender, verdict, rank, is_bound, .. } = row;
                Some(Ranked { contender, rank: rank?, verdict, is_bound })
            })
            .collect();
        if ranked.is_empty() {
            return nobody_ranked(&rows);
        }
        let not_ranked = self.not_ranked(&rows, better);
        let parts = [Some(self.sentence_of(&ranked, apart)), not_ranked];
        parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
    }

    /// Who isn't ranked where others are, and why; and who of them stands above the
    /// first, as a figure that may not be used can be high for the very reason that
    /// it may not.
    fn not_ranked(&self, rows: &[Standing], better: &str) -> Option<String> {
        let unranked = rows.iter().filter_map(|row| {
            let why = row.unranked?;
            let bound = row.is_bound && why != MAY_BE_FASTER;
            let bound = if bound { ", the rate a lower bound" } else { "" };
            Some((self.title(row.contender), format!("{why}{bound}")))
        });
        let reasons = by_reason(unranked);
        if reasons.is_empty() {
            return None;
        }
        let groups: Vec<String> =
            reasons.iter().map(|(reason, titles)| format!("{} ({reason})", and(titles))).collect();
        let mut says = format!("Not ranked: {}.", groups.join("; "));
        let first = rows.iter().position(|row| row.rank.is_some())?;
        let above = rows[..first].iter().filter(|row| row.median != rows[first].median);
        let above: Vec<&str> = above.map(|row| self.title(row.contender)).collect();
        if !above.is_empty() {
            let first = self.title(rows[first].contender);
            says.push_str(&format!(" {} {better} {first}.", and(&above)));
        }
        Some(says)
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
                let bounds = tied.iter().filter(|it| it.is_bound);
                let bounds: Vec<&str> = bounds.map(|it| self.title(it.contender)).collect();
                let but = match &bounds[..] {
                    [] => String::new(),
                    [only] => format!(", but the rate of {only} is a lower bound"),
                    all => format!(", but the rates of {} are lower bounds", and(all)),
                };
                format!("{} tie: no difference beyond chance and noise{but}.", and(&names))
            }
        };
        let contracts = contracts(&contenders).map(|contracts| format!("{contracts}."));
        [Some(sentence), contracts].into_iter().flatten().collect::<Vec<_>>().join(" ")
    }

    fn contender(&self, name: &str) -> Option<&'a Contender> {
        self.contenders.iter().find(|contender| contender.name == name)
    }

    /// A contender's title, or its name where the run doesn't describe it.
    fn title<'b>(&'b self, name: &'b str) -> &'b str {
        self.contender(name).map_or(name, |it| &it.title)
    }

    /// A title, with what a reader of the sentence alone must know of it.
    fn named(&self, ranked: &Ranked, tiers_differ: bool) -> String {
        let title = self.title(ranked.contender);
        let contender = self.contender(ranked.contender);
        let tier = contender.filter(|_| tiers_differ).map(|it| it.tier.word());
        let caveats: Vec<&str> = tier.into_iter().chain(ranked.verdict.caveat()).collect();
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
    /// Leaves it without a rank, for this reason.
    fn pass_over(&mut self, why: &str);
}

/// Where a row stands.
pub(super) struct Standing<'a> {
    contender: &'a str,
    verdict: Verdict,
    rank: Option<u32>,
    /// Why it may not be ranked.
    unranked: Option<&'a str>,
    /// The median of the figure that it is ranked by.
    median: Option<f64>,
    /// Whether that is only a lower bound.
    is_bound: bool,
}

impl Rankable for Row {
    fn standing(&self) -> Standing<'_> {
        Standing {
            contender: &self.contender,
            verdict: self.verdict,
            rank: self.rank,
            unranked: self.unranked.as_deref(),
            median: Some(self.rate.median),
            is_bound: self.rate.at_least,
        }
    }

    fn place(&mut self, rank: u32, ratio: Option<Estimate>) {
        (self.rank, self.rate_ratio) = (Some(rank), ratio);
    }

    fn pass_over(&mut self, why: &str) {
        self.unranked = Some(why.into());
    }
}

impl Rankable for EqualRateRow {
    fn standing(&self) -> Standing<'_> {
        Standing {
            contender: &self.contender,
            verdict: self.verdict,
            rank: self.rank,
            unranked: self.unranked.as_deref(),
            median: self.server_cpu_us.as_ref().map(|it| it.median),
            is_bound: false,
        }
    }

    fn place(&mut self, rank: u32, ratio: Option<Estimate>) {
        (self.rank, self.cpu_ratio) = (Some(rank), ratio);
    }

    fn pass_over(&mut self, why: &str) {
        self.unranked = Some(why.into());
    }
}

/// A contender that has a rank.
pub(super) struct Ranked<'a> {
    pub(super) contender: &'a str,
    pub(super) rank: u32,
    pub(super) verdict: Verdict,
    /// Whether its figure is only a lower bound.
    pub(super) is_bound: bool,
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
            format!("{} {keep} the lighter contract `{contract}`", and(names))
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
    noise_floor: Result<f64, &'static str>,
) -> Option<String> {
    if verdict == Verdict::Invalid {
        Some("the figures are invalid".into())
    } else if blocks < BLOCKS_MIN {
        Some(format!("a rank needs {BLOCKS_MIN} blocks, and this run has fewer"))
    } else if let Err(why) = noise_floor {
        Some(format!("a rank needs a noise floor, and {why}"))
    } else {
        None
    }
}

/// Said where nobody has a rank: contenders, each with the reason.
fn nobody_ranked(rows: &[Standing]) -> String {
    let unranked = rows.iter().filter_map(|row| Some((row.contender, row.unranked?.to_string())));
    match &by_reason(unranked)[..] {
        [] => "Nobody could be measured.".into(),
        [(reason, _)] => format!("Nobody is ranked: {reason}."),
        several => {
            let named = several.iter().map(|(reason, names)| format!("{}: {reason}", and(names)));
            format!("Nobody is ranked ({}).", named.collect::<Vec<_>>().join("; "))
        }
    }
}

/// Reasons, each with those whom it concerns.
fn by_reason<'a>(each: impl Iterator<Item = (&'a str, String)>) -> Vec<(String, Vec<&'a str>)> {
    let mut reasons: Vec<(String, Vec<&str>)> = Vec::new();
    for (who, reason) in each {
        match reasons.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, all)) => all.push(who),
            None => reasons.push((reason, vec![who])),
        }
    }
    reasons
}

/// A list as one says it: `a, b and c`.
fn and(items: &[impl AsRef<str>]) -> String {
    let items: Vec<&str> = items.iter().map(AsRef::as_ref).collect();
    match &items[..] {
        [others @ .., last] if !others.is_empty() => format!("{} and {last}", others.join(", ")),
        alone => alone.concat(),
    }
}

/// How many times as much, from a ratio: `2.00 times (1.90 to 2.10)`, or, of a lower
/// bound, `at least 2.00 times (1.90 or more)`.
pub(super) fn times(ratio: &Estimate) -> String {
    let at_least = if ratio.at_least { "at least " } else { "" };
    let interval = match ratio.interval {
        Some((low, _)) if ratio.at_least => format!(" ({low:.2} or more)"),
        Some((low, high)) => format!(" ({low:.2} to {high:.2})"),
        None => String::new(),
    };
    format!("{at_least}{:.2} times{interval}", ratio.median)
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
    an_answer(trial.evidence.contender_cpu_s()?, load(trial)?.answers)
}

/// The client's CPU µs a good answer.
pub(super) fn client_cpu_us(trial: &Trial) -> Option<f64> {
    an_answer(load(trial)?.client_cpu_s, load(trial)?.answers)
}

fn an_answer(cpu_s: f64, answers: u64) -> Option<f64> {
    (answers > 0).then(|| cpu_s * 1e6 / answers as f64)
}

fn latency(trial: &Trial, percentile: f64) -> Option<evidence::Percentile> {
    load(trial)?.response_us.at.iter().find(|one| one.percentile == percentile).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::contender;

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
