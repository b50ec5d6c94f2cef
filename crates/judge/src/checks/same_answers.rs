//! Were the answers under load the same as before it?

use result::evidence::{AnswerSize, ContractStep, Evidence, StoreSeen};
use result::evidence::{DATE, DATE_STEP};

use super::check::{Check, Load, Scope, TrialSeen, Word};

/// Bytes that an answer may differ by on average: the digits of a number.
const BYTES_APART_MAX: f64 = 16.0;

pub(super) const SAME_ANSWERS: Check = Check {
    id: "same-answers",
    signal: "A few answers under load, held to the contract. The contract's steps again, right after the load. Bytes received by good answers, against the size of a right answer before the load. Of a store every value that was read under load, up to 4,096 keys that were written, read when the load is over, and up to 64 that are written then and read at once.",
    threshold: "every step right, as before, with another Date after 2.2 s or more; an answer's bytes within 16 of what they were; every value the one that was written last",
    why: "A server that leaves out a part of the job once it is busy is faster for it, and the contract was tried when it was idle. Under load, status and body are held to the contract in every answer. Two answers in each second of each client thread, up to 16, are held to two more things: that a part is made anew, and the Date. If other answers leave something out, their length shows it. 16 bytes are the digits that a random number may have more or less. A store that drops what it acknowledges is faster than one that keeps it, and work that only writes reads nothing. The keys that are read back are drawn after the load, so that no store knows them.",
    fix: "Read the steps and what was seen (`contract_under_load` and `contract_after` in `run.json`), and look for what the server leaves out under load.",
    scope: Scope::Trial(|seen, _| seen.under_load(|load| Some(look(seen, load)))),
};

fn look(seen: &TrialSeen, load: &Load) -> Word {
    let Evidence { contract, contract_under_load, contract_after, .. } = seen.evidence;
    // A step that was wrong before is the contract's own finding.
    let was_right = |step: &ContractStep| {
        !contract.iter().any(|before| before.id == step.id && before.wrong.is_some())
    };
    for (steps, when) in [(contract_under_load, "Under load"), (contract_after, "After the load")] {
        let mut wrong = steps.iter().filter(|step| step.wrong.is_some());
        let count = wrong.clone().count();
        if let Some(step) = wrong.find(|step| was_right(step)) {
            let what = step.wrong.as_deref().unwrap_or_default();
            let says = format!("{when} it was asked whether it {}: {what}.", step.asked);
            return Word::invalid(format!("{count} of {} steps wrong", steps.len()), says)
                .against("every step right, as before");
        }
    }
    if let Some(date) = standing_date(seen.evidence) {
        return Word::invalid(date, "The Date after the load was the same as before it.")
            .against("another Date after 2.2 s or more");
    }
    if seen.kind.keeps_data() {
        return match &seen.evidence.store {
            _ if contract_after.is_empty() => {
                Word::not_checked("The contract was not checked again after the load.")
            }
            None => Word::not_checked("What became of the keys is not known."),
            Some(store) => values(store),
        };
    }
    if seen.kind.passes_on() {
        if contract_after.is_empty() {
            return Word::not_checked("The contract was not checked again after the load.");
        }
        return Word::valid(
            format!("{} deliveries", load.client.good),
            "Every delivery under load was compared with what was said, and the contract was kept \
             before the load and after it.",
        );
    }
    // Answers that are errors have other lengths.
    let sizes = seen.evidence.answer.filter(|_| load.work.errors.is_empty() && load.work.done > 0);
    let whole = |it: AnswerSize| it.whole_bytes.unwrap_or(it.head_bytes + it.body_bytes) as f64;
    let Some(before) = sizes.map(whole) else {
        return Word::not_checked("The bytes of an answer are not known, before or under load.");
    };
    let under = load.client.received_bytes as f64 / load.work.done as f64;
    // What was received at the window's edges belongs to an answer outside of it.
    let edges = f64::from(load.client.connections_asked) * before / load.work.done as f64;
    let value = format!("{under:.0} bytes under load, {before:.0} before");
    if (under - before).abs() > BYTES_APART_MAX + edges {
        return Word::suspect(value, "Answers under load had another length than before.")
            .against("an answer's bytes within 16 of what they were");
    }
    match (contract_after.is_empty(), contract_under_load.is_empty()) {
        (true, _) => Word::not_checked("The contract was not checked again after the load."),
        (false, true) => Word::not_checked(
            "Answers were the same before and after the load, and as long under it. None under \
             load came in one piece of 4 KiB or less, so none was looked at as a whole.",
        ),
        (false, false) => {
            Word::valid(value, "Answers were the same before, under and after the load.")
        }
    }
}

