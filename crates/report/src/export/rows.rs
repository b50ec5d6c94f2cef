//! Which figures of a run trackers get, and what they are called.

use result::Run;
use result::figure::{Figure, Unit};
use result::finding::Verdict;
use result::outcome::{Estimate, Outcome, Row};
use result::plan::{Cores, Pace, Setting};

/// A contender's row that stands, under its setting.
pub(super) struct ExportedRow<'a> {
    pub(super) outcome: &'a Outcome,
    pub(super) row: &'a Row,
}

/// One figure that stands.
pub(super) struct ExportedFigure<'a> {
    pub(super) of: &'a ExportedRow<'a>,
    pub(super) figure: &'a Figure,
    pub(super) estimate: &'a Estimate,
}

/// All rows that no check calls invalid.
pub(super) fn exported_rows(run: &Run) -> Vec<ExportedRow<'_>> {
    let rows = run
        .outcomes
        .iter()
        .flat_map(|outcome| outcome.rows.iter().map(move |row| ExportedRow { outcome, row }));
    rows.filter(|it| it.row.verdict != Verdict::Invalid).collect()
}

impl<'a> ExportedRow<'a> {
    /// Its figures, in the study's order: no rate where one was given to all, which tells nothing
    /// of a contender.
    pub(super) fn points(&'a self, run: &'a Run) -> impl Iterator<Item = ExportedFigure<'a>> {
        let is_offered = self.outcome.offered.is_some();
        let figures = run.study.figures.iter();
        let figures = figures.filter(move |it| !is_offered || it.unit != Unit::PerSecond);
        figures.filter_map(|figure| {
            let estimate = self.row.figure(&figure.id)?;
            Some(ExportedFigure { of: self, figure, estimate })
        })
    }

    /// What doubt there is, in a word for a name; `None` where nothing is against its figures.
    pub(super) fn doubt(&self) -> Option<&'static str> {
        match self.row.verdict {
            Verdict::Suspect => Some("suspect"),
            _ => None,
        }
    }

    /// Study, contender and setting, as a path: `web/go/one/connections=100/kept=true`.
    pub(super) fn path(&self, run: &Run) -> String {
        let setting = &self.outcome.setting;
        let values = setting.values.iter().map(|(id, value)| format!("{id}={value}"));
        let pace = pace(setting.pace);
        let parts = [run.study.name.clone(), self.row.contender.clone(), cores(setting).into()];
        let parts = parts.into_iter().chain(values).chain(pace);
        parts.map(|part| word(&part)).collect::<Vec<_>>().join("/")
    }
}

pub(super) fn cores(setting: &Setting) -> &'static str {
    match setting.cores {
        Cores::One => "one-core",
        Cores::All => "all-cores",
    }
}

/// How fast work came, where it wasn't as fast as it went.
pub(super) fn pace(pace: Pace) -> Option<String> {
    match pace {
        Pace::Free => None,
        Pace::Equal { percent } => Some(format!("rate={percent}-percent-of-lowest")),
        Pace::Fixed { per_s } => Some(format!("rate={per_s}")),
        Pace::Own { percent } => Some(format!("rate={percent}-percent-of-own")),
    }
}

/// A name without what separates words or parts of one.
pub(super) fn word(name: &str) -> String {
    let kept = |char: char| char.is_ascii_alphanumeric() || "-_.=".contains(char);
    name.chars().map(|char| if kept(char) { char } else { '-' }).collect()
}

/// A number as data have it: shortest form that is read as the same.
pub(super) fn digits(value: f64) -> String {
    serde_json::Number::from_f64(value).map_or_else(|| "0".into(), |number| number.to_string())
}
