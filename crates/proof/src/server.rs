//! A server of ours: started on its processors under a keeper, so that nothing of
//! it outlives us.

use std::fs;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::time::{Duration, Instant};

use keeper::kept::Kept;
use keeper::{Order, Scratch};
use lab::contract::http_client::Connection;
use lab::place::{Host, ThisMachine};
use lab::ready::programs;

use crate::interrupt::Interrupt;

/// A running server. Dropping it stops it.
#[derive(Debug)]
pub struct Server {
    /// Where it listens.
    pub address: SocketAddr,
    kept: Kept,
}

/// What a server needs to be started.
pub struct Recipe {
    /// The command.
    pub command: Vec<String>,
    /// Files of its folder: name and content.
    pub files: Vec<(String, String)>,
    /// Whether it answers.
    pub is_ready: fn(&Server) -> bool,
}

/// An address of this machine that nobody uses.
pub fn free_address() -> Result<SocketAddr, String> {
    ThisMachine::new(&lab::place::machine::describe()).free_address()
}

impl Server {
    /// Starts one on a free address and these processors, from what the recipe makes of the
    /// address and the folder.
    pub fn start(
        recipe: impl FnOnce(SocketAddr, &str) -> Recipe,
        cpus: &[usize],
        interrupt: &Interrupt,
    ) -> Result<Server, String> {
        Server::start_at(free_address()?, recipe, cpus, interrupt)
    }

    /// The same at this address.
    pub fn start_at(
        address: SocketAddr,
        recipe: impl FnOnce(SocketAddr, &str) -> Recipe,
        cpus: &[usize],
        interrupt: &Interrupt,
    ) -> Result<Server, String> {
        let machine = ThisMachine::new(&lab::place::machine::describe());
        let path = machine.scratch();
        let Recipe { command, files, is_ready } = recipe(address, &path.display().to_string());
        let name = command.first().cloned().unwrap_or_default();
        let kept = machine.start(&Order {
            scratch: Some(Scratch { path, files }),
            cpus: cpus.to_vec(),
            ..Order::tool(command, programs::environment())
        })?;
        let server = Server { address, kept };
        let deadline = Instant::now() + Duration::from_secs(10);
        while !is_ready(&server) {
            interrupt.check()?;
            if server.kept.exited().is_some() || Instant::now() >= deadline {
                let lines = server.kept.last_lines(3).join(" / ");
                return Err(format!("{name} doesn't answer on {address}; it said: {lines}"));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(server)
    }

    /// Starts one that is this program itself, with a subcommand that takes an `--address`.
    pub fn of_this_program(
        subcommand: &str,
        arguments: impl IntoIterator<Item = String>,
        cpus: &[usize],
        is_ready: fn(&Server) -> bool,
        interrupt: &Interrupt,
    ) -> Result<Server, String> {
        let own = std::env::current_exe().map_err(|error| error.to_string())?;
        let recipe = |address: SocketAddr, _: &str| {
            let at = [own.display().to_string(), subcommand.into(), "--address".into()];
            let command = at.into_iter().chain([address.to_string()]).chain(arguments).collect();
            Recipe { command, files: Vec::new(), is_ready }
        };
        Server::start(recipe, cpus, interrupt)
    }

    /// The URL of a path on it.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Its processes.
    pub fn pids(&self) -> Vec<i32> {
        keeper::process_tree::descendants(self.kept.root())
    }

    /// CPU seconds of all threads of its processes so far; `None` where the kernel doesn't tell
    /// them to the nanosecond.
    pub fn cpu_s(&self) -> Option<f64> {
        let of_process = |pid: &i32| {
            let threads = fs::read_dir(format!("/proc/{pid}/task")).ok()?.flatten();
            threads.map(|thread| of_thread(&thread.path().join("schedstat"))).sum::<Option<f64>>()
        };
        self.pids().iter().map(of_process).sum()
    }

    /// The body that it answers on a connection of its own.
    pub fn get(&self, path: &str) -> Result<String, String> {
        let ask = || {
            let mut connection = Connection::open(self.address, Duration::from_secs(5))?;
            let request = format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
            connection.send(request.as_bytes())?;
            connection.receive(false)
        };
        let answer = ask().map_err(|wrong| format!("the server on {}: {wrong}", self.address))?;
        Ok(String::from_utf8_lossy(&answer.body).into_owned())
    }

    /// The same of a body of any size, from a server that ends the connection behind it.
    pub fn get_large(&self, path: &str) -> Result<String, String> {
        let ask = || -> io::Result<String> {
            let mut stream = TcpStream::connect(self.address)?;
            stream.set_read_timeout(Some(Duration::from_secs(30)))?;
            write!(stream, "GET {path} HTTP/1.1\r\nHost: x\r\n\r\n")?;
            let mut answer = String::new();
            stream.read_to_string(&mut answer)?;
            Ok(answer)
        };
        let answer = ask().map_err(|wrong| format!("the server on {}: {wrong}", self.address))?;
        let (_, body) = answer.split_once("\r\n\r\n").unwrap_or_default();
        Ok(body.to_string())
    }

    /// What a store answers to commands, up to the words that its last answer ends with.
    pub fn ask_store(&self, commands: &str, end: &str) -> Result<String, String> {
        let ask = || -> io::Result<String> {
            let mut stream = TcpStream::connect(self.address)?;
            stream.set_read_timeout(Some(Duration::from_secs(5)))?;
            stream.write_all(commands.as_bytes())?;
            let (mut answers, mut some) = (Vec::new(), [0; 4096]);
            while !answers.ends_with(end.as_bytes()) {
                match stream.read(&mut some)? {
                    0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                    count => answers.extend_from_slice(&some[..count]),
                }
            }
            Ok(String::from_utf8_lossy(&answers).into_owned())
        };
        ask().map_err(|wrong| format!("the store on {}: {wrong}", self.address))
    }
}

/// CPU seconds of a thread, from `CPU-ns waiting-ns times`.
fn of_thread(schedstat: &Path) -> Option<f64> {
    let line = fs::read_to_string(schedstat).ok()?;
    let nanoseconds: f64 = line.split_whitespace().next()?.parse().ok()?;
    Some(nanoseconds / 1e9)
}
