//! A contender that a test starts.

use std::collections::BTreeMap;
use std::fs;
use std::net::SocketAddr;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use keeper::process_tree;
use lab::ready;
use lab::ready::programs;
use lab::study::contender::{Contender, Placeholders};
use rustix::process::{Pid, Signal, kill_process_group};
use tempfile::TempDir;

use crate::fixture::{free_address, skipped};

/// The project's folder.
pub const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
/// Until a contender does what is waited for.
pub const WITHIN: Duration = Duration::from_secs(60);
/// So long it is watched while it can accept nothing.
const WATCHED: Duration = Duration::from_secs(1);
/// Of a processor. A server that tries again and again takes all that it gets of one.
const CPU_SHARE_MAX: f64 = 0.2;
/// A build's word that something is missing which no package is known to give.
pub const ABSENT: i32 = 69;

/// Builds a contender; whether it can be had.
pub fn is_built(contender: &Contender) -> bool {
    static WHY_NOT: Mutex<BTreeMap<PathBuf, Option<String>>> = Mutex::new(BTreeMap::new());
    // Each once, and none beside another: the tests run at the same time.
    let mut known = WHY_NOT.lock().unwrap_or_else(PoisonError::into_inner);
    let why_not = known.entry(contender.source.clone()).or_insert_with(|| build(contender));
    if let Some(why) = why_not {
        skipped("skipped in part", why);
    }
    why_not.is_none()
}

/// Builds a contender, or says why it can't be had here. That it keeps its contract is
/// seen elsewhere.
fn build(contender: &Contender) -> Option<String> {
    let name = &contender.name;
    if let Some(missing) = ready::missing(&contender.file.needs) {
        return Some(format!("{name}: {missing}"));
    }
    let build = contender.build_folder();
    let placeholders = Placeholders {
        source: contender.source.clone(),
        build: build.clone(),
        ..Placeholders::default()
    };
    let command = placeholders.fill_all(&contender.file.build);
    let (program, arguments) = command.split_first()?;
    fs::create_dir_all(build).unwrap();
    let mut command = Command::new(program);
    command.args(arguments).current_dir(&contender.source).stdin(Stdio::null());
    let output = command.env_clear().envs(programs::environment()).output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    match output.status.code() {
        Some(0) => None,
        Some(ABSENT) => Some(format!("{name}: {}", stderr.trim())),
        _ => panic!("{name}: its build failed: {stderr}"),
    }
}

/// A contender that runs, and ends when dropped with all that it started.
pub struct Started {
    name: String,
    process: Child,
    address: SocketAddr,
    _folder: TempDir,
}

impl Started {
    /// Starts it with so many files that it may have open, on one processor, so that it is
    /// one process that accepts, and waits until it answers.
    pub fn start(contender: &Contender, files: u64, answers: impl Fn(&Started) -> bool) -> Started {
        let address = free_address();
        let folder = TempDir::new().unwrap();
        let placeholders = Placeholders {
            source: contender.source.clone(),
            build: contender.build_folder(),
            dir: folder.path().into(),
            host: address.ip().to_string(),
            port: address.port(),
            cores: 1,
        };
        for name in &contender.file.files {
            let text = fs::read_to_string(contender.source.join(name)).unwrap();
            fs::write(folder.path().join(name), placeholders.fill(&text)).unwrap();
        }
        let cpu = load::allowed_cpus().unwrap()[0].to_string();
        let mut command = Command::new("prlimit");
        command
            .arg(format!("--nofile={files}:{files}"))
            .args(["taskset", "--cpu-list", &cpu])
            .args(placeholders.fill_all(&contender.file.run))
            .current_dir(folder.path())
            .env("PATH", programs::search_path())
            .env("HOME", folder.path())
            .env("HOST", &placeholders.host)
            .env("PORT", address.port().to_string())
            .env("CORES", "1")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0);
        for (name, value) in &contender.file.environment {
            command.env(name, placeholders.fill(value));
        }
        let process = command.spawn().unwrap();
        let name = contender.name.clone();
        let mut started = Started { name, process, address, _folder: folder };
        started.wait_until("it answers", answers);
        started
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Whether it has ended.
    pub fn has_ended(&mut self) -> bool {
        self.process.try_wait().unwrap().is_some()
    }

    /// Waits until this holds, unless it ends.
    pub fn wait_until(&mut self, what: &str, holds: impl Fn(&Started) -> bool) {
        let began = Instant::now();
        while !holds(self) {
            assert!(!self.has_ended(), "{}: it ended while waited for until {what}", self.name);
            assert!(began.elapsed() < WITHIN, "{}: waited in vain until {what}", self.name);
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Fails unless a contender that may open no more than so many files waits where it has
    /// accepted too many connections, without taking a processor meanwhile, and goes on when they
    /// end.
    pub fn assert_waits_for_files<Connection>(
        &mut self,
        files: u64,
        open: impl Fn(&Started) -> Connection,
        answers: impl Fn(&Started) -> bool,
    ) {
        let connections: Vec<Connection> = (0..2 * files).map(|_| open(self)).collect();
        self.wait_until("no file is left", |server| server.has_no_file_left(files));
        let (began, before) = (Instant::now(), self.cpu_s());
        std::thread::sleep(WATCHED);
        let share = (self.cpu_s() - before) / began.elapsed().as_secs_f64();
        assert!(share < CPU_SHARE_MAX, "{} takes {share:.2} of a processor to wait", self.name);
        drop(connections);
        // libuv closes what comes before it has seen to the connections that ended.
        self.wait_until("it goes on", answers);
    }

    fn has_no_file_left(&self, files: u64) -> bool {
        let mut members = self.processes().into_iter().filter_map(process_tree::member);
        members.any(|member| member.open_files >= Some(files))
    }

    /// Seconds that it has had a processor.
    fn cpu_s(&self) -> f64 {
        self.processes().into_iter().filter_map(process_tree::cpu_of_one).sum()
    }

    /// It, and all that it started.
    pub fn processes(&self) -> Vec<i32> {
        let own = self.process.id() as i32;
        [vec![own], process_tree::descendants(own)].concat()
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        let _ = kill_process_group(Pid::from_child(&self.process), Signal::KILL);
        let _ = self.process.wait();
    }
}
