//! Studies of programs: contenders that drive themselves.

use result::figure::{CPU_US, MEMORY, RATE};
use result::finding::Verdict;
use result::plan::Value;
use result::{Run, State};

use crate::fixture::Lab;

#[test]
fn programs_are_compared_by_what_they_tell_and_the_lab_sees() {
    let lab = Lab::of_programs();
    lab.program("one", "honest");
    lab.program("other", "honest");
    let said = lab.bakeoff(&["run", "s"]);
    let run = lab.run();
    assert_eq!(run.state, State::Complete, "{said:?}");
    assert_eq!(run.trials.len(), 3, "two contenders and a twin");
    for trial in &run.trials {
        let evidence = &trial.evidence;
        let work = evidence.work.as_ref().unwrap_or_else(|| panic!("{:?}", evidence.process));
        // On a busy machine lines come late, and the last one ends the window.
        assert!(work.done > 0 && work.seconds >= 0.3, "{work:?}");
        let first = work.warmup.first().expect("what it did from `ready` to its first line");
        assert!(first.seconds > 0.0 && first.done > 0, "{first:?}");
        assert!(evidence.clients.is_empty() && evidence.client.is_none(), "nobody drove it");
        let steps = evidence.contract.iter().map(|step| (&*step.id, &step.wrong));
        assert_eq!(steps.collect::<Vec<_>>(), [("clock", &None), ("sum", &None)]);
        assert!(evidence.server_cpu_s.is_some_and(|cpu_s| cpu_s > 0.0), "{evidence:?}");
        assert_eq!(trial.slot.setting.value("pieces"), Some(&Value::Number(100)));
        let of_client = ["client-limit", "keep-alive", "load-arrived", "fair-answers", "errors"];
        let says = |check: &str| trial.findings.iter().any(|finding| finding.check == check);
        assert!(!of_client.iter().any(|check| says(check)), "{:?}", trial.findings);
    }
    let row = &run.outcomes[0].rows[0];
    assert!(row.figure(RATE).is_some() && row.figure(CPU_US).is_some());
    assert_eq!(row.figure("pieces").map(|it| it.median), Some(100.0), "from its result");
    assert!(row.figure(MEMORY).is_some_and(|it| it.median > 1e5), "{row:?}");
    assert!(said.stdout.contains("pieces/s"), "{said:?}");
    assert!(said.stdout.contains("100 pieces at once"), "{said:?}");
    let page = lab.bakeoff(&["report", "--full", "runs/latest"]).stdout;
    let page = page.split_whitespace().collect::<Vec<_>>().join(" ");
    let word = "As contenders tell it, and nobody counts it from outside: pieces told.";
    assert!(page.contains(word), "{page}");
    lab.assert_nothing_is_left();
}

/// Whether a contender kept its contract.
fn contract(run: &Run, name: &str) -> Verdict {
    verdict(run, name, "contract")
}

fn verdict(run: &Run, name: &str, check: &str) -> Verdict {
    let row = run.outcomes[0].rows.iter().find(|row| row.contender == name).unwrap();
    row.findings.iter().find(|finding| finding.check == check).unwrap().verdict
}

/// Prints words, and of each its length as the number.
pub const MAKER: &str = r#"
my %given = @ARGV;
print STDERR "made for $given{'--pieces'} from $given{'--seed'}\n";
srand $given{'--seed'};
for (1 .. 50) {
    my $length = 1 + int rand 100;
    print "$length\t", 'x' x $length, "\n";
}
"#;

/// A study whose contenders work on records that this program makes.
pub fn of_records(maker: &str) -> Lab {
    let lab = Lab::of_programs();
    lab.write("studies/s/records.pl", maker);
    let data = "[data]\nmade_by = [\"perl\", \"records.pl\"]\n\n[contract]";
    lab.change_study("[contract]", data);
    lab.change_study("sum = \"payloads\"", "sum = \"records\"");
    lab
}

