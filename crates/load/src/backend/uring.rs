//! The io_uring backend.
//!
//! What makes it cheap:
//! - one receive is armed for a connection's whole life (multishot), and takes
//!   its buffers from a ring shared with the kernel;
//! - sends complete silently, and are handed over together;
//! - only this thread enters the ring, and the kernel runs its part of the work
//!   right there, not in between (`SINGLE_ISSUER`, `DEFER_TASKRUN`);
//! - connections are registered files, and so is the ring.

use std::collections::VecDeque;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr;
use std::time::Duration;

use io_uring::types::{CancelBuilder, Fd, Fixed};
use io_uring::{CompletionQueue, EnterFlags, SubmissionQueue, Submitter, cqueue, opcode, squeue};

use super::ring::{Buffers, GROUP, Ring, Wait};
use super::socket::{self, Blocking, Portion};
use super::{Backend, Event, Received, Setup, Slot};

/// Work handed to the kernel together, in sends. More spares calls, but the last
/// of them then goes out later than the time that is noted for it.
const WORK_AT_ONCE: u32 = 16;
/// What a handshake costs the kernel, in sends.
const CONNECT_WORK: u32 = 4;

/// The most that is sent with one call: the kernel would end a larger one at 2 GiB.
const SEND_BYTES_MAX: usize = 1 << 30;

/// Completions after which a call ends though there may be more of which the work is to be
/// run by us (from Linux 6.13 on: `IO_LOCAL_TW_DEFAULT_MAX`).
const AT_ONCE: usize = 20;

/// Has the kernel put down completions whose work is only to be run by us.
const GET_EVENTS: u32 = EnterFlags::GETEVENTS.bits();

/// The step that a completion belongs to: the low bits of its user data.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
enum Step {
    Connect = 0,
    Receive = 1,
    Send = 2,
    Silent = 3,
}

/// Packs slot, generation and step into a completion's user data.
fn tag(slot: Slot, generation: u32, step: Step) -> u64 {
    u64::from(slot) << 32 | u64::from(generation & 0xff_ffff) << 8 | step as u64
}

#[derive(Default)]
struct Connection {
    socket: Option<OwnedFd>,
    generation: u32,
    /// Whether the handshake is under way.
    connecting: bool,
    /// Whether a receive is armed, which holds the socket open.
    receiving: bool,
    portion: Portion,
}

/// Makes an entry for a slot's socket: a registered file where connections are
/// kept, which spares the kernel a look-up each time; a plain descriptor where
/// to register each would cost more than that.
macro_rules! on_socket {
    ($backend:expr, $slot:expr, |$socket:ident| $entry:expr) => {
        if $backend.setup.one_shot {
            let socket = $backend.connections[$slot as usize].socket.as_ref();
            let $socket = Fd(socket.map_or(-1, AsRawFd::as_raw_fd));
            $entry
        } else {
            let $socket = Fixed($slot);
            $entry
        }
    };
}

/// The backend on a [`Ring`].
pub(crate) struct Uring<'ring> {
    submitter: Submitter<'ring>,
    submissions: SubmissionQueue<'ring>,
    completions: CompletionQueue<'ring>,
    wait: Wait,
    buffers: Buffers,
    /// The full buffer of the event last taken, given back when the next is.
    lent: Option<u16>,
    connections: Vec<Connection>,
    /// By slot, requests that are not sent yet: one after the other, since the kernel may
    /// finish sends in another order than it was given them. Without slots where it takes
    /// each request at once, and nobody needs to know when.
    unsent: Vec<VecDeque<*const [u8]>>,
    target: Box<(libc::sockaddr_storage, libc::socklen_t)>,
    setup: Setup,
    work_queued: u32,
    arrivals: Arrivals,
}

