//! The keeper: a small process that starts one program and lets nothing of it
//! live on.
//!
//! bakeoff starts the keeper, and the keeper starts the contender. The keeper
//! is the *subreaper* of all that follows: a descendant that calls `setsid`,
//! daemonises, or loses its parent becomes the keeper's child, so it can't get
//! away. The keeper's standard input is a pipe whose other end only bakeoff
//! holds. When that end closes, the keeper stops everything: SIGTERM, some time,
//! SIGKILL, until no child is left. A pipe closes whatever becomes of its holder,
//! so the same happens when bakeoff is done with the contender, when it crashes,
//! and when it is killed with SIGKILL. A byte written before says that there is
//! no time for SIGTERM. A keeper that a signal asks to end stops everything as
//! well, and then waits for that end: should bakeoff be killed before it has
//! ended its client, nobody else would remove the client's control group.
//!
//! Should the keeper itself be killed, the contender gets SIGKILL from the
//! kernel, and bakeoff, a subreaper as well, kills the rest. Should both be
//! killed at once, what got away is still in the trial's control group, where
//! one could be made, and the next run ends it (`leftovers.rs`).

use std::collections::BTreeSet;
use std::fs::{self, DirBuilder, File};
use std::io::{self, BufRead, Read, Write};
use std::os::fd::{AsFd, IntoRawFd};
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use rustix::process::{Pid, Resource, Rlimit, Signal, WaitOptions};
use serde::{Deserialize, Serialize};

use crate::affinity::pin;
use crate::cgroup::Group;
use crate::leftovers;
use crate::lines::{self, Line};
use crate::perf_data::Ended;
use crate::process_tree;

/// The hidden subcommand of bakeoff that is the keeper.
pub const SUBCOMMAND: &str = "keeper";
/// How long after SIGKILL a process may take to be gone.
const KILLED_WITHIN: Duration = Duration::from_secs(10);

/// What a keeper is to start: one line of JSON on its standard input.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Order {
    /// The command.
    pub command: Vec<String>,
    /// The whole environment.
    pub environment: Vec<(String, String)>,
    /// The folder to start in, where it isn't the scratch folder.
    pub folder: Option<PathBuf>,
    /// A folder to make, start in, and remove at the end.
    pub scratch: Option<Scratch>,
    /// A control group to make, start in, and remove at the end.
    pub cgroup: Group,
    /// The control group of the client that is to put load on the program. bakeoff
    /// makes and removes it; the keeper does the latter too, should bakeoff be killed.
    pub client_cgroup: Group,
    /// The processors to run on; all, if none is named.
    pub cpus: Vec<usize>,
    /// Time between SIGTERM and SIGKILL.
    pub grace: Duration,
    /// Whether its standard output is told of line by line. Else it goes where errors go.
    pub lines: bool,
    /// Whether its standard input stays open, with nothing to read, until it is over: some
    /// servers take its end for their own. Else it is at its end at once.
    pub input: bool,
}

impl Order {
    /// For a tool: in no folder and no control group of its own, on all processors, and
    /// with 1 s to end.
    pub fn tool(command: Vec<String>, environment: Vec<(String, String)>) -> Order {
        Order {
            command,
            environment,
            folder: None,
            scratch: None,
            cgroup: Group::default(),
            client_cgroup: Group::default(),
            cpus: Vec::new(),
            grace: Duration::from_secs(1),
            lines: false,
            input: false,
        }
    }
}

/// A folder that lives as long as the keeper.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Scratch {
    /// Where. It must not be there yet.
    pub path: PathBuf,
    /// Files to put into it: name and content.
    pub files: Vec<(String, String)>,
}

/// What a keeper tells: lines of JSON on its standard output.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// The program runs.
    Started {
        /// Its process.
        pid: i32,
    },
    /// The program can't be started, and why: there is none, or it is none.
    NotStarted(String),
    /// The keeper couldn't do its part, and why: the machine doesn't let it.
    Failed(String),
    /// The program printed a line.
    Line(Line),
    /// Nobody prints any more.
    LinesEnded,
    /// The program ended by itself.
    Exited {
        /// Its exit code; none if a signal ended it.
        code: Option<i32>,
        /// How, in words.
        how: String,
    },
    /// Nothing is left.
    Stopped {
        /// Whether SIGKILL was needed.
        killed: bool,
    },
}

