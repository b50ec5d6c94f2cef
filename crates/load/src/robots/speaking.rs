//! What robots say: each turn has its time, whatever was heard of those before.

use super::*;

impl<B: Backend, W: Pushing> Robots<'_, B, W> {
    /// When the next turn comes.
    pub(super) fn next_due(&self) -> u64 {
        // Multiplied, not added up: no error grows with time.
        let since_start = (self.seats.among_all(self.turn) as f64 * self.interval) as u64;
        self.time.window.start.saturating_add(since_start)
    }

    /// Lets all speak whose turn has come before this time, up to the end of the window.
    pub(super) fn speak_until(&mut self, end: u64) {
        loop {
            let due = self.next_due();
            if due > self.now() || due >= end {
                return;
            }
            self.speak(due);
            self.turn += 1;
        }
    }

    /// The robot whose turn it is says what was due at this time.
    fn speak(&mut self, intended: u64) {
        let (slot, sequence) = self.seats.speaker(self.turn);
        let phase = self.phase(intended);
        let turn = self.ledger.turn(phase, intended);
        debug_assert_eq!(turn, self.turn, "turns and rows have other numbers");
        self.scheduled[phase as usize] += self.present(slot);
        if phase == Phase::Window {
            self.record.outcome.lateness.saturating_record(self.now() - intended);
        }
        let robot = &mut self.robots[slot as usize];
        let bytes = self.wire.said_bytes(self.messages.bytes());
        let has_room = (robot.next.is_empty() || robot.next.len() + bytes <= OUTBOX_BYTES)
            && robot.unconfirmed.has_number_for(sequence);
        if robot.state != RobotState::Inside || !has_room {
            return self.shed(slot, turn);
        }
        let of = Spoken {
            is_of_window: phase == Phase::Window,
            // Who is lost doesn't come back.
            incarnation: 0,
            room: self.seats.room(slot),
            sender: self.seats.robot(slot),
            sequence,
            intended,
        };
        let number = confirming::number(sequence);
        let message = self.wire.say(of.room, number, self.messages.bytes(), &mut robot.next);
        self.messages.write(of, message);
        robot.waiting.push_back(turn);
        self.send_next(slot);
    }

    /// What a robot was to say in a turn is never handed over.
    pub(super) fn shed(&mut self, slot: Slot, turn: u64) {
        let (phase, intended) = self.ledger.intended(turn);
        let times = Times { intended, begun: intended, sent: intended };
        for _ in 0..self.present(slot) {
            self.record.account(phase).shed += 1;
            self.record.censored(phase, times, self.now(), NO_KIND.class);
        }
        self.ledger.shed(turn);
    }

    /// Hands over what a robot has to say, unless the kernel hasn't taken yet what it said before.
    pub(super) fn send_next(&mut self, slot: Slot) {
        let Robot { next, own, .. } = &self.robots[slot as usize];
        if next.is_empty() && own.is_empty() || self.backend.is_sending(slot) {
            return;
        }
        while let Some(turn) = self.robots[slot as usize].waiting.pop_front() {
            self.hand_over(slot, turn);
        }
        let robot = &mut self.robots[slot as usize];
        robot.said_at = self.time.at();
        if robot.own.is_empty() {
            std::mem::swap(&mut robot.sending, &mut robot.next);
        } else {
            robot.own.append(&mut robot.next);
            std::mem::swap(&mut robot.sending, &mut robot.own);
        }
        robot.own.clear();
        robot.next.clear();
        // SAFETY: nothing is written there before the kernel has taken it, or the slot is closed.
        if let Some(now) = unsafe { self.backend.send(slot, robot.sending.as_slice()) } {
            self.time.pass_to(now);
        }
    }

    /// What a robot says in a turn is owed to all of its room from now on.
    fn hand_over(&mut self, slot: Slot, turn: u64) {
        let (phase, intended) = self.ledger.intended(turn);
        if self.wire.confirms() {
            let (sequence, at) = (self.seats.speaker(turn).1, self.time.at());
            let handed_over = HandedOver { sequence, intended, at };
            self.robots[slot as usize].unconfirmed.hand_over(handed_over);
        }
        let members = self.members_of(slot);
        let owed = self.ledger.hand_over(turn, self.time.at(), &self.joined[members]);
        self.record.account(phase).sent += u64::from(owed);
        let bytes = self.wire.said_bytes(self.messages.bytes()) as u64;
        self.record.said(SaidInSecond { messages: 1, bytes, confirmed: 0 });
        if phase == Phase::Window {
            self.seen.messages_sent += 1;
            self.record.outcome.bytes_sent += bytes;
        }
    }

    /// Has robots that have said nothing for a while by this time say that they are there.
    pub(super) fn ping(&mut self, looked: u64) {
        let Some(ping) = self.wire.ping() else { return };
        for slot in 0..self.robots.len() as Slot {
            let robot = &mut self.robots[slot as usize];
            let is_quiet = looked.saturating_sub(robot.said_at) >= ping.after.as_nanos() as u64;
            if robot.state == RobotState::Inside && is_quiet && !self.backend.is_sending(slot) {
                robot.own.extend_from_slice(ping.words);
                self.send_next(slot);
            }
        }
    }

    /// Withdraws what the kernel didn't take for too long by this time: a server that doesn't read
    /// would else have it waiting for the rest of the run.
    pub(super) fn withdraw(&mut self, looked: u64) {
        let timeout = self.plan.timeout.as_nanos() as u64;
        let bytes = self.wire.said_bytes(self.messages.bytes());
        for slot in 0..self.robots.len() as Slot {
            let robot = &self.robots[slot as usize];
            let is_old =
                |turn: &&u64| self.time.watched(self.ledger.intended(**turn).1, looked) >= timeout;
            let old = robot.waiting.iter().take_while(is_old).count();
            for _ in 0..old {
                let robot = &mut self.robots[slot as usize];
                robot.next.drain(..bytes);
                let turn = robot.waiting.pop_front().expect("it was counted");
                self.shed(slot, turn);
            }
        }
    }
}
