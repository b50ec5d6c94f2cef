//! Two runs beside each other, at the terminal.

use comfy_table::{Attribute, Cell, CellAlignment, ContentArrangement, Table, presets};
use result::comparison::{Comparison, Figure, Of, Word};

use crate::Terminal;
use crate::summary::load_names;
use crate::text::{visible, visible_name};
use crate::units;

/// What changed, in one sentence.
fn finding(comparison: &Comparison) -> String {
    let count = |is: fn(&Word) -> bool| {
        comparison.figures.iter().filter(|figure| is(&figure.word)).count() as u64
    };
    let changed = count(|word| matches!(word, Word::Changed(_)));
    let unchanged = count(|word| matches!(word, Word::Unchanged(_)));
    match (changed, changed + unchanged) {
        (_, 0) if comparison.figures.is_empty() => "The runs have no figure in common.".into(),
        (_, 0) => "Nothing in these runs can be compared.".into(),
        (0, compared) => format!("No change beyond noise in {}.", units::of(compared, "figure")),
        (changed, compared) => {
            format!("{} of {} changed beyond noise.", changed, units::of(compared, "figure"))
        }
    }
}

/// The whole comparison as text, ending in a line break.
pub fn comparison(comparison: &Comparison, terminal: Terminal) -> String {
    let mut lines = vec![finding(comparison), String::new()];
    for (name, run) in [("A", &comparison.a), ("B", &comparison.b)] {
        lines.push(format!("{name}: {}, {}", visible_name(&run.id), visible_name(&run.started)));
    }
    if !comparison.obstacles.is_empty() {
        lines.extend([String::new(), "Not comparable, because these differ:".into()]);
        lines.extend(comparison.obstacles.iter().map(|it| format!("  - {}", visible(it))));
    }
    lines.extend(figures(comparison, terminal));
    let reasons = reasons(comparison);
    if !reasons.is_empty() {
        lines.extend([String::new(), "To know of single figures:".into()]);
        lines.extend(reasons);
    }
    let width = textwrap::Options::new(terminal.columns.into()).subsequent_indent("    ");
    lines.iter().map(|line| textwrap::fill(line, &width).trim_end().to_string() + "\n").collect()
}

/// One table, so that its columns stand below each other, broken up by the loads.
fn figures(comparison: &Comparison, terminal: Terminal) -> Vec<String> {
    let mut groups: Vec<Vec<&Figure>> = Vec::new();
    for figure in &comparison.figures {
        match groups.iter_mut().find(|it| (&it[0].load, it[0].of) == (&figure.load, figure.of)) {
            Some(group) => group.push(figure),
            None => groups.push(vec![figure]),
        }
    }
    let mut table = Table::new();
    table
        .load_style(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Disabled)
        .set_header(["", "A", "B", "B/A", "95 % interval", ""]);
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
        lines.extend([String::new(), heading(group[0]), header.clone()]);
        lines.extend(table_lines.by_ref().take(group.len()));
    }
    lines
}

/// The load and the figure that a group has in common, and the noise in it.
fn heading(figure: &Figure) -> String {
    let of = match figure.of {
        Of::Rate => "answers/s",
        Of::ServerCpuUs => "server CPU µs an answer",
    };
    let noise = |floor: Option<f64>| match floor {
        Some(floor) => format!("up to {}", units::percent(floor - 1.0)),
        None => "an unknown share".into(),
    };
    let (a, b) = figure.noise_floors;
    format!(
        "{}: {of}. Identical entries differed by {} in A, {} in B.",
        load_names(&[&figure.load]),
        noise(a),
        noise(b)
    )
}

fn cells(figure: &Figure, colour: bool) -> Vec<Cell> {
    let number = match figure.of {
        Of::Rate => units::count,
        Of::ServerCpuUs => units::plain,
    };
    let (ratio, interval) = match &figure.word {
        Word::Changed(it) | Word::Unchanged(it) => {
            (format!("{:.3}", it.median), format!("({:.3}–{:.3})", it.interval.0, it.interval.1))
        }
        Word::NotComparable(_) => (units::NOTHING.into(), String::new()),
    };
    let word = Cell::new(match &figure.word {
        Word::Changed(_) => "changed",
        Word::Unchanged(_) => "no change beyond noise",
        Word::NotComparable(_) => "not comparable",
    });
    let is_changed = matches!(figure.word, Word::Changed(_));
    let word = if is_changed && colour { word.add_attribute(Attribute::Bold) } else { word };
    let figures = [number(figure.a.median), number(figure.b.median), ratio, interval];
    let who = Cell::new(format!("  {}", visible_name(&figure.contender)));
    [who].into_iter().chain(figures.map(Cell::new)).chain([word]).collect()
}

/// What differs about a contender, why a figure can't be compared beside what holds
/// for all, and what only one run has.
fn reasons(comparison: &Comparison) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for figure in &comparison.figures {
        let who = visible_name(&figure.contender);
        lines.extend(figure.differences.iter().map(|it| format!("  - {who}: {}", visible(it))));
        if let Word::NotComparable(reasons) = &figure.word {
            let own: Vec<&str> = reasons
                .iter()
                .filter(|reason| !comparison.obstacles.contains(reason))
                .map(String::as_str)
                .collect();
            if !own.is_empty() {
                let load = load_names(&[&figure.load]);
                lines.push(format!("  - {who} ({load}): {}", visible(&own.join("; "))));
            }
        }
    }
    lines.extend(comparison.only_in_one.iter().map(|it| format!("  - {}", visible(it))));
    let mut seen = std::collections::BTreeSet::new();
    lines.retain(|line| seen.insert(line.clone()));
    lines
}
