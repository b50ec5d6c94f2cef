//! A server that may open no more files can't accept a connection. That passes when one
//! ends, so it has to wait for that, without taking a processor meanwhile and without
//! ending. Here are the contenders that accept in code of their own, or tell a library
//! how to.

#[path = "../../../crates/bakeoff/tests/fixture/skipped.rs"]
mod skipped;

use std::net::{SocketAddr, TcpListener};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use lab::contender::{Contender, Placeholders};
use lab::http::{Connection, Wrong};
use lab::{prepare, process_tree, programs};
use rustix::process::{Pid, Signal, kill_process_group};
use tempfile::TempDir;

use skipped::skipped;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
const CONTENDERS: [&str; 5] = ["beast", "erlang", "erlang-engine", "fasthttp", "hyper"];
/// Files that a server may have open.
const FILES: u64 = 100;
/// More than it can accept.
const CONNECTIONS: u64 = 2 * FILES;
const WITHIN: Duration = Duration::from_secs(60);
/// So long it is watched while it can accept nothing.
const WATCHED: Duration = Duration::from_secs(2);
/// Of a processor. A server that tries again and again takes all that it gets of one.
const CPU_SHARE_MAX: f64 = 0.2;

/// Has a contender built by bakeoff; whether it can be had.
fn is_built(name: &str) -> bool {
    let mut check = Command::new(env!("CARGO_BIN_EXE_bakeoff"));
    check.arg("check").arg(format!("web/{name}")).current_dir(ROOT).stdin(Stdio::null());
    let output = check.output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    if stderr.starts_with(&format!("bakeoff check: {name} is absent: ")) {
        skipped("skipped in part", stderr.trim());
        return false;
    }
    assert!(output.status.success(), "{name}: {stderr}");
    true
}

/// A contender that runs, and ends when dropped with all that it started.
struct Server {
    name: String,
    process: Child,
    address: SocketAddr,
    _folder: TempDir,
}

impl Server {
    /// Starts it on one processor, so that it is one process that accepts.
    fn start(contender: &Contender) -> Server {
        let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let folder = TempDir::new().unwrap();
        let placeholders = Placeholders {
            source: contender.source.clone(),
            build: prepare::build_folder(contender),
            dir: folder.path().into(),
            host: address.ip().to_string(),
            port: address.port(),
            cores: 1,
        };
        let cpu = load::allowed_cpus().unwrap()[0].to_string();
        let mut command = Command::new("prlimit");
        command
            .arg(format!("--nofile={FILES}:{FILES}"))
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
        Server { name: contender.name.clone(), process, address, _folder: folder }
    }

    fn open(&self) -> Result<Connection, Wrong> {
        Connection::open(self.address, WITHIN)
    }

    /// The status of the answer to a request on a connection of its own.
    fn ask(&self) -> Result<u16, Wrong> {
        let mut connection = self.open()?;
        connection.send(b"GET /hello?id=1 HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")?;
        connection.receive(false).map(|answer| answer.status)
    }

    /// Waits until this holds, unless it ends.
    fn wait_until(&mut self, what: &str, holds: impl Fn(&Server) -> bool) {
        let began = Instant::now();
        while !holds(self) {
            let ended = self.process.try_wait().unwrap();
            assert!(ended.is_none(), "{}: it ended with {ended:?}", self.name);
            assert!(began.elapsed() < WITHIN, "{}: waited in vain until {what}", self.name);
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// It, and all that it started.
    fn processes(&self) -> Vec<i32> {
        let own = self.process.id() as i32;
        [vec![own], process_tree::descendants(own)].concat()
    }

    fn has_no_file_left(&self) -> bool {
        let mut members = self.processes().into_iter().filter_map(process_tree::member);
        members.any(|member| member.open_files >= Some(FILES))
    }

    fn cpu_s(&self) -> f64 {
        self.processes().into_iter().filter_map(process_tree::cpu_of_one).sum()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = kill_process_group(Pid::from_child(&self.process), Signal::KILL);
        let _ = self.process.wait();
    }
}

#[test]
fn a_server_that_may_open_no_more_files_waits_and_goes_on_when_connections_end() {
    for name in CONTENDERS {
        if !is_built(name) {
            continue;
        }
        let folder = Path::new(ROOT).join("studies/web").join(name);
        let mut server = Server::start(&Contender::read(&folder, name).unwrap());
        server.wait_until("it answers", |server| server.ask() == Ok(200));

        let connections: Vec<Connection> = (0..CONNECTIONS)
            .map(|_| server.open().unwrap_or_else(|why| panic!("{name}: {why}")))
            .collect();
        server.wait_until("no file is left", Server::has_no_file_left);
        let (began, before) = (Instant::now(), server.cpu_s());
        std::thread::sleep(WATCHED);
        let share = (server.cpu_s() - before) / began.elapsed().as_secs_f64();
        assert!(share < CPU_SHARE_MAX, "{name} takes {share:.2} of a processor to wait");

        drop(connections);
        assert_eq!(server.ask(), Ok(200), "{name} doesn't go on");
    }
}
