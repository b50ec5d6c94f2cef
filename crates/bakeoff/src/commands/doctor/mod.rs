//! `bakeoff doctor`: whether this machine can measure, and what would be said of the
//! figures, before somebody spends an hour on them.

mod connections;
mod contenders;
mod line;
mod machine;
mod sensors;
#[cfg(test)]
mod tests;

use std::cmp::Reverse;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use lab::study::{self, Study};
use lab::trial::nobody::{self, Checkup};
use load::Stop;

use super::exit_codes::{BAD_INPUT, INTERRUPTED, SYSTEM};
use super::load::interrupt;
use super::printing::complain;
use super::report::print_text;
use super::studies::Studies;

use line::{Line, worst};

/// Says in seconds whether this machine can measure, and what would be said of the figures
#[derive(clap::Args)]
#[command(after_help = "Exit codes: 0 nothing stands in the way; 1 no contender can be had; \
2 wrong arguments or files; 3 figures made now would be invalid; 4 no run can be made here; \
130 interrupted.")]
pub struct DoctorArguments {
    /// The study whose contenders and loads are looked at as well, by name or folder; the first by
    /// name where none is given
    study: Option<String>,
    #[command(flatten)]
    studies: Studies,
    /// The folder that runs are kept in
    #[arg(long, value_name = "DIR", default_value = "runs")]
    runs: PathBuf,
}

/// Carries the command out.
pub fn run(arguments: DoctorArguments) -> ExitCode {
    let failed = |code: u8, sentence: String| {
        complain("doctor", &sentence);
        ExitCode::from(code)
    };
    let study = match study(&arguments) {
        Ok(study) => study,
        Err(sentence) => return failed(BAD_INPUT, sentence),
    };
    let stop = Stop::default();
    if let Err(error) = interrupt::stops(&stop) {
        return failed(SYSTEM, format!("waiting for Ctrl-C: {error}"));
    }
    let checkup = nobody::look(study.as_ref(), &arguments.runs, &stop);
    if stop.asked() {
        return ExitCode::from(INTERRUPTED);
    }
    let lines = lines(&checkup);
    match print_text(|terminal| line::text(&checkup.machine, &lines, terminal)) {
        Ok(()) => worst(&lines).conclusion().1.into(),
        Err(sentence) => failed(SYSTEM, sentence),
    }
}

/// The study that is named, or the first that is here.
fn study(arguments: &DoctorArguments) -> Result<Option<Study>, String> {
    let read = |studies: &Path, name: &str| {
        Study::read(studies, name).map(Some).map_err(|error| error.to_string())
    };
    match (&arguments.study, arguments.studies.here()) {
        (Some(word), _) => {
            let (studies, name) = arguments.studies.study(word)?;
            read(&studies, &name)
        }
        (None, None) => Ok(None),
        (None, Some(studies)) => match study::names(&studies).first() {
            Some(name) => read(&studies, name),
            None => Ok(None),
        },
    }
}

/// All that was looked at, what harms most first.
fn lines(checkup: &Checkup) -> Vec<Line> {
    let trials = checkup.trials.as_deref().unwrap_or_default();
    let mut lines = vec![sensors::trial(checkup), machine::runs(checkup), machine::data(checkup)];
    lines.extend(connections::open_files(checkup));
    lines.extend(sensors::checks(trials));
    lines.extend(sensors::quota(checkup, trials));
    lines.extend(sensors::control_groups(trials));
    lines.extend(connections::listen_queue(checkup));
    lines.extend(connections::ports(checkup));
    lines.extend(connections::contenders_port(checkup));
    lines.extend([machine::processors(checkup), machine::cores(checkup)]);
    lines.push(machine::backend(checkup));
    lines.extend([sensors::children(checkup), machine::leftovers(checkup)]);
    lines.extend(contenders::contenders(checkup.contenders.as_deref().unwrap_or_default()));
    lines.sort_by_key(|line| Reverse(line.harm));
    lines
}
