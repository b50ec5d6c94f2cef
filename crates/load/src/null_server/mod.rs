//! A server that does nothing but answer: what no client can go faster than.
//!
//! It counts requests, and answers each with the same few bytes. One thread a
//! processor, each with a listener of its own on the same port. As the client,
//! it takes io_uring where the kernel permits it, epoll elsewhere.

mod epoll;
mod requests;
mod uring;

use std::io;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::{
    AddressFamily, SocketFlags, SocketType, bind, getsockname, listen, socket_with, sockopt,
};

use self::requests::Counter;
use crate::plan::Plan;
use crate::protocol::http1::Http1;
use crate::{Error, limits};

/// Good for every method: an answer to HEAD has no body either.
const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
/// Connections that may wait to be accepted; the kernel lowers it to its own limit.
const BACKLOG: i32 = 65_535;
/// How long a thread sleeps at most before it looks whether it is to end.
const SLEEP: Duration = Duration::from_millis(20);

/// A null server, which ends when dropped.
pub(crate) struct NullServer {
    /// Where it listens.
    pub address: SocketAddr,
    end: Arc<AtomicBool>,
    threads: Vec<Thread>,
}

struct Thread {
    handle: JoinHandle<io::Result<()>>,
    /// Its number for the kernel.
    id: i32,
}

/// What every thread of it knows of the load.
#[derive(Clone)]
struct Load {
    /// Connections at once, of which any number may be one thread's.
    connections: u32,
    /// Whether a connection is kept after its answer.
    keep_alive: bool,
    /// Requests that may be under way on a connection.
    pipeline: u16,
    counter: Counter,
}

impl NullServer {
    /// Starts a thread on each of these processors, for the load of a plan.
    ///
    /// # Errors
    /// [`Error::System`] where the kernel gives no socket or thread.
    pub(crate) fn start(cpus: &[usize], plan: &Plan) -> Result<NullServer, Error> {
        let fail = |source| Error::System { what: "starting the null server".into(), source };
        let load = Load {
            connections: plan.connections,
            keep_alive: plan.keep_alive,
            pipeline: plan.pipeline,
            counter: Counter::of(Http1::new(plan).request_bytes()),
        };
        let mut server = NullServer {
            address: SocketAddr::V4(SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0)),
            end: Arc::default(),
            threads: Vec::new(),
        };
        for &cpu in cpus {
            let listener = listener(&mut server.address).map_err(|errno| fail(errno.into()))?;
            let (end, load) = (server.end.clone(), load.clone());
            let (tell, id) = mpsc::channel();
            let serve = move || {
                let _ = tell.send(rustix::thread::gettid().as_raw_nonzero().get());
                // A thread on another processor serves as well.
                let _ = limits::bind(cpu);
                // A kernel that can't, or may not, says so before anything is served.
                match uring::prepare(load.connections) {
                    Ok(ring) => uring::serve(ring, &listener, &load, &end),
                    Err(_) => epoll::serve(listener, &load, &end),
                }
            };
            let name = format!("null-{cpu}");
            let handle = std::thread::Builder::new().name(name).spawn(serve).map_err(fail)?;
            let id = id.recv().expect("a thread begins with its number");
            server.threads.push(Thread { handle, id });
        }
        Ok(server)
    }

    /// CPU time of each thread so far; `None` where the kernel doesn't tell.
    pub(crate) fn cpu(&self) -> Option<Vec<Duration>> {
        self.threads.iter().map(|thread| cpu_of(thread.id)).collect()
    }
}

impl Drop for NullServer {
    fn drop(&mut self) {
        self.end.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            // What a thread died of shows in the errors of its clients.
            let _ = thread.handle.join();
        }
    }
}

/// CPU time of a thread of this process, from the first field of its `schedstat`,
/// in nanoseconds.
fn cpu_of(thread: i32) -> Option<Duration> {
    let text = std::fs::read_to_string(format!("/proc/self/task/{thread}/schedstat")).ok()?;
    text.split(' ').next()?.parse().ok().map(Duration::from_nanos)
}

