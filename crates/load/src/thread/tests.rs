use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::mpsc;

use super::*;
use crate::backend::scripted::{Call, Scripted, answered, bid_farewell, now, pass};
use crate::outcome::record::Since;
use crate::pace::queue::Queue;
use crate::plan::template::Request;
use crate::plan::{Arrivals, Target};
use crate::protocol::http1::Http1;
use crate::work::pages::Pages;

const MS: Duration = Duration::from_millis(1);

fn plan(connections: u32) -> Plan {
    let target =
        Target { address: "127.0.0.1:1".parse().unwrap(), authority: "x".into(), path: "/".into() };
    Plan { connections, ..Plan::new(target, vec![Request::get("/")]) }
}

/// Carries a plan out on one thread, which stands still for so long before the run and
/// meets with what the script has for its waits; gives what was seen, and what
/// was asked of the backend in the run.
fn run(
    plan: &Plan,
    still: Duration,
    script: impl FnMut() -> Vec<(Duration, Event)>,
) -> (Outcome, Vec<Call>) {
    let (stop, (seconds, _)) = (Stop::default(), mpsc::channel());
    let calls = Rc::new(RefCell::new(Vec::new()));
    let backend = Scripted { script, calls: calls.clone(), events: VecDeque::new() };
    let is_apart = !plan.keep_alive || plan.arrivals != Arrivals::Closed;
    let record = Record::new(0, is_apart.then_some(Since::Intended), seconds);
    let sources = Sources::new(plan.target.address, false, plan.connections, 0);
    let queue = Queue::new(plan, 1).unwrap();
    let http = plan.http().unwrap();
    let protocol = Http1::new(plan, http, Pages::new(plan, http));
    let parts = (backend, protocol, record, Turns::new(&queue, 0, plan.share));
    let mut worker =
        Worker::new(plan, &stop, Clock::start(), (plan.connections, 1), sources, parts);
    while let Some(until) = worker.sleeps_until() {
        worker.turn_over(until).unwrap();
    }
    calls.borrow_mut().clear();
    pass(still);
    let now = now();
    let end = match plan.until {
        Until::Elapsed(time) => now + time.as_nanos() as u64,
        Until::Requests(_) => u64::MAX,
    };
    let window = Window { start: now, begin: now, end };
    worker.start(window);
    while let Some(until) = worker.sleeps_until() {
        worker.turn_over(until).unwrap();
    }
    (worker.finish(), calls.take())
}

#[test]
fn a_thread_that_was_ready_early_begins_with_the_others() {
    let plan = Plan { keep_alive: false, until: Until::Requests(1), ..plan(1) };
    let mut events = [Event::Connected(0), answered(0)].into_iter();
    let script = || events.next().map(|event| (Duration::ZERO, event)).into_iter().collect();
    let (seen, calls) = run(&plan, 5 * MS, script);
    assert_eq!(seen.account.good, 1);
    assert_eq!(calls[0], Call::Connect(0), "it slept, though the start had come: {calls:?}");
}

#[test]
fn an_answer_that_came_while_the_thread_was_away_is_no_timeout() {
    let plan = Plan { until: Until::Requests(2), timeout: 40 * MS, threads: 1, ..plan(2) };
    let at_once = |events: [Event; 2]| Vec::from(events.map(|event| (Duration::ZERO, event)));
    let mut wait = 0;
    let (seen, _) = run(&plan, Duration::ZERO, || {
        wait += 1;
        match wait {
            1 => at_once([Event::Connected(0), Event::Connected(1)]),
            2 => {
                // A signal ends this wait.
                pass(200 * MS);
                Vec::new()
            }
            3 => at_once([answered(0), answered(1)]),
            _ => Vec::new(),
        }
    });
    assert_eq!((seen.account.good, seen.account.errors.len()), (2, 0), "away in a wait");
    let mut wait = 0;
    let (seen, _) = run(&plan, Duration::ZERO, || {
        wait += 1;
        match wait {
            1 => at_once([Event::Connected(0), Event::Connected(1)]),
            2 => vec![(200 * MS, answered(0))],
            3 => vec![(Duration::ZERO, answered(1))],
            _ => Vec::new(),
        }
    });
    assert_eq!((seen.account.good, seen.account.errors.len()), (2, 0), "away between events");
}

