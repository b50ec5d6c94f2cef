//! `bakeoff compare` as a user meets it.

use std::fs;

use assert_cmd::Command;
use result::figure::RATE;
use result::finding::Verdict;
use result::{Run, State};
use tempfile::TempDir;

use crate::fixture::keys;
use crate::runs;

/// The two runs compared: exit code, and what was printed.
fn compare(a: &Run, b: &Run, more: &[&str]) -> (i32, String) {
    let folder: TempDir = tempfile::tempdir().unwrap();
    for (name, run) in [("a.json", a), ("b.json", b)] {
        fs::write(folder.path().join(name), serde_json::to_string(run).unwrap()).unwrap();
    }
    let mut command = Command::cargo_bin("bakeoff").unwrap();
    command.current_dir(folder.path()).args(["compare", "a.json", "b.json"]).args(more);
    let output = command.output().unwrap();
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    (output.status.code().unwrap(), String::from_utf8(output.stdout).unwrap())
}

/// The web study after Go was made slower by a tenth.
fn slower_go() -> Run {
    let mut run = runs::web();
    run.id = "web-later".into();
    run.contenders[1].versions[0].says = "Go 1.23.0".into();
    let rows = run.outcomes.iter_mut().flat_map(|outcome| &mut outcome.rows);
    for row in rows.filter(|row| row.contender == "go") {
        let rate = row.figures.get_mut(RATE).unwrap();
        rate.median *= 0.9;
        rate.blocks.iter_mut().for_each(|rate| *rate *= 0.9);
    }
    run
}

#[test]
fn what_changed_reads_well_and_sets_the_exit_code() {
    let (code, text) = compare(&runs::web(), &slower_go(), &[]);
    insta::assert_snapshot!(text);
    assert_eq!(code, 1, "a script isn't told of the change");
}

#[test]
fn a_run_beside_itself_has_not_changed() {
    let (code, text) = compare(&runs::web(), &runs::web(), &[]);
    assert_eq!(code, 0);
    assert!(text.starts_with("No change beyond noise in 10 figures."), "{text}");
}

#[test]
fn runs_of_different_machines_are_not_compared_and_the_reason_is_said() {
    let mut other = runs::web();
    other.machine.kernel = "Linux 6.6.0".into();
    let (code, text) = compare(&runs::web(), &other, &[]);
    assert_eq!(code, 3);
    assert!(text.contains("the kernel: Linux 6.1.0-41-amd64 in the first run"), "{text}");
    assert!(!text.contains("no change"), "{text}");
}

#[test]
fn scripts_get_the_same_as_json() {
    let (code, json) = compare(&runs::web(), &slower_go(), &["--json"]);
    let read: result::comparison::Comparison = serde_json::from_str(&json).unwrap();
    assert_eq!((code, read.schema, read.figures.len()), (1, 4, 12));
}

#[test]
fn what_cores_of_another_speed_may_have_made_is_not_called_and_no_success() {
    let mut later = slower_go();
    for speed in later.trials.iter_mut().flat_map(|trial| &mut trial.evidence.core_speeds) {
        for whole in [&mut speed.whole_before, &mut speed.whole_after] {
            *whole = whole.map(|steps| steps * 0.8);
        }
    }
    let (code, text) = compare(&runs::web(), &later, &[]);
    assert_eq!(code, 3, "a script takes it for a no");
    let says = "10 of 10 figures can't be told apart from the machine";
    assert!(text.starts_with(says), "{text}");
    let of_cores = "The contenders' cores were 0.80 times (0.80–0.80) as fast in B as in A";
    assert!(text.contains(of_cores) && text.contains("not told apart"), "{text}");
    let (_, json) = compare(&runs::web(), &later, &["--json"]);
    assert!(json.contains("\"not_told_apart\""), "{json}");
}

/// The web study with an A/A pair, so that its noise is known, as its trials conclude.
fn with_pair() -> Run {
    let mut run = runs::web();
    let of_go = run.trials.iter().filter(|trial| trial.slot.contender == "go");
    let mut twins: Vec<_> = of_go.cloned().collect();
    twins.iter_mut().for_each(|twin| twin.slot.twin = true);
    run.trials.extend(twins);
    run.plan.slots = run.trials.iter().map(|trial| trial.slot.clone()).collect();
    judge::outcomes::conclude(&mut run);
    run
}

