//! Conditions on what a run saw, as `p99 < 10ms`.
//!
//! A condition is a metric, an operator and a value. It holds, it fails, or it
//! is unknown: a percentile with too few samples beyond it has no value, and a
//! lower bound of 5 s decides `p99 > 1s`, but not `p99 < 10s`. Whoever acts on a
//! condition must say what unknown counts as.

use std::fmt;
use std::str::FromStr;

use crate::outcome::Outcome;
use crate::verdict::comparison::{Comparison, Complaint, Operator, value};
use crate::verdict::metric::{Metric, Series};
use histogram::Latency;
use histogram::reading::{self, Reading};

/// A condition on an [`Outcome`].
#[derive(Debug, Clone, PartialEq)]
pub struct Condition {
    text: String,
    metric: Metric,
    operator: Operator,
    /// In the unit of the metric.
    threshold: f64,
}

impl Metric {
    /// Its value in a run.
    fn measure(&self, outcome: &Outcome) -> Measured {
        let exact = |value| Measured::Value { value, at_least: false };
        let account = &outcome.account;
        match self {
            Metric::Rate => exact(outcome.rate()),
            Metric::Errors => exact(account.errors_total() as f64),
            Metric::ErrorShare | Metric::GoodShare if account.scheduled == 0 => {
                Measured::TooFewSamples { samples: 0, needed: 1 }
            }
            Metric::ErrorShare => {
                let share = |requests: u64| requests as f64 / account.scheduled as f64;
                let errors = account.errors_total();
                match account.shed + account.in_flight {
                    0 => exact(share(errors)),
                    open => Measured::Between { least: share(errors), most: share(errors + open) },
                }
            }
            Metric::GoodShare => exact(good_share(outcome)),
            &Metric::Time(ref series, statistic) => {
                let reading = match series {
                    Series::Response => reading::read(&outcome.response, statistic),
                    Series::Service => reading::read(&outcome.service, statistic),
                    Series::Lateness => reading::read_exact(&outcome.lateness, statistic),
                    Series::Connect => reading::read_exact(&outcome.connect, statistic),
                    Series::Class(name) => {
                        let seen = outcome.classes.iter().find(|it| it.name == *name);
                        seen.map_or_else(
                            || reading::read(&Latency::default(), statistic),
                            |seen| reading::read(&seen.response, statistic),
                        )
                    }
                };
                match reading {
                    Reading::Value(quantile) => Measured::Value {
                        value: quantile.nanoseconds as f64,
                        at_least: quantile.at_least,
                    },
                    Reading::TooFewSamples { samples, needed } => {
                        Measured::TooFewSamples { samples, needed }
                    }
                }
            }
        }
    }
}

/// The share of the requests whose turn came that had a good answer, from 0 to 1.
pub fn good_share(outcome: &Outcome) -> f64 {
    outcome.account.good as f64 / outcome.account.scheduled.max(1) as f64
}

/// What a condition comes to in a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Judgement {
    /// The word on it.
    pub verdict: Verdict,
    /// What the word rests on.
    pub measured: Measured,
}

/// The word on a condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It is so.
    Holds,
    /// It is not so.
    Fails,
    /// What was seen doesn't decide it.
    Unknown,
}

/// A metric's value in a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Measured {
    /// Its value, in the metric's unit.
    Value {
        /// The value.
        value: f64,
        /// Whether the true value may be larger.
        at_least: bool,
    },
    /// A value between these, in the metric's unit: requests without an answer leave it open.
    Between {
        /// The least that it can be.
        least: f64,
        /// The most that it can be.
        most: f64,
    },
    /// None: it would take more samples.
    TooFewSamples {
        /// The samples that there are.
        samples: u64,
        /// The samples that it takes.
        needed: u64,
    },
}

impl Condition {
    /// What it looks at.
    pub fn metric(&self) -> &Metric {
        &self.metric
    }

    /// The name of what it looks at, as it was written.
    pub fn metric_name(&self) -> &str {
        let end = self.text.find(['<', '>']).unwrap_or(self.text.len());
        self.text[..end].trim_end()
    }

