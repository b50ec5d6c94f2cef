//! The epoll backend: for kernels without io_uring, and as a check on the other.

use std::collections::VecDeque;
use std::io;
use std::mem::MaybeUninit;
use std::net::Ipv4Addr;
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, sockopt};

use super::socket::{self, Blocking, Portion};
use super::{Backend, Event, Received, Setup, Slot};

/// Events taken from the kernel at once.
const EVENTS: usize = 256;
/// Bytes taken from a connection at once.
pub(super) const BUFFER: usize = 64 * 1024;

/// What is said of each connection only when it changes: to be told again of
/// what was left unread would cost the kernel another look at every wait.
const INTEREST: EventFlags =
    EventFlags::IN.union(EventFlags::OUT).union(EventFlags::RDHUP).union(EventFlags::ET);

#[derive(Default)]
struct Connection {
    socket: Option<OwnedFd>,
    generation: u32,
    established: bool,
    portion: Portion,
    /// What the kernel had no room for, in order.
    unsent: VecDeque<*const [u8]>,
}

/// The backend on an epoll instance.
pub(crate) struct Epoll {
    epoll: OwnedFd,
    connections: Vec<Connection>,
    ready: Vec<epoll::Event>,
    /// The next of `ready` to look at.
    position: usize,
    /// What came of the last look beyond the event that it gave.
    more: VecDeque<Event>,
    buffer: Box<[u8]>,
    setup: Setup,
}

impl Epoll {
    /// Sets an instance up for a run.
    ///
    /// # Errors
    /// The kernel's, where file descriptors run short.
    pub(crate) fn new(setup: Setup) -> io::Result<Epoll> {
        Ok(Epoll {
            epoll: epoll::create(CreateFlags::CLOEXEC)?,
            connections: (0..setup.slots).map(|_| Connection::default()).collect(),
            ready: Vec::with_capacity(EVENTS),
            position: 0,
            more: VecDeque::new(),
            buffer: vec![0; BUFFER].into_boxed_slice(),
            setup,
        })
    }

    /// Reads what a connection has. `ended` says that the server's end was
    /// announced, so that it is looked for even after a short read.
    fn receive(&mut self, slot: Slot, ended: bool) -> Option<Event> {
        let socket = self.connections[slot as usize].socket.as_ref()?;
        match rustix::net::recv(socket, &mut self.buffer[..], RecvFlags::empty()) {
            Ok((0, _)) => Some(Event::Ended(slot)),
            Ok((length, _)) => {
                if length == BUFFER || ended {
                    // More may lie there: this connection is looked at again
                    // before the rest.
                    self.position -= 1;
                }
                Some(Event::Received(slot, Received { buffer: 0, start: 0, length: length as u32 }))
            }
            Err(Errno::AGAIN | Errno::INTR) => None,
            Err(error) => Some(Event::Broken(slot, error.raw_os_error())),
        }
    }

    fn look(&mut self, event: epoll::Event) -> Option<Event> {
        // Copied, since the kernel's event is packed.
        let (data, flags) = (event.data.u64(), event.flags);
        let slot = (data >> 32) as Slot;
        let connection = &mut self.connections[slot as usize];
        if connection.generation != data as u32 {
            return None;
        }
        if !connection.established {
            return Self::established(connection, slot, flags);
        }
        if flags.contains(EventFlags::OUT)
            && !connection.unsent.is_empty()
            && let Err(error) = flush(connection)
        {
            return Some(Event::Broken(slot, error.raw_os_error()));
        }
        if flags.intersects(EventFlags::IN | EventFlags::RDHUP | EventFlags::ERR | EventFlags::HUP)
        {
            return self.receive(slot, flags.contains(EventFlags::RDHUP));
        }
        None
    }

    fn established(connection: &mut Connection, slot: Slot, flags: EventFlags) -> Option<Event> {
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

/// Hands the kernel what it has room for.
fn flush(connection: &mut Connection) -> Result<(), Errno> {
    let Some(socket) = connection.socket.as_ref() else { return Ok(()) };
    while let Some(front) = connection.unsent.front_mut() {
        // SAFETY: whoever sends keeps the bytes in place until answered.
        let bytes = unsafe { &**front };
        match rustix::net::send(socket, bytes, SendFlags::NOSIGNAL) {
            Ok(sent) if sent == bytes.len() => {
                connection.unsent.pop_front();
            }
            Ok(sent) => *front = &raw const bytes[sent..],
            Err(Errno::AGAIN) => return Ok(()),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

impl Backend for Epoll {
    fn connect(&mut self, slot: Slot, source: Option<Ipv4Addr>) -> io::Result<Option<u64>> {
        let socket = socket::open(&self.setup, source, Blocking::No)?;
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
        connection.unsent.push_back(bytes);
        if connection.unsent.len() == 1
            && let Err(error) = flush(connection)
        {
            connection.unsent.clear();
            self.more.push_back(Event::Broken(slot, error.raw_os_error()));
        }
        Some(self.setup.clock.now())
    }

    fn close(&mut self, slot: Slot) {
        let connection = &mut self.connections[slot as usize];
        if let Some(socket) = connection.socket.take() {
            connection.generation = connection.generation.wrapping_add(1);
            connection.established = false;
            connection.unsent.clear();
            // Closing the only descriptor takes it out of the epoll set.
            drop(socket);
            self.more.retain(|event| event.slot() != slot);
        }
    }

    fn wait(&mut self, at_most: Duration) -> io::Result<()> {
        if !self.more.is_empty() {
            return Ok(());
        }
        let timeout = Timespec {
            tv_sec: at_most.as_secs() as i64,
            tv_nsec: i64::from(at_most.subsec_nanos()),
        };
        self.ready.clear();
        self.position = 0;
        let spare: &mut [MaybeUninit<epoll::Event>] = self.ready.spare_capacity_mut();
        let taken = match epoll::wait(&self.epoll, spare, Some(&timeout)) {
            Ok((events, _)) => events.len(),
            Err(Errno::INTR) => 0,
            Err(error) => return Err(error.into()),
        };
        // SAFETY: the kernel wrote that many events at the front.
        unsafe { self.ready.set_len(taken) };
        Ok(())
    }

    fn next(&mut self) -> Option<(u64, Event)> {
        if let Some(event) = self.more.pop_front() {
            return Some((self.setup.clock.now(), event));
        }
        while self.position < self.ready.len() {
            let event = self.ready[self.position];
            self.position += 1;
            if let Some(seen) = self.look(event) {
                // It is read only now, and may have come just now.
                return Some((self.setup.clock.now(), seen));
            }
        }
        None
    }

    fn bytes(&self, received: Received) -> &[u8] {
        &self.buffer[received.start as usize..][..received.length as usize]
    }

    fn syn_retransmits(&self, slot: Slot) -> u64 {
        self.connections[slot as usize].socket.as_ref().map_or(0, socket::retransmits)
    }
}
