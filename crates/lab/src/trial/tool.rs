//! A command of the study that prints lines: it makes records, or counts what was made of them.

use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

use keeper::Order;
use keeper::kept::Kept;
use load::Stop;

use crate::ready::programs;
use crate::study::Data;

/// How long it may take.
const WITHIN: Duration = Duration::from_secs(30);
/// Between two looks whether the run is to end, or the command has ended.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// How long lines may still come when it has ended: something else may hold its output.
const PRINTED_BEFORE: Duration = Duration::from_secs(1);
/// Lines of a command that failed that are shown.
const LINES: usize = 5;

/// Runs it, and takes each of its lines. Somebody who asks to stop meanwhile gets what there is.
///
/// # Errors
/// Why it failed, in a sentence without its name, or what was wrong with a line.
pub(super) fn run(
    data: &Data,
    command: Vec<String>,
    stop: &Stop,
    mut take: impl FnMut(&str) -> Result<(), String>,
) -> Result<(), String> {
    let order = Order { lines: true, ..programs::tool(command, data.folder.clone()) };
    let tool = Kept::start(&order)?;
    let began = Instant::now();
    let mut gone = None;
    while !stop.asked() {
        if began.elapsed() > WITHIN {
            return Err(format!("it didn't end within {} s", WITHIN.as_secs()));
        }
        if tool.exited().is_some()
            && gone.get_or_insert_with(Instant::now).elapsed() > PRINTED_BEFORE
        {
            break;
        }
        match tool.next_line(LOOK_EVERY) {
            Ok(line) => take(&line.text)?,
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    if stop.asked() {
        return Ok(());
    }
    let exit = tool.wait(WITHIN);
    let said = tool.stop(LINES)?.last_lines;
    match exit {
        Some(exit) if exit.code == Some(0) => Ok(()),
        Some(exit) => Err(format!("it ended with {}: {}", exit.how, said.join(" | "))),
        None => Err("it closed its standard output and didn't end".into()),
    }
}
