//! A machine that lacks room or rights: what was measured until then is kept, and nobody is blamed.

use std::path::Path;
use std::process::Command;

use result::finding::Verdict;
use result::{Run, State};

use crate::fixture::{Lab, Said, skipped};

/// A small file system, unmounted at the end.
struct SmallDisk<'a>(&'a Path);

impl<'a> SmallDisk<'a> {
    /// Says why the test is not made, where there can be none.
    fn mount(at: &'a Path, size: &str) -> Option<SmallDisk<'a>> {
        std::fs::create_dir_all(at).unwrap();
        let options = format!("size={size}");
        match SmallDisk::command(at, &["-t", "tmpfs", "-o", &options, "tmpfs"]) {
            Ok(()) => Some(SmallDisk(at)),
            Err(why) => {
                skipped("skipped", &format!("a small disk can't be mounted here: {why}"));
                None
            }
        }
    }

    /// Gives it more room.
    fn grow(&self, size: &str) {
        let options = format!("remount,size={size}");
        SmallDisk::command(self.0, &["-o", &options]).expect("what was mounted can be larger");
    }

    fn command(at: &Path, arguments: &[&str]) -> Result<(), String> {
        match Command::new("mount").args(arguments).arg(at).output() {
            Ok(output) if output.status.success() => Ok(()),
            Ok(output) => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
            Err(error) => Err(error.to_string()),
        }
    }
}

impl Drop for SmallDisk<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0).status();
    }
}

#[test]
fn a_folder_of_runs_that_cant_be_made_is_named() {
    let lab = Lab::with_good();
    lab.write("runs", "a file of that name");
    let said = lab.bakeoff(&["run", "s"]);
    assert_eq!(said.code, Some(4), "{said:?}");
    said.assert_complains(&["couldn't make the folder runs: File exists"]);
    lab.assert_nothing_is_left();
}

/// More connections than files may be open, where the limit can't be raised.
#[test]
fn too_few_open_files_are_told_before_anything_is_measured() {
    let lab = Lab::with_good();
    let bakeoff = env!("CARGO_BIN_EXE_bakeoff");
    let limited = format!("ulimit -n 1000 && exec {bakeoff} run s --connections 2000");
    let mut command = Command::new("sh");
    if rustix::process::geteuid().is_root() {
        // Root raises what limits there are, unless that right is taken from it.
        command = Command::new("setpriv");
        command.args(["--bounding-set", "-sys_resource", "sh"]);
    }
    let said = match lab.output(command.args(["-c", &limited]).current_dir(lab.dir.path())) {
        Ok(said) => said,
        Err(why) => return skipped("skipped", &format!("setpriv can't be started: {why}")),
    };
    if said.stderr.starts_with("setpriv: ") {
        return skipped("skipped", said.stderr.trim());
    }
    assert_eq!(said.code, Some(2), "{said:?}");
    // The client has a thread on each processor.
    let needed = 2064 + 3 * load::allowed_cpus().unwrap().len();
    said.assert_complains(&[
        &format!("2000 connections need {needed} open files"),
        &format!("run `ulimit -n {needed}` first"),
    ]);
    assert!(!lab.path("runs").exists(), "nothing was begun");
    assert!(lab.servers().is_empty(), "nothing was measured");
}

/// What is written there reaches no disk, and takes time all the same.
#[test]
fn a_log_on_a_file_system_in_memory_is_told() {
    let lab = Lab::with_good();
    lab.server("logs", "logs", "");
    let tmp = lab.path("tmp");
    let Some(_disk) = SmallDisk::mount(&tmp, "64m") else { return };
    lab.bakeoff(&["run", "s"]);
    let run = lab.run();
    let word = |contender: &str| {
        let row = run.outcomes[0].rows.iter().find(|row| row.contender == contender).unwrap();
        row.findings.iter().find(|it| it.check == "disk-writes").unwrap().clone()
    };
    assert_eq!(word("logs").verdict, Verdict::Suspect, "{:?}", word("logs"));
    assert_eq!(word("good").verdict, Verdict::Valid, "{:?}", word("good"));
    lab.assert_nothing_is_left();
}

#[test]
fn a_full_disk_keeps_what_was_there_and_with_more_room_the_run_goes_on() {
    let lab = Lab::with_good().in_two_blocks();
    let runs = lab.path("runs");
    let Some(disk) = SmallDisk::mount(&runs, "60k") else { return };
    let said = lab.bakeoff(&["run", "s", "--full"]);
    assert_eq!(said.code, Some(4), "{said:?}");
    said.assert_complains(&["trials.jsonl: No space left on device", "bakeoff run --resume"]);
    let run = lab.run();
    assert_eq!(run.state, State::Unfinished);
    assert!(!run.trials.is_empty() && run.trials.len() < run.plan.slots.len());
    lab.assert_nothing_is_left();
    disk.grow("16m");
    lab.assert_resume_completes(&run);
}

