//! Contenders that can't be had: each is absent with what gives it, and the others are measured.

use result::State;

use crate::fixture::Lab;

/// A contender that can't be had: its name, what its file says, why it is absent as the run's
/// record has it, and what is said.
type Missing = (&'static str, &'static str, &'static str, &'static str);

const MISSING: [Missing; 5] = [
    (
        "without-its-program",
        "needs = { no-such-zig = \"zig-lang\" }",
        "zig-lang",
        "`no-such-zig` is not installed; on Debian: apt-get install zig-lang",
    ),
    (
        "without-its-library",
        "needs = { \"/no/such/zig.h\" = \"libzig-dev\", \"/etc/passwd\" = \"base-passwd\" }",
        "libzig-dev",
        "`/no/such/zig.h` is not installed; on Debian: apt-get install libzig-dev",
    ),
    (
        "whose-build-fails",
        "build = [\"sh\", \"-c\", \"echo main.zig:7: no such type; exit 4\"]",
        "build with `sh` failed (exit code 4)",
        "main.zig:7: no such type",
    ),
    (
        "whose-build-lacks-something",
        "build = [\"sh\", \"-c\", \"echo looking; printf 'Zig 2 is too \\\\033[31mold\\\\n'; exit 69\"]",
        "Zig 2 is too \u{fffd}[31mold",
        "Zig 2 is too",
    ),
    (
        "whose-build-lacks-what-it-does-not-say",
        "build = [\"sh\", \"-c\", \"exit 69\"]",
        "build with `sh` failed (exit code 69)",
        "build with `sh` failed (exit code 69); it said nothing",
    ),
];

#[test]
fn who_cant_be_had_is_absent_with_the_reason_and_the_others_are_measured() {
    let lab = Lab::with_good();
    for (name, more, ..) in &MISSING {
        lab.contender(name, "[\"zig\"]", more);
    }
    let said = lab.bakeoff(&["run", "s"]);
    assert_eq!(said.code, Some(1), "builds failed: {said:?}");
    let run = lab.run();
    assert_eq!(run.state, State::Complete, "the others are measured");
    for (name, _, absent, complaint) in &MISSING {
        said.assert_complains(&[name, complaint]);
        let contender = run.contenders.iter().find(|it| it.name == *name);
        let why = contender.expect("never silently dropped").absent.as_deref();
        assert!(why.is_some_and(|why| why.contains(absent)), "{name}: {why:?}");
    }
    assert!(!said.stderr.contains("base-passwd"), "that file is there: {}", said.stderr);
    assert!(!said.stderr.contains('\u{1b}'), "an escape reaches the terminal");
    assert!(said.stdout.contains("Zig 2 is too"), "the tables say so too: {}", said.stdout);
}

/// Nothing else would say that somebody has something to install.
#[test]
fn a_contender_that_lacks_something_fails_its_check_with_what_gives_it() {
    let lab = Lab::with_good();
    let [_, (name, more, _, complaint), ..] = MISSING;
    lab.contender(name, "[\"zig\"]", more);
    let said = lab.bakeoff(&["check", &format!("s/{name}")]);
    assert_eq!(said.code, Some(1), "{said:?}");
    said.assert_complains(&[complaint]);
    assert!(!said.stderr.contains("base-passwd"), "that file is there: {}", said.stderr);
}

#[test]
fn with_nobody_to_measure_the_reasons_are_told() {
    let lab = Lab::new();
    lab.contender("zig", "[\"zig\"]", "needs = { no-such-zig = \"zig-lang\" }");
    let said = lab.bakeoff(&["run", "s"]);
    assert_eq!(said.code, Some(1));
    said.assert_complains(&["nobody is left to measure", "zig-lang"]);
}

#[test]
fn an_absent_contender_of_a_profile_costs_the_others_nothing() {
    let lab = Lab::with_good();
    let only = "[profile.quick]\ncontenders = [\"good\", \"away\"]\n";
    lab.change_study("[profile.quick]\n", only);
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
