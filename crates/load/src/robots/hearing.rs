//! What robots hear of each other, and what is missing.

use super::*;

impl<B: Backend, W: Pushing> Robots<'_, B, W> {
    /// Bytes came to a robot, and were seen at this time.
    pub(super) fn received(&mut self, slot: Slot, received: Received, seen: u64) {
        let begin = match self.robots[slot as usize].state {
            RobotState::Inside => 0,
            _ => match self.hear_joining(slot, received, seen) {
                Some(used) => used,
                None => return,
            },
        };
        let stamp = self.backend.kernel_stamp().and_then(|stamp| self.kernel.at(stamp));
        // Without a ring bytes are read later than they were told of, and more may have come
        // meanwhile. A stamp that is later than now was made by a clock that is set just now.
        let seen = if stamp > Some(seen) { self.backend.now() } else { seen };
        let stamp = stamp.filter(|stamp| *stamp <= seen);
        let Robots {
            backend,
            wire,
            messages,
            seats,
            robots,
            ledger,
            record,
            seen: books,
            time,
            ..
        } = self;
        let bytes = &backend.bytes(received)[begin..];
        record.bytes_received(bytes.len());
        let robot = &mut robots[slot as usize];
        let mut hearing = Hearing {
            slot,
            seats: *seats,
            messages: *messages,
            came: stamp.unwrap_or(seen),
            seen,
            is_stamped: stamp.is_some(),
            window: time.window,
            had: &mut robot.had,
            unconfirmed: &mut robot.unconfirmed,
            ledger,
            record,
            books,
        };
        let mut pushed = |pushed: Pushed<'_>| match pushed {
            Pushed::Message(message) => hearing.hear(message),
            Pushed::Confirmed(number) => hearing.confirmed(number),
        };
        let heard = wire.hear(&mut robot.connection, bytes, &mut robot.own, &mut pushed);
        // Who doesn't read what it asks for would else take as much memory as there is.
        if heard.is_ok() && robot.own.len() > OUTBOX_BYTES {
            let example = "the server doesn't read the answers that it asks for".into();
            return self.lost(slot, &Fault { kind: ErrorKind::ServerError, example });
        }
        match heard {
            Ok(()) => self.send_next(slot),
            Err(fault) => self.heard_no_more(slot, &fault),
        }
    }

    /// What came says that a robot's connection is of no more use.
    fn heard_no_more(&mut self, slot: Slot, fault: &Fault) {
        if fault.kind == ErrorKind::Malformed {
            self.seen.wrong += 1;
            let (robot, now) = (self.seats.robot(slot), self.now());
            First::keep(&mut self.seen.firsts.wrong, now, || {
                format!("to robot {robot}: {}", fault.example)
            });
        }
        self.lost(slot, fault);
    }

    /// Gives up what has taken too long by this time, at which was looked for all that had come.
    pub(super) fn give_up_what_took_too_long(&mut self, looked: u64) {
        let timeout = self.plan.timeout.as_nanos() as u64;
        self.next_scan = looked + (timeout / SCANS).clamp(1_000_000, 100_000_000);
        self.give_up_joining(looked);
        self.withdraw(looked);
        self.ping(looked);
        let Robots { ledger, record, seen, seats, robots, time, plan, .. } = self;
        let now = time.at();
        let is_over = |since| time.watched(since, looked) >= timeout;
        ledger.give_up(is_over, |owed| {
            let (speaker, sequence) = seats.speaker(owed.turn);
            let listener = speaker - seats.member(speaker) + owed.first;
            let example = format!(
                "message {sequence} of robot {} in room {} didn't come to robot {} within {:?}",
                seats.robot(speaker),
                seats.room(speaker),
                seats.robot(listener),
                plan.timeout
            );
            let fault = Fault { kind: ErrorKind::Missing, example };
            if owed.is_confirmed {
                seen.confirmed_missing += 1;
                let example = || format!("{}, though it was confirmed", fault.example);
                First::keep(&mut seen.firsts.confirmed_missing, now, example);
            }
            for _ in 0..owed.members {
                record.error(owed.phase, fault.clone(), now);
            }
            note_unheard(record, seen, owed, now);
        });
        for robot in robots {
            note_unconfirmed(robot.unconfirmed.give_up(is_over), seen, time);
        }
    }

    /// Enters what is still under way in the books.
    pub(super) fn leave_in_flight(&mut self) {
        let Robots { ledger, record, seen, time, .. } = self;
        for owed in ledger.still_under_way() {
            record.account(owed.phase).in_flight += u64::from(owed.members);
            note_unheard(record, seen, owed, time.at());
        }
    }
}

