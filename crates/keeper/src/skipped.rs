//! Tests that this machine can't make.

use std::io::Write;

/// Says that a test is not made here, and why. `.ci/run` counts
/// them. Not by a macro: the test runner would keep that to itself.
pub(crate) fn skipped(why: &str) {
    let test = std::thread::current().name().unwrap_or("a test").to_string();
    let _ = std::io::stderr().write_all(format!("\nskipped: {test}: {why}\n").as_bytes());
}
