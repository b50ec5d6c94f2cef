//! Robots in rooms, beside a relay that knows its own times, and beside queueing theory.
//!
//! All rooms wait in the relay's one queue, and each member's delivery ends a known time after its
//! message's turn. Two things are expected of each delivery:
//!
//! - by the relay's record: from when the message was due to the moment before this member's copy
//!   was sent. When the run began on the relay's clock is told by the message that was least late;
//! - by simulation of one queue: with the times at which messages were due, and with the times that
//!   the relay took for each in truth. Only the waiting is the simulation's.

use std::fmt;
use std::time::Duration;

use comfy_table::Table;

use crate::client::Running;
use crate::page::markdown;
use crate::report::Deliveries;
use crate::server::Server;
use crate::truth::figure::{Allowed, Figure, Margin};
use crate::truth::queue::{Job, response_times};
use crate::truth::relay::{self, PASSED, Passed};
use crate::truth::tries::{self, Outcome};
use crate::truth::{Bench, at_quantile, count, percentile, quantiles};

/// Which cases are measured, and for how long.
#[derive(Debug, Clone, Copy)]
pub struct RoomsScope {
    layouts: &'static [Layout],
    /// Shares of what the relay can carry.
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

/// How many rooms of how many members there are, and what a relay takes for them.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Layout {
    rooms: u32,
    members: u32,
    /// From a message's turn until its first member has it, in µs.
    service_us: u32,
    /// From one member to the next, in µs.
    gap_us: u32,
}

impl Layout {
    /// What the relay takes for a message.
    fn busy(self) -> Duration {
        Duration::from_micros((self.service_us + self.last_us()).into())
    }

    /// From the first member to the last, in µs.
    fn last_us(self) -> u32 {
        (self.members - 1) * self.gap_us
    }
}

impl RoomsScope {
    /// All cases: many rooms of a few, which lie on a thread each, and one of many.
    pub const FULL: RoomsScope = RoomsScope {
        layouts: &[
            Layout { rooms: 8, members: 5, service_us: 2_000, gap_us: 200 },
            Layout { rooms: 1, members: 40, service_us: 2_000, gap_us: 50 },
        ],
        utilisations: &[0.5, 0.8, 0.95],
        threads: &[1, 2, 4],
        backends: 2,
        at_once: 3,
        seconds: 20.0,
        margin: Margin { share: 0.02, us: 100.0 },
    };

    /// A few, with margins for a machine that does other things as well.
    pub const QUICK: RoomsScope = RoomsScope {
        layouts: &[Layout { rooms: 4, members: 5, service_us: 10_000, gap_us: 2_000 }],
        utilisations: &[0.8],
        threads: &[1, 2],
        backends: 1,
        at_once: 2,
        seconds: 5.0,
        margin: Margin { share: 0.25, us: 5_000.0 },
    };

    /// All cases on some of these backends.
    fn cases(&self, backends: &[&'static str]) -> Vec<RoomsCase> {
        let mut cases = Vec::new();
        for &backend in backends.iter().take(self.backends) {
            for &threads in self.threads {
                for &layout in self.layouts {
                    let case = |&used| RoomsCase { layout, used, threads, backend };
                    cases.extend(self.utilisations.iter().map(case));
                }
            }
        }
        cases
    }
}

/// What is measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RoomsCase {
    layout: Layout,
    /// The share that is used of what the relay can carry.
    used: f64,
    threads: u32,
    backend: &'static str,
}

impl RoomsCase {
    /// Deliveries a second.
    fn rate(&self) -> f64 {
        f64::from(self.layout.members) * self.used / self.layout.busy().as_secs_f64()
    }
}

impl fmt::Display for RoomsCase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let RoomsCase { layout: Layout { rooms, members, .. }, used, threads, backend } = self;
        write!(f, "rooms: {rooms} of {members}, {used} used; threads: {threads}; {backend}")
    }
}

/// What a reader has to know of the table.
pub const ABOUT: &str = "\
Robots in rooms, and a relay that works on one message at a time, in the order in which they \
come. It takes a constant time from a message's turn to its first member, and another one from \
each member to the next. Robots speak at random, so that it is an M/D/1 queue. *Used* is the \
share of what the relay can carry. Times are given as *simulated → told by `bakeoff load`*: the \
simulation of one queue has the times at which messages were due, and the time that the relay \
took for each in truth. *By the record* is the largest difference between what is told and what \
the relay wrote down, of all percentiles. A case that missed anything, a count among it, was \
measured once more, and that counts.";

const DELIVERY: &str = "delivery, ";
const BY_RECORD: &str = "by the record, ";
/// What the names of the figures begin with that the table has.
pub const IN_TABLE: &str = DELIVERY;

