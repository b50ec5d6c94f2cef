//! A thread's loop: connections, requests, answers, time.
//!
//! It first makes the connections that are kept, before any clock runs; then
//! offers load from the start of the warm-up to the end of the window; and at
//! last awaits the answers that are still under way. Times are nanoseconds on a
//! clock that the threads of a run share.

pub(crate) mod address;
pub(crate) mod connects;
mod line;
pub(crate) mod now;
pub(crate) mod slots;

use std::io;
use std::time::Duration;

use crate::backend::{Backend, Event, Received, Slot};
use crate::outcome::ErrorKind;
use crate::outcome::record::{Record, SecondOfThread, Spent, Times, fault_of};
use crate::pace::clock::Clock;
use crate::pace::queue::Free;
use crate::pace::turns::{Turn, Turns};
use crate::pace::window::{Phase, Window};
use crate::plan::{Plan, Until};
use crate::protocol::{Asked, Fault, Fed, Opening, Protocol, show};
use crate::thread::address::Sources;
use crate::thread::connects::Connects;
use crate::thread::line::{Line, Place};
use crate::thread::now::Now;
use crate::thread::slots::{Flight, Slots, State};
use crate::{Outcome, Stop};

/// The longest sleep: how soon a request to stop is heard.
const SLEEP_NS_MAX: u64 = 20_000_000;
/// A handshake that took so long may have lost a SYN: the kernel sends it again
/// after a second (RFC 6298).
const SYN_LOST_NS: u64 = 900_000_000;
/// How often is told how many connections were made ahead.
const TOLD_EVERY_NS: u64 = 100_000_000;
/// Bytes of pipelined requests that go out together. What is more follows when they were
/// taken.
pub(crate) const TOGETHER_BYTES: usize = 64 << 10;
/// Parts in which connections are looked over for what took too long: to look at tens of
/// thousands at once would make what comes meanwhile late.
const SCAN_PARTS: u32 = 16;
/// Failures in a row after which no more connections are made ahead.
const FAILURES_MAX: u64 = 3;
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
    /// Room for the requests that need rendering and for connections' first words, by slot,
    /// where one request is under way at a time.
    rooms: Vec<Vec<u8>>,
    /// What is to be sent, by slot, where several requests are under way: those that are
    /// taken together go out together.
    outboxes: Vec<Outbox>,
    /// Slots whose outbox is to be looked at before this thread sleeps.
    touched: Vec<Slot>,
    /// Open connections.
    open: u32,
    /// Requests under way.
    under_way: u64,
    time: Now,
    next_scan: u64,
    /// The slot at which the next look for what took too long begins.
    scan_from: Slot,
}

