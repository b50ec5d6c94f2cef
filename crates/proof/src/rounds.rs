//! Clients side by side: every round has every client once under every load, in
//! an order of its own, so that what the machine does meanwhile hits all alike.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use report::units::whole;
use tempfile::NamedTempFile;

use crate::client::{Running, Without};
use crate::interrupt::Interrupt;
use crate::place::Place;
use crate::report::OwnFigures;
use crate::statistics::Spread;
use crate::target::Target;
use crate::tool::{Load, Pipeline, Tool, WRKS_SCRIPT};

/// A load that every client is put to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cell {
    /// Whether a connection serves one request only.
    pub close: bool,
    /// Connections at once.
    pub connections: u32,
    /// The path asked for.
    pub path: String,
    /// What pipelining is measured with, if it is that.
    pub pipelining: Option<Pipelining>,
    /// Requests a second of an open loop; `None` of a closed one.
    pub rate: Option<u32>,
}

/// A load by which it is measured what pipelining changes: with it, or without.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Pipelining {
    /// The server.
    pub server: Answers,
    /// Requests under way at once on a connection; 1 without.
    pub depth: u16,
}

/// How a server answers requests that it has read together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Answers {
    /// Each with a write of its own: nginx.
    Apart,
    /// With one write: [`crate::batching`].
    Together,
}

impl Cell {
    /// So many connections that are kept.
    pub fn kept_alive(connections: u32) -> Cell {
        Cell { close: false, connections, path: "/".into(), pipelining: None, rate: None }
    }

    /// Its name for people.
    pub fn in_words(&self) -> String {
        let mode = match (self.pipelining, self.rate) {
            (Some(pipelining), _) => pipelining.in_words(),
            (None, Some(rate)) => format!("{} requests a second", whole(rate.into())),
            (None, None) if self.close => "a connection a request".into(),
            (None, None) => "kept alive".into(),
        };
        format!("{} connections, {mode}", whole(self.connections.into()))
    }

    /// Whether the client can put on this load.
    fn allows(&self, tool: Tool) -> bool {
        let has_loop = match self.rate {
            Some(_) => tool.has_open_loop(),
            None => tool.has_closed_loop(),
        };
        let pipelines = self.pipelining.is_none() || tool.pipelines();
        tool.can(!self.close).is_ok() && has_loop && pipelines
    }
}

impl Pipelining {
    /// Its name for people.
    pub fn in_words(self) -> String {
        let answers = match self.server {
            Answers::Apart => "nginx",
            Answers::Together => "answered together",
        };
        format!("depth {}, {answers}", self.depth)
    }
}

/// The loads without a pipeline: kept connections, others, and those of an open loop, apart.
pub fn by_mode(cells: &[Cell]) -> Vec<(&'static str, Vec<&Cell>)> {
    let of = |close, is_open| {
        let is_of_it = move |cell: &&Cell| {
            (cell.close, cell.rate.is_some()) == (close, is_open) && cell.pipelining.is_none()
        };
        cells.iter().filter(is_of_it).collect::<Vec<&Cell>>()
    };
    let modes = [
        ("Kept alive", of(false, false)),
        ("A connection a request", of(true, false)),
        ("An open loop, at half of what was answered at most", of(false, true)),
    ];
    modes.into_iter().filter(|(_, cells)| !cells.is_empty()).collect()
}

/// What one client did in one round under one load.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Sample {
    /// CPU µs of the client's process a good answer.
    pub cpu_us: f64,
    /// Good answers a second.
    pub rate: f64,
    /// CPU µs of the server a good answer, where the server was looked at.
    pub server_us: Option<f64>,
    /// What the client tells of itself.
    pub told: OwnFigures,
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
    /// One round, of a second: to know what can be asked.
    pub fn once() -> Effort {
        Effort { rounds: 1, seconds: 1, quick: false }
    }

    /// How often each client is put to each load.
    pub fn rounds(&self) -> u32 {
        if self.quick { 3 } else { self.rounds }
    }

    /// How long each run is.
    pub fn seconds(&self) -> u32 {
        if self.quick { 1 } else { self.seconds }
    }

    /// What a reader has to know of it.
    pub fn in_words(&self) -> String {
        format!("Rounds: {}, of {} s a run", self.rounds(), self.seconds())
    }
}

