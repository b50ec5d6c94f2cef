//! A run at the terminal: the finding, a table, then what to know before using
//! a figure of it.

mod open_loop;

use anstyle::{AnsiColor, Style};
use comfy_table::{
    Attribute, Cell, CellAlignment, ColumnConstraint, ContentArrangement, Row as TableRow, Table,
    presets,
};
use result::Run;
use result::finding::Verdict;
use result::outcome::{Estimate, Outcome, Row};

use crate::lead::{self, Lead};
use crate::summary::{self, Case, Group, Range};
use crate::text::visible;
use crate::units;

/// What the terminal can show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Terminal {
    /// Its width in characters.
    pub columns: u16,
    /// Whether it may be sent colour and strike-out.
    pub colour: bool,
}

/// What suits files and mails.
impl Default for Terminal {
    fn default() -> Terminal {
        Terminal { columns: 120, colour: false }
    }
}

/// The whole run as text, ending in a line break.
pub fn terminal(run: &Run, terminal: Terminal) -> String {
    let columns = terminal.columns.max(COLUMNS_MIN);
    let mut page = Page { out: String::new(), terminal: Terminal { columns, ..terminal } };
    page.lead(run);
    for note in summary::notes(run) {
        page.paragraph(PLAIN, "", &note);
    }
    page.figures(run);
    page.equal_rates(run);
    page.curves(run);
    page.legend(run);
    page.absent(run);
    page.findings(run);
    page.repeated(run);
    page.out
}

const PLAIN: Style = Style::new();
const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();

/// What figures and a name need. Narrower terminals break lines, and some claim
/// to have no width at all.
const COLUMNS_MIN: u16 = 72;

/// Stands before the name of whoever keeps a lighter contract: behind it, it might
/// be cut off.
fn mark(run: &Run, contender: &str) -> &'static str {
    let contender = summary::contender(run, contender);
    if contender.is_some_and(|it| it.lighter_contract.is_some()) { "*" } else { "" }
}

/// Narrower than this, columns give way, and names stand for titles.
const WIDE: u16 = 110;

/// Lines that one finding may take to say of whom it speaks. The HTML report
/// has them all.
const CASES_MAX: usize = 6;

/// Bars of the first lines, and the cells of the longest.
const BARS_MAX: usize = 8;
const BAR_CELLS: u16 = 30;
/// Room for a name beside a bar.
const NAME_CHARS: usize = 28;

