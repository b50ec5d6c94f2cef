//! Figures that somebody published: `[[published]]` of `study.toml`.

use std::ops::Range;

use result::plan::{Cores, Published, PublishedFigure};
use serde::Deserialize;
use toml::Spanned;

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
    kept: bool,
    connections: Vec<u32>,
    rate: Vec<f64>,
    p99_ms: Option<Vec<f64>>,
}

impl TryFrom<PublishedColumns> for PublishedRow {
    type Error = String;

    fn try_from(columns: PublishedColumns) -> Result<PublishedRow, String> {
        let PublishedColumns {
            row,
            contender,
            source,
            mistake,
            cores,
            kept,
            connections,
            rate,
            p99_ms,
        } = columns;
        let lengths_differ = rate.len() != connections.len()
            || p99_ms.as_ref().is_some_and(|p99| p99.len() != connections.len());
        if lengths_differ {
            return Err(format!(
                "the row `{row}` needs as many values in `rate` and `p99_ms` as in `connections`"
            ));
        }
        let figures = connections
            .iter()
            .enumerate()
            .map(|(at, &connections)| PublishedFigure {
                connections,
                rate: rate[at],
                p99_ms: p99_ms.as_ref().map(|p99| p99[at]),
            })
            .collect();
        let (cores, keep_alive) = (Some(cores), Some(kept));
        let contender_at = contender.as_ref().map(Spanned::span);
        let contender = contender.map(Spanned::into_inner);
        let row = Published { row, contender, source, mistake, cores, keep_alive, figures };
        Ok(PublishedRow { row, contender_at })
    }
}
