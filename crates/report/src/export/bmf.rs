//! Bencher Metric Format: benchmarks, each with measures that have a value and its bounds.

use result::Run;
use result::figure::Unit;
use serde_json::{Map, Value, json};

use super::rows::exported_rows;

/// As the format's schema has it. It has no place for doubt, so doubt is a part of the name:
/// a doubtful figure is another benchmark, which no chart draws among the others.
pub(super) fn text(run: &Run) -> String {
    let mut benchmarks = Map::new();
    for row in exported_rows(run) {
        let mut measures = Map::new();
        for point in row.points(run) {
            let estimate = point.estimate;
            let mut metric = Map::from_iter([("value".to_string(), json!(estimate.median))]);
            if let Some((low, high)) = estimate.interval {
                metric.insert("lower_value".into(), json!(low));
                metric.insert("upper_value".into(), json!(high));
            }
            measures.insert(measure(&point.figure.id, point.figure.unit), Value::Object(metric));
        }
        let doubt = row.doubt().map_or(String::new(), |doubt| format!(" ({doubt})"));
        benchmarks.insert(format!("{}{doubt}", row.path(run)), Value::Object(measures));
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
