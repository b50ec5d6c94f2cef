//! `bakeoff new`: a contender's folder, to be filled in.

mod skeleton;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use lab::study::StudyFile;
use report::text::visible;
use result::shell;

use self::skeleton::{GENERAL, LANGUAGES, Skeleton};
use super::exit_codes::{BAD_INPUT, SYSTEM};
use super::printing::{Output, complain};

/// Writes a contender to fill in: a commented contender.toml, with --language a server as well
#[derive(clap::Args)]
#[command(
    after_help = "Exit codes: 0 written; 2 wrong arguments, or the folder is there already; \
4 it couldn't be written."
)]
pub struct Arguments {
    /// Its study and its name, for example web/zig
    contender: String,
    /// Also write a server to start from, in this language; for others, contender.toml is all
    #[arg(long, value_parser = LANGUAGES.map(|skeleton| skeleton.option))]
    language: Option<String>,
    /// The folder of studies
    #[arg(long, value_name = "DIR", default_value = lab::run::STUDIES)]
    studies: PathBuf,
}

/// Carries the command out.
pub fn run(arguments: Arguments) -> ExitCode {
    let failed = |code: u8, sentence: String| {
        complain("new", &sentence);
        ExitCode::from(code)
    };
    let Some((study, name)) = arguments.contender.split_once('/') else {
        return failed(BAD_INPUT, "give study and contender, for example web/zig".into());
    };
    let is_name = |char: char| char.is_ascii_lowercase() || char.is_ascii_digit() || char == '-';
    if name.is_empty() || !name.chars().all(is_name) {
        let what = "a contender's name is made of lower-case letters, digits and dashes";
        return failed(BAD_INPUT, format!("{what}, which `{}` is not", visible(name)));
    }
    let file = match StudyFile::read(&arguments.studies, study) {
        Ok(file) => file,
        Err(error) => return failed(BAD_INPUT, error.to_string()),
    };
    let skeleton = LANGUAGES.iter().find(|it| Some(it.option) == arguments.language.as_deref());
    let skeleton = skeleton.unwrap_or(&GENERAL);
    let folder = arguments.studies.join(study).join(name);
    let files = skeleton.files(study, name, &visible(&file.contract.says));
    match write(&folder, &files) {
        Ok(()) => {
            let mut output = Output::to_stdout();
            say(&mut output, &folder, &files, skeleton);
            output.line(&format!("Then: {}", to_check(&arguments.contender, &arguments.studies)));
            // It is written, whether that could be told or not.
            ExitCode::SUCCESS
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            let path = folder.display();
            failed(BAD_INPUT, format!("{path} is there already; nothing was written"))
        }
        Err(error) => failed(SYSTEM, format!("couldn't write {}: {error}", folder.display())),
    }
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

fn say(output: &mut Output, folder: &Path, files: &[(&str, String)], skeleton: &Skeleton) {
    output.line(&format!("{} has {}.", folder.display(), names(files)));
    output.line(match skeleton.files.is_empty() {
        true => "Fill in `language` and `run`, and put its source or configuration there.",
        false => "It starts as it is; look for FILL IN to make it answer right.",
    });
}

/// The command that checks a contender of these studies, as a shell reads it.
fn to_check(contender: &str, studies: &Path) -> String {
    let studies = shell::path_option("--studies", studies, lab::run::STUDIES);
    format!("bakeoff check {}{studies}", shell::word(contender))
}

fn names(files: &[(&str, String)]) -> String {
    files.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_that_checks_it_can_be_pasted() {
        assert_eq!(to_check("web/zig", Path::new("studies")), "bakeoff check web/zig");
        assert_eq!(
            to_check("my web/zig", Path::new("other studies")),
            "bakeoff check 'my web/zig' --studies 'other studies'"
        );
    }
}
