//! A run as CSV (RFC 4180): a line a trial, for spreadsheets and scripts.

use std::borrow::Cow;

use csv::{Terminator, WriterBuilder};
use result::finding::{Verdict, worst};
use result::plan::{Arrivals, Contender, Cores};
use result::{Run, Trial};

use crate::latency;
use crate::summary;
use crate::text::visible;

/// A column: its name with its unit, and what a trial has for it. Empty where
/// that is unknown.
type Column = (&'static str, fn(&Line) -> String);

/// One trial, and who was measured.
struct Line<'a> {
    run: &'a Run,
    trial: &'a Trial,
    contender: Option<&'a Contender>,
}

const COLUMNS: [Column; 35] = [
    ("run", |it| text(&it.run.id)),
    ("started_utc", |it| text(&it.trial.started)),
    ("contender", |it| text(&it.trial.slot.contender)),
    ("title", |it| of_contender(it, |contender| text(&contender.title))),
    ("language", |it| of_contender(it, |contender| text(&contender.language))),
    ("tier", |it| of_contender(it, |contender| contender.tier.word().into())),
    ("lighter_contract", |it| {
        of_contender(it, |contender| {
            contender.lighter_contract.as_deref().map_or_else(String::new, text)
        })
    }),
    ("cores", |it| match it.trial.slot.load.cores {
        Cores::One => "one".into(),
        Cores::All => "all".into(),
    }),
    ("connections", |it| it.trial.slot.load.connections.to_string()),
    ("keep_alive", |it| it.trial.slot.load.keep_alive.to_string()),
    ("arrivals", |it| match it.trial.slot.load.arrivals {
        Arrivals::Closed => "closed loop".into(),
        Arrivals::Equal { .. } => "one rate for all".into(),
        Arrivals::Own { .. } => "share of its own maximum".into(),
    }),
    ("arrivals_percent", |it| match it.trial.slot.load.arrivals {
        Arrivals::Closed => String::new(),
        Arrivals::Equal { percent } | Arrivals::Own { percent } => percent.to_string(),
    }),
    ("block", |it| (it.trial.slot.block + 1).to_string()),
    ("second_of_aa_pair", |it| it.trial.slot.twin.to_string()),
    ("verdict", |it| worst(&it.trial.findings).word().into()),
    ("doubted_by", doubts),
    ("failure", |it| it.trial.evidence.process.failure.as_deref().map_or_else(String::new, text)),
    ("measured_s", |it| of_load(it, |load| Some(load.seconds))),
    ("answers", |it| of_load(it, |load| Some(load.answers as f64))),
    ("answers_per_s", |it| of_load(it, |load| Some(load.rate))),
    ("offered_per_s", |it| of_load(it, |load| load.offered_rate)),
    ("errors", |it| {
        of_load(it, |load| Some(load.errors.iter().map(|error| error.count).sum::<u64>() as f64))
    }),
    ("latency_counts_from", |it| match it.trial.evidence.load {
        None => String::new(),
        Some(_) => latency::begins(&it.trial.slot.load).trim_start_matches("the ").into(),
    }),
    ("latency_p50_us", |it| percentile(it, 50.0)),
    ("latency_p90_us", |it| percentile(it, 90.0)),
    ("latency_p99_us", |it| percentile(it, 99.0)),
    ("latency_p99_9_us", |it| percentile(it, 99.9)),
    ("latency_max_us", |it| of_load(it, |load| latency::read(load).max)),
    ("latency_unanswered", |it| of_load(it, |load| Some(latency::read(load).censored as f64))),
    ("server_cpu_s", |it| number(it.trial.evidence.contender_cpu_s())),
    ("client_cpu_s", |it| of_load(it, |load| Some(load.client_cpu_s))),
    ("server_rss_max_bytes", |it| {
        number(it.trial.evidence.server_rss_max_bytes.map(|bytes| bytes as f64))
    }),
    ("received_bytes", |it| of_load(it, |load| Some(load.received_bytes as f64))),
    ("steal_share", |it| number(it.trial.evidence.steal_share)),
    ("others_cpu_s", |it| number(it.trial.evidence.others_cpu_s)),
];

/// All trials that figures are made of, in the order of measuring, under a line
/// of names.
pub fn csv(run: &Run) -> String {
    let mut writer = WriterBuilder::new().terminator(Terminator::CRLF).from_writer(Vec::new());
    let mut write = |cells: Vec<Cow<str>>| {
        writer
            .write_record(cells.iter().map(|cell| cell.as_bytes()))
            .expect("memory takes lines of equal length");
    };
    write(COLUMNS.map(|(name, _)| name.into()).to_vec());
    for trial in &run.trials {
        let contender = summary::contender(run, &trial.slot.contender);
        let line = Line { run, trial, contender };
        write(COLUMNS.map(|(_, of)| of(&line).into()).to_vec());
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

fn of_load(line: &Line, of: impl Fn(&result::evidence::Load) -> Option<f64>) -> String {
    number(line.trial.evidence.load.as_ref().and_then(of))
}

fn percentile(line: &Line, percentile: f64) -> String {
    number(latency::percentile(&[line.trial], percentile).map(|time| time.us))
}

/// The checks that speak against the figure.
fn doubts(line: &Line) -> String {
    let against = line.trial.findings.iter().filter(|it| it.verdict >= Verdict::Suspect);
    let checks: Vec<&str> = against.map(|finding| &*finding.check).collect();
    text(&checks.join(" "))
}
