//! The epoll backend: for kernels without io_uring, and as a check on the other.

use std::collections::VecDeque;
use std::io;
use std::mem::MaybeUninit;
use std::net::Ipv4Addr;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, sockopt};

use super::arrivals::{ArrivalTimes, LOOK_AFTER};
use super::socket::{self, Blocking, Portion};
use super::stamped::Stamped;
use super::{Backend, Calls, Event, Received, Setup, Slot};

/// Events taken from the kernel at once.
const EVENTS: usize = 256;
/// Bytes taken from a connection at once.
const BUFFER: usize = 64 * 1024;

/// What is no longer than this came at once, when it was told of.
const SMALL: u32 = 4096;

/// What is said of each connection only when it changes: to be told again of
/// what was left unread would cost the kernel another look at every wait.
const INTEREST: EventFlags =
    EventFlags::IN.union(EventFlags::OUT).union(EventFlags::RDHUP).union(EventFlags::ET);

/// That there is something to read: bytes, an end, or an error.
const READABLE: EventFlags =
    EventFlags::IN.union(EventFlags::RDHUP).union(EventFlags::ERR).union(EventFlags::HUP);

#[derive(Default)]
struct EpollConnection {
    socket: Option<OwnedFd>,
    generation: u32,
    established: bool,
    portion: Portion,
    /// Whether it stands in `unread`.
    is_unread: bool,
    /// Whether nothing is read.
    is_paused: bool,
    /// Whether the server's end was announced, which is done once: what stands in `unread`
    /// may be an event from before that.
    ends: bool,
    /// What the kernel had no room for yet.
    unsent: Option<*const [u8]>,
    /// Bytes that were given to be sent.
    handed: u64,
    /// Why a send failed. What the server had said before that is read first: it may have
    /// answered, and then closed on what it didn't want to read.
    failed: Option<Errno>,
}

/// The backend on an epoll instance.
pub(crate) struct Epoll {
    epoll: OwnedFd,
    connections: Vec<EpollConnection>,
    /// Room for what the kernel tells at once.
    room: Vec<epoll::Event>,
    /// What the kernel told and wasn't looked at yet, and when it was told.
    ready: VecDeque<epoll::Event>,
    arrivals: ArrivalTimes,
    /// Connections of which more may be there than was read. They come after the others,
    /// with the next batch: one whose server is faster than this thread reads would else
    /// keep it from all others, and from the time.
    unread: VecDeque<epoll::Event>,
    /// How many of `unread` are of this batch.
    unread_now: usize,
    /// Whether the kernel waits to the nanosecond (from Linux 5.11 on).
    waits_exactly: bool,
    /// What came of the last look beyond the event that it gave.
    more: VecDeque<Event>,
    buffer: Box<[u8]>,
    /// The receive of a slot whose bytes come with the kernel's stamp.
    stamped: Stamped,
    /// The stamp of the event last taken.
    stamp: Option<Duration>,
    setup: Setup,
    /// Calls that waited, sent or received so far.
    enters: u64,
}

/// In place of a slot: another thread wants this one awake.
const WAKE: u64 = u64::MAX;

