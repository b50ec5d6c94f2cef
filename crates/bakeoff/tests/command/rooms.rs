//! Studies of gateways: the load generator's robots speak with each other through them.

use std::fs::File;

use result::evidence::DeliveriesSeen;
use result::figure::{CPU_US, LINES_OF_CODE, P50_US, ROBOT_BYTES};
use result::finding::{Finding, Verdict};
use result::scripts::{Played, SlowReader, SlowReaderSeen};
use result::{Run, State};

use crate::fixture::{Lab, Said, skipped};

/// The gateway of tests.
const GATEWAY: (&str, &str) = ("gateway.py", include_str!("../fixture/gateway.py"));

/// It as a contender, in this mode.
pub fn gateway(lab: &Lab, mode: &str) {
    gateway_that(lab, mode, "");
}

/// The same that makes these promises.
fn gateway_that(lab: &Lab, mode: &str, promises: &str) {
    let run = lab.python(&format!("studies/s/{mode}"), GATEWAY, mode);
    lab.contender(mode, &run, &format!("needs = {{ python3 = \"python3\" }}\n{promises}"));
}

/// What a check says of a contender.
fn finding<'a>(run: &'a Run, contender: &str, check: &str) -> &'a Finding {
    let row = run.outcomes[0].rows.iter().find(|row| row.contender == contender);
    let row = row.unwrap_or_else(|| panic!("{contender} was not measured"));
    row.findings.iter().find(|it| it.check == check).expect("the check applies")
}

/// A run of these modes, unless they can't be had here.
fn run_of(modes: &[&str]) -> Option<(Run, Said)> {
    let lab = Lab::of_gateways();
    modes.iter().for_each(|mode| gateway(&lab, mode));
    let said = lab.bakeoff(&["run", "s"]);
    if said.is_absent() {
        skipped("skipped", said.stderr.trim_end());
        return None;
    }
    lab.assert_nothing_is_left();
    Some((lab.run(), said))
}

fn deliveries<'a>(run: &'a Run, contender: &str) -> &'a DeliveriesSeen {
    let trial = run.trials.iter().find(|trial| trial.slot.contender == contender).unwrap();
    let process = &trial.evidence.process;
    trial.evidence.deliveries.as_ref().unwrap_or_else(|| panic!("{contender}: {process:?}"))
}

#[test]
fn gateways_are_compared_by_deliveries_and_one_that_drops_some_is_invalid() {
    let Some((run, said)) = run_of(&["honest", "drops-some"]) else { return };
    // Elsewhere no host takes a processor away that sleeps.
    let may_ask = File::options().write(true).open("/dev/cpu_dma_latency").is_ok();
    let is_kept_awake = may_ask && run.machine.virtual_machine == Some(true);
    for trial in &run.trials {
        assert_eq!(trial.evidence.machine.kept_awake, is_kept_awake, "{:?}", run.machine);
    }
    assert_eq!(run.state, State::Complete, "{said:?}");
    let honest = finding(&run, "honest", "deliveries");
    assert_eq!(honest.verdict, Verdict::Valid, "{honest:?}");
    let lying = finding(&run, "drops-some", "deliveries");
    assert_eq!(lying.verdict, Verdict::Invalid, "{lying:?}");
    assert!(lying.says.contains("didn't come to robot"), "{lying:?}");
    for gateway in ["honest", "drops-some"] {
        for check in ["contract", "same-answers"] {
            let told = finding(&run, gateway, check);
            assert_eq!(told.verdict, Verdict::Valid, "{gateway}: {told:?}");
        }
        let arrived = finding(&run, gateway, "load-arrived");
        assert!(arrived.verdict < Verdict::Suspect, "{gateway}: {arrived:?}");
    }
    let seen = deliveries(&run, "honest");
    assert_eq!((seen.joined, seen.rooms, seen.cut), (20, 4, 0), "{seen:?}");
    assert!(seen.memory_idle_bytes >= seen.memory_before_bytes, "{seen:?}");
    assert!(seen.until_all_us.count > 0 && seen.join_us.count == 20, "{seen:?}");
    let trial = run.trials.iter().find(|trial| trial.slot.contender == "honest").unwrap();
    let (work, client) = (trial.evidence.work.as_ref().unwrap(), &trial.evidence.clients[0]);
    assert_eq!((client.sent, client.good, client.shed), (1_200, 1_200, 0), "2,000 a second");
    assert!(work.done > 0 && work.errors.is_empty(), "{work:?}");
    let row = run.outcomes[0].rows.iter().find(|row| row.contender == "honest").unwrap();
    for figure in [CPU_US, P50_US, ROBOT_BYTES, LINES_OF_CODE] {
        assert!(row.figure(figure).is_some(), "{figure}: {row:?}");
    }
    let title = "5 robots a room, 20 robots, 64 bytes a message";
    assert!(said.stderr.contains(title), "{said:?}");
    let shown = said.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(shown.contains("2,000 deliveries a second"), "{shown}");
    assert!(!shown.contains("request"), "nobody asks anything: {shown}");
}

