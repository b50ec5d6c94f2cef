//! The load generator's client with its plan, whatever it speaks, and from what it saw to
//! evidence.

use std::path::Path;
use std::time::{Duration, Instant};

use histogram::Histogram;
use histogram::Latency;
use hosts::seen::HostSeen;
use keeper::text::harmless;
use load::Stop;
use load::outcome::Account;
use load::plan::{Arrivals, Until};
use result::evidence::{
    ClientSide, DeliveriesSeen, ErrorKind, HostSide, OperationSeen, Percentile, Percentiles,
    Second, Work,
};
use result::plan::Slot;

use super::client::{Client, LoadNews};
use super::offering::Offering;
use super::{Drive, DriveEnd, Driven, Driving, LoadFrom, Outside, Passage};
use crate::place::Running;

/// The percentiles that are told, if enough samples lie beyond them.
const PERCENTILES: [f64; 7] = [50.0, 75.0, 90.0, 95.0, 99.0, 99.9, 99.99];
/// Samples that have to lie beyond a percentile: with fewer, it is a few single
/// events that would be different next time.
const BEYOND_MIN: f64 = 100.0;

const NS_A_US: f64 = 1000.0;

/// Whoever offers the load, waiting for its plan.
pub(super) struct Loading {
    offering: Offering,
    plan: load::Plan,
    /// What each host saw, once it has; none where the load comes from here.
    hosts: Vec<HostSeen>,
}

impl Loading {
    /// Starts a client for a plan, or greets the hosts that offer it.
    ///
    /// # Errors
    /// The kernel's, and the first host that can't be reached.
    pub(super) fn prepare(
        on: &Running,
        what: &Drive,
        plan: load::Plan,
    ) -> Result<Loading, load::Error> {
        let offering = match what.from {
            LoadFrom::Here => Offering::Here(Client::start(what.reach(on))?),
            LoadFrom::Hosts { hosts, build, .. } => Offering::greet(hosts, build)?,
        };
        Ok(Loading { offering, plan, hosts: Vec::new() })
    }

    /// A client here that is another program.
    ///
    /// # Errors
    /// The kernel's.
    pub(super) fn prepare_other(
        program: &Path,
        on: &Running,
        what: &Drive,
        plan: load::Plan,
    ) -> Result<Loading, load::Error> {
        let offering = Offering::Here(Client::start_other(program, what.reach(on))?);
        Ok(Loading { offering, plan, hosts: Vec::new() })
    }

    /// Whether its load comes from one client, whose requests have the numbers from 0 on.
    pub(super) fn is_alone(&self) -> bool {
        matches!(self.offering, Offering::Here(_))
    }

    /// What it is to offer.
    pub(super) fn plan(&self) -> &load::Plan {
        &self.plan
    }

    /// Carries the plan out, and tells when all is connected and when the window begins; `None` if
    /// it was stopped.
    ///
    /// # Errors
    /// Where no load could be offered.
    pub(super) fn offer(
        &mut self,
        stop: &Stop,
        tell: &mut dyn FnMut(Passage),
    ) -> Result<Option<load::Outcome>, load::Error> {
        let warmup = self.plan.warmup.as_secs_f64();
        let window = match self.plan.until {
            Until::Elapsed(window) => window.as_secs_f64(),
            Until::Requests(_) => 0.0,
        };
        let mut is_in_window = false;
        let offered = self.offering.offer(&self.plan, stop, &mut |news| {
            let progress = match news {
                LoadNews::Connected => return tell(Passage::Connected),
                LoadNews::Second(progress) => progress,
            };
            // It is told when a second has ended, the last of the warm-up among them.
            let measured_s = progress.elapsed_s - warmup;
            if measured_s >= 0.0 && !is_in_window {
                is_in_window = true;
                let left = Duration::from_secs_f64((window - measured_s).max(0.0));
                tell(Passage::Begins { until: Instant::now() + left });
            }
        })?;
        Ok(offered.map(|offered| {
            self.hosts = offered.hosts;
            offered.outcome
        }))
    }

    /// What was seen, as evidence has it.
    pub(super) fn driven(&self, seen: load::Outcome) -> Driven {
        Driven {
            window_began: seen.window_began,
            window: seen.window,
            work: work(&seen),
            clients: vec![ClientSide {
                hosts: self.hosts.iter().map(host_side).collect(),
                ..client_side(&self.plan, &seen)
            }],
            answers: seen.sampled_answers,
            told: Vec::new(),
            store: None,
            deliveries: None,
            written: None,
        }
    }
}

impl Driving for Loading {
    fn outside(&self) -> Option<Outside> {
        match &self.offering {
            Offering::Here(client) => Some(client.outside()),
            Offering::Hosts(_) => None,
        }
    }

    fn run(&mut self, stop: &Stop, tell: &mut dyn FnMut(Passage)) -> Result<DriveEnd, load::Error> {
        Ok(match self.offer(stop, tell)? {
            Some(seen) => DriveEnd::Driven(Box::new(self.driven(seen))),
            None => DriveEnd::Stopped,
        })
    }
}

/// How requests come. A rate for all is kept evenly, so that all are offered the
/// same to the request. A curve is to show how answers wait for each other, so
/// its requests come as those of many independent users do: by chance.
pub(super) fn arrivals(slot: &Slot, rate: Option<f64>) -> Arrivals {
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
        operations: seen
            .classes
            .iter()
            .filter(|it| it.response.samples() > 0)
            .map(|it| OperationSeen {
                operation: it.name.clone(),
                response_us: latency(&it.response),
                service_us: latency(&it.service),
            })
            .collect(),
        interrupted: seen.interrupted,
        ..Work::default()
    }
}

