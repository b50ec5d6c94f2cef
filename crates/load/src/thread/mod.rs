//! A thread's loop: connections, requests, answers, time.
//!
//! It first makes the connections that are kept, before any clock runs; then
//! offers load from the start of the warm-up to the end of the window; and at
//! last awaits the answers that are still under way. Times are nanoseconds on a
//! clock that the threads of a run share.

pub(crate) mod address;
mod answering;
mod connecting;
pub(crate) mod connects;
pub(crate) mod gathering;
mod line;
mod losing;
pub(crate) mod now;
mod sending;
pub(crate) mod slots;
mod stages;

use std::io;
use std::time::Duration;

use self::stages::{Ahead, Offering, Stage};
use crate::backend::{Backend, Event, Received, Slot};
use crate::outcome::fault::{Fault, show};
use crate::outcome::record::{Record, SecondOfThread, Spent, Times, fault_of};
use crate::outcome::{Account, ErrorKind};
use crate::pace::clock::Clock;
use crate::pace::queue::Free;
use crate::pace::turns::{Turn, Turns};
use crate::pace::window::{Phase, Window};
use crate::plan::{Plan, Until};
use crate::protocol::{Fed, Opened, Protocol, foreign};
use crate::thread::address::Sources;
use crate::thread::connects::Connects;
use crate::thread::line::{Line, Place};
use crate::thread::now::Now;
use crate::thread::slots::{Flight, Slots, State};
use crate::work::Asked;
use crate::{Outcome, Stop};

/// The longest sleep: how soon a request to stop is heard.
pub(crate) const SLEEP_NS_MAX: u64 = 20_000_000;
/// A handshake that took so long may have lost a SYN: the kernel sends it again
/// after a second (RFC 6298).
pub(crate) const SYN_LOST_NS: u64 = 900_000_000;
/// Bytes of pipelined requests that go out together. What is more follows when they were
/// taken.
pub(crate) const TOGETHER_BYTES: usize = 64 << 10;
/// Parts in which connections are looked over for what took too long: to look at tens of
/// thousands at once would make what comes meanwhile late.
const SCAN_PARTS: u32 = 16;
/// Failures in a row after which no more connections are made ahead.
const FAILURES_MAX: u64 = 3;
/// With more connections than these, not each of them is looked at in each turn.
const HELD_SLOTS_MAX: Slot = 64;
const SECOND_NS: u64 = 1_000_000_000;

/// One thread's part of a run.
pub(crate) struct Worker<'a, B, P: Protocol> {
    plan: &'a Plan,
    stop: &'a Stop,
    backend: B,
    protocol: P,
    record: Record,
    slots: Slots<P::Connection>,
    connects: Connects,
    sources: Sources,
    turns: Turns<'a>,
    /// Where the requests of an open loop go. A closed one has no line: it takes them at once.
    line: Line,
    /// Since when there was always something in the line.
    free_since: Option<u64>,
    /// What is to be sent, by slot, where it isn't the same bytes each time, several requests are
    /// under way, or a connection has first words.
    outboxes: Vec<Outbox>,
    /// Whether several requests are under way on a connection.
    is_pipelined: bool,
    /// Slots whose outbox is to be looked at before this thread sleeps.
    touched: Vec<Slot>,
    /// Open connections.
    open: u32,
    /// Requests under way.
    under_way: u64,
    clock: Clock,
    time: Now,
    stage: Stage,
    ahead: Ahead,
    offering: Offering,
    next_scan: u64,
    /// The slot at which the next look for what took too long begins.
    scan_from: Slot,
}

/// What goes out on one connection.
#[derive(Default)]
struct Outbox {
    /// The bytes that were handed to the kernel last.
    bytes: Vec<u8>,
    /// So many of the pipelined requests under way, the last ones, weren't handed over yet.
    queued: u16,
    is_touched: bool,
}

