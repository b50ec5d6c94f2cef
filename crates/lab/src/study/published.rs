//! What somebody published or claimed: `[[published]]` and `[[claim]]` of `study.toml`.

use std::collections::BTreeMap;
use std::ops::Range;

use result::plan::{Cores, Published, PublishedFigure, Setting, Value};
use serde::Deserialize;
use toml::Spanned;

/// The largest lead that a claim may speak of.
pub(super) const LEAD_MAX: f64 = 1e6;

/// Whether a claim may speak of such a lead.
pub(super) fn is_lead(lead: f64) -> bool {
    lead > 1.0 && lead <= LEAD_MAX
}

/// A claim, as a file has it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClaimFile {
    /// In its author's words.
    pub says: String,
    /// Who said it, and when.
    pub source: String,
    /// The contender that it speaks for.
    pub contender: Spanned<String>,
    /// Those that it has to be ahead of.
    pub against: Vec<Spanned<String>>,
    /// The id of the figure that decides; if none is given, the first that contenders are ranked by.
    pub figure: Option<Spanned<String>>,
    /// How many times as good its contender is at least.
    pub lead: Option<Spanned<f64>>,
    /// The cores that it speaks of.
    pub cores: Option<Cores>,
    /// The settings that it speaks of: values of parameters.
    #[serde(default)]
    pub parameters: BTreeMap<String, Spanned<toml::Value>>,
}

/// A row of published figures, as a file has it: columns of equal length.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, try_from = "PublishedColumns")]
pub struct PublishedRow {
    /// The row.
    pub row: Published,
    /// Where the file names its contender.
    pub(super) contender_at: Option<Range<usize>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PublishedColumns {
    row: String,
    contender: Option<Spanned<String>>,
    source: String,
    mistake: Option<String>,
    cores: Cores,
    kept: Option<bool>,
    #[serde(default)]
    connections: Vec<u32>,
    #[serde(default)]
    parameters: BTreeMap<String, Vec<Value>>,
    rate: Vec<f64>,
    p99_ms: Option<Vec<f64>>,
}

impl TryFrom<PublishedColumns> for PublishedRow {
    type Error = String;

    fn try_from(columns: PublishedColumns) -> Result<PublishedRow, String> {
        let settings = columns.settings()?;
        let PublishedColumns { row, contender, source, mistake, cores, rate, p99_ms, .. } = columns;
        let lengths_differ = rate.len() != settings.len()
            || p99_ms.as_ref().is_some_and(|p99| p99.len() != settings.len());
        if lengths_differ {
            return Err(format!(
                "the row `{row}` needs as many values in `rate` and `p99_ms` as in `connections`, \
                 or in each of `parameters`"
            ));
        }
        let figures = settings.into_iter().enumerate().map(|(at, values)| PublishedFigure {
            values,
            rate: rate[at],
            p99_ms: p99_ms.as_ref().map(|p99| p99[at]),
        });
        let figures = figures.collect();
        let contender_at = contender.as_ref().map(Spanned::span);
        let contender = contender.map(Spanned::into_inner);
        let row = Published { row, contender, source, mistake, cores: Some(cores), figures };
        Ok(PublishedRow { row, contender_at })
    }
}

impl PublishedColumns {
    /// The values that each figure was measured under.
    fn settings(&self) -> Result<Vec<Vec<(String, Value)>>, String> {
        if self.parameters.is_empty() {
            let Some(kept) = self.kept.filter(|_| !self.connections.is_empty()) else {
                return Err("missing key `connections` or `kept`, or `parameters` of all other \
                            dimensions"
                    .into());
            };
            let each = self.connections.iter();
            return Ok(each
                .map(|&count| Setting::closed(count, self.cores, kept).values)
                .collect());
        }
        let count = self.parameters.values().map(Vec::len).max().unwrap_or(0);
        if self.parameters.values().any(|values| values.len() != count) {
            return Err(format!(
                "the row `{}` needs as many values in each of `parameters`",
                self.row
            ));
        }
        let values = |at: usize| {
            self.parameters
                .iter()
                .map(|(name, values)| (name.clone(), values[at].clone()))
                .collect()
        };
        Ok((0..count).map(values).collect())
    }
}
