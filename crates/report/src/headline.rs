//! The finding of a run in one sentence.

use std::borrow::Cow;
use std::collections::BTreeSet;

use result::figure::{Better, Figure, Words};
use result::finding::{Finding, QUIET_MACHINE, Verdict};
use result::outcome::{Estimate, Outcome, Row};
use result::{Run, State};

use crate::contenders::{title, who};
use crate::figures::{self, offered};
use crate::lead::lead;
use crate::rate_by_loss;
use crate::sections::class_name;
use crate::standing::{is_first, ranked};
use crate::trials::trials_made;
use crate::units;
use crate::words::{and, shortened};

/// The longest headline: more is cut off in lists, mails and search results.
pub const SENTENCE_CHARS_MAX: usize = 160;

/// The finding of the whole run in one sentence of at most [`SENTENCE_CHARS_MAX`] characters: of
/// stores what durability costs, else the comparison that leads.
pub fn sentence(run: &Run) -> String {
    durability_cost(run).unwrap_or_else(|| comparison(run))
}

/// What durability costs, where that was measured on a machine that was quiet enough.
fn durability_cost(run: &Run) -> Option<String> {
    if busy(run).is_some() {
        return None;
    }
    let says =
        |name_chars| Some(format!("{}{}", so_far(run), rate_by_loss::sentence(run, name_chars)?));
    let fits = |says: &String| says.chars().count() <= SENTENCE_CHARS_MAX;
    [usize::MAX, 40, 25, 15].into_iter().filter_map(says).find(fits).or_else(|| says(10))
}

/// That a run isn't over, before its finding.
fn so_far(run: &Run) -> String {
    if run.state == State::Unfinished {
        format!("So far, with {}: ", trials_made(run))
    } else {
        String::new()
    }
}

/// The comparison that leads, in one sentence of at most [`SENTENCE_CHARS_MAX`] characters.
pub fn comparison(run: &Run) -> String {
    let is_unfinished = run.state == State::Unfinished;
    let Some(lead) = lead(run) else {
        return if is_unfinished {
            "This run has no figures yet.".into()
        } else {
            "This run has no figures: nobody could be measured.".into()
        };
    };
    let so_far = so_far(run);
    if let Some(busy) = busy(run) {
        return format!("{so_far}{busy}");
    }
    // Names give way to figures, and who comes next to those who are first.
    let brevities = [
        (usize::MAX, NAMES_MAX, true),
        (40, NAMES_MAX, true),
        (25, NAMES_MAX, true),
        (40, NAMES_MAX, false),
        (25, NAMES_MAX, false),
    ];
    let says = |(name_chars, names, with_next)| {
        format!("{so_far}{}", found(run, lead, &Brevity { name_chars, names, with_next }))
    };
    let fits = |says: &String| says.chars().count() <= SENTENCE_CHARS_MAX;
    let shorter = brevities.into_iter().map(says).find(fits);
    shorter.unwrap_or_else(|| says((15, 1, false)))
}

/// How short a sentence has to be.
struct Brevity {
    /// The longest name.
    name_chars: usize,
    /// The most names of those that tie.
    names: usize,
    /// Whether it names who comes next.
    with_next: bool,
}

impl Brevity {
    /// A contender's name, with the doubt about its figure.
    fn name(&self, run: &Run, contender: &str, is_suspect: bool) -> String {
        let name = who(run, contender);
        let name = if name.chars().count() > self.name_chars && name != title(run, contender) {
            // Who keeps less than the others is never named without that.
            let title = shortened(&title(run, contender), self.name_chars);
            format!("{title} (lighter contract)")
        } else {
            shortened(&name, self.name_chars)
        };
        let doubt = if is_suspect { " (suspect)" } else { "" };
        format!("{name}{doubt}")
    }
}

