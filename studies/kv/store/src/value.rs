//! What the server keeps in front of each value: engines know neither deadlines nor flags.
//!
//! Twelve bytes, little-endian: the deadline in milliseconds since 1970 (8 bytes, 0 for none), and
//! the flags that memcached's protocol gives back with a value (4 bytes).

use std::time::{SystemTime, UNIX_EPOCH};

const HEAD_BYTES: usize = 12;

/// What is known of a value beside its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Head {
    /// Milliseconds since 1970 from which on the value is gone; 0 for never.
    pub deadline_ms: u64,
    /// A number of the client's own (memcached).
    pub flags: u32,
}

impl Head {
    pub fn is_over(&self, now_ms: u64) -> bool {
        self.deadline_ms != 0 && self.deadline_ms <= now_ms
    }

    /// What an engine is given, without the value itself.
    pub fn bytes(&self) -> [u8; HEAD_BYTES] {
        let mut bytes = [0; HEAD_BYTES];
        bytes[..8].copy_from_slice(&self.deadline_ms.to_le_bytes());
        bytes[8..].copy_from_slice(&self.flags.to_le_bytes());
        bytes
    }

    /// Takes apart what an engine kept; `None` if that is too short to be a value.
    pub fn split(kept: &[u8]) -> Option<(Head, &[u8])> {
        let (head, value) = kept.split_first_chunk::<HEAD_BYTES>()?;
        let (deadline, flags) = head.split_first_chunk::<8>()?;
        let flags = flags.first_chunk::<4>()?;
        let head =
            Head { deadline_ms: u64::from_le_bytes(*deadline), flags: u32::from_le_bytes(*flags) };
        Some((head, value))
    }
}

/// Milliseconds since 1970.
pub fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_comes_back_from_its_bytes() {
        let head = Head { deadline_ms: 1_800_000_000_123, flags: 0xdead_beef };
        let kept = [&head.bytes()[..], b"value"].concat();
        assert_eq!(Head::split(&kept), Some((head, &b"value"[..])));
        assert_eq!(Head::split(&kept[..HEAD_BYTES - 1]), None);
    }

    #[test]
    fn a_value_is_over_at_its_deadline_and_never_without_one() {
        let head = Head { deadline_ms: 1000, flags: 0 };
        assert!(!head.is_over(999));
        assert!(head.is_over(1000));
        assert!(!Head::default().is_over(u64::MAX));
    }
}
