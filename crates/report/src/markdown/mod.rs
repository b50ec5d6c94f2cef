//! A run as Markdown, to be pasted into an issue or a mail: what the page has,
//! without charts.

mod curve;
mod escape;
mod table;

use std::fmt::Write;

use result::Run;
use result::figure::Figure;
use result::finding::{Finding, Verdict};
use result::outcome::{Estimate, Outcome, Row};

use self::escape::{code_block, plain, prose};
use self::table::{Side, table};
use crate::caveats;
use crate::claims;
use crate::contenders;
use crate::figures;
use crate::findings;
use crate::headline;
use crate::missing;
use crate::names;
use crate::notes;
use crate::rate_by_loss;
use crate::scripts;
use crate::sections;
use crate::standing;
use crate::survived;
use crate::then_and_now::{self, Today};
use crate::units;

/// What the marks in tables mean.
fn marks(run: &Run) -> String {
    format!(
        "(a–b) is the 95 % interval. \\[a–b\\] is the lowest and highest block, where there are too \
         few blocks for an interval. ≥ before a rate: the client was the limit, so the rate is a \
         lower bound. ≥ before a time: {} are in it. ≥ or ≤ before a share of the best: the share \
         is a bound too, since one of the two rates that it compares is a lower bound. ~~Struck \
         out~~: invalid, and not ranked.",
        caveats::bound_of_time(run)
    )
}

/// What GitHub takes in an issue or a comment is 65,536 characters.
const CHARS_MAX: usize = 65_000;

/// What is shown of a digest: enough to tell builds apart.
const DIGEST_CHARS: usize = 12;

/// Lines that one finding may take to say of whom it speaks.
const CASES_MAX: usize = 6;

/// Whether the points of curves are in, each in a line.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Points {
    In,
    Out,
}

/// The run, ending in a line break; without the points of its curves where it would be
/// too long to be pasted.
pub fn markdown(run: &Run) -> String {
    let whole = text(run, Points::In);
    if whole.chars().count() <= CHARS_MAX { whole } else { text(run, Points::Out) }
}

fn text(run: &Run, points: Points) -> String {
    let mut parts = vec![format!("**{}**", prose(&headline::sentence(run)))];
    let verdicts: Vec<String> =
        findings::verdicts(run).iter().map(|it| prose(&it.says())).collect();
    if !verdicts.is_empty() {
        parts.push(verdicts.join(" · "));
    }
    parts.extend(rate_by_loss(run));
    parts.extend(notes::notes(run).iter().map(|note| prose(note)));
    parts.extend(claims(run));
    parts.extend(survived(run));
    parts.extend(scripts(run));
    for section in sections::sections(run) {
        parts.push(format!("### {}", plain(&section.name)));
        if caveats::shares_cores(run, &section) {
            parts.push(caveats::SHARED_CORES.into());
        }
        for outcome in section.outcomes {
            parts.extend(outcome_part(run, outcome));
        }
    }
    match points {
        Points::In => parts.extend(run.curves.iter().flat_map(|it| curve::curve(run, it))),
        Points::Out if run.curves.is_empty() => {}
        Points::Out => parts.push("The points of the curves are in report.html.".into()),
    }
    if !run.outcomes.is_empty() {
        parts.push(marks(run));
        let says = caveats::counted(run).into_iter().chain(caveats::lines_of_code(run));
        parts.extend(says.map(String::from));
        if caveats::figures_share_memory(run) {
            parts.push(caveats::SHARED_MEMORY.into());
        }
        if caveats::has_more_bytes(run) {
            parts.push(caveats::MORE_BYTES.into());
        }
    }
    parts.extend(absent(run));
    parts.extend(against(run));
    parts.extend(then_and_now(run));
    if !run.study.cannot_say.is_empty() {
        let each = run.study.cannot_say.iter().map(|sentence| format!("- {}", prose(sentence)));
        let list = each.collect::<Vec<_>>().join("\n");
        parts.push(format!("### {}\n\n{list}", caveats::CANNOT_SAY));
    }
    parts.push("### How it was measured".into());
    parts.push(machine(run));
    parts.push(code_block(&run.command));
    parts.join("\n\n") + "\n"
}

