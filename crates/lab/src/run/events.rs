//! What a run tells while it goes on, and how it ends.

use std::path::{Path, PathBuf};

use result::plan::{Plan, Setting, Slot};
use result::{LeftOut, Run, Trial};

use super::folder::{self, Folder};
use super::time_left::TimeLeft;
use crate::place::client_hosts::NoHosts;
use crate::study;

/// What is still to be made of a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ToMake {
    /// Trials.
    pub trials: usize,
    /// How long they will take, and the cuts before them.
    pub time: TimeLeft,
    /// The same of the most trials that there may be, where each class of stores may be given an
    /// A/A pair of its own: which classes there are is known once the stores were cut off.
    pub at_most: Option<(usize, TimeLeft)>,
}

/// What a run tells while it goes on.
#[derive(Debug)]
pub enum Event<'a> {
    /// What is asked for. Contenders are made ready next, which takes a time of its own:
    /// who can be had is told by [`Event::Planned`].
    Intends {
        /// The question.
        study: &'a result::plan::Study,
        /// Who is to be measured.
        contenders: &'a [String],
        /// The trials of all of them.
        plan: &'a Plan,
        /// What is still to be made.
        to_make: ToMake,
    },
    /// A contender is made ready: built, asked for its version.
    Preparing {
        /// Its name.
        contender: &'a str,
        /// Which of all it is, from 1.
        number: usize,
        /// How many there are.
        of: usize,
    },
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
        /// What is still to be made.
        to_make: ToMake,
    },
    /// A store is cut off, and read back, before it is timed.
    CutsOff {
        /// Its name.
        store: &'a str,
        /// How often in each way.
        cuts: u32,
    },
    /// A store was cut off so many times now, of which the time that is left was learnt.
    WasCutOff {
        /// Its name.
        store: &'a str,
        /// How often, in all ways together.
        made: u32,
        /// How long the run will take from here on.
        left: TimeLeft,
    },
    /// The scripts of the plan are played with a gateway, before it is timed.
    PlaysScripts {
        /// Its name.
        gateway: &'a str,
        /// How long the run will take from here on.
        left: TimeLeft,
    },
    /// What each store survives is known now, and with it what is to be made.
    ClassesKnown(ToMake),
    /// A trial begins.
    Begins {
        /// Which.
        slot: &'a Slot,
        /// Trials still to be made, this one among them.
        trials: usize,
        /// How long they will take.
        left: TimeLeft,
    },
    /// A trial is made once more with a second client, because its client was near
    /// its limit.
    SecondClient(&'a Slot),
    /// A trial is over and kept.
    Ended {
        /// The trial.
        trial: &'a Trial,
        /// How long those still to be made will take.
        left: TimeLeft,
    },
    /// A block's trials under one load are made again, because others used the
    /// machine meanwhile.
    Disturbed {
        /// The block.
        block: u32,
        /// The setting.
        setting: &'a Setting,
    },
    /// A contender is measured twice in this block as well, because its A/A pair
    /// doesn't stand: a trial of it is invalid, or saw no load.
    AnotherPair(&'a Slot),
    /// Trials of a contender under a load are left out, because there is no rate
    /// to offer.
    NoRate(&'a LeftOut),
    /// A contender's other trials are left out, because it failed repeatedly.
    GivenUp(&'a str),
    /// A contender's other trials are left out, because its files were changed.
    ChangedMeanwhile(&'a str),
}

/// How a run ended.
#[derive(Debug)]
pub struct Ended {
    /// All that was measured, and what follows from it.
    pub run: Run,
    /// Its folder. While this is held nobody else makes its trials, so that a report
    /// written there is one of this run.
    pub folder: Folder,
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
    Failed(RunError),
}

/// Why a run couldn't begin or go on.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The study can't be used.
    #[error(transparent)]
    Study(#[from] study::Error),
    /// The study has no such profile.
    #[error("the study `{study}` has no profile `{profile}`{near}; it has {have}")]
    Profile {
        /// The study.
        study: String,
        /// The profile asked for.
        profile: String,
        /// Which may have been meant.
        near: String,
        /// Those that there are, and how to take one.
        have: String,
    },
    /// What was chosen leaves no load.
    #[error(
        "nothing is left to measure: the profile has no load with the cores and the mode that \
         were chosen"
    )]
    NoLoad,
    /// A variable isn't set that requests take from the environment.
    #[error("{0}")]
    Environment(String),
    /// The hosts that the load is to come from don't do for it, or can't be had.
    #[error(transparent)]
    Hosts(#[from] NoHosts),
    /// Every contender was left out, each with an [`Event::LeftOut`].
    #[error("nobody is left to measure")]
    Nobody,
    /// The run's folder can't be used.
    #[error(transparent)]
    Folder(#[from] folder::FolderError),
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
    /// A contender is another one than the trials before were made with.
    #[error(
        "the files of {contender} were changed while the run was under way, so that its further \
         trials would be of something else, and weren't made: put back what was in {}, or start a \
         new run; if it writes there itself, have it write to its trial's folder, `$DIR`",
        places.iter().map(|it| it.display().to_string()).collect::<Vec<_>>().join(" and ")
    )]
    ChangedMeanwhile {
        /// The contender.
        contender: String,
        /// What it is made and run from.
        places: Vec<PathBuf>,
    },
    /// Stopped before a trial.
    #[error("interrupted before a trial began; nothing was measured since the start")]
    Interrupted,
}
