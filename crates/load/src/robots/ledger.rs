//! The account of deliveries to a thread's robots: to whom each message is still owed that one
//! thread said.
//!
//! A message has a row from its turn on, in the order of turns, and a bit in it for each member
//! that it is owed to. A bit is cleared once: what comes again is a duplicate. A row that is older
//! than the timeout is given up, and what it lacks then is missing. Rows go from the front, so that
//! memory is that of the messages under way: nothing is allocated for a delivery.

use std::collections::VecDeque;

use crate::pace::window::Phase;

/// What became of a message that was heard.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// It was owed.
    Delivered(Delivered),
    /// It came before.
    Duplicate,
    /// It had been given up.
    Overdue,
    /// Nobody has said it.
    Unsaid,
}

/// A message came to a member to whom it was owed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Delivered {
    pub phase: Phase,
    /// When it was due.
    pub intended: u64,
    /// Whether the member has a later one of the same sender already.
    pub is_out_of_order: bool,
    /// When the first and the last member had it, if all have it now.
    pub by_all: Option<(u64, u64)>,
}

/// A message that some members never heard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Owed {
    /// The turn in which it was said.
    pub turn: u64,
    pub phase: Phase,
    /// When it was due.
    pub intended: u64,
    /// To how many members it is owed.
    pub members: u32,
    /// The first of them.
    pub first: u32,
    /// Whether the server said that it has it.
    pub is_confirmed: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RowState {
    /// Its sender still has it.
    Waiting,
    /// It was handed over at this time.
    UnderWay(u64),
    /// All members have it.
    Whole,
    /// It was handed over and took too long.
    GivenUp,
    /// It was never handed over.
    Shed,
}

#[derive(Debug, Clone, Copy)]
struct Row {
    phase: Phase,
    state: RowState,
    intended: u64,
    /// When the first member had it and when the last one, so far.
    first: u64,
    last: u64,
    /// Members that it is owed to.
    members: u32,
    /// Whether the server said that it has it.
    is_confirmed: bool,
}

/// Which of a thread's robots have what of the messages of one thread.
#[derive(Debug)]
pub(crate) struct Ledger {
    /// Words of bits of a row.
    words: usize,
    /// Turns from a message to the next one of its sender.
    round: usize,
    /// The turn of the first row.
    base: u64,
    rows: VecDeque<Row>,
    /// By row, a bit for each member that it is owed to.
    owed: VecDeque<u64>,
    /// By receiver, the turn after that of the latest message that it has.
    heard: Box<[u64]>,
    given_up: GivenUp,
    /// Deliveries under way.
    under_way: u64,
}

/// Rows that were given up, after they went: what comes of them is overdue, and no duplicate.
#[derive(Debug)]
struct GivenUp {
    turns: VecDeque<u64>,
    /// By row, the bits that were never cleared.
    owed: VecDeque<u64>,
    rows_max: usize,
    /// Nothing is known any more of those with lower turns.
    forgotten: u64,
}

/// Memory for rows that were given up.
const GIVEN_UP_BYTES: usize = 1 << 20;

/// The most bytes that a message under way takes in a room of so many members.
pub(crate) fn row_bytes(members: u32) -> usize {
    size_of::<Row>() + words(members) * size_of::<u64>()
}

/// How many words have a bit for each of so many members.
pub(crate) fn words(members: u32) -> usize {
    members.div_ceil(u64::BITS) as usize
}

/// Where the bit of a member lies: in which word, and that word.
pub(crate) fn bit(member: u32) -> (usize, u64) {
    ((member / u64::BITS) as usize, 1 << (member % u64::BITS))
}

impl Ledger {
    /// An empty one of so many receivers, with so many members in each room, and of those who
    /// speak again after so many turns.
    pub(crate) fn new(receivers: u32, members: u32, round: u64) -> Ledger {
        Ledger::empty(receivers as usize, words(members), round as usize)
    }

