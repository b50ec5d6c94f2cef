//! A contender that a test starts.

use std::collections::BTreeMap;
use std::fs;
use std::net::{SocketAddr, TcpListener};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use keeper::process_tree;
use lab::contract::http_client::{Connection, Wrong};
use lab::ready;
use lab::ready::programs;
use lab::study::Study;
use lab::study::contender::{Contender, Placeholders};
use rustix::process::{Pid, Signal, kill_process_group};
use tempfile::TempDir;

use crate::fixture::skipped;

/// The project's folder.
pub const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
const WITHIN: Duration = Duration::from_secs(60);
/// A build's word that something is missing which no package is known to give.
pub const ABSENT: i32 = 69;

/// Whether its build takes a few seconds, and it accepts or parses in code that no other one here
/// has.
pub fn is_light(name: &str) -> bool {
    ["erlang", "erlang-engine", "go", "jdk-virtual-threads", "nginx-module", "node"].contains(&name)
}

/// The contenders of the study.
pub fn contenders() -> Vec<Contender> {
    let study = Study::read(&Path::new(ROOT).join("studies"), "web");
    study.unwrap_or_else(|why| panic!("{why}")).contenders
}

/// Builds a contender; whether it can be had.
pub fn is_built(name: &str) -> bool {
    static WHY_NOT: Mutex<BTreeMap<String, Option<String>>> = Mutex::new(BTreeMap::new());
    // Each once, and none beside another: the tests run at the same time.
    let mut known = WHY_NOT.lock().unwrap_or_else(PoisonError::into_inner);
    let why_not = known.entry(name.into()).or_insert_with(|| build(name));
    if let Some(why) = why_not {
        skipped("skipped in part", why);
    }
    why_not.is_none()
}

/// Builds a contender, or says why it can't be had here. That it keeps its contract is
/// seen elsewhere.
fn build(name: &str) -> Option<String> {
    let all = contenders();
    let contender = all.iter().find(|contender| contender.name == name).expect(name);
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
pub struct Server {
    name: String,
    process: Child,
    address: SocketAddr,
    _folder: TempDir,
}

impl Server {
    /// Starts it with so many files that it may have open, on one processor, so that it is
    /// one process that accepts, and waits until it answers.
    pub fn start(contender: &Contender, files: u64) -> Server {
        let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
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
        let mut server = Server { name, process, address, _folder: folder };
        server.wait_until("it answers", |server| server.ask() == Ok(200));
        server
    }

    /// Opens a connection.
    pub fn open(&self) -> Result<Connection, Wrong> {
        Connection::open(self.address, WITHIN)
    }

    /// The status of the answer to a request on a connection of its own.
    pub fn ask(&self) -> Result<u16, Wrong> {
        let mut connection = self.open()?;
        connection.send(b"GET /hello?id=1 HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")?;
        connection.receive(false).map(|answer| answer.status)
    }

    /// Whether it has ended.
    pub fn has_ended(&mut self) -> bool {
        self.process.try_wait().unwrap().is_some()
    }

    /// Waits until this holds, unless it ends.
    pub fn wait_until(&mut self, what: &str, holds: impl Fn(&Server) -> bool) {
        let began = Instant::now();
        while !holds(self) {
            assert!(!self.has_ended(), "{}: it ended while waited for until {what}", self.name);
            assert!(began.elapsed() < WITHIN, "{}: waited in vain until {what}", self.name);
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// It, and all that it started.
    pub fn processes(&self) -> Vec<i32> {
        let own = self.process.id() as i32;
        [vec![own], process_tree::descendants(own)].concat()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = kill_process_group(Pid::from_child(&self.process), Signal::KILL);
        let _ = self.process.wait();
    }
}
