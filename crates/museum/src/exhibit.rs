//! A mistake made: the run with it and the run without it, each by the lab and
//! kept like any other run.

use std::path::Path;

use judge::checks::is_about_the_machine;
use lab::place::machine;
use lab::place::{Host, ThisMachine};
use lab::plan::{Choice, Order};
use lab::ready;
use lab::run::folder::Folder;
use lab::run::{self, Asked, Early, Ended, Event, Ladder};
use lab::study::Study;
use load::Stop;
use result::finding::Verdict;
use result::{Run, shell};

use crate::condition::{Conditions, Neighbour};
use crate::mistake::{Mistake, Sabotage};
use crate::stage::{self, PROFILE, Stage};

/// The folder of mistakes, where no other is named.
pub const MISTAKES: &str = "mistakes";

/// Runs that are made again, of a mistake, where nobody says otherwise: a machine that stays
/// busy is not waited for.
pub const REPEATS_MAX: u32 = 8;

/// Both runs of a mistake.
#[derive(Debug)]
pub struct Exhibit {
    /// With the mistake.
    pub sabotaged: Kept,
    /// Without it; `None` where the mistake lies in how figures are read, so that
    /// both are one.
    pub clean: Option<Kept>,
    /// How many runs were made again, because the machine was disturbed.
    pub made_again: u32,
}

impl Exhibit {
    /// The run without the mistake.
    pub fn clean(&self) -> &Run {
        &self.clean.as_ref().unwrap_or(&self.sabotaged).run
    }
}

/// A run and where it is kept.
#[derive(Debug)]
pub struct Kept {
    /// The run.
    pub run: Run,
    /// Its folder.
    pub folder: Folder,
}

/// Why there are no two runs.
#[derive(Debug, thiserror::Error)]
pub enum ExhibitError {
    /// It can't be made here, and why.
    #[error("{0}")]
    NotHere(String),
    /// Somebody asked to stop.
    #[error("interrupted")]
    Interrupted,
    /// The set-up can't be made.
    #[error(transparent)]
    Stage(#[from] stage::StageError),
    /// A run couldn't begin or go on.
    #[error(transparent)]
    Run(run::RunError),
}

/// Where things are, and how to stop.
#[derive(Debug, Clone, Copy)]
pub struct Museum<'a> {
    /// The folder of mistakes.
    pub mistakes: &'a Path,
    /// The folder of studies.
    pub studies: &'a Path,
    /// The folder that runs are kept in.
    pub runs: &'a Path,
    /// Decides the order of trials and their nonces.
    pub seed: u64,
    /// Runs that are made again, of a mistake, at most. Only for the machine's sake: who
    /// repeats a run for its result chooses the result.
    pub repeats_max: u32,
    /// What finds out what stores survive.
    pub ladder: &'a dyn Ladder,
    /// Ends it early.
    pub stop: &'a Stop,
}

