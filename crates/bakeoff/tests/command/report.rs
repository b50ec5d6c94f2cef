//! `bakeoff report` as a user meets it.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Stdio;

use assert_cmd::Command;
use result::{Run, State};
use serde_json::Value;
use tempfile::TempDir;

use crate::runs;

fn report(run: &Path) -> Command {
    let mut command = Command::cargo_bin("bakeoff").unwrap();
    command.arg("report").arg(run).env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE");
    command
}

fn folder_with(json: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("run.json"), json).unwrap();
    folder
}

fn web() -> TempDir {
    folder_with(&serde_json::to_string(&runs::web()).unwrap())
}

/// What is said about a file that can't be shown.
fn complaint(json: &str) -> String {
    let folder = folder_with(json);
    let output = report(folder.path()).assert().code(2).get_output().clone();
    assert!(output.stdout.is_empty(), "tables of a run that couldn't be read");
    assert!(!folder.path().join("report.html").exists(), "a page of a run that couldn't be read");
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn a_folder_gets_its_page_and_the_terminal_the_tables() {
    let folder = web();
    let output = report(folder.path()).assert().success().get_output().clone();
    let tables = String::from_utf8(output.stdout).unwrap();
    assert!(tables.starts_with("nginx, by configuration alone (suspect) is first"), "{tables}");
    let page = fs::read_to_string(folder.path().join("report.html")).unwrap();
    assert!(page.contains("nginx, by configuration alone (suspect) is first"));
    let text = fs::read_to_string(folder.path().join("report.md")).unwrap();
    assert!(text.contains("| contender |"), "{text}");
    let lines = fs::read_to_string(folder.path().join("trials.csv")).unwrap();
    assert_eq!(lines.lines().count(), 1 + runs::web().trials.len());
    let says = String::from_utf8(output.stderr).unwrap();
    assert!(says.contains("report.html"), "nobody is told where the page is: {says}");
}

#[test]
fn a_run_that_was_killed_shows_what_was_measured_until_then_and_stays_as_it_is() {
    let whole = runs::quick();
    let go_on_30 = whole.trials[1].clone();
    assert_eq!((&*go_on_30.slot.contender, go_on_30.slot.setting.connections()), ("go", 30));
    let rate = report::units::count(go_on_30.evidence.work.unwrap().rate);
    // It kept no figures, or those of before it was resumed, here of other trials.
    for outcomes in [Vec::new(), whole.outcomes.clone()] {
        let mut killed = Run { state: State::Unfinished, outcomes, ..whole.clone() };
        killed.trials.truncate(5);
        let appended = killed.trials.split_off(3);
        let folder = folder_with(&serde_json::to_string(&killed).unwrap());
        let lines = appended.iter().map(|it| serde_json::to_string(it).unwrap() + "\n");
        fs::write(folder.path().join("trials.jsonl"), lines.collect::<String>()).unwrap();
        let kept = || ["run.json", "trials.jsonl"].map(|it| fs::read(folder.path().join(it)).ok());
        let before = kept();

        let output = report(folder.path()).assert().success().get_output().clone();
        let tables = String::from_utf8(output.stdout).unwrap();
        let finding = "So far, with 5 of 8 trials: Nobody is ranked: a rank needs 6 blocks";
        assert!(tables.starts_with(finding), "{tables}");
        let note = "The run is unfinished: 5 of 8 trials made. If it was stopped, `bakeoff run \
                    --resume` with its folder";
        assert!(tables.replace('\n', " ").contains(note), "{tables}");
        let go = tables.lines().find(|line| line.starts_with("– Go net/http"));
        let go = go.unwrap_or_else(|| panic!("Go has no figure: {tables}"));
        assert!(go.contains(&format!(" {rate} ")), "not {rate}, of its one trial: {go}");
        for file in ["report.html", "report.md"] {
            let text = fs::read_to_string(folder.path().join(file)).unwrap();
            assert!(text.contains(finding), "{file} doesn't say that it is of a part");
        }
        assert!(kept() == before, "the run was changed");
    }
}

#[test]
fn a_file_of_any_name_will_do() {
    let folder = web();
    let file = folder.path().join("kept.json");
    fs::rename(folder.path().join("run.json"), &file).unwrap();
    report(&file).assert().success();
    assert!(folder.path().join("report.html").exists());
}

#[test]
fn colour_goes_to_whom_it_may() {
    let folder = web();
    let coloured = |name, value| {
        let output = report(folder.path()).env(name, value).output().unwrap();
        output.stdout.contains(&0x1b)
    };
    assert!(!coloured("TERM", "xterm-256color"), "colour reached a pipe");
    assert!(coloured("CLICOLOR_FORCE", "1"), "colour asked for didn't come");
    let both = report(folder.path()).env("CLICOLOR_FORCE", "1").env("NO_COLOR", "1").output();
    assert!(!both.unwrap().stdout.contains(&0x1b), "NO_COLOR was overruled");
}

#[test]
fn a_reader_that_has_gone_is_no_error() {
    let folder = web();
    let program = assert_cmd::cargo::cargo_bin!("bakeoff");
    let mut child = std::process::Command::new(program)
        .arg("report")
        .arg(folder.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    assert!(child.wait().unwrap().success(), "`| head` ends in an error");
}

#[test]
fn a_run_that_is_not_there_is_named() {
    let output = report(Path::new("/no/such/run")).assert().code(2).get_output().clone();
    let says = String::from_utf8(output.stderr).unwrap();
    assert!(says.contains("/no/such/run") && says.contains("No such file"), "{says}");
}

#[test]
fn broken_json_is_named_with_its_line() {
    let says = complaint("{\n  \"schema\": 1,\n  \"id\": oops\n}");
    assert!(says.contains("run.json") && says.contains("line 3"), "{says}");
}

#[test]
fn json_of_something_else_is_no_run() {
    let says = complaint("{\"schema\": 1, \"name\": \"x\"}");
    assert!(says.contains("no run of bakeoff") && says.contains("missing field"), "{says}");
}

/// A parser quotes what a text means, and not how it stands there.
#[test]
fn what_is_said_of_a_file_steers_no_terminal() {
    let mut run = serde_json::to_value(runs::web()).unwrap();
    run["state"] = "\u{1b}]0;owned\u{7}".into();
    let says = complaint(&run.to_string());
    assert!(says.contains("`\\u{1b}]0;owned\\u{7}`"), "{says}");
    assert!(!says.contains(['\u{1b}', '\u{7}']), "{says}");
}

#[test]
fn a_run_of_another_version_is_not_misread() {
    let says = complaint("{\"schema\": 99}");
    assert!(says.contains("99") && says.contains("schema"), "{says}");
}

#[test]
fn a_page_that_cant_be_written_is_named() {
    let folder = web();
    let page = folder.path().join("report.html");
    fs::create_dir(&page).unwrap();
    let output = report(folder.path()).assert().code(4).get_output().clone();
    let says = String::from_utf8(output.stderr).unwrap();
    assert!(says.contains(&page.display().to_string()), "{says}");
}

/// The places of all numbers in a file, one for each that is alike in the elements of a list.
fn numbers(value: &Value, place: String, alike: String, found: &mut BTreeMap<String, String>) {
    match value {
        Value::Number(_) => {
            found.entry(alike).or_insert(place);
        }
        Value::Array(all) => all.iter().enumerate().for_each(|(at, value)| {
            numbers(value, format!("{place}/{at}"), format!("{alike}/-"), found);
        }),
        Value::Object(all) => all.iter().for_each(|(name, value)| {
            numbers(value, format!("{place}/{name}"), format!("{alike}/{name}"), found);
        }),
        _ => {}
    }
}

/// All that is made of a run that can be read, also if it weren't complete; `None` of one that
/// is refused.
fn all_of(file: &Path) -> Option<String> {
    let run = lab::run::folder::read(file).ok()?;
    let mut concluded = run.clone();
    judge::outcomes::conclude(&mut concluded);
    let compared = judge::compare::compare(&run, &concluded);
    let terminal = report::Terminal::default();
    let shown = [
        report::terminal(&run, terminal),
        report::terminal(&concluded, terminal),
        report::markdown(&run),
        report::csv(&run),
        report::html(&run),
        report::comparison(&compared, terminal),
    ];
    Some(shown.concat())
}

/// Whether a text has this word, and not only within another one.
fn has_word(text: &str, word: &str) -> bool {
    text.match_indices(word).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + word.len()..].chars().next();
        !before.into_iter().chain(after).any(char::is_alphanumeric)
    })
}

