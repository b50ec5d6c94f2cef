//! A relay without a network or a clock, for tests: what comes of each message is said before, and
//! what truly happened is counted.

use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, VecDeque};
use std::io;
use std::net::Ipv4Addr;
use std::ops::Range;
use std::rc::Rc;
use std::time::Duration;

use crate::backend::{Backend, Event, Received, Slot};
use crate::pace::clock::Clock;

/// From when a message was sent to when the first member has it.
pub(super) const DELAY_NS: u64 = 50_000;
/// From one member to the next.
pub(super) const GAP_NS: u64 = 1_000;

/// What comes of a message. The member is one of its room, by its number there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lie {
    /// One member doesn't get it.
    Drop(usize),
    /// Only the first gets it.
    ToOneAlone,
    /// One member gets it twice.
    Twice(usize),
    /// It comes behind the next one of the same sender.
    Swap,
    /// Another room gets it too.
    Leak,
    /// One member gets it with another bit, at this byte.
    Bit(usize, usize),
    /// One member gets it so much later.
    Late(usize, u64),
    /// One member gets a frame that is none before it.
    Garbage(usize),
    /// The connection of one member is cut before it.
    Cut(usize),
}

/// What truly happened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Truth {
    pub messages: u64,
    pub missing: u64,
    pub duplicates: u64,
    pub out_of_order: u64,
    pub leaked: u64,
    pub wrong: u64,
    pub overdue: u64,
    pub cut: u32,
}

/// What the next message of a connection comes to.
type Lies = Box<dyn FnMut(Slot) -> Option<Lie>>;

/// The relay with its time. The threads' robots and whoever asks for the truth have it together.
pub(super) struct RelayWorld {
    now: u64,
    /// Time doesn't pass beyond this, though a thread would wait for longer.
    pub passes_until: u64,
    /// What comes when, and which of those was made first; with whether it comes too late.
    coming: BinaryHeap<Reverse<(u64, u64, Slot)>>,
    what: BTreeMap<u64, Happens>,
    /// What has come, and its thread hasn't looked at.
    arrived: VecDeque<(u64, u64, Slot)>,
    made: u64,
    rooms: BTreeMap<u32, Vec<Slot>>,
    room_of: BTreeMap<Slot, u32>,
    /// Messages that come behind the next one of their sender.
    held: BTreeMap<Slot, Vec<u8>>,
    is_cut: BTreeMap<Slot, bool>,
    /// From when until when the kernel takes nothing of this connection but what is sent first.
    pub stuck: Option<(Slot, u64, u64)>,
    /// Whether something was sent there, and isn't taken yet.
    is_taking: bool,
    /// By how many nanoseconds the kernel's stamps are off what the run's clock showed when bytes
    /// came; without it there are none.
    pub stamps: Option<(Clock, i64)>,
    /// Whom nothing is passed on to, which is no lie told of.
    pub deaf: Option<Slot>,
    /// By how much later all is passed on.
    pub slower: u64,
    /// Connections that are refused.
    pub refuses: Option<Slot>,
    /// How often a message is confirmed to its sender, by its number from 1.
    pub confirms: fn(u64) -> usize,
    /// After how many nanoseconds.
    pub confirms_after: u64,
    /// Words of robots that only say that they are there.
    pub pings: u64,
    lie: Lies,
    pub truth: Truth,
}

enum Happens {
    Connected,
    Refused,
    Bytes(Vec<u8>),
    /// The same, when it has been given up.
    Overdue(Vec<u8>),
    Ended,
    Taken,
}

impl RelayWorld {
    pub(super) fn that(lie: impl FnMut(Slot) -> Option<Lie> + 'static) -> Rc<RefCell<RelayWorld>> {
        Rc::new(RefCell::new(RelayWorld {
            now: 1_000_000_000,
            passes_until: u64::MAX,
            coming: BinaryHeap::new(),
            what: BTreeMap::new(),
            arrived: VecDeque::new(),
            made: 0,
            rooms: BTreeMap::new(),
            room_of: BTreeMap::new(),
            held: BTreeMap::new(),
            is_cut: BTreeMap::new(),
            stuck: None,
            is_taking: false,
            stamps: None,
            deaf: None,
            slower: 0,
            refuses: None,
            confirms: |_| 0,
            confirms_after: DELAY_NS,
            pings: 0,
            lie: Box::new(lie),
            truth: Truth::default(),
        }))
    }