impl Epoll {
    /// Sets an instance up for a run.
    ///
    /// # Errors
    /// The kernel's, where file descriptors run short.
    pub(crate) fn new(setup: Setup) -> io::Result<Epoll> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        if let Some(wake) = setup.wake {
            // SAFETY: whoever sets a backend up keeps it open as long as that is there.
            let wake = unsafe { BorrowedFd::borrow_raw(wake) };
            epoll::add(&epoll, wake, EventData::new_u64(WAKE), EventFlags::IN | EventFlags::ET)?;
        }
        Ok(Epoll {
            epoll,
            connections: (0..setup.slots).map(|_| EpollConnection::default()).collect(),
            room: Vec::with_capacity(EVENTS),
            ready: VecDeque::new(),
            arrivals: ArrivalTimes::default(),
            unread: VecDeque::new(),
            unread_now: 0,
            waits_exactly: true,
            more: VecDeque::new(),
            buffer: vec![0; BUFFER].into_boxed_slice(),
            stamped: Stamped::new(setup.stamps.bytes()),
            stamp: None,
            setup,
            enters: 0,
        })
    }

    /// Reads a buffer of what a connection has. Where the server's end was announced, it
    /// is looked for even after a short read.
    fn receive(&mut self, slot: Slot, event: epoll::Event) -> Option<Event> {
        let connection = &mut self.connections[slot as usize];
        if connection.is_paused {
            return None;
        }
        let socket = connection.socket.as_ref()?;
        self.enters += 1;
        let is_stamped = self.setup.stamps.has(slot);
        let (received, room) = if is_stamped {
            (self.stamped.receive(socket), self.stamped.room())
        } else {
            let received = rustix::net::recv(socket, &mut self.buffer[..], RecvFlags::empty());
            (received.map(|(length, _)| length), BUFFER)
        };
        match (received, connection.failed) {
            (Ok(0) | Err(Errno::AGAIN), Some(error)) => {
                Some(Event::Broken(slot, error.raw_os_error()))
            }
            (Ok(0), None) => Some(Event::Ended(slot)),
            (Ok(length), failed) => {
                let may_have_more = length == room || connection.ends || failed.is_some();
                if may_have_more && !connection.is_unread {
                    connection.is_unread = true;
                    self.unread.push_back(event);
                }
                let received = if is_stamped {
                    self.stamp = self.stamped.stamp();
                    Received::stamped(slot, length as u32)
                } else {
                    Received { buffer: 0, start: 0, length: length as u32 }
                };
                Some(Event::Received(slot, received))
            }
            (Err(Errno::AGAIN | Errno::INTR), _) => None,
            (Err(error), _) => Some(Event::Broken(slot, error.raw_os_error())),
        }
    }

    /// What is to be looked at next of this batch, and when it had come.
    fn take(&mut self) -> Option<(u64, epoll::Event)> {
        if self.arrivals.since_look() >= LOOK_AFTER {
            // Fails only where a wait fails as well, which tells it.
            let _ = self.look_for_more(Duration::ZERO);
        }
        if let Some(came) = self.arrivals.take() {
            return Some((came, self.ready.pop_front().expect("it was counted")));
        }
        self.unread_now = self.unread_now.checked_sub(1)?;
        let event = self.unread.pop_front()?;
        if let Some(connection) = self.connection_of(event) {
            connection.is_unread = false;
        }
        // It is read only now, and may have come just now.
        Some((self.setup.clock.now(), event))
    }

    /// Asks the kernel what is ready, and waits for it for so long at most. Gives the time then.
    fn look_for_more(&mut self, at_most: Duration) -> io::Result<u64> {
        let timeout = Timespec {
            tv_sec: at_most.as_secs() as i64,
            tv_nsec: i64::from(at_most.subsec_nanos()),
        };
        self.enters += 1;
        self.room.clear();
        let spare: &mut [MaybeUninit<epoll::Event>] = self.room.spare_capacity_mut();
        let mut taken = if self.waits_exactly {
            wait_exactly(&self.epoll, spare, &timeout)
        } else {
            Err(Errno::NOSYS.into())
        };
        // What is forbidden to a container isn't always said to be unknown.
        if taken.as_ref().is_err_and(|it| is_any(it, &[Errno::NOSYS, Errno::PERM])) {
            self.waits_exactly = false;
            let waited = epoll::wait(&self.epoll, spare, Some(&timeout));
            taken = waited.map(|(events, _)| events.len()).map_err(io::Error::from);
        }
        let taken = match taken {
            Err(error) if is_any(&error, &[Errno::INTR]) => 0,
            taken => taken?,
        };
        // SAFETY: the kernel wrote that many events at the front.
        unsafe { self.room.set_len(taken) };
        let of_connections = self.room.iter().filter(|event| event.data.u64() != WAKE);
        self.ready.extend(of_connections.copied());
        let now = self.setup.clock.now();
        self.arrivals.note(self.ready.len() as u64, now);
        Ok(now)
    }

    /// The connection that an event is of, unless it was closed meanwhile.
    fn connection_of(&mut self, event: epoll::Event) -> Option<&mut EpollConnection> {
        let data = event.data.u64();
        let connection = &mut self.connections[slot_of(event) as usize];
        (connection.generation == data as u32).then_some(connection)
    }

    fn look(&mut self, event: epoll::Event) -> Option<Event> {
        // Copied, since the kernel's event is packed.
        let (slot, flags) = (slot_of(event), event.flags);
        let connection = self.connection_of(event)?;
        connection.ends |= flags.contains(EventFlags::RDHUP);
        if !connection.established {
            let seen = Self::established(connection, slot, flags);
            // What came together with the connection isn't told of again.
            if connection.established && flags.intersects(READABLE) {
                connection.is_unread = true;
                self.unread.push_back(event);
            }
            return seen;
        }
        let (mut is_sent, mut calls) = (false, 0);
        if flags.contains(EventFlags::OUT) && connection.unsent.is_some() {
            calls = flush(connection);
            is_sent = connection.unsent.is_none();
        }
        let is_readable = flags.intersects(READABLE) || connection.failed.is_some();
        self.enters += calls;
        if is_sent {
            self.more.push_back(Event::Sent(slot));
        }
        if is_readable { self.receive(slot, event) } else { None }
    }

    /// Has a connection be read though the kernel told nothing new of it.
    fn look_again(&mut self, slot: Slot) {
        let connection = &mut self.connections[slot as usize];
        if !std::mem::replace(&mut connection.is_unread, true) {
            let data = EventData::new_u64(u64::from(slot) << 32 | u64::from(connection.generation));
            self.unread.push_back(epoll::Event { flags: EventFlags::IN, data });
        }
    }

    fn established(
        connection: &mut EpollConnection,
        slot: Slot,
        flags: EventFlags,
    ) -> Option<Event> {
        let socket = connection.socket.as_ref()?;
        match sockopt::socket_error(socket) {
            Ok(Ok(())) if flags.contains(EventFlags::OUT) => {
                connection.established = true;
                Some(Event::Connected(slot))
            }
            Ok(Ok(())) => None,
            Ok(Err(error)) | Err(error) => Some(Event::ConnectFailed(slot, error.raw_os_error())),
        }
    }
}

