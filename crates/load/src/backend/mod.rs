//! How a thread talks to the kernel: one small interface, two ways.
//!
//! A backend moves bytes on numbered connections, called slots, and tells when
//! things happened; it knows no protocol. A slot's connection may be replaced; what the
//! kernel still says of the old one is dropped here, by generation.

mod arrivals;
mod buffers;
pub(crate) mod epoll;
pub(crate) mod ring;
#[cfg(test)]
pub(crate) mod scripted;
mod socket;
mod stamped;
mod stamped_head;
pub(crate) mod uring;

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::fd::RawFd;
use std::sync::Arc;
use std::time::Duration;

use crate::pace::clock::Clock;

/// A connection of this thread, by number from 0.
pub(crate) type Slot = u32;

/// What a backend needs to know of the run.
#[derive(Debug, Clone)]
pub(crate) struct Setup {
    /// What tells the time.
    pub clock: Clock,
    /// Where connections go.
    pub address: SocketAddr,
    /// Slots, numbered from 0.
    pub slots: u32,
    /// Whether a connection is used for one request only.
    pub one_shot: bool,
    /// Whether more may be sent on a connection before all that was asked on it is answered.
    pub overlapping: bool,
    /// The most bytes of requests that are under way together on a connection.
    pub request_bytes_max: usize,
    /// Which slots receive with the kernel's stamp: see [`Backend::kernel_stamp`].
    pub stamps: StampedSlots,
    /// Slots that are [paused](Backend::pause) some time, in ascending order: their receive
    /// buffers are small, so that what isn't read stays with the server.
    pub paused: Arc<[Slot]>,
    /// Ends a wait once it can be read: another thread wants this one awake.
    pub wake: Option<RawFd>,
}

/// Which slots receive with the kernel's stamp.
#[derive(Debug, Clone, Copy)]
pub(crate) enum StampedSlots {
    /// The first so many, each of which receives so many bytes at once.
    First { slots: u32, bytes: usize },
    /// All of them, which keep their connections. Each receives so many bytes at once, or some
    /// more.
    All { bytes: usize },
}

impl StampedSlots {
    /// No slot does.
    pub(crate) const NONE: StampedSlots = StampedSlots::First { slots: 0, bytes: 0 };

    /// Whether this slot does.
    fn has(self, slot: Slot) -> bool {
        match self {
            StampedSlots::First { slots, .. } => slot < slots,
            StampedSlots::All { .. } => true,
        }
    }

    /// Bytes that such a slot receives at once.
    fn bytes(self) -> usize {
        match self {
            StampedSlots::First { bytes, .. } | StampedSlots::All { bytes } => bytes,
        }
    }
}

/// What happened on a slot.
#[derive(Debug)]
pub(crate) enum Event {
    /// The connection is established.
    Connected(Slot),
    /// The connection could not be made: the kernel's error number.
    ConnectFailed(Slot, i32),
    /// Bytes came: see [`Backend::bytes`].
    Received(Slot, Received),
    /// The kernel has taken the slot's send whole, later than when it was given.
    Sent(Slot),
    /// The server ended its side.
    Ended(Slot),
    /// The connection broke: the kernel's error number.
    Broken(Slot, i32),
}

impl Event {
    /// The slot that it happened on.
    fn slot(&self) -> Slot {
        match *self {
            Event::Connected(slot)
            | Event::ConnectFailed(slot, _)
            | Event::Received(slot, _)
            | Event::Sent(slot)
            | Event::Ended(slot)
            | Event::Broken(slot, _) => slot,
        }
    }
}

/// A place in the backend's own buffers where bytes lie until the next call of
/// [`Backend::next`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct Received {
    buffer: u32,
    start: u32,
    length: u32,
}

impl Received {
    /// The high bit of `buffer`: it is none that all share, but one for a slot's stamped bytes.
    const STAMPED: u32 = 1 << 31;

    /// So many bytes of a backend that keeps those of one event.
    #[cfg(any(test, feature = "simulator"))]
    pub(crate) fn whole(length: usize) -> Received {
        Received { buffer: 0, start: 0, length: length as u32 }
    }

    /// How many bytes these are.
    #[cfg(any(test, feature = "simulator"))]
    pub(crate) fn length(self) -> usize {
        self.length as usize
    }

    fn stamped(slot: Slot, length: u32) -> Received {
        Received { buffer: Received::STAMPED | slot, start: 0, length }
    }

    fn stamped_slot(self) -> Option<Slot> {
        (self.buffer & Received::STAMPED != 0).then_some(self.buffer & !Received::STAMPED)
    }
}

/// How a thread is woken for several events at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Gathering {
    /// So many events end a wait.
    pub events: u32,
    /// Fewer end it so long after it began.
    pub within: Duration,
}

/// How often a backend went into the kernel so far, and for how much.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Calls {
    /// Calls that hand over, wait or look, and without a ring those that send or receive.
    pub enters: u64,
    /// Events that the kernel told.
    pub events: u64,
}

/// Moves bytes on slots.
pub(crate) trait Backend {
    /// What the run's clock shows.
    fn now(&self) -> u64;

    /// Begins a connection. What comes of it is an event. Gives the time if it
    /// entered the kernel, as [`Backend::send`] does.
    fn connect(&mut self, slot: Slot, source: Option<Ipv4Addr>) -> io::Result<Option<u64>>;

