//! The generator's own maximum, against a server that does nothing.
//!
//! A server's figures near this ceiling are the client's figures.

use std::time::{Duration, Instant};

use crate::null_server::NullServer;
use crate::outcome::ThreadUse;
use crate::plan::{Arrivals, Expect, Plan, Until};
use crate::{Error, News, Stop, limits};

/// How long it is measured.
const WINDOW: Duration = Duration::from_secs(3);
/// Before that.
const WARMUP: Duration = Duration::from_millis(500);

/// From this busy share on, a thread has nothing to spare.
const BUSY: f64 = 0.97;

/// What the generator reaches when nothing holds it up.
#[derive(Debug, Clone, PartialEq)]
pub struct Ceiling {
    /// Answers a second that it reached.
    pub rate: f64,
    /// Share of their time that the client's threads were busy then, on average.
    pub busy_share: f64,
    /// The same of the null server's busiest thread; `None` where the kernel
    /// doesn't tell.
    pub server_busy_share: Option<f64>,
    /// CPU seconds of the null server by answers; `None` as above.
    pub server_cpu_s: Option<f64>,
    /// CPU seconds of the client by answers.
    pub client_cpu_s: f64,
    /// The null server's processors.
    pub server_cpus: Vec<usize>,
    /// Whether the null server had to share the client's processors, which makes
    /// the ceiling lower than it is with a server elsewhere.
    pub shared: bool,
    /// The share of the time of these processors that the two took together, on average:
    /// added up a processor, since one that is full makes none of another's idle time.
    /// `None` where they share none, or where the kernel doesn't tell.
    pub taken_share: Option<f64>,
}

/// What is known of a client's own maximum.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Maximum {
    /// The client was the limit, and the null server was not, or the processors that
    /// they share were: this is it.
    Measured(f64),
    /// Nobody is known to have been: with the CPU time that a request took, a client that
    /// is busy all the time reaches about this, or one and the null server on processors
    /// that they share.
    Estimated(f64),
}

impl Maximum {
    /// Answers a second.
    pub fn rate(self) -> f64 {
        match self {
            Maximum::Measured(rate) | Maximum::Estimated(rate) => rate,
        }
    }
}

impl Ceiling {
    /// The client's own maximum. More load takes less CPU time a request, so that
    /// an estimate is rather low.
    ///
    /// Of shared processors the client gets what the null server leaves: there the two
    /// together are busy or not.
    pub fn maximum(&self) -> Maximum {
        let (is_limit, busy_share) = match (self.shared, self.taken_share) {
            (true, Some(taken)) => (taken >= BUSY, taken),
            // As much may have been taken, or no more than the client did.
            (true, None) => (false, 1.0),
            (false, _) => {
                let server = self.server_busy_share;
                let is_limit = self.busy_share >= BUSY && server.is_some_and(|it| it < BUSY);
                (is_limit, self.busy_share)
            }
        };
        match is_limit {
            true => Maximum::Measured(self.rate),
            false => Maximum::Estimated(self.rate / busy_share),
        }
    }
}

/// When the null server's CPU time was read, and what it was, thread by thread.
type Reading = (Instant, Vec<Duration>);

/// Allows this process the open files that [`measure`] takes: more than the run of the
/// same plan, after which it were too late to find that there are too few.
///
/// # Errors
/// As [`crate::allow_connections`].
pub fn allow(plan: &Plan) -> Result<(), Error> {
    let allowed = allowed_cpus()?;
    let (server_cpus, _) = server_cpus(plan, &allowed);
    let threads = plan.threads_of(&allowed) + server_cpus.len();
    limits::allow_connections(plan.connections.saturating_mul(2), threads).map_err(|error| {
        Error::Plan(format!(
            "--ceiling has both ends of each connection in this process: {error}; or leave it out"
        ))
    })
}

/// Measures the ceiling of a plan: its requests, connections, threads,
/// processors and backend, in a closed loop.
///
/// # Errors
/// As [`crate::run`] and [`allow`]; also if the null server can't be started.
pub fn measure(plan: &Plan, stop: &Stop) -> Result<Ceiling, Error> {
    allow(plan)?;
    let (server_cpus, shared) = server_cpus(plan, &allowed_cpus()?);
    let server = NullServer::start(&server_cpus, plan)?;
    let mut plan = plan.clone();
    plan.target.address = server.address;
    plan.expect = Expect::default();
    plan.arrivals = Arrivals::Closed;
    plan.until = Until::Elapsed(WINDOW);
    plan.warmup = WARMUP;
    // Read at whole seconds of the window, so that neither warm-up nor end count.
    let mut readings: Vec<Reading> = Vec::new();
    let outcome = crate::run(&plan, stop, &mut |news| {
        if matches!(news, News::Second(progress) if !progress.warming_up) {
            readings.extend(server.cpu().map(|cpu| (Instant::now(), cpu)));
        }
    })?;
    let threads = outcome.threads.len().max(1) as f64;
    let rate = outcome.rate();
    let server_busy = readings.first().zip(readings.last()).and_then(busy_shares);
    let taken_share = server_busy
        .as_ref()
        .filter(|_| shared)
        .map(|server| taken_share(&outcome.threads, &server_cpus, server));
    let client_cpu: f64 = outcome.threads.iter().map(|thread| thread.user + thread.system).sum();
    Ok(Ceiling {
        rate,
        busy_share: outcome.threads.iter().map(|thread| thread.busy_share).sum::<f64>() / threads,
        server_busy_share: server_busy.as_ref().map(|it| it.iter().copied().fold(0.0, f64::max)),
        server_cpu_s: server_busy.map(|it| it.iter().sum::<f64>() / rate),
        client_cpu_s: client_cpu / outcome.answers_in_window as f64,
        server_cpus,
        shared,
        taken_share,
    })
}

