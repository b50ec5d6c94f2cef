//! The study that a duel is, as files: what `--keep` leaves to go on from.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use lab::study::contender::{self, Speaks};
use lab::trial::first::{First, FirstOfStore};
use result::plan::Cores;
use toml::Value;

use super::entrant::{self, Entrant, STUDY, What};
use super::look::{Contract, Seen};
use super::requests::{Requests, free_file};
use crate::commands::request::Body;
use crate::commands::studies;

/// Seconds that a server that runs already may take to answer.
const RUNNING_WITHIN_S: f64 = 5.0;

/// What no duel can say.
const SAME_WORK: &str = "Whether they do the same work: nobody wrote a contract for them, and each \
                         was held to what it answered first.";

/// What a duel measures.
#[derive(Debug, Clone, Copy)]
pub struct Load<'a> {
    /// What is asked.
    pub requests: &'a Requests,
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
    /// Variables that are handed on to commands, by their names.
    handed_on: Vec<String>,
    /// Whether they are stores.
    are_stores: bool,
}

impl Written {
    /// Writes all who take part, of whom nothing is known yet but how they are started.
    ///
    /// # Errors
    /// What couldn't be written.
    pub fn new(
        folder: PathBuf,
        entrants: &[Entrant],
        handed_on: Vec<String>,
        are_stores: bool,
    ) -> io::Result<Written> {
        let here = std::env::current_dir()?;
        fs::create_dir_all(studies::with(&folder))?;
        fs::create_dir(&folder)?;
        let written = Written { folder, handed_on, are_stores };
        for entrant in entrants {
            fs::create_dir(written.folder.join(&entrant.name))?;
            written.write_contender(entrant, &here, (&[], ""))?;
        }
        Ok(written)
    }

    /// Writes the study itself, and what its contenders answered and where. What it can't say
    /// because of that becomes a part of its report.
    ///
    /// # Errors
    /// What couldn't be written.
    pub fn conclude(
        &self,
        entrants: &[Entrant],
        seen: &[Seen],
        (contract, cannot_say): (&Contract, &[&str]),
        load: &Load,
    ) -> io::Result<()> {
        let here = std::env::current_dir()?;
        for (entrant, seen) in entrants.iter().zip(seen) {
            let mut more = String::new();
            if contract.text.is_none() {
                more.push_str(
                    "# The length of its first answers' bodies, which each has to have.\n",
                );
                more.push_str(&format!("body_bytes = {}\n", lengths(&seen.body_bytes())));
            }
            let First { address, told, ref code, .. } = seen.first;
            if address.port() != told.port() {
                more.push_str("# It listens here whatever PORT says.\n");
                more.push_str(&format!("address = \"{address}\"\n"));
            } else if address != told {
                more.push_str("# It listens here whatever HOST says.\n");
                more.push_str(&format!("host = \"{}\"\n", address.ip()));
            }
            self.write_contender(entrant, &here, (code, &more))?;
        }
        let names: Vec<&str> = entrants.iter().map(|it| it.name.as_str()).collect();
        let file = load.requests.body_file().map(|(name, bytes)| {
            let taken: Vec<&str> = names.iter().copied().chain([STUDY]).collect();
            (free_file(&name, &taken), bytes)
        });
        if let Some((name, bytes)) = &file {
            fs::write(self.folder.join(name), bytes)?;
        }
        let requests = requests(load.requests, contract, file.as_ref().map(|(name, _)| &**name));
        let text = study(&names, (contract, cannot_say), load, &requests);
        fs::write(self.folder.join(STUDY), text)
    }

    /// Writes the study of stores, of which this is known.
    ///
    /// # Errors
    /// What couldn't be written.
    pub fn conclude_stores(
        &self,
        entrants: &[Entrant],
        seen: &[FirstOfStore],
        study: &str,
    ) -> io::Result<()> {
        let here = std::env::current_dir()?;
        for (entrant, FirstOfStore { speaks, code }) in entrants.iter().zip(seen) {
            let word = match speaks {
                Speaks::Redis => "redis",
                Speaks::Memcached => "memcached",
            };
            let more = format!("speaks = \"{word}\"\n");
            self.write_contender(entrant, &here, (code, &more))?;
        }
        fs::write(self.folder.join(STUDY), study)
    }

    fn write_contender(
        &self,
        entrant: &Entrant,
        here: &Path,
        (code, more): (&[PathBuf], &str),
    ) -> io::Result<()> {
        let text = format!("{}{more}", self.contender(entrant, here, code));
        fs::write(self.folder.join(&entrant.name).join(contender::FILE), text)
    }

    /// A contender as its file has it, as far as is known beside what it answers: nothing before it
    /// was started, and then the files whose code it runs.
    fn contender(&self, entrant: &Entrant, here: &Path, code: &[PathBuf]) -> String {
        let (language, start) = match &entrant.what {
            What::Command(command) => {
                let programs = programs(command, here, code);
                let run = format!("run = [\"/bin/sh\", \"-c\", {}]\n", quoted(command));
                // A store keeps its files where it is started, unless it is told otherwise.
                let folder = if self.are_stores {
                    String::new()
                } else {
                    format!("folder = {}\n", quoted(&here.to_string_lossy()))
                };
                let environment = match &self.handed_on[..] {
                    [] => String::new(),
                    names => format!("environment = {names:?}\n"),
                };
                ("a command", run + &folder + &programs + &environment)
            }
            What::Running { address, .. } => (
                "a server that runs already",
                format!("address = \"{address}\"\nready_within_s = {RUNNING_WITHIN_S:?}\n"),
            ),
        };
        // Nobody wrote a contender for it, so it has no tier.
        format!("title = {}\nlanguage = \"{language}\"\n{start}", quoted(&entrant.name))
    }
}