/// The values that a store gave, under load and afterwards.
fn values(store: &StoreSeen) -> Word {
    let StoreSeen { hits, missing, wrong, stale, .. } = store;
    let (given, not_right) = (hits + wrong + stale, missing + wrong + stale);
    if not_right > 0 {
        let value = format!("{not_right} of {} values", given + missing);
        return Word::invalid(value, "Values under load were wrong, stale or missing.")
            .against("every value the one that was written last");
    }
    let back = store.read_back.clone().unwrap_or_default();
    let lost = back.lost();
    if lost > 0 {
        let value = format!("{lost} of {} keys read back", back.keys);
        let example = back.example.unwrap_or_default();
        return Word::invalid(value, format!("After the load a key lacks its value: {example}."))
            .against("every value the one that was written last");
    }
    if let Some(why) = back.refused {
        let value = format!("{} keys read back", back.keys);
        let says = format!("After the load it didn't give a key that it had acknowledged: {why}.");
        return Word::invalid(value, says).against("every value the one that was written last");
    }
    match (given, back.keys) {
        (0, 0) => Word::not_checked("No value was read, so none was compared."),
        (0, back) => Word::valid(
            format!("{back} keys read back"),
            "Nothing was read under load. Keys that were read afterwards had what was written.",
        ),
        (given, 0) => Word::valid(
            format!("{given} values"),
            "Every value that was read under load was compared with what was written.",
        ),
        (given, back) => Word::valid(
            format!("{given} values, and {back} keys read back"),
            "Every value that was read, under load and afterwards, was compared with what was \
             written.",
        ),
    }
}

/// The Date that a contender said before the load and after it, so long after that it had
/// to be another. It may be near enough to the time for the contract's step.
fn standing_date(evidence: &Evidence) -> Option<&str> {
    let is_long_after = evidence.load_s? >= DATE_STEP.as_secs_f64();
    let [before, after] = [date(&evidence.contract)?, date(&evidence.contract_after)?];
    (is_long_after && before == after).then_some(before)
}

/// The Date that was seen in these steps, if it was right.
fn date(steps: &[ContractStep]) -> Option<&str> {
    let step = steps.iter().find(|step| step.id == DATE && step.wrong.is_none())?;
    Some(&step.saw)
}

#[cfg(test)]
mod tests {
    use result::evidence::{ErrorKind, ReadBack};
    use result::finding::Verdict;

    use super::super::sound::{word_after, word_of_a_store};
    use super::*;

    #[test]
    fn a_step_that_fails_after_the_load_makes_the_figures_invalid() {
        let fails = |evidence: &mut Evidence| {
            evidence.contract_after[0].wrong = Some("there is no Date header".into());
        };
        let word = word_after(&SAME_ANSWERS, fails);
        assert_eq!(word.verdict, Verdict::Invalid);
        assert!(word.says.contains("there is no Date header"), "{}", word.says);
        let word = word_after(&SAME_ANSWERS, |evidence| {
            fails(evidence);
            evidence.contract[0].wrong = Some("there is no Date header".into());
        });
        assert_eq!(word.verdict, Verdict::Valid, "it was no better before, which `contract` says");
    }

    #[test]
    fn a_step_that_fails_under_load_makes_the_figures_invalid() {
        let stands_still = |evidence: &mut Evidence| {
            evidence.contract_under_load[0].wrong = Some("2 of 3 answers differ in nothing".into());
        };
        let word = word_after(&SAME_ANSWERS, stands_still);
        assert_eq!(word.verdict, Verdict::Invalid);
        assert!(word.says.starts_with("Under load"), "{}", word.says);
    }

    #[test]
    fn where_no_answer_could_be_sampled_it_is_said() {
        let word = word_after(&SAME_ANSWERS, |evidence| evidence.contract_under_load.clear());
        assert_eq!(word.verdict, Verdict::NotChecked);
        assert!(word.says.contains("none was looked at as a whole"), "{}", word.says);
    }

    #[test]
    fn a_date_that_stood_still_under_load_makes_the_figures_invalid() {
        let with = |after: &str, load_s: f64| {
            word_after(&SAME_ANSWERS, |evidence| {
                let date = |saw: &str| {
                    let (id, asked) = (DATE.into(), "tells the time".into());
                    ContractStep { id, asked, saw: saw.into(), wrong: None, hung: false }
                };
                evidence.contract.push(date("Sun, 06 Nov 1994 08:49:37 GMT"));
                evidence.contract_after.push(date(after));
                evidence.load_s = Some(load_s);
            })
        };
        let (same, other) = ("Sun, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:40 GMT");
        assert_eq!((with(same, 2.5).verdict, &*with(same, 2.5).value), (Verdict::Invalid, same));
        assert_eq!(with(other, 2.5).verdict, Verdict::Valid);
        assert_eq!(with(same, 1.5).verdict, Verdict::Valid, "it may be made once a second");
    }