/// What robots in rooms heard of each other, as evidence has it; `None` where there were none.
pub(super) fn deliveries(seen: &load::Outcome) -> Option<DeliveriesSeen> {
    let heard = seen.deliveries.as_ref()?;
    let firsts = &heard.firsts;
    let firsts = [
        ("duplicates", &firsts.duplicate),
        ("out_of_order", &firsts.out_of_order),
        ("leaked", &firsts.leaked),
        ("wrong", &firsts.wrong),
        ("confirmed_missing", &firsts.confirmed_missing),
        ("cut", &firsts.cut),
    ];
    let firsts = firsts.into_iter().filter_map(|(of, first)| {
        first.as_ref().map(|first| (of.to_string(), harmless(&first.what)))
    });
    let confirms = heard.confirm.samples() > 0;
    Some(DeliveriesSeen {
        rooms: heard.rooms,
        joined: heard.joined,
        cut: heard.cut,
        messages_sent: heard.messages_sent,
        messages_received: heard.messages_received,
        duplicates: heard.duplicates,
        out_of_order: heard.out_of_order,
        leaked: heard.leaked,
        wrong: heard.wrong,
        overdue: heard.overdue,
        confirmed: confirms.then(|| heard.confirm.good.len()),
        unconfirmed: heard.confirm.censored.len(),
        confirmed_missing: heard.confirmed_missing,
        stamped: heard.stamped,
        unstamped: heard.unstamped,
        firsts: firsts.collect(),
        until_all_us: latency(&heard.until_all),
        first_to_last_us: percentiles(&heard.first_to_last),
        join_us: percentiles(&seen.opening),
        ..DeliveriesSeen::default()
    })
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
        connections_unanswered: Some(seen.connections.unanswered),
        unasked: Some(seen.connections.unasked),
        first_unasked: seen.firsts.unasked.as_ref().map(|first| harmless(&first.what)),
        cpu_s: threads.iter().map(|thread| thread.user_s + thread.system_s).sum(),
        busy_share: threads.iter().map(|thread| thread.busy_share).collect(),
        away_s: threads.iter().map(|thread| thread.away_s).reduce(f64::max),
        run_delay_share: threads.iter().map(|thread| thread.run_delay_share).collect(),
        backend: seen.backend.clone(),
        hosts: Vec::new(),
    }
}

/// What a host saw of its part. Words of the host's own are escaped.
fn host_side(host: &HostSeen) -> HostSide {
    let outcome = host.outcome.as_ref();
    let told = |percentile: &Percentile| [50.0, 99.0].contains(&percentile.percentile);
    let response = outcome.map(|seen| latency(&seen.response).at).unwrap_or_default();
    let fastest = outcome.map(|seen| &seen.service.good).filter(|times| !times.is_empty());
    let none = || ClientSide { connections_asked: host.plan.connections, ..ClientSide::default() };
    HostSide {
        name: host.name.clone(),
        is_here: host.facts.boot_id == hosts::agent::boot_id(),
        cpus: host.plan.cpus.clone(),
        kernel: harmless(&host.facts.kernel),
        side: outcome.map_or_else(none, |seen| client_side(&host.plan, seen)),
        errors: outcome.map_or(0, |seen| seen.account.errors.iter().map(|error| error.count).sum()),
        done: outcome.map_or(0, |seen| seen.answers_in_window),
        response_us: response.into_iter().filter(told).collect(),
        fastest_us: fastest.map(|times| us(times.min())),
        clock_within_us: host.clock.bound().as_secs_f64() * 1e6,
        drift_us: host.drift_ns.map(|ns| ns as f64 / NS_A_US),
        began_late_us: host.start_late.as_secs_f64() * 1e6,
        lost: host.lost.as_deref().map(harmless),
    }
}

pub(super) fn errors(account: &Account) -> Vec<ErrorKind> {
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
pub(super) fn latency(latency: &Latency) -> Percentiles {
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
        histogram: histogram::text::encode(histogram),
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
    use load::simulator::Mishap;
    use result::finding::Verdict;
    use result::kind::Kind;
    use result::plan::{Cores, Setting};

    use super::*;

    fn histogram(values: impl IntoIterator<Item = u64>) -> Histogram<u64> {
        let mut histogram = Histogram::new(3).unwrap();
        values.into_iter().for_each(|value| histogram.record(value).unwrap());
        histogram
    }

    fn told(count: u64) -> Vec<f64> {
        percentiles(&histogram(1..=count)).at.iter().map(|one| one.percentile).collect()
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

    /// Each of a client's books is kept for itself, so that one which is wrong is found out.
    #[test]
    fn a_request_that_is_lost_or_counted_twice_and_a_lost_second_are_found_by_arithmetic() {
        let word = |mishap| {
            let (plan, outcome) = load::simulator::outcome(mishap);
            let setting = Setting::closed(plan.connections, Cores::One, true);
            let mut trial = judge::samples::trial("a", 0, &setting, outcome.rate());
            trial.evidence.work = Some(work(&outcome));
            trial.evidence.clients = vec![client_side(&plan, &outcome)];
            let found = judge::checks::judge(Kind::Http, &trial.slot, &trial.evidence);
            let arithmetic = found.into_iter().find(|finding| finding.check == "arithmetic");
            arithmetic.map(|finding| (finding.verdict, finding.says)).unwrap()
        };
        let (verdict, says) = word(None);
        assert_eq!(verdict, Verdict::Valid, "{says}");
        for (mishap, named) in [
            (Mishap::FlightDropped, "in flight"),
            (Mishap::CountedTwice, "good"),
            (Mishap::SecondLost, "the seconds have the times of"),
        ] {
            let (verdict, says) = word(Some(mishap));
            assert_eq!(verdict, Verdict::Invalid, "{mishap:?} passes: {says}");
            assert!(says.contains(named), "{mishap:?}: {says}");
        }
    }
}
