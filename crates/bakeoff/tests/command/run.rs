//! `bakeoff run` as its users see it: a whole run, an interrupted one, one that
//! is killed.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::process::Command;

use lab::place::{Host, ThisMachine};
use lab::plan::{Choice, Order, plan};
use lab::study::Study;
use result::evidence::CpuSource;
use result::figure::RATE;
use result::finding::Verdict;
use result::plan::{Cores, Pace, PaceKind, Setting};
use result::{Run, State};
use rustix::process::{Pid, Signal, kill_process};

use crate::fixture::{Lab, keys, said, skipped};

fn send(child: &std::process::Child, signal: Signal) {
    kill_process(Pid::from_raw(child.id() as i32).unwrap(), signal).unwrap();
}

#[test]
fn a_run_is_planned_measured_judged_and_reported() {
    let lab = Lab::with_good();
    lab.server("other", "good", "");
    let said = lab.bakeoff(&["run", "s", "--quick", "--seed", "7"]);
    // On a busy machine no figure stands, and the exit code says so.
    assert!(matches!(said.code, Some(0 | 3)), "{said:?}");
    assert!(said.stderr.contains("3 to make, each a fresh process"), "{}", said.stderr);
    assert!(said.stdout.contains("4 connections"), "{}", said.stdout);

    let run = lab.run();
    assert_eq!(run.state, State::Complete);
    assert_eq!(run.command, "bakeoff run s --profile quick --seed 7");
    assert_eq!(run.trials.len(), 3, "two contenders and a twin");
    for trial in &run.trials {
        let evidence = &trial.evidence;
        let work = evidence.work.as_ref().expect("every trial got as far as load");
        assert!(work.done > 0 && work.errors.is_empty(), "{:?}", work.errors);
        assert_eq!(evidence.clients[0].connections_established, 4);
        assert!(evidence.contract.iter().all(|step| step.wrong.is_none()));
        assert!(evidence.server_cpu_s.is_some(), "the server's processes were sampled");
        assert!(!trial.findings.is_empty(), "no figure goes without a verdict");
    }
    assert_eq!(run.outcomes[0].rows.len(), 2);
    assert!(lab.path("runs/latest/report.html").is_file());
    let made = run.trials.len() + run.disturbed.len();
    assert_eq!(lab.servers().len(), made, "each trial is a fresh process");
    lab.assert_nothing_is_left();
}

/// Else each of its trials would wait as often as the contract has steps, and then put load
/// on a server that is silent.
#[test]
fn who_hangs_in_the_contract_before_the_load_or_after_it_is_given_up() {
    let gives_up = |mode: &str, is_loaded: bool| {
        let lab = Lab::new();
        lab.server("silent", mode, "");
        let said = lab.bakeoff(&["run", "s", "--full", "--seed", "1"]);
        let run = lab.run();
        let evidence = run.trials.iter().map(|trial| &trial.evidence);
        // On a busy machine some are to be made again.
        let evidence: Vec<_> =
            evidence.chain(run.disturbed.iter().map(|trial| &trial.evidence)).collect();
        assert_eq!(evidence.len(), 2, "{mode}: {said:?}");
        assert!(evidence.iter().all(|it| it.hung() && it.work.is_some() == is_loaded), "{mode}");
        assert!(said.stderr.contains("silent failed repeatedly"), "{mode}: {}", said.stderr);
        lab.assert_nothing_is_left();
    };
    // Both wait for an answer nearly all the time.
    std::thread::scope(|scope| {
        scope.spawn(|| gives_up("hangs 2", false));
        // The contract has about 330 requests, each on a connection of its own but for a few.
        scope.spawn(|| gives_up("hangs-from 400", true));
    });
}

#[test]
fn a_run_into_a_pipe_says_what_it_will_do_before_it_builds_and_whom_it_builds() {
    let lab = Lab::with_good();
    lab.contender("away", "[\"true\"]", "needs = { no-such-program = \"nothing\" }");
    let said = lab.bakeoff(&["run", "s", "--seed", "7"]);
    let mut from = 0;
    for next in [
        "A study of tests: Does it work?\n",
        "\n  contenders   away, good; one of them twice",
        "\n  closed loop  4 connections kept alive, one core; 1 shuffled block\n",
        " for 3 trials; builds come first, and aren't counted\n",
        "\npreparing away, 1 of 2\n",
        "Left out: away: ",
        "preparing good, 2 of 2\n",
        "Ready: good\n",
        "\n  trials       2 to make, each a fresh process",
    ] {
        let at = said.stderr[from..].find(next);
        from += at.unwrap_or_else(|| panic!("{next:?} isn't said, or too early: {said:?}"));
    }
    lab.assert_nothing_is_left();
}

