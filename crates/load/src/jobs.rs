//! What the threads of a run do: they ask, or their robots speak. A thread's life is the same in
//! both, over whichever backend.

use std::io;
use std::os::fd::AsRawFd;
use std::sync::mpsc::Sender;
use std::sync::{Mutex, PoisonError};

use crate::backend::{Backend, Setup, StampedSlots};
use crate::outcome::record::{Record, SecondOfThread, Since};
use crate::pace::clock::Clock;
use crate::pace::queue::Queue;
use crate::pace::turns::Turns;
use crate::pace::window::Window;
use crate::plan::{Arrivals, Plan, Rooms};
use crate::protocol::Protocol;
use crate::protocol::pushing::Pushing;
use crate::robots::seats::Seats;
use crate::robots::sharing::{Others, SharedRooms, SharedStorm, Sharing};
use crate::robots::slow::slow_slots;
use crate::robots::{OUTBOX_BYTES, Robots};
use crate::thread::Worker;
use crate::thread::address::Sources;
use crate::{Outcome, Stop};

/// Bytes that a connection receives at once where its answers are stamped.
pub(crate) const STAMPED_BYTES: usize = 16 << 10;
/// Messages that a robot receives at once; and the fewest bytes. What comes together has one
/// stamp, so that more would make for fewer receives and for later stamps.
const STAMPED_MESSAGES: usize = 2;
const STAMPED_BYTES_MIN: usize = 512;

/// What a thread is to carry out, and with what.
pub(crate) struct Task<'a> {
    pub plan: &'a Plan,
    pub stop: &'a Stop,
    pub clock: Clock,
    pub thread: usize,
    /// Threads of the run.
    pub threads: usize,
    /// The processor that it runs on.
    pub cpu: usize,
}

/// What a run's threads do.
pub(crate) trait Job: Sync {
    /// What one of them does over a backend.
    type Of<'a, B: Backend>: ThreadLoop
    where
        Self: 'a;

    /// The connections of one of so many threads.
    fn slots(&self, thread: usize, threads: usize) -> u32;

    /// The empty books of a thread with so many connections.
    fn record(&self, thread: usize, slots: u32, seconds: Sender<SecondOfThread>) -> Record;

    /// What the backend of one of so many threads has to know.
    fn setup(&self, clock: Clock, of: (usize, usize), slots: u32) -> Setup;

    /// A thread's loop, of which nothing was done yet.
    fn of_thread<'a, B: Backend>(
        &'a self,
        task: &Task<'a>,
        slots: u32,
        backend: B,
        record: Record,
    ) -> Self::Of<'a, B>;
}

/// What a thread does from its first connection to its last word.
pub(crate) trait ThreadLoop {
    /// Does what is to be done, and gives until when may be slept. `None` once the connections are
    /// made that are made ahead, and again once the run is over.
    fn sleeps_until(&mut self) -> Option<u64>;

    /// Sleeps until something happens or this time has come, and sees to it.
    ///
    /// # Errors
    /// The kernel's, if it can't wait for events.
    fn turn_over(&mut self, until: u64) -> io::Result<()>;

    /// Connections that are open.
    fn open(&self) -> u32;

    /// The run has these borders, and begins by itself.
    fn start(&mut self, window: Window);

    /// What was written down.
    fn finish(self) -> Outcome;
}

/// Requests are asked and answered.
pub(crate) struct Asking<'a, P> {
    pub plan: &'a Plan,
    pub protocol: &'a P,
    pub queue: Queue,
}

impl<P: Protocol> Job for Asking<'_, P> {
    type Of<'a, B: Backend>
        = Worker<'a, B, P>
    where
        Self: 'a;

    fn slots(&self, thread: usize, threads: usize) -> u32 {
        slots_of(self.plan, thread, threads)
    }

    fn record(&self, thread: usize, slots: u32, seconds: Sender<SecondOfThread>) -> Record {
        record_of(self.plan, self.protocol, thread, slots, seconds)
    }

    fn setup(&self, clock: Clock, (thread, _): (usize, usize), slots: u32) -> Setup {
        let Asking { plan, protocol, queue } = self;
        Setup {
            clock,
            address: plan.target.address,
            slots,
            one_shot: !plan.keep_alive,
            // In a closed loop a pipeline goes out together, once the last one is answered.
            overlapping: plan.pipeline > 1 && queue.is_open_loop(),
            request_bytes_max: protocol.request_bytes_max() * usize::from(plan.pipeline),
            stamps: StampedSlots::First { slots: stamped_of(slots), bytes: STAMPED_BYTES },
            paused: [].into(),
            wake: queue.wake_of(thread).map(|wake| wake.as_raw_fd()),
        }
    }

    fn of_thread<'a, B: Backend>(
        &'a self,
        task: &Task<'a>,
        slots: u32,
        backend: B,
        record: Record,
    ) -> Worker<'a, B, P> {
        let Task { plan, stop, clock, thread, threads, .. } = *task;
        let protocol = self.protocol.of_thread(plan.share.first_thread as usize + thread);
        let sources = Sources::new(plan.target.address, !plan.keep_alive, plan.connections, thread);
        let turns = Turns::new(&self.queue, thread, plan.share);
        let parts = (backend, protocol, record, turns);
        Worker::new(plan, stop, clock, (slots, threads as u32), sources, parts)
    }
}

