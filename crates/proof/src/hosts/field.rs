//! A load from the hosts: what is needed to begin one, and what came of it.

use std::time::Duration;

use serde_json::Value;

use super::reach::Reach;
use super::stage::{self, Stage};
use crate::client::{Ended, Running};
use crate::interrupt::Interrupt;
use crate::target::Target;
use crate::tool::Tool;

/// No command here takes longer.
const LONGEST: Duration = Duration::from_secs(120);
/// Requests by which it is seen that a load is under way.
const UNDER_WAY: u64 = 500;

/// All that a load needs.
pub struct Field<'a> {
    /// The machines.
    pub stage: &'a Stage,
    /// What leads to the hosts.
    pub reach: &'a Reach,
    /// The server.
    pub target: &'a Target,
    /// Whether the program is installed on the hosts, or taken where it is on this machine.
    pub installs: bool,
    /// Whether the user wants an end.
    pub interrupt: &'a Interrupt,
}

/// What is different about the second host.
#[derive(Debug, Clone, Copy, Default)]
pub struct Second<'a> {
    /// Words of a shell in which `"$@"` leads there; nothing, for no shell.
    pub behind: &'a str,
    /// The program there, if not the usual one.
    pub binary: Option<&'a str>,
}

impl Field<'_> {
    /// Writes the file of hosts; its path.
    pub fn file(&self, second: Second) -> Result<String, String> {
        let program = Tool::Bakeoff.program()?.display().to_string();
        let usual = (!self.installs).then_some(&*program);
        let hosts = self.reach.hosts().enumerate().map(|(nth, (name, words))| {
            let second = if nth == 1 { second } else { Second::default() };
            let shell = ["sh", "-c", second.behind, "sh"].map(String::from);
            let before = if second.behind.is_empty() { &[][..] } else { &shell[..] };
            let binary = second.binary.or(usual).map(|path| format!("binary = {path:?}\n"));
            let binary = binary.unwrap_or_default();
            format!("[host.{name}]\nreach = {:?}\n{binary}", [before, words].concat())
        });
        stage::write("home/hosts.toml", &hosts.collect::<String>())
    }

    /// Begins `bakeoff` with these words.
    pub fn begin(&self, words: &[&str]) -> Result<Running, String> {
        let program = Tool::Bakeoff.program()?.display().to_string();
        let command: Vec<String> =
            std::iter::once(program).chain(words.iter().map(ToString::to_string)).collect();
        let cpus =
            load::allowed_cpus().map_err(|error| format!("asking for processors: {error}"))?;
        Running::start(&command, &cpus, LONGEST)
    }

    /// Begins a load, with these further words.
    pub fn begin_load(&self, file: &str, path: &str, words: &str) -> Result<Running, String> {
        let url = self.target.url(path);
        let own = ["load", &url, "--hosts", file, "--json", "-", "--quiet"];
        self.begin(&own.into_iter().chain(words.split(' ')).collect::<Vec<_>>())
    }

    /// Waits until the server is asked.
    pub fn until_under_way(&self) -> Result<(), String> {
        let before = self.target.requests()?;
        stage::until("the load is under way", || {
            self.target.requests().is_ok_and(|now| now > before + UNDER_WAY)
        })
    }
}

/// Whether a warning of this name is about hosts, and not about the server.
fn is_of_hosts(id: &str) -> bool {
    ["clocks_apart", "host_began_late", "host_slower", "unequally_far"].contains(&id)
}

/// What a load told.
pub struct Told {
    /// Its exit code; `None` of one that was killed.
    pub code: Option<i32>,
    /// Nothing, where no load was offered.
    pub json: Value,
    /// What it complains of, or else what it has to say of hosts; nothing, if there is none.
    pub said: String,
}

impl Told {
    /// What a process that ended told.
    pub fn of(ended: &Ended) -> Told {
        let json: Value = serde_json::from_str(&ended.output).unwrap_or_default();
        let complaints = ended.complaints.lines().filter_map(|it| it.strip_prefix("bakeoff "));
        let mut complaints =
            complaints.filter_map(|it| it.split_once(": ")).map(|it| it.1.to_string());
        let warnings = json["warnings"].as_array().into_iter().flatten();
        let of_hosts = warnings.filter(|it| it["id"].as_str().is_some_and(is_of_hosts));
        let warnings: Vec<&str> = of_hosts.filter_map(|it| it["text"].as_str()).collect();
        let said = complaints.next().unwrap_or_else(|| warnings.join(" "));
        Told { code: ended.status.code(), said, json }
    }

    /// Good answers in its account.
    pub fn good(&self) -> Option<u64> {
        self.json["requests"]["good"].as_u64()
    }

    /// The sum over hosts.
    pub fn of_hosts(&self) -> Option<u64> {
        self.json["hosts"].as_array()?.iter().map(|host| host["good"].as_u64()).sum()
    }

    /// A figure of each host's clock, in µs.
    pub fn clocks(&self, name: &str) -> Vec<f64> {
        let hosts = self.json["hosts"].as_array().into_iter().flatten();
        hosts.filter_map(|host| host["clock"][name].as_f64()).collect()
    }
}
