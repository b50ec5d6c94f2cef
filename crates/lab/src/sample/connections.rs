//! Connections at a server's port, as the kernel counts them.
//!
//! Asked through `sock_diag(7)`, where the kernel picks the sockets of one port;
//! reading `/proc/net/tcp` with thousands of connections in it would take time
//! from what is measured.

use std::io;
use std::time::Duration;

use rustix::buffer::spare_capacity;
use rustix::fd::OwnedFd;
use rustix::net::netlink::SOCK_DIAG;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};

/// What listens at one port of this machine.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Listeners {
    /// Connections that the program hasn't accepted yet.
    pub accept_queue: u32,
    /// Dropped since the program listens, because its queue was full.
    pub dropped: u32,
    /// The backlog of the shortest queue (`listen(2)`): Linux lets one more wait. `None` where
    /// nobody listens.
    pub backlog: Option<u32>,
}

/// Asks for the listeners, of which there are few; `None` where the kernel doesn't
/// tell.
pub fn listeners(port: u16) -> Option<Listeners> {
    let socket = open()?;
    let mut all = Listeners::default();
    for family in [AddressFamily::INET, AddressFamily::INET6] {
        let counted = ask(&socket, &request(family, LISTEN, port)).ok()?;
        all.accept_queue += counted.accept_queue;
        all.dropped += counted.dropped;
        all.backlog = shortest(all.backlog, counted.backlog);
    }
    Some(all)
}

/// Whether anybody listens at a port; `None` where the kernel doesn't tell.
pub fn is_listened_to(port: u16) -> Option<bool> {
    let socket = open()?;
    let listening =
        |family| ask(&socket, &request(family, LISTEN, port)).map(|counted| counted.listening);
    // There may be no IPv6.
    Some(listening(AddressFamily::INET).ok()? || listening(AddressFamily::INET6).unwrap_or(false))
}

/// Counts the established connections, those not yet accepted among them. It
/// takes about 1 µs for each of them, and 0.1 µs for each other connection of the
/// machine, those in TIME_WAIT among them.
pub fn established(port: u16) -> Option<u32> {
    let socket = open()?;
    let of = |family, state| ask(&socket, &request(family, state, port)).ok();
    let v4 = of(AddressFamily::INET, ESTABLISHED)?.established;
    // A server that listens on IPv6 as well has its IPv4 connections there.
    let v6 = if of(AddressFamily::INET6, LISTEN)?.listening {
        of(AddressFamily::INET6, ESTABLISHED)?.established
    } else {
        0
    };
    Some(v4 + v6)
}

/// The shorter of two queues, as far as there are two.
fn shortest(one: Option<u32>, other: Option<u32>) -> Option<u32> {
    [one, other].into_iter().flatten().min()
}

fn open() -> Option<OwnedFd> {
    let socket = rustix::net::socket_with(
        AddressFamily::NETLINK,
        SocketType::DGRAM,
        SocketFlags::CLOEXEC,
        Some(SOCK_DIAG),
    )
    .ok()?;
    set_socket_timeout(&socket, Timeout::Recv, Some(Duration::from_secs(1))).ok()?;
    Some(socket)
}

/// What is counted from the kernel's answer.
#[derive(Debug, Default, PartialEq)]
struct Counted {
    established: u32,
    listening: bool,
    accept_queue: u32,
    dropped: u32,
    backlog: Option<u32>,
}

// From linux/netlink.h, linux/sock_diag.h and net/tcp_states.h.
/// The kernel gives what doesn't fit into one datagram in several (netlink(7)).
const DATAGRAM_BYTES_MAX: usize = 64 * 1024;
const NLMSG_HEADER_BYTES: usize = 16;
const NLMSG_DONE: u16 = 3;
const SOCK_DIAG_BY_FAMILY: u16 = 20;
const NLM_F_REQUEST_DUMP: u16 = 0x301;
const TCP: u8 = 6;
const ESTABLISHED: u8 = 1;
const LISTEN: u8 = 10;
/// The attribute with a socket's memory, which has its drops as well.
const INET_DIAG_SKMEMINFO: u16 = 7;
const SK_MEMINFO_DROPS: usize = 8;
// Offsets in `struct inet_diag_msg`, after the message's header.
const STATE_AT: usize = NLMSG_HEADER_BYTES + 1;
const RECEIVE_QUEUE_AT: usize = NLMSG_HEADER_BYTES + 56;
/// Of a listener this is how long its queue may be.
const SEND_QUEUE_AT: usize = NLMSG_HEADER_BYTES + 60;
const ATTRIBUTES_AT: usize = NLMSG_HEADER_BYTES + 72;

/// A `struct inet_diag_req_v2` in its message: all sockets of a port that are in
/// this state. Their memory is asked of listeners only, of which there are few.
fn request(family: AddressFamily, state: u8, port: u16) -> [u8; 72] {
    let mut message = [0; 72];
    message[0..4].copy_from_slice(&72_u32.to_ne_bytes());
    message[4..6].copy_from_slice(&SOCK_DIAG_BY_FAMILY.to_ne_bytes());
    message[6..8].copy_from_slice(&NLM_F_REQUEST_DUMP.to_ne_bytes());
    message[16] = family.as_raw() as u8;
    message[17] = TCP;
    if state == LISTEN {
        message[18] = 1 << (INET_DIAG_SKMEMINFO - 1);
    }
    message[20..24].copy_from_slice(&(1_u32 << state).to_ne_bytes());
    message[24..26].copy_from_slice(&port.to_be_bytes());
    message
}

