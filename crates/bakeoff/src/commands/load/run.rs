//! A run with what is made of it.

use hosts::seen::{Concern, HostSeen};
use load::plan::{Arrivals, Until};
use load::verdict::comparison::Unit;
use load::verdict::condition::{Condition, Judgement, Measured, Verdict};
use load::verdict::limit::Warning;
use load::{Outcome, Plan};
use report::units;

use super::complain;
use super::exit::Exit;
use super::rooms;

/// All that is told of a run.
pub struct Run {
    /// The URL as it was given.
    pub url: String,
    /// What was asked for.
    pub plan: Plan,
    /// What was seen.
    pub outcome: Outcome,
    /// What to know before using it.
    pub warnings: Vec<Warning>,
    /// What each host saw, where the load came from several.
    pub hosts: Vec<HostSeen>,
    /// What to know of hosts.
    pub concerns: Vec<Concern>,
    /// The conditions of `--fail-if`.
    pub conditions: Vec<(Condition, Judgement)>,
}

impl Run {
    /// What the exit code says. The gravest comes first: a run without one of its hosts isn't
    /// what was asked for, one that was cut short decides nothing, and one without an answer
    /// meets no condition.
    pub fn exit(&self) -> Exit {
        if lost(&self.concerns).is_some() {
            Exit::System
        } else if self.outcome.interrupted {
            Exit::Interrupted
        } else if self.outcome.account.good == 0 || self.is_given_up() {
            Exit::Unanswered
        } else if self.conditions.iter().any(fails_the_run)
            || rooms::broken(&self.outcome).is_some()
        {
            Exit::Condition
        } else {
            Exit::Ok
        }
    }

    /// Whether it came to its end before so many requests were made as were asked for.
    pub fn is_given_up(&self) -> bool {
        let Until::Requests(asked) = self.plan.until else { return false };
        self.outcome.account.scheduled < asked && !self.outcome.interrupted
    }

    /// Says on standard error which conditions fail the run, and that it had no request.
    pub fn complain(&self) {
        lost(&self.concerns).into_iter().for_each(|sentence| complain(&sentence));
        self.why_it_is_empty().into_iter().for_each(|sentence| complain(&sentence));
        rooms::broken(&self.outcome).into_iter().for_each(|sentence| complain(&sentence));
        for judged in self.conditions.iter().filter(|judged| fails_the_run(judged)) {
            complain(&format!("--fail-if: {}", sentence(&judged.0, judged.1)));
        }
    }
}

impl Run {
    /// Why an open loop came to its end without a request, which nothing else tells.
    fn why_it_is_empty(&self) -> Option<String> {
        let (Arrivals::Constant(offered) | Arrivals::Poisson(offered)) = self.plan.arrivals else {
            return None;
        };
        let Outcome { account, window, interrupted, .. } = &self.outcome;
        (account.scheduled == 0 && !interrupted).then(|| {
            format!(
                "no request was due in the measured {}: at {} one is due every {}. Measure for \
                 longer (-d), or offer more (--rate).",
                units::time(window.as_secs_f64() * 1e6),
                rate(offered),
                units::time(1e6 / offered)
            )
        })
    }
}

/// Which host was lost first, as a sentence; `None` if none was.
pub fn lost(concerns: &[Concern]) -> Option<String> {
    concerns.iter().find_map(|concern| match concern {
        Concern::Lost { host, why } => Some(format!(
            "host {host} was lost: {why}. The load was not what was asked for, so no figure of it \
             is valid. What the others saw is told"
        )),
        _ => None,
    })
}

/// Whether a condition of `--fail-if` makes the run a failure. Unknown does:
/// what can't be told is no success.
fn fails_the_run((_, judgement): &(Condition, Judgement)) -> bool {
    judgement.verdict != Verdict::Fails
}

/// What a condition came to, as a sentence.
pub fn sentence(condition: &Condition, judgement: Judgement) -> String {
    let verdict = match judgement.verdict {
        Verdict::Holds => "holds",
        Verdict::Fails => "does not hold",
        Verdict::Unknown => "is unknown",
    };
    format!("{condition} {verdict}: {}", measured(condition, judgement.measured))
}

