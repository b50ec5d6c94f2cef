//! The finding in a sentence or two: who is first among the ranked rows, or why nobody is,
//! and who isn't ranked.

use std::collections::{BTreeMap, BTreeSet};

use result::figure::{Better, Figure, Words};
use result::finding::Verdict;
use result::outcome::{Estimate, Row};
use result::plan::{Contender, Tier};

use super::group::{Group, MAY_BE_FASTER};

/// What stands beside ranks of servers that nobody started for them.
const RAN_BEFORE: &str = "Some of them ran before this run began. Their past, their processors and \
                          their CPU time are not checked.";

/// A row by one figure.
struct Standing<'a> {
    contender: &'a str,
    verdict: Verdict,
    rank: Option<u32>,
    /// Why it may not be ranked.
    unranked: Option<&'a str>,
    /// The median of the figure.
    median: Option<f64>,
    /// Whether that is only a lower bound.
    is_bound: bool,
    /// Whether no doubt can change its place behind the first.
    beyond_doubt: bool,
}

impl<'a> Standing<'a> {
    fn of(row: &'a Row, figure: &Figure) -> Standing<'a> {
        let (standing, estimate) = (row.standings.get(&figure.id), row.figure(&figure.id));
        Standing {
            contender: &row.contender,
            verdict: row.verdict,
            rank: standing.and_then(|it| it.rank),
            unranked: standing.and_then(|it| it.unranked.as_deref()),
            median: estimate.map(|it| it.median),
            is_bound: estimate.is_some_and(|it| it.at_least),
            beyond_doubt: standing.is_some_and(|it| it.beyond_doubt),
        }
    }
}

/// What a figure says of rows that stand in its order; `at` is what all were offered.
pub(super) fn sentence(group: &Group, rows: &[Row], figure: &Figure, at: Option<f64>) -> String {
    let standings: Vec<Standing> = rows.iter().map(|row| Standing::of(row, figure)).collect();
    let ranked: Vec<&Standing> = standings.iter().filter(|it| it.rank.is_some()).collect();
    if ranked.is_empty() {
        return nobody_ranked(&standings);
    }
    let says = Says { group, figure, at };
    let sentence = says.of_the_ranked(&ranked);
    let not_ranked = says.not_ranked(&standings);
    let unseen = group.has_some_that_ran_before().then(|| RAN_BEFORE.to_string());
    [Some(sentence), unseen, not_ranked].into_iter().flatten().collect::<Vec<_>>().join(" ")
}

/// Of which figure, under what.
struct Says<'a> {
    group: &'a Group<'a>,
    figure: &'a Figure,
    /// Units of work a second that all were offered.
    at: Option<f64>,
}

impl Says<'_> {
    fn of_the_ranked(&self, ranked: &[&Standing]) -> String {
        let contenders: Vec<&Contender> =
            ranked.iter().filter_map(|it| self.group.contender(it.contender)).collect();
        let tiers: BTreeSet<Tier> = contenders.iter().filter_map(|it| it.tier).collect();
        let named = |it: &Standing| self.named(it, tiers.len() > 1, it.verdict.caveat());
        let first: Vec<&&Standing> = ranked.iter().filter(|it| it.rank == Some(1)).collect();
        let second = ranked.iter().find(|it| it.rank > Some(1));
        let sentence = match (&first[..], second) {
            ([only], None) => format!("Only {} could be ranked.", named(only)),
            ([winner], Some(second)) if second.beyond_doubt => {
                // What is doubted is told once, in place of a caveat at each name.
                let named = |it: &Standing| {
                    let caveat = it.verdict.caveat().filter(|_| it.verdict != Verdict::Suspect);
                    self.named(it, tiers.len() > 1, caveat)
                };
                let apart = self.apart((winner, &named(winner)), (second, &named(second)));
                format!("{apart}, far beyond what is doubted.")
            }
            ([winner], Some(second)) => {
                self.apart((winner, &named(winner)), (second, &named(second))) + "."
            }
            (tied, _) => {
                let names: Vec<String> = tied.iter().map(|it| named(it)).collect();
                let bounds = tied.iter().filter(|it| it.is_bound);
                let bounds: Vec<&str> = bounds.map(|it| self.group.title(it.contender)).collect();
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

    /// How far the first is from the second, without a full stop: the one with more of the figure is told first.
    fn apart(&self, winner: (&Standing, &str), second: (&Standing, &str)) -> String {
        let [more, less] = match self.figure.better {
            Better::More => [winner, second],
            Better::Less => [second, winner],
        };
        let Some(Words { does, how, of, .. }) = &self.figure.words else {
            return format!("{} is first, {} second", winner.1, second.1);
        };
        let ratio = self.group.ratio(more.0.contender, less.0.contender, &self.figure.id);
        let apart = match ratio {
            Some(ratio) => {
                // The other's is exact: a lower bound isn't placed below anybody.
                let ratio = Estimate { at_least: more.0.is_bound, ..ratio };
                format!("{} as {how} {of} as", times(&ratio))
            }
            None => format!("more {of} than"),
        };
        let of_rate = self.group.rate_of();
        let at = self.at.map(|rate| format!("At {rate:.0} {of_rate} "));
        format!("{}{} {does} {apart} {}", at.unwrap_or_default(), more.1, less.1)
    }

    /// Who isn't ranked where others are, and why; and who of them stands above the
    /// first, as a figure that may not be used can be good for the very reason that
    /// it may not.
    fn not_ranked(&self, rows: &[Standing]) -> Option<String> {
        let unranked = rows.iter().filter_map(|row| {
            let why = row.unranked?;
            let bound = row.is_bound && why != MAY_BE_FASTER;
            let bound = if bound { ", the rate a lower bound" } else { "" };
            Some((self.group.title(row.contender), format!("{why}{bound}")))
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
        let above: Vec<&str> = above.map(|row| self.group.title(row.contender)).collect();
        if let (false, Some(Words { did, of, .. })) = (above.is_empty(), &self.figure.words) {
            let amount = match self.figure.better {
                Better::More => "more",
                Better::Less => "less",
            };
            let first = self.group.title(rows[first].contender);
            says.push_str(&format!(" {} {did} {amount} {of} than {first}.", and(&above)));
        }
        Some(says)
    }

    /// A title, with what a reader of the sentence alone must know of it.
    fn named(&self, ranked: &Standing, tiers_differ: bool, caveat: Option<&str>) -> String {
        let title = self.group.title(ranked.contender);
        let contender = self.group.contender(ranked.contender);
        let tier = contender.filter(|_| tiers_differ).and_then(|it| it.tier).map(Tier::word);
        let caveats: Vec<&str> = tier.into_iter().chain(caveat).collect();
        if caveats.is_empty() {
            title.to_string()
        } else {
            format!("{title} ({})", caveats.join(", "))
        }
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
            format!("{} {keep} the lighter contract `{contract}`", and(names))
        })
        .collect();
    if ranked.iter().any(|contender| of(contender).is_none()) {
        parts.push("the others the full one".into());
    }
    Some(parts.join(", "))
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
fn times(ratio: &Estimate) -> String {
    let at_least = if ratio.at_least { "at least " } else { "" };
    let interval = match ratio.interval {
        Some((low, _)) if ratio.at_least => format!(" ({low:.2} or more)"),
        Some((low, high)) => format!(" ({low:.2} to {high:.2})"),
        None => String::new(),
    };
    format!("{at_least}{:.2} times{interval}", ratio.median)
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
