//! The server of PostgreSQL that an engine has for itself, as long as it lives.

use std::ffi::{CString, c_int};
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::error::{Error, Result};

/// Who the server takes itself for: it refuses to run as root.
const INNER_ID: u32 = 1000;
/// Time for the processes of another server to end, whose store was killed.
const ENDS_WITHIN: Duration = Duration::from_secs(30);
/// Time for a server to start, in which it may recover.
const STARTS_WITHIN: Duration = Duration::from_secs(600);
const LOOK_EACH: Duration = Duration::from_millis(20);

/// A running server.
pub struct Server {
    process: Child,
    data: OwnedFd,
}

impl Server {
    /// Starts a server on the data in a folder, which are made if there are none, and waits until
    /// it has recovered. Its programs are in `programs`, or found on the PATH.
    ///
    /// # Errors
    /// Where it can't be started.
    pub fn start(dir: &Path, programs: Option<&Path>) -> Result<Server> {
        let program = |name| programs.map_or(PathBuf::from(name), |folder| folder.join(name));
        let lock = lock(dir)?;
        let data = dir.join("postgres");
        if !data.join("PG_VERSION").exists() {
            initialise(&program("initdb"), &lock, dir, &data)?;
        }
        let folder = File::open(&data).map_err(Error::when(data.display()))?;
        let mut command = command(&program("postgres"), &lock);
        command.arg("-D").arg(&data).args(["-k", "."]);
        // Reached by the socket in its folder alone; of its log what ends it.
        command.args(["-c", "listen_addresses=", "-c", "log_min_messages=fatal"]);
        // Else a stop of everything leaves a file in /dev/shm.
        command.args(["-c", "dynamic_shared_memory_type=mmap"]);
        let process = command.spawn().map_err(failed("postgres"))?;
        let mut server = Server { process, data: folder.into() };
        server.wait_until_ready(&data.join("postmaster.pid"))?;
        Ok(server)
    }

    /// Waits until its own file says so, as pg_ctl does: who asks for a connection before is
    /// told so in the log each time.
    fn wait_until_ready(&mut self, state: &Path) -> Result<()> {
        let began = Instant::now();
        let number = self.process.id().to_string();
        loop {
            let state = fs::read_to_string(state).unwrap_or_default();
            let mut lines = state.lines().map(str::trim);
            if lines.next() == Some(&*number) && lines.any(|line| line == "ready") {
                return Ok(());
            }
            if let Some(ended) = self.process.try_wait().map_err(failed("postgres"))? {
                return Err(Error::new(format!("postgres ended at its start, with {ended}")));
            }
            if began.elapsed() > STARTS_WITHIN {
                let seconds = STARTS_WITHIN.as_secs();
                return Err(Error::new(format!("postgres wasn't ready within {seconds} s")));
            }
            std::thread::sleep(LOOK_EACH);
        }
    }

    /// The folder of its socket. By its number, since the name of a socket has to be short.
    pub fn folder(&self) -> String {
        format!("/proc/self/fd/{}", self.data.as_raw_fd())
    }

    /// Ends it in order.
    ///
    /// # Errors
    /// Where it ended otherwise.
    pub fn stop(mut self) -> Result<()> {
        signal(&self.process, libc::SIGINT); // its fast shutdown
        let ended = self.process.wait().map_err(failed("postgres"))?;
        match ended.success() {
            true => Ok(()),
            false => Err(Error::new(format!("postgres ended with {ended}"))),
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Where it wasn't stopped in order. One that ended says nothing to this.
        if let Ok(None) = self.process.try_wait() {
            signal(&self.process, libc::SIGQUIT); // its immediate shutdown
            drop(self.process.wait());
        }
    }
}

fn signal(process: &Child, signal: c_int) {
    // SAFETY: the process isn't waited for yet, so that its number is its own.
    unsafe { libc::kill(process.id() as libc::pid_t, signal) };
}

fn failed(what: &str) -> impl FnOnce(io::Error) -> Error {
    Error::when(format!("{what} can't be run"))
}

/// Waits until no process of another server has the folder. What is given back goes to each process
/// of this one, so that it is locked until the last of them has ended.
fn lock(dir: &Path) -> Result<File> {
    let path = dir.join("postgres.lock");
    let file = File::create(&path).map_err(Error::when(path.display()))?;
    let began = Instant::now();
    // SAFETY: takes a descriptor, which lives as long as the file, and no pointers.
    while unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } != 0 {
        let why = io::Error::last_os_error();
        if why.kind() != io::ErrorKind::WouldBlock || began.elapsed() > ENDS_WITHIN {
            return Err(Error::when(format!("{}: another server", path.display()))(why));
        }
        std::thread::sleep(LOOK_EACH);
    }
    Ok(file)
}

