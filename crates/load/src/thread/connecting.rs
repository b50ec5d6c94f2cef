//! How connections are made, and how they end.

use super::*;

impl<B: Backend, P: Protocol> Worker<'_, B, P> {
    /// Begins the connections that may be begun.
    pub(super) fn open_connections(&mut self) {
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

    pub(super) fn connected(&mut self, slot: Slot, at: u64) {
        let State::Connecting(since) = *self.slots.state(slot) else { return };
        self.ask_for_lost_syns(slot, at);
        self.connects.shook_hands(slot, since, at);
        let is_in_window = self.is_in_window(slot, at);
        self.record.outcome.connections.made_in_window += u64::from(is_in_window);
        if is_in_window || self.plan.keep_alive {
            self.record.outcome.connect.saturating_record(at - since);
        }
        if P::OPENS {
            self.hears(slot, (since, at), None, at);
        } else {
            self.opened(slot, at);
        }
    }

    /// A connection that was begun at one time and established at another has heard something by
    /// this time, or nothing yet: it says what it has to say before its first request.
    pub(super) fn hears(
        &mut self,
        slot: Slot,
        (begun, since): (u64, u64),
        received: Option<Received>,
        at: u64,
    ) {
        let Worker { backend, protocol, slots, record, outboxes, .. } = self;
        let heard = received.map_or(&[][..], |received| backend.bytes(received));
        record.bytes_received(heard.len());
        let is_sending = received.is_some() && backend.is_sending(slot);
        let mut unsendable = Vec::new();
        // While a send is on its way its bytes have to stay where they are.
        let words = if is_sending { &mut unsendable } else { &mut outboxes[slot as usize].bytes };
        words.clear();
        let fault = |example| Fault { kind: ErrorKind::Malformed, example };
        let fault = match protocol.open(&mut slots.connection(slot).partial, heard, words) {
            Opened::Broken(fault) => *fault,
            Opened::Awaits { .. } if is_sending && !words.is_empty() => {
                fault("an answer to first words that weren't sent yet".into())
            }
            Opened::Awaits { missing } => {
                let words: *const [u8] = words.as_slice();
                if received.is_some() {
                    backend.receive_more(slot, missing);
                } else {
                    *slots.state(slot) = State::Opening { begun, since };
                    self.note_begun_late(slot, since);
                }
                return self.say(slot, words);
            }
            Opened::Ready { used } if used < heard.len() => {
                let more = show(&heard[used..]);
                fault(format!("bytes after the answer to its first words: \"{more}\""))
            }
            Opened::Ready { .. } if is_sending => {
                fault("an answer to first words that weren't sent yet".into())
            }
            Opened::Ready { .. } => {
                if received.is_some() {
                    backend.receive_more(slot, 1);
                    if self.plan.keep_alive || self.is_in_window(slot, at) {
                        self.record.outcome.opening.saturating_record(at.saturating_sub(since));
                    }
                }
                return self.opened(slot, at);
            }
        };
        self.connect_failed(slot, fault);
    }

    /// Sends words of a connection that carries no requests yet.
    fn say(&mut self, slot: Slot, words: *const [u8]) {
        if words.is_empty() {
            return;
        }
        // SAFETY: they lie in the slot's outbox, and nothing else is written there before they
        // are answered and sent, or the slot is closed.
        if let Some(now) = unsafe { self.backend.send(slot, words) } {
            self.time.pass_to(now);
        }
    }

    /// What this thread needed to see that a connection is ready, which a request waits for as
    /// its own, is none of the wait for that connection.
    pub(super) fn note_begun_late(&mut self, slot: Slot, ready: u64) {
        if !self.plan.keep_alive {
            let place = self.slots.place(slot, 0);
            self.slots.flight(place).times.begun += self.now() - ready;
        }
    }

    /// A connection that is ready since then carries requests from now on.
    pub(super) fn opened(&mut self, slot: Slot, at: u64) {
        let had_one = self.slots.open(slot);
        self.record.outcome.connections.reconnects += u64::from(had_one);
        self.connects.succeeded(self.now());
        self.open += 1;
        self.record.open(self.open);
        if self.plan.keep_alive {
            self.look_for_unasked(slot, at);
            self.send_what_waits(slot);
            self.take_requests(slot, at);
        } else {
            self.note_begun_late(slot, at);
            self.send(slot, self.slots.place(slot, 0));
        }
    }

    /// Counts the SYNs of a connection under way that were sent again, if by this time it
    /// may have lost one.
    pub(super) fn ask_for_lost_syns(&mut self, slot: Slot, by: u64) {
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
    pub(super) fn is_in_window(&mut self, slot: Slot, at: u64) -> bool {
        let own = self.slots.oldest(slot).filter(|_| !self.plan.keep_alive);
        let since = own.map_or(at, |flight| flight.times.intended);
        self.turns.phase(since) == Phase::Window
    }

    /// A connection came to nothing: so does the request that is its own, or
    /// else the one whose turn it is.
    pub(super) fn connect_failed(&mut self, slot: Slot, fault: Fault) {
        self.ask_for_lost_syns(slot, self.now());
        self.record.connect_failed(&fault, self.now());
        self.connects.failed(slot, self.now());
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
    pub(super) fn replace(&mut self, slot: Slot, at: u64) {
        self.close(slot, at);
        if self.turns.goes_on(self.now()) || self.slots.under_way(slot) > 0 {
            self.connects.want(slot);
        }
    }

    /// Ends a slot's connection, which was of use until then.
    pub(super) fn close(&mut self, slot: Slot, at: u64) {
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

    /// Since when the slot that connects next could have.
    pub(super) fn may_connect_since(&mut self) -> u64 {
        let Some(slot) = self.connects.first_waiting() else { return self.now() };
        // One that may not connect is not free.
        self.slots.connection(slot).free_since.max(self.connects.paused_before(self.now()))
    }
}
