//! What robots say: each turn has its time, whatever was heard of those before. And what other
//! threads say of theirs.

use super::*;

impl<B: Backend, W: Pushing> Robots<'_, B, W> {
    /// When the next turn comes.
    pub(super) fn next_due(&mut self) -> u64 {
        self.time.window.start.saturating_add(self.pace.due(self.turn))
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
        let is_calm = self.storm.as_ref().is_some_and(|storm| storm.is_on());
        if is_calm || self.is_apart(slot) {
            return self.tell(Word::LeftOut { phase, intended });
        }
        self.tell(Word::Due { phase, intended });
        if phase == Phase::Window {
            self.record.outcome.lateness.saturating_record(self.now() - intended);
        }
        let robot = &mut self.robots[slot as usize];
        let bytes = self.wire.said_bytes(self.messages.bytes());
        let has_room = (robot.next.is_empty() || robot.next.len() + bytes <= OUTBOX_BYTES)
            && robot.unconfirmed.has_number_for(sequence);
        if robot.state != RobotState::Inside || !has_room {
            return self.shed(self.turn);
        }
        let of = Spoken {
            is_of_window: phase == Phase::Window,
            // Who is lost doesn't come back, unless all do.
            incarnation: self.storm.as_ref().is_some_and(|storm| storm.has_struck()).into(),
            room: self.seats.room(slot),
            sender: self.seats.robot(slot),
            sequence,
            intended,
        };
        let number = confirming::number(sequence);
        let message = self.wire.say(of.room, number, self.messages.bytes(), &mut robot.next);
        self.messages.write(of, message);
        robot.waiting.push_back(self.turn);
        self.send_next(slot);
    }

    /// What a robot was to say in a turn is never handed over.
    pub(super) fn shed(&mut self, turn: u64) {
        self.tell(Word::Shed { turn });
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

    /// Enters what becomes of a turn of this thread in the books, and tells other threads.
    pub(super) fn tell(&mut self, word: Word) {
        self.note(self.own_ledger(), word);
        self.others.tell(word);
    }

    /// Enters what other threads have said by now.
    pub(super) fn hear_others(&mut self) {
        while let Some((thread, word)) = self.others.next() {
            self.note(thread, word);
        }
    }

    /// Enters what becomes of a turn in the books of deliveries to robots of this thread.
    fn note(&mut self, number: u32, word: Word) {
        let of = self.speaks(number);
        let own_room = |turn| of.own_room(of.speaker(turn).0);
        let ledger = &mut self.ledgers[number as usize];
        let apart = self.slow.as_mut().and_then(|slow| slow.ledger(number));
        match word {
            Word::Due { phase, intended } => {
                let turn = ledger.turn(phase, intended);
                if let Some(apart) = apart {
                    apart.turn(phase, intended);
                }
                self.scheduled[phase as usize] += self.present(own_room(turn));
            }
            Word::LeftOut { phase, intended } => {
                for ledger in [Some(ledger), apart].into_iter().flatten() {
                    let turn = ledger.turn(phase, intended);
                    ledger.shed(turn);
                }
            }
            Word::Silent => {
                if let Some(storm) = &mut self.storm {
                    storm.note_silent();
                }
            }
            Word::HandedOver { turn, at } => {
                self.note_handed_over(number, own_room(turn), turn, at)
            }
            Word::Confirmed { turn } => ledger.confirm(turn),
            Word::Shed { turn } => {
                let (phase, intended) = ledger.intended(turn);
                ledger.shed(turn);
                if let Some(apart) = apart {
                    apart.shed(turn);
                }
                let shed = self.present(own_room(turn));
                if let Some(slow) = &mut self.slow {
                    slow.note_shed(intended, shed);
                }
                let times = Times { intended, begun: intended, sent: intended };
                for _ in 0..shed {
                    self.record.account(phase).shed += 1;
                    self.record.censored(phase, times, self.time.at(), NO_KIND.class);
                }
            }
        }
    }

    /// The message of a turn is owed to the members here of its room from now on.
    fn note_handed_over(&mut self, number: u32, own_room: u32, turn: u64, at: u64) {
        let members = self.members_of(own_room);
        let (joined, ledger) = (&self.joined[members.clone()], &mut self.ledgers[number as usize]);
        let said = ledger.intended(turn);
        let owed = match &mut self.slow {
            Some(slow) if slow.are_apart() => {
                slow.hand_over((ledger, number), (turn, at), (joined, members.start))
            }
            _ => ledger.hand_over(turn, at, joined),
        };
        self.record.account(said.0).sent += u64::from(owed);
        self.rooms[own_room as usize].messages += u64::from(said.0 == Phase::Window);
        if owed == 0 && self.shared.is_some() {
            // Other threads wait for the fate of their message with those here.
            self.settle((number, turn), said, Settled::NOBODY);
        }
    }

    /// What a robot says in a turn is owed to all of its room from now on.
    fn hand_over(&mut self, slot: Slot, turn: u64) {
        let (phase, intended) = self.ledgers[self.own_ledger() as usize].intended(turn);
        if self.wire.confirms() {
            let (sequence, at) = (self.seats.speaker(turn).1, self.time.at());
            let handed_over = HandedOver { sequence, intended, at };
            self.robots[slot as usize].unconfirmed.hand_over(handed_over);
        }
        self.tell(Word::HandedOver { turn, at: self.time.at() });
        let bytes = self.wire.said_bytes(self.messages.bytes()) as u64;
        self.record.said(SaidInSecond { messages: 1, bytes, confirmed: 0 });
        if phase == Phase::Window {
            self.seen.messages_sent += 1;
            self.record.outcome.bytes_sent += bytes;
        }
    }

    /// Has robots that have said nothing for a while by this time say that they are there. Robots
    /// that hang don't.
    pub(super) fn ping(&mut self, looked: u64) {
        let Some(ping) = self.wire.ping() else { return };
        for slot in 0..self.robots.len() as Slot {
            let is_hanging = self.is_hanging(slot);
            let robot = &mut self.robots[slot as usize];
            let is_quiet = looked.saturating_sub(robot.said_at) >= ping.after.as_nanos() as u64;
            let may_say = robot.state == RobotState::Inside && !is_hanging;
            if may_say && is_quiet && !self.backend.is_sending(slot) {
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
            let ledger = &self.ledgers[self.own_ledger() as usize];
            let is_old =
                |turn: &&u64| self.time.watched(ledger.intended(**turn).1, looked) >= timeout;
            let old = robot.waiting.iter().take_while(is_old).count();
            for _ in 0..old {
                let robot = &mut self.robots[slot as usize];
                robot.next.drain(..bytes);
                let turn = robot.waiting.pop_front().expect("it was counted");
                self.shed(turn);
            }
        }
    }
}
