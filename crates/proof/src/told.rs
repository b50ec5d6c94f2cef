//! What bakeoff tells of itself: how often it sleeps and goes into the kernel, which noise moves
//! least, and how much later than they came it saw answers.

use comfy_table::Table;
use report::units::whole;

use crate::page::markdown;
use crate::report::{Calls, SeenLate};
use crate::rounds::{Cell, Measured, Sample};
use crate::tool::Tool;

/// A table's heading, and the figures of a client under a load.
type Figures = (&'static str, fn(&Measured, &Cell, Tool) -> Option<String>);

const TABLES: [Figures; 2] = [
    ("sleeps, calls of the kernel and events a request, medians", calls),
    ("how much later than they came answers were seen, µs: medians of p50 and p99", seen_late),
];

/// Of each heading a table: a row a client that tells, a column a load. None where no client does.
pub fn tables(measured: &Measured, cells: &[&Cell]) -> Vec<(&'static str, Table)> {
    let all = TABLES.into_iter();
    all.filter_map(|(heading, of)| Some((heading, table(measured, cells, of)?))).collect()
}

fn table(
    measured: &Measured,
    cells: &[&Cell],
    of: fn(&Measured, &Cell, Tool) -> Option<String>,
) -> Option<Table> {
    let mut table = markdown();
    let columns = cells.iter().map(|cell| whole(cell.connections.into()));
    table.set_header(std::iter::once("connections".to_string()).chain(columns));
    for tool in [Tool::Bakeoff, Tool::BakeoffEpoll, Tool::Older, Tool::OlderEpoll] {
        let figures = cells.iter().map(|cell| of(measured, cell, tool));
        let figures: Vec<Option<String>> = figures.collect();
        if figures.iter().any(Option::is_some) {
            let figures = figures.into_iter().map(|it| it.unwrap_or("–".into()));
            table.add_row(std::iter::once(tool.name().to_string()).chain(figures));
        }
    }
    (!table.is_empty()).then_some(table)
}

fn calls(measured: &Measured, cell: &Cell, tool: Tool) -> Option<String> {
    let median = |of: fn(&Calls) -> f64| {
        median(measured, cell, tool, |sample| sample.told.calls.as_ref().map(of))
    };
    let all = [median(|it| it.sleeps)?, median(|it| it.enters)?, median(|it| it.events)?];
    Some(all.join(", "))
}

fn seen_late(measured: &Measured, cell: &Cell, tool: Tool) -> Option<String> {
    let median = |of: fn(&SeenLate) -> Option<f64>| {
        median(measured, cell, tool, |sample| of(sample.told.seen_late.as_ref()?))
    };
    let p99 = median(|it| it.p99_us).unwrap_or("–".into());
    Some([median(|it| Some(it.p50_us))?, p99].join(", "))
}

fn median(
    measured: &Measured,
    cell: &Cell,
    tool: Tool,
    of: impl Fn(&Sample) -> Option<f64>,
) -> Option<String> {
    Some(format!("{:.2}", measured.figure(cell, tool, of)?.median))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::OwnFigures;

    #[test]
    fn a_client_that_tells_has_a_row() {
        let cell = Cell::kept_alive(30);
        let mut measured = Measured::default();
        let calls = Some(Calls { sleeps: 0.5, enters: 0.75, events: 1.0 });
        let told = OwnFigures { calls, ..OwnFigures::default() };
        measured.add(&cell, Tool::Bakeoff, Some(Sample { told, ..Sample::default() }));
        for (tool, p99_us) in [(Tool::Older, Some(41.0)), (Tool::OlderEpoll, None)] {
            let told = OwnFigures {
                seen_late: Some(SeenLate { p50_us: 3.0, p99_us }),
                ..OwnFigures::default()
            };
            measured.add(&cell, tool, Some(Sample { told, ..Sample::default() }));
        }
        let tables = tables(&measured, &[&cell]);
        let [calls, seen_late] = [0, 1].map(|number: usize| tables[number].1.to_string());
        assert!(calls.contains("| bakeoff     | 0.50, 0.75, 1.00 |"), "{calls}");
        assert!(!calls.contains("older"), "it tells nothing of them:\n{calls}");
        for row in
            ["| bakeoff, older        | 3.00, 41.00 |", "| bakeoff, older, epoll | 3.00, –     |"]
        {
            assert!(seen_late.contains(row), "{seen_late}");
        }
    }

    #[test]
    fn where_nobody_tells_there_is_no_table() {
        let cell = Cell::kept_alive(30);
        let mut measured = Measured::default();
        measured.add(&cell, Tool::Wrk, Some(Sample::default()));
        assert!(tables(&measured, &[&cell]).is_empty());
    }
}