/// Else one that leaves out what costs time would be ranked first.
#[test]
fn a_gateway_that_breaks_what_rooms_are_for_is_found_by_what_it_did() {
    let modes = ["says-twice", "swaps", "leaks", "flips-a-bit", "cuts", "leaves-one-out"];
    let Some((run, said)) = run_of(&modes) else { return };
    for mode in modes {
        let found = finding(&run, mode, "deliveries");
        assert_eq!(found.verdict, Verdict::Invalid, "{mode}: {found:?} {said:?}");
        let contract = finding(&run, mode, "contract");
        assert_eq!(contract.verdict, Verdict::Valid, "{mode} while idle: {contract:?}");
    }
    let seen = |mode| deliveries(&run, mode);
    assert!(seen("says-twice").duplicates > 0 && seen("swaps").out_of_order > 0);
    assert!(seen("leaks").leaked > 0 && seen("flips-a-bit").wrong > 0);
    assert_eq!(seen("cuts").cut, 1);
    let unfair = finding(&run, "leaves-one-out", "fair-answers");
    assert_eq!(unfair.verdict, Verdict::Invalid, "{unfair:?}");
}

#[test]
fn what_is_promised_at_most_once_may_be_missing_and_is_told() {
    let lab = Lab::of_gateways();
    let promises = "[promises]\ndelivery = \"at_most_once\"\nsource = \"the test\"";
    gateway_that(&lab, "drops-some", promises);
    let said = lab.bakeoff(&["run", "s"]);
    if said.is_absent() {
        return skipped("skipped", said.stderr.trim_end());
    }
    let run = lab.run();
    let found = finding(&run, "drops-some", "deliveries");
    assert_eq!(found.verdict, Verdict::Suspect, "{found:?}");
    lab.assert_nothing_is_left();
}

/// A run of these modes that promise this with a slow reader, which is played with each, unless they
/// can't be had here.
fn with_a_slow_reader(modes: &[(&str, &str)]) -> Option<Run> {
    let lab = Lab::of_gateways();
    lab.change_study("blocks = 1\n", "blocks = 1\nscripts = [\"slow\"]\n");
    for (mode, promised) in modes {
        let promises = format!("[promises]\nslow_reader = \"{promised}\"\nsource = \"the test\"");
        gateway_that(&lab, mode, &promises);
    }
    let said = lab.bakeoff(&["run", "s"]);
    if said.is_absent() {
        skipped("skipped", said.stderr.trim_end());
        return None;
    }
    lab.assert_nothing_is_left();
    let report = lab.bakeoff(&["report", "--full", "runs/latest"]);
    assert!(report.stdout.contains("What becomes of a slow reader"), "{report:?}");
    assert!(said.stderr.contains("scripts before it is timed"), "{said:?}");
    Some(lab.run())
}

fn slow<'a>(run: &'a Run, gateway: &str) -> &'a SlowReaderSeen {
    run.scripts(gateway).and_then(|seen| seen.slow_seen()).unwrap_or_else(|| panic!("{gateway}"))
}

