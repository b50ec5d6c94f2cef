//! Tables of figures: their columns, and the cells of a row.

use comfy_table::{
    Attribute, Cell, CellAlignment, ColumnConstraint, ContentArrangement, Row as TableRow, Table,
    presets,
};
use result::Run;
use result::figure::Figure;
use result::finding::Verdict;
use result::outcome::{Estimate, Outcome, Row};

use super::page::Page;
use crate::contenders;
use crate::figures;
use crate::findings;
use crate::standing;
use crate::text::visible_name;
use crate::units;
use crate::words;

/// Stands before the name of whoever keeps a lighter contract: behind it, it might
/// be cut off.
pub(super) fn mark(run: &Run, contender: &str) -> &'static str {
    let contender = contenders::contender(run, contender);
    if contender.is_some_and(|it| it.lighter_contract.is_some()) { "*" } else { "" }
}

/// The longest name of a figure: its author may have written anything.
const HEAD_CHARS: usize = 16;

/// A column of a table: title, side, and whether a narrow terminal has it.
pub(super) type TableColumn = (String, CellAlignment, bool);

/// Which column of a table holds the contender: the one that gives way to the
/// others.
const CONTENDER: usize = 1;

/// The columns of an outcome's table.
fn columns(run: &Run, outcome: &Outcome) -> Vec<TableColumn> {
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

impl Page {
    /// The head of a table over all of these, and its lines, so many of each outcome.
    pub(super) fn rows<'a>(
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

    pub(super) fn table(&self, columns: &[TableColumn]) -> Table {
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

    pub(super) fn add(&self, table: &mut Table, cells: Vec<Cell>) {
        let mut row = TableRow::from(cells);
        row.max_height(1);
        table.add_row(row);
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
    pub(super) fn row_of(
        &self,
        words: Vec<String>,
        figures: Vec<String>,
        verdict: Verdict,
    ) -> Vec<Cell> {
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

    /// A contender's title, or its name where there is no room for that, marked if
    /// it keeps a lighter contract.
    pub(super) fn who(&self, run: &Run, contender: &str) -> String {
        let name = if self.is_wide() {
            contenders::title(run, contender)
        } else {
            visible_name(contender)
        };
        format!("{}{name}", mark(run, contender))
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