/// All samples of a client under a load, by round.
type Series = Vec<Option<Sample>>;

/// What was measured, by load and client.
#[derive(Debug)]
pub struct Measured<C = Cell, T = Tool> {
    samples: BTreeMap<(C, T), Series>,
    /// Clients that refused a load, which they aren't put to again.
    refused: BTreeSet<(C, T)>,
    notes: Vec<String>,
    doubts: Vec<Doubt>,
}

/// What casts doubt on runs of a client under a load, or why they gave nothing.
#[derive(Debug)]
struct Doubt {
    /// The client and the load.
    who: String,
    /// When it was first, and why.
    first: String,
    runs: u32,
}

impl Doubt {
    fn in_words(&self) -> String {
        let Doubt { who, first, runs } = self;
        if *runs == 1 {
            format!("{who}, {first}")
        } else {
            format!("{who}, {runs} runs, the first in {first}")
        }
    }
}

impl<C, T> Default for Measured<C, T> {
    fn default() -> Measured<C, T> {
        Measured {
            samples: BTreeMap::new(),
            refused: BTreeSet::new(),
            notes: Vec::new(),
            doubts: Vec::new(),
        }
    }
}

impl<C: Clone + Ord, T: Copy + Ord> Measured<C, T> {
    /// CPU µs an answer.
    pub fn cpu_us(&self, cell: &C, tool: T) -> Option<Spread> {
        Spread::of(self.series(cell, tool).iter().flatten().map(|sample| sample.cpu_us))
    }

    /// Another figure, where each round has it.
    pub fn figure(
        &self,
        cell: &C,
        tool: T,
        figure: impl Fn(&Sample) -> Option<f64>,
    ) -> Option<Spread> {
        Spread::of(self.series(cell, tool).iter().flatten().filter_map(figure))
    }

    /// Answers a second.
    pub fn rate(&self, cell: &C, tool: T) -> Option<Spread> {
        Spread::of(self.series(cell, tool).iter().flatten().map(|sample| sample.rate))
    }

    /// A figure of a client divided by that of another in the same round.
    pub fn ratio(
        &self,
        cell: &C,
        tool: T,
        base: T,
        figure: impl Fn(&Sample) -> f64,
    ) -> Option<Spread> {
        Spread::of_ratios(self.pairs(cell, tool, base, figure))
    }

    /// CPU an answer, divided by that of another client or under another load in the same
    /// round.
    pub fn cpu_ratio(&self, of: (&C, T), by: (&C, T)) -> Option<Spread> {
        Spread::of_ratios(self.pairs_of(of, by, |sample| sample.cpu_us))
    }

    /// A figure of a client and of another in the same round, for each round with both.
    pub fn pairs(
        &self,
        cell: &C,
        tool: T,
        base: T,
        figure: impl Fn(&Sample) -> f64,
    ) -> Vec<(f64, f64)> {
        self.pairs_of((cell, tool), (cell, base), figure)
    }

    fn pairs_of(
        &self,
        (cell, tool): (&C, T),
        (base_cell, base): (&C, T),
        figure: impl Fn(&Sample) -> f64,
    ) -> Vec<(f64, f64)> {
        let pairs = self.series(cell, tool).iter().zip(self.series(base_cell, base));
        pairs.filter_map(|(of, by)| Some((figure(of.as_ref()?), figure(by.as_ref()?)))).collect()
    }

    /// Adds a client's next round under a load: what came of it, if anything did.
    pub fn add(&mut self, cell: &C, tool: T, sample: Option<Sample>) {
        self.samples.entry((cell.clone(), tool)).or_default().push(sample);
    }

    /// Whether a client doesn't take this load.
    pub fn is_refused(&self, cell: &C, tool: T) -> bool {
        self.refused.contains(&(cell.clone(), tool))
    }

