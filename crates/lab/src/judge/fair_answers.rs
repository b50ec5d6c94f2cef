//! Did every connection get answers?

use super::{Check, Scope, Seen, Word};

/// With fewer answers a connection, some have few by chance.
const MEAN_MIN: f64 = 10.0;
/// Share of the mean below which a connection was left behind.
const STARVED_SHARE: f64 = 0.05;

pub(super) const FAIR_ANSWERS: Check = Check {
    id: "fair-answers",
    signal: "In a closed loop: the fewest and the most answers that a connection had, warm-up included, against the mean of the window.",
    threshold: "every connection has at least a twentieth of the mean; invalid where one has none; asked from 10 answers a connection on",
    why: "A connection that was answered once and then left waiting gives one long wait and no more, which no rate and no percentile shows. The load is then carried by fewer connections than it says. From 10 answers on chance doesn't leave one with a twentieth; sound servers give the last connection half of the mean or more.",
    fix: "Look for a listener or a worker that stops reading from some of its connections; see the fewest and the most in `run.json`.",
    scope: Scope::Trial(look),
};

fn look(seen: &Seen) -> Word {
    let Some(load) = seen.load() else { return Word::no_load() };
    if seen.is_open_loop() {
        return Word::valid("open loop", "Connections take turns as requests come.");
    }
    let (fewest, most) = load.answers_a_connection;
    let mean = load.good as f64 / f64::from(load.connections_asked.max(1));
    if mean < MEAN_MIN {
        return Word::not_checked("Too few answers a connection to tell chance from neglect.")
            .advise("Measure for longer (`measure_s` of the profile), or with fewer connections.");
    }
    let value = format!("{fewest} to {most}, mean {mean:.0}");
    if fewest == 0 {
        Word::invalid(value, "A connection had no answer at all: fewer carried the load.")
    } else if (fewest as f64) < STARVED_SHARE * mean {
        Word::suspect(value, "A connection was left waiting while the others were answered.")
    } else {
        Word::valid(value, "Every connection had its share.")
    }
}

#[cfg(test)]
mod tests {
    use result::finding::Verdict;

    use super::super::tests::{at_half_of_its_maximum, word_after_load, word_on};
    use super::*;

    #[test]
    fn a_connection_left_waiting_casts_doubt_and_one_without_answer_is_invalid() {
        let with = |fewest| {
            word_after_load(&FAIR_ANSWERS, |load| load.answers_a_connection = (fewest, 2_500))
        };
        assert_eq!(with(100).verdict, Verdict::Valid, "a twentieth of 2,000");
        assert_eq!(with(99).verdict, Verdict::Suspect);
        assert_eq!(with(0).verdict, Verdict::Invalid);
        assert_eq!(with(1).value, "1 to 2500, mean 2000");
    }

    #[test]
    fn too_few_answers_to_tell_is_not_checked() {
        let word = word_after_load(&FAIR_ANSWERS, |load| load.good = 900);
        assert_eq!(word.verdict, Verdict::NotChecked);
    }

    #[test]
    fn an_open_loop_chooses_its_connections_itself() {
        let (slot, mut evidence) = at_half_of_its_maximum();
        evidence.load.as_mut().unwrap().answers_a_connection = (0, 9_000);
        let word = word_on(&FAIR_ANSWERS, &slot, &evidence);
        assert_eq!(word.verdict, Verdict::Valid);
    }
}
