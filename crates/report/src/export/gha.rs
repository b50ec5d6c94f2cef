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
        for point in row.points(run).filter(|point| point.figure.better == better) {
            let (estimate, figure) = (point.estimate, point.figure);
            let mut entry = json!({
                "name": format!("{}/{}{}", row.path(run), word(&figure.id), point.doubt_behind()),
                "unit": unit(figure),
                "value": estimate.median,
            });
            if let (Some(low), Some(high)) = point.ends() {
                let half = figures::number(figure.unit, (high - low) / 2.0);
                entry["range"] = json!(format!("± {half}"));
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
