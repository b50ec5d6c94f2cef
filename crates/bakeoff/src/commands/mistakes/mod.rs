//! `bakeoff mistakes`: known mistakes made again; the judging has to name each.

mod table;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use load::Stop;
use museum::exhibit::{Exhibit, ExhibitError, Museum};
use museum::mistake::{self, Mistake};
use museum::{figure, verdict};

use self::table::{Came, Entry};
use super::exit_codes::{BAD_INPUT, INTERRUPTED, SYSTEM};
use super::load::interrupt;
use super::printing::{complain, note, part_of_note};
use super::report::{print_text, write};
use super::run::progress::time;

/// A mistake was not caught, or a set-up without one is not clean.
const FAILED: u8 = 1;
/// What could be shown was caught, but not all could be shown.
const NOT_SHOWN: u8 = 3;

/// Makes known mistakes on purpose: the judging has to name each, and to be silent without it
#[derive(clap::Args)]
#[command(after_help = "Exit codes: 0 every mistake was caught by its check, and every set-up \
without it is clean; 1 one was not, or isn't; 2 wrong arguments or files; 3 all that could be \
shown was caught, but not all could be shown; 4 the machine failed; 130 interrupted.")]
pub struct MistakesArguments {
    /// These mistakes only; docs/mistakes.md has their names
    #[arg(long, value_delimiter = ',', value_name = "NAME,…")]
    only: Vec<String>,
    /// Write what came out to this file too, once all were made
    #[arg(long, value_name = "FILE", conflicts_with = "only")]
    write: Option<PathBuf>,
    /// Decides the order of trials and their nonces; by chance if not given
    #[arg(long)]
    seed: Option<u64>,
    /// How often runs of a mistake are made again where others used the machine; 0 where
    /// they will do so whatever happens
    #[arg(long, value_name = "NUMBER", default_value_t = museum::exhibit::REPEATS_MAX)]
    repeats: u32,
    /// The folder of mistakes
    #[arg(long, value_name = "DIR", default_value = museum::exhibit::MISTAKES)]
    mistakes: PathBuf,
    /// The folder of studies
    #[arg(long, value_name = "DIR", default_value = lab::run::STUDIES)]
    studies: PathBuf,
    /// The folder that runs are kept in
    #[arg(long, value_name = "DIR", default_value = "runs/mistakes")]
    runs: PathBuf,
}

/// Carries the command out.
pub fn run(arguments: MistakesArguments) -> ExitCode {
    let failed = |code: u8, sentence: String| {
        complain("mistakes", &sentence);
        ExitCode::from(code)
    };
    let read = mistake::read_all(&arguments.mistakes);
    let all = match read {
        Ok(all) => all,
        Err(error) => return failed(BAD_INPUT, error.to_string()),
    };
    let known = all.len();
    let mistakes = match mistake::only(all, &arguments.only) {
        Ok(mistakes) => mistakes,
        Err(error) => return failed(BAD_INPUT, error.to_string()),
    };
    let stop = Stop::default();
    if let Err(error) = interrupt::stops(&stop) {
        return failed(SYSTEM, format!("waiting for Ctrl-C: {error}"));
    }
    keeper::leftovers::remove();
    let museum = Museum {
        mistakes: &arguments.mistakes,
        studies: &arguments.studies,
        runs: &arguments.runs,
        seed: arguments.seed.unwrap_or_else(lab::run::a_seed),
        repeats_max: arguments.repeats,
        ladder: &durability::OfRun,
        stop: &stop,
    };
    let began = Instant::now();
    let mut entries = Vec::new();
    let (mut early, mut reports_are_written) = (None, true);
    for mistake in &mistakes {
        match entry(&museum, mistake) {
            Ok((entry, is_written)) => {
                entries.push(entry);
                reports_are_written &= is_written;
            }
            Err(error) => {
                early = Some(error);
                break;
            }
        }
    }
    note("");
    let printed = print_text(|terminal| table::table(&entries, known, terminal));
    let runs = arguments.runs.display();
    let took = time(began.elapsed().as_secs_f64());
    let page = arguments.write.filter(|_| early.is_none());
    let written = page.map_or(Ok(()), |file| {
        let text = table::page(&entries, known, &took);
        std::fs::write(&file, text).map_err(|error| format!("{}: {error}", file.display()))
    });
    let which = if reports_are_written { "Every run has its" } else { "Some runs have no" };
    note(&format!("Took {took}. {which} report in {runs}."));
    match (early, printed.and(written)) {
        (Some(ExhibitError::Interrupted), _) => {
            let left = mistakes.len() - entries.len();
            failed(INTERRUPTED, format!("interrupted; {left} of {} were not made", mistakes.len()))
        }
        (Some(error @ ExhibitError::Stage(_)), _) => failed(BAD_INPUT, error.to_string()),
        (Some(error), _) => failed(SYSTEM, error.to_string()),
        (None, Err(sentence)) => failed(SYSTEM, sentence),
        (None, Ok(())) if !reports_are_written => SYSTEM.into(),
        (None, Ok(())) => table::exit_code(&entries).into(),
    }
}

/// Makes a mistake, and says what came of it, and whether its reports could be written.
fn entry(museum: &Museum, mistake: &Mistake) -> Result<(Entry, bool), ExhibitError> {
    let file = &mistake.file;
    let came = |came| Entry {
        number: file.number,
        name: mistake.name.clone(),
        title: file.title.clone(),
        came,
    };
    part_of_note(&format!("{:>2}. {}: ", file.number, file.title));
    let exhibit = match museum.make(mistake, &mut |_| {}) {
        Err(ExhibitError::NotHere(why)) => {
            note("can't be made here");
            return Ok((came(Came::NotShown(why)), true));
        }
        Err(error) => {
            note("");
            return Err(error);
        }
        Ok(exhibit) => exhibit,
    };
    let reports_are_written = keep_reports(&exhibit);
    let Exhibit { sabotaged, made_again, .. } = &exhibit;
    let expect = &file.set_up.expect;
    let seen = verdict::of(&sabotaged.run, exhibit.clean(), expect);
    let (naive, truth) = figure::of(&sabotaged.run, exhibit.clean(), expect.naive);
    note(table::word(&seen));
    let came = came(Came::Made {
        naive,
        truth,
        by: expect.caught_by.get_ref().word().into(),
        seen,
        made_again: *made_again,
        folder: sabotaged.folder.path().into(),
    });
    Ok((came, reports_are_written))
}

/// The reports are for readers; a run without one still has its `run.json`. Tells whether
/// all could be written.
fn keep_reports(exhibit: &Exhibit) -> bool {
    let kept = [Some(&exhibit.sabotaged), exhibit.clean.as_ref()].into_iter().flatten();
    let unwritten = kept.filter_map(|kept| write(&kept.run, kept.folder.path()).err());
    let complained = unwritten.map(|sentence| complain("mistakes", &sentence)).count();
    complained == 0
}
