//! An open loop beside queueing theory: Poisson arrivals to connections each of which is
//! served one request at a time, so that they are the servers of M/D/c and M/M/c. Every
//! request waits in one queue for whichever connection is free first, however many threads
//! the client has.
//!
//! What is expected is simulated with the same arrivals, which follow from the client's
//! seed, and with the times that the server itself took for each request. Only the waiting
//! is the simulation's. What passes between an answer and the next request on the same
//! connection, where one waits, is no time of the server's, and a queue near its capacity
//! grows by it: its mean is taken from the server's record. It is the way of an answer and
//! that of a request, each of which may take as long as a time may be off.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::PathBuf;

use comfy_table::Table;
use load::due_times;
use load::plan::{Arrivals, Share};

use crate::client::Running;
use crate::page::markdown;
use crate::report::{Report, histogram};
use crate::server::Server;
use crate::truth::calibration::{REQUESTS, Record, Seen};
use crate::truth::figure::{Allowed, Figure, Margin};
use crate::truth::queue::{Job, response_times};
use crate::truth::service::Service;
use crate::truth::tries::{self, Outcome};
use crate::truth::{Bench, at_quantile, count, counts, percentile};

/// Which cases are measured, and for how long.
#[derive(Debug, Clone, Copy)]
pub struct QueueScope {
    /// Connections, with the service time in ms at which their rate is no burden.
    connections: &'static [(u32, u32)],
    /// Shares of what they can carry.
    utilisations: &'static [f64],
    threads: &'static [u32],
    /// On how many backends.
    backends: usize,
    /// How many are measured side by side: most of their time they sleep.
    at_once: usize,
    seconds: f64,
    /// How far times may be off.
    margin: Margin,
}

impl QueueScope {
    /// All cases.
    pub const FULL: QueueScope = QueueScope {
        connections: &[(1, 10), (3, 10), (8, 10), (50, 20)],
        utilisations: &[0.5, 0.8, 0.95],
        threads: &[1, 2, 4],
        backends: 2,
        at_once: 6,
        seconds: 20.0,
        margin: Margin { share: 0.02, us: 100.0 },
    };

    /// Those that a queue a thread is furthest from, with margins for a machine that does
    /// other things as well.
    pub const QUICK: QueueScope = QueueScope {
        connections: &[(3, 20), (8, 20)],
        utilisations: &[0.8],
        threads: &[2, 4],
        backends: 1,
        at_once: 8,
        seconds: 5.0,
        margin: Margin { share: 0.25, us: 5_000.0 },
    };

    /// All cases on some of these backends.
    fn cases(&self, backends: &[&'static str]) -> Vec<QueueCase> {
        let mut cases = Vec::new();
        for &backend in backends.iter().take(self.backends) {
            for &threads in self.threads {
                for law in [Law::Constant, Law::Exponential] {
                    cases.extend(self.cases_of(backend, threads, law));
                }
            }
        }
        cases
    }

    fn cases_of(
        &self,
        backend: &'static str,
        threads: u32,
        law: Law,
    ) -> impl Iterator<Item = QueueCase> {
        // One connection has one thread, whatever is asked for.
        let has = move |connections: u32| threads == 1 || connections > 1;
        let connections = self.connections.iter().filter(move |(connections, _)| has(*connections));
        connections.flat_map(move |&(connections, service_ms)| {
            self.utilisations.iter().map(move |&utilisation| QueueCase {
                connections,
                service_ms,
                utilisation,
                law,
                threads,
                backend,
            })
        })
    }
}

/// How the service times are spread.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Law {
    Constant,
    Exponential,
}

/// What is measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct QueueCase {
    connections: u32,
    service_ms: u32,
    utilisation: f64,
    law: Law,
    threads: u32,
    backend: &'static str,
}

impl QueueCase {
    fn rate(&self) -> f64 {
        self.utilisation * f64::from(self.connections) * 1e3 / f64::from(self.service_ms)
    }

    fn service(&self) -> String {
        let time = self.service_ms;
        match self.law {
            Law::Constant => format!("{time}ms"),
            Law::Exponential => format!("exponential:{time}ms"),
        }
    }

