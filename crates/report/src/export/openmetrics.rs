//! OpenMetrics text, with base units: seconds and bytes.

use result::Run;
use result::figure::{Figure, Unit};
use result::outcome::Estimate;

use super::rows::{ExportedFigure, ExportedRow, cores, digits, exported_rows, pace};
use crate::text::visible;

/// A gauge a figure. Its label `stat` says whether a sample is the median or an end of the
/// interval, its label `verdict` what the checks say.
pub(super) fn text(run: &Run) -> String {
    let mut text = String::new();
    let rows = exported_rows(run);
    for figure in &run.study.figures {
        let points = rows.iter().flat_map(|row| row.points(run));
        let points: Vec<ExportedFigure> =
            points.filter(|point| point.figure.id == figure.id).collect();
        if points.is_empty() {
            continue;
        }
        let (name, unit) = named(figure);
        text.push_str(&format!("# TYPE {name} gauge\n"));
        if let Some(unit) = unit {
            text.push_str(&format!("# UNIT {name} {unit}\n"));
        }
        text.push_str(&format!("# HELP {name} {}\n", escaped(&figure.title)));
        for ExportedFigure { of, estimate, .. } in points {
            for (stat, value) in stats(estimate) {
                let labels = labels(run, of, stat);
                let value = digits(value * scale(figure.unit));
                text.push_str(&format!("{name}{{{labels}}} {value}\n"));
            }
        }
    }
    text + "# EOF\n"
}

fn stats(estimate: &Estimate) -> Vec<(&'static str, f64)> {
    let ends = estimate.interval.map(|(low, high)| [("low", low), ("high", high)]);
    [("median", estimate.median)].into_iter().chain(ends.into_iter().flatten()).collect()
}

fn labels(run: &Run, of: &ExportedRow, stat: &str) -> String {
    let setting = &of.outcome.setting;
    let mut labels = vec![
        ("study".to_string(), run.study.name.clone()),
        ("contender".into(), of.row.contender.clone()),
        ("cores".into(), cores(setting).into()),
    ];
    let values = setting.values.iter().map(|(id, value)| (name(id), value.to_string()));
    labels.extend(values);
    labels.extend(pace(setting.pace).map(|pace| ("pace".to_string(), pace)));
    labels.push(("verdict".into(), of.row.verdict.word().replace(' ', "_")));
    labels.push(("stat".into(), stat.into()));
    let labels = labels.iter().map(|(name, value)| format!("{name}=\"{}\"", escaped(value)));
    labels.collect::<Vec<_>>().join(",")
}

/// The metric's name, which ends with its unit.
fn named(figure: &Figure) -> (String, Option<&'static str>) {
    let id = name(&figure.id);
    let (id, unit) = match figure.unit {
        Unit::Micros | Unit::CpuMicros => (id.trim_end_matches("_us"), Some("seconds")),
        Unit::Bytes => (id.trim_end_matches("_bytes"), Some("bytes")),
        Unit::PerSecond => (id.trim_end_matches("_per_s"), Some("per_second")),
        Unit::Count => (id.as_str(), None),
    };
    match unit {
        Some(unit) => (format!("bakeoff_{id}_{unit}"), Some(unit)),
        None => (format!("bakeoff_{id}"), None),
    }
}

/// How many base units one of a figure's is.
fn scale(unit: Unit) -> f64 {
    match unit {
        Unit::Micros | Unit::CpuMicros => 1e-6,
        Unit::Bytes | Unit::PerSecond | Unit::Count => 1.0,
    }
}

/// A name without what names may not have.
fn name(id: &str) -> String {
    id.chars().map(|char| if char.is_ascii_alphanumeric() { char } else { '_' }).collect()
}

/// A text between quotation marks, or behind HELP.
fn escaped(text: &str) -> String {
    visible(text).replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
