//! The connections of a thread that can take a request of an open loop, and which of them
//! takes the next.

use std::collections::VecDeque;

use crate::backend::Slot;
use crate::thread::slots::Slots;

/// Those that may take a request. What stands here may have changed since: whoever looks
/// passes over what can't take one any more.
#[derive(Debug, Default)]
pub(crate) struct Line {
    /// Open connections on which nothing is asked. The one that was used last is taken
    /// first, as pools do: the longer a connection lies idle, the likelier its server is
    /// just about to end it.
    idle: Vec<Slot>,
    /// Open connections with room beside what is asked on them, in turn, so that no one is
    /// filled while others are nearly empty.
    partly: VecDeque<Slot>,
    /// Whether a slot stands in `partly`; empty where connections take one request at a time.
    is_partly: Vec<bool>,
    /// Slots whose connection ended while nothing was asked: it is made again when a request
    /// needs it, as pools do.
    ended: Vec<Slot>,
}

/// What takes the next request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// An open connection.
    Open(Slot),
    /// A slot whose connection has to be made first.
    Ended(Slot),
}

impl Line {
    /// An empty line, for so many slots that take so many requests each.
    pub(crate) fn new(slots: u32, depth: u16) -> Line {
        let is_partly = if depth > 1 { vec![false; slots as usize] } else { Vec::new() };
        Line { is_partly, ..Line::default() }
    }

    /// An open slot may be able to take a request, or another one.
    #[inline]
    pub(crate) fn enter<C: Default>(&mut self, slot: Slot, slots: &mut Slots<C>) {
        if slots.under_way(slot) == 0 {
            if !std::mem::replace(&mut slots.connection(slot).is_idle, true) {
                self.idle.push(slot);
            }
        } else if slots.has_room(slot)
            && !std::mem::replace(&mut self.is_partly[slot as usize], true)
        {
            self.partly.push_back(slot);
        }
    }

    /// Whether each slot that stands here is marked so, and no other: one that is marked and stands
    /// nowhere takes no request any more, and one that stands here twice takes two at once.
    pub(crate) fn agrees_with<C: Default>(&self, slots: &Slots<C>) -> bool {
        let idle = (0..slots.count()).filter(|&slot| slots.is_idle(slot)).count();
        let partly = self.is_partly.iter().filter(|is_partly| **is_partly).count();
        idle == self.idle.len()
            && partly == self.partly.len()
            && self.idle.iter().all(|&slot| slots.is_idle(slot))
            && self.partly.iter().all(|&slot| self.is_partly[slot as usize])
    }

    /// A slot's connection has ended, and none is made until a request needs it.
    pub(crate) fn enter_ended(&mut self, slot: Slot) {
        self.ended.push(slot);
    }

    /// What would take the next request.
    #[inline]
    pub(crate) fn first<C: Default>(&mut self, slots: &mut Slots<C>) -> Option<Place> {
        while let Some(&slot) = self.idle.last() {
            if slots.is_open(slot) && slots.under_way(slot) == 0 {
                return Some(Place::Open(slot));
            }
            self.idle.pop();
            slots.connection(slot).is_idle = false;
        }
        while let Some(&slot) = self.partly.front() {
            if slots.is_open(slot) && slots.has_room(slot) {
                return Some(Place::Open(slot));
            }
            self.partly.pop_front();
            self.is_partly[slot as usize] = false;
        }
        self.ended.last().map(|&slot| Place::Ended(slot))
    }

    /// What [`Line::first`] gave takes a request.
    #[inline]
    pub(crate) fn leave<C: Default>(&mut self, place: Place, slots: &mut Slots<C>) {
        match place {
            Place::Open(slot) if slots.under_way(slot) == 0 => {
                self.idle.pop();
                slots.connection(slot).is_idle = false;
            }
            Place::Open(slot) => {
                self.partly.pop_front();
                self.is_partly[slot as usize] = false;
            }
            Place::Ended(_) => {
                self.ended.pop();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::thread::slots::Flight;

    fn open(slots: u32, depth: u16) -> (Line, Slots<()>) {
        let mut all = Slots::new(slots, depth);
        let mut line = Line::new(slots, depth);
        for slot in 0..slots {
            all.open(slot);
            line.enter(slot, &mut all);
        }
        (line, all)
    }

    /// The slot that takes a request.
    fn take(line: &mut Line, slots: &mut Slots<()>) -> Option<Place> {
        let place = line.first(slots)?;
        line.leave(place, slots);
        let (Place::Open(slot) | Place::Ended(slot)) = place;
        slots.push(slot, Flight::default());
        if let Place::Open(slot) = place {
            line.enter(slot, slots);
        }
        Some(place)
    }

    #[test]
    fn the_connection_that_was_used_last_is_taken_first() {
        let (mut line, mut slots) = open(3, 1);
        assert_eq!(take(&mut line, &mut slots), Some(Place::Open(2)));
        assert_eq!(take(&mut line, &mut slots), Some(Place::Open(1)));
        slots.pop(2);
        line.enter(2, &mut slots);
        assert_eq!(take(&mut line, &mut slots), Some(Place::Open(2)), "others idle ever longer");
        assert_eq!(take(&mut line, &mut slots), Some(Place::Open(0)));
        assert_eq!(take(&mut line, &mut slots), None);
    }

    #[test]
    fn no_request_goes_behind_another_while_a_connection_has_none() {
        let (mut line, mut slots) = open(3, 2);
        let mut taken = Vec::new();
        while let Some(Place::Open(slot)) = take(&mut line, &mut slots) {
            taken.push(slot);
        }
        assert_eq!(taken, [2, 1, 0, 2, 1, 0]);
        slots.pop(1);
        line.enter(1, &mut slots);
        assert_eq!(take(&mut line, &mut slots), Some(Place::Open(1)));
    }

    #[test]
    fn a_connection_that_ended_is_made_again_only_where_no_other_is_free() {
        let (mut line, mut slots) = open(2, 1);
        *slots.state(1) = crate::thread::slots::State::Closed;
        line.enter_ended(1);
        assert_eq!(take(&mut line, &mut slots), Some(Place::Open(0)));
        assert_eq!(take(&mut line, &mut slots), Some(Place::Ended(1)));
        assert_eq!(take(&mut line, &mut slots), None);
        // Made again, it is as good as any.
        slots.open(1);
        slots.pop(1);
        line.enter(1, &mut slots);
        assert_eq!(take(&mut line, &mut slots), Some(Place::Open(1)));
    }

    #[test]
    fn a_slot_that_stands_nowhere_or_twice_is_found() {
        for depth in [1, 2] {
            let (mut line, mut slots) = open(3, depth);
            for _ in 0..5 {
                take(&mut line, &mut slots);
                assert!(line.agrees_with(&slots));
            }
        }
        let (mut line, mut slots) = open(3, 1);
        slots.connection(1).is_idle = false;
        assert!(!line.agrees_with(&slots), "it stands here unmarked, and may come in once more");
        line.enter(1, &mut slots);
        assert!(!line.agrees_with(&slots), "it stands here twice");
        let (_, slots) = open(2, 1);
        assert!(!Line::new(2, 1).agrees_with(&slots), "it is marked, and stands nowhere");
        let (mut line, mut slots) = open(2, 2);
        while line.partly.is_empty() {
            take(&mut line, &mut slots);
        }
        line.partly.clear();
        assert!(!line.agrees_with(&slots), "it has room that nobody finds");
    }
}
