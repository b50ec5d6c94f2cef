//! `bakeoff export`: a run's figures as trackers of benchmarks read them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use report::export::{Export, Format, export};
use result::Run;

use super::exit_codes::{BAD_INPUT, SYSTEM};
use super::printing::{Output, complain, note};
use super::report::read;

/// Some figure that was asked for isn't there.
const LEFT_OUT: u8 = 3;

/// Writes a run's figures as trackers of benchmarks read them, without those that don't stand
#[derive(clap::Args)]
#[command(
    after_help = "Exit codes: 0 every contender has its figures; 2 no run that can be read, or wrong \
arguments; 3 some figure is left out, because it is invalid or wasn't measured; 4 it couldn't be \
written."
)]
pub struct ExportArguments {
    /// A run's folder, for example runs/latest, or its run.json
    run: PathBuf,
    /// Who reads it: benchstat (go), Bencher (bmf), github-action-benchmark (gha), Prometheus
    /// and its like (openmetrics)
    #[arg(long, value_name = "FORMAT", value_parser = formats())]
    format: Format,
    /// The folder to write to; standard output if not given. gha has two files, and needs one
    #[arg(long, value_name = "DIR", required_if_eq("format", "gha"))]
    output: Option<PathBuf>,
}

/// The formats, as arguments name them.
pub fn formats() -> impl TypedValueParser<Value = Format> {
    PossibleValuesParser::new(Format::ALL.map(Format::word)).try_map(|word| {
        Format::ALL.into_iter().find(|it| it.word() == word).ok_or("there is no such format")
    })
}

/// Carries the command out.
pub fn run(arguments: ExportArguments) -> ExitCode {
    let run = match read(&arguments.run) {
        Ok(run) => run,
        Err(sentence) => {
            complain("export", &sentence);
            return BAD_INPUT.into();
        }
    };
    let exported = export(&run, arguments.format);
    let written = match &arguments.output {
        Some(folder) => write(&exported, folder),
        None => print(&exported),
    };
    tell("export", &exported, written).into()
}

/// Writes these formats into a run's folder. Gives the exit code of the worst.
pub fn into(run: &Run, folder: &Path, formats: &[Format]) -> u8 {
    let codes = formats.iter().map(|&format| {
        let exported = export(run, format);
        let written = write(&exported, folder);
        tell("export", &exported, written)
    });
    codes.max().unwrap_or(0)
}

fn print(exported: &Export) -> Result<(), String> {
    let mut output = Output::to_stdout();
    exported.files.iter().for_each(|(_, text)| output.print(text));
    output.failure().map_or(Ok(()), |error| Err(format!("couldn't print the figures: {error}")))
}

fn write(exported: &Export, folder: &Path) -> Result<(), String> {
    let failed = |path: &Path, error| format!("couldn't write {}: {error}", path.display());
    fs::create_dir_all(folder).map_err(|error| failed(folder, error))?;
    for (name, text) in &exported.files {
        let path = folder.join(name);
        fs::write(&path, text).map_err(|error| failed(&path, error))?;
        note(&format!("Written: {}", path.display()));
    }
    Ok(())
}

/// Says what is left out, and what went wrong.
fn tell(command: &str, exported: &Export, written: Result<(), String>) -> u8 {
    for figure in &exported.left_out {
        note(&format!("Left out: {figure}"));
    }
    for figures in &exported.lacking {
        note(&format!("No point: {figures}"));
    }
    match written {
        Err(sentence) => {
            complain(command, &sentence);
            SYSTEM
        }
        Ok(()) if exported.left_out.is_empty() => 0,
        Ok(()) => LEFT_OUT,
    }
}
