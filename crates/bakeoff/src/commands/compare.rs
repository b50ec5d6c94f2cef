//! `bakeoff compare`: what changed between two runs.

use std::path::PathBuf;
use std::process::ExitCode;

use report::text::visible_json;
use result::comparison::{Comparison, Word};

use super::exit_codes::{BAD_INPUT, SYSTEM};
use super::printing::complain;
use super::report::{print_text, read};

/// Some figure changed beyond noise.
const CHANGED: u8 = 1;
/// The runs have nothing that can be compared, or no figure is known to have changed
/// and some can't be told apart from the machine, or a run lacks trials. A script that
/// asks whether something changed must not take that for a no.
const NOT_KNOWN: u8 = 3;

/// Tells what changed between two runs, beyond chance and noise
#[derive(clap::Args)]
#[command(after_help = "Exit codes: 0 no change beyond noise; 1 some figure changed; 2 a run \
can't be read; 3 nothing could be compared, or no change is known and one can't be told apart \
from the machine, or a run is unfinished; 4 the comparison couldn't be printed.")]
pub struct CompareArguments {
    /// The run to compare with: its folder, or its run.json
    a: PathBuf,
    /// The run that may have changed
    b: PathBuf,
    /// As JSON (docs/compare.md)
    #[arg(long)]
    json: bool,
}

/// Carries the command out.
pub fn run(arguments: CompareArguments) -> ExitCode {
    let failed = |code: u8, sentence: String| {
        complain("compare", &sentence);
        ExitCode::from(code)
    };
    let (a, b) = match read(&arguments.a).and_then(|a| Ok((a, read(&arguments.b)?))) {
        Ok(runs) => runs,
        Err(sentence) => return failed(BAD_INPUT, sentence),
    };
    let comparison = judge::compare::compare(&a, &b);
    let printed = if arguments.json {
        match serde_json::to_string_pretty(&comparison) {
            Ok(json) => print_text(|_| visible_json(&json) + "\n"),
            Err(error) => Err(format!("couldn't make JSON of it: {error}")),
        }
    } else {
        print_text(|terminal| report::comparison(&comparison, terminal))
    };
    match printed {
        Ok(()) => exit_code(&comparison),
        Err(sentence) => failed(SYSTEM, sentence),
    }
}

fn exit_code(comparison: &Comparison) -> ExitCode {
    let any = |is: fn(&Word) -> bool| comparison.figures.iter().any(|figure| is(&figure.word));
    let lacks_trials = [&comparison.a, &comparison.b].iter().any(|run| run.unfinished.is_some());
    if any(|word| matches!(word, Word::Changed(_))) {
        CHANGED.into()
    } else if lacks_trials || any(|word| matches!(word, Word::NotToldApart(_))) {
        NOT_KNOWN.into()
    } else if any(|word| matches!(word, Word::Unchanged(_))) {
        ExitCode::SUCCESS
    } else {
        NOT_KNOWN.into()
    }
}
