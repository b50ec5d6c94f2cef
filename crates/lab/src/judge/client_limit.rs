//! Was the client the limit?

use super::{Check, Seen, Word, percent};

/// Busy share of a client thread from which on it may be the limit.
const BUSY_SUSPECT: f64 = 0.85;
/// From here on it is.
const BUSY_INVALID: f64 = 0.97;
/// The 99th percentile of lateness, as a share of the median response time, from
/// which on the generator shows in the latency.
const LATENESS_SHARE_MAX: f64 = 0.1;

/// The only check that the result knows by name: where it speaks, a rate is a
/// lower bound.
pub const CLIENT_LIMIT: Check = Check {
    id: "client-limit",
    signal: "CPU time by wall time of the busiest client thread; in an open loop, how late requests were sent.",
    threshold: "busy less than 85 % of the time, invalid from 97 %; in an open loop, 99 % of requests late by less than a tenth of the median response time",
    why: "A client that is always busy measures itself: in 2009 ApacheBench was the bottleneck at 1,000 and 5,000 connections, and servers that differed looked alike. From 85 % on, requests wait for the client now and then, and the rate is a lower bound.",
    fix: "Give the client more cores or machines of its own, or the server fewer; the rate is shown with ≥.",
    look,
};

fn look(seen: &Seen) -> Word {
    let Some(load) = seen.load() else { return Word::no_load() };
    if let Some(lateness) = &load.lateness_us {
        let p99 = value_at(&lateness.at, 99.0);
        let median = value_at(&load.response_us.at, 50.0);
        let Some((p99, median)) = p99.zip(median) else {
            return Word::not_checked("Too few requests to tell how late they were sent.");
        };
        if p99 > median * LATENESS_SHARE_MAX {
            return Word::invalid(
                format!("{p99:.0} µs late"),
                "The client sent requests too late to tell the server's time from its own.",
            )
            .against("a tenth of the median response time");
        }
    }
    if seen.evidence.place.shared() {
        return Word::not_checked(
            "Client and server share cores, so that the client's share tells nothing.",
        );
    }
    let Some(busiest) = load.client_busy_share.iter().copied().reduce(f64::max) else {
        return Word::not_checked("The client's CPU time is not known.");
    };
    let value = format!("{} busy", percent(busiest));
    let word = if busiest >= BUSY_INVALID {
        Word::invalid(value, "The client was the limit: the server could have given more.")
    } else if busiest >= BUSY_SUSPECT {
        Word::suspect(value, "The client was near its limit: the server may have given more.")
    } else {
        Word::valid(value, "The client had time to spare.")
    };
    word.against("less than 85 %, invalid from 97 %")
}

fn value_at(at: &[result::evidence::Percentile], percentile: f64) -> Option<f64> {
    at.iter().find(|one| one.percentile == percentile).map(|one| one.value)
}

#[cfg(test)]
mod tests {
    use result::finding::Verdict;

    use super::super::tests::{word_after, word_after_load};
    use super::*;

    #[test]
    fn a_busy_client_casts_doubt_and_a_saturated_one_makes_the_figures_invalid() {
        let with = |share| {
            word_after_load(&CLIENT_LIMIT, |load| load.client_busy_share = vec![0.2, share])
        };
        assert_eq!(with(0.849).verdict, Verdict::Valid);
        assert_eq!(with(0.85).verdict, Verdict::Suspect);
        assert_eq!(with(0.97).verdict, Verdict::Invalid);
        assert_eq!(with(0.97).value, "97.0 % busy");
    }

    #[test]
    fn a_late_client_makes_the_figures_invalid() {
        let with = |factor: f64| {
            word_after_load(&CLIENT_LIMIT, |load| {
                let mut lateness = load.response_us.clone();
                for one in &mut lateness.at {
                    one.value *= factor;
                }
                load.lateness_us = Some(lateness);
            })
        };
        assert_eq!(with(0.01).verdict, Verdict::Valid);
        assert_eq!(with(0.5).verdict, Verdict::Invalid);
    }

    #[test]
    fn on_shared_cores_or_without_the_sensor_nothing_is_said() {
        let word = word_after(&CLIENT_LIMIT, |evidence| evidence.place.client_cpus = vec![0, 1]);
        assert_eq!(word.verdict, Verdict::NotChecked);
        let word = word_after_load(&CLIENT_LIMIT, |load| load.client_busy_share.clear());
        assert_eq!(word.verdict, Verdict::NotChecked);
    }
}
