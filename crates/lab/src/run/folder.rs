//! A run's folder: `run.json`, and what is made from it.
//!
//! `run.json` is written anew, whole or not at all: to a file beside it, synced,
//! then renamed. Trials that come after are appended to `trials.jsonl`, one a line,
//! synced, since the whole grows with every trial: to write it each time would take
//! longer in the end than a trial. So whatever happens (a crash, a full disk, a
//! power cut), what is there is whole, and at most one trial is lost.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Component, Path, PathBuf};

use result::{Run, SCHEMA, SCHEMA_OLDEST, Trial};
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::run::bounds;
use crate::run::older;

const FILE: &str = "run.json";
const NEW_FILE: &str = ".run.json.new";
const APPENDED: &str = "trials.jsonl";
const LATEST: &str = "latest";
/// The folder of studies in a run's own folder, where its study lies nowhere else that stays.
const OWN_STUDIES: &str = "study";

/// The folder of one run, for whoever makes its trials. There is one at a time: two would
/// make the same trials, and each would replace what the other keeps.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    _lock: Lock,
}

/// Why a run couldn't be kept or taken up again.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// A folder couldn't be made.
    #[error("couldn't make the folder {path}: {source}", path = path.display())]
    Make {
        /// The folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The run couldn't be written.
    #[error("couldn't write {path}: {source}; what was there before is still there",
        path = path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Somebody else makes its trials.
    #[error("another bakeoff makes the trials of {path}; wait until it ends, or stop it",
        path = path.display())]
    InUse {
        /// The folder.
        path: PathBuf,
    },
    /// The run couldn't be read.
    #[error("couldn't read {path}: {source}", path = path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The file is no run.
    #[error("{path}: this is no run of bakeoff: {source}", path = path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// What the parser said.
        source: serde_json::Error,
    },
    /// The file has what no run can have.
    #[error("{path}: no run of bakeoff is like this: {why}", path = path.display())]
    Beyond {
        /// The file.
        path: PathBuf,
        /// What is so, in a sentence.
        why: String,
    },
    /// The file is a run of another version.
    #[error("{path} has the schema {found}, and this version of bakeoff reads {SCHEMA_OLDEST} to {SCHEMA}",
        path = path.display())]
    Schema {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u64,
    },
}

impl Folder {
    /// Makes the folder of a new run below `runs`, with a name that nobody has.
    pub fn create(runs: &Path, name: &str) -> Result<Folder, FolderError> {
        let failed = |path: &Path, source| FolderError::Make { path: path.into(), source };
        fs::create_dir_all(runs).map_err(|source| failed(runs, source))?;
        let mut path = runs.join(name);
        for number in 2.. {
            match fs::create_dir(&path) {
                Ok(()) => break,
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    path = runs.join(format!("{name}-{number}"));
                }
                Err(source) => return Err(failed(&path, source)),
            }
        }
        let _lock = Lock::take(&path)?;
        Ok(Folder { path, _lock })
    }

    /// Opens the folder of a run, by itself or by its `run.json`, to go on with it.
    pub fn open(path: &Path) -> Result<(Folder, Run), FolderError> {
        let path = if path.is_file() { path.parent().unwrap_or(Path::new(".")) } else { path };
        // `latest` may point elsewhere before the run is over.
        let path = path
            .canonicalize()
            .map_err(|source| FolderError::Read { path: path.into(), source })?;
        let _lock = Lock::take(&path)?;
        let run = read(&path.join(FILE))?;
        Ok((Folder { path, _lock }, run))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its name.
    pub fn name(&self) -> String {
        self.path.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// Copies a study's folder into it, and says in which folder of studies the copy is.
    pub fn keep_study(&self, study: &Path) -> Result<PathBuf, FolderError> {
        let studies = self.path.join(OWN_STUDIES);
        let copy = studies.join(study.file_name().unwrap_or_default());
        match copy_folder(study, &copy) {
            Ok(()) => Ok(studies),
            Err(source) => Err(FolderError::Make { path: copy, source }),
        }
    }

    /// The way from here to another folder. A run's folder and its studies may be moved
    /// together.
    pub fn way_to(&self, other: &Path) -> Option<String> {
        let (here, other) = (self.path.canonicalize().ok()?, other.canonicalize().ok()?);
        let in_common = here.components().zip(other.components()).take_while(|(a, b)| a == b);
        let in_common = in_common.count();
        let up = here.components().skip(in_common).map(|_| Component::ParentDir);
        let way: PathBuf = up.chain(other.components().skip(in_common)).collect();
        way.into_os_string().into_string().ok()
    }

    /// Replaces `run.json` with this, which has all trials that were appended.
    pub fn write(&self, run: &Run) -> Result<(), FolderError> {
        let path = self.path.join(FILE);
        let new = self.path.join(NEW_FILE);
        let written = (|| {
            let mut file = BufWriter::new(File::create(&new)?);
            serde_json::to_writer(&mut file, run)?;
            file.write_all(b"\n")?;
            file.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()?;
            fs::rename(&new, &path)?;
            // The new name has to reach the disk as well, before what it replaces goes.
            File::open(&self.path)?.sync_all()?;
            match fs::remove_file(self.path.join(APPENDED)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
                _ => Ok(()),
            }
        })();
        written.map_err(|source| {
            let _ = fs::remove_file(&new);
            FolderError::Write { path, source }
        })
    }

    /// Adds a trial to what `run.json` has.
    pub fn append(&self, trial: &Trial) -> Result<(), FolderError> {
        let path = self.path.join(APPENDED);
        let written = (|| {
            let mut line = serde_json::to_vec(trial)?;
            line.push(b'\n');
            let mut file = File::options().create(true).append(true).open(&path)?;
            file.write_all(&line)?;
            file.sync_data()
        })();
        written.map_err(|source| FolderError::Write { path, source })
    }

    /// Lets the link `latest` beside it point to it. It is a convenience, so its
    /// failure is none of the run's.
    pub fn is_latest(&self) {
        let Some(runs) = self.path.parent() else { return };
        let new = runs.join(format!(".{LATEST}.new"));
        let _ = fs::remove_file(&new);
        if std::os::unix::fs::symlink(self.name(), &new).is_ok() {
            let _ = fs::rename(&new, runs.join(LATEST));
        }
    }
}

/// What keeps others from a folder. The kernel lets go of it when the process ends, however
/// it ends.
#[derive(Debug)]
struct Lock(File);

impl Lock {
    fn take(path: &Path) -> Result<Lock, FolderError> {
        let folder =
            File::open(path).map_err(|source| FolderError::Read { path: path.into(), source })?;
        match flock(&folder, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) => Err(FolderError::InUse { path: path.into() }),
            // A file system without locks is no reason to measure nothing.
            _ => Ok(Lock(folder)),
        }
    }
}