/// What durability costs, where stores were cut off.
fn rate_by_loss(run: &Run) -> Option<String> {
    let all = rate_by_loss::rate_by_loss(run)?;
    let columns = [
        ("store", Side::Left),
        ("writes/s", Side::Right),
        ("the worst cut", Side::Left),
        ("it survives", Side::Left),
        ("verdict", Side::Left),
    ];
    let rows: Vec<Vec<String>> = all
        .stores
        .iter()
        .map(|store| {
            let loss = store.loss.says();
            let survives = store.class.survives().into();
            let rate = struck(store.verdict, store.rate());
            vec![plain(&store.who), rate, loss, survives, verdict(store.verdict, &[])]
        })
        .collect();
    let of = plain(&names::settings(run, &[all.writes]));
    let missing = if all.missing.is_empty() {
        String::new()
    } else {
        format!(" Not in the table: {}.", plain(&all.missing.join(", ")))
    };
    let title = rate_by_loss::TITLE;
    Some(format!("### {title}\n\nWrites a second: {of}.{missing}\n\n{}", table(&columns, &rows)))
}

/// What stores kept where they were cut off.
fn survived(run: &Run) -> Option<String> {
    use survived::{HEADS, MEANING, TITLE};
    lines((TITLE, MEANING), HEADS, &survived::lines(run))
}

/// What gateways did where robots don't do what is usual.
fn scripts(run: &Run) -> Option<String> {
    use scripts::{HEADS, MEANING, TITLE};
    lines((TITLE, MEANING), HEADS, &scripts::lines(run))
}

/// A table of sentences, a line a contender; `None` without a line.
fn lines<const N: usize>(
    (title, meaning): (&str, &str),
    heads: [&str; N],
    lines: &[[String; N]],
) -> Option<String> {
    let rows: Vec<Vec<String>> =
        lines.iter().map(|line| line.iter().map(|cell| plain(cell)).collect()).collect();
    let heads = heads.map(|head| (head, Side::Left));
    (!rows.is_empty()).then(|| format!("### {title}\n\n{meaning}\n\n{}", table(&heads, &rows)))
}

/// One setting: what was found, and a row a contender.
fn outcome_part(run: &Run, outcome: &Outcome) -> Vec<String> {
    let point = plain(&sections::point_name(run, outcome));
    let heading = match notes::of_outcome(run, outcome) {
        Some(finding) => format!("**{point}:** {}", prose(&finding)),
        None => format!("**{point}**"),
    };
    let rows: Vec<Vec<String>> = outcome
        .rows
        .iter()
        .zip(standing::shares(run, outcome))
        .map(|(row, share)| cells(run, outcome, row, share))
        .collect();
    let name = |figure: &Figure| (plain(&figures::short(figure)), Side::Right);
    let ranking = figures::ranking(run, outcome);
    let ranking = ranking.map(|it| [name(it), (figures::of_best(it).into(), Side::Right)]);
    let limited = is_limited(outcome).then(|| ("limited by".into(), Side::Left));
    let tier = contenders::has_tiers(run).then(|| ("tier".into(), Side::Left));
    let columns: Vec<(String, Side)> =
        [("rank".into(), Side::Right), ("contender".into(), Side::Left)]
            .into_iter()
            .chain(tier)
            .chain(ranking.into_iter().flatten())
            .chain(figures::beside(run, outcome).map(name))
            .chain(limited)
            .chain([("verdict".into(), Side::Left)])
            .collect();
    let missing = missing(missing::without_figure(run, outcome));
    [heading, table(&columns, &rows)].into_iter().chain(missing).collect()
}

/// Whether it is told what kept figures from being better.
fn is_limited(outcome: &Outcome) -> bool {
    outcome.rows.iter().any(|row| row.limit.is_some())
}

/// Who has no figure, and why.
fn missing<'a>(missing: Vec<missing::Missing<'a>>) -> impl Iterator<Item = String> + 'a {
    missing
        .into_iter()
        .map(|missing| format!("{} has no figure: {}", plain(&missing.who), prose(missing.reason)))
}

