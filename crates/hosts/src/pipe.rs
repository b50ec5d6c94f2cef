//! An agent as the hub has it: a process, with lines both ways.
//!
//! The hub never waits for a host: what it says is written by a thread, and what it hears comes
//! through a channel that all hosts share. That thread also tells the agent now and then that the
//! hub is there.

use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use keeper::output::{Output, lock};
use keeper::text::harmless;
use load::Moment;
use load::agent::line;

use crate::Host;
use crate::wire::{BEFORE_GREETING_BYTES_MAX, GREETING, ToAgent, ToHub, line_of};

/// How often each side tells that it is there.
pub(crate) const ALIVE_EVERY: Duration = Duration::from_secs(1);
/// Lines that are told of what a host says before it is gone.
const LINES: usize = 3;
/// How long an end that is in sight is waited for.
const ENDS_WITHIN: Duration = Duration::from_millis(500);

/// What is heard of a host.
pub(crate) enum Heard {
    /// A message, and when it came by the hub's clock.
    Said(ToHub, Moment),
    /// A line that is none.
    Unreadable(String),
    /// The pipe has ended.
    Gone,
}

/// An agent's process. Dropping it ends it, and with the pipe the agent ends as well.
pub(crate) struct Pipe {
    process: Child,
    to: Option<Sender<Vec<u8>>>,
    /// What it says beside: the last words of one that fails.
    output: Arc<Mutex<Output>>,
}

impl Pipe {
    /// Starts a command that leads to an agent. What is heard of it goes to `to`, with `number`.
    ///
    /// # Errors
    /// The kernel's.
    pub(crate) fn open(
        host: &Host,
        program: &str,
        number: usize,
        to: Sender<(usize, Heard)>,
    ) -> io::Result<Pipe> {
        let mut words = host.reach.iter().map(String::as_str).chain([program, "agent"]);
        let first = words.next().expect("the program, if nothing leads there");
        let mut command = Command::new(first);
        command.args(words);
        // Ctrl-C on the terminal is the hub's to handle.
        command.process_group(0);
        keeper::bind_to_this_process(&mut command, Vec::new());
        let (output_from, output_to) = io::pipe()?;
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(output_to);
        let (output, _) = Output::followed(output_from, Vec::new())?;
        let mut process = command.spawn()?;
        // It holds this side's copy of the output's writing end.
        drop(command);
        let (lines_to, lines) = mpsc::channel();
        if let Some(input) = process.stdin.take() {
            std::thread::spawn(move || write_all(&lines, input));
        }
        if let Some(from) = process.stdout.take() {
            std::thread::spawn(move || listen(from, |heard| to.send((number, heard)).is_ok()));
        }
        Ok(Pipe { process, to: Some(lines_to), output })
    }

    /// Says something. If nobody hears it any more, that is heard by the silence.
    pub(crate) fn say(&self, what: &ToAgent) {
        let _ = self.to.as_ref().map(|to| to.send(line_of(what)));
    }

    /// Why nothing more is heard of it.
    pub(crate) fn how_it_ended(&mut self) -> String {
        let ended = (0..ENDS_WITHIN.as_millis() / 10).find_map(|_| {
            let ended = self.process.try_wait().ok().flatten();
            if ended.is_none() {
                std::thread::sleep(Duration::from_millis(10));
            }
            ended
        });
        let how = match ended {
            Some(status) => format!("its pipe ended with {}", keeper::in_words(status)),
            None => "its pipe closed".into(),
        };
        how + &self.last_words()
    }

    /// What it said beside, as the end of a sentence.
    pub(crate) fn last_words(&self) -> String {
        match lock(&self.output).tail().last_lines(LINES) {
            lines if lines.is_empty() => String::new(),
            lines => format!("; it said: {}", lines.join(" / ")),
        }
    }
}

