//! Whatever is wrong with a study, a contender or the machine: one clear
//! sentence, and what was measured until then is kept.

use std::fs::File;
use std::net::TcpListener;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use result::finding::Verdict;
use result::{Run, State};

use crate::fixture::{Lab, Said, skipped};

/// Asserts that the arguments or files are refused, with all of these words.
fn refused(lab: &Lab, arguments: &[&str], complaints: &[&str]) {
    let said = lab.bakeoff(arguments);
    assert_eq!(said.code, Some(2), "{arguments:?}: {said:?}");
    said.assert_complains(complaints);
}

/// What is changed in the good study or its only contender, and what is said of it.
const WRONG: [(&str, &str, &str, &str); 15] = [
    (STUDY, "question", "qestion", "3:1: unknown key `qestion` (did you mean `question`?)"),
    (
        STUDY,
        "\"one\"",
        "1",
        "18:23: invalid type: integer `1`, expected `\"one\"` or `\"all\"`, as text",
    ),
    (
        STUDY,
        "\"one\"",
        "\"on\"",
        "18:23: unknown value `on` (did you mean `one`?); allowed: `one` or",
    ),
    (STUDY, "\"http1\"", "2", "7:12: a word has to stand here, as text; docs/study-toml.md"),
    (STUDY, "[4] }]", "[4] ]", "18:13: nothing closes this `{`: `}` is missing"),
    (STUDY, "fresh = false }", "fresh = false", "12:10: nothing closes this `{`"),
    (STUDY, "A study", "FILL IN: a study", "2:9: this is still to be filled in"),
    (
        STUDY,
        "settings",
        "contenders = [\"good\", \"goood\"]\nsettings",
        "18:23: there is no contender `goood` (did you mean `good`?); the study has good",
    ),
    (
        STUDY,
        "settings",
        "curve = { cores = \"one\", connections = 5, percent = [50], blocks = 1 }\nsettings",
        "18:9: its maxima come from the closed loop of the same cores, connections and kept, which \
         the profile `quick` lacks among",
    ),
    (GOOD, "language", "langauge", "2:1: unknown key `langauge` (did you mean `language`?)"),
    (GOOD, "run =", "prot = 80\nrun =", "4:1: unknown key `prot`; allowed:"),
    (GOOD, "run =", "ready_within_s = -1\nrun =", "4:18: this has to be from 0.1 to 3600 seconds"),
    (GOOD, "$SOURCE", "$SORCE", "4:16: there is no `$SORCE` (did you mean `$SOURCE`?)"),
    (GOOD, "run =", "files = [\"gone.conf\"]\nrun =", "4:10: there is no file `gone.conf` in"),
    (GOOD, "\"good\"", "\"FILL IN\"", "1:9: this is still to be filled in"),
];
const STUDY: &str = "studies/s/study.toml";
const GOOD: &str = "studies/s/good/contender.toml";

#[test]
fn what_is_wrong_in_a_file_is_a_sentence_with_its_place_before_anything_is_built() {
    for (file, from, to, complaint) in WRONG {
        let lab = Lab::with_good();
        let text = std::fs::read_to_string(lab.path(file)).unwrap();
        assert!(text.contains(from), "{file} has no {from}:\n{text}");
        lab.write(file, &text.replacen(from, to, 1));
        let line = complaint.split(':').next().unwrap();
        refused(
            &lab,
            &["run", "s"],
            &[&format!("{file}:{complaint}"), &format!("\n  {line} | "), " ^\n"],
        );
        assert!(!lab.path("runs").exists(), "nothing was begun");
    }
}

#[test]
fn an_unknown_contract_has_its_file_and_line_and_what_there_is() {
    let lab = Lab::with_good();
    lab.server("good", "good", "contract = \"light\"");
    refused(
        &lab,
        &["run", "s"],
        &[
            "studies/s/good/contender.toml:7:12: unknown contract `light`; the study has one",
            "7 | contract = \"light\"\n                 ^\n",
        ],
    );
    let lab = lab.with_lighter_contract();
    let said = lab.bakeoff(&["check", "s/good"]);
    said.assert_complains(&["unknown contract `light`; allowed: `static`, or none for the full"]);
}

