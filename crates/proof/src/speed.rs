//! `proof speed`: CPU a request, beside other clients and the bare loop.

use std::path::PathBuf;

use clap::{Parser, ValueEnum};
use comfy_table::Table;
use report::units::whole;

use crate::batching;
use crate::interrupt::Interrupt;
use crate::ladder;
use crate::nginx;
use crate::older::Older;
use crate::page::{Page, markdown};
use crate::place::Place;
use crate::rounds::{self, Answers, Cell, Effort, Measured, Pipelining, Sample};
use crate::statistics::Spread;
use crate::stores;
use crate::target::Target;
use crate::told;
use crate::tool::Tool;

/// Measures CPU a request and requests a second of several clients against one
/// nginx, in turn, and of clients of stores against a Redis and a memcached.
#[derive(Debug, Parser)]
pub struct SpeedArguments {
    #[command(flatten)]
    effort: Effort,
    /// Connections at once, a load each.
    #[arg(long, value_delimiter = ',', default_value = "30,100,1000,5000")]
    connections: Vec<u32>,
    /// Whether a connection serves many requests, or one; or has several under way at once,
    /// which is measured on connections of its own number. Stores have loads and clients of
    /// their own.
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        default_value = "keep-alive,close,open,pipeline,stores"
    )]
    modes: Vec<Mode>,
    /// The clients.
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        default_value = "bakeoff,bakeoff-epoll,bare,wrk,ab,h2load,hey,oha,gcannon,wrk2"
    )]
    tools: Vec<Tool>,
    /// In place of clients and of other modes: the rungs between the bare loop and bakeoff, on
    /// both backends, to see what each thing costs that it does.
    #[arg(long, conflicts_with_all = ["tools", "older"])]
    ladder: bool,
    /// An older bakeoff, as `make older` builds it. It is one client more under each load, and
    /// what changed is told as ratios within rounds.
    #[arg(long, value_name = "PROGRAM")]
    older: Option<PathBuf>,
    /// Write what came of the older one to this file as JSON.
    #[arg(long, value_name = "FILE", requires = "older")]
    json: Option<PathBuf>,
    /// Write it to this file as well. What stands there below a heading `## Before` stays.
    #[arg(long, value_name = "FILE")]
    write: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Mode {
    KeepAlive,
    Close,
    /// Kept connections at a rate: half of what was answered just before.
    Open,
    Pipeline,
    Stores,
}

/// Where pipelining is measured: connections, and requests under way on each.
const PIPELINE_CONNECTIONS: u32 = 50;
const PIPELINE_DEPTH: u16 = 16;

/// Where the rungs of the ladder have a connection a request: what it costs hides what a rung
/// costs, so one load is enough to see that.
const LADDER_CLOSED: [u32; 1] = [1_000];

impl Mode {
    /// The loads of the ladder.
    fn rungs(self, connections: &[u32]) -> Vec<Cell> {
        match self {
            Mode::KeepAlive => self.cells(connections),
            Mode::Close => self.cells(&LADDER_CLOSED),
            Mode::Open | Mode::Pipeline | Mode::Stores => Vec::new(),
        }
    }

    fn cells(self, connections: &[u32]) -> Vec<Cell> {
        let of = |close| {
            let cell = |&connections| Cell { close, ..Cell::kept_alive(connections) };
            connections.iter().map(cell).collect()
        };
        match self {
            Mode::KeepAlive => of(false),
            Mode::Close => of(true),
            Mode::Open => Vec::new(),
            Mode::Pipeline => [Answers::Apart, Answers::Together]
                .into_iter()
                .flat_map(|server| [1, PIPELINE_DEPTH].map(|depth| pipelining(server, depth)))
                .collect(),
            Mode::Stores => Vec::new(),
        }
    }
}

fn pipelining(server: Answers, depth: u16) -> Cell {
    let pipelining = Some(Pipelining { server, depth });
    Cell { pipelining, ..Cell::kept_alive(PIPELINE_CONNECTIONS) }
}

