//! Were the answers answers?

use super::{Check, Scope, Seen, Word, percent};

/// Share of errors from which on a figure is invalid.
const SHARE_MAX: f64 = 0.001;

pub(super) const ERRORS: Check = Check {
    id: "errors",
    signal: "Requests that ended in an error, by kind: refused, reset, closed early, timed out, malformed, wrong status, wrong body, and the client's own.",
    threshold: "none; invalid from one wrong body, or more than 0.1 % of requests, on",
    why: "An error is cheaper to give than an answer, so a rate with errors in it compares nothing. One in a thousand moves no median, but tells of a limit that was met. A body without the request's own nonce is somebody else's answer.",
    fix: "Read the kinds and their examples in `run.json`; raise the limit that the server met, or lower the load.",
    scope: Scope::Trial(look),
};

fn look(seen: &Seen) -> Word {
    let Some(load) = seen.load() else { return Word::no_load() };
    if load.sent == 0 {
        return Word::invalid("nothing sent", "Not one request was sent.");
    }
    let count: u64 = load.errors.iter().map(|error| error.count).sum();
    let share = count as f64 / load.sent as f64;
    let value = format!("{count} of {} ({})", load.sent, percent(share));
    let Some(worst) = load.errors.iter().max_by_key(|error| error.count) else {
        return Word::valid(value, "Every request was answered as the contract has it.");
    };
    let says = format!("Most of them are `{}`, for example: {}", worst.kind, worst.example);
    let wrong_body = load.errors.iter().any(|error| error.kind == "wrong_body");
    match wrong_body || share > SHARE_MAX || load.good == 0 {
        true => Word::invalid(value, says),
        false => Word::suspect(value, says),
    }
}

#[cfg(test)]
mod tests {
    use result::evidence::ErrorKind;
    use result::finding::Verdict;

    use super::super::tests::word_after_load;
    use super::*;

    fn with(kind: &str, count: u64) -> Verdict {
        let kind = ErrorKind { kind: kind.into(), count, first_s: 0.1, example: "e".into() };
        word_after_load(&ERRORS, |load| load.errors.push(kind)).verdict
    }

    #[test]
    fn errors_cast_doubt_and_many_make_the_figures_invalid() {
        assert_eq!(with("reset", 1), Verdict::Suspect);
        assert_eq!(with("reset", 200), Verdict::Suspect);
        assert_eq!(with("reset", 201), Verdict::Invalid);
    }

    #[test]
    fn a_single_wrong_body_makes_the_figures_invalid() {
        assert_eq!(with("wrong_body", 1), Verdict::Invalid);
    }

    #[test]
    fn a_load_that_sent_nothing_is_invalid() {
        let word = word_after_load(&ERRORS, |load| load.sent = 0);
        assert_eq!(word.verdict, Verdict::Invalid);
    }
}
