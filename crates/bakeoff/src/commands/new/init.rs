//! `bakeoff init`: a study that runs as it is, with a contender in each language that is
//! installed here.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use lab::ready;
use report::text::visible;
use result::kind::Kind;
use serde::Deserialize;

use super::skeleton::{LANGUAGES, Language, TO_START_FROM, Words, study};
use super::{check_name, typed};
use crate::commands::exit_codes::{BAD_INPUT, SYSTEM};
use crate::commands::printing::{Output, complain};
use crate::commands::studies;

/// What contenders of the new study have to do, as their files say it.
const CONTRACT: &str = "GET / answers 200 with the text that all of them have now.";

/// Writes a study that runs as it is, with a contender in each language that is installed here
#[derive(clap::Args)]
#[command(
    after_help = "Exit codes: 0 written; 2 wrong arguments, or the folder is there already; \
4 it couldn't be written."
)]
pub struct InitArguments {
    /// The folder to write: the study has its name
    folder: PathBuf,
}

/// What a language's skeleton says that it needs.
#[derive(Deserialize)]
struct Needs {
    needs: BTreeMap<String, String>,
}

/// Carries the command out.
pub fn run(arguments: InitArguments) -> ExitCode {
    let folder = &arguments.folder;
    let failed = |code: u8, sentence: String| {
        complain("init", &sentence);
        ExitCode::from(code)
    };
    let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    if let Err(sentence) = check_name("study", &name) {
        return failed(BAD_INPUT, sentence);
    }
    let (here, absent): (Vec<&Language>, Vec<&Language>) =
        LANGUAGES.iter().partition(|language| missing(language).is_none());
    match write(folder, &name, &here) {
        Ok(()) => tell(folder, &name, &here, &absent),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            let folder = folder.display();
            failed(BAD_INPUT, format!("{folder} is there already; nothing was written"))
        }
        Err(error) => failed(SYSTEM, format!("couldn't write {}: {error}", folder.display())),
    }
}

/// What a language lacks here, and what gives it; `None` if it lacks nothing.
fn missing(language: &Language) -> Option<String> {
    let needs: Needs = toml::from_str(language.needs).expect("a skeleton's line is TOML");
    ready::missing(&needs.needs)
}

/// Writes the folder as a whole, or nothing.
fn write(folder: &Path, name: &str, languages: &[&Language]) -> io::Result<()> {
    if folder.exists() {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    let parent = studies::with(folder);
    fs::create_dir_all(parent)?;
    let unfinished = tempfile::Builder::new().prefix(".init-").tempdir_in(parent)?;
    let text = study(TO_START_FROM, name, &typed(parent, name));
    fs::write(unfinished.path().join("study.toml"), text)?;
    for language in languages {
        let contender = unfinished.path().join(language.option);
        fs::create_dir(&contender)?;
        let typed = typed(parent, &format!("{name}/{}", language.option));
        let words = Words { study: name, name: language.option, typed: &typed, contract: CONTRACT };
        for (file, text) in language.files(Kind::Http, &words).into_iter().flatten() {
            fs::write(contender.join(file), text)?;
        }
    }
    fs::set_permissions(unfinished.path(), fs::metadata(parent)?.permissions())?;
    fs::rename(unfinished.path(), folder)?;
    let _ = unfinished.keep();
    Ok(())
}

fn tell(folder: &Path, name: &str, here: &[&Language], absent: &[&Language]) -> ExitCode {
    let mut output = Output::to_stdout();
    let options = |all: &[&Language]| all.iter().map(|it| it.option).collect::<Vec<_>>().join(", ");
    let contenders = if here.is_empty() {
        "no contender, because none of these languages is installed here".into()
    } else {
        format!("a contender in each of {}", options(here))
    };
    output.line(&format!(
        "{} has a study.toml and {contenders}.",
        visible(&folder.to_string_lossy())
    ));
    for language in absent {
        if let Some(why) = missing(language) {
            output.line(&format!("Left out: {}: {}", language.option, visible(&why)));
        }
    }
    output.line("All answer the same text. Change what they answer, and the contract with it.");
    output.line(&format!("Then: bakeoff run {}", typed(studies::with(folder), name)));
    // It is written, whether that could be told or not.
    ExitCode::SUCCESS
}