/// Makes the files of a server, whole or not at all.
fn initialise(initdb: &Path, lock: &File, dir: &Path, data: &Path) -> Result<()> {
    let made = dir.join("postgres.new");
    // One that a stop left unfinished.
    if made.exists() {
        fs::remove_dir_all(&made).map_err(Error::when(made.display()))?;
    }
    let mut command = command(initdb, lock);
    command.arg("-D").arg(&made);
    command.args(["-U", "store", "--auth", "trust", "--encoding", "UTF8", "--no-locale"]);
    let output = command.output().map_err(failed("initdb"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr).trim().replace('\n', "; ");
        return Err(Error::new(format!("initdb: {said}")));
    }
    fs::rename(&made, data).map_err(Error::when(data.display()))?;
    File::open(dir).and_then(|folder| folder.sync_all()).map_err(Error::when(dir.display()))
}

/// A program of PostgreSQL that ends with this process, and isn't root: a user namespace has another
/// number for the same user. What it leaves in the kernel's shared memory goes with its IPC
/// namespace, in which it doesn't see another server's: the lock is for that.
fn command(program: &Path, lock: &File) -> Command {
    let lock = lock.as_raw_fd();
    let mut command = Command::new(program);
    command.stdin(Stdio::null()).stdout(Stdio::null());
    // SAFETY: takes nothing.
    let (user, group, parent) = unsafe { (libc::geteuid(), libc::getegid(), libc::getpid()) };
    let line = |id: u32| CString::new(format!("{INNER_ID} {id} 1")).unwrap_or_default();
    let (users, groups) = (line(user), line(group));
    // SAFETY: between fork and exec only system calls are made, on what was made before.
    unsafe {
        command.pre_exec(move || {
            if libc::unshare(libc::CLONE_NEWUSER | libc::CLONE_NEWIPC) == 0 {
                write(c"/proc/self/setgroups".as_ptr(), c"deny".to_bytes())?;
                write(c"/proc/self/uid_map".as_ptr(), users.as_bytes())?;
                write(c"/proc/self/gid_map".as_ptr(), groups.as_bytes())?;
            } else if user == 0 {
                return Err(io::Error::last_os_error());
            }
            if libc::fcntl(lock, libc::F_SETFD, 0) != 0 {
                return Err(io::Error::last_os_error());
            }
            // Its immediate shutdown. Behind the change of user, which would take it back.
            if libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGQUIT) != 0 {
                return Err(io::Error::last_os_error());
            }
            match libc::getppid() == parent {
                true => Ok(()),
                false => Err(io::ErrorKind::BrokenPipe.into()),
            }
        });
    }
    command
}

/// Writes a file by system calls alone.
///
/// # Safety
/// `path` is a text that ends with a zero byte.
unsafe fn write(path: *const libc::c_char, bytes: &[u8]) -> io::Result<()> {
    // SAFETY: as above; the descriptor is closed by nobody else.
    unsafe {
        let file = libc::open(path, libc::O_WRONLY | libc::O_CLOEXEC);
        if file < 0 {
            return Err(io::Error::last_os_error());
        }
        let count = libc::write(file, bytes.as_ptr().cast(), bytes.len());
        let done = match usize::try_from(count) == Ok(bytes.len()) {
            true => Ok(()),
            false => Err(io::Error::last_os_error()),
        };
        libc::close(file);
        done
    }
}
