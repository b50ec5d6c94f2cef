//! How a thread's loop meets the world.

use std::cell::RefCell;
use std::io;
use std::net::Ipv4Addr;
use std::rc::Rc;
use std::time::Duration;

use super::world::{self, World};
use crate::backend::{Backend, Event, Received, Slot};

/// A backend whose kernel, network and server are made up.
pub(super) struct Simulated {
    world: Rc<RefCell<World>>,
    thread: usize,
    /// The bytes of the event that was taken last.
    bytes: Vec<u8>,
}

impl Simulated {
    pub(super) fn new(world: Rc<RefCell<World>>, thread: usize) -> Simulated {
        Simulated { world, thread, bytes: Vec::new() }
    }
}

impl Backend for Simulated {
    fn now(&self) -> u64 {
        self.world.borrow().now()
    }

    fn connect(&mut self, slot: Slot, _: Option<Ipv4Addr>) -> io::Result<Option<u64>> {
        self.world.borrow_mut().connect(self.thread, slot);
        Ok(None)
    }

    fn receive_more(&mut self, _: Slot, _: u64) {}

    unsafe fn send(&mut self, slot: Slot, bytes: *const [u8]) -> Option<u64> {
        // SAFETY: the caller keeps them until they are sent, and this reads them now.
        let bytes = unsafe { &*bytes };
        self.world.borrow_mut().send(self.thread, slot, bytes);
        None
    }

    fn is_sending(&self, slot: Slot) -> bool {
        self.unsent_bytes(slot) > 0
    }

    fn unsent_bytes(&self, slot: Slot) -> u64 {
        self.world.borrow().unsent_bytes(self.thread, slot) as u64
    }

    fn close(&mut self, slot: Slot) {
        self.world.borrow_mut().close(self.thread, slot);
    }

    fn wait(&mut self, _: Duration) -> io::Result<u64> {
        Ok(self.now())
    }

    fn next(&mut self) -> Option<(u64, Event)> {
        let (at, slot, event) = self.world.borrow_mut().take_event(self.thread)?;
        let event = match event {
            world::Happening::Connected => Event::Connected(slot),
            world::Happening::Refused => Event::ConnectFailed(slot, libc::ECONNREFUSED),
            world::Happening::Sent => Event::Sent(slot),
            world::Happening::Ended => Event::Ended(slot),
            world::Happening::Reset => Event::Broken(slot, libc::ECONNRESET),
            world::Happening::Bytes(bytes, _) => {
                self.bytes = bytes;
                Event::Received(slot, Received::whole(self.bytes.len()))
            }
        };
        Some((at, event))
    }

    fn bytes(&self, _: Received) -> &[u8] {
        &self.bytes
    }

    fn kernel_stamp(&self) -> Option<Duration> {
        None
    }

    fn syn_retransmits(&self, _: Slot) -> u64 {
        0
    }
}
