//! `proof robots`: what thousands of robots in rooms cost the load generator.

use std::path::PathBuf;
use std::time::Duration;

use clap::Parser;
use comfy_table::Table;
use lab::place::awake::Awake;
use lab::place::machine;
use report::units::whole;

use crate::client::Running;
use crate::interrupt::Interrupt;
use crate::memory::peak_kib;
use crate::page::{Page, markdown};
use crate::place::Place;
use crate::report::Deliveries;
use crate::statistics::Spread;
use crate::tool::Tool;
use crate::truth::relay;

/// Measures CPU time a delivery and memory of `bakeoff load` with robots in rooms, at one rate.
#[derive(Debug, Parser)]
pub struct RobotsArguments {
    /// Deliveries a second.
    #[arg(long, default_value_t = 32_500)]
    rate: u32,
    /// Rounds: each has both backends once with all rooms.
    #[arg(long, default_value_t = 3)]
    rounds: u32,
    /// Seconds of each run.
    #[arg(long, default_value_t = 5)]
    seconds: u32,
    /// Write it to this file as well. What stands there below a heading `## Before` stays.
    #[arg(long, value_name = "FILE")]
    write: Option<PathBuf>,
}

/// Rooms, and the robots of each. The first has next to no robots: what the others take of memory
/// beyond it is the robots'.
const LAYOUTS: [(u32, u32); 6] =
    [(10, 10), (6_500, 1), (650, 10), (65, 100), (1, 6_500), (1, 10_000)];
/// The share of its processor that a client may take.
const BUSY_MAX: f64 = 0.5;
/// What the buffers of all robots of a thread may take, in KiB, and what each robot may beside it.
const BUFFERS_KIB: f64 = 16.0 * 1024.0;
const KIB_A_ROBOT_MAX: f64 = 2.0;

/// A backend with rooms on it, and what came of each run.
struct RobotRuns {
    backend: &'static str,
    layout: (u32, u32),
    runs: Vec<Run>,
}

struct Run {
    us_per_delivery: f64,
    busy_share: f64,
    peak_kib: f64,
}

impl RobotRuns {
    fn median(&self, of: fn(&Run) -> f64) -> f64 {
        Spread::of(self.runs.iter().map(of)).map_or(f64::NAN, |spread| spread.median)
    }

    fn robots(&self) -> u32 {
        self.layout.0 * self.layout.1
    }
}

/// Measures. Tells whether a client is less than half busy, and holds its bound of memory.
pub fn run(arguments: &RobotsArguments, interrupt: &Interrupt) -> Result<bool, String> {
    let place = Place::find()?;
    let awake = Awake::where_virtual(&machine::describe());
    let sleep = match &awake {
        Some(_) => "processors are kept awake, as by a run on a virtual machine",
        None => "processors may sleep",
    };
    let program = Tool::Bakeoff.program()?.display().to_string();
    let mut all: Vec<RobotRuns> = Vec::new();
    for backend in ["io_uring", "epoll"] {
        all.extend(LAYOUTS.map(|layout| RobotRuns { backend, layout, runs: Vec::new() }));
    }
    for round in 1..=arguments.rounds {
        for RobotRuns { backend, layout, runs } in &mut all {
            let of = format!("{} rooms of {}, {backend}", layout.0, layout.1);
            let run = once(&program, arguments, (backend, *layout), &place, interrupt);
            runs.push(run.map_err(|why| format!("{of}: {why}"))?);
        }
        eprintln!("round {round} of {} is done", arguments.rounds);
    }
    let mut page = Page::new("What robots in rooms cost the load generator", "bench-robots");
    page.say(format!(
        "{} deliveries a second, whatever the rooms: a message to a room of ten is ten deliveries. \
         The client has one thread. *Busy* is CPU time by wall time. *Resident* is the most memory \
         that the process had. What it takes beyond the first row's is the robots'. It may be 16 \
         MiB of buffers, and {KIB_A_ROBOT_MAX} KiB a robot. Medians of {} rounds of {} s; {}; {sleep}.",
        arguments.rate,
        arguments.rounds,
        arguments.seconds,
        place.in_words()
    ));
    page.say(table(&all));
    if let Some(file) = &arguments.write {
        page.write(file)?;
    }
    Ok(verdicts(&all).iter().all(Result::is_ok))
}

