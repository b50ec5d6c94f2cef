//! Keys and values that are written to a store: those of a load, so that no store knows by them
//! that it will be cut off.
//!
//! A value tells by its head and by all of its bytes which write of which key it is of, and with
//! which seed. So nothing has to be kept to know what was written, and a value that is cut short,
//! mixed with another, or of another key isn't taken for one.

use load::value::{Values, key_called};

/// The most connections that write at once.
pub const CONNECTIONS_MAX: u32 = 64;

/// A key: each belongs to one connection, which alone writes to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key {
    /// The connection's number.
    pub connection: u32,
    /// Its number among those of the connection.
    pub number: u32,
}

impl Key {
    /// As the store has it.
    pub fn name(self) -> String {
        key_called(self.place())
    }

    fn place(self) -> u64 {
        u64::from(self.number) * u64::from(CONNECTIONS_MAX) + u64::from(self.connection)
    }
}

/// The values of a cut.
#[derive(Debug, Clone)]
pub struct CutValues(Values);

impl CutValues {
    /// Of so many bytes each. By the seed no value of another cut is taken for one of this.
    pub fn new(seed: u64, bytes: u32) -> CutValues {
        CutValues(Values::new(seed, bytes..=bytes))
    }

    /// What a write gives a key.
    pub fn value(&self, key: Key, write: u64) -> Vec<u8> {
        self.0.value(write, key.place())
    }

    /// Which write a value is of that the store has for a key.
    ///
    /// # Errors
    /// What it is instead, in words that quote none of it.
    pub fn write_of(&self, key: Key, value: &[u8]) -> Result<u64, String> {
        self.0.write_of(value, key.place())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: Key = Key { connection: 3, number: 9 };

    #[test]
    fn a_value_tells_its_write_and_nothing_else_is_taken_for_one() {
        let values = CutValues::new(7, 100);
        let of = |value: &[u8]| values.write_of(KEY, value);
        for write in 1..200 {
            assert_eq!(of(&values.value(KEY, write)), Ok(write));
        }
        let value = values.value(KEY, 1);
        for cut in 0..value.len() {
            assert!(of(&value[..cut]).is_err(), "cut short at {cut}");
        }
        let mut torn = value.clone();
        *torn.last_mut().unwrap() ^= 1;
        assert_eq!(of(&torn), Err("another byte than was written at 99".into()));
        let other = Key { number: 10, ..KEY };
        assert_eq!(of(&values.value(other, 1)), Err("the value of key 643".into()));
        assert!(of(&[0; 100]).is_err());
        let of_another_cut = CutValues::new(8, 100);
        assert!(of(&of_another_cut.value(KEY, 1)).is_err());
    }

    /// Else a store knows by its keys that it is cut off, and two connections write to one key.
    #[test]
    fn keys_are_called_as_those_of_a_load_and_each_has_a_name_of_its_own() {
        let all = (0..CONNECTIONS_MAX)
            .flat_map(|connection| (0..50).map(move |number| Key { connection, number }.name()));
        let names: std::collections::BTreeSet<String> = all.collect();
        assert_eq!(names.len(), 50 * CONNECTIONS_MAX as usize);
        assert_eq!(KEY.name(), "key:000000000579");
    }
}
