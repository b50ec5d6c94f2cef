//! Which causes a run has: the thresholds, and what is held against each.

use std::time::Duration;

use histogram::neglect::left_waiting;

use super::{Lateness, Warning};
use crate::outcome::{Account, Connections, ErrorKind, Outcome, Second};
use crate::plan::{Arrivals, Plan, Until};
use histogram::delayed_ack;
use histogram::reading::{Reading, Statistic, read, read_exact};

/// A client thread of whose time so much is taken has none to be on time.
const TAKEN_SHARE_MAX: f64 = 0.9;
/// Lateness below this is no more than a processor's wake-up.
const LATENESS_MIN: Duration = Duration::from_millis(1);
/// Lateness that makes up a tenth of what is measured is no longer small.
const LATENESS_SHARE: f64 = 0.1;
/// The part of an offered rate that may be missing.
const RATE_SHORTFALL_MAX: f64 = 0.01;
/// Random arrivals scatter by the square root of their number, and seldom by more than so
/// many of it.
const SCATTER: f64 = 3.0;
/// A stall of this share of the window would be seen in the 99th percentile of
/// requests that come at their own times.
const STALL_SHARE: f64 = 0.01;
/// A wait this many times the 99th percentile (or the median, where there is
/// none) is a stall, and not the slow end of an even service. So is a silence in which
/// so many answers would have come.
const STALL_RATIO: f64 = 10.0;
/// A shorter wait is what a processor's scheduler does to anybody, and no stall.
const STALL_MIN: Duration = Duration::from_millis(10);
/// Nor is a second silent whose errors, so many times over, are the usual answers.
const HEARD_RATIO: f64 = 10.0;
/// A client that was away for so much of a stall made it.
const AWAY_SHARE: f64 = 0.5;
/// A server that ends connections after no more answers than this doesn't keep them.
const KEPT_ANSWERS_MIN: u64 = 3;
/// So many of them by chance mean nothing.
const CUT_MIN: u64 = 3;

/// In a shorter run who was the limit can't be told: one wake-up that comes late is a part of it.
const TOLD_FROM: Duration = Duration::from_millis(20);

const SECOND: Duration = Duration::from_secs(1);

/// What looks for each cause in a run, in the order in which they are told.
const LOOKS: [fn(&Plan, &Outcome) -> Option<Warning>; 14] = [
    contradiction,
    unasked,
    not_kept,
    thread_busy,
    client_errors,
    stalled,
    late,
    rate_not_reached,
    shed,
    fewer_connections,
    early,
    syn_retransmits,
    delayed_ack,
    starved,
];

/// All that a reader must know before using the figures of this run.
pub fn warnings(plan: &Plan, outcome: &Outcome) -> Vec<Warning> {
    let all = LOOKS.iter().filter_map(|look| look(plan, outcome));
    let window = outcome.window;
    if window >= TOLD_FROM {
        return all.collect();
    }
    let (of_time, mut others): (Vec<Warning>, Vec<Warning>) = all.partition(is_of_time);
    others.extend((!of_time.is_empty()).then_some(Warning::TooShort { window }));
    others
}

/// Whether a warning says of a time whose it was: the client's, or the server's.
fn is_of_time(warning: &Warning) -> bool {
    matches!(
        warning,
        Warning::ThreadBusy { .. }
            | Warning::Late { .. }
            | Warning::ClosedLoopStalled { .. }
            | Warning::ClientAway { .. }
    )
}

/// Whether the client lost a request, or counted one twice.
fn contradiction(_: &Plan, outcome: &Outcome) -> Option<Warning> {
    outcome.contradiction().map(|what| Warning::Contradiction { what })
}

/// Whether an answer too many may have shifted all others by one.
fn unasked(_: &Plan, outcome: &Outcome) -> Option<Warning> {
    let first = outcome.firsts.unasked.as_ref()?;
    let (times, example) = (outcome.connections.unasked, first.what.clone());
    Some(Warning::Unasked { times, example })
}

/// Whether keep-alive, which was asked for, mostly didn't happen.
fn not_kept(plan: &Plan, outcome: &Outcome) -> Option<Warning> {
    let (cut, answers) = (outcome.connections.cut, answers(&outcome.account));
    let is_not_kept = plan.keep_alive && cut >= CUT_MIN && cut * KEPT_ANSWERS_MIN > answers;
    is_not_kept.then_some(Warning::NotKept { cut, answers })
}

