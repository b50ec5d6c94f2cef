//! Did the contender stall?

use histogram::median;
use result::evidence::Work;

use super::check::{Check, Scope, TrialSeen, Word};
use super::steady::rates;

/// A second with less than this share of the usual has a stall in it.
const SHARE_MIN: f64 = 0.5;
/// In seconds: half of what a second must lose to be a stall.
const AWAY_MIN_S: f64 = 0.25;

pub(super) const STALL: Check = Check {
    id: "stall",
    signal: "The rate second by second, and of programs from line to line: the slowest against the median.",
    threshold: "no second with less than half of the usual, and answers in most seconds",
    why: "A second at half the rate is a stall, and the mean hides it. The seconds of a noisy machine differ by less than that.",
    fix: "Look at the seconds in the report, and at what the contender or its machine did then (a collection, a write to disk, a full log); measure for longer.",
    scope: Scope::Moment(|seen, work| Some(look(seen, work))),
};

fn look(seen: &TrialSeen, work: &Work) -> Word {
    let rates = rates(work);
    let Some(usual) = median(&rates).filter(|_| rates.len() > 1) else {
        return Word::not_checked("The window has no two whole seconds to compare.")
            .advise("Measure for longer (`measure_s` of the profile).");
    };
    let slowest = rates.iter().copied().fold(f64::INFINITY, f64::min);
    let value = format!("{slowest:.0} in a second, usually {usual:.0}");
    if usual == 0.0 {
        let says = seen.either(
            "Half of the seconds or more had no answer.",
            "Half of the seconds or more had no delivery.",
        );
        Word::suspect(value, says)
    } else if slowest < SHARE_MIN * usual {
        // An answer counts in the second in which the client was there to see it.
        let may_be_all = |away_s: f64| slowest + away_s * usual >= SHARE_MIN * usual;
        let away_s = seen
            .evidence
            .clients
            .iter()
            .find_map(|client| client.away_s)
            .filter(|&it| it >= AWAY_MIN_S && may_be_all(it));
        match away_s {
            None => Word::suspect(value, "Within a second the rate fell to less than half."),
            Some(away_s) => Word::suspect(
                format!("{value}; the client away for {:.0} ms", away_s * 1e3),
                "Within a second the rate fell to less than half. The client stood still, perhaps \
                 not the contender.",
            ),
        }
    } else {
        Word::valid(value, "No second stood still.")
    }
}

#[cfg(test)]
mod tests {
    use result::evidence::Second;
    use result::finding::{Finding, Verdict};

    use super::super::sound::word_after_load;
    use super::*;

    fn with_seconds(rates: &[u64]) -> Finding {
        word_after_load(&STALL, |load| {
            load.work.seconds = rates.len() as f64;
            let second = |&good: &u64| Second { good, ..Second::default() };
            load.work.per_second = rates.iter().map(second).collect();
        })
    }

    #[test]
    fn a_second_that_stalls_casts_doubt() {
        let middle = with_seconds(&[500, 500, 240, 500, 500]);
        assert_eq!(middle.verdict, Verdict::Suspect);
        assert_eq!(middle.value, "240 in a second, usually 500");
        assert_eq!(with_seconds(&[500, 500, 260, 500, 500]).verdict, Verdict::Valid);
    }

    #[test]
    fn a_client_that_stood_still_is_named_beside_the_contender() {
        let with_answers = |share_of: u64, away_s| {
            word_after_load(&STALL, |load| {
                load.client.away_s = Some(away_s);
                load.work.per_second[1].good /= share_of;
            })
        };
        let with = |away_s| with_answers(3, away_s);
        let word = with(0.6);
        assert!(word.value.ends_with("; the client away for 600 ms"), "{}", word.value);
        assert!(word.says.contains("The client stood still"), "{}", word.says);
        assert!(!with(0.02).value.contains("away"), "so short an absence is no such second");
        assert!(!with_answers(100, 0.3).value.contains("away"), "nor is a third of one a whole");
    }

    #[test]
    fn seconds_that_usually_have_no_answer_cast_doubt() {
        assert_eq!(with_seconds(&[500, 0, 0, 0, 500]).verdict, Verdict::Suspect);
    }

    #[test]
    fn one_second_alone_is_not_checked() {
        assert_eq!(with_seconds(&[500]).verdict, Verdict::NotChecked);
    }

    #[test]
    fn a_part_of_a_second_at_the_end_is_no_stall() {
        let word = word_after_load(&STALL, |load| {
            load.work.seconds = 3.2;
            load.work.per_second[3].good = 10_000;
        });
        assert_eq!(word.verdict, Verdict::Valid);
    }
}
