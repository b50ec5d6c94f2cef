//! What became of a storm: all robots ended their connections at once, and all wanted to come back.

use histogram::Histogram;
use serde::{Deserialize, Serialize};

/// What became of a storm.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StormSeen {
    /// Robots that ended their connection.
    pub ended: u32,
    /// From the storm until a robot was in its room again, of those that came back.
    #[serde(with = "histogram::text")]
    pub back: Histogram<u64>,
    /// Attempts to come back that were refused.
    pub refused: u64,
    /// Those that failed otherwise.
    pub failed: u64,
    /// SYN segments sent again for them.
    pub syn_retransmits: u64,
    /// Deliveries out of order since.
    pub out_of_order: u64,
    /// Messages that came again since.
    pub duplicates: u64,
}

impl Default for StormSeen {
    fn default() -> StormSeen {
        StormSeen {
            ended: 0,
            back: histogram::empty(),
            refused: 0,
            failed: 0,
            syn_retransmits: 0,
            out_of_order: 0,
            duplicates: 0,
        }
    }
}

impl StormSeen {
    /// After how many nanoseconds this share of all that ended, from 0 to 1, was back; `None` if
    /// fewer came back.
    pub fn back_within(&self, share: f64) -> Option<u64> {
        let (back, needed) = (self.back.len() as f64, (share * f64::from(self.ended)).ceil());
        (needed >= 1.0 && needed <= back).then(|| self.back.value_at_quantile(needed / back))
    }

    pub(super) fn merge(mut self, next: &StormSeen) -> StormSeen {
        self.back += &next.back;
        StormSeen {
            ended: self.ended + next.ended,
            back: self.back,
            refused: self.refused + next.refused,
            failed: self.failed + next.failed,
            syn_retransmits: self.syn_retransmits + next.syn_retransmits,
            out_of_order: self.out_of_order + next.out_of_order,
            duplicates: self.duplicates + next.duplicates,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_back_once_so_many_of_all_that_ended_are() {
        let mut seen = StormSeen { ended: 200, ..StormSeen::default() };
        assert_eq!(seen.back_within(0.5), None);
        (1..=198).for_each(|ms| seen.back.saturating_record(ms * 1_000_000));
        let near = |share, ms: u64| {
            seen.back_within(share).is_some_and(|it| it.abs_diff(ms * 1_000_000) < ms * 2_000)
        };
        assert!(near(0.5, 100) && near(0.99, 198), "{:?}", seen.back_within(0.5));
        assert_eq!(seen.back_within(1.0), None, "two didn't come back");
        assert_eq!(StormSeen::default().back_within(0.5), None);
    }
}
