//! What a gateway does where robots don't do what is usual: one of them reads nothing for some
//! time, or all end their connections at once and all want to come back.
//!
//! Such a *script* is played once with a process of its own, before anything is timed.

use serde::{Deserialize, Serialize};

use crate::evidence::Percentiles;

/// What a gateway does with a member of a room that reads more slowly than the others speak.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SlowReader {
    /// Its connection is ended.
    Cuts,
    /// It stays, and some messages don't come to it.
    Drops,
    /// All that it hasn't read is kept for it, however much that is.
    Buffers,
    /// The others wait for it.
    Blocks,
}

impl SlowReader {
    /// Its name in files.
    pub fn name(self) -> &'static str {
        match self {
            SlowReader::Cuts => "cuts",
            SlowReader::Drops => "drops",
            SlowReader::Buffers => "buffers",
            SlowReader::Blocks => "blocks",
        }
    }
}

/// How robots end their connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StormEnding {
    /// By an orderly close.
    Fin,
    /// By a reset.
    Reset,
}

impl StormEnding {
    /// Both, in the order in which they are played.
    pub const ALL: [StormEnding; 2] = [StormEnding::Fin, StormEnding::Reset];
}

/// The scripts that were played with one contender.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ScriptsSeen {
    /// Its name.
    pub contender: String,
    /// What it promises to do with a slow reader; `None` if it promises nothing.
    pub promised: Option<SlowReader>,
    /// Whether it promises no more than that a message comes once at most.
    pub may_lose: bool,
    /// Where its promises are written; `None` if it makes none.
    pub promised_in: Option<String>,
    /// What became of a slow reader; `None` where that wasn't played.
    pub slow: Option<Played<SlowReaderSeen>>,
    /// What became of storms, by how robots ended; empty where none was played.
    pub storms: Vec<StormPlayed>,
}

/// What came of a script.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Played<T> {
    /// This was seen.
    Seen(T),
    /// The contender failed before it or during it, and how.
    Failed(String),
}

/// A storm with a process of its own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StormPlayed {
    /// How robots ended.
    pub ending: StormEnding,
    /// What came of it.
    pub after: Played<AfterStorm>,
}

/// What became of robots that read nothing for some time, and of the others. What the slow ones
/// were owed stands here apart from the others' deliveries.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct SlowReaderSeen {
    /// All robots that were in their rooms.
    pub robots: u32,
    /// Those of them that read nothing.
    pub slow: u32,
    /// For how long, in seconds.
    pub slow_s: f64,
    /// What the gateway did, the worst of it; `None` where that isn't known.
    pub word: Option<SlowReader>,
    /// Slow ones whose connection was ended.
    pub cut: u32,
    /// Deliveries that they were owed.
    pub owed: u64,
    /// Bytes of those.
    pub owed_bytes: u64,
    /// Those that came, if only once they read again.
    pub came: u64,
    /// Those that didn't come within 5 s after that.
    pub missing: u64,
    /// Times of deliveries to others that were due before, in µs.
    pub others_before_us: Percentiles,
    /// The same of those that were due meanwhile.
    pub others_meanwhile_us: Percentiles,
    /// Deliveries that were due meanwhile, and whose message the gateway didn't take.
    pub others_shed: u64,
    /// Deliveries to others that never came.
    pub others_missing: u64,
    /// Others whose connection was ended.
    pub others_cut: u32,
    /// The most resident memory before, in bytes; `None` where it can't be seen.
    pub memory_before_bytes: Option<u64>,
    /// The most from then on.
    pub memory_max_bytes: Option<u64>,
}

/// The highest of these that is known of both is compared.
const COMPARED: [f64; 3] = [99.0, 90.0, 50.0];

impl SlowReaderSeen {
    /// By how many bytes its memory grew; `None` where that can't be seen.
    pub fn grown_bytes(&self) -> Option<u64> {
        Some(self.memory_max_bytes?.saturating_sub(self.memory_before_bytes?))
    }

    /// Whether its memory grew by half of what the slow ones were owed, so that it was kept there.
    /// Where memory can't be seen, nothing speaks against it.
    pub fn was_kept_in_memory(&self) -> bool {
        self.grown_bytes().is_none_or(|grown| grown >= self.owed_bytes / 2)
    }

    /// How long others waited, in µs: a percentile, and its value before and meanwhile. `None`
    /// where too few deliveries were seen.
    pub fn others_waited_us(&self) -> Option<(f64, [f64; 2])> {
        let value = |times: &Percentiles, percentile: f64| {
            times.at.iter().find(|it| it.percentile == percentile).map(|it| it.value)
        };
        COMPARED.into_iter().find_map(|percentile| {
            let before = value(&self.others_before_us, percentile)?;
            let meanwhile = value(&self.others_meanwhile_us, percentile)?;
            Some((percentile, [before, meanwhile]))
        })
    }

    /// Whether others lost something besides time.
    pub fn others_lost(&self) -> bool {
        self.others_missing > 0 || self.others_cut > 0
    }
}