/// Writes down that some members waited for a message until now, and in vain.
fn note_unheard(record: &mut Record, seen: &mut DeliveriesSeen, owed: Owed, now: u64) {
    let Owed { phase, intended, members, .. } = owed;
    let times = Times { intended, begun: intended, sent: intended };
    for _ in 0..members {
        record.censored(phase, times, now, NO_KIND.class);
    }
    if phase == Phase::Window {
        seen.until_all.censored.saturating_record(now.saturating_sub(intended));
    }
}

/// Writes down that messages weren't confirmed until now.
pub(super) fn note_unconfirmed(
    messages: impl Iterator<Item = HandedOver>,
    seen: &mut DeliveriesSeen,
    time: &Now,
) {
    for message in messages.filter(|message| message.intended >= time.window.begin) {
        seen.confirm.censored.saturating_record(time.at() - message.intended);
    }
}

/// A robot that hears what came together.
struct Hearing<'a> {
    slot: Slot,
    seats: Seats,
    messages: Messages,
    /// When it came, as well as that is known.
    came: u64,
    /// When it was seen.
    seen: u64,
    is_stamped: bool,
    window: Window,
    had: &'a mut u64,
    unconfirmed: &'a mut Unconfirmed,
    ledger: &'a mut Ledger,
    record: &'a mut Record,
    books: &'a mut DeliveriesSeen,
}

impl Hearing<'_> {
    fn hear(&mut self, message: &[u8]) {
        let is_in_window = (self.window.begin..self.window.end).contains(&self.seen);
        self.books.messages_received += u64::from(is_in_window);
        let of = match self.messages.read(message) {
            Ok(of) => of,
            Err(why) => return self.wrong(|| format!("{why}: \"{}\"", show(message))),
        };
        let Some(speaker) = self.seats.slot(of.room, of.sender) else { return self.leaked(of) };
        if of.room != self.seats.room(self.slot) {
            return self.leaked(of);
        }
        let turn = self.seats.turn(speaker, of.sequence);
        let member = self.seats.member(self.slot);
        match self.ledger.hear(turn, (self.slot, member), self.came) {
            Arrival::Delivered(delivered) => self.delivered(of, &delivered),
            Arrival::Duplicate => {
                self.books.duplicates += 1;
                let robot = self.seats.robot(self.slot);
                First::keep(&mut self.books.firsts.duplicate, self.seen, || {
                    format!("{} came again to robot {robot}", named(of))
                });
            }
            Arrival::Overdue => self.books.overdue += 1,
            Arrival::Unsaid => self.wrong(|| format!("{}, which nobody has said", named(of))),
        }
    }

    fn delivered(&mut self, of: Spoken, delivered: &Delivered) {
        let &Delivered { phase, intended, is_out_of_order, by_all } = delivered;
        if is_out_of_order {
            self.books.out_of_order += 1;
            let robot = self.seats.robot(self.slot);
            First::keep(&mut self.books.firsts.out_of_order, self.seen, || {
                format!("{} came to robot {robot} behind a later one", named(of))
            });
        }
        let times = Times { intended, begun: intended, sent: intended };
        self.record.answered(phase, times, NO_KIND, None, self.came);
        if phase == Phase::Warmup {
            return;
        }
        *self.had += 1;
        if self.is_stamped {
            self.books.stamped += 1;
            self.record.outcome.seen_late.saturating_record(self.seen - self.came);
        } else {
            self.books.unstamped += 1;
        }
        if let Some((first, last)) = by_all {
            self.books.until_all.good.saturating_record(last.saturating_sub(intended));
            self.books.first_to_last.saturating_record(last - first);
        }
    }

    fn confirmed(&mut self, number: Option<u16>) {
        match self.unconfirmed.confirm(number) {
            Confirmation::Of(HandedOver { sequence, intended, .. }) => {
                self.ledger.confirm(self.seats.turn(self.slot, sequence));
                self.record.said(SaidInSecond { confirmed: 1, ..SaidInSecond::default() });
                if intended >= self.window.begin {
                    let took = self.came.saturating_sub(intended);
                    self.books.confirm.good.saturating_record(took);
                }
            }
            Confirmation::Late => {}
            Confirmation::OfNothing => {
                self.wrong(|| "a message was confirmed a second time, or nobody said it".into());
            }
        }
    }

    fn leaked(&mut self, of: Spoken) {
        self.books.leaked += 1;
        let (robot, room) = (self.seats.robot(self.slot), self.seats.room(self.slot));
        First::keep(&mut self.books.firsts.leaked, self.seen, || {
            format!("{} came to robot {robot}, which is in room {room}", named(of))
        });
    }

    fn wrong(&mut self, what: impl FnOnce() -> String) {
        self.books.wrong += 1;
        let robot = self.seats.robot(self.slot);
        First::keep(&mut self.books.firsts.wrong, self.seen, || {
            format!("to robot {robot}: {}", what())
        });
    }
}

/// A message, as people are told of it.
fn named(of: Spoken) -> String {
    format!("message {} of robot {} in room {}", of.sequence, of.sender, of.room)
}
