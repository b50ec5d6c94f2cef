//! What becomes of requests that are due at known times and take known times, where a
//! number of servers takes them in turn: first come, first served.
//!
//! With Poisson arrivals and constant or exponential times that is M/D/c or M/M/c, whose
//! mean waits are known by formula. Request by request it is known by simulation, and so
//! chance is in what is expected as it is in what is measured.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A request. Times are in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Job {
    /// When it is due.
    pub due: u64,
    /// How long a server works on it.
    pub busy: u64,
}

/// From when each job is due until it is done, in nanoseconds. Between two jobs a server
/// needs as long as is given.
pub fn response_times(jobs: &[Job], servers: u32, between: u64) -> Vec<u64> {
    let mut in_turn: Vec<usize> = (0..jobs.len()).collect();
    in_turn.sort_by_key(|&at| jobs[at].due);
    let mut free_at: BinaryHeap<Reverse<u64>> = (0..servers).map(|_| Reverse(0)).collect();
    let mut times = vec![0; jobs.len()];
    for at in in_turn {
        let Job { due, busy } = jobs[at];
        let free = free_at.pop().map_or(0, |Reverse(free)| free);
        let done = due.max(free) + busy;
        free_at.push(Reverse(done + between));
        times[at] = done - due;
    }
    times
}

#[cfg(test)]
mod tests {
    use load::due_times;
    use load::plan::{Arrivals, Share};

    use super::*;
    use crate::truth::service::Service;

    const SERVICE_S: f64 = 0.01;

    /// The mean wait in service times, by simulation.
    fn simulated(service: &str, servers: u32, utilisation: f64) -> f64 {
        const JOBS: u64 = 400_000;
        let service: Service = service.parse().unwrap();
        let rate = utilisation * f64::from(servers) / SERVICE_S;
        let due = due_times(Arrivals::Poisson(rate), 7, Share::default());
        let jobs =
            (0..JOBS).zip(due).map(|(number, due)| Job { due, busy: service.done_at(number, 0) });
        let jobs: Vec<Job> = jobs.collect();
        let times = response_times(&jobs, servers, 0);
        let waits = times.iter().zip(&jobs).map(|(time, job)| (time - job.busy) as f64);
        waits.sum::<f64>() / JOBS as f64 / 1e9 / SERVICE_S
    }

    /// The mean wait of M/M/c in service times: Erlang's C formula.
    fn by_erlang(servers: u32, utilisation: f64) -> f64 {
        let offered = utilisation * f64::from(servers);
        // Erlang's B formula, by its recursion.
        let blocked = (1..=servers).fold(1.0, |blocked, server| {
            let above = offered * blocked;
            above / (f64::from(server) + above)
        });
        let waits = blocked / (1.0 - utilisation * (1.0 - blocked));
        waits / (f64::from(servers) * (1.0 - utilisation))
    }

    #[test]
    fn the_formula_is_known_where_it_can_be_told_by_hand() {
        // One server: ρ/(1 − ρ). Two, each used by half: a third of the requests waits.
        assert!((by_erlang(1, 0.8) - 4.0).abs() < 1e-12);
        assert!((by_erlang(2, 0.5) - 1.0 / 3.0).abs() < 1e-12);
    }

    #[test]
    fn exponential_times_wait_as_erlang_says() {
        for servers in [1, 3, 8, 50] {
            for (utilisation, off) in [(0.5, 0.05), (0.8, 0.05), (0.95, 0.2)] {
                let simulated = simulated("exponential:10ms", servers, utilisation);
                let known = by_erlang(servers, utilisation);
                assert!(
                    (simulated - known).abs() < off * known + 1e-4,
                    "{servers} servers, {utilisation} of them used: {simulated} for {known}"
                );
            }
        }
    }

    #[test]
    fn constant_times_wait_as_pollaczek_and_khinchine_say() {
        for (utilisation, off) in [(0.5, 0.05), (0.8, 0.05), (0.95, 0.2)] {
            let simulated = simulated("10ms", 1, utilisation);
            let known = utilisation / (2.0 * (1.0 - utilisation));
            assert!(
                (simulated - known).abs() < off * known,
                "one server, {utilisation} of it used: {simulated} for {known}"
            );
        }
    }

    #[test]
    fn who_comes_first_goes_first_to_whoever_is_free_first() {
        let job = |due, busy| Job { due, busy };
        // Not in the order of their numbers: the last is due second.
        let jobs = [job(0, 10), job(2, 4), job(3, 1), job(1, 5)];
        assert_eq!(response_times(&jobs, 2, 0), [10, 8, 8, 5]);
        assert_eq!(response_times(&jobs, 2, 3), [10, 11, 11, 5], "3 between two jobs");
        assert_eq!(response_times(&jobs, 9, 0), [10, 4, 1, 5], "nobody waits");
    }
}