impl<'ring> Uring<'ring> {
    /// Sets the ring up for a run.
    ///
    /// # Errors
    /// The kernel's, where it lacks buffer rings or the memory for them.
    pub(crate) fn new(ring: &'ring mut Ring, setup: Setup) -> io::Result<Uring<'ring>> {
        let wait = Wait::on(ring);
        let (mut submitter, submissions, completions) = ring.0.split();
        if !setup.one_shot {
            submitter.register_files_sparse(setup.slots)?;
        }
        // Spares the look-up of the ring's file at each call; a kernel that
        // can't is only a little slower.
        let _ = submitter.register_ring_fd();
        let buffers = Buffers::new(&submitter)?;
        let connections = (0..setup.slots).map(|_| Connection::default()).collect();
        let at_once = !setup.pipelined && setup.request_bytes_max <= socket::TAKEN_AT_ONCE_BYTES;
        let queues = if at_once { 0 } else { setup.slots };
        Ok(Uring {
            submitter,
            submissions,
            completions,
            wait,
            buffers,
            lent: None,
            connections,
            unsent: (0..queues).map(|_| VecDeque::new()).collect(),
            target: Box::new(sockaddr(setup.address)),
            setup,
            work_queued: 0,
            arrivals: Arrivals::default(),
        })
    }

    fn push(&mut self, entry: squeue::Entry) {
        loop {
            // SAFETY: what entries point to lives in `self` or, for sends, as
            // long as `Backend::send` demands.
            if unsafe { self.submissions.push(&entry) }.is_ok() {
                return;
            }
            // The queue is full. To hand it over fails only for want of memory,
            // and is tried again.
            self.submit();
        }
    }

    /// Hands over what is queued, and has the kernel put down what has come
    /// meanwhile. Gives the time.
    fn submit(&mut self) -> u64 {
        self.before_entering();
        let queued = self.submissions.len() as u32;
        // A failure shows again, and is handled, at the next wait.
        // SAFETY: it is a call without an argument that would be read.
        let _ = unsafe { self.submitter.enter::<libc::sigset_t>(queued, 0, GET_EVENTS, None) };
        self.submissions.sync();
        self.note_arrivals()
    }

    fn before_entering(&mut self) {
        self.submissions.sync();
        self.work_queued = 0;
        self.buffers.publish();
    }

    /// Looks what completions there are; they came by now.
    ///
    /// Of a backlog one call brings a few, and the rest would come while those are seen to:
    /// what that takes would be in their times. So they are asked for at once, but for no
    /// more than one of each connection, since buffers are few.
    fn note_arrivals(&mut self) -> u64 {
        let mut known = self.arrivals.ready();
        self.completions.sync();
        while self.completions.len() >= known + AT_ONCE
            && self.completions.len() < self.connections.len()
        {
            known = self.completions.len();
            // SAFETY: it is a call without an argument that would be read.
            let _ = unsafe { self.submitter.enter::<libc::sigset_t>(0, 0, GET_EVENTS, None) };
            self.completions.sync();
        }
        let now = self.setup.clock.now();
        self.arrivals.note(self.completions.len() as u64, now);
        now
    }

    fn arm_receive(&mut self, slot: Slot) {
        let entry = if self.setup.one_shot {
            // A multishot receive would hold the socket open after its close.
            on_socket!(self, slot, |socket| {
                opcode::Recv::new(socket, ptr::null_mut(), 0).buf_group(GROUP).build()
            })
            .flags(squeue::Flags::BUFFER_SELECT)
        } else {
            opcode::RecvMulti::new(Fixed(slot), GROUP).build()
        };
        let connection = &mut self.connections[slot as usize];
        connection.receiving = true;
        let generation = connection.generation;
        self.push(entry.user_data(tag(slot, generation, Step::Receive)));
    }

    #[inline(always)]
    fn push_send(&mut self, slot: Slot, bytes: *const [u8]) {
        let flags = libc::MSG_NOSIGNAL | libc::MSG_WAITALL;
        let length = bytes.len().min(SEND_BYTES_MAX) as u32;
        let entry = on_socket!(self, slot, |socket| {
            opcode::Send::new(socket, bytes.cast(), length).flags(flags).build()
        });
        let silent = self.unsent.is_empty();
        let entry = if silent { entry.flags(squeue::Flags::SKIP_SUCCESS) } else { entry };
        let generation = self.connections[slot as usize].generation;
        self.push(entry.user_data(tag(slot, generation, Step::Send)));
    }

    /// Hands what is queued over if it is much, with this work more; then gives
    /// the time.
    fn hand_over_if_much(&mut self, work: u32) -> Option<u64> {
        self.work_queued += work;
        (self.work_queued >= WORK_AT_ONCE).then(|| self.submit())
    }

    fn give_back_lent(&mut self) {
        if let Some(buffer) = self.lent.take() {
            self.buffers.give_back(buffer);
        }
    }

    /// Makes an event of a completion, or none where it needs no attention.
    fn event(&mut self, user_data: u64, result: i32, flags: u32) -> Option<Event> {
        let slot = (user_data >> 32) as Slot;
        let step = (user_data & 0xff) as u8;
        let received = cqueue::buffer_select(flags).map(|buffer| {
            if !cqueue::buffer_more(flags) {
                self.lent = Some(buffer);
            }
            self.buffers.fill(buffer, result.max(0) as u32)
        });
        let generation = self.connections[slot as usize].generation & 0xff_ffff;
        if (user_data >> 8 & 0xff_ffff) as u32 != generation || step == Step::Silent as u8 {
            self.give_back_lent();
            return None;
        }
        let connection = &mut self.connections[slot as usize];
        if step == Step::Receive as u8 {
            connection.receiving = cqueue::more(flags);
            if result > 0 {
                if !connection.receiving && !self.setup.one_shot {
                    self.arm_receive(slot);
                }
                let received = received.expect("received bytes lie in a buffer of the ring");
                return Some(Event::Received(slot, received));
            }
            self.give_back_lent();
            return match -result {
                0 => Some(Event::Ended(slot)),
                // All buffers were full at that moment: ask again, with more.
                libc::ENOBUFS => {
                    self.buffers.short = true;
                    self.arm_receive(slot);
                    None
                }
                error => Some(Event::Broken(slot, error)),
            };
        }
        if step == Step::Connect as u8 {
            connection.connecting = false;
            if result < 0 {
                return Some(Event::ConnectFailed(slot, -result));
            }
            self.arm_receive(slot);
            return Some(Event::Connected(slot));
        }
        if result < 0 {
            return Some(Event::Broken(slot, -result));
        }
        // Of a send that failed halfway the kernel tells how far it came, and not why. Where
        // success is silent, no other is told of.
        let broken = Some(Event::Broken(slot, libc::ECONNRESET));
        let Some(unsent) = self.unsent.get_mut(slot as usize) else { return broken };
        let bytes = unsent.pop_front()?;
        let (sent, asked) = (result as usize, bytes.len().min(SEND_BYTES_MAX));
        if sent < asked {
            return broken;
        }
        if sent < bytes.len() {
            let rest = bytes.cast::<u8>().wrapping_add(sent);
            unsent.push_front(ptr::slice_from_raw_parts(rest, bytes.len() - sent));
        }
        if let Some(&next) = unsent.front() {
            self.push_send(slot, next);
        }
        None
    }
}

impl Drop for Uring<'_> {
    fn drop(&mut self) {
        // The kernel must not know of buffers that are gone. It fails only
        // where there are none.
        let _ = self.submitter.unregister_buf_ring(GROUP);
    }
}

