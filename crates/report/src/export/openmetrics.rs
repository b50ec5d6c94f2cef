//! OpenMetrics text, with base units: seconds and bytes.

use std::collections::BTreeMap;

use result::Run;
use result::figure::{Figure, Unit};

use super::rows::{
    ExportedFigure, cores, digits, dimension_names, exported_rows, figure_names, pace,
};
use crate::text::visible;

/// The labels that every sample may have.
const OWN_LABELS: [&str; 8] =
    ["study", "contender", "cores", "pace", "class", "verdict", "bound", "stat"];

/// A gauge a figure. Its label `stat` says whether a sample is the median or an end of the
/// interval, its label `verdict` what the checks say, and `bound` that it is only a lower bound.
pub(super) fn text(run: &Run) -> String {
    let mut text = String::new();
    let rows = exported_rows(run);
    // With their units: `x` in seconds and a count called `x_seconds` are two.
    let names = figure_names(run, metric);
    let dimensions = dimension_names(run, name, &OWN_LABELS);
    for figure in &run.study.figures {
        let points = rows.iter().flat_map(|row| row.points(run));
        let points: Vec<ExportedFigure> =
            points.filter(|point| point.figure.id == figure.id).collect();
        if points.is_empty() {
            continue;
        }
        let name = format!("bakeoff_{}", names[&*figure.id]);
        text.push_str(&format!("# TYPE {name} gauge\n"));
        // A name has to end with its unit, and one that had to be told apart doesn't.
        if let Some(unit) = unit(figure.unit).filter(|unit| name.ends_with(*unit)) {
            text.push_str(&format!("# UNIT {name} {unit}\n"));
        }
        text.push_str(&format!("# HELP {name} {}\n", escaped(&figure.title)));
        for point in points {
            let labels = labels(run, &point, &dimensions);
            for (stat, value) in stats(&point) {
                let value = digits(value * scale(figure.unit));
                text.push_str(&format!("{name}{{{labels},stat=\"{stat}\"}} {value}\n"));
            }
        }
    }
    text + "# EOF\n"
}

fn stats(point: &ExportedFigure) -> impl Iterator<Item = (&'static str, f64)> {
    let (low, high) = point.ends();
    let all = [("median", Some(point.estimate.median)), ("low", low), ("high", high)];
    all.into_iter().filter_map(|(stat, value)| Some((stat, value?)))
}

/// All labels of a figure but what its samples differ by.
fn labels(run: &Run, point: &ExportedFigure, dimensions: &BTreeMap<&str, String>) -> String {
    let row_of = point.of;
    let (row, setting) = (row_of.row, &row_of.outcome.setting);
    let mut labels = vec![
        ("study", run.study.name.clone()),
        ("contender", row.contender.clone()),
        ("cores", cores(setting).into()),
    ];
    let values = setting.values.iter();
    labels.extend(values.map(|(id, value)| (&*dimensions[&**id], value.to_string())));
    labels.extend(pace(setting.pace).map(|pace| ("pace", pace)));
    labels.extend(row_of.class(run).map(|class| ("class", class)));
    labels.push(("verdict", row.verdict.word().replace(' ', "_")));
    labels.extend(point.estimate.at_least.then(|| ("bound", "lower".into())));
    let labels = labels.iter().map(|(name, value)| format!("{name}=\"{}\"", escaped(value)));
    labels.collect::<Vec<_>>().join(",")
}

/// A figure's name with the base unit in place of its own.
fn metric(figure: &Figure) -> String {
    let id = name(&figure.id);
    let own = match figure.unit {
        Unit::Micros | Unit::CpuMicros => "_us",
        Unit::Bytes => "_bytes",
        Unit::PerSecond => "_per_s",
        Unit::Count => return id,
    };
    let id = id.trim_end_matches(own);
    unit(figure.unit).map_or_else(|| id.into(), |unit| format!("{id}_{unit}"))
}

/// What a metric's name ends with.
fn unit(of: Unit) -> Option<&'static str> {
    match of {
        Unit::Micros | Unit::CpuMicros => Some("seconds"),
        Unit::Bytes => Some("bytes"),
        Unit::PerSecond => Some("per_second"),
        Unit::Count => None,
    }
}

/// How many base units one of a figure's is.
fn scale(unit: Unit) -> f64 {
    match unit {
        Unit::Micros | Unit::CpuMicros => 1e-6,
        Unit::Bytes | Unit::PerSecond | Unit::Count => 1.0,
    }
}

/// A name without what names may not have: a digit may not come first, and two `_` are
/// Prometheus' own.
fn name(id: &str) -> String {
    let fit = |char: char| if char.is_ascii_alphanumeric() { char } else { '_' };
    let name: String = id.chars().map(fit).collect();
    if name.starts_with(|first: char| first.is_ascii_digit()) || name.starts_with("__") {
        return format!("of_{name}");
    }
    name
}

/// A text between quotation marks, or behind HELP.
fn escaped(text: &str) -> String {
    visible(text).replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
