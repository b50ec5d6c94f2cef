//! Robots that hang: for some time of the window they read nothing, and from then on they say
//! nothing.
//!
//! What they are owed from then on stands in books of its own, since it is our doing if it comes
//! late. They go on reading until they have what they were owed before, and until the server has
//! confirmed what they said: so nothing of theirs that stands in the account of all is late because
//! of that.

use std::sync::Arc;

use super::*;
use crate::outcome::slow::SlowSeen;
use crate::plan::Slow;

/// After so long it is looked again whether slow robots have what they were owed before.
const LOOKED_AFTER_NS: u64 = 1_000_000;

/// A thread's slow robots.
pub(super) struct SlowRobots {
    asked: Slow,
    stage: SlowStage,
    /// From when until when they hang, once the window is known.
    from: u64,
    until: u64,
    /// Which they are, in ascending order.
    slots: Arc<[Slot]>,
    /// By room of this thread, a bit for each member that is one.
    bits: Box<[u64]>,
    /// What they are owed since they were taken apart: as the ledgers of all.
    ledgers: Vec<Ledger>,
    pub seen: SlowSeen,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SlowStage {
    /// They are as all others.
    Before,
    /// What they are owed stands apart. They read until they have what was owed to them before.
    Apart,
    /// They read nothing.
    Paused,
    /// They read again.
    Reading,
}

/// Which robots of these seats are slow, in ascending order.
pub(crate) fn slow_slots(slow: Option<Slow>, seats: Seats) -> Arc<[Slot]> {
    let is_slow = |slow: Slow, slot: &Slot| slow.has(seats.robot(*slot), seats.robots_of_all());
    match slow {
        Some(slow) => (0..seats.robots()).filter(|slot| is_slow(slow, slot)).collect(),
        None => [].into(),
    }
}

impl SlowRobots {
    pub(super) fn of(asked: Slow, seats: Seats) -> SlowRobots {
        let slots = slow_slots(Some(asked), seats);
        let words = words(seats.own_members());
        let mut bits: Box<[u64]> = vec![0; seats.own_rooms() as usize * words].into();
        for slot in slots.iter().copied() {
            let (word, bit) = bit(seats.own_member(slot));
            bits[seats.own_room(slot) as usize * words + word] |= bit;
        }
        SlowRobots {
            asked,
            stage: SlowStage::Before,
            from: u64::MAX,
            until: u64::MAX,
            slots,
            bits,
            ledgers: Vec::new(),
            seen: SlowSeen::default(),
        }
    }

    /// The window is this one.
    pub(super) fn begin(&mut self, window: Window) {
        self.from = window.begin + self.asked.from.as_nanos() as u64;
        self.until = window.begin + self.asked.until.as_nanos() as u64;
    }

    /// Whether a robot is one of them.
    pub(super) fn has(&self, slot: Slot) -> bool {
        self.slots.binary_search(&slot).is_ok()
    }

    /// Whether what they are owed stands apart.
    pub(super) fn are_apart(&self) -> bool {
        self.stage != SlowStage::Before
    }

    /// The bits of those of a room whose words begin there, if they stand apart.
    pub(super) fn apart(&self, room: std::ops::Range<usize>) -> Option<&[u64]> {
        self.are_apart().then(|| &self.bits[room])
    }

    /// The ledger with this number of what they are owed apart.
    pub(super) fn ledger(&mut self, number: u32) -> Option<&mut Ledger> {
        self.ledgers.get_mut(number as usize)
    }

    /// A message was handed over that these members of a room are owed, whose words begin there;
    /// gives to how many of them it is owed as to all.
    pub(super) fn hand_over(
        &mut self,
        (ledger, number): (&mut Ledger, u32),
        (turn, at): (u64, u64),
        (joined, begin): (&[u64], usize),
    ) -> u32 {
        let both = joined.iter().zip(&self.bits[begin..]);
        let (slow, others): (Vec<u64>, Vec<u64>) =
            both.map(|(joined, slow)| (joined & slow, joined & !slow)).unzip();
        let owed = self.ledgers[number as usize].hand_over(turn, at, &slow);
        self.seen.owed += u64::from(owed);
        ledger.hand_over(turn, at, &others)
    }

    /// Where the times of deliveries to others stand whose message was due then; `None` once the
    /// slow ones read again.
    pub(super) fn others(&mut self, intended: u64) -> Option<&mut Latency> {
        match intended {
            before if before < self.from => Some(&mut self.seen.before),
            meanwhile if meanwhile < self.until => Some(&mut self.seen.meanwhile),
            _ => None,
        }
    }

    /// So many deliveries that were due then are never handed over.
    pub(super) fn note_shed(&mut self, intended: u64, deliveries: u64) {
        if (self.from..self.until).contains(&intended) {
            self.seen.shed += deliveries;
        }
    }

