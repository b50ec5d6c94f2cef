//! A thread's loop over robots in rooms: what they say, what they hear of each other, and whether
//! each has heard what it was owed.
//!
//! Robots come into their rooms before any clock runs. From the start of the warm-up to the end of
//! the window they speak in turn, each turn at its own time, and nobody waits for what was said
//! before. At last it is awaited what is still under way. The parts:
//!
//! - [`seats`]: who sits where, and in which order they speak;
//! - [`ledger`]: to whom each message is still owed;
//! - [`sharing`]: what threads tell each other whose rooms lie on several of them;
//! - [`kernel_clock`]: when the kernel took what came;
//! - [`stages`]: from joining to the end;
//! - [`joining`]: how robots come into their rooms, and how they are lost;
//! - [`pace`]: when they speak;
//! - [`speaking`]: what they say;
//! - [`slow`]: those of them that hang for some time;
//! - [`storm`]: how all end and come back;
//! - [`hearing`]: what they hear, and what is missing;
//! - [`confirming`]: what the server says that it has.

mod confirming;
mod hearing;
mod joining;
pub(crate) mod kernel_clock;
pub(crate) mod ledger;
mod pace;
pub(crate) mod seats;
pub(crate) mod sharing;
pub(crate) mod slow;
mod speaking;
mod stages;
mod storm;

use std::collections::VecDeque;
use std::io;
use std::time::Duration;

use histogram::Latency;

use self::confirming::{Confirmation, HandedOver, Unconfirmed};
use self::kernel_clock::KernelClock;
use self::ledger::{Arrival, Delivered, Ledger, Owed, bit, words};
use self::pace::SpeakingPace;
use self::seats::Seats;
use self::sharing::{Others, Settled, SharedRooms, Sharing, Word};
use self::slow::SlowRobots;
use self::stages::RobotStage;
use self::storm::StormOfThread;
use crate::backend::{Backend, Event, Received, Slot};
use crate::outcome::deliveries::{DeliveriesSeen, SaidInSecond};
use crate::outcome::fault::{Fault, show};
use crate::outcome::record::{Record, SecondOfThread, Spent, Times, fault_of};
use crate::outcome::rooms::{RoomSeen, ShareOfDue, worst};
use crate::outcome::{AnswerKind, ErrorKind, First};
use crate::pace::clock::Clock;
use crate::pace::window::{Phase, Window};
use crate::plan::{Plan, Rooms};
use crate::protocol::Opened;
use crate::protocol::pushing::{Pushed, Pushing};
use crate::thread::SLEEP_NS_MAX;
use crate::thread::address::Sources;
use crate::thread::connects::Connects;
use crate::thread::now::Now;
use crate::work::message::{Messages, Spoken};
use crate::{Outcome, Stop};

const SECOND_NS: u64 = 1_000_000_000;
/// Bytes that a robot keeps for a server that doesn't take them; one message has always room. What
/// is due beyond that is shed.
pub(crate) const OUTBOX_BYTES: usize = 16 << 10;
/// So many times within the timeout it is looked what took too long.
const SCANS: u64 = 10;
/// With more robots than these, not each of them is looked at in each turn.
const HELD_ROBOTS_MAX: usize = 64;
/// What an answer has of which a delivery has nothing.
const NO_KIND: AnswerKind = AnswerKind { status: 0, class: 0 };

/// One thread's robots.
pub(crate) struct Robots<'a, B, W: Pushing> {
    plan: &'a Plan,
    stop: &'a Stop,
    backend: B,
    wire: W,
    messages: Messages,
    seats: Seats,
    robots: Vec<Robot<W::Connection>>,
    /// By room of this thread, a bit for each member that came into it.
    joined: Vec<u64>,
    /// Words of `joined` that a room has.
    words: usize,
    /// Robots that are in their rooms now.
    inside: u32,
    /// By speaking thread, what of its messages is owed here; of rooms that lie on one thread
    /// whole, this thread's alone.
    ledgers: Vec<Ledger>,
    /// `None` where none is.
    slow: Option<Box<SlowRobots>>,
    storm: Option<Box<StormOfThread<'a>>>,
    others: Others,
    shared: Option<&'a SharedRooms>,
    record: Record,
    seen: DeliveriesSeen,
    /// By room of this thread, how the members here fared.
    rooms: Vec<RoomBooks>,
    /// Deliveries that turns made, by [`Phase`].
    scheduled: [u64; 2],
    connects: Connects,
    sources: Sources,
    clock: Clock,
    kernel: KernelClock,
    time: Now,
    stage: RobotStage,
    pace: SpeakingPace,
    /// The next turn.
    turn: u64,
    next_second: u64,
    next_scan: u64,
    /// What the thread had spent when the window began, once it has.
    spent_before: Option<Spent>,
    /// When the window ended, once it has.
    window_end: u64,
}