#[test]
fn records_are_made_for_each_trial_and_what_was_done_with_them_is_held_against_their_numbers() {
    let lab = of_records(MAKER);
    lab.program("honest", "honest");
    lab.program("twice", "counts-twice");
    let said = lab.bakeoff(&["run", "s"]);
    let run = lab.run();
    assert_eq!(run.state, State::Complete, "{said:?}");
    assert_eq!(contract(&run, "honest"), Verdict::Valid);
    assert_eq!(contract(&run, "twice"), Verdict::Invalid);
    let said = lab.check_program("s/honest");
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(said.stdout.contains("✓ sums the numbers of all records"), "{said:?}");
    lab.assert_nothing_is_left();
}

/// Else a program would decode a few records ahead, and count them for ever.
#[test]
fn records_that_never_change_are_found() {
    let lab = of_records(MAKER);
    for mode in ["records-never-change", "one-record"] {
        lab.program(mode, mode);
        let said = lab.bakeoff(&["check", &format!("s/{mode}")]);
        assert_eq!(said.code, Some(1), "{mode}: {said:?}");
        assert!(said.stdout.contains("✗ sums the numbers of all records"), "{mode}: {said:?}");
    }
    lab.assert_nothing_is_left();
}

/// Whoever adds up what came in any order doesn't read messages one after the other.
#[test]
fn payloads_in_another_order_are_found_where_order_counts() {
    let lab = Lab::of_programs();
    lab.change_study("sum = \"payloads\"", "sum = \"payloads-in-order\"");
    lab.program("honest", "in-order");
    lab.program("lies", "not-in-order");
    assert_eq!(lab.check_program("s/honest").code, Some(0));
    let said = lab.bakeoff(&["check", "s/lies"]);
    assert_eq!(said.code, Some(1), "{said:?}");
    assert!(said.stdout.contains("✗ sums the payloads of all that it has done, in their order"));
}

#[test]
fn records_that_cannot_be_made_end_the_run_with_what_their_maker_said() {
    for (maker, says) in [
        ("print \"7 no tab\\n\";", "it printed \"7 no tab\"; a line is a number"),
        ("print STDERR \"no seed\\n\"; exit 4;", "code 4: no seed"),
        ("", "it printed no record"),
    ] {
        let lab = of_records(maker);
        lab.program("honest", "honest");
        let said = lab.bakeoff(&["run", "s"]);
        assert_ne!(said.code, Some(0), "{said:?}");
        assert!(said.stderr.contains(says), "{says}: {said:?}");
        lab.assert_nothing_is_left();
    }
}

/// Counts lines.
const COUNTER: &str = r#"
my %given = @ARGV;
open my $made, '<', $given{'--made'} or die;
my @lines = <$made>;
printf "{\"pieces\": %d}\n", scalar @lines;
"#;

/// A study that counts what its contenders made by this program.
fn counted_by(counter: &str) -> Lab {
    let lab = of_records(MAKER);
    lab.write("studies/s/count.pl", counter);
    let makes = "made_by = [\"perl\", \"records.pl\"]";
    lab.change_study(makes, &format!("{makes}\ncounted_by = [\"perl\", \"count.pl\"]"));
    lab
}

#[test]
fn what_was_made_of_records_is_counted_by_the_study() {
    let lab = counted_by(COUNTER);
    lab.program("one", "honest");
    let said = lab.bakeoff(&["run", "s"]);
    let row = &lab.run().outcomes[0].rows[0];
    let told = row.figure("pieces").map(|it| it.median);
    assert_eq!(told, Some(50.0), "the program's own word was taken: {said:?}");
    lab.assert_nothing_is_left();
}

