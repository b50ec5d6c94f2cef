//! Servers that fail or misbehave: each is told of, and the others are measured.

use std::fs::File;
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use result::finding::Verdict;
use result::{Run, State};

use crate::fixture::{Lab, Said};

/// What a contender is.
enum Is {
    /// The test server in this mode.
    Server(&'static str),
    /// This command.
    Command(&'static str),
}

/// A contender that fails: its name, what it is, further lines of its file, and what is said.
type Failing = (&'static str, Is, &'static str, &'static [&'static str]);

/// `TAKEN` stands for a port that somebody else listens on. What listens elsewhere needs time to get
/// as far as that, on a slow machine too.
const FAILING: [Failing; 10] = [
    (
        "dies-at-once",
        Is::Command("[\"sh\", \"-c\", \"echo no licence found; exit 3\"]"),
        "",
        &["it ended with exit code 3", "no licence found"],
    ),
    ("no-program", Is::Command("[\"no-such-server\"]"), "", &["couldn't start no-such-server"]),
    (
        "dies-under-load",
        Is::Server("dies 400"),
        "",
        &["it ended with exit code 7 under load", "out of luck after 400 answers"],
    ),
    (
        "never-answers",
        Is::Command("[\"sleep\", \"1000\"]"),
        "ready_within_s = 0.3",
        &["it gave no right answer within 0.3 s", "no connection"],
    ),
    ("answers-garbage", Is::Server("garbage"), "", &["no HTTP answer"]),
    ("answers-somebody-elses-request", Is::Server("wrong-body"), "", &["the body doesn't hold"]),
    (
        "forks-away",
        Is::Server("daemon"),
        "",
        &["it forked away", "it has to be started in the foreground"],
    ),
    (
        "listens-elsewhere",
        Is::Server("wrong-port"),
        "ready_within_s = 5",
        &["within 5 s of its start", "it listens on port ", " as $PORT"],
    ),
    (
        "starts-too-slowly",
        Is::Server("slow-start 1"),
        "ready_within_s = 0.3",
        &["within 0.3 s of its start", "say so with `ready_within_s` in its contender"],
    ),
    (
        "port-in-use",
        Is::Server("fixed-port TAKEN"),
        "",
        &["can't listen on port TAKEN", "Address already in use"],
    ),
];

#[test]
fn a_server_that_fails_is_told_of_and_the_others_are_measured() {
    // Most of them are waited for.
    const RUNS: usize = 3;
    std::thread::scope(|scope| {
        for nth in 0..RUNS {
            let some: Vec<&Failing> = FAILING.iter().skip(nth).step_by(RUNS).collect();
            scope.spawn(move || they_fail_beside_one_that_is_measured(&some));
        }
    });
}

fn they_fail_beside_one_that_is_measured(failing: &[&Failing]) {
    let lab = Lab::with_good();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    for (name, is, more, _) in failing {
        match is {
            Is::Server(mode) => lab.server(name, &mode.replace("TAKEN", &port), more),
            Is::Command(command) => lab.contender(name, command, more),
        }
    }
    let said = lab.bakeoff(&["run", "s"]);
    assert_eq!(said.code, Some(1), "{said:?}");
    let run = lab.run();
    let of = |name: &str| run.trials.iter().find(|trial| trial.slot.contender == name).unwrap();
    assert!(of("good").evidence.work.is_some(), "the others are measured");
    for (name, _, _, complaints) in failing {
        let process = &of(name).evidence.process;
        let failure = process.failure.as_ref().unwrap_or_else(|| panic!("{name} did its job"));
        let recorded = format!("{failure}\n{}", process.last_words.join("\n"));
        for complaint in complaints.iter().map(|it| it.replace("TAKEN", &port)) {
            said.assert_complains(&[name, &complaint]);
            assert!(recorded.contains(&complaint), "{name} has no {complaint:?}: {recorded}");
        }
        let first = &of(name).findings[0];
        assert_eq!((&*first.check, first.verdict), ("contract", Verdict::Invalid), "{name}");
    }
    assert!(!said.stderr.contains('\u{1b}'), "an escape reaches the terminal");
    lab.assert_nothing_is_left();
}

#[test]
fn a_server_that_answers_garbage_is_quoted_harmlessly() {
    let lab = Lab::new();
    lab.server("bad", "garbage", "");
    let said = lab.bakeoff(&["check", "s/bad"]);
    assert_eq!(said.code, Some(1));
    said.assert_complains(&["no HTTP answer"]);
    assert!(!said.stderr.contains('\u{1b}'), "an escape reaches the terminal");
}

/// With 60 s in the place of the second nothing else happens, but for the wait.
#[test]
fn a_server_that_starts_slowly_and_says_so_is_measured() {
    let lab = Lab::new();
    lab.server("slow", "slow-start 1", "ready_within_s = 60");
    let said = lab.bakeoff(&["run", "s"]);
    assert!(matches!(said.code, Some(0 | 3)), "{said:?}");
    let run = lab.run();
    let slow = run.trials.iter().find(|trial| trial.slot.contender == "slow").unwrap();
    assert!(slow.evidence.work.is_some(), "{:?}", slow.evidence.process);
    assert!(slow.evidence.ready_s >= Some(1.0));
}

/// Longer than other wrong answers are forgiven. Who asks for less is given long enough to listen at
/// all, on a slow machine too.
#[test]
fn a_server_that_says_503_while_it_starts_is_given_the_time_that_it_asks_for() {
    let lab = Lab::new();
    lab.server("slow", "unavailable 600", "ready_within_s = 2.5");
    let said = lab.bakeoff(&["check", "s/slow"]);
    assert_eq!(said.code, Some(1), "{said:?}");
    said.assert_complains(&["status 503 instead of 200", "say so with `ready_within_s`"]);
    lab.server("slow", "unavailable 4", "ready_within_s = 60");
    let said = lab.bakeoff(&["check", "s/slow"]);
    assert_eq!(said.code, Some(0), "{said:?}");
}

#[test]
fn a_run_without_a_figure_that_stands_has_an_exit_code_of_its_own() {
    let lab = Lab::new();
    lab.server("overloaded", "turns-away 400", "");
    let said = lab.bakeoff(&["run", "s"]);
    assert_eq!(said.code, Some(3), "{said:?}");
    let run = lab.run();
    assert_eq!(run.state, State::Complete);
    assert!(run.outcomes[0].rows.iter().all(|row| row.verdict == Verdict::Invalid));
    // A failure weighs more: scripts must not take it for a busy machine.
    lab.contender("zig", "[\"zig\"]", "build = [\"sh\", \"-c\", \"exit 4\"]");
    assert_eq!(lab.bakeoff(&["run", "s"]).code, Some(1));
}

/// Else nothing would be left to do but measure the others again, too.
#[test]
fn a_server_that_was_given_up_is_measured_once_it_is_mended() {
    let lab = Lab::with_good().in_two_blocks();
    lab.server("bad", "good", "ready_within_s = 5");
    let mend = lab.path("studies/s/bad");
    let mended = lab.path("mended");
    std::fs::rename(&mend, &mended).unwrap();
    lab.contender("bad", "[\"sh\", \"-c\", \"echo no licence found; exit 3\"]", "");
    let said = lab.bakeoff(&["run", "s", "--full"]);
    assert_eq!(said.code, Some(1), "{said:?}");
    said.assert_complains(&["Given up after repeated failures: bad. Mend what failed, then: "]);
    let run = lab.run();
    let failures = |run: &Run| {
        let trials = run.trials.iter().chain(&run.failed);
        trials.filter(|trial| trial.evidence.process.failure.is_some()).count()
    };
    assert_eq!((run.state, failures(&run)), (State::Unfinished, 2));
    std::fs::remove_dir_all(&mend).unwrap();
    std::fs::rename(&mended, &mend).unwrap();
    lab.assert_resume_completes(&run);
    let run = lab.run();
    assert_eq!((run.failed.len(), failures(&run)), (2, 2), "what failed isn't hidden");
    // It is measured now, and so must stay what it is.
    lab.server("bad", "good twice", "ready_within_s = 5");
    let refused = lab.bakeoff(&["run", "--resume", "runs/latest"]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    refused.assert_complains(&["the files of bad are not what they were"]);
}

/// More connections than a process may have open by default, each a file at both ends.
#[test]
fn a_server_that_dies_at_1500_connections_costs_the_others_nothing() {
    let lab = Lab::with_good();
    lab.server("bad", "dies-at 1400", "");
    let said = lab.bakeoff(&["run", "s", "--connections", "1500"]);
    assert_eq!(said.code, Some(1), "{said:?}");
    said.assert_complains(&[
        "bad · 1,500 connections kept alive, one core",
        "it ended with exit code 7 under load",
        "no room for 1400 connections",
    ]);
    let run = lab.run();
    for trial in run.trials.iter().filter(|trial| trial.slot.contender == "good") {
        let client = trial.evidence.clients.first().expect("the others are measured");
        assert_eq!(client.connections_established, 1500);
    }
    // Beside other tests a short window may have no answer.
    let mut clients = run.trials.iter().flat_map(|trial| &trial.evidence.clients);
    assert!(clients.any(|client| client.good > 0), "the others have no answer");
    lab.assert_nothing_is_left();
}

/// Seeds by which `odd` is the one of two that is measured twice, or `good`.
const WITH_ODD_TWICE: &str = "1";
const WITH_GOOD_TWICE: &str = "2";

/// Asserts that a study was run in which `odd` does its job, and misbehaves beside it.
fn measured_and_told(lab: &Lab, said: &Said, complaint: &str) {
    assert!(matches!(said.code, Some(0 | 3)), "{said:?}");
    said.assert_complains(&[complaint]);
    assert_eq!(said.stderr.matches(complaint).count(), 1, "told of each trial: {}", said.stderr);
    let run = lab.run();
    assert_eq!(run.state, State::Complete);
    assert!(run.trials.iter().all(|trial| trial.evidence.work.is_some()), "all are measured");
    lab.assert_nothing_is_left();
}

#[test]
fn a_server_that_ignores_sigterm_is_killed_and_told_of() {
    let lab = Lab::with_good();
    lab.server("odd", "ignores-term", "");
    let said = lab.bakeoff(&["run", "s", "--seed", WITH_ODD_TWICE]);
    measured_and_told(&lab, &said, "odd didn't end on SIGTERM");
}

/// As a process does that can't be ended: else the run would wait for it for ever.
#[test]
fn an_output_that_somebody_holds_on_to_is_told_of_and_not_waited_for() {
    let lab = Lab::new();
    lab.server("odd", "good", "");
    let pids = lab.path("pids");
    let first_pid = || -> Option<u32> {
        let pids = std::fs::read_to_string(&pids).ok()?;
        pids.split_once('\n')?.0.parse().ok()
    };
    let held = std::thread::scope(|scope| {
        let holder = scope.spawn(|| {
            let deadline = Instant::now() + Duration::from_secs(60);
            while Instant::now() < deadline {
                let output = first_pid().map(|pid| format!("/proc/{pid}/fd/1"));
                match output.and_then(|output| File::options().write(true).open(output).ok()) {
                    Some(held) => return Some(held),
                    None => std::thread::sleep(Duration::from_millis(1)),
                }
            }
            None
        });
        lab.bakeoff(&["run", "s"]);
        holder.join().unwrap()
    });
    assert!(held.is_some(), "nobody held it");
    let run = lab.run();
    // On a busy machine the trial may have been made again.
    let mut trials = run.trials.iter().chain(&run.disturbed);
    let failure = trials.find_map(|it| it.evidence.process.failure.as_deref());
    assert!(failure.is_some_and(|why| why.ends_with("holds its output still")), "{run:?}");
    drop(held);
    lab.assert_nothing_is_left();
}

#[test]
fn a_server_that_writes_a_gigabyte_is_told_of_and_takes_no_memory_for_it() {
    let lab = Lab::with_good().measuring_a_second();
    lab.server("odd", "floods 1024", "ready_within_s = 300");
    // Bakeoff, which reads the output, can't have half of that in memory.
    let bakeoff = lab.command(&["run", "s", "--seed", WITH_GOOD_TWICE]);
    let mut limited = Command::new("prlimit");
    limited.arg("--data=536870912").arg(bakeoff.get_program()).args(bakeoff.get_args());
    limited.envs(bakeoff.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let said = lab.output(limited.current_dir(lab.dir.path())).unwrap();
    measured_and_told(&lab, &said, "odd wrote 1024 MiB to its output");
    let run = lab.run();
    let odd = run.trials.iter().find(|trial| trial.slot.contender == "odd").unwrap();
    assert!(odd.evidence.process.output_bytes >= Some(1 << 30));
}

/// A JVM's file is in /tmp whatever it is told, so this one is too: in a folder of
/// this test's own, under a name that no other process has.
#[test]
fn no_temporary_file_outlives_a_run() {
    let lab = Lab::new();
    let name = lab.dir.path().file_name().unwrap().to_str().unwrap().trim_start_matches('.');
    let folder = PathBuf::from(format!("/tmp/hsperfdata_{name}"));
    lab.server("jvm", "leaves-files", "");
    let toml = std::fs::read_to_string(lab.path("studies/s/jvm/contender.toml")).unwrap();
    let own = format!("environment = {{ LEAVES_FOR = \"{name}\", ");
    lab.write("studies/s/jvm/contender.toml", &toml.replace("environment = { ", &own));
    lab.bakeoff(&["run", "s"]);
    assert!(lab.run().trials[0].evidence.work.is_some(), "{:?}", lab.run().trials[0].evidence);
    assert!(folder.is_dir(), "the program left nothing that could be removed");
    let left: Vec<_> = std::fs::read_dir(&folder).unwrap().flatten().map(|it| it.path()).collect();
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(left.is_empty(), "{left:?} outlived the run");
    lab.assert_nothing_is_left();
}