impl Backend for Uring<'_> {
    fn connect(&mut self, slot: Slot, source: Option<Ipv4Addr>) -> io::Result<Option<u64>> {
        let socket = socket::open(&self.setup, source, Blocking::Yes)?;
        if !self.setup.one_shot {
            self.submitter.register_files_update(slot, &[socket.as_raw_fd()])?;
        }
        let connection = &mut self.connections[slot as usize];
        connection.socket = Some(socket);
        connection.portion = Portion::default();
        connection.connecting = true;
        let generation = connection.generation;
        let (target, length) = (&raw const self.target.0, self.target.1);
        let entry = on_socket!(self, slot, |socket| {
            opcode::Connect::new(socket, target.cast(), length).build()
        });
        self.push(entry.user_data(tag(slot, generation, Step::Connect)));
        Ok(self.hand_over_if_much(CONNECT_WORK))
    }

    fn receive_more(&mut self, slot: Slot, missing: u64) {
        let connection = &mut self.connections[slot as usize];
        if let Some(socket) = &connection.socket {
            connection.portion.suit(socket, missing);
        }
        if self.setup.one_shot {
            self.arm_receive(slot);
        }
    }

    unsafe fn send(&mut self, slot: Slot, bytes: *const [u8]) -> Option<u64> {
        if let Some(unsent) = self.unsent.get_mut(slot as usize) {
            unsent.push_back(bytes);
            if unsent.len() > 1 {
                return None;
            }
        }
        self.push_send(slot, bytes);
        self.hand_over_if_much(1)
    }

    #[inline(always)]
    fn unsent(&self, slot: Slot) -> usize {
        self.unsent.get(slot as usize).map_or(0, VecDeque::len)
    }

    fn close(&mut self, slot: Slot) {
        let is_sending = self.unsent(slot) > 0;
        if self.setup.one_shot
            && self.connections[slot as usize].receiving
            && !self.submissions.is_empty()
        {
            // The receive may still be queued, by the number of a descriptor that could be
            // another thread's next one.
            self.submit();
        }
        let connection = &mut self.connections[slot as usize];
        let Some(socket) = connection.socket.take() else { return };
        let generation = connection.generation;
        connection.generation = generation.wrapping_add(1);
        if let Some(unsent) = self.unsent.get_mut(slot as usize) {
            unsent.clear();
        }
        if std::mem::take(&mut connection.receiving) || is_sending {
            // What the kernel still has to do on it would hold it open, and read bytes that
            // are no longer there.
            let _ = rustix::net::shutdown(&socket, rustix::net::Shutdown::Both);
        }
        if std::mem::take(&mut connection.connecting) {
            let handshake = CancelBuilder::user_data(tag(slot, generation, Step::Connect));
            let cancel = opcode::AsyncCancel2::new(handshake).build();
            let silent = tag(slot, generation, Step::Silent);
            self.push(cancel.flags(squeue::Flags::SKIP_SUCCESS).user_data(silent));
        }
        if !self.setup.one_shot {
            // Fails only for a slot that was never registered.
            let _ = self.submitter.register_files_update(slot, &[-1]);
        }
    }

    fn wait(&mut self, at_most: Duration) -> io::Result<()> {
        // Once a batch: those that are lent out now are soon given back.
        self.buffers.grow_if_short();
        if self.arrivals.begin_batch() {
            // Some came while the last ones were seen to.
            self.submit();
            return Ok(());
        }
        self.before_entering();
        let (queued, done) = (&mut self.submissions, &mut self.completions);
        let waited = self.wait.for_one(&self.submitter, queued, done, at_most);
        self.note_arrivals();
        self.arrivals.begin_batch();
        waited
    }

    fn next(&mut self) -> Option<(u64, Event)> {
        self.give_back_lent();
        while let Some(came) = self.arrivals.take() {
            let completion = self.completions.next().expect("it was counted");
            let event = self.event(completion.user_data(), completion.result(), completion.flags());
            if let Some(event) = event {
                return Some((came, event));
            }
        }
        None
    }

    fn bytes(&self, received: Received) -> &[u8] {
        self.buffers.bytes(received)
    }

    fn syn_retransmits(&self, slot: Slot) -> u64 {
        self.connections[slot as usize].socket.as_ref().map_or(0, socket::retransmits)
    }
}