/// Waits for events, for so long at most, and writes them to the front of the room.
///
/// rustix has this only for programs that run on no older kernel, and rounds up to
/// milliseconds else: requests of an open loop would go out by as much too late.
fn wait_exactly(
    epoll: &OwnedFd,
    room: &mut [MaybeUninit<epoll::Event>],
    timeout: &Timespec,
) -> io::Result<usize> {
    let (events, length) = (room.as_mut_ptr(), room.len());
    let no_signals = std::ptr::null::<libc::sigset_t>();
    // SAFETY: the kernel writes at most `length` events, which are laid out as its own.
    let taken = unsafe {
        libc::syscall(
            libc::SYS_epoll_pwait2,
            epoll.as_raw_fd(),
            events,
            length as libc::c_int,
            std::ptr::from_ref(timeout),
            no_signals,
            0_usize,
        )
    };
    usize::try_from(taken).map_err(|_| io::Error::last_os_error())
}

fn slot_of(event: epoll::Event) -> Slot {
    (event.data.u64() >> 32) as Slot
}

fn is_any(error: &io::Error, known: &[Errno]) -> bool {
    known.iter().any(|it| error.raw_os_error() == Some(it.raw_os_error()))
}

/// Hands the kernel what it has room for; gives how many calls that took.
fn flush(connection: &mut EpollConnection) -> u64 {
    let mut calls = 0;
    let Some(socket) = connection.socket.as_ref() else { return calls };
    while let Some(unsent) = connection.unsent {
        calls += 1;
        // SAFETY: whoever sends keeps the bytes in place until answered.
        let bytes = unsafe { &*unsent };
        match rustix::net::send(socket, bytes, SendFlags::NOSIGNAL) {
            Ok(sent) if sent == bytes.len() => connection.unsent = None,
            Ok(sent) => connection.unsent = Some(&raw const bytes[sent..]),
            Err(Errno::AGAIN) => break,
            Err(Errno::INTR) => {}
            Err(error) => {
                connection.failed = Some(error);
                break;
            }
        }
    }
    calls
}

impl Backend for Epoll {
    #[inline(always)]
    fn now(&self) -> u64 {
        self.setup.clock.now()
    }

    fn connect(&mut self, slot: Slot, source: Option<Ipv4Addr>) -> io::Result<Option<u64>> {
        let socket = socket::open(&self.setup, slot, source, Blocking::No)?;
        let connection = &mut self.connections[slot as usize];
        let data = EventData::new_u64(u64::from(slot) << 32 | u64::from(connection.generation));
        match rustix::net::connect(&socket, &self.setup.address) {
            Ok(()) | Err(Errno::INPROGRESS | Errno::INTR) => {
                // Added after the connect: before it, a socket reports a hang-up.
                epoll::add(&self.epoll, &socket, data, INTEREST)?;
            }
            Err(error) => {
                self.more.push_back(Event::ConnectFailed(slot, error.raw_os_error()));
            }
        }
        connection.socket = Some(socket);
        connection.portion = Portion::default();
        connection.established = false;
        connection.ends = false;
        connection.is_paused = false;
        connection.handed = 0;
        connection.failed = None;
        Ok(Some(self.setup.clock.now()))
    }

