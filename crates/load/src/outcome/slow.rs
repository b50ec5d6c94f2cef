//! What became of robots that hung for some time, and of the others meanwhile.

use histogram::Latency;
use histogram::reading::{Statistic, read};
use serde::{Deserialize, Serialize};

/// The highest of these that has enough samples before and meanwhile is compared.
const COMPARED: [f64; 3] = [99.0, 90.0, 50.0];
/// Times that are so many times as long are what a slow robot made of them.
const BLOCKS_TIMES: u64 = 3;
/// And by so much longer at least: less is what a processor's scheduler does to anybody.
const BLOCKS_NS_MIN: u64 = 1_000_000;

/// And so large a share of what others had to say meanwhile isn't taken from them. A JVM that was cold,
/// on a machine that was busy, left 219 of 16,400 deliveries.
const BLOCKS_SHED_SHARE: f64 = 0.1;

/// What became of slow robots, and of the others. What the slow ones were owed from when they began
/// to hang until the end stands here alone.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SlowSeen {
    /// Robots that hung.
    pub robots: u32,
    /// Those of them whose connection ended.
    pub cut: u32,
    /// Deliveries that they were owed.
    pub owed: u64,
    /// Those that came, if only once the robots read again.
    pub came: u64,
    /// Those that didn't come within the timeout after that.
    pub missing: u64,
    /// Those still awaited when the run was stopped.
    pub in_flight: u64,
    /// Missing ones that came after all.
    pub overdue: u64,
    /// Times of deliveries to others, of the window's messages that were due before.
    pub before: Latency,
    /// The same of those that were due while the robots hung.
    pub meanwhile: Latency,
    /// Deliveries that were due meanwhile, and whose message was never handed over.
    pub shed: u64,
}

/// What a server does with a robot that doesn't read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SlowWord {
    /// Others have to wait for it.
    Blocks,
    /// It ends its connection.
    Cuts,
    /// It throws away what is for it.
    Drops,
    /// It keeps all for it.
    Buffers,
}

impl SlowWord {
    /// Its name in output.
    pub fn name(self) -> &'static str {
        match self {
            SlowWord::Blocks => "blocks",
            SlowWord::Cuts => "cuts",
            SlowWord::Drops => "drops",
            SlowWord::Buffers => "buffers",
        }
    }
}

impl SlowSeen {
    /// What the server did, the worst of it; `None` where the robots were owed nothing, or the run
    /// was stopped before it showed.
    pub fn word(&self) -> Option<SlowWord> {
        if self.owed == 0 {
            None
        } else if self.others_were_shed() || self.others_waited() {
            Some(SlowWord::Blocks)
        } else if self.cut > 0 {
            Some(SlowWord::Cuts)
        } else if self.missing > 0 {
            Some(SlowWord::Drops)
        } else {
            (self.in_flight == 0).then_some(SlowWord::Buffers)
        }
    }

    /// Whether others couldn't speak for a good part of the time.
    fn others_were_shed(&self) -> bool {
        let due = self.meanwhile.samples() + self.shed;
        self.shed > 0 && self.shed as f64 >= BLOCKS_SHED_SHARE * due as f64
    }

    /// Whether deliveries to others took much longer meanwhile.
    fn others_waited(&self) -> bool {
        let value = |times: &Latency, percentile| {
            let reading = read(times, Statistic::Percentile(percentile));
            reading.value().map(|it| it.nanoseconds)
        };
        let both = |percentile| {
            Some((value(&self.before, percentile)?, value(&self.meanwhile, percentile)?))
        };
        COMPARED.into_iter().find_map(both).is_some_and(|(before, meanwhile)| {
            meanwhile >= before.saturating_mul(BLOCKS_TIMES).max(before + BLOCKS_NS_MIN)
        })
    }

    pub(super) fn merge(mut self, next: SlowSeen) -> SlowSeen {
        self.before.add(&next.before);
        self.meanwhile.add(&next.meanwhile);
        SlowSeen {
            robots: self.robots + next.robots,
            cut: self.cut + next.cut,
            owed: self.owed + next.owed,
            came: self.came + next.came,
            missing: self.missing + next.missing,
            in_flight: self.in_flight + next.in_flight,
            overdue: self.overdue + next.overdue,
            before: self.before,
            meanwhile: self.meanwhile,
            shed: self.shed + next.shed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(of: u64) -> Latency {
        let mut times = Latency::default();
        times.good.saturating_record_n(of, 1_000);
        times
    }

    #[test]
    fn the_word_is_the_worst_of_what_a_server_did() {
        let (before, meanwhile) = (times(2_000_000), times(2_500_000));
        let all =
            SlowSeen { robots: 2, owed: 9, came: 9, before, meanwhile, ..SlowSeen::default() };
        assert_eq!(all.word(), Some(SlowWord::Buffers));
        let drops = SlowSeen { came: 5, missing: 4, ..all.clone() };
        assert_eq!(drops.word(), Some(SlowWord::Drops));
        let cuts = SlowSeen { cut: 1, ..drops };
        assert_eq!(cuts.word(), Some(SlowWord::Cuts));
        let blocks = SlowSeen { meanwhile: times(6_100_000), ..cuts.clone() };
        assert_eq!(blocks.word(), Some(SlowWord::Blocks));
        let sheds = |shed| SlowSeen { shed, ..cuts.clone() }.word();
        assert_eq!(sheds(110), Some(SlowWord::Cuts), "of 1,110 that were due, less than a tenth");
        assert_eq!(sheds(112), Some(SlowWord::Blocks));
        let quick = SlowSeen { before: times(100_000), meanwhile: times(900_000), ..all.clone() };
        assert_eq!(quick.word(), Some(SlowWord::Buffers), "less than a millisecond is noise");
        let of_few = |of| {
            let mut times = times(of);
            times.good.saturating_record_n(9_000_000, 30);
            times
        };
        let noise = SlowSeen { meanwhile: of_few(2_500_000), ..all.clone() };
        assert_eq!(noise.word(), Some(SlowWord::Buffers), "a percentile of too few samples");
        let stopped = SlowSeen { came: 5, in_flight: 4, ..all.clone() };
        assert_eq!(stopped.word(), None);
        assert_eq!(SlowSeen { owed: 0, came: 0, ..all }.word(), None);
    }
}
