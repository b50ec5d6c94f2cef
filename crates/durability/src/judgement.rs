//! What became of acknowledged writes, by what was sent, what was acknowledged before the cut,
//! and what is there afterwards.
//!
//! - A write counts as *acknowledged* if its answer came before the cut. Any other may be there
//!   or not: it is *in flight*, and never lost.
//! - It is *lost* if its key has no value, or that of an earlier write. A later one has written
//!   over it, so nothing is lost then.
//! - A key is *corrupt* that has what was never written to it.
//! - A *hole* is a lost write that was acknowledged before another was sent that is there. Of
//!   two that were under way at once nobody knows which came first, so neither is one.

use std::time::Duration;

use result::durability::Cut;

use crate::reading::Found;
use crate::value::Key;
use crate::writer::{Log, Write};

/// What the logs and the values that were found say of a cut at this time. The moment, the
/// restart and what else was so aren't theirs to tell.
pub fn judge(logs: &[Log], found: &[Vec<Found>], cut: Duration) -> Cut {
    let mut told = counted(logs, cut);
    let mut lost: Vec<Lost> = Vec::new();
    let mut wrong: Option<String> = None;
    let mut last_survivor_sent = None;
    for ((connection, log), found) in (0..).zip(logs).zip(found) {
        let mut sent = vec![0; log.keys as usize];
        for write in &log.writes {
            sent[write.number as usize] = write.write;
        }
        let key = |number: u32| Key { connection, number };
        // Of a key that is corrupt no write is known, so none is called lost besides.
        let mut there = vec![None; log.keys as usize];
        for (number, found) in (0..).zip(found) {
            let what = match found {
                Found::Nothing => {
                    there[number as usize] = Some(0);
                    continue;
                }
                Found::Write(write) if *write <= sent[number as usize] => {
                    there[number as usize] = Some(*write);
                    continue;
                }
                Found::Write(write) => format!("the value of write {write}, which was never sent"),
                Found::Other(what) => what.clone(),
            };
            told.corrupt += 1;
            wrong.get_or_insert_with(|| format!("key {} has {what}", key(number).name()));
        }
        for write in &log.writes {
            let Some(there) = there.get(write.number as usize).copied().flatten() else { continue };
            // Whether it was acknowledged or in flight: it is there.
            if write.write == there {
                last_survivor_sent = last_survivor_sent.max(Some(write.sent));
            }
            if write.write > there
                && let Some(at) = acknowledged_before(write, cut)
            {
                lost.push(Lost { at, key: key(write.number), write: write.write, there });
            }
        }
    }
    told.lost = lost.len() as u64;
    let first = lost.iter().min_by_key(|lost| lost.at);
    told.lost_span_s = first.map(|first| (cut - first.at).as_secs_f64());
    let is_hole = |at: Duration| last_survivor_sent.is_some_and(|sent| at < sent);
    told.holes = lost.iter().filter(|lost| is_hole(lost.at)).count() as u64;
    told.example = wrong.or_else(|| first.map(|first| first.sentence(cut)));
    told
}

/// The counts that need no look at the store.
pub fn counted(logs: &[Log], cut: Duration) -> Cut {
    let writes = || logs.iter().flat_map(|log| &log.writes);
    let acknowledged =
        writes().filter(|write| acknowledged_before(write, cut).is_some()).count() as u64;
    let in_flight = writes().count() as u64 - acknowledged;
    Cut { moment_s: cut.as_secs_f64(), acknowledged, in_flight, ..Cut::default() }
}

fn acknowledged_before(write: &Write, cut: Duration) -> Option<Duration> {
    write.acknowledged.filter(|&at| at < cut)
}

/// An acknowledged write that isn't there.
struct Lost {
    /// When it was acknowledged, since the writing began.
    at: Duration,
    key: Key,
    write: u64,
    /// The write that is there; 0 if there is nothing.
    there: u64,
}

