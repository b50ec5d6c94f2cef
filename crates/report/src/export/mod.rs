//! A run as trackers of benchmarks read it: what may be drawn, and nothing else.
//!
//! - this file: which figures stand, and what they are called;
//! - [`go`]: Go's benchmark text, a line a trial;
//! - [`bmf`]: Bencher Metric Format;
//! - [`gha`]: the two lists of github-action-benchmark;
//! - [`openmetrics`]: OpenMetrics text.
//!
//! Invalid figures are left out, and suspect ones are marked in the way that each format has
//! for it: a chart never gets a point that can't be defended.

mod bmf;
mod gha;
mod go;
mod openmetrics;

use result::Run;
use result::figure::{Figure, Unit};
use result::finding::Verdict;
use result::outcome::{Estimate, Outcome, Row};
use result::plan::{Cores, Pace, Setting};

use crate::contenders::who;
use crate::names;
use crate::text::visible;

/// What trackers read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Go's benchmark text.
    Go,
    /// Bencher Metric Format.
    Bmf,
    /// The two lists of github-action-benchmark.
    Gha,
    /// OpenMetrics text.
    OpenMetrics,
}

impl Format {
    /// All of them.
    pub const ALL: [Format; 4] = [Format::Go, Format::Bmf, Format::Gha, Format::OpenMetrics];

    /// The word that it is asked for by.
    pub fn word(self) -> &'static str {
        match self {
            Format::Go => "go",
            Format::Bmf => "bmf",
            Format::Gha => "gha",
            Format::OpenMetrics => "openmetrics",
        }
    }
}

/// A run in one of the formats.
#[derive(Debug, PartialEq)]
pub struct Export {
    /// The files, each by its name.
    pub files: Vec<(&'static str, String)>,
    /// The figures that aren't in them, a sentence each.
    pub left_out: Vec<String>,
}

/// A run's figures in a format.
pub fn export(run: &Run, format: Format) -> Export {
    let files = match format {
        Format::Go => vec![("go.txt", go::text(run))],
        Format::Bmf => vec![("bmf.json", bmf::text(run))],
        Format::Gha => gha::files(run),
        Format::OpenMetrics => vec![("openmetrics.txt", openmetrics::text(run))],
    };
    Export { files, left_out: left_out(run) }
}

/// A contender's row that stands, under its setting.
struct ExportedRow<'a> {
    outcome: &'a Outcome,
    row: &'a Row,
}

/// One figure that stands.
struct Point<'a> {
    of: &'a ExportedRow<'a>,
    figure: &'a Figure,
    estimate: &'a Estimate,
}

/// All rows that no check calls invalid.
fn exported_rows(run: &Run) -> Vec<ExportedRow<'_>> {
    let rows = run
        .outcomes
        .iter()
        .flat_map(|outcome| outcome.rows.iter().map(move |row| ExportedRow { outcome, row }));
    rows.filter(|it| it.row.verdict != Verdict::Invalid).collect()
}

impl<'a> ExportedRow<'a> {
    /// Its figures, in the study's order: no rate where one was given to all, which tells nothing
    /// of a contender.
    fn points(&'a self, run: &'a Run) -> impl Iterator<Item = Point<'a>> {
        let is_offered = self.outcome.offered.is_some();
        let figures = run.study.figures.iter();
        let figures = figures.filter(move |it| !is_offered || it.unit != Unit::PerSecond);
        figures.filter_map(|figure| {
            let estimate = self.row.figure(&figure.id)?;
            Some(Point { of: self, figure, estimate })
        })
    }

    /// What doubt there is, in a word for a name; `None` where nothing is against its figures.
    fn doubt(&self) -> Option<&'static str> {
        match self.row.verdict {
            Verdict::Suspect => Some("suspect"),
            _ => None,
        }
    }

    /// Study, contender and setting, as a path: `web/go/one/connections=100/kept=true`.
    fn path(&self, run: &Run) -> String {
        let setting = &self.outcome.setting;
        let values = setting.values.iter().map(|(id, value)| format!("{id}={value}"));
        let pace = pace(setting.pace);
        let parts = [run.study.name.clone(), self.row.contender.clone(), cores(setting).into()];
        let parts = parts.into_iter().chain(values).chain(pace);
        parts.map(|part| word(&part)).collect::<Vec<_>>().join("/")
    }
}

fn cores(setting: &Setting) -> &'static str {
    match setting.cores {
        Cores::One => "one-core",
        Cores::All => "all-cores",
    }
}

/// How fast work came, where it wasn't as fast as it went.
fn pace(pace: Pace) -> Option<String> {
    match pace {
        Pace::Free => None,
        Pace::Equal { percent } => Some(format!("rate={percent}-percent-of-lowest")),
        Pace::Fixed { per_s } => Some(format!("rate={per_s}")),
        Pace::Own { percent } => Some(format!("rate={percent}-percent-of-own")),
    }
}

/// A name without what separates words or parts of one.
fn word(name: &str) -> String {
    let kept = |char: char| char.is_ascii_alphanumeric() || "-_.=".contains(char);
    name.chars().map(|char| if kept(char) { char } else { '-' }).collect()
}

/// A number as data have it: shortest form that is read as the same.
fn digits(value: f64) -> String {
    serde_json::Number::from_f64(value).map_or_else(|| "0".into(), |number| number.to_string())
}

/// The figures that were asked for and aren't there, by contender and setting.
fn left_out(run: &Run) -> Vec<String> {
    let mut all = Vec::new();
    let name = |setting: &Setting| names::setting_names(&run.study.dimensions, &[setting]);
    for contender in &run.contenders {
        if let Some(why) = &contender.absent {
            all.push(format!("{}: absent: {}", who(run, &contender.name), visible(why)));
        }
    }
    for outcome in &run.outcomes {
        for row in outcome.rows.iter().filter(|row| row.verdict == Verdict::Invalid) {
            let check = row.findings.first().map_or("", |finding| finding.check.as_str());
            let under = name(&outcome.setting);
            all.push(format!("{}, {under}: invalid by `{check}`", who(run, &row.contender)));
        }
    }
    let mut missing: Vec<(&str, &Setting)> = Vec::new();
    for slot in &run.plan.slots {
        let of = (slot.contender.as_str(), &slot.setting);
        let is_of_curve = matches!(slot.setting.pace, Pace::Own { .. });
        if !is_of_curve && !missing.contains(&of) && run.row(of.1, of.0).is_none() {
            missing.push(of);
        }
    }
    let missing = missing.into_iter();
    all.extend(missing.map(|(contender, setting)| {
        format!("{}, {}: it has no figure", who(run, contender), name(setting))
    }));
    all
}
