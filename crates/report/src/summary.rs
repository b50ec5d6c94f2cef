//! What both forms of a report say alike: the headline, names, and findings in
//! groups.

use std::borrow::{Borrow, Cow};
use std::collections::BTreeSet;

use result::figure::{Better, MEMORY, RATE};
use result::finding::{Finding, Verdict};
use result::outcome::{Curve, CurveLine, Estimate, Outcome, Row, identical_entries};
use result::plan::{Contender, Pace, PaceKind, Setting, Slot, Tier};
use result::{LeftOut, Run, State, Trial};

use crate::figures;
use crate::lead::{comparison, lead, ranked, sentence};
use crate::names;
use crate::text::{visible, visible_name};
use crate::units;

/// How many trials were made, of how many.
pub fn trials_made(run: &Run) -> String {
    let (made, planned) = (run.trials.len() as u64, run.plan.slots.len() as u64);
    format!("{} of {}", units::whole(made), units::of(planned, "trial"))
}

/// A rate as a share of the best one, with a sign where one of the two is a bound.
pub fn share_of_best(ratio: &Estimate) -> String {
    let (at_least, at_most) = (units::at_least(ratio.at_least), units::at_most(ratio.at_most));
    format!("{at_least}{at_most}{}", units::percent(ratio.median))
}

/// The shares of a table's rows, each a median of ratios within blocks, beside the medians of
/// the rows. Both estimate the same, and may put two rows in another order: such shares are
/// left out, since a table that contradicts itself tells nothing.
pub fn consistent<'a>(rows: &[(f64, Option<&'a Estimate>)]) -> Vec<Option<&'a Estimate>> {
    let agree = |(median, share): (f64, &Estimate)| {
        let others =
            rows.iter().filter_map(|(median, share)| Some((*median, share.as_ref()?.median)));
        others.into_iter().all(|(other, its)| (median - other) * (share.median - its) >= 0.0)
    };
    rows.iter().map(|(median, share)| share.filter(|share| agree((*median, share)))).collect()
}

/// The shares of the best figure that a table has.
pub fn shares<'a>(run: &Run, outcome: &'a Outcome) -> Vec<Option<&'a Estimate>> {
    let Some(figure) = figures::ranking(run, outcome) else {
        return vec![None; outcome.rows.len()];
    };
    let last = match figure.better {
        Better::More => f64::MIN,
        Better::Less => f64::MAX,
    };
    let rows = outcome
        .rows
        .iter()
        .map(|row| (row.figure(&figure.id).map_or(last, |it| it.median), row.ratio(&figure.id)));
    consistent(&rows.collect::<Vec<_>>())
}

/// What stands over a study's own sentences on that.
pub const CANNOT_SAY: &str = "What these figures can't say";

/// The names of settings of a run.
pub fn names(run: &Run, settings: &[impl Borrow<Setting>]) -> String {
    names::setting_names(&run.study.dimensions, settings)
}

/// What a reader of the finding has to know beside it, a sentence each: the comparison that leads
/// where the finding isn't it, that the run isn't over, who keeps a lighter contract.
pub fn urgent_notes(run: &Run) -> Vec<String> {
    let compared = Some(comparison(run)).filter(|it| *it != sentence(run));
    compared.into_iter().chain(unfinished(run)).chain(lighter_contracts(run)).collect()
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
    let mut notes = urgent_notes(run);
    notes.push(format!(
        "{}: {} ({}, {} s measured a trial)",
        run.study.title,
        run.study.question,
        units::of(plan.blocks.into(), "block"),
        plan.measure_s,
    ));
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
    notes.extend(tiers_differ(run));
    notes.extend(many_comparisons(run));
    notes.extend(no_rate_for_all(run));
    notes
}

/// That those who are ranked weren't made alike.
fn tiers_differ(run: &Run) -> Option<String> {
    let rows = run.outcomes.iter().flat_map(|it| &it.rows);
    let ranked = rows.filter(|row| row.standings.values().any(|it| it.rank.is_some()));
    let tiers = ranked.filter_map(|row| contender(run, &row.contender)?.tier);
    let tiers: Vec<&str> = tiers.collect::<BTreeSet<Tier>>().into_iter().map(Tier::word).collect();
    (tiers.len() > 1).then(|| format!("Tiers differ among those ranked: {}.", and(&tiers)))
}

