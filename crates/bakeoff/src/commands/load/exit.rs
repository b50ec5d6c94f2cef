//! What the exit code says; documented in docs/exit-codes.md.

use std::io;
use std::process::ExitCode;

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// As asked.
    Ok = 0,
    /// The load was offered, and not one answer was good; or nobody could be connected to
    /// any more before all requests were made.
    Unanswered = 1,
    /// The arguments, or a file or name that they give, are wrong.
    BadInput = 2,
    /// A condition of `--fail-if` held or is unknown, or that of `--find-rate` or
    /// `--find-connections` held nowhere.
    Condition = 3,
    /// The machine did not let the load be offered, or its result be written.
    System = 4,
    /// By SIGINT or SIGTERM; what was measured until then has been printed.
    Interrupted = 130,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit as u8)
    }
}

/// Why there is no result at all, or not all of it.
#[derive(Debug)]
pub struct Failure {
    /// What the exit code says of it.
    pub exit: Exit,
    /// What happened and what to do, for people.
    pub sentence: String,
}

impl Failure {
    /// The arguments are at fault.
    pub fn bad_input(sentence: String) -> Failure {
        Failure { exit: Exit::BadInput, sentence }
    }

    /// The machine is.
    pub fn system(what: &str, error: &io::Error) -> Failure {
        Failure { exit: Exit::System, sentence: format!("{what}: {error}") }
    }
}

impl From<load::Error> for Failure {
    fn from(error: load::Error) -> Failure {
        let exit = match error {
            load::Error::Plan(_) => Exit::BadInput,
            load::Error::System { .. } => Exit::System,
        };
        Failure { exit, sentence: error.to_string() }
    }
}
