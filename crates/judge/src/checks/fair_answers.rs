//! Did every connection get answers?

use std::time::Duration;

use histogram::neglect::{PATIENCE_MAX, left_waiting};

use super::check::{Check, Load, Scope, TrialSeen, Word};

/// With fewer answers a connection, some have few by chance.
const MEAN_MIN: f64 = 10.0;
/// Share of the mean below which a connection was left behind.
const STARVED_SHARE: f64 = 0.05;
/// Share of the mean below which a robot in a room was left behind.
const ROBOT_SHARE: f64 = 0.9;
/// Share of the connections with a request without an answer from which on fewer carried
/// the load than it says.
const LEFT_INVALID: f64 = 0.01;

pub(super) const FAIR_ANSWERS: Check = Check {
    id: "fair-answers",
    signal: "In every load whose median answer takes 0.2 s at most: connections that were asked, left waiting for 2 s, and had no answer in the window; and requests of the window that had no answer 2 s after its end. In a closed loop also the fewest and the most answers that a connection had, against the mean; of robots in rooms the same of deliveries.",
    threshold: "no connection and no request is left without an answer. In an open loop it is invalid from one for a hundred connections on, and suspect below. In a closed loop one connection without an answer is invalid. There every connection has at least a twentieth of the mean, from 10 answers a connection on. Every robot has at least nine tenths of the mean, from 10 deliveries a robot on",
    why: "A connection that was answered once and then left waiting gives one long wait and no more, which no rate and no percentile shows, and no error either: a window is over before the client gives up. The load is then carried by fewer connections than it says. A connection that nobody asked is no fault: in an open loop the client asks the one that it used last. From 10 answers on chance doesn't leave one with a twentieth; sound servers give the last connection half of the mean or more. Of deliveries to robots nothing is left to chance: all speak in turn, so that each is owed as many as the others.",
    fix: "Look for a listener or a worker that stops reading from some of its connections; see the fewest and the most in `run.json`.",
    scope: Scope::Trial(|seen, _| seen.under_load(|load| look(seen, load))),
};

fn look(seen: &TrialSeen, load: &Load) -> Option<Word> {
    if seen.kind.passes_on() {
        return Some(shares_of_robots(load));
    }
    let usual = median(load);
    let waiting = |count: u64| left_waiting(count, usual, PATIENCE_MAX);
    if let Some(word) = unanswered_connections(seen, load, waiting) {
        return Some(word);
    }
    let connections = connections(load);
    let left = waiting(load.client.in_flight);
    if let Some(left @ 1..) = left {
        let value = format!("{left} without an answer after 2 s");
        let says = "Requests were left waiting while the others were answered at once.";
        let word = if left as f64 >= LEFT_INVALID * connections {
            Word::invalid(value, says)
        } else {
            Word::suspect(value, says)
        };
        return Some(word.against(NONE_LEFT));
    }
    if seen.is_open_loop() {
        // Its connections take turns as requests come: the requests tell, where these are quick.
        let says = "No request was left waiting while the others were answered.";
        return left.map(|_| Word::valid("none without an answer", says).against(NONE_LEFT));
    }
    Some(shares(load))
}

/// Connections that were asked and had no answer at all.
fn unanswered_connections(
    seen: &TrialSeen,
    load: &Load,
    waiting: impl Fn(u64) -> Option<u64>,
) -> Option<Word> {
    let says = "A connection had no answer at all: fewer carried the load.";
    let Some(unanswered) = load.client.connections_unanswered else {
        // An older run doesn't tell who was asked. In a closed loop all were.
        let (value, fewest) = (answers_each(load), load.client.answers_a_connection.0);
        let is_told = !seen.is_open_loop() && fewest == 0 && are_enough(load);
        return is_told.then(|| Word::invalid(value, says).against(A_TWENTIETH));
    };
    let unanswered = waiting(unanswered.into()).filter(|&count| count > 0)?;
    let connections = connections(load);
    let value = format!("{unanswered} of {connections} connections without an answer");
    let is_invalid = !seen.is_open_loop() || unanswered as f64 >= LEFT_INVALID * connections;
    Some(if is_invalid {
        Word::invalid(value, says).against(NO_CONNECTION)
    } else {
        Word::suspect(value, says).against(NO_CONNECTION)
    })
}

/// How the answers of a closed loop, which asks all connections alike, lie among them.
fn shares(load: &Load) -> Word {
    if !are_enough(load) {
        let says = "Too few answers a connection to tell chance from neglect.";
        return Word::not_checked(says)
            .advise("Measure for longer (`measure_s` of the profile), or with fewer connections.");
    }
    let value = answers_each(load);
    if (load.client.answers_a_connection.0 as f64) < STARVED_SHARE * mean(load) {
        Word::suspect(value, "A connection was left waiting while the others were answered.")
            .against(A_TWENTIETH)
    } else {
        Word::valid(value, "Every connection had its share.")
    }
}

