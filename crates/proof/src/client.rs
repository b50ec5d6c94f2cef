//! A client as a process: started on its processors, limited in time, and asked
//! what it has spent.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::process::{Pid, PidfdFlags, Signal};
use rustix::thread::CpuSet;
use wait4::Wait4;

use crate::interrupt::Interrupt;

/// What a client spent and said.
#[derive(Debug)]
pub struct Ended {
    /// CPU seconds, user and system, from its start to its end.
    pub cpu_s: f64,
    /// Its standard output.
    pub output: String,
    /// How it ended.
    pub status: ExitStatus,
    /// Its standard error.
    pub complaints: String,
}

/// Why a run gave no figures.
#[derive(Debug, Clone, PartialEq)]
pub enum Without {
    /// The program doesn't take the command, now or ever.
    Refused(String),
    /// Anything else.
    Failed(String),
}

impl From<String> for Without {
    fn from(why: String) -> Without {
        Without::Failed(why)
    }
}

/// By this exit code `bakeoff load` says that its arguments are wrong, and that it sent nothing.
const REFUSES: i32 = 2;

impl Ended {
    /// The same as [`Ended::success`] of a `bakeoff load` that may not know the command yet.
    pub fn success_of_bakeoff(self) -> Result<Ended, Without> {
        let refuses = self.status.code() == Some(REFUSES);
        self.success().map_err(if refuses { Without::Refused } else { Without::Failed })
    }

    /// The output of a client that ended well; else one sentence with its last
    /// lines.
    pub fn success(self) -> Result<Ended, String> {
        if self.status.success() {
            return Ok(self);
        }
        let said = if self.complaints.trim().is_empty() { &self.output } else { &self.complaints };
        let lines: Vec<&str> = said.lines().filter(|line| !line.trim().is_empty()).collect();
        let last = lines[lines.len().saturating_sub(3)..].join(" / ");
        let how = match (self.status.code(), self.status.signal()) {
            (Some(code), _) => format!("exit code {code}"),
            (None, Some(signal)) => format!("signal {signal}"),
            (None, None) => self.status.to_string(),
        };
        Err(format!("it ended with {how} and said: {last}"))
    }
}

/// A client that runs. Dropping it kills it; so does the death of this process.
#[derive(Debug)]
pub struct Running {
    child: Child,
    output: File,
    complaints: File,
    deadline: Instant,
    ended: bool,
}

impl Running {
    /// Starts a command on these processors. It is killed `at_most` later.
    ///
    /// To be called from the main thread: the kernel ties the child's life to
    /// the thread that started it.
    pub fn start(command: &[String], cpus: &[usize], at_most: Duration) -> Result<Running, String> {
        let (program, arguments) = command.split_first().ok_or("the command is empty")?;
        let fail = |error: io::Error| format!("couldn't start {program}: {error}");
        // Files without a name: they can't fill up as a pipe can, and go with us.
        let output = tempfile::tempfile().map_err(fail)?;
        let complaints = tempfile::tempfile().map_err(fail)?;
        let mut set = CpuSet::new();
        cpus.iter().for_each(|&cpu| set.set(cpu));
        let parent = rustix::process::getpid();
        let mut command = Command::new(program);
        command
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(output.try_clone().map_err(fail)?)
            .stderr(complaints.try_clone().map_err(fail)?);
        // SAFETY: between fork and exec only three system calls are made; they
        // allocate nothing and take no lock.
        unsafe {
            command.pre_exec(move || {
                rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
                if rustix::process::getppid() != Some(parent) {
                    return Err(io::Error::from(rustix::io::Errno::SRCH));
                }
                Ok(rustix::thread::sched_setaffinity(None, &set)?)
            });
        }
        let child = command.spawn().map_err(fail)?;
        Ok(Running { child, output, complaints, deadline: Instant::now() + at_most, ended: false })
    }

    /// Its process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Whether it ended, after waiting at most so long.
    pub fn ended_within(&self, at_most: Duration) -> Result<bool, String> {
        let fail = |error: rustix::io::Errno| format!("couldn't wait for a client: {error}");
        let pid = Pid::from_child(&self.child);
        let pidfd = rustix::process::pidfd_open(pid, PidfdFlags::empty()).map_err(fail)?;
        let wait = Timespec {
            tv_sec: at_most.as_secs() as i64,
            tv_nsec: i64::from(at_most.subsec_nanos()),
        };
        match rustix::event::poll(&mut [PollFd::new(&pidfd, PollFlags::IN)], Some(&wait)) {
            Ok(ready) => Ok(ready > 0),
            // A signal came: whoever waits asks what it was.
            Err(rustix::io::Errno::INTR) => Ok(false),
            Err(error) => Err(fail(error)),
        }
    }

    /// Waits for its end.
    pub fn wait(mut self, interrupt: &Interrupt) -> Result<Ended, String> {
        while !self.ended_within(Duration::from_millis(100))? {
            interrupt.check()?;
            if Instant::now() >= self.deadline {
                return Err("it ran for longer than it was asked to, and was killed".into());
            }
        }
        let fail = |error: io::Error| format!("couldn't learn what a client spent: {error}");
        let waited = self.child.wait4().map_err(fail)?;
        self.ended = true;
        Ok(Ended {
            cpu_s: (waited.rusage.utime + waited.rusage.stime).as_secs_f64(),
            output: content(&mut self.output).map_err(fail)?,
            complaints: content(&mut self.complaints).map_err(fail)?,
            status: waited.status,
        })
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.ended {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

fn content(file: &mut File) -> io::Result<String> {
    let mut bytes = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start(script: &str, at_most: Duration) -> Running {
        let cpus = load::allowed_cpus().unwrap();
        Running::start(&["sh", "-c", script].map(String::from), &cpus[..1], at_most).unwrap()
    }

    #[test]
    fn what_a_client_spent_and_said_comes_back() {
        let client = start("i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; echo $i", MINUTE);
        let ended = client.wait(&Interrupt::default()).unwrap().success().unwrap();
        assert_eq!(ended.output, "20000\n");
        assert!(ended.cpu_s > 0.0, "a loop of 20,000 turns costs CPU time");
    }

    #[test]
    fn a_client_that_fails_is_told_with_its_last_lines() {
        let client = start("echo one >&2; echo no such host >&2; exit 3", MINUTE);
        let told = client.wait(&Interrupt::default()).unwrap().success().unwrap_err();
        assert_eq!(told, "it ended with exit code 3 and said: one / no such host");
    }

    /// Else an older bakeoff that lacks an option would be tried, and told, in every round.
    #[test]
    fn a_bakeoff_that_doesnt_take_its_command_is_told_from_one_that_fails() {
        let ended = |code| {
            let client = start(&format!("echo no >&2; exit {code}"), MINUTE);
            client.wait(&Interrupt::default()).unwrap().success_of_bakeoff().unwrap_err()
        };
        let says = |code| format!("it ended with exit code {code} and said: no");
        assert_eq!(ended(2), Without::Refused(says(2)));
        assert_eq!(ended(4), Without::Failed(says(4)));
    }

    #[test]
    fn a_client_that_never_ends_is_killed() {
        let client = start("sleep 60", Duration::ZERO);
        let pid = client.pid();
        assert!(client.wait(&Interrupt::default()).unwrap_err().contains("killed"));
        assert!(!std::path::Path::new(&format!("/proc/{pid}")).exists(), "it still runs");
    }

    const MINUTE: Duration = Duration::from_secs(60);
}
