//! Go's benchmark text (golang.org/design/14313-benchmark-format): a line a trial, so that
//! benchstat makes medians and intervals of them itself.

use std::collections::BTreeMap;

use result::Run;
use result::figure::{Better, Figure, Unit};

use super::rows::{
    ExportedFigure, ExportedRow, cores, digits, exported_rows, figure_names, keyed, word,
};
use crate::text::visible;
use crate::words::sentence_case;

pub(super) fn text(run: &Run) -> String {
    let mut text = String::new();
    let head = [
        ("goos", "linux".to_string()),
        ("pkg", format!("bakeoff/{}", run.study.name)),
        ("cpu", run.machine.cpu.clone()),
        ("run", run.id.clone()),
    ];
    for (key, value) in head {
        text.push_str(&format!("{key}: {}\n", visible(&value)));
    }
    let units = figure_names(run, unit);
    for figure in &run.study.figures {
        let better = match figure.better {
            Better::More => "higher",
            Better::Less => "lower",
        };
        text.push_str(&format!("Unit {} better={better}\n", units[&*figure.id]));
    }
    // A line of configuration holds until the next one, and benchstat compares only what has
    // the same. What is known in full comes first, without one.
    let rows = exported_rows(run);
    let mut by_doubt: BTreeMap<Option<String>, Vec<(&ExportedRow, Vec<ExportedFigure>)>> =
        BTreeMap::new();
    for row in &rows {
        let mut of_row: BTreeMap<Option<String>, Vec<ExportedFigure>> = BTreeMap::new();
        for point in row.points(run) {
            of_row.entry(point.doubt()).or_default().push(point);
        }
        for (doubt, points) in of_row {
            by_doubt.entry(doubt).or_default().push((row, points));
        }
    }
    for (doubt, rows) in by_doubt {
        if let Some(doubt) = doubt {
            text.push_str(&format!("verdict: {doubt}\n"));
        }
        for (row, points) in rows {
            lines(run, row, &points, &units, &mut text);
        }
    }
    text
}

/// A row's lines, one a trial, with these figures of it.
fn lines(
    run: &Run,
    row: &ExportedRow,
    points: &[ExportedFigure],
    units: &BTreeMap<&str, String>,
    text: &mut String,
) {
    let trials = run.trials.iter().filter(|trial| {
        let slot = &trial.slot;
        let is_row = slot.contender == row.row.contender && slot.setting == row.outcome.setting;
        is_row && !slot.twin && trial.evidence.work.is_some()
    });
    let mut done: Vec<(u32, u64)> = trials
        .map(|it| (it.slot.block, it.evidence.work.as_ref().map_or(0, |work| work.done)))
        .collect();
    done.sort_unstable();
    for (nth, (_, done)) in done.iter().enumerate() {
        text.push_str(&format!("{} {done}", name(run, row)));
        for point in points {
            // A figure that a block lacks isn't known of any other block either.
            let Some(value) = point.estimate.blocks.get(nth) else { continue };
            let value = digits(value * scale(point.figure));
            text.push_str(&format!(" {value} {}", units[&*point.figure.id]));
        }
        text.push('\n');
    }
}

/// A benchmark's name. Its parts have keys, by which benchstat makes columns: `-col /contender`.
fn name(run: &Run, row: &ExportedRow) -> String {
    let setting = &row.outcome.setting;
    let own = format!("contender={}/cores={}", word(&row.row.contender), cores(setting));
    let parts = [own].into_iter().chain(keyed(run, setting)).chain(row.class_keyed(run));
    let parts = parts.collect::<Vec<_>>().join("/");
    // A capital letter has to come first.
    without_processors(format!("Benchmark{}/{parts}", sentence_case(&word(&run.study.name))))
}

/// A name that doesn't end as `-8` does: readers take that for GOMAXPROCS, and cut it off.
fn without_processors(name: String) -> String {
    match name.rsplit_once('-') {
        Some((before, digits))
            if !digits.is_empty() && digits.bytes().all(|it| it.is_ascii_digit()) =>
        {
            format!("{before}%2D{digits}")
        }
        _ => name,
    }
}

/// How many of the format's units one of the figure's is: it has times in nanoseconds.
fn scale(figure: &Figure) -> f64 {
    match figure.unit {
        Unit::Micros | Unit::CpuMicros => 1000.0,
        Unit::PerSecond | Unit::Bytes | Unit::Count => 1.0,
    }
}

/// The unit, which is what a line tells figures apart by.
fn unit(figure: &Figure) -> String {
    let id = word(&figure.id).replace('_', "-");
    match figure.unit {
        Unit::Micros | Unit::CpuMicros => format!("{}-ns", id.trim_end_matches("-us")),
        Unit::Bytes => format!("{}-bytes", id.trim_end_matches("-bytes")),
        Unit::PerSecond => format!("{}/s", id.trim_end_matches("-per-s")),
        Unit::Count => id,
    }
}
