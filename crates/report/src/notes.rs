//! What to know of a run, or of one of its outcomes, in sentences beside the headline.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use result::outcome::{Outcome, identical_entries};
use result::plan::{Contender, PaceKind, Tier};
use result::{LeftOut, Run, State, Trial};

use crate::client_hosts;
use crate::contenders::{contender, title};
use crate::figures::{self, offered};
use crate::headline::{comparison, sentence};
use crate::repeated::{Repeated, repeated};
use crate::standing::ranked;
use crate::text::visible_name;
use crate::trials::trials_made;
use crate::units;
use crate::words::and;

/// What a reader of the finding has to know beside it, a sentence each: the comparison that leads
/// where the finding isn't it, that the run isn't over, who keeps a lighter contract, who speaks what.
pub fn urgent(run: &Run) -> Vec<String> {
    let compared = Some(comparison(run)).filter(|it| *it != sentence(run));
    let urgent = compared.into_iter().chain(unfinished(run)).chain(lighter_contracts(run));
    urgent.chain(wires_differ(run)).collect()
}

fn unfinished(run: &Run) -> Option<String> {
    (run.state == State::Unfinished).then(|| {
        format!(
            "The run is unfinished: {} made. If it was stopped, `bakeoff run --resume` with its \
             folder, {}, goes on with it.",
            trials_made(run),
            visible_name(&run.id)
        )
    })
}

/// What to know of the run beside its finding, a sentence each.
pub fn notes(run: &Run) -> Vec<String> {
    let plan = &run.plan;
    let mut notes = urgent(run);
    notes.push(format!(
        "{}: {} ({}, {} s measured a trial)",
        run.study.title,
        run.study.question,
        units::of(plan.blocks.into(), "block"),
        plan.measure_s,
    ));
    notes.extend(client_hosts::sentence(run));
    let (made, waiting): (Vec<Repeated>, Vec<Repeated>) =
        repeated(run).into_iter().partition(|it| it.is_made_again(run));
    if let made @ 1.. = made.len() as u64 {
        let were = if made == 1 { "was" } else { "were" };
        notes.push(format!(
            "{} {were} made again, because others used the machine meanwhile.",
            units::of(made, "comparison")
        ));
    }
    if let waiting @ 1.. = waiting.len() as u64 {
        let are = if waiting == 1 { "is" } else { "are" };
        notes.push(format!(
            "{} {are} yet to be made again, because others used the machine meanwhile.",
            units::of(waiting, "comparison")
        ));
    }
    let is_made_again = |failed: &&Trial| run.trials.iter().any(|it| it.slot == failed.slot);
    if let failed @ 1.. = run.failed.iter().filter(is_made_again).count() as u64 {
        let were = if failed == 1 { "was" } else { "were" };
        notes.push(format!(
            "{} failed, and {were} made again when the run was resumed.",
            units::of(failed, "trial")
        ));
    }
    notes.extend(told_by_contenders(run));
    notes.extend(tiers_differ(run));
    notes.extend(many_comparisons(run));
    notes.extend(no_rate_for_all(run));
    notes
}

/// Who keeps a lighter contract, and what that is, a sentence each.
fn lighter_contracts(run: &Run) -> impl Iterator<Item = String> {
    run.study.lighter.iter().filter_map(|contract| {
        let keeps = |it: &&Contender| it.lighter_contract.as_ref() == Some(&contract.name);
        let titles: Vec<Cow<str>> =
            run.contenders.iter().filter(keeps).map(|it| title(run, &it.name)).collect();
        let keep = if titles.len() == 1 { "keeps" } else { "keep" };
        let name = visible_name(&contract.name);
        (!titles.is_empty()).then(|| {
            format!("{} {keep} the lighter contract `{name}`: {}", and(&titles), contract.says)
        })
    })
}

/// That those who pass messages on aren't spoken with alike, and who speaks what.
fn wires_differ(run: &Run) -> Option<String> {
    let mut by_wire = BTreeMap::<&str, Vec<Cow<str>>>::new();
    for it in run.contenders.iter().filter(|it| it.absent.is_none()) {
        let wire = it.wire.as_deref().unwrap_or("frames");
        by_wire.entry(wire).or_default().push(title(run, &it.name));
    }
    let is_of_some = run.study.kind.passes_on() && by_wire.len() > 1;
    is_of_some.then(|| {
        let of_wire = |(wire, titles): (&str, Vec<Cow<str>>)| {
            let speak = if titles.len() == 1 { "speaks" } else { "speak" };
            format!("{} {speak} {}", and(&titles), visible_name(wire))
        };
        let spoken: Vec<String> = by_wire.into_iter().map(of_wire).collect();
        format!(
            "Wires differ, so that a difference may be one of protocols: {}.",
            spoken.join("; ")
        )
    })
}