/// Whether contenders have tiers: commands that nobody wrote a contender for have none.
pub fn has_tiers(run: &Run) -> bool {
    run.contenders.iter().any(|it| it.tier.is_some())
}

/// The tier of a row's contender, in a table that tells tiers.
pub fn tier(run: &Run, row: &Row) -> &'static str {
    contender(run, &row.contender).and_then(|it| it.tier).map_or(units::NOTHING, Tier::word)
}

/// Why there is nothing at one rate for all, where that was planned.
fn no_rate_for_all(run: &Run) -> Option<String> {
    let is_of_all = |it: &&LeftOut| it.setting.pace.kind() == PaceKind::Equal;
    let left_out = run.left_out.iter().find(is_of_all)?;
    let is_measured = run.outcomes_at(PaceKind::Equal).next().is_some();
    (!is_measured).then(|| format!("Nobody was measured at one rate for all: {}.", left_out.reason))
}

/// How often two are found to differ that don't, by the test that ranks rest on.
const CHANCE: f64 = 0.05;

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
pub fn finding(run: &Run, outcome: &Outcome) -> Option<String> {
    let ranking = outcome.ranking()?;
    let sentence = (sentence(run) != ranking.sentence).then(|| ranking.sentence.clone());
    let noise = ranking.noise_floor.map(noise);
    let offered = outcome
        .offered
        .as_ref()
        .map(|it| format!("{} for each. {}", requests(run, it.rate), it.rule));
    let says: Vec<String> = offered.into_iter().chain(sentence).chain(noise).collect();
    (!says.is_empty()).then(|| says.join(" "))
}

/// A rate that was offered, in words.
pub fn requests(run: &Run, rate: f64) -> String {
    let words = run.study.figure(RATE).and_then(|figure| figure.words.as_ref());
    let of = words.map_or("units of work a second", |words| &words.of);
    format!("{} {of}", units::whole(rate.round() as u64))
}

/// Below which difference contenders tie.
fn noise(floor: f64) -> String {
    format!("Noise floor: {}. A smaller difference is a tie.", identical_entries(floor))
}

/// A list as one says it: `a, b and c`.
pub fn and(items: &[impl AsRef<str>]) -> String {
    let items: Vec<&str> = items.iter().map(AsRef::as_ref).collect();
    match items.as_slice() {
        [] => String::new(),
        [only] => (*only).into(),
        [others @ .., last] => format!("{} and {last}", others.join(", ")),
    }
}

/// The outcomes that differ in the study's first dimension only.
pub struct Section<'a> {
    /// What they have in common.
    pub name: String,
    /// One for each value of that dimension.
    pub outcomes: Vec<&'a Outcome>,
}

/// All outcomes, in sections: those first that compare what the leading one does.
pub fn sections(run: &Run) -> Vec<Section<'_>> {
    let dimensions = &run.study.dimensions;
    let mut sections: Vec<Section> = Vec::new();
    for outcome in &run.outcomes {
        let is_alike = |section: &Section| {
            let first = section.outcomes[0];
            names::is_same_section(dimensions, &first.setting, &outcome.setting)
                && first.class == outcome.class
        };
        let make = || Section { name: section_name(run, outcome), outcomes: vec![] };
        entry(&mut sections, is_alike, make).outcomes.push(outcome);
    }
    let figure = |outcome: &Outcome| outcome.ranking().map(|ranking| ranking.figure.clone());
    let leading = lead(run).and_then(figure);
    sections.sort_by_key(|section| figure(section.outcomes[0]) != leading);
    sections
}

fn section_name(run: &Run, outcome: &Outcome) -> String {
    let name = match (&outcome.offered, figures::ranking(run, outcome)) {
        (Some(_), Some(figure)) => {
            format!("One rate for all: {}", visible_name(&figure.title))
        }
        (Some(_), None) => "One rate for all".into(),
        (None, _) => names::section_name(&run.study.dimensions, &outcome.setting),
    };
    match class_name(run, outcome) {
        Some(class) => format!("{name}: {class}"),
        None => name,
    }
}