#[test]
fn the_time_left_is_that_of_the_trials_left_however_long_others_warm_up() {
    let lab = Lab::with_good();
    lab.server("slow", "good", "warmup_s = 3600");
    // A trial of `good` comes first, and its twin's is among the other two.
    let study = Study::read(&lab.path("studies"), "s").unwrap();
    let profile = &study.file.profile["quick"];
    let contenders: Vec<_> = study.contenders.iter().collect();
    let is_it = |seed: &u64| {
        let order = (*seed, Order::Shuffled);
        let slots = plan("quick", profile, &Choice::default(), &contenders, order).slots;
        slots[0].contender == "good" && slots.iter().any(|it| it.twin && it.contender == "good")
    };
    let seed = (1..).find(is_it).unwrap().to_string();
    let mut child = lab.start(&["run", "s", "--seed", &seed]);
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    let first = lines.find(|line| line.contains("good · ")).expect("a trial of it ends first");
    send(&child, Signal::INT);
    let rest: Vec<String> = lines.collect();
    assert!(first.ends_with(" · 1 h 0 min left"), "{first}");
    assert_eq!(child.wait().unwrap().code(), Some(130), "{rest:?}");
    lab.assert_nothing_is_left();
}

#[test]
fn a_contender_is_held_to_the_lighter_contract_that_it_names_and_labelled() {
    let lab = Lab::with_good().with_lighter_contract();
    // The same text for all, which the full contract calls a wrong body.
    lab.server("fixed", "wrong-body", "contract = \"static\"");
    let said = lab.bakeoff(&["run", "s"]);
    // On a busy machine no figure stands, and the exit code says so.
    assert!(matches!(said.code, Some(0 | 3)), "{said:?}");
    assert!(said.stdout.contains("fixed keeps the lighter contract `static`"), "{}", said.stdout);

    let run = lab.run();
    let keeps: Vec<_> =
        run.contenders.iter().map(|it| (&*it.name, it.lighter_contract.as_deref())).collect();
    assert_eq!(keeps, [("fixed", Some("static")), ("good", None)]);
    for trial in &run.trials {
        let work = trial.evidence.work.as_ref().expect("both got as far as load");
        assert!(work.done > 0 && work.errors.is_empty(), "{:?}", work.errors);
        assert!(trial.evidence.contract.iter().all(|step| step.wrong.is_none()));
    }
    lab.assert_nothing_is_left();
}

#[test]
fn every_key_of_run_json_is_documented() {
    let lab = Lab::with_good().with_lighter_contract();
    lab.write("studies/s/good/build.sh", "true\n");
    lab.server("good", "good", "build = [\"sh\", \"$SOURCE/build.sh\"]");
    // The second contender brings errors into it.
    lab.server("other", "dies 400", "");
    lab.write("studies/s/study.toml", &with_open_loops(&lab));
    lab.bakeoff(&["run", "s"]);
    let documented = include_str!("../../../../docs/run-json.md");
    let all = keys(&serde_json::to_value(lab.run()).unwrap());
    for deep in ["kind", "busy_share", "cut"] {
        assert!(all.contains(deep), "it has no {deep}: {all:?}");
    }
    for key in all {
        assert!(documented.contains(&format!("`{key}`")), "docs/run-json.md lacks `{key}`");
    }
}

const OPEN_LOOPS: &str = r#"
[profile.quick]
blocks = 2
measure_s = 0.5
warmup_s = 0.1
settings = [{ cores = "one", connections = [4], kept = [true, false] }]
equal_rate = { cores = "one", connections = 4, percent = 50 }
curve = { cores = "one", connections = 4, percent = [20, 110], blocks = 1 }
"#;

/// The study with a profile of every kind of load.
fn with_open_loops(lab: &Lab) -> String {
    let study = std::fs::read_to_string(lab.path("studies/s/study.toml")).unwrap();
    let (contract, _) = study.split_once("[profile.quick]").unwrap();
    format!("{contract}{OPEN_LOOPS}")
}

