//! Was the rate of an open loop offered, and was it held?

use histogram::median;
use result::evidence::{HostSide, Work};
use result::plan::Pace;
use result::setting::ROOM;

use super::check::{Check, Load, Scope, TrialSeen, Word, percent};
use super::client_limit;

/// Share of an offered rate that may be missing.
const MISSING_MAX: f64 = 0.005;
/// A curve's arrivals are random, and scatter by the square root of their number:
/// so many times that is no more than chance.
const CHANCE: f64 = 3.0;
/// Share of the requests that may be under way at the end: for them, those come in that
/// were so at the start.
const UNDER_WAY_MAX: f64 = 0.05;
/// How many times as long deliveries may take in the second half of the window as in the first.
const CLIMB_MAX: f64 = 2.0;
/// Less, in µs, is no queue.
const CLIMB_MIN_US: f64 = 1_000.0;

pub(super) const OFFERED_RATE: Check = Check {
    id: "offered-rate",
    signal: "In an open loop: requests whose turn came, by the window's length and the planned rate. Good answers by the same. Of a load from several hosts: each host's part as well. Of robots in rooms the same of deliveries, with those that were shed, and how long the median delivery took in the first half of the window and in the second.",
    threshold: "requests within 0.5 %, beside what is chance in random arrivals; where the rate is one for all, answers too, beside one request a connection that is still under way, 5 % of all at most; of robots no more than 0.5 % and one message shed, and no median that is twice as long in the second half, and 1 ms longer",
    why: "A generator that offers less than it says measures at another rate than the figure has. Where all contenders are compared at one rate, a contender that answers less did less work. On a curve fewer answers are the result, and stand beside the rate that was offered: the other requests wait or are shed, and their wait is in the response times. A contender may fall behind below its maximum of the closed loop, whose requests come in batches and cost less each. A robot speaks whatever it hears. A gateway that doesn't read is handed nothing more, and that is shed. One that falls behind by a little has a queue that grows, and all times are those of the queue.",
    fix: "Give the client more cores, if requests were not offered; offer less, or look at the contender's closed loop, if they were not answered.",
    scope: Scope::Trial(|seen, _| {
        seen.under_load(|load| seen.is_open_loop().then(|| look(seen, load)))
    }),
};

/// The word on a host that didn't offer its own part, though another may have made up for it.
fn of_host(seen: &TrialSeen, load: &Load, host: &HostSide) -> Option<Word> {
    let planned = host.side.offered_rate.filter(|_| host.lost.is_none())? * load.work.seconds;
    let is_off = (host.side.scheduled as f64 - planned).abs() > tolerance(seen, planned);
    is_off.then(|| {
        let share = percent(host.side.scheduled as f64 / planned);
        let says = "A host didn't send requests at the rate of its part.";
        Word::invalid(format!("host {}: {share} offered", host.name), says)
    })
}

/// By how many requests a load may be off its plan.
fn tolerance(seen: &TrialSeen, planned: f64) -> f64 {
    let chance = match seen.slot.setting.pace {
        Pace::Own { .. } => CHANCE * planned.sqrt(),
        _ => 0.0,
    };
    // A message at the window's edge is due to all of its room, or to none.
    let message = seen.slot.setting.number(ROOM).unwrap_or(0) as f64;
    MISSING_MAX * planned + chance + message
}

