//! Asks requests of a server that is none, to be counted under a profiler of instructions:
//! `instructions closed|pipelined|open|gets|sets REQUESTS`.

use std::process::ExitCode;

use load::simulator::echo::{Load, ask};

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let load = match words.first().map(String::as_str) {
        Some("closed") => Load::Closed,
        Some("pipelined") => Load::Pipelined,
        Some("open") => Load::Open,
        Some("gets") => Load::Gets,
        Some("sets") => Load::Sets,
        _ => return ExitCode::from(2),
    };
    let Some(requests) = words.get(1).and_then(|word| word.parse().ok()) else {
        return ExitCode::from(2);
    };
    if ask(requests, load) == requests { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