impl Drop for Lock {
    /// At once: a process that is being started holds what is open here until it is
    /// another program.
    fn drop(&mut self) {
        let _ = flock(&self.0, FlockOperation::Unlock);
    }
}

fn copy_folder(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let to = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_folder(&entry.path(), &to)?;
        } else {
            fs::copy(entry.path(), to)?;
        }
    }
    Ok(())
}

/// The folder of studies that a run's study lies in, by the run's folder or its `run.json`;
/// `None` where the run doesn't tell, or it isn't there any more. That a run can't be read is
/// told when it is opened.
pub fn studies_of(run: &Path) -> Option<PathBuf> {
    let file = if run.is_dir() { run.join(FILE) } else { run.into() };
    // `latest` is a link, and the way begins where the run really is.
    let file = file.canonicalize().ok()?;
    let Remembered { studies } = serde_json::from_slice(&fs::read(&file).ok()?).ok()?;
    file.with_file_name(studies?).canonicalize().ok().filter(|studies| studies.is_dir())
}

/// What a run tells of its study's place.
#[derive(Deserialize)]
struct Remembered {
    studies: Option<String>,
}

/// Reads a `run.json`, with the trials that were appended beside it.
pub fn read(path: &Path) -> Result<Run, FolderError> {
    let mut run = read_with_appended(path)?;
    bounds::leave_out(&mut run);
    match bounds::beyond(&run) {
        Some(why) => Err(FolderError::Beyond { path: path.into(), why }),
        None => Ok(run),
    }
}

fn read_with_appended(path: &Path) -> Result<Run, FolderError> {
    let (mut run, schema) = read_whole(path)?;
    let path = path.with_file_name(APPENDED);
    let appended = match fs::read(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(run),
        appended => appended.map_err(|source| FolderError::Read { path: path.clone(), source })?,
    };
    // A line without an end was being written when the machine or the disk gave up.
    for line in appended.split_inclusive(|&byte| byte == b'\n').filter(|it| it.ends_with(b"\n")) {
        let trial = older::read_trial(line, schema)
            .map_err(|source| FolderError::Content { path: path.clone(), source })?;
        // Those of the whole file are appended still, if there was a crash before they went.
        let is_aside = run.disturbed.contains(&trial) || run.failed.contains(&trial);
        // A slot is measured once: a second trial of it would count as another block.
        let is_made = run.trials.iter().any(|made| made.slot == trial.slot);
        if !is_aside && !is_made {
            run.trials.push(trial);
        }
    }
    Ok(run)
}