/// Answers of all statuses.
fn answers(account: &Account) -> u64 {
    account.statuses.iter().map(|counted| counted.count).sum()
}

/// The thread that had the least time to spare, if that was too little.
fn thread_busy(_: &Plan, outcome: &Outcome) -> Option<Warning> {
    let threads = outcome.threads.iter().enumerate();
    let (thread, usage) = threads.max_by(|a, b| a.1.taken_share().total_cmp(&b.1.taken_share()))?;
    (usage.taken_share() >= TAKEN_SHARE_MAX).then_some(Warning::ThreadBusy {
        thread,
        busy_share: usage.busy_share,
        run_delay_share: usage.run_delay_share,
    })
}

fn client_errors(_: &Plan, outcome: &Outcome) -> Option<Warning> {
    let error = outcome.account.errors.iter().find(|error| error.kind == ErrorKind::Client)?;
    Some(Warning::ClientErrors { count: error.count, example: error.example.clone() })
}

/// Whether the server was silent for long, and a closed loop with it, by the longest wait of
/// a request and by seconds without an answer.
fn stalled(plan: &Plan, outcome: &Outcome) -> Option<Warning> {
    // With its connection, where a request has its own: a server that stalls accepts none.
    let waits = &outcome.response;
    // Where nothing was good, the errors say it better.
    if plan.arrivals != Arrivals::Closed || waits.good.is_empty() {
        return None;
    }
    let longest_wait = value(read(waits, Statistic::Max))?;
    // Too few answers for a percentile to be shown still have one in the middle.
    let median = Duration::from_nanos(waits.good.value_at_quantile(0.5));
    let usual = value(read(waits, Statistic::Percentile(99.0))).unwrap_or(median);
    let long = longest_wait >= STALL_MIN
        && longest_wait.as_secs_f64() >= STALL_SHARE * outcome.window.as_secs_f64()
        && longest_wait.as_secs_f64() >= STALL_RATIO * usual.as_secs_f64();
    let silence = if median < SECOND { silence(outcome) } else { Duration::ZERO };
    let (longest, window) = (longest_wait.max(silence), outcome.window);
    let away = outcome.threads.iter().map(|thread| thread.away_s).fold(0.0, f64::max);
    // Seconds without an answer are whole ones, and an absence lies across them.
    let is_clients = away >= AWAY_SHARE * longest.as_secs_f64();
    (long || !silence.is_zero()).then_some(if is_clients {
        Warning::ClientAway { longest: Duration::from_secs_f64(away), window }
    } else {
        Warning::ClosedLoopStalled { longest, window }
    })
}

/// The most seconds in a row without an answer, if that can't be chance. One with many
/// errors is no such second: what comes is no good, but comes.
fn silence(outcome: &Outcome) -> Duration {
    // The last second may be short.
    let whole = outcome.seconds.len().min(outcome.window.as_secs() as usize);
    let seconds = &outcome.seconds[..whole];
    let answers: u64 = seconds.iter().map(|second| second.good).sum();
    let with_any = seconds.iter().filter(|second| second.good > 0).count().max(1);
    let usual = answers as f64 / with_any as f64;
    let is_heard = |second: &Second| second.good > 0 || second.errors as f64 * HEARD_RATIO >= usual;
    let silent = seconds.split(is_heard).map(<[_]>::len).max().unwrap_or(0);
    let missing = silent as f64 * usual;
    if missing >= STALL_RATIO { SECOND * silent as u32 } else { Duration::ZERO }
}

/// Requests that went out late, for want of time or of a connection: by the highest
/// percentile that so many have, since that is the one a reader would take for the server's.
fn late(plan: &Plan, outcome: &Outcome) -> Option<Warning> {
    let (late, response) = [99, 90, 50].into_iter().find_map(|percentile| {
        let statistic = Statistic::Percentile(percentile.into());
        let least = value(read_exact(&outcome.lateness, statistic))?;
        Some((Lateness { percentile, least }, value(read(&outcome.response, statistic))?))
    })?;
    let least = late.least;
    if least < LATENESS_MIN || least.as_secs_f64() < LATENESS_SHARE * response.as_secs_f64() {
        return None;
    }
    let waited = connection_wait(outcome, late.percentile);
    Some(if waited * 2 >= least {
        let late = Lateness { least: waited, ..late };
        Warning::ConnectionsBusy { late, connections: plan.connections }
    } else {
        Warning::Late { late: Lateness { least: least - waited, ..late } }
    })
}

