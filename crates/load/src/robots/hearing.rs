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
        // A thread tells of a message before it goes out.
        self.hear_others();
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
            joined,
            words,
            ledgers,
            slow,
            others,
            shared,
            record,
            rooms,
            seen: books,
            time,
            ..
        } = self;
        let bytes = &backend.bytes(received)[begin..];
        record.bytes_received(bytes.len());
        let robot = &mut robots[slot as usize];
        let own_room = seats.own_room(slot) as usize;
        let room = own_room * *words;
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
            room: &mut rooms[own_room].seen,
            joined: &joined[room..room + *words],
            ledgers,
            is_slow: slow.as_ref().is_some_and(|slow| slow.has(slot)),
            slow: slow.as_deref_mut(),
            others,
            shared: *shared,
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
        self.give_up_on_slow_robots(looked);
        for number in 0..self.ledgers.len() as u32 {
            let of = self.speaks(number);
            let Robots { ledgers, record, seen, time, plan, seats, .. } = self;
            let (now, mut unheard) = (time.at(), Vec::new());
            let is_over = |since| time.watched(since, looked) >= timeout;
            ledgers[number as usize].give_up(is_over, |owed| {
                let (speaker, sequence) = of.speaker(owed.turn);
                let example = format!(
                    "message {sequence} of robot {} in room {} didn't come to robot {} within {:?}",
                    of.robot(speaker),
                    of.room(speaker),
                    seats.robot_of(of.own_room(speaker), owed.first),
                    plan.timeout
                );
                let fault = Fault { kind: ErrorKind::Missing, example };
                if owed.is_confirmed {
                    let example = || format!("{}, though it was confirmed", fault.example);
                    First::keep(&mut seen.firsts.confirmed_missing, now, example);
                }
                for _ in 0..owed.members {
                    record.error(owed.phase, fault.clone(), now);
                }
                unheard.push(owed);
            });
            for owed in unheard {
                let room = of.own_room(of.speaker(owed.turn).0);
                if owed.phase == Phase::Window {
                    self.rooms[room as usize].seen.missing += u64::from(owed.members);
                }
                self.note_unheard(number, owed, owed.is_confirmed);
            }
        }
        let Robots { robots, seen, time, .. } = self;
        for robot in robots {
            let is_over = |since| time.watched(since, looked) >= timeout;
            note_unconfirmed(robot.unconfirmed.give_up(is_over), seen, time);
        }
    }

    /// Enters what is still under way in the books.
    pub(super) fn leave_in_flight(&mut self) {
        for number in 0..self.ledgers.len() as u32 {
            let left: Vec<Owed> = self.ledgers[number as usize].still_under_way().collect();
            for owed in left {
                self.record.account(owed.phase).in_flight += u64::from(owed.members);
                // What is still awaited isn't missing, confirmed or not.
                self.note_unheard(number, owed, false);
            }
        }
        if let Some(slow) = &mut self.slow {
            slow.seen.in_flight = slow.under_way();
        }
    }

    /// Writes down that some members waited for a message until now, and in vain; and whether it is
    /// missing though it was confirmed.
    fn note_unheard(&mut self, number: u32, owed: Owed, is_confirmed_missing: bool) {
        let Owed { turn, phase, intended, members, .. } = owed;
        let (now, times) = (self.now(), Times { intended, begun: intended, sent: intended });
        for _ in 0..members {
            self.record.censored(phase, times, now, NO_KIND.class);
        }
        let others = self.slow.as_mut().and_then(|slow| slow.others(intended));
        if let (Some(others), Phase::Window) = (others, phase) {
            others.censored.saturating_record_n(now.saturating_sub(intended), members.into());
        }
        let here = Settled::Lacking { until: now, is_confirmed_missing };
        self.settle((number, turn), (phase, intended), here);
    }

    /// Writes down how a message fared with the members here, or with all once that is known.
    pub(super) fn settle(
        &mut self,
        (number, turn): (u32, u64),
        (phase, intended): (Phase, u64),
        here: Settled,
    ) {
        let of = self.speaks(number);
        let room = of.own_room(of.speaker(turn).0);
        let fate = match self.shared {
            Some(shared) => {
                let members = ones(&self.joined[self.members_of(room)]) as u32;
                if members == 0 {
                    return;
                }
                shared.settle(self.seats.room_of_all(room), (number, turn), (members, here))
            }
            None => Some(here),
        };
        note_fate(&mut self.seen, (phase, intended), fate);
    }
}

