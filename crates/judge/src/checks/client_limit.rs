//! Was the client the limit?

use result::evidence::{ClientSide, Evidence, SecondClient};
use result::finding::Verdict::{self, Invalid, Suspect};
use result::plan::{Pace, Slot};

use super::check::{Check, Load, Scope, TrialSeen, Word, percent};
use super::{quiet_machine, server_cores};

/// Share of the time that a client thread was busy, or waited for a processor, from
/// which on it may be the limit.
const BUSY_SUSPECT: f64 = 0.85;
/// From here on it is.
const BUSY_INVALID: f64 = 0.97;
/// Share of its cores below which the contender waited for something: for a client
/// near its limit, if there is one.
const SERVER_IDLE: f64 = 0.85;
/// A rise of the rate with a second client from which on the first was the limit.
/// Of 36 identical pairs within a block on a shared machine, half were less than 6 %
/// apart and one 28 %: a single word may be chance. So *valid* counts for a row only
/// if every block says so, which a client at its limit doesn't bring about.
const RISE: f64 = 0.05;

/// Where it speaks, a rate is a lower bound.
pub const CLIENT_LIMIT: Check = Check {
    id: "client-limit",
    signal: "CPU time by wall time of the client's threads and of the contender's cores, with interrupts where the kernel counts them apart. How long each thread was ready to run and waited for a processor. If the client has more threads than processors: also the CPU time of all threads by that of their processors. If the client is near its limit in a closed loop: the rate of the same trial with a second client, on a core that nobody else has. Of a load from several hosts: the busiest host.",
    threshold: "busy or waiting for a processor less than 85 % of the time, invalid from 97 %, or where the contender's cores are then less busy than 85 %; or a rate that a second client raises by less than 5 %",
    why: "A client that is always busy measures itself. In 2009 ApacheBench was the bottleneck at 1,000 and 5,000 connections, and servers that differed looked alike. From 85 % on, requests wait for the client now and then, and the rate is a lower bound. If the server had time to spare meanwhile, the server waited for the client. Time that others or the host may have taken from the contender's cores counts as busy, since it isn't waiting. A client that shares its processor, or has a part of one, is held up all the time, and its CPU time alone looks idle. Threads that share a lock take turns: each looks idle, and together they fill their processor. If a second client doesn't raise the rate, the server was the limit all the same: a rate that only the client holds back rises with each core that the client gets. Identical trials differ by some per cent, too. So a row is cleared only if every block says so.",
    fix: "Give the client more cores or machines of its own, or the server fewer; the rate is shown with ≥.",
    scope: Scope::Trial(|seen, _| seen.under_load(|load| Some(look(seen, load)))),
};

fn look(seen: &TrialSeen, load: &Load) -> Word {
    if seen.evidence.place.shared() {
        return Word::not_checked(
            "Client and server share cores, so the client's CPU time tells nothing.",
        )
        .advise("Use a machine on which both have cores of their own, or one core (`--cores 1`).");
    }
    let cpus = seen.evidence.place.client_cpus.len();
    let parts = parts_of(load.client, cpus);
    let Some(part) = parts.max_by(|a, b| a.taken().total_cmp(&b.taken())) else {
        return Word::not_checked("The client's CPU time is not known.");
    };
    // In an open loop a server waits for requests that aren't due yet.
    let server = server_share(seen).filter(|_| !seen.is_open_loop());
    let is_idle = server.is_some_and(|share| share + taken_share(seen) < SERVER_IDLE);
    let Some((verdict, says)) = Client::of(&part).doubt(is_idle) else { return at_ease(&part) };
    let of_server = server.map(|share| format!(", the contender {}", percent(share)));
    let value = part.value() + &of_server.unwrap_or_default();
    let word = match &seen.evidence.second_client {
        None => Word::new(verdict, value, says).against(BUSY),
        Some(second) => second_client(load, second, (verdict, says), value),
    };
    // A closed loop's rate is a lower bound then, and such a one is never placed below another:
    // no order rests on how much more it is.
    if seen.is_open_loop() { word } else { word.off_by(1.0) }
}