/// Measures all cases; each that misses something has a second try.
pub fn measure(bench: &Bench, scope: &RoomsScope) -> Result<Vec<Outcome<RoomsCase>>, String> {
    let group = |cases: &[RoomsCase]| measure_group(bench, scope, cases);
    tries::measure(&scope.cases(bench.backends), scope.at_once, "layouts of rooms", group)
}

/// A case that is being measured.
struct UnderWay {
    case: RoomsCase,
    relay: Server,
    client: Running,
}

fn measure_group(
    bench: &Bench,
    scope: &RoomsScope,
    cases: &[RoomsCase],
) -> Result<Vec<Outcome<RoomsCase>>, String> {
    let start = |(nth, &case): (usize, &RoomsCase)| start(bench, scope, case, nth);
    let under_way: Vec<UnderWay> =
        cases.iter().enumerate().map(start).collect::<Result<_, String>>()?;
    // All are awaited before any is looked at, which takes the processor for a while.
    let mut ended = Vec::new();
    for UnderWay { case, relay, client } in under_way {
        let output = client.wait(bench.interrupt)?.success()?.output;
        ended.push((case, relay, Deliveries::read(&output)?));
    }
    let look = |(case, relay, told): (RoomsCase, Server, Deliveries)| {
        let passed = relay.get_large(PASSED)?;
        let passed: Vec<Passed> = passed.lines().map(str::parse).collect::<Result<_, _>>()?;
        let figures = figures(case, scope.margin, &told, passed);
        Ok(Outcome { case, figures, is_second_try: false })
    };
    ended.into_iter().map(look).collect()
}

fn start(
    bench: &Bench,
    scope: &RoomsScope,
    case: RoomsCase,
    nth: usize,
) -> Result<UnderWay, String> {
    let cpus = &bench.place.side_by_side(case.threads, nth);
    let Layout { rooms, members, service_us, gap_us } = case.layout;
    let relay = relay::start(service_us, gap_us, cpus, bench.interrupt)?;
    let options = format!(
        "--rooms {rooms} --members {members} --rate {} --arrivals poisson -d {}s --backend {}",
        case.rate(),
        scope.seconds,
        case.backend,
    );
    let url = format!("frames://{}", relay.address);
    let client = bench.start_load(&url, &options, case.threads, cpus)?;
    Ok(UnderWay { case, relay, client })
}

/// All that is asked of a case.
fn figures(
    case: RoomsCase,
    margin: Margin,
    told: &Deliveries,
    mut passed: Vec<Passed>,
) -> Vec<Figure> {
    passed.sort_by_key(|message| message.intended);
    let expected = Expected::of(&passed);
    let of = case.to_string();
    let copies: usize = passed.iter().map(|message| message.sent.len()).sum();
    let account = &told.deliveries;
    let mut figures = vec![
        count(&of, "messages at the relay", passed.len() as u64, told.messages.sent),
        count(&of, "copies that the relay sent", copies as u64, account.delivered),
        count(&of, "missing", 0, account.missing + account.in_flight),
        count(&of, "twice, out of order, leaked or wrong", 0, account.wrong_in_all()),
    ];
    let mut time = |name: String, expected_ns: f64, measured| {
        let allowed = Allowed::Time(margin);
        figures.push(Figure {
            of: of.clone(),
            name,
            expected: expected_ns / 1e3,
            measured,
            allowed,
        });
    };
    for quantile in quantiles(account.delivered) {
        let (told, p) = (told.delivery_us.at(quantile), percentile(quantile));
        time(format!("{DELIVERY}{p}"), at_quantile(&expected.simulated, quantile), told);
        time(format!("{BY_RECORD}{p}"), at_quantile(&expected.recorded, quantile), told);
    }
    for quantile in quantiles(told.messages.sent) {
        let p = percentile(quantile);
        let (until_all, spread) = (&told.until_all_us, &told.first_to_last_us);
        time(
            format!("until all have it, {p}"),
            at_quantile(&expected.until_all, quantile),
            until_all.at(quantile),
        );
        time(
            format!("first to last, {p}"),
            at_quantile(&expected.first_to_last, quantile),
            spread.at(quantile),
        );
    }
    let last_ns = f64::from(case.layout.last_us()) * 1e3;
    time("first to last, p50, by arithmetic".into(), last_ns, told.first_to_last_us.at(0.5));
    figures
}

/// What is expected of deliveries, in nanoseconds, sorted.
struct Expected {
    /// From when it was due until each member has it, as in one queue.
    simulated: Vec<u64>,
    /// The same by the relay's record.
    recorded: Vec<u64>,
    /// From when it was due until all have it, as in one queue.
    until_all: Vec<u64>,
    /// By the relay's record.
    first_to_last: Vec<u64>,
}

