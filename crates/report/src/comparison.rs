//! Two runs beside each other, at the terminal.

use comfy_table::{Attribute, Cell, CellAlignment, ContentArrangement, Table, presets};
use result::comparison::{Comparison, CoreSpeeds, Pair, RunName, Unfinished, Word};
use result::finding::Verdict;
use result::outcome::Estimate;

use crate::Terminal;
use crate::figures as number_of;
use crate::findings::sign;
use crate::names::setting_names;
use crate::text::{visible, visible_name};
use crate::units;

/// The finding of the comparison in one sentence, which says so where a run is not whole.
fn headline(comparison: &Comparison) -> String {
    let made = |(name, run): (&str, &RunName)| {
        let Unfinished { trials_made, trials_planned } = run.unfinished?;
        let (made, planned) = (units::whole(trials_made), units::of(trials_planned, "trial"));
        Some(format!("{made} of {planned} of {name}"))
    };
    let runs = [("A", &comparison.a), ("B", &comparison.b)];
    let parts: Vec<String> = runs.into_iter().filter_map(made).collect();
    if parts.is_empty() {
        finding(comparison)
    } else {
        format!("So far, with {}: {}", parts.join(" and "), finding(comparison))
    }
}

/// What changed, in one sentence.
fn finding(comparison: &Comparison) -> String {
    const UNTOLD: &str = "can't be told apart from the machine";
    let count = |is: fn(&Pair) -> bool| {
        comparison.figures.iter().filter(|figure| is(figure)).count() as u64
    };
    let changed = count(|it| matches!(it.word, Word::Changed(_)));
    let doubtful = count(|it| matches!(it.word, Word::Changed(_)) && !it.doubts.is_empty());
    let untold = count(|it| matches!(it.word, Word::NotToldApart(_)));
    let compared = count(is_compared);
    let of_all = units::of(compared, "figure");
    let doubtful = match doubtful {
        0 => String::new(),
        doubtful => format!(" ({doubtful} of them suspect)"),
    };
    match (changed, untold) {
        _ if comparison.figures.is_empty() => "The runs have no figure in common.".into(),
        _ if compared == 0 => "Nothing in these runs can be compared.".into(),
        (0, 0) => format!("No change beyond noise in {of_all}."),
        (_, 0) => format!("{changed} of {of_all} changed beyond noise{doubtful}."),
        (0, _) if untold == compared => format!("{untold} of {of_all} {UNTOLD}."),
        (0, _) => format!("{untold} of {of_all} {UNTOLD}; no change beyond noise in the others."),
        _ => format!("{changed} of {of_all} changed beyond noise{doubtful}; {untold} {UNTOLD}."),
    }
}

fn is_compared(figure: &Pair) -> bool {
    !matches!(figure.word, Word::NotComparable(_))
}

/// The whole comparison as text, ending in a line break.
pub fn comparison(comparison: &Comparison, terminal: Terminal) -> String {
    let mut lines = vec![headline(comparison), String::new()];
    for (name, run) in [("A", &comparison.a), ("B", &comparison.b)] {
        let (id, started) = (visible_name(&run.id), visible_name(&run.started));
        let unfinished = if run.unfinished.is_some() { ", unfinished" } else { "" };
        lines.push(format!("{name}: {id}, {started}{unfinished}"));
    }
    if !comparison.obstacles.is_empty() {
        lines.extend([String::new(), "Not comparable, because these differ:".into()]);
        lines.extend(comparison.obstacles.iter().map(|it| format!("  - {}", visible(it))));
    }
    let of_runs = of_runs(comparison);
    if !of_runs.is_empty() {
        lines.extend([String::new(), "To know of both runs:".into()]);
        lines.extend(of_runs);
    }
    lines.extend(figures(comparison, terminal));
    lines.extend(legend(comparison));
    let reasons = reasons(comparison);
    if !reasons.is_empty() {
        lines.extend([String::new(), "To know of single figures:".into()]);
        lines.extend(reasons);
    }
    let width = textwrap::Options::new(terminal.columns.into()).subsequent_indent("    ");
    lines.iter().map(|line| textwrap::fill(line, &width).trim_end().to_string() + "\n").collect()
}

/// What differs between the runs as a whole, where figures of them are compared.
fn of_runs(comparison: &Comparison) -> Vec<String> {
    if !comparison.figures.iter().any(is_compared) {
        return Vec::new();
    }
    let compared = || comparison.figures.iter().filter(|figure| is_compared(figure));
    let are_unknown = compared().any(|it| it.core_speeds.is_none()).then_some(
        "how fast the contenders' cores were isn't known of both under every load: a change may \
         be the cores'",
    );
    let are_apart = compared().any(|it| it.core_speeds.is_some_and(|it| it.are_apart())).then_some(
        "where the contenders' cores were of another speed, what a server may make of that isn't \
         called a change",
    );
    let cores = are_unknown.into_iter().chain(are_apart).map(str::to_string);
    let differences = comparison.differences.iter().map(|it| visible(it).into_owned());
    differences.chain(cores).map(|it| format!("  - {it}")).collect()
}

