//! What rooms are called at a broker: as topics, subjects or channels.

use std::io::Write;

use crate::plan::template::mix;

/// What each of them begins with.
pub(super) const FIRST_WORD: &str = "bakeoff";
/// Bytes of a name.
pub(super) const NAME_BYTES: usize = FIRST_WORD.len() + 2 * (1 + 8);

/// The names of the rooms of a run: the first word, the run, and the room, both in hexadecimal.
/// All are of one length, and so are all messages.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RoomNames {
    run: u32,
    /// What stands between the words.
    between: char,
}

impl RoomNames {
    /// Those of the run with this seed. They don't tell the seed: with it, anybody could make
    /// messages.
    pub(crate) fn of_run(seed: u64, between: char) -> RoomNames {
        RoomNames { run: (mix(!seed) >> 32) as u32, between }
    }

    /// The run's own number.
    pub(super) fn run(self) -> u32 {
        self.run
    }

    /// The name of a room.
    pub(super) fn of(self, room: u32) -> [u8; NAME_BYTES] {
        let RoomNames { run, between } = self;
        let mut name = [0; NAME_BYTES];
        write!(&mut name[..], "{FIRST_WORD}{between}{run:08x}{between}{room:08x}")
            .expect("it has room for all of it");
        name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_room_of_each_run_has_a_name_of_its_own_and_of_the_same_length() {
        let name = |seed, room| String::from_utf8(RoomNames::of_run(seed, '/').of(room).into());
        let one = name(7, 0x1_0002).unwrap();
        assert_eq!((&one[..8], &one[16..]), ("bakeoff/", "/00010002"));
        assert_eq!(name(7, u32::MAX).unwrap()[16..], *"/ffffffff");
        assert_ne!(name(7, 1), name(8, 1), "two runs would hear each other");
        assert!(!one.contains("0000000000000007") && !one.contains("00000007"), "it is the seed");
    }
}