#[test]
fn what_fell_due_in_a_last_sleep_that_was_too_long_is_late_and_not_shed() {
    for keep_alive in [true, false] {
        let plan = Plan {
            arrivals: Arrivals::Constant(1000.0),
            until: Until::Elapsed(20 * MS),
            timeout: 10 * MS,
            keep_alive,
            ..plan(20)
        };
        let mut ahead = if keep_alive { 0..20 } else { 0..0 };
        let (seen, _) = run(&plan, Duration::ZERO, || {
            if !ahead.is_empty() {
                // As they are begun: four together, and then a pause.
                return ahead.by_ref().take(4).map(|slot| (MS, Event::Connected(slot))).collect();
            }
            pass(40 * MS);
            Vec::new()
        });
        let tally = &seen.account;
        assert_eq!((tally.sent, tally.shed), (20, 0), "keep_alive: {keep_alive}");
    }
}

#[test]
fn a_wait_for_a_connection_that_is_never_made_is_no_service_time_and_not_lost() {
    let timeout = 30 * MS;
    let never_connected = |keep_alive| {
        let plan = Plan { keep_alive, until: Until::Requests(2), timeout, ..plan(1) };
        // A first connection is made and lost, and no other.
        let mut events = [Event::Connected(0), Event::Ended(0)].into_iter();
        let (seen, _) = run(&plan, Duration::ZERO, || {
            pass(MS);
            events.next().map(|event| (Duration::ZERO, event)).into_iter().collect()
        });
        let kinds: Vec<_> = seen.account.errors.iter().map(|error| error.kind).collect();
        assert_eq!(kinds, [ErrorKind::ClosedEarly, ErrorKind::ConnectTimeout]);
        seen
    };
    // As precise as a histogram is.
    let all = timeout.as_nanos() as u64 * 99 / 100;
    let seen = never_connected(false);
    assert_eq!(seen.service.censored.len(), 1, "the second was never sent");
    let longest = seen.response.censored.max();
    assert!(longest >= all, "{longest} ns");
    // Where connections are kept in a closed loop, both times are one.
    let waits = never_connected(true).service.censored;
    assert!(waits.len() == 2 && waits.max() >= all, "{} waits, {} ns", waits.len(), waits.max());
}

/// Else who waited for a server that accepts nobody is told that the client was late.
#[test]
fn a_request_that_waits_for_connections_that_come_to_nothing_waits_for_a_connection() {
    let plan = Plan {
        arrivals: Arrivals::Constant(100.0),
        until: Until::Elapsed(120 * MS),
        timeout: 40 * MS,
        keep_alive: false,
        ..plan(1)
    };
    let (seen, _) = run(&plan, Duration::ZERO, || {
        pass(MS);
        Vec::new()
    });
    // The second was due after 10 ms, and had to wait for the first one's timeout.
    let waits = &seen.connection_wait;
    let longest = Duration::from_nanos(waits.max());
    assert!(longest >= 20 * MS, "{} waits, {longest:?} at most", waits.len());
}

/// Else SYNs that were lost before anything was measured would be held against the window.
#[test]
fn connections_that_are_made_before_the_window_are_none_of_it() {
    let lost = Duration::from_nanos(SYN_LOST_NS);
    for (made_again, in_window) in [(false, 0), (true, 1)] {
        let plan = Plan { until: Until::Elapsed(lost + 300 * MS), timeout: 10 * lost, ..plan(1) };
        let mut waits = [
            vec![(lost, Event::Connected(0))],
            if made_again { vec![(MS, Event::Ended(0))] } else { vec![] },
            if made_again { vec![(lost, Event::Connected(0))] } else { vec![] },
        ]
        .into_iter();
        let (seen, _) = run(&plan, Duration::ZERO, || waits.next().unwrap_or_default());
        let seen = &seen.connections;
        assert_eq!((seen.made_in_window, seen.syn_retransmits_in_window), (in_window, in_window));
        assert_eq!(seen.syn_retransmits, 1 + in_window, "each lost one");
    }
}

#[test]
fn a_connection_that_is_made_for_a_request_is_of_its_phase() {
    let plan = Plan { keep_alive: false, until: Until::Requests(1), ..plan(1) };
    let mut events = [Event::Connected(0), answered(0)].into_iter();
    let script = || events.next().map(|event| (Duration::ZERO, event)).into_iter().collect();
    let (seen, _) = run(&plan, Duration::ZERO, script);
    let seen = &seen.connections;
    assert_eq!((seen.made_in_window, seen.syn_retransmits_in_window), (1, 0));
}