#[test]
fn open_loops_follow_from_the_closed_one_also_in_a_resumed_run() {
    let lab = Lab::with_good();
    lab.write("studies/s/study.toml", &with_open_loops(&lab));
    let said = lab.bakeoff(&["run", "s"]);
    assert!(matches!(said.code, Some(0 | 1 | 3)), "{said:?}");
    assert!(said.stderr.contains("20, 110 % of each one's own maximum"), "{}", said.stderr);
    let mut run = lab.run();
    assert_eq!(run.state, State::Complete);
    for slot in &run.plan.slots {
        let is_made = run.trials.iter().any(|trial| trial.slot == *slot);
        let left_out = run.left_out.iter().find(|it| it.setting == slot.setting);
        assert!(is_made != left_out.is_some(), "dropped without a word: {slot:?}");
    }

    // On a busy machine no maximum stands. This run was interrupted after a closed
    // loop that does.
    run.trials.retain(|trial| trial.slot.setting.pace == Pace::Free);
    run.trials.iter_mut().for_each(|trial| trial.findings.clear());
    run.left_out.clear();
    run.disturbed.clear();
    run.state = State::Unfinished;
    let folder = format!("runs/{}", run.id);
    lab.write(&format!("{folder}/run.json"), &serde_json::to_string(&run).unwrap());
    let said = lab.bakeoff(&["run", "--resume", &folder]);
    assert!(said.stdout.contains("One rate for all"), "{said:?}");
    let run = lab.run();
    assert_eq!((run.state, run.trials.len()), (State::Complete, run.plan.slots.len()));
    // A busy machine may make one of the two invalid, which then is left out of the
    // maximum: so it's the slower's rate, the faster's, or between them.
    let of_the_closed = run.trials.iter().filter_map(|trial| {
        let is_it = trial.slot.setting == Setting::closed(4, Cores::One, true) && !trial.slot.twin;
        is_it.then(|| trial.evidence.work.as_ref().map(|work| work.rate))?
    });
    let closed: Vec<f64> = of_the_closed.collect();
    assert_eq!(closed.len(), 2);
    let slower = closed.iter().copied().fold(f64::INFINITY, f64::min);
    let faster = closed.iter().copied().fold(0.0, f64::max);
    let of_curve = run.curves[0].lines[0].maximum_rate.expect("the curve was made");
    assert!((slower * 0.999..faster * 1.001).contains(&of_curve), "{of_curve} of {closed:?}");
    let mut equal = BTreeSet::new();
    for trial in &run.trials {
        let seconds = trial.evidence.work.as_ref().unwrap().seconds;
        let client = &trial.evidence.clients[0];
        let (percent, maximum) = match trial.slot.setting.pace {
            Pace::Free | Pace::Fixed { .. } => continue,
            Pace::Own { percent } => (f64::from(percent), Some(of_curve)),
            Pace::Equal { percent } => (f64::from(percent), None),
        };
        let offered = client.offered_rate.expect("an open loop has a rate");
        let whole = offered * 100.0 / percent;
        match maximum {
            Some(maximum) => assert!((whole / maximum - 1.0).abs() < 1e-6, "{whole} of {maximum}"),
            None => {
                equal.insert(offered.to_bits());
                assert!((slower * 0.999..faster * 1.001).contains(&whole), "{whole} of {closed:?}");
            }
        }
        // Where the machine stood still in the closed loop, a window may have no request.
        if offered * seconds >= 4.0 {
            assert!(client.lateness_us.is_some() && client.scheduled > 0, "{client:?}");
        }
    }
    assert_eq!(equal.len(), 1, "the rate for all isn't one");
    let at_one_rate = run.outcomes_at(PaceKind::Equal).next().unwrap();
    assert_eq!(at_one_rate.rows[0].figures[RATE].blocks.len(), 2);
    let line = &run.curves[0].lines[0];
    assert_eq!(line.points.iter().map(|point| point.percent).collect::<Vec<_>>(), [20, 110]);
    lab.assert_nothing_is_left();
}

#[test]
fn where_the_pair_is_invalid_another_contender_is_measured_twice_too() {
    let lab = Lab::with_good();
    lab.server("other", "good", "");
    lab.bakeoff(&["run", "s"]);
    // Of six blocks, this run has made all that was planned of the first, and the
    // pair's second trial alone is invalid.
    let mut run = lab.run();
    run.plan.blocks = 6;
    run.disturbed.clear();
    run.state = State::Unfinished;
    for trial in &mut run.trials {
        trial.findings.retain(|it| trial.slot.twin && it.check == "client-limit");
        trial.findings.iter_mut().for_each(|it| it.verdict = Verdict::Invalid);
    }
    let folder = format!("runs/{}", run.id);
    lab.write(&format!("{folder}/run.json"), &serde_json::to_string(&run).unwrap());
    let said = lab.bakeoff(&["run", "--resume", &folder]);
    said.assert_complains(&[" is measured twice too, because the A/A pair can't be used\n"]);
    let completed = lab.run();
    let [planned @ .., added] = &completed.plan.slots[..] else { panic!("{completed:?}") };
    assert_eq!(planned, run.plan.slots);
    assert_eq!((added.number, added.block, added.twin), (3, 0, true));
    let pair = planned.iter().find(|slot| slot.twin).unwrap();
    assert_ne!(added.contender, pair.contender);
    assert_eq!((completed.state, completed.trials.len()), (State::Complete, 4));

    lab.bakeoff(&["run", "--resume", &folder]);
    assert_eq!(lab.run().plan, completed.plan, "a block gets one other pair");
    lab.assert_nothing_is_left();
}

/// For tests that look at what is planned, and wait for no trial.
fn of_who_ends_at_once() -> Lab {
    let lab = Lab::new();
    lab.contender("good", "[\"false\"]", "");
    lab.contender("other", "[\"false\"]", "");
    lab
}

#[test]
fn the_same_seed_plans_the_same_trials() {
    let lab = of_who_ends_at_once();
    let plan = || {
        lab.bakeoff(&["run", "s", "--cores", "1", "--connections", "2,3", "--seed", "5"]);
        lab.run().plan
    };
    assert_eq!(plan(), plan());
}

