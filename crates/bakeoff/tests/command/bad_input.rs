//! Whatever is wrong with what somebody wrote: one clear sentence with its place, before anything
//! is built or measured.

use crate::fixture::Lab;

/// Asserts that the arguments or files are refused, with all of these words.
fn refused(lab: &Lab, arguments: &[&str], complaints: &[&str]) {
    let said = lab.bakeoff(arguments);
    assert_eq!(said.code, Some(2), "{arguments:?}: {said:?}");
    said.assert_complains(complaints);
}

/// What is wrong, the words in a good file that give way to others, and what is said of those.
type Wrong = (&'static str, &'static str, &'static str, &'static str);

const WRONG_STUDIES: [Wrong; 12] = [
    (
        "an unknown key",
        "question",
        "qestion",
        "3:1: unknown key `qestion` (did you mean `question`?)",
    ),
    (
        "a number where a word stands",
        "\"one\"",
        "1",
        "18:23: invalid type: integer `1`, expected `\"one\"` or `\"all\"`, as text",
    ),
    (
        "an unknown word",
        "\"one\"",
        "\"on\"",
        "18:23: unknown value `on` (did you mean `one`?); allowed: `one` or",
    ),
    (
        "a number for a protocol",
        "\"http1\"",
        "2",
        "7:12: a word has to stand here, as text; docs/study-toml.md",
    ),
    (
        "a table without its end",
        "[4] }]",
        "[4] ]",
        "18:13: nothing closes this `{`: `}` is missing",
    ),
    (
        "a table without its end before others",
        "fresh = false }",
        "fresh = false",
        "12:10: nothing closes this `{`",
    ),
    (
        "a study still to be filled in",
        "A study",
        "FILL IN: a study",
        "2:9: this is still to be filled in",
    ),
    (
        "a contender of a profile that is none",
        "settings",
        "contenders = [\"good\", \"goood\"]\nsettings",
        "18:23: there is no contender `goood` (did you mean `good`?); the study has good",
    ),
    (
        "a curve without its closed loop",
        "settings",
        "curve = { cores = \"one\", connections = 5, percent = [50], blocks = 1 }\nsettings",
        "18:9: its maxima come from the closed loop of the same cores, connections and kept, which \
         the profile `quick` lacks among",
    ),
    (
        "figures published of a contender that is none",
        "[profile.quick]",
        "[[published]]\nrow = \"then\"\ncontender = \"gone\"\nsource = \"us\"\ncores = \"one\"\n\
             kept = false\nconnections = [30]\nrate = [1.0]\n\n[profile.quick]",
        "16:13: there is no contender `gone`; the study has good",
    ),
    (
        "a claim to be ahead of oneself",
        "[profile.quick]",
        "[[claim]]\nsays = \"it leads\"\nsource = \"us\"\ncontender = \"good\"\n\
             against = [\"good\"]\n\n[profile.quick]",
        "18:12: `good` can't be ahead of itself; name the contenders that it leads",
    ),
    (
        "a claim of a lead that is none",
        "[profile.quick]",
        "[[claim]]\nsays = \"it leads\"\nsource = \"us\"\ncontender = \"good\"\n\
             against = []\nlead = 0.5\n\n[profile.quick]",
        "19:8: a lead is how many times as good the contender is: a number above 1",
    ),
];

const WRONG_CONTENDERS: [Wrong; 7] = [
    (
        "an unknown key of a contender",
        "language",
        "langauge",
        "2:1: unknown key `langauge` (did you mean `language`?)",
    ),
    (
        "an unknown key that nothing is near",
        "run =",
        "prot = 80\nrun =",
        "4:1: unknown key `prot`; allowed:",
    ),
    (
        "a time below the shortest",
        "run =",
        "ready_within_s = -1\nrun =",
        "4:18: this has to be from 0.1 to 3600 seconds",
    ),
    (
        "an unknown variable",
        "$SOURCE",
        "$SORCE",
        "4:16: there is no `$SORCE` (did you mean `$SOURCE`?)",
    ),
    (
        "a file that is none",
        "run =",
        "files = [\"gone.conf\"]\nrun =",
        "4:10: there is no file `gone.conf` in",
    ),
    (
        "a contender still to be filled in",
        "\"good\"",
        "\"FILL IN\"",
        "1:9: this is still to be filled in",
    ),
    (
        "a contract that the study lacks",
        "run =",
        "contract = \"light\"\nrun =",
        "4:12: unknown contract `light`; the study has one",
    ),
];

#[test]
fn what_is_wrong_in_a_file_is_a_sentence_with_its_place_before_anything_is_built() {
    let of_study = WRONG_STUDIES.map(|it| ("studies/s/study.toml", it));
    let of_contender = WRONG_CONTENDERS.map(|it| ("studies/s/good/contender.toml", it));
    for (file, (what, from, to, complaint)) in of_study.into_iter().chain(of_contender) {
        let lab = Lab::with_good();
        let text = std::fs::read_to_string(lab.path(file)).unwrap();
        assert!(text.contains(from), "{what}: {file} has no {from}:\n{text}");
        lab.write(file, &text.replacen(from, to, 1));
        let line = complaint.split(':').next().unwrap();
        let shown = format!("\n  {line} | ");
        refused(&lab, &["run", "s"], &[&format!("{file}:{complaint}"), &shown, " ^\n"]);
        assert!(!lab.path("runs").exists(), "{what}: a run was begun");
    }
}

/// It has no place: who checks one contender is told what it may say.
#[test]
fn an_unknown_contract_is_told_with_what_there_is() {
    let lab = Lab::with_good().with_lighter_contract();
    lab.server("good", "good", "contract = \"light\"");
    let said = lab.bakeoff(&["check", "s/good"]);
    said.assert_complains(&["unknown contract `light`; allowed: `static`, or none for the full"]);
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
        ("path", "method = \"get\", path".into(), "as GET and not get"),
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
