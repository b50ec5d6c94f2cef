//! Were an open loop's requests sent when they were due?

use result::evidence::{ClientSide, Percentiles};

use super::check::{Check, Load, Scope, TrialSeen, Word, percent};

/// The 99th percentile of lateness, as a share of that of response time, from
/// which on the generator shows in the latency.
const SHARE_MAX: f64 = 0.1;
/// Lateness below this, in µs, is a processor's wake-up: no generator that sleeps
/// between requests is rid of it. `bakeoff load` warns from here on as well.
const MIN_US: f64 = 1_000.0;

pub(super) const LATENESS: Check = Check {
    id: "lateness",
    signal: "In an open loop: how late requests were sent although connections were free, at the 99th percentile. Beside it, the share of the time in which the client's thread was ready to run and others had its processor. Of a load from several hosts: the latest host. Of robots in rooms: how late they spoke.",
    threshold: "99 % of requests sent within 1 ms of when they were due and a connection was free, or within a tenth of the 99th percentile of response time",
    why: "A request that was sent late has waited in the client, and its response time has that wait. There are two exceptions. A request that found every connection taken waited for the server. And a processor takes some time to wake up. If something has the client's processor for 10 ms in a second, a hundredth of that second's requests are late. A machine's own service that wakes up once a second was seen to do that. So lateness counts as a moment of the machine, unless half of the blocks have it.",
    fix: "Stop what else runs on the client's processors, give the client more of them, or offer a lower rate. Percentiles from the 99th on are as much the client's as the contender's.",
    scope: Scope::Moment(|seen, _| {
        seen.under_load(|load| seen.is_open_loop().then(|| look(seen, load)))
    }),
};

fn look(seen: &TrialSeen, load: &Load) -> Word {
    let response = p99(&load.work.response_us);
    let late_us = |side: &ClientSide| {
        if seen.kind.passes_on() {
            // A robot waits for no connection, and messages are fewer than deliveries.
            p99_of_few(side.lateness_us.as_ref()?)
        } else {
            late_us(side)
        }
    };
    let late = sides(load.client).map(|(host, side)| Some((late_us(side)?, host, side)));
    let late: Option<Vec<(f64, Option<&str>, &ClientSide)>> = late.collect();
    let latest = late.and_then(|all| all.into_iter().max_by(|a, b| a.0.total_cmp(&b.0)));
    let Some(((late, host, side), response)) = latest.zip(response) else {
        return Word::not_checked(seen.either(
            "It can't be told how late requests were sent.",
            "It can't be told how late robots spoke.",
        ));
    };
    let most = |shares: &[f64]| shares.iter().copied().reduce(f64::max);
    let host = host.map_or(String::new(), |name| format!("host {name}: "));
    let value = match side.run_delay_share.as_deref().and_then(most) {
        Some(share) => {
            format!("{host}{late:.0} µs late, waiting for a processor {}", percent(share))
        }
        None => format!("{host}{late:.0} µs late"),
    };
    if late < MIN_US || late < SHARE_MAX * response {
        let says =
            seen.either("Requests were sent when they were due.", "Robots spoke in their turns.");
        Word::valid(value, says)
    } else {
        let says = seen.either(
            "The client's own delay is a part of the response times.",
            "The client's own delay is a part of the times of delivery.",
        );
        Word::suspect(value, says)
    }
}

/// A client's side, or that of each host that it is the sum of, with its name.
fn sides(client: &ClientSide) -> impl Iterator<Item = (Option<&str>, &ClientSide)> {
    let alone = client.hosts.is_empty().then_some((None, client));
    let there = client.hosts.iter().filter(|host| host.lost.is_none());
    alone.into_iter().chain(there.map(|host| (Some(&*host.name), &host.side)))
}

/// The 99th percentile of lateness that isn't the contender's, in µs; `None` if it isn't known.
fn late_us(client: &ClientSide) -> Option<f64> {
    let lateness = p99(client.lateness_us.as_ref()?)?;
    let waited = p99(client.connection_wait_us.as_ref()?)?;
    Some((lateness - waited).max(0.0))
}

/// The same, also of so few times that they have no percentile to be told.
fn p99_of_few(times: &Percentiles) -> Option<f64> {
    let few = || histogram::text::decode(&times.histogram).filter(|times| !times.is_empty());
    p99(times).or_else(|| Some(few()?.value_at_quantile(0.99) as f64 / 1_000.0))
}

fn p99(times: &Percentiles) -> Option<f64> {
    times.at.iter().find(|one| one.percentile == 99.0).map(|one| one.value)
}