    /// Adds a run of a client under a load with what is to be told of it, `who` it was and `when`.
    pub fn add_run(
        &mut self,
        (cell, tool): (&C, T),
        run: Result<(Sample, Option<String>), Without>,
        who: &str,
        when: &str,
    ) {
        let (sample, doubt) = match run {
            Ok((sample, doubt)) => (Some(sample), doubt),
            Err(Without::Failed(why)) => (None, Some(why)),
            Err(Without::Refused(why)) => {
                self.refused.insert((cell.clone(), tool));
                self.note(format!("{who}: absent, {why}"));
                (None, None)
            }
        };
        if let Some(why) = doubt {
            self.doubt(who, format!("{when}: {why}"));
        }
        self.add(cell, tool, sample);
    }

    /// Adds what a reader has to know beside the figures.
    pub fn note(&mut self, note: String) {
        self.notes.push(note);
    }

    fn doubt(&mut self, who: &str, first: String) {
        match self.doubts.iter_mut().find(|doubt| doubt.who == who) {
            Some(doubt) => doubt.runs += 1,
            None => self.doubts.push(Doubt { who: who.into(), first, runs: 1 }),
        }
    }

    /// What a reader has to know beside the figures: of a client's doubtful runs under a load the
    /// first stands for all.
    pub fn notes(&self) -> Vec<String> {
        let doubts = self.doubts.iter().map(Doubt::in_words);
        self.notes.iter().cloned().chain(doubts).collect()
    }

