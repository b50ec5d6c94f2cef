//! `proof bodies`: bytes a second of large bodies, beside wrk.

use clap::Parser;

use crate::interrupt::Interrupt;
use crate::nginx::Nginx;
use crate::place::Place;
use crate::rounds::{self, Cell, Effort};
use crate::speed::{markdown, spread};
use crate::tool::Tool;

/// Measures bytes a second of bodies of 4 KB, 64 KB and 1 MB, beside wrk.
#[derive(Debug, Parser)]
pub struct Arguments {
    #[command(flatten)]
    effort: Effort,
    /// Connections at once.
    #[arg(long, default_value_t = 30)]
    connections: u32,
}

const SIZES: [usize; 3] = [4 << 10, 64 << 10, 1 << 20];
const TOOLS: [Tool; 3] = [Tool::Bakeoff, Tool::BakeoffEpoll, Tool::Wrk];

/// Measures, and prints a table that a README can take.
pub fn run(arguments: &Arguments, interrupt: &Interrupt) -> Result<(), String> {
    let cell = |size: usize| Cell {
        close: false,
        connections: arguments.connections,
        path: format!("/{size}"),
    };
    let cells = SIZES.map(cell);
    let place = Place::find()?;
    let (tools, absent) = rounds::present(&TOOLS);
    let nginx = Nginx::start(&place, &SIZES, interrupt)?;
    let mut measured =
        rounds::measure(&nginx, &place, &cells, &tools, arguments.effort, interrupt)?;
    measured.notes.extend(absent);

    println!("{}; {}.\n", arguments.effort.in_words(), place.in_words());
    let mut table = markdown();
    table.set_header(["body", "client", "MB/s", "of wrk's (smallest to largest)", ""]);
    for size in SIZES {
        let cell = cell(size);
        for (tool, _) in &tools {
            let Some(rate) = measured.rate(&cell, *tool) else { continue };
            let ratio = match tool {
                Tool::Wrk => None,
                _ => measured.ratio(&cell, *tool, Tool::Wrk, |sample| sample.rate),
            };
            let holds = match ratio {
                Some(ratio) if ratio.median >= 1.0 => "holds",
                Some(_) => "MISSED: less than wrk's",
                None => "",
            };
            table.add_row([
                format!("{} KiB", size >> 10),
                tool.name().to_string(),
                format!("{:.0}", rate.median * size as f64 / 1e6),
                ratio.map(spread).unwrap_or_default(),
                holds.to_string(),
            ]);
        }
    }
    println!("{table}");
    for note in &measured.notes {
        println!("- {note}");
    }
    Ok(())
}
