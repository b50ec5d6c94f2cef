//! The load's client, seen from bakeoff: a process of its own, in a control group of
//! its own, as the contender is.
//!
//! Its whole life is in `load::agent`. It can't outlive bakeoff: its input closes
//! with bakeoff, and the kernel kills it. Its group goes with it; should bakeoff be
//! killed, the contender's keeper removes that. Nor can it hold bakeoff up: how long a
//! load takes is known before.

use std::io::{self, PipeReader};
use std::path::Path;
use std::process::Command;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hosts::client::ClientProcess;
use keeper::output::{Output, lock};
use load::agent::{Heard, Told};
use load::{Error, Moment, Outcome, Plan, Progress, START_AHEAD, Stop};

use super::Outside;
use crate::place::reach::Reach;

/// Between two looks whether the run is to end.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// What a client may take beyond the load itself: a busy machine, and telling all.
const BEYOND_LOAD: Duration = Duration::from_secs(30);
/// Lines that are kept of what a client says before it dies.
const LINES: usize = 3;

/// What is told of a load while it is offered.
#[derive(Debug, Clone, Copy)]
pub enum LoadNews<'a> {
    /// The connections that are kept are made. The load begins once this is heard.
    Connected,
    /// A second has ended.
    Second(&'a Progress),
}

/// A client's process. Dropping it ends it.
#[derive(Debug)]
pub struct Client {
    process: ClientProcess,
    told: Receiver<Told>,
    /// What it says beside: the last words of one that fails.
    output: Arc<Mutex<Output>>,
    reach: Reach,
}

impl Client {
    /// Starts bakeoff's own there, which waits for its plan.
    ///
    /// # Errors
    /// The kernel's.
    pub fn start(reach: Reach) -> Result<Client, Error> {
        Client::start_as(ClientProcess::own(), "starting the load's client", reach)
    }

    /// The same of another program, which hears and tells what `load::agent` does.
    ///
    /// # Errors
    /// The kernel's.
    pub fn start_other(program: &Path, reach: Reach) -> Result<Client, Error> {
        let what = format!("starting {} as the load's client", program.display());
        Client::start_as(Command::new(program), &what, reach)
    }

    fn start_as(mut command: Command, what: &str, reach: Reach) -> Result<Client, Error> {
        let failed = |source| Error::System { what: what.into(), source };
        let (output_from, output_to) = io::pipe().map_err(failed)?;
        command.stderr(output_to);
        reach.bring(&mut command);
        Client::of(command, output_from, reach.clone()).map_err(|source| {
            reach.group.remove();
            failed(source)
        })
    }

    /// That of a command, whose stderr is the other end of this pipe.
    fn of(command: Command, output: PipeReader, reach: Reach) -> io::Result<Client> {
        let (output, _) = Output::followed(output, Vec::new())?;
        let (to, told) = mpsc::channel();
        let process = ClientProcess::start(command, move |told| {
            told.is_some_and(|told| to.send(told).is_ok())
        })?;
        Ok(Client { process, told, output, reach })
    }

    /// Its process, and where that is counted.
    pub fn outside(&self) -> Outside {
        Outside { pid: self.process.id() as i32, cgroup: self.reach.group.clone() }
    }

    /// Runs a plan to its end, and tells when it has connected, and of each second; `None` if it
    /// was stopped on the way. The process lives on until this is dropped, so that what
    /// it used can be read.
    ///
    /// # Errors
    /// Those of [`load::run`], and where the process gave no outcome.
    pub fn run(
        &mut self,
        plan: &Plan,
        stop: &Stop,
        tell: &mut dyn FnMut(LoadNews),
    ) -> Result<Option<Outcome>, Error> {
        self.process.say(&Heard::Plan(Box::new(plan.clone())));
        let within = plan.longest().map(|longest| longest.saturating_add(BEYOND_LOAD));
        self.hear(within, stop, tell)
    }

