//! A server that does nothing but answer: what no client can go faster than.
//!
//! It finds where requests end, and answers each with the same few bytes. One
//! thread a processor, each with a listener of its own on the same port.

use std::io;
use std::mem::MaybeUninit;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use memchr::memmem;
use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, accept_with, bind, getsockname,
    listen, recv, send, socket_with, sockopt,
};

use crate::{Error, limits};

/// Good for every method: an answer to HEAD has no body either.
const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
/// Connections that may wait to be accepted; the kernel lowers it to its own limit.
const BACKLOG: i32 = 65_535;
/// How long a thread sleeps at most before it looks whether it is to end.
const SLEEP: Timespec = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };
/// Events taken from the kernel at once.
const EVENTS: usize = 256;
/// Bytes taken from a connection at once.
const BUFFER: usize = 64 * 1024;
/// The event data of the listener; connections have their index.
const LISTENER: u64 = u64::MAX;

/// A null server, which ends when dropped.
pub(crate) struct NullServer {
    /// Where it listens.
    pub address: SocketAddr,
    end: Arc<AtomicBool>,
    threads: Vec<JoinHandle<io::Result<()>>>,
}

impl NullServer {
    /// Starts a thread on each of these processors. Without `keep_alive` each
    /// connection is closed after its answer.
    ///
    /// # Errors
    /// [`Error::System`] where the kernel gives no socket.
    pub(crate) fn start(cpus: &[usize], keep_alive: bool) -> Result<NullServer, Error> {
        let fail = |source: Errno| Error::System {
            what: "starting the null server".into(),
            source: source.into(),
        };
        let mut server = NullServer {
            address: SocketAddr::V4(SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0)),
            end: Arc::default(),
            threads: Vec::new(),
        };
        for &cpu in cpus {
            let listener = listener(&mut server.address).map_err(fail)?;
            let end = server.end.clone();
            server.threads.push(std::thread::spawn(move || {
                // A thread on another processor serves as well.
                let _ = limits::bind(cpu);
                Responder::new(listener, keep_alive)?.run(&end)
            }));
        }
        Ok(server)
    }
}

impl Drop for NullServer {
    fn drop(&mut self) {
        self.end.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            // What a thread died of shows in the errors of its clients.
            let _ = thread.join();
        }
    }
}

/// A listener on this address, whose port is filled in if it is 0.
fn listener(address: &mut SocketAddr) -> Result<OwnedFd, Errno> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::INET, SocketType::STREAM, flags, None)?;
    sockopt::set_socket_reuseport(&socket, true)?;
    bind(&socket, &*address)?;
    listen(&socket, BACKLOG)?;
    if address.port() == 0 {
        *address = getsockname(&socket)?.try_into()?;
    }
    Ok(socket)
}

/// One thread's connections.
struct Responder {
    epoll: OwnedFd,
    listener: OwnedFd,
    connections: Vec<Option<Connection>>,
    free: Vec<usize>,
    keep_alive: bool,
}

struct Connection {
    socket: OwnedFd,
    requests: Requests,
}

impl Responder {
    fn new(listener: OwnedFd, keep_alive: bool) -> io::Result<Responder> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        epoll::add(&epoll, &listener, EventData::new_u64(LISTENER), EventFlags::IN)?;
        Ok(Responder { epoll, listener, connections: Vec::new(), free: Vec::new(), keep_alive })
    }

    fn run(mut self, end: &AtomicBool) -> io::Result<()> {
        let mut events = [const { MaybeUninit::<epoll::Event>::uninit() }; EVENTS];
        let mut buffer = vec![0; BUFFER];
        let mut answers = Vec::new();
        while !end.load(Ordering::Relaxed) {
            let ready = match epoll::wait(&self.epoll, &mut events[..], Some(&SLEEP)) {
                Ok((ready, _)) => ready,
                Err(Errno::INTR) => continue,
                Err(error) => return Err(error.into()),
            };
            for event in ready {
                let data = event.data;
                match data.u64() {
                    LISTENER => self.accept(),
                    index => self.answer(index as usize, &mut buffer, &mut answers),
                }
            }
        }
        Ok(())
    }

    fn accept(&mut self) {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        while let Ok(socket) = accept_with(&self.listener, flags) {
            let _ = sockopt::set_tcp_nodelay(&socket, true);
            let index = self.free.pop().unwrap_or_else(|| {
                self.connections.push(None);
                self.connections.len() - 1
            });
            let data = EventData::new_u64(index as u64);
            if epoll::add(&self.epoll, &socket, data, EventFlags::IN).is_ok() {
                let requests = Requests::default();
                self.connections[index] = Some(Connection { socket, requests });
            } else {
                self.free.push(index);
            }
        }
    }

    fn answer(&mut self, index: usize, buffer: &mut [u8], answers: &mut Vec<u8>) {
        let Some(connection) = &mut self.connections[index] else { return };
        let received = match recv(&connection.socket, &mut *buffer, RecvFlags::empty()) {
            Ok((length, _)) => length,
            Err(Errno::AGAIN | Errno::INTR) => return,
            Err(_) => 0,
        };
        let whole = connection.requests.take(&buffer[..received]);
        let length = whole as usize * ANSWER.len();
        while answers.len() < length {
            answers.extend_from_slice(ANSWER);
        }
        // A send buffer has room for thousands of answers. Who doesn't read them
        // is let go.
        let sent = length == 0
            || send(&connection.socket, &answers[..length], SendFlags::NOSIGNAL) == Ok(length);
        if received == 0 || !sent || (whole > 0 && !self.keep_alive) {
            self.connections[index] = None;
            self.free.push(index);
        }
    }
}

