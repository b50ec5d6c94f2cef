//! The stages of a thread's run: it makes connections ahead, waits for the common start, offers
//! the load, awaits the last answers, listens for more than those, and settles what is left.
//!
//! Between two sleeps a stage does what is to be done, and says until when to sleep. So
//! whoever has several threads may turn them over one by one.

use std::ops::RangeInclusive;

use super::gathering::gathering;
use super::*;
use crate::backend::Gathering;

/// Where a thread is in its run.
#[derive(Debug, Clone, Copy)]
pub(super) enum Stage {
    /// Connections that are kept are made ahead of the start.
    Ahead,
    /// The load is offered once this window's warm-up begins.
    Waiting(Window),
    /// The load is offered.
    Offering,
    /// The answers under way are awaited until this time.
    Draining(u64),
    /// Nothing is asked any more. What comes until this time was not asked for.
    Listening(u64),
}

/// How long is listened for what nobody asked for, once all is answered: at least so long, and at
/// most so long. A server that sent an answer too many sends the last one after the last request
/// has had its own.
const LISTENED_NS: RangeInclusive<u64> = 10_000_000..=100_000_000;
/// The same in usual service times.
const LISTENED_TIMES: u64 = 2;
/// So long after a second of the window began it is looked what an answer usually takes.
const LOOKED_AFTER_NS: u64 = 100_000_000;

/// How far the connections are that are made ahead.
pub(super) struct Ahead {
    /// The most that were open, and since when.
    most: u32,
    since: u64,
    /// Attempts that had failed by then.
    failed: u64,
}

impl Ahead {
    /// None is open at this time.
    pub(super) fn since(now: u64) -> Ahead {
        Ahead { most: 0, since: now, failed: 0 }
    }
}

/// How far the offering is.
#[derive(Default)]
pub(super) struct Offering {
    /// When the next second begins.
    next_second: u64,
    /// When it is looked next what an answer usually takes.
    next_look: u64,
    is_warming_up: bool,
    /// What the thread had spent when the window began, once it has.
    spent_before: Option<Spent>,
    /// When the window ended, once it has.
    window_end: u64,
    /// How long is listened for what nobody asked for.
    listened_ns: u64,
}

