//! `proof memory`: what a connection takes of the client's memory.

use std::path::PathBuf;
use std::time::Duration;

use clap::Parser;

use crate::client::{Ended, Running};
use crate::interrupt::Interrupt;
use crate::nginx;
use crate::page::{Page, markdown};
use crate::place::Place;
use crate::report::Report;
use crate::target::Target;
use crate::tool::{Load, Tool};

/// Measures the resident memory of `bakeoff load` as connections grow.
#[derive(Debug, Parser)]
pub struct MemoryArguments {
    /// Connections at once, a run each. Memory beyond the first's is the
    /// connections'; what it may be is asked of the last.
    #[arg(long, value_delimiter = ',', default_value = "100,1000,10000")]
    connections: Vec<u32>,
    /// Seconds of each run.
    #[arg(long, default_value_t = 5)]
    seconds: u32,
    /// Write it to this file as well. What stands there below a heading `## Before` stays.
    #[arg(long, value_name = "FILE")]
    write: Option<PathBuf>,
}

/// KiB that a connection may take.
const KIB_A_CONNECTION_MAX: f64 = 2.0;

/// Measures. Tells whether no connection takes more than it may.
pub fn run(arguments: &MemoryArguments, interrupt: &Interrupt) -> Result<bool, String> {
    let place = Place::find()?;
    let nginx = nginx::start(&place, &[], interrupt)?;
    let mut table = markdown();
    table.set_header(["client", "connections", "resident KiB", "KiB a connection more", ""]);
    let mut all_hold = true;
    for tool in [Tool::Bakeoff, Tool::BakeoffEpoll] {
        let mut first: Option<(u32, u64)> = None;
        for &connections in &arguments.connections {
            let kib =
                resident_kib(tool, connections, arguments.seconds, &place, &nginx, interrupt)?;
            let (first_connections, first_kib) = *first.get_or_insert((connections, kib));
            let more = f64::from(connections) - f64::from(first_connections);
            let each = (kib as f64 - first_kib as f64) / more;
            let asked = Some(&connections) == arguments.connections.last();
            let holds = each <= KIB_A_CONNECTION_MAX;
            all_hold &= holds || !asked;
            table.add_row([
                tool.name().to_string(),
                connections.to_string(),
                kib.to_string(),
                if each.is_finite() { format!("{each:.2}") } else { String::new() },
                match (asked, holds) {
                    (false, _) => String::new(),
                    (true, true) => "holds: at most 2 KiB".into(),
                    (true, false) => "MISSED: more than 2 KiB".into(),
                },
            ]);
        }
    }
    let mut page = Page::new("What a connection takes of memory", "bench-memory");
    page.say(
        "The most that the load generator's process had resident, with so many connections to \
         nginx. What it takes beyond the first row's is the connections'. Runs differ by 2 MiB \
         whatever they hold, so that few connections can come out below 0.",
    );
    page.say(table);
    if let Some(file) = &arguments.write {
        page.write(file)?;
    }
    Ok(all_hold)
}

/// The most resident memory of a run that had all its connections.
fn resident_kib(
    tool: Tool,
    connections: u32,
    seconds: u32,
    place: &Place,
    nginx: &Target,
    interrupt: &Interrupt,
) -> Result<u64, String> {
    let load = Load {
        url: nginx.url("/"),
        connections,
        keep_alive: true,
        rate: None,
        seconds,
        cpu: place.client,
        pipeline: None,
    };
    let command = tool.command(&tool.program()?, &load);
    let at_most = Duration::from_secs(u64::from(seconds) + 60);
    let running = Running::start(&command, &[place.client], at_most)?;
    let (peak, ended) = peak_kib(running, interrupt)?;
    let report = Report::read(&ended.success()?.output)?;
    let established = report.connections.established;
    if established == connections {
        Ok(peak)
    } else {
        Err(format!("{established} connections were established of {connections}"))
    }
}

/// Waits for a client; gives the most memory that it had resident, in KiB.
pub fn peak_kib(running: Running, interrupt: &Interrupt) -> Result<(u64, Ended), String> {
    let mut peak = 0;
    // The process's own counter: that of its parent's report starts with the
    // parent's own memory.
    while !running.ended_within(Duration::from_millis(50))? {
        interrupt.check()?;
        peak = peak.max(high_water_kib(running.pid()).unwrap_or(0));
    }
    Ok((peak, running.wait(interrupt)?))
}

/// The most memory that the process has had resident so far.
fn high_water_kib(pid: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.split_ascii_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    #[test]
    fn our_own_memory_can_be_read() {
        let kib = super::high_water_kib(std::process::id()).unwrap();
        assert!(kib > 100, "a Rust program takes more than {kib} KiB");
    }
}