    fn empty(receivers: usize, words: usize, round: usize) -> Ledger {
        let row = (words + 1) * size_of::<u64>();
        Ledger {
            words,
            round,
            base: 0,
            rows: VecDeque::new(),
            owed: VecDeque::new(),
            heard: vec![0; receivers].into(),
            given_up: GivenUp {
                turns: VecDeque::new(),
                owed: VecDeque::new(),
                rows_max: (GIVEN_UP_BYTES / row).max(1),
                forgotten: 0,
            },
            under_way: 0,
        }
    }

    /// One for members to whom nothing is owed yet, in which the same turns go on. Messages that
    /// their senders still have may be owed to them.
    pub(crate) fn beside(&self) -> Ledger {
        let nothing_owed = |row: &Row| match row.state {
            RowState::Waiting => *row,
            _ => Row { state: RowState::Shed, ..*row },
        };
        let mut beside = Ledger {
            base: self.base,
            rows: self.rows.iter().map(nothing_owed).collect(),
            owed: vec![0; self.owed.len()].into(),
            ..Ledger::empty(self.heard.len(), self.words, self.round)
        };
        beside.drop_settled();
        beside
    }

    /// The next turn has come; gives which it is.
    pub(crate) fn turn(&mut self, phase: Phase, intended: u64) -> u64 {
        self.rows.push_back(Row {
            phase,
            state: RowState::Waiting,
            intended,
            first: u64::MAX,
            last: 0,
            members: 0,
            is_confirmed: false,
        });
        self.owed.extend(std::iter::repeat_n(0, self.words));
        self.base + self.rows.len() as u64 - 1
    }

    /// When the message of this turn was due, and in which phase.
    pub(crate) fn intended(&self, turn: u64) -> (Phase, u64) {
        let row = &self.rows[self.index(turn)];
        (row.phase, row.intended)
    }

    /// The message of this turn was handed over at this time. It is owed to these members, given
    /// as bits; gives how many these are.
    pub(crate) fn hand_over(&mut self, turn: u64, at: u64, to: &[u64]) -> u32 {
        let index = self.index(turn);
        let members = to.iter().map(|word| word.count_ones()).sum();
        for (word, bits) in to.iter().enumerate() {
            self.owed[index * self.words + word] = *bits;
        }
        let row = &mut self.rows[index];
        row.members = members;
        if members > 0 {
            row.state = RowState::UnderWay(at);
            self.under_way += u64::from(members);
        } else {
            row.state = RowState::Whole;
            self.drop_settled();
        }
        members
    }

    /// The server said that it has the message of this turn. Of one that all here have it means
    /// nothing.
    pub(crate) fn confirm(&mut self, turn: u64) {
        let row = turn.checked_sub(self.base).and_then(|index| self.rows.get_mut(index as usize));
        if let Some(row) = row {
            row.is_confirmed = true;
        }
    }

    /// The message of this turn is never handed over.
    pub(crate) fn shed(&mut self, turn: u64) {
        let index = self.index(turn);
        self.rows[index].state = RowState::Shed;
        self.drop_settled();
    }

    /// A receiver, which is this member of its room, heard the message of this turn, which came at
    /// this time.
    pub(crate) fn hear(&mut self, turn: u64, (slot, member): (u32, u32), at: u64) -> Arrival {
        let (word, bit) = bit(member);
        let Some(index) = turn.checked_sub(self.base) else {
            return self.given_up.hear(turn, word, bit);
        };
        let index = index as usize;
        let Some(row) = self.rows.get_mut(index) else { return Arrival::Unsaid };
        if matches!(row.state, RowState::Waiting | RowState::Shed) {
            return Arrival::Unsaid;
        }
        let owed = &mut self.owed[index * self.words + word];
        if *owed & bit == 0 {
            return Arrival::Duplicate;
        }
        *owed &= !bit;
        if row.state == RowState::GivenUp {
            return Arrival::Overdue;
        }
        row.members -= 1;
        (row.first, row.last) = (row.first.min(at), row.last.max(at));
        self.under_way -= 1;
        let Row { phase, intended, first, last, members, .. } = *row;
        let by_all = (members == 0).then_some((first, last));
        let is_out_of_order = self.has_later(index, slot, word, bit);
        self.heard[slot as usize] = self.heard[slot as usize].max(turn + 1);
        if by_all.is_some() {
            self.rows[index].state = RowState::Whole;
            self.drop_settled();
        }
        Arrival::Delivered(Delivered { phase, intended, is_out_of_order, by_all })
    }

