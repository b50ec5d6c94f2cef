//! What `.ci/run` makes of the test runner's words.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The last line of `.ci/run` where `make test` says this.
fn counted(said: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join(".ci")).unwrap();
    let run = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.ci/run");
    // What was just written can't be run while another test's child still holds it
    // open (ETXTBSY), so it isn't copied.
    symlink(run.canonicalize().unwrap(), folder.path().join(".ci/run")).unwrap();
    fs::write(folder.path().join("said"), said).unwrap();
    fs::write(folder.path().join("Makefile"), "test:\n\t@cat said\n").unwrap();
    let output = Command::new(folder.path().join(".ci/run")).output().unwrap();
    String::from_utf8(output.stdout).unwrap().lines().last().unwrap().to_string()
}

#[test]
fn a_test_that_the_machine_cant_make_is_not_counted_as_passed() {
    let said = "running 12 tests\n....\n\
        skipped: ports_run_short: no network namespace of our own\n\
        skipped: ports_run_short: no network namespace of our own\n\
        skipped in part: a_skeleton: zig is not installed\n........\n\
        test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out\n\
        test result: FAILED. 3 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out\n";
    assert_eq!(counted(said), "14 passed, 1 failed, 2 skipped");
}

/// All files in Rust below a folder.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let (folders, files): (Vec<PathBuf>, Vec<PathBuf>) = entries.partition(|path| path.is_dir());
    let here = files.into_iter().filter(|path| path.extension().is_some_and(|end| end == "rs"));
    here.chain(folders.iter().flat_map(|folder| sources(folder))).collect()
}

#[test]
fn no_test_says_that_it_is_skipped_where_the_test_runner_keeps_it() {
    // What the macros print is shown only where a test fails.
    let kept = ["print", "ln!(\"skipped"].concat();
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let sources = sources(&crates);
    assert!(sources.len() > 100, "{} files in Rust can't be all", sources.len());
    for path in sources {
        let says = fs::read_to_string(&path).unwrap().contains(&kept);
        assert!(!says, "{}: `.ci/run` takes this test for passed", path.display());
    }
}

#[test]
fn no_test_at_all_is_a_failure() {
    assert_eq!(counted("nothing\n"), "0 passed, 0 failed, 0 skipped");
}
