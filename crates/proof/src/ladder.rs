//! `proof speed --ladder`: what each thing costs that a client does beside what it can't do
//! without. Rungs are clients in the same rounds; the highest is `bakeoff load` itself.

use comfy_table::Table;
use report::units::whole;

use crate::interrupt::Interrupt;
use crate::nginx;
use crate::page::{Page, markdown};
use crate::place::Place;
use crate::rounds::{self, Cell, Effort, Measured};
use crate::rung::{OnLadder, RungName};
use crate::statistics::Spread;
use crate::told;
use crate::tool::Tool;

/// What is measured, before what came of it.
const ABOUT: &str = "What a request costs the client, rung by rung: each rung does what the \
one before does, and one thing more. *The bare loop* sends a fixed request again whenever bytes \
have come. *Stamps* are the kernel's, of one connection in sixteen. *Requests under way* have \
their places and their times. *Books and histograms* is a run of load that takes whatever comes \
for an answer. `bakeoff` reads the answers as well. All rungs take turns, in shuffled rounds. A \
figure is the median over rounds; in brackets is the median of ratios to the rung before, within \
a round.";

/// The rungs on a backend, from the bare loop up.
fn rungs(epoll: bool) -> [Tool; 5] {
    let rung = |rung| Tool::Rung(OnLadder { rung, epoll });
    [
        rung(RungName::Bare),
        rung(RungName::Stamps),
        rung(RungName::Flights),
        rung(RungName::Books),
        if epoll { Tool::BakeoffEpoll } else { Tool::Bakeoff },
    ]
}

/// All rungs on both backends.
fn clients() -> Vec<Tool> {
    [false, true].into_iter().flat_map(rungs).collect()
}

/// Measures all rungs under these loads, and tells what came of it.
///
/// # Errors
/// If the server can't be had, or somebody interrupts.
pub fn run(cells: &[Cell], effort: Effort, interrupt: &Interrupt) -> Result<Page, String> {
    let place = Place::find()?;
    let mut page = Page::new("What each step of a request costs the load generator", "ladder");
    page.say(ABOUT);
    page.say(format!("{}; {}.", effort.in_words(), place.in_words()));
    let (clients, absent) = rounds::present(&clients());
    let nginx = nginx::start(&place, &[], interrupt)?;
    let mut measured = rounds::measure(&|_| &nginx, &place, cells, &clients, effort, interrupt)?;
    absent.into_iter().for_each(|note| measured.note(note));
    for (mode, cells) in rounds::by_mode(cells) {
        say(&measured, mode, &cells, &mut page);
    }
    page.say_notes(&measured.notes());
    Ok(page)
}

/// Says what came of it under loads of one kind.
fn say(measured: &Measured, mode: &str, cells: &[&Cell], page: &mut Page) {
    page.say(format!("**{mode}:** CPU µs a request (of the rung before)"));
    page.say(costs(measured, cells));
    page.say(format!(
        "**{mode}:** `bakeoff` by the bare loop, medians of paired ratios (smallest to largest)"
    ));
    page.say(by_bare(measured, cells));
    for (heading, table) in told::tables(measured, cells) {
        page.say(format!("**{mode}:** {heading}"));
        page.say(table);
    }
}

fn costs(measured: &Measured, cells: &[&Cell]) -> Table {
    let mut table = by_connections(cells);
    for rungs in [false, true].map(rungs) {
        for (nth, &tool) in rungs.iter().enumerate() {
            let before = nth.checked_sub(1).map(|nth| rungs[nth]);
            let figure = |cell: &&Cell| {
                let cpu_us = measured.cpu_us(cell, tool)?.median;
                let step = before.and_then(|it| measured.cpu_ratio((cell, tool), (cell, it)));
                let step = step.map_or(String::new(), |it| format!(" ({:.2})", it.median));
                Some(format!("{cpu_us:.2}{step}"))
            };
            add_row(&mut table, tool, cells.iter().map(figure));
        }
    }
    table
}

fn by_bare(measured: &Measured, cells: &[&Cell]) -> Table {
    let mut table = by_connections(cells);
    for [bare, .., whole] in [false, true].map(rungs) {
        let ratio =
            |cell: &&Cell| measured.cpu_ratio((cell, whole), (cell, bare)).map(Spread::in_words);
        add_row(&mut table, whole, cells.iter().map(ratio));
    }
    table
}

/// A table with a column for each load.
fn by_connections(cells: &[&Cell]) -> Table {
    let mut table = markdown();
    let columns = cells.iter().map(|cell| whole(cell.connections.into()));
    table.set_header(std::iter::once("connections".to_string()).chain(columns));
    table
}

fn add_row(table: &mut Table, tool: Tool, figures: impl Iterator<Item = Option<String>>) {
    let figures = figures.map(|it| it.unwrap_or("–".into()));
    table.add_row(std::iter::once(tool.name().to_string()).chain(figures));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rounds::Sample;

    #[test]
    fn a_rung_stands_beside_the_one_before_and_the_highest_beside_the_bare_loop() {
        let cell = Cell::kept_alive(1_000);
        let mut measured = Measured::default();
        let costs_of_rungs = [[10.0, 20.0], [11.0, 22.0], [11.0, 22.0], [12.1, 24.2], [15.0, 24.0]];
        for (tool, costs) in rungs(false).into_iter().zip(costs_of_rungs) {
            for cpu_us in costs {
                measured.add(&cell, tool, Some(Sample { cpu_us, ..Sample::default() }));
            }
        }
        let table = costs(&measured, &[&cell]).to_string();
        for row in [
            "| the bare loop                 | 15.00        |",
            "| + stamps                      | 16.50 (1.10) |",
            "| + requests under way          | 16.50 (1.00) |",
            "| + books and histograms        | 18.15 (1.10) |",
            "| bakeoff                       | 19.50 (1.12) |",
            "| bakeoff, epoll                | –            |",
        ] {
            assert!(table.contains(row), "{row}\n{table}");
        }
        let table = by_bare(&measured, &[&cell]).to_string();
        assert!(table.contains("| bakeoff        | 1.35 (1.20 to 1.50) |"), "{table}");
    }
}