/// How far a client was from its limit, by its busiest part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Client {
    Spare,
    Near,
    AtLimit,
}

impl Client {
    fn of(part: &Part) -> Client {
        match part.taken() {
            taken if taken >= BUSY_INVALID => Client::AtLimit,
            taken if taken >= BUSY_SUSPECT => Client::Near,
            _ => Client::Spare,
        }
    }

    /// What it says against a rate, where the server had time to spare or not.
    fn doubt(self, server_is_idle: bool) -> Option<(Verdict, &'static str)> {
        let (verdict, says) = match (self, server_is_idle) {
            (Client::Spare, _) => return None,
            (Client::Near, false) => {
                (Suspect, "The client was near its limit: the server may be able to do more.")
            }
            (Client::Near, true) => (
                Invalid,
                "The client was the limit: it was nearly always busy, and the server waited for it.",
            ),
            (Client::AtLimit, false) => {
                (Invalid, "The client was at its limit: what the server can do isn't known.")
            }
            (Client::AtLimit, true) => {
                (Invalid, "The client was the limit: the server can do more.")
            }
        };
        Some((verdict, says))
    }
}

/// The word on a client that had time to spare, if that is known.
fn at_ease(part: &Part) -> Word {
    match part.waited {
        Some(_) => Word::valid(part.value(), "The client had time to spare.").against(BUSY),
        None => Word::not_checked(
            "The kernel doesn't tell whether the client's threads waited for a processor.",
        )
        .advise("Use a kernel that counts it (CONFIG_SCHED_INFO, on in Debian's)."),
    }
}

/// The word where a second client was asked for: whether the first, which alone casts this
/// doubt, was the limit.
fn second_client(
    first: &Load,
    second: &SecondClient,
    alone: (Verdict, &str),
    value: String,
) -> Word {
    let (verdict, says) = alone;
    let (both, is_sound) = match second {
        SecondClient::Missing { why } => {
            return Word::new(verdict, value, format!("{says} {why}")).against(BUSY);
        }
        SecondClient::Measured {
            client_cpus,
            rate,
            errors,
            client_busy_share,
            client_run_delay_share,
            others_cores,
            steal_share,
        } => {
            // A single connection takes no second thread.
            let is_more = client_busy_share.len() > first.client.busy_share.len();
            let waited = client_run_delay_share.as_deref();
            let has_time = parts(None, client_busy_share, waited, client_cpus.len())
                .all(|part| Client::of(&part) != Client::AtLimit);
            let is_quiet = others_cores
                .zip(*steal_share)
                .is_some_and(|(others, steal)| !quiet_machine::is_disturbed(others, steal));
            (*rate, *errors == 0 && is_more && has_time && is_quiet)
        }
    };
    // Of nothing there is no share.
    let rise = (first.work.rate > 0.0).then(|| both / first.work.rate - 1.0);
    let rises = rise.map_or(String::new(), |rise| format!(" ({:+.1} %)", rise * 100.0));
    let value = format!(
        "{value}; {:.0} requests a second, {both:.0} with a second client{rises}",
        first.work.rate,
    );
    let gave_more = both > first.work.rate && rise.is_none_or(|rise| rise >= RISE);
    let word = if gave_more {
        let says = "A second client raised the rate: the client was the limit, not the server.";
        Word::new(verdict, value, says)
    } else if !is_sound {
        let says = "The second client decides nothing: it had no connection, met errors or its own limit, or the machine was busy.";
        Word::new(verdict, value, says)
    } else {
        Word::valid(value, "A second client didn't raise the rate: the server was the limit.")
    };
    word.against("less than 85 % busy or waiting, or less than 5 % more with a second client")
}

const BUSY: &str =
    "less than 85 %, invalid from 97 %, or where the contender was less busy than 85 %";