impl Lost {
    fn sentence(&self, cut: Duration) -> String {
        let (name, before) = (self.key.name(), (cut - self.at).as_secs_f64());
        let there = match self.there {
            0 => "nothing".to_string(),
            write => format!("that of write {write}"),
        };
        format!(
            "key {name}: the value of write {} was acknowledged {before:.3} s before the cut, and \
             afterwards there was {there}",
            self.write
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CUT: Duration = Duration::from_millis(1000);

    /// A connection that wrote so: key, sent and acknowledged in ms.
    fn log(writes: &[(u32, u64, Option<u64>)]) -> Log {
        let mut writes_of = [0; 10];
        let write = |&(number, sent, acknowledged): &(u32, u64, Option<u64>)| {
            writes_of[number as usize] += 1;
            Write {
                number,
                write: writes_of[number as usize],
                sent: Duration::from_millis(sent),
                acknowledged: acknowledged.map(Duration::from_millis),
            }
        };
        let writes: Vec<Write> = writes.iter().map(write).collect();
        let keys = writes.iter().map(|write| write.number + 1).max().unwrap_or(0);
        Log { writes, keys, first_wrong: None }
    }

    fn judged(writes: &[(u32, u64, Option<u64>)], found: &[Found]) -> Cut {
        judge(&[log(writes)], &[found.to_vec()], CUT)
    }

    #[test]
    fn what_was_acknowledged_has_to_be_there_or_what_was_written_over_it() {
        let writes = [(0, 0, Some(1)), (0, 2, Some(3)), (1, 4, Some(5))];
        let kept = judged(&writes, &[Found::Write(2), Found::Write(1)]);
        assert_eq!((kept.acknowledged, kept.lost, kept.corrupt, kept.example), (3, 0, 0, None));
        let older = judged(&writes, &[Found::Write(1), Found::Write(1)]);
        assert_eq!((older.lost, older.holes), (1, 1), "the later key is there");
        assert_eq!(older.lost_span_s, Some(0.997));
        assert!(older.example.unwrap().ends_with("afterwards there was that of write 1"));
        let gone = judged(&writes, &[Found::Nothing, Found::Nothing]);
        assert_eq!((gone.lost, gone.holes, gone.lost_span_s), (3, 0, Some(0.999)));
    }

    #[test]
    fn what_was_in_flight_may_be_there_or_not() {
        // Without an answer, and with one that came after the cut.
        for answer in [None, Some(1001)] {
            let writes = [(0, 0, Some(1)), (0, 990, answer), (1, 995, answer)];
            for (first, second) in [(1, Found::Nothing), (2, Found::Write(1))] {
                let cut = judged(&writes, &[Found::Write(first), second]);
                assert_eq!((cut.acknowledged, cut.in_flight), (1, 2));
                assert_eq!((cut.lost, cut.corrupt), (0, 0), "{cut:?}");
            }
        }
    }

    #[test]
    fn what_was_never_sent_is_corrupt_and_not_lost_besides() {
        let writes = [(0, 0, Some(1)), (1, 2, Some(3))];
        let never = judged(&writes, &[Found::Write(2), Found::Other("noise".into())]);
        assert_eq!((never.corrupt, never.lost), (2, 0));
        assert!(never.example.unwrap().ends_with("has the value of write 2, which was never sent"));
    }

    /// Else a store seems to have lost the end alone of what it acknowledged.
    #[test]
    fn a_later_write_that_is_there_makes_a_hole_though_it_was_in_flight() {
        let lost = (0, 0, Some(1));
        for (later, there) in [((1, 990, None), 1), ((1, 990, Some(1001)), 1)] {
            let cut = judged(&[lost, later], &[Found::Nothing, Found::Write(there)]);
            assert_eq!((cut.lost, cut.holes), (1, 1), "{cut:?}");
        }
        let writes = [lost, (1, 2, Some(3)), (1, 990, None)];
        let over = judged(&writes, &[Found::Nothing, Found::Write(2)]);
        assert_eq!((over.lost, over.holes), (1, 1), "it overwrote an acknowledged one");
    }

    #[test]
    fn two_writes_under_way_at_once_make_no_hole() {
        // Both were under way at 5 ms; the one is lost that was answered first.
        let logs = [log(&[(0, 1, Some(5))]), log(&[(0, 4, Some(9))])];
        let found = [vec![Found::Nothing], vec![Found::Write(1)]];
        let cut = judge(&logs, &found, CUT);
        assert_eq!((cut.lost, cut.holes), (1, 0));
        let later = [log(&[(0, 1, Some(5))]), log(&[(0, 6, Some(9))])];
        assert_eq!(judge(&later, &found, CUT).holes, 1, "one began after the other had ended");
    }
}
