//! Where studies are: in a folder that is named, in `studies` here, or in the program itself.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::printing::note;

/// A file of the project's own studies.
struct File {
    /// Its path in the folder of studies.
    name: &'static str,
    is_executable: bool,
    content: &'static [u8],
}

/// All of them, as they were when the program was built.
const OWN: &[File] = include!(concat!(env!("OUT_DIR"), "/studies.rs"));
/// What they hash to, so that another version's are unpacked beside them.
const DIGEST: &str = env!("BAKEOFF_STUDIES");

/// Where studies are looked for.
#[derive(Debug, Clone, clap::Args)]
pub struct Studies {
    /// The folder of studies; if not given, `studies` here, or else bakeoff's own
    #[arg(long = "studies", value_name = "DIR")]
    given: Option<PathBuf>,
}

impl Studies {
    /// The folder. Without any here, the project's own studies are unpacked to the user's data
    /// folder, unless they are there already.
    ///
    /// # Errors
    /// Why they can't be, in a sentence.
    pub fn folder(&self) -> Result<PathBuf, String> {
        match self.here() {
            Some(folder) => Ok(folder),
            None => unpacked(),
        }
    }

    /// This folder and no other.
    pub fn only(folder: &Path) -> Studies {
        Studies { given: Some(folder.into()) }
    }

    /// A study by its name, or by its folder as it was typed: the folder of studies, and the name.
    ///
    /// # Errors
    /// Why there is none, in a sentence. That nobody has the name is told by who reads it.
    pub fn study(&self, word: &str) -> Result<(PathBuf, String), String> {
        let is_study = |folder: &Path| folder.join("study.toml").is_file();
        let is_known = || self.here().is_some_and(|studies| is_study(&studies.join(word)));
        let is_path = word.starts_with(['/', '.']) || (is_study(Path::new(word)) && !is_known());
        if !is_path {
            return Ok((self.folder()?, word.trim_end_matches('/').into()));
        }
        let folder = with_a_name(Path::new(word))?;
        let name = name_of(&folder);
        if !is_study(&folder) {
            let what = if folder.join("contender.toml").is_file() {
                ": it is a contender, and its study is the folder around it"
            } else {
                ""
            };
            return Err(format!("{word} is no study, since it has no study.toml{what}"));
        }
        if name.contains('.') {
            return Err(format!("{word}: a study's name, which is its folder's, has no `.`"));
        }
        Ok((with(&folder).into(), name))
    }

    /// A contender by its study and its name, or by its folder as it was typed: the folder of
    /// studies, and both names.
    ///
    /// # Errors
    /// As with [`Studies::study`].
    pub fn contender(&self, word: &str) -> Result<(PathBuf, String, String), String> {
        let path = with_a_name(Path::new(word))?;
        let study = path.parent().filter(|it| *it != Path::new(""));
        let study = study.ok_or("give study and contender, for example web/go")?;
        let (studies, study) = self.study(&study.to_string_lossy())?;
        Ok((studies, study, name_of(&path)))
    }

    /// The folder that is named, or the one that a run remembers.
    ///
    /// # Errors
    /// Where there is neither, and none else can be had.
    pub fn of_run(&self, run: &Path) -> Result<PathBuf, String> {
        match (&self.given, lab::run::folder::studies_of(run)) {
            (None, Some(remembered)) => Ok(remembered),
            _ => self.folder(),
        }
    }

    /// The folder that is named, or that is here.
    pub fn here(&self) -> Option<PathBuf> {
        let here = PathBuf::from(lab::run::STUDIES);
        self.given.clone().or_else(|| here.is_dir().then_some(here))
    }
}

/// A path that ends in a name, which `.` and `..` are none.
fn with_a_name(path: &Path) -> Result<PathBuf, String> {
    match path.file_name() {
        Some(_) => Ok(path.into()),
        None => path.canonicalize().map_err(|error| format!("{}: {error}", path.display())),
    }
}

fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// What is in a folder of studies as it can be typed: by its name where that is the usual one, by
/// its path elsewhere.
pub fn typed(studies: &Path, name: &str) -> String {
    if studies == Path::new(lab::run::STUDIES) {
        name.into()
    } else {
        studies.join(name).to_string_lossy().into_owned()
    }
}

/// The folder of studies that this study's folder is in.
pub fn with(study: &Path) -> &Path {
    match study.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    }
}

fn unpacked() -> Result<PathBuf, String> {
    let instead = "start bakeoff where the folder `studies` is, or give --studies";
    let Some(data) = data_folder() else {
        return Err(format!(
            "there is no folder `studies` here, and bakeoff's own can't be unpacked, because \
             neither XDG_DATA_HOME nor HOME is set: {instead}"
        ));
    };
    let folder = data.join(format!("studies-{DIGEST}"));
    if !folder.is_dir() {
        unpack(&data, &folder).map_err(|error| {
            format!(
                "there is no folder `studies` here, and bakeoff's own can't be unpacked to {}: \
                 {error}; {instead}",
                folder.display()
            )
        })?;
        note(&format!(
            "There is no folder `studies` here: bakeoff's own are in {}.",
            folder.display()
        ));
    }
    Ok(folder)
}