/// The same, killed before its last trial, which is one of the pair's.
fn killed() -> Run {
    let mut run = with_pair();
    run.state = State::Unfinished;
    run.trials.pop();
    run.outcomes.clear();
    run
}

#[test]
fn a_run_that_was_killed_is_marked_and_no_success() {
    let (code, text) = compare(&with_pair(), &with_pair(), &[]);
    assert_eq!(code, 0, "{text}");
    assert!(!text.contains("So far") && !text.contains("unfinished"), "{text}");

    let (code, text) = compare(&with_pair(), &killed(), &[]);
    assert_eq!(code, 3, "a script takes a part of a run for a no: {text}");
    let says = "So far, with 95 of 96 trials of B: No change beyond noise in 9 figures.\n";
    assert!(text.starts_with(says), "{text}");
    let of_b = "B: web-2026-11-21T08-30-00Z, 2026-11-21T08:30:00Z, unfinished\n";
    assert!(text.contains(of_b), "{text}");
    let (_, text) = compare(&killed(), &killed(), &[]);
    assert!(text.starts_with("So far, with 95 of 96 trials of A and 95 of 96 trials of B: "));

    let mut slower = killed();
    for trial in slower.trials.iter_mut().filter(|trial| trial.slot.contender == "go") {
        trial.evidence.work.as_mut().unwrap().rate *= 0.9;
    }
    let (code, text) = compare(&with_pair(), &slower, &[]);
    assert_eq!(code, 1, "{text}");
    let says = "So far, with 95 of 96 trials of B: 3 of 9 figures changed beyond noise.";
    assert!(text.starts_with(says), "{text}");
}

#[test]
fn a_suspect_figure_is_marked_with_its_check() {
    let mut suspect = slower_go();
    let row = runs::row_of(&mut suspect, 0, "go");
    row.verdict = Verdict::Suspect;
    row.findings[0].verdict = Verdict::Suspect;
    row.findings[0].check = "steady".into();
    let (code, text) = compare(&runs::web(), &suspect, &[]);
    assert_eq!(code, 1);
    assert!(
        text.starts_with("3 of 10 figures changed beyond noise (1 of them suspect)."),
        "{text}"
    );
    assert!(text.contains("○ ?  changed"), "{text}");
    assert!(text.contains("one core): suspect in the second run (steady)"), "{text}");
}

#[test]
fn every_key_of_its_json_is_documented() {
    let (_, json) = compare(&runs::web(), &slower_go(), &["--json"]);
    let all = keys(&serde_json::from_str(&json).unwrap());
    assert!(all.contains("changed") && all.contains("not_comparable"), "{all:?}");
    // Loads and estimates are those of a run.
    let documented =
        [include_str!("../../../../docs/compare.md"), include_str!("../../../../docs/run-json.md")];
    for key in all {
        let is_there = documented.iter().any(|page| page.contains(&format!("`{key}`")));
        assert!(is_there, "docs/compare.md lacks `{key}`");
    }
}

#[test]
fn a_run_that_is_not_there_is_named() {
    let output = Command::cargo_bin("bakeoff").unwrap().args(["compare", "x", "y"]).output();
    let output = output.unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("x: No such file"));
}

#[test]
fn hostile_names_do_not_reach_the_terminal_as_they_are() {
    const HIDDEN: [char; 4] = ['\u{1b}', '\u{7}', '\u{202e}', '\u{9b}'];
    let (_, text) = compare(&runs::hostile(), &runs::hostile(), &[]);
    assert!(!text.contains(HIDDEN), "{text}");
    let (_, json) = compare(&runs::hostile(), &runs::hostile(), &["--json"]);
    assert!(!json.contains(HIDDEN), "{json}");
    let read: result::comparison::Comparison = serde_json::from_str(&json).unwrap();
    assert_eq!(read.a.id, runs::hostile().id, "a script reads it as it is");
}
