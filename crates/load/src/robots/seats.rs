//! Who sits where: the rooms of a thread, their members, and in which order they speak.
//!
//! Rooms are dealt to threads one by one, and each lies on one thread whole: so no thread has to
//! ask another what was heard. Where there are fewer rooms than threads, the members of each room
//! are dealt instead, one by one, and each thread has a part of every room.
//!
//! All robots of the run speak in turn, the first of each room, then the second of each: messages
//! that follow each other go to different rooms, mostly of different threads. A thread knows its
//! own part of that order, so that none has to be shared.

use crate::backend::Slot;
use crate::protocol::pushing::Seat;

/// The seats of a thread's robots. A robot's slot is its number among the thread's.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Seats {
    /// Members of a room, wherever they are.
    members: u32,
    /// Those of them that are on this thread.
    own_members: u32,
    /// Rooms of all threads.
    rooms: u32,
    /// Rooms of this one.
    own_rooms: u32,
    thread: u32,
    threads: u32,
}

/// How many of these a thread has of which all threads have so many.
fn part(of: u32, thread: u32, threads: u32) -> u32 {
    of / threads + u32::from(thread < of % threads)
}

impl Seats {
    /// Those of one of so many threads. There are no more of these than rooms, or than members of
    /// a room.
    pub(crate) fn new(members: u32, rooms: u32, thread: u32, threads: u32) -> Seats {
        let (own_members, own_rooms) = if rooms < threads {
            (part(members, thread, threads), rooms)
        } else {
            (members, part(rooms, thread, threads))
        };
        Seats { members, own_members, rooms, own_rooms, thread, threads }
    }

    /// Those of another thread of this run.
    pub(crate) fn of_thread(self, thread: u32) -> Seats {
        Seats::new(self.members, self.rooms, thread, self.threads)
    }

    /// Whether each thread has a part of every room.
    pub(crate) fn are_dealt(self) -> bool {
        self.rooms < self.threads
    }

    /// The thread that these are of.
    pub(crate) fn thread(self) -> u32 {
        self.thread
    }

    /// Threads of the run.
    pub(crate) fn threads(self) -> u32 {
        self.threads
    }

    /// Threads of which something is said in rooms of this one.
    pub(crate) fn threads_heard(self) -> u32 {
        if self.are_dealt() { self.threads } else { 1 }
    }

    /// The number of the ledger here that has this thread's messages.
    pub(crate) fn ledger_of(self, thread: u32) -> u32 {
        if self.are_dealt() { thread } else { 0 }
    }

    /// Robots of this thread.
    pub(crate) fn robots(self) -> u32 {
        self.own_rooms * self.own_members
    }

    /// Robots of all threads.
    pub(crate) fn robots_of_all(self) -> u32 {
        self.rooms * self.members
    }

    /// Members of a room that are on this thread.
    pub(crate) fn own_members(self) -> u32 {
        self.own_members
    }

    /// Rooms of which this thread has a part.
    pub(crate) fn own_rooms(self) -> u32 {
        self.own_rooms
    }

    /// Rooms of which this thread has the first member: each room of the run is one thread's.
    pub(crate) fn rooms_begun(self) -> u32 {
        if self.are_dealt() && self.thread > 0 { 0 } else { self.own_rooms }
    }

    /// A robot's room, by its number on this thread.
    pub(crate) fn own_room(self, slot: Slot) -> u32 {
        slot / self.own_members
    }

    /// Its number among the members of its room that are on this thread.
    pub(crate) fn own_member(self, slot: Slot) -> u32 {
        slot % self.own_members
    }

    /// Its number in its room.
    fn member(self, slot: Slot) -> u32 {
        let own_member = self.own_member(slot);
        if self.are_dealt() { self.thread + own_member * self.threads } else { own_member }
    }

    /// A robot's room.
    pub(crate) fn room(self, slot: Slot) -> u32 {
        self.room_of_all(self.own_room(slot))
    }

    /// The room that has this number on this thread.
    pub(crate) fn room_of_all(self, own_room: u32) -> u32 {
        if self.are_dealt() { own_room } else { self.thread + own_room * self.threads }
    }

    /// A robot's number in the run.
    pub(crate) fn robot(self, slot: Slot) -> u32 {
        self.room(slot) * self.members + self.member(slot)
    }

    /// Whose connection a slot is.
    pub(crate) fn seat(self, slot: Slot) -> Seat {
        Seat { robot: self.robot(slot), room: self.room(slot) }
    }