/// What was measured for a condition, as a clause.
pub fn measured(condition: &Condition, measured: Measured) -> String {
    let name = condition.metric_name();
    let shown = |value: f64| match condition.metric().unit() {
        Unit::Nanoseconds => units::time(value / 1e3),
        Unit::PerSecond => rate(value),
        Unit::Count => units::whole(value as u64),
        Unit::Share => units::percent(value),
    };
    match measured {
        Measured::Value { value, at_least } => {
            format!("{name} is {}{}", if at_least { "at least " } else { "" }, shown(value))
        }
        Measured::Between { least, most } => format!(
            "{name} is {} to {}, since requests without an answer may have been errors",
            shown(least),
            shown(most)
        ),
        Measured::TooFewSamples { samples, needed } => format!(
            "{name} takes {} samples, and there are {}",
            units::whole(needed),
            units::whole(samples)
        ),
    }
}

/// A rate of requests or answers, as `31.2k/s` or, where they take long, `0.5/s`.
pub fn rate(per_second: f64) -> String {
    let number = if per_second < 100.0 {
        units::tick(units::three_digits(per_second))
    } else {
        units::count(per_second)
    };
    format!("{number}/s")
}

#[cfg(test)]
pub mod tests {
    use std::time::Duration;

    use super::super::arguments::tests::parse;
    use super::*;
    use histogram::Histogram;
    use histogram::Latency;
    use hosts::clock::Offset;
    use hosts::seen::Together;
    use hosts::wire::{Build, HostFacts};
    use load::outcome::{
        Account, ClassSeen, Connections, ErrorCount, ErrorKind, First, Firsts, KeysSeen, Second,
        StatusCount, ThreadUse,
    };
    use load::verdict::limit;

    /// Samples of so many microseconds, each so often.
    pub fn histogram(samples: impl IntoIterator<Item = (u64, u64)>) -> Histogram<u64> {
        let mut histogram = Histogram::new_with_bounds(1, 3_600_000_000_000, 3).unwrap();
        for (us, count) in samples {
            histogram.record_n(us * 1_000, count).unwrap();
        }
        histogram
    }

    /// A closed loop of ten seconds that went well.
    pub fn good() -> Run {
        let plan = parse(&["http://127.0.0.1:8080/", "-c", "100", "--warmup", "1s", "--seed", "1"])
            .unwrap()
            .plan()
            .unwrap();
        let latency = Latency {
            good: histogram([(85, 200_000), (120, 100_000), (450, 11_600), (1_250, 400)]),
            censored: histogram([]),
        };
        let outcome = Outcome {
            account: Account {
                scheduled: 312_000,
                sent: 312_000,
                good: 312_000,
                statuses: vec![StatusCount { status: 200, count: 312_000, good: 312_000 }],
                ..Account::default()
            },
            warmup: Account { scheduled: 30_000, sent: 30_000, good: 30_000, ..Account::default() },
            window_began: load::Moment::now(),
            window: Duration::from_secs(10),
            answers_in_window: 312_000,
            bytes_received: 109_051_904,
            bytes_sent: 22_020_096,
            service: latency.clone(),
            response: latency,
            lateness: histogram([]),
            connection_wait: histogram([]),
            connect: histogram([(40, 60), (95, 40)]),
            opening: histogram([]),
            seen_late: histogram([(4, 60), (30, 40)]),
            connections: Connections {
                asked: 100,
                established: 100,
                answers_min: 3_050,
                answers_max: 3_190,
                ..Connections::default()
            },
            firsts: Firsts::default(),
            seconds: vec![
                Second {
                    good: 31_200,
                    errors: 0,
                    bytes: 10_905_190,
                    p50: Some(85_000),
                    p99: Some(450_000),
                    said: None,
                };
                10
            ],
            sampled_answers: vec![],
            keys: None,
            classes: vec![],
            deliveries: None,
            threads: vec![
                ThreadUse {
                    cpu: Some(0),
                    user_s: 1.2,
                    system_s: 3.1,
                    busy_share: 0.43,
                    run_delay_share: Some(0.01),
                    ..ThreadUse::default()
                },
                ThreadUse {
                    cpu: Some(1),
                    user_s: 1.1,
                    system_s: 3.0,
                    busy_share: 0.41,
                    run_delay_share: None,
                    ..ThreadUse::default()
                },
            ],
            backend: "io_uring".into(),
            interrupted: false,
        };
        Run {
            url: "http://127.0.0.1:8080/".into(),
            plan,
            outcome,
            warnings: vec![],
            hosts: vec![],
            concerns: vec![],
            conditions: vec![],
        }
    }

