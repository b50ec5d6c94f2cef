//! Go's benchmark text (golang.org/design/14313-benchmark-format): a line a trial, so that
//! benchstat makes medians and intervals of them itself.

use result::Run;
use result::figure::{Better, Figure, Unit};

use super::rows::{ExportedRow, cores, digits, exported_rows, pace, word};
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
    for figure in &run.study.figures {
        let better = match figure.better {
            Better::More => "higher",
            Better::Less => "lower",
        };
        text.push_str(&format!("Unit {} better={better}\n", unit(figure)));
    }
    // A line of configuration holds until the next one, and benchstat compares only what has
    // the same.
    let all = exported_rows(run);
    let (sound, doubtful): (Vec<_>, Vec<_>) = all.iter().partition(|it| it.doubt().is_none());
    lines(run, &sound, &mut text);
    if !doubtful.is_empty() {
        text.push_str("verdict: suspect\n");
        lines(run, &doubtful, &mut text);
    }
    text
}

fn lines(run: &Run, rows: &[&ExportedRow], text: &mut String) {
    for row in rows {
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
            for point in row.points(run) {
                // A figure that a block lacks isn't known of any other block either.
                let Some(value) = point.estimate.blocks.get(nth) else { continue };
                let value = digits(value * scale(point.figure));
                text.push_str(&format!(" {value} {}", unit(point.figure)));
            }
            text.push('\n');
        }
    }
}

/// A benchmark's name. Its parts have keys, by which benchstat makes columns: `-col /contender`.
fn name(run: &Run, row: &ExportedRow) -> String {
    let setting = &row.outcome.setting;
    let values = setting
        .values
        .iter()
        .map(|(id, value)| format!("/{}={}", word(id), word(&value.to_string())));
    let pace = pace(setting.pace).map(|pace| format!("/{pace}"));
    // A capital letter has to come first.
    format!(
        "Benchmark{}/contender={}/cores={}{}",
        sentence_case(&word(&run.study.name)),
        word(&row.row.contender),
        cores(setting),
        values.chain(pace).collect::<String>()
    )
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
