//! A host's part of a plan.
//!
//! Connections, rate and number of requests are split by weight. What hosts ask lies apart:
//! requests have numbers of their own, and so have the threads that write.

use load::Plan;
use load::plan::{Arrivals, Share, Until};

/// What a plan's part depends on, of one host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// Its share of the load, beside the others'.
    pub weight: u32,
    /// The processors that it may use.
    pub cpus: Vec<usize>,
}

/// The parts of a plan, in the order of these hosts. Together they are the plan.
///
/// # Errors
/// Why it can't be split, for people.
pub fn split(plan: &Plan, parts: &[Part]) -> Result<Vec<Plan>, String> {
    let weights: Vec<u64> = parts.iter().map(|part| u64::from(part.weight)).collect();
    if weights.is_empty() || weights.contains(&0) {
        return Err("there is no host, or one whose weight is 0".into());
    }
    let connections = apportioned(u64::from(plan.connections), &weights);
    if connections.contains(&0) {
        return Err(format!(
            "{} connections can't be split over {} hosts: give each one at least (-c {})",
            plan.connections,
            parts.len(),
            parts.len()
        ));
    }
    let requests = match plan.until {
        Until::Requests(all) => apportioned(all, &connections),
        Until::Elapsed(_) => Vec::new(),
    };
    let mut first_thread = 0;
    let part_of = |(nth, part): (usize, &Part)| {
        let share = connections[nth] as f64 / f64::from(plan.connections);
        let mut own = Plan {
            connections: connections[nth] as u32,
            cpus: part.cpus.clone(),
            arrivals: match plan.arrivals {
                Arrivals::Closed => Arrivals::Closed,
                Arrivals::Constant(rate) => Arrivals::Constant(rate * share),
                Arrivals::Poisson(rate) => Arrivals::Poisson(rate * share),
            },
            share: Share { host: nth as u32, hosts: parts.len() as u32, first_thread },
            ..plan.clone()
        };
        own.until = match plan.until {
            Until::Elapsed(time) => Until::Elapsed(time),
            // Each key is written by the host that has its number.
            Until::Requests(keys) if plan.is_preload() => Until::Requests(own.share.of(keys)),
            Until::Requests(_) => Until::Requests(requests[nth]),
        };
        first_thread += own.threads_of(&part.cpus) as u32;
        own
    };
    Ok(parts.iter().enumerate().map(part_of).collect())
}

/// So many, split by weight: nobody has a whole one more or less than his due.
fn apportioned(all: u64, weights: &[u64]) -> Vec<u64> {
    let sum: u128 = weights.iter().map(|&weight| u128::from(weight)).sum();
    let due = |upto: u128| (u128::from(all) * upto / sum) as u64;
    let mut before = 0_u128;
    let part = |&weight: &u64| {
        let upto = before + u128::from(weight);
        let part = due(upto) - due(before);
        before = upto;
        part
    };
    weights.iter().map(part).collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use load::outcome::Second;
    use load::plan::Target;
    use load::plan::template::Request;
    use load::{Outcome, simulator};
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn plan() -> Plan {
        let target = Target {
            address: "127.0.0.1:80".parse().unwrap(),
            authority: "x".into(),
            path: "/".into(),
        };
        Plan::new(target, vec![Request::get("/")])
    }

    proptest! {
        /// A part that is lost or given twice is a load that nobody asked for.
        #[test]
        fn the_parts_are_the_whole(
            weights in vec(1..200_u32, 1..9),
            (connections, requests, rate) in (9..10_000_u32, 0..1_000_000_u64, 1.0..1e6_f64),
        ) {
            let parts: Vec<Part> =
                weights.iter().map(|&weight| Part { weight, cpus: vec![0, 1] }).collect();
            let whole = Plan {
                connections,
                until: Until::Requests(requests),
                arrivals: Arrivals::Constant(rate),
                ..plan()
            };
            let Ok(plans) = split(&whole, &parts) else {
                let all = u64::from(weights.iter().sum::<u32>());
                let has_less_than_one = |&it: &u32| u64::from(connections) * u64::from(it) < all;
                prop_assert!(weights.iter().any(has_less_than_one));
                return Ok(());
            };
            prop_assert_eq!(plans.iter().map(|it| it.connections).sum::<u32>(), connections);
            let asked = plans.iter().map(|it| match it.until {
                Until::Requests(requests) => requests,
                Until::Elapsed(_) => 0,
            });
            prop_assert_eq!(asked.sum::<u64>(), requests);
            let rates = plans.iter().map(|it| match it.arrivals {
                Arrivals::Constant(rate) => rate,
                Arrivals::Closed | Arrivals::Poisson(_) => 0.0,
            });
            prop_assert!((rates.sum::<f64>() / rate - 1.0).abs() < 1e-9);
            let mut thread = 0;
            for (nth, part) in plans.iter().enumerate() {
                prop_assert_eq!((part.share.host, part.share.hosts), (nth as u32, plans.len() as u32));
                prop_assert_eq!(part.share.first_thread, thread, "two hosts write as one thread");
                thread += part.connections.min(2);
            }
        }
    }

    #[test]
    fn the_loads_of_2009_are_split_alike() {
        let equal = vec![Part { weight: 1, cpus: vec![0] }; 3];
        for (connections, each) in [(1_002, 334), (5_001, 1_667)] {
            let plans = split(&Plan { connections, ..plan() }, &equal).unwrap();
            assert!(plans.iter().all(|plan| plan.connections == each), "{plans:?}");
            assert!(plans.iter().all(|plan| plan.until == Until::Elapsed(Duration::from_secs(10))));
        }
        let why = split(&Plan { connections: 2, ..plan() }, &equal).unwrap_err();
        assert!(why.contains("-c 3"), "{why}");
    }

    /// Four threads are four threads, on one host or on two: what is seen is the same, and so are
    /// all buckets of all histograms. Else a sum would be another figure than that of one run.
    #[test]
    fn what_two_hosts_see_adds_up_to_what_one_sees_with_their_threads() {
        let of_two_threads = simulator::outcome(None).0;
        // More connections a thread are made at another pace where there are fewer threads.
        let whole = Plan { connections: 4, threads: 4, ..of_two_threads };
        let parts = vec![Part { weight: 1, cpus: vec![0, 1] }; 2];
        let plans = split(&whole, &parts).unwrap();
        let plans: Vec<Plan> = plans.into_iter().map(|it| Plan { threads: 2, ..it }).collect();
        let told = |plans: &[Plan]| {
            let outcomes = simulator::side_by_side(plans).into_iter();
            outcomes.reduce(Outcome::merge).unwrap()
        };
        let (one, two) = (told(std::slice::from_ref(&whole)), told(&plans));
        assert!(one.account.good > 1_000, "nothing was asked: {:?}", one.account);
        assert_eq!(one.threads.len(), two.threads.len());
        assert_eq!(seen(&one), seen(&two));
        let third = told(&plans[..1]);
        assert_ne!(seen(&one), seen(&third), "a host that is missing doesn't show");
    }

    /// All of it but the numbers that requests have, which are of other lengths, what samples of
    /// chance hold, and when and by whom it was seen.
    fn seen(outcome: &Outcome) -> Outcome {
        let second = |it: &Second| Second { bytes: 0, p50: None, p99: None, ..*it };
        Outcome {
            window_began: load::Moment::at(Duration::ZERO),
            bytes_received: 0,
            bytes_sent: 0,
            seconds: outcome.seconds.iter().map(second).collect(),
            sampled_answers: Vec::new(),
            threads: Vec::new(),
            ..outcome.clone()
        }
    }
}
