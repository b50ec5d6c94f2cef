//! A whole run: study → contenders made ready → plan → trials → outcomes, kept
//! in the run's folder after every trial.

use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use load::Stop;
use result::plan::{Cores, Slot};
use result::{Run, SCHEMA, State, Trial};

use crate::contender::Contender;
use crate::folder::{self, Folder};
use crate::place::ThisMachine;
use crate::plan::{Choice, OVERHEAD_S, plan, seconds};
use crate::prepare::{Prepared, prepare, record};
use crate::study::{self, Study};
use crate::trial::Bench;
use crate::{judge, machine, outcomes};

/// Share of the plan's trials that may be made again, because others used the
/// machine meanwhile. Beyond it the machine is as it is, and the figures say so.
const REPEATS_SHARE_MAX: f64 = 0.25;

/// Failed starts in a row after which a contender is given up: a server that
/// never answers would cost its whole time limit in every trial.
const FAILURES_MAX: u32 = 2;

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
    /// These contenders only; all, if none is named.
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
    /// A trial is over and kept.
    Ended(&'a Trial),
    /// A trial is made again, because others used the machine meanwhile.
    Disturbed(&'a Trial),
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
        /// Those that there are.
        have: String,
    },
    /// What was chosen leaves no load.
    #[error("nothing is left to measure: the profile has no load with the cores that were chosen")]
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
    let study = Study::read(&options.studies, &options.study)?.only(&options.only)?;
    let profile = study.file.profile.get(&options.profile).ok_or_else(|| Error::Profile {
        study: study.name.clone(),
        profile: options.profile.clone(),
        have: study.file.profile.keys().cloned().collect::<Vec<_>>().join(", "),
    })?;
    let mut builds_failed = Vec::new();
    let contenders = prepare_all(&study, stop, tell, &mut builds_failed)?;
    let ready: Vec<String> =
        contenders.iter().filter(|it| it.absent.is_none()).map(|it| it.name.clone()).collect();
    if ready.is_empty() {
        return Err(Error::Nobody);
    }
    let seed = options.seed.unwrap_or_else(|| fastrand::u64(1..1 << 32));
    let plan = plan(&options.profile, profile, &options.choice, &ready, seed);
    if plan.slots.is_empty() {
        return Err(Error::NoLoad);
    }

    let now = SystemTime::now();
    let stamp = humantime::format_rfc3339_seconds(now).to_string().replace(['-', ':'], "");
    let folder = Folder::create(&options.runs, &format!("{}-{stamp}", study.name))?;
    let run = Run {
        schema: SCHEMA,
        bakeoff: env!("CARGO_PKG_VERSION").into(),
        id: folder.name(),
        started: humantime::format_rfc3339_seconds(now).to_string(),
        state: State::Unfinished,
        command: command(options, seed),
        machine: machine::describe(),
        study: study.record(),
        contenders,
        plan,
        trials: Vec::new(),
        disturbed: Vec::new(),
        outcomes: Vec::new(),
    };
    folder.write(&run)?;
    folder.is_latest();
    let progress = Progress { study: &study, folder, run, stop };
    Ok(progress.go_on(tell, builds_failed))
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
    let (folder, run) = Folder::open(folder)?;
    let planned: Vec<String> = run
        .contenders
        .iter()
        .filter(|contender| contender.absent.is_none())
        .map(|contender| contender.name.clone())
        .collect();
    let study = Study::read(studies, &run.study.name)?.only(&planned)?;
    let mut builds_failed = Vec::new();
    let contenders = prepare_all(&study, stop, tell, &mut builds_failed)?;
    if let Some(why) = changed(&run, &contenders) {
        return Err(Error::Changed { folder: folder.path().into(), why });
    }
    let progress = Progress { study: &study, folder, run, stop };
    Ok(progress.go_on(tell, builds_failed))
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

/// What is not as it was when the run began.
fn changed(run: &Run, contenders: &[result::plan::Contender]) -> Option<String> {
    let machine = machine::describe();
    if (&machine.cpu, &machine.cpus, &machine.kernel)
        != (&run.machine.cpu, &run.machine.cpus, &run.machine.kernel)
    {
        return Some("it began on another machine or kernel".into());
    }
    contenders.iter().find_map(|now| {
        let before = run.contenders.iter().find(|before| before.name == now.name)?;
        match &now.absent {
            Some(why) => Some(format!("{} can't be had any more: {why}", now.name)),
            None => (before != now).then(|| format!("{} is not what it was", now.name)),
        }
    })
}

/// The command that repeats a run.
fn command(options: &Options, seed: u64) -> String {
    let mut words = vec!["bakeoff".into(), "run".into(), options.study.clone()];
    words.push(format!("--{}", options.profile));
    if !options.only.is_empty() {
        words.push(format!("--only {}", options.only.join(",")));
    }
    if let Some(cores) = &options.choice.cores {
        let names: Vec<_> = cores
            .iter()
            .map(|cores| match cores {
                Cores::One => "1",
                Cores::All => "all",
            })
            .collect();
        words.push(format!("--cores {}", names.join(",")));
    }
    if let Some(connections) = &options.choice.connections {
        let numbers: Vec<_> = connections.iter().map(u32::to_string).collect();
        words.push(format!("--connections {}", numbers.join(",")));
    }
    words.push(format!("--seed {seed}"));
    words.join(" ")
}

/// A run under way.
struct Progress<'a> {
    study: &'a Study,
    folder: Folder,
    run: Run,
    stop: &'a Stop,
}