/// One table, so that its columns stand below each other, broken up by the loads.
fn figures(comparison: &Comparison, terminal: Terminal) -> Vec<String> {
    let mut groups: Vec<Vec<&Pair>> = Vec::new();
    for figure in &comparison.figures {
        match groups
            .iter_mut()
            .find(|it| (&it[0].setting, &it[0].of) == (&figure.setting, &figure.of))
        {
            Some(group) => group.push(figure),
            None => groups.push(vec![figure]),
        }
    }
    let mut table = Table::new();
    table
        .load_style(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Disabled)
        .set_header(["", "A", "B", "B/A", "95 % interval", "", ""]);
    if terminal.colour {
        table.enforce_styling();
    } else {
        table.force_no_tty();
    }
    for figure in groups.iter().flatten() {
        table.add_row(cells(figure, terminal.colour));
    }
    for column in table.column_iter_mut().skip(1).take(3) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let text = table.to_string();
    let mut table_lines = text.lines().map(str::to_string);
    let header = table_lines.next().unwrap_or_default();

    let mut lines = Vec::new();
    for group in &groups {
        lines.extend([String::new(), heading(comparison, group[0])]);
        lines.extend(cores(group[0]));
        lines.push(header.clone());
        lines.extend(table_lines.by_ref().take(group.len()));
    }
    lines
}

/// The load and the figure that a group has in common, and what the machine had of it.
fn heading(comparison: &Comparison, figure: &Pair) -> String {
    let noise = |floor: Option<f64>| match floor {
        Some(floor) => units::percent(floor - 1.0),
        None => "unknown".into(),
    };
    let (a, b) = figure.noise_floors;
    format!(
        "{}: {}. Noise floor: {} in A, {} in B.",
        setting_names(&comparison.dimensions, &[&figure.setting]),
        visible(&figure.of.title),
        noise(a),
        noise(b)
    )
}

/// How fast the contenders' cores were, by a fixed piece of work, where that differs beyond
/// chance.
fn cores(figure: &Pair) -> Option<String> {
    let speeds = figure.core_speeds.filter(CoreSpeeds::are_apart)?;
    let (low, high) = speeds.interval;
    Some(format!(
        "The contenders' cores were {:.2} times ({low:.2}–{high:.2}) as fast in B as in A ({:.0} \
         and {:.0} steps a µs).",
        speeds.ratio, speeds.b, speeds.a
    ))
}

fn cells(figure: &Pair, colour: bool) -> Vec<Cell> {
    let (ratio, interval) = match &figure.word {
        Word::Changed(it) | Word::Unchanged(it) | Word::NotToldApart(it) => {
            (format!("{:.3}", it.median), format!("({:.3}–{:.3})", it.interval.0, it.interval.1))
        }
        Word::NotComparable(_) => (units::NOTHING.into(), String::new()),
    };
    let word = Cell::new(match &figure.word {
        Word::Changed(_) => "changed",
        Word::Unchanged(_) => "no change beyond noise",
        Word::NotToldApart(_) => "not told apart",
        Word::NotComparable(_) => "not comparable",
    });
    let is_changed = matches!(figure.word, Word::Changed(_));
    let word = if is_changed && colour { word.add_attribute(Attribute::Bold) } else { word };
    let verdicts = format!("{} {}", sign(figure.verdicts.0), sign(figure.verdicts.1));
    let median = |it: &Estimate| number_of::median(figure.of.unit, it);
    let figures = [median(&figure.a), median(&figure.b), ratio, interval, verdicts];
    let who = Cell::new(format!("  {}", visible_name(&figure.contender)));
    [who].into_iter().chain(figures.map(Cell::new)).chain([word]).collect()
}

/// Explains the signs of verdicts, those only that were used.
fn legend(comparison: &Comparison) -> Vec<String> {
    let is_used = |verdict: Verdict| {
        let mut all = comparison.figures.iter().flat_map(|it| [it.verdicts.0, it.verdicts.1]);
        all.any(|it| it == verdict)
    };
    let signs: Vec<String> = [
        (Verdict::Valid, "valid"),
        (Verdict::NotChecked, "not checked in full"),
        (Verdict::Suspect, "suspect"),
        (Verdict::Invalid, "invalid"),
    ]
    .into_iter()
    .filter(|(verdict, _)| is_used(*verdict))
    .map(|(verdict, says)| format!("{} {says}", sign(verdict)))
    .collect();
    if signs.is_empty() {
        Vec::new()
    } else {
        vec![String::new(), format!("In A and in B: {}", signs.join(" · "))]
    }
}

/// What differs about a contender, why a figure is doubtful or can't be compared beside
/// what holds for all, and what only one run has.
fn reasons(comparison: &Comparison) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for figure in &comparison.figures {
        let who = visible_name(&figure.contender);
        lines.extend(figure.differences.iter().map(|it| format!("  - {who}: {}", visible(it))));
        let of_figure = match &figure.word {
            Word::NotComparable(reasons) => reasons,
            _ => &figure.doubts,
        };
        let own: Vec<&str> = of_figure
            .iter()
            .filter(|reason| !comparison.obstacles.contains(reason))
            .map(String::as_str)
            .collect();
        if !own.is_empty() {
            let load = setting_names(&comparison.dimensions, &[&figure.setting]);
            lines.push(format!("  - {who} ({load}): {}", visible(&own.join("; "))));
        }
    }
    lines.extend(comparison.only_in_one.iter().map(|it| format!("  - {}", visible(it))));
    let mut seen = std::collections::BTreeSet::new();
    lines.retain(|line| seen.insert(line.clone()));
    lines
}
