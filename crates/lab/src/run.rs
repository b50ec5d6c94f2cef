//! A whole run: study → contenders made ready → plan → trials → outcomes, kept
//! in the run's folder after every trial.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use load::Stop;
use result::plan::{Cores, Load, Plan, Slot};
use result::{Run, SCHEMA, State, Trial};

use crate::folder::{self, Folder};
use crate::place::ThisMachine;
use crate::plan::{Choice, OVERHEAD_S, plan, seconds};
use crate::prepare::{Prepared, prepare, record};
use crate::repeat::take_back_disturbed;
use crate::study::{self, Study};
use crate::trial::Bench;
use crate::{judge, machine, outcomes};

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
    /// A block's trials under one load are made again, because others used the
    /// machine meanwhile.
    Disturbed {
        /// The block.
        block: u32,
        /// The load.
        load: &'a Load,
    },
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
    if run.plan.slots.iter().any(|slot| contenders.iter().all(|it| it.name != slot.contender)) {
        return Some("its plan names a contender that it doesn't describe".into());
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
        let mut slots = self.missing();
        tell(Event::Planned {
            run: &self.run,
            folder: self.folder.path(),
            trials: slots.len(),
            seconds: seconds(&self.run.plan, slots.len(), OVERHEAD_S),
        });
        let mut made = Made::default();
        loop {
            for (done, slot) in slots.iter().enumerate() {
                if made.is_given_up(&slot.contender) {
                    continue;
                }
                let trials = slots.len() - done;
                let seconds = seconds(&self.run.plan, trials, made.overhead_s());
                tell(Event::Begins { slot, trials, seconds });
                let Some(trial) = self.trial(slot)? else { return Ok(Some(Early::Interrupted)) };
                made.count(&trial, &self.run.plan);
                self.run.trials.push(trial.clone());
                self.folder.write(&self.run)?;
                tell(Event::Ended(&trial));
                if made.is_given_up(&slot.contender) {
                    tell(Event::GivenUp(&slot.contender));
                }
            }
            slots = take_back_disturbed(&mut self.run);
            match slots.first() {
                Some(slot) => tell(Event::Disturbed { block: slot.block, load: &slot.load }),
                None => break,
            }
        }
        let given_up = made.given_up();
        Ok((!given_up.is_empty()).then_some(Early::GivenUp(given_up)))
    }

    /// Makes one trial; `None` if it was interrupted.
    fn trial(&self, slot: &Slot) -> Result<Option<Trial>, Error> {
        let contender = self.study.contenders.iter().find(|it| it.name == slot.contender);
        let contender = contender.expect("a plan is resumed with the contenders that it names");
        let machine = ThisMachine::new(&self.run.machine);
        let contract = self.study.contract_of(contender);
        let bench = Bench { machine: &machine, contract, stop: self.stop };
        let started = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
        let evidence = bench.trial(&self.run.plan, slot, contender)?;
        Ok(evidence.map(|evidence| {
            let findings = judge::judge(slot, &evidence);
            Trial { slot: slot.clone(), started, evidence, findings }
        }))
    }
}

/// What the trials made so far tell of those to come.
#[derive(Default)]
struct Made {
    /// Failures in a row, by contender.
    failures: BTreeMap<String, u32>,
    /// Seconds that each took beside warm-up and window.
    overheads_s: Vec<f64>,
}

impl Made {
    fn count(&mut self, trial: &Trial, plan: &Plan) {
        let failures = self.failures.entry(trial.slot.contender.clone()).or_default();
        match trial.evidence.load {
            Some(_) => {
                *failures = 0;
                self.overheads_s.push(trial.evidence.overhead_s - plan.warmup_s);
            }
            None => *failures += 1,
        }
    }

    fn is_given_up(&self, contender: &str) -> bool {
        self.failures.get(contender).is_some_and(|&count| count >= FAILURES_MAX)
    }

    fn given_up(&self) -> Vec<String> {
        self.failures.keys().filter(|contender| self.is_given_up(contender)).cloned().collect()
    }

    fn overhead_s(&self) -> f64 {
        let count = self.overheads_s.len();
        if count == 0 { OVERHEAD_S } else { self.overheads_s.iter().sum::<f64>() / count as f64 }
    }
}
