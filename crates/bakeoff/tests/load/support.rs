//! A server that does what a test says, and `bakeoff load` run against it.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use assert_cmd::Command;
use serde_json::Value;

use crate::skipped::skipped;

/// A request as the server saw it.
pub struct Seen {
    /// Request line and headers, without the empty line.
    pub head: String,
    /// The body.
    pub body: Vec<u8>,
}

impl Seen {
    /// The second word of the request line.
    pub fn path(&self) -> &str {
        self.head.split(' ').nth(1).unwrap_or_default()
    }

    /// Bytes of its whole body.
    pub fn length(&self) -> usize {
        let line = self.head.lines().find_map(|line| line.strip_prefix("Content-Length: "));
        line.map_or(0, |length| length.parse().expect("the client writes a length"))
    }
}

/// What the server does with the connection after it did something.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum After {
    /// Waits for the next request.
    Keep,
    /// Closes it in order.
    Close,
    /// Sends a reset.
    Reset,
}

/// A server with its own counts; it ends when dropped.
pub struct Server {
    pub address: SocketAddr,
    counts: Arc<Counts>,
    listener: TcpListener,
    acceptor: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Counts {
    requests: AtomicU64,
    connections: AtomicU64,
    end: AtomicBool,
    handlers: Mutex<Vec<JoinHandle<()>>>,
}

/// How often a thread looks whether it is to end.
const LOOK: Duration = Duration::from_millis(20);

impl Server {
    /// Starts a server that does this on each whole request.
    pub fn start(
        behave: impl Fn(&mut TcpStream, &Seen) -> std::io::Result<After> + Send + Sync + 'static,
    ) -> Server {
        Server::at("127.0.0.1:0", behave).unwrap()
    }

    /// Starts a server that does this on each head, with what has come of the body: the
    /// rest is still to be read.
    pub fn on_heads(
        behave: impl Fn(&mut TcpStream, &Seen) -> std::io::Result<After> + Send + Sync + 'static,
    ) -> Server {
        Server::that("127.0.0.1:0", begun, behave).unwrap()
    }

    /// Starts a server that does this on each whole command of RESP: its words, and what it
    /// gives a key as the body.
    pub fn on_commands(
        behave: impl Fn(&mut TcpStream, &Seen) -> std::io::Result<After> + Send + Sync + 'static,
    ) -> Server {
        Server::that("127.0.0.1:0", command, behave).unwrap()
    }

    /// Starts a server that does this on whatever comes, as it comes.
    pub fn on_bytes(
        behave: impl Fn(&mut TcpStream, &Seen) -> std::io::Result<After> + Send + Sync + 'static,
    ) -> Server {
        let whatever = |bytes: &[u8]| {
            let seen = || Seen { head: String::new(), body: bytes.into() };
            (!bytes.is_empty()).then(|| (seen(), bytes.len()))
        };
        Server::that("127.0.0.1:0", whatever, behave).unwrap()
    }

    /// The same at this address.
    ///
    /// # Errors
    /// The kernel's, where the machine has no such address.
    pub fn at(
        address: &str,
        behave: impl Fn(&mut TcpStream, &Seen) -> std::io::Result<After> + Send + Sync + 'static,
    ) -> std::io::Result<Server> {
        Server::that(address, request, behave)
    }

    fn that(
        address: &str,
        cut: Cut,
        behave: impl Fn(&mut TcpStream, &Seen) -> std::io::Result<After> + Send + Sync + 'static,
    ) -> std::io::Result<Server> {
        let listener = TcpListener::bind(address)?;
        let address = listener.local_addr()?;
        let counts = Arc::new(Counts::default());
        let behave = Arc::new(behave);
        let acceptor = std::thread::spawn({
            let (counts, listener) = (counts.clone(), listener.try_clone().unwrap());
            move || {
                // Ends when the listener is shut down.
                while let Ok((connection, _)) = listener.accept() {
                    counts.connections.fetch_add(1, Ordering::Relaxed);
                    let (behave, own) = (behave.clone(), counts.clone());
                    let handler =
                        std::thread::spawn(move || serve(connection, cut, &*behave, &own));
                    counts.handlers.lock().unwrap().push(handler);
                }
            }
        });
        Ok(Server { address, counts, listener, acceptor: Some(acceptor) })
    }