fn look(seen: &TrialSeen, load: &Load) -> Word {
    let Some(rate) = load.client.offered_rate.filter(|&rate| rate > 0.0) else {
        return Word::not_checked("The rate that was to be offered is not known.");
    };
    let planned = rate * load.work.seconds;
    let tolerance = tolerance(seen, planned);
    let of_planned = |count: u64| percent(count as f64 / planned);
    if let Some(word) = load.client.hosts.iter().find_map(|host| of_host(seen, load, host)) {
        return word;
    }
    if (load.client.scheduled as f64 - planned).abs() > tolerance {
        return Word::invalid(
            format!("{} offered", of_planned(load.client.scheduled)),
            seen.either(
                "The client didn't send requests at the rate that the figure names.",
                "The client's robots didn't speak at the rate that the figure names.",
            ),
        );
    }
    if seen.kind.passes_on() && load.client.shed as f64 > tolerance {
        return Word::invalid(
            format!("{} shed", of_planned(load.client.shed)),
            "The contender didn't read what robots said, so that other work was done than is \
             compared.",
        );
    }
    let done = seen.either("answered", "delivered");
    let value = format!("{} {done}", of_planned(load.work.done));
    let under_way = f64::from(load.client.connections_asked).min(UNDER_WAY_MAX * planned);
    let is_held = load.work.done as f64 + under_way >= planned - tolerance;
    match seen.slot.setting.pace {
        _ if is_held => held(seen, load, value),
        Pace::Own { .. } => Word::valid(
            value,
            "The rate was offered. That the contender didn't hold it is the result.",
        ),
        _ if client_limit::is_near(load.client, seen.evidence.place.client_cpus.len()) => {
            Word::invalid(
                value,
                "The rate wasn't held. The client was near its limit, so it may be the cause.",
            )
        }
        _ => {
            Word::invalid(value, "The contender didn't hold the rate that others are compared at.")
        }
    }
}

/// The word where as much was done as was offered. A gateway may fall behind all the same.
fn held(seen: &TrialSeen, load: &Load, value: String) -> Word {
    match climb(load.work).filter(|_| seen.kind.passes_on()) {
        Some(climb) => Word::suspect(
            format!("{value}, {climb}"),
            "Deliveries took longer and longer: a queue grew, and the times are its own.",
        ),
        None => Word::valid(value, "The rate was offered and held."),
    }
}

/// How much longer the median delivery took in the second half of the window, where that is so much
/// that a queue grew.
fn climb(work: &Work) -> Option<String> {
    let medians: Vec<f64> = work.per_second.iter().filter_map(|second| second.p50_us).collect();
    let half = medians.len() / 2;
    let first = median(&medians[..half])?;
    let second = median(&medians[medians.len() - half..])?;
    let is_climb = second > CLIMB_MAX * first && second - first > CLIMB_MIN_US;
    is_climb
        .then(|| format!("median {first:.0} µs in the first half, {second:.0} µs in the second"))
}

#[cfg(test)]
mod tests {
    use result::finding::{Finding, Verdict};

    use super::super::sound::{
        at_half_of_its_maximum, load_of, on_hosts, sound, word_if_any, word_of_a_gateway, word_on,
    };
    use super::*;

    fn with(arrivals: Pace, scheduled: u64, answers: u64) -> Finding {
        let (mut slot, mut evidence) = at_half_of_its_maximum();
        slot.setting.pace = arrivals;
        let load = load_of(&mut evidence);
        (load.client.scheduled, load.work.done) = (scheduled, answers);
        word_on(&OFFERED_RATE, &slot, &evidence)
    }

    #[test]
    fn a_gateway_that_does_not_read_or_falls_behind_did_not_hold_the_rate() {
        let shed = |shed: u64| {
            word_of_a_gateway(&OFFERED_RATE, |evidence| evidence.clients[0].shed = shed)
        };
        assert_eq!(shed(1_010).verdict, Verdict::Valid, "0.5 %, and a message to ten");
        let word = shed(1_011);
        assert_eq!((word.verdict, &*word.value), (Verdict::Invalid, "0.5 % shed"));
        let climbing = |second: f64| {
            word_of_a_gateway(&OFFERED_RATE, |evidence| {
                let seconds = &mut evidence.work.as_mut().unwrap().per_second;
                seconds[2..].iter_mut().for_each(|it| it.p50_us = Some(second));
            })
        };
        assert_eq!(climbing(3_800.0).verdict, Verdict::Valid, "twice as long");
        let word = climbing(3_900.0);
        assert_eq!(word.verdict, Verdict::Suspect);
        assert!(word.value.ends_with("median 1900 µs in the first half, 3900 µs in the second"));
        assert_eq!(word_of_a_gateway(&OFFERED_RATE, |_| {}).value, "100.0 % delivered");
    }

