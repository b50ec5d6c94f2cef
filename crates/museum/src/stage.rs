//! The set-up of a mistake, with it and without it: two studies of the same
//! contenders under the same contract. A contender that is changed is a copy of the
//! real one with other words in its files; all else is the study's own.

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use keeper::leftovers;
use lab::study::contender::{BUILD, Contender};
use lab::study::toml_file;
use lab::study::{self, Profile, Study, StudyFile};

use crate::mistake::{Change, Mistake, SetUp};

/// Why a set-up couldn't be made.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The study or a contender can't be used, or the mistake's file asks for
    /// what isn't there.
    #[error(transparent)]
    File(#[from] toml_file::Error),
    /// The study can't be used.
    #[error(transparent)]
    Study(#[from] study::Error),
    /// A copy couldn't be made.
    #[error("couldn't copy the contender {name} to {to}: {source}", to = to.display())]
    Copy {
        /// Its name.
        name: String,
        /// Where to.
        to: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// Both set-ups. Copies are gone when it is dropped.
#[derive(Debug)]
pub struct Stage {
    /// With the mistake; `None` where it lies in how figures are read.
    pub sabotaged: Option<Study>,
    /// Without it.
    pub clean: Study,
    folder: PathBuf,
}

impl Drop for Stage {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

impl Stage {
    /// Makes both set-ups. `file` is the mistake's, for complaints.
    ///
    /// # Errors
    /// [`Error`].
    pub fn set(
        studies: &Path,
        file: &Path,
        mistake: &Mistake,
        set_up: &SetUp,
    ) -> Result<Stage, Error> {
        let source = studies.join(&set_up.study);
        let empty = Study {
            name: String::new(),
            file: StudyFile::read(studies, &set_up.study)?,
            contenders: Vec::new(),
        };
        let mut stage = Stage {
            sabotaged: None,
            clean: empty,
            // A name that the next run knows, should this one be killed.
            folder: std::env::temp_dir().join(leftovers::name()),
        };
        let named = |how: &str| format!("{}-{how}", mistake.name);
        let of = |profile: &Profile, folder: &Path, how: &str| -> Result<Study, Error> {
            let mut study = Study {
                name: named(how),
                file: StudyFile::read(studies, &set_up.study)?,
                contenders: Vec::new(),
            };
            let MistakeTitle { title, question } = MistakeTitle::of(mistake, how);
            (study.file.title, study.file.question) = (title, question);
            study.file.published.clear();
            for name in profile.contender_names() {
                study.contenders.push(Contender::read(&folder.join(&name), &name)?);
            }
            for name in &set_up.again {
                let mut again = Contender::read(&folder.join(name), &format!("{name}-again"))?;
                again.file.title.push_str(", again");
                study.contenders.push(again);
            }
            Ok(study)
        };
        let mut changes: Vec<&Change> = set_up.changes.iter().collect();
        stage.clean = if changes.is_empty() {
            of(set_up.run.get_ref(), &source, "clean")?
        } else {
            let to = stage.folder.join("clean");
            let copied = set_up.run.get_ref().contender_names().into_iter().next();
            copy(&source, &to, file, None, copied.as_deref(), &changes)?;
            of(set_up.run.get_ref(), &to, "clean")?
        };
        let sabotage = &set_up.sabotage;
        let has_files = mistake.folder.is_dir();
        if has_files || !sabotage.is_nothing() {
            let profile = set_up.sabotaged_run();
            let files = has_files.then_some(mistake.folder.as_path());
            changes.extend(&sabotage.changes);
            // Where none of its files is another, a contender is a link like the rest.
            let is_changed = has_files || !changes.is_empty();
            let copied = profile.contender_names().into_iter().next().filter(|_| is_changed);
            let to = stage.folder.join("sabotaged");
            copy(&source, &to, file, files, copied.as_deref(), &changes)?;
            stage.sabotaged = Some(of(profile, &to, "sabotaged")?);
        }
        Ok(stage)
    }
}

struct MistakeTitle {
    title: String,
    question: String,
}

impl MistakeTitle {
    fn of(mistake: &Mistake, how: &str) -> MistakeTitle {
        let file = &mistake.file;
        let (with, question) = match how {
            "clean" => ("without the mistake", "Does the same set-up come out clean?".into()),
            _ => ("with the mistake", file.story.done.clone()),
        };
        MistakeTitle { title: format!("{}, {with}", file.title), question }
    }
}

/// Makes a folder with the study's contenders: the one that is changed as a copy, the
/// others as links, since contenders may use what lies beside them. `files` is a folder
/// whose files the copy is given.
fn copy(
    source: &Path,
    to: &Path,
    file: &Path,
    files: Option<&Path>,
    copied: Option<&str>,
    changes: &[&Change],
) -> Result<(), Error> {
    let failed = |name: &str, source| Error::Copy { name: name.into(), to: to.into(), source };
    let study = source.canonicalize().map_err(|error| failed("", error))?;
    fs::create_dir_all(to).map_err(|error| failed("", error))?;
    for entry in fs::read_dir(&study).map_err(|error| failed("", error))?.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let made = match copied == Some(name.as_str()) {
            false => symlink(entry.path(), to.join(&name)),
            true => copy_folder(&entry.path(), &to.join(&name))
                .and_then(|()| files.map_or(Ok(()), |files| copy_folder(files, &to.join(&name)))),
        };
        made.map_err(|error| failed(&name, error))?;
    }
    let Some(name) = copied else { return Ok(()) };
    for change in changes {
        let path = to.join(name).join(&change.file);
        let text = fs::read_to_string(&path).unwrap_or_default();
        let from = change.from.get_ref();
        if text.matches(from.as_str()).count() != 1 {
            let what = format!("the file {} of {name} doesn't hold these words once", change.file);
            return Err(toml_file::refuse(file, change.from.span(), what).into());
        }
        let changed = text.replace(from.as_str(), &change.to);
        fs::write(&path, changed).map_err(|error| failed(name, error))?;
    }
    Ok(())
}

fn copy_folder(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (name, path) = (entry.file_name(), entry.path());
        if name == BUILD {
            continue;
        }
        match path.is_dir() {
            true => copy_folder(&path, &to.join(name))?,
            // With its permissions: a build may be a script.
            false => fs::copy(&path, to.join(name)).map(|_| ())?,
        }
    }
    Ok(())
}