fn ask(socket: &OwnedFd, request: &[u8]) -> io::Result<Counted> {
    rustix::net::send(socket, request, SendFlags::empty())?;
    let mut counted = Counted::default();
    // Memory is touched as far as the kernel has something to say, which mostly is little.
    let mut buffer = Vec::with_capacity(DATAGRAM_BYTES_MAX);
    loop {
        buffer.clear();
        rustix::net::recv(socket, spare_capacity(&mut buffer), RecvFlags::empty())?;
        if count(&buffer, &mut counted)? {
            return Ok(counted);
        }
    }
}

/// Counts the messages of one datagram; whether the last one was among them.
fn count(mut datagram: &[u8], counted: &mut Counted) -> io::Result<bool> {
    while let Some(header) = datagram.first_chunk::<NLMSG_HEADER_BYTES>() {
        let length = u32::from_ne_bytes([header[0], header[1], header[2], header[3]]) as usize;
        let Some(message) = datagram.get(..length).filter(|message| !message.is_empty()) else {
            return Err(io::ErrorKind::InvalidData.into());
        };
        match u16::from_ne_bytes([header[4], header[5]]) {
            NLMSG_DONE => return Ok(true),
            SOCK_DIAG_BY_FAMILY => match message.get(STATE_AT).copied() {
                Some(ESTABLISHED) => counted.established += 1,
                Some(LISTEN) => {
                    let queue = number_at(message, RECEIVE_QUEUE_AT);
                    let backlog = number_at(message, SEND_QUEUE_AT);
                    let drops = memory(message).and_then(|it| number_at(it, SK_MEMINFO_DROPS * 4));
                    let (Some(queue), Some(drops)) = (queue, drops) else {
                        return Err(io::ErrorKind::InvalidData.into());
                    };
                    counted.listening = true;
                    counted.accept_queue += queue;
                    counted.dropped += drops;
                    counted.backlog = shortest(counted.backlog, backlog);
                }
                _ => return Err(io::ErrorKind::InvalidData.into()),
            },
            // An error of the kernel's, or something unknown.
            _ => return Err(io::ErrorKind::Unsupported.into()),
        }
        datagram = &datagram[length.next_multiple_of(4).min(datagram.len())..];
    }
    Ok(false)
}

fn number_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// The attribute of a socket's memory.
fn memory(message: &[u8]) -> Option<&[u8]> {
    let mut attributes = message.get(ATTRIBUTES_AT..)?;
    loop {
        let header = attributes.first_chunk::<4>()?;
        let length = usize::from(u16::from_ne_bytes([header[0], header[1]]));
        let content = attributes.get(4..length)?;
        if u16::from_ne_bytes([header[2], header[3]]) == INET_DIAG_SKMEMINFO {
            return Some(content);
        }
        attributes = attributes.get(length.next_multiple_of(4)..)?;
    }
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn accepted_and_waiting_connections_are_told_apart() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let port = address.port();
        let Some(before) = listeners(port) else {
            crate::skipped::skipped("this kernel doesn't offer sock_diag");
            return;
        };
        let backlog = before.backlog;
        assert!(backlog.is_some_and(|it| it > 0), "{before:?}");
        let empty = Listeners { accept_queue: 0, dropped: 0, backlog };
        assert_eq!((before, established(port)), (empty, Some(0)));
        let _clients: Vec<_> = (0..100).map(|_| TcpStream::connect(address).unwrap()).collect();
        let _accepted: Vec<_> = (0..60).map(|_| listener.accept().unwrap()).collect();
        assert_eq!(established(port), Some(100));
        assert_eq!(listeners(port), Some(Listeners { accept_queue: 40, ..empty }));
    }

    #[test]
    fn a_full_listen_queue_is_seen() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        // Listening again changes the queue's length.
        rustix::net::listen(&listener, 1).unwrap();
        if listeners(address.port()).is_none() {
            crate::skipped::skipped("this kernel doesn't offer sock_diag");
            return;
        }
        let within = Duration::from_millis(50);
        let _clients: Vec<_> =
            (0..8).map(|_| TcpStream::connect_timeout(&address, within)).collect();
        let dropped = listeners(address.port()).unwrap().dropped;
        assert!(dropped > 0, "a queue of one doesn't hold eight");
    }

    /// Else a load is told to fit a queue that isn't the server's.
    #[test]
    fn a_queue_is_as_long_as_its_server_asked_for_and_of_several_the_shortest_counts() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        rustix::net::listen(&listener, 5).unwrap();
        if listeners(port).is_none() {
            crate::skipped::skipped("this kernel doesn't offer sock_diag");
            return;
        }
        assert_eq!(listeners(port).unwrap().backlog, Some(5));
        if let Ok(other) = TcpListener::bind(("::1", port)) {
            rustix::net::listen(&other, 3).unwrap();
            assert_eq!(listeners(port).unwrap().backlog, Some(3));
        }
        drop(listener);
        assert_ne!(listeners(port).unwrap().backlog, Some(5), "nobody listens there any more");
    }

    #[test]
    fn a_cut_or_foreign_message_is_an_error_and_no_count() {
        for datagram in [&[1, 0, 0, 0][..], &[0; 16], &[255; 16], &[255; 40]] {
            let mut counted = Counted::default();
            let complete = count(datagram, &mut counted);
            assert!(!matches!(complete, Ok(true)), "{datagram:?}");
            assert_eq!(counted, Counted::default());
        }
    }
}