    /// What time it is.
    pub(super) fn now(&self) -> u64 {
        self.now
    }

    /// What truly happened, once it is over: what is still held came to nobody.
    pub(super) fn truth(&self) -> Truth {
        let lost = self.held.keys().map(|slot| self.members(*slot).len() as u64).sum::<u64>();
        Truth { missing: self.truth.missing + lost, ..self.truth }
    }

    fn come(&mut self, at: u64, slot: Slot, what: Happens) {
        self.made += 1;
        self.coming.push(Reverse((at, self.made, slot)));
        self.what.insert(self.made, what);
    }

    /// Bytes come in two pieces, of which the first may be cut anywhere.
    fn send_to(&mut self, at: u64, slot: Slot, mut frame: Vec<u8>) {
        if self.is_cut.contains_key(&slot) {
            return;
        }
        let rest = frame.split_off(self.made as usize % (frame.len() + 1));
        for piece in [frame, rest].into_iter().filter(|piece| !piece.is_empty()) {
            self.come(at, slot, Happens::Bytes(piece));
        }
    }

    fn members(&self, slot: Slot) -> Vec<Slot> {
        self.rooms[&self.room_of[&slot]].clone()
    }

    /// A robot sent whole frames.
    fn take(&mut self, slot: Slot, mut bytes: &[u8]) {
        while let [high, low, rest @ ..] = bytes {
            let (frame, left) = rest.split_at(usize::from(u16::from_be_bytes([*high, *low])));
            bytes = left;
            let whole = [&[*high, *low][..], frame].concat();
            match frame {
                [b'J', room @ ..] => {
                    let room = u32::from_be_bytes(room.try_into().unwrap());
                    self.rooms.entry(room).or_default().push(slot);
                    self.room_of.insert(slot, room);
                    self.send_to(self.now + DELAY_NS, slot, whole);
                }
                [b'P'] => self.pings += 1,
                _ => self.pass_on(slot, whole),
            }
        }
    }

    fn pass_on(&mut self, slot: Slot, frame: Vec<u8>) {
        self.truth.messages += 1;
        for _ in 0..(self.confirms)(self.truth.messages) {
            // The last two bytes of the sender's own number of it.
            let confirmation = vec![0, 3, b'C', frame[16], frame[17]];
            self.send_to(self.now + self.confirms_after, slot, confirmation);
        }
        let members = self.members(slot);
        // The message behind one that is held comes to all of them: else nobody could say which
        // of both is the later one.
        let is_held_for = self.held.contains_key(&slot);
        let lie = (self.lie)(slot).filter(|_| !is_held_for);
        if lie == Some(Lie::Swap) {
            self.held.insert(slot, frame);
            return;
        }
        if let Some(Lie::Cut(member)) = lie {
            self.cut(members[member % members.len()]);
        }
        let (first, room) = (self.now + DELAY_NS + self.slower, self.room_of[&slot]);
        for (nth, &member) in members.iter().enumerate() {
            let at = first + nth as u64 * GAP_NS;
            self.pass_on_to((nth, members.len()), (at, member), lie, &frame);
        }
        if lie == Some(Lie::Leak) {
            let others = self.rooms.iter().find(|(other, _)| **other != room);
            let others = others.map_or_else(Vec::new, |(_, members)| members.clone());
            for other in others {
                self.truth.leaked += u64::from(!self.is_cut.contains_key(&other));
                self.send_to(first + GAP_NS * 100, other, frame.clone());
            }
        }
        if let Some(before) = self.held.remove(&slot) {
            for (nth, &member) in members.iter().enumerate() {
                let is_cut = self.is_cut.contains_key(&member);
                self.truth.out_of_order += u64::from(!is_cut);
                self.truth.missing += u64::from(is_cut);
                self.send_to(first + nth as u64 * GAP_NS, member, before.clone());
            }
        }
    }

