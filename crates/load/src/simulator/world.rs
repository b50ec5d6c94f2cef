//! The clock, the events to come, and what truly happened.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

use super::server::{self, Answered, Deed, Part, Temper, Written};
use crate::backend::Slot;

/// A connection that is lost meanwhile has another number.
pub(super) type Generation = u32;

/// What is to happen on a connection.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Happening {
    Connected,
    Refused,
    /// These bytes come.
    Bytes(Vec<u8>, Part),
    /// What was sent is taken whole.
    Sent,
    Ended,
    Reset,
}

/// An event of a thread's connection, in the order of time.
type Coming = Reverse<(u64, u64, Slot, Generation, Happening)>;

/// What one end of a connection has of it.
#[derive(Debug, Default)]
struct Link {
    generation: Generation,
    /// Whether the server still listens.
    is_open: bool,
    /// Bytes that the server has yet to make something of.
    heard: Vec<u8>,
    /// Until when an answer that was promised takes.
    answers_until: u64,
    /// Bytes that the kernel hasn't taken yet.
    unsent: Vec<u8>,
    /// Whether the client was told that this connection is closed after an answer.
    told_to_close: bool,
    /// The answer that has come if the connection ends now.
    until_close: Option<Answered>,
    /// Requests that were sent and whose answers didn't come yet, with when.
    asked: VecDeque<(u64, u64)>,
}

/// What truly became of a request.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Fate {
    /// When it was sent first.
    pub sent: u64,
    /// When its good answer came.
    pub came: u64,
    /// How often the server had it whole.
    pub asked: u32,
    /// The bytes that it had of it, all times.
    pub bytes: u64,
    /// How often its good answer came.
    pub good: u32,
    /// How often an answer came that isn't good.
    pub bad: u32,
}

/// All that is not the client.
#[derive(Debug)]
pub(super) struct World {
    now: u64,
    by: SmallRng,
    temper: Temper,
    nth: u64,
    coming: Vec<BinaryHeap<Coming>>,
    links: Vec<Vec<Link>>,
    pub fates: BTreeMap<u64, Fate>,
    /// Nanoseconds for which requests whose answer came were under way, added up.
    pub under_way_ns: u64,
    /// How many had such an answer.
    pub answered: u64,
    /// Answers whose connection ended before their last byte, which is how they end.
    pub cut_short: u64,
    /// Sends on connections of which the client knew that they are closed.
    pub sent_in_vain: u64,
}

impl World {
    pub(super) fn new(seed: u64, temper: Temper, threads: usize, connections: u32) -> World {
        let links = || (0..connections).map(|_| Link::default()).collect();
        World {
            now: 1_000_000_000,
            by: SmallRng::seed_from_u64(!seed),
            temper,
            nth: 0,
            coming: (0..threads).map(|_| BinaryHeap::new()).collect(),
            links: (0..threads).map(|_| links()).collect(),
            fates: BTreeMap::new(),
            under_way_ns: 0,
            answered: 0,
            cut_short: 0,
            sent_in_vain: 0,
        }
    }

    pub(super) fn now(&self) -> u64 {
        self.now
    }

    /// The time passes to this; gives until when the thread that goes on then is busy.
    pub(super) fn pass_to(&mut self, at: u64) -> u64 {
        self.now = self.now.max(at);
        let busy = self.by.random_range(0..5_000);
        let away = if self.chance(self.temper.away) { 25_000_000 } else { 0 };
        self.now + busy + away
    }

    pub(super) fn next_event_of(&self, thread: usize) -> Option<u64> {
        self.coming[thread].peek().map(|Reverse((at, ..))| *at)
    }

