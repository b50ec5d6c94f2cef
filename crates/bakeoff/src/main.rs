//! The command `bakeoff`.

mod commands;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Puts servers, stores, runtimes and codecs side by side under the same load,
/// and refuses to publish a figure that it can't defend.
#[derive(Parser)]
#[command(name = "bakeoff", version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Load(commands::load::Arguments),
}

fn main() -> ExitCode {
    match Arguments::parse().command {
        Command::Load(arguments) => commands::load::run(arguments),
    }
}
