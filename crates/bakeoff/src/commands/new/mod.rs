//! `bakeoff new`: the folder of a contender or of a study, to be filled in.

pub mod init;
mod skeleton;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use lab::study::StudyFile;
use report::text::visible;
use result::kind::Kind;
use result::shell;

use self::skeleton::{DRIVERS, GENERAL, LANGUAGES, Words};
use super::exit_codes::{BAD_INPUT, SYSTEM};
use super::printing::{Output, complain};
use super::studies::{self, Studies};

/// Writes a contender to fill in: a commented contender.toml, with --language source as well.
/// With --driver, a study
#[derive(clap::Args)]
#[command(
    after_help = "Exit codes: 0 written; 2 wrong arguments, or the folder is there already; \
4 it couldn't be written."
)]
pub struct NewArguments {
    /// The contender's study and its name, for example web/zig; the study's name with --driver. Or
    /// the path of the new folder, as ./mine/zig
    name: String,
    /// Also write source to start from, in this language; for others, contender.toml is all
    #[arg(long, value_parser = LANGUAGES.map(|language| language.option))]
    language: Option<String>,
    /// Write a study whose contenders are driven so: a commented study.toml
    #[arg(long, value_parser = DRIVERS.map(|(kind, _)| kind), conflicts_with = "language")]
    driver: Option<String>,
    /// The folder of studies
    #[arg(long, value_name = "DIR", default_value = lab::run::STUDIES)]
    studies: PathBuf,
}

