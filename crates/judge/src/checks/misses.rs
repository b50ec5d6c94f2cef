//! Did reads find what they asked for?

use result::evidence::{StoreSeen, Work};

use super::check::{Check, Scope, Word, percent};

/// Share of reads that may find nothing, though no delete explains it.
const MISSED_MAX: f64 = 0.01;
/// By how many standard errors at most more than usual find nothing by chance, where the time for
/// which a key is gone is that until its next write.
const SCATTER: f64 = 4.0;

pub(super) const MISSES: Check = Check {
    id: "misses",
    signal: "The share of a store's reads whose keys had no value.",
    threshold: "at most 1 % of all reads, beside those that deletes explain; suspect where the store may throw values away",
    why: "A store that says that there is no value does less than one that gives a value. In 2009 a client's reads of keys that don't exist were counted as hits. In 2026 the test suite of a store's maker had reads of which 90 % missed, and nobody saw it. After a delete a read has to find nothing. Of deletes and writes of the same keys, a read finds what the last one left: so deletes explain as many misses as they are among both, and as many more as chance brings.",
    fix: "Write all keys before they are read (`preload`), with the same number of keys and the same seed; give a cache as much memory as its values take.",
    scope: Scope::Trial(|seen, work| seen.of_keys(|store| look(store, work))),
};

/// The share of reads that may find nothing because a delete came last.
fn explained(work: &Work) -> f64 {
    let count = |name: &str| {
        let of = work.operations.iter().filter(|it| it.operation == name);
        of.map(|it| it.response_us.count).sum::<u64>() as f64
    };
    let (deletes, writes) = (count("delete"), count("delete") + count("set"));
    if deletes == 0.0 { 0.0 } else { (deletes / writes + SCATTER / writes.sqrt()).min(1.0) }
}

fn look(store: &StoreSeen, work: &Work) -> Option<Word> {
    let StoreSeen { hits, misses, missing, may_evict, .. } = store;
    let nothing = misses + missing;
    let reads = hits + nothing;
    if reads == 0 {
        return None;
    }
    let share = nothing as f64 / reads as f64;
    let explained = explained(work);
    let by_deletes = match explained {
        0.0 => String::new(),
        explained => format!("; deletes explain {} at most", percent(explained)),
    };
    let value = format!("{} of {reads} reads{by_deletes}", percent(share));
    let (found_little, enough) = ("Many reads found nothing.", "Reads found what they asked for.");
    Some(match share <= MISSED_MAX + explained {
        true => Word::valid(value, enough),
        false if *may_evict => Word::suspect(value, found_little),
        false => Word::invalid(value, found_little),
    })
}

#[cfg(test)]
mod tests {
    use result::evidence::{OperationSeen, Percentiles};
    use result::finding::Verdict;
    use result::kind::Kind;

    use super::super::sound::{sound, word_if, word_if_any, word_of_a_store};
    use super::*;

    fn of(hits: u64, misses: u64, missing: u64, may_evict: bool) -> (Verdict, String) {
        let store = StoreSeen { hits, misses, missing, may_evict, ..StoreSeen::default() };
        let word = word_of_a_store(&MISSES, |evidence| evidence.store = Some(store));
        (word.verdict, word.value)
    }

    #[test]
    fn reads_that_find_nothing_are_no_reads() {
        assert_eq!(of(990, 10, 0, false), (Verdict::Valid, "1.0 % of 1000 reads".into()));
        assert_eq!(of(100, 890, 10, false).0, Verdict::Invalid);
        assert_eq!(of(100, 900, 0, true).0, Verdict::Suspect);
    }

    /// Else an honest store is invalid wherever keys are removed, or one that keeps nothing is valid.
    #[test]
    fn after_a_delete_a_read_has_to_find_nothing() {
        let of = |misses, operations: [(&str, u64); 2]| {
            let word = word_of_a_store(&MISSES, |evidence| {
                let hits = 1_000 - misses;
                evidence.store = Some(StoreSeen { hits, misses, ..StoreSeen::default() });
                evidence.work.as_mut().unwrap().operations = operations
                    .map(|(operation, count)| OperationSeen {
                        operation: operation.into(),
                        response_us: Percentiles { count, ..Percentiles::default() },
                        ..OperationSeen::default()
                    })
                    .into();
            });
            (word.verdict, word.value)
        };
        let alike = |misses| of(misses, [("set", 80_000), ("delete", 80_000)]);
        assert_eq!(
            alike(500),
            (Verdict::Valid, "50.0 % of 1000 reads; deletes explain 51.0 % at most".into())
        );
        assert_eq!(alike(600).0, Verdict::Invalid, "it keeps less than it is given");
        assert_eq!(of(100, [("set", 90_000), ("delete", 10_000)]).0, Verdict::Valid);
        assert_eq!(of(200, [("set", 90_000), ("delete", 10_000)]).0, Verdict::Invalid);
        assert_eq!(
            of(1_000, [("get", 1_000), ("delete", 20_000)]).0,
            Verdict::Valid,
            "all may be gone"
        );
        assert_eq!(of(100, [("set", 90_000), ("get", 1_000)]).0, Verdict::Invalid);
    }

    #[test]
    fn it_says_nothing_of_writes_or_of_what_is_no_store() {
        let (slot, mut evidence) = sound();
        assert_eq!(word_if_any(&MISSES, &slot, &evidence), None);
        evidence.store = Some(StoreSeen::default());
        assert_eq!(word_if(Kind::Keys, &MISSES, &slot, &evidence), None);
    }
}
