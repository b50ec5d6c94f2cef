//! A client's process: the load generator in a process of its own, with lines both ways.
//!
//! Its whole life is in `load::agent`. It can't outlive who started it: its input closes then, and
//! whoever starts the command may have the kernel kill it as well.

use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};

use load::Error;
use load::agent::{self, Heard, Told};

use crate::wire::line_of;

/// A client's process. Dropping it ends it.
#[derive(Debug)]
pub struct ClientProcess {
    process: Child,
    input: Option<ChildStdin>,
}

impl ClientProcess {
    /// The command of bakeoff's own client.
    pub fn own() -> Command {
        let mut command = Command::new("/proc/self/exe");
        command.arg0("client").arg(agent::SUBCOMMAND);
        command
    }

    /// Starts a command that is a client, which waits for its plan. What it tells goes to `takes`,
    /// on a thread of its own, until that says no. At its end, that is told `None`.
    ///
    /// # Errors
    /// The kernel's.
    pub fn start(
        mut command: Command,
        takes: impl FnMut(Option<Told>) -> bool + Send + 'static,
    ) -> io::Result<ClientProcess> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.spawn()?;
        // It may hold this side's copy of a pipe's end.
        drop(command);
        if let Some(from) = process.stdout.take() {
            std::thread::spawn(move || listen(from, takes));
        }
        let input = process.stdin.take();
        Ok(ClientProcess { process, input })
    }

    /// Its id.
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// Says something. If it is gone, that is heard by its end.
    pub fn say(&mut self, what: &Heard) {
        let _ = self.input.as_mut().map(|input| input.write_all(&line_of(what)));
    }

    /// Ends it: it has told all, or nobody wants to hear it.
    pub fn end(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }

    /// How it ended, once it has.
    ///
    /// # Errors
    /// The kernel's.
    pub fn wait(&mut self) -> io::Result<ExitStatus> {
        self.process.wait()
    }
}

impl Drop for ClientProcess {
    fn drop(&mut self) {
        self.end();
    }
}

/// Reads what a client tells until its end, which is told as well, or until nobody takes it.
fn listen(from: impl Read, mut takes: impl FnMut(Option<Told>) -> bool) {
    let mut from = BufReader::new(from);
    while let Some(told) = next(&mut from) {
        if !takes(Some(told)) {
            return;
        }
    }
    takes(None);
}

/// What a client tells next; `None` at its end.
fn next(from: &mut impl BufRead) -> Option<Told> {
    let told = match agent::line(from) {
        Ok(line) => serde_json::from_str(&line?).map_err(io::Error::from),
        // It died over it: how it ended says more.
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => return None,
        Err(error) => Err(error),
    };
    Some(told.unwrap_or_else(|source| {
        let what = "understanding the load's client".into();
        Told::Failed(Error::System { what, source })
    }))
}
