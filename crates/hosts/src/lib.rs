//! Load from several hosts.
//!
//! The hub is the machine that the command runs on. On each host an agent runs behind a pipe: any
//! command whose standard input and output lead to it, as `ssh` or `kubectl exec -i`. There is no
//! listener and no daemon. The data flow:
//!
//! ```text
//! hub: split a plan → prepare, start → agent → its client offers the load
//! hub: merge the outcomes        ← agent ← seconds, outcome
//! ```
//!
//! - [`wire`]: what hub and agent say;
//! - [`agent`]: the agent's life;
//! - [`client`]: a client's process, which the agent starts, and which bakeoff starts for a load that
//!   comes from its own machine;
//! - [`pipe`]: an agent as the hub has it, a process with lines both ways;
//! - [`clock`]: how far two machines' clocks are apart, and the bound of that;
//! - [`split`]: a host's part of a plan;
//! - [`hub`]: greets the agents, and runs a plan on all of them;
//! - [`seen`]: what came of a run, host by host, and together.

pub mod agent;
pub mod client;
pub mod clock;
pub mod hub;
mod pipe;
pub mod seen;
pub mod split;
pub mod wire;

/// A host, as its user describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Host {
    /// Its name, which sentences tell.
    pub name: String,
    /// The command that leads there, without what is run there: `["ssh", "-T", "c1"]`.
    pub reach: Vec<String>,
    /// The program to run there; where none is given, the one that was installed by its digest.
    pub binary: Option<String>,
    /// The processors that its load may use; all that it is allowed, if empty.
    pub cpus: Vec<usize>,
}

impl Host {
    /// The program to run there. One that was installed lies below the folder in which commands
    /// begin there, and has its digest as its name. On this machine it is the one that runs.
    fn program(&self, build: &wire::Build) -> String {
        match &self.binary {
            Some(binary) => binary.clone(),
            None if self.is_here() => "/proc/self/exe".into(),
            None => format!(".cache/bakeoff/{}", build.digest),
        }
    }

    /// What is started to reach it, for people.
    fn shown(&self, build: &wire::Build) -> String {
        let first = self.reach.first().cloned();
        first.unwrap_or_else(|| self.program(build))
    }

    /// Whether it is this machine itself: nothing leads there.
    pub fn is_here(&self) -> bool {
        self.reach.is_empty()
    }
}

/// What went wrong with a host, by its name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("host {host}: {what}")]
pub struct HostError {
    /// Its name.
    pub host: String,
    /// What happened, for people.
    pub what: String,
}
