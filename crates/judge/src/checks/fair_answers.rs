//! Did every connection get answers?

use super::{Check, Load, Scope, Seen, Word};

/// With fewer answers a connection, some have few by chance.
const MEAN_MIN: f64 = 10.0;
/// Share of the mean below which a connection was left behind.
const STARVED_SHARE: f64 = 0.05;
/// So long the client awaits answers after the window, in µs. Where they usually take more
/// than a tenth of that, they may only be slow.
const AWAITED_US: f64 = 2e6;
const USUAL_SHARE: f64 = 0.1;
/// Share of the connections with a request without an answer from which on fewer carried
/// the load than it says.
const LEFT_INVALID: f64 = 0.01;

pub(super) const FAIR_ANSWERS: Check = Check {
    id: "fair-answers",
    signal: "In a closed loop: the fewest and the most answers that a connection had, against the mean. In every load whose median answer takes 0.2 s at most: requests of the window that had no answer 2 s after its end.",
    threshold: "every connection has at least a twentieth of the mean, invalid where one has none, asked from 10 answers a connection on; no request without an answer, invalid from one for a hundred connections on",
    why: "A connection that was answered once and then left waiting gives one long wait and no more, which no rate and no percentile shows, and no error either: a window is over before the client gives up. The load is then carried by fewer connections than it says. From 10 answers on chance doesn't leave one with a twentieth; sound servers give the last connection half of the mean or more.",
    fix: "Look for a listener or a worker that stops reading from some of its connections; see the fewest and the most in `run.json`.",
    scope: Scope::Trial(|seen, _| seen.under_load(|load| look(seen, load))),
};

fn look(seen: &Seen, load: &Load) -> Option<Word> {
    let (fewest, most) = load.client.answers_a_connection;
    let connections = f64::from(load.client.connections_asked.max(1));
    let mean = load.client.good as f64 / connections;
    let is_asked = !seen.is_open_loop() && mean >= MEAN_MIN;
    let value = format!("{fewest} to {most}, mean {mean:.0}");
    if is_asked && fewest == 0 {
        let says = "A connection had no answer at all: fewer carried the load.";
        return Some(Word::invalid(value, says).against(A_TWENTIETH));
    }
    let left = left_waiting(load);
    if let Some(left @ 1..) = left {
        let value = format!("{left} without an answer after 2 s");
        let says = "Requests were left waiting while the others were answered at once.";
        let word = match left as f64 >= LEFT_INVALID * connections {
            true => Word::invalid(value, says),
            false => Word::suspect(value, says),
        };
        return Some(word.against(NONE_LEFT));
    }
    if seen.is_open_loop() {
        // Its connections take turns as requests come: the requests tell, where these are quick.
        let says = "No request was left waiting while the others were answered.";
        return left.map(|_| Word::valid("none without an answer", says).against(NONE_LEFT));
    }
    if !is_asked {
        let says = "Too few answers a connection to tell chance from neglect.";
        return Some(Word::not_checked(says).advise(
            "Measure for longer (`measure_s` of the profile), or with fewer connections.",
        ));
    }
    Some(match (fewest as f64) < STARVED_SHARE * mean {
        true => {
            Word::suspect(value, "A connection was left waiting while the others were answered.")
                .against(A_TWENTIETH)
        }
        false => Word::valid(value, "Every connection had its share."),
    })
}

const A_TWENTIETH: &str = "at least a twentieth of the mean, invalid where one has none";
const NONE_LEFT: &str = "none, invalid from one for a hundred connections on";

/// Requests that had no answer when the client stopped waiting; `None` where answers are
/// slow, and these may be too.
fn left_waiting(load: &Load) -> Option<u64> {
    let median = load.work.service_us.at.iter().find(|one| one.percentile == 50.0);
    let is_quick = median.is_some_and(|median| median.value <= USUAL_SHARE * AWAITED_US);
    is_quick.then_some(load.client.in_flight)
}

#[cfg(test)]
mod tests {
    use result::finding::Verdict;

    use super::super::tests::{at_half_of_its_maximum, word_after_load, word_if_any, word_on};
    use super::*;

    #[test]
    fn a_connection_left_waiting_casts_doubt_and_one_without_answer_is_invalid() {
        let with = |fewest| {
            word_after_load(&FAIR_ANSWERS, |load| {
                load.client.answers_a_connection = (fewest, 2_500)
            })
        };
        assert_eq!(with(100).verdict, Verdict::Valid, "a twentieth of 2,000");
        assert_eq!(with(99).verdict, Verdict::Suspect);
        assert_eq!(with(0).verdict, Verdict::Invalid);
        assert_eq!(with(1).value, "1 to 2500, mean 2000");
    }

    #[test]
    fn too_few_answers_to_tell_is_not_checked() {
        let word = word_after_load(&FAIR_ANSWERS, |load| load.client.good = 900);
        assert_eq!(word.verdict, Verdict::NotChecked);
    }

    #[test]
    fn a_request_that_is_left_waiting_casts_doubt_whoever_chose_its_connection() {
        let word = |connections: u32, left: u64| {
            word_after_load(&FAIR_ANSWERS, |load| {
                load.client.connections_asked = connections;
                load.client.in_flight = left;
            })
        };
        assert_eq!(word(200, 0).verdict, Verdict::Valid);
        assert_eq!(word(200, 1).verdict, Verdict::Suspect);
        assert_eq!(word(200, 1).value, "1 without an answer after 2 s");
        assert_eq!(word(200, 2).verdict, Verdict::Invalid, "one connection in a hundred");
        let (slot, mut evidence) = at_half_of_its_maximum();
        evidence.clients[0].in_flight = 20;
        assert_eq!(word_on(&FAIR_ANSWERS, &slot, &evidence).verdict, Verdict::Invalid);
    }

    #[test]
    fn answers_that_are_slow_are_not_left_out() {
        let word = word_after_load(&FAIR_ANSWERS, |load| {
            load.client.in_flight = 100;
            load.work.service_us.at[0].value = 300_000.0;
        });
        assert_eq!(word.verdict, Verdict::Valid);
    }

    #[test]
    fn an_open_loop_chooses_its_connections_itself() {
        let (slot, mut evidence) = at_half_of_its_maximum();
        evidence.clients[0].answers_a_connection = (0, 9_000);
        let word = word_on(&FAIR_ANSWERS, &slot, &evidence);
        assert_eq!((word.verdict, &*word.value), (Verdict::Valid, "none without an answer"));
        evidence.work.as_mut().unwrap().service_us.at[0].value = 300_000.0;
        let slow = word_if_any(&FAIR_ANSWERS, &slot, &evidence);
        assert_eq!(slow, None, "what is left may only be slow");
    }
}