/// What the time of a client's thread went into, or that of the processors of all its threads,
/// as shares of it.
struct Part<'a> {
    /// The host that it is on, where there are several.
    host: Option<&'a str>,
    busy: f64,
    /// Ready to run, while another ran. `None` where the kernel doesn't tell. Of all threads
    /// together it is 0: it is each thread's own.
    waited: Option<f64>,
    /// How many threads it is.
    threads: usize,
}

impl Part<'_> {
    /// The share in which it had no time to spare.
    fn taken(&self) -> f64 {
        self.busy + self.waited.unwrap_or(0.0)
    }

    fn value(&self) -> String {
        let host = self.host.map_or(String::new(), |name| format!("host {name}: "));
        let busy = format!("{host}{} busy", percent(self.busy));
        match self.waited {
            _ if self.threads > 1 => {
                let busy = percent(self.busy);
                format!("{host}{} threads together {busy} busy", self.threads)
            }
            Some(waited) => format!("{busy}, {} waiting for a processor", percent(waited)),
            None => busy,
        }
    }
}

/// All of a client's threads together, on so many processors, and each of them. Threads that
/// take turns, for a lock that they share, have each time to spare, and their processor none.
fn parts<'a>(
    host: Option<&'a str>,
    busy: &[f64],
    waited: Option<&[f64]>,
    cpus: usize,
) -> impl Iterator<Item = Part<'a>> {
    let all = (busy.len() > cpus).then(|| Part {
        host,
        busy: busy.iter().sum::<f64>() / cpus.max(1) as f64,
        waited: waited.map(|_| 0.0),
        threads: busy.len(),
    });
    let waited = move |number: usize| waited?.get(number).copied();
    let shares = busy.iter().enumerate();
    let each =
        shares.map(move |(number, &busy)| Part { host, busy, waited: waited(number), threads: 1 });
    all.into_iter().chain(each)
}

/// Those of a client on so many processors, or of each host that it is the sum of.
fn parts_of(client: &ClientSide, cpus: usize) -> impl Iterator<Item = Part<'_>> {
    let alone = client.hosts.is_empty().then_some((None, client, cpus));
    let of_hosts = client.hosts.iter().map(|host| (Some(&*host.name), &host.side, host.cpus.len()));
    alone.into_iter().chain(of_hosts).flat_map(|(host, side, cpus)| {
        parts(host, &side.busy_share, side.run_delay_share.as_deref(), cpus)
    })
}

/// The share of its cores that the contender used.
pub(super) fn server_share(seen: &TrialSeen) -> Option<f64> {
    let seconds = seen.work()?.seconds;
    let cores = seen.evidence.place.server_cpus.len();
    (seconds > 0.0 && cores > 0)
        .then_some(seen.evidence.contender_cpu_s()? / seconds / cores as f64)
}

/// The share of the contender's cores that others or the host may have had, so that it
/// looks idle and wasn't.
fn taken_share(seen: &TrialSeen) -> f64 {
    let cores = seen.evidence.place.server_cpus.len().max(1);
    server_cores::taken_cores(seen.evidence) / cores as f64
}

/// Whether a thread of the client, or all on its processors, had hardly any time to spare, where
/// that is known.
pub(super) fn is_near(client: &ClientSide, cpus: usize) -> bool {
    parts_of(client, cpus).any(|part| Client::of(&part) != Client::Spare)
}

/// Whether a trial is to be made once more with more client: its client was near
/// its limit, as far as can be told, and the loop is closed, whose rate is what
/// client and server allow. Of hosts there are those that somebody named, and no more.
pub fn asks_for_second_client(slot: &Slot, evidence: &Evidence) -> bool {
    let Some(client) = evidence.clients.first().filter(|it| it.hosts.is_empty()) else {
        return false;
    };
    slot.setting.pace == Pace::Free
        && !evidence.place.shared()
        && is_near(client, evidence.place.client_cpus.len())
}

