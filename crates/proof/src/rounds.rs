//! Clients side by side: every round has every client once under every load, in
//! an order of its own, so that what the machine does meanwhile hits all alike.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use report::units::whole;

use crate::client::Running;
use crate::interrupt::Interrupt;
use crate::nginx::Nginx;
use crate::place::Place;
use crate::statistics::Spread;
use crate::tool::{Load, Tool};

/// A load that every client is put to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cell {
    /// Whether a connection serves one request only.
    pub close: bool,
    /// Connections at once.
    pub connections: u32,
    /// The path asked for.
    pub path: String,
}

impl Cell {
    /// Its name for people.
    pub fn in_words(&self) -> String {
        let mode = if self.close { "a connection a request" } else { "kept alive" };
        format!("{} connections, {mode}", whole(self.connections.into()))
    }
}

/// What one client did in one round under one load.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sample {
    /// CPU µs of the client's process a good answer.
    pub cpu_us: f64,
    /// Good answers a second.
    pub rate: f64,
}

/// How often and how long.
#[derive(Debug, Clone, Copy, clap::Args)]
pub struct Effort {
    /// Rounds: each has every client once under every load.
    #[arg(long, default_value_t = 5)]
    rounds: u32,
    /// Seconds of each run.
    #[arg(long, default_value_t = 3)]
    seconds: u32,
    /// Three rounds of a second: for a first look.
    #[arg(long, conflicts_with_all = ["rounds", "seconds"])]
    quick: bool,
}

impl Effort {
    /// How often each client is put to each load.
    pub fn rounds(&self) -> u32 {
        if self.quick { 3 } else { self.rounds }
    }

    fn seconds(&self) -> u32 {
        if self.quick { 1 } else { self.seconds }
    }

    /// What a reader has to know of it.
    pub fn in_words(&self) -> String {
        format!("Rounds: {}, of {} s a run", self.rounds(), self.seconds())
    }
}

/// All samples of a client under a load, by round.
type Series = Vec<Option<Sample>>;

/// What was measured.
#[derive(Debug, Default)]
pub struct Measured {
    samples: BTreeMap<(Cell, Tool), Series>,
    /// What a reader has to know beside the figures.
    pub notes: Vec<String>,
}

impl Measured {
    /// CPU µs an answer.
    pub fn cpu_us(&self, cell: &Cell, tool: Tool) -> Option<Spread> {
        Spread::of(self.series(cell, tool).iter().flatten().map(|sample| sample.cpu_us))
    }

    /// Answers a second.
    pub fn rate(&self, cell: &Cell, tool: Tool) -> Option<Spread> {
        Spread::of(self.series(cell, tool).iter().flatten().map(|sample| sample.rate))
    }

    /// A figure of a client divided by that of another in the same round.
    pub fn ratio(
        &self,
        cell: &Cell,
        tool: Tool,
        base: Tool,
        figure: impl Fn(&Sample) -> f64,
    ) -> Option<Spread> {
        Spread::of_ratios(self.pairs(cell, tool, base, figure))
    }

    /// A figure of a client and of another in the same round, for each round with both.
    pub fn pairs(
        &self,
        cell: &Cell,
        tool: Tool,
        base: Tool,
        figure: impl Fn(&Sample) -> f64,
    ) -> Vec<(f64, f64)> {
        let pairs = self.series(cell, tool).iter().zip(self.series(cell, base));
        pairs.filter_map(|(of, by)| Some((figure(of.as_ref()?), figure(by.as_ref()?)))).collect()
    }

    /// Adds a client's next round under a load: what came of it, if anything did.
    pub fn add(&mut self, cell: &Cell, tool: Tool, sample: Option<Sample>) {
        self.samples.entry((cell.clone(), tool)).or_default().push(sample);
    }

    fn series(&self, cell: &Cell, tool: Tool) -> &[Option<Sample>] {
        self.samples.get(&(cell.clone(), tool)).map_or(&[], Vec::as_slice)
    }
}

/// Those of the clients that are here, and a sentence on each that isn't.
pub fn present(tools: &[Tool]) -> (Vec<(Tool, PathBuf)>, Vec<String>) {
    let mut here = Vec::new();
    let mut absent = Vec::new();
    for &tool in tools {
        match tool.program() {
            Ok(program) => here.push((tool, program)),
            Err(why) => absent.push(format!("{}: absent, {why}", tool.name())),
        }
    }
    (here, absent)
}

