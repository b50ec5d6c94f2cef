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
use lab::study::{self, Profile, Study};
use result::kind::Kind;
use toml::Spanned;

use crate::mistake::{Change, Mistake};

/// What the profile of a mistake is called in its study and its runs.
pub const PROFILE: &str = "mistake";

/// Why a set-up couldn't be made.
#[derive(Debug, thiserror::Error)]
pub enum StageError {
    /// The study or a contender can't be used, or the mistake's file asks for
    /// what isn't there.
    #[error(transparent)]
    File(#[from] toml_file::Unusable),
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
    _folder: Folder,
}

/// A folder that is gone when it is dropped.
#[derive(Debug)]
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

impl Stage {
    /// Makes both set-ups. `file` is the mistake's, for complaints.
    ///
    /// # Errors
    /// [`StageError`].
    pub fn set(studies: &Path, file: &Path, mistake: &Mistake) -> Result<Stage, StageError> {
        let set_up = &mistake.file.set_up;
        // What is wrong with the study itself is told of its own files, not of copies.
        let original = Study::read(studies, &set_up.study)?;
        // A name that the next run knows, should this one be killed.
        let folder = Folder(std::env::temp_dir().join(leftovers::name()));
        let of =
            |studies: &Path, profile: &Spanned<Profile>, how: &str| -> Result<Study, StageError> {
                let mut study = Study::read(studies, &set_up.study)?;
                study.file.asks.extend(set_up.asks.clone());
                let mut study = study.with_profile(PROFILE, profile, file)?;
                let again = set_up.again.iter().map(|name| (name, true));
                let names = profile.get_ref().contender_names();
                let named = names.iter().map(|name| (name, false)).chain(again);
                study.contenders = named
                    .map(|(name, is_again)| contender(&study, name, is_again))
                    .collect::<Result<_, study::Error>>()?;
                study.name = format!("{}-{how}", mistake.name);
                let MistakeTitle { title, question } = MistakeTitle::of(mistake, how);
                (study.file.title, study.file.question) = (title, question);
                study.file.published.clear();
                Ok(study)
            };
        let mut changes: Vec<&Change> = set_up.changes.iter().collect();
        let copied = |to: &str, profile: &Profile, files: Option<&Path>, changes: &[&Change]| {
            let to = folder.0.join(to);
            let first = profile.contender_names().into_iter().next();
            // Where none of its files is another, a contender is a link like the rest.
            let first = first.filter(|_| files.is_some() || !changes.is_empty());
            let first = first.map(|name| folder_of(&original, &name)).transpose()?;
            let study = studies.join(&set_up.study);
            copy(&study, &to.join(&set_up.study), file, files, first.as_deref(), changes)?;
            Ok::<PathBuf, StageError>(to)
        };
        let clean = if changes.is_empty() {
            of(studies, &set_up.run, "clean")?
        } else {
            let studies = copied("clean", set_up.run.get_ref(), None, &changes)?;
            of(&studies, &set_up.run, "clean")?
        };
        let sabotage = &set_up.sabotage;
        let files = mistake.folder.is_dir().then_some(mistake.folder.as_path());
        let mut sabotaged = None;
        if files.is_some() || !sabotage.is_nothing() {
            let profile = set_up.sabotaged_run();
            changes.extend(&sabotage.changes);
            let studies = copied("sabotaged", profile.get_ref(), files, &changes)?;
            let mut study = of(&studies, profile, "sabotaged")?;
            if let Some(client) = &sabotage.client {
                study.client = Some(client_of(&study, mistake, client, file)?);
            }
            sabotaged = Some(study);
        }
        Ok(Stage { sabotaged, clean, _folder: folder })
    }
}

/// The program that is a mistake's client.
fn client_of(
    study: &Study,
    mistake: &Mistake,
    client: &Spanned<String>,
    file: &Path,
) -> Result<PathBuf, toml_file::Unusable> {
    if study.file.kind() != Kind::Keys {
        let what = "only stores are asked by another client: the study has none";
        return Err(toml_file::refuse(file, client.span(), what.into()));
    }
    mistake.folder.join(client.get_ref()).canonicalize().map_err(|error| {
        let (name, folder) = (client.get_ref(), mistake.folder.display());
        let what = format!("the client {name} in {folder}: {error}");
        toml_file::refuse(file, client.span(), what)
    })
}

/// The folder of one of a study's contenders: a variant has none of its own.
fn folder_of(study: &Study, contender: &str) -> Result<String, study::Error> {
    let found = study.contenders.iter().find(|it| it.name == contender);
    let found = found.ok_or_else(|| study.lacks_contender(contender))?;
    let name = found.source.file_name().unwrap_or_default();
    Ok(name.to_string_lossy().into_owned())
}

/// One of a study's contenders; as another one of the same kind, if it takes part again.
fn contender(study: &Study, name: &str, is_again: bool) -> Result<Contender, study::Error> {
    let found = study.contenders.iter().find(|it| it.name == name);
    let mut contender = found.cloned().ok_or_else(|| study.lacks_contender(name))?;
    if is_again {
        contender.name.push_str("-again");
        contender.file.title.push_str(", again");
    }
    Ok(contender)
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

/// Makes a folder with the study's contenders: the one that is changed as a copy, and what
/// it shares with others likewise; the others as links, since contenders may use what lies
/// beside them. `files` is a folder whose files the copy is given.
fn copy(
    source: &Path,
    to: &Path,
    file: &Path,
    files: Option<&Path>,
    copied: Option<&str>,
    changes: &[&Change],
) -> Result<(), StageError> {
    let failed = |name: &str, source| StageError::Copy { name: name.into(), to: to.into(), source };
    let study = source.canonicalize().map_err(|error| failed("", error))?;
    fs::create_dir_all(to).map_err(|error| failed("", error))?;
    let shared = match copied {
        Some(name) => sources(&study, name)?,
        None => Vec::new(),
    };
    for entry in fs::read_dir(&study).map_err(|error| failed("", error))?.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let (path, to) = (entry.path(), to.join(&name));
        let made = if copied == Some(name.as_str()) {
            let own = copy_folder(&path, &to);
            own.and_then(|()| files.map_or(Ok(()), |files| copy_folder(files, &to)))
        } else if shared.contains(&Path::new("..").join(&name)) {
            copy_folder(&path, &to)
        } else {
            symlink(&path, &to)
        };
        made.map_err(|error| failed(&name, error))?;
    }
    let Some(name) = copied else { return Ok(()) };
    for change in changes {
        let is_copied = !change.is_outside() || shared.iter().any(|it| change.is_in(it));
        if !is_copied {
            let what = format!("the file {} lies in none of the `sources` of {name}", change.file);
            return Err(toml_file::refuse(file, change.from.span(), what).into());
        }
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

/// The folders that a contender shares with others, as it names them: `../NAME`.
fn sources(study: &Path, contender: &str) -> Result<Vec<PathBuf>, toml_file::Unusable> {
    let contender = Contender::read(&study.join(contender), contender)?;
    Ok(contender.sources().map(|(name, _)| name.into()).collect())
}

fn copy_folder(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (name, path) = (entry.file_name(), entry.path());
        if name == BUILD {
            continue;
        }
        if path.is_dir() {
            copy_folder(&path, &to.join(name))?
        } else {
            // With its permissions: a build may be a script.
            fs::copy(&path, to.join(name)).map(|_| ())?
        }
    }
    Ok(())
}