#[cfg(test)]
mod tests {
    use result::finding::{Finding, Verdict};

    use super::super::sound::{
        at_half_of_its_maximum, load_of, on_hosts, sound, word_after, word_after_load,
        word_of_a_gateway,
    };
    use super::*;

    #[test]
    fn a_busy_client_casts_doubt_and_a_saturated_one_makes_the_figures_invalid() {
        let with = |share| {
            word_after_load(&CLIENT_LIMIT, |load| {
                load.client.busy_share = vec![0.0, share];
                load.client.run_delay_share = Some(vec![0.0; 2]);
            })
        };
        assert_eq!(with(0.849).verdict, Verdict::Valid);
        assert_eq!(with(0.85).verdict, Verdict::Suspect);
        assert_eq!(with(0.97).verdict, Verdict::Invalid);
        let word = with(0.97);
        assert_eq!(word.value, "97.0 % busy, 0.0 % waiting for a processor, the contender 99.0 %");
        assert!(word.says.ends_with("what the server can do isn't known."), "{word:?}");
    }

    /// Else the robots' own processor would be a gateway's times.
    #[test]
    fn busy_robots_cast_doubt_though_their_gateway_has_time_to_spare() {
        let with = |share| {
            word_of_a_gateway(&CLIENT_LIMIT, |evidence| {
                evidence.server_cpu_s = Some(0.4);
                evidence.clients[0].busy_share = vec![share];
            })
            .verdict
        };
        assert_eq!(with(0.8), Verdict::Valid, "a gateway waits for what is said");
        assert_eq!(with(0.9), Verdict::Suspect);
        assert_eq!(with(0.98), Verdict::Invalid);
    }

    #[test]
    fn cores_that_others_may_have_taken_are_no_contender_that_waited() {
        let with = |others_cores: f64| {
            word_after(&CLIENT_LIMIT, |evidence| {
                let load = load_of(evidence);
                let seconds = load.work.seconds;
                load.client.busy_share = vec![0.88];
                load.client.run_delay_share = Some(vec![0.0]);
                evidence.server_cpu_s = Some(0.8 * seconds);
                evidence.others_cpu_s = Some(others_cores * seconds);
            })
            .verdict
        };
        assert_eq!(with(0.02), Verdict::Invalid);
        assert_eq!(with(0.15), Verdict::Suspect, "the client was blamed for the others");
    }

    /// The word on a client that was busy for this share, and waited for another.
    fn waiting(busy: f64, waited: Option<f64>) -> Finding {
        word_after_load(&CLIENT_LIMIT, |load| {
            load.client.busy_share = vec![busy, 0.0];
            load.client.run_delay_share = waited.map(|waited| vec![waited, 0.1]);
        })
    }

    #[test]
    fn a_client_that_waits_for_its_processor_has_no_time_to_spare() {
        let word = waiting(0.25, Some(0.74));
        assert_eq!(word.verdict, Verdict::Invalid);
        assert_eq!(word.value, "25.0 % busy, 74.0 % waiting for a processor, the contender 99.0 %");
        assert_eq!(waiting(0.5, Some(0.36)).verdict, Verdict::Suspect);
        assert_eq!(waiting(0.8, Some(0.04)).verdict, Verdict::Valid, "as on a quiet machine");
    }

    #[test]
    fn where_waiting_is_not_counted_a_busy_client_is_seen_and_an_idle_one_not_checked() {
        assert_eq!(waiting(0.6, None).verdict, Verdict::NotChecked, "it may have waited");
        let word = waiting(0.97, None);
        assert_eq!(
            (word.verdict, &*word.value),
            (Verdict::Invalid, "97.0 % busy, the contender 99.0 %")
        );
    }