    /// Whether a member has a later message of the same sender. Those lie a round apart, and none
    /// of them has gone before this one.
    fn has_later(&self, index: usize, slot: u32, word: usize, bit: u64) -> bool {
        let heard =
            (self.heard[slot as usize].saturating_sub(self.base) as usize).min(self.rows.len());
        let mut later = (index + self.round..heard).step_by(self.round);
        later.any(|index| {
            let was_said = !matches!(self.rows[index].state, RowState::Waiting | RowState::Shed);
            was_said && self.owed[index * self.words + word] & bit == 0
        })
    }

    /// Gives up each message that was handed over at a time for which this holds, and tells of
    /// what it lacks.
    pub(crate) fn give_up(&mut self, is_over: impl Fn(u64) -> bool, mut tell: impl FnMut(Owed)) {
        for index in 0..self.rows.len() {
            if let RowState::UnderWay(since) = self.rows[index].state
                && is_over(since)
            {
                tell(self.lacking(index));
                let row = &mut self.rows[index];
                row.state = RowState::GivenUp;
                self.under_way -= u64::from(row.members);
            }
        }
        self.drop_settled();
    }

    /// Tells of each message that is still under way.
    pub(crate) fn still_under_way(&self) -> impl Iterator<Item = Owed> {
        let is_under_way =
            move |index: &usize| matches!(self.rows[*index].state, RowState::UnderWay(_));
        (0..self.rows.len()).filter(is_under_way).map(move |index| self.lacking(index))
    }

    /// The turns whose senders still have their messages.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = u64> {
        let is_waiting = |row: &Row| row.state == RowState::Waiting;
        (self.base..).zip(&self.rows).filter(move |(_, row)| is_waiting(row)).map(|(turn, _)| turn)
    }

    /// Whether a message is under way to one of the members that are given as bits, by its turn.
    pub(crate) fn owes<'a>(&self, to: impl Fn(u64) -> &'a [u64]) -> bool {
        let is_under_way = |index: &usize| matches!(self.rows[*index].state, RowState::UnderWay(_));
        (0..self.rows.len()).filter(is_under_way).any(|index| {
            let owed = self.owed.range(index * self.words..(index + 1) * self.words);
            owed.zip(to(self.base + index as u64)).any(|(owed, to)| owed & to != 0)
        })
    }

    /// Deliveries under way.
    pub(crate) fn under_way(&self) -> u64 {
        self.under_way
    }

    fn index(&self, turn: u64) -> usize {
        (turn - self.base) as usize
    }

    fn lacking(&self, index: usize) -> Owed {
        let Row { phase, intended, members, is_confirmed, .. } = self.rows[index];
        let bits = self.owed.range(index * self.words..(index + 1) * self.words);
        let first = (0..).zip(bits).find(|(_, bits)| **bits != 0);
        let first = first.map_or(0, |(word, bits)| word * u64::BITS + bits.trailing_zeros());
        let turn = self.base + index as u64;
        Owed { turn, phase, intended, members, first, is_confirmed }
    }

    /// Drops rows from the front that nothing more will come of.
    fn drop_settled(&mut self) {
        while let Some(row) = self.rows.front() {
            match row.state {
                RowState::Waiting | RowState::UnderWay(_) => return,
                RowState::GivenUp => self.given_up.keep(self.base, &self.owed, self.words),
                RowState::Whole | RowState::Shed => {}
            }
            self.rows.pop_front();
            self.owed.drain(..self.words);
            self.base += 1;
        }
    }
}

impl GivenUp {
    /// Keeps the bits at the front of these.
    fn keep(&mut self, turn: u64, owed: &VecDeque<u64>, words: usize) {
        if self.turns.len() == self.rows_max {
            self.forgotten = self.turns.pop_front().map_or(0, |turn| turn + 1);
            self.owed.drain(..words);
        }
        self.turns.push_back(turn);
        self.owed.extend(owed.range(..words));
    }