/// The keeper's whole life.
pub fn main() -> ExitCode {
    // A session of its own: Ctrl-C on the terminal is bakeoff's to handle.
    let _ = rustix::process::setsid();
    // A name of its own, so that killing every "bakeoff" by name spares the one
    // that cleans up.
    let _ = rustix::thread::set_name(c"keeper");

    let mut line = String::new();
    if io::stdin().lock().read_line(&mut line).is_err() {
        return ExitCode::FAILURE;
    }
    let order: Order = match serde_json::from_str(&line) {
        Ok(order) => order,
        Err(error) => {
            tell(&Event::Failed(format!("the keeper didn't understand its order: {error}")));
            return ExitCode::FAILURE;
        }
    };
    let result = Signals::watch()
        .map_err(|error| Event::Failed(format!("couldn't watch for signals: {error}")))
        .and_then(|signals| keep(&order, &signals));
    let mut groups = vec![&order.cgroup];
    let is_done = bakeoff_is_done();
    if is_done {
        groups.push(&order.client_cgroup);
    }
    let result = result.and_then(|killed| {
        groups.iter().try_for_each(|group| group.kill()).map_err(Event::Failed)?;
        Ok(killed)
    });
    groups.iter().for_each(|group| group.remove());
    // Whatever the program made of it, the folder is the keeper's.
    if let Some(scratch) = &order.scratch {
        leftovers::remove_folder(&scratch.path);
    }
    match result {
        Ok(killed) => {
            tell(&Event::Stopped { killed });
            if !is_done && !order.client_cgroup.is_nowhere() {
                wait_for_bakeoff();
                let _ = order.client_cgroup.kill();
                order.client_cgroup.remove();
            }
            ExitCode::SUCCESS
        }
        Err(why) => {
            tell(&why);
            ExitCode::FAILURE
        }
    }
}

/// Starts the program, waits for the end of bakeoff's interest, and stops all.
/// Tells whether SIGKILL was needed, or the event that kept it from all that.
fn keep(order: &Order, signals: &Signals) -> Result<bool, Event> {
    rustix::process::set_child_subreaper(Some(rustix::process::getpid())).map_err(|error| {
        Event::Failed(format!("couldn't become the reaper of the program's children: {error}"))
    })?;
    raise_open_files();
    if let Some(scratch) = &order.scratch {
        make(scratch).map_err(Event::Failed)?;
    }
    if !order.cpus.is_empty() {
        // The children inherit it; the keeper itself does next to nothing.
        pin(&order.cpus).map_err(|error| {
            Event::Failed(format!("couldn't bind to the processors {:?}: {error}", order.cpus))
        })?;
    }
    let mut main = Some(start(order, order.cgroup.make()).map_err(Event::NotStarted)?);
    if let Some(pid) = main {
        tell(&Event::Started { pid: pid.as_raw_nonzero().get() });
    }

    let mut ended = Ended::default();
    let ending = loop {
        if let Some(ending) = signals.wait() {
            break ending;
        }
        reap(&mut main, &mut ended);
    };
    let grace = match ending {
        Ending::AtOnce => Duration::ZERO,
        Ending::WithGrace => order.grace,
    };
    let stopped = stop_all(&mut main, &mut ended, &order.cgroup, grace).map_err(Event::Failed);
    ended.clean_up();
    stopped
}

/// How everything is to end.
enum Ending {
    WithGrace,
    AtOnce,
}

/// What the keeper waits for. It sleeps all the while: the processors are the
/// contender's.
struct Signals {
    asked_to_end: Arc<AtomicBool>,
    /// Readable after each signal, so that none is missed before a sleep.
    came: UnixStream,
}

impl Signals {
    /// Handles the end of children, and what would end the keeper before them.
    fn watch() -> io::Result<Signals> {
        use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGTERM};
        let asked_to_end = Arc::new(AtomicBool::new(false));
        let (came, comes) = UnixStream::pair()?;
        came.set_nonblocking(true)?;
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            signal_hook::flag::register(signal, asked_to_end.clone())?;
        }
        for signal in [SIGINT, SIGTERM, SIGHUP, SIGCHLD] {
            signal_hook::low_level::pipe::register(signal, comes.try_clone()?)?;
        }
        Ok(Signals { asked_to_end, came })
    }

    /// Waits for a signal or for bakeoff's word. Tells how all is to end, if it is.
    fn wait(&self) -> Option<Ending> {
        let stdin = io::stdin();
        let mut fds = [PollFd::new(&stdin, PollFlags::IN), PollFd::new(&self.came, PollFlags::IN)];
        let polled = rustix::event::poll(&mut fds, None);
        let input = polled.is_ok() && !fds[0].revents().is_empty();
        let _ = (&self.came).read(&mut [0; 64]);
        if input {
            let said_something = rustix::io::read(&stdin, &mut [0; 1]).is_ok_and(|count| count > 0);
            return Some(if said_something { Ending::AtOnce } else { Ending::WithGrace });
        }
        self.asked_to_end.load(Ordering::Relaxed).then_some(Ending::WithGrace)
    }
}

