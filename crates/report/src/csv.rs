//! A run as CSV (RFC 4180): a line a trial, for spreadsheets and scripts.

use std::borrow::Cow;

use csv::{Terminator, WriterBuilder};
use result::evidence::Work;
use result::figure::{Figure, MEMORY, RATE, UNTIL_ALL_P99_US, Unit};
use result::finding::{Finding, Verdict, worst};
use result::outcome::Row;
use result::plan::{Contender, Cores, Pace, Tier};
use result::{Run, Trial};

use crate::contenders;
use crate::distinct::distinct;
use crate::latency;
use crate::text::visible;

/// A column: its name with its unit, and what a trial has for it. Empty where
/// that is unknown.
struct Column<'a> {
    name: Cow<'a, str>,
    of: Box<dyn Fn(&Line) -> String + 'a>,
}

/// One trial, and who was measured.
struct Line<'a> {
    run: &'a Run,
    trial: &'a Trial,
    contender: Option<&'a Contender>,
}

/// A column of every study.
type Fixed = (&'static str, fn(&Line) -> String);

const BEFORE_THE_SETTING: [Fixed; 9] = [
    ("run", |it| text(&it.run.id)),
    ("started_utc", |it| text(&it.trial.started)),
    ("contender", |it| text(&it.trial.slot.contender)),
    ("title", |it| of_contender(it, |contender| text(&contender.title))),
    ("language", |it| of_contender(it, |contender| text(&contender.language))),
    ("tier", |it| of_contender(it, |contender| contender.tier.map_or("", Tier::word).into())),
    ("lighter_contract", |it| {
        of_contender(it, |contender| {
            contender.lighter_contract.as_deref().map_or_else(String::new, text)
        })
    }),
    ("wire", |it| {
        of_contender(it, |contender| contender.wire.as_deref().map_or_else(String::new, text))
    }),
    ("cores", |it| match it.trial.slot.setting.cores {
        Cores::One => "one".into(),
        Cores::All => "all".into(),
    }),
];

const AFTER_THE_SETTING: [Fixed; 28] = [
    ("pace", |it| match it.trial.slot.setting.pace {
        Pace::Free => "free".into(),
        Pace::Equal { .. } | Pace::Fixed { .. } => "one rate for all".into(),
        Pace::Own { .. } => "share of its own maximum".into(),
    }),
    ("pace_percent", |it| number(it.trial.slot.setting.pace.percent().map(f64::from))),
    ("block", |it| (it.trial.slot.block + 1).to_string()),
    ("second_of_aa_pair", |it| it.trial.slot.twin.to_string()),
    ("verdict", |it| worst(&it.trial.findings).word().into()),
    ("doubted_by", doubts),
    ("row_verdict", |it| row(it).map_or("", |row| row.verdict.word()).into()),
    ("row_doubted_by", |it| row(it).map_or_else(String::new, |row| against(&row.findings))),
    ("lower_bounds", lower_bounds),
    ("failure", |it| it.trial.evidence.process.failure.as_deref().map_or_else(String::new, text)),
    ("measured_s", |it| of_work(it, |work| Some(work.seconds))),
    ("done", |it| of_work(it, |work| Some(work.done as f64))),
    ("done_per_s", |it| of_work(it, |work| Some(work.rate))),
    ("offered_per_s", |it| number(it.trial.evidence.offered_rate())),
    ("errors", |it| {
        of_work(it, |work| Some(work.errors.iter().map(|error| error.count).sum::<u64>() as f64))
    }),
    ("latency_counts_from", |it| match it.trial.evidence.work {
        None => String::new(),
        Some(_) => latency::begins(&it.trial.slot.setting).trim_start_matches("the ").into(),
    }),
    ("latency_p50_us", |it| percentile(it, 50.0)),
    ("latency_p90_us", |it| percentile(it, 90.0)),
    ("latency_p99_us", |it| percentile(it, 99.0)),
    ("latency_p99_9_us", |it| percentile(it, 99.9)),
    ("latency_max_us", |it| of_work(it, |work| latency::read(work).max)),
    ("latency_unanswered", |it| of_work(it, |work| Some(latency::read(work).censored as f64))),
    ("server_cpu_s", |it| number(it.trial.evidence.contender_cpu_s())),
    ("client_cpu_s", |it| number(it.trial.evidence.client_cpu_s())),
    ("server_rss_max_bytes", |it| {
        number(it.trial.evidence.server_rss_max_bytes.map(|bytes| bytes as f64))
    }),
    ("received_bytes", |it| {
        let clients = it.trial.evidence.clients.iter();
        number(clients.map(|client| client.received_bytes as f64).reduce(|all, one| all + one))
    }),
    ("steal_share", |it| number(it.trial.evidence.steal_share)),
    ("others_cpu_s", |it| number(it.trial.evidence.others_cpu_s)),
];

/// The columns of a study: its dimensions among those that every study has, and what its
/// contenders tell of themselves.
fn columns(run: &Run) -> Vec<Column<'_>> {
    let fixed = |(name, of): Fixed| Column { name: name.into(), of: Box::new(of) };
    let fixed_names: Vec<&str> =
        BEFORE_THE_SETTING.iter().chain(&AFTER_THE_SETTING).map(|(name, _)| *name).collect();
    let own = run.study.dimensions.iter().map(|dimension| &*dimension.id);
    let own = own.chain(run.study.figures.iter().map(|figure| &*figure.id));
    let names = distinct(own, |id| visible(id).into_owned(), &fixed_names);
    let name = |id: &str| Cow::from(names[id].clone());
    let dimensions = run.study.dimensions.iter().map(|dimension| Column {
        name: name(&dimension.id),
        of: Box::new(|it| {
            let value = it.trial.slot.setting.value(&dimension.id);
            value.map(|value| text(&value.to_string())).unwrap_or_default()
        }),
    });
    // All else is among the fixed columns.
    let is_told = |figure: &&Figure| {
        let is_so = matches!(figure.unit, Unit::Bytes | Unit::Count) && figure.id != MEMORY;
        is_so || figure.id == UNTIL_ALL_P99_US
    };
    let told = run.study.figures.iter().filter(is_told).map(|figure| Column {
        name: name(&figure.id),
        of: Box::new(|it| of_work(it, |work| work.result.get(&figure.id).copied())),
    });
    let before = BEFORE_THE_SETTING.into_iter().map(fixed);
    let after = AFTER_THE_SETTING.into_iter().map(fixed);
    before.chain(dimensions).chain(after).chain(told).collect()
}