/// When completions came: each time that the queue is looked at, all in it
/// came by then.
///
/// While one batch is seen to, the next comes in, and may wait there for
/// milliseconds: without this, that wait would be taken for the server's.
#[derive(Default)]
struct Arrivals {
    /// How many had come in all, and by when: of those looks after the current one.
    looks: VecDeque<(u64, u64)>,
    /// The look that brought what is taken now.
    current: (u64, u64),
    /// How many have come.
    come: u64,
    /// How many were taken.
    taken: u64,
    /// How many are taken before the next batch.
    batch_end: u64,
}

impl Arrivals {
    /// Notes that so many lie in the queue.
    fn note(&mut self, ready: u64, now: u64) {
        let come = self.taken + ready;
        if self.come < come {
            self.come = come;
            self.looks.push_back((come, now));
        }
    }

    /// How many lie in the queue, as far as was noted.
    fn ready(&self) -> usize {
        (self.come - self.taken) as usize
    }

    /// Lets all that have come be taken; whether there are any.
    fn begin_batch(&mut self) -> bool {
        self.batch_end = self.come;
        self.batch_end > self.taken
    }

    /// Takes the next of the batch; gives when it had come.
    fn take(&mut self) -> Option<u64> {
        if self.taken == self.batch_end {
            return None;
        }
        while self.current.0 <= self.taken {
            self.current = self.looks.pop_front()?;
        }
        self.taken += 1;
        Some(self.current.1)
    }
}

