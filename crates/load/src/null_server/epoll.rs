//! The null server on epoll.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, SocketFlags, accept_with, recv, send};

use super::requests::Partial;
use super::{ANSWER, Load, SLEEP};

/// Events taken from the kernel at once.
const EVENTS: usize = 256;
/// Bytes taken from a connection at once.
const BUFFER: usize = 64 * 1024;
/// The event data of the listener; connections have their index.
const LISTENER: u64 = u64::MAX;

/// Serves until told to end.
pub(super) fn serve(listener: OwnedFd, load: &Load, end: &AtomicBool) -> io::Result<()> {
    Responder::new(listener, load)?.run(end)
}

/// One thread's connections.
struct Responder<'a> {
    epoll: OwnedFd,
    listener: OwnedFd,
    connections: Vec<Option<Connection>>,
    free: Vec<usize>,
    load: &'a Load,
}

struct Connection {
    socket: OwnedFd,
    partial: Partial,
}

impl Responder<'_> {
    fn new(listener: OwnedFd, load: &Load) -> io::Result<Responder<'_>> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        epoll::add(&epoll, &listener, EventData::new_u64(LISTENER), EventFlags::IN)?;
        Ok(Responder { epoll, listener, connections: Vec::new(), free: Vec::new(), load })
    }

    fn run(mut self, end: &AtomicBool) -> io::Result<()> {
        let mut events = [const { MaybeUninit::<epoll::Event>::uninit() }; EVENTS];
        let mut buffer = vec![0; BUFFER];
        let mut answers = Vec::new();
        let sleep = Timespec { tv_sec: 0, tv_nsec: i64::from(SLEEP.subsec_nanos()) };
        while !end.load(Ordering::Relaxed) {
            let ready = match epoll::wait(&self.epoll, &mut events[..], Some(&sleep)) {
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
            let index = self.free.pop().unwrap_or_else(|| {
                self.connections.push(None);
                self.connections.len() - 1
            });
            let data = EventData::new_u64(index as u64);
            if epoll::add(&self.epoll, &socket, data, EventFlags::IN).is_ok() {
                let partial = Partial::default();
                self.connections[index] = Some(Connection { socket, partial });
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
        let whole = self.load.counter.take(&mut connection.partial, &buffer[..received]);
        let length = whole as usize * ANSWER.len();
        while answers.len() < length {
            answers.extend_from_slice(ANSWER);
        }
        // A send buffer has room for thousands of answers. Who doesn't read them
        // is let go.
        let sent = length == 0
            || send(&connection.socket, &answers[..length], SendFlags::NOSIGNAL) == Ok(length);
        if received == 0 || !sent || (whole > 0 && !self.load.keep_alive) {
            self.connections[index] = None;
            self.free.push(index);
        }
    }
}
