//! What github-action-benchmark reads: `customBiggerIsBetter` and `customSmallerIsBetter`, a
//! list each, since a list has one direction.

use result::Run;
use result::figure::{Better, Figure, Unit};
use serde_json::{Value, json};

use super::rows::{exported_rows, word};
use crate::figures;

pub(super) fn files(run: &Run) -> Vec<(&'static str, String)> {
    let list = |better| {
        let text = serde_json::to_string_pretty(&entries(run, better));
        text.expect("names and numbers are JSON") + "\n"
    };
    vec![
        ("gha-bigger-is-better.json", list(Better::More)),
        ("gha-smaller-is-better.json", list(Better::Less)),
    ]
}

/// The figures of one direction. A doubtful one has its doubt in its name, so that it is drawn by
/// itself.
fn entries(run: &Run, better: Better) -> Vec<Value> {
    let mut entries = Vec::new();
    for row in exported_rows(run) {
        let doubt = row.doubt().map_or(String::new(), |doubt| format!(" ({doubt})"));
        for point in row.points(run).filter(|point| point.figure.better == better) {
            let (estimate, figure) = (point.estimate, point.figure);
            let half = estimate.interval.map(|(low, high)| (high - low) / 2.0);
            let mut entry = json!({
                "name": format!("{}/{}{doubt}", row.path(run), word(&figure.id)),
                "unit": unit(figure),
                "value": estimate.median,
            });
            if let Some(half) = half {
                entry["range"] = json!(format!("± {}", figures::number(figure.unit, half)));
                entry["extra"] =
                    json!(format!("95 % interval {}", figures::range(figure.unit, estimate)));
            }
            entries.push(entry);
        }
    }
    entries
}

fn unit(figure: &Figure) -> String {
    match figure.unit {
        Unit::PerSecond | Unit::Count => figures::short(figure),
        Unit::Micros => "µs".into(),
        Unit::CpuMicros => "µs of CPU".into(),
        Unit::Bytes => "B".into(),
    }
}
