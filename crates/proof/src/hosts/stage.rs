//! Machines made of namespaces: the server's, and three hosts on a bridge.
//!
//! `proof` starts itself anew as the first process of a process namespace. When that ends, however
//! it ends, the kernel ends all others in it, and with them go networks, mounts and files: all
//! files lie in memory, below a folder that only they see.

use std::fs::{self, File};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use lab::ready::programs;
use rustix::process::geteuid;

use crate::interrupt::Interrupt;

/// Where the hosts reach the server.
pub const SERVER: &str = "10.77.0.1";
/// The hosts. The clock of the second is ahead.
pub const NAMES: [&str; 3] = ["c1", "c2", "c3"];
/// By so many seconds.
pub const AHEAD_S: u32 = 86_400;
/// Where all files lie. Each host has a home of its own.
const FOLDER: &str = "/run";
const HOME: &str = "/run/home";

/// Where `srun` finds its cluster.
pub const SLURM_CONF: &str = "slurm/slurm.conf";

/// Set where this process is the first one on the stage.
const IS_SET: &str = "BAKEOFF_PROOF_ON_STAGE";
/// What makes the stage.
const NAMESPACES: [&str; 7] =
    ["--mount", "--net", "--uts", "--pid", "--fork", "--kill-child", "--mount-proc"];
/// How long something may take that is set up here.
const WITHIN: Duration = Duration::from_secs(20);

/// Whether this process is on the stage.
pub fn is_entered() -> bool {
    std::env::var_os(IS_SET).is_some()
}

/// Why none can be made here, if it can't.
pub fn missing() -> Option<String> {
    if !geteuid().is_root() {
        return Some("only root makes namespaces".into());
    }
    let needed = ["unshare", "nsenter", "mount", "ip", "tc", "env"];
    if let Some(program) = needed.into_iter().find(|it| programs::find(it).is_none()) {
        return Some(format!("{program} is not installed (`setup/install hosts` installs it)"));
    }
    let mut command = Command::new("unshare");
    command.args(NAMESPACES).args(["unshare", "--time", "true"]);
    match command.stdin(Stdio::null()).output() {
        Ok(output) if output.status.success() => None,
        Ok(output) => {
            Some(format!("this kernel makes no namespaces: {}", last_line(&output.stderr)))
        }
        Err(error) => Some(format!("unshare: {error}")),
    }
}

