//! What spreadsheets and scripts get.

use report::csv;
use result::Run;
use result::finding::Verdict;

use crate::fixture;

/// The lines by column.
fn read(run: &Run) -> (Vec<String>, Vec<Vec<String>>) {
    let text = csv(run);
    let mut reader = ::csv::Reader::from_reader(text.as_bytes());
    let names = reader.headers().unwrap().iter().map(str::to_string).collect();
    let lines = reader.records().map(|line| line.unwrap().iter().map(str::to_string).collect());
    (names, lines.collect())
}

fn column(run: &Run, name: &str) -> Vec<String> {
    let (names, lines) = read(run);
    let at = names.iter().position(|it| it == name).expect(name);
    lines.into_iter().map(|line| line[at].clone()).collect()
}

#[test]
fn a_trial_has_its_line_with_units_in_the_names() {
    let run = fixture::web();
    let first = csv(&run).lines().take(2).collect::<Vec<_>>().join("\n");
    insta::assert_snapshot!(first);
    assert_eq!(read(&run).1.len(), run.trials.len());
}

#[test]
fn numbers_are_as_exact_as_they_were_measured() {
    let run = fixture::web();
    let rates: Vec<f64> =
        column(&run, "done_per_s").iter().map(|rate| rate.parse().unwrap()).collect();
    let measured: Vec<f64> =
        run.trials.iter().map(|trial| trial.evidence.work.as_ref().unwrap().rate).collect();
    assert_eq!(rates, measured);
}

#[test]
fn what_is_unknown_is_empty_and_never_zero() {
    let mut run = fixture::without("go");
    run.trials[0].evidence.server_cpu_s = None;
    assert_eq!(column(&run, "server_cpu_s")[0], "");
    let go = run.trials.iter().position(|trial| trial.slot.contender == "go").unwrap();
    assert_eq!(column(&run, "done_per_s")[go], "");
}

#[test]
fn a_lower_bound_is_told_beside_its_line() {
    let mut run = fixture::web();
    let at = run.trials.iter().position(|it| it.slot.contender == "go").unwrap();
    assert_eq!(column(&run, "lower_bounds")[at], "");
    let times = &mut run.trials[at].evidence.work.as_mut().unwrap().response_us;
    times.at.iter_mut().filter(|it| it.percentile == 99.0).for_each(|it| it.at_least = true);
    assert_eq!(column(&run, "lower_bounds")[at], "latency_p99_us");
}

/// Else a figure that a look at all trials made invalid stands among valid ones in a sheet.
#[test]
fn what_is_said_of_a_row_as_a_whole_is_told_beside_each_of_its_lines() {
    let mut run = fixture::web();
    let row = run.outcomes[0].rows.iter_mut().find(|row| row.contender == "go").unwrap();
    row.verdict = Verdict::Invalid;
    row.findings[0].check = "flushes".into();
    row.findings[0].verdict = Verdict::Invalid;
    row.findings.truncate(1);
    let setting = run.outcomes[0].setting.clone();
    let is_it = |trial: &result::Trial| {
        trial.slot.contender == "go" && trial.slot.setting == setting && !trial.slot.twin
    };
    let at = run.trials.iter().position(is_it).unwrap();
    assert_eq!(column(&run, "row_verdict")[at], "invalid");
    assert_eq!(column(&run, "row_doubted_by")[at], "flushes");
    assert_eq!(column(&run, "doubted_by")[at], "", "no trial alone tells");
}

#[test]
fn a_parameter_that_is_called_as_a_column_doubles_none() {
    let mut run = fixture::web();
    run.study.dimensions[0].id = "verdict".into();
    let (names, _) = read(&run);
    let apart: std::collections::BTreeSet<&String> = names.iter().collect();
    assert_eq!(apart.len(), names.len(), "{names:?}");
}

#[test]
fn no_cell_is_a_formula() {
    for evil in ["=cmd|' /C calc'!A0", "+1", "-1+1", "@SUM(1)", "\t=1", "\r=1", "＝1"] {
        let mut run = fixture::quick();
        run.contenders[0].title = evil.into();
        let shown = &column(&run, "title")[0];
        assert!(shown.starts_with(['\'', '\\']), "{evil:?} is shown as {shown:?}");
    }
}

#[test]
fn quotes_commas_and_line_breaks_stay_within_their_cell() {
    let mut run = fixture::quick();
    run.contenders[0].title = "a \"b\", c".into();
    assert_eq!(column(&run, "title")[0], "a \"b\", c");
    let (names, lines) = read(&fixture::hostile());
    assert!(lines.iter().all(|line| line.len() == names.len()));
}
