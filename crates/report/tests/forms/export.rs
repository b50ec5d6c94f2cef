//! What trackers of benchmarks get.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use report::export::{Format, export};
use result::Run;
use result::figure::Unit;
use result::finding::Verdict;
use serde_json::Value;
use tempfile::TempDir;

use crate::fixture;
use crate::skipped::skipped;

/// A run in which the first row of the first setting has this word, and exact figures.
fn with(verdict: Verdict) -> Run {
    let mut run = fixture::web();
    run.outcomes.truncate(1);
    let rows = &mut run.outcomes[0].rows;
    rows.iter_mut().for_each(|row| row.verdict = Verdict::Valid);
    rows[0].verdict = verdict;
    rows[0].figures.values_mut().for_each(|figure| figure.at_least = false);
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

/// Else a list has ranks, and parts those that tie without a word.
#[test]
fn contenders_are_in_the_order_of_their_names() {
    let mut run = with(Verdict::Valid);
    let gha = |run: &Run| {
        let text = text(run, Format::Gha);
        let names = text.lines().filter(|line| line.contains("/rate\""));
        names.map(|line| line.split('/').nth(1).unwrap().to_string()).collect::<Vec<_>>()
    };
    let names = gha(&run);
    assert!(names.len() > 2 && names.is_sorted(), "{names:?}");
    run.outcomes[0].rows.reverse();
    assert_eq!(gha(&run), names);
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

/// Else a tracker's chart ends, and nobody says why.
#[test]
fn a_figure_that_a_block_lacks_is_named() {
    let mut run = with(Verdict::Valid);
    let before = export(&run, Format::Go);
    let row = &mut run.outcomes[0].rows[0];
    row.figures.remove("p99_us").expect("it had one");
    let contender = row.contender.clone();
    let exported = export(&run, Format::Go);
    let new: Vec<&String> =
        exported.lacking.iter().filter(|it| !before.lacking.contains(it)).collect();
    let [only] = new[..] else { panic!("{new:?}") };
    assert!(only.contains("p99") && only.ends_with(": not every block has it"), "{only}");
    assert!(only.contains(&contender) || only.contains("30"), "of whom, and where: {only}");
    assert_eq!(exported.left_out, before.left_out, "its other figures stand");
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

/// No point that isn't known in full stands among those that are.
#[test]
fn what_is_not_checked_in_full_is_marked_in_each_form() {
    let run = with(Verdict::NotChecked);
    let contender = run.outcomes[0].rows[0].contender.clone();
    let go = text(&run, Format::Go);
    let (sound, doubtful) = go.split_once("\nverdict: not checked in full\n").expect("its line");
    let own = format!("contender={contender}/");
    assert!(!sound.contains(&own) && doubtful.contains(&own), "{go}");
    let mark = " (not checked in full)";
    for format in [Format::Bmf, Format::Gha] {
        let text = text(&run, format);
        let mut names = text.lines().filter(|line| line.contains(&format!("web/{contender}/")));
        assert!(names.all(|line| line.contains(mark)), "{text}");
        assert!(text.contains(mark), "{text}");
    }
    assert!(text(&run, Format::OpenMetrics).contains("verdict=\"not_checked\""));
}

#[test]
fn a_figure_that_is_only_a_lower_bound_is_marked_and_has_no_upper_end() {
    let mut run = with(Verdict::Valid);
    run.outcomes[0].rows[0].figures.get_mut("p99_us").unwrap().at_least = true;
    let contender = run.outcomes[0].rows[0].contender.clone();
    let path = format!("web/{contender}/one-core/connections=30/kept=true");
    let bmf: Value = serde_json::from_str(&text(&run, Format::Bmf)).unwrap();
    assert!(bmf[&path]["p50-us"].is_object() && bmf[&path]["p99-us"].is_null(), "{bmf}");
    let bound = bmf[format!("{path} (at least)")]["p99-us"].as_object().expect("by itself");
    assert!(bound.contains_key("lower_value") && !bound.contains_key("upper_value"), "{bound:?}");
    let gha = text(&run, Format::Gha);
    assert!(gha.contains(&format!("{path}/p99_us (at least)\"")), "{gha}");
    assert!(gha.contains(&format!("{path}/p50_us\"")), "{gha}");
    let go = text(&run, Format::Go);
    let (sound, bounds) = go.split_once("\nverdict: at least\n").expect("a line of its own");
    let own = |text: &str| text.lines().filter(|it| it.contains(&contender)).collect::<String>();
    assert!(!own(sound).contains(" p99-ns"), "{sound}");
    assert!(own(bounds).contains(" p99-ns") && !bounds.contains("p50-ns"), "{bounds}");
    let openmetrics = text(&run, Format::OpenMetrics);
    let own = format!("bakeoff_p99_seconds{{study=\"web\",contender=\"{contender}\"");
    let lines: Vec<&str> = openmetrics.lines().filter(|line| line.starts_with(&own)).collect();
    assert_eq!(lines.len(), 2, "no upper end: {lines:?}");
    assert!(lines.iter().all(|line| line.contains("bound=\"lower\"")), "{lines:?}");
}

/// A run with such a parameter in each of its settings.
fn with_parameters(parameters: &[(&str, &str)]) -> Run {
    let mut run = with(Verdict::Valid);
    let outcome = &mut run.outcomes[0];
    let own = outcome.setting.clone();
    for (id, value) in parameters {
        outcome.setting.set(id, result::plan::Value::Word((*value).into()));
    }
    let setting = outcome.setting.clone();
    let trials = run.trials.iter_mut().filter(|it| it.slot.setting == own);
    trials.for_each(|it| it.slot.setting = setting.clone());
    run
}

#[test]
fn a_parameter_that_is_called_as_a_label_doubles_none() {
    let taken = ["study", "contender", "cores", "pace", "verdict", "bound", "stat", "rate"];
    let own = taken.map(|name| (name, "mine"));
    let more = [("a-b", "1"), ("a_b", "2"), ("8x", "3")];
    let run = with_parameters(&[&own[..], &more].concat());
    for line in text(&run, Format::OpenMetrics).lines().filter(|line| !line.starts_with('#')) {
        let (_, rest) = line.split_once('{').unwrap();
        let labels = rest.split_once('}').unwrap().0.split(',');
        let names: Vec<&str> = labels.map(|label| label.split_once('=').unwrap().0).collect();
        let apart: std::collections::BTreeSet<&&str> = names.iter().collect();
        assert_eq!(apart.len(), names.len(), "{line}");
        let is_fit = |name: &str| !name.starts_with(|it: char| it.is_ascii_digit());
        assert!(names.iter().all(|name| is_fit(name)), "{line}");
    }
    let go = text(&run, Format::Go);
    let line = go.lines().find(|line| line.starts_with("Benchmark")).unwrap();
    let keys = line.split(' ').next().unwrap().split('/').skip(1);
    let keys: Vec<&str> = keys.map(|part| part.split_once('=').unwrap().0).collect();
    let apart: std::collections::BTreeSet<&&str> = keys.iter().collect();
    assert_eq!(apart.len(), keys.len(), "{line}");
}

/// benchstat takes `-8` at the end of a name for the number of processors, and cuts it off.
#[test]
fn no_name_ends_as_if_it_had_a_number_of_processors() {
    let run = with_parameters(&[("level", "zstd-8")]);
    let go = text(&run, Format::Go);
    let names = go.lines().filter(|line| line.starts_with("Benchmark"));
    let names: Vec<&str> = names.map(|line| line.split(' ').next().unwrap()).collect();
    assert!(!names.is_empty() && names.iter().all(|it| it.ends_with("/level=zstd%2D8")), "{go}");
}

/// Once each has its unit behind it, a time called `pause` and a count called `pause_seconds` are
/// one metric with two meanings, and a reader of OpenMetrics refuses the whole text.
#[test]
fn figures_that_fall_together_with_their_units_are_told_apart() {
    let mut run = with(Verdict::Valid);
    let mut figure = run.study.figures[0].clone();
    for (id, unit) in [("pause_us", Unit::Micros), ("pause_seconds", Unit::Count)] {
        (figure.id, figure.unit) = (id.into(), unit);
        run.study.figures.push(figure.clone());
        for row in &mut run.outcomes[0].rows {
            let estimate = row.figures.values().next().cloned();
            row.figures.insert(id.into(), estimate.expect("a row has a figure"));
        }
    }
    for (format, is_head) in [(Format::OpenMetrics, "# TYPE "), (Format::Go, "Unit ")] {
        let text = text(&run, format);
        let mut heads: Vec<&str> = text.lines().filter(|line| line.starts_with(is_head)).collect();
        let all = heads.len();
        heads.sort_unstable();
        heads.dedup();
        assert_eq!(heads.len(), all, "two figures are one to {}: {text}", format.word());
    }
}

#[test]
fn values_that_differ_have_names_that_differ() {
    let of = |value: &str, format| text(&with_parameters(&[("codec", value)]), format);
    for format in Format::ALL {
        assert_ne!(of("a b", format), of("a-b", format), "{}", format.word());
        assert_ne!(of("a/b", format), of("a%2Fb", format), "{}", format.word());
    }
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