/// One run with a relay of its own.
fn once(
    program: &str,
    arguments: &RobotsArguments,
    (backend, (rooms, members)): (&str, (u32, u32)),
    place: &Place,
    interrupt: &Interrupt,
) -> Result<Run, String> {
    let relay = relay::start(0, 0, &[place.server], interrupt)?;
    let RobotsArguments { rate, seconds, .. } = arguments;
    let options = format!(
        "load frames://{} --rooms {rooms} --members {members} --rate {rate} -d {seconds}s -t 1 \
         --cpus {} --backend {backend} --json -",
        relay.address, place.client
    );
    let mut command = vec![program.to_string()];
    command.extend(options.split_ascii_whitespace().map(String::from));
    let at_most = Duration::from_secs(u64::from(*seconds) + 60);
    let running = Running::start(&command, &[place.client], at_most)?;
    let (peak_kib, ended) = peak_kib(running, interrupt)?;
    let report = Deliveries::read(&ended.success()?.output)?;
    Ok(Run {
        us_per_delivery: report.cpu.us_per_delivery.ok_or("nothing was delivered")?,
        busy_share: report.threads.iter().map(|thread| thread.busy_share).fold(0.0, f64::max),
        peak_kib: peak_kib as f64,
    })
}

/// What is asked of each: what holds, or what is missed.
fn verdicts(all: &[RobotRuns]) -> Vec<Result<&'static str, &'static str>> {
    let verdict = |measured: &RobotRuns| {
        let first = all.iter().find(|other| other.backend == measured.backend);
        let few = first.map_or(f64::NAN, |first| first.median(|run| run.peak_kib));
        let more_kib = measured.median(|run| run.peak_kib) - few;
        let may_kib = BUFFERS_KIB + KIB_A_ROBOT_MAX * f64::from(measured.robots());
        if measured.median(|run| run.busy_share) > BUSY_MAX {
            return Err("MISSED: more than half busy");
        }
        if more_kib > may_kib { Err("MISSED: too much memory") } else { Ok("holds") }
    };
    all.iter().map(verdict).collect()
}

fn table(all: &[RobotRuns]) -> Table {
    let mut table = markdown();
    table.set_header(["backend", "rooms", "CPU µs a delivery", "busy", "resident KiB", ""]);
    for (measured, verdict) in all.iter().zip(verdicts(all)) {
        let (rooms, members) = measured.layout;
        table.add_row([
            measured.backend.to_string(),
            format!("{} of {}", whole(rooms.into()), whole(members.into())),
            format!("{:.2}", measured.median(|run| run.us_per_delivery)),
            format!("{:.2}", measured.median(|run| run.busy_share)),
            whole(measured.median(|run| run.peak_kib) as u64),
            verdict.unwrap_or_else(|missed| missed).to_string(),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(layout: (u32, u32), busy_share: f64, peak_kib: f64) -> RobotRuns {
        let runs = vec![Run { us_per_delivery: 3.0, busy_share, peak_kib }];
        RobotRuns { backend: "epoll", layout, runs }
    }

    #[test]
    fn a_busy_client_and_one_that_takes_memory_are_told() {
        let all = [
            measured((10, 10), 0.1, 10_000.0),
            measured((1, 6_500), 0.6, 10_000.0),
            // 16 MiB, and 2 KiB a robot, beyond the first.
            measured((1, 1_000), 0.1, 10_000.0 + 16_384.0 + 2_000.0),
            measured((1, 1_000), 0.1, 10_000.0 + 16_384.0 + 2_001.0),
        ];
        let missed = verdicts(&all).iter().map(Result::is_err).collect::<Vec<_>>();
        assert_eq!(missed, [false, true, false, true]);
    }
}
