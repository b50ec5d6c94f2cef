//! How many connections the steps of a search have.
//!
//! Where every connection is taken, a request waits that the server might have taken at once.
//! Then a step says what so many connections can do, and the server may do more. So it is
//! made again with twice as many, until connections are no more what is waited for, or more
//! of them bring nothing more: then the requests wait for the server, on whichever side of a
//! connection they do.

use super::Step;
use crate::condition::{Condition, Metric};
use crate::outcome::Outcome;
use crate::reading::Statistic;

/// The most connections that a search makes by itself.
pub const CONNECTIONS_MAX: u32 = 12_800;
/// More connections brought something if there are so many times the good answers.
const GAIN_MIN: f64 = 1.1;
/// Or if the share of requests that found all taken is this part of what it was.
const WAITED_PART: f64 = 0.5;
/// Requests that waited for a connection matter from this part of the requests on that the
/// condition leaves out.
const TAIL_PART: f64 = 0.5;
/// The same for a condition that says nothing of a percentile.
const TAIL: f64 = 0.01;

/// The connections of a search's steps.
#[derive(Debug, Clone)]
pub struct Pool {
    connections: u32,
    most: u32,
    /// The step that is made again with more.
    before: Option<Crowded>,
    /// The most good answers of a step to which more connections added none.
    saturated: Option<u64>,
}

/// A step in which all connections were taken.
#[derive(Debug, Clone, Copy)]
struct Crowded {
    connections: u32,
    good: u64,
    /// The share of its requests that found all taken.
    waited: f64,
}

impl Pool {
    /// A pool of so many connections, which may grow to so many.
    pub fn new(connections: u32, most: u32) -> Pool {
        Pool { connections, most: most.max(connections), before: None, saturated: None }
    }

    /// Connections of the next step.
    pub fn connections(&self) -> u32 {
        self.connections
    }

    /// The most that it may have.
    pub fn most(&self) -> u32 {
        self.most
    }

    /// What is believed of a step; `None` if it is to be made again, with more connections.
    pub fn judge(&mut self, condition: &Condition, step: Step, outcome: &Outcome) -> Option<Step> {
        let waited = waited_share(outcome);
        let is_crowded = waited > 0.0 && waited >= TAIL_PART * tail(condition);
        let (connections, good) = (self.connections, outcome.account.good);
        self.decide(step, is_crowded.then_some(Crowded { connections, good, waited }))
    }

    fn decide(&mut self, step: Step, crowded: Option<Crowded>) -> Option<Step> {
        let before = self.before.take();
        let has_failed = matches!(step, Step::Fails | Step::TooFewGood);
        let Some(now) = crowded.filter(|_| has_failed) else { return Some(step) };
        match before {
            Some(before) if !now.gained_on(&before) => {
                self.connections = before.connections;
                self.saturated = Some(before.good.max(now.good));
                return Some(step);
            }
            None if self
                .saturated
                .is_some_and(|most| now.good as f64 * GAIN_MIN >= most as f64) =>
            {
                return Some(step);
            }
            _ => {}
        }
        if self.connections >= self.most {
            return Some(Step::ConnectionsLimit(self.connections));
        }
        self.connections = self.connections.saturating_mul(2).min(self.most);
        (self.before, self.saturated) = (Some(now), None);
        None
    }
}

impl Crowded {
    fn gained_on(&self, before: &Crowded) -> bool {
        self.good as f64 > before.good as f64 * GAIN_MIN
            || self.waited < before.waited * WAITED_PART
    }
}

/// The share of the requests that found every connection taken. Those that were never sent
/// did so to the end.
fn waited_share(outcome: &Outcome) -> f64 {
    let waited = outcome.connection_wait.len() + outcome.account.shed;
    (waited as f64 / outcome.account.scheduled.max(1) as f64).min(1.0)
}

