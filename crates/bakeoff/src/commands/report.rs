//! `bakeoff report`: a run that was made before, shown again.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anstream::{AutoStream, ColorChoice};
use report::Terminal;
use result::{Run, State};

use super::exit_codes::{BAD_INPUT, SYSTEM};
use super::printing::{complain, note};

/// Shows a run in forty lines, and writes its report.html, report.md, badge.json and trials.csv
/// anew
#[derive(clap::Args)]
#[command(after_help = "Exit codes: 0 shown and written; 2 no run that can be read; 4 the report \
couldn't be written, or the tables not printed.")]
pub struct ReportArguments {
    /// A run's folder, for example runs/latest, or its run.json
    run: PathBuf,
    /// Show all that the run has: every setting, claim, curve and check
    #[arg(long)]
    full: bool,
}

/// Carries the command out.
pub fn run(arguments: ReportArguments) -> ExitCode {
    let run = match read(&arguments.run) {
        Ok(run) => run,
        Err(sentence) => {
            complain("report", &sentence);
            return ExitCode::from(BAD_INPUT);
        }
    };
    let file = file_of(&arguments.run);
    let text = if arguments.full { report::terminal } else { report::terminal_brief };
    let printed = print_text(|terminal| text(&run, terminal));
    let written = write(&run, file.parent().unwrap_or(Path::new(".")));
    if tell_of_report("report", printed, written) {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(SYSTEM)
    }
}

/// Says where the report is, and what couldn't be printed or written of it, which costs
/// nothing of the rest. Tells whether all was.
pub fn tell_of_report(
    command: &str,
    printed: Result<(), String>,
    written: Result<PathBuf, String>,
) -> bool {
    if let Ok(page) = &written {
        let folder = page.parent().unwrap_or(page);
        let folder = result::shell::word(&folder.to_string_lossy()).into_owned();
        note(&format!("\nThe whole report: {}", page.display()));
        note(&format!("To print it here: bakeoff report --full {folder}"));
    }
    let missing = [printed.err(), written.err()];
    missing.iter().flatten().for_each(|sentence| complain(command, sentence));
    missing.iter().all(Option::is_none)
}

/// Writes the report into a run's folder in each of its forms, and says where the
/// page is.
pub fn write(run: &Run, folder: &Path) -> Result<PathBuf, String> {
    let write = |name: &str, text: String| {
        let file = folder.join(name);
        match fs::write(&file, text) {
            Ok(()) => Ok(file),
            Err(error) => Err(format!("couldn't write {}: {error}", file.display())),
        }
    };
    write("trials.csv", report::csv(run))?;
    write("report.md", report::markdown(run))?;
    write("badge.json", report::badge(run))?;
    write("report.html", report::html(run))
}

/// Prints what a run ends with.
pub fn print(run: &Run) -> Result<(), String> {
    print_text(|terminal| report::terminal_brief(run, terminal))
}

/// Prints what suits the terminal. A reader that has gone (`| head`) is no error.
pub fn print_text(text: impl FnOnce(Terminal) -> String) -> Result<(), String> {
    let stdout = io::stdout();
    let asked = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let width = || terminal_size::terminal_size_of(&stdout).map(|(width, _)| width.0);
    let terminal = Terminal {
        columns: asked.or_else(width).unwrap_or(Terminal::default().columns),
        colour: AutoStream::choice(&stdout) != ColorChoice::Never,
    };
    match stdout.lock().write_all(text(terminal).as_bytes()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(format!("couldn't print the tables: {error}"))
        }
        _ => Ok(()),
    }
}

/// Reads a run from its folder or its file. An unfinished one has the figures of all
/// trials that are there: one that was killed kept none, or those of before it was
/// resumed.
pub fn read(asked: &Path) -> Result<Run, String> {
    let mut run = lab::run::folder::read(&file_of(asked))
        .map_err(|error| format!("{error}. Name a run's folder, for example runs/latest."))?;
    if run.state == State::Unfinished {
        judge::outcomes::conclude(&mut run);
    }
    Ok(run)
}

fn file_of(asked: &Path) -> PathBuf {
    if asked.is_dir() { asked.join("run.json") } else { asked.to_path_buf() }
}
