//! The generator's own maximum, against a server that does nothing.
//!
//! A server's figures near this ceiling are the client's figures.

use std::time::Duration;

use crate::null_server::NullServer;
use crate::plan::{Arrivals, Expect, Plan, Until};
use crate::{Error, Stop, limit, limits};

/// How long it is measured.
const WINDOW: Duration = Duration::from_secs(3);
/// Before that.
const WARMUP: Duration = Duration::from_millis(500);

/// What the generator reaches when nothing holds it up.
#[derive(Debug, Clone, PartialEq)]
pub struct Ceiling {
    /// Answers a second that it reached.
    pub rate: f64,
    /// Share of its time that the busiest client thread was busy then.
    pub busy_share: f64,
    /// The null server's processors.
    pub server_cpus: Vec<usize>,
    /// Whether the null server had to share the client's processors, which makes
    /// the ceiling lower than it is with a server elsewhere.
    pub shared: bool,
}

impl Ceiling {
    /// Whether the client was what held it up. Else the null server was, and the
    /// ceiling is higher than the rate reached.
    pub fn is_reached(&self) -> bool {
        self.shared || self.busy_share >= limit::BUSY_SHARE_MAX
    }

    /// What a client would reach that is busy all the time, at the same CPU time
    /// a request. More load takes less of it a request, so this is rather low.
    pub fn estimate(&self) -> f64 {
        if self.is_reached() { self.rate } else { self.rate / self.busy_share }
    }
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
    fn where_the_null_server_was_the_limit_the_ceiling_is_estimated() {
        let ceiling =
            Ceiling { rate: 20_000.0, busy_share: 0.25, server_cpus: vec![1], shared: false };
        assert_eq!((ceiling.is_reached(), ceiling.estimate()), (false, 80_000.0));
        let busy = Ceiling { busy_share: 0.97, ..ceiling.clone() };
        assert_eq!((busy.is_reached(), busy.estimate()), (true, 20_000.0));
        let shared = Ceiling { shared: true, ..ceiling };
        assert_eq!(shared.estimate(), 20_000.0, "it got no more of a shared processor");
    }

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