/// Measures all clients under all loads.
pub fn measure(
    nginx: &Nginx,
    place: &Place,
    cells: &[Cell],
    tools: &[(Tool, PathBuf)],
    effort: Effort,
    interrupt: &Interrupt,
) -> Result<Measured, String> {
    let mut measured = Measured::default();
    for (tool, _) in tools {
        if let (Err(why), true) = (tool.can(false), cells.iter().any(|cell| cell.close)) {
            measured.notes.push(format!("{}, a connection a request: {why}", tool.name()));
        }
    }
    let mut rng = fastrand::Rng::new();
    let total = u64::from(effort.rounds()) * (cells.len() * tools.len()) as u64;
    let bar = ProgressBar::new(total);
    if let Ok(style) = ProgressStyle::with_template("{pos} of {len} runs, {eta} left: {msg}") {
        bar.set_style(style);
    }
    for round in 1..=effort.rounds() {
        for cell in shuffled(cells, &mut rng) {
            for (tool, program) in shuffled(tools, &mut rng) {
                bar.set_message(format!("{}, {}", tool.name(), cell.in_words()));
                bar.inc(1);
                if tool.can(!cell.close).is_err() {
                    continue;
                }
                let load = Load {
                    url: nginx.url(&cell.path),
                    connections: cell.connections,
                    keep_alive: !cell.close,
                    seconds: effort.seconds(),
                    cpu: place.client,
                };
                let command = tool.command(&program, &load);
                let sample = match run(tool, &command, nginx, &load, interrupt) {
                    Ok((sample, None)) => Some(sample),
                    Ok((sample, Some(note))) => {
                        measured.note(tool, &cell, round, &note);
                        Some(sample)
                    }
                    Err(why) => {
                        interrupt.check()?;
                        measured.note(tool, &cell, round, &why);
                        None
                    }
                };
                measured.add(&cell, tool, sample);
            }
        }
        if bar.is_hidden() {
            eprintln!("round {round} of {} is done", effort.rounds());
        }
    }
    bar.finish_and_clear();
    Ok(measured)
}

impl Measured {
    fn note(&mut self, tool: Tool, cell: &Cell, round: u32, what: &str) {
        self.notes.push(format!("{}, {}, round {round}: {what}", tool.name(), cell.in_words()));
    }
}

/// One run of one client, with what casts doubt on it.
fn run(
    tool: Tool,
    command: &[String],
    nginx: &Nginx,
    load: &Load,
    interrupt: &Interrupt,
) -> Result<(Sample, Option<String>), String> {
    nginx.settle(interrupt)?;
    let before = nginx.requests()?;
    let at_most = Duration::from_secs(u64::from(load.seconds) + 30);
    let running = Running::start(command, load.cpu, at_most)?;
    let served = served_by_half_time(&running, nginx, load)?;
    let ended = running.wait(interrupt)?.success()?;
    nginx.settle(interrupt)?;
    let count = tool.count(&ended.output)?;
    if count.answers == 0 {
        return Err("no answer was good".into());
    }
    let sample = Sample {
        cpu_us: ended.cpu_s * 1e6 / count.answers as f64,
        rate: count.answers as f64 / count.seconds,
    };
    // A client may leave one request a connection unanswered at its end.
    let handled = nginx.requests()? - before;
    let unaccounted = handled.abs_diff(count.answers + count.errors);
    let doubt = if let Some(served) = served.filter(|&served| served < load.connections.into()) {
        Some(format!("at half-time the server had {served} of its connections"))
    } else if unaccounted > u64::from(load.connections) + handled / 100 {
        Some(format!("it says {} answers, the server {handled} requests", count.answers))
    } else if count.errors > 0 {
        Some(format!("{} errors beside {} answers", count.errors, count.answers))
    } else {
        None
    };
    Ok((sample, doubt))
}

/// How many of the connections that are kept the server has in the middle of a run.
///
/// A server that accepts slowly under load has fewer than were made, and so has the load.
fn served_by_half_time(
    running: &Running,
    nginx: &Nginx,
    load: &Load,
) -> Result<Option<u64>, String> {
    let half = Duration::from_secs(load.seconds.into()) / 2;
    if !load.keep_alive || running.ended_within(half)? {
        return Ok(None);
    }
    let asked = Instant::now();
    let served = nginx.connections()?;
    // Who had to wait was behind others that had none to serve them.
    Ok(Some(if asked.elapsed() > half { 0 } else { served }))
}

fn shuffled<T: Clone>(items: &[T], rng: &mut fastrand::Rng) -> Vec<T> {
    let mut items = items.to_vec();
    rng.shuffle(&mut items);
    items
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_without_its_pair_is_left_out_of_the_ratio_only() {
        let cell = Cell { close: false, connections: 30, path: "/".into() };
        let sample = |cpu_us| Some(Sample { cpu_us, rate: 1.0 });
        let mut measured = Measured::default();
        for (ours, wrks) in
            [(sample(1.0), sample(2.0)), (sample(9.0), None), (sample(2.0), sample(4.0))]
        {
            measured.add(&cell, Tool::Bakeoff, ours);
            measured.add(&cell, Tool::Wrk, wrks);
        }
        assert_eq!(measured.cpu_us(&cell, Tool::Bakeoff).unwrap().median, 2.0);
        let ratio = measured.ratio(&cell, Tool::Bakeoff, Tool::Wrk, |sample| sample.cpu_us);
        assert_eq!(ratio, Some(Spread { median: 0.5, min: 0.5, max: 0.5 }));
    }
}