    fn hear(&mut self, turn: u64, word: usize, bit: u64) -> Arrival {
        let Ok(index) = self.turns.binary_search(&turn) else {
            // Of what is forgotten the worse isn't said.
            return if turn < self.forgotten { Arrival::Overdue } else { Arrival::Duplicate };
        };
        let words = self.owed.len() / self.turns.len();
        let owed = &mut self.owed[index * words + word];
        if *owed & bit == 0 {
            return Arrival::Duplicate;
        }
        *owed &= !bit;
        Arrival::Overdue
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    /// A room of so many, who all are there.
    fn room(members: u32) -> (Ledger, Vec<u64>) {
        let mut all = vec![0; words(members)];
        for member in 0..members {
            let (word, bit) = bit(member);
            all[word] |= bit;
        }
        (Ledger::new(members, members, members.into()), all)
    }

    fn said(ledger: &mut Ledger, at: u64, to: &[u64]) -> u64 {
        let turn = ledger.turn(Phase::Window, at);
        ledger.hand_over(turn, at, to);
        turn
    }

    fn heard(ledger: &mut Ledger, turn: u64, member: u32, at: u64) -> Arrival {
        ledger.hear(turn, (member, member), at)
    }

    fn delivered(arrival: &Arrival) -> &Delivered {
        match arrival {
            Arrival::Delivered(delivered) => delivered,
            other => panic!("it was owed: {other:?}"),
        }
    }

    #[test]
    fn a_message_is_delivered_once_to_each_and_then_by_all() {
        let (mut ledger, all) = room(3);
        let turn = said(&mut ledger, 100, &all);
        assert_eq!(ledger.under_way(), 3);
        assert_eq!(delivered(&heard(&mut ledger, turn, 1, 130)).by_all, None);
        assert_eq!(heard(&mut ledger, turn, 1, 140), Arrival::Duplicate);
        assert_eq!(delivered(&heard(&mut ledger, turn, 2, 120)).by_all, None);
        assert_eq!(delivered(&heard(&mut ledger, turn, 0, 125)).by_all, Some((120, 130)));
        assert_eq!(heard(&mut ledger, turn, 0, 150), Arrival::Duplicate, "its row is gone");
        assert_eq!((ledger.under_way(), ledger.rows.len()), (0, 0));
    }

    #[test]
    fn what_nobody_said_is_not_delivered() {
        let (mut ledger, all) = room(2);
        assert_eq!(heard(&mut ledger, 0, 0, 1), Arrival::Unsaid, "its turn hasn't come");
        let turn = ledger.turn(Phase::Window, 1);
        assert_eq!(heard(&mut ledger, turn, 0, 1), Arrival::Unsaid, "its sender has it still");
        ledger.shed(turn);
        let next = said(&mut ledger, 2, &all);
        delivered(&heard(&mut ledger, next, 0, 3));
        let shed = ledger.turn(Phase::Window, 4);
        ledger.shed(shed);
        assert_eq!(heard(&mut ledger, shed, 0, 5), Arrival::Unsaid, "it was never handed over");
    }

    /// Else a thread waits for members that another thread has.
    #[test]
    fn a_message_that_is_owed_to_nobody_here_is_settled_at_once() {
        let (mut ledger, all) = room(2);
        said(&mut ledger, 1, &[0]);
        assert_eq!((ledger.under_way(), ledger.rows.len()), (0, 0));
        let turn = ledger.turn(Phase::Window, 2);
        assert_eq!(ledger.waiting().collect::<Vec<_>>(), [turn]);
        ledger.hand_over(turn, 2, &all);
        assert_eq!((ledger.under_way(), ledger.waiting().count()), (2, 0));
    }

    #[test]
    fn out_of_order_is_what_comes_after_a_later_one_of_the_same_sender() {
        let (mut ledger, all) = room(2);
        // Turns 0, 2 and 4 are the first robot's.
        let turns: Vec<u64> = (0..5).map(|at| said(&mut ledger, at, &all)).collect();
        let mut is_late = |turn: usize, member| {
            delivered(&heard(&mut ledger, turns[turn], member, 9)).is_out_of_order
        };
        assert!(!is_late(3, 0), "the first that it hears");
        assert!(!is_late(0, 0), "a later one of another sender");
        assert!(!is_late(4, 0));
        assert!(is_late(2, 0), "4 came before");
        assert!(!is_late(2, 1), "another member heard no later one");
        assert!(!is_late(4, 1));
        assert!(is_late(1, 0), "3 came before");
        assert!(is_late(0, 1));
    }

    #[test]
    fn a_message_that_takes_too_long_is_missing_and_then_overdue() {
        let (mut ledger, all) = room(70);
        let (old, young) = (said(&mut ledger, 10, &all), said(&mut ledger, 20, &all));
        for member in 0..70 {
            if ![66, 68].contains(&member) {
                delivered(&heard(&mut ledger, old, member, 12));
            }
        }
        ledger.confirm(old);
        let mut told = Vec::new();
        ledger.give_up(|since| since <= 10, |owed| told.push(owed));
        let (phase, is_confirmed) = (Phase::Window, true);
        let owed = Owed { turn: old, phase, intended: 10, members: 2, first: 66, is_confirmed };
        assert_eq!(told, [owed]);
        assert_eq!(ledger.under_way(), 70, "the young one's");
        assert_eq!(heard(&mut ledger, old, 66, 30), Arrival::Overdue);
        assert_eq!(heard(&mut ledger, old, 66, 31), Arrival::Duplicate);
        assert_eq!(heard(&mut ledger, old, 3, 31), Arrival::Duplicate);
        delivered(&heard(&mut ledger, young, 66, 32));
        let left: Vec<Owed> = ledger.still_under_way().collect();
        let is_confirmed = false;
        let of_young =
            Owed { turn: young, intended: 20, members: 69, first: 0, is_confirmed, ..owed };
        assert_eq!(left, [of_young]);
    }

    #[test]
    fn a_row_behind_one_that_still_waits_is_given_up_in_its_place() {
        let (mut ledger, all) = room(1);
        let waiting = ledger.turn(Phase::Window, 1);
        let (lost, heard_of) = (said(&mut ledger, 2, &all), said(&mut ledger, 3, &all));
        delivered(&heard(&mut ledger, heard_of, 0, 4));
        let mut lacking = 0;
        ledger.give_up(|since| since <= 3, |owed| lacking += owed.members);
        assert_eq!((lacking, ledger.under_way()), (1, 0));
        assert_eq!(heard(&mut ledger, lost, 0, 5), Arrival::Overdue, "its row is there");
        assert_eq!(heard(&mut ledger, lost, 0, 5), Arrival::Duplicate);
        ledger.hand_over(waiting, 6, &all);
        assert!(delivered(&heard(&mut ledger, waiting, 0, 7)).is_out_of_order);
        assert_eq!(ledger.rows.len(), 0);
    }

    /// Else what a robot is owed while it hangs is owed twice, or to nobody.
    #[test]
    fn a_ledger_beside_has_the_same_turns_and_what_is_to_come_of_them() {
        let (mut ledger, all) = room(2);
        let (old, waiting) = (said(&mut ledger, 1, &all), ledger.turn(Phase::Window, 2));
        assert!(ledger.owes(|_| &[0b10]));
        delivered(&heard(&mut ledger, old, 1, 3));
        assert!(!ledger.owes(|_| &[0b10]) && ledger.owes(|_| &[0b01]));
        let mut beside = ledger.beside();
        assert_eq!(beside.under_way(), 0);
        assert_eq!(heard(&mut beside, old, 0, 4), Arrival::Duplicate, "it is in the other one");
        assert_eq!(beside.hand_over(waiting, 5, &[0b10]), 1);
        delivered(&heard(&mut beside, waiting, 1, 6));
        assert_eq!(beside.turn(Phase::Window, 7), ledger.turn(Phase::Window, 7));
    }

    /// Else a server that loses all takes as much memory as there is.
    #[test]
    fn what_was_given_up_long_ago_is_forgotten_and_never_a_duplicate() {
        let (mut ledger, all) = room(1);
        let rows_max = ledger.given_up.rows_max as u64;
        for at in 0..rows_max + 10 {
            said(&mut ledger, at, &all);
            ledger.give_up(|_| true, |_| {});
        }
        assert_eq!(ledger.given_up.turns.len() as u64, rows_max);
        for turn in 0..20 {
            assert_eq!(heard(&mut ledger, turn, 0, 9), Arrival::Overdue, "turn {turn}");
        }
    }

    /// What a relay does with the next message for a member.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    enum Fate {
        Deliver,
        Drop,
        Twice,
        /// So many messages later.
        Late(u64),
    }

