//! The generator's own maximum, against a server that does nothing.
//!
//! A server's figures near this ceiling are the client's figures.

use std::time::Duration;

use crate::null_server::NullServer;
use crate::plan::{Arrivals, Expect, Plan, Until};
use crate::{Error, Stop, limits};

/// How long it is measured.
const WINDOW: Duration = Duration::from_secs(3);
/// Before that.
const WARMUP: Duration = Duration::from_millis(500);

/// What the generator reaches when nothing holds it up.
#[derive(Debug, Clone, PartialEq)]
pub struct Ceiling {
    /// Answers a second.
    pub rate: f64,
    /// Share of its time that the busiest client thread was busy. Well below 1,
    /// the null server was the limit, and the ceiling is higher yet.
    pub busy_share: f64,
    /// The null server's processors.
    pub server_cpus: Vec<usize>,
    /// Whether the null server had to share the client's processors, which makes
    /// the ceiling lower than it is with a server elsewhere.
    pub shared: bool,
}

/// Measures the ceiling of a plan: its requests, connections, threads,
/// processors and backend, in a closed loop.
///
/// # Errors
/// As [`crate::run`]; also if the null server can't be started.
pub fn measure(plan: &Plan, stop: &Stop) -> Result<Ceiling, Error> {
    let allowed = limits::allowed_cpus()
        .map_err(|source| Error::System { what: "asking for the processors".into(), source })?;
    let client_cpus = client_cpus(plan, &allowed);
    let spare: Vec<usize> =
        allowed.iter().copied().filter(|cpu| !client_cpus.contains(cpu)).collect();
    let shared = spare.is_empty();
    let server_cpus = if shared { client_cpus } else { spare };
    // Both ends of each connection are in this process.
    limits::allow_connections(plan.connections.saturating_mul(2))?;
    let server = NullServer::start(&server_cpus, plan.keep_alive)?;
    let mut plan = plan.clone();
    plan.target.address = server.address;
    plan.expect = Expect::default();
    plan.arrivals = Arrivals::Closed;
    plan.until = Until::Elapsed(WINDOW);
    plan.warmup = WARMUP;
    let outcome = crate::run(&plan, stop, &mut |_| {})?;
    let busy_share = outcome.threads.iter().map(|thread| thread.busy_share).fold(0.0, f64::max);
    Ok(Ceiling { rate: outcome.rate(), busy_share, server_cpus, shared })
}

/// The processors that the plan's threads run on.
fn client_cpus(plan: &Plan, allowed: &[usize]) -> Vec<usize> {
    let cpus = if plan.cpus.is_empty() { allowed } else { &plan.cpus };
    let threads = if plan.threads == 0 { cpus.len() } else { plan.threads };
    let mut used: Vec<usize> = cpus.iter().copied().take(threads).collect();
    used.sort_unstable();
    used.dedup();
    used
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Target;
    use crate::template::Request;

    #[test]
    fn the_clients_processors_are_those_that_its_threads_take_in_turn() {
        let target = Target {
            address: "127.0.0.1:80".parse().unwrap(),
            authority: "127.0.0.1".into(),
            path: "/".into(),
        };
        let mut plan = Plan::new(target, vec![Request::get("/")]);
        let used = |plan: &Plan| client_cpus(plan, &[0, 1, 2, 3]);
        assert_eq!(used(&plan), [0, 1, 2, 3]);
        plan.threads = 1;
        assert_eq!(used(&plan), [0], "a thread on processor 0 leaves three to the null server");
        plan.cpus = vec![3, 2];
        assert_eq!(used(&plan), [3]);
        plan.threads = 5;
        assert_eq!(used(&plan), [2, 3]);
    }
}
