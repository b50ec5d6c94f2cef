//! What a thread knows of each of its connections, and of the requests on them.

use crate::backend::Slot;
use crate::outcome::record::Times;

/// A request under way: two to a cache line, for each is looked at when it is sent
/// and when its answer comes, and meanwhile the other connections' pass through the
/// cache.
#[derive(Debug, Default, Clone, Copy)]
#[repr(align(32))]
pub(crate) struct Flight {
    /// The request's number in the run.
    pub number: u64,
    pub times: Times,
}

/// What has become of a slot's connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    Closed,
    /// Begun at this time.
    Connecting(u64),
    /// Established, and its first words were sent.
    Opening {
        /// When the connection was begun.
        begun: u64,
        /// When it was established.
        since: u64,
    },
    /// It carries requests.
    Open,
}

/// A connection of this thread, as far as each answer needs it: two to a cache line,
/// as flights are.
#[repr(align(32))]
pub(crate) struct Connection<C> {
    /// What the protocol keeps of an answer that came in part.
    pub partial: C,
    /// When it last became free for a request, where a connection serves one request.
    pub free_since: u64,
    /// Good answers to the window's requests so far.
    pub good: u64,
    first: u16,
    under_way: u16,
    /// So many of the requests under way, the oldest, were asked before, on a connection
    /// that was lost.
    pub again: u16,
    /// Whether this connection has brought an answer.
    pub is_used: bool,
    /// Whether it stands among those on which nothing is asked.
    pub is_idle: bool,
}

/// All connections of a thread, with the requests under way on each, oldest first.
pub(crate) struct Slots<C> {
    connections: Vec<Connection<C>>,
    states: Vec<State>,
    /// Which were open before.
    had_one: Vec<bool>,
    /// On which a request of the window was left waiting.
    left_waiting: Vec<bool>,
    flights: Vec<Flight>,
    depth: u16,
}

impl<C: Default> Slots<C> {
    /// So many closed connections, for at most `depth` requests each.
    pub(crate) fn new(slots: u32, depth: u16) -> Slots<C> {
        let connection = || Connection {
            partial: C::default(),
            free_since: 0,
            good: 0,
            first: 0,
            under_way: 0,
            again: 0,
            is_used: false,
            is_idle: false,
        };
        Slots {
            connections: (0..slots).map(|_| connection()).collect(),
            states: vec![State::Closed; slots as usize],
            had_one: vec![false; slots as usize],
            left_waiting: vec![false; slots as usize],
            flights: vec![Flight::default(); slots as usize * usize::from(depth)],
            depth,
        }
    }

    /// What has become of a slot's connection.
    pub(crate) fn state(&mut self, slot: Slot) -> &mut State {
        &mut self.states[slot as usize]
    }

    /// Whether a slot's connection carries requests.
    pub(crate) fn is_open(&self, slot: Slot) -> bool {
        self.states[slot as usize] == State::Open
    }

    /// Whether a slot's connection is being made.
    pub(crate) fn is_begun(&self, slot: Slot) -> bool {
        matches!(self.states[slot as usize], State::Connecting(_) | State::Opening { .. })
    }

    /// Whether a slot stands among those on which nothing is asked.
    pub(crate) fn is_idle(&self, slot: Slot) -> bool {
        self.connections[slot as usize].is_idle
    }

    pub(crate) fn connection(&mut self, slot: Slot) -> &mut Connection<C> {
        &mut self.connections[slot as usize]
    }

    /// A slot's connection carries requests; whether it had such a one before.
    pub(crate) fn open(&mut self, slot: Slot) -> bool {
        self.states[slot as usize] = State::Open;
        self.connections[slot as usize].is_used = false;
        std::mem::replace(&mut self.had_one[slot as usize], true)
    }

    /// A request on this slot was left waiting in the window: given up, or never answered.
    pub(crate) fn leave_waiting(&mut self, slot: Slot) {
        self.left_waiting[slot as usize] = true;
    }

