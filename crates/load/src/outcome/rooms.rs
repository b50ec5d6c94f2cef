//! How rooms and robots fared beside each other: where it was worst.

use std::cmp::Reverse;

use serde::{Deserialize, Serialize};

/// So many rooms are told of.
pub(crate) const WORST: usize = 10;

/// How the members of a room fared with the window's messages, or those of them that a thread has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoomSeen {
    /// Its number.
    pub room: u32,
    /// Deliveries to its members that came.
    pub delivered: u64,
    /// Those that were missing.
    pub missing: u64,
    /// The longest that one took that came, in nanoseconds.
    pub longest: u64,
}

impl RoomSeen {
    fn merge(self, next: RoomSeen) -> RoomSeen {
        RoomSeen {
            room: self.room,
            delivered: self.delivered + next.delivered,
            missing: self.missing + next.missing,
            longest: self.longest.max(next.longest),
        }
    }
}

/// The worst of these rooms, by what was missing and then by the longest delivery.
pub fn worst(mut rooms: Vec<RoomSeen>) -> Vec<RoomSeen> {
    rooms.sort_by_key(|it| (Reverse((it.missing, it.longest)), it.room));
    rooms.truncate(WORST);
    rooms
}

/// The rooms of two parts of a run. A room of which each has some members is one.
pub(super) fn merge(rooms: Vec<RoomSeen>, next: Vec<RoomSeen>) -> Vec<RoomSeen> {
    let mut all = [rooms, next].concat();
    all.sort_by_key(|it| it.room);
    all.dedup_by(|next, one| {
        let is_same = next.room == one.room;
        if is_same {
            *one = one.merge(*next);
        }
        is_same
    });
    all
}

/// How many deliveries a robot had of those that it was owed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShareOfDue {
    /// Its number.
    pub robot: u32,
    /// Deliveries of the window's messages that it had.
    pub had: u64,
    /// Those that it was owed, one at least.
    pub due: u64,
}

impl ShareOfDue {
    /// From 0 to 1.
    pub fn share(self) -> f64 {
        self.had as f64 / self.due as f64
    }

    /// The smaller one.
    pub(crate) fn least(self, other: ShareOfDue) -> ShareOfDue {
        let scaled = |of: ShareOfDue, by: ShareOfDue| u128::from(of.had) * u128::from(by.due);
        let key = |of: ShareOfDue, by: ShareOfDue| (scaled(of, by), of.robot);
        if key(other, self) < key(self, other) { other } else { self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_rooms_are_those_with_most_missing_and_then_the_longest_wait() {
        let seen = |room, missing, longest| RoomSeen { room, delivered: 9, missing, longest };
        let all = (0..20).map(|room| seen(room, 0, 100 - u64::from(room)));
        let told = worst(all.chain([seen(30, 1, 5), seen(31, 2, 1), seen(32, 2, 3)]).collect());
        let rooms: Vec<u32> = told.iter().map(|it| it.room).collect();
        assert_eq!(rooms, [32, 31, 30, 0, 1, 2, 3, 4, 5, 6]);
    }

    #[test]
    fn parts_of_a_room_are_one_room() {
        let seen = |room, missing, longest| RoomSeen { room, delivered: 4, missing, longest };
        let merged = merge(vec![seen(1, 2, 30), seen(0, 1, 1)], vec![seen(1, 3, 20)]);
        let both = RoomSeen { room: 1, delivered: 8, missing: 5, longest: 30 };
        assert_eq!(merged, [seen(0, 1, 1), both]);
    }

    #[test]
    fn the_least_share_is_by_what_was_due() {
        let share = |robot, had, due| ShareOfDue { robot, had, due };
        let (half, most) = (share(7, 50, 100), share(3, 9, 10));
        assert_eq!((half.least(most), most.least(half)), (half, half));
        assert_eq!(half.least(share(2, 1, 2)).robot, 2, "of two alike the first is told");
        assert_eq!(half.share(), 0.5);
    }
}
