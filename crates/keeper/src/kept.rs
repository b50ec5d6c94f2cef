//! A program under a keeper, seen from bakeoff.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::process::{Pid, Signal};

use crate::affinity;
use crate::cgroup::Group;
use crate::keeper::{self, Event, Order};
use crate::leftovers;
use crate::lines::Line;
use crate::open_files::{BLOCK_BYTES, written_outside};
use crate::output::{Output, lock};
use crate::process_tree;
use crate::until::until;

/// Of more files than these, what they take isn't added up.
const FILES_MAX: usize = 10_000;

/// How long after SIGKILL its processes may take to be gone.
const CRASHED_WITHIN: Duration = Duration::from_secs(10);
/// How long its output is read on once all that it started has ended.
const READ_ON: Duration = Duration::from_secs(2);

/// The keepers of this process that haven't been waited for.
static KEEPERS: Mutex<BTreeSet<i32>> = Mutex::new(BTreeSet::new());

/// A program that runs under a keeper. Dropping it stops it.
#[derive(Debug)]
pub struct Kept {
    keeper: Child,
    /// The end of the pipe whose closing stops the program.
    hold: Option<ChildStdin>,
    scratch: Option<PathBuf>,
    cgroup: Group,
    client_cgroup: Group,
    grace: Duration,
    told: Arc<Told>,
    output: Arc<Mutex<Output>>,
    readers: Vec<JoinHandle<()>>,
    lines: Receiver<Line>,
}

/// What the keeper told so far.
#[derive(Debug, Default)]
struct Told {
    events: Mutex<Events>,
    changed: Condvar,
}

#[derive(Debug, Default, Clone)]
struct Events {
    started: bool,
    not_started: Option<String>,
    failed: Option<String>,
    exited: Option<Exit>,
    stopped: Option<bool>,
    /// The keeper is gone, whether or not it said so.
    silent: bool,
}

/// Why a program doesn't run.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum NotStarted {
    /// It can't be started: there is none of that name, or it is no program.
    #[error("{0}")]
    Program(String),
    /// The machine doesn't give what it takes, whatever the program is.
    #[error("{0}")]
    Machine(String),
}

impl From<NotStarted> for String {
    fn from(why: NotStarted) -> String {
        match why {
            NotStarted::Program(why) | NotStarted::Machine(why) => why,
        }
    }
}

/// What is left of a program that was stopped.
#[derive(Debug, Clone, PartialEq)]
pub struct Stopped {
    /// Whether SIGKILL was needed.
    pub killed: bool,
    /// The last lines of its output, as many as were asked for.
    pub last_lines: Vec<String>,
    /// Bytes that it wrote to its output.
    pub output_bytes: u64,
}

/// How a program ended by itself.
#[derive(Debug, Clone, PartialEq)]
pub struct Exit {
    /// Its exit code; none if a signal ended it.
    pub code: Option<i32>,
    /// How, in words.
    pub how: String,
}

impl Kept {
    /// Starts a program under a new keeper.
    ///
    /// # Errors
    /// [`NotStarted`], if it doesn't run.
    pub fn start(order: &Order) -> Result<Kept, NotStarted> {
        // Should the keeper be killed, its children become this process's.
        let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
        let pipe = |error| NotStarted::Machine(format!("couldn't make a pipe: {error}"));
        let (output_from, output_to) = std::io::pipe().map_err(pipe)?;
        // Each line that is written wakes whoever reads it.
        let away = affinity::allowed().unwrap_or_default();
        let away: Vec<usize> = away.into_iter().filter(|cpu| !order.cpus.contains(cpu)).collect();
        let (output, reader) = Output::followed(output_from, away.clone()).map_err(pipe)?;
        let mut readers = vec![reader];
        let mut command = Command::new("/proc/self/exe");
        command
            .arg0("keeper")
            .arg(keeper::SUBCOMMAND)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(output_to);
        let mut keeper = {
            // Held until it is among them: else it might be taken for an orphan.
            let mut keepers = lock(&KEEPERS);
            let keeper = command.spawn().map_err(|error| {
                NotStarted::Machine(format!("couldn't start the keeper: {error}"))
            })?;
            keepers.insert(keeper.id() as i32);
            keeper
        };
        // It holds this side's copy of the output's writing end.
        drop(command);
        let mut hold = keeper.stdin.take();
        let told = Arc::new(Told::default());
        let (to_lines, lines) = mpsc::channel();
        if let Some(events) = keeper.stdout.take() {
            readers.push(read_events(events, (told.clone(), to_lines), away.clone()));
        }
        let mut line = serde_json::to_vec(order)
            .map_err(|error| NotStarted::Program(format!("it can't be told: {error}")))?;
        line.push(b'\n');
        // If the keeper is gone already, the events say so.
        let _ = hold.as_mut().map(|hold| hold.write_all(&line));
        let kept = Kept {
            keeper,
            hold,
            scratch: order.scratch.as_ref().map(|scratch| scratch.path.clone()),
            cgroup: order.cgroup.clone(),
            client_cgroup: order.client_cgroup.clone(),
            grace: order.grace,
            told,
            output,
            readers,
            lines,
        };
        let events = kept.wait_until(Duration::from_secs(10), |events| {
            events.started || events.not_started.is_some() || events.failed.is_some()
        });
        match events {
            Events { not_started: Some(why), .. } => Err(NotStarted::Program(why)),
            Events { failed: Some(why), .. } => Err(NotStarted::Machine(why)),
            Events { started: true, .. } => Ok(kept),
            _ => Err(NotStarted::Machine("the keeper of the program didn't start it".into())),
        }
    }