/// What is measured, before what came of it.
const ABOUT: &str = "The load generator beside other clients of the same server. The server has a \
core and the client another one. All clients take turns, in shuffled rounds. *The bare loop* asks \
by the same ring, without parsing, histograms or a clock a request: what no client can be much \
below. A figure is the median over rounds; in brackets is the median of ratios within a round. \
CPU time a request comes first: it is what a client takes from the measurement, and what noise \
moves least.";

/// Measures, and prints tables.
/// Tells whether all holds that is asked of the clients that were to be measured.
pub fn run(arguments: &SpeedArguments, interrupt: &Interrupt) -> Result<bool, String> {
    let (modes, connections) = (&arguments.modes, &arguments.connections);
    if arguments.ladder {
        let cells: Vec<Cell> = modes.iter().flat_map(|mode| mode.rungs(connections)).collect();
        let page = ladder::run(&cells, arguments.effort, interrupt)?;
        if let Some(file) = &arguments.write {
            page.write(file)?;
        }
        return Ok(true);
    }
    let cells: Vec<Cell> = modes.iter().flat_map(|mode| mode.cells(connections)).collect();
    let mut older = arguments.older.as_deref().map(Older::at).transpose()?;
    let place = Place::find()?;
    let mut page = Page::new("What the load generator costs", "bench-load");
    page.say(ABOUT);
    page.say(format!("{}; {}.", arguments.effort.in_words(), place.in_words()));
    let mut holds = true;
    if !cells.is_empty() || arguments.modes.contains(&Mode::Open) {
        holds &= of_http(arguments, older.as_mut(), cells, (&place, &mut page), interrupt)?;
    }
    if arguments.modes.contains(&Mode::Stores) {
        holds &= stores::run(arguments.effort, older.as_mut(), (&place, &mut page), interrupt)?;
    }
    if let Some(file) = &arguments.write {
        page.write(file)?;
    }
    if let (Some(older), Some(file)) = (older, &arguments.json) {
        older.write(file)?;
    }
    Ok(holds)
}

/// The same of the clients of HTTP.
fn of_http(
    arguments: &SpeedArguments,
    older: Option<&mut Older>,
    mut cells: Vec<Cell>,
    (place, page): (&Place, &mut Page),
    interrupt: &Interrupt,
) -> Result<bool, String> {
    page.say("## Clients of HTTP");
    let (mut tools, absent) = rounds::present(&arguments.tools);
    let both: Vec<(&str, Tool, Tool)> = arguments
        .tools
        .iter()
        .filter_map(|&tool| Some((tool.name(), tool, tool.older()?)))
        .collect();
    if let Some(older) = &older {
        tools.extend(both.iter().map(|&(_, _, old)| (old, older.program().to_path_buf())));
    }
    let nginx = nginx::start(place, &[], interrupt)?;
    let batching = batching::start(place, interrupt)?;
    if arguments.modes.contains(&Mode::Open) {
        cells.extend(open_loops(&arguments.connections, &nginx, place, interrupt)?);
    }
    let cells = cells.as_slice();
    let target_of = |cell: &Cell| match cell.pipelining {
        Some(Pipelining { server: Answers::Together, .. }) => &batching,
        _ => &nginx,
    };
    let mut measured =
        rounds::measure(&target_of, place, cells, &tools, arguments.effort, interrupt)?;
    absent.into_iter().for_each(|note| measured.note(note));

    let tools: Vec<Tool> = tools.iter().map(|(tool, _)| *tool).collect();
    for (mode, cells) in rounds::by_mode(cells) {
        page.say(format!("**{mode}:** CPU µs a request (of wrk's)"));
        page.say(cpu_table(&measured, &cells, &tools));
        page.say(format!("**{mode}:** requests a second (of wrk's)"));
        page.say(rate_table(&measured, &cells, &tools));
        page.say(format!("**{mode}:** CPU µs of the server a request (with wrk's)"));
        page.say(server_table(&measured, &cells, &tools));
        for (heading, table) in told::tables(&measured, &cells) {
            page.say(format!("**{mode}:** {heading}"));
            page.say(table);
        }
    }
    let pipelined: Vec<&Cell> = cells.iter().filter(|cell| cell.pipelining.is_some()).collect();
    if !pipelined.is_empty() {
        let connections = whole(PIPELINE_CONNECTIONS.into());
        let tools: Vec<Tool> = tools.iter().copied().filter(|tool| tool.pipelines()).collect();
        page.say(format!(
            "**{connections} connections, with and without a pipeline**, on nginx, which writes \
             each answer by itself, and on a server that writes together what it read together: \
             CPU µs a request (of wrk's)"
        ));
        page.say(cpu_table(&measured, &pipelined, &tools));
        page.say("**The same:** requests a second (of wrk's)");
        page.say(rate_table(&measured, &pipelined, &tools));
    }
    if let Some(older) = older {
        let loads: Vec<(String, &Cell)> =
            cells.iter().map(|cell| (cell.in_words(), cell)).collect();
        older.compare(&measured, &both, &loads, page);
    }
    page.say("**What is asked of it:** medians of paired ratios (smallest to largest)");
    let (table, hold) = claims_table(&measured, cells, &arguments.tools);
    page.say(table);
    page.say_notes(&measured.notes());
    Ok(hold)
}