/// Which stores an outcome compares: only those of one class are rivals. `None` where
/// contenders have no classes.
pub fn class_name(run: &Run, outcome: &Outcome) -> Option<String> {
    match outcome.class {
        Some(class) => Some(format!("stores that {}", class.stores())),
        None if run.durability.is_empty() => None,
        None => Some("stores of which nobody knows what they survive".into()),
    }
}

/// What tells an outcome from the others of its section.
pub fn point_name(run: &Run, outcome: &Outcome) -> String {
    match &outcome.offered {
        // It is alone there.
        Some(_) => names(run, &[outcome.setting.with(Pace::Free)]),
        None => names::point_name(&run.study.dimensions, &outcome.setting),
    }
}

/// A verdict's sign, which tells it from the others without colour.
pub fn sign(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Valid => "✓",
        Verdict::NotChecked => "○",
        Verdict::Suspect => "?",
        Verdict::Invalid => "✗",
    }
}

/// The name of the machine's processor; those of ARM have none for Linux.
pub fn processor(run: &Run) -> Cow<'_, str> {
    match &*run.machine.cpu {
        "" => "unknown processor".into(),
        name => visible(name),
    }
}

/// The contender of a name.
pub fn contender<'a>(run: &'a Run, name: &str) -> Option<&'a Contender> {
    run.contenders.iter().find(|contender| contender.name == name)
}

/// A contender's title, or its name where the run doesn't describe it; visible.
pub fn title<'a>(run: &'a Run, name: &'a str) -> Cow<'a, str> {
    visible_name(contender(run, name).map_or(name, |contender| &contender.title))
}

/// The title, with the lighter contract where it keeps one: what stands beside a
/// figure, so that nobody takes it for an answer to the full contract.
pub fn who<'a>(run: &'a Run, name: &'a str) -> Cow<'a, str> {
    let title = title(run, name);
    match contender(run, name).and_then(|it| it.lighter_contract.as_deref()) {
        Some(contract) => format!("{title} (lighter contract: {})", visible_name(contract)).into(),
        None => title,
    }
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

/// The trials behind a row, in block order.
pub fn trials<'a>(run: &'a Run, setting: &Setting, contender: &str) -> Vec<&'a Trial> {
    let mut trials: Vec<&Trial> = run
        .trials
        .iter()
        .filter(|trial| {
            trial.slot.setting == *setting && trial.slot.contender == contender && !trial.slot.twin
        })
        .collect();
    trials.sort_by_key(|trial| trial.slot.block);
    trials
}

/// A comparison that was set aside, to be made again, because others used the machine: a
/// block's trials under one load.
pub struct Repeated<'a> {
    /// The block, from 0.
    pub block: u32,
    /// The setting.
    pub setting: &'a Setting,
    /// The trials that were set aside, in the order of measuring.
    pub aside: Vec<&'a Trial>,
}

impl Repeated<'_> {
    /// Whether that came to pass: a run may be stopped before.
    pub fn is_made_again(&self, run: &Run) -> bool {
        let is_there = |aside: &&Trial| run.trials.iter().any(|it| it.slot == aside.slot);
        self.aside.iter().all(is_there)
    }

    /// What others took of the machine, at most, in words.
    pub fn reason(&self) -> String {
        let most = |of: fn(&Trial) -> Option<f64>| {
            self.aside.iter().filter_map(|trial| of(trial)).max_by(f64::total_cmp)
        };
        let others = most(|trial| trial.evidence.others_near_cores())
            .map(|cores| format!("others used up to {} cores", units::plain(cores)));
        let steal = most(|trial| trial.evidence.steal_share)
            .map(|share| format!("the host took up to {} of the time", units::percent(share)));
        and(&others.into_iter().chain(steal).collect::<Vec<_>>())
    }
}