    /// Hears it out, unless it takes longer than this.
    fn hear(
        &mut self,
        within: Option<Duration>,
        stop: &Stop,
        tell: &mut dyn FnMut(LoadNews),
    ) -> Result<Option<Outcome>, Error> {
        // Counted in looks in vain: while bakeoff is stopped itself, nobody waits.
        let mut waited = Duration::ZERO;
        while !stop.asked() {
            match self.told.recv_timeout(LOOK_EVERY) {
                Ok(Told::Ready) => {
                    tell(LoadNews::Connected);
                    self.process.say(&Heard::Start(Moment::now().after(START_AHEAD)));
                }
                Ok(Told::Second(second)) => tell(LoadNews::Second(&second)),
                // Nobody looks on.
                Ok(Told::Connecting(_)) => {}
                Ok(Told::Ended(outcome)) => return Ok(Some(*outcome)),
                Ok(Told::Failed(error)) => return Err(error),
                Err(RecvTimeoutError::Timeout) => waited += LOOK_EVERY,
                Err(RecvTimeoutError::Disconnected) => {
                    let how = self.how_it_ended();
                    return Err(self.lost(io::Error::other(how)));
                }
            }
            if let Some(within) = within.filter(|&within| waited >= within) {
                let why = format!(
                    "the client's process told no outcome within {} s, though the load was to \
                     be over by then: it was stopped, or had no time to run{}",
                    within.as_secs_f64(),
                    self.last_words()
                );
                return Err(self.lost(io::Error::other(why)));
            }
        }
        Ok(None)
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
        let why = match self.reach.group.counted().oom_kills {
            Some(1..) => ", because memory was used up",
            _ => "",
        };
        format!("the client's process ended with {how}{why}{}", self.last_words())
    }

    fn last_words(&self) -> String {
        match lock(&self.output).tail().last_lines(LINES) {
            lines if lines.is_empty() => String::new(),
            lines => format!("; it said: {}", lines.join(" / ")),
        }
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.process.end();
        self.reach.group.remove();
    }
}

#[cfg(test)]
mod tests {
    use keeper::cgroup::Group;

    use super::*;

    fn nowhere() -> Reach {
        Reach { group: Group::default(), cpus: Vec::new() }
    }

    /// A shell in the place of a client, and what becomes of it within this time.
    fn heard(script: &str, within: Option<Duration>) -> Result<Option<Outcome>, String> {
        let (from, to) = io::pipe().unwrap();
        let mut command = Command::new("sh");
        command.args(["-c", script]).stderr(to);
        let mut client = Client::of(command, from, nowhere()).unwrap();
        let heard = client.hear(within, &Stop::default(), &mut |_| {});
        heard.map_err(|error| error.to_string())
    }

    #[test]
    fn a_client_that_dies_over_its_outcome_is_told_with_its_end_and_last_words() {
        let why = heard("printf '{\"ended\": {'; echo 'no luck' >&2; kill -KILL $$", None);
        assert_eq!(
            why.unwrap_err(),
            "offering the load: the client's process ended with SIGKILL (signal 9); it said: \
             no luck"
        );
    }

    #[test]
    fn what_a_client_tells_has_to_be_understood() {
        let why = heard("echo '{\"begun\": 1}'; exec sleep 60", None).unwrap_err();
        assert!(why.starts_with("understanding the load's client: unknown variant"), "{why}");
    }

    #[test]
    fn a_client_that_tells_nothing_is_not_waited_for_for_ever() {
        let why = heard("exec sleep 60", Some(Duration::from_millis(50))).unwrap_err();
        assert!(why.contains("the client's process told no outcome within 0.05 s"), "{why}");
    }

    /// More than a pipe holds.
    #[test]
    fn a_client_with_much_to_say_beside_does_not_wait_for_a_reader() {
        let script = "i=0; while [ $i -lt 4000 ]; do echo 'a line of some fifty bytes, which \
                      nobody asked for' >&2; i=$((i+1)); done; echo nonsense; exec sleep 60";
        let why = heard(script, Some(Duration::from_secs(50))).unwrap_err();
        assert!(why.starts_with("understanding the load's client"), "{why}");
    }

    #[test]
    fn a_run_that_is_to_end_waits_for_no_client() {
        let (from, to) = io::pipe().unwrap();
        let mut command = Command::new("sleep");
        command.arg("60").stderr(to);
        let mut client = Client::of(command, from, nowhere()).unwrap();
        let stop = Stop::default();
        stop.now();
        assert_eq!(client.hear(None, &stop, &mut |_| {}).unwrap(), None);
    }
}
