//! What is not as it was when a run began, so that its trials wouldn't be comparable.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use result::Run;
use result::plan::{Contender, Slot};

use crate::place::machine;
use crate::ready::record;
use crate::study::{Study, contender};

/// What is not as it was when the run began, as far as that is known before builds.
pub(super) fn changed(run: &Run, study: &Study) -> Option<String> {
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
        return Some(match study.file.data {
            None => "its study.toml is not what it was".into(),
            Some(_) => {
                "its study.toml, or what makes or counts its records, is not what it was".into()
            }
        });
    }
    let is_described = |slot: &Slot| study.contenders.iter().any(|it| it.name == slot.contender);
    if !run.plan.slots.iter().all(is_described) {
        return Some("its plan names a contender that it doesn't describe".into());
    }
    let mut with_figures = study.contenders.iter().filter(|it| has_figures(run, &it.name));
    with_figures.find_map(|contender| {
        let before = run.contenders.iter().find(|before| before.name == contender.name)?;
        // Versions are asked for after a build.
        let versions = before.versions.clone();
        differs(before, &Contender { versions, ..record(contender) })
    })
}

/// Where to look for what was changed of a contender since then: the programs that were, or else its
/// folders. A command may run dozens of libraries.
pub(super) fn changed_places(contender: &contender::Contender, since: SystemTime) -> Vec<PathBuf> {
    let since = since.duration_since(UNIX_EPOCH).map_or(0, |it| it.as_secs() as i64);
    // No program can set the time of a change.
    let is_changed = |file: &&PathBuf| fs::metadata(file).map_or(true, |it| it.ctime() >= since);
    let programs = contender.file.programs.iter().map(|it| it.get_ref());
    let changed: Vec<PathBuf> = programs.filter(is_changed).cloned().collect();
    if changed.is_empty() { contender.folders() } else { changed }
}

/// Whether a contender was measured, so that it has to be what it was. One that only
/// ever failed may have been mended.
pub(super) fn has_figures(run: &Run, name: &str) -> bool {
    let made = || run.trials.iter().chain(&run.disturbed);
    made().any(|trial| trial.slot.contender == name && trial.evidence.work.is_some())
}

/// What is not as it was with a contender.
pub(super) fn differs(before: &Contender, now: &Contender) -> Option<String> {
    // These are among the files, and older runs don't keep their texts.
    let before = &Contender {
        build_files: now.build_files.clone(),
        configuration: now.configuration.clone(),
        ..before.clone()
    };
    match &now.absent {
        Some(why) => Some(format!("{} can't be had any more: {why}", now.name)),
        None if before.source_sha256 != now.source_sha256 => {
            Some(format!("the files of {} are not what they were", now.name))
        }
        None => (before != now).then(|| format!("{} is not what it was", now.name)),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// Else who rebuilt a library is told to put back forty others.
    #[test]
    fn of_many_programs_those_that_changed_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        for name in ["a", "b"] {
            fs::write(path(name), "").unwrap();
        }
        let text = format!(
            "title = 't'\nlanguage = 'C'\nrun = ['x']\nprograms = [{:?}, {:?}]\n",
            path("a"),
            path("b")
        );
        fs::write(path(contender::FILE), text).unwrap();
        let contender = contender::Contender::read(folder.path(), "c").unwrap();
        let later = SystemTime::now() + Duration::from_secs(60);
        let source = folder.path().canonicalize().unwrap();
        assert_eq!(changed_places(&contender, later), [source], "no program did");
        fs::remove_file(path("b")).unwrap();
        assert_eq!(changed_places(&contender, later), [path("b")]);
        let before = SystemTime::now() - Duration::from_secs(60);
        assert_eq!(changed_places(&contender, before), [path("a"), path("b")]);
    }
}