/// The study with this line in its quick profile.
fn with_in_quick(line: &str) -> Lab {
    let lab = Lab::with_good();
    lab.change_study("[profile.quick]\n", &format!("[profile.quick]\n{line}\n"));
    lab
}

/// Who measures somebody else's study or contender doesn't hand over the terminal.
#[test]
fn titles_steer_no_terminal() {
    let lab = Lab::with_good();
    lab.contender("away", "[\"true\"]", "needs = { no-such-program = \"nothing\" }");
    for file in ["studies/s/study.toml", "studies/s/good/contender.toml"] {
        let text = std::fs::read_to_string(lab.path(file)).unwrap();
        assert!(text.contains("title = \""), "{file} has no title");
        lab.write(file, &text.replacen("title = \"", "title = \"\\u001b]0;owned\\u0007", 1));
    }
    let said = lab.bakeoff(&["run", "s", "--only", "away"]);
    said.assert_complains(&["\\u{1b}]0;owned\\u{7}", "nobody is left to measure"]);
    assert!(!said.stderr.contains(['\u{1b}', '\u{7}']), "{said:?}");
    let said = lab.bakeoff(&["check", "s/good"]);
    assert!(said.stdout.starts_with("\\u{1b}]0;owned\\u{7}good (s/good)\n"), "{said:?}");
}

#[test]
fn published_figures_beside_a_contender_that_isnt_there_have_its_line() {
    let lab = Lab::with_good();
    let study = std::fs::read_to_string(lab.path("studies/s/study.toml")).unwrap();
    let published = "\n[[published]]\nrow = \"then\"\ncontender = \"gone\"\nsource = \"us\"\n\
        cores = \"one\"\nkept = false\nconnections = [30]\nrate = [1.0]\n";
    let lines = study.lines().count();
    lab.write("studies/s/study.toml", &(study.trim_end().to_string() + "\n" + published));
    let place = format!("studies/s/study.toml:{}:13", lines + 4);
    let complaints = [place.as_str(), "there is no contender `gone`; the study has good"];
    refused(&lab, &["run", "s"], &complaints);
}

#[test]
fn an_absent_contender_of_a_profile_costs_the_others_nothing() {
    let lab = with_in_quick("contenders = [\"good\", \"away\"]");
    lab.contender("away", "[\"true\"]", "needs = { no-such-program = \"nothing\" }");
    lab.server("unnamed", "good", "");
    let measured = |arguments: &[&str]| {
        let said = lab.bakeoff(arguments);
        assert!(matches!(said.code, Some(0 | 3)), "{said:?}");
        let run = lab.run();
        let mut names: Vec<String> = run.trials.into_iter().map(|it| it.slot.contender).collect();
        names.sort();
        names.dedup();
        names
    };
    assert_eq!(measured(&["run", "s"]), ["good"]);
    assert_eq!(measured(&["run", "s", "--only", "unnamed"]), ["unnamed"], "somebody chose it");
}

/// Else a contract could take longer than the load, or put headers of its own into a
/// request.
#[test]
fn what_a_contract_has_refused_is_bounded() {
    let refused_with = |refusals: String, complaint: &str| {
        let lab = Lab::with_good();
        lab.change_study(
            "fresh = false }\n",
            &format!("fresh = false }}\nrefuses = [{refusals}]\n"),
        );
        refused(&lab, &["run", "s"], &["studies/s/study.toml:", complaint]);
    };
    let one = "{ what = \"w\", path = \"/w\", status = 404 },";
    refused_with(one.repeat(21), "this has to be a list of 20 tables at most");
    for (from, to, bound) in [
        ("\"w\"", format!("\"{}\"", "w".repeat(101)), "text of 1 to 100 characters in one line"),
        ("\"/w\"", format!("\"/{}\"", "w".repeat(10_000)), "of 10000 bytes at most"),
        ("\"/w\"", "\"/w HTTP/1.1\\r\\nHost: x\"".into(), "begins with / and has no space"),
        ("path", "method = \"GET /\", path".into(), "1 to 20 letters, - among them"),
        ("404", "200".into(), "a status from 400 to 599"),
    ] {
        refused_with(one.replacen(from, &to, 1), bound);
    }
}

