//! What comes of bytes that came.

use super::*;

/// Bytes that a server says before it is asked, of which so many are looked at.
const PEEKED_BYTES: usize = 256;

impl<B: Backend, P: Protocol> Worker<'_, B, P> {
    pub(super) fn received(&mut self, slot: Slot, received: Received, mut at: u64) {
        if P::OPENS
            && let State::Opening { begun, since } = *self.slots.state(slot)
        {
            return self.hears(slot, (begun, since), Some(received), at);
        }
        if self.slots.oldest(slot).is_some_and(|flight| at < flight.times.sent) {
            // It was told of before this request was sent, for something else.
            at = self.backend.now();
            self.time.pass_to(at);
        }
        let Worker { backend, protocol, record, slots, turns, outboxes, .. } = self;
        let mut bytes = backend.bytes(received);
        record.bytes_received(bytes.len());
        loop {
            let queued = outboxes.get(slot as usize).map_or(0, |outbox| outbox.queued);
            let asked = slots.under_way(slot) > queued;
            let Some(flight) = slots.oldest(slot).filter(|_| asked).copied() else {
                bytes = &bytes[protocol.may_be_unasked(bytes)..];
                if bytes.is_empty() {
                    return;
                }
                if !slots.connection(slot).is_used
                    && let Some(example) = protocol.refusal(bytes)
                {
                    let fault = Fault { kind: ErrorKind::ServerError, example };
                    record.connect_failed(&fault, at);
                    return self.lost(slot, &fault, at);
                }
                let fault = note_unasked(protocol, record, bytes, at);
                return self.lost(slot, &fault, at);
            };
            let partial = &mut slots.connection(slot).partial;
            let is_sampled = record.lacks_samples(at) && !P::is_under_way(partial);
            let of = Asked { number: flight.number, sent: flight.times.sent, at };
            let fed = protocol.feed(partial, bytes, of);
            let (used, kind, mut fault, reusable) = match fed {
                Fed::More { missing } => return backend.receive_more(slot, missing),
                Fed::Answer { used, kind, fault, reusable } => (used, kind, fault, reusable),
                Fed::Broken(fault) => return self.lost(slot, &fault, at),
            };
            if !reusable && P::is_farewell(kind) && slots.connection(slot).is_used {
                // The server ended the connection while the request was on its way.
                let example = format!("the connection ended with status {}", kind.status);
                let fault = Fault { kind: ErrorKind::ClosedEarly, example };
                self.settle_lost(slot, &fault, false, at);
                return self.replace(slot, at);
            }
            let answer = &bytes[..used];
            bytes = &bytes[used..];
            let last = slots.under_way(slot) == queued + 1;
            if last && fault.is_none() {
                bytes = &bytes[protocol.may_be_unasked(bytes)..];
            }
            if last && !bytes.is_empty() && fault.is_none() {
                let why = protocol.ends_with_its_head(flight.number, kind);
                let example = format!("bytes after the answer{why}: \"{}\"", show(bytes));
                fault = Some(Box::new(Fault { kind: ErrorKind::Malformed, example }));
            }
            let connection = slots.drop_oldest(slot);
            connection.is_used = true;
            self.under_way -= 1;
            let phase = turns.phase(flight.times.intended);
            if fault.is_none() {
                connection.good += u64::from(phase == Phase::Window);
                if let Some(stamp) = backend.kernel_stamp() {
                    record.seen(phase, stamp, self.clock, at);
                }
                if is_sampled {
                    record.sample(of.number, answer, at);
                }
            }
            record.answered(phase, flight.times, kind, fault, at);
            // What comes before its request was sent says nothing of the rest of that, which
            // the connection still has to carry.
            let is_early = last && backend.is_sending(slot);
            record.outcome.connections.early += u64::from(is_early && phase == Phase::Window);
            let keeps = reusable && self.plan.keep_alive && !is_early;
            if !keeps || (last && !bytes.is_empty()) {
                let has_ended = is_early || !bytes.is_empty();
                if !reusable {
                    self.note_cut(phase);
                }
                let is_last_of_all = self.under_way == 0 && !self.turns.goes_on(self.now());
                if !self.plan.keep_alive && is_last_of_all && !has_ended {
                    // Whatever comes on it was not asked for. Others would keep a server waiting
                    // that has one connection at a time.
                    return self.backend.receive_more(slot, 1);
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
    pub(super) fn ended(&mut self, slot: Slot, at: u64) {
        if let State::Opening { .. } = *self.slots.state(slot) {
            let lacks = self.lacks(slot);
            let example =
                format!("the connection ended before its first words were answered{lacks}");
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
            Fed::Answer { kind, fault, .. } => {
                self.slots.pop(slot);
                self.under_way -= 1;
                let phase = self.turns.phase(flight.times.intended);
                let is_good = fault.is_none() && phase == Phase::Window;
                self.slots.connection(slot).good += u64::from(is_good);
                let queued = self.outboxes.get(slot as usize).map_or(0, |outbox| outbox.queued);
                let last = self.slots.under_way(slot) == queued;
                let is_early = last && self.backend.is_sending(slot) && phase == Phase::Window;
                self.record.outcome.connections.early += u64::from(is_early);
                self.record.answered(phase, flight.times, kind, fault, at);
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

    /// A connection on which nothing was asked has ended, which costs no request.
    pub(super) fn ended_unasked(&mut self, slot: Slot, at: u64) {
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

    /// Looks whether the server has spoken before the first request of a connection goes out,
    /// which it does at once. That would be taken for the answer to it.
    pub(super) fn look_for_unasked(&mut self, slot: Slot, at: u64) {
        let is_closed_loop = matches!(self.stage, Stage::Offering) && !self.turns.is_open_loop();
        let asks_at_once = is_closed_loop || self.slots.under_way(slot) > 0;
        if self.protocol.may_speak_first() || !asks_at_once {
            return;
        }
        let mut room = [0; PEEKED_BYTES];
        let length = self.backend.peek(slot, &mut room);
        if length > 0 {
            note_unasked(&self.protocol, &mut self.record, &room[..length], at);
        }
    }

    /// The server ends a connection that was to be kept.
    pub(super) fn note_cut(&mut self, phase: Phase) {
        self.record.outcome.connections.cut +=
            u64::from(self.plan.keep_alive && phase == Phase::Window);
    }
}

/// Writes down that a server spoke though nothing was asked; gives what that is for whoever waits to
/// be asked on that connection. Whatever it means, it is no answer to what is asked next.
fn note_unasked<P: Protocol>(protocol: &P, record: &mut Record, bytes: &[u8], at: u64) -> Fault {
    let example = format!("bytes that nobody asked for: \"{}\"", show(bytes));
    let example = foreign::named(protocol.spoken(), bytes, example);
    if protocol.is_last_word(bytes) {
        record.outcome.connections.last_words += 1;
    } else {
        record.unasked(example.clone(), at);
    }
    Fault { kind: ErrorKind::Malformed, example }
}
