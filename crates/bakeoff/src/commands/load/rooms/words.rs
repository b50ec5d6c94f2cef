//! Warnings of a run with robots: what is told of requests elsewhere is told of deliveries here.

use load::verdict::limit::Warning;
use report::units;

use super::super::run::rate;
use super::super::words;

/// The sentences of a warning. Parts of them may be a server's words.
pub fn sentences(warning: &Warning) -> String {
    match warning {
        Warning::Late { late } => format!(
            "The client said {} % of the messages at least {} late. Its own delay is in the times \
             of delivery. Give it processors that nothing else uses, or a lower rate.",
            100 - late.percentile,
            units::time(late.least.as_secs_f64() * 1e6)
        ),
        Warning::RateNotReached { offered, reached } => format!(
            "{} deliveries were offered, and {} came. The times are those of a queue that grows, \
             and say how long the run was, not how fast the server is. Take a lower rate.",
            rate(*offered),
            rate(*reached)
        ),
        Warning::Shed { shed, scheduled } => format!(
            "{} of {} deliveries were due and never handed over: the server didn't read what was \
             said before, or their robot had no connection. They stand among the times as waits \
             without an end (≥).",
            units::whole(*shed),
            units::whole(*scheduled)
        ),
        other => words::sentences(other),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use load::verdict::limit::Lateness;

    use super::*;

    #[test]
    fn what_is_told_of_requests_elsewhere_is_told_of_deliveries() {
        let late = Lateness { percentile: 99, least: Duration::from_millis(3) };
        for warning in [
            Warning::Late { late },
            Warning::RateNotReached { offered: 1000.0, reached: 0.5 },
            Warning::Shed { shed: 1, scheduled: 2 },
        ] {
            let told = sentences(&warning);
            assert!(!told.contains("request") && !told.contains("--find-rate"), "{told}");
        }
    }
}
