//! A thread's loop over robots in rooms: what they say, what they hear of each other, and whether
//! each has heard what it was owed.
//!
//! Robots come into their rooms before any clock runs. From the start of the warm-up to the end of
//! the window they speak in turn, each turn at its own time, and nobody waits for what was said
//! before. At last it is awaited what is still under way. The parts:
//!
//! - [`seats`]: who sits where, and in which order they speak;
//! - [`ledger`]: to whom each message is still owed;
//! - [`kernel_clock`]: when the kernel took what came;
//! - [`stages`]: from joining to the end;
//! - [`joining`]: how robots come into their rooms, and how they are lost;
//! - [`speaking`]: what they say;
//! - [`hearing`]: what they hear, and what is missing;
//! - [`confirming`]: what the server says that it has.

mod confirming;
mod hearing;
mod joining;
pub(crate) mod kernel_clock;
pub(crate) mod ledger;
pub(crate) mod seats;
mod speaking;
mod stages;

use std::collections::VecDeque;
use std::io;
use std::time::Duration;

use self::confirming::{Confirmation, HandedOver, Unconfirmed};
use self::kernel_clock::KernelClock;
use self::ledger::{Arrival, Delivered, Ledger, Owed, bit};
use self::seats::Seats;
use self::stages::RobotStage;
use crate::backend::{Backend, Event, Received, Slot};
use crate::outcome::deliveries::{DeliveriesSeen, SaidInSecond};
use crate::outcome::fault::{Fault, show};
use crate::outcome::record::{Record, SecondOfThread, Spent, Times, fault_of};
use crate::outcome::{AnswerKind, ErrorKind, First};
use crate::pace::clock::Clock;
use crate::pace::window::{Phase, Window};
use crate::plan::{Arrivals, Plan, Rooms};
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
    ledger: Ledger,
    record: Record,
    seen: DeliveriesSeen,
    /// Deliveries that turns made, by [`Phase`].
    scheduled: [u64; 2],
    connects: Connects,
    sources: Sources,
    clock: Clock,
    kernel: KernelClock,
    time: Now,
    stage: RobotStage,
    /// Nanoseconds from a message of the run to the next one.
    interval: f64,
    /// The next turn.
    turn: u64,
    next_second: u64,
    next_scan: u64,
    /// What the thread had spent when the window began, once it has.
    spent_before: Option<Spent>,
    /// When the window ended, once it has.
    window_end: u64,
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
        sources: Sources,
    ) -> Self {
        let robots = seats.robots();
        let words = seats.members().div_ceil(u64::BITS) as usize;
        let own_rooms = rooms.rooms(robots);
        let now = backend.now();
        let rate = match plan.arrivals {
            Arrivals::Constant(rate) | Arrivals::Poisson(rate) => rate,
            Arrivals::Closed => f64::INFINITY,
        };
        Robots {
            plan,
            stop,
            backend,
            wire,
            messages: Messages::new(plan.seed, rooms.message_bytes),
            seats,
            robots: (0..robots).map(|_| Robot::default()).collect(),
            joined: vec![0; own_rooms as usize * words],
            words,
            inside: 0,
            ledger: Ledger::new(robots, seats.members()),
            record,
            seen: DeliveriesSeen::nothing(own_rooms),
            scheduled: [0; 2],
            connects: Connects::new(robots, threads, true, true, now),
            sources,
            clock,
            kernel: KernelClock::beside(clock),
            time: Now::new(now),
            stage: RobotStage::Joining { most: 0, since: now, failed: 0 },
            interval: 1e9 / rooms.messages(rate),
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
        assert_eq!(due, settled + self.ledger.under_way(), "a delivery is lost, or there twice");
        if self.robots.len() > HELD_ROBOTS_MAX {
            return;
        }
        let waiting: u64 = self.robots.iter().map(|robot| robot.waiting.len() as u64).sum();
        let shed: u64 = accounts.iter().map(|it| it.shed).sum();
        let scheduled: u64 = self.scheduled.iter().sum();
        assert!(scheduled >= due + shed, "a turn is missing");
        assert_eq!(scheduled > due + shed, waiting > 0, "a message waits, or was forgotten");
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

    /// The bits of the members that came into a robot's room.
    fn members_of(&self, slot: Slot) -> std::ops::Range<usize> {
        let begin = self.seats.own_room(slot) as usize * self.words;
        begin..begin + self.words
    }

    /// How many members came into a robot's room.
    fn present(&self, slot: Slot) -> u64 {
        let words = &self.joined[self.members_of(slot)];
        words.iter().map(|word| u64::from(word.count_ones())).sum()
    }
}

#[cfg(test)]
mod relay;
#[cfg(test)]
mod tests;
