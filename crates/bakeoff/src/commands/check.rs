//! `bakeoff check`: whether a contender keeps its study's contract.

use std::path::PathBuf;
use std::process::ExitCode;

use lab::contract::http::Depth;
use lab::place::ThisMachine;
use lab::place::machine;
use lab::ready::{Prepared, prepare};
use lab::study::Study;
use lab::trial::Bench;
use load::Stop;
use report::text::visible;
use result::plan::Cores;

use super::exit_codes::{BAD_INPUT, INTERRUPTED, SYSTEM};
use super::load::interrupt;
use super::printing::{Output, complain};

/// The contender doesn't keep its contract, or can't be had.
const FAILED: u8 = 1;

/// Checks whether a contender does its job, on all cores and on one, in seconds and without load
#[derive(clap::Args)]
#[command(after_help = "Exit codes: 0 the contract is kept; 1 it is not, or the contender can't \
be had; 2 wrong arguments or files; 4 the machine failed; 130 interrupted.")]
pub struct Arguments {
    /// The contender: its study and name, for example web/go
    contender: String,
    /// The folder of studies
    #[arg(long, value_name = "DIR", default_value = lab::run::STUDIES)]
    studies: PathBuf,
}

/// Carries the command out.
pub fn run(arguments: Arguments) -> ExitCode {
    let failed = |code: u8, sentence: String| {
        complain("check", &sentence);
        ExitCode::from(code)
    };
    let Some((study, name)) = arguments.contender.split_once('/') else {
        return failed(BAD_INPUT, "give study and contender, for example web/go".into());
    };
    let name = name.trim_end_matches('/').to_string();
    let study = match Study::read(&arguments.studies, study)
        .and_then(|study| study.only(std::slice::from_ref(&name)))
    {
        Ok(study) => study,
        Err(error) => return failed(BAD_INPUT, error.to_string()),
    };
    let stop = Stop::default();
    if let Err(error) = interrupt::stops(&stop) {
        return failed(SYSTEM, format!("waiting for Ctrl-C: {error}"));
    }
    keeper::leftovers::remove();
    let contender = &study.contenders[0];
    let record = match prepare(contender, &stop) {
        Prepared::Ready(record) => record,
        Prepared::Absent(why) => return failed(FAILED, format!("{name} is absent: {why}")),
        Prepared::Failed(why) => return failed(FAILED, format!("{name}: {why}")),
        Prepared::Interrupted => return ExitCode::from(INTERRUPTED),
    };
    let mut output = Output::to_stdout();
    output.line(&format!("{} ({})", visible(&record.title), visible(&arguments.contender)));
    for version in &record.versions {
        output.line(&format!("  {}: {}", visible(&version.of), visible(&version.says)));
    }
    let machine = ThisMachine::new(&machine::describe());
    let bench = Bench { machine: &machine, contract: study.contract_of(contender), stop: &stop };
    let (mut kept, mut broken) = (Vec::new(), Vec::new());
    for cores in machine.ways() {
        // That the Date advances takes seconds to see, so it is waited for once.
        let (on, depth) = match cores {
            Cores::All => ("on all cores", Depth::Thorough),
            Cores::One => ("on one core", Depth::Quick),
        };
        output.line(&format!("{on}:"));
        let checked = bench.check(contender, cores, depth, |step| {
            let (sign, says) = match &step.wrong {
                None => ("✓", &step.saw),
                Some(wrong) => ("✗", wrong),
            };
            output.line(&format!("  {sign} {}: {}", visible(&step.asked), visible(says)));
        });
        if stop.asked() {
            return ExitCode::from(INTERRUPTED);
        }
        let evidence = match checked {
            Ok(evidence) => evidence,
            Err(error) => return failed(SYSTEM, error.to_string()),
        };
        if let Some(failure) = &evidence.process.failure {
            let lines = &evidence.process.last_words;
            let said = match lines.is_empty() {
                true => "it wrote nothing to its output".into(),
                false => format!("its last lines:\n    {}", lines.join("\n    ")),
            };
            return failed(FAILED, format!("{name}, {on}: {failure}; {said}"));
        }
        let steps = evidence.contract.len();
        match evidence.contract.iter().filter(|step| step.wrong.is_some()).count() {
            0 => kept.push(format!("{steps} of {steps} steps {on}")),
            wrong => broken.push(format!("{wrong} of {steps} steps {on}")),
        }
    }
    if broken.is_empty() {
        output.line(&format!("It keeps the contract: {}.", kept.join(", ")));
        return match output.failure() {
            None => ExitCode::SUCCESS,
            Some(error) => failed(SYSTEM, format!("it keeps the contract; printing that: {error}")),
        };
    }
    failed(FAILED, format!("{name} breaks the contract in {}", broken.join(", and in ")))
}