#[cfg(test)]
mod tests {
    use result::finding::Verdict;

    use super::super::sound::{
        LoadOf, at_half_of_its_maximum, histogram, load_of, on_hosts, sound, word_if_any,
        word_of_a_gateway, word_on,
    };
    use super::*;

    /// The word on 99 % of requests sent within so many µs, after 99 % waited within
    /// so many for a connection, where 99 % of response times are within 1,000 µs.
    fn late_by(late_us: f64, waited_us: f64) -> Verdict {
        let (slot, mut evidence) = at_half_of_its_maximum();
        let load = load_of(&mut evidence);
        load.client.lateness_us.as_mut().unwrap().at[1].value = late_us;
        load.client.connection_wait_us.as_mut().unwrap().at[1].value = waited_us;
        word_on(&LATENESS, &slot, &evidence).verdict
    }

    #[test]
    fn a_late_client_casts_doubt_on_response_times() {
        assert_eq!(late_by(900.0, 0.0), Verdict::Valid, "waking up may take as long");
        assert_eq!(late_by(1_100.0, 0.0), Verdict::Suspect);
    }

    #[test]
    fn who_waits_for_a_connection_is_not_late_by_the_clients_fault() {
        assert_eq!(late_by(5_000.0, 4_900.0), Verdict::Valid);
        assert_eq!(late_by(5_000.0, 3_000.0), Verdict::Suspect);
    }

    #[test]
    fn lateness_that_is_small_beside_the_response_is_no_matter() {
        let (slot, mut evidence) = at_half_of_its_maximum();
        let load = load_of(&mut evidence);
        load.client.lateness_us.as_mut().unwrap().at[1].value = 1_100.0;
        load.work.response_us.at[1].value = 20_000.0;
        let word = word_on(&LATENESS, &slot, &evidence);
        assert_eq!(word.verdict, Verdict::Valid);
    }

    #[test]
    fn unknown_lateness_is_not_checked() {
        let without = |change: fn(&mut LoadOf)| {
            let (slot, mut evidence) = at_half_of_its_maximum();
            change(&mut load_of(&mut evidence));
            word_on(&LATENESS, &slot, &evidence).verdict
        };
        assert_eq!(without(|load| load.client.lateness_us = None), Verdict::NotChecked);
        assert_eq!(without(|load| load.client.connection_wait_us = None), Verdict::NotChecked);
    }

    #[test]
    fn who_had_the_clients_processor_is_told_beside_it() {
        let (slot, mut evidence) = at_half_of_its_maximum();
        let load = load_of(&mut evidence);
        load.client.run_delay_share = Some(vec![0.001, 0.012]);
        load.client.lateness_us.as_mut().unwrap().at[1].value = 2_000.0;
        let word = word_on(&LATENESS, &slot, &evidence);
        assert_eq!(word.value, "2000 µs late, waiting for a processor 1.2 %");
    }

    /// A room of thousands has a hundred messages in a window, and as many times.
    #[test]
    fn robots_that_speak_late_are_seen_by_a_few_messages() {
        let with = |late_us: u64| {
            let word = word_of_a_gateway(&LATENESS, |evidence| {
                let lateness = evidence.clients[0].lateness_us.as_mut().unwrap();
                lateness.at.clear();
                lateness.histogram = histogram(&[(10, 90), (late_us, 10)]);
            });
            (word.verdict, word.says)
        };
        assert_eq!(with(500), (Verdict::Valid, "Robots spoke in their turns.".into()));
        assert_eq!(with(5_000).0, Verdict::Suspect);
    }

    #[test]
    fn a_closed_loop_is_never_late() {
        let (slot, evidence) = sound();
        assert_eq!(word_if_any(&LATENESS, &slot, &evidence), None);
    }

    /// Else a late host would hide behind those that were in time.
    #[test]
    fn of_several_hosts_the_latest_is_looked_at_and_named() {
        let (slot, mut evidence) = at_half_of_its_maximum();
        on_hosts(&mut evidence, 4);
        assert_eq!(word_on(&LATENESS, &slot, &evidence).verdict, Verdict::Valid);
        let side = &mut evidence.clients[0].hosts[2].side;
        side.lateness_us.as_mut().unwrap().at[1].value = 2_000.0;
        let word = word_on(&LATENESS, &slot, &evidence);
        assert_eq!(word.verdict, Verdict::Suspect);
        assert!(word.value.starts_with("host c3: 2000 µs late"), "{}", word.value);
    }
}