/// Whether bakeoff is done with the contender, or dead. A keeper may be asked to end
/// before that: then the client is bakeoff's still.
fn bakeoff_is_done() -> bool {
    let stdin = io::stdin();
    let mut fds = [PollFd::new(&stdin, PollFlags::IN)];
    let polled = rustix::event::poll(&mut fds, Some(&Timespec::default()));
    polled.is_ok() && fds[0].revents().contains(PollFlags::HUP)
}

/// Sleeps until bakeoff is done with the contender, or dead.
fn wait_for_bakeoff() {
    let stdin = io::stdin();
    // The end of a pipe is told whatever is asked for; a byte that nobody will read is not.
    let mut fds = [PollFd::new(&stdin, PollFlags::empty())];
    while rustix::event::poll(&mut fds, None) == Err(Errno::INTR) {}
}

fn make(scratch: &Scratch) -> Result<(), String> {
    let written = || {
        DirBuilder::new().mode(0o700).create(&scratch.path)?;
        let mut files = scratch.files.iter();
        files.try_for_each(|(name, content)| fs::write(scratch.path.join(name), content))
    };
    written().map_err(|error: io::Error| {
        let path = scratch.path.display();
        format!("couldn't make the trial's folder {path}, whose place is $TMPDIR: {error}")
    })
}

/// Starts the program. `doors` lead into its control group, before it can fork.
fn start(order: &Order, doors: Vec<File>) -> Result<Pid, String> {
    let (program, arguments) =
        order.command.split_first().ok_or("the command is empty".to_string())?;
    let folder: &Path = match (&order.folder, &order.scratch) {
        (Some(folder), _) => folder,
        (None, Some(scratch)) => &scratch.path,
        (None, None) => Path::new("/"),
    };
    let output = || -> Result<Stdio, String> {
        let own = io::stderr().as_fd().try_clone_to_owned();
        own.map(Stdio::from).map_err(|error| format!("couldn't share the output: {error}"))
    };
    let lines = || -> Result<Stdio, String> {
        let (from, to) = io::pipe().map_err(|error| format!("couldn't make a pipe: {error}"))?;
        std::thread::spawn(move || {
            lines::tell_of(from, |line| tell(&Event::Line(line)));
            tell(&Event::LinesEnded);
        });
        Ok(Stdio::from(to))
    };
    let mut command = Command::new(program);
    command
        .args(arguments)
        .env_clear()
        .envs(order.environment.iter().map(|(name, value)| (name, value)))
        .current_dir(folder)
        .stdin(if order.input { Stdio::piped() } else { Stdio::null() })
        .stdout(if order.lines { lines()? } else { output()? })
        .stderr(output()?)
        .process_group(0);
    bind_to_this_process(&mut command, doors);
    let mut child =
        command.spawn().map_err(|error| format!("couldn't start {program}: {error}"))?;
    // Open until the keeper ends, which the program never outlives.
    child.stdin.take().map(IntoRawFd::into_raw_fd);
    Pid::from_raw(child.id() as i32).ok_or("the program has no process id".to_string())
}

/// Has a command's process killed when the calling thread ends, and begin in the
/// control group behind these doors.
pub fn bind_to_this_process(command: &mut Command, doors: Vec<File>) {
    let parent = rustix::process::getpid();
    // SAFETY: between fork and exec only these few system calls are made; they
    // allocate nothing and take no lock.
    unsafe {
        command.pre_exec(move || {
            rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
            // The parent may have died before the line above took effect.
            if rustix::process::getppid() != Some(parent) {
                return Err(io::Error::from(Errno::SRCH));
            }
            // Without it the group stays empty, and tells nothing.
            for door in &doors {
                let _ = rustix::io::write(door, b"0");
            }
            Ok(())
        });
    }
}

/// Waits for all ended children. Tells how the main program ended, once.
/// Whether any child is left.
fn reap(main: &mut Option<Pid>, ended: &mut Ended) -> bool {
    loop {
        match rustix::process::wait(WaitOptions::NOHANG) {
            Ok(Some((pid, status))) => {
                ended.add(pid.as_raw_nonzero().get());
                if *main == Some(pid) {
                    *main = None;
                    let status = ExitStatus::from_raw(status.as_raw());
                    tell(&Event::Exited { code: status.code(), how: in_words(status) });
                }
            }
            Ok(None) => return true,
            Err(Errno::INTR) => {}
            Err(_) => return false,
        }
    }
}

/// How a process ended, in words.
pub fn in_words(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit code {code}"),
        (None, Some(signal)) => {
            let name = signal_hook::low_level::signal_name(signal).unwrap_or("an unnamed signal");
            format!("{name} (signal {signal})")
        }
        (None, None) => status.to_string(),
    }
}

