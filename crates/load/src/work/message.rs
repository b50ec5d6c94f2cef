//! What robots say: messages that tell whose they are and when they were due, and that are held to
//! each of their bytes.
//!
//! | bytes | what |
//! |---|---|
//! | 0 | `M` |
//! | 1 | flags; bit 0: of the window |
//! | 2-3 | which of its sender's connections it was said on, from 0 |
//! | 4-7, 8-11, 12-15 | room, sender, and the sender's own number of the message, from 0 |
//! | 16-23 | when it was due, in ns of the run's clock |
//! | 24- | words that follow from all this and the seed: the first is its tag |
//!
//! Numbers are big-endian. The words are those of a store's values: nobody makes them without the
//! seed, so that a message may tell when it was due.

use crate::plan::template::mix;
use crate::work::keys::value::{Filler, first_other_byte};

/// Bytes before the words.
const HEAD_BYTES: usize = 24;
/// What a message begins with, so that a server can tell it from other frames.
const FIRST_BYTE: u8 = b'M';
/// The flag of a message of the window.
const OF_WINDOW: u8 = 1;

/// Makes messages and reads them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Messages {
    seed: u64,
    bytes: usize,
}

/// What a message says of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Spoken {
    /// Whether it was due in the window.
    pub is_of_window: bool,
    /// Which of its sender's connections it was said on.
    pub incarnation: u16,
    pub room: u32,
    pub sender: u32,
    /// The sender's own number of it.
    pub sequence: u32,
    /// When it was due, in ns of the run's clock.
    pub intended: u64,
}

impl Messages {
    /// Those of a run with this seed, which have so many bytes each.
    pub(crate) fn new(seed: u64, bytes: u32) -> Messages {
        Messages { seed, bytes: bytes as usize }
    }

    /// Bytes of a message.
    pub(crate) fn bytes(self) -> usize {
        self.bytes
    }

    /// Writes a message over all of these bytes, as many as one has.
    pub(crate) fn write(self, of: Spoken, message: &mut [u8]) {
        let (head, words) = message.split_at_mut(HEAD_BYTES);
        head.copy_from_slice(&of.head());
        self.words(head).fill(words);
    }

    /// What a message says of itself, if it is one of this run, whole and as it was said.
    ///
    /// # Errors
    /// What is wrong with it, for people.
    pub(crate) fn read(self, message: &[u8]) -> Result<Spoken, String> {
        if message.len() != self.bytes {
            return Err(format!("{} bytes, where a message has {}", message.len(), self.bytes));
        }
        let (head, words) = message.split_at(HEAD_BYTES);
        match first_other_byte(words, self.words(head)) {
            None => Ok(Spoken::of(head)),
            // Whatever another byte of the head says, the words are another's.
            Some(at) if at < size_of::<u64>() => {
                Err("a head that nobody wrote, or whose tag is another's".into())
            }
            Some(at) => Err(format!("another byte than was said at {}", HEAD_BYTES + at)),
        }
    }

    /// The words behind a head.
    fn words(self, head: &[u8]) -> Filler {
        let (words, _) = head.as_chunks::<8>();
        let drawn = |drawn, word: &[u8; 8]| mix(drawn ^ u64::from_be_bytes(*word));
        Filler::drawn(self.seed, words.iter().fold(self.seed, drawn))
    }
}

impl Spoken {
    fn head(self) -> [u8; HEAD_BYTES] {
        let mut head = [0; HEAD_BYTES];
        head[0] = FIRST_BYTE;
        head[1] = if self.is_of_window { OF_WINDOW } else { 0 };
        head[2..4].copy_from_slice(&self.incarnation.to_be_bytes());
        head[4..8].copy_from_slice(&self.room.to_be_bytes());
        head[8..12].copy_from_slice(&self.sender.to_be_bytes());
        head[12..16].copy_from_slice(&self.sequence.to_be_bytes());
        head[16..].copy_from_slice(&self.intended.to_be_bytes());
        head
    }

    /// Of a head that was found to be our own.
    fn of(head: &[u8]) -> Spoken {
        let number = |at: usize| u32::from_be_bytes(*head[at..].first_chunk().expect("24 bytes"));
        Spoken {
            is_of_window: head[1] == OF_WINDOW,
            incarnation: u16::from_be_bytes([head[2], head[3]]),
            room: number(4),
            sender: number(8),
            sequence: number(12),
            intended: u64::from_be_bytes(*head[16..].first_chunk().expect("24 bytes")),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    prop_compose! {
        fn spoken()(
            is_of_window: bool,
            incarnation: u16,
            room: u32,
            sender: u32,
            sequence: u32,
            intended: u64,
        ) -> Spoken {
            Spoken { is_of_window, incarnation, room, sender, sequence, intended }
        }
    }

    fn written(seed: u64, bytes: u32, of: Spoken) -> Vec<u8> {
        let mut message = vec![0; bytes as usize];
        Messages::new(seed, bytes).write(of, &mut message);
        message
    }

    proptest! {
        #[test]
        fn a_message_says_whose_it_is(of in spoken(), seed: u64, bytes in 32..300_u32) {
            let message = written(seed, bytes, of);
            prop_assert_eq!(Messages::new(seed, bytes).read(&message), Ok(of));
            prop_assert!(Messages::new(!seed, bytes).read(&message).is_err(), "another run's");
        }

        /// Else a server that changes a byte passes for one that hands on what it was given.
        #[test]
        fn a_message_with_another_bit_is_none(
            (of, bytes, at, bit) in (32..90_u32)
                .prop_flat_map(|bytes| (spoken(), Just(bytes), 0..bytes as usize, 0..8_u8)),
        ) {
            let mut message = written(7, bytes, of);
            let messages = Messages::new(7, bytes);
            message[at] ^= 1 << bit;
            prop_assert!(messages.read(&message).is_err(), "bit {} of byte {}", bit, at);
            message[at] ^= 1 << bit;
            prop_assert!(messages.read(&message[..at]).is_err(), "cut at {}", at);
            message.push(0);
            prop_assert!(messages.read(&message).is_err(), "a byte more");
        }
    }

    #[test]
    fn what_is_wrong_is_told() {
        let of = Spoken {
            is_of_window: true,
            incarnation: 0,
            room: 1,
            sender: 2,
            sequence: 3,
            intended: 4,
        };
        let told = |change: fn(&mut Vec<u8>)| {
            let mut message = written(7, 64, of);
            change(&mut message);
            Messages::new(7, 64).read(&message).unwrap_err()
        };
        let of_another = "a head that nobody wrote, or whose tag is another's";
        assert_eq!(told(|it| it[5] ^= 1), of_another);
        assert_eq!(told(|it| it[24] ^= 1), of_another);
        assert_eq!(told(|it| it[63] ^= 1), "another byte than was said at 63");
        assert_eq!(told(|it| it.truncate(63)), "63 bytes, where a message has 64");
    }
}
