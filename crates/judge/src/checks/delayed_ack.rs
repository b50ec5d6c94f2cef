//! Did answers wait for an acknowledgement?

use histogram::delayed_ack;

use super::check::{Check, Load, Scope, TrialSeen, Word, percent};
use super::client_limit;

/// The share of its cores from which on a contender may have taken so long itself, or had
/// so long a queue.
const BUSY: f64 = 0.5;

pub(super) const DELAYED_ACK: Check = Check {
    id: "delayed-ack",
    signal: "The share of answers that took 39 to 50 ms from the send of their request, beside those of 27 to 38 ms and of 52 to 63 ms; the share of its cores that the contender used.",
    threshold: "less than 5 % of the answers there, or more than a tenth of so many on one side of it, or half of the cores in use",
    why: "A server may write the head and the body of an answer apart, without TCP_NODELAY. The body is then held back until the head is acknowledged (Nagle's algorithm). The client's kernel acknowledges after 40 ms if it has nothing to send. The contender's cores are idle meanwhile, and its rate is that of a timer. So may be the bytes of a message to a robot after those of its length. Work or a queue of that length would scatter more, and use the cores.",
    fix: "Set TCP_NODELAY, or write head and body at once, and measure again. If nothing changes, the contender waits for something else for so long.",
    scope: Scope::Trial(|seen, _| seen.under_load(|load| Some(look(seen, load)))),
};

fn look(seen: &TrialSeen, load: &Load) -> Word {
    let Some(times) = histogram::text::decode(&load.work.service_us.histogram) else {
        return Word::not_checked("The distribution of times is not known.");
    };
    let Some(share) = delayed_ack::share(&times) else {
        let says = seen.either(
            "No answer waited for an acknowledgement.",
            "No delivery waited for an acknowledgement.",
        );
        return Word::valid("no cluster at 40 ms", says);
    };
    let what = seen.either("answers", "deliveries");
    let value = format!("{} of the {what} at 40 to 50 ms", percent(share));
    match client_limit::server_share(seen) {
        Some(used) if used >= BUSY => Word::valid(
            format!("{value}, {} of the cores in use", percent(used)),
            seen.either(
                "The contender was at work: its answers may take that long, or wait that long in a queue.",
                "The contender was at work: its deliveries may take that long, or wait that long in a queue.",
            ),
        ),
        _ => Word::suspect(
            value,
            seen.either(
                "Answers seem to have waited for an acknowledgement of TCP, not for the contender's work.",
                "Deliveries seem to have waited for an acknowledgement of TCP, not for the contender's work.",
            ),
        ),
    }
}

#[cfg(test)]
mod tests {
    use histogram::Histogram;
    use result::finding::{Finding, Verdict};

    use super::super::sound::{word_after, word_of_a_gateway};
    use super::*;

    /// The word where this many of 1,000 answers took 43 ms, and the contender so many CPU
    /// seconds.
    fn with(there: u64, server_cpu_s: Option<f64>) -> Finding {
        let mut times = Histogram::<u64>::new(3).unwrap();
        times.record_n(43_000_000, there).unwrap();
        times.record_n(400_000, 1_000 - there).unwrap();
        word_after(&DELAYED_ACK, |evidence| {
            evidence.server_cpu_s = server_cpu_s;
            evidence.work.as_mut().unwrap().service_us.histogram = histogram::text::encode(&times);
        })
    }

    #[test]
    fn answers_at_40_ms_of_an_idle_contender_cast_doubt() {
        let word = with(1_000, Some(0.04));
        assert_eq!(word.verdict, Verdict::Suspect);
        assert_eq!(word.value, "100.0 % of the answers at 40 to 50 ms");
        assert_eq!(with(50, Some(0.04)).verdict, Verdict::Suspect);
        assert_eq!(with(49, Some(0.04)).verdict, Verdict::Valid);
        assert_eq!(with(1_000, None).verdict, Verdict::Suspect, "whether it worked isn't known");
    }

    /// Else Nagle's algorithm would be taken for what a gateway costs.
    #[test]
    fn deliveries_at_40_ms_of_an_idle_gateway_cast_doubt() {
        let word = word_of_a_gateway(&DELAYED_ACK, |evidence| {
            evidence.server_cpu_s = Some(0.04);
            let times = super::super::sound::histogram(&[(400, 750), (43_000, 250)]);
            evidence.work.as_mut().unwrap().service_us.histogram = times;
        });
        assert_eq!(word.verdict, Verdict::Suspect);
        assert_eq!(word.value, "25.0 % of the deliveries at 40 to 50 ms");
        assert!(word.says.starts_with("Deliveries seem to have waited"), "{word:?}");
    }

    #[test]
    fn a_busy_contender_may_have_a_queue_of_that_length() {
        let word = with(1_000, Some(3.9));
        assert_eq!(word.verdict, Verdict::Valid);
        assert!(word.value.ends_with(", 97.5 % of the cores in use"), "{word:?}");
    }

    #[test]
    fn an_unknown_distribution_is_not_checked() {
        let word = word_after(&DELAYED_ACK, |evidence| {
            evidence.work.as_mut().unwrap().service_us.histogram.clear();
        });
        assert_eq!(word.verdict, Verdict::NotChecked);
    }
}