    /// What it comes to in a run.
    pub fn judge(&self, outcome: &Outcome) -> Judgement {
        let measured = self.metric.measure(outcome);
        let verdict = match measured {
            Measured::Value { value, at_least } => self.decide(value, at_least),
            Measured::Between { least, most } => {
                let (low, high) = (self.decide(least, false), self.decide(most, false));
                if low == high { low } else { Verdict::Unknown }
            }
            Measured::TooFewSamples { .. } => Verdict::Unknown,
        };
        Judgement { verdict, measured }
    }

    /// Why no search finds the highest rate at which it holds.
    ///
    /// # Errors
    /// The reason, as a clause.
    pub fn check_search(&self) -> Result<(), &'static str> {
        let above = match self.metric {
            Metric::Rate => {
                return Err(
                    "a rate is what the search offers and finds; give it what the answers \
                            have to be like, as 'p99 < 10ms' or 'good_share > 99.9%'",
                );
            }
            Metric::Time(Series::Lateness, _) => {
                return Err("lateness is the client's own, and says nothing of the server; take \
                            the response time, as 'p99 < 10ms'");
            }
            Metric::Time(..) | Metric::Errors | Metric::ErrorShare => self.operator.is_upwards(),
            Metric::GoodShare => !self.operator.is_upwards(),
        };
        match (above, &self.metric) {
            (false, _) => Ok(()),
            (true, Metric::GoodShare) => Err("it holds above a rate and not below, so that no \
                                              highest rate ends it; write it with > or >="),
            (true, _) => Err("it holds above a rate and not below, so that no highest rate ends \
                              it; write it with < or <="),
        }
    }

    fn decide(&self, value: f64, at_least: bool) -> Verdict {
        let holds = self.operator.holds(value, self.threshold);
        let upwards = self.operator.is_upwards();
        // A larger true value can make `>` true and `<` false, never the reverse.
        match (holds, at_least) {
            (true, true) if !upwards => Verdict::Unknown,
            (false, true) if upwards => Verdict::Unknown,
            (true, _) => Verdict::Holds,
            (false, _) => Verdict::Fails,
        }
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl FromStr for Condition {
    type Err = Complaint;

    fn from_str(text: &str) -> Result<Condition, Complaint> {
        let several = "--fail-if may be given several times, and --find-rate searches for one";
        let comparison = Comparison::split(text, "p99 < 10ms", several)?;
        let Comparison { text, left, operator, right } = comparison;
        let metric: Metric = left.parse().map_err(|what| comparison.complain(left, what))?;
        let threshold =
            value(right, metric.unit()).map_err(|(part, what)| comparison.complain(part, what))?;
        Ok(Condition { text: text.into(), metric, operator, threshold })
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::time::Duration;

    use super::*;
    use crate::Moment;
    use crate::outcome::{Account, ClassSeen, ErrorCount, ErrorKind};

    /// A run of ten seconds with these response times and waits without answer,
    /// in µs; its service times are half of them.
    pub(crate) fn outcome(good_us: &[u64], censored_us: &[u64]) -> Outcome {
        let latency = |scale: u64| {
            let mut latency = Latency::default();
            good_us.iter().for_each(|us| latency.good.record(us * scale).unwrap());
            censored_us.iter().for_each(|us| latency.censored.record(us * scale).unwrap());
            latency
        };
        let (good, waited) = (good_us.len() as u64, censored_us.len() as u64);
        let timeouts = ErrorCount {
            kind: ErrorKind::Timeout,
            count: waited,
            first: Duration::from_secs(1),
            example: "no answer".into(),
        };
        Outcome {
            account: Account {
                scheduled: good + waited,
                sent: good + waited,
                good,
                errors: if waited > 0 { vec![timeouts] } else { vec![] },
                ..Account::default()
            },
            window: Duration::from_secs(10),
            answers_in_window: good,
            response: latency(1_000),
            service: latency(500),
            backend: "epoll".into(),
            ..Outcome::nothing(Moment::now())
        }
    }

    fn condition(text: &str) -> Condition {
        text.parse().unwrap_or_else(|complaint| panic!("{complaint}"))
    }

    fn verdict(text: &str, outcome: &Outcome) -> Verdict {
        condition(text).judge(outcome).verdict
    }

    #[test]
    fn each_metric_reads_what_its_name_says() {
        // 10,000 answers of 1 ms to 10 ms, and 100 connections of 2 ms.
        let mut outcome = outcome(&(1..=10_000).map(|n| n + 999).collect::<Vec<_>>(), &[]);
        (0..10_000).for_each(|_| outcome.lateness.record(30_000).unwrap());
        (0..200).for_each(|_| outcome.connect.record(2_000_000).unwrap());
        for holds in [
            "p50 > 5.9ms",
            "p50 < 6.1 ms",
            "p99>10.8ms",
            "p90 <= 10.1ms",
            "max < 11.1ms",
            "max >= 0.0109s",
            "mean < 6.1ms",
            "service_p50 < 3.1ms",
            "service_max > 5400us",
            "lateness_p99 < 31µs",
            "connect_p50 > 1.9ms",
            "rate >= 1k",
            "rate < 1001/s",
            "rate > 0.0009M",
            "errors <= 0",
            "error_share < 0.01%",
            "good_share >= 100%",
        ] {
            assert_eq!(verdict(holds, &outcome), Verdict::Holds, "{holds}");
        }
        for fails in
            ["p50 > 6.1ms", "rate > 1k", "errors > 0", "error_share > 1 %", "good_share < 99.9%"]
        {
            assert_eq!(verdict(fails, &outcome), Verdict::Fails, "{fails}");
        }
    }

    #[test]
    fn a_class_is_judged_by_its_own_times() {
        let of = |name: &str, response_us: u64, waits: u64| {
            let mut seen = ClassSeen {
                name: name.into(),
                response: Latency::default(),
                service: Latency::default(),
            };
            seen.response.good.record_n(response_us * 1_000, 10_000).unwrap();
            seen.service.good.record_n(1_000, 10_000).unwrap();
            (0..waits).for_each(|_| seen.response.censored.record(5_000_000_000).unwrap());
            seen
        };
        let mut outcome = outcome(&[1_000; 10_000], &[]);
        outcome.classes = vec![of("get", 300, 0), of("set", 2_000, 200)];
        for holds in ["get.p99 < 1ms", "get.max < 301us", "get.mean > 299us", "set.p50 > 1.9ms"] {
            assert_eq!(verdict(holds, &outcome), Verdict::Holds, "{holds}");
        }
        assert_eq!(verdict("set.p50 < 1ms", &outcome), Verdict::Fails);
        assert_eq!(verdict("set.p99 < 6s", &outcome), Verdict::Unknown, "some had no answer");
        let too_few = "get.p99.9 < 1ms";
        assert_eq!(verdict(too_few, &outcome), Verdict::Unknown, "{too_few}");
        let judgement = condition("delete.max < 1ms").judge(&outcome);
        assert_eq!(judgement.verdict, Verdict::Unknown);
        assert_eq!(judgement.measured, Measured::TooFewSamples { samples: 0, needed: 1 });
    }

    #[test]
    fn a_lower_bound_decides_only_what_a_larger_value_could_not_change() {
        // The median of these is a wait of 5 s that never ended.
        let outcome = outcome(&[1_000; 100], &[5_000_000; 300]);
        let verdicts =
            ["p50 > 1s", "p50 >= 1s", "p50 < 1s", "p50 <= 1s"].map(|text| verdict(text, &outcome));
        assert_eq!(verdicts, [Verdict::Holds, Verdict::Holds, Verdict::Fails, Verdict::Fails]);
        let verdicts =
            ["p50 > 10s", "p50 >= 10s", "p50 < 10s", "p50 <= 10s", "max < 10s", "mean < 10s"]
                .map(|text| verdict(text, &outcome));
        assert_eq!(verdicts, [Verdict::Unknown; 6], "a wait of at least 5 s is not less than 10 s");
    }

    #[test]
    fn a_quantile_below_every_censored_sample_is_exact() {
        let outcome = outcome(&[1_000; 1_000], &[5_000_000; 3]);
        assert_eq!(verdict("p50 < 2ms", &outcome), Verdict::Holds);
    }

    #[test]
    fn too_few_samples_leave_a_percentile_unknown() {
        let outcome = outcome(&[1_000; 9_999], &[]);
        let judgement = condition("p99 < 1s").judge(&outcome);
        assert_eq!(judgement.verdict, Verdict::Unknown);
        assert_eq!(judgement.measured, Measured::TooFewSamples { samples: 9_999, needed: 10_000 });
        assert_eq!(verdict("p90 < 1s", &outcome), Verdict::Holds);
    }

    #[test]
    fn errors_count_in_number_and_share() {
        let outcome = outcome(&[1_000; 99], &[5_000_000]);
        assert_eq!(verdict("errors >= 1", &outcome), Verdict::Holds);
        assert_eq!(verdict("error_share <= 1%", &outcome), Verdict::Holds);
        assert_eq!(verdict("error_share < 1%", &outcome), Verdict::Fails);
    }

    #[test]
    fn the_share_of_no_requests_is_unknown() {
        for condition in ["error_share < 1%", "good_share > 99%"] {
            assert_eq!(verdict(condition, &outcome(&[], &[])), Verdict::Unknown, "{condition}");
        }
    }

    #[test]
    fn what_was_never_answered_passes_for_no_success() {
        // 60,000 good answers, 50 errors, 40,000 that were never sent and 50 without an answer.
        let mut outcome = outcome(&[1_000; 60_000], &[5_000_000; 50]);
        outcome.account.shed = 40_000;
        outcome.account.in_flight = 50;
        outcome.account.sent += 50;
        outcome.account.scheduled += 40_050;
        assert_eq!(outcome.account.contradiction(), None);
        assert_eq!(verdict("error_share > 1%", &outcome), Verdict::Unknown, "it passed");
        assert_eq!(verdict("error_share < 1%", &outcome), Verdict::Unknown, "it passed");
        assert_eq!(verdict("error_share > 0.01%", &outcome), Verdict::Holds);
        assert_eq!(verdict("error_share > 50%", &outcome), Verdict::Fails, "at most 40 % are");
        assert_eq!(verdict("good_share < 99%", &outcome), Verdict::Holds);
        assert_eq!(verdict("good_share > 59%", &outcome), Verdict::Holds, "{outcome:?}");
    }

    #[test]
    fn a_condition_that_no_highest_rate_ends_is_not_searched_for() {
        let complaints: Vec<String> = [
            "rate > 10k",
            "rate < 10k",
            "rate <= 10k",
            "p99 > 1ms",
            "p50 >= 1ms",
            "max > 1ms",
            "mean > 1ms",
            "service_p99 > 1ms",
            "connect_p99 >= 1ms",
            "lateness_p99 < 1ms",
            "errors > 0",
            "errors >= 10",
            "error_share > 1%",
            "good_share < 99%",
            "good_share <= 99%",
        ]
        .map(|text| format!("{text}: {}", condition(text).check_search().unwrap_err()))
        .to_vec();
        insta::assert_snapshot!(complaints.join("\n"));
        for text in ["p99 < 1ms", "max <= 1s", "service_p99 < 1ms", "connect_p50 < 1ms"] {
            assert_eq!(condition(text).check_search(), Ok(()), "{text}");
        }
        for text in ["errors < 1", "errors <= 0", "error_share < 1%", "good_share > 99%"] {
            assert_eq!(condition(text).check_search(), Ok(()), "{text}");
        }
    }

    #[test]
    fn a_condition_is_shown_as_it_was_written() {
        let condition = condition("  service_p99.9<=1.5s ");
        assert_eq!(condition.to_string(), "service_p99.9<=1.5s");
        assert_eq!(condition.metric_name(), "service_p99.9");
    }

    #[test]
    fn a_complaint_points_at_the_place() {
        let complaints: Vec<String> = [
            "p99",
            "p99 < 10",
            "p99 < 10mins",
            "p99 =< 10ms",
            "p99 == 10ms",
            "p100 < 1s",
            "latency < 1s",
            "put_p99 < 1s",
            "get_rate > 1k",
            "< 1s",
            "rate > fast",
            "rate > 20ms",
            "error_share < 1",
            "errors >",
            "µ50 > 1..5ms",
            "p99 < µs",
            "p99 > 1..5ms",
            "p99 < 10ms, errors < 1",
            "p99 < 10ms && errors < 1",
            "1ms < p99 < 10ms",
            "p50 < p99 < 10ms",
            "",
        ]
        .iter()
        .map(|text| text.parse::<Condition>().unwrap_err().to_string())
        .collect();
        insta::assert_snapshot!(complaints.join("\n\n"));
    }
}
