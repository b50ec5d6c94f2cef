//! `bakeoff check` as its users see it.

use crate::fixture::{Lab, Said, skipped};

#[test]
fn every_step_is_told_with_what_was_seen() {
    let lab = Lab::with_good();
    let said = lab.bakeoff(&["check", "s/good"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    for step in [
        "✓ answers /hello?id={nonce} with status 200 and its body: status 200, \"hello ",
        "✓ answers a pipelined pair, in order: ",
        "✓ takes a request that comes in single bytes: ",
        "✓ takes requests in two pieces, cut at every byte: ",
        "✓ refuses a request without Host (RFC 9112, 3.2): status 400",
        "✓ shows what it does with HTTP/3.7: it refuses with status 400",
        "✓ refuses garbage with status 400, or closes: status 400",
        "✓ says the right Date, and it advances: ",
    ] {
        assert!(said.stdout.contains(step), "{step}\n{}", said.stdout);
    }
    lab.assert_nothing_is_left();
}

#[test]
fn a_broken_step_is_told_with_what_is_wrong() {
    let lab = Lab::with_good();
    lab.change_study("fresh = false", "fresh = true");
    let said = lab.bakeoff(&["check", "s/good"]);
    assert_eq!(said.code, Some(1), "{said:?}");
    assert!(said.stdout.contains("✗ makes a part of every answer anew"), "{}", said.stdout);
    said.assert_complains(&["good breaks the contract in 1 of 17 steps on all cores"]);
    lab.assert_nothing_is_left();
}

/// Tests leave out who is absent, so nobody else may be called so.
#[test]
fn who_is_absent_is_told_from_whose_build_fails() {
    let lab = Lab::new();
    let run = "[\"true\"]";
    lab.contender("needy", run, "needs = { no-such-zig = \"zig-lang\" }");
    lab.contender("picky", run, "build = [\"sh\", \"-c\", \"echo Zig 2 is too old; exit 69\"]");
    lab.contender("silent", run, "build = [\"sh\", \"-c\", \"exit 69\"]");
    lab.contender("broken", run, "build = [\"sh\", \"-c\", \"exit 4\"]");
    // The right to be run is lost, as by a copy through an archive.
    lab.write("studies/s/locked/build.sh", "#!/bin/sh\n");
    lab.contender("locked", run, "build = [\"$SOURCE/build.sh\"]");
    for (name, says) in [
        ("needy", " is absent: `no-such-zig` is not installed; "),
        ("picky", " is absent: Zig 2 is too old\n"),
        ("silent", ": its build with `sh` failed (exit code 69); it said nothing\n"),
        ("broken", ": its build with `sh` failed (exit code 4); "),
        ("locked", ": couldn't start "),
    ] {
        let said = lab.bakeoff(&["check", &format!("s/{name}")]);
        assert_eq!(said.code, Some(1), "{said:?}");
        let says = format!("bakeoff check: {name}{says}");
        assert!(said.stderr.starts_with(&says), "not {says:?}: {said:?}");
        assert!(said.stdout.is_empty(), "{said:?}");
    }
}

/// Checks a server that does its job on two cores or more, in this mode.
fn without_one_core(mode: &str) -> Option<Said> {
    if load::allowed_cpus().unwrap().len() == 1 {
        skipped("skipped", "one processor is all that there is here");
        return None;
    }
    let lab = Lab::new();
    lab.server("good", &format!("{mode} 2"), "");
    let said = lab.bakeoff(&["check", "s/good"]);
    assert_eq!(said.code, Some(1), "{said:?}");
    assert!(said.stdout.contains("\non all cores:\n  ✓ "), "{}", said.stdout);
    lab.assert_nothing_is_left();
    Some(said)
}

#[test]
fn who_cant_start_on_one_core_alone_fails_and_is_told_so() {
    let Some(said) = without_one_core("takes-cores") else { return };
    assert!(!said.stdout.contains('✗'), "{}", said.stdout);
    said.assert_complains(&[
        "good, on one core: it ended with exit code 7 before it gave a right answer; its last",
        "no idea how to run on 1",
    ]);
}

#[test]
fn who_breaks_the_contract_on_one_core_alone_fails_and_is_told_so() {
    let Some(said) = without_one_core("refuses-with-cores") else { return };
    let (_, on_one) = said.stdout.split_once("\non one core:\n").expect("the second part");
    assert!(on_one.contains("  ✗ refuses garbage with status 400, or closes: "), "{on_one}");
    said.assert_complains(&["good breaks the contract in 1 of 13 steps on one core\n"]);
}
