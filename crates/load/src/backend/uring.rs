//! The io_uring backend.
//!
//! What makes it cheap:
//! - one receive is armed for a connection's whole life (multishot), and takes
//!   its buffers from a ring shared with the kernel;
//! - sends complete silently, and are handed over together;
//! - only this thread enters the ring, and the kernel runs its part of the work
//!   right there, not in between (`SINGLE_ISSUER`, `DEFER_TASKRUN`);
//! - connections are registered files, and so is the ring.

use std::io;
use std::net::Ipv4Addr;
use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr;
use std::time::Duration;

use io_uring::types::{CancelBuilder, Fd, Fixed};
use io_uring::{CompletionQueue, EnterFlags, SubmissionQueue, Submitter, cqueue, opcode, squeue};
use rustix::net::SocketAddrAny;

use super::arrivals::{ArrivalTimes, LOOK_AFTER};
use super::buffers::{Buffers, GROUP, Shape};
use super::ring::{Ring, Wait};
use super::socket::{self, Blocking, Portion};
use super::stamped::Stamped;
use super::stamped_head::StampedHead;
use super::{Backend, Calls, Event, Gathering, Received, Setup, Slot, StampedSlots};

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
enum UringStep {
    Connect = 0,
    Receive = 1,
    Send = 2,
    Silent = 3,
    Wake = 4,
}

impl TryFrom<u8> for UringStep {
    type Error = u8;

    #[inline(always)]
    fn try_from(number: u8) -> Result<UringStep, u8> {
        let all = [
            UringStep::Connect,
            UringStep::Receive,
            UringStep::Send,
            UringStep::Silent,
            UringStep::Wake,
        ];
        all.get(usize::from(number)).copied().ok_or(number)
    }
}

/// The bits of a generation that a completion has.
const GENERATION: u32 = 0xff_ffff;

/// Packs slot, generation and step into a completion's user data.
fn tag(slot: Slot, generation: u32, step: UringStep) -> u64 {
    u64::from(slot) << 32 | u64::from(generation & GENERATION) << 8 | step as u64
}

/// Unpacks them.
#[inline(always)]
fn untag(user_data: u64) -> (Slot, u32, UringStep) {
    let step = UringStep::try_from(user_data as u8).expect("completions are of our own entries");
    ((user_data >> 32) as Slot, (user_data >> 8) as u32 & GENERATION, step)
}