impl<'a, B: Backend, P: Protocol> Worker<'a, B, P> {
    /// A worker for so many connections, none of them begun, as one of so many threads.
    pub(crate) fn new(
        plan: &'a Plan,
        stop: &'a Stop,
        clock: Clock,
        (slots, threads): (u32, u32),
        sources: Sources,
        (backend, protocol, record, turns): (B, P, Record, Turns<'a>),
    ) -> Self {
        let room = protocol.rendered_bytes_max();
        let has_outboxes = P::OPENS || room > 0 || plan.pipeline > 1;
        let outboxes = if has_outboxes { slots } else { 0 };
        let outbox = |_| Outbox { bytes: Vec::with_capacity(room), ..Outbox::default() };
        let is_paced = plan.keep_alive || !turns.is_open_loop();
        let now = backend.now();
        Worker {
            plan,
            stop,
            backend,
            protocol,
            record,
            slots: Slots::new(slots, plan.pipeline),
            connects: Connects::new(slots, threads, plan.keep_alive, is_paced, now),
            sources,
            turns,
            line: Line::new(slots, plan.pipeline),
            free_since: None,
            outboxes: (0..outboxes).map(outbox).collect(),
            is_pipelined: plan.pipeline > 1,
            touched: Vec::new(),
            open: 0,
            under_way: 0,
            clock,
            time: Now::new(now),
            stage: Stage::Ahead,
            ahead: Ahead::since(now),
            offering: Offering::default(),
            next_scan: now,
            scan_from: 0,
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
        let looked = self.now();
        let (mut events, bytes_before) = (0, self.record.bytes_of_second());
        while let Some((came, event)) = self.backend.next() {
            events += 1;
            self.time.pass_to(came);
            self.see_to(event, came);
        }
        // What is sent now is sent now, and not when the last of them came.
        if Now::is_old(events, self.record.bytes_of_second() - bytes_before) {
            self.time.pass_to(self.backend.now());
        }
        self.send_touched();
        if looked >= self.next_scan {
            self.end_those_that_waited_too_long(looked);
        }
        if cfg!(debug_assertions) {
            self.hold_the_books();
        }
        Ok(())
    }

    /// Holds the books of this thread against each other: whoever takes a request, sends it, has
    /// its answer or gives it up counts for himself.
    fn hold_the_books(&self) {
        let outcome = &self.record.outcome;
        let of = |count: fn(&Account) -> u64| count(&outcome.warmup) + count(&outcome.account);
        let sent = of(|account| account.sent);
        let settled =
            of(|account| account.good + account.errors_total()) + self.record.ungathered();
        let taken: u64 = self.turns.taken().iter().sum();
        assert_eq!(taken, sent + of(|account| account.shed), "a request that was taken is lost");
        assert_eq!(sent, settled + self.under_way, "a request that was sent is lost");
        if self.slots.count() > HELD_SLOTS_MAX {
            return;
        }
        let slots = 0..self.slots.count();
        let on_slots: u64 = slots.clone().map(|slot| u64::from(self.slots.under_way(slot))).sum();
        assert_eq!(on_slots, self.under_way, "a flight is on no connection, or on two");
        let open = slots.clone().filter(|&slot| self.slots.is_open(slot)).count();
        assert_eq!(open, self.open as usize, "a connection is open and isn't counted");
        let begun = slots.clone().filter(|&slot| self.slots.is_begun(slot)).count();
        let (waiting, under_way) = self.connects.books();
        assert_eq!(begun, under_way as usize, "a connection is being made and isn't counted");
        let mut waits = vec![false; slots.len()];
        for slot in waiting {
            let is_closed = !self.slots.is_open(slot) && !self.slots.is_begun(slot);
            assert!(is_closed, "a slot waits for a connection that it has");
            let waits_already = std::mem::replace(&mut waits[slot as usize], true);
            assert!(!waits_already, "a slot waits for two connections");
        }
        assert!(self.line.agrees_with(&self.slots), "a connection is free, and stands in no line");
        let open = |(slot, _): &(Slot, _)| self.slots.is_open(*slot);
        for (slot, outbox) in slots.zip(&self.outboxes).filter(open) {
            assert!(
                outbox.queued <= self.slots.under_way(slot),
                "a request waits to be sent twice"
            );
        }
    }

    /// Sees to an event that came at this time.
    fn see_to(&mut self, event: Event, at: u64) {
        match event {
            Event::Received(slot, received) => self.received(slot, received, at),
            Event::Sent(slot) => self.touch(slot),
            Event::Connected(slot) => self.connected(slot, at),
            Event::ConnectFailed(slot, errno) => self.connect_failed(slot, fault_of(errno, true)),
            Event::Ended(slot) => self.ended(slot, at),
            Event::Broken(slot, errno) => self.lost(slot, &fault_of(errno, false), at),
        }
    }

    /// The latest time known.
    #[inline(always)]
    fn now(&self) -> u64 {
        self.time.at()
    }

    /// Asks what time it is. That other work was done until now is no absence.
    fn ask_the_time(&mut self) {
        self.time.ask(self.backend.now());
    }
}

#[cfg(test)]
mod tests;
