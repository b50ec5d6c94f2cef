//! The stages of a thread's robots: they come into their rooms, wait for the common start, speak,
//! and at last hear what is still under way, and whether more comes than that.

use super::*;
use crate::backend::Gathering;
use crate::thread::gathering::of_deliveries;

/// Where a thread's robots are in their run.
#[derive(Debug, Clone, Copy)]
pub(crate) enum RobotStage {
    /// They come into their rooms. The most that were inside, since when, and how many attempts had
    /// failed by then.
    Joining { most: u32, since: u64, failed: u64 },
    /// They speak once this window's warm-up begins.
    Waiting(Window),
    /// They speak.
    Speaking,
    /// What was said is awaited.
    Draining,
    /// All that was said is settled. What comes until this time was one too many.
    Listening(u64),
}

/// Failures in a row after which no more connections are made.
const FAILURES_MAX: u64 = 3;
/// For how long robots listen for what comes too often, once all is settled: for some usual times
/// of a delivery, but for so long at least and at most.
const LISTENED_NS: (u64, u64) = (10_000_000, 100_000_000);
const LISTENED_TIMES: u64 = 2;
/// After so long it is looked again whether other threads still speak.
const OTHERS_AWAITED_NS: u64 = 1_000_000;

impl<B: Backend, W: Pushing> Robots<'_, B, W> {
    /// Does what is to be done, and gives until when may be slept. `None` once the robots are in
    /// their rooms, and again once the run is over.
    pub(crate) fn sleeps_until(&mut self) -> Option<u64> {
        match self.stage {
            RobotStage::Joining { .. } => self.join(),
            RobotStage::Waiting(window) if self.now() < window.start => Some(window.start),
            RobotStage::Waiting(window) => {
                self.begin(window);
                self.speak_in_turn()
            }
            RobotStage::Speaking => self.speak_in_turn(),
            RobotStage::Draining => self.drain(),
            RobotStage::Listening(until) => {
                (self.now() < until && !self.stop.asked()).then_some(until)
            }
        }
    }

    /// The run has these borders, and begins by itself.
    pub(crate) fn start(&mut self, window: Window) {
        // Meanwhile the other threads were waited for.
        self.time.ask(self.backend.now());
        self.stage = RobotStage::Waiting(window);
    }

    /// Robots that are in their rooms.
    pub(crate) fn inside(&self) -> u32 {
        self.inside
    }

    /// Brings robots into their rooms, until each has had its outcome or nothing moves any more.
    fn join(&mut self) -> Option<u64> {
        let (now, failures) = (self.now(), self.record.outcome.connections.failed);
        if let RobotStage::Joining { most, since, failed } = &mut self.stage
            && self.inside > *most
        {
            (*most, *since, *failed) = (self.inside, now, failures);
        }
        let RobotStage::Joining { since, failed, .. } = self.stage else { return None };
        let patience = self.plan.timeout.as_nanos() as u64;
        let nothing_moves = failures - failed >= FAILURES_MAX || now - since > patience;
        if self.connects.are_settled() || nothing_moves || self.stop.asked() {
            self.connects.forget_waiting_unless(|_| false);
            self.leave_out_who_is_outside();
            return None;
        }
        self.connects.hold_for_overdue(now);
        self.open_connections();
        Some(self.connects.may_at(self.now()).unwrap_or(u64::MAX).min(self.next_scan))
    }

    /// Who isn't inside by now stays outside. Who came in while others speak would be owed what
    /// nobody can tell.
    pub(super) fn leave_out_who_is_outside(&mut self) {
        for slot in 0..self.robots.len() as Slot {
            if self.robots[slot as usize].state != RobotState::Inside {
                self.goes_away(slot);
            }
        }
    }

    fn begin(&mut self, window: Window) {
        self.spent_before = (self.now() >= window.begin).then(|| self.spent_by(self.now()));
        self.time.ask(self.backend.now());
        self.time.window = window;
        self.next_second = window.start;
        if let Some(slow) = &mut self.slow {
            slow.begin(window);
        }
        if let Some(storm) = &mut self.storm {
            storm.begin(window);
        }
        self.stage = RobotStage::Speaking;
        self.gather();
    }

    /// Has deliveries gathered: what they tell of time is the kernel's.
    fn gather(&mut self) {
        let share = f64::from(self.robots.len() as u32) / f64::from(self.plan.connections);
        let per_s = share * self.plan.arrivals.rate().unwrap_or_default();
        let wanted = of_deliveries(self.robots.len() as u32, per_s);
        if self.backend.gather(wanted)
            && let Some(Gathering { within, .. }) = wanted
        {
            self.record.usage.gathers_us = within.as_nanos() as f64 / 1e3;
        }
    }

    /// Lets robots speak from one sleep to the next.
    fn speak_in_turn(&mut self) -> Option<u64> {
        self.begin_second();
        let end = self.time.window.end;
        if self.stop.asked() {
            return self.end_window();
        }
        let looks = self.see_to_slow_robots().min(self.see_to_storm());
        self.speak_until(end);
        if self.now() >= end {
            return self.end_window();
        }
        Some(self.next_due().min(self.next_second).min(self.next_scan).min(end).min(looks))
    }

    /// Begins the next second, if its time has come.
    fn begin_second(&mut self) {
        let (now, window) = (self.now(), self.time.window);
        if now < self.next_second || now >= window.end {
            return;
        }
        let number = (now as i64 - window.begin as i64).div_euclid(SECOND_NS as i64);
        self.record.begin_second(number, self.inside);
        self.record.said(SaidInSecond::default());
        self.next_second = window.begin.saturating_add_signed((number + 1) * SECOND_NS as i64);
        if number >= 0 && self.spent_before.is_none() {
            self.spent_before = Some(self.spent_by(now));
            self.time.ask(self.backend.now());
        }
    }

    /// What this thread has spent by now.
    fn spent_by(&self, now: u64) -> Spent {
        Spent::by(now, self.record.usage.cpu, self.backend.calls())
    }

    /// Nobody speaks any more.
    fn end_window(&mut self) -> Option<u64> {
        self.window_end = self.now().min(self.time.window.end);
        self.record.usage.away_s = self.time.away_s;
        if let Some(before) = self.spent_before.take() {
            let spent = self.spent_by(self.now());
            before.write_growth(&spent, &mut self.record.usage);
        }
        self.record.begin_second(SecondOfThread::DRAIN, 0);
        self.read_again();
        self.stage = RobotStage::Draining;
        self.drain()
    }

    /// Awaits what was said until it came or took too long.
    fn drain(&mut self) -> Option<u64> {
        let is_stopped = self.stop.asked();
        if is_stopped {
            self.say_no_more();
        }
        let is_saying = self.is_saying();
        if !is_saying {
            self.others.fall_silent();
        }
        let of_slow = self.slow.as_ref().map_or(0, |slow| slow.under_way());
        if is_saying || self.under_way() + of_slow > 0 && !is_stopped {
            return Some(self.next_scan);
        }
        if self.others.speak() {
            return Some(self.now() + OTHERS_AWAITED_NS);
        }
        if is_stopped {
            return None;
        }
        let (least, most) = LISTENED_NS;
        let usual = self.seen.until_all.good.value_at_quantile(0.5);
        let until = self.now() + usual.saturating_mul(LISTENED_TIMES).clamp(least, most);
        self.stage = RobotStage::Listening(until);
        Some(until)
    }

    /// What robots still have to say is never handed over, and what they said is confirmed no more.
    fn say_no_more(&mut self) {
        for slot in 0..self.robots.len() {
            self.robots[slot].next.clear();
            while let Some(turn) = self.robots[slot].waiting.pop_front() {
                self.shed(turn);
            }
            let Robots { robots, seen, time, .. } = self;
            hearing::note_unconfirmed(robots[slot].unconfirmed.give_up(|_| true), seen, time);
        }
    }

    /// Writes down which rooms and which robot fared worst.
    fn compare_rooms(&mut self) {
        for slot in 0..self.robots.len() as Slot {
            let own_room = self.seats.own_room(slot);
            let (word, bit) = bit(self.seats.own_member(slot));
            let is_owed = self.joined[self.members_of(own_room)][word] & bit != 0;
            let due = self.rooms[own_room as usize].messages;
            if due > 0 && is_owed && !self.is_apart(slot) {
                let (robot, had) = (self.seats.robot(slot), self.robots[slot as usize].had);
                let of_one = ShareOfDue { robot, had, due };
                let least = self.seen.least_share.map_or(of_one, |least| least.least(of_one));
                self.seen.least_share = Some(least);
            }
        }
        let seen = (0..).zip(&self.rooms);
        let seen = seen.map(|(own_room, books)| {
            let room = self.seats.room_of_all(own_room);
            RoomSeen { room, ..books.seen }
        });
        // Of rooms that lie on several threads there are few, and each thread tells its part.
        let all: Vec<RoomSeen> = seen.collect();
        self.seen.rooms_seen = if self.seats.are_dealt() { all } else { worst(all) };
    }

    /// Closes the books once the run is over, and gives what was written down.
    pub(crate) fn finish(mut self) -> Outcome {
        for slot in 0..self.robots.len() as Slot {
            if self.is_apart(slot) {
                continue;
            }
            let had = self.robots[slot as usize].had;
            let connections = &mut self.record.outcome.connections;
            connections.answers_min = connections.answers_min.min(had);
            connections.answers_max = connections.answers_max.max(had);
        }
        self.compare_rooms();
        self.leave_in_flight();
        self.seen.storm = self.storm_seen();
        self.seen.slow = self.slow.map(|slow| Box::new(slow.seen));
        self.record.outcome.deliveries = Some(Box::new(self.seen));
        self.record.finish(self.clock, self.time.window, self.window_end, self.scheduled)
    }
}
