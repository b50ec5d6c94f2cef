//! `bakeoff completions` and `bakeoff man`: what shells and manuals have of the same definitions
//! as `--help`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Command;
use clap_complete::Shell;

use super::exit_codes::SYSTEM;
use super::printing::{Output, complain, note};

/// Prints what a shell needs to complete commands and options
#[derive(clap::Args)]
#[command(after_help = "For example: bakeoff completions bash >~/.local/share/bash-completion/\
completions/bakeoff\n\nExit codes: 0 printed; 2 wrong arguments; 4 it couldn't be printed.")]
pub struct Completions {
    /// The shell
    shell: Shell,
}

/// Prints the manual's page of bakeoff, or writes those of all its commands
#[derive(clap::Args)]
#[command(after_help = "To read it: bakeoff man | man -l -\n\nExit codes: 0 printed or written; \
2 wrong arguments; 4 it couldn't be.")]
pub struct Man {
    /// The folder to write to: bakeoff.1, and a page a command
    folder: Option<PathBuf>,
}

/// The same command without what only bakeoff itself starts: completions of bash would have that.
fn for_people(of: &Command) -> Command {
    let subcommands = of.get_subcommands().filter(|it| !it.is_hide_set()).cloned();
    Command::new("bakeoff")
        .version(env!("CARGO_PKG_VERSION"))
        .about(of.get_about().cloned().unwrap_or_default())
        .subcommands(subcommands)
}

/// Prints completions of this command.
pub fn completions(of: &Command, arguments: &Completions) -> ExitCode {
    let mut text = Vec::new();
    clap_complete::generate(arguments.shell, &mut for_people(of), "bakeoff", &mut text);
    print("completions", &String::from_utf8_lossy(&text))
}

/// Prints or writes the manual of this command.
pub fn man(of: &Command, arguments: &Man) -> ExitCode {
    let of = for_people(of);
    match &arguments.folder {
        Some(folder) => write(of, folder),
        None => {
            let mut text = Vec::new();
            match clap_mangen::Man::new(of).render(&mut text) {
                Ok(()) => print("man", &String::from_utf8_lossy(&text)),
                Err(error) => failed("man", &error.to_string()),
            }
        }
    }
}

fn write(of: Command, folder: &Path) -> ExitCode {
    let made = std::fs::create_dir_all(folder);
    match made.and_then(|()| clap_mangen::generate_to(of, folder)) {
        Ok(()) => {
            note(&format!("Written: {}", folder.join("bakeoff*.1").display()));
            ExitCode::SUCCESS
        }
        Err(error) => failed("man", &format!("couldn't write to {}: {error}", folder.display())),
    }
}

fn print(command: &str, text: &str) -> ExitCode {
    let mut output = Output::to_stdout();
    output.print(text);
    match output.failure() {
        None => ExitCode::SUCCESS,
        Some(error) => failed(command, &format!("couldn't print it: {error}")),
    }
}

fn failed(command: &str, sentence: &str) -> ExitCode {
    complain(command, sentence);
    SYSTEM.into()
}