#[test]
fn a_contender_whose_records_cant_be_counted_has_no_figure_and_is_told_why() {
    let failure = |counter: &str, mode: &str| {
        let lab = counted_by(counter);
        lab.program("one", mode);
        let said = lab.bakeoff(&["run", "s"]);
        let run = lab.run();
        assert_eq!(said.code, Some(1), "{said:?}");
        lab.assert_nothing_is_left();
        let trial = run.trials.iter().chain(&run.failed).next().unwrap();
        assert!(trial.evidence.work.is_none(), "{trial:?}");
        trial.evidence.process.failure.clone().unwrap_or_default()
    };
    for (counter, mode, says) in [
        ("print '{}';", "makes-nothing", "it wrote nothing to the file that `--made` names"),
        (COUNTER, "makes-less-later", "it changed the file that `--made` names after"),
        ("print 'many';", "honest", "`perl count.pl`: it printed \"many\", which is no object"),
        (
            "print STDERR 'too long'; exit 4;",
            "honest",
            "`perl count.pl`: it ended with exit code 4",
        ),
    ] {
        let why = failure(counter, mode);
        assert!(why.starts_with(says), "{says}: {why}");
    }
}

/// Else figures of other records would be put beside them.
#[test]
fn a_run_is_not_resumed_with_another_maker_of_its_records() {
    let lab = of_records(MAKER);
    lab.program("honest", "honest");
    lab.bakeoff(&["run", "s"]);
    lab.write("studies/s/records.pl", &MAKER.replace("50", "60"));
    let said = lab.bakeoff(&["run", "--resume", "runs/latest"]);
    assert!(
        said.stderr.contains("or what makes or counts its records, is not what it was"),
        "{said:?}"
    );
}

/// What would make any program the fastest.
#[test]
fn work_that_was_not_done_is_invalid_and_a_clock_that_goes_otherwise_is() {
    let lab = Lab::of_programs();
    lab.program("honest", "honest");
    let lies = ["counts-twice", "stopped-clock", "fast-clock", "slow-clock"];
    for mode in lies {
        lab.program(mode, mode);
    }
    lab.bakeoff(&["run", "s"]);
    let run = lab.run();
    assert_eq!(contract(&run, "honest"), Verdict::Valid);
    for mode in lies {
        assert_eq!(contract(&run, mode), Verdict::Invalid, "{mode}");
    }
    lab.assert_nothing_is_left();
}

/// Its sums are right, and so is its clock.
#[test]
fn work_that_was_done_at_another_time_than_it_is_counted_casts_doubt() {
    let lab = Lab::of_programs();
    let lies = ["works-ahead", "saves-up", "pauses"];
    for mode in lies {
        lab.program(mode, mode);
    }
    // The warm-up is what it is told late of.
    lab.change_study("measure_s = 0.6\nwarmup_s = 0.1", "measure_s = 0.6\nwarmup_s = 0.4");
    lab.bakeoff(&["run", "s"]);
    let run = lab.run();
    for mode in lies {
        assert_eq!(contract(&run, mode), Verdict::Valid, "{mode}");
        assert_eq!(verdict(&run, mode, "own-account"), Verdict::Suspect, "{mode}");
    }
    lab.assert_nothing_is_left();
}

/// One line made run.json unreadable once, for all contenders.
#[test]
fn no_number_of_a_line_costs_others_their_figures() {
    let lab = Lab::of_programs();
    lab.program("honest", "honest");
    let extremes = [
        "extreme-done-9007199254740992",
        "extreme-done-1152921504606846976",
        "extreme-sum-18446744073709551615",
        "extreme-t-1e308",
        "extreme-result-1e308",
        "extreme-result--5",
    ];
    for (at, mode) in extremes.iter().enumerate() {
        lab.program(&format!("extreme-{at}"), mode);
    }
    let said = lab.bakeoff(&["run", "s"]);
    for arguments in [
        &["report", "runs/latest"][..],
        &["export", "runs/latest", "--format", "go"],
        &["compare", "runs/latest", "runs/latest"],
        &["run", "--resume", "runs/latest"],
    ] {
        let read = lab.bakeoff(arguments);
        assert!(!read.stderr.contains("run.json"), "{arguments:?}: {read:?}");
        // On a busy machine it is told why its figure is left out.
        let all = format!("{}{}", read.stdout, read.stderr);
        assert!(all.contains("honest"), "{arguments:?}: {read:?}");
    }
    let run = lab.run();
    let row = |name: &str| run.outcomes[0].rows.iter().find(|it| it.contender == name);
    assert!(row("honest").is_some_and(|it| it.figure(RATE).is_some()), "{said:?}");
    for (at, mode) in extremes.iter().enumerate() {
        let row = row(&format!("extreme-{at}"));
        assert!(row.is_none_or(|row| row.verdict == Verdict::Invalid), "{mode}: {row:?}");
    }
    lab.assert_nothing_is_left();
}