impl Museum<'_> {
    /// Makes a mistake: one run with it and one without it. To be called by the
    /// main thread: see [`Conditions::of`].
    ///
    /// # Errors
    /// [`ExhibitError`].
    pub fn make(
        &self,
        mistake: &Mistake,
        tell: &mut dyn FnMut(&Event),
    ) -> Result<Exhibit, ExhibitError> {
        let sabotage = &mistake.file.set_up.sabotage;
        if let Some(missing) = ready::missing(&sabotage.needs) {
            return Err(ExhibitError::NotHere(missing));
        }
        let file = self.mistakes.join(format!("{}.toml", mistake.name));
        let stage = Stage::set(self.studies, &file, mistake)?;
        let honest = Sabotage::default();
        let mut made_again = 0;
        let mut make = |study: &Study, sabotage: &Sabotage, from: Verdict| loop {
            let kept = self.run(mistake, study, sabotage, tell)?;
            // A machine that is disturbed on purpose is so the next time.
            let is_meant = sabotage.neighbours.is_some();
            if is_meant || made_again == self.repeats_max || !was_disturbed(&kept.run, from) {
                return Ok::<Kept, ExhibitError>(kept);
            }
            made_again += 1;
        };
        let sabotaged = match &stage.sabotaged {
            None => None,
            Some(study) => Some(make(study, sabotage, Verdict::Invalid)?),
        };
        let clean = make(&stage.clean, &honest, Verdict::Suspect)?;
        Ok(match sabotaged {
            None => Exhibit { sabotaged: clean, clean: None, made_again },
            Some(sabotaged) => Exhibit { sabotaged, clean: Some(clean), made_again },
        })
    }

    /// The command that makes a mistake again, as a shell reads it.
    fn command(&self, mistake: &str) -> String {
        let mistakes = shell::path_option("--mistakes", self.mistakes, MISTAKES);
        let studies = shell::path_option("--studies", self.studies, run::STUDIES);
        let name = shell::word(mistake);
        format!("bakeoff mistakes --only {name} --seed {}{mistakes}{studies}", self.seed)
    }

    fn run(
        &self,
        mistake: &Mistake,
        study: &Study,
        sabotage: &Sabotage,
        tell: &mut dyn FnMut(&Event),
    ) -> Result<Kept, ExhibitError> {
        let asked = Asked {
            study,
            profile: (PROFILE, &study.file.profile[PROFILE]),
            choice: &Choice::default(),
            order: if sabotage.fixed_order { Order::Fixed } else { Order::Shuffled },
            seed: self.seed,
            command: self.command(&mistake.name),
            runs: self.runs,
            keeps_study: false,
            hosts: None,
            ladder: self.ladder,
        };
        let mut left_out = None;
        let mut neighbours = Vec::new();
        let mut failed = None;
        let first = study.contenders[0].name.clone();
        let conditions = Conditions::of(sabotage).map_err(ExhibitError::NotHere)?;
        let ended = run::of_study(asked, self.stop, &mut |event| {
            tell(&event);
            match &event {
                Event::LeftOut { contender, why } => left_out = Some(format!("{contender}: {why}")),
                Event::Begins { slot, .. } if slot.contender == first => {
                    let machine = ThisMachine::new(&machine::describe());
                    let place = machine.split(slot.setting.cores);
                    match sabotage.neighbours.map(|asked| Neighbour::all(asked, &place)) {
                        Some(Ok(started)) => neighbours = started,
                        Some(Err(why)) => failed = Some(why),
                        None => {}
                    }
                }
                Event::Ended { .. } => neighbours.clear(),
                _ => {}
            }
        });
        drop(neighbours);
        drop(conditions);
        if let Some(why) = left_out.or(failed) {
            return Err(ExhibitError::NotHere(why));
        }
        match ended {
            Err(run::RunError::Interrupted) | Ok(Ended { early: Some(Early::Interrupted), .. }) => {
                Err(ExhibitError::Interrupted)
            }
            Ok(Ended { early: Some(Early::Failed(error)), .. }) | Err(error) => {
                Err(ExhibitError::Run(error))
            }
            Ok(Ended { run, folder, .. }) => Ok(Kept { run, folder }),
        }
    }
}

/// Whether the machine itself was disturbed, by a check's word from this one on.
fn was_disturbed(run: &Run, from: Verdict) -> bool {
    let rows = run.outcomes.iter().flat_map(|outcome| &outcome.rows);
    let mut findings = rows.flat_map(|row| &row.findings);
    findings.any(|it| is_about_the_machine(&it.check) && it.verdict >= from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct NoLadder;

    impl Ladder for NoLadder {
        fn climb(
            &self,
            _: &lab::study::contender::Contender,
            _: &dyn Host,
            _: lab::run::CutsDue,
            _: &Stop,
            _: &mut dyn FnMut(),
        ) -> Option<result::durability::Durability> {
            panic!("nobody is cut off")
        }
    }

    #[test]
    fn the_command_that_makes_a_mistake_again_can_be_pasted() {
        let command = |mistakes: &str, studies: &str| {
            let (mistakes, studies) = (Path::new(mistakes), Path::new(studies));
            let (runs, stop) = (Path::new("runs"), &Stop::default());
            Museum { mistakes, studies, runs, seed: 7, repeats_max: 0, ladder: &NoLadder, stop }
                .command("one core")
        };
        let here = "bakeoff mistakes --only 'one core' --seed 7";
        assert_eq!(command("mistakes", "studies"), here);
        assert_eq!(
            command("my mistakes", "other"),
            format!("{here} --mistakes 'my mistakes' --studies other")
        );
    }
}