    /// A server that always says the same and keeps the connection.
    pub fn says(answer: &'static [u8]) -> Server {
        Server::start(move |connection, _| connection.write_all(answer).map(|()| After::Keep))
    }

    /// Whole requests that it read.
    pub fn requests(&self) -> u64 {
        self.counts.requests.load(Ordering::Relaxed)
    }

    /// The same, once they are so many: on a busy machine it may come to read them
    /// after the client has ended.
    pub fn requests_once(&self, expected: u64) -> u64 {
        once(expected, || self.requests())
    }

    /// Connections that it accepted, once they are so many.
    pub fn connections_once(&self, expected: u64) -> u64 {
        once(expected, || self.connections())
    }

    /// Connections that it accepted.
    pub fn connections(&self) -> u64 {
        self.counts.connections.load(Ordering::Relaxed)
    }

    /// The URL of a path.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.counts.end.store(true, Ordering::Relaxed);
        rustix::net::shutdown(&self.listener, rustix::net::Shutdown::Both).unwrap();
        if let Some(acceptor) = self.acceptor.take() {
            acceptor.join().unwrap();
        }
        for handler in self.counts.handlers.lock().unwrap().drain(..) {
            handler.join().unwrap();
        }
    }
}

/// What a server takes for a request of these bytes, and its length.
type Cut = fn(&[u8]) -> Option<(Seen, usize)>;

fn serve(
    mut connection: TcpStream,
    cut: Cut,
    behave: &dyn Fn(&mut TcpStream, &Seen) -> std::io::Result<After>,
    counts: &Counts,
) {
    connection.set_nodelay(true).unwrap();
    connection.set_read_timeout(Some(LOOK)).unwrap();
    let mut bytes = Vec::new();
    let mut room = [0; 65_536];
    loop {
        while let Some((seen, length)) = cut(&bytes) {
            bytes.drain(..length);
            counts.requests.fetch_add(1, Ordering::Relaxed);
            match behave(&mut connection, &seen) {
                Ok(After::Keep) => {}
                Ok(After::Reset) => {
                    let none = Some(Duration::ZERO);
                    rustix::net::sockopt::set_socket_linger(&connection, none).unwrap();
                    return;
                }
                // The client may have gone.
                Ok(After::Close) | Err(_) => return,
            }
        }
        match connection.read(&mut room) {
            Ok(0) => return,
            Ok(length) => bytes.extend_from_slice(&room[..length]),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                if counts.end.load(Ordering::Relaxed) {
                    return;
                }
            }
            Err(_) => return,
        }
    }
}

/// A count, once it has come so far, or after a time in which it would have.
fn once(expected: u64, count: impl Fn() -> u64) -> u64 {
    let patience = Instant::now() + Duration::from_secs(20);
    while count() < expected && Instant::now() < patience {
        std::thread::sleep(LOOK);
    }
    count()
}

/// The first request in these bytes, if it is whole, and its length.
fn request(bytes: &[u8]) -> Option<(Seen, usize)> {
    let mut seen = head(bytes)?;
    let (start, length) = (seen.head.len() + 4, seen.length());
    seen.body.extend_from_slice(bytes.get(start..start + length)?);
    Some((seen, start + length))
}

/// The same as soon as its head is whole, with all that is behind that.
fn begun(bytes: &[u8]) -> Option<(Seen, usize)> {
    let mut seen = head(bytes)?;
    seen.body.extend_from_slice(&bytes[seen.head.len() + 4..]);
    Some((seen, bytes.len()))
}

/// The first command of RESP in these bytes, if it is whole, and its length.
fn command(bytes: &[u8]) -> Option<(Seen, usize)> {
    let (elements, mut at) = number_after(b'*', bytes, 0)?;
    let mut words = Vec::new();
    let mut body = Vec::new();
    for place in 0..elements {
        let (length, begin) = number_after(b'$', bytes, at)?;
        let word = bytes.get(begin..begin + length)?;
        match (place, &words[..]) {
            (2, [set, _]) if set == "SET" => body = word.to_vec(),
            _ => words.push(String::from_utf8(word.to_vec()).expect("words are text")),
        }
        at = begin + length + 2;
    }
    (at <= bytes.len()).then(|| (Seen { head: words.join(" "), body }, at))
}

