//! `proof bare`: the bare loop of the crate `load` as a client of its own
//! process, so that what it costs is measured as for every other client.

use std::net::SocketAddr;
use std::time::Duration;

use clap::Parser;
use load::Plan;
use load::plan::Target;

/// Runs the bare loop, and prints its answers and its seconds.
#[derive(Debug, Parser)]
pub struct BareArguments {
    /// Connections at once.
    #[arg(short)]
    connections: u32,
    /// Seconds.
    #[arg(short)]
    duration: u64,
    /// A connection for each request.
    #[arg(long)]
    close: bool,
    /// `http://ADDRESS:PORT/PATH`.
    url: String,
}

pub fn run(arguments: &BareArguments) -> Result<(), String> {
    let not_understood =
        || format!("{} is not of the form http://ADDRESS:PORT/PATH", arguments.url);
    let rest = arguments.url.strip_prefix("http://").ok_or_else(not_understood)?;
    let (authority, path) = rest.split_once('/').ok_or_else(not_understood)?;
    let address: SocketAddr = authority.parse().map_err(|_| not_understood())?;
    let target = Target { address, authority: authority.into(), path: format!("/{path}") };
    let connection = if arguments.close { "Connection: close\r\n" } else { "" };
    let request = format!("GET /{path} HTTP/1.1\r\nHost: {authority}\r\n{connection}\r\n");
    let plan = Plan {
        connections: arguments.connections,
        keep_alive: !arguments.close,
        ..Plan::new(target, Vec::new())
    };
    let duration = Duration::from_secs(arguments.duration);
    let done =
        load::bare::run(&plan, request.as_bytes(), duration).map_err(|error| error.to_string())?;
    println!("{} {}", done.answers, done.took.as_secs_f64());
    Ok(())
}
