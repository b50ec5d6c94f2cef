//! What is asked and of whom, all of it by one seed.

use std::time::Duration;

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

use super::server::Temper;
use crate::Plan;
use crate::plan::template::Request;
use crate::plan::{Arrivals, Expect, Share, Target, Until};

/// A run that is to be made.
#[derive(Debug, Clone)]
pub(super) struct Case {
    pub seed: u64,
    pub threads: usize,
    pub plan: Plan,
    pub temper: Temper,
}

/// The text by which an answer names its request.
const NAMES_ITS_REQUEST: &str = "number {counter}.";

impl Case {
    /// The case of this seed.
    pub(super) fn random(seed: u64) -> Case {
        let mut by = SmallRng::seed_from_u64(seed);
        let connections = by.random_range(1..=6);
        let threads = by.random_range(1..=4_usize).min(connections as usize);
        let keep_alive = by.random_bool(0.75);
        let window = Duration::from_micros(by.random_range(2_000..40_000));
        let counted = by.random_bool(0.3);
        let rate = by.random_range(50.0..6_000.0);
        let mut plan = Plan {
            connections,
            threads,
            keep_alive,
            pipeline: if keep_alive && by.random_bool(0.4) { by.random_range(2..=8) } else { 1 },
            arrivals: match by.random_range(0..4) {
                0 | 1 => Arrivals::Closed,
                2 => Arrivals::Constant(rate),
                _ => Arrivals::Poisson(rate),
            },
            until: if counted {
                Until::Requests(by.random_range(1..80))
            } else {
                Until::Elapsed(window)
            },
            warmup: Duration::from_micros(by.random_range(0..4) * 2_000),
            timeout: Duration::from_millis(by.random_range(15..60)),
            seed,
            ..plan(if by.random_bool(0.8) { "GET" } else { "POST" })
        };
        let temper = Temper::random(&mut by);
        let hosts = by.random_range(1..=3);
        plan.share = Share { host: by.random_range(0..hosts), hosts, first_thread: 0 };
        if let Some(http) = plan.http_mut().filter(|_| by.random_bool(0.3)) {
            let named = Request { name: "named".parse().ok(), ..http.requests[0].clone() };
            http.requests.push(named);
        }
        Case { seed, threads, plan, temper }
    }

    /// Whether every other request has a name: those with odd numbers.
    pub(super) fn has_named(&self) -> bool {
        !self.plan.work.classes().is_empty()
    }

    /// A closed loop of two threads, of whose requests a sound server never answers one.
    pub(super) fn sound() -> Case {
        let plan = Plan {
            connections: 4,
            threads: 2,
            until: Until::Elapsed(Duration::from_millis(2_500)),
            timeout: Duration::from_secs(5),
            ..plan("GET")
        };
        Case { seed: 1, threads: 2, plan, temper: Temper::sound() }
    }
}

/// A plan whose every answer has to name its request, and nothing else.
fn plan(method: &str) -> Plan {
    let address = "127.0.0.1:1".parse().expect("an address");
    let target = Target { address, authority: "x".into(), path: "/".into() };
    let request = Request { method: method.into(), ..Request::get("/{counter}") };
    let expect =
        Expect { body: Some(NAMES_ITS_REQUEST.into()), whole_body: true, ..Expect::default() };
    Plan::new(target, vec![Request { expect: Some(expect), ..request }])
}
