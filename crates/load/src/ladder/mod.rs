//! What a request costs, rung by rung: loops that ask one server in a closed loop, of which each
//! does what the one before does, and one thing more. The last rung is a run of load.

mod bare;
mod noting;
mod unread;

use std::io;
use std::time::Duration;

use self::bare::{Loop, Notes};
use self::noting::{Flights, Stamps};
use self::unread::Unread;
use crate::backend::epoll::Epoll;
use crate::backend::ring::Ring;
use crate::backend::uring::Uring;
use crate::backend::{Backend, Setup};
use crate::jobs::{STAMPED_BYTES, stamped_of};
use crate::pace::clock::Clock;
use crate::plan::{BackendChoice, Until};
use crate::run::run_as;
use crate::{Error, Moment, Plan, Stop};

/// How much a loop does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rung {
    /// What no client can do without: see the head of `bare`.
    Bare,
    /// Some connections receive with the kernel's stamp, as many as in a run of load.
    Stamps,
    /// Each request under way has its place and its times.
    Flights,
    /// A run of load whose protocol takes whatever comes for an answer: with its turns, its
    /// accounts and its histograms.
    Books,
}

/// What a loop had.
#[derive(Debug, Clone, Copy)]
pub struct LoopSeen {
    /// Times that bytes came, taken for an answer each.
    pub answers: u64,
    /// How long it took, from the first request on.
    pub took: Duration,
}

/// Runs a rung's loop on one thread, for so long, on the plan's backend: there is no other where
/// that can't be had. Of the plan counts besides where it goes, by how many connections,
/// whether these are kept, and the request that samples of answers are told with.
///
/// # Errors
/// [`Error::System`] where the kernel lacks the backend, or a connection fails.
pub fn run(rung: Rung, plan: &Plan, request: &[u8], duration: Duration) -> Result<LoopSeen, Error> {
    let fail = |source| Error::System { what: "a rung's loop".into(), source };
    let loops = Loops { plan, request, duration };
    match rung {
        Rung::Bare => loops.run(0, ()).map_err(fail),
        Rung::Stamps => loops.run(stamped_of(plan.connections), Stamps).map_err(fail),
        Rung::Flights => {
            let flights = Flights::new(plan.connections);
            loops.run(stamped_of(plan.connections), flights).map_err(fail)
        }
        Rung::Books => {
            let plan = Plan { threads: 1, until: Until::Elapsed(duration), ..plan.clone() };
            let protocol = Unread::new(request, plan.keep_alive);
            let at = || Some(Moment::now().after(crate::run::START_AHEAD));
            let seen = run_as(&protocol, (&plan, &Stop::default()), at, &mut |_| {})?;
            Ok(LoopSeen { answers: seen.account.good, took: duration })
        }
    }
}

/// What loops have in common.
struct Loops<'a> {
    plan: &'a Plan,
    request: &'a [u8],
    duration: Duration,
}

impl Loops<'_> {
    fn run<N>(&self, stamped: u32, notes: N) -> io::Result<LoopSeen>
    where
        N: Notes<Epoll> + for<'ring> Notes<Uring<'ring>>,
    {
        let plan = self.plan;
        let setup = Setup {
            clock: Clock::start(),
            address: plan.target.address,
            slots: plan.connections,
            one_shot: !plan.keep_alive,
            overlapping: false,
            request_bytes_max: self.request.len(),
            stamps: crate::backend::StampedSlots::First { slots: stamped, bytes: STAMPED_BYTES },
            paused: [].into(),
            wake: None,
        };
        if plan.backend == BackendChoice::Epoll {
            return self.on(Epoll::new(setup)?, notes);
        }
        let mut ring = Ring::new(plan.connections)?;
        self.on(Uring::new(&mut ring, setup)?, notes)
    }

    fn on<B: Backend, N: Notes<B>>(&self, backend: B, notes: N) -> io::Result<LoopSeen> {
        let Loops { plan, request, duration } = *self;
        Loop { backend, notes, plan, request }.run(duration)
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{SocketAddr, TcpListener};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::thread;

    use super::*;
    use crate::plan::Target;
    use crate::plan::template::Request;
    use crate::skipped::skipped;

    /// A server that answers each request of three bytes, and counts them.
    fn counting() -> (SocketAddr, Arc<AtomicU64>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (address, count) = (listener.local_addr().unwrap(), Arc::new(AtomicU64::new(0)));
        let counted = Arc::clone(&count);
        thread::spawn(move || {
            for mut socket in listener.incoming().flatten() {
                let counted = Arc::clone(&counted);
                thread::spawn(move || {
                    let mut request = [0; 3];
                    while socket.read_exact(&mut request).is_ok() {
                        counted.fetch_add(1, Ordering::Relaxed);
                        if socket.write_all(b"answer").is_err() {
                            break;
                        }
                    }
                });
            }
        });
        (address, count)
    }

    /// A rung that asks less than it says would make every rung above it look dear.
    #[test]
    fn each_step_has_an_answer_to_each_request_on_both_backends() {
        if let Err(error) = Ring::new(1) {
            return skipped(&format!("half of the ladder takes io_uring ({error})"));
        }
        const CONNECTIONS: u32 = 20;
        for rung in [Rung::Bare, Rung::Stamps, Rung::Flights, Rung::Books] {
            for backend in [BackendChoice::Uring, BackendChoice::Epoll] {
                for keep_alive in [true, false] {
                    let (address, count) = counting();
                    let target = Target { address, authority: String::new(), path: String::new() };
                    let base = Plan::new(target, vec![Request::get("/")]);
                    let plan = Plan { connections: CONNECTIONS, keep_alive, backend, ..base };
                    let did = run(rung, &plan, b"ask", Duration::from_millis(30)).unwrap();
                    let asked = count.load(Ordering::Relaxed);
                    let who = format!("{rung:?} on {backend:?}, kept {keep_alive}");
                    assert!(did.answers > 0, "{who}: {did:?}");
                    let under_way = u64::from(CONNECTIONS);
                    assert!(asked.abs_diff(did.answers) <= under_way, "{who}: {did:?} of {asked}");
                }
            }
        }
    }
}