#[derive(Default)]
struct UringConnection {
    socket: Option<OwnedFd>,
    generation: u32,
    /// Whether the handshake is under way.
    connecting: bool,
    /// Whether a receive is armed, which holds the socket open.
    receiving: bool,
    /// Whether none is to be armed.
    is_paused: bool,
    portion: Portion,
    /// Bytes that were given to be sent, where sends are watched.
    handed: u64,
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
    gathering: Option<Gathering>,
    buffers: Buffers,
    /// The full buffer of the event last taken, given back when the next is.
    lent: Option<u16>,
    connections: Vec<UringConnection>,
    /// By slot, what the kernel hasn't taken yet of its send. Without slots where it takes
    /// each at once, and nobody needs to know when.
    unsent: Vec<Option<*const [u8]>>,
    /// The receives of the first slots, if theirs alone come with the kernel's stamp.
    stamped: Box<[Stamped]>,
    /// What each buffer begins with, if all receives come with it.
    head: Option<StampedHead>,
    /// The stamp of the event last taken.
    stamp: Option<Duration>,
    /// When that had come.
    came: u64,
    /// When buffers were added last.
    grown_at: u64,
    /// Boxed, since the kernel has its address.
    target: Box<SocketAddrAny>,
    setup: Setup,
    work_queued: u32,
    arrivals: ArrivalTimes,
    /// Calls of the ring so far.
    enters: u64,
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
        let (shape, stamped, head) = match setup.stamps {
            StampedSlots::First { slots, .. } => (Shape::PLAIN, slots, None),
            StampedSlots::All { bytes } => {
                let shape = Shape::of_one_receive_each(StampedHead::BYTES + bytes, setup.slots);
                (shape, 0, Some(StampedHead::new()))
            }
        };
        let buffers = Buffers::new(&submitter, shape)?;
        let connections = (0..setup.slots).map(|_| UringConnection::default()).collect();
        let at_once = !setup.overlapping && setup.request_bytes_max <= socket::TAKEN_AT_ONCE_BYTES;
        let watched = if at_once { 0 } else { setup.slots };
        let mut backend = Uring {
            submitter,
            submissions,
            completions,
            wait,
            gathering: None,
            buffers,
            lent: None,
            connections,
            unsent: vec![None; watched as usize],
            stamped: (0..stamped).map(|_| Stamped::new(setup.stamps.bytes())).collect(),
            head,
            stamp: None,
            came: 0,
            grown_at: 0,
            target: Box::new(setup.address.into()),
            setup,
            work_queued: 0,
            arrivals: ArrivalTimes::default(),
            enters: 0,
        };
        backend.watch_for_wakes();
        Ok(backend)
    }

    /// Has a wait end when another thread wants this one awake.
    fn watch_for_wakes(&mut self) {
        if let Some(wake) = self.setup.wake {
            let poll = opcode::PollAdd::new(Fd(wake), libc::POLLIN as u32).multi(true).build();
            self.push(poll.user_data(tag(0, 0, UringStep::Wake)));
        }
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
        self.enters += 1;
        // A failure shows again, and is handled, at the next wait.
        // SAFETY: it is a call without an argument that would be read.
        let _ = unsafe { self.submitter.enter::<libc::sigset_t>(queued, 0, GET_EVENTS, None) };
        self.submissions.sync();
        self.note_arrivals()
    }

    fn before_entering(&mut self) {
        self.submissions.sync();
        self.work_queued = 0;
        if self.buffers.grow_if_short() {
            self.grown_at = self.setup.clock.now();
        }
        self.buffers.publish();
    }

    /// Looks what completions there are; they came by now.
    ///
    /// Of a backlog one call brings a few, and the rest would come while those are seen to:
    /// what that takes would be in their times. So they are asked for at once, but for no
    /// more than one of each connection, since buffers are few, and for none without a buffer.
    fn note_arrivals(&mut self) -> u64 {
        let mut known = self.arrivals.ready();
        self.completions.sync();
        let most = self.looked_for_max();
        while self.completions.len() >= known + AT_ONCE && self.completions.len() < most {
            known = self.completions.len();
            self.enters += 1;
            // SAFETY: it is a call without an argument that would be read.
            let _ = unsafe { self.submitter.enter::<libc::sigset_t>(0, 0, GET_EVENTS, None) };
            self.completions.sync();
        }
        if most < self.connections.len() {
            self.buffers.short |= self.completions.len() >= most;
        }
        let now = self.setup.clock.now();
        self.arrivals.note(self.completions.len() as u64, now);
        now
    }

    /// With fewer completions than these it is looked for more.
    fn looked_for_max(&self) -> usize {
        let connections = self.connections.len();
        match self.head {
            // Each completion has a buffer of its own.
            Some(_) => connections.min(self.buffers.count().saturating_sub(AT_ONCE)),
            None => connections,
        }
    }

    /// Arms a receive, which is tried at once. One that only polls at first
    /// (`IORING_RECVSEND_POLL_FIRST`) spares a try in vain, but may still wait when its connection
    /// is closed: what it takes then would lie in the buffer of the slot's next connection.
    fn arm_receive(&mut self, slot: Slot) {
        let entry = if let Some(stamped) = self.stamped.get_mut(slot as usize) {
            let header = stamped.header();
            on_socket!(self, slot, |socket| opcode::RecvMsg::new(socket, header).build())
        } else if let Some(head) = &self.head {
            opcode::RecvMsgMulti::new(Fixed(slot), head.layout(), GROUP).build()
        } else if self.setup.one_shot {
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
        self.push(entry.user_data(tag(slot, generation, UringStep::Receive)));
    }

    fn arm_unless_paused(&mut self, slot: Slot) {
        if !self.connections[slot as usize].is_paused {
            self.arm_receive(slot);
        }
    }

    /// Has the kernel give up a step of a connection, without a word of that.
    fn cancel(&mut self, slot: Slot, generation: u32, step: UringStep) {
        let cancelled = CancelBuilder::user_data(tag(slot, generation, step));
        let cancel = opcode::AsyncCancel2::new(cancelled).build();
        let silent = tag(slot, generation, UringStep::Silent);
        self.push(cancel.flags(squeue::Flags::SKIP_SUCCESS).user_data(silent));
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
        self.push(entry.user_data(tag(slot, generation, UringStep::Send)));
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
    fn event(&mut self, completion: &cqueue::Entry) -> Option<Event> {
        let (result, flags) = (completion.result(), completion.flags());
        let (slot, generation, step) = untag(completion.user_data());
        let received = self.lend(result, flags);
        let goes_on = cqueue::more(flags);
        // Else it is of a connection that the slot had before.
        let is_current = generation == self.connections[slot as usize].generation & GENERATION;
        match step {
            UringStep::Receive if is_current => self.received(slot, result, goes_on, received),
            UringStep::Send if is_current => self.sent(slot, result),
            UringStep::Connect if is_current => Some(self.connected(slot, result)),
            UringStep::Wake if !goes_on => {
                self.watch_for_wakes();
                None
            }
            UringStep::Receive
            | UringStep::Send
            | UringStep::Connect
            | UringStep::Silent
            | UringStep::Wake => None,
        }
    }

    /// Where in the ring's buffers the bytes of a completion lie, if it has any.
    #[inline(always)]
    fn lend(&mut self, result: i32, flags: u32) -> Option<Received> {
        let buffer = cqueue::buffer_select(flags)?;
        if !cqueue::buffer_more(flags) {
            self.lent = Some(buffer);
        }
        Some(self.buffers.fill(buffer, result.max(0) as u32))
    }

    /// What comes of a handshake.
    fn connected(&mut self, slot: Slot, result: i32) -> Event {
        self.connections[slot as usize].connecting = false;
        if result < 0 {
            return Event::ConnectFailed(slot, -result);
        }
        self.arm_receive(slot);
        Event::Connected(slot)
    }

    /// What comes of a receive. `goes_on` says whether it is still armed; `received`, where
    /// in the ring's buffers the bytes lie.
    fn received(
        &mut self,
        slot: Slot,
        result: i32,
        goes_on: bool,
        received: Option<Received>,
    ) -> Option<Event> {
        self.connections[slot as usize].receiving = goes_on;
        if result > 0 {
            let received = match self.stamped.get(slot as usize) {
                Some(stamped) => {
                    self.stamp = stamped.stamp();
                    Received::stamped(slot, result as u32)
                }
                None => received.expect("received bytes lie in a buffer of the ring"),
            };
            let Some(received) = self.without_head(received) else {
                return Some(Event::Ended(slot));
            };
            // It is handed over only after the bytes were looked at.
            if !goes_on && !self.setup.one_shot {
                self.arm_unless_paused(slot);
            }
            return Some(Event::Received(slot, received));
        }
        match -result {
            0 => Some(Event::Ended(slot)),
            // All buffers were full at that moment: ask again, with more, unless there are
            // more since.
            libc::ENOBUFS => {
                self.buffers.short |= self.came >= self.grown_at;
                self.arm_unless_paused(slot);
                None
            }
            // It was cancelled for a pause, which may be over by now.
            libc::ECANCELED => {
                self.arm_unless_paused(slot);
                None
            }
            error => Some(Event::Broken(slot, error)),
        }
    }

    /// What was received behind the head that a buffer may begin with; `None` where that is all.
    #[inline(always)]
    fn without_head(&mut self, received: Received) -> Option<Received> {
        let Some(head) = &self.head else { return Some(received) };
        let (stamp, length) = head.read(self.buffers.bytes(received));
        self.stamp = stamp;
        let start = received.start + StampedHead::BYTES as u32;
        (length > 0).then_some(Received { start, length, ..received })
    }

    /// What comes of a send.
    fn sent(&mut self, slot: Slot, result: i32) -> Option<Event> {
        if result < 0 {
            return Some(Event::Broken(slot, -result));
        }
        // Of a send that failed halfway the kernel tells how far it came, and not why. Where
        // success is silent, no other is told of.
        let broken = Some(Event::Broken(slot, libc::ECONNRESET));
        let Some(unsent) = self.unsent.get_mut(slot as usize) else { return broken };
        let bytes = unsent.take()?;
        let (sent, asked) = (result as usize, bytes.len().min(SEND_BYTES_MAX));
        if sent < asked {
            return broken;
        }
        if sent < bytes.len() {
            let rest = bytes.cast::<u8>().wrapping_add(sent);
            let rest = ptr::slice_from_raw_parts(rest, bytes.len() - sent);
            *unsent = Some(rest);
            self.push_send(slot, rest);
            return None;
        }
        Some(Event::Sent(slot))
    }
}

impl Drop for Uring<'_> {
    fn drop(&mut self) {
        if !self.stamped.is_empty() {
            // Receives that are armed write to memory that goes with this. A kernel before
            // 6.0, which can't end them here, has no ring like this one either.
            let _ = self.submitter.register_sync_cancel(None, CancelBuilder::any());
        }
        // The kernel must not know of buffers that are gone. It fails only
        // where there are none.
        let _ = self.submitter.unregister_buf_ring(GROUP);
    }
}

