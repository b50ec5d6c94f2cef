//! A backend without a network or a clock, for tests of who uses one: what happens, and when, is
//! theirs to say. Time is a number of the test's thread.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::io;
use std::net::Ipv4Addr;
use std::rc::Rc;
use std::time::Duration;

use super::{Backend, Event, Received, Slot};

thread_local! {
    static NOW: Cell<u64> = const { Cell::new(1_000_000_000) };
}

/// So much time passes.
pub(crate) fn pass(time: Duration) {
    NOW.set(NOW.get() + time.as_nanos() as u64);
}

/// What time it is.
pub(crate) fn now() -> u64 {
    NOW.get()
}

/// What a backend was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Call {
    Connect(Slot),
    Send(Slot),
    Wait,
}

const ANSWER: &[u8] = b"HTTP/1.1 204 No Content\r\n\r\n";
const FAREWELL: &[u8] =
    b"HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";

/// An answer to the request on this slot.
pub(crate) fn answered(slot: Slot) -> Event {
    Event::Received(slot, Received::whole(ANSWER.len()))
}

/// The word of a server that saw no request on this slot for long, and ends the connection.
pub(crate) fn bid_farewell(slot: Slot) -> Event {
    Event::Received(slot, Received::whole(FAREWELL.len()))
}

/// A backend that gives at each wait the events that a script has for it, each with how long
/// the thread stands still before it.
pub(crate) struct Scripted<W> {
    pub script: W,
    pub calls: Rc<RefCell<Vec<Call>>>,
    pub events: VecDeque<(Duration, Event)>,
}

impl<W: FnMut() -> Vec<(Duration, Event)>> Backend for Scripted<W> {
    fn now(&self) -> u64 {
        now()
    }

    fn connect(&mut self, slot: Slot, _: Option<Ipv4Addr>) -> io::Result<Option<u64>> {
        self.calls.borrow_mut().push(Call::Connect(slot));
        Ok(None)
    }

    fn receive_more(&mut self, _: Slot, _: u64) {}

    unsafe fn send(&mut self, slot: Slot, _: *const [u8]) -> Option<u64> {
        self.calls.borrow_mut().push(Call::Send(slot));
        None
    }

    fn is_sending(&self, _: Slot) -> bool {
        false
    }

    fn unsent_bytes(&self, _: Slot) -> u64 {
        0
    }

    fn close(&mut self, slot: Slot) {
        self.events.retain(|(_, event)| event.slot() != slot);
    }

    fn wait(&mut self, at_most: Duration) -> io::Result<u64> {
        self.calls.borrow_mut().push(Call::Wait);
        let before = now();
        self.events.extend((self.script)());
        if self.events.is_empty() && now() == before {
            pass(at_most);
        }
        Ok(now())
    }

    fn next(&mut self) -> Option<(u64, Event)> {
        let (pause, event) = self.events.pop_front()?;
        pass(pause);
        Some((now(), event))
    }

    fn bytes(&self, received: Received) -> &[u8] {
        if received.length() == ANSWER.len() { ANSWER } else { FAREWELL }
    }

    fn kernel_stamp(&self) -> Option<Duration> {
        None
    }

    /// Only asked of those for which it may be so.
    fn syn_retransmits(&self, _: Slot) -> u64 {
        1
    }
}