#[test]
fn an_unknown_study_contender_or_run_is_named_with_what_there_is() {
    let lab = Lab::with_good();
    for (arguments, complaint) in [
        (&["run", "t"][..], "there is no study `t` in studies; it has s; docs/study-toml"),
        (&["run", "s", "--only", "x"], "there is no contender `x` in the study `s`; it has good"),
        (&["run", "s", "--only", "goood"], "in the study `s` (did you mean `good`?); it has good"),
        (&["run", "s", "--profile", "quik"], "no profile `quik` (did you mean `quick`?); it has"),
        (&["chek", "s/good"], "a similar subcommand exists: 'check'"),
        (&["run", "s", "--block", "2"], "a similar argument exists: '--blocks'"),
        (&["run", "./t"], "./t is no study, since it has no study.toml"),
        (&["check", "studies/s"], "there is no study `studies` in studies"),
        (&["run", "--resume", "runs/x"], "couldn't read runs/x"),
        (&["check", "good"], "for example web/go"),
    ] {
        refused(&lab, arguments, &[complaint]);
    }
}

#[test]
fn a_study_without_contender_or_profile_is_named_with_what_there_is() {
    let lab = Lab::new();
    let complaint = "the study `s` has no contender: no folder in studies/s has a contender.toml";
    refused(&lab, &["run", "s"], &[complaint]);
    let lab = Lab::with_good();
    lab.change_study("[profile.full]", "[profile.slow]");
    let complaint = "the study `s` has no profile `full`; it has quick, slow; `--profile NAME`";
    refused(&lab, &["run", "s", "--full"], &[complaint]);
    refused(&lab, &["run", "s", "--profile", "full"], &[complaint]);
    let complaint = "the profile has no load with the cores and the mode that were chosen";
    refused(&lab, &["run", "s", "--cores", "all"], &[complaint]);
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

#[test]
fn a_contender_whose_program_is_missing_is_absent_with_what_gives_it() {
    let lab = Lab::with_good();
    lab.contender("zig", "[\"zig\"]", "needs = { no-such-zig = \"zig-lang\" }");
    let said = lab.bakeoff(&["run", "s"]);
    said.assert_complains(&["zig", "`no-such-zig` is not installed", "apt-get install zig-lang"]);
    let run = lab.run();
    assert_eq!(run.state, State::Complete, "the others are measured");
    let zig = run.contenders.iter().find(|it| it.name == "zig").expect("never silently dropped");
    assert!(zig.absent.as_ref().unwrap().contains("zig-lang"));
    assert!(said.stdout.contains("zig-lang"), "the tables say so too");
}

#[test]
fn programs_are_found_where_only_root_looks() {
    let lab = Lab::new();
    // Every Debian has chroot there, as it has nginx.
    let more =
        "needs = { chroot = \"coreutils\" }\nversions = { it = [\"chroot\", \"--version\"] }";
    lab.contender("server", "[\"sh\", \"-c\", \"chroot --version\"]", more);
    let mut check = lab.command(&["check", "s/server"]);
    let said = lab.output(check.env("PATH", "/usr/bin:/bin")).unwrap();
    assert!(said.stdout.contains("  it: chroot (GNU coreutils)"), "bakeoff found it: {said:?}");
    said.assert_complains(&["its last lines:", "chroot (GNU coreutils)"]);
}

#[test]
fn what_a_program_says_that_fails_is_not_its_version() {
    let lab = Lab::new();
    let command = r#"["sh", "-c", "echo unknown option --version; exit 3"]"#;
    lab.server("good", "good", &format!("versions = {{ perl = {command} }}"));
    let said = lab.bakeoff(&["check", "s/good"]);
    assert_eq!(said.code, Some(0), "it is still to be had: {said:?}");
    assert!(said.stdout.contains("  perl: unknown: it ended with exit code 3\n"), "{said:?}");
}

#[test]
fn a_contender_whose_library_is_missing_is_absent_with_what_gives_it() {
    let lab = Lab::with_good();
    let needs = r#"needs = { "/no/such/zig.h" = "libzig-dev", "/etc/passwd" = "base-passwd" }"#;
    lab.contender("zig", "[\"zig\"]", needs);
    let said = lab.bakeoff(&["check", "s/zig"]);
    assert_eq!(said.code, Some(1), "{said:?}");
    said.assert_complains(&["`/no/such/zig.h` is not installed", "apt-get install libzig-dev"]);
    assert!(!said.stderr.contains("base-passwd"), "that file is there: {}", said.stderr);
}

#[test]
fn a_build_that_fails_shows_its_last_lines_and_the_others_are_measured() {
    let lab = Lab::with_good();
    let build = "build = [\"sh\", \"-c\", \"echo main.zig:7: no such type; exit 4\"]";
    lab.contender("zig", "[\"zig\"]", build);
    let said = lab.bakeoff(&["run", "s"]);
    assert_eq!(said.code, Some(1));
    said.assert_complains(&["build with `sh` failed (exit code 4)", "main.zig:7: no such type"]);
    assert_eq!(lab.run().state, State::Complete);
}

#[test]
fn a_build_that_lacks_something_makes_absent_with_its_last_line() {
    let lab = Lab::with_good();
    let build = "build = [\"sh\", \"-c\", \"echo looking; \
        printf 'Zig 2 is too \\\\033[31mold\\\\n'; exit 69\"]";
    lab.contender("zig", "[\"zig\"]", build);
    let said = lab.bakeoff(&["run", "s"]);
    let run = lab.run();
    assert_eq!(run.state, State::Complete, "the others are measured");
    let zig = run.contenders.iter().find(|it| it.name == "zig").expect("never silently dropped");
    assert_eq!(zig.absent.as_deref(), Some("Zig 2 is too \u{fffd}[31mold"));
    said.assert_complains(&["zig", "Zig 2 is too"]);
    assert!(!said.stderr.contains('\u{1b}'), "no escape reaches the terminal");
}

#[test]
fn a_build_that_lacks_something_and_does_not_say_what_has_failed() {
    let lab = Lab::with_good();
    lab.contender("zig", "[\"zig\"]", "build = [\"sh\", \"-c\", \"exit 69\"]");
    let said = lab.bakeoff(&["run", "s"]);
    assert_eq!(said.code, Some(1));
    said.assert_complains(&["build with `sh` failed (exit code 69); it said nothing"]);
}

#[test]
fn with_nobody_to_measure_the_reasons_are_told() {
    let lab = Lab::new();
    lab.contender("zig", "[\"zig\"]", "needs = { no-such-zig = \"zig-lang\" }");
    let said = lab.bakeoff(&["run", "s"]);
    assert_eq!(said.code, Some(1));
    said.assert_complains(&["nobody is left to measure", "zig-lang"]);
}

/// Runs a study in which `bad` fails and `good` doesn't.
fn failing(lab: &Lab, complaints: &[&str]) {
    let said = lab.bakeoff(&["run", "s"]);
    assert_eq!(said.code, Some(1), "{said:?}");
    said.assert_complains(complaints);
    let run = lab.run();
    let good = run.trials.iter().find(|trial| trial.slot.contender == "good").unwrap();
    assert!(good.evidence.work.is_some(), "the others are measured");
    let bad = run.trials.iter().find(|trial| trial.slot.contender == "bad").unwrap();
    assert!(bad.evidence.process.failure.is_some());
    assert_eq!((&*bad.findings[0].check, bad.findings[0].verdict), ("contract", Verdict::Invalid));
    lab.assert_nothing_is_left();
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

#[test]
fn a_server_that_dies_at_once_shows_its_last_lines() {
    let lab = Lab::with_good();
    lab.contender("bad", "[\"sh\", \"-c\", \"echo no licence found; exit 3\"]", "");
    failing(&lab, &["bad", "it ended with exit code 3", "no licence found"]);
}

#[test]
fn a_server_that_is_no_program_is_named() {
    let lab = Lab::with_good();
    lab.contender("bad", "[\"no-such-server\"]", "");
    failing(&lab, &["couldn't start no-such-server"]);
}

#[test]
fn a_server_that_dies_under_load_shows_its_last_lines() {
    let lab = Lab::with_good();
    lab.server("bad", "dies 400", "");
    failing(&lab, &["it ended with exit code 7 under load", "out of luck after 400 answers"]);
}

#[test]
fn a_server_that_never_answers_is_given_up() {
    let lab = Lab::with_good();
    lab.contender("bad", "[\"sleep\", \"1000\"]", "ready_within_s = 0.3");
    failing(&lab, &["it gave no right answer within 0.3 s", "no connection"]);
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

#[test]
fn a_server_that_answers_garbage_is_quoted_harmlessly() {
    let lab = Lab::with_good();
    lab.server("bad", "garbage", "");
    failing(&lab, &["no HTTP answer"]);
    let said = lab.bakeoff(&["check", "s/bad"]);
    assert_eq!(said.code, Some(1));
    assert!(!said.stderr.contains('\u{1b}'), "no escape reaches the terminal");
}

#[test]
fn a_server_that_answers_somebody_elses_request_is_refused() {
    let lab = Lab::with_good();
    lab.server("bad", "wrong-body", "");
    failing(&lab, &["the body doesn't hold"]);
}

#[test]
fn a_port_in_use_is_told_in_the_servers_own_words() {
    let lab = Lab::with_good();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    lab.server("bad", &format!("fixed-port {port}"), "");
    failing(&lab, &[&format!("can't listen on port {port}"), "Address already in use"]);
}

#[test]
fn a_server_that_forks_away_is_told_to_stay() {
    let lab = Lab::with_good();
    lab.server("bad", "daemon", "");
    failing(&lab, &["it forked away", "`run` has to start it in the foreground"]);
}

#[test]
fn a_server_on_the_wrong_port_is_told_which_one_it_was_given() {
    let lab = Lab::with_good();
    // Time to get as far as listening, on a slow machine too.
    lab.server("bad", "wrong-port", "ready_within_s = 5");
    failing(&lab, &["within 5 s of its start", "it listens on port ", " as $PORT"]);
}

/// One server, a second late: only the key is different. With 60 s in the place of the
/// second nothing else happens, but for the wait.
#[test]
fn a_server_that_starts_too_slowly_is_told_what_to_set_and_with_that_is_measured() {
    let lab = Lab::with_good();
    lab.server("bad", "slow-start 1", "ready_within_s = 0.3");
    failing(&lab, &["within 0.3 s of its start", "say so with `ready_within_s` in its contender"]);

    lab.server("bad", "slow-start 1", "ready_within_s = 60");
    let said = lab.bakeoff(&["run", "s"]);
    assert!(matches!(said.code, Some(0 | 3)), "{said:?}");
    let run = lab.run();
    let slow = run.trials.iter().find(|trial| trial.slot.contender == "bad").unwrap();
    assert!(slow.evidence.work.is_some(), "{:?}", slow.evidence.process);
    assert!(slow.evidence.ready_s >= Some(1.0));
}

/// Longer than other wrong answers are forgiven.
#[test]
fn a_server_that_says_503_while_it_starts_is_given_the_time_that_it_asks_for() {
    let lab = Lab::new();
    lab.server("slow", "unavailable 4", "ready_within_s = 0.3");
    let said = lab.bakeoff(&["check", "s/slow"]);
    assert_eq!(said.code, Some(1), "{said:?}");
    said.assert_complains(&["status 503 instead of 200", "say so with `ready_within_s`"]);
    lab.server("slow", "unavailable 4", "ready_within_s = 60");
    let said = lab.bakeoff(&["check", "s/slow"]);
    assert_eq!(said.code, Some(0), "{said:?}");
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

/// 5,000 connections, each a file descriptor at both ends.
#[test]
fn a_server_that_dies_at_5000_connections_costs_the_others_nothing() {
    let lab = Lab::with_good();
    lab.server("bad", "dies-at 4900", "");
    let said = lab.bakeoff(&["run", "s", "--connections", "5000"]);
    assert_eq!(said.code, Some(1), "{said:?}");
    said.assert_complains(&[
        "bad · 5,000 connections kept alive, one core",
        "it ended with exit code 7 under load",
        "no room for 4900 connections",
    ]);
    let run = lab.run();
    for trial in run.trials.iter().filter(|trial| trial.slot.contender == "good") {
        let client = trial.evidence.clients.first().expect("the others are measured");
        assert_eq!(client.connections_established, 5000);
        assert!(client.good > 0);
    }
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
    let folder = std::path::PathBuf::from(format!("/tmp/hsperfdata_{name}"));
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
fn failed_by_the_machine(lab: &Lab, said: &Said, why: &str) -> result::Run {
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

fn no_folder(lab: &Lab, said: &Said, why: &str) -> result::Run {
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
