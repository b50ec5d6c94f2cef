//! Were the answers answers?

use result::evidence::ErrorKind;

use super::check::{Check, Load, LoadRule, Scope, TrialSeen, Word, percent};

/// Share of errors from which on a figure is invalid.
const SHARE_MAX: f64 = 0.001;

/// The kind of errors that are the client's own: no port, no open file.
const CLIENTS_OWN: &str = "client";
/// The kinds of errors that are answers without what their request asked for: a body, and of a
/// store's key its value. A key is only called missing that no store may have thrown away.
const WRONG: [&str; 4] = ["wrong_body", "wrong_value", "stale", "missing"];

pub(super) const ERRORS: Check = Check {
    id: "errors",
    signal: "Requests that ended in an error, by kind: refused, reset, closed early, timed out, malformed, wrong status, wrong body, of a store's keys a wrong, stale or missing value, and the client's own. Errors of the warm-up are shown beside. Bytes that nobody asked for.",
    threshold: "none; invalid from one wrong body, or one wrong, stale or missing value (of the warm-up, too), bytes that nobody asked for, more than 0.1 % of requests, or one error of the client's own that left a connection out, on, and where no answer was good",
    why: "An error costs less than an answer, so a rate with errors in it compares nothing. One error in a thousand moves no median, but shows that a limit was met. A body without the request's own nonce is the answer of somebody else, or none. That is wrong at any time. So is a value of a store's key that is another than was written, that was overwritten before it was asked for, or that is gone though the store doesn't throw values away. A server that speaks before it is asked, or once more after its last answer, may have sent an answer too many. Then each request finds the answer to the one before, and is answered at once. Other errors of the warm-up are no part of the figure. A client that runs out of ports fails before the server is asked. The missing answers then look like the server's limit.",
    fix: "Read the kinds and their examples in `run.json`; raise the limit that the server met, or the client (ports, open files), or lower the load.",
    // Of robots in rooms nobody asks, and what doesn't reach them is told by `deliveries`.
    scope: Scope::Trial(|seen, _| {
        let asks = !seen.kind.passes_on();
        seen.under_load(|load| RULES.iter().filter(|_| asks).find_map(|rule| rule(seen, load)))
    }),
};

/// The first that speaks is the word.
const RULES: [LoadRule; 8] = [
    nothing_sent,
    wrong_in_the_warm_up,
    unasked,
    no_error,
    left_out_by_the_client,
    too_many,
    wrong,
    some,
];

fn nothing_sent(_: &TrialSeen, load: &Load) -> Option<Word> {
    (load.client.sent == 0).then(|| Word::invalid("nothing sent", "Not one request was sent."))
}

fn wrong_in_the_warm_up(_: &TrialSeen, load: &Load) -> Option<Word> {
    let error = load.client.warmup_errors.iter().find(is_wrong)?;
    let says = format!("An answer of the warm-up lacked what was asked for: {}", error.example);
    Some(Word::invalid(value(load), says))
}

fn unasked(_: &TrialSeen, load: &Load) -> Option<Word> {
    let times = load.client.unasked.filter(|&times| times > 0)?;
    let first = load.client.first_unasked.as_deref().unwrap_or("bytes that nobody asked for");
    let says = format!(
        "It spoke though nothing was asked, so answers may be those of other requests. The first \
         time it sent {first}"
    );
    Some(Word::invalid(format!("{times} times unasked, {}", value(load)), says))
}

fn no_error(_: &TrialSeen, load: &Load) -> Option<Word> {
    load.work.errors.is_empty().then(|| match load.client.good {
        // Whoever asked is waiting still.
        0 => Word::invalid(
            format!("none of {} answered", load.client.sent),
            "Not one request was answered, and none ended in an error.",
        ),
        _ => Word::valid(value(load), "No request ended in an error."),
    })
}

fn left_out_by_the_client(seen: &TrialSeen, load: &Load) -> Option<Word> {
    let most = worst(load)?.count;
    // With a connection a request, fewer are established at once than asked for.
    let left_out = seen.slot.setting.kept()
        && load.client.connections_established < load.client.connections_asked;
    // Where others are many more, they are what left connections out.
    let is_own = |error: &&ErrorKind| {
        error.kind == CLIENTS_OWN && (error.count == most || share(load) <= SHARE_MAX)
    };
    let own = load.work.errors.iter().find(is_own).filter(|_| left_out)?;
    let says = format!(
        "The client itself failed, and left connections out; no limit of the server's was met: {}",
        own.example
    );
    Some(Word::invalid(value(load), says))
}

fn too_many(_: &TrialSeen, load: &Load) -> Option<Word> {
    let is_so = share(load) > SHARE_MAX || load.client.good == 0;
    is_so.then(|| Word::invalid(value(load), most_of_them(load)))
}

fn wrong(_: &TrialSeen, load: &Load) -> Option<Word> {
    let error = load.work.errors.iter().find(is_wrong)?;
    let says = format!("An answer lacked what was asked for: {}", error.example);
    Some(Word::invalid(value(load), says))
}

fn some(_: &TrialSeen, load: &Load) -> Option<Word> {
    Some(Word::suspect(value(load), most_of_them(load)))
}

fn is_wrong(error: &&ErrorKind) -> bool {
    WRONG.contains(&&*error.kind)
}

fn total(errors: &[ErrorKind]) -> u64 {
    errors.iter().map(|error| error.count).sum()
}

