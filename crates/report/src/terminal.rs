//! A run at the terminal: the finding, a table, then what to know before using
//! a figure of it. [`brief`] has of that what a window has room for.

mod brief;
mod curve;

pub use brief::terminal_brief;

use anstyle::{AnsiColor, Style};
use comfy_table::{
    Attribute, Cell, CellAlignment, ColumnConstraint, ContentArrangement, Row as TableRow, Table,
    presets,
};
use result::Run;
use result::figure::{Figure, Unit};
use result::finding::Verdict;
use result::outcome::{CurvePoint, Estimate, Outcome, Row};

use crate::caveats;
use crate::claims::{self, RULE};
use crate::contenders;
use crate::figures::{self, Spread};
use crate::findings::{self, Case, Group};
use crate::headline;
use crate::lead;
use crate::missing;
use crate::names;
use crate::notes;
use crate::rate_by_loss::{self, RateByLoss, Store};
use crate::repeated;
use crate::sections::{self, Section};
use crate::standing;
use crate::survived;
use crate::text::visible;
use crate::units;
use crate::words;

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
    let mut page = Page::new(terminal);
    page.lead(run);
    for note in notes::notes(run) {
        page.paragraph(PLAIN, "", &note);
    }
    page.claims(run);
    page.survived(run);
    page.figures(run);
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
    let contender = contenders::contender(run, contender);
    if contender.is_some_and(|it| it.lighter_contract.is_some()) { "*" } else { "" }
}

/// Narrower than this, columns give way, and names stand for titles.
const WIDE: u16 = 110;

/// The longest name of a figure: its author may have written anything.
const HEAD_CHARS: usize = 16;

/// Lines that one finding may take to say of whom it speaks. The HTML report
/// has them all.
const CASES_MAX: usize = 6;

/// Bars of the first lines, and the cells of the longest.
const BARS_MAX: usize = 6;
const BAR_CELLS: usize = 30;
/// Room for a name beside a bar.
const NAME_CHARS: usize = 28;

/// A column of a table: title, side, and whether a narrow terminal has it.
type Column = (String, CellAlignment, bool);

/// The columns of an outcome's table.
fn columns(run: &Run, outcome: &Outcome) -> Vec<Column> {
    let (left, right) = (CellAlignment::Left, CellAlignment::Right);
    let column = |title: &str, side, narrow| (title.to_string(), side, narrow);
    let mut columns = vec![column("", right, true), column("", left, true)];
    columns.extend(contenders::has_tiers(run).then(|| column("tier", left, false)));
    if let Some(figure) = figures::ranking(run, outcome) {
        columns.extend([column(&head(figure), right, true), column("", left, true)]);
        columns.extend([column(figures::of_best(figure), right, true), column("", left, false)]);
    }
    let beside = figures::beside(run, outcome);
    columns.extend(beside.map(|figure| column(&head(figure), right, true)));
    columns.extend([column("", left, true), column("", left, false)]);
    columns
}

/// A figure's name at the head of a column, no wider than a column may be.
fn head(figure: &Figure) -> String {
    words::shortened(&figures::short(figure), HEAD_CHARS)
}