    #[test]
    fn answers_of_another_length_cast_doubt() {
        let with = |bytes: u64| {
            word_after(&SAME_ANSWERS, |evidence| {
                evidence.clients[0].received_bytes = bytes * 200_000;
            })
        };
        assert_eq!(with(205).verdict, Verdict::Valid);
        assert_eq!(with(160).verdict, Verdict::Suspect);
        assert_eq!(with(160).value, "160 bytes under load, 200 before");
    }

    /// Else it would be found fault with that a body comes in several chunks.
    #[test]
    fn what_chunks_add_is_a_part_of_the_answer_before_as_under_load() {
        let with = |whole_bytes| {
            word_after(&SAME_ANSWERS, |evidence| {
                evidence.answer.as_mut().unwrap().whole_bytes = whole_bytes;
                evidence.clients[0].received_bytes = 223 * 200_000;
            })
        };
        assert_eq!(with(Some(223)).verdict, Verdict::Valid);
        assert_eq!(with(None).verdict, Verdict::Suspect, "an older run doesn't tell");
    }

    /// Else a store that says OK and keeps nothing is the fastest of all.
    #[test]
    fn of_a_store_it_says_what_was_compared_and_one_value_that_isnt_right_is_enough() {
        let with = |change: fn(&mut StoreSeen)| {
            let word = word_of_a_store(&SAME_ANSWERS, |evidence| {
                let store = evidence.store.as_mut().unwrap();
                store.read_back = Some(ReadBack { keys: 4_000, ..ReadBack::default() });
                change(store);
            });
            (word.verdict, word.value)
        };
        assert_eq!(with(|_| {}), (Verdict::Valid, "1000 values, and 4000 keys read back".into()));
        let written = with(|store| store.hits = 0);
        assert_eq!(written, (Verdict::Valid, "4000 keys read back".into()));
        let wrong: [fn(&mut StoreSeen); 3] =
            [|store| store.wrong = 1, |store| store.stale = 1, |store| store.missing = 1];
        for change in wrong {
            assert_eq!(with(change).0, Verdict::Invalid);
        }
        fn back(store: &mut StoreSeen) -> &mut ReadBack {
            store.read_back.as_mut().unwrap()
        }
        let lost: [fn(&mut StoreSeen); 3] = [
            |store| back(store).missing = 1,
            |store| back(store).overwritten = 1,
            |store| (back(store).wrong, back(store).errors) = (1, 9),
        ];
        for change in lost {
            assert_eq!(with(change), (Verdict::Invalid, with(change).1));
        }
        let refused = with(|store| (back(store).missing, back(store).errors) = (3, 3));
        assert_eq!(refused.0, Verdict::Valid, "three writes weren't acknowledged");
        let nothing = with(|store| (store.hits, store.read_back) = (0, None));
        assert_eq!(nothing.0, Verdict::NotChecked);
    }

    /// Else who drops all writes has a valid rate if only it refuses reads.
    #[test]
    fn a_store_that_does_not_give_what_it_acknowledged_is_invalid() {
        let word = word_of_a_store(&SAME_ANSWERS, |evidence| {
            let refused = Some("key:000000000007: it refused: BUSY".into());
            let back = ReadBack { refused, ..ReadBack::default() };
            let store = evidence.store.as_mut().unwrap();
            (store.hits, store.read_back) = (0, Some(back));
        });
        assert_eq!(word.verdict, Verdict::Invalid);
        let says = "After the load it didn't give a key that it had acknowledged: \
                    key:000000000007: it refused: BUSY.";
        assert_eq!(word.says, says);
    }

    #[test]
    fn what_cant_be_compared_is_not_checked() {
        for change in [
            |evidence: &mut Evidence| evidence.contract_after.clear(),
            |evidence: &mut Evidence| evidence.answer = None,
            |evidence: &mut Evidence| {
                evidence.answer =
                    Some(AnswerSize { head_bytes: 1, body_bytes: 1, whole_bytes: None });
                let error =
                    ErrorKind { kind: "reset".into(), count: 1, first_s: 0.0, example: "".into() };
                evidence.work.as_mut().unwrap().errors.push(error);
            },
        ] {
            assert_eq!(word_after(&SAME_ANSWERS, change).verdict, Verdict::NotChecked);
        }
    }
}