/// The name has a blank, so that it shows that the command is one for a shell.
/// As the shell completes them.
#[test]
fn a_study_is_run_by_its_folder_for_as_long_as_is_asked_for_and_resumed_from_anywhere() {
    let lab = Lab::with_good();
    std::fs::rename(lab.path("studies"), lab.path("other")).unwrap();
    let length = ["--blocks", "2", "--seconds", "0.2", "--warmup", "0.15", "--seed", "5"];
    let said = lab.bakeoff(&[&["run", "other/s/"], &length[..]].concat());
    assert!(matches!(said.code, Some(0 | 3)), "{said:?}");
    let run = lab.run();
    let plan = &run.plan;
    assert_eq!((plan.blocks, plan.measure_s, plan.warmup_s), (2, 0.2, 0.15));
    assert_eq!(plan.profile, "quick, of another length");
    let repeats = "bakeoff run s --profile quick --blocks 2 --seconds 0.2 --warmup 0.15 --seed 5 \
                   --studies other";
    assert_eq!(run.command, repeats);
    for trial in &run.trials {
        let seconds = trial.evidence.work.as_ref().map(|work| work.seconds);
        assert!(seconds.is_some_and(|seconds| seconds < 0.3), "{seconds:?}");
    }
    assert_eq!(run.studies.as_deref(), Some("../../other"));
    std::fs::create_dir(lab.path("elsewhere")).unwrap();
    let mut resume = lab.command(&["run", "--resume", "../runs/latest"]);
    let said = lab.output(resume.current_dir(lab.path("elsewhere"))).unwrap();
    assert!(matches!(said.code, Some(0 | 3)), "its study is remembered: {said:?}");
    for arguments in
        [&["check", "other/s/good/"][..], &["check", "./other/s/good"], &["doctor", "./other/s"]]
    {
        let said = lab.bakeoff(arguments);
        assert!(matches!(said.code, Some(0 | 3)), "{arguments:?}: {said:?}");
    }
    lab.assert_nothing_is_left();
}

#[test]
fn a_profile_of_the_studys_own_is_run_by_its_name_and_the_command_repeats_it() {
    let lab = of_who_ends_at_once();
    lab.change_study("[profile.full]", "[profile.\"two short\"]");
    lab.change_study("blocks = 6", "blocks = 2");
    lab.bakeoff(&["run", "s", "--profile", "two short", "--only", "good,other", "--seed", "5"]);
    let run = lab.run();
    assert_eq!((&*run.plan.profile, run.plan.blocks), ("two short", 2));
    let command = "bakeoff run s --profile 'two short' --only good,other --seed 5";
    assert_eq!(run.command, command);
    let both = lab.bakeoff(&["run", "s", "--profile", "two short", "--full"]);
    assert_eq!(both.code, Some(2), "one of them would be passed over: {both:?}");
    lab.bakeoff(&["run", "s", "--seed", "5"]);
    let run = lab.run();
    assert_eq!((&*run.plan.profile, run.plan.blocks), ("quick", 1), "what holds without it");
    assert_eq!(run.command, "bakeoff run s --profile quick --seed 5");
}

#[test]
fn ctrl_c_keeps_what_was_measured_and_resume_completes_it() {
    let lab = Lab::with_good().in_two_blocks();
    let child = lab.start(&["run", "s", "--full"]);
    lab.wait_until("some trials are kept", || {
        lab.path("runs/latest/run.json").is_file() && lab.run().trials.len() >= 2
    });
    let second = lab.bakeoff(&["run", "--resume", "runs/latest"]);
    assert_eq!(second.code, Some(2), "two make the trials of one run: {second:?}");
    second.assert_complains(&["another bakeoff makes the trials of ", "/runs/s-"]);
    send(&child, Signal::INT);
    let interrupted = said(child.wait_with_output().unwrap());
    assert_eq!(interrupted.code, Some(130), "{interrupted:?}");
    interrupted.assert_complains(&["Interrupted. ", "bakeoff run --resume "]);
    assert!(interrupted.stdout.starts_with("So far, with "), "{interrupted:?}");
    lab.assert_nothing_is_left();
    let before = lab.run();
    assert_eq!(before.state, State::Unfinished);
    assert!(!before.outcomes.is_empty(), "what was measured is concluded from");

    lab.assert_resume_completes(&before);
}

#[test]
fn a_run_that_is_killed_keeps_every_trial_that_was_over_and_resume_completes_it() {
    let lab = Lab::with_good().in_two_blocks();
    let mut child = lab.start(&["run", "s", "--full"]);
    lab.wait_until("some trials are kept", || {
        lab.path("runs/latest/run.json").is_file() && lab.run().trials.len() >= 2
    });
    let kept = lab.run().trials;
    send(&child, Signal::KILL);
    child.wait().unwrap();
    let run = lab.run();
    assert!(kept.iter().all(|trial| run.trials.contains(trial)), "a trial was lost");
    lab.assert_nothing_is_left();

    let reported = lab.bakeoff(&["report", "runs/latest"]);
    assert_eq!(reported.code, Some(0), "{reported:?}");
    let (made, planned) = (run.trials.len(), run.plan.slots.len());
    let so_far = format!("So far, with {made} of {planned} trials: ");
    assert!(reported.stdout.starts_with(&so_far), "not {so_far}: {reported:?}");
    assert_eq!(lab.run(), run, "to show it changed it");

    lab.assert_resume_completes(&run);
}

