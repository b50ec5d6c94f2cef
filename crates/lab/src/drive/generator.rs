//! From a contract and a slot of the plan to a plan of load, and from what the
//! load saw to evidence.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use keeper::text::harmless;
use load::Stop;
use load::histogram;
use load::outcome::{Account, Latency};
use load::plan::{Arrivals, Expect, Http, Statuses, Target, Until};
use load::template::Request;
use result::evidence::{ClientSide, ErrorKind, Percentile, Percentiles, Second, Work};
use result::plan::Slot;

use super::client::Client;
use super::{Drive, Driven, Driver, Driving, Ended, Outside, Passage, Readiness, Sign};
use crate::contract::http;
use crate::contract::http_client::Wrong;
use crate::place::Running;
use crate::study::HttpContract;

/// The percentiles that are told, if enough samples lie beyond them.
const PERCENTILES: [f64; 7] = [50.0, 75.0, 90.0, 95.0, 99.0, 99.9, 99.99];
/// Samples that have to lie beyond a percentile: with fewer, it is a few single
/// events that would be different next time.
const BEYOND_MIN: f64 = 100.0;

const NS_A_US: f64 = 1000.0;

/// The load generator, for contenders that keep this contract.
#[derive(Debug, Clone)]
pub struct Generator {
    /// What it asks them.
    pub contract: HttpContract,
}

/// The status that says *not yet* (RFC 9110, 15.6.4), however long that takes.
const UNAVAILABLE: u16 = 503;

impl Driver for Generator {
    fn is_asked(&self) -> bool {
        true
    }

    fn sign(&self) -> Sign {
        Sign { given: "gave a right answer", missing: "gave no right answer" }
    }

    fn ready(&self, on: &Running, stop: &Stop) -> Readiness {
        match http::ask_once(on.address, &self.contract, stop) {
            Ok(()) => Readiness::Yes,
            Err(wrong @ Wrong::Status { seen, .. }) if seen != UNAVAILABLE => {
                Readiness::Wrong(wrong.to_string())
            }
            Err(wrong @ Wrong::Answer(_)) => Readiness::Wrong(wrong.to_string()),
            Err(wrong) => Readiness::NotYet(wrong.to_string()),
        }
    }

    fn prepare<'a>(
        &'a self,
        on: &'a Running,
        what: &Drive,
    ) -> Result<Box<dyn Driving + 'a>, load::Error> {
        let client = Client::start(on.kept.client_cgroup().clone(), what.cpus)?;
        let plan = load_plan(what, &self.contract, on.address);
        Ok(Box::new(Loading { client, plan, window: what.window() }))
    }
}

/// A client that waits for its plan.
struct Loading {
    client: Client,
    plan: load::Plan,
    window: Duration,
}

impl Driving for Loading {
    fn outside(&self) -> Option<Outside> {
        Some(self.client.outside())
    }

    fn run(&mut self, stop: &Stop, tell: &mut dyn FnMut(Passage)) -> Result<Ended, load::Error> {
        let (warmup, window) = (self.plan.warmup.as_secs_f64(), self.window.as_secs_f64());
        let mut is_in_window = false;
        let seen = self.client.run(&self.plan, stop, &mut |progress| {
            // It is told when a second has ended, the last of the warm-up among them.
            let measured_s = progress.elapsed_s - warmup;
            if measured_s >= 0.0 && !is_in_window {
                is_in_window = true;
                let left = Duration::from_secs_f64((window - measured_s).max(0.0));
                tell(Passage::Begins { until: Instant::now() + left });
            }
        })?;
        let Some(seen) = seen else { return Ok(Ended::Stopped) };
        Ok(Ended::Driven(Box::new(Driven {
            window_began: seen.window_began,
            window: seen.window,
            work: work(&seen),
            clients: vec![client_side(&self.plan, &seen)],
            answers: seen.sampled_answers,
            told: Vec::new(),
        })))
    }
}

/// The load of a slot.
fn load_plan(what: &Drive, contract: &HttpContract, address: SocketAddr) -> load::Plan {
    let slot = what.slot;
    let target =
        Target { address, authority: address.to_string(), path: contract.request.path.clone() };
    let http = Http {
        requests: vec![Request::get(&contract.request.path)],
        expect: Expect {
            body: Some(contract.answer.body.clone()),
            whole_body: contract.answer.whole_body,
            statuses: Statuses::one(contract.answer.status).unwrap_or_default(),
        },
    };
    load::Plan {
        work: load::plan::Work::Http(http),
        arrivals: arrivals(slot, what.rate),
        connections: slot.setting.connections(),
        keep_alive: slot.setting.kept(),
        until: Until::Elapsed(what.window()),
        warmup: what.warmup(),
        cpus: what.cpus.to_vec(),
        seed: what.seed(),
        ..load::Plan::new(target, Vec::new())
    }
}