/// Finds where requests end in what a connection sends.
#[derive(Debug, Default)]
struct Requests {
    /// An unfinished head.
    head: Vec<u8>,
    /// Bytes of a body still to come.
    body: u64,
}

impl Requests {
    /// The requests that these bytes complete.
    fn take(&mut self, mut bytes: &[u8]) -> u64 {
        let mut whole = 0;
        while !bytes.is_empty() {
            if self.body > 0 {
                let taken = self.body.min(bytes.len() as u64);
                self.body -= taken;
                whole += u64::from(self.body == 0);
                bytes = &bytes[taken as usize..];
                continue;
            }
            let joined;
            let (all, before) = if self.head.is_empty() {
                (bytes, 0)
            } else {
                let before = self.head.len();
                self.head.extend_from_slice(bytes);
                joined = std::mem::take(&mut self.head);
                (&joined[..], before)
            };
            let Some(end) = memmem::find(all, b"\r\n\r\n").map(|at| at + 4) else {
                self.head = all.to_vec();
                return whole;
            };
            self.body = content_length(&all[..end]);
            whole += u64::from(self.body == 0);
            bytes = &bytes[end - before..];
        }
        whole
    }
}

/// The length of the body after this head. Only the generator's own requests
/// come here, which all write it alike.
fn content_length(head: &[u8]) -> u64 {
    if head.starts_with(b"GET ") {
        return 0;
    }
    let name = b"\r\nContent-Length: ";
    memmem::find(head, name)
        .map(|at| &head[at + name.len()..])
        .and_then(|rest| rest.split(|&byte| byte == b'\r').next())
        .and_then(|digits| std::str::from_utf8(digits).ok()?.parse().ok())
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpStream;

    use super::*;

    const REQUESTS: &[u8] = b"GET /a HTTP/1.1\r\nHost: a\r\n\r\n\
        POST /b HTTP/1.1\r\nContent-Length: 5\r\n\r\n\r\n\r\n!\
        POST /c HTTP/1.1\r\nContent-Length: 0\r\n\r\n\
        HEAD /d HTTP/1.1\r\n\r\n";

    #[test]
    fn requests_are_counted_in_any_split() {
        for size in 1..=REQUESTS.len() {
            let mut requests = Requests::default();
            let whole: u64 = REQUESTS.chunks(size).map(|chunk| requests.take(chunk)).sum();
            assert_eq!(whole, 4, "in pieces of {size} bytes");
        }
    }

    #[test]
    fn every_request_has_an_answer() {
        let server = NullServer::start(&[0], true).unwrap();
        let mut client = TcpStream::connect(server.address).unwrap();
        client.write_all(REQUESTS).unwrap();
        let mut answers = vec![0; ANSWER.len() * 4];
        client.read_exact(&mut answers).unwrap();
        assert_eq!(answers, ANSWER.repeat(4));
    }

    #[test]
    fn without_keep_alive_the_connection_ends_after_the_answer() {
        let server = NullServer::start(&[0], false).unwrap();
        let mut client = TcpStream::connect(server.address).unwrap();
        client.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
        let mut answer = Vec::new();
        client.read_to_end(&mut answer).unwrap();
        assert_eq!(answer, ANSWER);
    }

    #[test]
    fn dropping_it_ends_its_threads_and_frees_its_port() {
        let server = NullServer::start(&[0, 0], true).unwrap();
        let address = server.address;
        drop(server);
        assert!(TcpStream::connect(address).is_err(), "the null server outlived its use");
    }
}