/// A contender with a child that left its session and ignores SIGTERM. In the full
/// profile, its first trial outlasts the test.
fn with_stubborn_child() -> Lab {
    let lab = Lab::new();
    lab.change_study("measure_s = 0.1", "measure_s = 600");
    lab.server("good", "leaves-child", "");
    lab
}

#[test]
fn nothing_outlives_a_bakeoff_that_is_killed() {
    let lab = with_stubborn_child();
    let mut child = lab.start(&["run", "s", "--full"]);
    lab.wait_until("there is load", || lab.living_clients().len() == 1);
    assert_eq!(lab.living_servers().len(), 2, "server and child run");
    send(&child, Signal::KILL);
    child.wait().unwrap();
    lab.assert_nothing_is_left();
}

/// A contender with a build that lasts; starts a run, and gives the build's process once it is
/// there.
fn in_a_long_build(lab: &Lab) -> (std::process::Child, i32) {
    let pid = lab.path("build-pid");
    // Written under another name, so that the number is whole.
    let script = format!("echo $$ > {0}.new; mv {0}.new {0}; exec sleep 1000", pid.display());
    let build = format!("build = [\"sh\", \"-c\", \"{script}\"]");
    lab.contender("slow", "[\"slow\"]", &build);
    let child = lab.start(&["run", "s"]);
    lab.wait_until("the build runs", || pid.is_file());
    let build = std::fs::read_to_string(pid).unwrap().trim().parse().unwrap();
    // The shell becomes the program, and for a moment in between is neither.
    lab.wait_until("the build sleeps", || builds(build));
    (child, build)
}

/// Whether this process is such a build. It has its number to itself while it lives.
fn builds(pid: i32) -> bool {
    let command = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    command.windows(4).any(|word| word == b"1000")
}

#[test]
fn a_run_that_is_interrupted_in_a_build_ends_it_and_says_that_nothing_was_measured() {
    let lab = Lab::with_good();
    let (child, build) = in_a_long_build(&lab);
    send(&child, Signal::INT);
    let said = said(child.wait_with_output().unwrap());
    assert_eq!(said.code, Some(130), "{said:?}");
    said.assert_complains(&[
        "interrupted before a trial began; nothing was measured since the start",
    ]);
    assert!(!builds(build), "when bakeoff ends, all has ended");
    lab.assert_nothing_is_left();
}

#[test]
fn no_build_outlives_a_bakeoff_that_is_killed() {
    let lab = Lab::with_good();
    let (mut child, build) = in_a_long_build(&lab);
    send(&child, Signal::KILL);
    child.wait().unwrap();
    lab.wait_until("the build is gone", || !builds(build));
    lab.assert_nothing_is_left();
}

/// Whoever presses Ctrl-C sends it to all of the terminal's process group.
#[test]
fn a_client_leaves_ctrl_c_to_bakeoff_which_ends_it() {
    let lab = with_stubborn_child();
    let child = lab.start(&["run", "s", "--full"]);
    lab.wait_until("there is load", || lab.living_clients().len() == 1);
    let group = |pid: i32| rustix::process::getpgid(Pid::from_raw(pid)).unwrap();
    assert_ne!(group(lab.living_clients()[0]), group(child.id() as i32));
    send(&child, Signal::INT);
    let interrupted = said(child.wait_with_output().unwrap());
    assert_eq!(interrupted.code, Some(130), "{interrupted:?}");
    assert!(lab.living_clients().is_empty(), "when bakeoff ends, all has ended");
    lab.assert_nothing_is_left();
}

#[test]
fn a_client_that_is_killed_is_told_in_one_sentence_and_leaves_nothing() {
    let lab = with_stubborn_child();
    let child = lab.start(&["run", "s", "--full"]);
    lab.wait_until("there is load", || lab.living_clients().len() == 1);
    let client = Pid::from_raw(lab.living_clients()[0]).unwrap();
    kill_process(client, Signal::KILL).unwrap();
    let said = said(child.wait_with_output().unwrap());
    assert_eq!(said.code, Some(4), "{said:?}");
    said.assert_complains(&[
        "offering the load: the client's process ended with SIGKILL (signal 9)\n",
    ]);
    lab.assert_nothing_is_left();
}