fn cells(run: &Run, outcome: &Outcome, row: &Row, share: Option<&Estimate>) -> Vec<String> {
    let mut cells =
        vec![standing::rank(outcome, row), plain(&contenders::who(run, &row.contender))];
    cells.extend(contenders::has_tiers(run).then(|| contenders::tier(run, row).into()));
    if let Some(figure) = figures::ranking(run, outcome) {
        let ratio = share.map(standing::share_of_best);
        cells.push(with_range(row, figure));
        cells.push(ratio.unwrap_or_else(|| units::NOTHING.into()));
    }
    let beside = figures::beside(run, outcome);
    cells.extend(beside.map(|figure| cell(row.verdict, figure, row.figure(&figure.id))));
    if is_limited(outcome) {
        cells.push(standing::limited_by(row).into());
    }
    cells.push(verdict(row.verdict, &row.findings));
    cells
}

/// A figure with how far it may be off.
fn with_range(row: &Row, figure: &Figure) -> String {
    let Some(estimate) = row.figure(&figure.id) else { return units::NOTHING.into() };
    let range = figures::range(figure.unit, estimate).replace('[', "\\[").replace(']', "\\]");
    let text = format!("{} {range}", figures::median(figure.unit, estimate));
    struck(row.verdict, text.trim_end().into())
}

/// A figure by itself.
fn cell(verdict: Verdict, figure: &Figure, estimate: Option<&Estimate>) -> String {
    struck(verdict, figures::median_if_any(figure.unit, estimate))
}

/// A figure, struck out where it is invalid.
fn struck(verdict: Verdict, figure: String) -> String {
    let is_figure = figure != units::NOTHING;
    if verdict == Verdict::Invalid && is_figure { format!("~~{figure}~~") } else { figure }
}

/// The word, and the checks that said it, unless nothing is wrong.
fn verdict(verdict: Verdict, findings: &[Finding]) -> String {
    let checks: Vec<String> = findings
        .iter()
        .filter(|finding| finding.verdict == verdict && verdict >= Verdict::Suspect)
        .map(|finding| plain(&finding.check))
        .collect();
    let word = format!("{} {}", findings::sign(verdict), verdict.word());
    if checks.is_empty() { word } else { format!("{word}: {}", checks.join(", ")) }
}

fn absent(run: &Run) -> Option<String> {
    let lines: Vec<String> = missing::absent(run)
        .iter()
        .map(|(who, reason)| format!("- {}: {}", plain(who), prose(reason)))
        .collect();
    (!lines.is_empty()).then(|| format!("### Absent\n\n{}", lines.join("\n")))
}

/// What stands against figures. What could not be looked at is in the page.
fn against(run: &Run) -> Option<String> {
    let mut text = String::new();
    let groups = findings::against(run);
    for group in groups.iter().filter(|group| group.verdict >= Verdict::Suspect) {
        let (sign, word) = (findings::sign(group.verdict), group.verdict.word());
        let (check, says, fix) = (plain(group.check), prose(group.says), prose(group.fix));
        // Writing to a string can't fail.
        let _ = writeln!(text, "- {sign} **{word}: {check}.** {says} {fix}");
        for case in group.cases.iter().take(CASES_MAX) {
            let loads = plain(&names::settings(run, &case.settings));
            let names = plain(&case.names());
            let _ = writeln!(text, "  - {names}: {} ({loads})", prose(case.value));
        }
        if let Some(more @ 1..) = group.cases.len().checked_sub(CASES_MAX) {
            let _ = writeln!(text, "  - and {more} more, in report.html");
        }
    }
    (!text.is_empty()).then(|| format!("### Before you use a figure\n\n{}", text.trim_end()))
}

fn claims(run: &Run) -> Option<String> {
    let all = claims::all(run);
    let rows = all.iter().map(|claim| {
        let settings: Vec<String> = claim.lines().map(|it| plain(&it)).collect();
        let says = format!("{} ({})", plain(&claim.says), plain(&claim.source));
        let by = claim.by().map_or(String::new(), |by| format!(" ({})", plain(&by)));
        vec![says, claim.word.clone() + &by, settings.join(". ")]
    });
    let rows: Vec<Vec<String>> = rows.collect();
    let columns = ["claim", "today", "where"].map(|name| (name.to_string(), Side::Left));
    let table = table(&columns, &rows);
    (!all.is_empty()).then(|| format!("### What was claimed\n\n{}\n\n{table}", claims::rule(run)))
}

