//! What an answer costs at one rate for all, and how response times grow with
//! the rate.

use comfy_table::{Cell, CellAlignment, Row as TableRow};
use result::Run;
use result::finding::Verdict;
use result::outcome::{CurveLine, CurvePoint, EqualRateRow, Estimate};
use result::plan::Arrivals;

use super::{BOLD, Column, PLAIN, Page, mark};
use crate::summary::{self, Range};
use crate::text::visible_name;
use crate::units;

const EQUAL_RATE: [Column; 10] = [
    ("", CellAlignment::Right, true),
    ("", CellAlignment::Left, true),
    ("tier", CellAlignment::Left, false),
    ("CPU µs", CellAlignment::Right, true),
    ("", CellAlignment::Left, true),
    ("of least", CellAlignment::Right, true),
    ("p50", CellAlignment::Right, true),
    ("p99", CellAlignment::Right, true),
    ("", CellAlignment::Left, true),
    ("", CellAlignment::Left, false),
];

const CURVE: [Column; 9] = [
    ("of own", CellAlignment::Right, true),
    ("", CellAlignment::Left, true),
    ("offered/s", CellAlignment::Right, true),
    ("answers/s", CellAlignment::Right, true),
    ("CPU µs", CellAlignment::Right, true),
    ("p50", CellAlignment::Right, true),
    ("p99", CellAlignment::Right, true),
    ("", CellAlignment::Left, true),
    ("", CellAlignment::Left, false),
];

impl Page {
    /// Who takes least CPU time where all do the same work.
    pub(super) fn equal_rates(&mut self, run: &Run) {
        for outcome in &run.equal_rates {
            let rate = units::whole(outcome.offered_rate.round() as u64);
            self.line("");
            self.paragraph(BOLD, "", "One rate for all: CPU time an answer");
            let loop_name = summary::load_names(&[outcome.load.with(Arrivals::Closed)]);
            let says = format!("{loop_name}. {rate} requests a second: {}", outcome.rule);
            self.paragraph(PLAIN, "", &says);
            let noise = outcome.noise_floor.map(summary::noise);
            let finding: Vec<String> =
                [outcome.sentence.clone()].into_iter().chain(noise).collect();
            self.paragraph(BOLD, "", &finding.join(" "));
            let mut table = self.table(&EQUAL_RATE);
            for (row, share) in outcome.rows.iter().zip(summary::cpu_shares(outcome)) {
                let ranks = outcome.rows.iter().map(|row| row.rank);
                let rank = summary::rank_among(ranks, row.rank);
                let mut cells = TableRow::from(self.equal_rate(run, rank, row, share));
                cells.max_height(1);
                table.add_row(cells);
            }
            self.table_lines(&table);
            self.missing(&summary::without_cost(run, outcome));
        }
    }

    fn equal_rate(
        &self,
        run: &Run,
        rank: String,
        row: &EqualRateRow,
        share: Option<&Estimate>,
    ) -> Vec<Cell> {
        let cpu = row.server_cpu_us.as_ref();
        let range = match cpu.map(summary::range) {
            Some(Range::Interval(interval)) => format!("({})", units::plain_range(interval)),
            Some(Range::Blocks(blocks)) => format!("[{}]", units::plain_range(blocks)),
            Some(Range::None) | None => String::new(),
        };
        let figures = [
            cpu.map_or(units::NOTHING.into(), |cpu| units::plain(cpu.median)),
            range,
            share.map_or(units::NOTHING.into(), |it| units::percent(it.median)),
            response(row.p50_us.as_ref()),
            response(row.p99_us.as_ref()),
        ];
        let contender = summary::contender(run, &row.contender);
        let tier = contender.map_or(units::NOTHING, |it| it.tier.word());
        let words = [rank, self.who(run, &row.contender), tier.into()];
        self.row_of(words, figures, row.verdict)
    }

    /// How each contender fares up to its own maximum and beyond.
    pub(super) fn curves(&mut self, run: &Run) {
        for curve in &run.curves {
            self.line("");
            self.paragraph(BOLD, "", "Each at shares of its own maximum in the closed loop");
            self.paragraph(PLAIN, "", &format!("{}.", summary::load_names(&[&curve.load])));
            let mut table = self.table(&CURVE);
            for line in &curve.lines {
                for point in &line.points {
                    let mut cells = TableRow::from(self.point(run, line, point));
                    cells.max_height(1);
                    table.add_row(cells);
                }
            }
            self.table_lines(&table);
            for line in &curve.lines {
                let who = summary::who(run, &line.contender);
                if let Some(bound) = summary::bound_of_maximum(run, curve, line) {
                    self.paragraph(PLAIN, "  ", &format!("{who}: {bound}."));
                }
                if let Some(reason) = &line.left_out {
                    self.paragraph(PLAIN, "  ", &format!("{who} has no curve: {reason}"));
                }
            }
        }
    }

    fn point(&self, run: &Run, line: &CurveLine, point: &CurvePoint) -> Vec<Cell> {
        let cpu = point.server_cpu_us.as_ref();
        let figures = [
            units::count(point.offered_rate),
            units::count(point.rate.median),
            cpu.map_or(units::NOTHING.into(), |cpu| units::plain(cpu.median)),
            response(point.p50_us.as_ref()),
            response(point.p99_us.as_ref()),
        ];
        let words = [format!("{} %", point.percent), self.who(run, &line.contender)];
        self.row_of(words, figures, point.verdict)
    }

    /// Words, figures, and the verdict that they have in common.
    fn row_of<const W: usize, const F: usize>(
        &self,
        words: [String; W],
        figures: [String; F],
        verdict: Verdict,
    ) -> Vec<Cell> {
        let signs = [summary::sign(verdict), verdict.word()];
        words
            .into_iter()
            .map(Cell::new)
            .chain(figures.iter().map(|figure| self.figure(figure, verdict)))
            .chain(signs.map(|text| self.verdict(text, verdict)))
            .collect()
    }

    /// A contender's title, or its name where there is no room for that, marked if
    /// it keeps a lighter contract.
    pub(super) fn who(&self, run: &Run, contender: &str) -> String {
        let name = match self.is_wide() {
            true => summary::title(run, contender),
            false => visible_name(contender),
        };
        format!("{}{name}", mark(run, contender))
    }

    fn table_lines(&mut self, table: &comfy_table::Table) {
        for line in table.to_string().lines() {
            self.line(line);
        }
    }
}

/// A time of an estimate, with ≥ where some of it is a lower bound.
fn response(estimate: Option<&Estimate>) -> String {
    let Some(estimate) = estimate else { return units::NOTHING.into() };
    format!("{}{}", units::at_least(estimate.at_least), units::time(estimate.median))
}