/// What became of a gateway's word on slow readers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SlowPromise {
    /// It gave none.
    None,
    /// It isn't known what it does.
    NotKnown,
    /// All came, so that its limit, if it has one, wasn't reached.
    NotReached,
    /// It does what it promises.
    Kept,
    /// It does something else.
    Broken,
}

impl ScriptsSeen {
    /// What was seen of a slow reader; `None` where that wasn't played, or the contender failed.
    pub fn slow_seen(&self) -> Option<&SlowReaderSeen> {
        match &self.slow {
            Some(Played::Seen(seen)) => Some(seen),
            Some(Played::Failed(_)) | None => None,
        }
    }

    /// What became of its word on slow readers.
    pub fn slow_promise(&self) -> SlowPromise {
        let word = self.slow_seen().and_then(|seen| seen.word);
        match (self.promised, word) {
            (None, _) => SlowPromise::None,
            (_, None) => SlowPromise::NotKnown,
            (Some(promised), Some(word)) if promised == word => SlowPromise::Kept,
            (_, Some(SlowReader::Buffers)) => SlowPromise::NotReached,
            _ => SlowPromise::Broken,
        }
    }
}

/// What became of a storm: all robots ended their connections at once, and all wanted to come back.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct AfterStorm {
    /// Robots that ended their connection.
    pub ended: u32,
    /// Those that came into their rooms again.
    pub back: u32,
    /// For how long they had time for that, in seconds.
    pub within_s: f64,
    /// Seconds until half of all were back; `None` if fewer came, as are the next two.
    pub half_back_s: Option<f64>,
    /// The same of 99 %.
    pub p99_back_s: Option<f64>,
    /// The same of all.
    pub all_back_s: Option<f64>,
    /// Attempts that were refused.
    pub refused: u64,
    /// Attempts that failed otherwise.
    pub failed: u64,
    /// SYN segments sent again for them.
    pub syn_retransmits: u64,
    /// Deliveries since then that came after a later one of the same sender.
    pub out_of_order: u64,
    /// Messages since then that came again.
    pub duplicates: u64,
    /// Deliveries of the whole script that never came.
    pub missing: u64,
    /// What the first of these was like, bounded and escaped; `None` where nothing is missing.
    pub first_missing: Option<String>,
    /// Resident memory before a robot was there, in bytes; `None` where it can't be seen.
    pub memory_before_bytes: Option<u64>,
    /// The most from then on.
    pub memory_max_bytes: Option<u64>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::Percentile;

    fn seen(promised: Option<SlowReader>, word: Option<SlowReader>) -> ScriptsSeen {
        ScriptsSeen {
            contender: "go".into(),
            promised,
            may_lose: false,
            promised_in: None,
            slow: Some(Played::Seen(SlowReaderSeen { word, ..SlowReaderSeen::default() })),
            storms: Vec::new(),
        }
    }

    #[test]
    fn a_word_is_kept_or_broken_or_its_limit_was_not_reached() {
        use SlowReader::*;
        for promised in [Cuts, Drops, Buffers, Blocks] {
            for word in [Cuts, Drops, Buffers, Blocks] {
                let expected = match word {
                    word if word == promised => SlowPromise::Kept,
                    Buffers => SlowPromise::NotReached,
                    _ => SlowPromise::Broken,
                };
                assert_eq!(seen(Some(promised), Some(word)).slow_promise(), expected);
            }
            assert_eq!(seen(None, Some(promised)).slow_promise(), SlowPromise::None);
            assert_eq!(seen(Some(promised), None).slow_promise(), SlowPromise::NotKnown);
        }
    }

    #[test]
    fn what_was_kept_in_memory_is_half_of_what_was_owed_at_least() {
        let of = |before, max| SlowReaderSeen {
            owed_bytes: 1000,
            memory_before_bytes: before,
            memory_max_bytes: max,
            ..SlowReaderSeen::default()
        };
        assert!(of(Some(300), Some(800)).was_kept_in_memory());
        assert!(!of(Some(300), Some(799)).was_kept_in_memory());
        assert!(!of(Some(800), Some(300)).was_kept_in_memory(), "it shrank");
        assert!(of(None, Some(300)).was_kept_in_memory(), "nobody could look");
    }

    #[test]
    fn others_are_compared_by_the_highest_percentile_that_both_have() {
        let times = |known: &[f64]| Percentiles {
            at: known
                .iter()
                .map(|&percentile| Percentile { percentile, value: percentile, at_least: false })
                .collect(),
            ..Percentiles::default()
        };
        let of = |before: &[f64], meanwhile: &[f64]| {
            let (others_before_us, others_meanwhile_us) = (times(before), times(meanwhile));
            let seen = SlowReaderSeen {
                others_before_us,
                others_meanwhile_us,
                ..SlowReaderSeen::default()
            };
            seen.others_waited_us().map(|(percentile, _)| percentile)
        };
        assert_eq!(of(&[50.0, 90.0, 99.0], &[50.0, 90.0, 99.0]), Some(99.0));
        assert_eq!(of(&[50.0, 90.0], &[50.0, 90.0, 99.0]), Some(90.0));
        assert_eq!(of(&[50.0], &[]), None);
    }
}
