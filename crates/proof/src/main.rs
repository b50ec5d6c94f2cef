//! The command `proof`: shows what `bakeoff load` claims of itself, and what the lab measures of
//! programs.
//!
//! It runs the built `bakeoff`, which lies beside it, as users run it.
//!
//! - `speed`, `bodies`, `memory`, `closed`: beside other clients on one nginx (`nginx`), in
//!   shuffled rounds (`rounds`, `tool`); with pipelines on a server that answers together
//!   (`batching`), and on stores beside the stores' own clients (`stores`). `speed` takes an older
//!   bakeoff as one more client (`older`);
//! - `robots`: what thousands of robots in rooms cost, with the relay of `truth`;
//! - `truth`: beside a server and a relay that know their own times, and beside queueing theory;
//!   written to `docs/measured/calibration.md`;
//! - `programs`: the lab's rates of two contenders in Java beside JMH's times of the same classes
//!   (`studies/codecs/jmh/`); written to `docs/measured/programs.md`;
//! - `hosts`: load from several hosts, here namespaces behind ssh, Slurm and a stand-in for
//!   kubectl, and all ways to fail; written to `docs/measured/hosts.md`;
//! - `elsewhere`: what a busy processor costs work on another core; written to
//!   `docs/measured/elsewhere.md`;
//! - `alarms`: what the checks said over many runs.

mod alarms;
mod batching;
mod bodies;
mod client;
mod closed;
mod elsewhere;
mod hosts;
mod interrupt;
mod ladder;
mod memory;
mod nginx;
mod older;
mod page;
mod place;
mod programs;
mod report;
mod robots;
mod rounds;
mod rung;
mod server;
mod speed;
mod statistics;
mod stores;
mod target;
mod told;
mod tool;
mod truth;

use std::process::ExitCode;

use clap::Parser;
use rustix::process::{Resource, Rlimit};

use crate::interrupt::Interrupt;

/// Shows how fast and how true `bakeoff load` is, beside other clients and beside
/// a server that knows its own times, and how true what the lab measures of programs.
#[derive(Debug, Parser)]
#[command(name = "proof", version)]
enum Command {
    Speed(speed::SpeedArguments),
    Bodies(bodies::BodiesArguments),
    Memory(memory::MemoryArguments),
    Robots(robots::RobotsArguments),
    Closed(closed::ClosedArguments),
    Elsewhere(elsewhere::ElsewhereArguments),
    Hosts(hosts::HostsArguments),
    Truth(truth::TruthArguments),
    Programs(programs::ProgramsArguments),
    Alarms(alarms::AlarmsArguments),
    #[command(hide = true)]
    Rung(rung::RungArguments),
    #[command(hide = true)]
    BatchingServer(batching::BatchingServerArguments),
    #[command(hide = true)]
    CalibrationServer(truth::calibration::CalibrationServerArguments),
    #[command(hide = true)]
    CalibrationRelay(truth::relay::CalibrationRelayArguments),
    /// Keeps a server: see `keeper`.
    #[command(hide = true, name = keeper::SUBCOMMAND)]
    Keeper,
}

/// 0: all that is claimed holds. 1: something doesn't. 2: it couldn't be measured.
fn main() -> ExitCode {
    let result = match Command::parse() {
        Command::Keeper => return keeper::main(),
        Command::Alarms(arguments) => alarms::run(&arguments),
        Command::Rung(arguments) => rung::run(&arguments).map(|()| true),
        Command::BatchingServer(arguments) => batching::run(&arguments).map(|()| true),
        Command::CalibrationServer(arguments) => truth::calibration::run(arguments).map(|()| true),
        Command::CalibrationRelay(arguments) => truth::relay::run(&arguments).map(|()| true),
        command => show(&command),
    };
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(why) => {
            eprintln!("proof: {why}");
            ExitCode::from(2)
        }
    }
}

fn show(command: &Command) -> Result<bool, String> {
    let interrupt = Interrupt::listen()?;
    raise_open_files();
    match command {
        Command::Speed(arguments) => speed::run(arguments, &interrupt),
        Command::Bodies(arguments) => bodies::run(arguments, &interrupt),
        Command::Memory(arguments) => memory::run(arguments, &interrupt),
        Command::Robots(arguments) => robots::run(arguments, &interrupt),
        Command::Closed(arguments) => closed::run(arguments, &interrupt),
        Command::Elsewhere(arguments) => elsewhere::run(arguments, &interrupt),
        Command::Hosts(arguments) => hosts::run(arguments, &interrupt),
        Command::Truth(arguments) => truth::run(arguments, &interrupt),
        Command::Programs(arguments) => programs::run(arguments, &interrupt),
        Command::Alarms(_)
        | Command::Rung(_)
        | Command::BatchingServer(_)
        | Command::CalibrationServer(_)
        | Command::CalibrationRelay(_)
        | Command::Keeper => unreachable!("these start nothing"),
    }
}

/// Most clients take the limit of open files as they find it.
fn raise_open_files() {
    let limit = rustix::process::getrlimit(Resource::Nofile);
    let raised = Rlimit { current: limit.maximum, maximum: limit.maximum };
    // Where it can't be raised, the client that needs it says so.
    let _ = rustix::process::setrlimit(Resource::Nofile, raised);
}