    /// Goes on receiving on a connection that has brought only part of an answer, of
    /// which at least so many bytes are to come. To be called after each part: how much
    /// is missing decides what the thread is woken for, and where a connection is used
    /// for one request only, nothing more is received without it.
    fn receive_more(&mut self, slot: Slot, missing: u64);

    /// Sends bytes on an established connection that isn't sending; a failure is an event.
    /// Gives the time if it entered the kernel, so that it has passed.
    ///
    /// # Safety
    /// The bytes must stay where they are and as they are until the answer has come and
    /// they are sent (see [`Backend::is_sending`]), or the slot has been closed.
    unsafe fn send(&mut self, slot: Slot, bytes: *const [u8]) -> Option<u64>;

    /// Whether the kernel hasn't taken the slot's last send whole: it may still read its
    /// bytes. Where sends aren't overlapping and requests are small, it takes each at once,
    /// and this is never so.
    fn is_sending(&self, slot: Slot) -> bool;

    /// How many bytes of that send haven't left this machine's memory yet.
    fn unsent_bytes(&self, slot: Slot) -> u64;

    /// Copies what lies unread on a slot's connection to the start of `room`, and leaves it there;
    /// gives how many bytes these are. It is a call of the kernel: one a connection, and not one a
    /// request.
    fn peek(&self, _slot: Slot, _room: &mut [u8]) -> usize {
        0
    }

    /// Reads nothing more of what comes on a slot's connection, until it is
    /// [resumed](Backend::resume). What was read before may still be told.
    fn pause(&mut self, _slot: Slot) {}

    /// Reads again.
    fn resume(&mut self, _slot: Slot) {}

    /// Ends the slot's connection, if it has one; nothing more is heard of it.
    fn close(&mut self, slot: Slot);

    /// The same, and tells the server by a reset that the connection is gone.
    fn reset(&mut self, slot: Slot) {
        self.close(slot);
    }

    /// Hands what is queued to the kernel and sleeps until something happened
    /// or the time is over. Gives the time then.
    fn wait(&mut self, at_most: Duration) -> io::Result<u64>;

    /// From now on fewer events than these end a wait only so long after it began; `None`: one
    /// does at once. Whether the backend can do so.
    fn gather(&mut self, _gathering: Option<Gathering>) -> bool {
        false
    }

    /// Takes the next event of those that [`Backend::wait`] brought, and when it
    /// had come.
    fn next(&mut self) -> Option<(u64, Event)>;

    /// The bytes of an event.
    fn bytes(&self, received: Received) -> &[u8];

    /// When the last of the bytes of the event last taken came to this machine, since the
    /// Unix epoch; `None` for slots that receive without stamps.
    fn kernel_stamp(&self) -> Option<Duration>;

    /// SYN segments sent again on the slot's connection so far.
    fn syn_retransmits(&self, slot: Slot) -> u64;

    /// How often it went into the kernel so far; nothing of one that has none.
    fn calls(&self) -> Calls {
        Calls::default()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::net::TcpListener;

    use super::epoll::Epoll;
    use super::ring::Ring;
    use super::uring::Uring;
    use super::*;

    /// All bytes that come within a while.
    fn heard(backend: &mut impl Backend) -> Vec<u8> {
        let mut all = Vec::new();
        for _ in 0..5 {
            backend.wait(Duration::from_millis(10)).unwrap();
            while let Some((_, event)) = backend.next() {
                match event {
                    Event::Received(_, received) => all.extend_from_slice(backend.bytes(received)),
                    other => panic!("nothing else happened, but {other:?}"),
                }
            }
        }
        all
    }

    fn reads_nothing_while_paused(mut backend: impl Backend, listener: &TcpListener) {
        backend.connect(0, None).unwrap();
        while !matches!(backend.next(), Some((_, Event::Connected(0)))) {
            backend.wait(Duration::from_secs(1)).unwrap();
        }
        let (mut peer, _) = listener.accept().unwrap();
        peer.write_all(b"before").unwrap();
        assert_eq!(heard(&mut backend), b"before");
        backend.pause(0);
        assert_eq!(heard(&mut backend), b"");
        peer.write_all(b"meanwhile").unwrap();
        assert_eq!(heard(&mut backend), b"", "it was read");
        backend.resume(0);
        assert_eq!(heard(&mut backend), b"meanwhile");
        backend.pause(0);
        backend.resume(0);
        peer.write_all(b"afterwards").unwrap();
        assert_eq!(heard(&mut backend), b"afterwards", "a pause that is over at once has no end");
    }

    /// Else a server has nobody who is slow, or one who never reads again.
    #[test]
    fn what_comes_to_a_paused_slot_is_read_once_it_is_resumed() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let setup = Setup {
            clock: Clock::start(),
            address: listener.local_addr().unwrap(),
            slots: 1,
            one_shot: false,
            overlapping: true,
            request_bytes_max: 1,
            stamps: StampedSlots::All { bytes: 512 },
            paused: [0].into(),
            wake: None,
        };
        reads_nothing_while_paused(Epoll::new(setup.clone()).unwrap(), &listener);
        let Ok(mut ring) = Ring::new(1) else {
            return crate::skipped::skipped("this kernel has no io_uring for it");
        };
        reads_nothing_while_paused(Uring::new(&mut ring, setup).unwrap(), &listener);
    }
}
