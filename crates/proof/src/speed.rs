//! `proof speed`: CPU a request, beside other clients and the bare loop.

use clap::{Parser, ValueEnum};
use comfy_table::{Table, presets};
use report::units::whole;

use crate::interrupt::Interrupt;
use crate::nginx::Nginx;
use crate::place::Place;
use crate::rounds::{self, Cell, Effort, Measured};
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
pub fn run(arguments: &Arguments, interrupt: &Interrupt) -> Result<(), String> {
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
        println!("\n{mode}: requests a second\n\n{}", rate_table(&measured, &cells, &tools));
    }
    println!("\nWhat is asked of it: medians of paired ratios (smallest to largest)\n");
    println!("{}", claims_table(&measured, &cells));
    if !measured.notes.is_empty() {
        println!("\nTo know beside it:");
        for note in &measured.notes {
            println!("- {note}");
        }
    }
    Ok(())
}

/// A row a client, a column a number of connections.
fn cpu_table(measured: &Measured, cells: &[&Cell], tools: &[Tool]) -> Table {
    by_connections(cells, tools, |cell, tool| {
        let cpu_us = measured.cpu_us(cell, tool)?.median;
        let of_wrk = measured.ratio(cell, tool, Tool::Wrk, |sample| sample.cpu_us);
        Some(match of_wrk {
            Some(ratio) if tool != Tool::Wrk => format!("{cpu_us:.2} ({:.2})", ratio.median),
            _ => format!("{cpu_us:.2}"),
        })
    })
}

fn rate_table(measured: &Measured, cells: &[&Cell], tools: &[Tool]) -> Table {
    by_connections(cells, tools, |cell, tool| {
        Some(whole(measured.rate(cell, tool)?.median.round() as u64))
    })
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

fn claims_table(measured: &Measured, cells: &[Cell]) -> Table {
    let mut table = markdown();
    table.set_header(["CPU a request", "load", "measured", "at most", ""]);
    for Claim { of, base, at_most } in CLAIMS {
        for cell in cells {
            let Some(ratio) = measured.ratio(cell, of, base, |sample| sample.cpu_us) else {
                continue;
            };
            let at_most = at_most(cell.connections);
            table.add_row([
                format!("{} / {}", of.name(), base.name()),
                cell.in_words(),
                spread(ratio),
                format!("{at_most:.2}"),
                if ratio.median <= at_most { "holds" } else { "MISSED" }.to_string(),
            ]);
        }
    }
    table
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
