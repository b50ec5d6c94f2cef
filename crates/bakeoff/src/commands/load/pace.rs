//! When requests are due in an open loop, and the rates that a search may try.

use std::time::Duration;

use clap::ValueEnum;
use load::plan::{Arrivals, Plan, Until};
use load::verdict::condition::Condition;
use load::verdict::metric::{Metric, Series};
use report::units;

use super::quantity;
use super::rooms::ROBOTS_MAX;
use super::run::rate;

/// More than any one machine can offer.
pub const HIGHEST: f64 = 10e6;
/// A step has so many times the samples that its condition takes.
const MARGIN: f64 = 1.2;
/// Requests of a step for a condition that takes no number of samples.
const REQUESTS_MIN: f64 = 100.0;

/// When requests of an open loop are due.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ArrivalsChoice {
    /// Evenly spaced
    Constant,
    /// At random, as from many independent users
    Poisson,
}

impl ArrivalsChoice {
    /// These arrivals at a rate.
    pub fn at(self, rate: f64) -> Arrivals {
        match self {
            ArrivalsChoice::Constant => Arrivals::Constant(rate),
            ArrivalsChoice::Poisson => Arrivals::Poisson(rate),
        }
    }
}

/// Refuses a condition that can't be searched for, and steps in which no rate brings the
/// samples that it takes.
///
/// # Errors
/// One sentence with the reason, and the length or the connections that do.
pub fn check(condition: &Condition, plan: &Plan) -> Result<(), String> {
    condition
        .check_search()
        .map_err(|why| format!("--find-rate '{condition}' can't be searched for: {why}"))?;
    let kept = plan.keep_alive.then_some(plan.connections);
    check_samples(condition, share(condition, plan), step_length(plan), kept)
}

/// The same of a search for robots.
///
/// # Errors
/// One sentence with the reason, and the length that does.
pub fn check_robots(condition: &Condition, plan: &Plan) -> Result<(), String> {
    let refused = |why: &str| Err(format!("--find-connections '{condition}' {why}"));
    if let Err(why) = condition.check_search() {
        return refused(&format!("can't be searched for: {why}"));
    }
    if let Metric::Time(Series::Connect, _) = condition.metric() {
        return refused("is of connections; take the times of deliveries, as 'p95 < 250ms'");
    }
    let each = plan.arrivals.rate().unwrap_or_default() / f64::from(plan.connections);
    if lowest_rate(condition, plan) <= each * ROBOTS_MAX as f64 {
        return Ok(());
    }
    refused(&format!(
        "takes more samples than {} robots have in {}; make the steps longer (-d), or let them \
         speak more often (--rate)",
        units::whole(ROBOTS_MAX),
        humantime::format_duration(step_length(plan)),
    ))
}

fn check_samples(
    condition: &Condition,
    share: f64,
    step_length: Duration,
    kept: Option<u32>,
) -> Result<(), String> {
    if let (Metric::Time(Series::Connect, statistic), Some(kept)) = (condition.metric(), kept) {
        let needed = statistic.samples_needed();
        if u64::from(kept) < needed {
            return Err(format!(
                "--find-rate '{condition}': connections are kept, so a step has {kept} handshakes \
                 at any rate, and this takes {}; give each request a connection of its own \
                 (--close), or more connections (-c)",
                units::whole(needed)
            ));
        }
    }
    let shortest =
        Duration::from_micros((requests(condition, share) / HIGHEST * 1e6).round() as u64);
    if step_length >= shortest {
        return Ok(());
    }
    let advice = if shortest > quantity::A_DAY {
        "no step is long enough; take a lower percentile".to_string()
    } else {
        format!("make it at least {} long (-d)", humantime::format_duration(shortest))
    };
    Err(format!(
        "--find-rate '{condition}': even at {} a step of {} has too few samples; {advice}",
        rate(HIGHEST),
        humantime::format_duration(step_length),
    ))
}