    fn receive_more(&mut self, slot: Slot, missing: u64) {
        let connection = &mut self.connections[slot as usize];
        if let Some(socket) = &connection.socket {
            connection.portion.suit(socket, missing);
        }
    }

    unsafe fn send(&mut self, slot: Slot, bytes: *const [u8]) -> Option<u64> {
        let connection = &mut self.connections[slot as usize];
        connection.unsent = Some(bytes);
        connection.handed += bytes.len() as u64;
        self.enters += flush(connection);
        if connection.failed.is_some() {
            self.look_again(slot);
        }
        Some(self.setup.clock.now())
    }

    #[inline(always)]
    fn is_sending(&self, slot: Slot) -> bool {
        self.connections[slot as usize].unsent.is_some()
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
        self.connections[slot as usize].is_paused = true;
    }

    fn resume(&mut self, slot: Slot) {
        let connection = &mut self.connections[slot as usize];
        if std::mem::take(&mut connection.is_paused) && connection.established {
            self.look_again(slot);
        }
    }

    fn close(&mut self, slot: Slot) {
        let connection = &mut self.connections[slot as usize];
        if let Some(socket) = connection.socket.take() {
            connection.generation = connection.generation.wrapping_add(1);
            connection.established = false;
            connection.is_unread = false;
            connection.unsent = None;
            // Closing the only descriptor takes it out of the epoll set.
            drop(socket);
            self.more.retain(|event| event.slot() != slot);
        }
    }

    fn reset(&mut self, slot: Slot) {
        if let Some(socket) = &self.connections[slot as usize].socket {
            socket::reset(socket);
        }
        self.close(slot);
    }

    fn wait(&mut self, at_most: Duration) -> io::Result<u64> {
        if !self.more.is_empty() {
            return Ok(self.now());
        }
        self.unread_now = self.unread.len();
        let is_more_there = self.unread_now > 0 || self.arrivals.begin_batch();
        let now = self.look_for_more(if is_more_there { Duration::ZERO } else { at_most })?;
        self.arrivals.begin_batch();
        Ok(now)
    }

    fn next(&mut self) -> Option<(u64, Event)> {
        self.stamp = None;
        if let Some(event) = self.more.pop_front() {
            return Some((self.setup.clock.now(), event));
        }
        while let Some((came, event)) = self.take() {
            match self.look(event) {
                // More may have come since, and nobody knows when.
                Some(Event::Received(slot, received)) if received.length > SMALL => {
                    return Some((self.setup.clock.now(), Event::Received(slot, received)));
                }
                Some(seen) => return Some((came, seen)),
                None => {}
            }
        }
        None
    }