    fn series(&self, cell: &C, tool: T) -> &[Option<Sample>] {
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

/// Measures all clients under all loads, each on its server.
pub fn measure<'a>(
    target_of: &dyn Fn(&Cell) -> &'a Target,
    place: &Place,
    cells: &[Cell],
    tools: &[(Tool, PathBuf)],
    effort: Effort,
    interrupt: &Interrupt,
) -> Result<Measured, String> {
    let mut measured = Measured::default();
    for (tool, _) in tools {
        if let (Err(why), true) = (tool.can(false), cells.iter().any(|cell| cell.close)) {
            measured.note(format!("{}, a connection a request: {why}", tool.name()));
        }
    }
    let script = wrks_script().map_err(|error| format!("wrk's script: {error}"))?;
    let mut rng = fastrand::Rng::new();
    let total = u64::from(effort.rounds()) * (cells.len() * tools.len()) as u64;
    let bar = progress(total);
    for round in 1..=effort.rounds() {
        for cell in shuffled(cells, &mut rng) {
            for (tool, program) in shuffled(tools, &mut rng) {
                bar.set_message(format!("{}, {}", tool.name(), cell.in_words()));
                bar.inc(1);
                if !cell.allows(tool) || measured.is_refused(&cell, tool) {
                    continue;
                }
                let target = target_of(&cell);
                let depth = cell.pipelining.map_or(1, |pipelining| pipelining.depth);
                let pipeline = Pipeline { depth, script: script.path().into() };
                let load = Load {
                    url: target.url(&cell.path),
                    connections: cell.connections,
                    keep_alive: !cell.close,
                    seconds: effort.seconds(),
                    cpu: place.client,
                    pipeline: (depth > 1).then_some(pipeline),
                    rate: cell.rate,
                };
                let command = tool.command(&program, &load);
                let ran = run(tool, &command, target, &load, interrupt);
                if ran.is_err() {
                    interrupt.check()?;
                }
                let who = format!("{}, {}", tool.name(), cell.in_words());
                measured.add_run((&cell, tool), ran, &who, &format!("round {round}"));
            }
        }
        if bar.is_hidden() {
            eprintln!("round {round} of {} is done", effort.rounds());
        }
    }
    bar.finish_and_clear();
    Ok(measured)
}

/// A bar for so many runs.
pub fn progress(runs: u64) -> ProgressBar {
    let bar = ProgressBar::new(runs);
    if let Ok(style) = ProgressStyle::with_template("{pos} of {len} runs, {eta} left: {msg}") {
        bar.set_style(style);
    }
    bar
}

fn wrks_script() -> io::Result<NamedTempFile> {
    let mut script = NamedTempFile::new()?;
    script.write_all(WRKS_SCRIPT.as_bytes())?;
    Ok(script)
}

/// One run of one client, with what casts doubt on it.
fn run(
    tool: Tool,
    command: &[String],
    target: &Target,
    load: &Load,
    interrupt: &Interrupt,
) -> Result<(Sample, Option<String>), Without> {
    target.settle(interrupt)?;
    let before = target.requests()?;
    let server_before = target.cpu_s();
    let at_most = Duration::from_secs(u64::from(load.seconds) + 30);
    let running = Running::start(command, &[load.cpu], at_most)?;
    let served = served_by_half_time(&running, target, load)?;
    let ended = running.wait(interrupt)?;
    let ended = match tool {
        Tool::Older | Tool::OlderEpoll => ended.success_of_bakeoff()?,
        _ => ended.success()?,
    };
    target.settle(interrupt)?;
    let server_s = target.cpu_s().zip(server_before).map(|(after, before)| after - before);
    let count = tool.count(&ended.output)?;
    if count.answers == 0 {
        return Err("no answer was good".to_string().into());
    }
    let us_an_answer = |seconds: f64| seconds * 1e6 / count.answers as f64;
    let sample = Sample {
        cpu_us: us_an_answer(ended.cpu_s),
        rate: count.answers as f64 / count.seconds,
        server_us: server_s.map(us_an_answer),
        told: tool.told(&ended.output),
    };
    // A client may leave what a connection has under way unanswered at its end.
    let depth = load.pipeline.as_ref().map_or(1, |pipeline| pipeline.depth);
    let under_way = u64::from(load.connections) * u64::from(depth);
    let handled = target.requests()? - before;
    let unaccounted = handled.abs_diff(count.answers + count.errors);
    let doubt = if let Some(served) = served.filter(|&served| served < load.connections.into()) {
        Some(format!("at half-time the server had {served} of its connections"))
    } else if unaccounted > under_way + handled / 100 {
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
    target: &Target,
    load: &Load,
) -> Result<Option<u64>, String> {
    let half = Duration::from_secs(load.seconds.into()) / 2;
    if !load.keep_alive || running.ended_within(half)? {
        return Ok(None);
    }
    let asked = Instant::now();
    let served = target.connections()?;
    // Who had to wait was behind others that had none to serve them.
    Ok(Some(if asked.elapsed() > half { 0 } else { served }))
}

/// The same in an order of chance.
pub fn shuffled<T: Clone>(items: &[T], rng: &mut fastrand::Rng) -> Vec<T> {
    let mut items = items.to_vec();
    rng.shuffle(&mut items);
    items
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Else a client that miscounts in each round would fill the page.
    #[test]
    fn doubts_of_a_client_under_a_load_are_one_note() {
        let cell = Cell::kept_alive(30);
        let mut measured: Measured = Measured::default();
        for (who, when) in [("wrk", "round 1"), ("ab", "round 1"), ("wrk", "round 2")] {
            let run = Err(Without::Failed("a core is busy".into()));
            measured.add_run((&cell, Tool::Wrk), run, who, when);
        }
        let notes =
            ["wrk, 2 runs, the first in round 1: a core is busy", "ab, round 1: a core is busy"];
        assert_eq!(measured.notes(), notes);
    }

    /// Else what an older bakeoff lacks would be told once a round, and cost a run each time.
    #[test]
    fn who_refuses_a_load_is_absent_from_it_and_stays_under_others() {
        let [cell, other] = [30, 100].map(Cell::kept_alive);
        let mut measured = Measured::default();
        let mut add = |tool, run| measured.add_run((&cell, tool), run, "it", "round 1");
        add(Tool::Older, Err(Without::Refused("no --close".into())));
        add(Tool::Bakeoff, Err(Without::Failed("a core is busy".into())));
        assert_eq!(measured.notes(), ["it: absent, no --close", "it, round 1: a core is busy"]);
        assert!(measured.is_refused(&cell, Tool::Older));
        assert!(!measured.is_refused(&other, Tool::Older), "it may take another load");
        assert!(!measured.is_refused(&cell, Tool::Bakeoff), "another round may be better");
    }

    #[test]
    fn a_round_without_its_pair_is_left_out_of_the_ratio_only() {
        let cell = Cell::kept_alive(30);
        let sample = |cpu_us| Some(Sample { cpu_us, rate: 1.0, ..Sample::default() });
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
