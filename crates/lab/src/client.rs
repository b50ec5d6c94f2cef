//! The load's client, seen from bakeoff: a process of its own, in a control group of
//! its own, as the contender is.
//!
//! Its whole life is in `load::client`. It can't outlive bakeoff: its input closes
//! with bakeoff, and the kernel kills it. Its group goes with it; should bakeoff be
//! killed, the contender's keeper removes that.

use std::io::{self, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::Duration;

use load::client::{self, Told};
use load::{Error, Outcome, Plan, Progress, Stop};

use crate::cgroup::Group;
use crate::keeper;
use crate::output_tail::Output;

/// Between two looks whether the run is to end.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// Lines that are kept of what a client says before it dies.
const LINES: usize = 3;

/// A client's process. Dropping it ends it.
#[derive(Debug)]
pub struct Client {
    process: Child,
    input: Option<ChildStdin>,
    told: Receiver<Told>,
    /// What it says beside: the last words of one that fails.
    output: Output,
    group: Group,
}

impl Client {
    /// Starts one that waits for its plan, on these processors, in this group, which
    /// is made and removed here.
    ///
    /// # Errors
    /// The kernel's.
    pub fn start(group: Group, cpus: &[usize]) -> Result<Client, Error> {
        let failed = |source| Error::System { what: "starting the load's client".into(), source };
        let (output_from, output_to) = io::pipe().map_err(failed)?;
        let mut command = Command::new("/proc/self/exe");
        command
            .arg0("client")
            .arg(client::SUBCOMMAND)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(output_to)
            // Ctrl-C on the terminal is bakeoff's to handle.
            .process_group(0);
        keeper::bind_to_this_process(&mut command, group.make());
        let cpus = cpus.to_vec();
        // SAFETY: between fork and exec only one system call is made; it allocates
        // nothing and takes no lock.
        unsafe {
            command.pre_exec(move || {
                // Its threads of load bind themselves, and say why if they can't.
                let _ = keeper::pin(&cpus);
                Ok(())
            });
        }
        let mut process = match command.spawn() {
            Ok(process) => process,
            Err(error) => {
                group.remove();
                return Err(failed(error));
            }
        };
        // It holds this side's copy of the output's writing end.
        drop(command);
        let (to, told) = mpsc::channel();
        if let Some(from) = process.stdout.take() {
            std::thread::spawn(move || listen(from, |it| to.send(it).is_ok()));
        }
        let input = process.stdin.take();
        Ok(Client { process, input, told, output: Output::new(output_from), group })
    }

    /// Its process.
    pub fn pid(&self) -> i32 {
        self.process.id() as i32
    }

    /// The control group that it is in.
    pub fn cgroup(&self) -> &Group {
        &self.group
    }

    /// Runs a plan to its end or until stopped, and tells of each second, as
    /// [`load::run`] does. The process lives on until this is dropped, so that what it
    /// used can be read.
    ///
    /// # Errors
    /// Those of [`load::run`], and where the process ended without an outcome.
    pub fn run(
        &mut self,
        plan: &Plan,
        stop: &Stop,
        progress: &mut dyn FnMut(&Progress),
    ) -> Result<Outcome, Error> {
        let mut line = serde_json::to_vec(plan).map_err(|error| self.lost(error.into()))?;
        line.push(b'\n');
        // If it is gone already, that is heard below.
        let mut say = |what: &[u8]| self.input.as_mut().map(|input| input.write_all(what));
        let _ = say(&line);
        let mut is_told_to_stop = false;
        loop {
            if stop.asked() && !is_told_to_stop {
                let _ = say(b"s");
                is_told_to_stop = true;
            }
            match self.told.recv_timeout(LOOK_EVERY) {
                Ok(Told::Second(second)) => progress(&second),
                Ok(Told::Ended(outcome)) => return Ok(*outcome),
                Ok(Told::Failed(error)) => return Err(error),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    let how = self.how_it_ended();
                    return Err(self.lost(io::Error::other(how)));
                }
            }
        }
    }

    fn lost(&self, source: io::Error) -> Error {
        Error::System { what: "offering the load".into(), source }
    }

    /// Why nothing more is heard of it.
    fn how_it_ended(&mut self) -> String {
        let how = match self.process.wait() {
            Ok(status) => keeper::in_words(status),
            Err(error) => error.to_string(),
        };
        let why = match self.group.counted().oom_kills {
            Some(1..) => ", because memory was used up",
            _ => "",
        };
        let words = match self.output.tail().last_lines(LINES) {
            lines if lines.is_empty() => String::new(),
            lines => format!("; it said: {}", lines.join(" / ")),
        };
        format!("the client's process ended with {how}{why}{words}")
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // It has told all, or nobody wants to hear it.
        let _ = self.process.kill();
        let _ = self.process.wait();
        self.group.remove();
    }
}

/// Reads what a client tells until its end, or until nobody takes it.
fn listen(from: ChildStdout, mut takes: impl FnMut(Told) -> bool) {
    let mut from = BufReader::new(from);
    loop {
        let told = match client::line(&mut from) {
            Ok(None) => return,
            Ok(Some(line)) => serde_json::from_str(&line).map_err(io::Error::from),
            Err(error) => Err(error),
        };
        let what = || "understanding the load's client".into();
        let told =
            told.unwrap_or_else(|source| Told::Failed(Error::System { what: what(), source }));
        if !takes(told) {
            return;
        }
    }
}