/// Loads of an open loop, each with half of what is answered by as many connections at most.
fn open_loops(
    connections: &[u32],
    nginx: &Target,
    place: &Place,
    interrupt: &Interrupt,
) -> Result<Vec<Cell>, String> {
    let closed: Vec<Cell> = connections.iter().map(|&it| Cell::kept_alive(it)).collect();
    let tools = [(Tool::Bakeoff, Tool::Bakeoff.program()?)];
    let measured = rounds::measure(&|_| nginx, place, &closed, &tools, Effort::once(), interrupt)?;
    let half = |cell: Cell| {
        let most = measured.rate(&cell, Tool::Bakeoff)?.median;
        Some(Cell { rate: Some((most / 2.0) as u32), ..cell })
    };
    Ok(closed.into_iter().filter_map(half).collect())
}

/// A row a client, a column a load.
fn cpu_table(measured: &Measured, cells: &[&Cell], tools: &[Tool]) -> Table {
    by_load(cells, tools, |cell, tool| {
        let cpu_us = measured.cpu_us(cell, tool)?.median;
        Some(format!("{cpu_us:.2}{}", of_wrks(measured, cell, tool, |sample| sample.cpu_us)))
    })
}

/// The same of answers a second.
fn rate_table(measured: &Measured, cells: &[&Cell], tools: &[Tool]) -> Table {
    by_load(cells, tools, |cell, tool| {
        let rate = whole(measured.rate(cell, tool)?.median.round() as u64);
        Some(format!("{rate}{}", of_wrks(measured, cell, tool, |sample| sample.rate)))
    })
}

/// What a client costs the server.
fn server_table(measured: &Measured, cells: &[&Cell], tools: &[Tool]) -> Table {
    // Where the kernel doesn't tell, all are 0 alike.
    let of = |sample: &Sample| sample.server_us.unwrap_or_default();
    by_load(cells, tools, |cell, tool| {
        let server_us = measured.figure(cell, tool, |sample| sample.server_us)?.median;
        Some(format!("{server_us:.2}{}", of_wrks(measured, cell, tool, of)))
    })
}

/// A client's figure as a share of wrk's, in brackets: the median of ratios within a
/// round. Nothing where wrk has none, and beside wrk itself. In an open loop it is wrk2's.
fn of_wrks(
    measured: &Measured,
    cell: &Cell,
    tool: Tool,
    figure: impl Fn(&Sample) -> f64,
) -> String {
    let base = if cell.rate.is_some() { Tool::Wrk2 } else { Tool::Wrk };
    match measured.ratio(cell, tool, base, figure) {
        Some(ratio) if tool != base => format!(" ({:.2})", ratio.median),
        _ => String::new(),
    }
}

