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

    /// The folder that is named, or that is here.
    pub fn here(&self) -> Option<PathBuf> {
        let here = PathBuf::from(lab::run::STUDIES);
        self.given.clone().or_else(|| here.is_dir().then_some(here))
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
