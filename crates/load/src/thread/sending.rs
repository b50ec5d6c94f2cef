//! How requests go out.

use super::*;

impl<B: Backend, P: Protocol> Worker<'_, B, P> {
    /// Sends what is due, as far as there are connections free for it.
    pub(super) fn send_due(&mut self) {
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
                    if !self.is_pipelined {
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
    pub(super) fn stand_in_line(&mut self, slot: Slot, since: u64) {
        self.line.enter(slot, &mut self.slots);
        self.free_since.get_or_insert(since);
    }

    /// This slot may have pipelined requests to send before this thread sleeps.
    pub(super) fn touch(&mut self, slot: Slot) {
        if self.is_pipelined
            && !std::mem::replace(&mut self.outboxes[slot as usize].is_touched, true)
        {
            self.touched.push(slot);
        }
    }

    /// Sends what pipelined connections have to send, each all of it at once.
    pub(super) fn send_touched(&mut self) {
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
    pub(super) fn fill(&mut self, slot: Slot) {
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
    pub(super) fn send_outbox(&mut self, slot: Slot) {
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
            match self.protocol.fixed(number) {
                Some(fixed) => outbox.bytes.extend_from_slice(fixed),
                None => self.protocol.ask(number, &mut outbox.bytes),
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

    /// Sends what the slot's last connection left without an answer, and what its new one
    /// was made for.
    pub(super) fn send_what_waits(&mut self, slot: Slot) {
        for nth in 0..self.slots.under_way(slot) {
            let place = self.slots.place(slot, nth);
            let was_sent = self.slots.flight(place).times.sent != Times::NEVER;
            self.record.outcome.connections.resent += u64::from(was_sent);
            if !self.is_pipelined {
                self.send(slot, place);
            }
        }
        if self.is_pipelined {
            self.outboxes[slot as usize].queued = self.slots.under_way(slot);
            self.touch(slot);
        }
    }

    // Every request goes through the next ones. They have several callers, so that the
    // compiler would rather call them, each for the price of what it does.

    /// A slot that is open, with room since then, takes as many requests as it has room for.
    #[inline(always)]
    pub(super) fn take_requests(&mut self, slot: Slot, since: u64) {
        if self.turns.is_open_loop() {
            return self.stand_in_line(slot, since);
        }
        if self.is_pipelined {
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
    pub(super) fn take_up(&mut self, slot: Slot, turn: Turn, free_since: u64) -> usize {
        self.record.account(turn.phase).sent += 1;
        self.under_way += 1;
        if free_since > turn.intended && turn.phase == Phase::Window {
            self.waited_for_connection(turn.intended, free_since);
        }
        let times = Times { intended: turn.intended, begun: self.now(), sent: Times::NEVER };
        self.slots.push(slot, Flight { number: turn.number, times })
    }

    /// A request of the window was due before this thread had a free connection for it.
    pub(super) fn waited_for_connection(&mut self, intended: u64, free_since: u64) {
        let since = self.turns.others_free_since().map_or(free_since, |it| it.min(free_since));
        // While this thread was away nobody saw who was free.
        let waited = self.time.watched(intended, since);
        if self.turns.is_open_loop() && waited > 0 {
            self.record.outcome.connection_wait.saturating_record(waited);
        }
    }

    /// Hands the bytes of the request at this place to the kernel.
    #[inline(always)]
    pub(super) fn send(&mut self, slot: Slot, place: usize) {
        let now = self.now();
        let flight = self.slots.flight(place);
        // One that is asked again took as long as it takes since it was first asked.
        flight.times.sent = flight.times.sent.min(now);
        let Flight { number, times } = *flight;
        let bytes: *const [u8] = match self.protocol.fixed(number) {
            Some(fixed) => fixed,
            None => {
                let room = &mut self.outboxes[place].bytes;
                room.clear();
                self.protocol.ask(number, room);
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

    /// Since when the line of an open loop had something in it, if it has.
    pub(super) fn free(&mut self) -> Option<u64> {
        if self.line.first(&mut self.slots).is_none() {
            self.free_since = None;
        }
        self.free_since
    }
}