/// A listener on this address, whose port is filled in if it is 0. What it
/// accepts sends at once, as it does.
fn listener(address: &mut SocketAddr) -> Result<OwnedFd, Errno> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::INET, SocketType::STREAM, flags, None)?;
    sockopt::set_socket_reuseport(&socket, true)?;
    sockopt::set_tcp_nodelay(&socket, true)?;
    // As the client does, for the same reason: it has nothing to decide here.
    let _ = sockopt::set_tcp_congestion(&socket, "reno");
    bind(&socket, &*address)?;
    listen(&socket, BACKLOG)?;
    if address.port() == 0 {
        *address = getsockname(&socket)?.try_into()?;
    }
    Ok(socket)
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpStream;

    use super::*;
    use crate::plan::Target;
    use crate::template::Request;

    const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n";

    fn plan(keep_alive: bool, pipeline: u16) -> Plan {
        let address = "127.0.0.1:1".parse().unwrap();
        let target = Target { address, authority: "a".into(), path: "/".into() };
        let requests = vec![Request::get("/")];
        Plan { connections: 2, keep_alive, pipeline, ..Plan::new(target, requests) }
    }

    fn load(keep_alive: bool) -> Load {
        let counter = Counter::of(keep_alive.then_some(REQUEST.len()));
        Load { connections: 2, keep_alive, pipeline: 4, counter }
    }

    /// Serves on a thread by one of the two ways while `act` does as a client.
    fn with(way: fn(OwnedFd, Load, &AtomicBool), keep_alive: bool, act: impl FnOnce(SocketAddr)) {
        let mut address = SocketAddr::V4(SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0));
        let listener = listener(&mut address).unwrap();
        let end = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| way(listener, load(keep_alive), &end));
            let acted = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| act(address)));
            end.store(true, Ordering::Relaxed);
            acted.unwrap();
        });
    }

    const WAYS: [fn(OwnedFd, Load, &AtomicBool); 2] = [
        |listener, load, end| epoll::serve(listener, &load, end).unwrap(),
        |listener, load, end| match uring::prepare(load.connections) {
            Ok(ring) => uring::serve(ring, &listener, &load, end).unwrap(),
            // Then there is no other way to be tested.
            Err(_) => epoll::serve(listener, &load, end).unwrap(),
        },
    ];

    #[test]
    fn every_request_has_an_answer_however_it_comes() {
        for way in WAYS {
            with(way, true, |address| {
                for size in [1, 7, REQUEST.len(), 4 * REQUEST.len()] {
                    let mut client = TcpStream::connect(address).unwrap();
                    client.set_nodelay(true).unwrap();
                    for piece in REQUEST.repeat(4).chunks(size) {
                        client.write_all(piece).unwrap();
                    }
                    let mut answers = vec![0; ANSWER.len() * 4];
                    client.read_exact(&mut answers).unwrap();
                    assert_eq!(answers, ANSWER.repeat(4), "in pieces of {size} bytes");
                }
            });
        }
    }

    #[test]
    fn without_keep_alive_each_connection_ends_after_its_answer() {
        for way in WAYS {
            with(way, false, |address| {
                // More than there may be at once, so that places are used again.
                for _ in 0..100 {
                    let mut client = TcpStream::connect(address).unwrap();
                    client.write_all(REQUEST).unwrap();
                    let mut answer = Vec::new();
                    client.read_to_end(&mut answer).unwrap();
                    assert_eq!(answer, ANSWER);
                }
            });
        }
    }

    #[test]
    fn a_client_that_goes_makes_room_for_the_next() {
        for way in WAYS {
            with(way, true, |address| {
                for _ in 0..100 {
                    let mut client = TcpStream::connect(address).unwrap();
                    client.write_all(REQUEST).unwrap();
                    let mut answer = [0; ANSWER.len()];
                    client.read_exact(&mut answer).unwrap();
                }
            });
        }
    }

    #[test]
    fn its_cpu_time_is_told_thread_by_thread() {
        let server = NullServer::start(&[0, 0], &plan(true, 1)).unwrap();
        let mut client = TcpStream::connect(server.address).unwrap();
        for _ in 0..100 {
            client.write_all(REQUEST).unwrap();
            client.read_exact(&mut [0; ANSWER.len()]).unwrap();
        }
        let cpu = server.cpu().expect("Linux tells it");
        assert_eq!(cpu.len(), 2);
        assert!(cpu.iter().any(|time| !time.is_zero()), "{cpu:?}");
    }

    #[test]
    fn dropping_it_ends_its_threads_and_frees_its_port() {
        let server = NullServer::start(&[0, 0], &plan(true, 1)).unwrap();
        let address = server.address;
        drop(server);
        assert!(TcpStream::connect(address).is_err(), "the null server outlived its use");
    }
}
