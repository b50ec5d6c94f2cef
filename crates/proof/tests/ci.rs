//! What `.ci/run` makes of the test runner's words, and `.ci/tests` of the test programs.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The last line of `.ci/run` where `make test` says this.
fn counted(said: &str) -> String {
    told(said).lines().last().unwrap().to_string()
}

/// What `.ci/run` says then.
fn told(said: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join(".ci")).unwrap();
    let run = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.ci/run");
    // What was just written can't be run while another test's child still holds it
    // open (ETXTBSY), so it isn't copied.
    symlink(run.canonicalize().unwrap(), folder.path().join(".ci/run")).unwrap();
    fs::write(folder.path().join("said"), said).unwrap();
    fs::write(folder.path().join("Makefile"), "test:\n\t@cat said\n").unwrap();
    let output = Command::new(folder.path().join(".ci/run")).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
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

#[test]
fn a_test_that_is_made_again_alone_counts_as_it_ends_then() {
    let said = |end: &str| {
        format!(
            "test result: FAILED. 9 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out\n\
             made again alone: queue::waits\n\
             test result: {end}; 0 ignored; 0 measured; 9 filtered out\n"
        )
    };
    let passed = told(&said("ok. 1 passed; 0 failed"));
    assert!(passed.ends_with("made again alone: 1\n10 passed, 0 failed, 0 skipped\n"), "{passed}");
    let failed = counted(&said("FAILED. 0 passed; 1 failed"));
    assert_eq!(failed, "9 passed, 1 failed, 0 skipped");
}

/// Whether `.ci/tests` succeeds where these are the test programs, each another program by a name
/// of its own.
fn succeeds(programs: &[(&str, &str)]) -> bool {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path().display();
    fs::create_dir(folder.path().join(".ci")).unwrap();
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.ci/tests");
    symlink(tests.canonicalize().unwrap(), folder.path().join(".ci/tests")).unwrap();
    let built = programs.iter().map(|(name, program)| {
        symlink(program, folder.path().join(name)).unwrap();
        format!(
            r#"{{"manifest_path":"{at}/Cargo.toml","profile":{{"overflow_checks":true,"test":true}},"executable":"{at}/{name}"}}"#
        ) + "\n"
    });
    fs::write(folder.path().join("built"), built.collect::<String>()).unwrap();
    // A function in the place of cargo, as bash takes it from its environment.
    let mut tests = Command::new(folder.path().join(".ci/tests"));
    tests.env("BASH_FUNC_cargo%%", "() { cat built; }").output().unwrap().status.success()
}

#[test]
fn one_test_program_that_fails_fails_them_all_and_so_does_none() {
    let (good, bad) = ("/bin/true", "/bin/false");
    assert!(succeeds(&[("load-1", good), ("forms-2", good), ("lab-3", good)]));
    assert!(
        !succeeds(&[("load-1", bad), ("forms-2", good), ("lab-3", good)]),
        "of those that time"
    );
    assert!(!succeeds(&[("load-1", good), ("forms-2", bad), ("lab-3", good)]), "of the others");
    assert!(!succeeds(&[]), "nothing was tested");
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

/// Whoever makes a test that takes a minute sees it.
#[test]
fn the_slowest_ten_are_named_the_slowest_first() {
    let line = |number: u32| format!("test of::number_{number} ... ok <{number}.250s>\n");
    let said: String = (1..=12).map(line).collect();
    let told = told(&said);
    let (_, slowest) = told.split_once("The slowest tests:\n").expect(&told);
    let slowest: Vec<&str> = slowest.lines().take(11).collect();
    assert_eq!(slowest[0], "12.250 s  of::number_12");
    assert_eq!(slowest[9], "3.250 s  of::number_3");
    assert_eq!(slowest[10], "0 passed, 0 failed, 0 skipped");
}

#[test]
fn no_test_at_all_is_a_failure() {
    assert_eq!(counted("nothing\n"), "0 passed, 0 failed, 0 skipped");
}

/// A test program that fails beside others, and ends so alone.
fn fails_beside_others(folder: &Path, alone: i32) -> PathBuf {
    let program = folder.join(format!("alone-{alone}"));
    let script = format!(
        "#!/bin/sh\ncase $* in *--exact*queue::waits*) exit {alone} ;; esac\n\
         printf 'failures:\\n    queue::waits\\n\\ntest result: FAILED.\\n'\nexit 101\n"
    );
    fs::write(&program, script).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    program
}

#[test]
fn a_test_that_fails_beside_others_fails_them_all_if_it_fails_alone_too() {
    let folder = tempfile::tempdir().unwrap();
    for (alone, is_good) in [(0, true), (101, false)] {
        let program = fails_beside_others(folder.path(), alone);
        let programs = [("load-1", "/bin/true"), ("forms-2", program.to_str().unwrap())];
        assert_eq!(succeeds(&programs), is_good, "alone it ends with {alone}");
    }
}
