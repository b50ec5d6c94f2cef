//! What hub and agent say to each other: a line of JSON each.
//!
//! The agent's first line begins with [`GREETING`]. Lines before it are another's: a login has
//! banners. The words from the other side are bounded here, and are escaped where they are shown.

use load::{Error, Moment, Outcome, Plan, Progress};
use serde::{Deserialize, Serialize};

/// The version of these messages.
pub const PROTOCOL: u32 = 1;
/// How the agent's first line begins.
pub const GREETING: &str = r#"{"bakeoff":"#;
/// How much may come before that.
pub const BEFORE_GREETING_BYTES_MAX: usize = 64 << 10;

/// Which program speaks. Figures of two programs don't add.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Build {
    /// The version of the messages.
    pub protocol: u32,
    /// The version of bakeoff.
    pub version: String,
    /// SHA-256 of the program, in hexadecimal.
    pub digest: String,
}

/// What an agent tells of its host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostFacts {
    /// The program that runs there.
    pub build: Build,
    /// Its name of itself.
    pub name: String,
    /// The kernel's version.
    pub kernel: String,
    /// The processors that the agent may use.
    pub cpus: Vec<usize>,
    /// Files that it may have open.
    pub files: u64,
    /// The first and the last port that the kernel gives to connections.
    pub ports: (u16, u16),
    /// What its load would be carried by: io_uring, or epoll and why.
    pub backend: String,
    /// The same for all that run since the machine started.
    pub boot_id: String,
}

/// What the hub says.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToAgent {
    /// Who is there. It comes first.
    Hello(Build),
    /// What time it is.
    Clock {
        /// The question's number, which the answer repeats.
        n: u32,
    },
    /// What is to be done. The connections that are kept are made.
    Prepare {
        /// The run's number, which all that belongs to it repeats.
        run: u64,
        /// The host's part.
        plan: Box<Plan>,
    },
    /// When the warm-up begins.
    Start {
        /// The run's number.
        run: u64,
        /// By the agent's own clock.
        at: Moment,
    },
    /// The run is to end early; what was seen until then is told.
    Stop {
        /// The run's number.
        run: u64,
    },
    /// The hub is there.
    Alive,
}

/// What the agent says.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToHub {
    /// Who is there. It comes first.
    #[serde(rename = "bakeoff")]
    Hello(Box<HostFacts>),
    /// What time it is.
    Clock {
        /// The question's number.
        n: u32,
        /// By the agent's clock.
        at: Moment,
    },
    /// So many of the connections that are kept are open.
    Connecting {
        /// The run's number.
        run: u64,
        /// How many.
        open: u32,
    },
    /// The start is waited for.
    Ready {
        /// The run's number.
        run: u64,
    },
    /// A second has ended.
    Second {
        /// The run's number.
        run: u64,
        /// What was seen of it.
        second: Progress,
    },
    /// The run has ended.
    Ended {
        /// The run's number.
        run: u64,
        /// What was seen.
        outcome: Box<Outcome>,
    },
    /// No load could be offered.
    Failed {
        /// The run's number.
        run: u64,
        /// Why.
        error: Error,
    },
    /// The agent is there.
    Alive,
}

/// The line of a message, with its end.
pub(crate) fn line_of(message: &impl Serialize) -> Vec<u8> {
    let mut line = serde_json::to_vec(message).expect("messages have no key that isn't text");
    line.push(b'\n');
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Else no agent would ever be found behind a login's banner.
    #[test]
    fn an_agents_first_line_is_known_by_its_beginning() {
        let build = Build { protocol: PROTOCOL, version: "1".into(), digest: "ab".into() };
        let hello = ToHub::Hello(Box::new(HostFacts {
            build,
            name: "c1".into(),
            kernel: "6.1".into(),
            cpus: vec![0],
            files: 1024,
            ports: (32768, 60999),
            backend: "io_uring".into(),
            boot_id: "x".into(),
        }));
        let line = String::from_utf8(line_of(&hello)).unwrap();
        assert!(line.starts_with(GREETING), "{line}");
        assert!(line.ends_with("}\n") && line.lines().count() == 1, "{line}");
    }
}