/// Who has the best of the leading figure, under how many settings, and how close the next
/// comes.
fn found(run: &Run, outcome: &Outcome, brevity: &Brevity) -> String {
    let Some((figure, words)) =
        figures::ranking(run, outcome).and_then(|figure| Some((figure, figure.words.as_ref()?)))
    else {
        return nobody(run);
    };
    // Who alone has a rank under another setting has won nothing there.
    let is_alike =
        |it: &&Outcome| first(it) == first(outcome) && (ranked(it) > 1) == (ranked(outcome) > 1);
    let of_pace = || {
        run.outcomes_at(outcome.setting.pace.kind()).filter(|it| it.classes() == outcome.classes())
    };
    let alike: Vec<&Outcome> = of_pace().filter(is_alike).collect();
    let rows = || alike.iter().flat_map(|it| &it.rows);
    let beyond_doubt = alike.iter().all(|outcome| orders_hold(outcome, figure))
        && rows().any(|row| row.standings.get(&figure.id).is_some_and(|it| it.beyond_doubt));
    // What is doubted is told once, in place of a word at each name.
    let is_suspect = |contender: &str| {
        !beyond_doubt
            && rows().any(|row| row.contender == contender && row.verdict == Verdict::Suspect)
    };
    let first: Vec<String> = outcome
        .rows
        .iter()
        .filter(|row| is_first(outcome, row))
        .map(|row| brevity.name(run, &row.contender, is_suspect(&row.contender)))
        .collect();
    let at = outcome.offered.as_ref().map(|it| format!(" at {}", offered(run, it.rate)));
    let under = share_of_settings(alike.len(), of_pace().count());
    let class = class_name(run, outcome).map(|class| format!(" of {class}"));
    let under = format!("{}{under}{}", at.unwrap_or_default(), class.unwrap_or_default());
    // Those without a rank may have better figures.
    let all_are_ranked = rows().all(|row| row.rank(&figure.id).is_some());
    let best = best(figure, words);
    let is_main = run.study.figures.first() == Some(figure);
    let does = match first.as_slice() {
        [] => return nobody(run),
        [only] if ranked(outcome) == 1 => {
            return format!(
                "Only {only} could be ranked{under}, which is no win: what is against the others \
                 stands below."
            );
        }
        [_] if all_are_ranked => format!("{} {best}", words.does),
        _ if all_are_ranked => format!("tie for {best}"),
        // By what goes without saying.
        [_] if is_main => "is first of those ranked".into(),
        _ if is_main => "tie for first of those ranked".into(),
        [_] => format!("{} {best} of those ranked", words.does),
        _ => format!("tie for {best} of those ranked"),
    };
    let most = format!("{} {does}{under}", and_others(&first, brevity.names));
    match closest(&alike, figure).filter(|_| brevity.with_next) {
        Some((row, ratio)) => {
            let is_suspect = row.verdict == Verdict::Suspect && !beyond_doubt;
            let next = brevity.name(run, &row.contender, is_suspect);
            if beyond_doubt {
                let times = units::plain(ratio.median.ln().abs().exp());
                return format!(
                    "{most}; {next} comes closest: {times} times apart, far beyond what is doubted."
                );
            }
            let (does, ratio) = (&words.does, percent_with_interval(ratio));
            match figure.better {
                Better::More => format!("{most}; {next} comes closest, with {ratio} of that."),
                Better::Less => format!("{most}; {next} {does} {ratio} of that."),
            }
        }
        None if beyond_doubt => format!("{most}, far beyond what is doubted."),
        None => format!("{most}."),
    }
}

/// Whether no doubt can change the place of those ranked behind the first.
fn orders_hold(outcome: &Outcome, figure: &Figure) -> bool {
    let is_suspect = |row: &Row| row.verdict == Verdict::Suspect;
    let is_first = |row: &&Row| row.rank(&figure.id) == Some(1);
    let is_doubted = outcome.rows.iter().filter(is_first).any(is_suspect);
    let holds = |row: &Row| row.standings.get(&figure.id).is_some_and(|it| it.beyond_doubt);
    let mut behind = outcome.rows.iter().filter(|row| row.rank(&figure.id) > Some(1));
    behind.all(|row| holds(row) || !is_doubted && !is_suspect(row))
}

/// What the first one has: `the most requests a second`.
fn best(figure: &Figure, words: &Words) -> String {
    let end = match figure.better {
        Better::More => "most",
        Better::Less => "least",
    };
    format!("the {end} {}", words.of)
}

