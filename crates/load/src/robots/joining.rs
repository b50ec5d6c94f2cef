//! How robots come into their rooms, and how they are lost. One that is lost stays away: what it
//! was owed is missing then, since the server or the network between took it away, not we.

use super::*;

impl<B: Backend, W: Pushing> Robots<'_, B, W> {
    /// Begins the connections that may be begun.
    pub(super) fn open_connections(&mut self) {
        while let Some(may_at) = self.connects.may_at(self.now())
            && may_at <= self.now()
        {
            let slot = self.connects.begin_next(self.now());
            self.robots[slot as usize].state = RobotState::Connecting(self.now());
            let source = self.sources.next();
            match self.backend.connect(slot, source) {
                Ok(now) => now.into_iter().for_each(|now| self.time.pass_to(now)),
                Err(error) => {
                    let errno = error.raw_os_error().unwrap_or(libc::EIO);
                    self.connect_failed(slot, &fault_of(errno, true));
                }
            }
        }
    }

    pub(super) fn connected(&mut self, slot: Slot, at: u64) {
        let RobotState::Connecting(begun) = self.robots[slot as usize].state else { return };
        self.connects.shook_hands(slot, begun, at);
        if !self.is_returning() {
            self.record.outcome.connect.saturating_record(at.saturating_sub(begun));
        }
        self.note_lost_syns(slot, begun, at);
        let robot = &mut self.robots[slot as usize];
        robot.state = RobotState::Joining(begun, at);
        self.wire.join(self.seats.seat(slot), &mut robot.own);
        self.send_next(slot);
    }

    /// A robot that isn't in its room yet has heard this; gives how many of these bytes it used, if
    /// it is inside now.
    pub(super) fn hear_joining(
        &mut self,
        slot: Slot,
        received: Received,
        at: u64,
    ) -> Option<usize> {
        let RobotState::Joining(_, established) = self.robots[slot as usize].state else {
            return None;
        };
        let bytes = self.backend.bytes(received);
        let Robot { connection, own, .. } = &mut self.robots[slot as usize];
        match self.wire.hear_joining(connection, self.seats.seat(slot), bytes, own) {
            Opened::Awaits { .. } => {
                self.send_next(slot);
                None
            }
            Opened::Broken(fault) => {
                self.connect_failed(slot, &fault);
                None
            }
            Opened::Ready { used } => {
                let took = at.saturating_sub(established);
                self.comes_in(slot, at);
                if !self.is_returning() {
                    self.record.outcome.opening.saturating_record(took);
                }
                Some(used)
            }
        }
    }

    fn comes_in(&mut self, slot: Slot, at: u64) {
        self.robots[slot as usize].state = RobotState::Inside;
        let (word, bit) = bit(self.seats.own_member(slot));
        let members = self.members_of(self.seats.own_room(slot));
        self.joined[members][word] |= bit;
        if let Some(shared) = self.shared {
            shared.comes_in(self.seats.room(slot));
        }
        self.connects.succeeded(self.now());
        self.inside += 1;
        match &mut self.storm {
            Some(storm) if storm.is_returning() => storm.comes_back(at),
            _ => self.seen.joined += 1,
        }
        self.record.open(self.inside);
    }

    /// A robot that we take away isn't in its room any more: nothing is owed to it.
    pub(super) fn goes_out(&mut self, slot: Slot) {
        let (word, bit) = bit(self.seats.own_member(slot));
        let members = self.members_of(self.seats.own_room(slot));
        self.joined[members][word] &= !bit;
        if let Some(shared) = self.shared {
            shared.goes_out(self.seats.room(slot));
        }
    }

    /// A robot came into no room.
    pub(super) fn connect_failed(&mut self, slot: Slot, fault: &Fault) {
        if let RobotState::Connecting(begun) = self.robots[slot as usize].state {
            self.note_lost_syns(slot, begun, self.now());
        }
        self.record.connect_failed(fault, self.now());
        self.connects.failed(slot, self.now());
        self.goes_away(slot);
        if let Some(storm) = self.storm.as_mut().filter(|storm| storm.is_returning()) {
            storm.note_failed(fault.kind);
            self.connects.want(slot);
        }
    }

    /// A robot's connection is of no more use.
    pub(super) fn lost(&mut self, slot: Slot, fault: &Fault) {
        match self.robots[slot as usize].state {
            RobotState::Away => {}
            RobotState::Connecting(_) | RobotState::Joining(..) => self.connect_failed(slot, fault),
            RobotState::Inside => {
                let (now, robot) = (self.now(), self.seats.robot(slot));
                self.inside -= 1;
                match &mut self.slow {
                    Some(slow) if slow.are_apart() && slow.has(slot) => slow.seen.cut += 1,
                    _ => {
                        self.seen.cut += 1;
                        First::keep(&mut self.seen.firsts.cut, now, || {
                            format!("robot {robot}: {}", fault.example)
                        });
                    }
                }
                self.goes_away(slot);
            }
        }
    }

    /// A robot has no connection any more, and says nothing more.
    pub(super) fn goes_away(&mut self, slot: Slot) {
        self.record.bytes_unsent(self.backend.unsent_bytes(slot));
        self.backend.close(slot);
        let robot = &mut self.robots[slot as usize];
        robot.state = RobotState::Away;
        robot.connection = W::Connection::default();
        robot.own.clear();
        robot.next.clear();
        while let Some(turn) = self.robots[slot as usize].waiting.pop_front() {
            self.shed(turn);
        }
        // No other connection brings confirmations of what was said on this one.
        let mut unconfirmed = std::mem::take(&mut self.robots[slot as usize].unconfirmed);
        hearing::note_unconfirmed(unconfirmed.give_up(|_| true), &mut self.seen, &self.time);
    }

    /// Ends attempts to come into a room that have taken too long by this time.
    pub(super) fn give_up_joining(&mut self, looked: u64) {
        let timeout = self.plan.timeout.as_nanos() as u64;
        for slot in 0..self.robots.len() as Slot {
            let (begun, what) = match self.robots[slot as usize].state {
                RobotState::Connecting(begun) => (begun, ErrorKind::ConnectTimeout),
                RobotState::Joining(begun, _) => (begun, ErrorKind::Timeout),
                RobotState::Away | RobotState::Inside => continue,
            };
            if self.time.watched(begun, looked) >= timeout {
                let example = format!("not in its room within {:?}", self.plan.timeout);
                self.connect_failed(slot, &Fault { kind: what, example });
            }
        }
    }

    /// Counts the SYNs that were sent again for a connection, where it took so long that there may
    /// be such.
    fn note_lost_syns(&mut self, slot: Slot, begun: u64, by: u64) {
        if by.saturating_sub(begun) >= crate::thread::SYN_LOST_NS {
            let lost = self.backend.syn_retransmits(slot);
            self.record.outcome.connections.syn_retransmits += lost;
        }
    }
}
