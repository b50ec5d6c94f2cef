//! The study that a duel is, as files: what `--keep` leaves to go on from.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use lab::study::contender;
use result::plan::Cores;
use result::shell;
use toml::Value;

use super::entrant::{Entrant, What};
use super::look::{Contract, Seen};
use crate::commands::studies;

/// Seconds that a server that runs already may take to answer.
const RUNNING_WITHIN_S: f64 = 5.0;

/// What no duel can say.
const SAME_WORK: &str = "Whether they do the same work: nobody wrote a contract for them, and each \
                         was held to what it answered first.";

/// What a duel measures.
#[derive(Debug, Clone, Copy)]
pub struct Load<'a> {
    /// Path and query.
    pub path: &'a str,
    /// Cores that each is given.
    pub cores: Cores,
    /// Connections at once.
    pub connections: u32,
    /// Requests a second; as fast as it goes, if there is none.
    pub rate: Option<u32>,
    /// Blocks.
    pub blocks: u32,
    /// Seconds measured a trial.
    pub measure_s: f64,
    /// Seconds of load before.
    pub warmup_s: f64,
}

/// A study's folder.
pub struct Written {
    /// Its folder.
    pub folder: PathBuf,
}

impl Written {
    /// Writes all who take part, of whom nothing is known yet but how they are started.
    ///
    /// # Errors
    /// What couldn't be written.
    pub fn new(folder: PathBuf, entrants: &[Entrant]) -> io::Result<Written> {
        let here = std::env::current_dir()?;
        fs::create_dir_all(studies::with(&folder))?;
        fs::create_dir(&folder)?;
        let written = Written { folder };
        for entrant in entrants {
            fs::create_dir(written.folder.join(&entrant.name))?;
            written.write_contender(entrant, &here, "")?;
        }
        Ok(written)
    }

    /// Writes the study itself, and what its contenders answered and where. In what they differ
    /// becomes a part of its report.
    ///
    /// # Errors
    /// What couldn't be written.
    pub fn conclude(
        &self,
        entrants: &[Entrant],
        seen: &[Seen],
        (contract, difference): (&Contract, Option<&str>),
        load: &Load,
    ) -> io::Result<()> {
        let here = std::env::current_dir()?;
        for (entrant, seen) in entrants.iter().zip(seen) {
            let mut more = String::new();
            if contract.text.is_none() {
                let bytes = seen.body_bytes();
                more.push_str(
                    "# The length of its first answers' bodies, which each has to have.\n",
                );
                more.push_str(&format!("body_bytes = {bytes}\n"));
            }
            if !seen.first.as_told {
                more.push_str("# It listens here whatever PORT says.\n");
                more.push_str(&format!("address = \"{}\"\n", seen.first.address));
            }
            self.write_contender(entrant, &here, &more)?;
        }
        let names: Vec<&str> = entrants.iter().map(|it| it.name.as_str()).collect();
        fs::write(self.folder.join("study.toml"), study(&names, (contract, difference), load))
    }

    fn write_contender(&self, entrant: &Entrant, here: &Path, more: &str) -> io::Result<()> {
        let text = format!("{}{more}", contender(entrant, here));
        fs::write(self.folder.join(&entrant.name).join(contender::FILE), text)
    }
}

fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

fn contender(entrant: &Entrant, here: &Path) -> String {
    let (language, start) = match &entrant.what {
        What::Command(command) => {
            let here = shell::word(&here.to_string_lossy()).into_owned();
            let command = format!("cd {here} && {command}");
            ("a command", format!("run = [\"/bin/sh\", \"-c\", {}]\n", quoted(&command)))
        }
        What::Running { address, .. } => (
            "a server that runs already",
            format!("address = \"{address}\"\nready_within_s = {RUNNING_WITHIN_S:?}\n"),
        ),
    };
    // Nobody wrote a contender for it, so it has no tier.
    format!("title = {}\nlanguage = \"{language}\"\n{start}", quoted(&entrant.name))
}

fn study(names: &[&str], (contract, difference): (&Contract, Option<&str>), load: &Load) -> String {
    let Load { path, connections, blocks, measure_s, warmup_s, .. } = *load;
    let Contract { status, text, kept } = contract;
    let cores = match load.cores {
        Cores::One => "one",
        Cores::All => "all",
    };
    let (last, first) = names.split_last().expect("two or more take part");
    let title = format!("{} and {last}", first.join(", "));
    let question = match load.rate {
        None => format!("Which of them answers GET {path} more often a second?"),
        Some(rate) => {
            format!("Which of them answers {rate} requests for {path} a second with less CPU time?")
        }
    };
    let (says, body) = match text {
        Some(text) => (format!("its body holds {text:?}"), format!(", body = {}", quoted(text))),
        None => ("its body is as long as the first ones were".into(), String::new()),
    };
    let says = format!("The answer to GET {path} has status {status}, and {says}.");
    let setting = format!("cores = \"{cores}\", connections = ");
    let work = match load.rate {
        None => format!("settings = [{{ {setting}[{connections}], kept = [{kept}] }}]\n"),
        Some(rate) => {
            format!(
                "settings = []\nfixed_rate = {{ {setting}{connections}, kept = {kept}, per_s = {rate} }}\n"
            )
        }
    };
    let cannot_say = [Some(SAME_WORK), difference].into_iter().flatten().map(quoted);
    format!(
        "title = {title}\n\
         question = {question}\n\
         cannot_say = [{cannot_say}]\n\n\
         [driver]\nkind = \"generator\"\nprotocol = \"http1\"\n\n\
         [contract]\nsays = {says}\nanswers_only = true\nrequest = {{ path = {path} }}\n\
         answer = {{ status = {status}, fresh = false{body} }}\n\n\
         # What they wait for isn't known.\n\
         [expects]\nsaturates = false\n\n\
         [profile.quick]\nblocks = {blocks}\nmeasure_s = {measure_s:?}\nwarmup_s = {warmup_s:?}\n{work}",
        cannot_say = cannot_say.collect::<Vec<_>>().join(", "),
        title = quoted(&title),
        question = quoted(&question),
        says = quoted(&says),
        path = quoted(path),
    )
}