/// Who is first under a setting. In which order those stand that tie is chance.
fn first(outcome: &Outcome) -> BTreeSet<&str> {
    let rows = outcome.rows.iter().filter(|row| is_first(outcome, row));
    rows.map(|row| &*row.contender).collect()
}

/// Why nobody is ranked.
fn nobody(run: &Run) -> String {
    let mut says: Vec<&str> =
        run.outcomes.iter().filter_map(|it| Some(&*it.ranking()?.sentence)).collect();
    says.dedup();
    match says.as_slice() {
        [only] if only.chars().count() <= SENTENCE_CHARS_MAX => only.to_string(),
        _ => "Nobody is ranked: what is against the figures stands below.".into(),
    }
}

fn share_of_settings(some: usize, all: usize) -> String {
    match (some, all) {
        (_, 1) => String::new(),
        (2, 2) => " under both loads".into(),
        _ if some == all => format!(" under all {all} loads"),
        _ => format!(" under {some} of {all} loads"),
    }
}

/// Of those ranked behind the first, the one that comes closest to it.
fn closest<'a>(outcomes: &[&'a Outcome], figure: &Figure) -> Option<(&'a Row, &'a Estimate)> {
    let rows = outcomes.iter().flat_map(|outcome| &outcome.rows);
    let behind = rows.filter(|row| row.rank(&figure.id) > Some(1));
    let ratios = behind.filter_map(|row| Some((row, row.ratio(&figure.id)?)));
    let distance = |ratio: &Estimate| ratio.median.ln().abs();
    ratios.min_by(|(_, a), (_, b)| distance(a).total_cmp(&distance(b)))
}

fn percent_with_interval(ratio: &Estimate) -> String {
    let bound = [units::at_least(ratio.at_least), units::at_most(ratio.at_most)].concat();
    let percent = units::percent(ratio.median);
    match ratio.interval {
        Some(interval) => format!("{bound}{percent} ({})", units::percent_range(interval)),
        None => format!("{bound}{percent}"),
    }
}

/// Names that a tie has, where there is room.
const NAMES_MAX: usize = 3;

/// The first names of a list as one says it, and how many others there are.
fn and_others(names: &[String], at_most: usize) -> String {
    let (named, others) = names.split_at(names.len().min(at_most));
    let count = others.len() as u64;
    let others = (count > 0).then(|| Cow::from(units::of(count, "other")));
    and(&named.iter().map(|name| Cow::from(name.as_str())).chain(others).collect::<Vec<_>>())
}

/// Where so large a share of the figures is invalid because others used the machine, there is
/// nothing to compare the rest with.
const BUSY_SHARE: f64 = 0.5;

/// That the machine was busy, where that is the first thing to know, and how many figures
/// stand in spite of it.
fn busy(run: &Run) -> Option<String> {
    let is_busy = |findings: &[Finding]| {
        let is_it = |it: &Finding| it.check == QUIET_MACHINE && it.verdict == Verdict::Invalid;
        findings.iter().any(is_it)
    };
    let rows: Vec<&Row> = run.outcomes_at(run.study.kind.pace()).flat_map(|it| &it.rows).collect();
    let busy = rows.iter().filter(|row| is_busy(&row.findings)).count();
    if (busy as f64) < BUSY_SHARE * rows.len() as f64 || busy == 0 {
        return None;
    }
    let trials = run.trials.iter().filter(|trial| is_busy(&trial.findings)).count();
    let figures = || run.outcomes.iter().flat_map(|outcome| &outcome.rows);
    let stand = match figures().filter(|row| row.verdict != Verdict::Invalid).count() as u64 {
        0 => "no figure stands".into(),
        some => format!(
            "{} of {} {}",
            units::whole(some),
            units::of(figures().count() as u64, "figure"),
            if some == 1 { "stands" } else { "stand" }
        ),
    };
    Some(format!(
        "The machine was busy in {} of {}: {stand}. Measure again on a quiet machine.",
        units::whole(trials as u64),
        units::of(run.trials.len() as u64, "trial"),
    ))
}
