//! The processes of a load that are there, on whatever host: agents, their clients, and what leads
//! to them.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

/// Between two looks.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// One of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    pid: Pid,
    words: Vec<String>,
    /// The network that it is in.
    network: Option<PathBuf>,
}

/// All of them.
pub fn all() -> Vec<Process> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| Process::at(&entry.path())).collect()
}

/// The agent in this network.
pub fn agent_in(network: Option<&Path>) -> Option<Process> {
    all().into_iter().find(|it| it.is_agent() && it.network.as_deref() == network)
}

/// Waits until none is left, at most so long; those that are left then.
pub fn after(at_most: Duration) -> Vec<Process> {
    let end = Instant::now() + at_most;
    loop {
        let left = all();
        if left.is_empty() || Instant::now() >= end {
            return left;
        }
        std::thread::sleep(LOOK_EVERY);
    }
}

impl Process {
    fn at(folder: &Path) -> Option<Process> {
        let pid = folder.file_name()?.to_str()?.parse().ok().and_then(Pid::from_raw)?;
        // That of one that has ended is empty.
        let line = fs::read(folder.join("cmdline")).ok()?;
        let words = line.split(|&byte| byte == 0).filter(|word| !word.is_empty());
        let words: Vec<String> = words.map(|it| String::from_utf8_lossy(it).into_owned()).collect();
        let process = Process { pid, words, network: fs::read_link(folder.join("ns/net")).ok() };
        process.is_of_a_load().then_some(process)
    }

    /// What leads to an agent ends with the agent's words, as the agent does itself.
    fn is_of_a_load(&self) -> bool {
        self.words.len() > 1
            && matches!(self.words.last().map(String::as_str), Some("agent" | "client"))
    }

    fn is_agent(&self) -> bool {
        self.words.len() == 2 && self.words[1] == "agent"
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: Signal) -> Result<(), String> {
        kill_process(self.pid, signal)
            .map_err(|error| format!("a signal to {}: {error}", self.name()))
    }

    /// Its name for people.
    pub fn name(&self) -> String {
        match self.words.first().map(|path| path.rsplit('/').next().unwrap_or(path)) {
            _ if self.is_agent() => "agent".into(),
            name => name.unwrap_or_default().into(),
        }
    }
}