/// The target as the kernel wants it.
fn sockaddr(address: SocketAddr) -> (libc::sockaddr_storage, libc::socklen_t) {
    // SAFETY: sockaddr_storage is plain data, for which zeros are a valid value.
    let mut storage: libc::sockaddr_storage = unsafe { std::mem::zeroed() };
    match address {
        SocketAddr::V4(v4) => {
            let raw = libc::sockaddr_in {
                sin_family: libc::AF_INET as libc::sa_family_t,
                sin_port: v4.port().to_be(),
                sin_addr: libc::in_addr { s_addr: u32::from(*v4.ip()).to_be() },
                sin_zero: [0; 8],
            };
            // SAFETY: sockaddr_storage is large enough and aligned for any address.
            unsafe { (&raw mut storage).cast::<libc::sockaddr_in>().write(raw) };
            (storage, size_of_val(&raw) as libc::socklen_t)
        }
        SocketAddr::V6(v6) => {
            let raw = libc::sockaddr_in6 {
                sin6_family: libc::AF_INET6 as libc::sa_family_t,
                sin6_port: v6.port().to_be(),
                sin6_flowinfo: v6.flowinfo(),
                sin6_addr: libc::in6_addr { s6_addr: v6.ip().octets() },
                sin6_scope_id: v6.scope_id(),
            };
            // SAFETY: as above.
            unsafe { (&raw mut storage).cast::<libc::sockaddr_in6>().write(raw) };
            (storage, size_of_val(&raw) as libc::socklen_t)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::sync::mpsc::{self, Sender};

    use super::*;
    use crate::clock::Clock;

    /// Tasks of the whole machine that wait for a disk now, as far as the kernel can tell.
    fn blocked() -> u32 {
        let stat = std::fs::read_to_string("/proc/stat").unwrap();
        let line = stat.lines().find_map(|line| line.strip_prefix("procs_blocked "));
        line.unwrap().parse().unwrap()
    }

    #[test]
    fn waits_for_the_network_are_not_counted_as_waits_for_a_disk() {
        // More than wait for a disk on a busy machine.
        const THREADS: u32 = 32;
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        if !Ring::new(1).is_ok_and(|ring| ring.0.params().is_feature_no_iowait()) {
            return crate::skipped::skipped("this kernel can't be told");
        }
        let wait_in_a_ring = |about_to_wait: Sender<()>| {
            let mut ring = Ring::new(1).unwrap();
            let setup = Setup {
                clock: Clock::start(),
                address,
                slots: 1,
                one_shot: false,
                pipelined: false,
                request_bytes_max: 1,
            };
            let mut backend = Uring::new(&mut ring, setup).unwrap();
            backend.connect(0, None).unwrap();
            while backend.next().is_none() {
                backend.wait(Duration::from_secs(1)).unwrap();
            }
            about_to_wait.send(()).unwrap();
            backend.wait(Duration::from_millis(500)).unwrap();
        };
        let least = std::thread::scope(|scope| {
            let (to, waiting) = mpsc::channel();
            for _ in 0..THREADS {
                let to = to.clone();
                scope.spawn(move || wait_in_a_ring(to));
            }
            drop(to);
            waiting.iter().take(THREADS as usize).for_each(drop);
            std::thread::sleep(Duration::from_millis(100));
            let looks = (0..10).map(|_| {
                std::thread::sleep(Duration::from_millis(10));
                blocked()
            });
            looks.min().unwrap()
        });
        assert!(least < THREADS, "{least} tasks wait for a disk while {THREADS} wait for answers");
    }

    #[test]
    fn what_is_queued_for_a_connection_that_was_closed_reads_nothing_of_another() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let setup = Setup {
            clock: Clock::start(),
            address,
            slots: 1,
            one_shot: true,
            pipelined: false,
            request_bytes_max: 1,
        };
        let Ok(mut ring) = Ring::new(1) else {
            return crate::skipped::skipped("this kernel has no io_uring for it");
        };
        let mut backend = Uring::new(&mut ring, setup).unwrap();
        backend.connect(0, None).unwrap();
        let mut peer = None;
        loop {
            backend.wait(Duration::from_secs(1)).unwrap();
            match backend.next() {
                Some((_, Event::Received(..))) => break,
                Some((_, Event::Connected(_))) => {
                    peer.insert(listener.accept().unwrap().0).write_all(b"a part").unwrap();
                }
                other => assert!(other.is_none(), "{other:?}"),
            }
        }
        backend.receive_more(0, 1);
        backend.close(0);
        // Has its number, unless another test was quicker.
        let mut another = TcpStream::connect(address).unwrap();
        listener.accept().unwrap().0.write_all(b"else").unwrap();
        backend.wait(Duration::ZERO).unwrap();
        let mut bytes = Vec::new();
        another.read_to_end(&mut bytes).unwrap();
        assert_eq!(bytes, b"else", "another connection's bytes were taken");
    }

    #[test]
    fn a_backlog_comes_with_one_look() {
        const SLOTS: u32 = 200;
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let setup = Setup {
            clock: Clock::start(),
            address: listener.local_addr().unwrap(),
            slots: SLOTS,
            one_shot: false,
            pipelined: false,
            request_bytes_max: 1,
        };
        let Ok(mut ring) = Ring::new(SLOTS) else {
            return crate::skipped::skipped("this kernel has no io_uring for it");
        };
        let mut backend = Uring::new(&mut ring, setup).unwrap();
        let mut peers = Vec::new();
        for slot in 0..SLOTS {
            backend.connect(slot, None).unwrap();
            while backend.next().is_none() {
                backend.wait(Duration::from_secs(1)).unwrap();
            }
            peers.push(listener.accept().unwrap().0);
        }
        backend.wait(Duration::ZERO).unwrap();
        for (peer, connection) in peers.iter_mut().zip(&backend.connections) {
            peer.write_all(b"!").unwrap();
            let socket = connection.socket.as_ref().unwrap();
            while rustix::io::ioctl_fionread(socket).unwrap() == 0 {}
        }
        backend.wait(Duration::from_secs(1)).unwrap();
        let mut times = Vec::new();
        while let Some((came, event)) = backend.next() {
            assert!(matches!(event, Event::Received(..)), "{event:?}");
            times.push(came);
        }
        assert_eq!(times.len(), SLOTS as usize, "the others wait until these are seen to");
        times.dedup();
        assert_eq!(times.len(), 1, "they came at different times: {times:?}");
    }

    #[test]
    fn a_completion_came_when_it_was_first_seen() {
        let mut arrivals = Arrivals::default();
        arrivals.note(2, 100);
        assert!(arrivals.begin_batch());
        assert_eq!(arrivals.take(), Some(100));
        // Seen while the batch is at work: one is left of it, two are new.
        arrivals.note(3, 150);
        arrivals.note(3, 160);
        assert_eq!(arrivals.take(), Some(100));
        assert_eq!(arrivals.take(), None, "a batch has no end while answers keep coming");
        assert!(arrivals.begin_batch());
        assert_eq!(arrivals.take(), Some(150));
        assert_eq!(arrivals.take(), Some(150));
        assert!(!arrivals.begin_batch());
        arrivals.note(1, 900);
        assert!(arrivals.begin_batch());
        assert_eq!(arrivals.take(), Some(900));
    }
}
