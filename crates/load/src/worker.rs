//! A thread's loop: connections, requests, answers, time.
//!
//! It first makes the connections that are kept, before any clock runs; then
//! offers load from the start of the warm-up to the end of the window; and at
//! last awaits the answers that are still under way. Times are nanoseconds on a
//! clock that the threads of a run share.

use std::collections::VecDeque;
use std::io;
use std::time::Duration;

use crate::Stop;
use crate::address::Sources;
use crate::backend::{Backend, Event, Received, Slot};
use crate::clock::Clock;
use crate::connects::Connects;
use crate::outcome::ErrorKind;
use crate::plan::{Plan, Until};
use crate::protocol::{Fault, Fed, Protocol, show};
use crate::record::{Phase, Record, SecondOfThread, Spent, Times, fault_of};
use crate::slots::{Flight, Slots, State};
use crate::turns::{Turn, Turns};

/// The longest sleep: how soon a request to stop is heard.
const SLEEP_NS_MAX: u64 = 20_000_000;
/// A thread that comes back so long after it meant to was kept away: the process was
/// stopped, or others had the processor.
const AWAY_NS_MIN: u64 = SLEEP_NS_MAX;
/// The longest wait for answers after the window; then they count as in flight.
const DRAIN_NS_MAX: u64 = 2_000_000_000;
/// A handshake that took so long may have lost a SYN: the kernel sends it again
/// after a second (RFC 6298).
const SYN_LOST_NS: u64 = 900_000_000;
/// How often is told how many connections were made ahead.
const TOLD_EVERY_NS: u64 = 100_000_000;
/// Failures in a row after which no more connections are made ahead.
const FAILURES_MAX: u64 = 3;
const SECOND_NS: u64 = 1_000_000_000;

/// One thread's part of a run.
pub(crate) struct Worker<'a, B, P: Protocol> {
    plan: &'a Plan,
    stop: &'a Stop,
    clock: Clock,
    backend: B,
    protocol: P,
    record: Record,
    slots: Slots<P::Connection>,
    connects: Connects,
    sources: Sources,
    turns: Turns,
    /// Open slots with room for a request, in the order in which they got it.
    /// Only an open loop has any: a closed one takes them at once.
    line: VecDeque<Slot>,
    /// Room for the requests that need rendering, by flight.
    rooms: Vec<Vec<u8>>,
    /// Open connections.
    open: u32,
    /// Requests under way.
    under_way: u64,
    /// When the event now seen to came.
    arrived: u64,
    /// The latest time known.
    now: u64,
    /// From when until when this thread was last kept away.
    away: (u64, u64),
    next_scan: u64,
}