/// As where both are kept in files on that disk.
#[test]
fn a_full_disk_under_what_is_printed_costs_nothing_that_is_measured() {
    let lab = Lab::with_good();
    let unheard = |arguments: &[&str]| {
        let bakeoff = lab.command(arguments);
        let mut shell = Command::new("sh");
        shell.args(["-c", "exec \"$@\" >/dev/full 2>/dev/full", "sh"]);
        shell.arg(bakeoff.get_program()).args(bakeoff.get_args());
        lab.output(shell.current_dir(lab.dir.path()).env("TMPDIR", lab.path("tmp"))).unwrap()
    };
    assert_eq!(unheard(&["run", "s"]).code, Some(4), "the tables weren't printed");
    assert_eq!(lab.run().state, State::Complete);
    assert!(lab.path("runs/latest/report.html").is_file());
    assert_eq!(unheard(&["report", "runs/latest"]).code, Some(4));
    assert_eq!(unheard(&["check", "s/good"]).code, Some(4));
    assert_eq!(unheard(&["new", "s/another"]).code, Some(0), "it is written");
    assert!(lab.path("studies/s/another/contender.toml").is_file());
    assert_eq!(unheard(&["run", "nothing"]).code, Some(2), "what is wrong can't be said, but told");
    lab.assert_nothing_is_left();
}

/// The machine's failure and no contender's: nobody is given up, and nothing is recorded.
fn failed_by_the_machine(lab: &Lab, said: &Said, why: &str) -> Run {
    assert_eq!(said.code, Some(4), "{said:?}");
    said.assert_complains(&[
        "no load could be offered: starting good: ",
        why,
        "No trial was over. To go on: bakeoff run --resume",
    ]);
    assert!(!said.stderr.contains("iven up"), "a contender is blamed: {}", said.stderr);
    let run = lab.run();
    assert_eq!((run.state, run.trials.len()), (State::Unfinished, 0), "{:?}", run.trials);
    run
}

fn no_folder(lab: &Lab, said: &Said, why: &str) -> Run {
    said.assert_complains(&["couldn't make the trial's folder ", ", whose place is $TMPDIR: "]);
    failed_by_the_machine(lab, said, why)
}

/// Runs a study with so little room for a trial's folder that there can be none, and
/// goes on with that run when there is more.
fn without_room_and_with_more(lab: &Lab, room: &str, more: &str) {
    let tmp = lab.path("tmp");
    let Some(disk) = SmallDisk::mount(&tmp, room) else { return };
    let run = no_folder(lab, &lab.bakeoff(&["run", "s"]), "No space left on device");
    lab.assert_nothing_is_left();
    disk.grow(more);
    lab.assert_resume_completes(&run);
}

#[test]
fn a_full_folder_for_temporary_files_ends_the_run_and_with_more_room_it_goes_on() {
    // No room for a folder beside the one that it is.
    without_room_and_with_more(&Lab::with_good(), "1m,nr_inodes=1", "1m,nr_inodes=100");
}

/// What a contender is given to read has no room there.
#[test]
fn a_trials_folder_whose_files_have_no_room_is_removed_and_the_run_goes_on_with_more() {
    let lab = Lab::new();
    lab.server("good", "good", "files = [\"big\"]");
    lab.write("studies/s/good/big", &"x".repeat(100 << 10));
    without_room_and_with_more(&lab, "60k", "1m");
}

#[test]
fn a_folder_for_temporary_files_that_isnt_there_is_the_machines_failure() {
    let lab = Lab::with_good();
    let gone = lab.path("gone");
    let bakeoff =
        |arguments: &[&str]| lab.output(lab.command(arguments).env("TMPDIR", &gone)).unwrap();
    no_folder(&lab, &bakeoff(&["run", "s"]), "No such file or directory");
    let checked = bakeoff(&["check", "s/good"]);
    assert_eq!(checked.code, Some(4), "{checked:?}");
    checked.assert_complains(&["bakeoff check: starting good: couldn't make the trial's folder "]);
    lab.assert_nothing_is_left();
}

/// In a network of its own, which gives the ports below these to privileged programs only, and
/// these to clients.
#[test]
fn a_machine_without_a_free_port_fails_by_itself() {
    let lab = Lab::with_good();
    let bakeoff = lab.command(&["run", "s"]);
    let script = "echo 30000 65535 >/proc/sys/net/ipv4/ip_local_port_range || exit 99
        echo 30000 >/proc/sys/net/ipv4/ip_unprivileged_port_start || exit 99
        exec setpriv --bounding-set=-net_bind_service \"$@\"";
    let mut apart = Command::new("unshare");
    apart.args(["--net", "sh", "-c", script, "sh"]);
    apart.arg(bakeoff.get_program()).args(bakeoff.get_args());
    let said = match lab.output(apart.current_dir(lab.dir.path())) {
        Ok(said) => said,
        Err(why) => return skipped("skipped", &format!("unshare can't be started: {why}")),
    };
    if said.code == Some(99)
        || ["unshare: ", "setpriv: "].iter().any(|it| said.stderr.starts_with(it))
    {
        return skipped("skipped", said.stderr.trim());
    }
    failed_by_the_machine(
        &lab,
        &said,
        "none of 100 ports that were tried is free, at last: Permission denied",
    );
}