    /// The keeper's process, whose descendants are the program's.
    pub fn root(&self) -> i32 {
        self.keeper.id() as i32
    }

    /// The control group that the program is in.
    pub fn cgroup(&self) -> &Group {
        &self.cgroup
    }

    /// The control group for the client that puts load on the program.
    pub fn client_cgroup(&self) -> &Group {
        &self.client_cgroup
    }

    /// How the program ended, if it did by itself.
    pub fn exited(&self) -> Option<Exit> {
        let events = lock(&self.told.events);
        match &events.exited {
            Some(exit) => Some(exit.clone()),
            None if events.silent => {
                Some(Exit { code: None, how: "the end of its keeper, which was killed".into() })
            }
            None => None,
        }
    }

    /// Waits for the program to end by itself, at most so long.
    pub fn wait(&self, at_most: Duration) -> Option<Exit> {
        self.wait_until(at_most, |events| events.exited.is_some() || events.silent);
        self.exited()
    }

    /// The last lines of its output.
    pub fn last_lines(&self, count: usize) -> Vec<String> {
        lock(&self.output).tail().last_lines(count)
    }

    /// Bytes that it wrote to its output.
    pub fn output_bytes(&self) -> u64 {
        lock(&self.output).tail().written()
    }

    /// Its scratch folder, where it has one.
    pub fn scratch(&self) -> Option<&Path> {
        self.scratch.as_deref()
    }

    /// Bytes that the files in its scratch folder take; `None` where it has none, or they
    /// can't be told.
    pub fn scratch_bytes(&self) -> Option<u64> {
        bytes_below(self.scratch.as_deref()?)
    }

    /// Bytes that files on disks take which it has open for writing, outside of its scratch folder;
    /// `None` where it has none, or they can't be seen.
    pub fn bytes_outside_scratch(&self) -> Option<u64> {
        let group = self.cgroup.inhabited();
        let pids = if group.is_nowhere() {
            process_tree::descendants(self.root())
        } else {
            group.processes()
        };
        written_outside(&pids, self.scratch.as_deref()?)
    }

    /// Has it stopped with SIGKILL when its time comes: there is none to wait.
    pub fn hurry(&mut self) {
        // If the keeper is gone already, nothing is left to hurry.
        let _ = self.hold.as_mut().map(|hold| hold.write_all(b"k"));
    }

    /// Kills it and all that it started, as a crash does. Its folder stays until it is stopped.
    ///
    /// # Errors
    /// One sentence, if some of it lives on.
    pub fn crash(&self) -> Result<(), String> {
        // It may fork while it is looked at.
        let are_gone = until(CRASHED_WITHIN, || {
            let living = process_tree::descendants(self.root());
            for pid in living.iter().copied().filter_map(Pid::from_raw) {
                let _ = rustix::process::kill_process(pid, Signal::KILL);
            }
            living.is_empty()
        });
        if are_gone { Ok(()) } else { Err("some of it lives on after SIGKILL".into()) }
    }

    /// The next line that it printed, waited for at most so long, where its order has `lines`.
    ///
    /// # Errors
    /// Whether there is none yet, or will be none.
    pub fn next_line(&self, at_most: Duration) -> Result<Line, RecvTimeoutError> {
        self.lines.recv_timeout(at_most)
    }