    /// The next event of a thread that has come by now, with when; those of connections that
    /// are gone are none.
    pub(super) fn take_event(&mut self, thread: usize) -> Option<(u64, Slot, Happening)> {
        while let Some(Reverse((at, ..))) = self.coming[thread].peek() {
            if *at > self.now {
                return None;
            }
            let Reverse((at, _, slot, generation, event)) = self.coming[thread].pop()?;
            let link = &mut self.links[thread][slot as usize];
            if link.generation != generation {
                continue;
            }
            match &event {
                Happening::Sent => self.takes_all(thread, slot),
                Happening::Bytes(_, Part::Last(answered)) => {
                    self.comes(thread, slot, *answered, at);
                }
                Happening::Bytes(_, Part::UntilClose(answered)) => {
                    link.until_close = Some(*answered);
                }
                Happening::Ended => {
                    link.told_to_close = true;
                    if let Some(answered) = link.until_close.take() {
                        self.comes(thread, slot, answered, at);
                    }
                }
                _ => {}
            }
            return Some((at, slot, event));
        }
        None
    }

    pub(super) fn connect(&mut self, thread: usize, slot: Slot) {
        let takes = self.by.random_range(1_000..300_000);
        let link = &mut self.links[thread][slot as usize];
        *link = Link { generation: link.generation + 1, is_open: true, ..Link::default() };
        let (refuses, deaf) = (self.chance(self.temper.refuses), self.chance(self.temper.deaf));
        if deaf {
            return;
        }
        self.happens(
            thread,
            slot,
            takes,
            if refuses { Happening::Refused } else { Happening::Connected },
        );
        if !refuses && self.chance(self.temper.tires) {
            let after = self.by.random_range(0..20_000_000);
            self.happens(thread, slot, takes + after, Happening::Ended);
        }
    }

    pub(super) fn send(&mut self, thread: usize, slot: Slot, bytes: &[u8]) {
        let is_narrow = self.chance(self.temper.narrow);
        let at_once = if is_narrow { self.by.random_range(0..bytes.len()) } else { bytes.len() };
        let link = &mut self.links[thread][slot as usize];
        self.sent_in_vain += u64::from(link.told_to_close);
        link.unsent = bytes[at_once..].to_vec();
        link.heard.extend_from_slice(&bytes[..at_once]);
        if is_narrow {
            let takes = self.by.random_range(1_000..500_000);
            self.happens(thread, slot, takes, Happening::Sent);
        }
        self.answer(thread, slot);
    }

    pub(super) fn unsent_bytes(&self, thread: usize, slot: Slot) -> usize {
        self.links[thread][slot as usize].unsent.len()
    }

    pub(super) fn close(&mut self, thread: usize, slot: Slot) {
        let link = &mut self.links[thread][slot as usize];
        *link = Link { generation: link.generation + 1, ..Link::default() };
    }

    /// The rest of a send is taken.
    fn takes_all(&mut self, thread: usize, slot: Slot) {
        let link = &mut self.links[thread][slot as usize];
        let rest = std::mem::take(&mut link.unsent);
        link.heard.extend(rest);
        self.answer(thread, slot);
    }

    /// An answer comes to its end.
    fn comes(&mut self, thread: usize, slot: Slot, answered: Answered, at: u64) {
        let link = &mut self.links[thread][slot as usize];
        link.told_to_close |= answered.closes;
        let fate = self.fates.entry(answered.number).or_default();
        if answered.is_good {
            fate.good += 1;
            fate.came = at;
        } else {
            fate.bad += 1;
            self.cut_short += u64::from(answered.is_short);
        }
        if let Some((_, since)) = link.asked.pop_front() {
            self.under_way_ns += at - since;
            self.answered += 1;
        }
    }

    /// The server makes something of what it heard.
    fn answer(&mut self, thread: usize, slot: Slot) {
        let now = self.now;
        loop {
            let link = &mut self.links[thread][slot as usize];
            if !link.is_open {
                return;
            }
            let Some((number, bytes)) = server::take_request(&mut link.heard) else { return };
            link.asked.push_back((number, now));
            let fate = self.fates.entry(number).or_default();
            fate.sent = if fate.asked == 0 { now } else { fate.sent };
            fate.asked += 1;
            fate.bytes += bytes as u64;
            let is_never = self.temper.never == Some(number);
            let deed = if is_never { Deed::Silence } else { self.temper.deed(&mut self.by) };
            let delay = self.temper.delay(&mut self.by);
            let has_length = !self.chance(self.temper.endless);
            let link = &mut self.links[thread][slot as usize];
            link.answers_until = (now + delay).max(link.answers_until);
            let due = link.answers_until - now;
            let goes_on = matches!(deed, Deed::Answer | Deed::AnswerAndSpeak | Deed::Fail);
            link.is_open = goes_on && has_length;
            self.does(thread, slot, number, (deed, has_length), due);
        }
    }