    fn fate() -> impl Strategy<Value = Fate> {
        prop_oneof![
            6 => Just(Fate::Deliver),
            1 => Just(Fate::Drop),
            1 => Just(Fate::Twice),
            2 => (1..12_u64).prop_map(Fate::Late),
        ]
    }

    /// Whether a member has this many messages of each sender is what a list says as well.
    #[derive(Default)]
    struct Model {
        /// Each delivery that came: turn and member.
        had: Vec<(u64, u32)>,
        given_up: Vec<(u64, u32)>,
    }

    proptest! {
        /// Beside lists of all that was said and heard, which take any memory.
        #[test]
        fn each_delivery_is_what_a_list_of_all_says(
            members in 1..5_u32,
            fates in vec(vec(fate(), 5), 1..40),
        ) {
            const TIMEOUT: u64 = 5;
            let (mut ledger, all) = room(members);
            let mut model = Model::default();
            let mut coming: Vec<(u64, u64, u32)> = Vec::new();
            for (now, fates) in (0..).zip(&fates) {
                let turn = said(&mut ledger, now, &all);
                for (member, fate) in (0..members).zip(fates) {
                    match fate {
                        Fate::Deliver => coming.push((now, turn, member)),
                        Fate::Drop => {}
                        Fate::Twice => coming.extend([(now, turn, member); 2]),
                        Fate::Late(by) => coming.push((now + by, turn, member)),
                    }
                }
                let (ready, later): (Vec<_>, Vec<_>) =
                    coming.drain(..).partition(|(at, ..)| *at <= now);
                coming = later;
                for (_, turn, member) in ready {
                    let arrival = heard(&mut ledger, turn, member, now);
                    let key = (turn, member);
                    let was_given_up = model.given_up.contains(&key);
                    if model.had.contains(&key) {
                        prop_assert_eq!(arrival, Arrival::Duplicate);
                    } else if was_given_up {
                        prop_assert_eq!(arrival, Arrival::Overdue);
                    } else {
                        let of_sender = |&(other, to): &(u64, u32)| {
                            to == member && other > turn && (other - turn) % u64::from(members) == 0
                        };
                        let is_out_of_order = model.had.iter().any(of_sender);
                        let others = |to: u32| to == member || model.had.contains(&(turn, to));
                        let delivered = delivered(&arrival);
                        prop_assert_eq!(delivered.is_out_of_order, is_out_of_order);
                        prop_assert_eq!(delivered.by_all.is_some(), (0..members).all(others));
                    }
                    model.had.push(key);
                }
                let mut missing = 0;
                ledger.give_up(|since| since + TIMEOUT <= now, |owed| missing += owed.members);
                let before = model.given_up.len();
                for turn in 0..=now.saturating_sub(TIMEOUT) {
                    for member in (0..members).filter(|_| turn + TIMEOUT <= now) {
                        let key = (turn, member);
                        if !model.had.contains(&key) && !model.given_up.contains(&key) {
                            model.given_up.push(key);
                        }
                    }
                }
                prop_assert_eq!(missing as usize, model.given_up.len() - before);
                let had_in_time =
                    model.had.iter().collect::<std::collections::BTreeSet<_>>().len();
                let overdue = model.given_up.iter().filter(|key| model.had.contains(key)).count();
                let under_way = (now as usize + 1) * members as usize + overdue
                    - had_in_time - model.given_up.len();
                prop_assert_eq!(ledger.under_way() as usize, under_way);
            }
        }
    }
}
