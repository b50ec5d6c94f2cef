//! How response times grow with the rate.

use comfy_table::CellAlignment;
use result::Run;
use result::outcome::{CurveLine, CurvePoint};

use super::page::{BOLD, PLAIN, Page};
use super::table::TableColumn;
use crate::contenders;
use crate::curve;
use crate::figures;
use crate::names;
use crate::units;

fn columns(run: &Run) -> Vec<TableColumn> {
    let (left, right) = (CellAlignment::Left, CellAlignment::Right);
    let column = |title: &str, side, narrow| (title.to_string(), side, narrow);
    let mut columns = vec![
        column("of own", right, true),
        column("", left, true),
        column("offered/s", right, true),
    ];
    columns.extend(figures::plain(run).map(|it| column(&figures::short(it), right, true)));
    columns.extend([column("", left, true), column("", left, false)]);
    columns
}

impl Page {
    /// How each contender fares up to its own maximum and beyond.
    pub(super) fn curves(&mut self, run: &Run) {
        for curve in &run.curves {
            self.line("");
            self.paragraph(BOLD, "", "Each at shares of its own maximum in the closed loop");
            self.paragraph(PLAIN, "", &format!("{}.", names::settings(run, &[&curve.setting])));
            let mut table = self.table(&columns(run));
            for line in &curve.lines {
                for point in &line.points {
                    self.add(&mut table, self.point(run, line, point));
                }
            }
            for line in table.to_string().lines() {
                self.line(line);
            }
            for line in &curve.lines {
                let who = contenders::who(run, &line.contender);
                if let Some(bound) = curve::bound_of_maximum(run, curve, line) {
                    self.paragraph(PLAIN, "  ", &format!("{who}: {bound}."));
                }
                if let Some(reason) = &line.left_out {
                    self.paragraph(PLAIN, "  ", &format!("{who} has no curve: {reason}"));
                }
            }
        }
    }

    fn point(&self, run: &Run, line: &CurveLine, point: &CurvePoint) -> Vec<comfy_table::Cell> {
        let words = vec![format!("{} %", point.percent), self.who(run, &line.contender)];
        let offered = [units::count(point.offered_rate)].into_iter();
        let figures = figures::plain(run)
            .map(|figure| figures::median_if_any(figure.unit, point.figure(&figure.id)));
        self.row_of(words, offered.chain(figures).collect(), point.verdict)
    }
}