impl Expected {
    /// Of messages that were handed on, in the order in which they were due.
    fn of(passed: &[Passed]) -> Expected {
        let busy = |message: &Passed| {
            let done = message.sent.last().copied().unwrap_or(message.begun);
            done.saturating_sub(message.begun)
        };
        let jobs: Vec<Job> = passed
            .iter()
            .map(|message| Job { due: message.intended, busy: busy(message) })
            .collect();
        let responses = response_times(&jobs, 1, 0);
        // The one that was the least late tells when the run began.
        let late = |message: &Passed| message.arrived.saturating_sub(message.intended);
        let began = passed.iter().map(late).min().unwrap_or(0);
        let mut expected = Expected {
            simulated: Vec::new(),
            recorded: Vec::new(),
            until_all: Vec::new(),
            first_to_last: Vec::new(),
        };
        for ((message, job), response) in passed.iter().zip(&jobs).zip(responses) {
            let waited = response - job.busy;
            for &sent in &message.sent {
                expected.simulated.push(waited + (sent - message.begun));
                expected.recorded.push(sent.saturating_sub(began + message.intended));
            }
            expected.until_all.push(response);
            if let [first, .., last] = message.sent[..] {
                expected.first_to_last.push(last - first);
            }
        }
        let Expected { simulated, recorded, until_all, first_to_last } = &mut expected;
        for times in [simulated, recorded, until_all, first_to_last] {
            times.sort_unstable();
        }
        expected
    }
}

/// A row a case.
pub fn table(outcomes: &[Outcome<RoomsCase>]) -> Table {
    let mut table = markdown();
    table.set_header([
        "rooms",
        "used",
        "threads",
        "backend",
        "p50, ms",
        "p90, ms",
        "p99, ms",
        "by the record, µs",
        "",
    ]);
    for outcome in outcomes {
        let RoomsCase { layout, used, threads, backend } = outcome.case;
        let pair = |quantile| outcome.pair_ms(&format!("{DELIVERY}{}", percentile(quantile)));
        let by_record = outcome.figures.iter().filter(|figure| figure.name.starts_with(BY_RECORD));
        let apart = by_record.map(|it| it.measured.unwrap_or(f64::NAN) - it.expected);
        let most = apart.fold(0.0, |most: f64, it| if it.abs() > most.abs() { it } else { most });
        table.add_row([
            format!("{} of {}", layout.rooms, layout.members),
            format!("{used}"),
            threads.to_string(),
            backend.to_string(),
            pair(0.5),
            pair(0.9),
            pair(0.99),
            format!("{most:+.0}"),
            outcome.word().to_string(),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passed(intended: u64, arrived: u64, begun: u64, sent: [u64; 2]) -> Passed {
        Passed { is_of_window: true, intended, arrived, begun, sent: sent.into() }
    }

    #[test]
    fn a_message_waits_for_the_one_before_and_each_member_for_the_one_before_it() {
        // The run began at 1000. The second came late by 2, and waited for the first.
        let passed = [passed(0, 1000, 1000, [1010, 1015]), passed(5, 1007, 1015, [1025, 1031])];
        let expected = Expected::of(&passed);
        assert_eq!(expected.simulated, [10, 15, 20, 26]);
        assert_eq!(expected.recorded, [10, 15, 20, 26]);
        assert_eq!(expected.until_all, [15, 26]);
        assert_eq!(expected.first_to_last, [5, 6]);
    }

    #[test]
    fn what_a_message_was_said_late_is_in_the_record_alone() {
        let passed = [passed(0, 1000, 1000, [1010, 1011]), passed(50, 1060, 1060, [1070, 1071])];
        let expected = Expected::of(&passed);
        assert_eq!(expected.simulated, [10, 10, 11, 11]);
        assert_eq!(expected.recorded, [10, 11, 20, 21]);
    }

    #[test]
    fn every_case_is_measured_once_with_enough_deliveries() {
        let cases = RoomsScope::FULL.cases(&["io_uring", "epoll"]);
        assert_eq!(cases.len(), 2 * 3 * 2 * 3);
        for (at, case) in cases.iter().enumerate() {
            assert!(!cases[..at].contains(case), "{case} is there twice");
            let deliveries = case.rate() * RoomsScope::FULL.seconds;
            assert!(deliveries > 10_000.0, "{case}: {deliveries} have no p99");
            let messages = deliveries / f64::from(case.layout.members);
            assert!(messages > 1_000.0, "{case}: {messages} have no p90");
        }
    }
}