/// A text as a study's file has it.
pub fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

/// Lengths of bodies as a contender's file has them.
fn lengths(all: &[u64]) -> String {
    match all {
        [one] => one.to_string(),
        several => format!("{several:?}"),
    }
}

/// What is asked, as a study's file has it. The body is this file, if it was given as one.
fn requests(asked: &Requests, contract: &Contract, file: Option<&str>) -> String {
    let one = |nth: usize| {
        let request = &asked.all[nth];
        let mut keys = Vec::new();
        if let Some(name) = &request.name {
            keys.push(format!("name = {}", quoted(name.as_str())));
        }
        if request.method != "GET" || asked.body.is_some() {
            keys.push(format!("method = {}", quoted(&request.method)));
        }
        keys.push(format!("path = {}", quoted(&request.path)));
        if !request.headers.is_empty() {
            let headers = headers(&request.headers);
            keys.push(format!("headers = {{ {headers} }}"));
        }
        match (&asked.body, file) {
            (_, Some(file)) => keys.push(format!("body_file = {}", quoted(file))),
            (Some(Body::Text(text)), None) => keys.push(format!("body = {}", quoted(text))),
            _ => {}
        }
        if request.weight != 1 {
            keys.push(format!("weight = {}", request.weight));
        }
        let status = &contract.statuses[nth];
        if *status != contract.statuses[0] {
            keys.push(format!("status = {}", quoted(&status.to_string())));
        }
        format!("{{ {} }}", keys.join(", "))
    };
    let all: Vec<String> = (0..asked.all.len()).map(one).collect();
    match &all[..] {
        [one] => format!("request = {one}"),
        several => format!("requests = [\n    {},\n]", several.join(",\n    ")),
    }
}

/// Headers as a table. Of a name that comes twice the values are one list (RFC 9110, 5.3).
fn headers(all: &[(String, String)]) -> String {
    let mut table: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (name, value) in all {
        let known = table.keys().find(|known| known.eq_ignore_ascii_case(name)).copied();
        table.entry(known.unwrap_or(name)).or_default().push(value);
    }
    let one = |(name, values): (&&str, &Vec<&str>)| {
        let between = if name.eq_ignore_ascii_case("cookie") { "; " } else { ", " };
        format!("{} = {}", quoted(name), quoted(&values.join(between)))
    };
    table.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// Has a change noticed of the file that a command starts, and of those whose code it runs.
fn programs(command: &str, here: &Path, code: &[PathBuf]) -> String {
    let named = entrant::program(command, here);
    let all: BTreeSet<&PathBuf> = named.iter().chain(code).collect();
    let all: Vec<String> = all.iter().map(|it| quoted(&it.to_string_lossy())).collect();
    if all.is_empty() { String::new() } else { format!("programs = [{}]\n", all.join(", ")) }
}

fn study(
    names: &[&str],
    (contract, cannot_say): (&Contract, &[&str]),
    load: &Load,
    requests: &str,
) -> String {
    let Load { requests: asked, connections, blocks, measure_s, warmup_s, .. } = *load;
    let Contract { statuses, text, kept } = contract;
    let (status, asked) = (&statuses[0], asked.names());
    let cores = match load.cores {
        Cores::One => "one",
        Cores::All => "all",
    };
    let (last, first) = names.split_last().expect("two or more take part");
    let title = format!("{} and {last}", first.join(", "));
    let question = match load.rate {
        None => format!("Which of them answers {asked} more often a second?"),
        Some(rate) => {
            format!("Which of them answers {rate} requests a second with less CPU time: {asked}?")
        }
    };
    let (says, body) = match text {
        Some(text) => (format!("its body holds {text:?}"), format!(", body = {}", quoted(text))),
        None => ("its body is as long as the first ones were".into(), String::new()),
    };
    let says = format!("The answer to {asked} has status {status}, and {says}.");
    let setting = format!("cores = \"{cores}\", connections = ");
    let work = match load.rate {
        None => format!("settings = [{{ {setting}[{connections}], kept = [{kept}] }}]\n"),
        Some(rate) => {
            format!(
                "settings = []\nfixed_rate = {{ {setting}{connections}, kept = {kept}, per_s = {rate} }}\n"
            )
        }
    };
    let cannot_say = [SAME_WORK].iter().chain(cannot_say).map(|it| quoted(it));
    format!(
        "title = {title}\n\
         question = {question}\n\
         cannot_say = [{cannot_say}]\n\n\
         [driver]\nkind = \"generator\"\nprotocol = \"http1\"\n\n\
         [contract]\nsays = {says}\nanswers_only = true\n{requests}\n\
         answer = {{ status = {status}, fresh = false{body} }}\n\n\
         # What they wait for isn't known.\n\
         [expects]\nsaturates = false\n\n\
         [profile.quick]\nblocks = {blocks}\nmeasure_s = {measure_s:?}\nwarmup_s = {warmup_s:?}\n{work}",
        cannot_say = cannot_say.collect::<Vec<_>>().join(", "),
        title = quoted(&title),
        question = quoted(&question),
        says = quoted(&says),
        status = match status.to_string() {
            one if one.len() == 3 => one,
            list => quoted(&list),
        },
    )
}