/// That this was seen, and what follows for a promise. Others may have to wait on a busy machine as
/// well, which is the worst word.
fn assert_does(run: &Run, gateway: &str, does: SlowReader, verdict: Verdict) {
    let (seen, found) = (slow(run, gateway), finding(run, gateway, "slow-reader"));
    assert!([Some(does), Some(SlowReader::Blocks)].contains(&seen.word), "{gateway}: {seen:?}");
    let verdict = if seen.word == Some(does) { verdict } else { Verdict::Invalid };
    assert_eq!(found.verdict, verdict, "{gateway}: {found:?}");
    assert_eq!((seen.robots, seen.slow, seen.others_cut), (10, 1, 0), "{gateway}: {seen:?}");
    assert!(seen.owed_bytes > 5_000_000, "{gateway}: {seen:?}");
}

/// Else one that keeps everything would be compared as one that has a bound.
#[test]
fn what_a_gateway_does_with_a_slow_reader_is_held_to_its_promise() {
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let modes = [("honest", "cuts"), ("drops-slow", "cuts")];
            let Some(run) = with_a_slow_reader(&modes) else { return };
            assert_does(&run, "honest", SlowReader::Cuts, Verdict::Valid);
            assert_eq!(slow(&run, "honest").cut, 1);
            assert_does(&run, "drops-slow", SlowReader::Drops, Verdict::Invalid);
            let seen = slow(&run, "drops-slow");
            assert!(seen.cut == 0 && seen.missing > 0 && seen.came > 0, "{seen:?}");
            assert_eq!(seen.owed, seen.came + seen.missing);
        });
        scope.spawn(|| {
            let modes = [("buffers-slow", "buffers"), ("blocks-slow", "cuts")];
            let Some(run) = with_a_slow_reader(&modes) else { return };
            assert_does(&run, "buffers-slow", SlowReader::Buffers, Verdict::Valid);
            let seen = slow(&run, "buffers-slow");
            assert!(seen.owed == seen.came && seen.was_kept_in_memory(), "{seen:?}");
            assert_does(&run, "blocks-slow", SlowReader::Blocks, Verdict::Invalid);
            let found = finding(&run, "blocks-slow", "slow-reader");
            assert!(found.says.starts_with("It promises to cut a slow reader. "), "{found:?}");
        });
    });
}

/// Else a gateway that takes half of the players back is ranked as one that takes all.
#[test]
fn who_does_not_let_all_robots_back_after_a_storm_is_found() {
    std::thread::scope(|scope| {
        scope.spawn(|| after_storms("honest", 20, Verdict::Valid, "all in"));
        scope.spawn(|| after_storms("locks-out", 10, Verdict::Suspect, "10 away"));
    });
}

/// That so many of 20 robots come back to a gateway, after each way to end, and what follows.
fn after_storms(mode: &str, back: u32, verdict: Verdict, told: &str) {
    let lab = Lab::of_gateways();
    lab.change_study("blocks = 1\n", "blocks = 1\nscripts = [\"storm\"]\n");
    gateway(&lab, mode);
    let said = lab.bakeoff(&["run", "s"]);
    if said.is_absent() {
        return skipped("skipped", said.stderr.trim_end());
    }
    lab.assert_nothing_is_left();
    let run = lab.run();
    let storms = &run.scripts(mode).unwrap().storms;
    assert_eq!(storms.len(), 2, "{storms:?}");
    for storm in storms {
        let Played::Seen(seen) = &storm.after else { panic!("{mode}: {storm:?}") };
        assert_eq!((seen.ended, seen.back), (20, back), "{mode}: {seen:?}");
        assert_eq!(seen.all_back_s.is_some(), back == 20, "{mode}: {seen:?}");
        assert!(seen.memory_max_bytes > Some(0), "{mode}: {seen:?}");
    }
    let found = finding(&run, mode, "storm");
    assert_eq!(found.verdict, verdict, "{mode}: {found:?}");
    assert!(run.spent.scripts_s > 10.0, "{:?}", run.spent);
    let report = lab.bakeoff(&["report", "--full", "runs/latest"]);
    assert!(report.stdout.contains(told), "{report:?}");
}

