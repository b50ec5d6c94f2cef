//! `bakeoff load`: the load generator by itself.

use std::process::ExitCode;

/// Puts load on one server and tells what it saw.
#[derive(clap::Args)]
pub struct Arguments {
    /// Where to, for example http://127.0.0.1:8080/
    url: String,
}

pub fn run(arguments: Arguments) -> ExitCode {
    let _ = arguments.url;
    unimplemented!()
}