impl<B: Backend, P: Protocol> Worker<'_, B, P> {
    /// Does what is to be done, and gives until when may be slept: see [`Worker::turn_over`].
    /// `None` once the connections are made that are made ahead, and again once the run is over.
    pub(crate) fn sleeps_until(&mut self) -> Option<u64> {
        match self.stage {
            Stage::Ahead => self.connect_ahead(),
            Stage::Waiting(window) if self.now() < window.start => Some(window.start),
            Stage::Waiting(window) => {
                self.begin(window);
                self.offer()
            }
            Stage::Offering => self.offer(),
            Stage::Draining(end) => self.drain(end),
            Stage::Listening(until) => self.listen(until),
        }
    }

    /// The run has these borders, and begins by itself.
    pub(crate) fn start(&mut self, window: Window) {
        // Meanwhile the other threads were waited for.
        self.ask_the_time();
        self.stage = Stage::Waiting(window);
    }

    /// Connections that are open.
    pub(crate) fn open(&self) -> u32 {
        self.open
    }

    /// Opens the connections that are kept, until each has had its outcome or nothing moves any
    /// more.
    fn connect_ahead(&mut self) -> Option<u64> {
        let now = self.now();
        let patience = self.plan.timeout.as_nanos() as u64;
        let failures = self.record.outcome.connections.failed;
        if self.open > self.ahead.most {
            self.ahead = Ahead { most: self.open, since: now, failed: failures };
        }
        let Ahead { since, failed, .. } = self.ahead;
        let nothing_moves = failures - failed >= FAILURES_MAX || now - since > patience;
        let is_done = !self.plan.keep_alive || self.connects.are_settled();
        if is_done || nothing_moves || self.stop.asked() {
            self.connects.forget_waiting_unless(|_| !self.plan.keep_alive);
            return None;
        }
        self.connects.hold_for_overdue(now);
        self.open_connections();
        Some(self.connects.may_at(self.now()).unwrap_or(u64::MAX))
    }

    /// Puts every slot to work.
    fn begin(&mut self, window: Window) {
        // Without a warm-up the first requests, which are sent at once, are the window's.
        self.offering.spent_before =
            (self.now() >= window.begin).then(|| self.spent_by(self.now()));
        // Reading that takes a while on a large machine, which no request is to bear.
        self.ask_the_time();
        self.turns.begin(window);
        self.time.window = window;
        self.offering.next_second = window.start;
        self.offering.next_look = window.begin + LOOKED_AFTER_NS;
        self.offering.is_warming_up = self.now() < window.begin;
        self.stage = Stage::Offering;
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

    /// Offers the load from one sleep to the next.
    fn offer(&mut self) -> Option<u64> {
        self.turns.is_awake();
        self.begin_second();
        self.gather();
        let stopped = self.stop.asked() || self.has_failed();
        let counted = matches!(self.plan.until, Until::Requests(_));
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
                return self.end_window();
            }
        }
        self.send_due();
        self.open_connections();
        let begin = self.time.window.begin;
        if self.offering.is_warming_up && self.now() >= begin {
            self.offering.is_warming_up = false;
            self.shed_warmup(begin);
        }
        let next_second = self.offering.next_second;
        Some(self.wake_at(next_second.min(self.time.window.end)))
    }

    /// Begins the next second, if its time has come.
    fn begin_second(&mut self) {
        let (now, window) = (self.now(), self.time.window);
        if now < self.offering.next_second || now >= window.end {
            return;
        }
        let number = seconds_since(window.begin, now);
        self.record.begin_second(number, self.open);
        let border = if number < 0 { window.begin } else { window.end };
        self.record.sample_within(now..border.min(now + SECOND_NS));
        self.offering.next_second =
            window.begin.saturating_add_signed((number + 1) * SECOND_NS as i64);
        if number >= 0 && self.offering.spent_before.is_none() {
            self.offering.spent_before = Some(self.spent_by(now));
            self.ask_the_time();
        }
    }

    /// Has answers of a closed loop on kept connections gathered by what those of this second
    /// usually took.
    fn gather(&mut self) {
        let is_for_it = self.plan.keep_alive && !self.turns.is_open_loop();
        if !is_for_it || self.now() < self.offering.next_look {
            return;
        }
        self.offering.next_look += SECOND_NS;
        let usual = self.record.usual_service_of_second();
        let wanted = gathering(self.open, usual);
        if self.backend.gather(wanted)
            && let Some(Gathering { within, .. }) = wanted
        {
            let usage = &mut self.record.usage;
            usage.gathers_us = usage.gathers_us.max(within.as_nanos() as f64 / 1e3);
        }
    }

    /// What this thread has spent by now.
    fn spent_by(&self, now: u64) -> Spent {
        Spent::by(now, self.record.usage.cpu, self.backend.calls())
    }

    /// No more load is offered.
    fn end_window(&mut self) -> Option<u64> {
        // Others count on it no more.
        self.turns.sleeps(None);
        self.offering.window_end = self.now().min(self.time.window.end);
        self.record.usage.away_s = self.time.away_s;
        if let Some(before) = self.offering.spent_before.take() {
            let spent = self.spent_by(self.now());
            before.write_growth(&spent, &mut self.record.usage);
        }
        let (least, most) = LISTENED_NS.into_inner();
        let usual = self.record.usual_service_of_second();
        self.offering.listened_ns = usual.saturating_mul(LISTENED_TIMES).clamp(least, most);
        self.record.begin_second(SecondOfThread::DRAIN, 0);
        let end = self.now() + self.plan.patience().as_nanos() as u64;
        self.stage = Stage::Draining(end);
        self.drain(end)
    }

    /// Awaits the answers under way until then, those among them that are to be asked for again
    /// on a new connection.
    fn drain(&mut self, end: u64) -> Option<u64> {
        if self.now() >= end || self.stop.asked() {
            return None;
        }
        if self.under_way == 0 {
            let until = end.min(self.now() + self.offering.listened_ns);
            self.stage = Stage::Listening(until);
            return self.listen(until);
        }
        self.open_connections();
        Some(self.connects.may_at(self.now()).map_or(end, |at| at.min(end)))
    }

    /// Hears until then what comes on connections on which all is answered.
    fn listen(&self, until: u64) -> Option<u64> {
        (self.open > 0 && self.now() < until && !self.stop.asked()).then_some(until)
    }

    /// Closes the books once the run is over, and gives what was written down.
    pub(crate) fn finish(mut self) -> Outcome {
        let window_end = self.offering.window_end;
        self.close_books(window_end);
        self.record.outcome.keys = self.protocol.keys_seen();
        let scheduled = self.turns.taken();
        self.record.finish(self.clock, self.time.window, window_end, scheduled)
    }

    /// Whether an error has decided what comes of the run, on whichever thread.
    fn has_failed(&self) -> bool {
        if !self.plan.is_preload() {
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
        self.record.account(turn.phase).shed += 1;
        if turn.phase == Phase::Window {
            let class = self.protocol.class(turn.number);
            self.record.shed(self.now() - turn.intended, class);
        }
        true
    }

    /// Forgets a request under way, as a faulty client would; whether there was one.
    #[cfg(any(test, feature = "simulator"))]
    pub(crate) fn drop_a_flight(&mut self) -> bool {
        (0..self.slots.count()).any(|slot| self.slots.pop(slot).is_some())
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
                let class = self.protocol.class(flight.number);
                self.record.account(phase).in_flight += 1;
                self.record.censored(phase, flight.times, self.now(), class);
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
}

/// Whole seconds from one time to another, rounded down; negative before it.
fn seconds_since(then: u64, now: u64) -> i64 {
    (now as i64 - then as i64).div_euclid(SECOND_NS as i64)
}