    /// As of a pool of 16 whose threads wait for one lock.
    #[test]
    fn threads_that_take_turns_and_fill_their_processor_have_no_time_to_spare() {
        let with = |share: f64, client_cpus: Vec<usize>| {
            word_after(&CLIENT_LIMIT, |evidence| {
                evidence.place.client_cpus = client_cpus;
                let load = load_of(evidence);
                load.client.busy_share = vec![share; 16];
                load.client.run_delay_share = Some(vec![0.01; 16]);
            })
        };
        let word = with(0.06, vec![1]);
        assert_eq!(word.verdict, Verdict::Suspect);
        assert_eq!(word.value, "16 threads together 96.0 % busy, the contender 99.0 %");
        assert_eq!(with(0.062, vec![1]).verdict, Verdict::Invalid);
        assert_eq!(with(0.05, vec![1]).verdict, Verdict::Valid);
        assert_eq!(with(0.06, vec![1, 2]).verdict, Verdict::Valid, "half of both is left");
        let (slot, mut evidence) = sound();
        evidence.clients[0].busy_share = vec![0.06; 16];
        assert!(asks_for_second_client(&slot, &evidence));
    }

    #[test]
    fn a_busy_client_that_leaves_the_server_idle_makes_the_figures_invalid() {
        let with = |client: f64, server_cpu_s: f64| {
            word_after(&CLIENT_LIMIT, |evidence| {
                evidence.server_cpu_s = Some(server_cpu_s);
                evidence.clients[0].busy_share = vec![client];
            })
        };
        let word = with(0.9, 2.0);
        assert_eq!(word.verdict, Verdict::Invalid);
        assert_eq!(word.value, "90.0 % busy, 1.0 % waiting for a processor, the contender 50.0 %");
        assert_eq!(with(0.9, 3.9).verdict, Verdict::Suspect, "both were busy");
        assert!(with(0.99, 2.0).says.ends_with("the server can do more."));
        assert_eq!(with(0.5, 2.0).verdict, Verdict::Valid, "something else was the limit");
    }

    /// The finding where the client was this busy at 50,000 answers a second, and
    /// two gave this rate with these errors.
    fn with_second(busy: f64, rate: f64, errors: u64, shares: &[f64]) -> Finding {
        with_second_waiting(busy, rate, errors, shares, None)
    }

    /// The same where the kernel tells how long the threads of both waited for a
    /// processor.
    fn with_second_waiting(
        busy: f64,
        rate: f64,
        errors: u64,
        shares: &[f64],
        waited: Option<&[f64]>,
    ) -> Finding {
        word_after(&CLIENT_LIMIT, |evidence| {
            let load = load_of(evidence);
            load.client.busy_share = vec![busy];
            load.client.run_delay_share = Some(vec![0.0]);
            evidence.second_client = Some(SecondClient::Measured {
                client_cpus: vec![1, 2],
                rate,
                errors,
                client_busy_share: shares.to_vec(),
                client_run_delay_share: waited.map(<[f64]>::to_vec),
                others_cores: Some(0.01),
                steal_share: Some(0.0),
            });
        })
    }

    #[test]
    fn a_second_client_tells_whose_the_limit_was() {
        let verdict = |busy, rate| with_second(busy, rate, 0, &[0.6, 0.6]).verdict;
        assert_eq!(verdict(0.99, 52_000.0), Verdict::Valid, "the server gave no more");
        assert_eq!(verdict(0.99, 49_000.0), Verdict::Valid);
        assert_eq!(verdict(0.99, 53_000.0), Verdict::Invalid);
        assert_eq!(verdict(0.90, 53_000.0), Verdict::Suspect);
        let told = with_second(0.99, 90_000.0, 0, &[0.9, 0.9]);
        assert_eq!(
            told.value,
            "99.0 % busy, 0.0 % waiting for a processor, the contender 99.0 %; 50000 requests a \
             second, 90000 with a second client (+80.0 %)"
        );
    }

