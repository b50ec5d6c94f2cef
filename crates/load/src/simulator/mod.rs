//! Runs of load without a network, a machine or time: the threads' loops, their queue and their
//! records are the real ones, the server is made up, and a clock of its own jumps from event to
//! event. So a hundred thousand runs, each with another server, take a minute.
//!
//! - [`case`]: what is asked and of whom, all of it by one seed;
//! - [`world`]: the clock, the events to come, and what truly happened;
//! - [`server`]: what a server makes of requests;
//! - [`backend`]: how a thread's loop meets the world;
//! - [`echo`]: a backend that only answers, for counts of instructions;
//! - [`laws`]: what must hold of what was told, whatever happened.

mod backend;
mod case;
pub mod echo;
mod laws;
mod server;
mod world;

use std::cell::RefCell;
use std::panic::{self, AssertUnwindSafe};
use std::rc::Rc;
use std::sync::mpsc;

use self::backend::Simulated;
use self::case::Case;
use self::server::Temper;
use self::world::World;
use crate::jobs::{record_of, slots_of};
use crate::outcome::record::SecondOfThread;
use crate::pace::clock::Clock;
use crate::pace::queue::Queue;
use crate::pace::turns::Turns;
use crate::pace::window::Window;
use crate::protocol::Protocol;
use crate::protocol::http1::Http1;
use crate::run::{START_AHEAD, put_together_of};
use crate::thread::Worker;
use crate::thread::address::Sources;
use crate::work::pages::Pages;
use crate::{Outcome, Plan, Stop};

/// A thread's loop that meets a made-up world.
type Thread<'a> = Worker<'a, Simulated, Http1<Pages>>;

/// More steps than any case takes: one that goes on never ends.
const STEPS_MAX: u64 = 2_000_000;
/// More time than any case takes. Each second keeps its histograms.
const TIME_NS_MAX: u64 = 60_000_000_000;

/// Something that goes wrong in a client's books.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mishap {
    /// A request under way is forgotten.
    FlightDropped,
    /// A good answer is counted twice.
    CountedTwice,
    /// A second of a thread never comes to the others.
    SecondLost,
}

/// Makes the run of this seed, and holds what it tells to what truly happened.
///
/// # Errors
/// What doesn't hold, with the case, for people.
pub fn check(seed: u64) -> Result<(), String> {
    let case = Case::random(seed);
    let held = panic::catch_unwind(AssertUnwindSafe(|| {
        let seen = Simulation::new(&case).run(None)?;
        laws::hold(&case, &seen)
    }));
    let held = held.unwrap_or_else(|_| Err("the client panicked, as is said above".into()));
    held.map_err(|what| format!("{what}\nseed {seed}: {case:#?}"))
}

/// A sound run of a closed loop in which one request is never answered, with its plan; if asked,
/// something goes wrong in the client's books after its end.
pub fn outcome(mishap: Option<Mishap>) -> (Plan, Outcome) {
    let case = Case::sound();
    let seen = Simulation::new(&case).run(mishap).expect("a sound run comes to its end");
    let outcome = put_together_of(&case.plan, (seen.parts, seen.seconds), seen.window);
    (case.plan, outcome)
}

/// What hosts see that carry these plans out together, against one server that answers all.
///
/// # Panics
/// Where a plan asks for anything but pages.
pub fn side_by_side(plans: &[Plan]) -> Vec<Outcome> {
    let threads = plans.iter().map(|plan| plan.threads);
    let connections = plans.iter().map(|plan| plan.connections).max().unwrap_or_default();
    let world = World::new(1, Temper::calm(), threads.clone().sum(), connections);
    let simulation =
        Simulation { hosts: plans.iter().zip(threads).collect(), world: wrapped(world) };
    let seen = simulation.run_all(None).expect("a run comes to its end where all is answered");
    let hosts = plans.iter().zip(seen.hosts);
    hosts.map(|(plan, host)| put_together_of(plan, host, seen.window)).collect()
}

/// What came of a run, and what truly happened.
struct Seen {
    parts: Vec<Outcome>,
    seconds: Vec<SecondOfThread>,
    window: Window,
    ended: u64,
    world: World,
}

/// The same of several hosts: what the threads of each saw, and their seconds.
struct SeenOfAll {
    hosts: Vec<(Vec<Outcome>, Vec<SecondOfThread>)>,
    window: Window,
    world: World,
}

/// A run that is to be made, on one host or on several: what is asked of each, and how many
/// threads it has.
struct Simulation<'a> {
    hosts: Vec<(&'a Plan, usize)>,
    world: Rc<RefCell<World>>,
}

fn wrapped(world: World) -> Rc<RefCell<World>> {
    Rc::new(RefCell::new(world))
}

/// A thread, as whoever turns it over knows it.
struct Turned<'a> {
    thread: Thread<'a>,
    /// Its host's queue, and its number there.
    queue: (&'a Queue, usize),
    /// Until when it sleeps; `None` once it has come to the end of its stage.
    until: Option<u64>,
    /// It is busy until then.
    busy_until: u64,
}

