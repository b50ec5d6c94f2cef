//! Who sits where: the rooms of a thread, their members, and in which order they speak.
//!
//! Rooms are dealt to threads one by one, and each lies on one thread whole: so no thread has to
//! ask another what was heard. All robots of the run speak in turn, the first of each room, then
//! the second of each: messages that follow each other go to different rooms, mostly of different
//! threads. A thread knows its own part of that order, so that none has to be shared.

use crate::backend::Slot;
use crate::protocol::pushing::Seat;

/// The seats of a thread's robots. A robot's slot is its number among the thread's.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Seats {
    members: u32,
    /// Rooms of all threads.
    rooms: u32,
    /// Rooms of this one.
    own: u32,
    thread: u32,
    threads: u32,
}

impl Seats {
    /// Those of one of so many threads, of which each has a room at least.
    pub(crate) fn new(members: u32, rooms: u32, thread: u32, threads: u32) -> Seats {
        let own = rooms / threads + u32::from(thread < rooms % threads);
        Seats { members, rooms, own, thread, threads }
    }

    /// Robots of this thread.
    pub(crate) fn robots(self) -> u32 {
        self.own * self.members
    }

    /// Members of a room.
    pub(crate) fn members(self) -> u32 {
        self.members
    }

    /// A robot's room, by its number on this thread.
    pub(crate) fn own_room(self, slot: Slot) -> u32 {
        slot / self.members
    }

    /// Its number in its room.
    pub(crate) fn member(self, slot: Slot) -> u32 {
        slot % self.members
    }

    /// A robot's room.
    pub(crate) fn room(self, slot: Slot) -> u32 {
        self.thread + self.own_room(slot) * self.threads
    }

    /// A robot's number in the run.
    pub(crate) fn robot(self, slot: Slot) -> u32 {
        self.room(slot) * self.members + self.member(slot)
    }

    /// Whose connection a slot is.
    pub(crate) fn seat(self, slot: Slot) -> Seat {
        Seat { robot: self.robot(slot), room: self.room(slot) }
    }

    /// The robot of this room that has this number in the run, if there is such a one here.
    pub(crate) fn slot(self, room: u32, robot: u32) -> Option<Slot> {
        let own_room = room.checked_sub(self.thread)? / self.threads;
        let slot = own_room.checked_mul(self.members)? + robot % self.members;
        (own_room < self.own && self.room(slot) == room && self.robot(slot) == robot)
            .then_some(slot)
    }

    /// Who speaks in this turn of the thread, and how often he spoke before.
    pub(crate) fn speaker(self, turn: u64) -> (Slot, u32) {
        let (sequence, nth) = (turn / self.round(), (turn % self.round()) as u32);
        let (member, own_room) = (nth / self.own, nth % self.own);
        (own_room * self.members + member, sequence as u32)
    }

    /// The turn in which a robot says what has this number among its own.
    pub(crate) fn turn(self, slot: Slot, sequence: u32) -> u64 {
        let nth = self.member(slot) * self.own + self.own_room(slot);
        u64::from(sequence) * self.round() + u64::from(nth)
    }

    /// Turns until a robot speaks again.
    pub(crate) fn round(self) -> u64 {
        self.robots().into()
    }

    /// Where a turn of this thread lies among those of all.
    pub(crate) fn among_all(self, turn: u64) -> u64 {
        let (slot, sequence) = self.speaker(turn);
        let all = u64::from(self.rooms) * u64::from(self.members);
        let nth = u64::from(self.member(slot)) * u64::from(self.rooms) + u64::from(self.room(slot));
        u64::from(sequence) * all + nth
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn each_turn_is_one_robots_and_each_robot_is_in_one_room(
            (members, rooms, threads) in (1..7_u32, 1..9_u32)
                .prop_flat_map(|(members, rooms)| (Just(members), Just(rooms), 1..=rooms)),
        ) {
            let all = |thread| Seats::new(members, rooms, thread, threads);
            let (mut robots, mut turns) = (BTreeSet::new(), BTreeSet::new());
            for seats in (0..threads).map(all) {
                prop_assert!(seats.robots() > 0, "a thread has nothing to do");
                for slot in 0..seats.robots() {
                    let (room, robot) = (seats.room(slot), seats.robot(slot));
                    prop_assert!(room < rooms);
                    prop_assert!(robots.insert(robot), "robot {} is there twice", robot);
                    prop_assert_eq!(seats.slot(room, robot), Some(slot));
                    prop_assert_eq!(seats.slot((room + 1) % (rooms + 1), robot), None);
                }
                let mut before = None;
                for turn in 0..3 * seats.round() {
                    let (slot, sequence) = seats.speaker(turn);
                    prop_assert_eq!(seats.turn(slot, sequence), turn);
                    let among_all = seats.among_all(turn);
                    prop_assert!(before < Some(among_all), "turns of a thread are out of order");
                    prop_assert!(turns.insert(among_all), "a turn is two robots'");
                    before = Some(among_all);
                }
            }
            prop_assert_eq!(robots.len() as u32, members * rooms);
            prop_assert!(turns.iter().copied().eq(0..u64::from(3 * members * rooms)));
        }
    }

    #[test]
    fn messages_that_follow_each_other_go_to_different_rooms() {
        let seats = Seats::new(3, 4, 0, 1);
        let rooms: Vec<u32> = (0..5).map(|turn| seats.room(seats.speaker(turn).0)).collect();
        assert_eq!(rooms, [0, 1, 2, 3, 0]);
    }
}
