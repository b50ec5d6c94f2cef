//! Values that tell what they are: of which key, in which version, and that they are whole.
//!
//! A value is its key, its version and its length, and bytes that follow from these and the
//! cut's seed. So nothing has to be kept to know what was written, and a value that is cut
//! short, mixed with another, or of another key isn't taken for one.

use fastrand::Rng;

/// Lengths that most values have, in bytes.
const SHORT: std::ops::Range<usize> = 40..400;
/// Lengths of the others. They take several pages, so that one is sooner cut within.
const LONG: std::ops::Range<usize> = 4_000..60_000;
/// The most connections that write at once.
pub const CONNECTIONS_MAX: u32 = 32;
/// One value of so many is long.
const ONE_LONG_OF: u32 = 64;

/// A key: each belongs to one connection, which alone writes to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key {
    /// The cut's seed: no key of another cut is taken for one of this.
    pub seed: u64,
    /// The connection's number.
    pub connection: u32,
    /// Its number among those of the connection.
    pub number: u32,
}

impl Key {
    /// As the store has it: of the form that keys of a load have, so that no store knows by it
    /// that it will be cut off.
    pub fn name(&self) -> String {
        let place =
            u64::from(self.number) * u64::from(CONNECTIONS_MAX) + u64::from(self.connection);
        format!("key:{place:012}")
    }

    /// What its value is in this version, which counts from 1.
    pub fn value(&self, version: u32) -> Vec<u8> {
        let place = u64::from(self.connection) << 32 | u64::from(self.number);
        let mut random = Rng::with_seed(self.seed ^ place.rotate_left(17) ^ u64::from(version));
        let length = match random.u32(..ONE_LONG_OF) {
            0 => random.usize(LONG),
            _ => random.usize(SHORT),
        };
        let mut value = format!("{} {version} {length} ", self.name()).into_bytes();
        let head = value.len();
        value.resize(head + length, 0);
        random.fill(&mut value[head..]);
        value
    }

    /// Which version a value is that the store has for this key.
    ///
    /// # Errors
    /// What it is instead, in words that quote none of it.
    pub fn version_of(&self, value: &[u8]) -> Result<u32, String> {
        let mut words = value.splitn(3, |&byte| byte == b' ');
        let name = words.next().unwrap_or_default();
        let version = words.next().and_then(|it| std::str::from_utf8(it).ok()?.parse().ok());
        let Some(version) = version.filter(|_| name.starts_with(b"key:")) else {
            return Err(format!("{} bytes that were never written", value.len()));
        };
        if name != self.name().as_bytes() {
            return Err("the value of another key".into());
        }
        if value == self.value(version) {
            Ok(version)
        } else {
            Err(format!("version {version}, but not all of its bytes"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: Key = Key { seed: 7, connection: 3, number: 9 };

    #[test]
    fn a_value_tells_its_version_and_nothing_else_is_taken_for_one() {
        for version in 1..200 {
            assert_eq!(KEY.version_of(&KEY.value(version)), Ok(version));
        }
        let value = KEY.value(1);
        for cut in 0..value.len() {
            assert!(KEY.version_of(&value[..cut]).is_err(), "cut short at {cut}");
        }
        let mut zeroed = value.clone();
        *zeroed.last_mut().unwrap() ^= 1;
        assert_eq!(KEY.version_of(&zeroed), Err("version 1, but not all of its bytes".into()));
        let other = Key { number: 10, ..KEY };
        assert_eq!(KEY.version_of(&other.value(1)), Err("the value of another key".into()));
        assert_eq!(KEY.version_of(&[0; 80]), Err("80 bytes that were never written".into()));
        let of_another_cut = Key { seed: 8, ..KEY };
        assert!(KEY.version_of(&of_another_cut.value(1)).is_err());
    }

    #[test]
    fn some_values_are_so_long_that_they_are_written_in_parts() {
        let lengths: Vec<usize> = (1..1000).map(|version| KEY.value(version).len()).collect();
        assert!(lengths.iter().any(|&length| length > 16_384));
        assert!(lengths.iter().filter(|&&length| length < 500).count() > 900);
    }
}