/// The user's data folder (XDG Base Directory Specification).
fn data_folder() -> Option<PathBuf> {
    let of = |name: &str| {
        let path = PathBuf::from(std::env::var_os(name)?);
        path.is_absolute().then_some(path)
    };
    let data = of("XDG_DATA_HOME").or_else(|| Some(of("HOME")?.join(".local/share")));
    data.map(|data| data.join("bakeoff"))
}

/// Unpacks all of them, or nothing.
fn unpack(data: &Path, folder: &Path) -> io::Result<()> {
    fs::create_dir_all(data)?;
    let unfinished = tempfile::Builder::new().prefix(".studies-").tempdir_in(data)?;
    for File { name, is_executable, content } in OWN {
        let path = unfinished.path().join(name);
        fs::create_dir_all(path.parent().unwrap_or(data))?;
        fs::write(&path, content)?;
        let mode = if *is_executable { 0o755 } else { 0o644 };
        fs::set_permissions(&path, Permissions::from_mode(mode))?;
    }
    fs::set_permissions(unfinished.path(), Permissions::from_mode(0o755))?;
    match fs::rename(unfinished.path(), folder) {
        // Somebody else was first, with the same.
        Err(_) if folder.is_dir() => Ok(()),
        renamed => renamed.map(|()| drop(unfinished.keep())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_study_and_a_contender_are_found_by_name_and_as_their_folders_are_typed() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        for folder in ["all/known", "elsewhere/mine", "elsewhere/all.old"] {
            fs::create_dir_all(root.join(folder)).unwrap();
            fs::write(root.join(folder).join("study.toml"), "").unwrap();
        }
        fs::create_dir(root.join("elsewhere/mine/go")).unwrap();
        fs::write(root.join("elsewhere/mine/go/contender.toml"), "").unwrap();
        let studies = Studies::only(&root.join("all"));
        let at = |path: &str| root.join(path).display().to_string();
        let elsewhere = root.join("elsewhere");
        for (word, found) in [
            ("known".to_string(), (root.join("all"), "known".to_string())),
            ("known/".into(), (root.join("all"), "known".into())),
            ("unknown".into(), (root.join("all"), "unknown".into())),
            (at("elsewhere/mine"), (elsewhere.clone(), "mine".into())),
            (at("elsewhere/mine/"), (elsewhere.clone(), "mine".into())),
            (at("elsewhere/mine/go/.."), (elsewhere.clone(), "mine".into())),
        ] {
            assert_eq!(studies.study(&word), Ok(found), "{word}");
        }
        for (word, found) in [
            ("known/go".to_string(), (root.join("all"), "known".into(), "go".to_string())),
            (at("elsewhere/mine/go/"), (elsewhere.clone(), "mine".into(), "go".into())),
            (at("elsewhere/mine/go/."), (elsewhere.clone(), "mine".into(), "go".into())),
            (at("elsewhere/mine/go-fast"), (elsewhere.clone(), "mine".into(), "go-fast".into())),
        ] {
            assert_eq!(studies.contender(&word), Ok(found), "{word}");
        }
        let refused = |word: &str| studies.study(word).unwrap_err();
        assert!(refused("./nowhere").contains("./nowhere is no study"));
        assert!(refused(&at("elsewhere/mine/go")).contains("it is a contender"));
        assert!(refused(&at("elsewhere/all.old")).contains("has no `.`"));
        assert!(studies.contender("go").unwrap_err().contains("for example web/go"));
    }

    /// Else a study would lack what it is built from, wherever the program is installed.
    #[test]
    fn the_program_has_every_file_of_the_studies_and_their_modes() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies");
        assert!(OWN.iter().any(|file| file.name == "web/study.toml"));
        assert!(OWN.iter().any(|file| file.is_executable));
        for file in OWN {
            let path = root.join(file.name);
            let there = fs::read(&path).unwrap();
            assert!(there == file.content, "{} is older than the tree's", file.name);
            let mode = fs::metadata(&path).unwrap().permissions().mode();
            assert_eq!(mode & 0o100 != 0, file.is_executable, "{}", file.name);
        }
        for study in lab::study::names(&root) {
            for entry in fs::read_dir(root.join(&study)).unwrap().map(Result::unwrap) {
                let name = format!("{study}/{}/contender.toml", entry.file_name().display());
                let is_there = entry.path().join("contender.toml").is_file();
                assert_eq!(OWN.iter().any(|file| file.name == name), is_there, "{name}");
            }
        }
    }

    #[test]
    fn they_are_unpacked_as_a_whole_and_once() {
        let data = tempfile::tempdir().unwrap();
        let folder = data.path().join("studies");
        unpack(data.path(), &folder).unwrap();
        assert!(lab::study::Study::read(&folder, "web").is_ok());
        fs::write(folder.join("mark"), "").unwrap();
        unpack(data.path(), &folder).unwrap();
        assert!(folder.join("mark").exists(), "those of before stay");
        assert_eq!(fs::read_dir(data.path()).unwrap().count(), 1, "nothing half done is left");
    }
}
