//! `proof speed`: CPU a request, beside other clients and the bare loop.

use clap::{Parser, ValueEnum};
use comfy_table::{Table, presets};
use report::units::whole;

use crate::interrupt::Interrupt;
use crate::nginx::Nginx;
use crate::place::Place;
use crate::rounds::{self, Cell, Effort, Measured, Sample};
use crate::statistics::Spread;
use crate::tool::Tool;

/// Measures CPU a request and requests a second of several clients against one
/// nginx, in turn.
#[derive(Debug, Parser)]
pub struct Arguments {
    #[command(flatten)]
    effort: Effort,
    /// Connections at once, a load each.
    #[arg(long, value_delimiter = ',', default_value = "30,100,1000,5000")]
    connections: Vec<u32>,
    /// Whether a connection serves many requests, or one.
    #[arg(long, value_enum, value_delimiter = ',', default_value = "keep-alive,close")]
    modes: Vec<Mode>,
    /// The clients.
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        default_value = "bakeoff,bakeoff-epoll,bare,wrk,ab,h2load,hey,oha"
    )]
    tools: Vec<Tool>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Mode {
    KeepAlive,
    Close,
}

/// Measures, and prints tables that a README can take.
/// Tells whether all holds that is asked of the clients that were to be measured.
pub fn run(arguments: &Arguments, interrupt: &Interrupt) -> Result<bool, String> {
    let cells: Vec<Cell> = arguments
        .modes
        .iter()
        .flat_map(|&mode| {
            arguments.connections.iter().map(move |&connections| Cell {
                close: mode == Mode::Close,
                connections,
                path: "/".into(),
            })
        })
        .collect();
    let place = Place::find()?;
    let (tools, absent) = rounds::present(&arguments.tools);
    let nginx = Nginx::start(&place, &[], interrupt)?;
    let mut measured =
        rounds::measure(&nginx, &place, &cells, &tools, arguments.effort, interrupt)?;
    measured.notes.extend(absent);

    println!("{}; {}.", arguments.effort.in_words(), place.in_words());
    let tools: Vec<Tool> = tools.iter().map(|(tool, _)| *tool).collect();
    for close in [false, true] {
        let cells: Vec<&Cell> = cells.iter().filter(|cell| cell.close == close).collect();
        if cells.is_empty() {
            continue;
        }
        let mode = if close { "A connection a request" } else { "Kept alive" };
        println!(
            "\n{mode}: CPU µs a request (of wrk's)\n\n{}",
            cpu_table(&measured, &cells, &tools)
        );
        println!(
            "\n{mode}: requests a second (of wrk's)\n\n{}",
            rate_table(&measured, &cells, &tools)
        );
    }
    println!("\nWhat is asked of it: medians of paired ratios (smallest to largest)\n");
    let (table, hold) = claims_table(&measured, &cells, &arguments.tools);
    println!("{table}");
    if !measured.notes.is_empty() {
        println!("\nTo know beside it:");
        for note in &measured.notes {
            println!("- {note}");
        }
    }
    Ok(hold)
}

/// A row a client, a column a number of connections.
fn cpu_table(measured: &Measured, cells: &[&Cell], tools: &[Tool]) -> Table {
    by_connections(cells, tools, |cell, tool| {
        let cpu_us = measured.cpu_us(cell, tool)?.median;
        Some(format!("{cpu_us:.2}{}", of_wrks(measured, cell, tool, |sample| sample.cpu_us)))
    })
}

/// The same of answers a second.
fn rate_table(measured: &Measured, cells: &[&Cell], tools: &[Tool]) -> Table {
    by_connections(cells, tools, |cell, tool| {
        let rate = whole(measured.rate(cell, tool)?.median.round() as u64);
        Some(format!("{rate}{}", of_wrks(measured, cell, tool, |sample| sample.rate)))
    })
}