/// All trials that figures are made of, in the order of measuring, under a line
/// of names.
pub fn csv(run: &Run) -> String {
    let mut writer = WriterBuilder::new().terminator(Terminator::CRLF).from_writer(Vec::new());
    let mut write = |cells: Vec<Cow<str>>| {
        writer
            .write_record(cells.iter().map(|cell| cell.as_bytes()))
            .expect("memory takes lines of equal length");
    };
    let columns = columns(run);
    write(columns.iter().map(|column| text(&column.name).into()).collect());
    for trial in &run.trials {
        let contender = contenders::contender(run, &trial.slot.contender);
        let line = Line { run, trial, contender };
        write(columns.iter().map(|column| (column.of)(&line).into()).collect());
    }
    let bytes = writer.into_inner().expect("memory takes what is left");
    String::from_utf8(bytes).expect("made of strings")
}

/// Text that comes from people or servers. A spreadsheet takes a cell that begins
/// with one of these as a formula, which may run programs and fetch addresses; a
/// quote before it makes it text (OWASP, "CSV Injection").
fn text(text: &str) -> String {
    let text = visible(text);
    let is_formula = text.starts_with(['=', '+', '-', '@', '＝', '＋', '－', '＠']);
    format!("{}{text}", if is_formula { "'" } else { "" })
}

fn number(number: Option<f64>) -> String {
    number.map(|number| number.to_string()).unwrap_or_default()
}

fn of_contender(line: &Line, of: impl Fn(&Contender) -> String) -> String {
    line.contender.map(of).unwrap_or_default()
}

fn of_work(line: &Line, of: impl Fn(&Work) -> Option<f64>) -> String {
    number(line.trial.evidence.work.as_ref().and_then(of))
}

fn percentile(line: &Line, percentile: f64) -> String {
    number(latency::percentile(&[line.trial], percentile).map(|time| time.us))
}

/// The columns that have only a lower bound in this line.
fn lower_bounds(line: &Line) -> String {
    let trial = line.trial;
    let rate = row(line).and_then(|row| row.figure(RATE));
    let is_bound = |percent| latency::percentile(&[trial], percent).is_some_and(|it| it.at_least);
    let columns = [
        ("done_per_s", rate.is_some_and(|rate| rate.at_least)),
        ("latency_p50_us", is_bound(50.0)),
        ("latency_p90_us", is_bound(90.0)),
        ("latency_p99_us", is_bound(99.0)),
        ("latency_p99_9_us", is_bound(99.9)),
        ("latency_max_us", latency::largest(&[trial]).is_some_and(|it| it.at_least)),
    ];
    let bounds = columns.into_iter().filter(|(_, is_bound)| *is_bound);
    bounds.map(|(name, _)| name).collect::<Vec<_>>().join(" ")
}

/// The checks that speak against the trial.
fn doubts(line: &Line) -> String {
    against(&line.trial.findings)
}

/// The checks that speak against a figure.
fn against(findings: &[Finding]) -> String {
    let against = findings.iter().filter(|it| it.verdict >= Verdict::Suspect);
    let checks: Vec<&str> = against.map(|finding| &*finding.check).collect();
    text(&checks.join(" "))
}

/// The comparison's row that a trial is a part of. Some checks look at a row as a whole: of them no
/// trial tells.
fn row<'a>(line: &Line<'a>) -> Option<&'a Row> {
    let Line { run, trial, .. } = line;
    run.row(&trial.slot.setting, &trial.slot.contender)
}