/// The comparisons that were set aside, in block order.
pub fn repeated(run: &Run) -> Vec<Repeated<'_>> {
    let mut repeated: Vec<Repeated> = Vec::new();
    for trial in &run.disturbed {
        let (block, setting) = (trial.slot.block, &trial.slot.setting);
        let comparison = entry(
            &mut repeated,
            |it| (it.block, it.setting) == (block, setting),
            || Repeated { block, setting, aside: vec![] },
        );
        comparison.aside.push(trial);
    }
    repeated.sort_by_key(|it| (it.block, it.setting.clone()));
    repeated
}

/// What 100 % of a curve is, with a sign where that is only a lower bound of the maximum.
pub fn hundred_percent(run: &Run, curve: &Curve, line: &CurveLine) -> String {
    let bound = units::at_least(is_bound_of_maximum(run, curve, line));
    let rate = line.maximum_rate.map_or(units::NOTHING.into(), units::count);
    format!("100 % is {bound}{rate}/s")
}

/// What 100 % of a curve is, where that is only a lower bound of the maximum, and why.
pub fn bound_of_maximum(run: &Run, curve: &Curve, line: &CurveLine) -> Option<String> {
    (line.maximum_rate.is_some() && is_bound_of_maximum(run, curve, line)).then(|| {
        let is = hundred_percent(run, curve, line);
        format!("{is}, since the client was near its own limit")
    })
}

fn is_bound_of_maximum(run: &Run, curve: &Curve, line: &CurveLine) -> bool {
    run.row(&curve.setting, &line.contender)
        .and_then(|row| row.figure(RATE))
        .is_some_and(|rate| rate.at_least)
}

/// What a row's server did with connections that were to be kept, where it closed
/// some: in order, after an answer, or it would be an error.
pub fn cut_connections(run: &Run, outcome: &Outcome, contender: &str) -> Option<String> {
    let trials = trials(run, &outcome.setting, contender);
    let clients = trials.iter().flat_map(|trial| &trial.evidence.clients);
    // Of the answers of those in which it was counted.
    let counted = clients.filter_map(|client| Some((client.cut?, client.good)));
    let (cut, good) = counted.fold((0, 0), |sum, it| (sum.0 + it.0, sum.1 + it.1));
    (outcome.setting.kept() && cut > 0).then(|| {
        let often = match (good as f64 / cut as f64).round() as u64 {
            0 | 1 => "most answers".into(),
            many => format!("one in {} answers", units::whole(many)),
        };
        format!(
            "It closed connections that were to be kept, and the client opened new ones: after \
             {often}."
        )
    })
}

/// What a rate counts, said once where a study has requests.
pub const GOOD_ANSWERS: &str = "Requests a second count good answers only.";

/// Said where [`shares_cores`].
pub const SHARED_CORES: &str =
    "Server and client share cores here, so each takes time from the other.";

/// Whether server and client shared processors in a section.
pub fn shares_cores(run: &Run, section: &Section) -> bool {
    run.trials.iter().any(|trial| {
        trial.evidence.place.shared()
            && section.outcomes.iter().any(|outcome| outcome.setting == trial.slot.setting)
    })
}

/// Said where [`shares_memory`].
pub const SHARED_MEMORY: &str =
    "Memory is summed over a contender's processes: what two share, as after a fork, counts twice.";

/// Whether a table of figures has memory in it, and of a contender of several processes.
pub fn figures_share_memory(run: &Run) -> bool {
    figures::plain(run).any(|figure| figure.id == MEMORY) && shares_memory(run)
}

/// Whether a contender ran as several processes, which may share pages.
pub fn shares_memory(run: &Run) -> bool {
    run.trials.iter().any(|trial| trial.evidence.server.processes.len() > 1)
}

/// A contender that could be had but has no row under a load.
pub struct Missing<'a> {
    /// Its title, visible.
    pub who: Cow<'a, str>,
    /// Why.
    pub reason: &'a str,
    /// Its last output lines, where it failed.
    pub last_words: &'a [String],
}