/// Pipelined requests of one connection on their way out.
#[derive(Default)]
struct Outbox {
    /// The bytes that were handed to the kernel last.
    bytes: Vec<u8>,
    /// So many of the requests under way, the last ones, weren't handed over yet.
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
        let is_pipelined = plan.pipeline > 1;
        let needs_room = room > 0 || P::OPENS;
        let rooms = if needs_room && !is_pipelined { slots } else { 0 };
        let outboxes = if is_pipelined { slots } else { 0 };
        let is_paced = plan.keep_alive || !turns.is_open_loop();
        let time = Now::new(clock);
        let now = time.at();
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
            outboxes: (0..outboxes).map(|_| Outbox::default()).collect(),
            touched: Vec::new(),
            rooms: (0..rooms).map(|_| Vec::with_capacity(room)).collect(),
            open: 0,
            under_way: 0,
            time,
            next_scan: now,
            scan_from: 0,
        }
    }

    /// Opens the connections that are kept, until each has had its outcome or
    /// nothing moves any more. Tells now and then how many are open, and gives it at
    /// the end.
    ///
    /// # Errors
    /// The kernel's, if it can't wait for events.
    pub(crate) fn connect_ahead(&mut self, tell: impl Fn(u32)) -> io::Result<u32> {
        if !self.plan.keep_alive {
            return Ok(0);
        }
        let (mut most, mut since, mut failed) = (0, self.now(), 0);
        let mut next_told = self.now() + TOLD_EVERY_NS;
        while !self.connects.are_settled() && !self.stop.asked() {
            self.open_connections();
            self.turn_over(self.connects.may_at(self.now()).unwrap_or(u64::MAX))?;
            let failures = self.record.outcome.connections.failed;
            if self.open > most {
                (most, since, failed) = (self.open, self.now(), failures);
            }
            let patience_over = self.now() - since > self.plan.timeout.as_nanos() as u64;
            if failures - failed >= FAILURES_MAX || patience_over {
                break;
            }
            if self.now() >= next_told {
                tell(self.open);
                next_told = self.now() + TOLD_EVERY_NS;
            }
        }
        self.connects.forget_waiting_unless(|_| false);
        Ok(self.open)
    }

    /// Offers the load, awaits the answers, and gives what was written down.
    ///
    /// # Errors
    /// The kernel's, if it can't wait for events.
    pub(crate) fn run(mut self, window: Window) -> io::Result<Outcome> {
        // Meanwhile the other threads were waited for.
        self.time.ask();
        while self.now() < window.start {
            self.turn_over(window.start)?;
        }
        // Without a warm-up the first requests, which are sent at once, are the window's.
        let cpu = self.record.usage.cpu;
        let mut spent_before = (self.now() >= window.begin).then(|| Spent::by(self.now(), cpu));
        // Reading that takes a while on a large machine, which no request is to bear.
        self.time.ask();
        self.begin(window);
        let counted = matches!(self.plan.until, Until::Requests(_));
        let mut next_second = window.start;
        let mut is_warming_up = self.now() < window.begin;
        loop {
            if self.now() >= next_second && self.now() < window.end {
                let number = seconds_since(window.begin, self.now());
                self.record.begin_second(number, self.open);
                next_second = window.begin.saturating_add_signed((number + 1) * SECOND_NS as i64);
                if number >= 0 && spent_before.is_none() {
                    spent_before = Some(Spent::by(self.now(), cpu));
                    self.time.ask();
                }
            }
            let stopped = self.stop.asked() || self.has_failed();
            if stopped || counted && self.is_shut_out() {
                self.turns.end_at(self.now());
            }
            if !self.turns.goes_on(self.now()) {
                // What fell due while this thread slept or worked is late, not shed.
                self.send_due();
                if !self.plan.keep_alive {
                    self.open_connections();
                }
                // What is to be sent again still needs its connection.
                let slots = &self.slots;
                self.connects.forget_waiting_unless(|slot| slots.under_way(slot) > 0);
                if stopped || !counted || self.under_way == 0 {
                    break;
                }
            }
            self.send_due();
            self.open_connections();
            if is_warming_up && self.now() >= window.begin {
                is_warming_up = false;
                self.shed_warmup(window.begin);
            }
            let wake_at = self.wake_at(next_second.min(window.end));
            self.turn_over(wake_at)?;
            self.turns.is_awake();
        }
        // Others count on it no more.
        self.turns.sleeps(None);
        let window_end = self.now().min(window.end);
        self.record.usage.away_s = self.time.away_s;
        if let Some(before) = spent_before {
            before.write_growth(&Spent::by(self.now(), cpu), &mut self.record.usage);
        }
        self.record.begin_second(SecondOfThread::DRAIN, 0);
        self.drain()?;
        self.close_books(window_end);
        self.record.outcome.keys = self.protocol.keys_seen();
        Ok(self.record.finish(self.time.clock, window, window_end))
    }

    /// Whether an error has decided what comes of the run, on whichever thread.
    fn has_failed(&self) -> bool {
        if !self.plan.ends_at_an_error() {
            return false;
        }
        if !self.record.outcome.account.errors.is_empty() {
            self.turns.fail();
        }
        self.turns.has_failed()
    }

    /// Whether there is no connection, and none could be made for longer than one may
    /// take. Requests that are counted would go on to fail, a few a second, for hours.
    fn is_shut_out(&self) -> bool {
        let patience = self.plan.timeout.as_nanos() as u64;
        self.open == 0 && self.connects.failing_for(self.now()) > patience
    }

    /// Puts every slot to work.
    fn begin(&mut self, window: Window) {
        self.turns.begin(window);
        self.time.window = window;
        if !self.plan.keep_alive {
            // Paced from now on.
            self.connects.begin_at(self.now());
            return;
        }
        if self.turns.is_open_loop() {
            // All are equally old. The first ones, of which is known how late their answers
            // are seen, are used first.
            self.line = Line::new(self.slots.count(), self.plan.pipeline);
        }
        for slot in (0..self.slots.count()).rev() {
            self.slots.connection(slot).is_idle = false;
            match *self.slots.state(slot) {
                State::Open => self.take_requests(slot, window.start),
                State::Closed => self.connects.want(slot),
                State::Connecting(_) | State::Opening { .. } => {}
            }
        }
    }

    /// Gives up what fell due before the window and found no connection free until now. A
    /// server that began cold would else have a queue in the window that isn't the load's:
    /// one that can do a tenth more than is asked works off a second in ten.
    fn shed_warmup(&mut self, begin: u64) {
        if self.turns.others_free_since().is_some() {
            // They are about to take it.
            return;
        }
        while self.turns.due().is_some_and(|due| due < begin) && self.shed_turn() {}
    }

    /// Enters the next turn in the books as one that was never sent, if it has come.
    fn shed_turn(&mut self) -> bool {
        let Some(turn) = self.turns.take(self.now()) else { return false };
        let account = self.record.account(turn.phase);
        account.scheduled += 1;
        account.shed += 1;
        if turn.phase == Phase::Window {
            let operation = self.protocol.operation(turn.number);
            self.record.shed(self.now() - turn.intended, operation);
        }
        true
    }

    /// Awaits the answers under way, those among them that are to be asked for again on
    /// a new connection.
    fn drain(&mut self) -> io::Result<()> {
        let end = self.now() + self.plan.patience().as_nanos() as u64;
        while self.under_way > 0 && self.now() < end && !self.stop.asked() {
            self.open_connections();
            let until = self.connects.may_at(self.now()).map_or(end, |at| at.min(end));
            self.turn_over(until)?;
        }
        Ok(())
    }

    /// Settles what is left: requests under way, and those that were due and
    /// never sent.
    fn close_books(&mut self, window_end: u64) {
        let patience = self.plan.patience().as_nanos() as u64;
        for slot in 0..self.slots.count() {
            self.ask_for_lost_syns(slot, self.now());
            let sent = self.slots.oldest(slot).map(|flight| flight.times.sent);
            // A run that was stopped awaited nothing.
            if sent.is_some_and(|sent| self.now().saturating_sub(sent) >= patience) {
                self.slots.leave_waiting(slot);
            }
            while let Some(flight) = self.slots.pop(slot) {
                let phase = self.turns.phase(flight.times.intended);
                let operation = self.protocol.operation(flight.number);
                self.record.censored(phase, flight.times, self.now(), operation);
            }
            let good = self.slots.connection(slot).good;
            let is_unanswered = self.slots.is_unanswered(slot);
            let connections = &mut self.record.outcome.connections;
            connections.unanswered += u32::from(is_unanswered);
            connections.answers_min = connections.answers_min.min(good);
            connections.answers_max = connections.answers_max.max(good);
        }
        if self.turns.is_last_done() && self.turns.is_open_loop() {
            self.turns.end_at(window_end);
            while self.shed_turn() {}
        }
    }

    /// The time until which may be slept. To be called right before that.
    fn wake_at(&mut self, other: u64) -> u64 {
        let may_connect = self.connects.may_at(self.now());
        if self.plan.keep_alive || !self.turns.is_open_loop() {
            let free = self.free().map(|since| Free { since, from: 0 });
            let turn = self.turns.sleeps(free);
            return other.min(turn).min(may_connect.unwrap_or(u64::MAX));
        }
        // A connection is begun for a request, whose turn must have come.
        let free = may_connect.map(|from| Free { since: self.may_connect_since(), from });
        other.min(self.turns.sleeps(free))
    }

    /// Since when the line of an open loop had something in it, if it has.
    fn free(&mut self) -> Option<u64> {
        if self.line.first(&mut self.slots).is_none() {
            self.free_since = None;
        }
        self.free_since
    }

    /// Since when the slot that connects next could have.
    fn may_connect_since(&mut self) -> u64 {
        let Some(slot) = self.connects.first_waiting() else { return self.now() };
        // One that may not connect is not free.
        self.slots.connection(slot).free_since.max(self.connects.paused_before(self.now()))
    }

    /// The latest time known.
    #[inline(always)]
    fn now(&self) -> u64 {
        self.time.at()
    }

    /// Sleeps until something happens or this time has come, and sees to it.
    fn turn_over(&mut self, until: u64) -> io::Result<()> {
        let sleep = until.saturating_sub(self.now()).min(SLEEP_NS_MAX);
        let back_at = self.now() + sleep;
        self.backend.wait(Duration::from_nanos(sleep))?;
        self.time.ask_after_sleep(back_at);
        let looked = self.now();
        let (mut events, bytes_before) = (0, self.record.bytes_of_second());
        while let Some((came, event)) = self.backend.next() {
            events += 1;
            self.time.pass_to(came);
            self.see_to(event, came);
        }
        // What is sent now is sent now, and not when the last of them came.
        self.time.ask_if_old(events, self.record.bytes_of_second() - bytes_before);
        self.send_touched();
        if looked >= self.next_scan {
            self.end_those_that_waited_too_long(looked);
        }
        Ok(())
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

    // Connections.

    /// Begins the connections that may be begun.
    fn open_connections(&mut self) {
        while let Some(may_at) = self.connects.may_at(self.now())
            && may_at <= self.now()
        {
            let turn = if self.plan.keep_alive {
                None
            } else {
                match self.turns.take(self.now()) {
                    Some(turn) => Some(turn),
                    None => return,
                }
            };
            // Before it is taken for this one.
            let free_since = self.may_connect_since();
            let slot = self.connects.begin_next(self.now());
            if let Some(turn) = turn {
                self.take_up(slot, turn, free_since);
            }
            *self.slots.state(slot) = State::Connecting(self.now());
            let source = self.sources.next();
            match self.backend.connect(slot, source) {
                Ok(now) => now.into_iter().for_each(|now| self.time.pass_to(now)),
                Err(error) => {
                    let errno = error.raw_os_error().unwrap_or(libc::EIO);
                    self.connect_failed(slot, fault_of(errno, true));
                }
            }
        }
    }

    fn connected(&mut self, slot: Slot, at: u64) {
        let State::Connecting(since) = *self.slots.state(slot) else { return };
        self.ask_for_lost_syns(slot, at);
        let is_in_window = self.is_in_window(slot, at);
        self.record.outcome.connections.made_in_window += u64::from(is_in_window);
        if is_in_window || self.plan.keep_alive {
            self.record.outcome.connect.saturating_record(at - since);
        }
        if P::OPENS && self.says_first_words(slot, since, at) {
            return;
        }
        self.opened(slot, at);
    }

    /// Sends the first words of a connection that was begun at one time and established at
    /// another, if it has any.
    fn says_first_words(&mut self, slot: Slot, begun: u64, since: u64) -> bool {
        let words = match self.outboxes.get_mut(slot as usize) {
            Some(outbox) => &mut outbox.bytes,
            None => &mut self.rooms[slot as usize],
        };
        words.clear();
        self.protocol.open(&mut self.slots.connection(slot).partial, words);
        if words.is_empty() {
            return false;
        }
        *self.slots.state(slot) = State::Opening { begun, since };
        let bytes: *const [u8] = words.as_slice();
        self.note_begun_late(slot, since);
        // SAFETY: nothing else is written there before they are answered and sent, or the slot
        // is closed.
        if let Some(now) = unsafe { self.backend.send(slot, bytes) } {
            self.time.pass_to(now);
        }
        true
    }

    /// What this thread needed to see that a connection is ready, which a request waits for as
    /// its own, is none of the wait for that connection.
    fn note_begun_late(&mut self, slot: Slot, ready: u64) {
        if !self.plan.keep_alive {
            let place = self.slots.place(slot, 0);
            self.slots.flight(place).times.begun += self.now() - ready;
        }
    }

    /// Bytes that came by this time answer a connection's first words.
    fn answered_first_words(&mut self, slot: Slot, since: u64, received: Received, at: u64) {
        let Worker { backend, protocol, slots, record, .. } = self;
        let bytes = backend.bytes(received);
        record.bytes_received(bytes.len());
        let fault = |kind, example| Fault { kind, example };
        let fault = match protocol.feed_opening(&mut slots.connection(slot).partial, bytes) {
            Opening::More { missing } => return backend.receive_more(slot, missing),
            Opening::Broken(fault) => *fault,
            Opening::Done { used } if used < bytes.len() => {
                let more = show(&bytes[used..]);
                let example = format!("bytes after the answer to its first words: \"{more}\"");
                fault(ErrorKind::Malformed, example)
            }
            Opening::Done { .. } if backend.is_sending(slot) => {
                fault(ErrorKind::Malformed, "an answer to first words that weren't sent yet".into())
            }
            Opening::Done { .. } => {
                backend.receive_more(slot, 1);
                if self.plan.keep_alive || self.is_in_window(slot, at) {
                    self.record.outcome.opening.saturating_record(at.saturating_sub(since));
                }
                return self.opened(slot, at);
            }
        };
        self.connect_failed(slot, fault);
    }

    /// A connection that is ready since then carries requests from now on.
    fn opened(&mut self, slot: Slot, at: u64) {
        let had_one = self.slots.open(slot);
        self.record.outcome.connections.reconnects += u64::from(had_one);
        self.connects.succeeded(self.now());
        self.open += 1;
        self.record.open(self.open);
        if self.plan.keep_alive {
            self.send_what_waits(slot);
            self.take_requests(slot, at);
        } else {
            self.note_begun_late(slot, at);
            self.send(slot, self.slots.place(slot, 0));
        }
    }

    /// Counts the SYNs of a connection under way that were sent again, if by this time it
    /// may have lost one.
    fn ask_for_lost_syns(&mut self, slot: Slot, by: u64) {
        if let State::Connecting(since) = *self.slots.state(slot)
            && by.saturating_sub(since) >= SYN_LOST_NS
        {
            let lost = self.backend.syn_retransmits(slot);
            let is_in_window = self.is_in_window(slot, by);
            let connections = &mut self.record.outcome.connections;
            connections.syn_retransmits += lost;
            connections.syn_retransmits_in_window += if is_in_window { lost } else { 0 };
        }
    }

    /// Whether a connection that is being made belongs to the window: by the request that
    /// it is for, which has its handshake in its account, or else by the time.
    fn is_in_window(&mut self, slot: Slot, at: u64) -> bool {
        let own = self.slots.oldest(slot).filter(|_| !self.plan.keep_alive);
        let since = own.map_or(at, |flight| flight.times.intended);
        self.turns.phase(since) == Phase::Window
    }

    /// Sends what the slot's last connection left without an answer, and what its new one
    /// was made for.
    fn send_what_waits(&mut self, slot: Slot) {
        for nth in 0..self.slots.under_way(slot) {
            let place = self.slots.place(slot, nth);
            let was_sent = self.slots.flight(place).times.sent != Times::NEVER;
            self.record.outcome.connections.resent += u64::from(was_sent);
            if self.outboxes.is_empty() {
                self.send(slot, place);
            }
        }
        if let Some(outbox) = self.outboxes.get_mut(slot as usize) {
            outbox.queued = self.slots.under_way(slot);
            self.touch(slot);
        }
    }

    /// A connection came to nothing: so does the request that is its own, or
    /// else the one whose turn it is.
    fn connect_failed(&mut self, slot: Slot, fault: Fault) {
        self.ask_for_lost_syns(slot, self.now());
        self.record.connect_failed(&fault, self.now());
        self.connects.failed(self.now());
        let before = std::mem::replace(self.slots.state(slot), State::Closed);
        self.slots.connection(slot).partial = P::Connection::default();
        self.backend.close(slot);
        if self.slots.under_way(slot) == 0
            && let Some(turn) = self.turns.take(self.now())
        {
            let place = self.take_up(slot, turn, self.now());
            if let (false, State::Connecting(begun) | State::Opening { begun, .. }) =
                (self.turns.is_open_loop(), before)
            {
                // But for this connection it would have been sent when that was begun.
                self.slots.flight(place).times.begun = begun.max(self.turns.window().start);
            }
        }
        self.fail_all(slot, fault);
        // Until now it was taken.
        self.slots.connection(slot).free_since = self.now();
        if self.turns.goes_on(self.now()) {
            self.connects.want(slot);
        }
    }

    /// Ends a slot's connection, which was of use until then, and asks for the next.
    fn replace(&mut self, slot: Slot, at: u64) {
        self.close(slot, at);
        if self.turns.goes_on(self.now()) || self.slots.under_way(slot) > 0 {
            self.connects.want(slot);
        }
    }

    /// Ends a slot's connection, which was of use until then.
    fn close(&mut self, slot: Slot, at: u64) {
        let before = std::mem::replace(self.slots.state(slot), State::Closed);
        if before == State::Open {
            self.open -= 1;
        }
        let connection = self.slots.connection(slot);
        connection.partial = P::Connection::default();
        connection.free_since = at;
        // What was given to be sent and never was.
        self.record.bytes_unsent(self.backend.unsent_bytes(slot));
        self.backend.close(slot);
    }

    // Requests.

    /// Sends what is due, as far as there are connections free for it.
    fn send_due(&mut self) {
        while let Some(free_since) = self.free()
            && let Some(place) = self.line.first(&mut self.slots)
            && let Some(turn) = self.turns.take(self.now())
        {
            self.line.leave(place, &mut self.slots);
            match place {
                Place::Ended(slot) => {
                    self.take_up(slot, turn, free_since);
                    self.connects.want(slot);
                }
                Place::Open(slot) => {
                    let flight = self.take_up(slot, turn, free_since);
                    if self.outboxes.is_empty() {
                        self.send(slot, flight);
                    } else {
                        self.outboxes[slot as usize].queued += 1;
                        self.touch(slot);
                        self.line.enter(slot, &mut self.slots);
                    }
                }
            }
        }
        self.send_touched();
    }

    /// There is something in the line from then on.
    #[inline(always)]
    fn stand_in_line(&mut self, slot: Slot, since: u64) {
        self.line.enter(slot, &mut self.slots);
        self.free_since.get_or_insert(since);
    }

    /// This slot may have something to send before this thread sleeps.
    fn touch(&mut self, slot: Slot) {
        if let Some(outbox) = self.outboxes.get_mut(slot as usize)
            && !std::mem::replace(&mut outbox.is_touched, true)
        {
            self.touched.push(slot);
        }
    }

    /// Sends what pipelined connections have to send, each all of it at once.
    fn send_touched(&mut self) {
        while let Some(slot) = self.touched.pop() {
            self.outboxes[slot as usize].is_touched = false;
            // While a send is on its way its bytes have to stay where they are.
            if !self.slots.is_open(slot) || self.backend.is_sending(slot) {
                continue;
            }
            if !self.turns.is_open_loop() {
                self.fill(slot);
            }
            self.send_outbox(slot);
        }
    }

    /// A pipelined connection of a closed loop takes as many requests as it has room for, once
    /// all of those before are answered. Sends and answers are few and large then, on both
    /// sides: a connection that asked again earlier would be answered in as many parts as it
    /// asks in, and go on so.
    fn fill(&mut self, slot: Slot) {
        if self.slots.under_way(slot) > 0 {
            return;
        }
        self.turns.expect(self.now(), self.plan.pipeline);
        while self.slots.has_room(slot)
            && let Some(turn) = self.turns.take(self.now())
        {
            self.take_up(slot, turn, self.now());
            self.outboxes[slot as usize].queued += 1;
        }
    }

    /// Sends a pipelined connection's requests that weren't handed over yet.
    fn send_outbox(&mut self, slot: Slot) {
        let outbox = &mut self.outboxes[slot as usize];
        let under_way = self.slots.under_way(slot);
        outbox.bytes.clear();
        while outbox.queued > 0 && outbox.bytes.len() < TOGETHER_BYTES {
            let place = self.slots.place(slot, under_way - outbox.queued);
            let flight = self.slots.flight(place);
            // One that is asked again took as long as it takes since it was first asked.
            if flight.times.sent == Times::NEVER {
                flight.times.sent = self.time.at();
            }
            let (number, intended) = (flight.number, flight.times.intended);
            let before = outbox.bytes.len();
            match self.protocol.fixed_request(number) {
                Some(fixed) => outbox.bytes.extend_from_slice(fixed),
                None => self.protocol.render_request(number, &mut outbox.bytes),
            }
            if self.turns.phase(intended) == Phase::Window {
                self.record.outcome.bytes_sent += (outbox.bytes.len() - before) as u64;
            }
            outbox.queued -= 1;
        }
        if outbox.bytes.is_empty() {
            return;
        }
        let bytes: *const [u8] = outbox.bytes.as_slice();
        // SAFETY: an outbox is written to only where nothing is being sent.
        if let Some(now) = unsafe { self.backend.send(slot, bytes) } {
            self.time.pass_to(now);
        }
        if self.outboxes[slot as usize].queued > 0 && !self.backend.is_sending(slot) {
            self.touch(slot);
        }
    }

    // Every request goes through the next ones. They have several callers, so that the
    // compiler would rather call them, each for the price of what it does.

    /// A slot that is open, with room since then, takes as many requests as it has room for.
    #[inline(always)]
    fn take_requests(&mut self, slot: Slot, since: u64) {
        if self.turns.is_open_loop() {
            return self.stand_in_line(slot, since);
        }
        if !self.outboxes.is_empty() {
            return self.touch(slot);
        }
        if self.slots.has_room(slot)
            && let Some(turn) = self.turns.take(self.now())
        {
            let place = self.take_up(slot, turn, self.now());
            self.send(slot, place);
        }
    }

    /// Enters a request in the books, for which this thread has had a free connection since
    /// then; gives its place among all flights.
    #[inline(always)]
    fn take_up(&mut self, slot: Slot, turn: Turn, free_since: u64) -> usize {
        let account = self.record.account(turn.phase);
        account.scheduled += 1;
        account.sent += 1;
        self.under_way += 1;
        if free_since > turn.intended && turn.phase == Phase::Window {
            self.waited_for_connection(turn.intended, free_since);
        }
        let times = Times { intended: turn.intended, begun: self.now(), sent: Times::NEVER };
        self.slots.push(slot, Flight { number: turn.number, times })
    }

    /// A request of the window was due before this thread had a free connection for it.
    fn waited_for_connection(&mut self, intended: u64, free_since: u64) {
        let since = self.turns.others_free_since().map_or(free_since, |it| it.min(free_since));
        // While this thread was away nobody saw who was free.
        let waited = self.time.watched(intended, since);
        if self.turns.is_open_loop() && waited > 0 {
            self.record.outcome.connection_wait.saturating_record(waited);
        }
    }

    /// Hands the bytes of the request at this place to the kernel.
    #[inline(always)]
    fn send(&mut self, slot: Slot, place: usize) {
        let now = self.now();
        let flight = self.slots.flight(place);
        // One that is asked again took as long as it takes since it was first asked.
        flight.times.sent = flight.times.sent.min(now);
        let Flight { number, times } = *flight;
        let bytes: *const [u8] = match self.protocol.fixed_request(number) {
            Some(fixed) => fixed,
            None => {
                let room = &mut self.rooms[place];
                room.clear();
                self.protocol.render_request(number, room);
                room.as_slice()
            }
        };
        if self.turns.phase(times.intended) == Phase::Window {
            self.record.outcome.bytes_sent += bytes.len() as u64;
        }
        // SAFETY: a fixed request lives as long as the protocol, a rendered one
        // stays in its room until the slot has another: after its answer, if it
        // was sent by then, or after the slot was closed.
        if let Some(now) = unsafe { self.backend.send(slot, bytes) } {
            self.time.pass_to(now);
        }
    }

    // Answers.

    fn received(&mut self, slot: Slot, received: Received, mut at: u64) {
        if P::OPENS
            && let State::Opening { since, .. } = *self.slots.state(slot)
        {
            return self.answered_first_words(slot, since, received, at);
        }
        if self.slots.oldest(slot).is_some_and(|flight| at < flight.times.sent) {
            // It was told of before this request was sent, for something else.
            at = self.time.clock.now();
            self.time.pass_to(at);
        }
        let Worker { backend, protocol, record, slots, turns, outboxes, .. } = self;
        let mut bytes = backend.bytes(received);
        record.bytes_received(bytes.len());
        loop {
            let queued = outboxes.get(slot as usize).map_or(0, |outbox| outbox.queued);
            let asked = slots.under_way(slot) > queued;
            let Some(flight) = slots.oldest(slot).filter(|_| asked).copied() else {
                let example = format!("bytes that nobody asked for: \"{}\"", show(bytes));
                return self.unasked(slot, example, at);
            };
            let partial = &mut slots.connection(slot).partial;
            let is_sampled = record.lacks_samples() && !P::is_under_way(partial);
            let of = Asked { number: flight.number, sent: flight.times.sent, at };
            let fed = protocol.feed(partial, bytes, of);
            let (used, status, mut fault, reusable) = match fed {
                Fed::More { missing } => return backend.receive_more(slot, missing),
                Fed::Answer { used, status, fault, reusable } => (used, status, fault, reusable),
                Fed::Broken(fault) => return self.lost(slot, &fault, at),
            };
            let answer = &bytes[..used];
            bytes = &bytes[used..];
            let last = slots.under_way(slot) == queued + 1;
            if last && !bytes.is_empty() && fault.is_none() {
                let example = format!("bytes after the answer: \"{}\"", show(bytes));
                fault = Some(Box::new(Fault { kind: ErrorKind::Malformed, example }));
            }
            let Some(flight) = slots.pop(slot) else { return };
            slots.connection(slot).is_used = true;
            self.under_way -= 1;
            let phase = turns.phase(flight.times.intended);
            if fault.is_none() {
                slots.connection(slot).good += u64::from(phase == Phase::Window);
                if let Some(stamp) = backend.kernel_stamp() {
                    record.seen(phase, stamp, self.time.clock, at);
                }
                if is_sampled {
                    record.sample(of.number, answer);
                }
            }
            record.answered(phase, flight.times, status, fault, at);
            // What comes before its request was sent says nothing of the rest of that, which
            // the connection still has to carry.
            let is_early = last && backend.is_sending(slot);
            if is_early && phase == Phase::Window {
                record.outcome.connections.early += 1;
            }
            let keeps = reusable && self.plan.keep_alive && !is_early;
            if !keeps || (last && !bytes.is_empty()) {
                if !reusable {
                    self.note_cut(phase);
                }
                // Requests behind an answer that closes are not processed (RFC
                // 9112, 9.6): they go to the next connection, and wait on.
                return self.replace(slot, at);
            }
            if bytes.is_empty() {
                return self.take_requests(slot, at);
            }
        }
    }

    /// The server ended its side: that may be how an answer ends.
    fn ended(&mut self, slot: Slot, at: u64) {
        if let State::Opening { .. } = *self.slots.state(slot) {
            let example = "the connection ended before its first words were answered".into();
            let fault = Fault { kind: ErrorKind::ClosedEarly, example };
            return self.connect_failed(slot, fault);
        }
        let Some(&mut flight) = self.slots.oldest(slot) else {
            return self.ended_unasked(slot, at);
        };
        let partial = &mut self.slots.connection(slot).partial;
        let has_begun = P::is_under_way(partial);
        let of = Asked { number: flight.number, sent: flight.times.sent, at };
        match self.protocol.end(partial, of) {
            Fed::Answer { status, fault, .. } => {
                self.slots.pop(slot);
                self.under_way -= 1;
                let phase = self.turns.phase(flight.times.intended);
                let is_good = fault.is_none() && phase == Phase::Window;
                self.slots.connection(slot).good += u64::from(is_good);
                self.record.answered(phase, flight.times, status, fault, at);
                self.note_cut(phase);
                self.replace(slot, at);
            }
            Fed::Broken(fault) => {
                self.settle_lost(slot, &fault, has_begun, at);
                self.replace(slot, at);
            }
            Fed::More { .. } => unreachable!("nothing comes after the end"),
        }
    }

    /// The server ends a connection that was to be kept.
    fn note_cut(&mut self, phase: Phase) {
        self.record.outcome.connections.cut +=
            u64::from(self.plan.keep_alive && phase == Phase::Window);
    }

    /// A connection on which nothing was asked has ended, which costs no request.
    fn ended_unasked(&mut self, slot: Slot, at: u64) {
        if self.turns.goes_on(at) {
            self.note_cut(self.turns.phase(at));
        }
        if !self.turns.is_open_loop() || !self.plan.keep_alive || !self.slots.is_open(slot) {
            return self.replace(slot, at);
        }
        self.close(slot, at);
        self.line.enter_ended(slot);
        self.free_since.get_or_insert(at);
    }

    /// The server spoke on a connection on which nothing was asked. Whatever that means, it
    /// is no answer to what is asked next.
    fn unasked(&mut self, slot: Slot, example: String, at: u64) {
        self.record.unasked(example.clone(), at);
        self.lost(slot, &Fault { kind: ErrorKind::Malformed, example }, at);
    }

    /// A connection is of no more use, for the oldest request's sake.
    fn lost(&mut self, slot: Slot, fault: &Fault, at: u64) {
        if let State::Opening { .. } = *self.slots.state(slot) {
            return self.connect_failed(slot, fault.clone());
        }
        if self.slots.under_way(slot) == 0 {
            return self.ended_unasked(slot, at);
        }
        let has_begun = P::is_under_way(&self.slots.connection(slot).partial);
        self.settle_lost(slot, fault, has_begun, at);
        self.replace(slot, at);
    }

    /// What becomes of the requests on a connection that is lost. `has_begun` says whether a
    /// part of the oldest one's answer came.
    ///
    /// A server may end a connection that it kept at any time, and with it a request that is
    /// just under way. If no byte of an answer came, a client asks it again once, on a new
    /// connection, where that can do no harm (RFC 9112, 9.3.1). So it does with the requests
    /// behind the oldest one, which alone the fault is of.
    fn settle_lost(&mut self, slot: Slot, fault: &Fault, has_begun: bool, at: u64) {
        let connection = self.slots.connection(slot);
        let is_unanswered =
            matches!(fault.kind, ErrorKind::ClosedEarly | ErrorKind::Reset) && !has_begun;
        let (was_used, asked_again) = (connection.is_used, connection.again);
        if is_unanswered && was_used {
            self.note_cut(self.turns.phase(at));
        }
        let on_it: Vec<Flight> = std::iter::from_fn(|| self.slots.pop(slot)).collect();
        let mut again = 0;
        for (nth, flight) in (0..).zip(on_it) {
            let was_sent = flight.times.sent != Times::NEVER;
            let is_second_try = nth < asked_again;
            let of_the_end = is_unanswered && (was_used || is_second_try);
            let may_repeat = nth > 0 || of_the_end;
            if !was_sent
                || may_repeat && !is_second_try && self.protocol.is_repeatable(flight.number)
            {
                again += u16::from(was_sent);
                self.slots.push(slot, flight);
                continue;
            }
            let fault = match (nth, of_the_end) {
                (0, false) => fault.clone(),
                (0, true) => Fault { kind: ErrorKind::Unanswered, ..fault.clone() },
                _ => Fault {
                    kind: ErrorKind::Behind,
                    example: format!("behind a request that ended with: {}", fault.example),
                },
            };
            self.fail(flight, fault);
        }
        self.slots.connection(slot).again = again;
    }

    /// All requests on a slot whose connection came to nothing end in this error.
    fn fail_all(&mut self, slot: Slot, fault: Fault) {
        while let Some(flight) = self.slots.pop(slot) {
            self.fail(flight, fault.clone());
        }
    }

    /// A request ends in an error without an answer.
    fn fail(&mut self, flight: Flight, fault: Fault) {
        self.under_way -= 1;
        let phase = self.turns.phase(flight.times.intended);
        self.record.error(phase, fault, self.now());
        let operation = self.protocol.operation(flight.number);
        self.record.censored(phase, flight.times, self.now(), operation);
    }

    /// Ends what took too long by this time, at which was looked for all that had come. What
    /// came while this thread was away may still lie there. A part of the connections is
    /// looked over at a time.
    fn end_those_that_waited_too_long(&mut self, looked: u64) {
        let timeout = self.plan.timeout.as_nanos() as u64;
        let whole = (timeout / 10).clamp(1_000_000, 100_000_000);
        self.next_scan = looked + whole / u64::from(SCAN_PARTS);
        let from = self.scan_from;
        let to = self.slots.count().min(from + self.slots.count().div_ceil(SCAN_PARTS));
        self.scan_from = if to == self.slots.count() { 0 } else { to };
        for slot in from..to {
            match *self.slots.state(slot) {
                State::Closed => {}
                State::Connecting(since) => {
                    if self.time.watched(since, looked) >= timeout {
                        let example = format!("no connection within {:?}", self.plan.timeout);
                        let fault = Fault { kind: ErrorKind::ConnectTimeout, example };
                        self.connect_failed(slot, fault);
                    }
                }
                State::Opening { begun, .. } => {
                    if self.time.watched(begun, looked) >= timeout {
                        let patience = self.plan.timeout;
                        let example = format!("no answer to its first words within {patience:?}");
                        let fault = Fault { kind: ErrorKind::Timeout, example };
                        self.connect_failed(slot, fault);
                    }
                }
                State::Open => {
                    let sent = self.slots.oldest(slot).map(|flight| flight.times.sent);
                    if sent.is_some_and(|sent| self.time.watched(sent, looked) >= timeout) {
                        let example = format!("no whole answer within {:?}", self.plan.timeout);
                        let fault = Fault { kind: ErrorKind::Timeout, example };
                        if self.turns.phase(self.now()) == Phase::Window {
                            self.slots.leave_waiting(slot);
                        }
                        self.lost(slot, &fault, self.now());
                    }
                }
            }
        }
    }
}

/// Whole seconds from one time to another, rounded down; negative before it.
fn seconds_since(then: u64, now: u64) -> i64 {
    (now as i64 - then as i64).div_euclid(SECOND_NS as i64)
}

#[cfg(test)]
mod tests;