/// The average over these processors of what the client's threads and the null server's
/// thread took of each.
fn taken_share(client: &[ThreadUse], cpus: &[usize], server: &[f64]) -> f64 {
    let of_client = |cpu: usize| -> f64 {
        let own = client.iter().filter(|thread| thread.cpu == Some(cpu));
        own.map(|thread| thread.busy_share).sum()
    };
    let taken = cpus.iter().zip(server).map(|(&cpu, server)| (of_client(cpu) + server).min(1.0));
    taken.sum::<f64>() / cpus.len().max(1) as f64
}

/// CPU time by time between two readings, thread by thread; `None` if they are one.
fn busy_shares((from, to): (&Reading, &Reading)) -> Option<Vec<f64>> {
    let seconds = (to.0 - from.0).as_secs_f64();
    let shares = from.1.iter().zip(&to.1).map(|(from, to)| (*to - *from).as_secs_f64() / seconds);
    (seconds > 0.0).then(|| shares.collect())
}

/// The null server's processors: those that the client leaves free. If there are none,
/// it shares the client's.
fn server_cpus(plan: &Plan, allowed: &[usize]) -> (Vec<usize>, bool) {
    let client_cpus = client_cpus(plan, allowed);
    let spare: Vec<usize> =
        allowed.iter().copied().filter(|cpu| !client_cpus.contains(cpu)).collect();
    if spare.is_empty() { (client_cpus, true) } else { (spare, false) }
}

fn allowed_cpus() -> Result<Vec<usize>, Error> {
    limits::allowed_cpus()
        .map_err(|source| Error::System { what: "asking for the processors".into(), source })
}

/// The processors that the plan's threads run on.
fn client_cpus(plan: &Plan, allowed: &[usize]) -> Vec<usize> {
    let cpus = if plan.cpus.is_empty() { allowed } else { &plan.cpus };
    let mut used: Vec<usize> = cpus.iter().copied().take(plan.threads_of(allowed)).collect();
    used.sort_unstable();
    used.dedup();
    used
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Target;
    use crate::template::Request;

    fn ceiling(busy_share: f64, server_busy_share: Option<f64>) -> Ceiling {
        Ceiling {
            rate: 20_000.0,
            busy_share,
            server_busy_share,
            server_cpu_s: None,
            client_cpu_s: 1e-6,
            server_cpus: vec![1],
            shared: false,
            taken_share: None,
        }
    }

    #[test]
    fn a_ceiling_is_measured_only_where_the_client_alone_had_nothing_to_spare() {
        let of = |busy, server| ceiling(busy, server).maximum();
        assert_eq!(of(0.98, Some(0.8)), Maximum::Measured(20_000.0));
        assert_eq!(of(0.25, Some(0.99)), Maximum::Estimated(80_000.0));
        assert_eq!(of(0.25, Some(0.2)), Maximum::Estimated(80_000.0), "both waited");
        let both = of(0.98, Some(0.98));
        assert!(matches!(both, Maximum::Estimated(_)), "either may have been the limit: {both:?}");
        assert!(matches!(of(0.98, None), Maximum::Estimated(_)), "nothing is known of the server");
    }

    #[test]
    fn of_a_shared_processor_the_client_gets_what_the_server_leaves() {
        let of = |taken_share| {
            Ceiling { shared: true, taken_share, ..ceiling(0.3, Some(0.9)) }.maximum()
        };
        assert_eq!(of(Some(0.99)), Maximum::Measured(20_000.0));
        assert_eq!(of(Some(0.5)), Maximum::Estimated(40_000.0), "half of it was idle");
        assert_eq!(of(None), Maximum::Estimated(20_000.0), "as much may have been, or none");
    }

    #[test]
    fn a_full_processor_makes_none_of_anothers_idle_time() {
        let client = |shares: &[f64]| -> Vec<ThreadUse> {
            let thread = |(cpu, &busy_share)| ThreadUse {
                cpu: Some(cpu),
                busy_share,
                ..ThreadUse::default()
            };
            shares.iter().enumerate().map(thread).collect()
        };
        let taken = taken_share(&client(&[0.5; 4]), &[0, 1, 2, 3], &[0.5, 0.1, 0.1, 0.1]);
        assert!((taken - 0.7).abs() < 1e-9, "three were 40 % idle: {taken}");
        let taken = taken_share(&client(&[0.5; 2]), &[1, 0], &[0.2, 0.48]);
        assert!((taken - 0.84).abs() < 1e-9, "each with its own: {taken}");
        let mut two_on_one = client(&[0.4; 2]);
        two_on_one[1].cpu = Some(0);
        assert_eq!(taken_share(&two_on_one, &[0], &[0.3]), 1.0);
    }

    #[test]
    fn the_null_servers_share_is_of_the_time_between_two_readings() {
        let began = Instant::now();
        let ms = Duration::from_millis;
        let (from, to) = ((began, vec![ms(10), ms(0)]), (began + ms(2000), vec![ms(1010), ms(20)]));
        assert_eq!(busy_shares((&from, &to)), Some(vec![0.5, 0.01]));
        assert_eq!(busy_shares((&from, &from)), None);
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
        assert_eq!(plan.connections, 1, "by default");
        assert_eq!(used(&plan), [0], "a thread without a connection has nothing to do");
        plan.connections = 100;
        assert_eq!(used(&plan), [0, 1, 2, 3]);
        plan.threads = 1;
        assert_eq!(used(&plan), [0], "a thread on processor 0 leaves three to the null server");
        plan.cpus = vec![3, 2];
        assert_eq!(used(&plan), [3]);
        plan.threads = 5;
        assert_eq!(used(&plan), [2, 3]);
    }
}