/// How long each step of a search measures.
pub fn step_length(plan: &Plan) -> Duration {
    match plan.until {
        Until::Elapsed(length) => length,
        Until::Requests(_) => Duration::MAX,
    }
}

/// The lowest rate at which a step of this plan has the samples that the condition takes.
pub fn lowest_rate(condition: &Condition, plan: &Plan) -> f64 {
    requests(condition, share(condition, plan)) / step_length(plan).as_secs_f64()
}

/// The share of the requests that the condition looks at, from 0 to 1.
fn share(condition: &Condition, plan: &Plan) -> f64 {
    let Metric::Time(Series::Class(class), _) = condition.metric() else { return 1.0 };
    let classes = plan.work.classes();
    classes.into_iter().find(|(name, _)| name == class).map_or(1.0, |(_, share)| share)
}

/// Requests of a step that has the samples that the condition takes, of which it looks at
/// this share.
fn requests(condition: &Condition, share: f64) -> f64 {
    let samples = match condition.metric() {
        Metric::Time(_, statistic) => statistic.samples_needed() as f64 * MARGIN / share,
        Metric::Rate | Metric::Errors | Metric::ErrorShare | Metric::GoodShare => 0.0,
    };
    samples.max(REQUESTS_MIN)
}

#[cfg(test)]
mod tests {
    use super::super::arguments::tests::parse;
    use super::*;

    #[test]
    fn no_step_is_made_that_has_too_few_samples() {
        let line = ["redis://127.0.0.1", "--mix", "get=3,set=1", "-d", "10s"];
        let plan = parse(&line).unwrap().plan().unwrap();
        let lowest = |text: &str| lowest_rate(&text.parse().unwrap(), &plan);
        assert_eq!(lowest("p99 < 1ms"), 1_200.0);
        assert_eq!(lowest("max < 1ms"), 10.0);
        assert_eq!(lowest("errors < 1"), 10.0);
        assert_eq!(lowest("set.p99 < 1ms"), 4_800.0, "one of four requests is one");
        let paths = ["--path", "/", "--path", "home=/", "--weights", "3,1", "-d", "10s"];
        let plan = parse(&[&["http://127.0.0.1"], &paths[..]].concat()).unwrap().plan().unwrap();
        assert_eq!(lowest_rate(&"home.p99 < 1ms".parse().unwrap(), &plan), 4_800.0);
    }

    #[test]
    fn handshakes_of_connections_that_are_kept_are_refused_where_they_are_too_few() {
        let check = |kept| {
            check_samples(&"connect_p99 < 1ms".parse().unwrap(), 1.0, Duration::from_secs(10), kept)
        };
        let complaint = check(Some(9_999)).unwrap_err();
        assert!(complaint.contains("9999 handshakes"), "{complaint}");
        assert_eq!((check(Some(10_000)), check(None)), (Ok(()), Ok(())));
    }

    #[test]
    fn steps_that_are_too_short_for_their_samples_are_refused_with_a_length_that_is_not() {
        let check = |text: &str, step| check_samples(&text.parse().unwrap(), 1.0, step, Some(64));
        let (second, ms) = (Duration::from_secs, Duration::from_millis);
        for (condition, too_short, enough) in [
            ("p99.9999 < 10ms", second(10), second(12)),
            ("p99.999 < 1s", second(1), ms(1_200)),
            ("p99 < 10ms", ms(1), Duration::from_micros(1_200)),
            ("errors < 1", Duration::from_micros(9), Duration::from_micros(10)),
        ] {
            let complaint = check(condition, too_short).unwrap_err();
            let length = humantime::format_duration(enough);
            let advice = format!("make it at least {length} long (-d)");
            assert!(complaint.contains(&advice), "{complaint}");
            assert_eq!(check(condition, enough), Ok(()), "the advice doesn't help");
        }
        let complaint = check("p99.9999999999 < 1s", second(86_400)).unwrap_err();
        assert!(complaint.contains("no step is long enough"), "{complaint}");
    }
}
