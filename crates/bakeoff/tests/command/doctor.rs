//! `bakeoff doctor` as its users see it. What it finds depends on the machine: held here
//! is what is true on each.

use std::fs;
use std::process::Command;

use keeper::leftovers;
use rustix::process::{Pid, Signal};

use crate::fixture::{Lab, Said, said};

/// What it says of the test's study, in lines that aren't broken.
fn doctor(lab: &Lab, arguments: &[&str]) -> (Said, String) {
    let said = lab.bakeoff(&[&["doctor"][..], arguments].concat());
    assert!(!said.stderr.contains("panicked"), "{}", said.stderr);
    let lines = said.stdout.replace(&format!("\n{}", " ".repeat(13)), " ");
    (said, lines)
}

/// The word and the sentence of a thing that was looked at.
#[track_caller]
fn line<'a>(lines: &'a str, what: &str) -> (&'a str, &'a str) {
    let mut all = lines.lines().filter_map(|line| line.split_at_checked(13));
    // Some are told of one way to give cores.
    let is_of = |rest: &str| rest.starts_with(": ") || rest.starts_with(" on ");
    let found = all.find(|(_, sentence)| sentence.strip_prefix(what).is_some_and(is_of));
    let (word, sentence) = found.unwrap_or_else(|| panic!("nothing is said of {what}:\n{lines}"));
    (word.trim_end(), sentence)
}

#[test]
fn each_thing_has_its_line_and_nothing_is_left_or_made() {
    let lab = Lab::with_good();
    lab.contender("needy", "[\"true\"]", "needs = { no-such-zig = \"zig-lang\" }");
    // Of its programs one comes with its build, and one fails for want of it.
    let more = "build = [\"touch\", \"$BUILD/it\"]\nversions = { sh = [\"sh\", \"-c\", \"echo 1.2\"], \
        own = [\"$BUILD/own\"], brought = [\"sh\", \"-c\", \"echo none; exit 1\"] }";
    lab.contender("built", "[\"true\"]", more);
    let (said, lines) = doctor(&lab, &["s"]);
    // On a busy machine no figure would stand.
    assert!(matches!(said.code, Some(0 | 3)), "{said:?}");
    assert!(said.stderr.is_empty(), "{}", said.stderr);
    for what in ["quiet-machine", "memory", "pressure", "frequency", "cores", "backend"] {
        line(&lines, what);
    }
    for what in ["a trial of nobody", "open files", "listen queue", "ports"] {
        assert_eq!(line(&lines, what).0, "fine", "{lines}");
    }
    assert!(line(&lines, "room for runs").1.contains(&lab.dir.path().display().to_string()));
    let (word, sentence) = line(&lines, "needy");
    assert_eq!(word, "note");
    assert!(sentence.ends_with("apt-get install zig-lang"), "{sentence}");
    assert_eq!(line(&lines, "good"), ("fine", "good: its tools are there"));
    assert_eq!(line(&lines, "built").1, "built: 1.2; to be built");
    let order = ["stops", "nobody", "invalid", "suspect", "not checked", "note", "fine"];
    let words = lines.lines().filter_map(|line| line.split_at_checked(13));
    let ranks = words.filter_map(|(word, _)| order.iter().position(|it| *it == word.trim_end()));
    let ranks: Vec<usize> = ranks.collect();
    assert!(ranks.is_sorted() && ranks.len() > 10, "what harms most comes first:\n{lines}");
    for made in ["runs", "studies/s/built/build"] {
        assert!(!lab.path(made).exists(), "{made} was made");
    }
    lab.assert_nothing_is_left();
}

#[test]
fn where_nobody_can_be_had_nobody_is_left_to_measure() {
    let lab = Lab::new();
    lab.contender("needy", "[\"true\"]", "needs = { no-such-zig = \"zig-lang\" }");
    let (said, lines) = doctor(&lab, &["s"]);
    assert_eq!(said.code, Some(1), "{said:?}");
    assert!(lines.ends_with("\nNobody is left to measure.\n"), "{lines}");
}

#[test]
fn the_first_study_is_looked_at_where_none_is_named_and_many_connections_where_none_is_there() {
    let lab = Lab::with_good();
    let (_, lines) = doctor(&lab, &[]);
    line(&lines, "good");
    assert_eq!(line(&lines, "open files").1, "open files: enough for 4 connections");
    fs::remove_dir_all(lab.path("studies/s")).unwrap();
    let (_, lines) = doctor(&lab, &[]);
    assert!(!lines.contains("good: "), "{lines}");
    let (_, files) = line(&lines, "open files");
    // As many as there may be, or that there may not be so many.
    assert!(files.replace(',', "").contains("5000 connections"), "{files}");
}

#[test]
fn wrong_arguments_and_files_are_told_from_a_machine_that_cant_run() {
    let lab = Lab::with_good();
    let (said, _) = doctor(&lab, &["no-such"]);
    assert_eq!(said.code, Some(2), "{said:?}");
    said.assert_complains(&["bakeoff doctor: there is no study `no-such` in studies; it has s;"]);
    lab.write("studies/s/study.toml", "title = \"t\"\nqestion = \"q\"\n");
    let (said, _) = doctor(&lab, &["s"]);
    assert_eq!(said.code, Some(2), "{said:?}");
    said.assert_complains(&["studies/s/study.toml:2:1: unknown key `qestion`"]);
}

#[test]
fn a_machine_that_lets_no_trial_be_made_or_kept_stops_a_run() {
    let lab = Lab::with_good();
    let gone = lab.path("gone");
    let said = lab.output(lab.command(&["doctor", "s"]).env("TMPDIR", &gone)).unwrap();
    assert_eq!(said.code, Some(4), "{said:?}");
    let first = said.stdout.lines().nth(2).unwrap();
    let says = "stops        a trial of nobody: couldn't make the trial's folder";
    assert!(first.starts_with(says), "{}", said.stdout);
    lab.write("file", "");
    let (said, lines) = doctor(&lab, &["s", "--runs", "file/runs"]);
    assert_eq!(said.code, Some(4), "{said:?}");
    assert_eq!(line(&lines, "room for runs").0, "stops");
    assert!(lines.ends_with("\nNo run can be made here as it is.\n"), "{lines}");
    lab.assert_nothing_is_left();
}

#[test]
fn what_a_killed_run_left_is_told_and_stays() {
    let lab = Lab::with_good();
    let mut child = Command::new("true").spawn().unwrap();
    let prefix = leftovers::prefix_of(child.id()).expect("it isn't waited for yet");
    child.wait().unwrap();
    lab.write(&format!("tmp/{prefix}000000000000/file"), "");
    let (_, lines) = doctor(&lab, &["s"]);
    let (word, sentence) = line(&lines, "leftovers");
    assert_eq!(word, "note", "{lines}");
    assert!(sentence.contains(" of a run that was killed, such as "), "{sentence}");
    assert!(lab.path(&format!("tmp/{prefix}000000000000/file")).exists(), "it was removed");
}

#[test]
fn ctrl_c_ends_it_at_once_and_nothing_is_left() {
    let lab = Lab::with_good();
    let child = lab.start(&["doctor", "s"]);
    lab.wait_until("it watches", || !lab.living_clients().is_empty());
    let pid = Pid::from_raw(child.id() as i32).unwrap();
    rustix::process::kill_process(pid, Signal::INT).unwrap();
    let interrupted = said(child.wait_with_output().unwrap());
    assert_eq!(interrupted.code, Some(130), "{interrupted:?}");
    assert!(interrupted.stdout.is_empty(), "half a look says nothing: {interrupted:?}");
    lab.assert_nothing_is_left();
}