/// Whether a figure is the contenders' own word.
pub(crate) fn is_told(run: &Run, id: &str) -> bool {
    let mut works = run.trials.iter().filter_map(|trial| trial.evidence.work.as_ref());
    works.any(|work| work.result.contains_key(id) && !work.counted.contains(id))
}

/// Which figures are the contenders' own word.
fn told_by_contenders(run: &Run) -> Option<String> {
    let told = run.study.figures.iter().filter(|figure| is_told(run, &figure.id));
    let titles: Vec<&str> = told.map(|figure| &*figure.title).collect();
    let told = and(&titles);
    (!titles.is_empty())
        .then(|| format!("As contenders tell it, and nobody counts it from outside: {told}."))
}

/// That those who are ranked weren't made alike.
fn tiers_differ(run: &Run) -> Option<String> {
    let rows = run.outcomes.iter().flat_map(|it| &it.rows);
    let ranked = rows.filter(|row| row.standings.values().any(|it| it.rank.is_some()));
    let tiers = ranked.filter_map(|row| contender(run, &row.contender)?.tier);
    let tiers: Vec<&str> = tiers.collect::<BTreeSet<Tier>>().into_iter().map(Tier::word).collect();
    (tiers.len() > 1).then(|| format!("Tiers differ among those ranked: {}.", and(&tiers)))
}

/// Why there is nothing at one rate for all, where that was planned.
fn no_rate_for_all(run: &Run) -> Option<String> {
    let is_of_all = |it: &&LeftOut| it.setting.pace.kind() == PaceKind::Equal;
    let left_out = run.left_out.iter().find(is_of_all)?;
    let is_measured = run.outcomes_at(PaceKind::Equal).next().is_some();
    (!is_measured).then(|| format!("Nobody was measured at one rate for all: {}.", left_out.reason))
}

/// How often two are found to differ that don't, by the test that ranks and claims rest on.
pub(crate) const CHANCE: f64 = 0.05;

/// What to know of ranks where there are many: each is tested against the first of
/// those above it, by itself.
fn many_comparisons(run: &Run) -> Option<String> {
    let of_ranks = || run.outcomes.iter().filter(|outcome| ranked(outcome) > 0);
    let comparisons: usize = of_ranks().map(|outcome| ranked(outcome) - 1).sum();
    // Which ranks are meant goes without saying where the first figure has some.
    let by = of_ranks().next().and_then(|outcome| figures::ranking(run, outcome));
    let by = by.filter(|figure| Some(&figure.id) != run.study.figures.first().map(|it| &it.id));
    let by = by.map(|figure| format!(" by {}", figure.title)).unwrap_or_default();
    (comparisons > 1).then(|| {
        format!(
            "The ranks{by} rest on {} of two contenders, each tested at the {} level. If all \
             contenders were equal, chance alone would still find a difference in up to {:.1} of \
             these tests.",
            units::of(comparisons as u64, "comparison"),
            units::percent(CHANCE),
            comparisons as f64 * CHANCE
        )
    })
}

/// What to say of one setting beside its figures: what was offered, the finding, unless the
/// headline has said it, and the difference below which there is none.
pub fn of_outcome(run: &Run, outcome: &Outcome) -> Option<String> {
    let ranking = outcome.ranking()?;
    let sentence = (sentence(run) != ranking.sentence).then(|| ranking.sentence.clone());
    let noise = ranking.noise_floor.map(noise);
    let offered = outcome
        .offered
        .as_ref()
        .map(|it| format!("{} for each. {}", offered(run, it.rate), it.rule));
    let says = offered.into_iter().chain(sentence).chain(noise);
    let says: Vec<String> = says.chain(by_other_figures(run, outcome)).collect();
    (!says.is_empty()).then(|| says.join(" "))
}

/// What the figures find that rank beside the first one, where that is anything else.
fn by_other_figures<'a>(
    run: &'a Run,
    outcome: &'a Outcome,
) -> impl Iterator<Item = String> + use<'a> {
    let first = outcome.ranking().map(|it| &it.sentence);
    let others = outcome.rankings.iter().skip(1).filter(move |it| Some(&it.sentence) != first);
    others.filter_map(|ranking| {
        let title = visible_name(&run.study.figure(&ranking.figure)?.title);
        Some(format!("By {title}: {}", ranking.sentence))
    })
}

/// Below which difference contenders tie.
fn noise(floor: f64) -> String {
    format!("Noise floor: {}. A smaller difference is a tie.", identical_entries(floor))
}