/// The share of requests that ended in an error.
fn share(load: &Load) -> f64 {
    total(&load.work.errors) as f64 / load.client.sent as f64
}

fn value(load: &Load) -> String {
    let (count, warmup) = (total(&load.work.errors), total(&load.client.warmup_errors));
    let value = format!("{count} of {} ({})", load.client.sent, percent(share(load)));
    if warmup > 0 { format!("{value}, {warmup} more in the warm-up") } else { value }
}

fn worst<'a>(load: &Load<'a>) -> Option<&'a ErrorKind> {
    load.work.errors.iter().max_by_key(|error| error.count)
}

fn most_of_them(load: &Load) -> String {
    worst(load).map_or(String::new(), |worst| {
        format!("Most of them are `{}`, for example: {}", worst.kind, worst.example)
    })
}

#[cfg(test)]
mod tests {
    use result::finding::Verdict;

    use super::super::sound::word_after_load;
    use super::*;

    fn with(kind: &str, count: u64) -> Verdict {
        let kind = ErrorKind { kind: kind.into(), count, first_s: 0.1, example: "e".into() };
        word_after_load(&ERRORS, |load| load.work.errors.push(kind)).verdict
    }

    #[test]
    fn errors_cast_doubt_and_many_make_the_figures_invalid() {
        assert_eq!(with("reset", 1), Verdict::Suspect);
        assert_eq!(with("reset", 200), Verdict::Suspect);
        assert_eq!(with("reset", 201), Verdict::Invalid);
    }

    #[test]
    fn a_single_wrong_answer_makes_the_figures_invalid() {
        for kind in WRONG {
            assert_eq!(with(kind, 1), Verdict::Invalid, "{kind}");
        }
    }

    #[test]
    fn what_makes_the_figures_invalid_is_told_and_not_what_is_more() {
        let error = |kind: &str, count| ErrorKind {
            kind: kind.into(),
            count,
            example: format!("what {kind} is"),
            ..ErrorKind::default()
        };
        let says = |errors: [ErrorKind; 2]| {
            let word = word_after_load(&ERRORS, |load| {
                load.work.errors = errors.to_vec();
                load.client.connections_established = 99;
            });
            assert_eq!(word.verdict, Verdict::Invalid);
            word.says
        };
        let few = says([error("wrong_body", 1), error("reset", 100)]);
        assert_eq!(few, "An answer lacked what was asked for: what wrong_body is");
        let own = says([error("client", 1), error("reset", 2)]);
        assert!(own.starts_with("The client itself failed") && own.ends_with("what client is"));
        let many = says([error("client", 1), error("refused", 5_000)]);
        assert_eq!(many, "Most of them are `refused`, for example: what refused is");
    }

    #[test]
    fn errors_of_the_warm_up_are_told_and_only_wrong_answers_held_against_it() {
        let with = |kind: &str| {
            let kind = ErrorKind { kind: kind.into(), count: 3, ..ErrorKind::default() };
            word_after_load(&ERRORS, |load| load.client.warmup_errors.push(kind))
        };
        let refused = with("refused");
        assert_eq!(refused.verdict, Verdict::Valid);
        assert_eq!(refused.value, "0 of 200000 (0.0 %), 3 more in the warm-up");
        for kind in WRONG {
            assert_eq!(with(kind).verdict, Verdict::Invalid, "{kind}");
        }
    }

    /// Else a server that sends an answer too many on each connection wins by it.
    #[test]
    fn bytes_that_nobody_asked_for_make_the_figures_invalid() {
        let with = |times: Option<u64>| {
            word_after_load(&ERRORS, |load| {
                load.client.unasked = times;
                load.client.first_unasked = times.map(|_| "bytes: \"HTTP/1.1 200\"".into());
            })
        };
        let word = with(Some(2));
        assert_eq!(word.verdict, Verdict::Invalid);
        assert_eq!(word.value, "2 times unasked, 0 of 200000 (0.0 %)");
        assert!(word.says.ends_with("it sent bytes: \"HTTP/1.1 200\""), "{}", word.says);
        assert_eq!(with(Some(0)).verdict, Verdict::Valid);
        assert_eq!(with(None).verdict, Verdict::Valid, "older runs don't tell");
    }

    #[test]
    fn a_client_that_left_connections_out_makes_the_figures_invalid_and_is_named() {
        assert_eq!(with("client", 1), Verdict::Suspect, "one that was tried again");
        let error = ErrorKind { kind: "client".into(), count: 1, ..ErrorKind::default() };
        let word = word_after_load(&ERRORS, |load| {
            load.work.errors.push(error);
            load.client.connections_established = 99;
        });
        assert_eq!(word.verdict, Verdict::Invalid);
        assert!(word.says.starts_with("The client itself failed"), "{}", word.says);
    }

    #[test]
    fn a_load_that_sent_nothing_is_invalid() {
        let word = word_after_load(&ERRORS, |load| load.client.sent = 0);
        assert_eq!(word.verdict, Verdict::Invalid);
    }

    #[test]
    fn a_load_without_one_answer_is_invalid_though_nothing_ended_in_an_error() {
        let word = word_after_load(&ERRORS, |load| {
            (load.client.good, load.client.in_flight) = (0, load.client.sent)
        });
        assert_eq!((word.verdict, &*word.value), (Verdict::Invalid, "none of 200000 answered"));
    }
}
