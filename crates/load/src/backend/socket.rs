//! What both backends do with a socket outside of the hot path.

use std::io;
use std::net::Ipv4Addr;
use std::os::fd::{AsFd, OwnedFd};

use rustix::net::{
    AddressFamily, RecvFlags, SocketAddrV4, SocketFlags, SocketType, bind, ipproto, socket_with,
    sockopt,
};

use super::{Setup, Slot};

/// Whether calls on a socket wait. io_uring waits for a blocking socket by
/// itself, and fails at once for another.
#[derive(Clone, Copy)]
pub(super) enum Blocking {
    Yes,
    No,
}

/// Bytes of requests under way on a connection that no congestion control holds
/// back: the initial window of 10 segments (RFC 6928) of 1,460 bytes.
const INITIAL_WINDOW_BYTES: usize = 10 * 1460;

/// Bytes of a request that an established connection takes at once where all before were
/// taken: room for its initial window twice over is the least that the kernel gives it
/// (`tcp_sndbuf_expand`), with what it needs beside the bytes.
pub(super) const TAKEN_AT_ONCE_BYTES: usize = INITIAL_WINDOW_BYTES;

/// Bytes of a request that fit in one segment, whatever the path: the default
/// maximum segment size (RFC 9293, 3.7.1).
const SEGMENT_BYTES: usize = 536;

/// The most bytes of a large body that come together: the thread isn't woken for less
/// (`SO_RCVLOWAT`). It spares two of three wake-ups, which over loopback are paid for
/// by the server's core as well.
const PORTION_MAX: u32 = 128 << 10;

/// The part of the receive buffer that a portion may be. A larger one has the kernel make
/// the buffer just large enough for it, and keep the window at that: the server then waits
/// a round trip for each (`tcp_set_rcvlowat`). The buffer grows with what comes.
const PORTION_PART: usize = 4;

/// The receive buffer of a slot that is paused some time. The kernel doubles it for what it needs
/// beside the bytes; with less, small messages that come together would be lost and sent again.
const PAUSED_BUFFER_BYTES: usize = 16 << 10;

/// How many of a connection's bytes come together at least; 0 until that was set.
#[derive(Debug, Default)]
pub(super) struct Portion(u32);

impl Portion {
    /// Has them come in portions as long as so many are missing that the rest is no
    /// less than one, so that the end of an answer is never later for it.
    pub(super) fn suit(&mut self, socket: &impl AsFd, missing: u64) {
        let is_large = missing >= u64::from(PORTION_MAX);
        if is_large && self.0 < PORTION_MAX {
            let buffer = sockopt::socket_recv_buffer_size(socket).unwrap_or_default();
            let part = u32::try_from(buffer / PORTION_PART).unwrap_or(PORTION_MAX);
            self.set(socket, part.clamp(1, PORTION_MAX));
        } else if !is_large && self.0 > 1 {
            self.set(socket, 1);
        }
    }

    fn set(&mut self, socket: &impl AsFd, bytes: u32) {
        if bytes != self.0 {
            // Where it can't be set they come as they come.
            let _ = set_low_water(socket, bytes);
            self.0 = bytes;
        }
    }
}

fn set_low_water(socket: &impl AsFd, bytes: u32) -> io::Result<()> {
    set_int(socket, libc::SOL_SOCKET, libc::SO_RCVLOWAT, bytes as libc::c_int)
}

/// Makes a TCP socket that sends at once, bound to a source address if one is given.
///
/// The port is chosen by the kernel only when it connects
/// (`IP_BIND_ADDRESS_NO_PORT`): chosen at bind, a port is taken for all
/// destinations, and 28,232 of them are soon gone.
pub(super) fn open(
    setup: &Setup,
    slot: Slot,
    source: Option<Ipv4Addr>,
    blocking: Blocking,
) -> io::Result<OwnedFd> {
    let &Setup { address: target, one_shot, request_bytes_max, .. } = setup;
    let family = if target.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let mut flags = SocketFlags::CLOEXEC;
    flags.set(SocketFlags::NONBLOCK, matches!(blocking, Blocking::No));
    let socket = socket_with(family, SocketType::STREAM, flags, Some(ipproto::TCP))?;
    if one_shot {
        // A request follows the handshake at once, so that the handshake's last
        // acknowledgement can go with it: a packet less for both sides. If the
        // request is late, the kernel acknowledges by itself after 40 ms.
        sockopt::set_tcp_quickack(&socket, false)?;
    }
    // A connection's first segment never waits for an acknowledgement.
    if !one_shot || request_bytes_max > SEGMENT_BYTES {
        sockopt::set_tcp_nodelay(&socket, true)?;
    }
    if request_bytes_max <= INITIAL_WINDOW_BYTES {
        // Requests within the initial window are never held back, so congestion
        // control has nothing to decide; but some (BBR) pace by a timer and
        // model the path at each acknowledgement all the same. Reno is always
        // there, and does neither.
        let _ = sockopt::set_tcp_congestion(&socket, "reno");
    }
    if setup.stamps.has(slot) {
        // Where it can't be had, there are no stamps.
        let _ = set_int(&socket, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, 1);
    }
    if setup.paused.binary_search(&slot).is_ok() {
        sockopt::set_socket_recv_buffer_size(&socket, PAUSED_BUFFER_BYTES)?;
    }
    if let Some(source) = source {
        set_bind_address_no_port(&socket)?;
        bind(&socket, &SocketAddrV4::new(source, 0))?;
    }
    Ok(socket)
}

fn set_bind_address_no_port(socket: &impl AsFd) -> io::Result<()> {
    set_int(socket, libc::IPPROTO_IP, libc::IP_BIND_ADDRESS_NO_PORT, 1)
}