/// As a shutdown does, or whoever stops a unit of systemd: it reaches some before bakeoff.
#[test]
fn an_end_of_all_processes_at_once_is_an_interruption() {
    let lab = with_stubborn_child();
    let child = lab.start(&["run", "s", "--full"]);
    lab.wait_until("there is load", || lab.living_clients().len() == 1);
    let client = Pid::from_raw(lab.living_clients()[0]).unwrap();
    let keeper = Pid::from_raw(parent(lab.living_servers()[0])).unwrap();
    kill_process(client, Signal::KILL).unwrap();
    kill_process(keeper, Signal::TERM).unwrap();
    send(&child, Signal::TERM);
    let interrupted = said(child.wait_with_output().unwrap());
    assert_eq!(interrupted.code, Some(130), "{interrupted:?}");
    lab.assert_nothing_is_left();
}

#[test]
fn a_keeper_that_is_asked_to_end_ends_its_contender_and_not_the_run() {
    let lab = Lab::with_good();
    lab.change_study("measure_s = 0.3", "measure_s = 3");
    let child = lab.start(&["run", "s"]);
    lab.wait_until("there is load", || lab.living_clients().len() == 1);
    let keeper = Pid::from_raw(parent(lab.living_servers()[0])).unwrap();
    kill_process(keeper, Signal::TERM).unwrap();
    let said = said(child.wait_with_output().unwrap());
    // On a busy machine the trial is made again, and the exit code says nothing of it.
    said.assert_complains(&["it ended with SIGTERM (signal 15) under load"]);
    assert_eq!(lab.run().state, State::Complete, "{said:?}");
    lab.assert_nothing_is_left();
}

/// The client's control group is bakeoff's then, and nobody else knows of it.
#[test]
fn a_keeper_that_was_asked_to_end_cleans_up_after_a_bakeoff_that_is_killed() {
    let lab = Lab::with_good();
    lab.change_study("measure_s = 0.3", "measure_s = 600");
    let mut child = lab.start(&["run", "s"]);
    lab.wait_until("there is load", || lab.living_clients().len() == 1);
    let groups = lab.control_groups().len();
    let keeper = parent(lab.living_servers()[0]);
    // Stopped, it can't see to the client itself.
    send(&child, Signal::STOP);
    kill_process(Pid::from_raw(keeper).unwrap(), Signal::TERM).unwrap();
    lab.wait_until("the server has ended", || lab.living_servers().is_empty());
    match groups {
        0 => skipped("skipped in part", "no control group can be made here"),
        _ => lab.wait_until("its group is gone", || lab.control_groups().len() < groups),
    }
    send(&child, Signal::KILL);
    child.wait().unwrap();
    lab.assert_nothing_is_left();
}

#[test]
fn a_clients_control_group_tells_what_its_threads_used() {
    let lab = Lab::with_good().measuring_a_second();
    lab.bakeoff(&["run", "s"]);
    for trial in &lab.run().trials {
        let evidence = &trial.evidence;
        let client = evidence.client.as_ref().expect("it was sampled");
        let cpu_s = client.cpu_s.expect("its process lives until all is read");
        let by_threads = evidence.clients[0].cpu_s;
        // One counts the whole process between readings, the other what put load on.
        let ratio = cpu_s / by_threads;
        assert!((0.5..2.0).contains(&ratio), "{cpu_s} s of {by_threads} s");
        assert!(client.rss_max_bytes > Some(0), "{client:?}");
        let Some(group) = &client.cgroup else {
            skipped("skipped in part", "no control group can be made here");
            continue;
        };
        let servers = evidence.server.cgroup.as_ref().expect("the contender has one as well");
        assert_eq!(group.hierarchies, servers.hierarchies);
        assert!(group.memory_peak_bytes.is_none_or(|bytes| bytes > 0), "{group:?}");
        assert!(group.oom_kills.is_none_or(|count| count == 0), "{group:?}");
    }
}

/// For this run alone the machine looks as if it had none.
#[test]
fn without_control_groups_cpu_time_is_that_of_the_process_tree() {
    let lab = Lab::with_good().measuring_a_second();
    let bakeoff = lab.command(&["run", "s"]);
    let script = "mount -t tmpfs none /sys/fs/cgroup || exit 99; exec \"$@\"";
    let mut apart = Command::new("unshare");
    apart.args(["--mount", "sh", "-c", script, "sh"]);
    apart.arg(bakeoff.get_program()).args(bakeoff.get_args());
    apart.current_dir(lab.dir.path()).env("TMPDIR", lab.path("tmp"));
    let said = match lab.output(&mut apart) {
        Ok(said) => said,
        Err(why) => return skipped("skipped", &format!("unshare can't be started: {why}")),
    };
    if said.code == Some(99) || said.stderr.starts_with("unshare: ") {
        return skipped("skipped", said.stderr.trim());
    }
    for trial in &lab.run().trials {
        let evidence = &trial.evidence;
        let (server, client) = (&evidence.server, evidence.client.as_ref().unwrap());
        assert_eq!(server.cpu_source, CpuSource::ProcessTree);
        assert_eq!(client.cpu_source, CpuSource::ProcessTree);
        assert_eq!((&server.cgroup, &client.cgroup), (&None, &None));
        let seconds = evidence.work.as_ref().expect("it got as far as load").seconds;
        // A busy machine reads later than it notes, and the kernel counts in ticks.
        let most_s = 1.5 * seconds * evidence.place.server_cpus.len() as f64;
        let cpu_s = evidence.server_cpu_s.expect("the process tree is read");
        assert!(0.0 < cpu_s && cpu_s <= most_s, "{cpu_s} s in {seconds} s: {server:?}");
    }
    lab.assert_nothing_is_left();
}