    fn service_in_words(&self) -> String {
        let law = match self.law {
            Law::Constant => "constant",
            Law::Exponential => "exponential",
        };
        format!("{law}, {} ms", self.service_ms)
    }
}

impl fmt::Display for QueueCase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let QueueCase { connections, utilisation, threads, backend, .. } = self;
        let service = self.service_in_words();
        write!(
            f,
            "connections: {connections}, {utilisation} used; {service}; threads: {threads}; \
             {backend}"
        )
    }
}

/// A case that is being measured.
struct UnderWay {
    case: QueueCase,
    requests: u64,
    server: Server,
    client: Running,
    /// Where the client leaves its histograms.
    log: PathBuf,
}

/// What was seen of a case, from both sides.
struct Evidence {
    case: QueueCase,
    requests: u64,
    report: Report,
    /// The client's histograms, as `--hdr` writes them.
    log: String,
    record: Record,
    seen: Vec<Seen>,
}

/// What a reader has to know of the table.
pub const ABOUT: &str = "\
Poisson arrivals to `c` connections, each of which is served one request at a time: M/D/c and \
M/M/c. Response times are given as *simulated → told by `bakeoff load`*: the simulation of one \
queue has the same arrivals and, for each request, the time that the server took in truth, so \
that chance is in both. *Used* is the share of what the connections can carry; *between* is \
the median time on a connection from an answer to the arrival of a request that waited for it, \
of which the simulation has the mean. Up to twelve cases were measured side by side; one that \
missed anything, a count or a service time among it, was measured once more, and that counts.";

const QUANTILES: [f64; 3] = [0.5, 0.9, 0.99];
/// Decides the arrivals.
const SEED: u64 = 29;

/// Measures all cases; each that misses something has a second try.
pub fn measure(bench: &Bench, scope: &QueueScope) -> Result<Vec<Outcome<QueueCase>>, String> {
    let group = |cases: &[QueueCase]| measure_group(bench, scope, cases);
    tries::measure(&scope.cases(bench.backends), scope.at_once, "queues", group)
}

/// Measures cases side by side.
fn measure_group(
    bench: &Bench,
    scope: &QueueScope,
    cases: &[QueueCase],
) -> Result<Vec<Outcome<QueueCase>>, String> {
    let folder =
        tempfile::tempdir().map_err(|error| format!("a folder for histograms: {error}"))?;
    let start = |(nth, &case): (usize, &QueueCase)| {
        let log = folder.path().join(nth.to_string());
        start(bench, scope, case, nth, log)
    };
    let under_way: Vec<UnderWay> =
        cases.iter().enumerate().map(start).collect::<Result<_, String>>()?;
    // All are awaited before any is looked at, which takes the processor for a while.
    let mut ended = Vec::new();
    for UnderWay { case, requests, server, client, log } in under_way {
        let output = client.wait(bench.interrupt)?.success()?.output;
        ended.push((case, requests, server, Report::read(&output)?, log));
    }
    let look =
        |(case, requests, server, report, log): (QueueCase, u64, Server, Report, PathBuf)| {
            let record = bench.record(&server, &report)?;
            let seen =
                server.get_large(REQUESTS)?.lines().map(str::parse).collect::<Result<_, _>>()?;
            let log =
                fs::read_to_string(&log).map_err(|error| format!("{}: {error}", log.display()))?;
            let evidence = Evidence { case, requests, report, log, record, seen };
            let figures = evidence.figures(scope.margin)?;
            Ok(Outcome { case, figures, is_second_try: false })
        };
    ended.into_iter().map(look).collect()
}

fn start(
    bench: &Bench,
    scope: &QueueScope,
    case: QueueCase,
    nth: usize,
    log: PathBuf,
) -> Result<UnderWay, String> {
    let cpus = &bench.place.side_by_side(case.threads, nth);
    let server = bench.start_server(&case.service(), cpus)?;
    let requests = (case.rate() * scope.seconds) as u64;
    let options = format!(
        "-c {} --rate {} --arrivals poisson -n {requests} --seed {SEED} --backend {} --hdr {}",
        case.connections,
        case.rate(),
        case.backend,
        log.display()
    );
    let client = bench.start_load(&server.url("/{counter}"), &options, case.threads, cpus)?;
    Ok(UnderWay { case, requests, server, client, log })
}

