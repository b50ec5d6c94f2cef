//! What robots heard of each other: what the account of a run has beside it where what is counted
//! are deliveries.
//!
//! In the [`Account`](super::Account) of such a run *scheduled* are the deliveries that the turns
//! to speak make, *shed* those of messages that were never handed over, and *sent* those that are
//! due: of messages that were handed over, times the members of their rooms. Each of those was
//! delivered (*good*), is missing (an error), or is still in flight.

use std::time::Duration;

use histogram::{Histogram, Latency};
use serde::{Deserialize, Serialize};

use crate::outcome::First;
use crate::outcome::rooms::{self, RoomSeen, ShareOfDue};
use crate::outcome::slow::SlowSeen;
use crate::outcome::storm::StormSeen;

/// What robots heard that stands in no account of requests. What isn't said to be of the window
/// counts from the run's start on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DeliveriesSeen {
    /// Rooms that were asked for.
    pub rooms: u32,
    /// Robots that came into their rooms before the start.
    pub joined: u32,
    /// Robots whose connection the server ended, or that we ended because of what it sent.
    pub cut: u32,
    /// Messages of the window that were handed over.
    pub messages_sent: u64,
    /// Messages that were heard within the window, good ones or not.
    pub messages_received: u64,
    /// From when a message was due until all members had it. A message that some never had waited
    /// at least until it was given up.
    pub until_all: Latency,
    /// From the first member that had a message to the last, of messages that all had.
    #[serde(with = "histogram::text")]
    pub first_to_last: Histogram<u64>,
    /// Messages that came again.
    pub duplicates: u64,
    /// Deliveries that came after a later one of the same sender.
    pub out_of_order: u64,
    /// Messages of another room.
    pub leaked: u64,
    /// What is no message that was sent: another length, another byte, or one that nobody said.
    pub wrong: u64,
    /// Missing deliveries that came after all, when they had been given up.
    pub overdue: u64,
    /// From when a message of the window was due until the server confirmed it to its sender. One
    /// that it didn't confirm waited at least until it was given up. Nothing of a server that
    /// confirms none.
    pub confirm: Latency,
    /// Messages that the server confirmed, and that somebody never had.
    pub confirmed_missing: u64,
    /// Deliveries whose end is the kernel's stamp of their last packet.
    pub stamped: u64,
    /// Deliveries whose end is when they were seen, which is later.
    pub unstamped: u64,
    /// What was like that of which only the first is kept.
    pub firsts: DeliveryFirsts,
    /// How rooms fared, the worst of each thread among them.
    #[serde(default)]
    pub rooms_seen: Vec<RoomSeen>,
    /// The robot that had the least share of what it was owed; `None` where nothing was owed.
    #[serde(default)]
    pub least_share: Option<ShareOfDue>,
    /// What became of slow robots; `None` where there were none.
    #[serde(default)]
    pub slow: Option<Box<SlowSeen>>,
    /// What became of a storm; `None` where there was none.
    #[serde(default)]
    pub storm: Option<Box<StormSeen>>,
}

/// The first of each kind. Texts are bounded, escaped, for people.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeliveryFirsts {
    /// The first duplicate.
    pub duplicate: Option<First<String>>,
    /// The first delivery out of order.
    pub out_of_order: Option<First<String>>,
    /// The first message of another room.
    pub leaked: Option<First<String>>,
    /// The first that was wrong.
    pub wrong: Option<First<String>>,
    /// The first message that was confirmed and is missing.
    pub confirmed_missing: Option<First<String>>,
    /// The first robot that was cut.
    pub cut: Option<First<String>>,
}

/// What robots said in a second.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SaidInSecond {
    /// Messages that were handed over.
    pub messages: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Messages that the server confirmed.
    pub confirmed: u64,
}

impl DeliveriesSeen {
    /// Nothing heard, by robots of so many rooms.
    pub fn nothing(rooms: u32) -> DeliveriesSeen {
        DeliveriesSeen {
            rooms,
            joined: 0,
            cut: 0,
            messages_sent: 0,
            messages_received: 0,
            until_all: Latency::default(),
            first_to_last: histogram::empty(),
            duplicates: 0,
            out_of_order: 0,
            leaked: 0,
            wrong: 0,
            overdue: 0,
            confirm: Latency::default(),
            confirmed_missing: 0,
            stamped: 0,
            unstamped: 0,
            firsts: DeliveryFirsts::default(),
            rooms_seen: Vec::new(),
            least_share: None,
            slow: None,
            storm: None,
        }
    }

    /// What the server did that breaks what rooms are for, though nothing is missing.
    pub fn faults(&self) -> u64 {
        self.duplicates + self.out_of_order + self.leaked + self.wrong
    }

    pub(super) fn merge(mut self, next: DeliveriesSeen) -> DeliveriesSeen {
        self.until_all.add(&next.until_all);
        self.first_to_last += &next.first_to_last;
        self.confirm.add(&next.confirm);
        DeliveriesSeen {
            rooms: self.rooms + next.rooms,
            joined: self.joined + next.joined,
            cut: self.cut + next.cut,
            messages_sent: self.messages_sent + next.messages_sent,
            messages_received: self.messages_received + next.messages_received,
            until_all: self.until_all,
            first_to_last: self.first_to_last,
            duplicates: self.duplicates + next.duplicates,
            out_of_order: self.out_of_order + next.out_of_order,
            leaked: self.leaked + next.leaked,
            wrong: self.wrong + next.wrong,
            overdue: self.overdue + next.overdue,
            confirm: self.confirm,
            confirmed_missing: self.confirmed_missing + next.confirmed_missing,
            stamped: self.stamped + next.stamped,
            unstamped: self.unstamped + next.unstamped,
            firsts: self.firsts.merge(next.firsts),
            rooms_seen: rooms::merge(self.rooms_seen, next.rooms_seen),
            least_share: match (self.least_share, next.least_share) {
                (Some(a), Some(b)) => Some(a.least(b)),
                (one, other) => one.or(other),
            },
            slow: match (self.slow, next.slow) {
                (Some(a), Some(b)) => Some(Box::new(a.merge(*b))),
                (one, other) => one.or(other),
            },
            storm: match (self.storm, next.storm) {
                (Some(a), Some(b)) => Some(Box::new(a.merge(&b))),
                (one, other) => one.or(other),
            },
        }
    }
}

impl DeliveryFirsts {
    fn merge(self, next: DeliveryFirsts) -> DeliveryFirsts {
        DeliveryFirsts {
            duplicate: First::of_both(self.duplicate, next.duplicate),
            out_of_order: First::of_both(self.out_of_order, next.out_of_order),
            leaked: First::of_both(self.leaked, next.leaked),
            wrong: First::of_both(self.wrong, next.wrong),
            confirmed_missing: First::of_both(self.confirmed_missing, next.confirmed_missing),
            cut: First::of_both(self.cut, next.cut),
        }
    }
}

impl First<String> {
    /// Keeps what it was like, if it is the first.
    pub(crate) fn keep(first: &mut Option<First<String>>, at: u64, what: impl FnOnce() -> String) {
        first.get_or_insert_with(|| First { at: Duration::from_nanos(at), what: what() });
    }
}

impl SaidInSecond {
    /// Both together.
    pub(crate) fn merge(self, more: SaidInSecond) -> SaidInSecond {
        SaidInSecond {
            messages: self.messages + more.messages,
            bytes: self.bytes + more.bytes,
            confirmed: self.confirmed + more.confirmed,
        }
    }
}