/// A folder to be written.
struct New {
    folder: PathBuf,
    files: Vec<(&'static str, String)>,
    /// What to do with it.
    fill_in: &'static str,
    /// The command that comes next.
    then: String,
}

/// Carries the command out.
pub fn run(arguments: NewArguments) -> ExitCode {
    let failed = |code: u8, sentence: String| {
        complain("new", &sentence);
        ExitCode::from(code)
    };
    let new = match &arguments.driver {
        Some(driver) => study(&arguments, driver),
        None => contender(&arguments),
    };
    let new = match new {
        Ok(new) => new,
        Err(sentence) => return failed(BAD_INPUT, sentence),
    };
    match write(&new.folder, &new.files) {
        Ok(()) => {
            let mut output = Output::to_stdout();
            output.line(&format!("{} has {}.", new.folder.display(), names(&new.files)));
            output.line(new.fill_in);
            output.line(&format!("Then: {}", new.then));
            // It is written, whether that could be told or not.
            ExitCode::SUCCESS
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            let path = new.folder.display();
            failed(BAD_INPUT, format!("{path} is there already; nothing was written"))
        }
        Err(error) => failed(SYSTEM, format!("couldn't write {}: {error}", new.folder.display())),
    }
}

fn contender(arguments: &NewArguments) -> Result<New, String> {
    if !arguments.name.contains('/') {
        let kinds = DRIVERS.map(|(kind, _)| kind).join(", ");
        return Err(format!(
            "give study and contender, for example web/zig; for a new study add --driver with one \
             of {kinds}"
        ));
    }
    let (studies, study, name) = Studies::only(&arguments.studies).contender(&arguments.name)?;
    check_name("contender", &name)?;
    let file = StudyFile::read(&studies, &study).map_err(|error| error.to_string())?;
    let language = LANGUAGES.iter().find(|it| Some(it.option) == arguments.language.as_deref());
    let kind = file.kind();
    let typed = typed(&studies, &format!("{study}/{name}"));
    let contract = visible(&file.contract.get_ref().says);
    let words = Words { study: &study, name: &name, typed: &typed, contract: &contract };
    let files = language.unwrap_or(&GENERAL).files(kind, &words).ok_or_else(no_store)?;
    Ok(New {
        folder: studies.join(&study).join(&name),
        files,
        fill_in: match (language, kind) {
            (None, _) => "Fill in `language` and `run`, and put its source or configuration there.",
            (Some(_), Kind::Http) => {
                "It starts as it is; look for FILL IN to make it answer right."
            }
            (Some(_), Kind::Keys | Kind::Rooms) => "It keeps the study's contract as it is.",
            (Some(_), Kind::Program) => {
                "It starts as it is; look for FILL IN to make it do the study's work."
            }
        },
        then: format!("bakeoff check {typed}"),
    })
}

fn no_store() -> String {
    let there: Vec<&str> =
        LANGUAGES.iter().filter(|it| it.has_store()).map(|it| it.option).collect();
    format!(
        "there is no skeleton of a store in this language, but in {}; without `--language`, \
         contender.toml names the program that is to be measured",
        there.join(", ")
    )
}

fn study(arguments: &NewArguments, driver: &str) -> Result<New, String> {
    let (studies, name) = place(&arguments.name, &arguments.studies);
    check_name("study", &name)?;
    let (_, text) = DRIVERS.iter().find(|(kind, _)| *kind == driver).expect("clap knows them");
    let text = skeleton::study(text, &name, &typed(&studies, &name));
    let language = if driver == "keys" { "python" } else { "go" };
    Ok(New {
        fill_in: if text.contains("FILL IN") {
            "Look for FILL IN, and give it two contenders or more."
        } else {
            "Give it two contenders or more."
        },
        files: vec![("study.toml", text)],
        then: format!(
            "bakeoff new {} --language {language}",
            typed(&studies, &format!("{name}/NAME"))
        ),
        folder: studies.join(&name),
    })
}

/// The folder of studies that a new one comes into, and its name: one that is typed as a path lies
/// there.
fn place(typed: &str, studies: &Path) -> (PathBuf, String) {
    let path = Path::new(typed);
    let parent = studies::with(path);
    let is_path =
        typed.starts_with(['/', '.']) || (path.parent() != Some(Path::new("")) && parent.is_dir());
    match path.file_name() {
        Some(name) if is_path => (parent.into(), name.to_string_lossy().into_owned()),
        _ => (studies.into(), typed.into()),
    }
}

/// Names are folders, and stand in commands and addresses.
fn check_name(of: &str, name: &str) -> Result<(), String> {
    let may_stand = |char: char| char.is_ascii_lowercase() || char.is_ascii_digit() || char == '-';
    if name.is_empty() || !name.chars().all(may_stand) {
        let what = format!("a {of}'s name is made of lower-case letters, digits and dashes");
        return Err(format!("{what}, which `{}` is not", visible(name)));
    }
    Ok(())
}

/// Writes the folder as a whole, or nothing.
fn write(folder: &Path, files: &[(&str, String)]) -> io::Result<()> {
    fs::create_dir_all(studies::with(folder))?;
    // Fails where there is one, so what is removed below is our own.
    fs::create_dir(folder)?;
    let written = files.iter().try_for_each(|(name, text)| fs::write(folder.join(name), text));
    if written.is_err() {
        // The first error is the one to tell.
        let _ = fs::remove_dir_all(folder);
    }
    written
}

/// What is in these studies as a shell reads it, in a command about it.
fn typed(studies: &Path, name: &str) -> String {
    shell::word(&studies::typed(studies, name)).into_owned()
}

fn names(files: &[(&str, String)]) -> String {
    files.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_that_comes_next_can_be_pasted() {
        let typed = |studies, name| typed(Path::new(studies), name);
        assert_eq!(typed("studies", "web/zig"), "web/zig");
        assert_eq!(typed(".", "mine"), "./mine");
        assert_eq!(typed("other studies", "web/zig"), "'other studies/web/zig'");
    }

    #[test]
    fn a_new_study_lies_among_the_others_or_where_its_path_says() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().to_str().unwrap();
        let place = |typed: &str| place(typed, Path::new("studies"));
        assert_eq!(place("mine"), ("studies".into(), "mine".into()));
        assert_eq!(place("./mine/"), (".".into(), "mine".into()));
        assert_eq!(place(&format!("{root}/mine")), (root.into(), "mine".into()));
        assert_eq!(place("nowhere/mine"), ("studies".into(), "nowhere/mine".into()));
    }
}
