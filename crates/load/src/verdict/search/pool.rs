//! How many connections the steps of a search have.
//!
//! Where every connection is taken, a request waits that the server might have taken at once.
//! Then a step says what so many connections can do, and the server may do more. So it is
//! made again with twice as many, until connections are no more what is waited for, or more
//! of them bring nothing more: then the requests wait for the server, on whichever side of a
//! connection they do. Nor are more made where there are more than enough for the server's
//! usual time: if all of those are taken, the server has become slow.

use super::Step;
use crate::outcome::Outcome;
use crate::verdict::condition::Condition;
use crate::verdict::metric::Metric;
use histogram::reading::Statistic;

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

/// There are enough connections if they are so many times those that are busy on average:
/// the rate times the usual time of an answer (Little's law).
const HEADROOM: f64 = 2.0;
/// And so many more: where they are few, chance makes more of a difference.
const SPARE: f64 = 10.0;

/// The connections of a search's steps.
#[derive(Debug, Clone)]
pub struct Pool {
    connections: u32,
    most: u32,
    /// Connections of the last step that held. Where more brought nothing, the next step has
    /// as many: a server may have no more to give away, and leave the others waiting.
    held: u32,
    /// The step that is made again with more.
    before: Option<Crowded>,
    /// Where more connections brought nothing.
    servers: Option<ServersLimit>,
    /// The lowest mean service time of a step that held, in seconds.
    usual_s: Option<f64>,
}

/// A step in which all connections were taken.
#[derive(Debug, Clone, Copy)]
struct Crowded {
    /// Good answers that came within its window.
    answered: u64,
    /// Good answers to its requests, whenever they came.
    good: u64,
    /// The share of its requests that found all taken.
    waited: f64,
}

/// What the server can't do with more connections either.
#[derive(Debug, Clone, Copy)]
struct ServersLimit {
    /// The lowest rate that was offered.
    rate: f64,
    /// The most that was answered.
    answered: u64,
}

impl Pool {
    /// A pool of so many connections, which may grow to so many.
    pub fn new(connections: u32, most: u32) -> Pool {
        let (most, held) = (most.max(connections), connections);
        Pool { connections, most, held, before: None, servers: None, usual_s: None }
    }

    /// Connections of the next step.
    pub fn connections(&self) -> u32 {
        self.connections
    }

    /// The most that it may have.
    pub fn most(&self) -> u32 {
        self.most
    }

    /// What is believed of a step that offered so many requests a second; `None` if it is to
    /// be made again, with more connections.
    pub fn judge(
        &mut self,
        condition: &Condition,
        step: Step,
        offered: f64,
        outcome: &Outcome,
    ) -> Option<Step> {
        let waited = waited_share(outcome);
        let is_crowded = waited > 0.0 && waited >= TAIL_PART * tail(condition);
        let crowded = is_crowded.then_some(Crowded {
            answered: outcome.answers_in_window,
            good: outcome.account.good,
            waited,
        });
        self.decide(step, offered, outcome.service.good.mean() / 1e9, crowded)
    }

    /// The same of a step with this mean service time.
    fn decide(
        &mut self,
        step: Step,
        offered: f64,
        service_s: f64,
        crowded: Option<Crowded>,
    ) -> Option<Step> {
        let before = self.before.take();
        if step == Step::Holds {
            self.held = self.connections;
            self.usual_s = Some(self.usual_s.map_or(service_s, |usual| usual.min(service_s)));
            self.servers = self.servers.filter(|servers| offered < servers.rate);
            return Some(step);
        }
        let has_failed = matches!(step, Step::Fails | Step::TooFewGood);
        if let Some(now) = crowded.filter(|_| has_failed)
            && !self.is_servers(offered, before, now)
        {
            if self.connections >= self.most {
                self.held = self.most;
                return Some(Step::ConnectionsLimit(self.most));
            }
            self.connections = self.connections.saturating_mul(2).min(self.most);
            self.before = Some(now);
            return None;
        }
        self.connections = self.held;
        Some(step)
    }

    /// Whether it is for the server that the requests of a crowded step waited.
    fn is_servers(&mut self, offered: f64, before: Option<Crowded>, now: Crowded) -> bool {
        let known = |servers: ServersLimit| {
            offered >= servers.rate || now.answered as f64 * GAIN_MIN >= servers.answered as f64
        };
        if before.is_none() && self.servers.is_some_and(known) {
            return true;
        }
        let brought_nothing = before.is_some_and(|before| !now.gained_on(&before));
        if !brought_nothing && !self.is_enough(offered) {
            return false;
        }
        let answered = now.answered.max(before.map_or(0, |before| before.answered));
        let limit = self.servers.get_or_insert(ServersLimit { rate: offered, answered });
        *limit =
            ServersLimit { rate: limit.rate.min(offered), answered: limit.answered.max(answered) };
        true
    }