/// How requests come. A rate for all is kept evenly, so that all are offered the
/// same to the request. A curve is to show how answers wait for each other, so
/// its requests come as those of many independent users do: by chance.
fn arrivals(slot: &Slot, rate: Option<f64>) -> Arrivals {
    match (rate, slot.setting.pace) {
        (None, _) => Arrivals::Closed,
        (Some(rate), result::plan::Pace::Own { .. }) => Arrivals::Poisson(rate),
        (Some(rate), _) => Arrivals::Constant(rate),
    }
}

/// The work that the contender did, as the load generator saw it.
fn work(seen: &load::Outcome) -> Work {
    Work {
        seconds: seen.window.as_secs_f64(),
        done: seen.answers_in_window,
        rate: seen.rate(),
        errors: errors(&seen.account),
        per_second: seen
            .seconds
            .iter()
            .map(|second| Second {
                good: second.good,
                errors: second.errors,
                p50_us: second.p50.map(us),
                p99_us: second.p99.map(us),
            })
            .collect(),
        response_us: latency(&seen.response),
        service_us: latency(&seen.service),
        interrupted: seen.interrupted,
        ..Work::default()
    }
}

/// What the load generator saw of its own side.
fn client_side(plan: &load::Plan, seen: &load::Outcome) -> ClientSide {
    let threads = &seen.threads;
    ClientSide {
        scheduled: seen.account.scheduled,
        shed: seen.account.shed,
        sent: seen.account.sent,
        good: seen.account.good,
        in_flight: seen.account.in_flight,
        warmup_errors: errors(&seen.warmup),
        offered_rate: match plan.arrivals {
            Arrivals::Closed => None,
            Arrivals::Constant(rate) | Arrivals::Poisson(rate) => Some(rate),
        },
        lateness_us: (!seen.lateness.is_empty()).then(|| percentiles(&seen.lateness)),
        connection_wait_us: (!seen.lateness.is_empty()).then(|| connection_wait(seen)),
        connect_us: percentiles(&seen.connect),
        received_bytes: seen.bytes_received,
        connections_asked: seen.connections.asked,
        connections_established: seen.connections.established,
        reconnects: seen.connections.reconnects,
        cut: Some(seen.connections.cut),
        made: Some(seen.connections.made_in_window),
        syn_retransmits: seen.connections.syn_retransmits_in_window,
        answers_a_connection: (seen.connections.answers_min, seen.connections.answers_max),
        cpu_s: threads.iter().map(|thread| thread.user + thread.system).sum(),
        busy_share: threads.iter().map(|thread| thread.busy_share).collect(),
        away_s: threads.iter().map(|thread| thread.away_s).reduce(f64::max),
        run_delay_share: threads.iter().map(|thread| thread.run_delay_share).collect(),
        backend: seen.backend.clone(),
    }
}

fn errors(account: &Account) -> Vec<ErrorKind> {
    let errors = account.errors.iter().map(|error| ErrorKind {
        kind: error.kind.name().into(),
        count: error.count,
        first_s: error.first.as_secs_f64(),
        example: harmless(&error.example),
    });
    errors.collect()
}

/// How long requests waited for a connection, with those that found one free.
fn connection_wait(seen: &load::Outcome) -> Percentiles {
    let mut all = seen.connection_wait.clone();
    let found_one = seen.lateness.len().saturating_sub(all.len());
    all.saturating_record_n(0, found_one);
    percentiles(&all)
}

/// A distribution with its censored samples at their lower bounds.
fn latency(latency: &Latency) -> Percentiles {
    let mut all = latency.good.clone();
    all.add(&latency.censored).expect("histograms of one run have the same bounds");
    let mut percentiles = percentiles(&all);
    percentiles.censored = latency.censored.len();
    for one in &mut percentiles.at {
        one.at_least =
            latency.quantile(one.percentile / 100.0).is_some_and(|quantile| quantile.at_least);
    }
    percentiles
}

