//! The museum of mistakes in a short form: a few of them, made with servers and with a
//! program. `make mistakes` makes all.

use std::path::Path;
use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use crate::fixture::{Said, said, skipped};

/// Diverse, quick, and never outdone by a busy machine: a program that breaks its contract,
/// wrong answers, and a figure that is withheld.
const FEW: &str = "sent-not-received,errors-with-200,few-samples";

fn mistakes(arguments: &[&str], tmp: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bakeoff"));
    command
        .arg("mistakes")
        .args(arguments)
        .arg("--runs")
        .arg(tmp.join("runs"))
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."))
        .env("TMPDIR", tmp)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

fn run(arguments: &[&str], tmp: &Path) -> Said {
    said(mistakes(arguments, tmp).output().unwrap())
}

/// That they are caught, whatever the machine does to the set-ups without them:
/// those are judged by `make mistakes`, on a quiet machine and with an optimised
/// client.
#[test]
fn a_few_mistakes_are_caught_and_the_output_says_how_many_are_left_out() {
    let tmp = tempfile::tempdir().unwrap();
    // Other tests use the machine all the time.
    let said = run(&["--only", FEW, "--repeats", "0"], tmp.path());
    assert!([Some(0), Some(1), Some(3)].contains(&said.code), "{said:?}");
    assert!(!said.stdout.contains("not caught"), "{said:?}");
    // So that who runs the tests reads it as well.
    let left_out = said.stdout.trim_end().rsplit("; ").next().unwrap();
    assert!(left_out.ends_with(" are left out."), "{said:?}");
    skipped("skipped in part", &format!("of all mistakes, {left_out} `make mistakes` makes all"));
    let made = FEW.split(',').filter(|name| {
        let is_it = |entry: &std::fs::DirEntry| {
            let folder = entry.file_name().to_string_lossy().starts_with(&format!("{name}-sab"));
            folder && entry.path().join("report.html").is_file()
        };
        std::fs::read_dir(tmp.path().join("runs")).unwrap().flatten().any(|it| is_it(&it))
    });
    // On a machine without a contender its mistake can't be made.
    let not_here = said.stdout.matches("can't be made here: ").count();
    assert_eq!(made.count() + not_here, 3, "a report of each is kept: {said:?}");
    let left = std::fs::read_dir(tmp.path()).unwrap().flatten();
    let left: Vec<_> = left.map(|it| it.file_name()).filter(|it| *it != *"runs").collect();
    assert!(left.is_empty(), "nothing outlives a run: {left:?}");
}

/// Else the museum's slow library would be bakeoff's own client under another name, or one of
/// whose answers nobody knows. How slow it is, `make mistakes` judges.
#[test]
fn another_library_asks_a_store_in_the_place_of_bakeoffs_client() {
    let tmp = tempfile::tempdir().unwrap();
    let said = run(&["--only", "slow-store-client", "--repeats", "0"], tmp.path());
    if said.stdout.contains("can't be made here: ") {
        skipped("skipped", said.stdout.trim_end());
        return;
    }
    let evidence = |how: &str| {
        let start = format!("slow-store-client-{how}");
        let mut folders = std::fs::read_dir(tmp.path().join("runs")).unwrap().flatten();
        let folder = folders.find(|it| it.file_name().to_string_lossy().starts_with(&start));
        let file = folder.unwrap_or_else(|| panic!("{said:?}")).path().join("run.json");
        let run = std::fs::read_to_string(file).unwrap();
        let run: serde_json::Value = serde_json::from_str(&run).unwrap();
        run["trials"][0]["evidence"].clone()
    };
    for (how, is_other) in [("clean", false), ("sabotaged", true)] {
        let evidence = evidence(how);
        let client = &evidence["clients"][0];
        let backend = client["backend"].as_str().unwrap();
        assert_eq!(backend.starts_with("redis-py "), is_other, "{backend}");
        let (hits, good) = (&evidence["store"]["hits"], &client["good"]);
        // Hits count from the start on, and good answers in the window.
        assert!(hits.as_u64() > good.as_u64() && good.as_u64() > Some(0), "{hits} {good}");
        assert_eq!(client["scheduled"], client["good"], "every get finds its key");
    }
}

#[test]
fn what_is_not_there_is_refused() {
    let tmp = tempfile::tempdir().unwrap();
    let said = run(&["--only", "no-such"], tmp.path());
    assert_eq!(said.code, Some(2), "{said:?}");
    said.assert_complains(&["there is no mistake `no-such`", "worker-connections"]);
    let said = run(&["--mistakes", "no/such/folder"], tmp.path());
    assert_eq!(said.code, Some(2), "{said:?}");
    said.assert_complains(&["couldn't list the mistakes", "--mistakes"]);
}

#[test]
fn an_interrupted_run_leaves_nothing_behind() {
    let tmp = tempfile::tempdir().unwrap();
    let child = mistakes(&["--only", "noisy-neighbour,cpu-quota"], tmp.path()).spawn().unwrap();
    std::thread::sleep(std::time::Duration::from_secs(4));
    let pid = Pid::from_raw(child.id() as i32).unwrap();
    kill_process(pid, Signal::INT).unwrap();
    let said = said(child.wait_with_output().unwrap());
    // A machine without the contenders is done before it is interrupted.
    assert!([Some(130), Some(3)].contains(&said.code), "{said:?}");
    let left = std::fs::read_dir(tmp.path()).unwrap().flatten();
    let left: Vec<_> = left.map(|it| it.file_name()).filter(|it| *it != *"runs").collect();
    assert!(left.is_empty(), "{left:?}");
}
