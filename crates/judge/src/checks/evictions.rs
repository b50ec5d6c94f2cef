//! Did the store keep what it was given?

use result::evidence::StoreSeen;

use super::check::{Check, Scope, Word};

const KEPT: &str = "The store kept what it was given.";
/// Where it may have any number of keys up to that of all.
const NO_MORE: &str =
    "The store has no keys that nobody wrote. How many it has to have isn't known.";

pub(super) const EVICTIONS: Check = Check {
    id: "evictions",
    signal: "Values that a store says it threw away, and the keys that it says it has, beside those that it acknowledged.",
    threshold: "no value thrown away, unless the study expects it; all keys there, and no others; suspect where what it says is no count",
    why: "A store that throws values away does less work than one that keeps them: it needs neither the memory nor the disk. A store with fewer keys than it acknowledged has lost some. A store with more keys still has an older set.",
    fix: "Give it the memory that its values take (memcached's `-m`, Redis' `maxmemory`); say in the study that values may be thrown away (`evicts`), where that is what is compared; start it on an empty folder.",
    scope: Scope::Trial(|seen, _| seen.of_keys(look)),
};

fn look(store: &StoreSeen) -> Option<Word> {
    let against = thrown_away(store).or_else(|| not_there(store)).or_else(|| no_count(store));
    Some(against.unwrap_or_else(|| kept(store)))
}

fn thrown_away(store: &StoreSeen) -> Option<Word> {
    let count = store.evictions.filter(|&count| count > 0 && !store.may_evict)?;
    let word = Word::invalid(format!("{count} thrown away"), "The store threw values away.");
    Some(word.against("no value thrown away"))
}

fn not_there(store: &StoreSeen) -> Option<Word> {
    let (there, (least, most)) = (store.keys_there?, store.keys_due?);
    let word = if there < least && !store.may_evict {
        let value = format!("{there} of {least} keys");
        Word::invalid(value, "The store lacks keys that it acknowledged.")
    } else if there > most {
        Word::invalid(format!("{there} of {most} keys"), "The store has keys that nobody wrote.")
    } else {
        return None;
    };
    Some(word.against("all keys there, and no others"))
}

/// Who answers, and tells no count, can't be held to one.
fn no_count(store: &StoreSeen) -> Option<Word> {
    let why = store.told_wrong.as_ref()?;
    let says = format!(
        "What the store says of its keys is no count, so nothing shows that it kept them: {why}"
    );
    Some(Word::suspect("no count", says).against("suspect where what it says is no count"))
}

fn kept(store: &StoreSeen) -> Word {
    match (store.evictions, store.keys_there.filter(|_| store.keys_due.is_some())) {
        (None, None) => {
            Word::not_checked("The store tells neither its keys nor what it threw away.")
        }
        (evictions, there) => {
            let evictions = evictions.map(|count| format!("{count} thrown away"));
            let there = there.map(|count| format!("{count} keys there"));
            let value: Vec<String> = [evictions, there].into_iter().flatten().collect();
            let is_due = store.keys_due.is_none_or(|(least, _)| least > 0);
            Word::valid(value.join(", "), if is_due { KEPT } else { NO_MORE })
        }
    }
}

#[cfg(test)]
mod tests {
    use result::finding::Verdict;

    use super::super::sound::{sound, word_if_any, word_of_a_store};
    use super::*;

    fn of(change: impl FnOnce(&mut StoreSeen)) -> (Verdict, String) {
        let mut store = StoreSeen {
            keys_due: Some((100, 100)),
            keys_there: Some(100),
            evictions: Some(0),
            ..StoreSeen::default()
        };
        change(&mut store);
        let word = word_of_a_store(&EVICTIONS, |evidence| evidence.store = Some(store));
        (word.verdict, word.value)
    }

    #[test]
    fn a_store_that_kept_all_is_valid() {
        assert_eq!(of(|_| {}), (Verdict::Valid, "0 thrown away, 100 keys there".into()));
    }

    #[test]
    fn what_was_thrown_away_speaks_against_it_unless_that_was_expected() {
        assert_eq!(of(|it| it.evictions = Some(3)).0, Verdict::Invalid);
        let expected =
            of(|it| (it.evictions, it.keys_there, it.may_evict) = (Some(3), Some(97), true));
        assert_eq!(expected.0, Verdict::Valid);
    }

    /// Else whatever a store says of its keys is told as that it kept them.
    #[test]
    fn that_it_kept_all_is_said_only_where_a_count_says_so() {
        let told = |change: fn(&mut StoreSeen)| {
            let mut store = StoreSeen {
                keys_due: Some((100, 100)),
                evictions: Some(0),
                ..StoreSeen::default()
            };
            change(&mut store);
            word_of_a_store(&EVICTIONS, |evidence| evidence.store = Some(store))
        };
        let word = told(|it| it.told_wrong = Some("its answer to DBSIZE is no count: :-1".into()));
        assert_eq!(word.verdict, Verdict::Suspect);
        assert!(word.says.ends_with("its answer to DBSIZE is no count: :-1"), "{}", word.says);
        let word = told(|it| (it.keys_due, it.keys_there) = (Some((0, 100)), Some(7)));
        assert_eq!((word.verdict, &*word.says), (Verdict::Valid, NO_MORE));
        let word = told(|it| (it.keys_due, it.keys_there) = (Some((0, 100)), Some(101)));
        assert_eq!(word.verdict, Verdict::Invalid);
    }

    #[test]
    fn keys_that_are_gone_or_that_nobody_wrote_speak_against_it() {
        let (verdict, value) = of(|it| it.keys_there = Some(99));
        assert_eq!((verdict, &*value), (Verdict::Invalid, "99 of 100 keys"));
        assert_eq!(of(|it| it.keys_there = Some(101)).0, Verdict::Invalid);
    }

    #[test]
    fn a_store_that_tells_nothing_is_not_checked() {
        assert_eq!(of(|it| (it.keys_there, it.evictions) = (None, None)).0, Verdict::NotChecked);
        assert_eq!(of(|it| (it.keys_there, it.evictions) = (None, Some(0))).0, Verdict::Valid);
        let (slot, evidence) = sound();
        assert_eq!(word_if_any(&EVICTIONS, &slot, &evidence), None, "it is no store");
    }
}