    /// An open loop in which everything went wrong.
    pub fn bad() -> Run {
        let mut run = good();
        run.plan.arrivals = Arrivals::Poisson(2_000.0);
        run.plan.until = Until::Requests(20_000);
        run.plan.keep_alive = false;
        let outcome = &mut run.outcome;
        let error = |kind, count, first_ms, example: &str| ErrorCount {
            kind,
            count,
            first: Duration::from_millis(first_ms),
            example: example.into(),
        };
        outcome.account = Account {
            scheduled: 20_000,
            shed: 500,
            sent: 19_500,
            good: 8_900,
            errors: vec![
                error(ErrorKind::Timeout, 600, 5_001, "no whole answer within 5 s"),
                error(ErrorKind::WrongStatus, 9_950, 12, "status 500\u{1b}[2J\u{202e}"),
                error(ErrorKind::Client, 20, 3_200, "no free port"),
            ],
            in_flight: 30,
            statuses: vec![
                StatusCount { status: 200, count: 8_900, good: 8_900 },
                StatusCount { status: 500, count: 9_950, good: 0 },
            ],
        };
        outcome.answers_in_window = 8_900;
        outcome.seconds = vec![
            Second {
                good: 890,
                errors: 1_057,
                bytes: 311_077,
                p50: Some(900_000),
                p99: Some(900_000),
                said: None,
            };
            10
        ];
        outcome.response = Latency {
            good: histogram([(900, 5_000), (2_000, 3_900)]),
            censored: histogram([(5_000_000, 600), (1_500_000, 530)]),
        };
        outcome.service =
            Latency { good: histogram([(900, 8_900)]), censored: histogram([(5_000_000, 630)]) };
        outcome.lateness = histogram([(30, 18_000), (2_000_000, 1_530)]);
        outcome.connection_wait = histogram([(2_000_000, 1_530)]);
        outcome.connections.established = 64;
        outcome.connections.reconnects = 19_400;
        outcome.connections.failed = 12;
        let what = (ErrorKind::Refused, "refused".into());
        outcome.firsts.failed = Some(First { at: Duration::ZERO, what });
        outcome.connections.syn_retransmits = 3;
        outcome.threads[1].busy_share = 0.96;
        outcome.interrupted = true;
        run.warnings = limit::warnings(&run.plan, &run.outcome);
        run.conditions = ["p90 > 10ms", "p90 < 10s", "p99.9 < 1s", "error_share > 60%"]
            .map(|text| {
                let condition: Condition = text.parse().unwrap();
                let judgement = condition.judge(&run.outcome);
                (condition, judgement)
            })
            .to_vec();
        run
    }

    /// A closed loop over a store that lost some of its keys.
    pub fn of_a_store() -> Run {
        let url = "redis://127.0.0.1/";
        let arguments = [url, "-c", "100", "--mix", "get=9,set=1", "--key-choice", "hot:90:10"];
        let mut run = good();
        run.url = url.into();
        run.plan = parse(&[&arguments[..], &["--seed", "1"]].concat()).unwrap().plan().unwrap();
        let outcome = &mut run.outcome;
        outcome.account.good -= 2_000;
        outcome.account.statuses.clear();
        outcome.warmup = Account::default();
        let good = histogram([(85, 278_800), (120, 31_200)]);
        (outcome.service.good, outcome.response.good) = (good.clone(), good);
        let example = "key:000000000007 isn't there, and was written".into();
        let (kind, first) = (ErrorKind::Missing, Duration::from_millis(12));
        outcome.account.errors = vec![ErrorCount { kind, count: 2_000, first, example }];
        outcome.keys = Some(KeysSeen {
            hits: 278_800,
            misses: 0,
            missing: 2_000,
            wrong: 0,
            stale: 0,
            pushes: 0,
        });
        let seen = |name: &str, us, count| {
            let times = Latency { good: histogram([(us, count)]), censored: histogram([]) };
            ClassSeen { name: name.into(), response: times.clone(), service: times }
        };
        outcome.classes =
            vec![seen("get", 85, 278_800), seen("set", 120, 31_200), seen("delete", 0, 0)];
        run
    }