/// Reads a `run.json`, and tells the schema that it has, as what was appended to it does.
fn read_whole(path: &Path) -> Result<(Run, u64), FolderError> {
    let bytes = fs::read(path).map_err(|source| FolderError::Read { path: path.into(), source })?;
    let content = |source| FolderError::Content { path: path.into(), source };
    let Versioned { schema: found, study } = serde_json::from_slice(&bytes).map_err(content)?;
    if !(u64::from(SCHEMA_OLDEST)..=u64::from(SCHEMA)).contains(&found) {
        return Err(FolderError::Schema { path: path.into(), found });
    }
    let says_kind = study.is_some_and(|study| study.kind.is_some());
    Ok((older::read(&bytes, found, says_kind).map_err(content)?, found))
}

/// What all versions have in common. It is read first, because another version's
/// file would fail by whatever differs.
#[derive(Deserialize)]
struct Versioned {
    schema: u64,
    study: Option<Kinded>,
}

#[derive(Deserialize)]
struct Kinded {
    kind: Option<IgnoredAny>,
}

#[cfg(test)]
mod tests {
    use judge::samples::{self, run_of};
    use result::State;
    use result::evidence::Evidence;
    use result::plan::{Cores, Setting, Slot};

    use super::*;

    fn run() -> Run {
        let mut run = run_of(&[samples::contender("go")], Vec::new());
        run.state = State::Unfinished;
        run.plan.seed = u64::MAX;
        run
    }

    #[test]
    fn what_is_written_is_read_and_nothing_else_is_left() {
        let runs = tempfile::tempdir().unwrap();
        let folder = Folder::create(runs.path(), "web-1").unwrap();
        folder.write(&run()).unwrap();
        let mut later = run();
        later.state = State::Complete;
        folder.write(&later).unwrap();
        let path = folder.path().to_path_buf();
        drop(folder);
        let (opened, read) = Folder::open(&path).unwrap();
        assert_eq!(read, later);
        assert_eq!(opened.name(), "web-1");
        assert_eq!(fs::read_dir(path).unwrap().count(), 1);
    }

    #[test]
    fn a_run_that_somebody_makes_can_be_read_and_not_gone_on_with() {
        let runs = tempfile::tempdir().unwrap();
        let folder = Folder::create(runs.path(), "web-1").unwrap();
        folder.write(&run()).unwrap();
        let path = folder.path().to_path_buf();
        let in_use = || matches!(Folder::open(&path), Err(FolderError::InUse { .. }));
        assert!(in_use(), "two would make the trials of a new run");
        assert_eq!(read(&path.join(FILE)).unwrap(), run());
        drop(folder);
        let resumed = Folder::open(&path).unwrap();
        assert!(in_use(), "two would go on with a run");
        drop(resumed);
        assert!(!in_use(), "nobody makes its trials any more");
    }

    #[test]
    fn a_run_remembers_its_studies_wherever_both_are_moved() {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        fs::create_dir_all(at("here/my studies/s/a")).unwrap();
        fs::write(at("here/my studies/s/a/file"), "text").unwrap();
        let folder = Folder::create(&at("here/runs"), "s-1").unwrap();
        let studies = folder.way_to(&at("here/my studies"));
        assert_eq!(studies.as_deref(), Some("../../my studies"));
        folder.write(&Run { studies, ..run() }).unwrap();
        drop(folder);
        fs::rename(at("here"), at("there")).unwrap();
        let there = at("there").canonicalize().unwrap();
        for run in ["there/runs/s-1", "there/runs/s-1/run.json"] {
            assert_eq!(studies_of(&at(run)), Some(there.join("my studies")));
        }
        let (folder, _) = Folder::open(&at("there/runs/s-1")).unwrap();
        let kept = folder.keep_study(&at("there/my studies/s")).unwrap();
        assert_eq!(folder.way_to(&kept).as_deref(), Some("study"));
        assert_eq!(fs::read_to_string(kept.join("s/a/file")).unwrap(), "text");
        fs::remove_dir_all(at("there/my studies")).unwrap();
        assert_eq!(studies_of(&at("there/runs/s-1")), None, "it isn't there any more");
        assert_eq!(studies_of(&at("nowhere")), None);
    }

    #[test]
    fn two_runs_within_a_second_have_folders_of_their_own() {
        let runs = tempfile::tempdir().unwrap();
        let first = Folder::create(runs.path(), "web-1").unwrap();
        let second = Folder::create(runs.path(), "web-1").unwrap();
        assert_eq!((first.name(), second.name()), ("web-1".into(), "web-1-2".into()));
    }