    /// Whether a slot left a request of the window waiting, and answered none of them well.
    pub(crate) fn is_unanswered(&self, slot: Slot) -> bool {
        self.left_waiting[slot as usize] && self.connections[slot as usize].good == 0
    }

    /// How many slots there are.
    pub(crate) fn count(&self) -> Slot {
        self.connections.len() as Slot
    }

    /// The flight at a place.
    pub(crate) fn flight(&mut self, place: usize) -> &mut Flight {
        &mut self.flights[place]
    }

    /// The place among all flights of a slot's request, the oldest being 0.
    pub(crate) fn place(&self, slot: Slot, nth: u16) -> usize {
        let depth = usize::from(self.depth);
        let mut place = usize::from(self.connections[slot as usize].first) + usize::from(nth);
        if place >= depth {
            place -= depth;
        }
        slot as usize * depth + place
    }

    /// How many requests are under way on a slot.
    pub(crate) fn under_way(&self, slot: Slot) -> u16 {
        self.connections[slot as usize].under_way
    }

    /// Whether a slot can take another request.
    pub(crate) fn has_room(&self, slot: Slot) -> bool {
        self.under_way(slot) < self.depth
    }

    /// The oldest request under way on a slot.
    pub(crate) fn oldest(&mut self, slot: Slot) -> Option<&mut Flight> {
        if self.under_way(slot) == 0 {
            return None;
        }
        let place = self.place(slot, 0);
        Some(&mut self.flights[place])
    }

    /// Adds a request to a slot with room; gives its place among all flights.
    pub(crate) fn push(&mut self, slot: Slot, flight: Flight) -> usize {
        let nth = self.under_way(slot);
        debug_assert!(nth < self.depth, "slot {slot} has no room");
        let place = self.place(slot, nth);
        self.flights[place] = flight;
        self.connections[slot as usize].under_way += 1;
        place
    }

    /// Takes the oldest request off a slot.
    pub(crate) fn pop(&mut self, slot: Slot) -> Option<Flight> {
        let flight = *self.oldest(slot)?;
        self.drop_oldest(slot);
        Some(flight)
    }

    /// Takes the oldest request off a slot that has one, and is looked at already; gives the
    /// connection.
    #[inline(always)]
    pub(crate) fn drop_oldest(&mut self, slot: Slot) -> &mut Connection<C> {
        let depth = self.depth;
        let connection = self.connection(slot);
        debug_assert!(connection.under_way > 0, "slot {slot} has no request");
        connection.first = if connection.first + 1 == depth { 0 } else { connection.first + 1 };
        connection.under_way -= 1;
        connection.again = connection.again.saturating_sub(1);
        connection
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_and_flights_lie_two_to_a_cache_line() {
        assert_eq!(size_of::<Connection<Option<Box<u8>>>>(), 32);
        assert_eq!(size_of::<Flight>(), 32);
    }

    fn flight(number: u64) -> Flight {
        Flight { number, ..Flight::default() }
    }

    #[test]
    fn answers_belong_to_requests_in_the_order_they_were_sent() {
        let mut slots: Slots<()> = Slots::new(2, 3);
        for round in 0..5 {
            let base = round * 3;
            for number in base..base + 3 {
                slots.push(1, flight(number));
            }
            assert!(!slots.has_room(1));
            assert!(slots.has_room(0), "one slot's requests take another's room");
            for number in base..base + 3 {
                assert_eq!(slots.oldest(1).unwrap().number, number);
                assert_eq!(slots.pop(1).unwrap().number, number);
                // Keeps the ring turning by odd steps.
                if number == base {
                    slots.push(1, flight(99));
                    slots.push(0, flight(7));
                    slots.pop(0);
                }
            }
            assert_eq!(slots.pop(1).unwrap().number, 99);
        }
        assert!(slots.pop(1).is_none());
    }
}