/// A histogram of nanoseconds, cut to what is read of it.
fn percentiles(histogram: &Histogram<u64>) -> Percentiles {
    let count = histogram.len();
    let any = |value: f64| (count > 0).then_some(value);
    let at = PERCENTILES
        .into_iter()
        .filter(|percentile| beyond(count, *percentile) >= BEYOND_MIN)
        .map(|percentile| Percentile {
            percentile,
            value: us(histogram.value_at_quantile(percentile / 100.0)),
            at_least: false,
        })
        .collect();
    Percentiles {
        count,
        censored: 0,
        min: any(us(histogram.min())),
        mean: any(histogram.mean() / NS_A_US),
        max: any(us(histogram.max())),
        at,
        histogram: histogram::encode(histogram),
    }
}

fn us(ns: u64) -> f64 {
    ns as f64 / NS_A_US
}

/// Samples that lie beyond a percentile.
fn beyond(count: u64, percentile: f64) -> f64 {
    // 1 - 0.999 is a little less than 0.001, which must not cost a percentile.
    count as f64 * (1.0 - percentile / 100.0) * (1.0 + 1e-9)
}

/// Sees to it that the client may open the connections of every load. Else the first
/// trial that needs too many would end the run, however late it comes.
pub(crate) fn allow_connections<'a>(
    loads: impl Iterator<Item = &'a result::plan::Setting>,
) -> Result<(), load::Error> {
    let most = loads.map(result::plan::Setting::connections).max();
    // A client has a thread on each of its processors, which are all at most.
    let threads = load::allowed_cpus().map_or(1, |cpus| cpus.len());
    load::allow_connections(most.unwrap_or_default(), threads)
}

#[cfg(test)]
mod tests {
    use result::plan::Plan;

    use crate::study::RightAnswer;

    use super::*;

    fn histogram(values: impl IntoIterator<Item = u64>) -> Histogram<u64> {
        let mut histogram = Histogram::new(3).unwrap();
        values.into_iter().for_each(|value| histogram.record(value).unwrap());
        histogram
    }

    fn told(count: u64) -> Vec<f64> {
        percentiles(&histogram(1..=count)).at.iter().map(|one| one.percentile).collect()
    }

    /// Else it would be kept to before the load alone.
    #[test]
    fn all_that_a_contract_asks_of_an_answer_is_asked_under_load() {
        let contract = HttpContract {
            request: crate::study::Request { path: "/hello?id={nonce}&n={counter}".into() },
            answer: RightAnswer {
                status: 201,
                body: "{nonce} {counter}".into(),
                whole_body: true,
                fresh: false,
            },
            refuses: Vec::new(),
        };
        let setting = result::plan::Setting::closed(4, result::plan::Cores::One, true);
        let slot = Slot { number: 0, contender: "a".into(), setting, block: 0, twin: false };
        let plan = Plan {
            profile: "quick".into(),
            seed: 1,
            blocks: 1,
            measure_s: 1.0,
            warmup_s: 1.0,
            may_idle: false,
            slots: vec![slot.clone()],
        };
        let address = "127.0.0.1:1".parse().unwrap();
        let what = Drive { plan: &plan, slot: &slot, warmup_s: 1.0, rate: None, cpus: &[0] };
        let plan = load_plan(&what, &contract, address);
        let Expect { body, whole_body, statuses } = plan.http().unwrap().expect.clone();
        assert_eq!((body, whole_body), (Some(contract.answer.body), true));
        assert_eq!(statuses.to_string(), "201");
    }

    #[test]
    fn a_percentile_needs_a_hundred_samples_beyond_it() {
        assert!(told(199).is_empty());
        assert_eq!(told(200), [50.0]);
        assert_eq!(told(9_999), [50.0, 75.0, 90.0, 95.0]);
        assert_eq!(told(10_000), [50.0, 75.0, 90.0, 95.0, 99.0]);
        assert_eq!(told(100_000).last(), Some(&99.9));
    }

    #[test]
    fn a_wait_without_an_answer_stays_in_the_figures_as_a_lower_bound() {
        let seen = Latency {
            good: histogram((1..=960).map(|_| 1_000_000)),
            censored: histogram((1..=1040).map(|_| 5_000_000_000)),
        };
        let told = latency(&seen);
        assert_eq!((told.count, told.censored), (2_000, 1_040));
        let median = told.at[0];
        assert!(median.at_least && median.value > 4e6, "{median:?}");
    }

    #[test]
    fn nothing_seen_is_nothing_told() {
        let told = percentiles(&histogram([]));
        assert_eq!((told.count, told.min, told.mean, told.max), (0, None, None, None));
    }
}
