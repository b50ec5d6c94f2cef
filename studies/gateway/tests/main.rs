//! The contenders of the gateway study where they are treated as its load never treats them, and its
//! brokers.
//!
//! - [`brokers`]: each does its job on its own wire;
//! - [`hostile`]: what no robot of the study does;
//! - [`open_files`]: hardly any files that may be open;
//! - [`robot`]: a robot that a test moves;
//! - [`slow_reader`]: a robot that doesn't read, and what its contender promises of it.

mod brokers;
mod hostile;
mod open_files;
mod robot;
mod slow_reader;

use std::fs;
use std::path::Path;

use lab::study::contender::{Contender, FILE, GatewayWire};

use crate::started::{ROOT, Started, is_built};
use robot::Robot;

/// Those whose build takes a few seconds.
const LIGHT: [&str; 5] = ["cpp-coroutines", "erlang", "go", "node", "python"];

fn is_light(name: &str) -> bool {
    LIGHT.contains(&name)
}

/// Those of the study that speak frames, are to be tried and can be had.
fn contenders(is_tried: impl Fn(&str) -> bool) -> Vec<Contender> {
    let study = Path::new(ROOT).join("studies/gateway");
    let mut names: Vec<String> = fs::read_dir(&study)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| study.join(name).join(FILE).is_file() && is_tried(name))
        .collect();
    names.sort_unstable();
    assert!(names.len() >= LIGHT.len(), "only {names:?} are tried");
    let all = names.iter().map(|name| Contender::read(&study.join(name), name));
    let all = all.map(|it| it.unwrap_or_else(|why| panic!("{why}")));
    all.filter(|it| it.file.wire == GatewayWire::Frames).filter(is_built).collect()
}

/// Starts a contender with so many files that it may have open.
fn start(contender: &Contender, files: u64) -> Started {
    Started::start(contender, files, |gateway| Robot::join(gateway, 0).is_ok())
}