/// A percentile of how long all requests waited for a connection.
fn connection_wait(outcome: &Outcome, percentile: u32) -> Duration {
    let waits = &outcome.connection_wait;
    let share_beyond = f64::from(100 - percentile) / 100.0;
    // Of all that were sent, also those that ended in errors, whose lateness isn't kept.
    let beyond = outcome.account.sent as f64 * share_beyond / waits.len() as f64;
    // More than all of those that waited: the others didn't.
    let waited = if beyond > 1.0 { 0 } else { waits.value_at_quantile(1.0 - beyond) };
    Duration::from_nanos(waited)
}

fn rate_not_reached(plan: &Plan, outcome: &Outcome) -> Option<Warning> {
    let offered = plan.arrivals.rate()?;
    let window = outcome.window.as_secs_f64();
    // Before the quickest of them no answer can be there, however well the server keeps up.
    let quickest = Duration::from_nanos(outcome.response.good.min());
    let from = quickest.saturating_sub(plan.warmup).as_secs_f64();
    let expected = offered * (window - from).max(0.0);
    let expected = match plan.until {
        // Robots that say nothing for some time were not to.
        Until::Elapsed(_) if plan.rooms().is_some_and(|rooms| rooms.leaves_turns_out()) => {
            expected.min(outcome.account.scheduled as f64)
        }
        Until::Elapsed(_) => expected,
        // Once all were offered, the window only waits for the last answers.
        Until::Requests(count) => expected.min(count as f64),
    };
    let errors: u64 = outcome.seconds.iter().map(|second| second.errors).sum();
    let ended = (outcome.answers_in_window + errors) as f64;
    let tolerance = RATE_SHORTFALL_MAX * expected + SCATTER * expected.sqrt();
    (ended < expected - tolerance)
        .then_some(Warning::RateNotReached { offered, reached: ended / window })
}

fn shed(_: &Plan, outcome: &Outcome) -> Option<Warning> {
    let Account { shed, scheduled, .. } = outcome.account;
    (shed > 0).then_some(Warning::Shed { shed, scheduled })
}

/// Where none was established, the errors say it better.
fn fewer_connections(plan: &Plan, outcome: &Outcome) -> Option<Warning> {
    let Connections { asked, established, .. } = outcome.connections;
    let why = || outcome.firsts.failed.clone().map(|first| first.what);
    ((1..asked).contains(&established) && plan.keep_alive).then(|| Warning::FewerConnections {
        asked,
        established,
        why: why(),
    })
}

fn early(_: &Plan, outcome: &Outcome) -> Option<Warning> {
    let (early, answers) = (outcome.connections.early, answers(&outcome.account));
    (early > 0).then_some(Warning::Early { early, answers })
}

fn syn_retransmits(_: &Plan, outcome: &Outcome) -> Option<Warning> {
    let count = outcome.connections.syn_retransmits;
    (count > 0).then_some(Warning::SynRetransmits { count })
}

fn delayed_ack(_: &Plan, outcome: &Outcome) -> Option<Warning> {
    delayed_ack::share(&outcome.service.good).map(|share| Warning::DelayedAck { share })
}

fn starved(plan: &Plan, outcome: &Outcome) -> Option<Warning> {
    let Connections { asked, unanswered, answers_max, .. } = outcome.connections;
    let usual = value(read(&outcome.service, Statistic::Percentile(50.0)));
    let left = left_waiting(unanswered.into(), usual, plan.patience())?;
    (left > 0).then_some(Warning::Starved { unanswered, connections: asked, answers_max })
}