impl Progress<'_> {
    /// Makes the trials that are missing, and concludes.
    fn go_on(mut self, tell: &mut dyn FnMut(Event), builds_failed: Vec<String>) -> Ended {
        let mut early = self.trials(tell).unwrap_or_else(|error| Some(Early::Failed(error)));
        self.run.outcomes =
            outcomes::outcomes(&self.run.plan, &self.run.contenders, &self.run.trials);
        if self.missing().is_empty() {
            self.run.state = State::Complete;
        }
        if let Err(error) = self.folder.write(&self.run) {
            early = early.or(Some(Early::Failed(error.into())));
        }
        Ended { run: self.run, folder: self.folder.path().into(), early, builds_failed }
    }

    /// The slots of the plan that have no trial yet.
    fn missing(&self) -> Vec<Slot> {
        let made = |slot: &Slot| self.run.trials.iter().any(|trial| trial.slot == *slot);
        self.run.plan.slots.iter().filter(|slot| !made(slot)).cloned().collect()
    }

    fn trials(&mut self, tell: &mut dyn FnMut(Event)) -> Result<Option<Early>, Error> {
        let missing = self.missing();
        tell(Event::Planned {
            run: &self.run,
            folder: self.folder.path(),
            trials: missing.len(),
            seconds: seconds(&self.run.plan, missing.len(), OVERHEAD_S),
        });
        let machine = ThisMachine::new(&self.run.machine);
        let bench =
            Bench { machine: &machine, contract: &self.study.file.contract, stop: self.stop };
        let contenders: BTreeMap<&str, &Contender> =
            self.study.contenders.iter().map(|it| (it.name.as_str(), it)).collect();
        let repeats_max = (self.run.plan.slots.len() as f64 * REPEATS_SHARE_MAX).ceil() as usize;
        let mut failures: BTreeMap<String, u32> = BTreeMap::new();
        let mut overhead_s = Vec::new();
        // A machine that stays busy is not waited for.
        let mut was_disturbed = false;
        let mut missing = VecDeque::from(missing);
        while let Some(slot) = missing.pop_front() {
            let Some(contender) = contenders.get(slot.contender.as_str()) else { continue };
            if failures.get(&slot.contender).is_some_and(|&count| count >= FAILURES_MAX) {
                continue;
            }
            let trials = missing.len() + 1;
            let expected_s = mean(&overhead_s).unwrap_or(OVERHEAD_S);
            let seconds = seconds(&self.run.plan, trials, expected_s);
            tell(Event::Begins { slot: &slot, trials, seconds });
            let started = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
            let Some(evidence) = bench.trial(&self.run.plan, &slot, contender)? else {
                return Ok(Some(Early::Interrupted));
            };
            let failed = evidence.load.is_none();
            if !failed {
                overhead_s.push(evidence.overhead_s - self.run.plan.warmup_s);
            }
            let findings = judge::judge(&slot, &evidence);
            let trial = Trial { slot, started, evidence, findings };
            let is_disturbed = judge::is_disturbed(&trial);
            let is_news = is_disturbed && !was_disturbed;
            was_disturbed = is_disturbed;
            if is_news && self.run.disturbed.len() < repeats_max {
                tell(Event::Disturbed(&trial));
                missing.push_front(trial.slot.clone());
                self.run.disturbed.push(trial);
                self.folder.write(&self.run)?;
                continue;
            }
            let count = failures.entry(trial.slot.contender.clone()).or_default();
            *count = if failed { *count + 1 } else { 0 };
            let given_up = *count == FAILURES_MAX;
            self.run.trials.push(trial.clone());
            self.folder.write(&self.run)?;
            tell(Event::Ended(&trial));
            if given_up {
                tell(Event::GivenUp(&trial.slot.contender));
            }
        }
        failures.retain(|_, count| *count >= FAILURES_MAX);
        Ok((!failures.is_empty()).then(|| Early::GivenUp(failures.into_keys().collect())))
    }
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}