/// Does what this process was asked to do once more, on a stage; how that ended.
pub fn enter(interrupt: &Interrupt) -> Result<ExitStatus, String> {
    let fail = |error: std::io::Error| format!("making namespaces: {error}");
    let mut command = Command::new("unshare");
    command
        .args(NAMESPACES)
        .arg(std::env::current_exe().map_err(fail)?)
        .args(std::env::args_os().skip(1))
        .env(IS_SET, "1")
        .env("HOME", HOME)
        .env("SLURM_CONF", format!("{FOLDER}/{SLURM_CONF}"))
        .env("TMPDIR", format!("{FOLDER}/tmp"))
        .env("PATH", format!("{FOLDER}/bin:{}", programs::search_path()));
    keeper::bind_to_this_process(&mut command, Vec::new());
    let mut stage = command.spawn().map_err(fail)?;
    loop {
        if let Some(status) = stage.try_wait().map_err(fail)? {
            return Ok(status);
        }
        if let Err(why) = interrupt.check() {
            let _ = stage.kill();
            let _ = stage.wait();
            return Err(why);
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// The server's machine and the hosts, as they are set. Dropping it ends them.
pub struct Stage {
    /// The hosts.
    pub hosts: Vec<Machine>,
}

/// A host.
pub struct Machine {
    /// Its name.
    pub name: &'static str,
    /// Its address.
    pub address: String,
    /// Holds the namespaces.
    holder: Daemon,
}

impl Stage {
    /// Sets it, where this process has entered it.
    pub fn set() -> Result<Stage, String> {
        // Until here this is the machine's own folder, and from here on only theirs.
        run(&format!("mount -t tmpfs -o mode=755 tmpfs {FOLDER}"))?;
        for name in ["home", "tmp", "bin", "log"] {
            folder(name)?;
        }
        roots_home()?;
        let fail = |error| format!("setting the stage: {error}");
        std::env::set_current_dir(HOME).map_err(fail)?;
        fs::write("/proc/sys/kernel/hostname", "hub").map_err(fail)?;
        for line in [
            "ip link set lo up".into(),
            "ip link add hub type bridge".into(),
            format!("ip address add {SERVER}/24 dev hub"),
            "ip link set hub up".into(),
        ] {
            run(&line)?;
        }
        let hosts = NAMES.into_iter().enumerate().map(|(nth, name)| Machine::new(nth, name));
        Ok(Stage { hosts: hosts.collect::<Result<_, _>>()? })
    }

    /// The host with this name.
    pub fn host(&self, name: &str) -> &Machine {
        self.hosts.iter().find(|host| host.name == name).expect("it is one of those")
    }
}

impl Machine {
    fn new(nth: usize, name: &'static str) -> Result<Machine, String> {
        let ahead = if nth == 1 { AHEAD_S } else { 0 };
        let words =
            format!("unshare --net --mount --uts --time --monotonic {ahead} sleep infinity");
        let holder = Daemon::start(words.split(' ').map(String::from).collect(), name)?;
        let host = Machine { name, address: format!("10.77.0.{}", 11 + nth), holder };
        let own = fs::read_link("/proc/self/ns/time_for_children").ok();
        // What it unshares last is its time.
        until(&format!("{name} has namespaces of its own"), || {
            let its = fs::read_link(host.namespace("time_for_children")).ok();
            its.is_some() && its != own
        })?;
        let (id, home) = (host.holder.0.id(), folder(&format!("of/{name}"))?);
        run(&format!("ip link add to-{name} type veth peer name eth0 netns {id}"))?;
        run(&format!("ip link set to-{name} master hub up"))?;
        for line in [
            format!("mount --bind {} {HOME}", home.display()),
            format!("hostname {name}"),
            "ip link set lo up".into(),
            format!("ip address add {}/24 dev eth0", host.address),
            "ip link set eth0 up".into(),
        ] {
            host.run(&line)?;
        }
        Ok(host)
    }

    fn namespace(&self, which: &str) -> PathBuf {
        format!("/proc/{}/ns/{which}", self.holder.0.id()).into()
    }

    /// The network that its processes are in.
    pub fn network(&self) -> Option<PathBuf> {
        fs::read_link(self.namespace("net")).ok()
    }

    /// The words that lead into it.
    pub fn entered(&self) -> Vec<String> {
        let time = format!("--time={}", self.namespace("time_for_children").display());
        let target = self.holder.0.id().to_string();
        let wd = format!("--wd={HOME}");
        ["nsenter", "--net", "--mount", "--uts", &time, &wd, "--target", &target]
            .map(String::from)
            .into()
    }

    /// Runs a command in it.
    pub fn run(&self, line: &str) -> Result<(), String> {
        run_words(&[self.entered(), words(line)].concat())
    }

    /// Starts a program in it that runs until it is dropped.
    pub fn start(&self, line: &str) -> Result<Daemon, String> {
        let program = line.split(' ').next().and_then(|path| path.rsplit('/').next());
        let log = format!("{}-{}", self.name, program.unwrap_or_default());
        Daemon::start([self.entered(), words(line)].concat(), &log)
    }
}

/// A program that runs until it is dropped.
pub struct Daemon(Child);

impl Daemon {
    /// Starts it; what it says goes to a log of this name.
    pub fn start(command: Vec<String>, log: &str) -> Result<Daemon, String> {
        let fail = |error: std::io::Error| format!("starting {}: {error}", command.join(" "));
        let log = File::create(log_of(log)).map_err(fail)?;
        let mut daemon = Command::new(&command[0]);
        daemon.args(&command[1..]).stdin(Stdio::null());
        daemon.stdout(log.try_clone().map_err(fail)?).stderr(log);
        keeper::bind_to_this_process(&mut daemon, Vec::new());
        daemon.spawn().map(Daemon).map_err(fail)
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn log_of(name: &str) -> PathBuf {
    Path::new(FOLDER).join("log").join(name)
}

/// A folder of this name on the stage, made if it isn't there.
pub fn folder(name: &str) -> Result<PathBuf, String> {
    let path = Path::new(FOLDER).join(name);
    let made = fs::DirBuilder::new().recursive(true).mode(0o755).create(&path);
    made.map(|()| path.clone()).map_err(|error| format!("{}: {error}", path.display()))
}

/// Writes a file below the stage's folder; its path.
pub fn write(name: &str, content: &str) -> Result<String, String> {
    let path = Path::new(FOLDER).join(name);
    fs::write(&path, content).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(path.display().to_string())
}

/// Who logs in as root is at home on the stage, with a shell that every Debian has.
fn roots_home() -> Result<(), String> {
    let changed = |file: &str, root: &str| {
        let text = fs::read_to_string(file).map_err(|error| format!("{file}: {error}"))?;
        let others = text.lines().filter(|line| !line.starts_with("root:"));
        let lines: String = others.map(|line| format!("{line}\n")).collect();
        let path = write(&format!("log/{}", file.replace('/', "-")), &format!("{root}\n{lines}"))?;
        run(&format!("mount --bind {path} {file}"))
    };
    changed("/etc/passwd", &format!("root:x:0:0:root:{HOME}:/bin/sh"))?;
    // No password, and no lock either, for which sshd refuses a key as well.
    changed("/etc/shadow", "root:*:20000:0:99999:7:::")
}

fn words(line: &str) -> Vec<String> {
    line.split_whitespace().map(String::from).collect()
}

/// Runs a command on the server's machine.
pub fn run(line: &str) -> Result<(), String> {
    run_words(&words(line))
}

/// The same, word by word.
pub fn run_words(words: &[String]) -> Result<(), String> {
    let output = Command::new(&words[0]).args(&words[1..]).stdin(Stdio::null()).output();
    let shown = words.join(" ");
    let output = output.map_err(|error| format!("{shown}: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!("{shown}: {}; it said: {}", output.status, last_line(&output.stderr)))
}

fn last_line(said: &[u8]) -> String {
    let said = String::from_utf8_lossy(said);
    said.trim().lines().next_back().unwrap_or_default().to_string()
}

/// Waits until this is so.
pub fn until(what: &str, mut is_so: impl FnMut() -> bool) -> Result<(), String> {
    let end = Instant::now() + WITHIN;
    while !is_so() {
        if Instant::now() >= end {
            return Err(format!("it wasn't so within {} s that {what}", WITHIN.as_secs()));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}