/// A column of a table: title, side, and whether a narrow terminal has it.
type Column = (&'static str, CellAlignment, bool);

/// The columns of the closed loop's table.
const COLUMNS: [Column; 12] = [
    ("", CellAlignment::Right, true),
    ("", CellAlignment::Left, true),
    ("tier", CellAlignment::Left, false),
    ("answers/s", CellAlignment::Right, true),
    ("", CellAlignment::Left, true),
    ("of best", CellAlignment::Right, true),
    ("", CellAlignment::Left, false),
    ("CPU µs", CellAlignment::Right, true),
    ("p50", CellAlignment::Right, true),
    ("p99", CellAlignment::Right, true),
    ("", CellAlignment::Left, true),
    ("", CellAlignment::Left, false),
];

/// Which column of a table holds the contender: the one that gives way to the
/// others.
const CONTENDER: usize = 1;

struct Page {
    out: String,
    terminal: Terminal,
}

impl Page {
    fn line(&mut self, line: &str) {
        self.out.push_str(line.trim_end());
        self.out.push('\n');
    }

    /// Text wrapped to the terminal, every line after the first indented as deep
    /// as the text of the first.
    fn paragraph(&mut self, style: Style, indent: &str, text: &str) {
        let hanging = " ".repeat(indent.chars().count());
        let options = textwrap::Options::new(self.terminal.columns.into())
            .word_separator(textwrap::WordSeparator::AsciiSpace)
            .initial_indent(indent)
            .subsequent_indent(&hanging);
        let style = if self.terminal.colour { style } else { PLAIN };
        for line in textwrap::wrap(&visible(text), options) {
            self.line(&format!("{style}{line}{style:#}"));
        }
    }

    /// The finding, its bars, and how many figures have which verdict.
    fn lead(&mut self, run: &Run) {
        self.paragraph(BOLD, "", &lead::sentence(run));
        let (title, bars): (&str, Vec<(&str, &Estimate, Verdict)>) = match lead::lead(run) {
            None => ("", Vec::new()),
            Some(Lead::Rate(outcome)) => {
                let rows = outcome.rows.iter();
                let bars = rows.map(|row| (&*row.contender, &row.rate, row.verdict)).collect();
                ("Answers a second", bars)
            }
            Some(Lead::Cpu(outcome)) => {
                let known = outcome.rows.iter().filter_map(|row| {
                    Some((&*row.contender, row.server_cpu_us.as_ref()?, row.verdict))
                });
                ("CPU µs an answer", known.collect())
            }
        };
        let longest = bars.iter().map(|(_, estimate, _)| estimate.median).fold(0.0, f64::max);
        if longest > 0.0 {
            self.line("");
            self.paragraph(DIM, "  ", title);
        }
        for (contender, estimate, verdict) in bars.iter().take(BARS_MAX).filter(|_| longest > 0.0) {
            let cells = (estimate.median / longest * f64::from(BAR_CELLS)).round() as usize;
            let cell = if *verdict == Verdict::Invalid { "░" } else { "█" };
            let bar = cell.repeat(cells.max(1));
            let name: String = self.who(run, contender).chars().take(NAME_CHARS).collect();
            let bound = units::at_least(estimate.at_least);
            let number = units::count(estimate.median);
            self.line(&format!("  {name:<NAME_CHARS$} {bar} {bound}{number}"));
        }
        let verdicts: Vec<String> = lead::verdicts(run).iter().map(lead::Count::says).collect();
        if !verdicts.is_empty() {
            self.line("");
            self.paragraph(PLAIN, "", &verdicts.join(" · "));
        }
        self.line("");
    }

    /// One table over all loads, so that its columns stand below each other,
    /// broken up by what a load has to say before its rows.
    fn figures(&mut self, run: &Run) {
        let sections = summary::sections(run);
        let mut table = self.table(&COLUMNS);
        for outcome in sections.iter().flat_map(|section| &section.outcomes) {
            for (row, share) in outcome.rows.iter().zip(summary::rate_shares(outcome)) {
                let mut cells = TableRow::from(self.cells(run, outcome, row, share));
                cells.max_height(1);
                table.add_row(cells);
            }
        }
        let text = table.to_string();
        let mut lines = text.lines();
        let header = lines.next().unwrap_or_default();

        for section in &sections {
            self.line("");
            self.paragraph(BOLD, "", section.name);
            if summary::shares_cores(run, section) {
                self.paragraph(PLAIN, "", summary::SHARED_CORES);
            }
            self.line(header);
            for outcome in &section.outcomes {
                self.line("");
                let connections = units::of(outcome.load.connections.into(), "connection");
                let heading = match summary::finding(run, outcome) {
                    Some(finding) => format!("{connections}: {finding}"),
                    None => connections,
                };
                self.paragraph(BOLD, "", &heading);
                for line in lines.by_ref().take(outcome.rows.len()) {
                    self.line(line);
                }
                self.missing(&summary::without_figure(run, outcome));
            }
        }
    }

    /// Who has no figure, and why.
    fn missing(&mut self, missing: &[summary::Missing]) {
        for missing in missing {
            let says = format!("{} has no figure: {}", missing.who, missing.reason);
            self.paragraph(PLAIN, "  ", &says);
        }
    }

    fn table(&self, columns: &[Column]) -> Table {
        let mut table = Table::new();
        table
            .load_style(presets::NOTHING)
            .set_content_arrangement(ContentArrangement::Dynamic)
            .set_width(self.terminal.columns)
            .set_header(columns.iter().map(|(title, ..)| self.styled(title, Attribute::Dim)));
        if self.terminal.colour {
            table.enforce_styling();
        } else {
            table.force_no_tty();
        }
        for (at, (column, (_, alignment, narrow))) in
            table.column_iter_mut().zip(columns).enumerate()
        {
            column.set_padding((0, 1)).set_cell_alignment(*alignment);
            if !narrow && !self.is_wide() {
                column.set_constraint(ColumnConstraint::Hidden);
            } else if at != CONTENDER {
                column.set_constraint(ColumnConstraint::ContentWidth);
            }
        }
        table
    }

    fn is_wide(&self) -> bool {
        self.terminal.columns >= WIDE
    }

    fn cells(
        &self,
        run: &Run,
        outcome: &Outcome,
        row: &Row,
        share: Option<&Estimate>,
    ) -> Vec<Cell> {
        let time = |estimate: &Option<Estimate>| match estimate {
            None => units::NOTHING.to_string(),
            Some(estimate) => {
                format!("{}{}", units::at_least(estimate.at_least), units::time(estimate.median))
            }
        };
        let contender = summary::contender(run, &row.contender);
        let tier = contender.map_or(units::NOTHING, |it| it.tier.word());
        let (rate, rate_range) = rate(row);
        let (ratio, ratio_range) = ratio(share);
        let cpu = row.server_cpu_us.as_ref();
        let figures = [
            rate,
            rate_range,
            ratio,
            ratio_range,
            cpu.map_or(units::NOTHING.into(), |cpu| units::plain(cpu.median)),
            time(&row.p50_us),
            time(&row.p99_us),
        ];
        let words = [summary::rank(outcome, row), self.who(run, &row.contender), tier.into()];
        let verdict = [summary::sign(row.verdict), row.verdict.word()];
        words
            .into_iter()
            .map(Cell::new)
            .chain(figures.into_iter().map(|figure| self.figure(&figure, row.verdict)))
            .chain(verdict.map(|text| self.verdict(text, row.verdict)))
            .collect()
    }

    fn figure(&self, text: &str, verdict: Verdict) -> Cell {
        if verdict == Verdict::Invalid && !text.is_empty() {
            return self.styled(text, Attribute::CrossedOut);
        }
        Cell::new(text)
    }

    fn styled(&self, text: &str, attribute: Attribute) -> Cell {
        let cell = Cell::new(text);
        if self.terminal.colour { cell.add_attribute(attribute) } else { cell }
    }

    fn verdict(&self, text: &str, verdict: Verdict) -> Cell {
        let colour = match verdict {
            _ if !self.terminal.colour => return Cell::new(text),
            Verdict::Valid => comfy_table::Color::Blue,
            Verdict::NotChecked => return self.styled(text, Attribute::Dim),
            Verdict::Suspect => comfy_table::Color::Yellow,
            Verdict::Invalid => comfy_table::Color::Red,
        };
        Cell::new(text).fg(colour)
    }

    /// Explains the marks, those only that were used.
    fn legend(&mut self, run: &Run) {
        let rows = || run.outcomes.iter().flat_map(|outcome| &outcome.rows);
        let costs = || run.equal_rates.iter().flat_map(|outcome| &outcome.rows);
        let lines = || run.curves.iter().flat_map(|curve| &curve.lines);
        let points = || lines().flat_map(|line| &line.points);
        let ranges = || {
            let of_costs = costs().filter_map(|row| row.server_cpu_us.as_ref());
            rows().map(|row| &row.rate).chain(of_costs).map(summary::range)
        };
        let has_range = |fits: fn(&Range) -> bool| ranges().any(|range| fits(&range));
        let mut times = rows()
            .map(|row| [&row.p50_us, &row.p99_us])
            .chain(costs().map(|row| [&row.p50_us, &row.p99_us]))
            .chain(points().map(|point| [&point.p50_us, &point.p99_us]))
            .flatten()
            .flatten();
        let is_said = |verdict: Verdict| {
            let of_rows = rows().map(|row| row.verdict).chain(costs().map(|row| row.verdict));
            of_rows.chain(points().map(|point| point.verdict)).any(|it| it == verdict)
        };
        let lighter = |row: &Row| !mark(run, &row.contender).is_empty();
        let marks = [
            (rows().any(lighter), "* keeps a lighter contract, as said above"),
            (has_range(|it| matches!(it, Range::Interval(_))), "(a–b) 95 % interval"),
            (
                has_range(|it| matches!(it, Range::Blocks(_))),
                "[a–b] lowest and highest block, too few for an interval",
            ),
            (rows().any(|row| row.rate.at_least), "≥ before a rate: the client was the limit"),
            (
                rows()
                    .filter_map(|row| row.rate_ratio.as_ref())
                    .any(|it| it.at_least || it.at_most),
                "≥ or ≤ before a share: one of its two rates is such a bound",
            ),
            (times.any(|it| it.at_least), "≥ before a time: requests without an answer are in it"),
            (is_said(Verdict::Valid), "✓ valid"),
            (is_said(Verdict::NotChecked), "○ not checked in full"),
            (is_said(Verdict::Suspect), "? doubtful, for the reason below"),
            (is_said(Verdict::Invalid), "✗ not a figure to use, for the reason below"),
        ];
        let used: Vec<&str> =
            marks.into_iter().filter(|(used, _)| *used).map(|(_, mark)| mark).collect();
        if !used.is_empty() {
            self.line("");
            self.paragraph(DIM, "", &used.join(" · "));
        }
    }

    fn absent(&mut self, run: &Run) {
        let absent = summary::absent(run);
        if absent.is_empty() {
            return;
        }
        self.line("");
        self.paragraph(BOLD, "", "Absent");
        for (who, reason) in absent {
            self.paragraph(PLAIN, "  ", &format!("{who}: {reason}"));
        }
    }

    fn findings(&mut self, run: &Run) {
        let (unchecked, against): (Vec<Group>, Vec<Group>) = summary::findings_against(run)
            .into_iter()
            .partition(|group| group.verdict == Verdict::NotChecked);
        if !against.is_empty() {
            self.line("");
            self.paragraph(BOLD, "", "Before you use a figure");
        }
        for group in &against {
            self.line("");
            self.group(run, group);
        }
        if !unchecked.is_empty() {
            let checks: Vec<&str> = unchecked.iter().map(|group| group.check).collect();
            let says = format!("Not checked: {}", checks.join(", "));
            self.line("");
            self.paragraph(DIM, "", &says);
        }
    }

    fn repeated(&mut self, run: &Run) {
        let repeated = summary::repeated(run);
        if repeated.is_empty() {
            return;
        }
        self.line("");
        self.paragraph(BOLD, "", "Made again");
        for it in &repeated {
            let load = summary::load_names(&[it.load]);
            let when = if it.is_made_again(run) { "" } else { " (not yet)" };
            let says = format!("block {}, {load}{when}: {}", it.block + 1, it.reason());
            self.paragraph(PLAIN, "  - ", &says);
        }
        self.paragraph(
            PLAIN,
            "  ",
            "What was measured first is kept in run.json, and not counted.",
        );
    }

    fn group(&mut self, run: &Run, group: &Group) {
        let style = match group.verdict {
            Verdict::Invalid => AnsiColor::Red.on_default(),
            _ => AnsiColor::Yellow.on_default(),
        };
        let sign = summary::sign(group.verdict);
        self.paragraph(style, "", &format!("{sign} {}: {}", group.verdict.word(), group.check));
        self.paragraph(PLAIN, "  ", group.says);
        for case in group.cases.iter().take(CASES_MAX) {
            self.paragraph(PLAIN, "  - ", &case_line(run, case));
        }
        if let Some(more @ 1..) = group.cases.len().checked_sub(CASES_MAX) {
            self.paragraph(PLAIN, "  - ", &format!("and {more} more"));
        }
        for (name, text) in [("Threshold", group.threshold), ("Fix", group.fix)] {
            if !text.is_empty() {
                self.paragraph(PLAIN, "  ", &format!("{name}: {text}"));
            }
        }
    }
}

/// The rate, and how far it may be off.
fn rate(row: &Row) -> (String, String) {
    let invalid = if row.verdict == Verdict::Invalid { "✗" } else { "" };
    let bound = units::at_least(row.rate.at_least);
    let range = match summary::range(&row.rate) {
        Range::Interval(interval) => format!("({})", units::count_range(interval)),
        Range::Blocks(blocks) => format!("[{}]", units::count_range(blocks)),
        Range::None => String::new(),
    };
    (format!("{invalid}{bound}{}", units::count(row.rate.median)), range)
}

/// The rate as a share of the best one's, and how far that may be off.
fn ratio(share: Option<&Estimate>) -> (String, String) {
    let Some(ratio) = share else { return (units::NOTHING.into(), String::new()) };
    let range = match ratio.interval {
        Some((low, high)) if low < high => format!("({})", units::percent_range((low, high))),
        _ => String::new(),
    };
    (summary::share_of_best(ratio), range)
}

/// Of whom a finding speaks, and under which loads.
fn case_line(run: &Run, case: &Case) -> String {
    let loads = if case.loads.len() == summary::loads_with_figures(run) && case.loads.len() > 1 {
        "every load".into()
    } else {
        summary::load_names(&case.loads)
    };
    match case.value {
        "" => format!("{} ({loads})", case.names()),
        value => format!("{}: {value} ({loads})", case.names()),
    }
}