/// A mark in the tables: whether a run has it, and what it says.
type Mark = (fn(&Run) -> bool, &'static str);

const MARKS: [Mark; 12] = [
    (figures::has_times, "requests a second count good answers only"),
    (
        |run| rows(run).any(|row| !mark(run, &row.contender).is_empty()),
        "* keeps a lighter contract, as said above",
    ),
    (|run| ranges(run).any(|it| matches!(it, Spread::Interval(_))), "(a–b) 95 % interval"),
    (
        |run| ranges(run).any(|it| matches!(it, Spread::Blocks(_))),
        "[a–b] lowest and highest block, too few for an interval",
    ),
    (
        |run| estimates(run, &[Unit::PerSecond]).any(|it| it.at_least),
        "≥ before a rate: the client was the limit",
    ),
    (
        |run| ratios(run).any(|it| it.at_least || it.at_most),
        "≥ or ≤ before a share: one of the two figures behind it is a bound",
    ),
    (
        |run| estimates(run, &[Unit::Micros]).any(|it| it.at_least),
        "≥ before a time: requests without an answer are in it",
    ),
    (caveats::figures_share_memory, "memory is summed over processes: what two share counts twice"),
    (|run| is_said(run, Verdict::Valid), "✓ valid"),
    (|run| is_said(run, Verdict::NotChecked), "○ not checked in full"),
    (|run| is_said(run, Verdict::Suspect), "? doubtful, for the reason below"),
    (|run| is_said(run, Verdict::Invalid), "✗ not a figure to use, for the reason below"),
];

fn rows(run: &Run) -> impl Iterator<Item = &Row> {
    run.outcomes.iter().flat_map(|outcome| &outcome.rows)
}

fn points(run: &Run) -> impl Iterator<Item = &CurvePoint> {
    run.curves.iter().flat_map(|curve| &curve.lines).flat_map(|line| &line.points)
}

fn is_said(run: &Run, verdict: Verdict) -> bool {
    let of_rows = rows(run).map(|row| row.verdict);
    of_rows.chain(points(run).map(|point| point.verdict)).any(|it| it == verdict)
}

/// How far the figures that rank may be off.
fn ranges(run: &Run) -> impl Iterator<Item = Spread> {
    let ranked = run.outcomes.iter().filter_map(|it| Some((it, it.ranking()?)));
    ranked
        .flat_map(|(outcome, ranking)| {
            outcome.rows.iter().filter_map(|row| row.figure(&ranking.figure))
        })
        .map(figures::spread)
}

fn ratios(run: &Run) -> impl Iterator<Item = &Estimate> {
    rows(run).flat_map(|row| row.standings.values()).filter_map(|it| it.ratio.as_ref())
}

/// The figures in tables that are measured in one of these.
fn estimates<'a>(run: &'a Run, units: &'static [Unit]) -> impl Iterator<Item = &'a Estimate> {
    let figures = || figures::plain(run).filter(|figure| units.contains(&figure.unit));
    let of_rows = rows(run).flat_map(move |row| figures().filter_map(|it| row.figure(&it.id)));
    of_rows
        .chain(points(run).flat_map(move |point| figures().filter_map(|it| point.figure(&it.id))))
}

/// Which column of a table holds the contender: the one that gives way to the
/// others.
const CONTENDER: usize = 1;

/// A bar with what stands on both sides of it.
struct Bar {
    who: String,
    length: f64,
    verdict: Verdict,
    says: String,
}

struct Page {
    out: String,
    terminal: Terminal,
}

impl Page {
    fn new(terminal: Terminal) -> Page {
        let columns = terminal.columns.max(COLUMNS_MIN);
        Page { out: String::new(), terminal: Terminal { columns, ..terminal } }
    }

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
        self.paragraph(BOLD, "", &headline::sentence(run));
        if let Some(all) = rate_by_loss::rate_by_loss(run) {
            self.losses(run, &all);
        } else if let Some(outcome) = lead::lead(run)
            && let Some(figure) = figures::ranking(run, outcome)
        {
            self.bars(run, outcome, figure);
        }
        let verdicts: Vec<String> =
            findings::verdicts(run).iter().map(findings::Count::says).collect();
        if !verdicts.is_empty() {
            self.line("");
            self.paragraph(PLAIN, "", &verdicts.join(" · "));
        }
        self.line("");
    }

    fn bars(&mut self, run: &Run, outcome: &Outcome, figure: &Figure) {
        let known = outcome.rows.iter().filter_map(|row| Some((row, row.figure(&figure.id)?)));
        let bars = known.map(|(row, estimate)| Bar {
            who: self.who(run, &row.contender),
            length: estimate.median,
            verdict: row.verdict,
            says: figures::median_with_unit(figure.unit, estimate),
        });
        let bars = bars.collect();
        self.chart(&format!("{} ({})", figures::heading(figure), figure.better.says()), bars);
    }

    /// What durability costs: how fast stores write, and what the worst cut took.
    fn losses(&mut self, run: &Run, all: &RateByLoss) {
        let bar = |store: &Store| Bar {
            who: store.who.clone(),
            length: store.rate.median,
            verdict: store.verdict,
            says: format!("{}/s, {}", store.rate(), store.loss.says()),
        };
        let title = format!(
            "{}: writes a second, and what the worst cut took ({})",
            rate_by_loss::TITLE,
            names::settings(run, &[all.writes])
        );
        self.chart(&title, all.stores.iter().map(bar).collect());
    }

    fn chart(&mut self, title: &str, bars: Vec<Bar>) {
        let longest = bars.iter().map(|bar| bar.length).fold(0.0, f64::max);
        if longest <= 0.0 {
            return;
        }
        self.line("");
        self.paragraph(DIM, "  ", title);
        let words = bars.iter().map(|bar| bar.says.chars().count()).max().unwrap_or(0);
        let around = NAME_CHARS + words + 4;
        let room = usize::from(self.terminal.columns).saturating_sub(around).min(BAR_CELLS);
        for Bar { who, length, verdict, says } in bars.iter().take(BARS_MAX) {
            let cells = (length / longest * room as f64).round() as usize;
            let cell = if *verdict == Verdict::Invalid { "░" } else { "█" };
            let bar = cell.repeat(cells.max(1));
            let name = words::shortened(who, NAME_CHARS);
            self.line(&format!("  {name:<NAME_CHARS$} {bar} {says}"));
        }
        if let Some(more @ 1..) = bars.len().checked_sub(BARS_MAX) {
            self.line(&format!("  and {more} more"));
        }
    }

    /// A study's claims, each with what became of it.
    fn claims(&mut self, run: &Run) {
        let all = claims::all(run);
        if all.is_empty() {
            return;
        }
        self.paragraph(BOLD, "", "What was claimed");
        self.paragraph(PLAIN, "", RULE);
        for claim in &all {
            self.out.push('\n');
            let says = format!("{}: {} ({})", claim.word, claim.says, claim.source);
            self.paragraph(BOLD, "", &says);
            for line in claim.by().into_iter().chain(claim.lines()) {
                self.paragraph(PLAIN, "  ", &line);
            }
        }
        self.out.push('\n');
    }

    /// What stores kept where they were cut off, each in a paragraph.
    fn survived(&mut self, run: &Run) {
        let stores = survived::lines(run);
        if stores.is_empty() {
            return;
        }
        self.paragraph(BOLD, "", survived::TITLE);
        self.paragraph(PLAIN, "", survived::MEANING);
        for store in &stores {
            self.paragraph(PLAIN, "", &format!("{}:", store[0]));
            for (head, cell) in survived::HEADS.iter().zip(store).skip(1) {
                self.paragraph(PLAIN, "  ", &format!("{head}: {cell}"));
            }
        }
        self.out.push('\n');
    }

    /// A table over all sections that have the same figures, so that its columns stand below
    /// each other, broken up by what a setting has to say before its rows.
    fn figures(&mut self, run: &Run) {
        let figure = |section: &Section| figures::ranking(run, section.outcomes[0]);
        for sections in sections::sections(run).chunk_by(|a, b| figure(a) == figure(b)) {
            self.sections(run, sections);
        }
    }

    fn sections(&mut self, run: &Run, sections: &[Section]) {
        let outcomes = || sections.iter().flat_map(|section| &section.outcomes);
        let (header, mut lines) = self.rows(run, outcomes().map(|it| (*it, it.rows.len())));
        for section in sections {
            self.line("");
            self.paragraph(BOLD, "", &section.name);
            if caveats::shares_cores(run, section) {
                self.paragraph(PLAIN, "", caveats::SHARED_CORES);
            }
            self.line(&header);
            for outcome in &section.outcomes {
                self.line("");
                let point = sections::point_name(run, outcome);
                let heading = match notes::of_outcome(run, outcome) {
                    Some(finding) => format!("{point}: {finding}"),
                    None => point,
                };
                self.paragraph(BOLD, "", &heading);
                for line in lines.by_ref().take(outcome.rows.len()) {
                    self.line(&line);
                }
                self.missing(&missing::without_figure(run, outcome));
            }
        }
    }

    /// The head of a table over all of these, and its lines, so many of each outcome.
    fn rows<'a>(
        &self,
        run: &Run,
        outcomes: impl Iterator<Item = (&'a Outcome, usize)>,
    ) -> (String, std::vec::IntoIter<String>) {
        let mut outcomes = outcomes.peekable();
        let columns = outcomes.peek().map(|(first, _)| columns(run, first));
        let mut table = self.table(&columns.unwrap_or_default());
        for (outcome, count) in outcomes {
            for (row, share) in outcome.rows.iter().zip(standing::shares(run, outcome)).take(count)
            {
                self.add(&mut table, self.cells(run, outcome, row, share));
            }
        }
        let text = table.to_string();
        let mut lines = text.lines().map(str::to_string);
        let header = lines.next().unwrap_or_default();
        (header, lines.collect::<Vec<_>>().into_iter())
    }

    fn add(&self, table: &mut Table, cells: Vec<Cell>) {
        let mut row = TableRow::from(cells);
        row.max_height(1);
        table.add_row(row);
    }

    /// Who has no figure, and why.
    fn missing(&mut self, missing: &[missing::Missing]) {
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
        let mut words = vec![standing::rank(outcome, row), self.who(run, &row.contender)];
        words.extend(contenders::has_tiers(run).then(|| contenders::tier(run, row).into()));
        let mut figures = Vec::new();
        if let Some(figure) = figures::ranking(run, outcome) {
            let estimate = row.figure(&figure.id);
            let invalid = if row.verdict == Verdict::Invalid { "✗" } else { "" };
            let median = figures::median_if_any(figure.unit, estimate);
            let range = estimate.map(|estimate| figures::range(figure.unit, estimate));
            let (ratio, ratio_range) = ratio(share);
            let ranking = [format!("{invalid}{median}"), range.unwrap_or_default()];
            figures.extend(ranking.into_iter().chain([ratio, ratio_range]));
        }
        figures.extend(
            figures::beside(run, outcome)
                .map(|figure| figures::median_if_any(figure.unit, row.figure(&figure.id))),
        );
        self.row_of(words, figures, row.verdict)
    }

    /// Words, figures, and the verdict that they have in common.
    fn row_of(&self, words: Vec<String>, figures: Vec<String>, verdict: Verdict) -> Vec<Cell> {
        let signs = [findings::sign(verdict), verdict.word()];
        words
            .into_iter()
            .map(Cell::new)
            .chain(figures.iter().map(|figure| self.figure(figure, verdict)))
            .chain(signs.map(|text| self.verdict(text, verdict)))
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
        let used: Vec<&str> =
            MARKS.iter().filter(|(is_used, _)| is_used(run)).map(|(_, says)| *says).collect();
        if !used.is_empty() {
            self.line("");
            self.paragraph(DIM, "", &used.join(" · "));
        }
    }

    fn absent(&mut self, run: &Run) {
        let absent = missing::absent(run);
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
        let (unchecked, against): (Vec<Group>, Vec<Group>) = findings::against(run)
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
        let repeated = repeated::repeated(run);
        if repeated.is_empty() {
            return;
        }
        self.line("");
        self.paragraph(BOLD, "", "Made again");
        for it in &repeated {
            let load = names::settings(run, &[it.setting]);
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
        let sign = findings::sign(group.verdict);
        self.paragraph(
            of_verdict(group.verdict),
            "",
            &format!("{sign} {}: {}", group.verdict.word(), group.check),
        );
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

/// How what speaks against a figure is shown.
fn of_verdict(verdict: Verdict) -> Style {
    match verdict {
        Verdict::Invalid => AnsiColor::Red.on_default(),
        _ => AnsiColor::Yellow.on_default(),
    }
}

/// A figure as a share of the best one's, and how far that may be off.
fn ratio(share: Option<&Estimate>) -> (String, String) {
    let Some(ratio) = share else { return (units::NOTHING.into(), String::new()) };
    let range = match ratio.interval {
        Some((low, high)) if low < high => format!("({})", units::percent_range((low, high))),
        _ => String::new(),
    };
    (standing::share_of_best(ratio), range)
}

/// Of whom a finding speaks, and under which loads.
fn case_line(run: &Run, case: &Case) -> String {
    let is_all = case.settings.len() == findings::settings_with_figures(run);
    let loads = if is_all && case.settings.len() > 1 {
        "every load".into()
    } else {
        names::settings(run, &case.settings)
    };
    match case.value {
        "" => format!("{} ({loads})", case.names()),
        value => format!("{}: {value} ({loads})", case.names()),
    }
}