    #[test]
    fn a_second_client_in_trouble_decides_nothing() {
        assert_eq!(with_second(0.99, 50_000.0, 1, &[0.6, 0.6]).verdict, Verdict::Invalid);
        assert_eq!(with_second(0.99, 50_000.0, 0, &[0.6]).verdict, Verdict::Invalid);
        assert_eq!(with_second(0.90, 50_000.0, 0, &[0.98, 0.6]).verdict, Verdict::Suspect);
    }

    #[test]
    fn a_second_client_that_waits_for_its_processor_decides_nothing() {
        let verdict = |waited: &[f64]| {
            with_second_waiting(0.99, 50_000.0, 0, &[0.6, 0.6], Some(waited)).verdict
        };
        assert_eq!(verdict(&[0.01, 0.38]), Verdict::Invalid, "60 % busy, and it waited for 38 %");
        assert_eq!(verdict(&[0.01, 0.02]), Verdict::Valid, "as on a quiet machine");
    }

    #[test]
    fn a_second_client_of_an_older_run_is_read_without_its_waiting() {
        let older = r#"{"measured": {"client_cpus": [1, 2], "rate": 1.0, "errors": 0,
            "client_busy_share": [0.5, 0.6], "others_cores": null, "steal_share": null}}"#;
        let read: SecondClient = serde_json::from_str(older).expect("an older run is still read");
        assert!(matches!(read, SecondClient::Measured { client_run_delay_share: None, .. }));
    }

    #[test]
    fn where_there_was_no_second_client_the_reason_is_told() {
        let word = word_after(&CLIENT_LIMIT, |evidence| {
            evidence.clients[0].busy_share = vec![0.9];
            let why = "Of the 2 cores to use none is left.".into();
            evidence.second_client = Some(SecondClient::Missing { why });
        });
        assert_eq!(word.verdict, Verdict::Suspect);
        assert!(word.says.ends_with("Of the 2 cores to use none is left."), "{}", word.says);
    }

    #[test]
    fn a_second_client_is_asked_for_near_the_limit_of_a_closed_loop_only() {
        let (slot, mut evidence) = sound();
        let load = load_of(&mut evidence);
        load.client.run_delay_share = Some(vec![0.5]);
        assert!(asks_for_second_client(&slot, &evidence), "60 % busy, and it waited for 50 %");
        let asks = |(slot, mut evidence): (Slot, Evidence), busy: f64, client_cpu: usize| {
            evidence.clients[0].busy_share = vec![0.0, busy];
            evidence.place.client_cpus = vec![client_cpu];
            asks_for_second_client(&slot, &evidence)
        };
        assert!(asks(sound(), 0.85, 1));
        assert!(!asks(sound(), 0.84, 1));
        assert!(!asks(sound(), 0.99, 0), "on shared cores its share tells nothing");
        assert!(!asks(at_half_of_its_maximum(), 0.99, 1), "an open loop's rate is given");
    }

    #[test]
    fn on_shared_cores_or_without_the_sensor_nothing_is_said() {
        let word = word_after(&CLIENT_LIMIT, |evidence| evidence.place.client_cpus = vec![0, 1]);
        assert_eq!(word.verdict, Verdict::NotChecked);
        let word = word_after_load(&CLIENT_LIMIT, |load| load.client.busy_share.clear());
        assert_eq!(word.verdict, Verdict::NotChecked);
    }

    /// Else one host at its limit would hide behind those that had time to spare.
    #[test]
    fn of_several_hosts_the_busiest_is_looked_at_and_named() {
        let with = |busy| {
            word_after(&CLIENT_LIMIT, |evidence| {
                on_hosts(evidence, 3);
                evidence.clients[0].hosts[1].side.busy_share = vec![busy];
            })
        };
        assert_eq!(with(0.6).verdict, Verdict::Valid);
        let word = with(0.98);
        assert_eq!(word.verdict, Verdict::Invalid);
        assert!(word.value.starts_with("host c2: 98.0 % busy"), "{}", word.value);
    }
}