impl Evidence {
    /// All that is asked of the case.
    fn figures(&self, margin: Margin) -> Result<Vec<Figure>, String> {
        let Evidence { case, requests, report, record, seen, .. } = self;
        let of = case.to_string();
        let due = due_times(Arrivals::Poisson(case.rate()), SEED, Share::default());
        let due: Vec<u64> = due.take(*requests as usize).collect();
        let by_number: BTreeMap<u64, &Seen> = seen.iter().map(|seen| (seen.number, seen)).collect();
        let mut figures = counts(&of, report, record);
        figures.push(count(&of, "requests asked for", *requests, report.requests.good));
        figures.push(count(&of, "numbers at the server", *requests, by_number.len() as u64));

        let jobs = by_number.into_values().zip(&due);
        let jobs = jobs.map(|(seen, &due)| Job { due, busy: seen.took().as_nanos() as u64 });
        let jobs: Vec<Job> = jobs.collect();
        let mut between = between(seen, &due);
        // A client that takes longer is not excused by it.
        let both_ways = Margin { share: 0.0, us: 2.0 * margin.us };
        let excused = mean(between.iter().map(|&time| time.min((both_ways.us * 1e3) as u64)));
        let busy: Vec<u64> = jobs.iter().map(|job| job.busy).collect();
        let drawn = case.service().parse::<Service>()?.mean(*requests);
        let time = |name: &str, expected_ns: f64, measured_ns: f64, margin| Figure {
            of: of.clone(),
            name: name.into(),
            expected: expected_ns / 1e3,
            measured: Some(measured_ns / 1e3),
            allowed: Allowed::Time(margin),
        };
        let own = mean(busy.iter().copied());
        figures.push(time(OWN, drawn.as_nanos() as f64, own as f64, margin));
        between.sort_unstable();
        figures.push(time(BETWEEN, 0.0, at_quantile(&between, 0.5), both_ways));
        let responses = response_times(&jobs, case.connections, excused);
        for (what, tag, mut expected) in
            [(RESPONSE, "response", responses), (SERVICE, "service", busy)]
        {
            expected.sort_unstable();
            let told = histogram(&self.log, tag)?;
            for quantile in QUANTILES {
                let name = format!("{what}, {}", percentile(quantile));
                let told = told.value_at_quantile(quantile) as f64;
                figures.push(time(&name, at_quantile(&expected, quantile), told, margin));
            }
        }
        Ok(figures)
    }
}

/// The names of figures.
const RESPONSE: &str = "response time";
const SERVICE: &str = "service time";
const OWN: &str = "the server's own time, mean, as drawn";
const BETWEEN: &str = "from an answer to the next request, p50";

/// What passed on a connection between an answer and the arrival of the next request,
/// wherever that was due before, in nanoseconds.
fn between(seen: &[Seen], due: &[u64]) -> Vec<u64> {
    let due_of = |seen: &Seen| due.get(seen.number as usize).copied().unwrap_or(u64::MAX / 2);
    // The one that was the least late tells when the run began.
    let Some(began) = seen.iter().map(|seen| seen.arrived.saturating_sub(due_of(seen))).min()
    else {
        return Vec::new();
    };
    let mut of_connections: BTreeMap<u64, Vec<&Seen>> = BTreeMap::new();
    for seen in seen {
        of_connections.entry(seen.connection).or_default().push(seen);
    }
    let of_connection = |mut seen: Vec<&Seen>| {
        seen.sort_unstable_by_key(|seen| seen.arrived);
        let waited = |pair: &&[&Seen]| began + due_of(pair[1]) < pair[0].answered;
        let pairs = seen.windows(2).filter(waited);
        pairs.map(|pair| pair[1].arrived.saturating_sub(pair[0].answered)).collect::<Vec<_>>()
    };
    of_connections.into_values().flat_map(of_connection).collect()
}

/// 0 of none.
fn mean(times: impl ExactSizeIterator<Item = u64>) -> u64 {
    let count = times.len().max(1) as u64;
    times.sum::<u64>() / count
}