#[test]
fn nothing_outlives_a_bakeoff_that_is_interrupted() {
    let lab = with_stubborn_child();
    let child = lab.start(&["run", "s", "--full"]);
    lab.wait_until("server and child run", || lab.living_servers().len() == 2);
    send(&child, Signal::INT);
    let interrupted = said(child.wait_with_output().unwrap());
    assert_eq!(interrupted.code, Some(130), "{interrupted:?}");
    assert!(lab.living_servers().is_empty(), "when bakeoff ends, all has ended");
    lab.assert_nothing_is_left();
}

fn parent(pid: i32) -> i32 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    stat.rsplit(") ").next().unwrap().split(' ').nth(1).unwrap().parse().unwrap()
}

/// Nobody is left to clean up then, so the next run has to. What got away can
/// only be found in its control group.
#[test]
fn the_next_run_ends_what_a_killed_bakeoff_and_its_killed_keeper_left() {
    let lab = with_stubborn_child();
    let mut child = lab.start(&["run", "s", "--full"]);
    lab.wait_until("server and child run", || lab.living_servers().len() == 2);
    let has_groups = !lab.control_groups().is_empty();
    let keeper = Pid::from_raw(parent(lab.living_servers()[0])).unwrap();
    // Stopped, it can't see to what its keeper leaves.
    send(&child, Signal::STOP);
    kill_process(keeper, Signal::KILL).unwrap();
    send(&child, Signal::KILL);
    child.wait().unwrap();
    if !has_groups {
        skipped("skipped in part", "no control group can be made here");
        let ended = || {
            for pid in lab.living_servers() {
                let _ = kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL);
            }
            lab.living_servers().is_empty()
        };
        lab.wait_until("the escaped child has ended", ended);
    }
    lab.bakeoff(&["run", "s"]);
    lab.assert_nothing_is_left();
}

#[test]
fn a_contenders_children_and_threads_are_sampled() {
    let lab = with_stubborn_child();
    lab.change_study("measure_s = 0.3", "measure_s = 2");
    lab.bakeoff(&["run", "s"]);
    for trial in &lab.run().trials {
        let evidence = &trial.evidence;
        let server = &evidence.server;
        let pids: Vec<i32> = server.processes.iter().map(|process| process.pid).collect();
        assert_eq!(pids.len(), 2, "a server and its child: {server:?}");
        assert!(pids.iter().all(|pid| lab.servers().contains(pid)), "{pids:?}");
        assert!(server.processes[0].rss_max_bytes > 0, "{server:?}");
        assert!(server.processes[0].name.starts_with("perl"), "{server:?}");
        assert!(server.threads.is_empty() || server.threads.len() == 2, "{server:?}");
        // On a slow machine there may be no reading of all within the other second.
        let sample = evidence.samples.iter().find(|sample| sample.tcp_sockets.is_some());
        let sample = sample.unwrap_or_else(|| panic!("{:?}", evidence.samples));
        assert!(sample.server_threads >= Some(2) && sample.server_open_files > Some(0));
        assert!(sample.client_rss_bytes > Some(0) && sample.load_average.is_some());
        assert!(sample.connections_established.is_none_or(|count| count == 4), "{sample:?}");
        assert!(sample.tcp_sockets > Some(0), "at least the one that listens: {sample:?}");
        let sampling = &evidence.sampling;
        assert!(sampling.sampling_cpu_s > Some(0.0), "{sampling:?}");
        // The main thread has waited, and told of a second.
        assert!(sampling.harness_cpu_s > Some(0.0), "{sampling:?}");
        // What is read at both ends isn't bounded, and takes longer without optimisation.
        let share = sampling.core_share();
        assert!(share.is_some_and(|share| share < 0.1), "sampling is dear: {sampling:?}");
    }
}

#[test]
fn a_contender_that_binds_itself_to_another_processor_is_found_out() {
    let lab = Lab::with_good();
    let place = ThisMachine::new(&lab::place::machine::describe()).split(Cores::One);
    if place.shared() {
        return skipped("skipped", "one processor is all that there is here");
    }
    lab.server("away", "good", "");
    let toml = std::fs::read_to_string(lab.path("studies/s/away/contender.toml")).unwrap();
    let elsewhere = format!("run = [\"taskset\", \"-c\", \"{}\", ", place.client_cpus[0]);
    lab.write("studies/s/away/contender.toml", &toml.replace("run = [", &elsewhere));
    lab.bakeoff(&["run", "s"]);
    for trial in &lab.run().trials {
        if trial.evidence.server.threads.is_empty() {
            return skipped("skipped", "this kernel doesn't count by thread");
        }
        let word = trial.findings.iter().find(|it| it.check == "server-cores").unwrap();
        let is_found_out = word.value.starts_with("thread perl on processor ");
        assert_eq!(is_found_out, trial.slot.contender == "away", "{word:?}");
    }
    lab.assert_nothing_is_left();
}