impl<'a> Simulation<'a> {
    fn new(case: &'a Case) -> Simulation<'a> {
        let world = World::new(case.seed, case.temper, case.threads, case.plan.connections);
        Simulation { hosts: vec![(&case.plan, case.threads)], world: wrapped(world) }
    }

    /// Makes the run of one host.
    fn run(self, mishap: Option<Mishap>) -> Result<Seen, String> {
        let SeenOfAll { hosts, window, world } = self.run_all(mishap)?;
        let (parts, seconds) = hosts.into_iter().next().ok_or("there is no host")?;
        Ok(Seen { parts, seconds, window, ended: world.now(), world })
    }

    /// Makes the run; what is to go wrong goes wrong on the first host.
    fn run_all(self, mishap: Option<Mishap>) -> Result<SeenOfAll, String> {
        let stop = Stop::default();
        let queue = |(plan, threads): &(&Plan, usize)| Queue::new(plan, *threads);
        let queues: Vec<Queue> = self
            .hosts
            .iter()
            .map(queue)
            .collect::<Result<_, _>>()
            .map_err(|error| error.to_string())?;
        let (mut all, mut seconds): (Vec<Turned>, Vec<_>) = (Vec::new(), Vec::new());
        for (&(plan, threads), queue) in self.hosts.iter().zip(&queues) {
            let (to, from) = mpsc::channel();
            seconds.push(from);
            let http = plan.http().ok_or("the simulator asks for pages")?;
            let protocol = Http1::new(plan, http, Pages::new(plan, http));
            let first = all.len();
            all.extend((0..threads).map(|thread| {
                let slots = slots_of(plan, thread, threads);
                let record = record_of(plan, &protocol, thread, slots, to.clone());
                let sources = Sources::new(plan.target.address, false, plan.connections, thread);
                let backend = Simulated::new(self.world.clone(), first + thread);
                let parts = (
                    backend,
                    protocol.of_thread(plan.share.first_thread as usize + thread),
                    record,
                    Turns::new(queue, thread, plan.share),
                );
                let shares = (slots, threads as u32);
                let worker = Worker::new(plan, &stop, Clock::start(), shares, sources, parts);
                Turned { thread: worker, queue: (queue, thread), until: None, busy_until: 0 }
            }));
        }
        self.turn_over(&mut all)?;
        let start = self.world.borrow().now() + START_AHEAD.as_nanos() as u64;
        // All hosts begin together, and measure for as long.
        let window = self.hosts.first().ok_or("there is no host")?.0.window(start);
        all.iter_mut().for_each(|one| one.thread.start(window));
        self.turn_over(&mut all)?;
        if mishap == Some(Mishap::FlightDropped) {
            all.iter_mut().any(|one| one.thread.drop_a_flight());
        }
        let mut ended = all.into_iter().map(|one| one.thread.finish());
        let hosts = self.hosts.iter().zip(seconds);
        let hosts = hosts.map(|((_, threads), seconds)| {
            let parts: Vec<Outcome> = ended.by_ref().take(*threads).collect();
            (parts, seconds.into_iter().collect::<Vec<SecondOfThread>>())
        });
        let mut hosts: Vec<_> = hosts.collect();
        let (parts, seconds) = &mut hosts[0];
        if mishap == Some(Mishap::CountedTwice) {
            parts[0].account.good += 1;
        }
        if mishap == Some(Mishap::SecondLost) {
            let most = (0..seconds.len()).max_by_key(|&nth| seconds[nth].good);
            most.map(|nth| seconds.remove(nth));
        }
        let world = self.world.replace(World::new(0, Temper::calm(), 0, 0));
        Ok(SeenOfAll { hosts, window, world })
    }

    /// Turns the threads over, each when its time has come, until all are at the end of their
    /// stage.
    fn turn_over(&self, all: &mut [Turned]) -> Result<(), String> {
        for one in all.iter_mut() {
            one.until = one.thread.sleeps_until();
        }
        for _ in 0..STEPS_MAX {
            let wakes = |(thread, one): (usize, &Turned)| {
                let until = one.until?;
                let world = self.world.borrow();
                let (queue, number) = one.queue;
                let woken = if queue.is_woken(number) { world.now() } else { u64::MAX };
                let event = world.next_event_of(thread).unwrap_or(u64::MAX);
                Some((until.min(event).min(woken).max(one.busy_until), thread))
            };
            let Some((at, thread)) = all.iter().enumerate().filter_map(wakes).min() else {
                return Ok(());
            };
            let one = &mut all[thread];
            // As if by the kernel, which wakes a thread that sleeps for long now and then.
            let now = self.world.borrow().now();
            if now > TIME_NS_MAX {
                break;
            }
            let at = at.min(now + crate::thread::SLEEP_NS_MAX);
            one.busy_until = self.world.borrow_mut().pass_to(at);
            let until = one.until.unwrap_or_default();
            one.thread.turn_over(until).map_err(|error| error.to_string())?;
            one.until = one.thread.sleeps_until();
        }
        Err("the run goes on for ever".into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// So many that the suite has time for; `make simulate` makes a hundred thousand.
    const RUNS: u64 = 1_000;

    #[test]
    fn whatever_a_server_does_the_account_holds() {
        for seed in 0..RUNS {
            check(seed).unwrap_or_else(|what| panic!("{what}"));
        }
    }

    #[test]
    fn a_sound_run_has_no_contradiction_and_a_mishap_is_one() {
        let told = |mishap| outcome(mishap).1.contradiction();
        assert_eq!(told(None), None);
        let mishaps = [Mishap::FlightDropped, Mishap::CountedTwice, Mishap::SecondLost];
        for mishap in mishaps {
            assert!(told(Some(mishap)).is_some(), "{mishap:?} can't be seen");
        }
    }
}