fn then_and_now(run: &Run) -> Option<String> {
    let pairs = then_and_now::pairs(run);
    let has_ratios = then_and_now::has_ratios(run);
    let mut rows = Vec::new();
    for pair in &pairs {
        for (then, today) in &pair.figures {
            let nothing = || units::NOTHING.to_string();
            let of = |of: fn(&Today) -> String| today.as_ref().map_or_else(nothing, of);
            let mut row = vec![
                plain(&pair.then()),
                plain(&pair.now(run)),
                plain(&names::first_named(&run.study.dimensions, &then.values)),
                units::count(then.rate),
                of(rate_today),
            ];
            row.extend(has_ratios.then(|| of(ratio_today)));
            row.push(then.p99_ms.map_or_else(nothing, |ms| units::time(ms * 1e3)));
            row.push(of(|today| struck(today.row.verdict, today.p99())));
            rows.push(row);
        }
    }
    let first = &*plain(&names::first_name(&run.study.dimensions));
    let rate = &*format!("{} then", plain(&then_and_now::rate_name(run)));
    let names = [("then", Side::Left), ("today", Side::Left)];
    let numbers = [Some(first), Some(rate), Some("today"), has_ratios.then_some("times")];
    let numbers = numbers.into_iter().chain([Some("p99 then"), Some("today")]).flatten();
    let columns: Vec<_> =
        names.into_iter().chain(numbers.map(|name| (name, Side::Right))).collect();
    let notes: Vec<String> = pairs
        .iter()
        .map(|pair| {
            let load = pair.load(run).map(|load| format!("; {}", plain(&load))).unwrap_or_default();
            let mistake = match &pair.published.mistake {
                Some(mistake) => format!("; what was wrong then: {}", prose(mistake)),
                None => "; nothing is known to have been wrong then".into(),
            };
            format!("- {} ({}{load}){mistake}", plain(&pair.then()), plain(&pair.published.source))
        })
        .collect();
    (!pairs.is_empty()).then(|| {
        let table = table(&columns, &rows);
        let meaning = then_and_now::meaning(run);
        format!("### Then and now\n\n{meaning}\n\n{table}\n\n{}", notes.join("\n"))
    })
}

fn rate_today(today: &Today) -> String {
    let verdict = today.row.verdict;
    let mode = today.other_mode.as_ref().map(|mode| format!(", {mode}")).unwrap_or_default();
    format!("{} {}{mode}", struck(verdict, today.rate()), findings::sign(verdict))
}

fn ratio_today(today: &Today) -> String {
    let Some(ratio) = &today.ratio else { return units::NOTHING.into() };
    let bound = units::at_least(today.is_bound());
    let range = ratio.interval.map(|range| format!(" ({})", units::plain_range(range)));
    format!("{bound}{}{}", units::plain(ratio.median), range.unwrap_or_default())
}

/// The machine and the versions, in one line.
fn machine(run: &Run) -> String {
    let machine = &run.machine;
    let memory = machine.memory_bytes.map(|memory| format!(", {}", units::bytes(memory)));
    let kind = match machine.virtual_machine {
        Some(true) => ", virtual",
        _ => "",
    };
    let awake = names::kept_awake(run).map(|words| format!(", {words}")).unwrap_or_default();
    format!(
        "{}, {} used{}{kind}{awake}; {}; {}; bakeoff {} ({}), {}. To repeat it:",
        plain(&names::processor(run)),
        units::of(machine.cpus.len() as u64, "CPU"),
        memory.unwrap_or_default(),
        plain(&machine.kernel),
        plain(&machine.distribution),
        plain(&run.bakeoff),
        build(run),
        plain(&run.started),
    )
}

/// Which build of bakeoff it was, as far as a line has room: the page has it whole.
fn build(run: &Run) -> String {
    match &run.bakeoff_sha256 {
        Some(digest) => {
            let short: String = digest.chars().take(DIGEST_CHARS).collect();
            format!("SHA-256 {}…", plain(&short))
        }
        None => "which build isn't known".into(),
    }
}
