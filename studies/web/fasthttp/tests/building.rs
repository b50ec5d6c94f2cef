//! The script that builds the server calls it absent where Go is too old, and nowhere else.

use std::fs;
use std::process::{Command, Output};

use lab::ready::programs;

use crate::fixture::skipped;

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../studies/web/fasthttp/build.sh");

/// Runs the script beside this go.mod; `None` where there is no Go.
fn build(module: &str) -> Option<Output> {
    if programs::find("go").is_none() {
        skipped("skipped", "go is not installed; apt-get install golang-go");
        return None;
    }
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("build.sh");
    fs::copy(SCRIPT, &script).unwrap();
    fs::write(folder.path().join("go.mod"), module).unwrap();
    let mut build = Command::new("sh");
    build.arg(script).arg(folder.path()).env("GOTOOLCHAIN", "local");
    Some(build.output().unwrap())
}

#[test]
fn with_an_older_go_it_is_absent_and_says_which_it_takes() {
    let Some(output) = build("module hello\n\ngo 1.9999.0\n") else { return };
    assert_eq!(output.status.code(), Some(69), "{output:?}");
    let said = String::from_utf8_lossy(&output.stdout);
    let why = said.lines().last().unwrap();
    assert!(why.contains("it takes Go 1.9999.0 or newer"), "{why}");
}

/// Else nobody would notice: who is absent fails no test.
#[test]
fn with_a_go_that_is_new_enough_what_is_wrong_is_a_failure() {
    let Some(output) = build("module hello\n\ngo 1.1\n\nno such line\n") else { return };
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("go.mod:5"), "it doesn't say what is wrong: {said}");
    assert!(!said.contains("or newer"), "{said}");
}