    /// A robot ended its connection.
    fn leave(&mut self, slot: Slot) {
        if !self.is_cut.contains_key(&slot)
            && let Some(room) = self.room_of.remove(&slot)
        {
            self.rooms.get_mut(&room).expect("it came in").retain(|member| *member != slot);
        }
    }

    /// Cuts a connection.
    pub(super) fn cut(&mut self, member: Slot) {
        if self.is_cut.insert(member, true).is_none() {
            self.truth.cut += 1;
            self.come(self.now, member, Happens::Ended);
        }
    }

    fn pass_on_to(
        &mut self,
        (nth, of): (usize, usize),
        (at, member): (u64, Slot),
        lie: Option<Lie>,
        frame: &[u8],
    ) {
        let is = |number: usize| number % of == nth;
        if self.deaf == Some(member) {
            return;
        }
        if self.is_cut.contains_key(&member) {
            self.truth.missing += 1;
            return;
        }
        match lie {
            Some(Lie::Drop(number)) if is(number) => self.truth.missing += 1,
            Some(Lie::ToOneAlone) if nth > 0 => self.truth.missing += 1,
            Some(Lie::Late(number, by)) if is(number) => {
                self.truth.missing += 1;
                self.come(at + by, member, Happens::Overdue(frame.to_vec()));
            }
            Some(Lie::Bit(number, byte)) if is(number) => {
                (self.truth.missing, self.truth.wrong) =
                    (self.truth.missing + 1, self.truth.wrong + 1);
                let mut other = frame.to_vec();
                let place = 2 + byte % (frame.len() - 2);
                other[place] ^= 1 << (byte % 8);
                self.send_to(at, member, other);
            }
            Some(Lie::Twice(number)) if is(number) => {
                self.truth.duplicates += 1;
                self.send_to(at, member, frame.to_vec());
                self.send_to(at, member, frame.to_vec());
            }
            Some(Lie::Garbage(number)) if is(number) => {
                self.truth.wrong += 1;
                self.send_to(at, member, vec![0, 3, b'M', 0, 0]);
                self.send_to(at, member, frame.to_vec());
            }
            _ => self.send_to(at, member, frame.to_vec()),
        }
    }
}

/// A thread's backend whose kernel, network and server are the relay.
pub(super) struct Relay {
    pub world: Rc<RefCell<RelayWorld>>,
    /// The thread's slots, by their numbers among those of all threads.
    slots: Range<Slot>,
    bytes: Vec<u8>,
    ready: VecDeque<(u64, u64, Slot)>,
    /// Slots that are paused, and what has come to them.
    paused: BTreeSet<Slot>,
    unread: VecDeque<(u64, u64, Slot)>,
}

impl Relay {
    pub(super) fn of(world: &Rc<RefCell<RelayWorld>>, slots: Range<Slot>) -> Relay {
        Relay {
            world: world.clone(),
            slots,
            bytes: Vec::new(),
            ready: VecDeque::new(),
            paused: BTreeSet::new(),
            unread: VecDeque::new(),
        }
    }
}

impl Backend for Relay {
    fn now(&self) -> u64 {
        self.world.borrow().now
    }

    fn connect(&mut self, slot: Slot, _: Option<Ipv4Addr>) -> io::Result<Option<u64>> {
        let slot = self.slots.start + slot;
        let mut world = self.world.borrow_mut();
        let what = if world.refuses == Some(slot) { Happens::Refused } else { Happens::Connected };
        let at = world.now + DELAY_NS;
        world.come(at, slot, what);
        Ok(None)
    }

    fn receive_more(&mut self, _: Slot, _: u64) {}

    unsafe fn send(&mut self, slot: Slot, bytes: *const [u8]) -> Option<u64> {
        let slot = self.slots.start + slot;
        let mut world = self.world.borrow_mut();
        // SAFETY: the caller keeps them until they are sent, and this reads them now.
        world.take(slot, unsafe { &*bytes });
        if let Some((stuck, from, until)) = world.stuck
            && stuck == slot
            && (from..until).contains(&world.now)
        {
            world.is_taking = true;
            world.come(until, slot, Happens::Taken);
        }
        None
    }