    /// Whether there are connections to spare at this rate while the server is as fast as
    /// usual.
    fn is_enough(&self, offered: f64) -> bool {
        let needed = self.usual_s.map(|usual| offered * usual * HEADROOM + SPARE);
        needed.is_some_and(|needed| f64::from(self.connections) >= needed)
    }
}

impl Crowded {
    fn gained_on(&self, before: &Crowded) -> bool {
        // Where a step is shorter than an answer takes, none comes within it.
        let (now, then) = match before.answered {
            0 => (self.good, before.good),
            answered => (self.answered, answered),
        };
        now as f64 > then as f64 * GAIN_MIN || self.waited < before.waited * WAITED_PART
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
    use crate::verdict::condition::tests::outcome;
    use crate::verdict::limit::Warning;
    use crate::verdict::search::{Found, Next, Search};

    /// A server that works on so many requests at once at most, each for so long.
    #[derive(Clone, Copy)]
    struct Server {
        at_once: u32,
        service_s: f64,
        /// Whether a connection that it doesn't work on has to wait for another's end.
        is_greedy: bool,
    }

    impl Server {
        fn rate_max(&self) -> f64 {
            f64::from(self.at_once) / self.service_s
        }

        /// What a step of ten seconds comes to, and how crowded it was. What the server
        /// can't do, it leaves waiting: on connections as far as there are some.
        fn step(&self, rate: f64, connections: u32) -> (Step, Option<Crowded>) {
            if self.is_greedy && connections > self.at_once {
                let answered = (rate.min(self.rate_max()) * 9.0) as u64;
                let crowded = Crowded { answered, good: answered, waited: 1.0 };
                return (Step::TooFewGood, Some(crowded));
            }
            let most = f64::from(connections.min(self.at_once)) / self.service_s;
            if rate <= most {
                return (Step::Holds, None);
            }
            let answered = (most * 10.0) as u64;
            (Step::Fails, Some(Crowded { answered, good: answered, waited: 1.0 }))
        }
    }

    /// What a search finds with this pool, the most connections that it had, and its steps.
    fn search(server: Server, mut pool: Pool) -> (Found, u32, usize) {
        let mut search = Search::new(1_000.0, 10.0, 10e6);
        let (mut connections_max, mut steps) = (0, 0);
        loop {
            let rate = match search.next() {
                Next::Try(rate) => rate,
                Next::Done(found) => return (found, connections_max, steps),
            };
            connections_max = connections_max.max(pool.connections());
            steps += 1;
            let (step, crowded) = server.step(rate, pool.connections());
            if let Some(step) = pool.decide(step, rate, server.service_s, crowded) {
                search.record(rate, step);
            }
        }
    }

    #[test]
    fn a_pool_grows_until_the_server_is_the_limit() {
        for at_once in [1, 3, 49, 50, 51, 64, 100, 777, 1_000, 6_000] {
            let server = Server { at_once, service_s: 0.1, is_greedy: false };
            let (found, connections, steps) = search(server, Pool::new(50, CONNECTIONS_MAX));
            let (holds, fails) = (found.holds.unwrap(), found.fails.unwrap());
            let limit = server.rate_max();
            assert!(holds.rate <= limit && limit < fails.rate, "{holds:?} {fails:?} of {limit}");
            assert_eq!(fails.connections_limit, None, "the server was the limit");
            assert!(connections <= (at_once * 4).max(100), "{connections} for {at_once}");
            assert!(steps <= 50, "{steps} steps for {at_once}");
        }
    }

    /// As one with a process for each connection, and so many processes.
    #[test]
    fn connections_that_a_server_leaves_waiting_are_given_back() {
        for at_once in [64, 150, 256] {
            let server = Server { at_once, service_s: 0.1, is_greedy: true };
            let (found, ..) = search(server, Pool::new(50, CONNECTIONS_MAX));
            let holds = found.holds.unwrap().rate;
            assert!(holds * 2.5 > server.rate_max(), "{holds} for {at_once}");
        }
    }

    #[test]
    fn a_pool_that_may_not_grow_is_told_as_the_limit_and_not_the_server() {
        let server = Server { at_once: 1_000, service_s: 0.1, is_greedy: false };
        let (found, connections, _) = search(server, Pool::new(50, 50));
        assert_eq!(connections, 50);
        assert_eq!(found.fails.unwrap().connections_limit, Some(50));
        let (found, connections, _) = search(server, Pool::new(50, 400));
        assert_eq!(connections, 400);
        assert_eq!(found.fails.unwrap().connections_limit, Some(400), "so far, and no further");
    }

    #[test]
    fn where_there_are_more_than_enough_the_server_has_become_slow() {
        // A fast server, whose answers take 0.2 ms and which does 10,000 a second.
        let server = Server { at_once: 2, service_s: 0.0002, is_greedy: false };
        let (found, connections, _) = search(server, Pool::new(50, 50));
        assert_eq!((connections, found.fails.unwrap().connections_limit), (50, None));
        let mut pool = Pool::new(110, 10_000);
        assert!(!pool.is_enough(505.0), "nothing is known of its time");
        for service_s in [0.25, 0.1, 0.2] {
            pool.decide(Step::Holds, 100.0, service_s, None);
        }
        assert!(pool.is_enough(499.0) && !pool.is_enough(505.0));
    }

    fn crowded(answered: u64, waited: f64) -> Option<Crowded> {
        Some(Crowded { answered, good: answered, waited })
    }

    #[test]
    fn connections_that_bring_nothing_are_given_back() {
        let mut pool = Pool::new(50, 800);
        assert_eq!(pool.decide(Step::Fails, 1e3, 0.1, crowded(500, 0.9)), None);
        assert_eq!(pool.connections(), 100);
        let told = pool.decide(Step::Fails, 1e3, 0.2, crowded(510, 0.9));
        assert_eq!((told, pool.connections()), (Some(Step::Fails), 50));
        let told = pool.decide(Step::Fails, 600.0, 0.1, crowded(480, 0.5));
        assert_eq!(told, Some(Step::Fails), "it is known by now");
        let told = pool.decide(Step::Fails, 600.0, 0.1, crowded(100, 0.5));
        assert_eq!(told, None, "that was another limit");
    }

    #[test]
    fn a_rate_that_holds_after_all_was_not_the_servers_limit() {
        let mut pool = Pool::new(50, 800);
        pool.decide(Step::Fails, 1e3, 0.1, crowded(500, 0.9));
        pool.decide(Step::Fails, 1e3, 0.1, crowded(500, 0.9));
        assert_eq!(pool.decide(Step::Holds, 1e3, 0.1, None), Some(Step::Holds));
        assert_eq!(pool.decide(Step::Fails, 2e3, 0.1, crowded(500, 0.9)), None);
    }

    #[test]
    fn connections_that_let_fewer_wait_have_brought_something() {
        let mut pool = Pool::new(50, 800);
        assert_eq!(pool.decide(Step::TooFewGood, 1e3, 0.1, crowded(500, 0.4)), None);
        assert_eq!(pool.decide(Step::Fails, 1e3, 0.1, crowded(505, 0.05)), None);
        assert_eq!(pool.connections(), 200);
        let told = pool.decide(Step::Fails, 1e3, 0.1, None);
        assert_eq!(told, Some(Step::Fails), "nobody waited");
    }

    #[test]
    fn answers_that_take_longer_than_a_step_count_when_they_come() {
        let mut pool = Pool::new(50, 800);
        let late = |good| Some(Crowded { answered: 0, good, waited: 0.9 });
        assert_eq!(pool.decide(Step::Fails, 1e3, 3.0, late(50)), None);
        assert_eq!(pool.decide(Step::Fails, 1e3, 3.0, late(100)), None);
        assert_eq!(pool.decide(Step::Fails, 1e3, 3.0, late(105)), Some(Step::Fails));
    }

    #[test]
    fn a_step_that_holds_or_that_the_client_spoilt_asks_for_no_more() {
        let no_port = Warning::ClientErrors { count: 1, example: "no port".into() };
        for step in [Step::Holds, Step::ClientLimit(no_port)] {
            let mut pool = Pool::new(50, 800);
            let told = pool.decide(step.clone(), 1e3, 0.1, crowded(500, 0.9));
            assert_eq!((told, pool.connections()), (Some(step), 50));
        }
    }

    #[test]
    fn whether_waits_for_a_connection_matter_depends_on_what_is_asked() {
        let grows = |condition: &str, waited: u64, shed: u64| {
            let mut outcome = outcome(&[1_000; 10_000], &[]);
            outcome.connection_wait.record_n(1_000_000, waited).unwrap();
            outcome.account.shed = shed;
            let mut pool = Pool::new(50, 100);
            pool.judge(&condition.parse().unwrap(), Step::Fails, 1e3, &outcome).is_none()
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
