//! What trackers of benchmarks get.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use report::export::{Format, export};
use result::Run;
use result::finding::Verdict;
use serde_json::Value;
use tempfile::TempDir;

use crate::fixture;
use crate::skipped::skipped;

/// A run in which the first row of the first setting has this word.
fn with(verdict: Verdict) -> Run {
    let mut run = fixture::web();
    run.outcomes.truncate(1);
    let rows = &mut run.outcomes[0].rows;
    rows.iter_mut().for_each(|row| row.verdict = Verdict::Valid);
    rows[0].verdict = verdict;
    run
}

fn text(run: &Run, format: Format) -> String {
    export(run, format).files.into_iter().map(|(_, text)| text).collect()
}

#[test]
fn each_form_has_every_figure_that_stands() {
    let run = with(Verdict::Valid);
    for format in Format::ALL {
        let start: Vec<&str> = text(&run, format).leak().lines().take(24).collect();
        insta::assert_snapshot!(format!("export-{}", format.word()), start.join("\n"));
    }
}

/// A chart never gets a point that can't be defended.
#[test]
fn an_invalid_figure_is_in_no_form_and_named() {
    let run = with(Verdict::Invalid);
    let name = run.outcomes[0].rows[0].contender.clone();
    for format in Format::ALL {
        let text = text(&run, format);
        assert!(!text.contains(&name), "{}", format.word());
    }
    let left_out = export(&run, Format::Go).left_out;
    assert!(left_out.iter().any(|it| it.contains("invalid by")), "{left_out:?}");
}

#[test]
fn a_suspect_figure_is_marked_so_that_it_is_not_drawn_among_others() {
    let run = with(Verdict::Suspect);
    let contender = run.outcomes[0].rows[0].contender.clone();
    let go = text(&run, Format::Go);
    let (sound, doubtful) = go.split_once("\nverdict: suspect\n").expect("a line of its own");
    assert!(!sound.contains(&format!("contender={contender}/")), "{sound}");
    assert!(doubtful.contains(&format!("contender={contender}/")), "{doubtful}");
    let bmf: Value = serde_json::from_str(&text(&run, Format::Bmf)).unwrap();
    let names: Vec<&String> = bmf.as_object().unwrap().keys().collect();
    let marked = names.iter().filter(|name| name.ends_with(" (suspect)")).count();
    assert_eq!(marked, 1, "{names:?}");
    assert!(text(&run, Format::OpenMetrics).contains("verdict=\"suspect\""));
    assert!(text(&run, Format::Gha).contains(" (suspect)\""));
}

/// As Bencher's schema has it: names, each with measures that have a value and perhaps bounds.
#[test]
fn bencher_gets_numbers_in_its_form() {
    let bmf: Value = serde_json::from_str(&text(&with(Verdict::Valid), Format::Bmf)).unwrap();
    for (name, measures) in bmf.as_object().unwrap() {
        for (measure, metric) in measures.as_object().unwrap() {
            let is_slug =
                |char: char| char.is_ascii_lowercase() || char.is_ascii_digit() || char == '-';
            assert!(measure.chars().all(is_slug), "{name}: {measure}");
            let metric = metric.as_object().unwrap();
            assert!(metric.values().all(Value::is_number), "{name}: {measure}");
            let keys: Vec<&String> = metric.keys().collect();
            assert!(
                keys == ["value"] || keys == ["lower_value", "upper_value", "value"],
                "{keys:?}"
            );
        }
    }
}

/// As github-action-benchmark takes them: a list, each with a name, a unit and a number.
#[test]
fn github_action_benchmark_gets_two_lists_in_its_form() {
    let files = export(&with(Verdict::Valid), Format::Gha).files;
    assert_eq!(files.len(), 2, "one a direction");
    for (file, text) in files {
        let list: Vec<Value> = serde_json::from_str(&text).unwrap();
        assert!(!list.is_empty(), "{file}");
        for entry in list {
            let entry = entry.as_object().unwrap();
            assert!(entry["name"].is_string() && entry["unit"].is_string(), "{file}: {entry:?}");
            assert!(entry["value"].is_number(), "{file}: {entry:?}");
            let known = ["name", "unit", "value", "range", "extra"];
            assert!(entry.keys().all(|key| known.contains(&key.as_str())), "{file}: {entry:?}");
        }
    }
}

#[test]
fn hostile_names_break_no_form() {
    let run = fixture::hostile();
    for format in [Format::Bmf, Format::Gha] {
        for (name, text) in export(&run, format).files {
            serde_json::from_str::<Value>(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
        }
    }
    for line in text(&run, Format::Go).lines().filter(|line| line.starts_with("Benchmark")) {
        assert_eq!(line.split_whitespace().count() % 2, 0, "pairs of value and unit: {line}");
    }
    for format in Format::ALL {
        let text = text(&run, format);
        let is_fit = |char: char| char == '\n' || !char.is_control();
        assert!(text.chars().all(is_fit), "{}", format.word());
    }
    let badge: Value = serde_json::from_str(&report::badge(&run)).unwrap();
    assert_eq!(badge["schemaVersion"], 1);
}

#[test]
fn a_badge_says_who_is_first_and_nothing_where_nothing_stands() {
    let badge = |run: &Run| serde_json::from_str::<Value>(&report::badge(run)).unwrap();
    insta::assert_snapshot!(report::badge(&fixture::web()));
    let mut nothing = fixture::web();
    let rows = nothing.outcomes.iter_mut().flat_map(|outcome| &mut outcome.rows);
    rows.for_each(|row| row.verdict = Verdict::Invalid);
    assert_eq!(badge(&nothing)["color"], "lightgrey");
}

/// A folder with the one file of a format.
fn written(format: Format) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("exported");
    fs::write(&file, text(&with(Verdict::Valid), format)).unwrap();
    (folder, file)
}

#[test]
fn benchstat_reads_a_line_a_trial_and_sets_contenders_side_by_side() {
    let (_folder, file) = written(Format::Go);
    let benchstat = "golang.org/x/perf/cmd/benchstat@v0.0.0-20260908200009-22c9c6c9d4da";
    let programs = tempfile::tempdir().unwrap();
    let mut install = Command::new("go");
    install.args(["install", benchstat]).env("GOBIN", programs.path());
    if !install.output().is_ok_and(|output| output.status.success()) {
        return skipped("benchstat can't be had here: it takes a Go of today, and its proxy");
    }
    let mut read = Command::new(programs.path().join("benchstat"));
    let output = read.args(["-col", "/contender"]).arg(&file).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let has_columns = said.contains("nginx-return") && said.contains("erlang");
    assert!(has_columns && said.contains("rate/s") && said.contains("p50-sec"), "{said}");
    assert!(said.contains("p=0.002 n=6"), "it has the blocks for a test: {said}");
}

/// That of Prometheus' own client for Python is strict.
#[test]
fn a_real_reader_of_openmetrics_takes_every_line() {
    let (folder, file) = written(Format::OpenMetrics);
    let folder = folder.path();
    let pip = ["-m", "pip", "install", "-q", "--target"];
    let pip =
        Command::new("python3").args(pip).arg(folder).arg("prometheus_client==0.23.1").output();
    if !pip.is_ok_and(|output| output.status.success()) {
        return skipped("prometheus_client can't be had here");
    }
    let script = "import sys\nfrom prometheus_client.openmetrics import parser\n\
                  print(len(list(parser.text_string_to_metric_families(open(sys.argv[1]).read()))))";
    let mut read = Command::new("python3");
    read.args(["-c", script]).arg(&file).env("PYTHONPATH", folder);
    let output = read.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