    /// Deliveries to them under way.
    pub(super) fn under_way(&self) -> u64 {
        self.ledgers.iter().map(Ledger::under_way).sum()
    }
}

impl<B: Backend, W: Pushing> Robots<'_, B, W> {
    /// Whether a robot is slow, and what it is owed stands apart.
    pub(super) fn is_apart(&self, slot: Slot) -> bool {
        self.slow.as_ref().is_some_and(|slow| slow.are_apart() && slow.has(slot))
    }

    /// Whether a robot hangs now.
    pub(super) fn is_hanging(&self, slot: Slot) -> bool {
        self.slow.as_ref().is_some_and(|slow| slow.stage == SlowStage::Paused && slow.has(slot))
    }

    /// Has slow robots hang and read again at their times; gives when it is next to be looked.
    pub(super) fn see_to_slow_robots(&mut self) -> u64 {
        let now = self.now();
        if self
            .slow
            .as_ref()
            .is_some_and(|slow| slow.stage == SlowStage::Before && now >= slow.from)
        {
            self.take_slow_robots_apart();
        }
        let Robots { slow: Some(slow), ledgers, backend, wire, robots, words, seats, .. } = self
        else {
            return u64::MAX;
        };
        let is_owed_before = || {
            (0..).zip(&*ledgers).any(|(number, ledger): (u32, _)| {
                let of = if seats.are_dealt() { seats.of_thread(number) } else { *seats };
                ledger.owes(|turn| {
                    let begin = of.own_room(of.speaker(turn).0) as usize * *words;
                    &slow.bits[begin..begin + *words]
                })
            })
        };
        let is_to_be_confirmed = || {
            slow.slots.iter().any(|slot| {
                let robot = &robots[*slot as usize];
                robot.unconfirmed.are_some() || wire.confirms() && !robot.waiting.is_empty()
            })
        };
        let may_hang = slow.stage == SlowStage::Apart && now < slow.until;
        if may_hang && !is_owed_before() && !is_to_be_confirmed() {
            slow.stage = SlowStage::Paused;
            for slot in slow.slots.iter().copied() {
                if robots[slot as usize].state == RobotState::Inside {
                    backend.pause(slot);
                }
            }
        }
        let (stage, from, until) = (slow.stage, slow.from, slow.until);
        match stage {
            SlowStage::Before => from,
            SlowStage::Apart | SlowStage::Paused if now >= until => {
                self.read_again();
                u64::MAX
            }
            SlowStage::Apart => now + LOOKED_AFTER_NS,
            SlowStage::Paused => until,
            SlowStage::Reading => u64::MAX,
        }
    }

    /// From now on what slow robots are owed stands apart. It was counted among all of messages
    /// that their senders still have.
    fn take_slow_robots_apart(&mut self) {
        let beside = self.ledgers.iter().map(Ledger::beside).collect();
        let mut fewer = [0; 2];
        for (number, ledger) in (0..).zip(&self.ledgers) {
            let of = self.speaks(number);
            for turn in ledger.waiting() {
                let members = self.members_of(of.own_room(of.speaker(turn).0));
                let slow = self.slow.as_ref().map_or(&[][..], |slow| &slow.bits[members.clone()]);
                let both = self.joined[members].iter().zip(slow);
                let both = both.map(|(joined, slow)| u64::from((joined & slow).count_ones()));
                let (phase, _) = ledger.intended(turn);
                fewer[phase as usize] += both.sum::<u64>();
            }
        }
        for (scheduled, fewer) in self.scheduled.iter_mut().zip(fewer) {
            *scheduled -= fewer;
        }
        let Robots { slow: Some(slow), robots, .. } = self else { return };
        let is_inside = |slot: &&Slot| robots[**slot as usize].state == RobotState::Inside;
        slow.seen.robots = slow.slots.iter().filter(is_inside).count() as u32;
        (slow.ledgers, slow.stage) = (beside, SlowStage::Apart);
    }

    /// Slow robots read again, if they hung.
    pub(super) fn read_again(&mut self) {
        let Robots { slow: Some(slow), backend, .. } = self else { return };
        if slow.stage == SlowStage::Paused {
            slow.slots.iter().for_each(|slot| backend.resume(*slot));
        }
        if slow.are_apart() {
            slow.stage = SlowStage::Reading;
        }
    }

    /// Gives up what has taken slow robots too long by this time, from when they read again on.
    pub(super) fn give_up_on_slow_robots(&mut self, looked: u64) {
        let timeout = self.plan.timeout.as_nanos() as u64;
        let Robots { slow: Some(slow), time, .. } = self else { return };
        if slow.stage != SlowStage::Reading {
            return;
        }
        let is_over = |since: u64| time.watched(since.max(slow.until), looked) >= timeout;
        for ledger in &mut slow.ledgers {
            ledger.give_up(is_over, |owed| slow.seen.missing += u64::from(owed.members));
        }
    }
}