    /// Stops it and all that it started.
    ///
    /// # Errors
    /// One sentence, if something may have survived.
    pub fn stop(mut self, lines: usize) -> Result<Stopped, String> {
        self.end()?;
        Ok(Stopped {
            killed: lock(&self.told.events).stopped.unwrap_or(true),
            last_lines: self.last_lines(lines),
            output_bytes: self.output_bytes(),
        })
    }

    fn end(&mut self) -> Result<(), String> {
        if self.hold.take().is_none() {
            return Ok(());
        }
        // The keeper's own limit for SIGKILL is 10 s.
        let at_most = self.grace + Duration::from_secs(12);
        if !until(at_most, || !matches!(self.keeper.try_wait(), Ok(None))) {
            let _ = self.keeper.kill();
            let _ = self.keeper.wait();
        }
        let mut keepers = lock(&KEEPERS);
        keepers.remove(&self.root());
        if lock(&self.told.events).stopped.is_none() {
            keeper::kill_orphans(&keepers);
            let _ = self.cgroup.kill();
            self.cgroup.remove();
        }
        drop(keepers);
        // They end with the last who holds the other end, which may be one that nothing ends.
        let all_let_go = until(READ_ON, || self.readers.iter().all(JoinHandle::is_finished));
        if let Some(scratch) = &self.scratch {
            leftovers::remove_folder(scratch);
        }
        let events = lock(&self.told.events).clone();
        match (events.stopped, events.failed) {
            (None, Some(why)) => Err(why),
            _ if !all_let_go => Err("a process that it started elsewhere, or that can't be \
                                     ended, holds its output still"
                .into()),
            _ => Ok(()),
        }
    }

    fn wait_until(&self, at_most: Duration, done: impl Fn(&Events) -> bool) -> Events {
        let events = lock(&self.told.events);
        let waiting = |events: &mut Events| !done(events) && !events.silent;
        match self.told.changed.wait_timeout_while(events, at_most, waiting) {
            Ok((events, _)) => events.clone(),
            Err(poisoned) => poisoned.into_inner().0.clone(),
        }
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        let _ = self.end();
    }
}

/// Bytes that all files below a folder take.
fn bytes_below(folder: &Path) -> Option<u64> {
    let mut folders = vec![folder.to_path_buf()];
    let (mut files, mut bytes) = (0, 0);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).ok()?.flatten() {
            files += 1;
            if files > FILES_MAX {
                return None;
            }
            // It may be gone by now.
            match entry.metadata() {
                Ok(metadata) if metadata.is_dir() => folders.push(entry.path()),
                Ok(metadata) => bytes += metadata.blocks() * BLOCK_BYTES,
                Err(_) => {}
            }
        }
    }
    Some(bytes)
}

/// Reads on a thread on these processors.
fn read_events(
    from: impl std::io::Read + Send + 'static,
    (told, lines): (Arc<Told>, Sender<Line>),
    cpus: Vec<usize>,
) -> JoinHandle<()> {
    let mut lines = Some(lines);
    std::thread::spawn(move || {
        let _ = affinity::pin(&cpus);
        for line in BufReader::new(from).lines().map_while(Result::ok) {
            let Ok(event) = serde_json::from_str::<Event>(&line) else { continue };
            let mut events = lock(&told.events);
            match event {
                // Nobody may want it any more.
                Event::Line(line) => {
                    let _ = lines.as_ref().map(|lines| lines.send(line));
                }
                Event::LinesEnded => lines = None,
                Event::Started { .. } => events.started = true,
                Event::NotStarted(why) => events.not_started = Some(why),
                Event::Failed(why) => events.failed = Some(why),
                Event::Exited { code, how } => events.exited = Some(Exit { code, how }),
                Event::Stopped { killed } => events.stopped = Some(killed),
            }
            told.changed.notify_all();
        }
        lock(&told.events).silent = true;
        told.changed.notify_all();
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_in_folders_are_added_up_and_links_are_not_followed() {
        let root = tempfile::tempdir().unwrap();
        let empty = bytes_below(root.path()).unwrap();
        fs::create_dir(root.path().join("logs")).unwrap();
        fs::write(root.path().join("logs/access"), [b'x'; 100_000]).unwrap();
        std::os::unix::fs::symlink("/", root.path().join("root")).unwrap();
        let grown = bytes_below(root.path()).unwrap() - empty;
        assert!((100_000..200_000).contains(&grown), "{grown}");
        assert_eq!(bytes_below(&root.path().join("none")), None);
    }
}