impl<B: Backend, P: Protocol> ThreadLoop for Worker<'_, B, P> {
    fn sleeps_until(&mut self) -> Option<u64> {
        self.sleeps_until()
    }

    fn turn_over(&mut self, until: u64) -> io::Result<()> {
        self.turn_over(until)
    }

    fn open(&self) -> u32 {
        self.open()
    }

    fn start(&mut self, window: Window) {
        self.start(window);
    }

    fn finish(self) -> Outcome {
        self.finish()
    }
}

/// Robots speak to each other.
pub(crate) struct Speaking<'a, W> {
    pub plan: &'a Plan,
    pub rooms: Rooms,
    pub wire: W,
    /// The threads' lines to each other, until they are taken.
    lines: Mutex<Vec<Option<Others>>>,
    /// Where rooms lie on several threads.
    shared: Option<SharedRooms>,
    storm: SharedStorm,
}

impl<'a, W> Speaking<'a, W> {
    /// Robots of so many threads.
    pub(crate) fn new((plan, rooms): (&'a Plan, Rooms), wire: W, threads: usize) -> Self {
        let are_shared = rooms.threads_of_one(plan.connections, threads) > 1;
        let lines = if are_shared { Others::of(threads as u32) } else { Vec::new() };
        let shared = are_shared.then(|| SharedRooms::new(rooms.rooms(plan.connections)));
        let lines = Mutex::new(lines.into_iter().map(Some).collect());
        let storm = SharedStorm::of(threads as u32);
        Speaking { plan, rooms, wire, lines, shared, storm }
    }

    /// What a thread shares with the others. To be asked for once.
    fn sharing(&self, thread: usize) -> Sharing<'_> {
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        let own = lines.get_mut(thread).and_then(Option::take);
        let others = own.unwrap_or_else(Others::none);
        Sharing { others, rooms: self.shared.as_ref(), storm: &self.storm }
    }

    fn seats(&self, thread: usize, threads: usize) -> Seats {
        let rooms = self.rooms.rooms(self.plan.connections);
        Seats::new(self.rooms.members, rooms, thread as u32, threads as u32)
    }
}

impl<W: Pushing + Copy> Job for Speaking<'_, W> {
    type Of<'a, B: Backend>
        = Robots<'a, B, W>
    where
        Self: 'a;

    fn slots(&self, thread: usize, threads: usize) -> u32 {
        self.seats(thread, threads).robots()
    }

    fn record(&self, thread: usize, slots: u32, seconds: Sender<SecondOfThread>) -> Record {
        // A delivery is due when its message was: it has one time alone.
        let mut record = Record::new(thread, None, seconds);
        record.outcome.connections.asked = slots;
        record
    }

    fn setup(&self, clock: Clock, (thread, threads): (usize, usize), slots: u32) -> Setup {
        let message = self.wire.said_bytes(self.rooms.message_bytes as usize);
        Setup {
            clock,
            address: self.plan.target.address,
            slots,
            one_shot: false,
            overlapping: true,
            request_bytes_max: OUTBOX_BYTES,
            stamps: StampedSlots::All {
                bytes: (message * STAMPED_MESSAGES).max(STAMPED_BYTES_MIN),
            },
            paused: slow_slots(self.rooms.slow, self.seats(thread, threads)),
            wake: None,
        }
    }

    fn of_thread<'a, B: Backend>(
        &'a self,
        task: &Task<'a>,
        _: u32,
        backend: B,
        record: Record,
    ) -> Robots<'a, B, W> {
        let Task { plan, stop, clock, thread, threads, .. } = *task;
        let seats = self.seats(thread, threads);
        let sources = Sources::new(plan.target.address, false, plan.connections, thread);
        let (seats, parts) = ((seats, threads as u32), (backend, self.wire, record));
        let sources = (sources, self.sharing(thread));
        Robots::new((plan, self.rooms), stop, clock, seats, parts, sources)
    }
}

impl<B: Backend, W: Pushing> ThreadLoop for Robots<'_, B, W> {
    fn sleeps_until(&mut self) -> Option<u64> {
        self.sleeps_until()
    }

    fn turn_over(&mut self, until: u64) -> io::Result<()> {
        self.turn_over(until)
    }

    fn open(&self) -> u32 {
        self.inside()
    }

    fn start(&mut self, window: Window) {
        self.start(window);
    }

    fn finish(self) -> Outcome {
        self.finish()
    }
}

/// How many of the connections a thread has.
pub(crate) fn slots_of(plan: &Plan, thread: usize, threads: usize) -> u32 {
    let (thread, threads) = (thread as u32, threads as u32);
    plan.connections / threads + u32::from(thread < plan.connections % threads)
}

/// The empty books of a thread with so many connections.
pub(crate) fn record_of<P: Protocol>(
    plan: &Plan,
    protocol: &P,
    thread: usize,
    slots: u32,
    seconds: Sender<SecondOfThread>,
) -> Record {
    let since = match (plan.arrivals, plan.keep_alive) {
        (Arrivals::Closed, true) => None,
        (Arrivals::Closed, false) => Some(Since::Begun),
        _ => Some(Since::Intended),
    };
    let record = Record::new(thread, since, seconds).by_class(protocol.classes());
    let mut record = record.seeded(plan.seed ^ thread as u64);
    record.gathers = plan.pipeline > 1;
    record.outcome.connections.asked = slots;
    record
}

/// Of how many connections of a thread it is looked how late their answers are seen: few,
/// since each answer costs a little more there.
pub(crate) fn stamped_of(connections: u32) -> u32 {
    (connections / 16).clamp(1, 16)
}