/// The share of the requests that may be as slow as they like.
fn tail(condition: &Condition) -> f64 {
    match condition.metric() {
        Metric::Time(_, Statistic::Percentile(percentile)) => 1.0 - percentile / 100.0,
        Metric::Time(_, Statistic::Max) => 0.0,
        _ => TAIL,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::condition::tests::outcome;
    use crate::search::{Found, Next, Search};

    /// A server that works on so many requests at once at most, each for so long.
    #[derive(Clone, Copy)]
    struct Server {
        at_once: f64,
        service_s: f64,
    }

    /// What a search finds with this pool, whose steps last ten seconds, and the most
    /// connections that it had. Whoever isn't served within twice the service time makes
    /// the step fail.
    fn search(server: Server, mut pool: Pool) -> (Found, u32) {
        let mut search = Search::new(1_000.0, 10.0, 10e6);
        let mut connections_max = 0;
        loop {
            let rate = match search.next() {
                Next::Try(rate) => rate,
                Next::Done(found) => return (found, connections_max),
            };
            let connections = pool.connections();
            connections_max = connections_max.max(connections);
            let all_taken_from = f64::from(connections) / server.service_s;
            let most = (server.at_once / server.service_s).min(all_taken_from);
            let step = if rate <= most { Step::Holds } else { Step::Fails };
            // Behind more connections the server's own queue is as long.
            let taken = rate > most;
            let good = (rate.min(most) * 10.0) as u64;
            let crowded = taken.then_some(Crowded { connections, good, waited: 1.0 });
            if let Some(step) = pool.decide(step, crowded) {
                search.record(rate, step);
            }
        }
    }

    #[test]
    fn a_pool_grows_until_the_server_is_the_limit() {
        for at_once in [1.0, 3.0, 49.0, 50.0, 51.0, 100.0, 777.0, 1_000.0, 6_000.0] {
            let server = Server { at_once, service_s: 0.1 };
            let (found, connections) = search(server, Pool::new(50, CONNECTIONS_MAX));
            let (holds, fails) = (found.holds.unwrap(), found.fails.unwrap());
            let limit = at_once / 0.1;
            assert!(holds.rate <= limit && limit < fails.rate, "{holds:?} {fails:?} of {limit}");
            assert_eq!(fails.connections_limit, None, "the server was the limit");
            assert!(f64::from(connections) <= (at_once * 4.0).max(100.0), "{connections} opened");
        }
    }

    #[test]
    fn a_pool_that_may_not_grow_is_told_as_the_limit_and_not_the_server() {
        let server = Server { at_once: 1_000.0, service_s: 0.1 };
        let (found, connections) = search(server, Pool::new(50, 50));
        assert_eq!(connections, 50);
        assert_eq!(found.fails.unwrap().connections_limit, Some(50));
        let (found, connections) = search(server, Pool::new(50, 400));
        assert_eq!(connections, 400);
        assert_eq!(found.fails.unwrap().connections_limit, Some(400), "so far, and no further");
    }

    fn crowded(pool: &Pool, good: u64, waited: f64) -> Option<Crowded> {
        Some(Crowded { connections: pool.connections(), good, waited })
    }

    #[test]
    fn connections_that_bring_nothing_are_given_back() {
        let mut pool = Pool::new(50, 800);
        let first = crowded(&pool, 500, 0.9);
        assert_eq!(pool.decide(Step::Fails, first), None);
        assert_eq!(pool.connections(), 100);
        let second = crowded(&pool, 510, 0.9);
        assert_eq!(pool.decide(Step::Fails, second), Some(Step::Fails));
        assert_eq!(pool.connections(), 50);
        let third = crowded(&pool, 480, 0.5);
        assert_eq!(pool.decide(Step::Fails, third), Some(Step::Fails), "it is known by now");
        let stalled = crowded(&pool, 100, 0.5);
        assert_eq!(pool.decide(Step::Fails, stalled), None, "that was another limit");
    }

    #[test]
    fn connections_that_let_fewer_wait_have_brought_something() {
        let mut pool = Pool::new(50, 800);
        let first = crowded(&pool, 500, 0.4);
        assert_eq!(pool.decide(Step::TooFewGood, first), None);
        let second = crowded(&pool, 505, 0.05);
        assert_eq!(pool.decide(Step::Fails, second), None);
        assert_eq!(pool.connections(), 200);
        assert_eq!(pool.decide(Step::Fails, None), Some(Step::Fails), "nobody waited");
        assert_eq!(pool.connections(), 200);
    }

    #[test]
    fn a_step_that_holds_or_that_the_client_spoilt_asks_for_no_more() {
        for step in [Step::Holds, Step::ClientLimit("busy".into())] {
            let mut pool = Pool::new(50, 800);
            let all_taken = crowded(&pool, 500, 0.9);
            assert_eq!(pool.decide(step.clone(), all_taken), Some(step));
            assert_eq!(pool.connections(), 50);
        }
    }

    #[test]
    fn whether_waits_for_a_connection_matter_depends_on_what_is_asked() {
        let grows = |condition: &str, waited: u64, shed: u64| {
            let mut outcome = outcome(&[1_000; 10_000], &[]);
            outcome.connection_wait.record_n(1_000_000, waited).unwrap();
            outcome.account.shed = shed;
            let mut pool = Pool::new(50, 100);
            pool.judge(&condition.parse().unwrap(), Step::Fails, &outcome).is_none()
        };
        assert!(grows("p99 < 1ms", 100, 0));
        assert!(grows("p99 < 1ms", 0, 100), "who is never sent waits most of all");
        assert!(!grows("p99 < 1ms", 10, 0), "0.1 % decide no p99");
        assert!(grows("p99.9 < 1ms", 10, 0));
        assert!(!grows("p50 < 1ms", 100, 0));
        assert!(grows("max < 1ms", 1, 0));
        assert!(!grows("max < 1ms", 0, 0));
        assert!(grows("errors < 1", 0, 100));
    }
}