fn by_load(cells: &[&Cell], tools: &[Tool], text: impl Fn(&Cell, Tool) -> Option<String>) -> Table {
    let mut table = markdown();
    let columns = cells.iter().map(|cell| match (cell.pipelining, cell.rate) {
        (Some(pipelining), _) => pipelining.in_words(),
        (None, Some(rate)) => {
            format!("{}, {}/s", whole(cell.connections.into()), whole(rate.into()))
        }
        (None, None) => whole(cell.connections.into()),
    });
    let name = if cells.iter().any(|cell| cell.pipelining.is_some()) { "" } else { "connections" };
    table.set_header(std::iter::once(name.to_string()).chain(columns));
    for &tool in tools {
        let figures: Vec<Option<String>> = cells.iter().map(|cell| text(cell, tool)).collect();
        if figures.iter().any(Option::is_some) {
            let figures = figures.into_iter().map(|it| it.unwrap_or("–".into()));
            table.add_row(std::iter::once(tool.name().to_string()).chain(figures));
        }
    }
    table
}

/// What the CPU of a request may be, as a share of another client's.
struct Claim {
    of: Tool,
    base: Tool,
    at_most: fn(&Cell) -> f64,
}

const CLAIMS: [Claim; 3] = [
    Claim { of: Tool::Bakeoff, base: Tool::BARE, at_most: |_| 1.05 },
    Claim {
        of: Tool::Bakeoff,
        base: Tool::Wrk,
        at_most: |cell| match cell.connections {
            _ if cell.close => 0.70,
            0..=100 => 0.75,
            101..=1000 => 0.70,
            _ => 0.65,
        },
    },
    Claim { of: Tool::BakeoffEpoll, base: Tool::Wrk, at_most: |_| 1.0 },
];

/// What pipelining may leave of the CPU of a request where the server answers together what
/// it read together, as a share of what it is without.
const PIPELINED_AT_MOST: f64 = 0.3;

/// A claim about one load.
struct Asked<'a> {
    of: (&'a Cell, Tool),
    base: (&'a Cell, Tool),
    at_most: f64,
}

impl Asked<'_> {
    fn in_words(&self) -> String {
        let ((cell, of), (base_cell, base)) = (self.of, self.base);
        match (cell.pipelining, base_cell.pipelining) {
            (Some(Pipelining { depth, .. }), Some(other)) if depth != other.depth => {
                format!("{}, depth {depth} / depth {}", of.name(), other.depth)
            }
            _ => format!("{} / {}", of.name(), base.name()),
        }
    }
}

/// The claims about these clients, and whether all hold. One that nothing was measured of
/// doesn't.
fn claims_table(measured: &Measured, cells: &[Cell], tools: &[Tool]) -> (Table, bool) {
    let mut table = markdown();
    table.set_header(["CPU a request", "load", "measured", "at most", ""]);
    let mut all_hold = true;
    let beside_others = claims_beside_others(cells, tools);
    for asked in beside_others.into_iter().chain(claims_of_pipelining(measured, cells, tools)) {
        let ratio = measured.cpu_ratio(asked.of, asked.base);
        let word = match ratio {
            Some(ratio) if ratio.median <= asked.at_most => "holds",
            Some(_) => "MISSED",
            None => "NOT SHOWN",
        };
        all_hold &= word == "holds";
        table.add_row([
            asked.in_words(),
            asked.of.0.in_words(),
            ratio.map_or("–".to_string(), Spread::in_words),
            format!("{:.2}", asked.at_most),
            word.to_string(),
        ]);
    }
    (table, all_hold)
}

/// A client beside another under the same load.
fn claims_beside_others<'a>(cells: &'a [Cell], tools: &[Tool]) -> Vec<Asked<'a>> {
    let mut all = Vec::new();
    let known = CLAIMS.iter().filter(|it| tools.contains(&it.of) && tools.contains(&it.base));
    for Claim { of, base, at_most } in known {
        let is_closed_loop = |cell: &&Cell| cell.pipelining.is_none() && cell.rate.is_none();
        for cell in cells.iter().filter(is_closed_loop) {
            let at_most = at_most(cell);
            all.push(Asked { of: (cell, *of), base: (cell, *base), at_most });
        }
    }
    all
}

