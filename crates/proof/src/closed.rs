//! `proof closed`: a connection a request, thousands at once, for a minute,
//! without running short of ports.

use std::path::PathBuf;
use std::time::Duration;

use clap::Parser;

use crate::client::Running;
use crate::interrupt::Interrupt;
use crate::nginx;
use crate::page::Page;
use crate::place::Place;
use crate::report::Report;
use crate::tool::{Load, Tool};

/// Shows that a connection a request doesn't run out of ports.
#[derive(Debug, Parser)]
pub struct ClosedArguments {
    /// Connections at once.
    #[arg(long, default_value_t = 5_000)]
    connections: u32,
    /// Seconds: ports are kept for 60 after their connection.
    #[arg(long, default_value_t = 60)]
    seconds: u32,
    /// Write it to this file as well. What stands there below a heading `## Before` stays.
    #[arg(long, value_name = "FILE")]
    write: Option<PathBuf>,
}

/// Tells whether so many connections were open at once, and no request ended in an error.
pub fn run(arguments: &ClosedArguments, interrupt: &Interrupt) -> Result<bool, String> {
    let place = Place::find()?;
    let nginx = nginx::start(&place, &[], interrupt)?;
    let load = Load {
        url: nginx.url("/"),
        connections: arguments.connections,
        keep_alive: false,
        rate: None,
        seconds: arguments.seconds,
        cpu: place.client,
        pipeline: None,
    };
    let command = Tool::Bakeoff.command(&Tool::Bakeoff.program()?, &load);
    eprintln!("{} s of {} connections at once …", arguments.seconds, arguments.connections);
    let at_most = Duration::from_secs(u64::from(arguments.seconds) + 60);
    let ended = Running::start(&command, &[place.client], at_most)?.wait(interrupt)?.success()?;
    let report = Report::read(&ended.output)?;
    let mut page = Page::new("A connection a request, for a minute", "bench-closed");
    page.say(
        "Each request has a connection of its own. A port rests for 60 s after its connection: \
         who asks from one address runs short of ports before a minute is over.",
    );
    page.say(format!(
        "{} connections, one a request, {} at once, in {:.1} s: {:.0} good answers a second.",
        report.requests.sent, report.connections.established, report.seconds, report.rate
    ));
    for error in &report.errors {
        page.say(format!("{} × {}: {}", error.count, error.kind, error.example));
    }
    let at_once = report.connections.established;
    let word = match (report.errors.is_empty(), at_once == arguments.connections) {
        (true, true) => "All at once, and no error: holds.".into(),
        (true, false) => format!("MISSED: never were all {} open at once.", arguments.connections),
        (false, _) => "MISSED: there were errors.".into(),
    };
    page.say(word);
    if let Some(file) = &arguments.write {
        page.write(file)?;
    }
    Ok(report.errors.is_empty() && at_once == arguments.connections)
}