    #[test]
    fn latest_points_to_the_newest() {
        let runs = tempfile::tempdir().unwrap();
        for name in ["web-1", "web-2"] {
            let folder = Folder::create(runs.path(), name).unwrap();
            folder.write(&run()).unwrap();
            folder.is_latest();
        }
        let (latest, _) = Folder::open(&runs.path().join(LATEST)).unwrap();
        assert_eq!(latest.name(), "web-2");
    }

    #[test]
    fn another_version_and_another_file_are_refused_with_a_reason() {
        let runs = tempfile::tempdir().unwrap();
        let path = runs.path().join(FILE);
        let complaint = |text: &str| {
            fs::write(&path, text).unwrap();
            read(&path).unwrap_err().to_string()
        };
        assert!(complaint("{\"schema\": 99}").ends_with("this version of bakeoff reads 1 to 6"));
        assert!(complaint("{}").contains("this is no run of bakeoff"));
        assert!(complaint("no json").contains("this is no run of bakeoff"));
        let mut json = serde_json::to_value(run()).unwrap();
        json["plan"]["blocks"] = "six".into();
        let said = complaint(&serde_json::to_string_pretty(&json).unwrap());
        assert!(said.contains("expected u32 at line"), "where it is wrong isn't said: {said}");
    }

    fn trial(number: u32) -> Trial {
        let setting = Setting::closed(30, Cores::One, true);
        Trial {
            slot: Slot { number, block: 0, contender: "go".into(), twin: false, setting },
            started: String::new(),
            evidence: Evidence::default(),
            findings: Vec::new(),
        }
    }

    fn numbers(folder: &Folder) -> Vec<u32> {
        let run = read(&folder.path().join(FILE)).unwrap();
        run.trials.iter().map(|trial| trial.slot.number).collect()
    }

    #[test]
    fn appended_trials_are_read_with_the_others_until_the_whole_is_written() {
        let runs = tempfile::tempdir().unwrap();
        let folder = Folder::create(runs.path(), "web-1").unwrap();
        let mut run = run();
        run.trials.push(trial(0));
        folder.write(&run).unwrap();
        folder.append(&trial(1)).unwrap();
        folder.append(&trial(2)).unwrap();
        assert_eq!(numbers(&folder), [0, 1, 2]);
        folder.write(&read(&folder.path().join(FILE)).unwrap()).unwrap();
        assert_eq!(numbers(&folder), [0, 1, 2]);
        assert!(!folder.path().join(APPENDED).exists(), "each trial is kept once");
    }

    #[test]
    fn a_trial_that_was_half_written_costs_no_other() {
        let runs = tempfile::tempdir().unwrap();
        let folder = Folder::create(runs.path(), "web-1").unwrap();
        folder.write(&run()).unwrap();
        folder.append(&trial(0)).unwrap();
        folder.append(&trial(1)).unwrap();
        let path = folder.path().join(APPENDED);
        let whole = fs::read(&path).unwrap();
        fs::write(&path, &whole[..whole.len() - 10]).unwrap();
        assert_eq!(numbers(&folder), [0]);
    }

    #[test]
    fn a_crash_between_the_whole_and_what_was_appended_counts_no_trial_twice() {
        let runs = tempfile::tempdir().unwrap();
        let folder = Folder::create(runs.path(), "web-1").unwrap();
        folder.append(&trial(0)).unwrap();
        folder.append(&trial(1)).unwrap();
        let appended = fs::read(folder.path().join(APPENDED)).unwrap();
        let mut run = run();
        run.trials.push(trial(0));
        for is_disturbed in [true, false] {
            let mut run = run.clone();
            if is_disturbed { &mut run.disturbed } else { &mut run.failed }.push(trial(1));
            folder.write(&run).unwrap();
            fs::write(folder.path().join(APPENDED), &appended).unwrap();
            assert_eq!(numbers(&folder), [0]);
        }
    }

    #[test]
    fn of_two_trials_of_a_slot_the_first_counts() {
        let runs = tempfile::tempdir().unwrap();
        let folder = Folder::create(runs.path(), "web-1").unwrap();
        folder.write(&run()).unwrap();
        folder.append(&trial(0)).unwrap();
        folder.append(&Trial { started: "later".into(), ..trial(0) }).unwrap();
        assert_eq!(read(&folder.path().join(FILE)).unwrap().trials, [trial(0)]);
    }

    #[test]
    fn a_failed_write_keeps_what_was_there() {
        let runs = tempfile::tempdir().unwrap();
        let folder = Folder::create(runs.path(), "web-1").unwrap();
        folder.write(&run()).unwrap();
        // A folder in the new file's place can't be written to.
        fs::create_dir(folder.path().join(NEW_FILE)).unwrap();
        let error = folder.write(&run()).unwrap_err().to_string();
        assert!(error.contains("run.json"), "{error}");
        assert_eq!(read(&folder.path().join(FILE)).unwrap(), run());
    }
}