/// What the names of the figures begin with that the table has.
pub const IN_TABLE: &str = RESPONSE;

/// A row a case.
pub fn table(outcomes: &[Outcome<QueueCase>]) -> Table {
    let mut table = markdown();
    table.set_header([
        "connections",
        "used",
        "service",
        "threads",
        "backend",
        "p50, ms",
        "p90, ms",
        "p99, ms",
        "between, µs",
        "",
    ]);
    for outcome in outcomes {
        let QueueCase { connections, utilisation, threads, backend, .. } = outcome.case;
        let pair = |quantile| outcome.pair_ms(&format!("{RESPONSE}, {}", percentile(quantile)));
        let between =
            outcome.figure(BETWEEN).and_then(|figure| figure.measured).unwrap_or(f64::NAN);
        table.add_row([
            connections.to_string(),
            format!("{utilisation}"),
            outcome.case.service_in_words(),
            threads.to_string(),
            backend.to_string(),
            pair(0.5),
            pair(0.9),
            pair(0.99),
            format!("{between:.0}"),
            outcome.word().to_string(),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(number: u64, connection: u64, arrived: u64, answered: u64) -> Seen {
        Seen { number, connection, arrived, answered }
    }

    #[test]
    fn only_a_request_that_waited_tells_what_passes_between() {
        let due = [0, 10, 20, 500, 510];
        // The run began at 1000. Numbers 2 and 4 were due while their connection was busy.
        let seen = [
            seen(0, 0, 1000, 1100),
            seen(1, 1, 1011, 1111),
            seen(2, 0, 1107, 1207),
            seen(3, 1, 1502, 1602),
            seen(4, 1, 1605, 1705),
        ];
        assert_eq!(between(&seen, &due), [7, 3]);
        assert!(between(&[], &due).is_empty());
    }

    #[test]
    fn every_case_that_is_asked_for_is_measured_once() {
        let cases = QueueScope::FULL.cases(&["io_uring", "epoll"]);
        // One connection has one thread: 1 + 3 · 3 of connections and threads.
        assert_eq!(cases.len(), 10 * 3 * 2 * 2);
        for (at, case) in cases.iter().enumerate() {
            assert!(!cases[..at].contains(case), "{case} is there twice");
        }
        for QueueScope { seconds, .. } in [QueueScope::FULL, QueueScope::QUICK] {
            let few = cases.iter().find(|case| case.rate() * seconds < 200.0);
            assert_eq!(few, None, "its p99 is a handful of requests");
        }
    }

    #[test]
    fn a_queue_a_thread_is_out_of_every_margin() {
        for scope in [QueueScope::FULL, QueueScope::QUICK] {
            for case in scope.cases(&["io_uring"]) {
                if case.threads != 2 || case.connections != 3 || case.utilisation < 0.8 {
                    continue;
                }
                let service: Service = case.service().parse().unwrap();
                let requests = (case.rate() * scope.seconds) as u64;
                let due = due_times(Arrivals::Poisson(case.rate()), SEED, Share::default());
                let jobs = (0..requests)
                    .zip(due)
                    .map(|(number, due)| Job { due, busy: service.done_at(number, 0) });
                let jobs: Vec<Job> = jobs.collect();
                // Two queues, of two connections and of one.
                let turns = |rest| jobs.iter().copied().skip(rest).step_by(2).collect::<Vec<_>>();
                let mut apart = response_times(&turns(0), 2, 0);
                apart.extend(response_times(&turns(1), 1, 0));
                let mut one = response_times(&jobs, 3, 0);
                apart.sort_unstable();
                one.sort_unstable();
                let holds = |quantile| {
                    let figure = Figure {
                        of: String::new(),
                        name: String::new(),
                        expected: at_quantile(&one, quantile) / 1e3,
                        measured: Some(at_quantile(&apart, quantile) / 1e3),
                        allowed: Allowed::Time(scope.margin),
                    };
                    figure.holds()
                };
                assert!(!holds(0.9) && !holds(0.99), "{case}: two queues pass for one");
            }
        }
    }
}
