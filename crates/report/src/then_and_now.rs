//! Published figures beside today's, for the same contender and load.

use std::borrow::Cow;

use result::Run;
use result::figure::{P99_US, RATE, Unit};
use result::finding::Verdict;
use result::outcome::{Outcome, Row};
use result::plan::{Cores, Pace, PaceKind, Published, PublishedFigure, Setting, Value};
use result::setting::{CLIENTS, KEYS};

use crate::contenders;
use crate::figures;
use crate::names;
use crate::text::visible_name;
use crate::units::Range;

/// Whether today's rate by the published one says anything. A rate that was given says nothing.
pub fn has_ratios(run: &Run) -> bool {
    run.study.kind.pace() == PaceKind::Free
}

/// How the figures beside each other are to be read, in one place for every form of the report.
pub fn meaning(run: &Run) -> &'static str {
    if has_ratios(run) { OF_RATIOS } else { OF_GIVEN_RATES }
}

const OF_GIVEN_RATES: &str = "Today's rate was given to all: it isn't the most that one can do. \
    What it cost and how long it took stands with the comparisons above.";
const OF_RATIOS: &str = "A ratio is today's rate divided by the published one. Everything that \
    changed in between is in it at once: the machines, the versions, the load generators, and the \
    mistakes below. It doesn't compare one contender with another.";

/// A published row beside the contender of today.
pub struct Pair<'a> {
    /// What was published.
    pub published: &'a Published,
    /// A figure a load, with what today's run has for it.
    pub figures: Vec<(&'a PublishedFigure, Option<Today<'a>>)>,
}

/// Today's figure.
pub struct Today<'a> {
    /// Where it stands in this run.
    pub row: &'a Row,
    /// In what today's setting differs, where it does, as connections that are kept today:
    /// such figures stand beside each other, and no ratio is made of them.
    pub other_mode: Option<String>,
    /// Today's rate by the published one, unless it is invalid or was given.
    pub ratio: Option<Ratio>,
}

impl Today<'_> {
    /// Today's rate in words.
    pub fn rate(&self) -> String {
        figures::median_if_any(Unit::PerSecond, self.row.figure(RATE))
    }

    /// Whether that is only a lower bound.
    pub fn is_bound(&self) -> bool {
        self.row.figure(RATE).is_some_and(|rate| rate.at_least)
    }

    /// Today's 99th percentile in words.
    pub fn p99(&self) -> String {
        figures::median_if_any(Unit::Micros, self.row.figure(P99_US))
    }
}

/// Today's rate by the published one, which came without an interval.
pub struct Ratio {
    /// From today's median.
    pub median: f64,
    /// From the interval of today's.
    pub interval: Option<Range>,
}

/// What the rate is called at the head of a column.
pub fn rate_name(run: &Run) -> String {
    let rate = run.study.figures.iter().find(|figure| figure.id == RATE);
    rate.map(figures::short).unwrap_or_default()
}

/// All published rows of the run's study.
pub fn pairs(run: &Run) -> Vec<Pair<'_>> {
    run.study
        .published
        .iter()
        .map(|published| {
            let figures = published.figures.iter();
            let figures = figures.map(|figure| (figure, today(run, published, figure))).collect();
            Pair { published, figures }
        })
        .collect()
}

impl Pair<'_> {
    /// The row as its author named it.
    pub fn then(&self) -> Cow<'_, str> {
        visible_name(&self.published.row)
    }

    /// What it is set beside today.
    pub fn now(&self, run: &Run) -> String {
        let Some(name) = self.published.contender.as_deref() else {
            return "no contender of this study".into();
        };
        let who = contenders::who(run, name);
        match contenders::contender(run, name) {
            None => format!("{who}, not in this run"),
            Some(contender) if contender.absent.is_some() => format!("{who}, absent"),
            Some(_) => who.into_owned(),
        }
    }

    /// The setting that was published, but for its first dimension.
    pub fn load(&self, run: &Run) -> Option<String> {
        let cores = self.published.cores?;
        let words = match cores {
            Cores::One => "one core",
            Cores::All => "several cores",
        };
        let values = self.published.figures.first()?.values.clone();
        let setting = Setting { cores, values, pace: Pace::Free };
        let others = names::beside_cores(&run.study.dimensions, &setting).into_iter();
        Some([words.to_string()].into_iter().chain(others).collect::<Vec<_>>().join(", "))
    }
}

/// The figure under the same setting; else under one that differs only in a flag, as in how
/// connections are used, or in how many keys a store has.
fn today<'a>(run: &'a Run, published: &Published, figure: &PublishedFigure) -> Option<Today<'a>> {
    let contender = published.contender.as_deref()?;
    let cores = published.cores?;
    let pace = run.study.kind.pace();
    let of_cores = || run.outcomes_at(pace).filter(move |outcome| outcome.setting.cores == cores);
    let row = |outcome: &'a Outcome| outcome.rows.iter().find(|row| row.contender == contender);
    let is_known = !figure.values.is_empty();
    let same = of_cores().filter(|outcome| is_known && differs(figure, outcome).is_empty());
    let same: Vec<&Outcome> = same.collect();
    if !same.is_empty() {
        let row = same.into_iter().find_map(row)?;
        let stands = has_ratios(run) && row.verdict != Verdict::Invalid && figure.rate > 0.0;
        let ratio = row.figure(RATE).filter(|_| stands).map(|rate| Ratio {
            median: rate.median / figure.rate,
            interval: rate.interval.map(|(low, high)| (low / figure.rate, high / figure.rate)),
        });
        return Some(Today { row, other_mode: None, ratio });
    }
    of_cores().find_map(|outcome| {
        let [(id, value)] = differs(figure, outcome)[..] else { return None };
        if !matches!(value, Value::Flag(_)) && id != KEYS {
            return None;
        }
        let dimension = run.study.dimensions.iter().find(|it| it.id == *id)?;
        let other_mode = Some(names::value_name(dimension, value));
        Some(Today { row: row(outcome)?, other_mode, ratio: None })
    })
}

/// What of today's setting is other than what was published. From how many hosts a load came was
/// not a part of it.
fn differs<'a>(figure: &PublishedFigure, today: &'a Outcome) -> Vec<&'a (String, Value)> {
    let is_there = |(id, value): &(String, Value)| {
        figure.values.iter().any(|(known, then)| known == id && are_alike(then, value))
    };
    today.setting.values.iter().filter(|it| it.0 != CLIENTS && !is_there(it)).collect()
}

/// Numbers that differ by less than this share are one: three hosts share 1,002 connections, and
/// not 1,000.
const ALIKE: f64 = 0.005;

fn are_alike(then: &Value, today: &Value) -> bool {
    match (then, today) {
        (Value::Number(then), Value::Number(today)) => {
            then.abs_diff(*today) as f64 <= ALIKE * *then as f64
        }
        _ => then == today,
    }
}