/// A client's figure as a share of wrk's, in brackets: the median of ratios within a
/// round. Nothing where wrk has none, and beside wrk itself.
fn of_wrks(
    measured: &Measured,
    cell: &Cell,
    tool: Tool,
    figure: impl Fn(&Sample) -> f64,
) -> String {
    match measured.ratio(cell, tool, Tool::Wrk, figure) {
        Some(ratio) if tool != Tool::Wrk => format!(" ({:.2})", ratio.median),
        _ => String::new(),
    }
}

fn by_connections(
    cells: &[&Cell],
    tools: &[Tool],
    text: impl Fn(&Cell, Tool) -> Option<String>,
) -> Table {
    let mut table = markdown();
    let connections = cells.iter().map(|cell| whole(cell.connections.into()));
    table.set_header(std::iter::once("connections".to_string()).chain(connections));
    for &tool in tools {
        let figures = cells.iter().map(|cell| text(cell, tool).unwrap_or("–".into()));
        table.add_row(std::iter::once(tool.name().to_string()).chain(figures));
    }
    table
}

/// What the CPU of a request may be, as a share of another client's.
struct Claim {
    of: Tool,
    base: Tool,
    /// By connections.
    at_most: fn(u32) -> f64,
}

const CLAIMS: [Claim; 3] = [
    Claim { of: Tool::Bakeoff, base: Tool::Bare, at_most: |_| 1.10 },
    Claim {
        of: Tool::Bakeoff,
        base: Tool::Wrk,
        at_most: |connections| match connections {
            0..=100 => 0.92,
            101..=1000 => 0.82,
            _ => 0.68,
        },
    },
    Claim { of: Tool::BakeoffEpoll, base: Tool::Wrk, at_most: |_| 1.0 },
];

/// The claims about these clients, and whether all hold. One that nothing was measured of
/// doesn't.
fn claims_table(measured: &Measured, cells: &[Cell], tools: &[Tool]) -> (Table, bool) {
    let mut table = markdown();
    table.set_header(["CPU a request", "load", "measured", "at most", ""]);
    let mut all_hold = true;
    let asked = CLAIMS.iter().filter(|it| tools.contains(&it.of) && tools.contains(&it.base));
    for Claim { of, base, at_most } in asked {
        for cell in cells {
            let ratio = measured.ratio(cell, *of, *base, |sample| sample.cpu_us);
            let at_most = at_most(cell.connections);
            let word = match ratio {
                Some(ratio) if ratio.median <= at_most => "holds",
                Some(_) => "MISSED",
                None => "NOT SHOWN",
            };
            all_hold &= word == "holds";
            table.add_row([
                format!("{} / {}", of.name(), base.name()),
                cell.in_words(),
                ratio.map_or("–".to_string(), spread),
                format!("{at_most:.2}"),
                word.to_string(),
            ]);
        }
    }
    (table, all_hold)
}

/// A table that is one in Markdown as well as in a terminal.
pub fn markdown() -> Table {
    let mut table = Table::new();
    table.load_style(presets::ASCII_MARKDOWN);
    table
}

