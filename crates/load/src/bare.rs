//! The bare loop: what a client on this ring can't do without.
//!
//! It sends a fixed request again whenever bytes have come, without looking at
//! them, without a histogram and without a clock a request. What it costs is
//! the practical limit that the generator is held against.

use std::io;
use std::time::{Duration, Instant};

use crate::backend::ring::Ring;
use crate::backend::uring::Uring;
use crate::backend::{Backend, Event, Setup};
use crate::pace::clock::Clock;
use crate::thread::address::Sources;
use crate::{Error, Plan};

/// Handshakes under way at once, so that no listen queue overflows.
const PACE: u32 = 128;

/// What the bare loop did.
#[derive(Debug, Clone, Copy)]
pub struct Bare {
    /// Times that bytes came, taken for an answer each.
    pub answers: u64,
    /// How long it took, from the first request on.
    pub took: Duration,
}

/// Runs the bare loop on one thread, for so long.
///
/// Connections that are kept are all made before the first request, as a run of load
/// does: a server under load accepts slowly, some one connection a turn of their loop,
/// and would have fewer to serve for seconds.
///
/// # Errors
/// [`Error::System`] where the kernel has no io_uring, or a connection fails.
pub fn run(plan: &Plan, request: &[u8], duration: Duration) -> Result<Bare, Error> {
    let fail = |source| Error::System { what: "the bare loop".into(), source };
    let setup = Setup {
        clock: Clock::start(),
        address: plan.target.address,
        slots: plan.connections,
        one_shot: !plan.keep_alive,
        overlapping: false,
        request_bytes_max: request.len(),
        stamped: 0,
        wake: None,
    };
    let mut ring = Ring::new(plan.connections).map_err(fail)?;
    let mut backend = Uring::new(&mut ring, setup).map_err(fail)?;
    if plan.keep_alive {
        connect_all(&mut backend, plan.connections).map_err(fail)?;
    }
    let began = Instant::now();
    let mut bare = Bare { answers: 0, took: Duration::ZERO };
    // As a run of load does: with one address the kernel looks for a free port ever longer.
    let mut sources = Sources::new(plan.target.address, !plan.keep_alive, plan.connections, 0);
    for slot in 0..plan.connections {
        if plan.keep_alive {
            // SAFETY: the request outlives the backend's use of it.
            unsafe { backend.send(slot, request) };
        } else {
            backend.connect(slot, sources.next()).map_err(fail)?;
            if slot % PACE == PACE - 1 {
                bare.turn_over(&mut backend, &mut sources, plan.keep_alive, request)
                    .map_err(fail)?;
            }
        }
    }
    let end = began + duration;
    while Instant::now() < end {
        bare.turn_over(&mut backend, &mut sources, plan.keep_alive, request).map_err(fail)?;
    }
    bare.took = began.elapsed();
    Ok(bare)
}

/// Makes a connection of each slot.
fn connect_all(backend: &mut Uring<'_>, slots: u32) -> io::Result<()> {
    let (mut begun, mut open) = (0, 0);
    while open < slots {
        while begun < slots && begun < open + PACE {
            backend.connect(begun, None)?;
            begun += 1;
        }
        backend.wait(Duration::from_millis(100))?;
        while let Some((_, event)) = backend.next() {
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

impl Bare {
    /// Waits for events, and sees to all that came.
    fn turn_over(
        &mut self,
        backend: &mut Uring<'_>,
        sources: &mut Sources,
        keep_alive: bool,
        request: &[u8],
    ) -> io::Result<()> {
        backend.wait(Duration::from_millis(100))?;
        while let Some((_, event)) = backend.next() {
            match event {
                Event::Connected(slot) => {
                    // SAFETY: the request outlives the backend's use of it.
                    unsafe { backend.send(slot, request) };
                }
                Event::Received(slot, _) => {
                    self.answers += 1;
                    if keep_alive {
                        // SAFETY: as above.
                        unsafe { backend.send(slot, request) };
                    } else {
                        backend.close(slot);
                        backend.connect(slot, sources.next())?;
                    }
                }
                Event::Sent(_) => {}
                Event::Ended(slot) | Event::Broken(slot, _) | Event::ConnectFailed(slot, _) => {
                    backend.close(slot);
                    backend.connect(slot, sources.next())?;
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::net::TcpListener;

    use super::*;
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
        let client = std::thread::spawn(move || run(&plan, b"x", Duration::from_millis(100)));
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