#[test]
fn connections_that_the_server_ends_in_order_were_cut_if_they_were_to_be_kept() {
    // A request that is due at once is on the first.
    let idle = vec![vec![Event::Connected(0), Event::Connected(1)], vec![Event::Ended(1)]];
    let asked = vec![vec![Event::Connected(0)], vec![bid_farewell(0)]];
    for (keep_alive, waits, cut) in [(true, idle, 1), (false, asked, 0)] {
        let plan = Plan {
            arrivals: Arrivals::Constant(10.0),
            until: Until::Elapsed(30 * MS),
            timeout: 10 * MS,
            keep_alive,
            ..plan(2)
        };
        let mut waits = waits.into_iter();
        let (seen, _) = run(&plan, Duration::ZERO, || {
            let events = waits.next().unwrap_or_default();
            events.into_iter().map(|event| (Duration::ZERO, event)).collect()
        });
        assert_eq!(seen.connections.cut, cut, "keep_alive: {keep_alive}");
    }
}

/// Else a server that ends idle connections with a word looked as if it refused requests.
#[test]
fn a_request_that_crosses_the_end_of_an_idle_connection_is_asked_again_if_it_may_be() {
    // `c`: connected; `a`: answered; `f`: the server bids farewell.
    let seen = |method: &str, events: &str| {
        let mut plan = Plan { until: Until::Requests(2), ..plan(1) };
        plan.http_mut().unwrap().requests[0].method = method.into();
        let mut events = events.chars().map(|it| match it {
            'c' => Event::Connected(0),
            'a' => answered(0),
            _ => bid_farewell(0),
        });
        let script = || events.next().map(|event| (Duration::ZERO, event)).into_iter().collect();
        run(&plan, Duration::ZERO, script).0
    };
    let again = seen("GET", "cafca");
    assert_eq!((again.account.good, again.account.errors.len()), (2, 0), "{:?}", again.account);
    assert_eq!(again.connections.resent, 1);
    let unsafe_ = seen("POST", "caf");
    let errors = &unsafe_.account.errors;
    assert_eq!(errors[0].kind, ErrorKind::Unanswered, "who knows whether it was processed");
    assert!(errors[0].example.contains("status 408"), "{}", errors[0].example);
    let first = seen("GET", "cfca");
    let errors = &first.account.errors;
    assert_eq!(errors[0].kind, ErrorKind::WrongStatus, "nothing was idle: it is its answer");
}

/// Else server and client would read and write more often for as many requests: what is answered
/// in parts would be asked in parts from then on.
#[test]
fn a_pipeline_that_is_answered_in_parts_is_asked_again_as_a_whole() {
    let plan = Plan { pipeline: 4, until: Until::Requests(12), ..plan(1) };
    let mut events = std::iter::once(Event::Connected(0)).chain((0..12).map(|_| answered(0)));
    let script = || events.next().map(|event| (Duration::ZERO, event)).into_iter().collect();
    let (seen, calls) = run(&plan, Duration::ZERO, script);
    assert_eq!(seen.account.good, 12);
    let sends = calls.iter().filter(|&&call| call == Call::Send(0)).count();
    assert_eq!(sends, 3, "{calls:?}");
}

/// Else a server that sends one answer too many has its answers ready before they are asked for: each
/// request is answered at once, by the answer to the one before.
#[test]
fn what_comes_after_the_last_answer_was_not_asked_for() {
    for keep_alive in [true, false] {
        let seen = |too_many: usize| {
            let plan = Plan { keep_alive, until: Until::Requests(1), ..plan(1) };
            let all = [Event::Connected(0), answered(0)].into_iter();
            let mut events = all.chain((0..too_many).map(|_| answered(0)));
            let script = || events.next().map(|event| (MS, event)).into_iter().collect();
            run(&plan, Duration::ZERO, script).0
        };
        let (one_more, none) = (seen(1), seen(0));
        assert_eq!((one_more.account.good, none.account.good), (1, 1));
        assert_eq!(one_more.connections.unasked, 1, "keep_alive: {keep_alive}");
        assert_eq!(none.connections.unasked, 0, "keep_alive: {keep_alive}");
    }
}

/// An idle connection may be ended with a word, which is no answer too many.
#[test]
fn the_last_word_on_an_idle_connection_is_counted_apart() {
    let plan = Plan { until: Until::Requests(1), ..plan(1) };
    let mut events = [Event::Connected(0), answered(0), bid_farewell(0)].into_iter();
    let script = || events.next().map(|event| (MS, event)).into_iter().collect();
    let seen = run(&plan, Duration::ZERO, script).0.connections;
    assert_eq!((seen.unasked, seen.last_words), (0, 1));
}