#[test]
fn a_child_that_a_contender_leaves_behind_is_found_and_ended() {
    let lab = with_stubborn_child();
    lab.bakeoff(&["run", "s"]);
    let run = lab.run();
    assert!(run.trials.iter().all(|trial| trial.evidence.process.killed));
    let made = run.trials.len() + run.disturbed.len();
    assert_eq!(lab.servers().len(), 2 * made, "a server and its child each");
    lab.assert_nothing_is_left();
}

#[test]
fn a_contender_that_forks_away_is_found_and_ended() {
    let lab = Lab::new();
    lab.server("runaway", "daemon", "");
    let said = lab.bakeoff(&["run", "s"]);
    assert_eq!(said.code, Some(1), "{said:?}");
    said.assert_complains(&["runaway", "with exit code 0"]);
    assert!(!lab.servers().is_empty(), "the daemon ran");
    lab.assert_nothing_is_left();
}

#[test]
fn a_run_of_other_servers_is_not_resumed() {
    let lab = Lab::new();
    let shared = |text: &str| lab.write("studies/s/shared/module.pl", text);
    shared("1;");
    let sources = "sources = [\"../shared\"]";
    lab.server("good", "good", sources);
    let child = lab.start(&["run", "s", "--full"]);
    lab.wait_until("a trial is kept", || {
        lab.path("runs/latest/run.json").is_file() && !lab.run().trials.is_empty()
    });
    send(&child, Signal::TERM);
    assert_eq!(said(child.wait_with_output().unwrap()).code, Some(130));
    let refused = || {
        let resumed = lab.bakeoff(&["run", "--resume", "runs/latest"]);
        assert_eq!(resumed.code, Some(2), "{resumed:?}");
        resumed.assert_complains(&["can't be resumed: the files of good are not what they were"]);
    };
    lab.server("good", "good twice", sources);
    refused();
    lab.server("good", "good", sources);
    shared("2;");
    refused();
    shared("1;");
    lab.write("studies/s/good/module.pl", "1;");
    refused();
}

/// Else blocks of two contracts, two loads or two ways to measure would be compared.
#[test]
fn a_run_of_another_study_or_another_bakeoff_is_not_resumed() {
    let lab = Lab::with_good();
    lab.bakeoff(&["run", "s"]);
    let run = lab.run();
    let refused = |why: &str| {
        let resumed = lab.bakeoff(&["run", "--resume", "runs/latest"]);
        assert_eq!(resumed.code, Some(2), "{resumed:?}");
        resumed.assert_complains(&["can't be resumed: ", why]);
        assert_eq!(lab.run(), run, "it is left as it was");
    };
    for (from, to) in [("measure_s = 0.3", "measure_s = 0.4"), ("body = \"{", "body = \"hello {")] {
        lab.change_study(from, to);
        refused("its study.toml is not what it was; start a new run");
        lab.change_study(to, from);
    }

    let with = |change: fn(&mut Run)| {
        let mut changed = run.clone();
        change(&mut changed);
        lab.write("runs/latest/run.json", &serde_json::to_string(&changed).unwrap());
        let resumed = lab.bakeoff(&["run", "--resume", "runs/latest"]);
        assert_eq!(resumed.code, Some(2), "{resumed:?}");
        resumed
    };
    let resumed = with(|run| run.bakeoff = "0.0.1".into());
    resumed.assert_complains(&["can't be resumed: it began with bakeoff 0.0.1, and this is "]);
    // In older ones the client was threads of bakeoff's own, too.
    let resumed = with(|run| {
        run.study.file_sha256 = None;
        run.trials.iter_mut().for_each(|trial| trial.evidence.client = None);
    });
    resumed.assert_complains(&["an older bakeoff didn't keep which study.toml it began with"]);
    assert_eq!(lab.bakeoff(&["report", "runs/latest"]).code, Some(0), "it can still be read");
}

#[test]
fn a_run_that_another_build_went_on_with_is_of_neither() {
    let lab = Lab::with_good();
    lab.bakeoff(&["run", "s"]);
    let own = lab.run().bakeoff_sha256;
    assert!(own.as_ref().is_some_and(|digest| digest.len() == 64), "{own:?}");
    for (begun_by, ended_by) in [(own.clone(), own), (Some("another".into()), None)] {
        let mut run = lab.run();
        run.trials.pop();
        (run.state, run.bakeoff_sha256) = (State::Unfinished, begun_by);
        lab.write("runs/latest/run.json", &serde_json::to_string(&run).unwrap());
        lab.bakeoff(&["run", "--resume", "runs/latest"]);
        let run = lab.run();
        assert_eq!((run.state, run.bakeoff_sha256), (State::Complete, ended_by));
    }
}
