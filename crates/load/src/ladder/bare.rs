//! The bare loop: what a client on this backend can't do without.
//!
//! It sends a fixed request again whenever bytes have come, without looking at
//! them, without a histogram and without a clock a request. What it costs is
//! the practical limit that the generator is held against.

use std::io;
use std::time::{Duration, Instant};

use crate::Plan;
use crate::backend::{Backend, Event, Slot};
use crate::thread::address::Sources;
use crate::thread::gathering::gathering;

use super::LoopSeen;

/// Handshakes under way at once, so that no listen queue overflows.
const PACE: u32 = 128;
/// The longest sleep, in nanoseconds.
const SLEEP_NS_MAX: u64 = 100_000_000;

/// What a loop notes beside. The bare one notes nothing.
pub(super) trait Notes<B: Backend> {
    /// The loop woke up, having meant to sleep until then.
    fn woke(&mut self, _backend: &B, _meant: u64) {}

    /// A request is about to go out.
    fn sends(&mut self, _slot: Slot) {}

    /// Bytes came, which had arrived at this time.
    fn heard(&mut self, _backend: &B, _slot: Slot, _at: u64) {}
}

impl<B: Backend> Notes<B> for () {}

/// The loop itself, over connections to one server.
pub(super) struct Loop<'a, B, N> {
    pub backend: B,
    pub notes: N,
    pub plan: &'a Plan,
    pub request: &'a [u8],
}

impl<B: Backend, N: Notes<B>> Loop<'_, B, N> {
    /// Goes on for so long.
    ///
    /// Connections that are kept are all made before the first request, as a run of load
    /// does: a server under load accepts slowly, some one connection a turn of their loop,
    /// and would have fewer to serve for seconds.
    ///
    /// # Errors
    /// The kernel's, or that of a connection that can't be made.
    pub(super) fn run(mut self, duration: Duration) -> io::Result<LoopSeen> {
        let Plan { connections, keep_alive, ref target, .. } = *self.plan;
        if keep_alive {
            self.connect_all(connections)?;
            // As a run of load does where answers take long enough.
            self.backend.gather(gathering(connections, SLEEP_NS_MAX));
        }
        let began = Instant::now();
        let mut answers = 0;
        // As a run of load does: with one address the kernel looks for a free port ever longer.
        let mut sources = Sources::new(target.address, !keep_alive, connections, 0);
        for slot in 0..connections {
            if keep_alive {
                self.send(slot);
            } else {
                self.backend.connect(slot, sources.next())?;
                if slot % PACE == PACE - 1 {
                    answers += self.turn_over(&mut sources)?;
                }
            }
        }
        let end = began + duration;
        while Instant::now() < end {
            answers += self.turn_over(&mut sources)?;
        }
        Ok(LoopSeen { answers, took: began.elapsed() })
    }

    /// Makes a connection of each slot.
    fn connect_all(&mut self, slots: u32) -> io::Result<()> {
        let (mut begun, mut open) = (0, 0);
        while open < slots {
            while begun < slots && begun < open + PACE {
                self.backend.connect(begun, None)?;
                begun += 1;
            }
            self.backend.wait(Duration::from_nanos(SLEEP_NS_MAX))?;
            while let Some((_, event)) = self.backend.next() {
                match event {
                    Event::Connected(_) => open += 1,
                    Event::ConnectFailed(_, errno) | Event::Broken(_, errno) => {
                        return Err(io::Error::from_raw_os_error(errno));
                    }
                    Event::Ended(_) => return Err(io::ErrorKind::UnexpectedEof.into()),
                    Event::Received(..) | Event::Sent(_) => {}
                }
            }
        }
        Ok(())
    }

    /// Waits for events, and sees to all that came; gives how many answers these were.
    fn turn_over(&mut self, sources: &mut Sources) -> io::Result<u64> {
        let mut answers = 0;
        self.backend.wait(Duration::from_nanos(SLEEP_NS_MAX))?;
        self.notes.woke(&self.backend, SLEEP_NS_MAX);
        while let Some((at, event)) = self.backend.next() {
            match event {
                Event::Connected(slot) => self.send(slot),
                Event::Received(slot, _) => {
                    answers += 1;
                    self.notes.heard(&self.backend, slot, at);
                    if self.plan.keep_alive {
                        self.send(slot);
                    } else {
                        self.backend.close(slot);
                        self.backend.connect(slot, sources.next())?;
                    }
                }
                Event::Sent(_) => {}
                Event::Ended(slot) | Event::Broken(slot, _) | Event::ConnectFailed(slot, _) => {
                    self.backend.close(slot);
                    self.backend.connect(slot, sources.next())?;
                }
            }
        }
        Ok(answers)
    }

    fn send(&mut self, slot: Slot) {
        self.notes.sends(slot);
        // SAFETY: the request outlives the backend's use of it.
        unsafe { self.backend.send(slot, self.request) };
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::net::TcpListener;

    use super::*;
    use crate::backend::ring::Ring;
    use crate::ladder::Rung;
    use crate::limits;
    use crate::plan::Target;

    #[test]
    fn all_connections_are_made_before_the_first_request() {
        if let Err(error) = Ring::new(1) {
            let why = format!("there is no bare loop without io_uring ({error})");
            return crate::skipped::skipped(&why);
        }
        let slots = 4 * PACE;
        // Both ends are ours.
        limits::allow_connections(2 * slots, 1).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        // Nobody accepts until the first request is there.
        rustix::net::listen(&listener, slots as i32).unwrap();
        let address = listener.local_addr().unwrap();
        let target = Target { address, authority: String::new(), path: String::new() };
        let plan = Plan { connections: slots, ..Plan::new(target, Vec::new()) };
        let client = std::thread::spawn(move || {
            crate::ladder::run(Rung::Bare, &plan, b"x", Duration::from_millis(100))
        });
        let (mut first, _) = listener.accept().unwrap();
        first.read_exact(&mut [0]).unwrap();
        listener.set_nonblocking(true).unwrap();
        for nth in 1..slots {
            let accepted = listener.accept();
            assert!(accepted.is_ok(), "a request came when {nth} of {slots} connections were made");
        }
        client.join().unwrap().unwrap();
    }
}