/// How deliveries lie among robots, of which each is owed as many as any other, give or take one.
fn shares_of_robots(load: &Load) -> Word {
    if !are_enough(load) {
        let says = "Too few deliveries a robot to tell chance from neglect.";
        return Word::not_checked(says)
            .advise("Measure for longer (`measure_s` of the profile), or with fewer robots.");
    }
    let (value, fewest) = (answers_each(load), load.client.answers_a_connection.0);
    let word = if fewest == 0 {
        Word::invalid(value, "A robot heard nothing at all, while the others did.")
    } else if (fewest as f64) < ROBOT_SHARE * mean(load) {
        Word::suspect(value, "A robot heard much less than the others.")
    } else {
        Word::valid(value, "Every robot had its share.")
    };
    word.against(NINE_TENTHS)
}

const A_TWENTIETH: &str = "at least a twentieth of the mean, invalid where one has none";
const NINE_TENTHS: &str = "of robots at least nine tenths of the mean, invalid where one has none";
const NO_CONNECTION: &str = "none, in an open loop invalid from one in a hundred on";
const NONE_LEFT: &str = "none, invalid from one for a hundred connections on";

fn connections(load: &Load) -> f64 {
    f64::from(load.client.connections_asked.max(1))
}

/// Good answers a connection.
fn mean(load: &Load) -> f64 {
    load.client.good as f64 / connections(load)
}

fn are_enough(load: &Load) -> bool {
    mean(load) >= MEAN_MIN
}

fn answers_each(load: &Load) -> String {
    let (fewest, most) = load.client.answers_a_connection;
    format!("{fewest} to {most}, mean {:.0}", mean(load))
}

/// The median service time.
fn median(load: &Load) -> Option<Duration> {
    let median = load.work.service_us.at.iter().find(|one| one.percentile == 50.0)?;
    Some(Duration::from_secs_f64(median.value.max(0.0) / 1e6))
}

#[cfg(test)]
mod tests {
    use result::finding::Verdict;

    use super::super::sound::{
        at_half_of_its_maximum, word_after_load, word_if_any, word_of_a_gateway, word_on,
    };
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
    fn connections_that_were_asked_and_left_waiting_are_found_in_both_loops() {
        let closed = |unanswered| {
            let word = word_after_load(&FAIR_ANSWERS, |load| {
                load.client.connections_asked = 200;
                load.client.connections_unanswered = Some(unanswered);
            });
            (word.verdict, word.value)
        };
        assert_eq!(closed(0).0, Verdict::Valid);
        let one = "1 of 200 connections without an answer".to_string();
        assert_eq!(closed(1), (Verdict::Invalid, one.clone()));
        let (slot, mut evidence) = at_half_of_its_maximum();
        evidence.clients[0].connections_asked = 200;
        let mut open = |unanswered| {
            evidence.clients[0].connections_unanswered = Some(unanswered);
            let word = word_on(&FAIR_ANSWERS, &slot, &evidence);
            (word.verdict, word.value)
        };
        assert_eq!(open(1), (Verdict::Suspect, one));
        assert_eq!(open(2).0, Verdict::Invalid, "one in a hundred");
    }

    #[test]
    fn a_robot_that_hears_less_than_the_others_casts_doubt_and_one_that_hears_nothing_is_invalid() {
        let with = |fewest: u64| {
            let word = word_of_a_gateway(&FAIR_ANSWERS, |evidence| {
                evidence.clients[0].answers_a_connection = (fewest, 2_000);
            });
            (word.verdict, word.value)
        };
        assert_eq!(with(1_999), (Verdict::Valid, "1999 to 2000, mean 2000".into()));
        assert_eq!(with(1_799).0, Verdict::Suspect);
        assert_eq!(with(0).0, Verdict::Invalid);
        let few = word_of_a_gateway(&FAIR_ANSWERS, |evidence| evidence.clients[0].good = 900);
        assert_eq!(few.verdict, Verdict::NotChecked);
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
        evidence.clients[0].connections_unanswered = Some(0);
        let word = word_on(&FAIR_ANSWERS, &slot, &evidence);
        assert_eq!((word.verdict, &*word.value), (Verdict::Valid, "none without an answer"));
        evidence.clients[0].connections_unanswered = None;
        let older = word_on(&FAIR_ANSWERS, &slot, &evidence);
        assert_eq!(older.verdict, Verdict::Valid, "who was asked, an older run doesn't tell");
        evidence.work.as_mut().unwrap().service_us.at[0].value = 300_000.0;
        let slow = word_if_any(&FAIR_ANSWERS, &slot, &evidence);
        assert_eq!(slow, None, "what is left may only be slow");
    }
}