/// What is known of a room.
#[derive(Debug, Clone, Copy, Default)]
struct RoomBooks {
    /// Messages of the window that were handed over.
    messages: u64,
    /// How the members here fared with them.
    seen: RoomSeen,
}

/// What is known of a robot.
#[derive(Default)]
struct Robot<C> {
    state: RobotState,
    /// What the wire keeps of its connection.
    connection: C,
    /// What the kernel was given last.
    sending: Vec<u8>,
    /// What goes out once that was taken.
    next: Vec<u8>,
    /// The turns whose messages are in `next`.
    waiting: VecDeque<u64>,
    /// What the wire has to say by itself, before `next`.
    own: Vec<u8>,
    /// When something was handed over last.
    said_at: u64,
    unconfirmed: Unconfirmed,
    /// Deliveries of the window that it had.
    had: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum RobotState {
    /// It has no connection.
    #[default]
    Away,
    /// Its connection was begun at this time.
    Connecting(u64),
    /// Its connection was begun at one time and established at the other, and it said where it
    /// wants to.
    Joining(u64, u64),
    /// It is in its room.
    Inside,
}

impl<'a, B: Backend, W: Pushing> Robots<'a, B, W> {
    /// The robots of these seats, none of them connected, as one of so many threads.
    pub(crate) fn new(
        (plan, rooms): (&'a Plan, Rooms),
        stop: &'a Stop,
        clock: Clock,
        (seats, threads): (Seats, u32),
        (backend, wire, record): (B, W, Record),
        (sources, sharing): (Sources, Sharing<'a>),
    ) -> Self {
        let robots = seats.robots();
        let members = seats.own_members();
        let words = words(members);
        let ledger = |thread| {
            let of = if seats.are_dealt() { seats.of_thread(thread) } else { seats };
            Ledger::new(robots, members, of.round())
        };
        let now = backend.now();
        Robots {
            plan,
            stop,
            backend,
            wire,
            messages: Messages::new(plan.seed, rooms.message_bytes),
            seats,
            robots: (0..robots).map(|_| Robot::default()).collect(),
            joined: vec![0; seats.own_rooms() as usize * words],
            words,
            inside: 0,
            ledgers: (0..seats.threads_heard()).map(ledger).collect(),
            slow: rooms.slow.map(|slow| Box::new(SlowRobots::of(slow, seats))),
            storm: rooms.storm.map(|storm| Box::new(StormOfThread::of(storm, sharing.storm))),
            others: sharing.others,
            shared: sharing.rooms,
            record,
            rooms: vec![RoomBooks::default(); seats.own_rooms() as usize],
            seen: DeliveriesSeen::nothing(seats.rooms_begun()),
            scheduled: [0; 2],
            connects: Connects::new(robots, threads, true, true, now),
            sources,
            clock,
            kernel: KernelClock::beside(clock),
            time: Now::new(now),
            stage: RobotStage::Joining { most: 0, since: now, failed: 0 },
            pace: SpeakingPace::of(plan.arrivals, rooms, seats, plan.seed),
            turn: 0,
            next_second: 0,
            next_scan: now,
            spent_before: None,
            window_end: 0,
        }
    }

    /// Sleeps until something happens or this time has come, and sees to it.
    ///
    /// # Errors
    /// The kernel's, if it can't wait for events.
    pub(crate) fn turn_over(&mut self, until: u64) -> io::Result<()> {
        let sleep = until.saturating_sub(self.now()).min(SLEEP_NS_MAX);
        let back_at = self.now() + sleep;
        let back = self.backend.wait(Duration::from_nanos(sleep))?;
        self.time.ask_after_sleep(back_at, back);
        self.kernel.look();
        self.hear_others();
        let looked = self.now();
        while let Some((came, event)) = self.backend.next() {
            self.time.pass_to(came);
            self.see_to(event, came);
        }
        self.time.pass_to(self.backend.now());
        if looked >= self.next_scan {
            self.give_up_what_took_too_long(looked);
        }
        if cfg!(debug_assertions) {
            self.hold_the_books();
        }
        Ok(())
    }

    /// Holds the books of this thread against each other: who says, hears or gives up a message
    /// counts for himself.
    fn hold_the_books(&self) {
        let accounts = [&self.record.outcome.warmup, &self.record.outcome.account];
        let settled: u64 = accounts.iter().map(|it| it.good + it.errors_total()).sum();
        let due: u64 = accounts.iter().map(|it| it.sent).sum();
        assert_eq!(due, settled + self.under_way(), "a delivery is lost, or there twice");
        if self.robots.len() > HELD_ROBOTS_MAX {
            return;
        }
        let waiting = (0..).zip(&self.ledgers).flat_map(|(thread, ledger)| {
            let of = self.speaks(thread);
            ledger.waiting().map(move |turn| self.present(of.own_room(of.speaker(turn).0)))
        });
        let waiting: u64 = waiting.sum();
        let shed: u64 = accounts.iter().map(|it| it.shed).sum();
        let scheduled: u64 = self.scheduled.iter().sum();
        assert_eq!(scheduled, due + shed + waiting, "a message waits, or was forgotten");
    }

    /// Deliveries under way.
    fn under_way(&self) -> u64 {
        self.ledgers.iter().map(Ledger::under_way).sum()
    }

    /// The seats of those whose messages the ledger of this number has.
    fn speaks(&self, ledger: u32) -> Seats {
        if self.seats.are_dealt() { self.seats.of_thread(ledger) } else { self.seats }
    }

    /// The number of the ledger that has this thread's messages.
    fn own_ledger(&self) -> u32 {
        self.seats.ledger_of(self.seats.thread())
    }

    /// Whether a robot has something to say yet, or a message that is to be confirmed.
    fn is_saying(&self) -> bool {
        let is_saying =
            |robot: &Robot<_>| !robot.waiting.is_empty() || robot.unconfirmed.are_some();
        self.robots.iter().any(is_saying)
    }

    /// Sees to an event that came at this time.
    fn see_to(&mut self, event: Event, at: u64) {
        match event {
            Event::Received(slot, received) => self.received(slot, received, at),
            Event::Sent(slot) => self.send_next(slot),
            Event::Connected(slot) => self.connected(slot, at),
            Event::ConnectFailed(slot, errno) => self.connect_failed(slot, &fault_of(errno, true)),
            Event::Ended(slot) => {
                let example = "the server ended the connection".into();
                self.lost(slot, &Fault { kind: ErrorKind::ClosedEarly, example });
            }
            Event::Broken(slot, errno) => self.lost(slot, &fault_of(errno, false)),
        }
    }

    /// The latest time known.
    #[inline(always)]
    fn now(&self) -> u64 {
        self.time.at()
    }

    fn phase(&self, intended: u64) -> Phase {
        if intended < self.time.window.begin { Phase::Warmup } else { Phase::Window }
    }

    /// The bits of the members here that came into a room of this thread.
    fn members_of(&self, own_room: u32) -> std::ops::Range<usize> {
        let begin = own_room as usize * self.words;
        begin..begin + self.words
    }

    /// How many members here came into a room of this thread, without those that stand apart.
    fn present(&self, own_room: u32) -> u64 {
        let members = self.members_of(own_room);
        let joined = &self.joined[members.clone()];
        match self.slow.as_ref().and_then(|slow| slow.apart(members)) {
            Some(apart) => {
                let others = joined.iter().zip(apart).map(|(joined, apart)| joined & !apart);
                others.map(|word| u64::from(word.count_ones())).sum()
            }
            None => ones(joined),
        }
    }
}

/// How many bits are set.
fn ones(words: &[u64]) -> u64 {
    words.iter().map(|word| u64::from(word.count_ones())).sum()
}

#[cfg(test)]
mod relay;
#[cfg(test)]
mod tests;