/// SIGTERM, the grace, SIGKILL, until no child is left. As the keeper is the
/// subreaper, no child means no descendant. Tells whether SIGKILL was needed.
fn stop_all(
    main: &mut Option<Pid>,
    ended: &mut Ended,
    group: &Group,
    grace: Duration,
) -> Result<bool, String> {
    let own = rustix::process::getpid().as_raw_nonzero().get();
    let deadline = Instant::now() + grace;
    // Where there is no time, it has none either to do what it does on SIGTERM.
    let mut rest_asked = grace.is_zero();
    if let Some(pid) = main.filter(|_| !grace.is_zero()) {
        let _ = rustix::process::kill_process(pid, Signal::TERM);
    }
    while reap(main, ended) {
        if main.is_none() && !rest_asked {
            // What the program left behind is asked as well.
            send_to_descendants(own, Signal::TERM);
            rest_asked = true;
        }
        if Instant::now() >= deadline {
            // All at once, where the kernel can: none forks meanwhile.
            group.kill()?;
            return kill_all(own, main, ended).map(|()| true);
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(false)
}

fn kill_all(own: i32, main: &mut Option<Pid>, ended: &mut Ended) -> Result<(), String> {
    let deadline = Instant::now() + KILLED_WITHIN;
    while reap(main, ended) {
        if Instant::now() >= deadline {
            return Err(format!(
                "the processes {:?} outlived SIGKILL for 10 s",
                process_tree::descendants(own)
            ));
        }
        send_to_descendants(own, Signal::KILL);
        std::thread::sleep(Duration::from_millis(2));
    }
    Ok(())
}

fn send_to_descendants(root: i32, signal: Signal) {
    for pid in process_tree::descendants(root).into_iter().filter_map(Pid::from_raw) {
        let _ = rustix::process::kill_process(pid, signal);
    }
}

/// Kills what a killed keeper leaves, which is this process's by then, and all that
/// becomes so when its parent is killed. Others of its children are let be: those that it
/// started itself are in its own session, and other keepers, each in one of its own, are
/// `keepers`.
///
/// Only its own children are killed, whose numbers nobody else can have before it waits for
/// them, and it waits for no other.
pub(crate) fn kill_orphans(keepers: &BTreeSet<i32>) {
    let deadline = Instant::now() + KILLED_WITHIN;
    let mut ended = Ended::default();
    loop {
        let orphans = process_tree::children_of_other_sessions();
        let orphans: Vec<Pid> = orphans
            .into_iter()
            .filter(|pid| !keepers.contains(pid))
            .filter_map(Pid::from_raw)
            .collect();
        if orphans.is_empty() || Instant::now() >= deadline {
            break ended.clean_up();
        }
        for &pid in &orphans {
            let _ = rustix::process::kill_process(pid, Signal::KILL);
        }
        std::thread::sleep(Duration::from_millis(2));
        for &pid in &orphans {
            if let Ok(Some(_)) = rustix::process::waitpid(Some(pid), WaitOptions::NOHANG) {
                ended.add(pid.as_raw_nonzero().get());
            }
        }
    }
}

fn raise_open_files() {
    let limit = rustix::process::getrlimit(Resource::Nofile);
    let raised = Rlimit { current: limit.maximum, maximum: limit.maximum };
    let _ = rustix::process::setrlimit(Resource::Nofile, raised);
}

/// Tells bakeoff, if it is still there to listen.
fn tell(event: &Event) {
    let mut out = io::stdout().lock();
    let _ = serde_json::to_writer(&mut out, event);
    let _ = out.write_all(b"\n");
    let _ = out.flush();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::until::until;

    /// A killed keeper's are this process's children, as are other keepers, and what it started
    /// itself.
    #[test]
    fn of_all_children_those_are_killed_that_a_killed_keeper_left() {
        rustix::process::set_child_subreaper(Some(rustix::process::getpid())).unwrap();
        let mut own = Command::new("sleep").arg("60").spawn().unwrap();
        let mut keeper = Command::new("setsid").args(["sleep", "60"]).spawn().unwrap();
        let keepers = BTreeSet::from([keeper.id() as i32]);
        // One that has a child, and one that has ended before.
        let script = "setsid sh -c 'sleep 60 & wait' & setsid true & exit";
        let mut gone = Command::new("sh").args(["-c", script]).spawn().unwrap();
        gone.wait().unwrap();
        let others = || process_tree::children_of_other_sessions();
        let orphans = || others().into_iter().filter(|pid| !keepers.contains(pid)).count();
        let are_there = || orphans() > 0 && others().len() > orphans();
        assert!(until(Duration::from_secs(60), are_there), "there is nothing to kill");
        kill_orphans(&keepers);
        assert_eq!(orphans(), 0);
        let live = [&mut own, &mut keeper].map(|child| {
            let is_alive = child.try_wait().expect("nobody else waited for it").is_none();
            child.kill().unwrap();
            child.wait().unwrap();
            is_alive
        });
        assert_eq!(live, [true; 2], "one that is no orphan was killed");
    }
}