impl<'a, B: Backend, P: Protocol> Worker<'a, B, P> {
    /// A worker for so many connections, none of them begun, as one of so many threads.
    pub(crate) fn new(
        plan: &'a Plan,
        stop: &'a Stop,
        clock: Clock,
        (slots, threads): (u32, u32),
        sources: Sources,
        (backend, protocol, record): (B, P, Record),
    ) -> Self {
        let room = protocol.rendered_bytes_max();
        let rooms = if room == 0 { 0 } else { slots as usize * usize::from(plan.pipeline) };
        let now = clock.now();
        Worker {
            plan,
            stop,
            clock,
            backend,
            protocol,
            record,
            slots: Slots::new(slots, plan.pipeline),
            connects: Connects::new(slots, threads, plan.keep_alive, now),
            sources,
            turns: Turns::none(),
            line: VecDeque::new(),
            rooms: (0..rooms).map(|_| Vec::with_capacity(room)).collect(),
            open: 0,
            under_way: 0,
            arrived: now,
            now,
            away: (now, now),
            next_scan: now,
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
        let (mut most, mut since, mut failed) = (0, self.now, 0);
        let mut next_told = self.now + TOLD_EVERY_NS;
        while !self.connects.are_settled() && !self.stop.asked() {
            self.open_connections();
            self.turn_over(self.connects.may_at(self.now).unwrap_or(u64::MAX))?;
            let failures = self.record.connections.failed;
            if self.open > most {
                (most, since, failed) = (self.open, self.now, failures);
            }
            let patience_over = self.now - since > self.plan.timeout.as_nanos() as u64;
            if failures - failed >= FAILURES_MAX || patience_over {
                break;
            }
            if self.now >= next_told {
                tell(self.open);
                next_told = self.now + TOLD_EVERY_NS;
            }
        }
        self.connects.forget_waiting_unless(|_| false);
        Ok(self.open)
    }

    /// Offers the load, awaits the answers, and gives what was written down and
    /// when the window ended.
    ///
    /// # Errors
    /// The kernel's, if it can't wait for events.
    pub(crate) fn run(mut self, turns: Turns) -> io::Result<(Record, u64)> {
        let window = turns.window();
        // Meanwhile the other threads were waited for.
        self.now = self.clock.now();
        while self.now < window.start {
            self.turn_over(window.start)?;
        }
        // Without a warm-up the first requests, which are sent at once, are the window's.
        let cpu = self.record.usage.cpu;
        let mut spent_before = (self.now >= window.begin).then(|| Spent::by(self.now, cpu));
        // Reading that takes a while on a large machine, which no request is to bear.
        self.now = self.clock.now();
        self.begin(turns);
        let counted = matches!(self.plan.until, Until::Requests(_));
        let mut next_second = window.start;
        let mut is_warming_up = self.now < window.begin;
        loop {
            if self.now >= next_second && self.now < window.end {
                let number = seconds_since(window.begin, self.now);
                self.record.begin_second(number, self.open);
                next_second = window.begin.saturating_add_signed((number + 1) * SECOND_NS as i64);
                if number >= 0 && spent_before.is_none() {
                    spent_before = Some(Spent::by(self.now, cpu));
                    self.now = self.clock.now();
                }
            }
            let stopped = self.stop.asked();
            if stopped || counted && self.is_shut_out() {
                self.turns.end_at(self.now);
            }
            if !self.turns.goes_on(self.now) {
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
            if is_warming_up && self.now >= window.begin {
                is_warming_up = false;
                self.shed_warmup(window.begin);
            }
            self.turn_over(self.wake_at(next_second.min(window.end)))?;
        }
        let window_end = self.now.min(window.end);
        if let Some(before) = spent_before {
            before.write_growth(&Spent::by(self.now, cpu), &mut self.record.usage);
        }
        self.record.begin_second(SecondOfThread::DRAIN, 0);
        self.drain()?;
        self.close_books(window_end);
        self.record.finish();
        Ok((self.record, window_end))
    }

    /// Whether there is no connection, and none could be made for longer than one may
    /// take. Requests that are counted would go on to fail, a few a second, for hours.
    fn is_shut_out(&self) -> bool {
        let patience = self.plan.timeout.as_nanos() as u64;
        self.open == 0 && self.connects.failing_for(self.now) > patience
    }

    /// Puts every slot to work.
    fn begin(&mut self, turns: Turns) {
        self.turns = turns;
        if !self.plan.keep_alive {
            // Paced from now on.
            self.connects.begin_at(self.now);
            return;
        }
        for slot in 0..self.slots.count() {
            match *self.slots.state(slot) {
                State::Open => self.take_requests(slot),
                State::Closed => self.connects.want(slot),
                State::Connecting(_) => {}
            }
        }
    }

    /// Gives up what fell due before the window and found no connection free until now. A
    /// server that began cold would else have a queue in the window that isn't the load's:
    /// one that can do a tenth more than is asked works off a second in ten.
    fn shed_warmup(&mut self, begin: u64) {
        while self.turns.due().is_some_and(|due| due < begin) && self.shed_turn() {}
    }

    /// Enters the next turn in the books as one that was never sent, if it has come.
    fn shed_turn(&mut self) -> bool {
        let Some(turn) = self.turns.take(self.now) else { return false };
        let tally = self.record.tally(turn.phase);
        tally.scheduled += 1;
        tally.shed += 1;
        if turn.phase == Phase::Window {
            self.record.shed(self.now - turn.intended);
        }
        true
    }

    /// Awaits the answers under way, those among them that are to be asked for again on
    /// a new connection.
    fn drain(&mut self) -> io::Result<()> {
        let patience = DRAIN_NS_MAX.min(self.plan.timeout.as_nanos() as u64);
        let end = self.now + patience;
        while self.under_way > 0 && self.now < end && !self.stop.asked() {
            self.open_connections();
            let until = self.connects.may_at(self.now).map_or(end, |at| at.min(end));
            self.turn_over(until)?;
        }
        Ok(())
    }

    /// Settles what is left: requests under way, and those that were due and
    /// never sent.
    fn close_books(&mut self, window_end: u64) {
        for slot in 0..self.slots.count() {
            self.ask_for_lost_syns(slot, self.now);
            while let Some(flight) = self.slots.pop(slot) {
                let phase = self.turns.phase(flight.times.intended);
                self.record.censored(phase, flight.times, self.now);
            }
            let good = self.slots.connection(slot).good;
            let connections = &mut self.record.connections;
            connections.answers_min = connections.answers_min.min(good);
            connections.answers_max = connections.answers_max.max(good);
        }
        if self.turns.is_open_loop() {
            self.turns.end_at(window_end);
            while self.shed_turn() {}
        }
    }

    /// The time until which may be slept.
    fn wake_at(&self, other: u64) -> u64 {
        // Only where a connection could take it does a request's turn matter.
        let due = if self.line.is_empty() { None } else { self.turns.due() };
        let next = due.into_iter().chain(self.may_connect_at());
        next.fold(other, u64::min)
    }

    /// When the next connection may be begun; `None` if only an event lets it.
    fn may_connect_at(&self) -> Option<u64> {
        let at = self.connects.may_at(self.now)?;
        if self.plan.keep_alive || !self.turns.is_open_loop() {
            return Some(at);
        }
        // It is begun for a request, whose turn must have come.
        Some(at.max(self.turns.due()?))
    }

    /// Sleeps until something happens or this time has come, and sees to it.
    fn turn_over(&mut self, until: u64) -> io::Result<()> {
        let sleep = until.saturating_sub(self.now).min(SLEEP_NS_MAX);
        let back_at = self.now + sleep;
        self.backend.wait(Duration::from_nanos(sleep))?;
        let looked = self.clock.now();
        self.now = looked;
        self.note_absence(back_at, looked);
        while let Some((came, event)) = self.backend.next() {
            self.arrived = came;
            self.pass_to(came);
            self.see_to(event);
        }
        if looked >= self.next_scan {
            self.end_those_that_waited_too_long(looked);
        }
        Ok(())
    }

    /// It has become later meanwhile.
    #[inline(always)]
    fn pass_to(&mut self, now: u64) {
        self.note_absence(self.now, now);
        self.now = self.now.max(now);
    }

    /// Notes that this thread was kept away, if it meant to be back so much earlier.
    #[inline(always)]
    fn note_absence(&mut self, meant: u64, back: u64) {
        if back > meant + AWAY_NS_MIN {
            self.was_away(meant, back);
        }
    }

    #[cold]
    fn was_away(&mut self, from: u64, until: u64) {
        self.away = (from, until);
        let window = self.turns.window();
        let within = until.min(window.end).saturating_sub(from.max(window.begin));
        let away_s = &mut self.record.usage.away_s;
        *away_s = away_s.max(within as f64 / 1e9);
    }

    /// How much of this time this thread was there to see what comes.
    fn watched(&self, from: u64, until: u64) -> u64 {
        let (left, back) = self.away;
        let away = until.min(back).saturating_sub(from.max(left));
        until.saturating_sub(from) - away
    }

    fn see_to(&mut self, event: Event) {
        match event {
            Event::Received(slot, received) => self.received(slot, received),
            Event::Connected(slot) => self.connected(slot),
            Event::ConnectFailed(slot, errno) => {
                self.connect_failed(slot, fault_of(errno, true));
            }
            Event::Ended(slot) => self.ended(slot),
            Event::Broken(slot, errno) => self.broken(slot, &fault_of(errno, false)),
        }
    }

    // Connections.

    /// Begins the connections that may be begun.
    fn open_connections(&mut self) {
        while let Some(may_at) = self.connects.may_at(self.now)
            && may_at <= self.now
        {
            let turn = if self.plan.keep_alive {
                None
            } else {
                match self.turns.take(self.now) {
                    Some(turn) => Some(turn),
                    None => return,
                }
            };
            let slot = self.connects.begin_next();
            if let Some(turn) = turn {
                // A slot that may not connect is not free.
                let paused = self.connects.paused_before(self.now);
                let connection = self.slots.connection(slot);
                connection.free_since = connection.free_since.max(paused);
                self.take_up(slot, turn);
            }
            *self.slots.state(slot) = State::Connecting(self.now);
            let source = self.sources.next();
            match self.backend.connect(slot, source) {
                Ok(now) => self.pass_to(now.unwrap_or(self.now)),
                Err(error) => {
                    let errno = error.raw_os_error().unwrap_or(libc::EIO);
                    self.connect_failed(slot, fault_of(errno, true));
                }
            }
        }
    }

    fn connected(&mut self, slot: Slot) {
        let State::Connecting(since) = *self.slots.state(slot) else { return };
        self.ask_for_lost_syns(slot, self.arrived);
        *self.slots.state(slot) = State::Open;
        let took = self.arrived - since;
        let is_in_window = self.is_in_window(slot);
        self.record.connections.made_in_window += u64::from(is_in_window);
        let connection = self.slots.connection(slot);
        self.record.connections.reconnects += u64::from(connection.had_one);
        connection.had_one = true;
        if is_in_window || self.plan.keep_alive {
            self.record.connect.saturating_record(took);
        }
        self.connects.succeeded(self.now);
        self.open += 1;
        self.record.open(self.open);
        if self.plan.keep_alive {
            self.send_again(slot);
            self.take_requests(slot);
        } else {
            let place = self.slots.place(slot, 0);
            // That the connection was there already is no wait for it.
            self.slots.flight(place).times.begun += self.now - self.arrived;
            self.send(slot, place);
        }
    }

    /// Counts the SYNs of a connection under way that were sent again, if by this time it
    /// may have lost one.
    fn ask_for_lost_syns(&mut self, slot: Slot, by: u64) {
        if let State::Connecting(since) = *self.slots.state(slot)
            && by.saturating_sub(since) >= SYN_LOST_NS
        {
            let lost = self.backend.syn_retransmits(slot);
            let is_in_window = self.is_in_window(slot);
            let connections = &mut self.record.connections;
            connections.syn_retransmits += lost;
            connections.syn_retransmits_in_window += if is_in_window { lost } else { 0 };
        }
    }

    /// Whether a connection that is being made belongs to the window: by the request that
    /// it is for, which has its handshake in its account, or else by the time.
    fn is_in_window(&mut self, slot: Slot) -> bool {
        let own = self.slots.oldest(slot).filter(|_| !self.plan.keep_alive);
        let at = own.map_or(self.arrived, |flight| flight.times.intended);
        self.turns.phase(at) == Phase::Window
    }

    /// Sends what the slot's last connection left without an answer.
    fn send_again(&mut self, slot: Slot) {
        for nth in 0..self.slots.under_way(slot) {
            self.record.connections.resent += 1;
            self.transmit(slot, self.slots.place(slot, nth));
        }
    }

    /// A connection came to nothing: so does the request that is its own, or
    /// else the one whose turn it is.
    fn connect_failed(&mut self, slot: Slot, fault: Fault) {
        self.ask_for_lost_syns(slot, self.now);
        self.record.connections.failed += 1;
        let failure = &mut self.record.connections.first_failure;
        failure.get_or_insert_with(|| (fault.kind, fault.example.clone()));
        self.connects.failed(self.now);
        let before = std::mem::replace(self.slots.state(slot), State::Closed);
        self.backend.close(slot);
        if self.slots.under_way(slot) == 0
            && let Some(turn) = self.turns.take(self.now)
        {
            let place = self.take_up(slot, turn);
            if let (false, State::Connecting(since)) = (self.turns.is_open_loop(), before) {
                // But for this connection it would have been sent when that was begun.
                self.slots.flight(place).times.begun = since.max(self.turns.window().start);
            }
        }
        self.fail_all(slot, fault);
        // Until now it was taken.
        self.slots.connection(slot).free_since = self.now;
        if self.turns.goes_on(self.now) {
            self.connects.want(slot);
        }
    }

    /// Ends a slot's connection, and asks for the next.
    fn replace(&mut self, slot: Slot) {
        let before = std::mem::replace(self.slots.state(slot), State::Closed);
        if before == State::Open {
            self.open -= 1;
        }
        let connection = self.slots.connection(slot);
        connection.partial = P::Connection::default();
        connection.free_since = self.arrived;
        self.backend.close(slot);
        if self.turns.goes_on(self.now) || self.slots.under_way(slot) > 0 {
            self.connects.want(slot);
        }
    }

    // Requests.

    /// Sends what is due, as far as there are connections free for it.
    fn send_due(&mut self) {
        while let Some(&slot) = self.line.front() {
            if *self.slots.state(slot) != State::Open || !self.slots.has_room(slot) {
                self.leave_line(slot);
                continue;
            }
            let Some(turn) = self.turns.take(self.now) else { return };
            self.leave_line(slot);
            let place = self.take_up(slot, turn);
            self.send(slot, place);
            self.stand_in_line(slot);
        }
    }

    fn leave_line(&mut self, slot: Slot) {
        self.line.pop_front();
        self.slots.connection(slot).in_line = false;
    }

    fn stand_in_line(&mut self, slot: Slot) {
        if self.slots.has_room(slot) && !self.slots.connection(slot).in_line {
            self.slots.connection(slot).in_line = true;
            self.line.push_back(slot);
        }
    }

    // Every request goes through the next ones. They have several callers, so that the
    // compiler would rather call them, each for the price of what it does.

    /// An open slot takes as many requests as it has room for.
    #[inline(always)]
    fn take_requests(&mut self, slot: Slot) {
        if self.turns.is_open_loop() {
            let connection = self.slots.connection(slot);
            if !connection.in_line {
                connection.free_since = self.arrived;
            }
            return self.stand_in_line(slot);
        }
        while self.slots.has_room(slot)
            && let Some(turn) = self.turns.take(self.now)
        {
            let place = self.take_up(slot, turn);
            self.send(slot, place);
        }
    }

    /// Enters a request in the books; gives its place among all flights.
    #[inline(always)]
    fn take_up(&mut self, slot: Slot, turn: Turn) -> usize {
        let tally = self.record.tally(turn.phase);
        tally.scheduled += 1;
        tally.sent += 1;
        self.under_way += 1;
        // Slots are taken in the order in which they became free: if this one did
        // after the request was due, none was free then.
        let free_since = self.slots.connection(slot).free_since;
        if free_since > turn.intended && turn.phase == Phase::Window {
            // While this thread was away nobody saw who was free.
            let waited = self.watched(turn.intended, free_since);
            if waited > 0 {
                self.record.connection_wait.saturating_record(waited);
            }
        }
        let times = Times { intended: turn.intended, begun: self.now, sent: Times::NEVER };
        self.slots.push(slot, Flight { number: turn.number, times })
    }

    /// Sends the request at this place.
    fn send(&mut self, slot: Slot, place: usize) {
        self.slots.flight(place).times.sent = self.now;
        self.transmit(slot, place);
    }

    /// Hands the bytes of the request at this place to the kernel.
    #[inline(always)]
    fn transmit(&mut self, slot: Slot, place: usize) {
        let Flight { number, times } = *self.slots.flight(place);
        let bytes: *const [u8] = match self.protocol.fixed_request(number) {
            Some(fixed) => fixed,
            None => {
                let room = &mut self.rooms[place];
                self.protocol.render_request(number, room);
                room.as_slice()
            }
        };
        if self.turns.phase(times.intended) == Phase::Window {
            self.record.bytes_sent += bytes.len() as u64;
        }
        // SAFETY: a fixed request lives as long as the protocol, a rendered one
        // stays in its room until the place is used again: after its answer, if it
        // was sent by then, or after the slot was closed.
        if let Some(now) = unsafe { self.backend.send(slot, bytes) } {
            self.pass_to(now);
        }
    }

    // Answers.

    fn received(&mut self, slot: Slot, received: Received) {
        let Worker { backend, protocol, record, slots, turns, .. } = self;
        let mut bytes = backend.bytes(received);
        record.bytes_received(bytes.len());
        loop {
            let Some(number) = slots.oldest(slot).map(|flight| flight.number) else {
                let example = format!("bytes that nobody asked for: \"{}\"", show(bytes));
                return self.unasked(slot, Fault { kind: ErrorKind::Malformed, example });
            };
            let partial = &mut slots.connection(slot).partial;
            let is_sampled = record.lacks_samples() && !P::is_under_way(partial);
            let fed = protocol.feed(partial, bytes, number);
            let (used, status, mut fault, reusable) = match fed {
                Fed::More { missing } => return backend.receive_more(slot, missing),
                Fed::Answer { used, status, fault, reusable } => (used, status, fault, reusable),
                Fed::Broken(fault) => return self.broken(slot, &fault),
            };
            let answer = &bytes[..used];
            bytes = &bytes[used..];
            let last = slots.under_way(slot) == 1;
            if last && !bytes.is_empty() && fault.is_none() {
                let example = format!("bytes after the answer: \"{}\"", show(bytes));
                fault = Some(Box::new(Fault { kind: ErrorKind::Malformed, example }));
            }
            let Some(flight) = slots.pop(slot) else { return };
            self.under_way -= 1;
            let phase = turns.phase(flight.times.intended);
            record.tally(phase).statuses.add(status, fault.is_none());
            match fault {
                None => {
                    slots.connection(slot).good += u64::from(phase == Phase::Window);
                    record.good(phase, flight.times, self.arrived);
                    if is_sampled {
                        record.sample(number, answer);
                    }
                }
                Some(fault) => record.error(phase, *fault, self.arrived, None),
            }
            // What comes before its request was sent says nothing of the rest of that, which
            // the connection still has to carry.
            let is_early = backend.unsent(slot) > usize::from(slots.under_way(slot));
            let keeps = reusable && self.plan.keep_alive && !is_early;
            if !keeps || (last && !bytes.is_empty()) {
                if !reusable {
                    self.note_cut(phase);
                }
                // Requests behind an answer that closes are not processed (RFC
                // 9112, 9.6): they go to the next connection, and wait on.
                return self.replace(slot);
            }
            if bytes.is_empty() {
                return self.take_requests(slot);
            }
        }
    }

    /// The server ended its side: that may be how an answer ends.
    fn ended(&mut self, slot: Slot) {
        let Some(&mut flight) = self.slots.oldest(slot) else {
            if self.turns.goes_on(self.arrived) {
                self.note_cut(self.turns.phase(self.arrived));
            }
            return self.replace(slot);
        };
        let partial = &mut self.slots.connection(slot).partial;
        match self.protocol.end(partial, flight.number) {
            Fed::Answer { status, fault, .. } => {
                self.slots.pop(slot);
                self.under_way -= 1;
                let phase = self.turns.phase(flight.times.intended);
                self.record.tally(phase).statuses.add(status, fault.is_none());
                match fault {
                    None => {
                        self.slots.connection(slot).good += u64::from(phase == Phase::Window);
                        self.record.good(phase, flight.times, self.arrived);
                    }
                    Some(fault) => self.record.error(phase, *fault, self.arrived, None),
                }
                self.note_cut(phase);
                self.replace(slot);
            }
            Fed::Broken(fault) => self.broken(slot, &fault),
            Fed::More { .. } => unreachable!("nothing comes after the end"),
        }
    }

    /// The server ends a connection in order.
    fn note_cut(&mut self, phase: Phase) {
        self.record.connections.cut += u64::from(self.plan.keep_alive && phase == Phase::Window);
    }

    /// A connection is of no more use, and neither are the requests on it.
    fn broken(&mut self, slot: Slot, fault: &Fault) {
        self.fail_all(slot, fault.clone());
        self.replace(slot);
    }

    /// Something is wrong with a connection on which nothing was asked: the
    /// request whose turn it is meets with that.
    fn unasked(&mut self, slot: Slot, fault: Fault) {
        match self.turns.take(self.now) {
            Some(turn) => {
                self.take_up(slot, turn);
            }
            None => self.record.connections.failed += 1,
        }
        self.broken(slot, &fault);
    }

    /// All requests on a slot end in this error.
    fn fail_all(&mut self, slot: Slot, fault: Fault) {
        let unanswered = matches!(fault.kind, ErrorKind::Timeout | ErrorKind::ConnectTimeout);
        while let Some(flight) = self.slots.pop(slot) {
            self.under_way -= 1;
            let waited = unanswered.then_some(flight.times);
            let phase = self.turns.phase(flight.times.intended);
            self.record.error(phase, fault.clone(), self.now, waited);
        }
    }

    /// Ends what took too long by this time, at which was looked for all that had come. What
    /// came while this thread was away may still lie there.
    fn end_those_that_waited_too_long(&mut self, looked: u64) {
        let timeout = self.plan.timeout.as_nanos() as u64;
        self.next_scan = looked + (timeout / 10).clamp(1_000_000, 100_000_000);
        // What ends now ends at this time, and not when the last event came.
        self.arrived = self.arrived.max(looked);
        for slot in 0..self.slots.count() {
            match *self.slots.state(slot) {
                State::Closed => {}
                State::Connecting(since) => {
                    if self.watched(since, looked) >= timeout {
                        let example = format!("no connection within {:?}", self.plan.timeout);
                        let fault = Fault { kind: ErrorKind::ConnectTimeout, example };
                        self.connect_failed(slot, fault);
                    }
                }
                State::Open => {
                    let sent = self.slots.oldest(slot).map(|flight| flight.times.sent);
                    if sent.is_some_and(|sent| self.watched(sent, looked) >= timeout) {
                        let example = format!("no whole answer within {:?}", self.plan.timeout);
                        let fault = Fault { kind: ErrorKind::Timeout, example };
                        self.broken(slot, &fault);
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