/// A run that was made before numbers were bounded where they are read.
#[test]
fn a_run_in_which_one_contender_counted_beyond_all_bounds_is_read_without_it() {
    let lab = Lab::of_programs();
    lab.program("honest", "honest");
    lab.program("boasts", "honest");
    lab.bakeoff(&["run", "s"]);
    let path = lab.path("runs/latest/run.json");
    let mut run: serde_json::Value =
        serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    for trial in run["trials"].as_array_mut().unwrap() {
        if trial["slot"]["contender"] == "boasts" {
            trial["evidence"]["work"]["intervals"][0]["done"] = (1_u64 << 60).into();
        }
    }
    std::fs::write(&path, serde_json::to_vec(&run).unwrap()).unwrap();
    for arguments in [&["report", "runs/latest"][..], &["compare", "runs/latest", "runs/latest"]] {
        let read = lab.bakeoff(arguments);
        assert!(read.stdout.contains("honest"), "{arguments:?}: {read:?}");
    }
}

/// A process that it left behind holds its output, so that no end of it is seen.
#[test]
fn a_program_that_leaves_a_child_with_its_output_is_told_with_its_code() {
    let lab = Lab::of_programs();
    lab.program("parent", "leaves-a-child");
    lab.bakeoff(&["run", "s"]);
    let run = lab.run();
    let trial = run.trials.iter().chain(&run.failed).next().unwrap();
    let why = trial.evidence.process.failure.clone().unwrap_or_default();
    assert_eq!(why, "it ended with exit code 7 before its result");
    lab.assert_nothing_is_left();
}

#[test]
fn a_program_that_fails_is_told_in_one_sentence_and_the_others_are_measured() {
    let lab = Lab::of_programs();
    for mode in ["honest", "garbage", "floods", "dies", "no-result", "tells-at-the-end"] {
        lab.program(mode, mode);
    }
    lab.bakeoff(&["run", "s"]);
    let run = lab.run();
    let why = |name: &str| {
        let trial = run.trials.iter().find(|trial| trial.slot.contender == name).unwrap();
        trial.evidence.process.failure.clone().unwrap_or_default()
    };
    assert_eq!(why("honest"), "");
    assert!(
        why("garbage").starts_with("it printed \"Loading \u{fffd}[31mmodules\"; a line is"),
        "{}",
        why("garbage")
    );
    assert!(why("floods").starts_with("it printed more than"), "{}", why("floods"));
    assert!(why("dies").contains("code 3"), "{}", why("dies"));
    assert!(why("no-result").ends_with("code 0 before its result"), "{}", why("no-result"));
    let late = why("tells-at-the-end");
    assert!(late.starts_with("it ended before its window did"), "{late}");
    lab.assert_nothing_is_left();
}

/// Else each trial would take half a minute, and nobody would know why.
#[test]
fn a_command_of_the_study_that_leaves_a_child_with_its_output_has_ended() {
    let lab = of_records(&format!("{MAKER}\nexit 0 if fork; sleep 60;"));
    lab.program("one", "honest");
    let said = lab.check_program("s/one");
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(said.stdout.contains("✓ sums the numbers of all records"), "{said:?}");
    lab.assert_nothing_is_left();
}

