//! `bakeoff check`: whether a contender keeps its study's contract.

use std::process::ExitCode;

use lab::contract::Depth;
use lab::drive::LoadFrom;
use lab::place::ThisMachine;
use lab::place::machine;
use lab::ready::{Prepared, prepare};
use lab::study::contender::Contender;
use lab::study::{Profile, Study};
use lab::trial::Bench;
use load::Stop;
use report::text::visible;
use result::evidence::ContractStep;
use result::plan::{Cores, Setting};

use super::exit_codes::{BAD_INPUT, INTERRUPTED, SYSTEM};
use super::load::interrupt;
use super::printing::{Output, complain, last_words};
use super::studies::Studies;

/// The contender doesn't keep its contract, or can't be had.
const FAILED: u8 = 1;

/// Checks whether a contender does its job, on all cores and on one, in seconds and without load
#[derive(clap::Args)]
#[command(after_help = "Exit codes: 0 the contract is kept; 1 it is not, or the contender can't \
be had; 2 wrong arguments or files; 4 the machine failed; 130 interrupted.")]
pub struct CheckArguments {
    /// The contender: its study and name, for example web/go, or its folder, as ./mine/go
    contender: String,
    #[command(flatten)]
    studies: Studies,
}

/// Why nobody learns that the contract is kept.
enum Ended {
    /// With this exit code, and what is to be said.
    Failed(u8, String),
    Interrupted,
}

/// Carries the command out.
pub fn run(arguments: CheckArguments) -> ExitCode {
    match check(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(Ended::Interrupted) => ExitCode::from(INTERRUPTED),
        Err(Ended::Failed(code, sentence)) => {
            complain("check", &sentence);
            ExitCode::from(code)
        }
    }
}

fn check(arguments: &CheckArguments) -> Result<(), Ended> {
    let study = study_of(arguments)?;
    if let Some(why) = study.missing_variable() {
        return Err(Ended::Failed(BAD_INPUT, why));
    }
    let contender = &study.contenders[0];
    let name = &contender.name;
    let stop = Stop::default();
    interrupt::stops(&stop)
        .map_err(|error| Ended::Failed(SYSTEM, format!("waiting for Ctrl-C: {error}")))?;
    keeper::leftovers::remove();
    let failed = |sentence: String| Err(Ended::Failed(FAILED, sentence));
    let record = match prepare(contender, false, &stop) {
        Prepared::Ready(record) => record,
        Prepared::Absent(why) => return failed(format!("{name} is absent: {why}")),
        Prepared::Failed(why) => return failed(format!("{name}: {why}")),
        Prepared::Interrupted => return Err(Ended::Interrupted),
    };
    let mut output = Output::to_stdout();
    output.line(&format!("{} ({})", visible(&record.title), visible(&arguments.contender)));
    for version in &record.versions {
        output.line(&format!("  {}: {}", visible(&version.of), visible(&version.says)));
    }
    let machine = ThisMachine::new(&machine::describe());
    let (driver, contract) = study.driver_and_contract(contender);
    let data = study.file.data.as_ref();
    let (kind, driver, contract) = (study.file.kind(), &*driver, &*contract);
    let (stop, survives_crash, from) = (&stop, false, LoadFrom::Here);
    let bench = Bench { host: &machine, driver, kind, data, contract, from, survives_crash, stop };
    let works = works(&study, contender);
    if works.is_empty() {
        return failed(format!("{name}: its study has no setting that it can do"));
    }
    let (mut kept, mut broken) = (Vec::new(), Vec::new());
    for cores in machine.ways() {
        let on = match cores {
            Cores::All => "on all cores",
            Cores::One => "on one core",
        };
        let (mut all, mut wrong) = (0, 0);
        for setting in &works {
            let of = if study.file.kind().is_asked() {
                on.to_string()
            } else {
                format!("{on}, {}", work_name(&study, setting))
            };
            output.line(&format!("{of}:"));
            let steps = steps_on(&bench, contender, setting, (cores, &of), &mut output)?;
            all += steps.len();
            wrong += steps.iter().filter(|step| step.wrong.is_some()).count();
        }
        match wrong {
            0 => kept.push(format!("{all} of {all} steps {on}")),
            wrong => broken.push(format!("{wrong} of {all} steps {on}")),
        }
    }
    if !broken.is_empty() {
        return failed(format!("{name} breaks the contract in {}", broken.join(", and in ")));
    }
    output.line(&format!("It keeps the contract: {}.", kept.join(", ")));
    output.failure().map_or(Ok(()), |error| {
        Err(Ended::Failed(SYSTEM, format!("it keeps the contract; printing that: {error}")))
    })
}

/// The settings that show whether a contender does its job: of one that serves the first,
/// whatever the connections; of one that drives itself each kind of work that it can do.
fn works(study: &Study, contender: &Contender) -> Vec<Setting> {
    let of_profile = |it: &Profile| [it.free_settings(), it.fixed_settings()].concat();
    let all = study.file.profile.values().flat_map(of_profile);
    let mut works: Vec<Setting> = Vec::new();
    for setting in all.filter(|setting| contender.takes(setting)) {
        if works.iter().all(|known| known.values != setting.values) {
            works.push(setting);
        }
    }
    if study.file.kind().is_asked() {
        works.truncate(1);
    }
    works
}

/// What a contender is to do: `length 10, in a loop`.
fn work_name(study: &Study, setting: &Setting) -> String {
    report::work_name(&study.file.dimensions(), setting)
}

/// The study that is asked for, with this contender alone.
fn study_of(arguments: &CheckArguments) -> Result<Study, Ended> {
    let bad_input = |sentence| Ended::Failed(BAD_INPUT, sentence);
    let (studies, study, name) =
        arguments.studies.contender(&arguments.contender).map_err(bad_input)?;
    Study::read(&studies, &study)
        .and_then(|study| study.only(&[name]))
        .map_err(|error| bad_input(error.to_string()))
}

/// The steps of the contract on so many cores, each of which is told as it is made.
fn steps_on(
    bench: &Bench,
    contender: &Contender,
    setting: &Setting,
    (cores, on): (Cores, &str),
    output: &mut Output,
) -> Result<Vec<ContractStep>, Ended> {
    // That the Date advances takes seconds to see, so it is waited for once.
    let depth = match cores {
        Cores::All => Depth::Thorough,
        Cores::One => Depth::Quick,
    };
    let setting = Setting { cores, ..setting.clone() };
    let checked = bench.check(contender, &setting, depth, |step| {
        let (sign, says) = match &step.wrong {
            None => ("✓", &step.saw),
            Some(wrong) => ("✗", wrong),
        };
        output.line(&format!("  {sign} {}: {}", visible(&step.asked), visible(says)));
    });
    if bench.stop.asked() {
        return Err(Ended::Interrupted);
    }
    let evidence = checked.map_err(|error| Ended::Failed(SYSTEM, error.to_string()))?;
    let Some(failure) = &evidence.process.failure else { return Ok(evidence.contract) };
    let said = last_words(&evidence.process.last_words);
    Err(Ended::Failed(FAILED, format!("{}, {on}: {failure}; {said}", contender.name)))
}