    /// A load of two hosts, of which one was lost.
    pub fn of_hosts() -> Run {
        let mut run = good();
        let build = Build { protocol: 1, version: "0.1.0".into(), digest: "ab".into() };
        let seen = |name: &str, outcome: Option<Outcome>, lost: Option<&str>| HostSeen {
            name: name.into(),
            facts: HostFacts {
                build: build.clone(),
                name: name.into(),
                kernel: "6.12".into(),
                cpus: vec![0, 1],
                files: 20_000,
                ports: (32_768, 60_999),
                backend: "io_uring".into(),
                boot_id: name.into(),
            },
            plan: Plan { connections: 50, ..run.plan.clone() },
            clock: Offset { ns: -1_500_000, round_trip: Duration::from_micros(210) },
            drift_ns: outcome.as_ref().map(|_| 9_000),
            start_late: Duration::from_micros(12),
            lost: lost.map(Into::into),
            outcome,
        };
        let hosts = vec![
            seen("c1", Some(run.outcome.clone()), None),
            seen("c2", None, Some("nothing was heard of it for 5 s")),
        ];
        let together = Together { outcome: run.outcome.clone(), hosts };
        (run.concerns, run.hosts) = (together.concerns(), together.hosts);
        run
    }

    #[test]
    fn a_run_without_one_of_its_hosts_fails_whatever_the_others_saw() {
        assert_eq!(of_hosts().exit(), Exit::System);
    }

    #[test]
    fn the_exit_code_tells_the_gravest_thing() {
        let mut run = good();
        assert_eq!(run.exit(), Exit::Ok);
        let condition = |text: &str, run: &Run| {
            let condition: Condition = text.parse().unwrap();
            let judgement = condition.judge(&run.outcome);
            vec![(condition, judgement)]
        };
        run.conditions = condition("p99 > 10ms", &run);
        assert_eq!(run.exit(), Exit::Ok, "a condition that does not hold fails the run");
        run.conditions = condition("p99 < 10ms", &run);
        assert_eq!(run.exit(), Exit::Condition);
        run.conditions = condition("p99.9999 > 10ms", &run);
        assert_eq!(run.exit(), Exit::Condition, "an unknown condition passed for a success");
        let asked = run.outcome.account.scheduled;
        run.plan.until = Until::Requests(asked);
        assert_eq!(run.exit(), Exit::Condition);
        run.plan.until = Until::Requests(asked + 1);
        assert_eq!(run.exit(), Exit::Unanswered, "a run that was given up passed for a whole one");
        run.outcome.account.good = 0;
        assert_eq!(run.exit(), Exit::Unanswered);
        run.outcome.interrupted = true;
        assert_eq!(run.exit(), Exit::Interrupted);
    }

    #[test]
    fn a_rate_below_one_a_second_is_no_standstill() {
        let shown = [0.0, 0.0000116, 0.5, 2.5, 7.4333, 99.97, 312.6, 31_240.0].map(rate);
        let expected =
            ["0/s", "0.0000116/s", "0.5/s", "2.5/s", "7.43/s", "100/s", "313/s", "31.2k/s"];
        assert_eq!(shown, expected);
    }

    #[test]
    fn conditions_are_told_with_what_was_measured() {
        let told: Vec<String> = bad()
            .conditions
            .iter()
            .map(|(condition, judged)| sentence(condition, *judged))
            .collect();
        assert_eq!(
            told,
            [
                "p90 > 10ms holds: p90 is at least 1.50 s",
                "p90 < 10s is unknown: p90 is at least 1.50 s",
                "p99.9 < 1s is unknown: p99.9 takes 100,000 samples, and there are 10,030",
                "error_share > 60% does not hold: error_share is 53 % to 56 %, since requests \
                 without an answer may have been errors",
            ]
        );
    }
}