fn value(reading: Reading) -> Option<Duration> {
    reading.value().map(|quantile| Duration::from_nanos(quantile.nanoseconds))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::{ErrorCount, First, StatusCount, ThreadUse};
    use crate::plan::Target;
    use crate::plan::template::Request;
    use crate::verdict::condition::tests::outcome;

    fn plan(arrivals: Arrivals) -> Plan {
        let target = Target {
            address: "127.0.0.1:80".parse().unwrap(),
            authority: "127.0.0.1".into(),
            path: "/".into(),
        };
        let mut plan = Plan::new(target, vec![Request::get("/")]);
        plan.arrivals = arrivals;
        plan.connections = 100;
        plan
    }

    /// Ten seconds with 1,000 answers of 1 ms (service: 0.5 ms) a second.
    fn quiet() -> Outcome {
        let mut outcome = outcome(&[1_000; 10_000], &[]);
        outcome.seconds = vec![Second { good: 1_000, ..Second::default() }; 10];
        outcome.connections.asked = 100;
        outcome.connections.established = 100;
        outcome.connections.answers_min = 80;
        outcome.connections.answers_max = 120;
        outcome.threads = vec![ThreadUse { busy_share: 0.4, ..ThreadUse::default() }; 2];
        (0..10_000).for_each(|_| outcome.lateness.record(50_000).unwrap());
        outcome
    }

    /// What is looked for in outcomes that are made up, one trait at a time: their books needn't
    /// agree.
    fn warnings(plan: &Plan, outcome: &Outcome) -> Vec<Warning> {
        let is_of_books = |warning: &Warning| matches!(warning, Warning::Contradiction { .. });
        super::warnings(plan, outcome).into_iter().filter(|it| !is_of_books(it)).collect()
    }

    #[test]
    fn books_that_contradict_each_other_are_told() {
        let told = |change: fn(&mut Outcome)| {
            let mut outcome = quiet();
            change(&mut outcome);
            let found = super::warnings(&plan(OPEN), &outcome);
            found.iter().any(|it| matches!(it, Warning::Contradiction { .. }))
        };
        assert!(!told(|_| ()), "{:?}", super::warnings(&plan(OPEN), &quiet()));
        assert!(told(|outcome| outcome.account.scheduled += 1), "a turn was lost");
        assert!(told(|outcome| outcome.account.in_flight += 1), "a request was counted twice");
        assert!(told(|outcome| outcome.warmup.sent += 1), "a request of the warm-up was lost");
        assert!(told(|outcome| outcome.service.good.reset()), "the seconds were lost");
    }

    fn ids(arrivals: Arrivals, outcome: &Outcome) -> Vec<&'static str> {
        warnings(&plan(arrivals), outcome).iter().map(Warning::id).collect()
    }

    const OPEN: Arrivals = Arrivals::Constant(1_000.0);

    #[test]
    fn a_quiet_run_has_no_warning() {
        for arrivals in [Arrivals::Closed, OPEN, Arrivals::Poisson(1_000.0)] {
            assert_eq!(ids(arrivals, &quiet()), [""; 0], "{arrivals:?}");
        }
    }

    /// Else a server that sends an answer too many on each connection looks as if it needed no time.
    #[test]
    fn a_server_that_speaks_unasked_is_named_and_its_last_words_are_not() {
        let mut outcome = quiet();
        outcome.connections.last_words = 3;
        assert_eq!(ids(OPEN, &outcome), [""; 0], "it told why it ends idle connections");
        outcome.connections.unasked = 2;
        outcome.firsts.unasked = Some(First { at: Duration::ZERO, what: "more".into() });
        let warnings = warnings(&plan(OPEN), &outcome);
        assert_eq!(warnings, [Warning::Unasked { times: 2, example: "more".into() }]);
        assert!(!warnings[0].is_client_limit());
    }

    #[test]
    fn answers_that_wait_for_an_acknowledgement_are_named() {
        let mut outcome = quiet();
        outcome.service.good.record_n(43_000_000, 400).unwrap();
        assert_eq!(ids(OPEN, &outcome), [""; 0], "less than 1 in 20");
        outcome.service.good.record_n(43_000_000, 400).unwrap();
        let warnings = warnings(&plan(OPEN), &outcome);
        assert_eq!(warnings.iter().map(Warning::id).collect::<Vec<_>>(), ["delayed_ack"]);
        assert!(!warnings[0].is_client_limit());
        let share = 800.0 / 10_800.0;
        assert_eq!(warnings, [Warning::DelayedAck { share }]);
    }

    /// Else a run of a few milliseconds blames the client and the server at once.
    #[test]
    fn of_a_run_that_is_too_short_nobody_is_said_to_be_the_limit() {
        let mut outcome = quiet();
        outcome.threads[1].busy_share = 0.95;
        outcome.response.good.record(15_000_000).unwrap();
        outcome.connections.syn_retransmits = 1;
        let told = |outcome: &mut Outcome, ms| {
            outcome.window = Duration::from_millis(ms);
            outcome.seconds.clear();
            ids(Arrivals::Closed, outcome)
        };
        let long = ["thread_busy", "closed_loop_stalled", "syn_retransmits"];
        assert_eq!(told(&mut outcome, 20), long);
        assert_eq!(told(&mut outcome, 19), ["syn_retransmits", "too_short"]);
        let mut calm = quiet();
        calm.window = Duration::from_millis(19);
        calm.seconds.clear();
        assert_eq!(ids(Arrivals::Closed, &calm), [""; 0], "there is nothing to tell");
    }

    #[test]
    fn a_busy_thread_is_named() {
        let mut outcome = quiet();
        outcome.threads[1].busy_share = 0.93;
        let warnings = warnings(&plan(OPEN), &outcome);
        assert_eq!(
            warnings,
            [Warning::ThreadBusy { thread: 1, busy_share: 0.93, run_delay_share: None }],
            "a client at its limit went unnoticed"
        );
        assert!(warnings[0].is_client_limit());
    }

    #[test]
    fn a_thread_that_waits_for_its_processor_is_as_much_a_limit() {
        let mut outcome = quiet();
        let with = |outcome: &mut Outcome, waited| {
            outcome.threads[1].busy_share = 0.25;
            outcome.threads[1].run_delay_share = waited;
            warnings(&plan(Arrivals::Closed), outcome)
        };
        assert_eq!(
            with(&mut outcome, Some(0.7)),
            [Warning::ThreadBusy { thread: 1, busy_share: 0.25, run_delay_share: Some(0.7) }],
            "a client that others kept from its processor was taken for an idle one"
        );
        assert_eq!(with(&mut outcome, Some(0.6)), [], "it had time left");
        assert_eq!(with(&mut outcome, None), [], "what isn't counted isn't said");
    }

    #[test]
    fn lateness_with_free_connections_is_the_clients() {
        let mut outcome = quiet();
        (0..500).for_each(|_| outcome.lateness.record(40_000_000).unwrap());
        assert_eq!(ids(OPEN, &outcome), ["late"]);
    }

    #[test]
    fn a_run_too_short_for_a_p99_has_its_lateness_named_all_the_same() {
        let late_by = |requests: u64, late: u64| {
            let mut outcome = outcome(&vec![1_000; (requests - late) as usize], &[]);
            outcome.lateness.clear();
            outcome.lateness.record_n(50_000, requests - late).unwrap();
            outcome.lateness.record_n(40_000_000, late).unwrap();
            outcome.response.good.record_n(41_000_000, late).unwrap();
            super::late(&plan(OPEN), &outcome).map(|warning| match warning {
                Warning::Late { late } => {
                    (late.percentile, (late.least.as_secs_f64() * 1e3).round())
                }
                other => panic!("{other:?}"),
            })
        };
        assert_eq!(late_by(2_000, 250), Some((90, 40.0)));
        assert_eq!(late_by(300, 200), Some((50, 40.0)));
        assert_eq!(late_by(2_000, 150), None, "the highest that is shown is none of theirs");
        assert_eq!(late_by(100, 100), None, "nothing is said of so few");
    }

    #[test]
    fn lateness_that_is_small_beside_the_response_is_no_matter() {
        let mut outcome = quiet();
        (0..500).for_each(|_| outcome.lateness.record(2_000_000).unwrap());
        (0..500).for_each(|_| outcome.response.good.record(100_000_000).unwrap());
        assert_eq!(ids(OPEN, &outcome), [""; 0]);
    }

    #[test]
    fn lateness_for_want_of_a_connection_is_not_the_clients() {
        let mut outcome = quiet();
        outcome.account.sent = 10_500;
        (0..500).for_each(|_| outcome.lateness.record(40_000_000).unwrap());
        (0..50).for_each(|_| outcome.connection_wait.record(39_000_000).unwrap());
        assert_eq!(ids(OPEN, &outcome), ["late"], "most found a connection free");
        (0..450).for_each(|_| outcome.connection_wait.record(39_000_000).unwrap());
        assert_eq!(ids(OPEN, &outcome), ["connections_busy"]);
        outcome.connection_wait.clear();
        (0..500).for_each(|_| outcome.connection_wait.record(1_000_000).unwrap());
        assert_eq!(ids(OPEN, &outcome), ["late"], "a connection was free long before");
    }

    #[test]
    fn waits_of_requests_that_failed_are_not_those_of_the_others() {
        let mut outcome = quiet();
        // 150 of 20,000 waited, fewer than one in a hundred; half of all ended in errors.
        outcome.account.sent = 20_000;
        (0..500).for_each(|_| outcome.lateness.record(40_000_000).unwrap());
        (0..150).for_each(|_| outcome.connection_wait.record(39_000_000).unwrap());
        assert_eq!(ids(OPEN, &outcome), ["late"], "99 of 100 didn't wait");
    }

    #[test]
    fn lateness_is_told_without_the_wait_that_is_no_part_of_it() {
        let told = |waited_ms: u64| {
            let mut outcome = quiet();
            outcome.account.sent = 10_500;
            (0..500).for_each(|_| outcome.lateness.record(40_000_000).unwrap());
            let waits = &mut outcome.connection_wait;
            (0..500).for_each(|_| waits.record(waited_ms * 1_000_000).unwrap());
            match warnings(&plan(OPEN), &outcome).as_slice() {
                [Warning::Late { late } | Warning::ConnectionsBusy { late, .. }] => {
                    (late.least.as_secs_f64() * 1e3).round()
                }
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(told(10), 30.0, "the server's share stood as the client's");
        assert_eq!(told(30), 30.0, "the client's share stood as the wait for a connection");
    }

    #[test]
    fn a_window_that_waits_for_the_last_of_a_number_of_requests_offers_nothing() {
        let mut outcome = quiet();
        outcome.window = Duration::from_secs(15);
        let plan = Plan { until: Until::Requests(10_000), ..plan(OPEN) };
        let not_reached = |outcome: &Outcome| {
            let ids = warnings(&plan, outcome);
            ids.iter().any(|it| matches!(it, Warning::RateNotReached { .. }))
        };
        outcome.answers_in_window = 10_000;
        assert!(!not_reached(&outcome), "all that were asked for came");
        outcome.answers_in_window = 5_000;
        assert!(not_reached(&outcome));
    }

    #[test]
    fn a_rate_that_was_not_reached_is_said_beyond_chance_only() {
        let mut outcome = quiet();
        outcome.answers_in_window = 9_700;
        assert_eq!(ids(OPEN, &outcome), [""; 0], "300 of 10,000 are within chance");
        outcome.answers_in_window = 9_500;
        assert_eq!(ids(OPEN, &outcome), ["rate_not_reached"]);
        assert_eq!(ids(Arrivals::Closed, &outcome), [""; 0]);
    }

    #[test]
    fn errors_count_as_ended_in_the_window_that_they_came_up_in() {
        let mut outcome = quiet();
        outcome.answers_in_window = 5_000;
        outcome.seconds.fill(Second { good: 500, errors: 500, ..Second::default() });
        assert_eq!(ids(OPEN, &outcome), [""; 0], "a server that refuses at once keeps up");
        outcome.seconds.fill(Second { good: 500, ..Second::default() });
        // Given up when all was over, so that they pass for no rate that was reached.
        outcome.account.errors.push(ErrorCount {
            kind: ErrorKind::Timeout,
            count: 5_000,
            first: Duration::from_secs(10),
            example: "no whole answer within 5 s".into(),
        });
        assert_eq!(
            warnings(&plan(OPEN), &outcome),
            [Warning::RateNotReached { offered: 1_000.0, reached: 500.0 }],
            "errors of the drain passed for requests that came to an end in time"
        );
    }

    #[test]
    fn answers_that_take_long_are_no_growing_queue() {
        let mut outcome = quiet();
        outcome.response.good.reset();
        (0..10_000).for_each(|_| outcome.response.good.record(500_000_000).unwrap());
        // All that were asked for half a second before the end.
        outcome.answers_in_window = 9_500;
        assert_eq!(ids(OPEN, &outcome), [""; 0], "the server kept up all the time");
        let warmed_up = Plan { warmup: Duration::from_millis(500), ..plan(OPEN) };
        let ids_warmed_up: Vec<_> =
            warnings(&warmed_up, &outcome).iter().map(Warning::id).collect();
        assert_eq!(ids_warmed_up, ["rate_not_reached"], "answers came from the beginning");
        outcome.answers_in_window = 9_000;
        assert_eq!(ids(OPEN, &outcome), ["rate_not_reached"]);
    }

    #[test]
    fn shed_requests_are_said() {
        let mut outcome = quiet();
        outcome.account.shed = 7;
        assert_eq!(ids(OPEN, &outcome), ["shed"]);
    }

    #[test]
    fn ports_that_ran_out_are_the_clients_error() {
        let mut outcome = quiet();
        outcome.account.errors.push(ErrorCount {
            kind: ErrorKind::Client,
            count: 3,
            first: Duration::ZERO,
            example: "no port".into(),
        });
        let warnings = warnings(&plan(Arrivals::Closed), &outcome);
        assert_eq!(warnings, [Warning::ClientErrors { count: 3, example: "no port".into() }]);
        assert!(warnings[0].is_client_limit(), "the server was blamed for the client's ports");
    }

    #[test]
    fn connections_that_the_client_could_not_make_are_its_limit() {
        let mut outcome = quiet();
        outcome.connections.established = 64;
        let is_client_limit = |outcome: &Outcome| {
            warnings(&plan(Arrivals::Closed), outcome).iter().any(Warning::is_client_limit)
        };
        let failure =
            |kind, text: &str| Some(First { at: Duration::ZERO, what: (kind, text.into()) });
        outcome.firsts.failed = failure(ErrorKind::Refused, "refused");
        assert!(!is_client_limit(&outcome));
        outcome.firsts.failed = failure(ErrorKind::Client, "no port");
        assert!(is_client_limit(&outcome), "the server was blamed for the client's ports");
    }

    #[test]
    fn a_stall_makes_a_closed_loop_untrustworthy_and_an_open_loop_not() {
        let mut outcome = quiet();
        outcome.response.good.record(2_000_000_000).unwrap();
        assert_eq!(ids(Arrivals::Closed, &outcome), ["closed_loop_stalled"]);
        assert_eq!(ids(OPEN, &outcome), [""; 0]);
    }

    #[test]
    fn a_client_that_stood_still_doesnt_blame_the_server() {
        let mut outcome = quiet();
        outcome.response.good.record(2_000_000_000).unwrap();
        outcome.threads[1].away_s = 1.98;
        let warnings = warnings(&plan(Arrivals::Closed), &outcome);
        assert!(warnings.iter().all(Warning::is_client_limit), "{warnings:?}");
        assert_eq!(ids(Arrivals::Closed, &outcome), ["client_away"]);
        outcome.threads[1].away_s = 0.5;
        assert_eq!(ids(Arrivals::Closed, &outcome), ["closed_loop_stalled"], "the rest is not its");
    }

    /// In a run of milliseconds each pause of a scheduler would be called one.
    #[test]
    fn a_wait_of_less_than_ten_milliseconds_is_no_stall() {
        let of = |longest: u64| {
            let mut outcome = quiet();
            outcome.window = Duration::from_millis(50);
            outcome.seconds = vec![Second { good: 10_000, ..Second::default() }];
            outcome.response.good.reset();
            outcome.response.good.record_n(20_000, 10_000).unwrap();
            outcome.response.good.record(longest).unwrap();
            ids(Arrivals::Closed, &outcome)
        };
        assert_eq!(of(9_000_000), [""; 0]);
        assert_eq!(of(12_000_000), ["closed_loop_stalled"]);
    }

    #[test]
    fn seconds_without_an_answer_are_a_stall() {
        let mut outcome = quiet();
        outcome.seconds[4].good = 0;
        outcome.seconds[5].good = 0;
        let warnings = warnings(&plan(Arrivals::Closed), &outcome);
        let longest = Duration::from_secs(2);
        assert_eq!(warnings, [Warning::ClosedLoopStalled { longest, window: outcome.window }]);
    }

    #[test]
    fn seconds_of_errors_are_no_silence_and_a_few_timeouts_are() {
        let with_errors = |errors| {
            let mut outcome = quiet();
            let usual = outcome.seconds[0].good;
            for second in &mut outcome.seconds[5..] {
                *second = Second { good: 0, errors: errors * usual / 100, ..*second };
            }
            ids(Arrivals::Closed, &outcome).contains(&"closed_loop_stalled")
        };
        assert!(!with_errors(100), "a server that answers 503 was called silent");
        assert!(with_errors(1), "a stall that ends in timeouts went unnoticed");
    }

    #[test]
    fn slow_answers_alone_are_no_stall() {
        let mut outcome = quiet();
        (0..500).for_each(|_| outcome.response.good.record(300_000_000).unwrap());
        assert_eq!(ids(Arrivals::Closed, &outcome), [""; 0], "p99 tells of these itself");
    }

    /// Ten seconds with so many answers each, which took so many ms.
    fn answers(a_second: [u64; 10], each_ms: u64) -> Outcome {
        let all: u64 = a_second.iter().sum();
        let mut outcome = outcome(&vec![each_ms * 1_000; all as usize], &[]);
        outcome.seconds = a_second.map(|good| Second { good, ..Second::default() }).to_vec();
        outcome.connections.answers_min = 1;
        outcome
    }

    #[test]
    fn too_few_answers_for_a_percentile_show_a_stall_all_the_same() {
        let mut outcome = answers([75, 75, 0, 0, 0, 0, 0, 0, 0, 0], 13);
        let silent = ids(Arrivals::Closed, &outcome);
        assert_eq!(silent, ["closed_loop_stalled"], "8 s without an answer went unnoticed");
        // One request was under way all the time.
        outcome.response.censored.record(8_000_000_000).unwrap();
        outcome.seconds.clear();
        let waited = ids(Arrivals::Closed, &outcome);
        assert_eq!(waited, ["closed_loop_stalled"], "a wait of 8 s went unnoticed");
    }

    #[test]
    fn a_stall_that_most_connections_wait_through_is_none_of_their_usual_time() {
        let mut outcome = answers([5_000, 5_000, 0, 0, 0, 0, 0, 0, 0, 0], 10);
        (0..5_000).for_each(|_| outcome.response.censored.record(8_000_000_000).unwrap());
        assert_eq!(ids(Arrivals::Closed, &outcome), ["closed_loop_stalled"]);
    }

    #[test]
    fn where_each_answer_takes_long_a_second_without_one_is_no_stall() {
        let one_by_one = answers([0, 0, 1, 0, 0, 1, 0, 0, 1, 0], 3_000);
        assert_eq!(ids(Arrivals::Closed, &one_by_one), [""; 0]);
        let all_together = answers([0, 0, 100, 0, 0, 100, 0, 0, 100, 0], 3_000);
        assert_eq!(ids(Arrivals::Closed, &all_together), [""; 0]);
        let by_chance = answers([3, 2, 1, 2, 0, 3, 1, 2, 2, 1], 600);
        assert_eq!(ids(Arrivals::Closed, &by_chance), [""; 0], "two answers are easily late");
    }

    #[test]
    fn a_short_last_second_is_no_silence() {
        let mut outcome = quiet();
        outcome.window += Duration::from_millis(1);
        outcome.seconds.push(Second::default());
        assert_eq!(ids(Arrivals::Closed, &outcome), [""; 0]);
    }

    #[test]
    fn a_stall_while_connecting_counts_where_each_request_has_its_connection() {
        let mut outcome = quiet();
        // The answers themselves were quick.
        outcome.response.censored.record(2_000_000_000).unwrap();
        assert_eq!(outcome.service.good.max() / 1_000_000, 0);
        assert_eq!(ids(Arrivals::Closed, &outcome), ["closed_loop_stalled"]);
    }

    #[test]
    fn connections_that_never_came_lost_syns_and_starved_ones_are_said() {
        let mut fewer = quiet();
        fewer.connections.established = 64;
        fewer.connections.syn_retransmits = 5;
        assert_eq!(ids(OPEN, &fewer), ["fewer_connections", "syn_retransmits"]);
        let mut starved = quiet();
        starved.connections.unanswered = 1;
        for arrivals in [Arrivals::Closed, OPEN] {
            assert_eq!(ids(arrivals, &starved), ["starved"], "{arrivals:?}");
        }
    }

    #[test]
    fn connections_that_nobody_asked_are_not_starved() {
        let mut idle = quiet();
        idle.connections.answers_min = 0;
        assert_eq!(ids(OPEN, &idle), [""; 0], "the client chose others");
    }

    #[test]
    fn where_answers_are_slow_a_connection_without_one_may_still_get_it() {
        let starved_at = |service_us: u64| {
            let mut outcome = outcome(&[service_us * 2; 1_000], &[]);
            outcome.connections.unanswered = 1;
            starved(&plan(OPEN), &outcome).is_some()
        };
        assert!(starved_at(199_000) && !starved_at(210_000));
    }

    #[test]
    fn connections_that_are_ended_after_an_answer_or_two_were_not_kept() {
        let with = |cut, keep_alive| {
            let mut outcome = quiet();
            let status = StatusCount { status: 200, count: 900, good: 900 };
            outcome.account.statuses = vec![status];
            outcome.connections.cut = cut;
            let plan = Plan { keep_alive, ..plan(OPEN) };
            warnings(&plan, &outcome).iter().any(|it| it.id() == "not_kept")
        };
        assert!(with(900, true) && with(450, true));
        assert!(!with(9, true), "a server that ends a connection now and then keeps them");
        assert!(!with(900, false), "nobody asked for it");
    }
}
