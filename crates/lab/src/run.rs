//! A whole run: study → contenders made ready → plan → trials → outcomes. Each
//! trial is kept in the run's folder as soon as it is over.

mod spent;
mod time_left;
mod under_way;

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use load::Stop;
use result::plan::{Cores, Load, Plan, Slot};
use result::{LeftOut, Run, SCHEMA, Spent, State, Trial};

use self::under_way::UnderWay;
use crate::digest;
use crate::folder::{self, Folder};
use crate::machine;
use crate::plan::{Choice, Order, plan};
use crate::prepare::{Prepared, prepare, record};
use crate::study::{self, Profile, Study};

/// What is asked for.
#[derive(Debug, Clone)]
pub struct Options {
    /// The folder of studies.
    pub studies: PathBuf,
    /// The folder of runs.
    pub runs: PathBuf,
    /// The study's name.
    pub study: String,
    /// The profile's name.
    pub profile: String,
    /// These contenders only; those of the profile, if none is named.
    pub only: Vec<String>,
    /// What of the profile.
    pub choice: Choice,
    /// The seed; chosen by chance if there is none.
    pub seed: Option<u64>,
}

/// What a run tells while it goes on.
#[derive(Debug)]
pub enum Event<'a> {
    /// A contender is made ready: built, asked for its version.
    Preparing(&'a str),
    /// A contender is left out, and why.
    LeftOut {
        /// Its name.
        contender: &'a str,
        /// The reason.
        why: &'a str,
    },
    /// All is decided: trials begin.
    Planned {
        /// The run as it is now.
        run: &'a Run,
        /// Where it is kept.
        folder: &'a Path,
        /// Trials that are still to be made.
        trials: usize,
        /// Seconds that they will take.
        seconds: f64,
    },
    /// A trial begins.
    Begins {
        /// Which.
        slot: &'a Slot,
        /// Trials still to be made, this one among them.
        trials: usize,
        /// Seconds that they will take.
        seconds: f64,
    },
    /// A trial is made once more with a second client, because its client was near
    /// its limit.
    SecondClient(&'a Slot),
    /// A trial is over and kept.
    Ended(&'a Trial),
    /// A block's trials under one load are made again, because others used the
    /// machine meanwhile.
    Disturbed {
        /// The block.
        block: u32,
        /// The load.
        load: &'a Load,
    },
    /// A contender is measured twice in this block as well, because its A/A pair
    /// doesn't stand: a trial of it is invalid, or saw no load.
    AnotherPair(&'a Slot),
    /// Trials of a contender under a load are left out, because there is no rate
    /// to offer.
    NoRate(&'a LeftOut),
    /// A contender's other trials are left out, because it failed repeatedly.
    GivenUp(&'a str),
}

/// How a run ended.
#[derive(Debug)]
pub struct Ended {
    /// All that was measured, and what follows from it.
    pub run: Run,
    /// Its folder.
    pub folder: PathBuf,
    /// Why it ended before its last trial, if it did.
    pub early: Option<Early>,
    /// Contenders whose build failed.
    pub builds_failed: Vec<String>,
}

/// Why a run ended early.
#[derive(Debug)]
pub enum Early {
    /// Somebody asked it to.
    Interrupted,
    /// Contenders were given up: those named.
    GivenUp(Vec<String>),
    /// It couldn't go on.
    Failed(Error),
}

/// Why a run couldn't begin or go on.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The study can't be used.
    #[error(transparent)]
    Study(#[from] study::Error),
    /// The study has no such profile.
    #[error("the study `{study}` has no profile `{profile}`; it has {have}")]
    Profile {
        /// The study.
        study: String,
        /// The profile asked for.
        profile: String,
        /// Those that there are, and how to take one.
        have: String,
    },
    /// What was chosen leaves no load.
    #[error(
        "nothing is left to measure: the profile has no load with the cores and the mode that \
         were chosen"
    )]
    NoLoad,
    /// Every contender was left out, each with an [`Event::LeftOut`].
    #[error("nobody is left to measure")]
    Nobody,
    /// The run's folder can't be used.
    #[error(transparent)]
    Folder(#[from] folder::Error),
    /// No load could be offered.
    #[error("no load could be offered: {0}")]
    Load(#[from] load::Error),
    /// A run can't be taken up again, because its trials wouldn't be comparable.
    #[error("{folder} can't be resumed: {why}; start a new run")]
    Changed {
        /// The run's folder.
        folder: PathBuf,
        /// What is not as it was.
        why: String,
    },
    /// Stopped before the first trial.
    #[error("interrupted before the first trial; nothing was measured")]
    Interrupted,
}

/// Makes a new run.
///
/// # Errors
/// [`Error`], if not one trial could be begun.
pub fn new(options: &Options, stop: &Stop, tell: &mut dyn FnMut(Event)) -> Result<Ended, Error> {
    let study = Study::read(&options.studies, &options.study)?;
    let profile = profile(&study, &options.profile)?.clone();
    let study = match &options.only[..] {
        [] => study.only(&profile.contender_names())?,
        names => study.only(names)?,
    };
    let seed = options.seed.unwrap_or_else(a_seed);
    let asked = Asked {
        study: &study,
        profile: (&options.profile, &profile),
        choice: &options.choice,
        order: Order::Shuffled,
        seed,
        command: command(options, seed),
        runs: &options.runs,
    };
    of_study(asked, stop, tell)
}

/// A seed by chance.
pub fn a_seed() -> u64 {
    fastrand::u64(1..1 << 32)
}

/// What is asked for, of a study that was read.
#[derive(Debug, Clone)]
pub struct Asked<'a> {
    /// The study, with the contenders that are to be measured.
    pub study: &'a Study,
    /// The profile, with its name.
    pub profile: (&'a str, &'a Profile),
    /// What of the profile.
    pub choice: &'a Choice,
    /// In which order.
    pub order: Order,
    /// The seed.
    pub seed: u64,
    /// The command that repeats the run.
    pub command: String,
    /// The folder of runs.
    pub runs: &'a Path,
}

/// Makes a new run of a study that was read.
///
/// # Errors
/// [`Error`], if not one trial could be begun.
pub fn of_study(asked: Asked, stop: &Stop, tell: &mut dyn FnMut(Event)) -> Result<Ended, Error> {
    let (study, (name, profile)) = (asked.study, asked.profile);
    let mut builds_failed = Vec::new();
    let contenders = prepare_all(study, stop, tell, &mut builds_failed)?;
    let ready: Vec<String> =
        contenders.iter().filter(|it| it.absent.is_none()).map(|it| it.name.clone()).collect();
    if ready.is_empty() {
        return Err(Error::Nobody);
    }
    let plan = plan(name, profile, asked.choice, &ready, (asked.seed, asked.order));
    if plan.slots.is_empty() {
        return Err(Error::NoLoad);
    }
    allow_connections(&plan)?;

    let now = SystemTime::now();
    let stamp = humantime::format_rfc3339_seconds(now).to_string().replace(['-', ':'], "");
    let folder = Folder::create(asked.runs, &format!("{}-{stamp}", study.name))?;
    let run = Run {
        schema: SCHEMA,
        bakeoff: env!("CARGO_PKG_VERSION").into(),
        bakeoff_sha256: own_digest(),
        id: folder.name(),
        started: humantime::format_rfc3339_seconds(now).to_string(),
        state: State::Unfinished,
        command: asked.command,
        machine: machine::describe(),
        study: study.record(),
        contenders,
        plan,
        trials: Vec::new(),
        disturbed: Vec::new(),
        left_out: Vec::new(),
        spent: Spent::default(),
        outcomes: Vec::new(),
        equal_rates: Vec::new(),
        curves: Vec::new(),
    };
    folder.write(&run)?;
    folder.is_latest();
    Ok(UnderWay::new(study, folder, run, stop).go_on(tell, builds_failed))
}

/// The digest of the program that runs, also where another has taken its file's place.
fn own_digest() -> Option<String> {
    digest::of_file(Path::new("/proc/self/exe")).ok()
}

fn profile<'a>(study: &'a Study, name: &str) -> Result<&'a Profile, Error> {
    study.file.profile.get(name).ok_or_else(|| Error::Profile {
        study: study.name.clone(),
        profile: name.into(),
        have: match study.file.profile.is_empty() {
            true => "none".into(),
            false => {
                let names: Vec<_> = study.file.profile.keys().map(String::as_str).collect();
                format!("{}; `--profile NAME` takes one", names.join(", "))
            }
        },
    })
}

/// Makes the trials that an earlier run left out.
///
/// # Errors
/// [`Error`], if not one trial could be begun.
pub fn resume(
    studies: &Path,
    folder: &Path,
    stop: &Stop,
    tell: &mut dyn FnMut(Event),
) -> Result<Ended, Error> {
    let (folder, mut run) = Folder::open(folder)?;
    let planned: Vec<String> = run
        .contenders
        .iter()
        .filter(|contender| contender.absent.is_none())
        .map(|contender| contender.name.clone())
        .collect();
    let study = Study::read(studies, &run.study.name)?.only(&planned)?;
    let mut builds_failed = Vec::new();
    let contenders = prepare_all(&study, stop, tell, &mut builds_failed)?;
    if let Some(why) = changed(&run, &study, &contenders) {
        return Err(Error::Changed { folder: folder.path().into(), why });
    }
    allow_connections(&run.plan)?;
    if run.state == State::Unfinished && run.bakeoff_sha256 != own_digest() {
        run.bakeoff_sha256 = None;
    }
    // Trials that were appended come into one file with the others.
    folder.write(&run)?;
    Ok(UnderWay::new(&study, folder, run, stop).go_on(tell, builds_failed))
}

/// Makes all contenders of a study ready, as a run's record has them.
fn prepare_all(
    study: &Study,
    stop: &Stop,
    tell: &mut dyn FnMut(Event),
    builds_failed: &mut Vec<String>,
) -> Result<Vec<result::plan::Contender>, Error> {
    let mut records = Vec::new();
    for contender in &study.contenders {
        tell(Event::Preparing(&contender.name));
        let why = match prepare(contender, stop) {
            Prepared::Ready(record) => {
                records.push(*record);
                continue;
            }
            Prepared::Interrupted => return Err(Error::Interrupted),
            Prepared::Absent(why) => why,
            Prepared::Failed(why) => {
                builds_failed.push(contender.name.clone());
                why
            }
        };
        tell(Event::LeftOut { contender: &contender.name, why: &why });
        records.push(result::plan::Contender { absent: Some(why), ..record(contender) });
    }
    Ok(records)
}

/// Sees to it that the client may open the connections of every load. Else the first
/// trial that needs too many would end the run, however late it comes.
fn allow_connections(plan: &Plan) -> Result<(), load::Error> {
    let most = plan.slots.iter().map(|slot| slot.load.connections).max();
    load::allow_connections(most.unwrap_or_default())
}

/// What is not as it was when the run began.
fn changed(run: &Run, study: &Study, contenders: &[result::plan::Contender]) -> Option<String> {
    let machine = machine::describe();
    if (&machine.cpu, &machine.cpus, &machine.kernel)
        != (&run.machine.cpu, &run.machine.cpus, &run.machine.kernel)
    {
        return Some("it began on another machine or kernel".into());
    }
    let version = env!("CARGO_PKG_VERSION");
    if run.bakeoff != version {
        return Some(format!("it began with bakeoff {}, and this is {version}", run.bakeoff));
    }
    let before = &run.study.file_sha256;
    if before.is_none() {
        return Some("an older bakeoff didn't keep which study.toml it began with".into());
    }
    if *before != study.file.sha256 {
        return Some("its study.toml is not what it was".into());
    }
    if run.plan.slots.iter().any(|slot| contenders.iter().all(|it| it.name != slot.contender)) {
        return Some("its plan names a contender that it doesn't describe".into());
    }
    contenders.iter().find_map(|now| {
        let before = run.contenders.iter().find(|before| before.name == now.name)?;
        match &now.absent {
            Some(why) => Some(format!("{} can't be had any more: {why}", now.name)),
            None if before.source_sha256 != now.source_sha256 => {
                Some(format!("the files of {} are not what they were", now.name))
            }
            None => (before != now).then(|| format!("{} is not what it was", now.name)),
        }
    })
}

/// The command that repeats a run, as a shell reads it.
fn command(options: &Options, seed: u64) -> String {
    // Only a NUL can't be quoted, and no argument can have one.
    let quoted = |name: &String| shlex::try_quote(name).unwrap_or_default().into_owned();
    let mut words = vec!["bakeoff".into(), "run".into(), quoted(&options.study)];
    let mut option = |name: &str, value: String| words.extend([name.into(), value]);
    option("--profile", quoted(&options.profile));
    if !options.only.is_empty() {
        option("--only", options.only.iter().map(quoted).collect::<Vec<_>>().join(","));
    }
    if let Some(cores) = &options.choice.cores {
        let names: Vec<_> = cores
            .iter()
            .map(|cores| match cores {
                Cores::One => "1",
                Cores::All => "all",
            })
            .collect();
        option("--cores", names.join(","));
    }
    if let Some(connections) = &options.choice.connections {
        let numbers: Vec<_> = connections.iter().map(u32::to_string).collect();
        option("--connections", numbers.join(","));
    }
    if let Some(modes) = &options.choice.keep_alive {
        let names: Vec<_> =
            modes.iter().map(|&keep_alive| if keep_alive { "kept" } else { "closed" }).collect();
        option("--mode", names.join(","));
    }
    option("--seed", seed.to_string());
    words.join(" ")
}
