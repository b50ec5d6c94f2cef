//! A run as trackers of benchmarks read it: what may be drawn, and nothing else.
//!
//! - [`rows`]: which figures stand, and what they are called;
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
mod rows;

use result::Run;
use result::finding::Verdict;
use result::plan::{Pace, Setting};

use crate::contenders::who;
use crate::text::visible;
use crate::{figures, names};

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
    /// What figures that are in them lack, since some block does, a sentence each.
    pub lacking: Vec<String>,
}

/// A run's figures in a format.
pub fn export(run: &Run, format: Format) -> Export {
    let files = match format {
        Format::Go => vec![("go.txt", go::text(run))],
        Format::Bmf => vec![("bmf.json", bmf::text(run))],
        Format::Gha => gha::files(run),
        Format::OpenMetrics => vec![("openmetrics.txt", openmetrics::text(run))],
    };
    Export { files, left_out: left_out(run), lacking: lacking(run) }
}

/// The figures of each row that stands which have no point, by contender and setting.
fn lacking(run: &Run) -> Vec<String> {
    let of_row = |row: &rows::ExportedRow| {
        let lacking: Vec<String> = row.lacking(run).map(figures::short).collect();
        let under = names::setting_names(&run.study.dimensions, &[&row.outcome.setting]);
        let who = who(run, &row.row.contender);
        let it = if lacking.len() == 1 { "it" } else { "them" };
        (!lacking.is_empty())
            .then(|| format!("{who}, {under}: {}: not every block has {it}", lacking.join(", ")))
    };
    rows::exported_rows(run).iter().filter_map(of_row).collect()
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