    fn is_sending(&self, slot: Slot) -> bool {
        let world = self.world.borrow();
        let slot = self.slots.start + slot;
        world.is_taking && world.stuck.is_some_and(|(stuck, ..)| stuck == slot)
    }

    fn unsent_bytes(&self, _: Slot) -> u64 {
        0
    }

    fn pause(&mut self, slot: Slot) {
        self.paused.insert(self.slots.start + slot);
    }

    fn resume(&mut self, slot: Slot) {
        let slot = self.slots.start + slot;
        self.paused.remove(&slot);
        let all = std::mem::take(&mut self.unread);
        let (read, unread): (VecDeque<_>, VecDeque<_>) =
            all.into_iter().partition(|it| it.2 == slot);
        self.unread = unread;
        let now = self.now();
        self.ready.extend(read.into_iter().map(|(_, made, slot)| (now, made, slot)));
    }

    fn close(&mut self, slot: Slot) {
        let slot = self.slots.start + slot;
        let mut world = self.world.borrow_mut();
        self.ready.retain(|(_, _, other)| *other != slot);
        self.unread.retain(|(_, _, other)| *other != slot);
        world.leave(slot);
        let gone: Vec<u64> =
            world.coming.iter().filter(|it| it.0.2 == slot).map(|it| it.0.1).collect();
        gone.iter().for_each(|made| drop(world.what.remove(made)));
        world.coming.retain(|it| it.0.2 != slot);
        world.arrived.retain(|(_, _, other)| *other != slot);
    }

    fn wait(&mut self, at_most: Duration) -> io::Result<u64> {
        let mut world = self.world.borrow_mut();
        let until = (world.now + at_most.as_nanos() as u64).min(world.passes_until);
        let next = world.coming.peek().map_or(u64::MAX, |it| it.0.0);
        let until = if self.ready.is_empty() { until } else { world.now };
        world.now = world.now.max(until.min(next));
        while let Some(Reverse(next)) = world.coming.peek().copied()
            && next.0 <= world.now
        {
            world.coming.pop();
            world.arrived.push_back(next);
        }
        let is_own = |(_, _, slot): &(u64, u64, Slot)| self.slots.contains(slot);
        self.ready.extend(world.arrived.iter().copied().filter(is_own));
        world.arrived.retain(|it| !is_own(it));
        Ok(world.now)
    }

    fn next(&mut self) -> Option<(u64, Event)> {
        let (at, made, slot) = loop {
            let next = self.ready.pop_front()?;
            if !self.paused.contains(&next.2) {
                break next;
            }
            self.unread.push_back(next);
        };
        let mut world = self.world.borrow_mut();
        let (what, slot) = (world.what.remove(&made), slot - self.slots.start);
        let event = match what.expect("it is there until it comes") {
            Happens::Connected => Event::Connected(slot),
            Happens::Refused => Event::ConnectFailed(slot, libc::ECONNREFUSED),
            Happens::Ended => Event::Ended(slot),
            Happens::Taken => {
                world.is_taking = false;
                Event::Sent(slot)
            }
            Happens::Bytes(bytes) => {
                self.bytes = bytes;
                Event::Received(slot, Received::whole(self.bytes.len()))
            }
            Happens::Overdue(bytes) => {
                world.truth.overdue += 1;
                self.bytes = bytes;
                Event::Received(slot, Received::whole(self.bytes.len()))
            }
        };
        Some((at, event))
    }

    fn bytes(&self, _: Received) -> &[u8] {
        &self.bytes
    }

    fn kernel_stamp(&self) -> Option<Duration> {
        let world = self.world.borrow();
        let (clock, off) = world.stamps?;
        let shown = world.now.saturating_add_signed(off);
        let began = std::iter::repeat_with(|| clock.began_unix()).flatten().next()?;
        Some(began + Duration::from_nanos(shown))
    }

    fn syn_retransmits(&self, _: Slot) -> u64 {
        0
    }
}