/// What becomes of these numbers, each at each place of a run where there is one.
fn wrong_with(run: &Run, others: &[Value]) -> Vec<String> {
    let run = serde_json::to_value(run).unwrap();
    let mut found = BTreeMap::new();
    numbers(&run, String::new(), String::new(), &mut found);
    assert!(found.len() > 100, "{found:?}");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("run.json");
    let mut wrong = Vec::new();
    for (place, other) in found.values().flat_map(|place| others.iter().map(move |it| (place, it)))
    {
        let mut changed = run.clone();
        *changed.pointer_mut(place).unwrap() = other.clone();
        fs::write(&file, changed.to_string()).unwrap();
        match std::panic::catch_unwind(|| all_of(&file)) {
            Err(_) => wrong.push(format!("{other} at {place} panics")),
            Ok(Some(made)) if ["inf", "NaN"].iter().any(|word| has_word(&made, word)) => {
                wrong.push(format!("{other} at {place} is shown as no number"));
            }
            Ok(_) => {}
        }
    }
    wrong
}

#[test]
fn whatever_number_stands_in_a_run_it_is_shown_or_refused() {
    let all = [0.into(), u32::MAX.into(), u64::MAX.into(), (-1).into(), 1e300.into()];
    let wrong = wrong_with(&runs::quick(), &all);
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn whatever_number_stands_in_a_run_with_open_loops_it_is_shown_or_refused() {
    let wrong = wrong_with(&runs::open_loops(), &[0.into(), u64::MAX.into(), 1e300.into()]);
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn more_blocks_than_a_run_can_have_are_refused_with_a_sentence() {
    let changed = |change: fn(&mut Run)| {
        let mut run = runs::quick();
        run.state = State::Unfinished;
        change(&mut run);
        complaint(&serde_json::to_string(&run).unwrap())
    };
    let of_many = changed(|run| {
        run.plan.blocks = 24;
        let first = run.trials[0].clone();
        run.trials.extend((1..24).map(|block| {
            let mut trial = first.clone();
            trial.slot.block = block;
            trial
        }));
    });
    assert!(of_many.contains("its plan has 24 blocks, and 20 are the most"), "{of_many}");
    let last = changed(|run| run.trials[0].slot.block = u32::MAX);
    assert!(last.contains("is of block 4294967295, and 19 is the last"), "{last}");
    let often = changed(|run| run.trials = vec![run.trials[0].clone(); 30]);
    assert!(often.contains("it has more than 20 trials of "), "{often}");
    let stranger = changed(|run| run.trials[0].slot.contender = "nobody".into());
    assert!(
        stranger.contains("a trial is of nobody, which is none of its contenders"),
        "{stranger}"
    );
}
