//! Which figures of a run trackers get, and what they are called.

use std::collections::BTreeMap;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use result::Run;
use result::durability::Class;
use result::figure::{Figure, Unit};
use result::finding::Verdict;
use result::outcome::{Estimate, Outcome, Row};
use result::plan::{Cores, Pace, Setting};

use crate::distinct::distinct;
use crate::sections::classes;

/// What a word isn't made of. Two that differ never have the same word.
const UNFIT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.');

/// What is said of a figure that is only a lower bound.
const BOUND: &str = "at least";

/// The keys of a path that aren't a dimension's.
const OWN_KEYS: [&str; 4] = ["contender", "cores", "rate", "class"];

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

/// All rows that no check calls invalid. Those of a setting are in the order of their names: that
/// of the ranks would part those that tie, with nothing that says so.
pub(super) fn exported_rows(run: &Run) -> Vec<ExportedRow<'_>> {
    run.outcomes.iter().flat_map(of_setting).collect()
}

fn of_setting(outcome: &Outcome) -> impl Iterator<Item = ExportedRow<'_>> {
    let stands = |row: &&Row| row.verdict != Verdict::Invalid;
    let mut rows: Vec<&Row> = outcome.rows.iter().filter(stands).collect();
    rows.sort_by_key(|row| &*row.contender);
    rows.into_iter().map(move |row| ExportedRow { outcome, row })
}

impl<'a> ExportedRow<'a> {
    /// Its figures, in the study's order.
    pub(super) fn points(&'a self, run: &'a Run) -> impl Iterator<Item = ExportedFigure<'a>> {
        self.asked(run).filter_map(|figure| {
            let estimate = self.estimate(figure)?;
            Some(ExportedFigure { of: self, figure, estimate })
        })
    }

    /// The figures that it lacks, since some block does. What nobody has may be none of the study's
    /// kind, such as memory that isn't counted.
    pub(super) fn lacking(&'a self, run: &'a Run) -> impl Iterator<Item = &'a Figure> {
        let is_had = |figure: &Figure| {
            let is_time = matches!(figure.unit, Unit::Micros | Unit::CpuMicros);
            is_time || self.outcome.rows.iter().any(|row| row.figure(&figure.id).is_some())
        };
        let lacking = self.asked(run).filter(|figure| self.estimate(figure).is_none());
        lacking.filter(move |figure| is_had(figure))
    }

    /// The figures that are asked of it: no rate where one was given to all, which tells nothing of
    /// a contender.
    fn asked(&'a self, run: &'a Run) -> impl Iterator<Item = &'a Figure> {
        let is_offered = self.outcome.offered.is_some();
        let figures = run.study.figures.iter();
        figures.filter(move |it| !is_offered || it.unit != Unit::PerSecond)
    }

    fn estimate(&self, figure: &Figure) -> Option<&'a Estimate> {
        self.row.figure(&figure.id).filter(|it| it.median.is_finite())
    }

    /// Study, contender and setting, as a path: `web/go/one-core/connections=100/kept=true`.
    pub(super) fn path(&self, run: &Run) -> String {
        let own = [word(&run.study.name), word(&self.row.contender)];
        let setting = &self.outcome.setting;
        let rest = [cores(setting).to_string()].into_iter().chain(keyed(run, setting));
        own.into_iter().chain(rest).chain(self.class_keyed(run)).collect::<Vec<_>>().join("/")
    }

    /// What the stores of its outcome survive, where they are stores: `power`, or `open-none-to-power`
    /// where that isn't known.
    pub(super) fn class(&self, run: &Run) -> Option<String> {
        let classes = classes(run, self.outcome)?;
        Some(match classes.known() {
            Some(known) => known.name().into(),
            None => {
                let least = classes.least.unwrap_or(Class::None);
                format!("open-{}-to-{}", least.name(), classes.most.name())
            }
        })
    }

    /// The same with its key: points of stores that survive unlike things are no one's series.
    pub(super) fn class_keyed(&self, run: &Run) -> Option<String> {
        self.class(run).map(|class| format!("class={class}"))
    }
}

impl ExportedFigure<'_> {
    /// What keeps it from being known in full, in words for a name; `None` where nothing does.
    pub(super) fn doubt(&self) -> Option<String> {
        let words = [self.of.row.verdict.caveat(), self.estimate.at_least.then_some(BOUND)];
        let words: Vec<&str> = words.into_iter().flatten().collect();
        (!words.is_empty()).then(|| words.join(", "))
    }

    /// The same behind a name.
    pub(super) fn doubt_behind(&self) -> String {
        self.doubt().map_or(String::new(), |doubt| format!(" ({doubt})"))
    }

    /// The ends of its interval: a lower bound has no upper one.
    pub(super) fn ends(&self) -> (Option<f64>, Option<f64>) {
        let (low, high) = self.estimate.interval.unzip();
        (low, high.filter(|_| !self.estimate.at_least))
    }
}

/// The values of a setting's dimensions, and how fast work came, each with its key:
/// `connections=100`.
pub(super) fn keyed(run: &Run, setting: &Setting) -> Vec<String> {
    let keys = dimension_names(run, word, &OWN_KEYS);
    let values = setting.values.iter();
    let values = values.map(|(id, value)| format!("{}={}", keys[&**id], word(&value.to_string())));
    values.chain(pace(setting.pace)).collect()
}

/// What the dimensions of a run's settings are called in a form that has these names taken.
pub(super) fn dimension_names<'a>(
    run: &'a Run,
    fit: impl Fn(&str) -> String,
    taken: &[&str],
) -> BTreeMap<&'a str, String> {
    let settings = run.outcomes.iter().map(|outcome| &outcome.setting);
    let of_settings = settings.flat_map(|setting| setting.values.iter().map(|(id, _)| &**id));
    let known = run.study.dimensions.iter().map(|dimension| &*dimension.id);
    distinct(known.chain(of_settings), fit, taken)
}

/// What the figures of a run are called in a form.
pub(super) fn figure_names(run: &Run, fit: impl Fn(&Figure) -> String) -> BTreeMap<&str, String> {
    let of_id = |id: &str| run.study.figure(id).map_or_else(String::new, &fit);
    distinct(run.study.figures.iter().map(|figure| &*figure.id), of_id, &[])
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

/// A name without what separates words, or parts of one: other characters are encoded as in a
/// URL's path.
pub(super) fn word(name: &str) -> String {
    utf8_percent_encode(name, UNFIT).to_string()
}

/// A number as data have it: shortest form that is read as the same.
pub(super) fn digits(value: f64) -> String {
    serde_json::Number::from_f64(value).map_or_else(|| "0".into(), |number| number.to_string())
}