/// Experiments with flags aren't copies of folders.
#[test]
fn a_variant_is_a_contender_with_flags_of_its_own_and_the_same_build() {
    let lab = Lab::of_programs();
    lab.write("studies/s/p/program.pl", include_str!("../fixture/program.pl"));
    let more = "build = [\"sh\", \"-c\", \"echo built >> $BUILD/builds\"]\n\
                [variant.lies]\ntitle = \"counted twice\"\narguments = [\"counts-twice\"]\n\
                remark = \"It counts twice.\"\n\
                [variant.honest]\ntitle = \"told so\"\narguments = [\"honest\"]\n";
    lab.contender("p", "[\"perl\", \"$SOURCE/program.pl\", \"$VARIANT\"]", more);
    lab.change_study(
        "pieces = [100] } }]\n\n[profile.full]",
        "pieces = [100] } }]\n\
                      contenders = [\"p-lies\", \"p-honest\"]\n\n[profile.full]",
    );
    let said = lab.bakeoff(&["run", "s"]);
    let run = lab.run();
    let names: Vec<_> = run.contenders.iter().map(|it| (&*it.name, &*it.title)).collect();
    assert_eq!(names, [("p-honest", "p, told so"), ("p-lies", "p, counted twice")], "{said:?}");
    assert_eq!(run.contenders[1].remark.as_deref(), Some("It counts twice."));
    assert_eq!(run.contenders[1].run.last().map(|it| &**it), Some("counts-twice"));
    assert_eq!(contract(&run, "p-lies"), Verdict::Invalid);
    assert_eq!(contract(&run, "p-honest"), Verdict::Valid);
    let builds = std::fs::read_to_string(lab.path("studies/s/p/build/builds")).unwrap();
    assert_eq!(builds, "built\n", "variants have one build");
    lab.assert_nothing_is_left();

    lab.program("p-lies", "honest");
    let said = lab.bakeoff(&["run", "s"]);
    assert!(said.stderr.contains("two contenders `p-lies`: a folder and a variant"), "{said:?}");
}

#[test]
fn a_contender_is_only_given_what_it_can_do() {
    let lab = Lab::of_programs();
    lab.program("all", "honest");
    lab.program("some", "honest");
    let file = std::fs::read_to_string(lab.path("studies/s/some/contender.toml")).unwrap();
    lab.write("studies/s/some/contender.toml", &format!("{file}only = {{ pieces = [7] }}\n"));
    lab.change_study(
        "pieces = [100] } }]\n\n[profile.full]",
        "pieces = [7, 100] } }]\n\n[profile.full]",
    );
    let said = lab.bakeoff(&["run", "s"]);
    let run = lab.run();
    let tried = |name: &str, pieces: u64| {
        let slots = run.trials.iter().map(|trial| &trial.slot);
        let at = |value: Option<&Value>| value == Some(&Value::Number(pieces));
        slots.filter(|it| it.contender == name && at(it.setting.value("pieces"))).count() > 0
    };
    assert!(tried("all", 7) && tried("all", 100) && tried("some", 7), "{said:?}");
    assert!(!tried("some", 100), "{said:?}");
    let said = lab.check_program("s/some");
    assert_eq!(said.code, Some(0), "{said:?}");

    lab.write("studies/s/some/contender.toml", &format!("{file}only = {{ bytes = [7] }}\n"));
    let said = lab.bakeoff(&["check", "s/some"]);
    assert!(said.stderr.contains("there is no parameter `bytes`; the study has"), "{said:?}");
}

#[test]
fn check_has_a_program_work_and_sums_what_it_counts() {
    let lab = Lab::of_programs();
    lab.program("honest", "honest");
    lab.program("twice", "counts-twice");
    let said = lab.check_program("s/honest");
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(said.stdout.contains("✓ sums the payloads"), "{said:?}");
    let said = lab.bakeoff(&["check", "s/twice"]);
    assert_eq!(said.code, Some(1), "{said:?}");
    assert!(said.stdout.contains("✗ sums the payloads"), "{said:?}");
}