impl Drop for Pipe {
    fn drop(&mut self) {
        // The writer lets go of the input, with which the agent ends.
        self.to = None;
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Writes lines until there are no more to come, or nobody reads. In between it tells that the hub
/// is there.
fn write_all(lines: &mpsc::Receiver<Vec<u8>>, mut to: impl Write) {
    let alive = line_of(&ToAgent::Alive);
    loop {
        let line = match lines.recv_timeout(ALIVE_EVERY) {
            Ok(line) => line,
            Err(RecvTimeoutError::Timeout) => alive.clone(),
            Err(RecvTimeoutError::Disconnected) => return,
        };
        if to.write_all(&line).and_then(|()| to.flush()).is_err() {
            return;
        }
    }
}

/// Hears an agent until its end, or until nobody takes it. What comes before its greeting is
/// passed over.
fn listen(from: impl Read, mut takes: impl FnMut(Heard) -> bool) {
    let mut from = BufReader::new(from);
    let mut next = match after_banner(&mut from) {
        Ok(Some(greeting)) => Ok(Some(greeting)),
        Ok(None) => {
            takes(Heard::Gone);
            return;
        }
        Err(error) => Err(error),
    };
    loop {
        let heard = match next {
            Ok(None) => Heard::Gone,
            Ok(Some(line)) => match serde_json::from_str(&line) {
                Ok(said) => Heard::Said(said, Moment::now()),
                Err(error) => Heard::Unreadable(error.to_string()),
            },
            // It ended within a line.
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => Heard::Gone,
            Err(error) => Heard::Unreadable(error.to_string()),
        };
        let is_last = !matches!(heard, Heard::Said(..));
        if !takes(heard) || is_last {
            return;
        }
        next = line(&mut from);
    }
}

/// The first line that begins as an agent's does; `None` where the end comes before.
///
/// # Errors
/// That too much comes before it, with its beginning.
fn after_banner(from: &mut impl BufRead) -> io::Result<Option<String>> {
    let mut before = Vec::new();
    loop {
        let begin = before.len();
        let room = (BEFORE_GREETING_BYTES_MAX - begin) as u64;
        let read = from.take(room).read_until(b'\n', &mut before)?;
        if read == 0 && room > 0 {
            return Ok(None);
        }
        let line = &before[begin..];
        if line.starts_with(GREETING.as_bytes()) && line.ends_with(b"\n") {
            let line = String::from_utf8_lossy(&line[..line.len() - 1]);
            return Ok(Some(line.into_owned()));
        }
        if before.len() >= BEFORE_GREETING_BYTES_MAX {
            let shown = harmless(&String::from_utf8_lossy(&before[..80]));
            let what = format!("no agent speaks within {} bytes: \"{shown}…\"", before.len());
            return Err(io::Error::new(ErrorKind::InvalidData, what));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard_of(bytes: &[u8]) -> Vec<String> {
        let mut heard = Vec::new();
        listen(bytes, |it| {
            heard.push(match it {
                Heard::Said(said, _) => format!("{said:?}"),
                Heard::Unreadable(why) => why,
                Heard::Gone => "gone".into(),
            });
            true
        });
        heard
    }

    const HELLO: &str = r#"{"bakeoff":{"build":{"protocol":1,"version":"1","digest":"d"},"name":"n",
        "kernel":"6","cpus":[0],"files":9,"ports":[1,2],"backend":"epoll","boot_id":"b"}}"#;

    /// Else a login's banner would be an agent that can't be understood.
    #[test]
    fn what_comes_before_the_greeting_is_passed_over() {
        let hello = HELLO.replace('\n', "");
        let heard = heard_of(format!("Welcome\n\n{{\"x\": 1}}\n{hello}\n\"alive\"\n").as_bytes());
        assert_eq!(heard.len(), 3, "{heard:?}");
        assert!(heard[0].starts_with("Hello"), "{heard:?}");
        assert_eq!(&heard[1..], ["Alive", "gone"]);
    }

    /// Else the hub would wait, or fill its memory, for whatever a host prints.
    #[test]
    fn a_host_that_never_greets_is_told() {
        assert_eq!(heard_of(b"login: "), ["gone"]);
        let endless = "x".repeat(BEFORE_GREETING_BYTES_MAX + 10);
        let heard = heard_of(endless.as_bytes());
        assert!(heard.len() == 1 && heard[0].starts_with("no agent speaks within"), "{heard:?}");
    }

    #[test]
    fn a_line_that_is_torn_or_none_of_ours_is_the_last() {
        let hello = HELLO.replace('\n', "");
        let heard = heard_of(format!("{hello}\n{{\"ended\": {{\"run\"").as_bytes());
        assert_eq!(heard[1..], ["gone"]);
        let heard = heard_of(format!("{hello}\nrm -rf\n\"alive\"\n").as_bytes());
        assert_eq!(heard.len(), 2, "{heard:?}");
        assert!(heard[1].contains("expected"), "{heard:?}");
    }
}
