//! Do the figures fit each other?

use result::evidence::{HostSide, Percentiles, Work};

use super::check::{Check, Load, LoadRule, Scope, TrialSeen, Word};

/// How far two ways to the same number may be apart, for rounding.
const ROUNDING: f64 = 0.005;
/// Share of connections that have to be busy, by Little's law.
const BUSY_SUSPECT: f64 = 0.75;
/// With fewer, it is another load.
const BUSY_INVALID: f64 = 0.5;
/// More than all can't be.
const BUSY_MAX: f64 = 1.05;
/// CPU time that a unit of a program takes at least.
const UNIT_CPU_NS_MIN: f64 = 0.5;
/// A percentile with fewer samples beyond it says little.
const BEYOND_MIN: f64 = 100.0;
/// With fewer answers a connection, requests that began before the window or
/// ended after it weigh too much for Little's law.
const ANSWERS_A_CONNECTION_MIN: f64 = 10.0;

pub(super) const ARITHMETIC: Check = Check {
    id: "arithmetic",
    signal: "The account of requests, of each host as well. Answers against rate × time, and against the sum of the seconds. The order of percentiles. In a closed loop Little's law: connections = rate × mean time. Where each connection serves one request, the wait for the connection is a part of that time. Of programs: the units that they count, and the CPU time that they used meanwhile.",
    threshold: "the account conserved; counts equal within 0.5 %; percentiles rising, between smallest and largest; each with 100 samples beyond it; by Little's law 75 to 105 % of connections busy, invalid outside of 50 to 105 %, where the longest answer's share of the window is allowed for; of programs at least half a nanosecond of CPU time a unit",
    why: "These rules hold for every true measurement. Where one doesn't hold, something was lost, counted twice or timed wrongly. In a closed loop every connection waits for the server all the time, except for the client's own work between an answer and the next request. If that work takes a quarter of the time, the server has fewer requests at once than the load's name says. Requests that reach over the window's edges blur the rule by the longest answer's share of the window. Half a nanosecond is one or two instructions: no unit of any work takes less.",
    fix: "Give the client more cores, so that connections don't wait for it. If nothing is busy, report it with the run's folder: the generator is wrong.",
    scope: Scope::Trial(|seen, work| {
        if seen.kind.is_asked() {
            return seen.under_load(|load| RULES.iter().find_map(|rule| rule(seen, load)));
        }
        Some(of_a_program(seen, work))
    }),
};

/// Whether a program can have done as much as it counts.
fn of_a_program(seen: &TrialSeen, work: &Work) -> Word {
    let Some(cpu_s) = seen.evidence.contender_cpu_s() else {
        return Word::not_checked("The CPU time that it used is not known.");
    };
    let a_unit_ns = cpu_s * 1e9 / work.done.max(1) as f64;
    let value = format!("{a_unit_ns:.3} ns of CPU time a unit");
    let word = if a_unit_ns < UNIT_CPU_NS_MIN {
        Word::invalid(value, "It counts more work than its CPU time allows.")
    } else {
        Word::valid(value, "Its CPU time allows for the work that it counts.")
    };
    word.against("at least half a nanosecond of CPU time a unit")
}

/// The first that speaks is the word.
const RULES: [LoadRule; 4] = [contradiction, of_an_open_loop, too_few_answers, littles_law];

const ACCOUNT: &str = "the account conserved; counts equal within 0.5 %; percentiles rising, between smallest and largest; each with 100 samples beyond it";

fn contradiction(seen: &TrialSeen, load: &Load) -> Option<Word> {
    let of_hosts = || load.client.hosts.iter().find_map(fault_of_host);
    let fault = fault_in_counts(seen, load).or_else(of_hosts).or_else(|| fault_in_times(load))?;
    Some(Word::invalid("contradiction", fault).against("none"))
}

fn of_an_open_loop(seen: &TrialSeen, _: &Load) -> Option<Word> {
    let says = "Counts and percentiles agree. Little's law says nothing of an open loop, whose \
                connections may be idle.";
    seen.is_open_loop().then(|| Word::valid("consistent", says).against(ACCOUNT))
}