    fn bytes(&self, received: Received) -> &[u8] {
        match received.stamped_slot() {
            Some(_) => self.stamped.bytes(received.length),
            None => &self.buffer[..received.length as usize],
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
    use std::io::Write;
    use std::net::{TcpListener, TcpStream};

    use super::*;
    use crate::backend::StampedSlots;
    use crate::pace::clock::Clock;

    /// An instance for so many connections to this listener.
    fn backend(listener: &TcpListener, slots: u32) -> Epoll {
        Epoll::new(Setup {
            clock: Clock::start(),
            address: listener.local_addr().unwrap(),
            slots,
            one_shot: false,
            overlapping: false,
            request_bytes_max: 1,
            stamps: StampedSlots::NONE,
            paused: [].into(),
            wake: None,
        })
        .unwrap()
    }

    #[test]
    fn a_wait_is_not_rounded_up_to_milliseconds() {
        let mut backend = backend(&TcpListener::bind("127.0.0.1:0").unwrap(), 1);
        let mut takes = |wait: Duration| {
            let waits = (0..50).map(|_| {
                let began = std::time::Instant::now();
                backend.wait(wait).unwrap();
                began.elapsed()
            });
            waits.min().unwrap()
        };
        let (short, long) = (takes(Duration::from_micros(100)), takes(Duration::from_millis(1)));
        if !backend.waits_exactly {
            return crate::skipped::skipped("this kernel waits by milliseconds");
        }
        assert!(short * 2 < long, "a wait of 0.1 ms took {short:?}, one of 1 ms {long:?}");
    }

    /// What comes of a batch: which connections, and how many bytes of each.
    fn batch(backend: &mut Epoll) -> Vec<(Slot, u32)> {
        backend.wait(Duration::from_secs(5)).unwrap();
        let mut seen = Vec::new();
        while let Some((_, event)) = backend.next() {
            match event {
                Event::Received(slot, received) => seen.push((slot, received.length)),
                other => panic!("nothing else was sent, but {other:?} came"),
            }
            // One for what was left, and one for what the kernel tells anew.
            assert!(seen.len() <= 4, "a batch has no end while a server keeps sending");
        }
        seen
    }

    /// Writes until a whole buffer can be read from the first connection.
    fn fill(backend: &Epoll, mut peer: &TcpStream) {
        peer.set_nonblocking(true).unwrap();
        let socket = backend.connections[0].socket.as_ref().unwrap();
        while rustix::io::ioctl_fionread(socket).unwrap() < BUFFER as u64 {
            // There may be no room for more until the kernel passed on what it has.
            let _ = peer.write(&[0; 4096]);
        }
    }

    /// Connects this slot; gives the server's end.
    fn connect(backend: &mut Epoll, slot: Slot, listener: &TcpListener) -> TcpStream {
        backend.connect(slot, None).unwrap();
        while !matches!(backend.next(), Some((_, Event::Connected(_)))) {
            backend.wait(Duration::from_secs(5)).unwrap();
        }
        let socket = backend.connections[slot as usize].socket.as_ref().unwrap();
        sockopt::set_socket_recv_buffer_size(socket, 4 * BUFFER).unwrap();
        listener.accept().unwrap().0
    }

    #[test]
    fn what_comes_together_with_the_connection_is_seen() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut backend = backend(&listener, 2);
        for slot in [0, 1] {
            backend.connect(slot, None).unwrap();
        }
        let (mut speaks, _) = listener.accept().unwrap();
        speaks.write_all(b"unasked").unwrap();
        // The second ends without a word; nothing of either was looked at meanwhile.
        drop(listener.accept().unwrap());
        std::thread::sleep(Duration::from_millis(20));
        let mut seen = Vec::new();
        for _ in 0..3 {
            backend.wait(Duration::from_millis(100)).unwrap();
            seen.extend(std::iter::from_fn(|| backend.next()).map(|(_, event)| event));
        }
        let connected = seen.iter().filter(|it| matches!(it, Event::Connected(_))).count();
        assert_eq!(connected, 2, "{seen:?}");
        let has = |what: fn(&Event) -> bool| seen.iter().any(what);
        assert!(has(|it| matches!(it, Event::Received(_, bytes) if bytes.length == 7)), "{seen:?}");
        assert!(has(|it| matches!(it, Event::Ended(_))), "{seen:?}");
    }

    #[test]
    fn an_end_that_comes_while_something_is_unread_is_seen() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut backend = backend(&listener, 1);
        let peer = connect(&mut backend, 0, &listener);
        fill(&backend, &peer);
        backend.wait(Duration::from_secs(5)).unwrap();
        while backend.unread.is_empty() {
            assert!(matches!(backend.next(), Some((_, Event::Received(..)))));
        }
        // The end is announced with a buffer full of bytes before it: what is left is less.
        fill(&backend, &peer);
        drop(peer);
        let ended = (0..10).any(|_| {
            backend.wait(Duration::from_millis(100)).unwrap();
            std::iter::from_fn(|| backend.next()).any(|(_, event)| matches!(event, Event::Ended(_)))
        });
        assert!(ended, "nobody looks for the end that the kernel announced");
    }

    #[test]
    fn a_server_that_sends_faster_than_is_read_keeps_nobody_waiting() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut backend = backend(&listener, 2);
        let fast = connect(&mut backend, 0, &listener);
        let mut slow = connect(&mut backend, 1, &listener);
        fill(&backend, &fast);
        slow.write_all(&[0; 100]).unwrap();
        let full = (0, BUFFER as u32);
        let first = batch(&mut backend);
        assert!(first.contains(&full) && first.contains(&(1, 100)), "{first:?}");
        for _ in 0..10 {
            fill(&backend, &fast);
            assert!(batch(&mut backend).contains(&full), "again, though no edge may have come");
        }
        slow.write_all(&[0; 50]).unwrap();
        fill(&backend, &fast);
        assert!(batch(&mut backend).contains(&(1, 50)));
        // What was left of one is no event of the next on its slot.
        fill(&backend, &fast);
        backend.wait(Duration::from_secs(5)).unwrap();
        while backend.unread.is_empty() {
            assert!(matches!(backend.next(), Some((_, Event::Received(0, _)))));
        }
        backend.close(0);
        backend.wait(Duration::ZERO).unwrap();
        assert!(backend.next().is_none());
        assert!(backend.unread.is_empty());
    }
}
