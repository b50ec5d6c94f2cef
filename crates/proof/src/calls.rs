//! How often bakeoff sleeps and goes into the kernel: what noise moves least.

use comfy_table::Table;
use report::units::whole;

use crate::page::markdown;
use crate::report::Calls;
use crate::rounds::{Cell, Measured};
use crate::tool::Tool;

/// What the table has.
pub const HEADING: &str = "sleeps, calls of the kernel and events a request, medians";

/// A row a client that tells, a column a load.
pub fn table(measured: &Measured, cells: &[&Cell]) -> Table {
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
    table
}

fn of(measured: &Measured, cell: &Cell, tool: Tool) -> Option<String> {
    let median = |of: fn(&Calls) -> f64| {
        let spread = measured.figure(cell, tool, |sample| sample.calls.as_ref().map(of))?;
        Some(format!("{:.2}", spread.median))
    };
    let all = [median(|it| it.sleeps)?, median(|it| it.enters)?, median(|it| it.events)?];
    Some(all.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rounds::Sample;

    #[test]
    fn a_client_that_tells_has_a_row() {
        let cell = Cell::kept_alive(30);
        let mut measured = Measured::default();
        let calls = Some(Calls { sleeps: 0.5, enters: 0.75, events: 1.0 });
        measured.add(&cell, Tool::Bakeoff, Some(Sample { calls, ..Sample::default() }));
        measured.add(&cell, Tool::Older, Some(Sample::default()));
        let table = table(&measured, &[&cell]).to_string();
        assert!(table.contains("| bakeoff     | 0.50, 0.75, 1.00 |"), "{table}");
        assert!(!table.contains("older"), "it tells nothing:\n{table}");
    }
}