fn too_few_answers(seen: &TrialSeen, load: &Load) -> Option<Word> {
    let connections = connections(seen, load);
    let are_few =
        connections == 0.0 || (load.client.good as f64) < ANSWERS_A_CONNECTION_MIN * connections;
    let says = "Counts and percentiles fit each other, but with fewer than ten answers a \
                connection Little's law couldn't be asked: whether all connections were busy \
                is not known.";
    let advice = "Measure for longer, or with fewer connections.";
    are_few.then(|| Word::not_checked(says).advise(advice))
}

fn littles_law(seen: &TrialSeen, load: &Load) -> Option<Word> {
    let connections = connections(seen, load);
    let times = &load.work.response_us;
    let Some((mean_us, max_us)) = times.mean.zip(times.max) else {
        return Some(Word::not_checked("No answer came, so there are no times."));
    };
    let busy = load.work.rate * mean_us / 1e6;
    let edges = max_us / 1e6 / load.work.seconds;
    let (least, most) = (busy / connections - edges, busy / connections + edges);
    // Each error may have kept a connection from answers for the whole window.
    let most_without_errors = most + errors(load) as f64 / connections;
    let value = format!("{busy:.0} of {connections} connections busy");
    let word = if least > BUSY_MAX {
        Word::invalid(value, "More connections were busy than there were: times are too long.")
    } else if most_without_errors < BUSY_SUSPECT && load.client.answers_a_connection.0 == 0 {
        Word::not_checked(format!(
            "Answers kept {value}. Some requests had no answer, so Little's law can't tell \
             whether the other connections waited for the client or for those."
        ))
    } else if most_without_errors < BUSY_INVALID {
        Word::invalid(value, "Most connections waited for the client: this is another load.")
    } else if most_without_errors < BUSY_SUSPECT {
        Word::suspect(value, "Many connections waited for the client, not for the server.")
    } else if most < BUSY_SUSPECT {
        Word::not_checked(format!(
            "Answers kept {value}. Some requests ended in errors, so Little's law can't tell \
             whether the other connections waited for the client or for those."
        ))
    } else {
        Word::valid(value, "Rate, times and connections fit each other.")
    };
    Some(word.against("75 to 105 %, invalid outside of 50 to 105 %"))
}

/// The connections that are to be busy.
fn connections(seen: &TrialSeen, load: &Load) -> f64 {
    f64::from(if seen.slot.setting.kept() {
        load.client.connections_established
    } else {
        load.client.connections_asked
    })
}

/// Requests that ended in an error.
fn errors(load: &Load) -> u64 {
    load.work.errors.iter().map(|error| error.count).sum()
}

fn fault_in_counts(seen: &TrialSeen, load: &Load) -> Option<String> {
    let errors = errors(load);
    let (requests, answers) =
        (seen.either("requests", "deliveries"), seen.either("answers", "deliveries"));
    let came = seen.either("had a good answer", "came");
    if load.client.scheduled != load.client.sent + load.client.shed {
        return Some(format!(
            "{} {requests} were scheduled, but {} sent and {} shed.",
            load.client.scheduled, load.client.sent, load.client.shed
        ));
    }
    if load.client.sent != load.client.good + errors + load.client.in_flight {
        return Some(format!(
            "{} {requests} were sent, but {} good, {errors} errors and {} in flight.",
            load.client.sent, load.client.good, load.client.in_flight
        ));
    }
    let timed = load.work.service_us.count - load.work.service_us.censored;
    if timed != load.client.good {
        return Some(format!(
            "{} {requests} {came}, but the seconds have the times of {timed}.",
            load.client.good
        ));
    }
    let by_rate = load.work.rate * load.work.seconds;
    if differ(by_rate, load.work.done as f64) {
        return Some(format!(
            "Rate × time is {by_rate:.0}, but {} {answers} were counted.",
            load.work.done
        ));
    }
    let by_second: u64 = load.work.per_second.iter().map(|second| second.good).sum();
    if !load.work.per_second.is_empty() && differ(by_second as f64, load.work.done as f64) {
        return Some(format!(
            "The seconds have {by_second} {answers} together, the window {}.",
            load.work.done
        ));
    }
    None
}

/// What a host's own account contradicts.
fn fault_of_host(host: &HostSide) -> Option<String> {
    let (name, side, errors) = (&host.name, &host.side, host.errors);
    let is_lost = host.lost.is_some();
    let is_conserved =
        side.scheduled == side.sent + side.shed && side.sent == side.good + errors + side.in_flight;
    (!is_lost && !is_conserved).then(|| {
        format!(
            "Of host {name} {} requests were scheduled, {} sent and {} shed; {} good, {errors} \
             errors and {} in flight.",
            side.scheduled, side.sent, side.shed, side.good, side.in_flight
        )
    })
}

