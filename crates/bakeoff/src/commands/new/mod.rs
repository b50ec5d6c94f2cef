//! `bakeoff new`: the folder of a contender or of a study, to be filled in.

pub mod init;
mod skeleton;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use lab::study::{DriverKind, StudyFile};
use report::text::visible;
use result::shell;

use self::skeleton::{DRIVERS, GENERAL, Kind, LANGUAGES};
use super::exit_codes::{BAD_INPUT, SYSTEM};
use super::printing::{Output, complain};

/// Writes a contender to fill in: a commented contender.toml, with --language source as well.
/// With --driver, a study
#[derive(clap::Args)]
#[command(
    after_help = "Exit codes: 0 written; 2 wrong arguments, or the folder is there already; \
4 it couldn't be written."
)]
pub struct Arguments {
    /// The contender's study and its name, for example web/zig; the study's name with --driver
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
pub fn run(arguments: Arguments) -> ExitCode {
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

fn contender(arguments: &Arguments) -> Result<New, String> {
    let Some((study, name)) = arguments.name.split_once('/') else {
        let kinds = DRIVERS.map(|(kind, _)| kind).join(" or ");
        return Err(format!(
            "give study and contender, for example web/zig; for a new study add --driver {kinds}"
        ));
    };
    check_name("contender", name)?;
    let file = StudyFile::read(&arguments.studies, study).map_err(|error| error.to_string())?;
    let language = LANGUAGES.iter().find(|it| Some(it.option) == arguments.language.as_deref());
    let kind = match file.driver.get_ref().kind {
        DriverKind::Generator if file.is_of_stores() => Kind::Store,
        DriverKind::Generator => Kind::Server,
        DriverKind::Program => Kind::Program,
    };
    if let (Kind::Store, Some(language)) = (kind, language) {
        return Err(format!(
            "there is no skeleton of a store in {}: leave `--language` out, and name the program \
             that is to be measured",
            language.name
        ));
    }
    let contract = visible(&file.contract.get_ref().says);
    Ok(New {
        folder: arguments.studies.join(study).join(name),
        files: language.unwrap_or(&GENERAL).files(kind, study, name, &contract),
        fill_in: match (language, kind) {
            (None, _) => "Fill in `language` and `run`, and put its source or configuration there.",
            (Some(_), Kind::Server | Kind::Store) => {
                "It starts as it is; look for FILL IN to make it answer right."
            }
            (Some(_), Kind::Program) => {
                "It starts as it is; look for FILL IN to make it do the study's work."
            }
        },
        then: command("check", &arguments.name, "", &arguments.studies),
    })
}

fn study(arguments: &Arguments, driver: &str) -> Result<New, String> {
    let name = &arguments.name;
    check_name("study", name)?;
    let (_, text) = DRIVERS.iter().find(|(kind, _)| *kind == driver).expect("clap knows them");
    let contender = format!("{name}/NAME");
    Ok(New {
        folder: arguments.studies.join(name),
        files: vec![("study.toml", text.replace("STUDY", name))],
        fill_in: "Look for FILL IN, and give it two contenders or more.",
        then: command("new", &contender, " --language go", &arguments.studies),
    })
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
    // Fails where there is one, so what is removed below is our own.
    fs::create_dir(folder)?;
    let written = files.iter().try_for_each(|(name, text)| fs::write(folder.join(name), text));
    if written.is_err() {
        // The first error is the one to tell.
        let _ = fs::remove_dir_all(folder);
    }
    written
}

/// A command about something in these studies, as a shell reads it.
fn command(subcommand: &str, of: &str, options: &str, studies: &Path) -> String {
    let studies = shell::path_option("--studies", studies, lab::run::STUDIES);
    format!("bakeoff {subcommand} {}{options}{studies}", shell::word(of))
}

fn names(files: &[(&str, String)]) -> String {
    files.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_that_comes_next_can_be_pasted() {
        let check = |of, studies| command("check", of, "", Path::new(studies));
        assert_eq!(check("web/zig", "studies"), "bakeoff check web/zig");
        assert_eq!(
            check("my web/zig", "other studies"),
            "bakeoff check 'my web/zig' --studies 'other studies'"
        );
    }
}
