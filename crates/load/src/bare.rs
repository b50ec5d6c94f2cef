//! The bare loop: the least that any client on this ring must do.
//!
//! It sends a fixed request again whenever bytes have come, without looking at
//! them, without a histogram and without a clock a request. What it costs is
//! the practical limit that the generator is held against.

use std::io;
use std::time::{Duration, Instant};

use crate::backend::ring::Ring;
use crate::backend::uring::Uring;
use crate::backend::{Backend, Event, Setup};
use crate::clock::Clock;
use crate::{Error, Plan};

/// What the bare loop did.
#[derive(Debug, Clone, Copy)]
pub struct Bare {
    /// Times that bytes came, taken for an answer each.
    pub answers: u64,
    /// How long it took, from the first connection on: where each serves one
    /// request, answers come while the others are still being made.
    pub took: Duration,
}

/// Runs the bare loop on one thread, until so long after the last connection was
/// begun.
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
        pipelined: false,
        request_bytes_max: request.len(),
    };
    let mut ring = Ring::new(plan.connections).map_err(fail)?;
    let mut backend = Uring::new(&mut ring, setup).map_err(fail)?;
    let began = Instant::now();
    let mut bare = Bare { answers: 0, took: Duration::ZERO };
    for slot in 0..plan.connections {
        backend.connect(slot, None).map_err(fail)?;
        if slot % 128 == 127 {
            // Paced, so that no listen queue overflows.
            bare.turn_over(&mut backend, plan.keep_alive, request).map_err(fail)?;
        }
    }
    let end = Instant::now() + duration;
    while Instant::now() < end {
        bare.turn_over(&mut backend, plan.keep_alive, request).map_err(fail)?;
    }
    bare.took = began.elapsed();
    Ok(bare)
}

impl Bare {
    /// Waits for events, and sees to all that came.
    fn turn_over(
        &mut self,
        backend: &mut Uring<'_>,
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
                        backend.connect(slot, None)?;
                    }
                }
                Event::Ended(slot) | Event::Broken(slot, _) | Event::ConnectFailed(slot, _) => {
                    backend.close(slot);
                    backend.connect(slot, None)?;
                }
            }
        }
        Ok(())
    }
}