fn differ(a: f64, b: f64) -> bool {
    (a - b).abs() > ROUNDING * a.max(b) + 1.0
}

fn fault_in_times(load: &Load) -> Option<String> {
    let named = [("response", &load.work.response_us), ("service", &load.work.service_us)];
    let lateness = load.client.lateness_us.iter().map(|lateness| ("lateness", lateness));
    named.into_iter().chain(lateness).find_map(|(name, times)| {
        fault_in(times).map(|fault| format!("In the {name} times, {fault}."))
    })
}

fn fault_in(times: &Percentiles) -> Option<&'static str> {
    let (min, mean, max) = (times.min?, times.mean?, times.max?);
    // A histogram of three digits gives its values within 0.1 %.
    let above = |a: f64, b: f64| a > b * (1.0 + ROUNDING);
    let values: Vec<f64> = times.at.iter().map(|one| one.value).collect();
    let too_far = times
        .at
        .iter()
        .any(|one| times.count as f64 * (1.0 - one.percentile / 100.0) < BEYOND_MIN * 0.999);
    if values.windows(2).any(|pair| pair[0] > pair[1]) {
        Some("a higher percentile has a smaller value")
    } else if above(min, mean) || above(mean, max) {
        Some("the mean doesn't lie between smallest and largest")
    } else if values.iter().any(|&value| above(value, max) || above(min, value)) {
        Some("a percentile doesn't lie between smallest and largest")
    } else if too_far {
        Some("a percentile is shown with fewer than 100 samples beyond it")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use result::evidence::ErrorKind;
    use result::finding::Verdict;
    use result::kind::Kind;

    use super::super::sound::{
        LoadOf, at_half_of_its_maximum, load_of, of_one_request_each, on_hosts, sound, word_after,
        word_after_load, word_if, word_on,
    };
    use super::*;

    fn with(change: impl FnOnce(&mut LoadOf)) -> (Verdict, String) {
        let word = word_after_load(&ARITHMETIC, change);
        (word.verdict, word.says)
    }

    #[test]
    fn a_request_lost_or_counted_twice_makes_the_figures_invalid() {
        for change in [
            |load: &mut LoadOf| load.client.in_flight += 1,
            |load: &mut LoadOf| load.client.sent += 1,
            |load: &mut LoadOf| load.client.shed = 1,
            |load: &mut LoadOf| load.work.service_us.count -= 1,
            |load: &mut LoadOf| load.work.rate *= 1.01,
            |load: &mut LoadOf| load.work.per_second[0].good = 0,
        ] {
            let (verdict, says) = with(change);
            assert_eq!(verdict, Verdict::Invalid, "{says}");
        }
    }

    /// One that prints whatever it likes while it sleeps.
    #[test]
    fn a_program_that_counts_more_than_its_cpu_time_allows_is_found() {
        let (slot, mut evidence) = sound();
        let mut word = |done, cpu_s| {
            evidence.work.as_mut().unwrap().done = done;
            evidence.server_cpu_s = cpu_s;
            let word = word_if(Kind::Program, &ARITHMETIC, &slot, &evidence).unwrap();
            (word.verdict, word.value)
        };
        let second = Some(1.0);
        assert_eq!(
            word(100_000_000, second),
            (Verdict::Valid, "10.000 ns of CPU time a unit".into())
        );
        assert_eq!(word(100_000_000, Some(0.04)).0, Verdict::Invalid);
        assert_eq!(word(0, second).0, Verdict::Valid, "who did nothing counts nothing");
        assert_eq!(word(1, None).0, Verdict::NotChecked);
    }

    #[test]
    fn times_that_contradict_each_other_make_the_figures_invalid() {
        for change in [
            |load: &mut LoadOf| load.work.service_us.at[0].value = 5_000.0,
            |load: &mut LoadOf| load.work.service_us.mean = Some(10_000.0),
            |load: &mut LoadOf| load.work.response_us.max = Some(5_000.0),
            |load: &mut LoadOf| load.work.response_us.at[2].percentile = 99.99,
        ] {
            let (verdict, says) = with(change);
            assert_eq!(verdict, Verdict::Invalid, "{says}");
            assert!(says.starts_with("In the "), "{says}");
        }
    }

    #[test]
    fn littles_law_tells_when_connections_wait_for_the_client() {
        let mean = |factor: f64| with(|load| load.work.response_us.mean = Some(2_000.0 * factor)).0;
        assert_eq!(mean(0.8), Verdict::Valid);
        assert_eq!(mean(0.7), Verdict::Suspect);
        assert_eq!(mean(0.4), Verdict::Invalid);
        assert_eq!(mean(1.2), Verdict::Invalid, "more are busy than there are");
    }

    /// Requests of the warm-up that have no answer yet are in no time of the window.
    #[test]
    fn connections_without_an_answer_are_not_held_against_the_client() {
        let (verdict, says) = with(|load| {
            load.work.response_us.mean = Some(800.0);
            load.client.answers_a_connection.0 = 0;
        });
        assert_eq!(verdict, Verdict::NotChecked, "{says}");
    }

    #[test]
    fn an_answer_as_long_as_the_window_is_no_contradiction() {
        let (verdict, says) = with(|load| {
            load.work.response_us.mean = Some(2_600.0);
            load.work.response_us.max = Some(4e6);
        });
        assert_eq!(verdict, Verdict::Valid, "{says}");
    }

    #[test]
    fn a_few_errors_dont_keep_littles_law_from_being_asked() {
        let with = |count: u64, factor: f64| {
            with(|load| {
                load.work.errors = vec![ErrorKind { count, ..ErrorKind::default() }];
                load.client.scheduled += count;
                load.client.sent += count;
                load.work.response_us.mean = Some(2_000.0 * factor);
            })
        };
        assert_eq!(with(1, 1.0).0, Verdict::Valid);
        assert_eq!(with(1, 0.7).0, Verdict::Suspect);
        assert_eq!(with(1, 0.4).0, Verdict::Invalid);
        assert_eq!(with(100, 1.0).0, Verdict::Valid, "all were busy with answers");
        assert_eq!(with(20, 0.4).0, Verdict::Suspect, "20 connections more aren't enough");
        let (verdict, says) = with(40, 0.4);
        assert_eq!(verdict, Verdict::NotChecked, "40 may have been busy with errors");
        assert!(says.contains("Answers kept 40 of 100 connections busy"), "{says}");
    }

    #[test]
    fn with_few_answers_a_connection_littles_law_is_not_checked() {
        let (verdict, says) = with(|load| load.client.connections_established = 20_001);
        assert_eq!(verdict, Verdict::NotChecked);
        assert!(says.contains("Little's law couldn't be asked"), "{says}");
        let (verdict, _) = with(|load| load.client.connections_established = 0);
        assert_eq!(verdict, Verdict::NotChecked);
    }

    #[test]
    fn littles_law_is_not_asked_of_an_open_loop_whose_connections_may_be_idle() {
        let (slot, evidence) = at_half_of_its_maximum();
        let word = word_on(&ARITHMETIC, &slot, &evidence);
        assert_eq!(word.verdict, Verdict::Valid);
        assert_eq!(word.value, "consistent");
        assert!(word.says.contains("says nothing of an open loop"), "{}", word.says);
    }

    #[test]
    fn a_connection_of_one_request_is_at_work_while_it_is_made() {
        let (slot, mut evidence) = of_one_request_each();
        assert_eq!(word_on(&ARITHMETIC, &slot, &evidence).value, "100 of 100 connections busy");
        let load = load_of(&mut evidence);
        load.work.response_us = load.work.service_us.clone();
        assert_eq!(word_on(&ARITHMETIC, &slot, &evidence).value, "50 of 100 connections busy");
    }

    /// Else two hosts' faults could cancel each other out in the sum.
    #[test]
    fn each_of_several_hosts_has_an_account_of_its_own() {
        let with = |change: fn(&mut [HostSide])| {
            word_after(&ARITHMETIC, |evidence| {
                on_hosts(evidence, 4);
                change(&mut evidence.clients[0].hosts);
            })
        };
        assert_eq!(with(|_| {}).verdict, Verdict::Valid);
        let word = with(|hosts| {
            hosts[0].side.good -= 1;
            hosts[1].side.good += 1;
        });
        assert_eq!(word.verdict, Verdict::Invalid);
        assert!(word.says.starts_with("Of host c1 50000 requests were scheduled"), "{}", word.says);
    }
}