/// Else a study would be refused only once its trials fail.
#[test]
fn what_a_study_of_programs_lacks_is_said_with_its_line() {
    let refused = |from: &str, to: &str, says: &str| {
        let lab = Lab::of_programs();
        lab.program("honest", "honest");
        lab.change_study(from, to);
        let said = lab.bakeoff(&["run", "s"]);
        assert_eq!(said.code, Some(2), "{said:?}");
        assert!(said.stderr.contains("studies/s/study.toml:"), "{said:?}");
        assert!(said.stderr.contains(says), "{says}: {said:?}");
    };
    refused(
        "\n[[parameter]]",
        "protocol = \"http1\"\n\n[[parameter]]",
        "`protocol` is the load generator's",
    );
    refused(
        "sum = \"payloads\"",
        "answer = { status = 200, body = \"x\", fresh = false }",
        "nobody asks",
    );
    refused(
        "{ pieces = [100] } }]\n\n[profile.full]",
        "{ bytes = [100] } }]\n\n[profile.full]",
        "there is no parameter `bytes`; the study has `pieces`",
    );
    refused("id = \"pieces\"", "id = \"rate\"", "there is a figure `rate` already");
    refused("sum = \"payloads\"", "sum = \"records\"", "takes `[data]`");
    refused("name = \"pieces\"", "name = \"seed\"", "is started with `--seed`");
    refused("pieces = [10, 1000]", "pieces = [-1]", "this has to be a list of whole numbers");
    refused("parameters = { pieces = [10, 1000] }", "parameters = {}", "missing key `connections`");
    refused(
        "unit = { one = \"piece at",
        "words = { a = \"b\" }\nunit = { one = \"piece at",
        "a parameter has either",
    );
}

/// A contender that is an honest program within a shell's words: `$0` is its folder.
fn within(lab: &Lab, name: &str, words: &str) {
    lab.program(name, "honest");
    let run = format!("[\"sh\", \"-c\", {words:?}, \"$SOURCE\"]");
    lab.contender(name, &run, "needs = { perl = \"perl-base\" }");
}

/// Else one program that keeps something beside itself costs all others their trials.
#[test]
fn a_program_that_changes_its_own_files_takes_no_trial_from_others() {
    let lab = Lab::of_programs();
    lab.change_study("blocks = 1\nmeasure_s = 0.6", "blocks = 2\nmeasure_s = 0.2");
    within(&lab, "keeps", "date +%s%N > $0/kept; exec perl $0/program.pl honest \"$@\"");
    lab.program("other", "honest");
    let said = lab.bakeoff(&["run", "s"]);
    assert_eq!(said.code, Some(2), "{said:?}");
    said.assert_complains(&["the files of keeps were changed while the run was under way"]);
    let run = lab.run();
    let trials = |name: &str| run.trials.iter().filter(|it| it.slot.contender == name).count();
    // Either may be made twice in each block.
    assert_eq!(trials("keeps"), 1, "{said:?}");
    assert!([2, 4].contains(&trials("other")), "{said:?}");
    lab.assert_nothing_is_left();
}

/// Else of two results one would be taken, and nobody would know of the other.
#[test]
fn a_program_that_says_what_it_may_not_has_no_figure_and_is_told_why() {
    let lab = Lab::of_programs();
    lab.change_study("measure_s = 0.6", "measure_s = 0.2");
    let program = "perl $0/program.pl honest \"$@\"";
    let cases = [
        ("twice", format!("{program}; echo '{{\"result\": {{}}}}'"), "after its result"),
        (
            "again",
            format!("echo '{{\"ready\": true}}'; {program}"),
            "it said again that it is ready",
        ),
        ("closes", "exec >&-; sleep 60".into(), "it closed its standard output before it said"),
        (
            "long",
            format!("printf '{{\"ready\": true, \"of\": \"%05000d\"}}\\n' 7; {program}"),
            "a line has fewer than 4096 bytes",
        ),
    ];
    cases.iter().for_each(|(name, words, _)| within(&lab, name, words));
    lab.bakeoff(&["run", "s"]);
    let run = lab.run();
    for (name, _, why) in &cases {
        let trial = run.trials.iter().find(|it| it.slot.contender == *name).unwrap();
        let failure = trial.evidence.process.failure.as_deref().unwrap_or_default();
        assert!(failure.contains(why), "{name}: {failure}");
        assert!(trial.evidence.work.is_none(), "{name}");
    }
    lab.assert_nothing_is_left();
}