/// A pipeline beside none, and beside that of whichever other client does best.
fn claims_of_pipelining<'a>(
    measured: &Measured,
    cells: &'a [Cell],
    tools: &[Tool],
) -> Vec<Asked<'a>> {
    let find = |server, depth| cells.iter().find(|&cell| *cell == pipelining(server, depth));
    let mut all = Vec::new();
    for (server, at_most) in [(Answers::Together, PIPELINED_AT_MOST), (Answers::Apart, 1.0)] {
        let (Some(deep), Some(single)) = (find(server, PIPELINE_DEPTH), find(server, 1)) else {
            continue;
        };
        for tool in [Tool::Bakeoff, Tool::BakeoffEpoll] {
            if tools.contains(&tool) {
                all.push(Asked { of: (deep, tool), base: (single, tool), at_most });
            }
        }
        let cpu_us = |tool: &Tool| measured.cpu_us(deep, *tool).map_or(f64::MAX, |it| it.median);
        let others = [Tool::Wrk, Tool::H2load].into_iter().filter(|tool| tools.contains(tool));
        let best = others.min_by(|a, b| cpu_us(a).total_cmp(&cpu_us(b)));
        if let (Answers::Apart, Some(best)) = (server, best)
            && tools.contains(&Tool::Bakeoff)
        {
            all.push(Asked { of: (deep, Tool::Bakeoff), base: (deep, best), at_most: 1.0 });
        }
    }
    all
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
        let cell = Cell::kept_alive(1000);
        let mut measured = Measured::default();
        let sample = |cpu_us, rate| Some(Sample { cpu_us, rate, ..Sample::default() });
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
            [header, ["bakeoff", "9.00 (0.50)"], ["wrk", "13.00"]],
            "who did nothing has no row"
        );
        assert_eq!(
            rows(&rate_table(&measured, &[&cell], &tools)),
            [header, ["bakeoff", "1,000 (2.10)"], ["wrk", "750"]]
        );
    }

    #[test]
    fn a_claim_that_is_missed_or_that_nothing_was_measured_of_doesnt_hold() {
        let shown = |cpu_us: [Option<f64>; 3], connections, tools: &[Tool]| {
            let cell = Cell::kept_alive(connections);
            let mut measured = Measured::default();
            for (tool, cpu_us) in [Tool::Bakeoff, Tool::Wrk, Tool::BARE].into_iter().zip(cpu_us) {
                let sample =
                    cpu_us.map(|cpu_us| Sample { cpu_us, rate: 1_000.0, ..Sample::default() });
                measured.add(&cell, tool, sample);
            }
            let (table, hold) = claims_table(&measured, &[cell], tools);
            let words = rows(&table).into_iter().skip(1).map(|row| row[4].clone());
            (words.collect::<Vec<_>>(), hold)
        };
        let [all, pair] =
            [&[Tool::Bakeoff, Tool::Wrk, Tool::BARE][..], &[Tool::Bakeoff, Tool::BARE]];
        let with = |wrk, bare| shown([Some(1.0), Some(wrk), Some(bare)], 5_000, all);
        assert_eq!(with(1.54, 1.0), (vec!["holds".into(), "holds".into()], true));
        assert_eq!(
            with(1.53, 1.0),
            (vec!["holds".into(), "MISSED".into()], false),
            "0.65 of wrk's"
        );
        assert_eq!(with(1.54, 0.95), (vec!["MISSED".into(), "holds".into()], false), "1.05 of it");
        let at = |connections, wrk| shown([Some(1.0), Some(wrk), Some(1.0)], connections, all).1;
        assert!(at(1_000, 1.43) && !at(1_000, 1.42), "0.70 of wrk's");
        for few in [30, 100] {
            assert!(at(few, 1.34) && !at(few, 1.33), "0.75 of wrk's");
        }
        let without = |tools| shown([Some(1.0), None, Some(1.0)], 30, tools);
        assert_eq!(without(all), (vec!["holds".into(), "NOT SHOWN".into()], false));
        assert_eq!(without(pair), (vec!["holds".into()], true), "nobody asked for wrk");
        assert_eq!(CLAIMS[2].of, Tool::BakeoffEpoll);
        let at_most =
            [30, 5_000].map(|connections| (CLAIMS[2].at_most)(&Cell::kept_alive(connections)));
        assert_eq!(at_most, [1.0; 2], "as much as wrk at most");
        let closing = Cell { close: true, ..Cell::kept_alive(30) };
        assert_eq!((CLAIMS[1].at_most)(&closing), 0.70);
        let paced = Cell { rate: Some(9), ..Cell::kept_alive(30) };
        assert_eq!(claims_beside_others(&[paced], all).len(), 0, "wrk has no open loop");
    }

    #[test]
    fn a_pipeline_is_held_against_none_and_against_the_best_of_the_others() {
        let [single, deep, single_together, deep_together] =
            Mode::Pipeline.cells(&[]).try_into().unwrap();
        let shown = |deep_us: f64, together_us: f64, others: [Option<f64>; 2], tools: &[Tool]| {
            let mut measured = Measured::default();
            let sample = |cpu_us| Some(Sample { cpu_us, rate: 1_000.0, ..Sample::default() });
            measured.add(&single, Tool::Bakeoff, sample(4.0));
            measured.add(&deep, Tool::Bakeoff, sample(deep_us));
            measured.add(&single_together, Tool::Bakeoff, sample(4.0));
            measured.add(&deep_together, Tool::Bakeoff, sample(together_us));
            for (tool, cpu_us) in [Tool::Wrk, Tool::H2load].into_iter().zip(others) {
                measured.add(&deep, tool, cpu_us.and_then(sample));
            }
            let cells = [&single, &deep, &single_together, &deep_together].map(Cell::clone);
            let (table, hold) = claims_table(&measured, &cells, tools);
            let words =
                rows(&table).into_iter().skip(1).map(|row| (row[0].clone(), row[4].clone()));
            (words.collect::<Vec<_>>(), hold)
        };
        let all = [Tool::Bakeoff, Tool::Wrk, Tool::H2load];
        let words = |together, single, best: &str, other| {
            let depths = "bakeoff, depth 16 / depth 1".to_string();
            let rows = [(depths.clone(), together), (depths, single), (best.into(), other)];
            rows.map(|(name, word): (String, &str)| (name, word.to_string())).to_vec()
        };
        let (wrk, h2load) = ("bakeoff / wrk", "bakeoff / h2load");
        assert_eq!(
            shown(3.9, 1.1, [Some(5.0), Some(4.0)], &all),
            (words("holds", "holds", h2load, "holds"), true)
        );
        assert_eq!(
            shown(4.1, 1.3, [Some(4.0), Some(5.0)], &all),
            (words("MISSED", "MISSED", wrk, "MISSED"), false)
        );
        assert_eq!(
            shown(3.9, 1.1, [None, None], &all),
            (words("holds", "holds", wrk, "NOT SHOWN"), false),
            "nothing was measured of the others"
        );
        assert_eq!(shown(3.9, 1.1, [None, None], &all[..1]).0.len(), 2, "nobody asked for others");
    }

    #[test]
    fn without_wrk_there_is_nothing_to_stand_beside() {
        let cell = Cell { close: true, ..Cell::kept_alive(30) };
        let mut measured = Measured::default();
        measured.add(
            &cell,
            Tool::Ab,
            Some(Sample { cpu_us: 1.25, rate: 10.4, ..Sample::default() }),
        );
        let table = rate_table(&measured, &[&cell], &[Tool::Ab]);
        assert_eq!(rows(&table), [["connections", "30"], ["ab", "10"]]);
    }
}
