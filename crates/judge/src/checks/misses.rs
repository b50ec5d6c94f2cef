//! Did reads find what they asked for?

use result::evidence::StoreSeen;

use super::{Check, Scope, Word, percent};

/// Share of reads that may find nothing.
const MISSED_MAX: f64 = 0.01;

pub(super) const MISSES: Check = Check {
    id: "misses",
    signal: "The share of a store's reads whose keys had no value.",
    threshold: "at most 1 % of all reads; suspect where the store may throw values away",
    why: "A store that says that there is no value does less than one that gives a value. In 2009 a client's reads of keys that don't exist were counted as hits. In 2026 the test suite of a store's maker had reads of which 90 % missed, and nobody saw it.",
    fix: "Write all keys before they are read (`preload`), with the same number of keys and the same seed; give a cache as much memory as its values take.",
    scope: Scope::Trial(|seen, _| seen.of_keys(look)),
};

fn look(store: &StoreSeen) -> Option<Word> {
    let StoreSeen { hits, misses, missing, may_evict, .. } = store;
    let nothing = misses + missing;
    let reads = hits + nothing;
    if reads == 0 {
        return None;
    }
    let share = nothing as f64 / reads as f64;
    let value = format!("{} of {reads} reads", percent(share));
    let (found_little, enough) = ("Many reads found nothing.", "Reads found what they asked for.");
    Some(match share <= MISSED_MAX {
        true => Word::valid(value, enough),
        false if *may_evict => Word::suspect(value, found_little),
        false => Word::invalid(value, found_little),
    })
}

#[cfg(test)]
mod tests {
    use result::finding::Verdict;
    use result::kind::Kind;

    use super::super::tests::{sound, word_if, word_if_any, word_of_a_store};
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

    #[test]
    fn it_says_nothing_of_writes_or_of_what_is_no_store() {
        let (slot, mut evidence) = sound();
        assert_eq!(word_if_any(&MISSES, &slot, &evidence), None);
        evidence.store = Some(StoreSeen::default());
        assert_eq!(word_if(Kind::Keys, &MISSES, &slot, &evidence), None);
    }
}
