//! What becomes of requests whose connection is lost, or whose answer takes too long.

use super::*;

impl<B: Backend, P: Protocol> Worker<'_, B, P> {
    /// A connection is of no more use, for the oldest request's sake.
    pub(super) fn lost(&mut self, slot: Slot, fault: &Fault, at: u64) {
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
    pub(super) fn settle_lost(&mut self, slot: Slot, fault: &Fault, has_begun: bool, at: u64) {
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
    pub(super) fn fail_all(&mut self, slot: Slot, fault: Fault) {
        while let Some(flight) = self.slots.pop(slot) {
            self.fail(flight, fault.clone());
        }
    }

    /// A request ends in an error without an answer.
    pub(super) fn fail(&mut self, flight: Flight, fault: Fault) {
        self.under_way -= 1;
        let phase = self.turns.phase(flight.times.intended);
        self.record.error(phase, fault, self.now());
        let class = self.protocol.class(flight.number);
        self.record.censored(phase, flight.times, self.now(), class);
    }

    /// What the answer that is awaited on a slot lacks, behind a sentence; empty where nothing of
    /// it came.
    pub(super) fn lacks(&mut self, slot: Slot) -> String {
        let lacks = self.protocol.lacks(&self.slots.connection(slot).partial);
        lacks.map_or(String::new(), |what| format!(": {what}"))
    }

    /// Ends what took too long by this time, at which was looked for all that had come. What
    /// came while this thread was away may still lie there. A part of the connections is
    /// looked over at a time.
    pub(super) fn end_those_that_waited_too_long(&mut self, looked: u64) {
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
                        let lacks = self.lacks(slot);
                        let example =
                            format!("no answer to its first words within {patience:?}{lacks}");
                        let fault = Fault { kind: ErrorKind::Timeout, example };
                        self.connect_failed(slot, fault);
                    }
                }
                State::Open => {
                    let sent = self.slots.oldest(slot).map(|flight| flight.times.sent);
                    if sent.is_some_and(|sent| self.time.watched(sent, looked) >= timeout) {
                        let lacks = self.lacks(slot);
                        let example =
                            format!("no whole answer within {:?}{lacks}", self.plan.timeout);
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