    /// The server does something with a request after so long; its answer, if there is one, has
    /// a length or ends with the connection.
    fn does(
        &mut self,
        thread: usize,
        slot: Slot,
        number: u64,
        (deed, has_length): (Deed, bool),
        due: u64,
    ) {
        let answer = Written::new(number, deed, has_length, &mut self.by);
        let length = answer.bytes.len();
        match deed {
            Deed::Silence => {}
            Deed::Cut => self.happens(thread, slot, due, Happening::Ended),
            Deed::Reset => self.happens(thread, slot, due, Happening::Reset),
            Deed::CutWithin => {
                let end = self.by.random_range(1..length);
                let last = self.comes_up_to(end, thread, slot, due, &answer);
                self.happens(thread, slot, last, Happening::Ended);
            }
            Deed::ResetWithin => {
                // One without a length lacks its end even when all its bytes have come.
                let end = self.by.random_range(1..length + usize::from(!has_length));
                let last = self.comes_up_to(end, thread, slot, due, &answer);
                self.happens(thread, slot, last, Happening::Reset);
            }
            Deed::Answer | Deed::AnswerAndClose | Deed::AnswerAndSpeak | Deed::Fail => {
                let last = self.comes_up_to(length, thread, slot, due, &answer);
                if deed == Deed::AnswerAndClose || !has_length {
                    let after = self.by.random_range(0..500_000);
                    self.happens(thread, slot, last + after, Happening::Ended);
                } else if deed == Deed::AnswerAndSpeak {
                    self.speaks(thread, slot, last);
                }
            }
        }
    }

    /// The server speaks once more after that, though nobody asked, and may end the connection.
    fn speaks(&mut self, thread: usize, slot: Slot, last: u64) {
        self.links[thread][slot as usize].is_open = false;
        let after = last + self.by.random_range(0..1_000_000);
        let words = b"HTTP/1.1 408 Request Timeout\r\n\r\n".to_vec();
        self.happens(thread, slot, after, Happening::Bytes(words, Part::Within));
        if self.by.random_bool(0.5) {
            self.happens(thread, slot, after, Happening::Ended);
        }
    }

    /// An answer comes after so long up to its byte with this number, at once or in two parts;
    /// gives when the last one does.
    fn comes_up_to(
        &mut self,
        end: usize,
        thread: usize,
        slot: Slot,
        due: u64,
        answer: &Written,
    ) -> u64 {
        let bytes = |from: usize, to: usize| {
            Happening::Bytes(answer.bytes[from..to].to_vec(), answer.part(to))
        };
        if end < 2 || !self.chance(self.temper.parts) {
            self.happens(thread, slot, due, bytes(0, end));
            return due;
        }
        let cut = self.by.random_range(1..end);
        let later = due + self.by.random_range(0..200_000);
        self.happens(thread, slot, due, bytes(0, cut));
        self.happens(thread, slot, later, bytes(cut, end));
        let link = &mut self.links[thread][slot as usize];
        link.answers_until = link.answers_until.max(self.now + later);
        later
    }

    fn happens(&mut self, thread: usize, slot: Slot, after: u64, event: Happening) {
        self.nth += 1;
        let generation = self.links[thread][slot as usize].generation;
        let at = self.now + after;
        self.coming[thread].push(Reverse((at, self.nth, slot, generation, event)));
    }

    fn chance(&mut self, share: f64) -> bool {
        share > 0.0 && self.by.random_bool(share)
    }
}