fn set_int(socket: &impl AsFd, level: i32, option: i32, value: libc::c_int) -> io::Result<()> {
    use std::os::fd::AsRawFd;
    // SAFETY: the option takes an int, which lives through the call.
    let result = unsafe {
        libc::setsockopt(
            socket.as_fd().as_raw_fd(),
            level,
            option,
            (&raw const value).cast(),
            size_of_val(&value) as libc::socklen_t,
        )
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Ends a connection with a reset, whatever is under way on it.
pub(super) fn reset(socket: &impl AsFd) {
    use std::os::fd::AsRawFd;
    let nobody =
        libc::sockaddr { sa_family: libc::AF_UNSPEC as libc::sa_family_t, sa_data: [0; 14] };
    // It fails only for a connection that is gone already.
    // SAFETY: the kernel reads the address within the call.
    unsafe {
        libc::connect(
            socket.as_fd().as_raw_fd(),
            &raw const nobody,
            size_of_val(&nobody) as libc::socklen_t,
        )
    };
}

/// Copies what lies unread on this socket, and leaves it there; gives how many bytes these are.
pub(super) fn peek(socket: &impl AsFd, room: &mut [u8]) -> usize {
    let peeked = rustix::net::recv(socket, room, RecvFlags::PEEK | RecvFlags::DONTWAIT);
    peeked.map_or(0, |(length, _)| length)
}

/// Segments sent again on this socket; 0 where the kernel doesn't tell. Asked before or
/// right after the handshake it counts SYNs only.
pub(super) fn retransmits(socket: &impl AsFd) -> u64 {
    u64::from(info(socket).tcpi_total_retrans)
}

/// Bytes that left for the peer on this socket, each counted once; 0 where the kernel
/// doesn't tell (before Linux 4.19).
pub(super) fn bytes_sent(socket: &impl AsFd) -> u64 {
    let info = info(socket);
    info.tcpi_bytes_sent.saturating_sub(info.tcpi_bytes_retrans)
}

/// The kernel's `TCP_INFO`, zeros where it doesn't tell.
fn info(socket: &impl AsFd) -> libc::tcp_info {
    use std::os::fd::AsRawFd;
    // SAFETY: tcp_info is plain data, for which zeros are a valid value.
    let mut info: libc::tcp_info = unsafe { std::mem::zeroed() };
    let mut length = size_of_val(&info) as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes into `info`.
    unsafe {
        libc::getsockopt(
            socket.as_fd().as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            (&raw mut info).cast(),
            &raw mut length,
        )
    };
    info
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;
    use crate::backend::StampedSlots;
    use crate::pace::clock::Clock;

    fn port_of(socket: &OwnedFd) -> u16 {
        let address: std::net::SocketAddr =
            rustix::net::getsockname(socket).unwrap().try_into().unwrap();
        address.port()
    }

    #[test]
    fn a_source_address_takes_no_port_before_it_connects() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let setup = Setup {
            clock: Clock::start(),
            address,
            slots: 1,
            one_shot: true,
            overlapping: false,
            request_bytes_max: 1,
            stamps: StampedSlots::NONE,
            paused: [].into(),
            wake: None,
        };
        let socket = open(&setup, 0, Some(Ipv4Addr::new(127, 1, 0, 1)), Blocking::Yes).unwrap();
        assert_eq!(port_of(&socket), 0, "the port is taken for all destinations");
        rustix::net::connect(&socket, &address).unwrap();
        assert_ne!(port_of(&socket), 0);
    }

    #[test]
    fn a_reset_is_seen_as_such() {
        use std::io::Read;
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let socket = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut peer, _) = listener.accept().unwrap();
        reset(&socket);
        let seen = peer.read(&mut [0; 8]).unwrap_err();
        assert_eq!(seen.kind(), io::ErrorKind::ConnectionReset);
    }

    /// Else what a server says before it is asked would be missing where it is read.
    #[test]
    fn what_is_peeked_at_is_still_there() {
        use std::io::{Read, Write};
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut socket = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        assert_eq!(peek(&socket, &mut [0; 8]), 0, "nothing came yet");
        listener.accept().unwrap().0.write_all(b"unasked").unwrap();
        let mut room = [0; 8];
        while peek(&socket, &mut room) < 7 {}
        assert_eq!(&room, b"unasked\0");
        let mut read = Vec::new();
        socket.read_to_end(&mut read).unwrap();
        assert_eq!(read, b"unasked");
    }

    /// The most that the kernel lets the other side send before it waits (`TCP_WINDOW_CLAMP`).
    fn window_clamp(socket: &OwnedFd) -> i32 {
        use std::os::fd::AsRawFd;
        let (mut value, mut length) = (0_i32, size_of::<i32>() as libc::socklen_t);
        // SAFETY: the kernel writes an int, for which there is room.
        let result = unsafe {
            libc::getsockopt(
                socket.as_raw_fd(),
                libc::IPPROTO_TCP,
                libc::TCP_WINDOW_CLAMP,
                (&raw mut value).cast(),
                &raw mut length,
            )
        };
        assert_eq!(result, 0);
        value
    }

    #[test]
    fn portions_leave_the_window_that_the_server_sends_in() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let socket =
            OwnedFd::from(std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap());
        let before = window_clamp(&socket);
        let mut portion = Portion::default();
        portion.suit(&socket, 10 << 20);
        assert!(portion.0 > 1, "each segment wakes the thread");
        assert_eq!(window_clamp(&socket), before, "the server waits a round trip for each portion");
        portion.suit(&socket, 1000);
        assert_eq!(portion.0, 1, "the end of an answer waits for more");
    }
}