/// Contenders without a figure under a setting.
pub fn without_figure<'a>(run: &'a Run, outcome: &'a Outcome) -> Vec<Missing<'a>> {
    let setting = &outcome.setting;
    let has_row = |name: &str| outcome.rows.iter().any(|row| row.contender == name);
    run.contenders
        .iter()
        .filter(|contender| contender.absent.is_none() && !has_row(&contender.name))
        // Those of another class have an outcome of their own.
        .filter(|contender| run.class(&contender.name) == outcome.class)
        .filter(|contender| is_planned(run, setting, &contender.name))
        .map(|contender| {
            let trials = trials(run, setting, &contender.name);
            let failure = trials.iter().find_map(|trial| {
                Some((
                    trial.evidence.process.failure.as_deref()?,
                    &*trial.evidence.process.last_words,
                ))
            });
            let finding = || trials.iter().flat_map(|it| &it.findings).max_by_key(|it| it.verdict);
            let left_out = || {
                let is_it =
                    |it: &&LeftOut| it.contender == contender.name && it.setting == *setting;
                run.left_out.iter().find(is_it)
            };
            let (reason, last_words) = failure
                .or_else(|| Some((&*finding()?.says, &[][..])))
                .or_else(|| Some((&*left_out()?.reason, &[][..])))
                .unwrap_or(("It wasn't measured under this setting.", &[]));
            Missing { who: who(run, &contender.name), reason, last_words }
        })
        .collect()
}

/// Whether a contender was to be measured under a setting: others can't do what it asks. Plans
/// of older runs may leave out what was left out.
fn is_planned(run: &Run, setting: &Setting, contender: &str) -> bool {
    let is_it = |slot: &Slot| slot.contender == contender && slot.setting == *setting;
    let is_of_setting = |slot: &Slot| slot.setting == *setting;
    let mut slots = run.plan.slots.iter();
    slots.any(is_it) || !run.plan.slots.iter().any(is_of_setting)
}

/// Contenders that could not be had, with the reason.
pub fn absent(run: &Run) -> Vec<(Cow<'_, str>, &str)> {
    run.contenders
        .iter()
        .filter_map(|contender| Some((who(run, &contender.name), contender.absent.as_deref()?)))
        .collect()
}

/// The word that stands beside a row's range of rates.
pub fn range(estimate: &Estimate) -> Range {
    match (estimate.interval, estimate.blocks.as_slice()) {
        (Some(interval), _) => Range::Interval(interval),
        (None, [] | [_]) => Range::None,
        (None, blocks) => Range::Blocks((
            blocks.iter().copied().fold(f64::INFINITY, f64::min),
            blocks.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        )),
    }
}

/// How far a median may be off.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Range {
    /// The 95 % interval.
    Interval(units::Range),
    /// The lowest and highest block, where there are too few for an interval.
    Blocks(units::Range),
    /// One block tells nothing.
    None,
}

/// What a check says alike of several rows.
#[derive(Debug, PartialEq)]
pub struct Group<'a> {
    /// The check's id.
    pub check: &'a str,
    /// Its word.
    pub verdict: Verdict,
    /// What it means.
    pub says: &'a str,
    /// What values were held against.
    pub threshold: &'a str,
    /// What to do.
    pub fix: &'a str,
    /// Of whom, with which value.
    pub cases: Vec<Case<'a>>,
}

/// One value, and who had it under which loads.
#[derive(Debug, PartialEq)]
pub struct Case<'a> {
    /// The contenders, visible.
    pub who: Vec<Cow<'a, str>>,
    /// What was measured.
    pub value: &'a str,
    /// Under which settings.
    pub settings: Vec<Setting>,
}

impl Case<'_> {
    /// The contenders in words.
    pub fn names(&self) -> String {
        and(&self.who)
    }
}

/// A contender's figures under one setting, and what was found of them.
struct Judged<'a> {
    contender: &'a str,
    setting: Setting,
    findings: &'a [Finding],
}

/// All figures of a run.
fn judged(run: &Run) -> Vec<Judged<'_>> {
    let mut judged = Vec::new();
    for outcome in &run.outcomes {
        for row in &outcome.rows {
            let (contender, setting) = (row.contender.as_str(), outcome.setting.clone());
            judged.push(Judged { contender, setting, findings: &row.findings });
        }
    }
    for curve in &run.curves {
        for line in &curve.lines {
            for point in &line.points {
                let setting = curve.setting.with(Pace::Own { percent: point.percent });
                let (contender, findings) = (line.contender.as_str(), point.findings.as_slice());
                judged.push(Judged { contender, setting, findings });
            }
        }
    }
    judged
}