    /// The number in the run of the member of a room here that has these numbers on this thread.
    pub(crate) fn robot_of(self, own_room: u32, own_member: u32) -> u32 {
        self.robot(own_room * self.own_members + own_member)
    }

    /// The thread of the robot that has this number in the run.
    pub(crate) fn thread_of(self, robot: u32) -> u32 {
        let (room, member) = (robot / self.members, robot % self.members);
        (if self.are_dealt() { member } else { room }) % self.threads
    }

    /// The robot of this room that has this number in the run, if there is such a one here.
    pub(crate) fn slot(self, room: u32, robot: u32) -> Option<Slot> {
        let member = robot % self.members;
        let (own_room, own_member) = if self.are_dealt() {
            (room, member.checked_sub(self.thread)? / self.threads)
        } else {
            (room.checked_sub(self.thread)? / self.threads, member)
        };
        let slot = own_room.checked_mul(self.own_members)?.checked_add(own_member)?;
        let is_here = own_room < self.own_rooms && own_member < self.own_members;
        (is_here && self.room(slot) == room && self.robot(slot) == robot).then_some(slot)
    }

    /// Who speaks in this turn of the thread, and how often he spoke before.
    pub(crate) fn speaker(self, turn: u64) -> (Slot, u32) {
        let (sequence, nth) = (turn / self.round(), (turn % self.round()) as u32);
        let (own_member, own_room) = (nth / self.own_rooms, nth % self.own_rooms);
        (own_room * self.own_members + own_member, sequence as u32)
    }

    /// The turn in which a robot says what has this number among its own.
    pub(crate) fn turn(self, slot: Slot, sequence: u32) -> u64 {
        let nth = self.own_member(slot) * self.own_rooms + self.own_room(slot);
        u64::from(sequence) * self.round() + u64::from(nth)
    }

    /// Turns until a robot speaks again.
    pub(crate) fn round(self) -> u64 {
        self.robots().into()
    }

    /// Where a turn of this thread lies among those of all.
    pub(crate) fn among_all(self, turn: u64) -> u64 {
        let (slot, sequence) = self.speaker(turn);
        let nth = u64::from(self.member(slot)) * u64::from(self.rooms) + u64::from(self.room(slot));
        u64::from(sequence) * u64::from(self.robots_of_all()) + nth
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
            (members, rooms, threads) in (1..9_u32, 1..9_u32).prop_flat_map(|(members, rooms)| {
                (Just(members), Just(rooms), 1..=rooms.max(members))
            }),
        ) {
            let all = |thread| Seats::new(members, rooms, thread, threads);
            let (mut robots, mut turns, mut begun) = (BTreeSet::new(), BTreeSet::new(), 0);
            for seats in (0..threads).map(all) {
                prop_assert!(seats.robots() > 0, "a thread has nothing to do");
                begun += seats.rooms_begun();
                for slot in 0..seats.robots() {
                    let (room, robot) = (seats.room(slot), seats.robot(slot));
                    prop_assert!(room < rooms);
                    prop_assert!(robots.insert(robot), "robot {} is there twice", robot);
                    prop_assert_eq!(seats.slot(room, robot), Some(slot));
                    prop_assert_eq!(seats.slot((room + 1) % (rooms + 1), robot), None);
                    prop_assert_eq!(seats.thread_of(robot), seats.thread());
                    let of_own = seats.robot_of(seats.own_room(slot), seats.own_member(slot));
                    prop_assert_eq!(of_own, robot);
                    for other in (0..threads).filter(|other| *other != seats.thread()) {
                        let elsewhere = seats.of_thread(other).slot(room, robot);
                        prop_assert_eq!(elsewhere, None, "robot {} is on two threads", robot);
                    }
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
            prop_assert_eq!(begun, rooms);
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

    /// Else a thread waits for another's word for each of its messages, or has no robots.
    #[test]
    fn a_room_lies_on_one_thread_if_each_thread_has_one() {
        let whole = Seats::new(5, 4, 3, 4);
        assert_eq!((whole.are_dealt(), whole.own_members(), whole.own_rooms()), (false, 5, 1));
        let dealt = Seats::new(5, 1, 1, 2);
        assert_eq!((dealt.are_dealt(), dealt.own_members(), dealt.own_rooms()), (true, 2, 1));
        assert_eq!([0, 1].map(|slot| dealt.robot(slot)), [1, 3]);
    }
}
