//! What came on a connection and wasn't yet done.

use std::io::{ErrorKind, Read, Result};

/// Room at first, and the least that a read has.
const FIRST_BYTES: usize = 4 << 10;
/// What one connection may bring in a turn, so that the others have theirs.
const TURN_BYTES_MAX: usize = 256 << 10;
/// Room that is kept for later; what a large value took beyond is given back.
const KEPT_BYTES_MAX: usize = 256 << 10;

#[derive(Debug, Default)]
pub struct Input {
    room: Vec<u8>,
    /// What is there lies between these.
    begin: usize,
    end: usize,
}

/// How a read ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fill {
    /// There is nothing more for now.
    Drained,
    /// There may be more, for the next turn.
    Unfinished,
    /// The client sends no more.
    Ended,
}

impl Input {
    /// Takes what came.
    ///
    /// # Errors
    /// Where the connection is lost.
    pub fn fill(&mut self, from: &mut impl Read) -> Result<Fill> {
        let mut taken = 0;
        while taken < TURN_BYTES_MAX {
            self.make_room();
            let room = self.room.len() - self.end;
            match from.read(&mut self.room[self.end..]) {
                Ok(0) => return Ok(Fill::Ended),
                Ok(count) => {
                    self.end += count;
                    taken += count;
                    // The kernel fills what it is given, if it has so much (epoll(7)).
                    if count < room {
                        return Ok(Fill::Drained);
                    }
                }
                Err(why) if why.kind() == ErrorKind::WouldBlock => return Ok(Fill::Drained),
                Err(why) if why.kind() == ErrorKind::Interrupted => {}
                Err(why) => return Err(why),
            }
        }
        Ok(Fill::Unfinished)
    }

    /// Leaves at least [`FIRST_BYTES`] behind what is there.
    fn make_room(&mut self) {
        if self.room.len() - self.end >= FIRST_BYTES {
            return;
        }
        if self.begin > 0 {
            self.room.copy_within(self.begin..self.end, 0);
            self.end -= self.begin;
            self.begin = 0;
        }
        if self.room.len() - self.end < FIRST_BYTES {
            self.room.resize((self.room.len() * 2).max(2 * FIRST_BYTES), 0);
        }
    }

    pub fn bytes(&self) -> &[u8] {
        &self.room[self.begin..self.end]
    }

    /// So many bytes are done.
    pub fn consume(&mut self, bytes: usize) {
        self.begin += bytes;
        if self.begin == self.end {
            (self.begin, self.end) = (0, 0);
            if self.room.len() > KEPT_BYTES_MAX {
                self.room = Vec::new();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_came_is_there_in_its_order_whatever_was_done_between() {
        let all: Vec<u8> = (0..1_000_000_u32).map(|at| (at % 251) as u8).collect();
        let (mut from, mut input, mut done) = (&all[..], Input::default(), Vec::new());
        for step in [1, 5000, 77, 300_000].iter().cycle() {
            let read = input.fill(&mut from).unwrap();
            let bytes = input.bytes();
            let part = bytes.len().min(*step);
            done.extend_from_slice(&bytes[..part]);
            input.consume(part);
            assert!(input.room.len() <= 4 << 20, "what is kept is bounded by what came");
            if read == Fill::Ended && input.bytes().is_empty() {
                break;
            }
        }
        assert_eq!(done, all);
    }

    #[test]
    fn one_connection_takes_no_whole_turn() {
        let mut input = Input::default();
        assert_eq!(input.fill(&mut std::io::repeat(7)).unwrap(), Fill::Unfinished);
        assert!(input.bytes().len() <= 2 * TURN_BYTES_MAX);
    }
}