/// All findings of a run's figures.
pub fn findings(run: &Run) -> impl Iterator<Item = &Finding> {
    judged(run).into_iter().flat_map(|judged| judged.findings)
}

/// The number of settings that have a figure.
pub fn settings_with_figures(run: &Run) -> usize {
    judged(run).into_iter().map(|it| it.setting).collect::<BTreeSet<Setting>>().len()
}

/// The findings that stand against a figure, the worst first.
pub fn findings_against(run: &Run) -> Vec<Group<'_>> {
    let mut groups: Vec<Group> = Vec::new();
    for Judged { contender, setting, findings } in judged(run) {
        for finding in findings.iter().filter(|it| it.verdict != Verdict::Valid) {
            let Finding { check, verdict, value, threshold, says, fix, off_by_max: _ } = finding;
            let verdict = *verdict;
            let group = entry(
                &mut groups,
                |it| (it.check, it.verdict, it.says, it.fix) == (check, verdict, says, fix),
                || Group { check, verdict, says, threshold, fix, cases: vec![] },
            );
            let who = vec![who(run, contender)];
            let case = entry(
                &mut group.cases,
                |case| case.who == who && case.value == value,
                || Case { who: who.clone(), value, settings: vec![] },
            );
            case.settings.push(setting.clone());
        }
    }
    for group in &mut groups {
        merge_alike(&mut group.cases);
    }
    groups.sort_by_key(|group| std::cmp::Reverse(group.verdict));
    groups
}

/// What one check says against figures.
pub struct ByCheck<'a> {
    /// What it says, the worst first; never empty.
    pub groups: Vec<Group<'a>>,
    /// Figures that it speaks of.
    pub figures: usize,
}

/// The findings that stand against a figure, by check, the worst first.
pub fn by_check(run: &Run) -> Vec<ByCheck<'_>> {
    let mut checks: Vec<ByCheck> = Vec::new();
    for group in findings_against(run) {
        let figures: usize = group.cases.iter().map(|it| it.who.len() * it.settings.len()).sum();
        let known = |it: &ByCheck| it.groups[0].check == group.check;
        let check = entry(&mut checks, known, || ByCheck { groups: vec![], figures: 0 });
        check.figures += figures;
        check.groups.push(group);
    }
    checks
}

/// Makes one case of those that differ in the contender only.
fn merge_alike(cases: &mut Vec<Case>) {
    let mut merged: Vec<Case> = Vec::new();
    for case in cases.drain(..) {
        match merged.iter_mut().find(|it| it.value == case.value && it.settings == case.settings) {
            Some(known) => known.who.extend(case.who),
            None => merged.push(case),
        }
    }
    *cases = merged;
}

/// The element that fits, made first if there is none.
pub fn entry<T>(list: &mut Vec<T>, fits: impl Fn(&T) -> bool, make: impl FnOnce() -> T) -> &mut T {
    let at = list.iter().position(fits).unwrap_or_else(|| {
        list.push(make());
        list.len() - 1
    });
    &mut list[at]
}

/// What limited a row's rate, in a word or two.
pub fn limited_by(row: &Row) -> &'static str {
    row.limit.as_ref().map_or(units::NOTHING, |limit| limit.by.word())
}

/// A row's rank with its tie, as `=1`, by the figure that rows are in the order of.
pub fn rank(outcome: &Outcome, row: &Row) -> String {
    let of = |row: &Row| row.rank(&outcome.ranking()?.figure);
    let Some(number) = of(row) else { return units::NOTHING.into() };
    let tied = outcome.rows.iter().filter(|other| of(other) == Some(number)).count() > 1;
    format!("{}{number}", if tied { "=" } else { "" })
}

/// Whether a row is first, or ties for it.
pub fn is_first(outcome: &Outcome, row: &Row) -> bool {
    outcome.ranking().is_some_and(|ranking| row.rank(&ranking.figure) == Some(1))
}