#[test]
fn a_gateways_contract_is_told_step_by_step() {
    let lab = Lab::of_gateways();
    ["honest", "reads-once"].iter().for_each(|mode| gateway(&lab, mode));
    let said = lab.bakeoff(&["check", "s/honest"]);
    if said.is_absent() {
        return skipped("skipped", said.stderr.trim_end());
    }
    assert_eq!(said.code, Some(0), "{said:?}");
    for step in [
        "✓ lets a member into a room, and tells it so: it did",
        "✓ takes a message that comes in two pieces, cut at every byte: 18 cuts",
        "✓ passes messages of 32 and of 65,535 bytes on: both came whole",
        "✓ goes on for another room while a member reads nothing for 2 s: ",
        "It keeps the contract: 12 of 12 steps on all cores, 11 of 11 steps on one core.",
    ] {
        assert!(said.stdout.contains(step), "{step}\n{}", said.stdout);
    }
    let said = lab.bakeoff(&["check", "s/reads-once"]);
    assert_eq!(said.code, Some(1), "{said:?}");
    let wrong = "✗ takes a message that comes in two pieces, cut at every byte: with a pause after";
    assert!(said.stdout.contains(wrong), "{}", said.stdout);
    lab.assert_nothing_is_left();
}

/// Else a study would fail trial by trial, or be measured as another one.
#[test]
fn what_no_robots_can_do_is_refused_before_anything_starts() {
    let lab = Lab::of_gateways();
    gateway(&lab, "honest");
    lab.change_study("room = [5]", "room = [5, 7]");
    let said = lab.bakeoff(&["run", "s"]);
    assert_eq!(said.code, Some(2), "{said:?}");
    said.assert_complains(&["20 robots make no whole number of rooms with 7 each"]);
    lab.change_study("room = [5, 7]", "room = 5");
    lab.change_study("settings = []", "settings = [{ cores = \"one\", connections = [4] }]");
    let said = lab.bakeoff(&["run", "s"]);
    assert_eq!(said.code, Some(2), "{said:?}");
    said.assert_complains(&["robots speak at a rate, whatever they hear"]);
}

/// Else it would stay undecided for ever.
#[test]
fn a_claim_to_the_highest_rate_is_refused_where_all_are_given_the_same() {
    let lab = Lab::of_gateways();
    ["honest", "drops"].iter().for_each(|mode| gateway(&lab, mode));
    let claim = "[[claim]]\nsays = \"it leads\"\nsource = \"us\"\ncontender = \"honest\"\n\
                 against = [\"drops\"]\nfigure = \"rate\"\n\n[contract]";
    lab.change_study("[contract]", claim);
    let said = lab.bakeoff(&["check", "s/honest"]);
    assert_eq!(said.code, Some(2), "{said:?}");
    said.assert_complains(&["all contenders are given one rate; name one of `cpu_us`, `p99_us`"]);
}

/// Else a profile would seem to try what nobody can.
#[test]
fn scripts_are_refused_where_there_are_no_robots_and_where_one_is_named_twice() {
    let lab = Lab::with_good();
    lab.change_study("measure_s = 0.3", "measure_s = 0.3\nscripts = [\"storm\"]");
    let said = lab.bakeoff(&["run", "s"]);
    assert_eq!(said.code, Some(2), "{said:?}");
    said.assert_complains(&["they are for robots, by a driver with `protocol = \"rooms\"`"]);
    let lab = Lab::of_gateways();
    gateway(&lab, "honest");
    lab.change_study("blocks = 1\n", "blocks = 1\nscripts = [\"slow\", \"slow\"]\n");
    let said = lab.bakeoff(&["run", "s"]);
    assert_eq!(said.code, Some(2), "{said:?}");
    said.assert_complains(&["this has to be a list of different scripts"]);
}
