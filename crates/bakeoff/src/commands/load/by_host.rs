//! What each host saw, as people read it.

use std::time::Duration;

use histogram::reading::{Reading, Statistic, read};
use histogram::{Histogram, Latency};
use hosts::seen::{Concern, HostSeen};
use load::Outcome;
use report::text::visible;
use report::units;

use super::run::rate;
use super::table::{aligned, table as empty_table};
use super::words;

/// A line a host, and one of all; `None` where this process offered the load.
pub fn table(hosts: &[HostSeen], all: &Outcome) -> Option<String> {
    if hosts.is_empty() {
        return None;
    }
    let mut table = empty_table();
    table.set_header([
        "host",
        "connections",
        "answers",
        "p50",
        "p99",
        "busy",
        "seen late p99",
        "SYN again",
        "",
    ]);
    for host in hosts {
        let connections = units::whole(host.plan.connections.into());
        let figures = host.outcome.as_ref().map_or_else(Default::default, figures);
        let remark = host.lost.as_ref().map_or("", |_| "lost");
        table.add_row(row(&host.name, connections, figures, remark));
    }
    let connections = hosts.iter().map(|host| u64::from(host.plan.connections)).sum();
    table.add_row(row("all", units::whole(connections), figures(all), ""));
    Some(format!("{}\n{}", clocks(hosts), aligned(table, 1..8)))
}

fn row(name: &str, connections: String, figures: [String; 6], remark: &str) -> Vec<String> {
    let ends = [name.to_string(), connections];
    ends.into_iter().chain(figures).chain([remark.to_string()]).collect()
}

/// Rate, median, 99th percentile, the busiest thread, how late answers were seen, and SYNs that
/// were sent again.
fn figures(outcome: &Outcome) -> [String; 6] {
    let percentile = |of: &Latency, percentile| match read(of, Statistic::Percentile(percentile)) {
        Reading::TooFewSamples { .. } => units::NOTHING.to_string(),
        Reading::Value(value) => {
            let bound = if value.at_least { "≥ " } else { "" };
            format!("{bound}{}", units::time(value.nanoseconds as f64 / 1e3))
        }
    };
    let late = Latency {
        good: outcome.seen_late.clone(),
        censored: Histogram::new_from(&outcome.seen_late),
    };
    [
        rate(outcome.rate()),
        percentile(&outcome.response, 50.0),
        percentile(&outcome.response, 99.0),
        units::percent(busiest(outcome)),
        percentile(&late, 99.0),
        units::whole(outcome.connections.syn_retransmits),
    ]
}

/// The share of the time for which the busiest thread had its processor.
pub fn busiest(outcome: &Outcome) -> f64 {
    outcome.threads.iter().map(|thread| thread.busy_share).fold(0.0, f64::max)
}

/// How well the hosts' clocks are known.
fn clocks(hosts: &[HostSeen]) -> String {
    let most = |of: fn(&HostSeen) -> Duration| hosts.iter().map(of).max().unwrap_or_default();
    let drift = |host: &HostSeen| Duration::from_nanos(host.drift_ns.unwrap_or(0).unsigned_abs());
    format!(
        "{} · clocks known within {}, drift {} · began within {}",
        units::of(hosts.len() as u64, "host"),
        time(most(|host| host.clock.bound())),
        time(most(drift)),
        time(most(|host| host.start_late)),
    )
}

/// What is to be known of hosts, in whole sentences with advice. Parts may be a host's words.
pub fn sentences(concern: &Concern) -> String {
    match concern {
        Concern::Lost { host, why } => format!(
            "Host {host} was lost: {}. The others were stopped then. The load was not what was \
             asked for, so that no figure of it is valid.",
            visible(why)
        ),
        Concern::Apart { host, by, window } => format!(
            "The clock of host {host} may be {} off, in a window of {}. Its answers may be counted \
             at another time than the others'. Measure for longer (-d).",
            time(*by),
            time(*window)
        ),
        Concern::StartLate { host, by } => format!(
            "Host {host} began {} late: until then the load was less than asked for. Its machine \
             is busy, or what leads there is slow.",
            time(*by)
        ),
        Concern::OfHost { host, warning } => format!("Host {host}: {}", words::sentences(warning)),
        Concern::UnequallyFar { near, far } => format!(
            "The hosts aren't equally far from the server: the fastest answer took {} to {} and {} \
             to {}. The percentiles of all are of several networks.",
            time(near.1),
            near.0,
            time(far.1),
            far.0
        ),
        Concern::Slower { host, share } => format!(
            "Host {host} had {} of another host's answers a connection: its link or its machine is \
             the limit of its part. The server can do more than the sum.",
            units::percent(*share)
        ),
        Concern::FewConnections { connections } => format!(
            "A host has only {connections} connections. Hosts share no queue: requests may wait on \
             one while another has connections free. Give more connections (-c)."
        ),
    }
}

fn time(time: Duration) -> String {
    units::time(time.as_secs_f64() * 1e6)
}

#[cfg(test)]
mod tests {
    use super::super::run::tests::{histogram, of_hosts};
    use super::super::summary;
    use super::sentences;
    use hosts::seen::Together;

    /// Else a lost host would stand in a table beside a sum that looks whole.
    #[test]
    fn a_run_of_hosts_tells_each_and_who_was_lost() {
        insta::assert_snapshot!(summary::text(&of_hosts()));
    }
    /// Else the percentiles of all would pass for those of one network.
    #[test]
    fn hosts_that_are_not_equally_far_are_named() {
        let run = of_hosts();
        let concerns_at = |us| {
            let (mut hosts, mut far) = (run.hosts.clone(), run.outcome.clone());
            far.service.good = histogram([(us, 312_000)]);
            (hosts[1].outcome, hosts[1].lost) = (Some(far), None);
            Together { outcome: run.outcome.clone(), hosts }.concerns()
        };
        assert_eq!(concerns_at(90), []);
        let told: Vec<String> = concerns_at(5_000).iter().map(sentences).collect();
        assert!(told[0].contains("c1 and 5") && told[0].contains("to c2"), "{told:?}");
    }
}
