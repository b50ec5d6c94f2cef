//! Bencher Metric Format: benchmarks, each with measures that have a value and its bounds.

use std::collections::BTreeMap;

use result::Run;
use result::figure::Unit;
use serde_json::{Value, json};

use super::rows::{exported_rows, figure_names};

/// As the format's schema has it. It has no place for doubt, so doubt is a part of the name:
/// a doubtful figure is of another benchmark, which no chart draws among the others.
pub(super) fn text(run: &Run) -> String {
    let names = figure_names(run, |figure| measure(&figure.id, figure.unit));
    let mut benchmarks: BTreeMap<String, BTreeMap<&str, Value>> = BTreeMap::new();
    for row in exported_rows(run) {
        for point in row.points(run) {
            let mut metric = json!({ "value": point.estimate.median });
            let (low, high) = point.ends();
            for (key, end) in [("lower_value", low), ("upper_value", high)] {
                if let Some(end) = end {
                    metric[key] = json!(end);
                }
            }
            let benchmark = format!("{}{}", row.path(run), point.doubt_behind());
            let measures = benchmarks.entry(benchmark).or_default();
            measures.insert(&names[&*point.figure.id], metric);
        }
    }
    serde_json::to_string_pretty(&benchmarks).expect("names and numbers are JSON") + "\n"
}

/// A measure's slug, which says its unit.
fn measure(id: &str, unit: Unit) -> String {
    let kept = |char: char| if char.is_ascii_alphanumeric() { char } else { '-' };
    let id: String = id.to_ascii_lowercase().chars().map(kept).collect();
    match unit {
        Unit::PerSecond if !id.ends_with("-per-s") => format!("{id}-per-s"),
        _ => id,
    }
}