/// A ratio with its spread.
pub fn spread(ratio: Spread) -> String {
    format!("{:.2} ({:.2} to {:.2})", ratio.median, ratio.min, ratio.max)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The cells of a table, row by row.
    fn rows(table: &Table) -> Vec<Vec<String>> {
        let text = table.to_string();
        // Below the header is a line of dashes.
        let lines = text.lines().filter(|line| !line.contains("--"));
        let cells = lines.map(|line| line.trim_matches('|').split('|'));
        cells.map(|cells| cells.map(|cell| cell.trim().to_string()).collect()).collect()
    }

    #[test]
    fn both_tables_have_each_client_beside_wrk_by_the_rounds_that_both_were_in() {
        let cell = Cell { close: false, connections: 1000, path: "/".into() };
        let mut measured = Measured::default();
        let sample = |cpu_us, rate| Some(Sample { cpu_us, rate });
        // The machine was slow in the second round, which hits both alike. The median of
        // the first client is from there, and that of their ratios isn't.
        let bakeoff = [sample(4.0, 2200.0), sample(9.0, 1000.0), sample(10.0, 900.0)];
        let wrk = [sample(8.0, 1000.0), sample(18.0, 500.0), None];
        for (bakeoff, wrk) in bakeoff.into_iter().zip(wrk) {
            measured.add(&cell, Tool::Bakeoff, bakeoff);
            measured.add(&cell, Tool::Wrk, wrk);
        }
        let tools = [Tool::Bakeoff, Tool::Wrk, Tool::Hey];
        let header = ["connections", "1,000"];
        assert_eq!(
            rows(&cpu_table(&measured, &[&cell], &tools)),
            [header, ["bakeoff", "9.00 (0.50)"], ["wrk", "13.00"], ["hey", "–"]]
        );
        assert_eq!(
            rows(&rate_table(&measured, &[&cell], &tools)),
            [header, ["bakeoff", "1,000 (2.10)"], ["wrk", "750"], ["hey", "–"]]
        );
    }

    #[test]
    fn a_claim_that_is_missed_or_that_nothing_was_measured_of_doesnt_hold() {
        let shown = |cpu_us: [Option<f64>; 3], connections, tools: &[Tool]| {
            let cell = Cell { close: false, connections, path: "/".into() };
            let mut measured = Measured::default();
            for (tool, cpu_us) in [Tool::Bakeoff, Tool::Wrk, Tool::Bare].into_iter().zip(cpu_us) {
                let sample = cpu_us.map(|cpu_us| Sample { cpu_us, rate: 1_000.0 });
                measured.add(&cell, tool, sample);
            }
            let (table, hold) = claims_table(&measured, &[cell], tools);
            let words = rows(&table).into_iter().skip(1).map(|row| row[4].clone());
            (words.collect::<Vec<_>>(), hold)
        };
        let [all, pair] =
            [&[Tool::Bakeoff, Tool::Wrk, Tool::Bare][..], &[Tool::Bakeoff, Tool::Bare]];
        let with = |wrk, bare| shown([Some(1.0), Some(wrk), Some(bare)], 5_000, all);
        assert_eq!(with(1.48, 1.0), (vec!["holds".into(), "holds".into()], true));
        assert_eq!(
            with(1.46, 1.0),
            (vec!["holds".into(), "MISSED".into()], false),
            "0.68 of wrk's"
        );
        assert_eq!(with(1.48, 0.9), (vec!["MISSED".into(), "holds".into()], false), "1.10 of it");
        let at = |connections, wrk| shown([Some(1.0), Some(wrk), Some(1.0)], connections, all).1;
        assert!(at(1_000, 1.23) && !at(1_000, 1.21), "0.82 of wrk's");
        for few in [30, 100] {
            assert!(at(few, 1.09) && !at(few, 1.08), "0.92 of wrk's");
        }
        let without = |tools| shown([Some(1.0), None, Some(1.0)], 30, tools);
        assert_eq!(without(all), (vec!["holds".into(), "NOT SHOWN".into()], false));
        assert_eq!(without(pair), (vec!["holds".into()], true), "nobody asked for wrk");
        assert_eq!(CLAIMS[2].of, Tool::BakeoffEpoll);
        assert!([30, 5_000].map(CLAIMS[2].at_most) == [1.0; 2], "as much as wrk at most");
    }

    #[test]
    fn without_wrk_there_is_nothing_to_stand_beside() {
        let cell = Cell { close: true, connections: 30, path: "/".into() };
        let mut measured = Measured::default();
        measured.add(&cell, Tool::Ab, Some(Sample { cpu_us: 1.25, rate: 10.4 }));
        let table = rate_table(&measured, &[&cell], &[Tool::Ab]);
        assert_eq!(rows(&table), [["connections", "30"], ["ab", "10"]]);
    }
}