    #[test]
    fn a_client_that_offers_another_rate_makes_the_figures_invalid() {
        let own = Pace::Own { percent: 50 };
        assert_eq!(with(own, 99_000, 99_000).verdict, Verdict::Valid, "1 % less may be chance");
        let word = with(own, 98_000, 98_000);
        assert_eq!((word.verdict, &*word.value), (Verdict::Invalid, "98.0 % offered"));
        assert_eq!(with(own, 102_000, 98_000).verdict, Verdict::Invalid);
    }

    #[test]
    fn on_a_curve_less_is_a_result() {
        let word = with(Pace::Own { percent: 110 }, 100_000, 90_000);
        assert_eq!((word.verdict, &*word.value), (Verdict::Valid, "90.0 % answered"));
    }

    #[test]
    fn who_doesnt_hold_the_rate_of_all_is_invalid() {
        let equal = Pace::Equal { percent: 80 };
        assert_eq!(with(equal, 100_000, 90_000).verdict, Verdict::Invalid);
        assert_eq!(with(equal, 100_000, 99_900).verdict, Verdict::Valid);
        assert_eq!(with(equal, 99_400, 99_400).verdict, Verdict::Invalid, "it is kept evenly");
    }

    #[test]
    fn a_client_near_its_limit_is_named_where_the_rate_isnt_held() {
        let (mut slot, mut evidence) = at_half_of_its_maximum();
        slot.setting.pace = Pace::Equal { percent: 80 };
        let load = load_of(&mut evidence);
        (load.work.done, load.client.busy_share) = (90_000, vec![0.99]);
        let word = word_on(&OFFERED_RATE, &slot, &evidence);
        assert_eq!(word.verdict, Verdict::Invalid);
        assert!(word.says.contains("The client was near its limit"), "{}", word.says);
    }

    #[test]
    fn many_connections_excuse_no_missing_answers() {
        let with = |answers| {
            let (mut slot, mut evidence) = at_half_of_its_maximum();
            slot.setting.pace = Pace::Equal { percent: 80 };
            let load = load_of(&mut evidence);
            (load.client.connections_asked, load.work.done) = (100_000, answers);
            word_on(&OFFERED_RATE, &slot, &evidence).verdict
        };
        assert_eq!(with(0), Verdict::Invalid, "as many connections as requests");
        assert_eq!(with(94_000), Verdict::Invalid);
        assert_eq!(with(95_000), Verdict::Valid);
    }

    #[test]
    fn a_closed_loop_has_no_rate_to_hold() {
        let (slot, evidence) = sound();
        assert_eq!(word_if_any(&OFFERED_RATE, &slot, &evidence), None);
    }

    #[test]
    fn an_unknown_rate_is_not_checked() {
        let (slot, mut evidence) = at_half_of_its_maximum();
        evidence.clients[0].offered_rate = None;
        let word = word_on(&OFFERED_RATE, &slot, &evidence);
        assert_eq!(word.verdict, Verdict::NotChecked);
    }

    /// Else a host that offered less would be made up for by one that offered more.
    #[test]
    fn each_of_several_hosts_has_to_offer_its_part() {
        let (slot, mut evidence) = at_half_of_its_maximum();
        on_hosts(&mut evidence, 4);
        assert_eq!(word_on(&OFFERED_RATE, &slot, &evidence).verdict, Verdict::Valid);
        let hosts = &mut evidence.clients[0].hosts;
        (hosts[0].side.scheduled, hosts[1].side.scheduled) = (20_000, 30_000);
        let word = word_on(&OFFERED_RATE, &slot, &evidence);
        assert_eq!((word.verdict, &*word.value), (Verdict::Invalid, "host c1: 80.0 % offered"));
    }
}