/// Writes down how a message fared with all members, once that is known. A message counts once as
/// confirmed and missing, however many lack it on however many threads.
fn note_fate(seen: &mut DeliveriesSeen, (phase, intended): (Phase, u64), fate: Option<Settled>) {
    if let Some(Settled::Lacking { is_confirmed_missing: true, .. }) = fate {
        seen.confirmed_missing += 1;
    }
    match fate.filter(|_| phase == Phase::Window) {
        Some(Settled::Whole { first, last }) => {
            seen.until_all.good.saturating_record(last.saturating_sub(intended));
            seen.first_to_last.saturating_record(last.saturating_sub(first));
        }
        Some(Settled::Lacking { until, .. }) => {
            seen.until_all.censored.saturating_record(until.saturating_sub(intended));
        }
        None => {}
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
    /// How its room fares.
    room: &'a mut RoomSeen,
    /// The members of its room that are here.
    joined: &'a [u64],
    ledgers: &'a mut [Ledger],
    is_slow: bool,
    slow: Option<&'a mut SlowRobots>,
    others: &'a Others,
    shared: Option<&'a SharedRooms>,
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
        if of.room != self.seats.room(self.slot) {
            return self.leaked(of);
        }
        let thread = self.seats.thread_of(of.sender);
        let number = self.seats.ledger_of(thread);
        let seats = self.seats.of_thread(thread);
        let Some(speaker) = seats.slot(of.room, of.sender) else { return self.leaked(of) };
        let turn = seats.turn(speaker, of.sequence);
        let member = self.seats.own_member(self.slot);
        if self.is_slow && self.hear_apart(of, (number, turn), member) {
            return;
        }
        let ledger = &mut self.ledgers[number as usize];
        match ledger.hear(turn, (self.slot, member), self.came) {
            Arrival::Delivered(delivered) => self.delivered(of, (number, turn), &delivered),
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

    /// A slow robot heard a message; whether that stands apart.
    fn hear_apart(&mut self, of: Spoken, (number, turn): (u32, u64), member: u32) -> bool {
        let Some(slow) = &mut self.slow else { return false };
        let Some(ledger) = slow.ledger(number) else { return false };
        match ledger.hear(turn, (self.slot, member), self.came) {
            Arrival::Delivered(delivered) => {
                slow.seen.came += 1;
                self.note_order(of, delivered.is_out_of_order);
                true
            }
            Arrival::Overdue => {
                slow.seen.overdue += 1;
                true
            }
            // It may be owed as to all.
            Arrival::Duplicate | Arrival::Unsaid => false,
        }
    }

    fn note_order(&mut self, of: Spoken, is_out_of_order: bool) {
        if is_out_of_order {
            self.books.out_of_order += 1;
            let robot = self.seats.robot(self.slot);
            First::keep(&mut self.books.firsts.out_of_order, self.seen, || {
                format!("{} came to robot {robot} behind a later one", named(of))
            });
        }
    }

    fn delivered(&mut self, of: Spoken, said: (u32, u64), delivered: &Delivered) {
        let &Delivered { phase, intended, is_out_of_order, by_all } = delivered;
        self.note_order(of, is_out_of_order);
        let times = Times { intended, begun: intended, sent: intended };
        self.record.answered(phase, times, NO_KIND, None, self.came);
        if phase == Phase::Window {
            self.note_had(intended);
        }
        if let Some((first, last)) = by_all {
            let here = Settled::Whole { first, last };
            let fate = match self.shared {
                Some(shared) => shared.settle(of.room, said, (ones(self.joined) as u32, here)),
                None => Some(here),
            };
            note_fate(self.books, (phase, intended), fate);
        }
    }

    /// The robot has a message of the window that was due then.
    fn note_had(&mut self, intended: u64) {
        *self.had += 1;
        self.room.delivered += 1;
        self.room.longest = self.room.longest.max(self.came.saturating_sub(intended));
        let others = self.slow.as_mut().filter(|_| !self.is_slow);
        if let Some(others) = others.and_then(|slow| slow.others(intended)) {
            others.good.saturating_record(self.came.saturating_sub(intended));
        }
        if self.is_stamped {
            self.books.stamped += 1;
            self.record.outcome.seen_late.saturating_record(self.seen - self.came);
        } else {
            self.books.unstamped += 1;
        }
    }

    /// The server confirmed a message of the robot. Other threads may have members who lack it.
    fn confirmed(&mut self, number: Option<u16>) {
        match self.unconfirmed.confirm(number) {
            Confirmation::Of(HandedOver { sequence, intended, .. }) => {
                let turn = self.seats.turn(self.slot, sequence);
                let own = self.seats.ledger_of(self.seats.thread());
                self.ledgers[own as usize].confirm(turn);
                self.others.tell(Word::Confirmed { turn });
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