impl Backend for Uring<'_> {
    #[inline(always)]
    fn now(&self) -> u64 {
        self.setup.clock.now()
    }

    fn connect(&mut self, slot: Slot, source: Option<Ipv4Addr>) -> io::Result<Option<u64>> {
        let socket = socket::open(&self.setup, slot, source, Blocking::Yes)?;
        if !self.setup.one_shot {
            self.submitter.register_files_update(slot, &[socket.as_raw_fd()])?;
        }
        let connection = &mut self.connections[slot as usize];
        connection.socket = Some(socket);
        connection.portion = Portion::default();
        connection.handed = 0;
        connection.connecting = true;
        connection.is_paused = false;
        let generation = connection.generation;
        let (target, length) = (self.target.as_ptr(), self.target.addr_len());
        let entry = on_socket!(self, slot, |socket| {
            opcode::Connect::new(socket, target.cast(), length).build()
        });
        self.push(entry.user_data(tag(slot, generation, UringStep::Connect)));
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
            *unsent = Some(bytes);
            self.connections[slot as usize].handed += bytes.len() as u64;
        }
        self.push_send(slot, bytes);
        self.hand_over_if_much(1)
    }

    #[inline(always)]
    fn is_sending(&self, slot: Slot) -> bool {
        self.unsent.get(slot as usize).is_some_and(Option::is_some)
    }

    fn unsent_bytes(&self, slot: Slot) -> u64 {
        let connection = &self.connections[slot as usize];
        let socket = connection.socket.as_ref().filter(|_| self.is_sending(slot));
        socket.map_or(0, |socket| connection.handed.saturating_sub(socket::bytes_sent(socket)))
    }

    fn peek(&self, slot: Slot, room: &mut [u8]) -> usize {
        let socket = self.connections[slot as usize].socket.as_ref();
        socket.map_or(0, |socket| socket::peek(socket, room))
    }

    fn pause(&mut self, slot: Slot) {
        let connection = &mut self.connections[slot as usize];
        connection.is_paused = true;
        if connection.receiving {
            let generation = connection.generation;
            self.cancel(slot, generation, UringStep::Receive);
        }
    }

    fn resume(&mut self, slot: Slot) {
        let connection = &mut self.connections[slot as usize];
        let was_paused = std::mem::take(&mut connection.is_paused);
        // One that is being cancelled is armed again once it is.
        if was_paused && !connection.receiving && connection.socket.is_some() {
            self.arm_receive(slot);
        }
    }

    fn close(&mut self, slot: Slot) {
        let is_sending = self.is_sending(slot);
        let may_be_queued =
            is_sending || self.setup.one_shot && self.connections[slot as usize].receiving;
        if may_be_queued && !self.submissions.is_empty() {
            // It may still be queued: by the number of a descriptor that could be another
            // thread's next one, or with bytes that the slot's next send is written over.
            self.submit();
        }
        let connection = &mut self.connections[slot as usize];
        let Some(socket) = connection.socket.take() else { return };
        let generation = connection.generation;
        connection.generation = generation.wrapping_add(1);
        if let Some(unsent) = self.unsent.get_mut(slot as usize) {
            *unsent = None;
        }
        if std::mem::take(&mut connection.receiving) || is_sending {
            // What the kernel still has to do on it would hold it open, and read bytes that
            // are no longer there.
            let _ = rustix::net::shutdown(&socket, rustix::net::Shutdown::Both);
        }
        if std::mem::take(&mut connection.connecting) {
            self.cancel(slot, generation, UringStep::Connect);
        }
        if !self.setup.one_shot {
            // Fails only for a slot that was never registered.
            let _ = self.submitter.register_files_update(slot, &[-1]);
        }
    }

    fn reset(&mut self, slot: Slot) {
        if let Some(socket) = &self.connections[slot as usize].socket {
            socket::reset(socket);
        }
        self.close(slot);
    }

    fn wait(&mut self, at_most: Duration) -> io::Result<u64> {
        if self.arrivals.begin_batch() {
            // Some came while the last ones were seen to.
            return Ok(self.submit());
        }
        self.before_entering();
        self.enters += 1;
        let (queued, done) = (&mut self.submissions, &mut self.completions);
        let gathering = self.gathering;
        let waited = self.wait.for_one(&self.submitter, queued, done, at_most, gathering);
        let now = self.note_arrivals();
        self.arrivals.begin_batch();
        waited.map(|()| now)
    }

    fn gather(&mut self, gathering: Option<Gathering>) -> bool {
        self.gathering = gathering.filter(|_| self.wait.gathers);
        self.wait.gathers
    }

    fn next(&mut self) -> Option<(u64, Event)> {
        self.give_back_lent();
        self.stamp = None;
        if self.arrivals.since_look() >= LOOK_AFTER {
            self.submit();
        }
        while let Some(came) = self.arrivals.take() {
            self.came = came;
            let completion = self.completions.next().expect("it was counted");
            if let Some(event) = self.event(&completion) {
                return Some((came, event));
            }
            self.give_back_lent();
        }
        None
    }

    fn bytes(&self, received: Received) -> &[u8] {
        match received.stamped_slot() {
            Some(slot) => self.stamped[slot as usize].bytes(received.length),
            None => self.buffers.bytes(received),
        }
    }

    fn kernel_stamp(&self) -> Option<Duration> {
        self.stamp
    }

    fn syn_retransmits(&self, slot: Slot) -> u64 {
        self.connections[slot as usize].socket.as_ref().map_or(0, socket::retransmits)
    }

    fn calls(&self) -> Calls {
        Calls { enters: self.enters, events: self.arrivals.come() }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{SocketAddr, TcpListener, TcpStream};
    use std::sync::mpsc::{self, Sender};

    use super::*;
    use crate::pace::clock::Clock;

    /// That of so many kept connections, each of which sends a byte at a time.
    fn setup(address: SocketAddr, slots: Slot) -> Setup {
        Setup {
            clock: Clock::start(),
            address,
            slots,
            one_shot: false,
            overlapping: false,
            request_bytes_max: 1,
            stamps: StampedSlots::NONE,
            paused: [].into(),
            wake: None,
        }
    }

    /// Connects all slots one by one; gives the server's ends.
    fn connected(backend: &mut Uring<'_>, listener: &TcpListener) -> Vec<TcpStream> {
        let slots = backend.setup.slots;
        let one = |slot| {
            backend.connect(slot, None).unwrap();
            while backend.next().is_none() {
                backend.wait(Duration::from_secs(1)).unwrap();
            }
            listener.accept().unwrap().0
        };
        (0..slots).map(one).collect()
    }

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
            let setup = setup(address, 1);
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
        let setup = Setup { one_shot: true, ..setup(address, 1) };
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

    /// Without the first half a thread wakes up for each answer; without the second it waits for
    /// answers that never come.
    #[test]
    fn a_wait_ends_with_as_many_events_as_are_gathered_or_a_while_after_it_began() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let setup = setup(listener.local_addr().unwrap(), 3);
        let Ok(mut ring) = Ring::new(3) else {
            return crate::skipped::skipped("this kernel has no io_uring for it");
        };
        let mut backend = Uring::new(&mut ring, setup).unwrap();
        let peers = connected(&mut backend, &listener);
        let whole = Duration::from_secs(60);
        let gathers = |events, within| Some(Gathering { events, within });
        if !backend.gather(gathers(3, whole)) {
            return crate::skipped::skipped("this kernel can't wait for several events");
        }
        let taken = |backend: &mut Uring<'_>| std::iter::from_fn(|| backend.next()).count();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for mut peer in &peers {
                    peer.write_all(b"!").unwrap();
                    std::thread::sleep(Duration::from_millis(5));
                }
            });
            backend.wait(whole).unwrap();
            assert_eq!(taken(&mut backend), 3, "the wait ended before");
        });
        backend.gather(gathers(3, Duration::from_millis(1)));
        (&peers[0]).write_all(b"!").unwrap();
        let began = std::time::Instant::now();
        backend.wait(whole).unwrap();
        assert_eq!(taken(&mut backend), 1);
        assert!(began.elapsed() < whole, "one event alone ended no wait");
    }

    #[test]
    fn a_backlog_comes_with_one_look() {
        const SLOTS: u32 = 200;
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let setup = setup(listener.local_addr().unwrap(), SLOTS);
        let Ok(mut ring) = Ring::new(SLOTS) else {
            return crate::skipped::skipped("this kernel has no io_uring for it");
        };
        let mut backend = Uring::new(&mut ring, setup).unwrap();
        let mut peers = connected(&mut backend, &listener);
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

    /// Else robots beyond the first have no stamps, or lose what comes while buffers are short.
    #[test]
    fn all_slots_receive_each_byte_with_a_stamp_from_buffers_that_they_share() {
        const SLOTS: u32 = 200;
        const BYTES: usize = 5_000;
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let stamps = StampedSlots::All { bytes: 512 };
        let setup = Setup { stamps, ..setup(listener.local_addr().unwrap(), SLOTS) };
        let Ok(mut ring) = Ring::new(SLOTS) else {
            return crate::skipped::skipped("this kernel has no io_uring for it");
        };
        let mut backend = Uring::new(&mut ring, setup).unwrap();
        let at_start = backend.buffers.count();
        for (slot, mut peer) in connected(&mut backend, &listener).into_iter().enumerate() {
            peer.write_all(&[slot as u8; BYTES]).unwrap();
        }
        let (mut heard, mut ended) = (vec![0; SLOTS as usize], 0);
        while ended < SLOTS {
            backend.wait(Duration::from_secs(1)).unwrap();
            while let Some((_, event)) = backend.next() {
                match event {
                    Event::Received(slot, received) => {
                        assert!(backend.kernel_stamp().is_some(), "slot {slot} has no stamp");
                        let bytes = backend.bytes(received);
                        assert!(bytes.iter().all(|byte| *byte == slot as u8), "another's bytes");
                        heard[slot as usize] += bytes.len();
                    }
                    Event::Ended(_) => ended += 1,
                    other => panic!("nothing else happened, but {other:?}"),
                }
            }
        }
        assert!(heard.iter().all(|bytes| *bytes == BYTES), "bytes are lost, or there twice");
        assert!(backend.buffers.count() > at_start, "no more buffers came when they were short");
    }
}
