//! The command `bakeoff`.

// They panic where nobody reads on; `commands::printing` doesn't.
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod commands;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

/// Puts servers side by side under the same load, and refuses to publish a figure
/// that it can't defend
#[derive(Parser)]
#[command(name = "bakeoff", version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Run(commands::run::RunArguments),
    Duel(commands::duel::DuelArguments),
    Check(commands::check::CheckArguments),
    Init(commands::new::init::InitArguments),
    New(commands::new::NewArguments),
    Load(Box<commands::load::LoadArguments>),
    Hosts(commands::hosts::HostsArguments),
    Agent(commands::hosts::AgentArguments),
    Report(commands::report::ReportArguments),
    Compare(commands::compare::CompareArguments),
    Export(commands::export::ExportArguments),
    Durability(commands::durability::DurabilityArguments),
    Mistakes(commands::mistakes::MistakesArguments),
    Doctor(commands::doctor::DoctorArguments),
    Completions(commands::about::Completions),
    Man(commands::about::Man),
    #[command(name = keeper::SUBCOMMAND, hide = true)]
    Keeper,
    #[command(name = load::agent::SUBCOMMAND, hide = true)]
    Client,
    #[command(name = durability::cut::SUBCOMMAND, hide = true)]
    Cut,
    #[command(name = durability::forgetful::SUBCOMMAND, hide = true)]
    ForgetfulDisk {
        folder: PathBuf,
    },
}

fn main() -> ExitCode {
    match Arguments::parse().command {
        Command::Run(arguments) => commands::run::run(arguments),
        Command::Duel(arguments) => commands::duel::run(arguments),
        Command::Check(arguments) => commands::check::run(arguments),
        Command::Init(arguments) => commands::new::init::run(arguments),
        Command::New(arguments) => commands::new::run(arguments),
        Command::Load(arguments) => commands::load::run(&arguments),
        Command::Hosts(arguments) => commands::hosts::run(&arguments),
        Command::Agent(arguments) => commands::hosts::agent(&arguments),
        Command::Report(arguments) => commands::report::run(arguments),
        Command::Compare(arguments) => commands::compare::run(arguments),
        Command::Export(arguments) => commands::export::run(arguments),
        Command::Durability(arguments) => commands::durability::run(arguments),
        Command::Mistakes(arguments) => commands::mistakes::run(arguments),
        Command::Doctor(arguments) => commands::doctor::run(arguments),
        Command::Completions(arguments) => {
            commands::about::completions(&Arguments::command(), &arguments)
        }
        Command::Man(arguments) => commands::about::man(&Arguments::command(), &arguments),
        Command::Keeper => keeper::main(),
        Command::Client => load::agent::main(),
        Command::Cut => durability::cut::main(),
        Command::ForgetfulDisk { folder } => durability::forgetful::main(&folder),
    }
}