/// The number that stands on the line that begins there, behind a sign, and the next line's
/// begin.
fn number_after(sign: u8, bytes: &[u8], at: usize) -> Option<(usize, usize)> {
    let line = bytes.get(at..)?;
    let end = line.windows(2).position(|window| window == b"\r\n")?;
    assert_eq!(line[0], sign, "the client writes arrays of strings");
    let digits = std::str::from_utf8(&line[1..end]).expect("the client writes digits");
    Some((digits.parse().expect("the client writes a number"), at + end + 2))
}

fn head(bytes: &[u8]) -> Option<Seen> {
    let end = bytes.windows(4).position(|window| window == b"\r\n\r\n")?;
    let head = String::from_utf8(bytes[..end].to_vec()).expect("the client writes text");
    Some(Seen { head, body: Vec::new() })
}

/// What `bakeoff load` said.
pub struct Said {
    pub code: i32,
    pub json: Value,
    pub stderr: String,
}

impl Said {
    /// One of the counts of the account.
    pub fn count(&self, name: &str) -> u64 {
        self.json["requests"][name].as_u64().unwrap_or_else(|| panic!("no {name}: {}", self.json))
    }

    /// Errors of one kind.
    pub fn errors(&self, kind: &str) -> u64 {
        let errors = self.json["errors"].as_array().unwrap();
        errors
            .iter()
            .find(|error| error["kind"] == kind)
            .map_or(0, |e| e["count"].as_u64().unwrap())
    }

    /// Fails unless nothing was lost and nothing counted twice.
    pub fn assert_conserved(&self, what: &str) {
        let count = |name| self.count(name);
        assert_eq!(count("scheduled"), count("sent") + count("shed"), "{what}: {}", self.json);
        let ended = count("good") + count("errors") + count("in_flight");
        assert_eq!(count("sent"), ended, "{what}: {}", self.json);
        let kinds = self.json["errors"].as_array().unwrap();
        let by_kind: u64 = kinds.iter().map(|error| error["count"].as_u64().unwrap()).sum();
        assert_eq!(count("errors"), by_kind, "{what}: errors by kind don't add up");
    }
}

/// The command, which must end within a minute.
pub fn bakeoff_load(arguments: &[&str]) -> Command {
    let mut command = Command::cargo_bin("bakeoff").unwrap();
    command.arg("load").args(arguments).timeout(Duration::from_secs(60));
    command
}

/// Runs `bakeoff load` to its end and reads its JSON.
pub fn load(arguments: &[&str]) -> Said {
    said_by(bakeoff_load(arguments), arguments)
}

/// The same for a search, which makes some dozen runs.
pub fn search(arguments: &[&str]) -> Said {
    let mut command = bakeoff_load(arguments);
    command.timeout(Duration::from_secs(300));
    said_by(command, arguments)
}

fn said_by(mut command: Command, arguments: &[&str]) -> Said {
    let output = command.args(["--json", "-"]).output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    let json = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("no JSON ({error}) from load {arguments:?}: {stderr}"));
    Said { code: output.status.code().unwrap(), json, stderr }
}

/// The backends that this machine permits, which is asked once.
pub fn backends() -> Vec<&'static str> {
    static REFUSED: OnceLock<Option<assert_cmd::output::OutputError>> = OnceLock::new();
    let refused = REFUSED.get_or_init(|| {
        let server = Server::says(b"HTTP/1.1 204 No Content\r\n\r\n");
        bakeoff_load(&[&server.url("/"), "-n", "1", "-c", "1", "--backend", "io_uring"]).ok().err()
    });
    if let Some(error) = refused {
        skipped("skipped in part", &format!("this kernel permits no io_uring: {error}"));
    }
    ["io_uring", "epoll"].into_iter().skip(usize::from(refused.is_some())).collect()
}
