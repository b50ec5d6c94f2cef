//! Does a percentile hide a stall, or somebody who always waits?

use histogram::Histogram;
use result::evidence::{DeliveriesSeen, Percentiles};

use super::check::{Check, Load, Scope, Word, percent};

/// A wait is a stall if it is so many times the 99th percentile. So long is half of the messages'
/// wait for the last of their rooms, if that is hidden.
const TIMES_P99: f64 = 10.0;
/// Shorter ones, in µs, are a scheduler's turns.
const STALL_MIN_US: f64 = 10_000.0;
/// Share of all waiting that stalls may take.
const SHARE_SUSPECT: f64 = 0.05;

const NS_A_US: f64 = 1_000.0;

pub(super) const HIDDEN_TAIL: Check = Check {
    id: "hidden-tail",
    signal: "In a closed loop: the share of all waiting time that went into answers of more than 10 ms and more than ten times the 99th percentile. Beside it, how long the client itself was kept from looking for answers. Of robots in rooms: the time until all members had a message, for half of the messages, beside the 99th percentile of delivery.",
    threshold: "less than 5 % of the time; of rooms no more than 10 ms, or ten times the 99th percentile",
    why: "In a closed loop a server that stands still is asked nothing meanwhile. So a stall of a second is one slow answer a connection among thousands of quick ones, and no percentile shows it (coordinated omission). Counted by time, it shows: a user comes at any moment, and meets a stall as often as stalls take time. A sound server has few answers that take ten times the 99th percentile. They take less than 1 % of the time (0.9 % at most in 67 trials with a connection a request, 30 or 5,000 at once). Hiccups of a scheduler or a host are shorter than 10 ms, or rare. In a room of hundreds, one member who always waits has less than a hundredth of the deliveries, so that no percentile of them shows it. The sender's own wait doesn't show it either, unless that member speaks. But each message waits for that member, since it has reached its room when the last one has it.",
    fix: "Look at the longest times and at the seconds in the report; measure response times in an open loop (`bakeoff load --rate`, or the study's curve), where every request that was due counts. Of rooms: look at the time until all have a message.",
    // In an open loop response times count from when requests were due.
    scope: Scope::Moment(|seen, _| {
        if seen.kind.passes_on() {
            return seen.of_deliveries(|load, deliveries| Some(look_at_rooms(load, deliveries)));
        }
        seen.under_load(|load| (!seen.is_open_loop()).then(|| look(load)))
    }),
};

fn look(load: &Load) -> Word {
    let Some(waits) = Waits::of(&load.work.response_us) else {
        return Word::not_checked("The distribution of times is not known.");
    };
    let p99_us = waits.0.value_at_quantile(0.99) as f64 / NS_A_US;
    let stall_us = (TIMES_P99 * p99_us).max(STALL_MIN_US);
    let share = waits.share_above(stall_us);
    let value = format!("{} in waits above {:.0} ms", percent(share), stall_us / 1_000.0);
    // Who isn't there sees all answers late, however quickly they came, but no later than it
    // was away.
    let away_s = load.client.away_s.filter(|away| {
        let away_us = away * 1e6;
        away_us >= stall_us && waits.share_above(stall_us + away_us) < SHARE_SUSPECT
    });
    match away_s {
        _ if share < SHARE_SUSPECT => Word::valid(value, "No stall hides behind the percentiles."),
        None => {
            Word::suspect(value, "The server stood still at times, and no percentile shows it.")
        }
        Some(away) => Word::suspect(
            format!("{value}, the client away for {:.0} ms", away * 1_000.0),
            "The client stood still, and perhaps the server did. No percentile shows it.",
        ),
    }
}

/// Whether members wait of whom there are too few for a percentile of deliveries.
fn look_at_rooms(load: &Load, deliveries: &DeliveriesSeen) -> Word {
    let times = Waits::of(&load.work.response_us).zip(Waits::of(&deliveries.until_all_us));
    let Some((of_each, until_all)) = times else {
        return Word::not_checked("The times of deliveries are not known.");
    };
    let p99_us = of_each.0.value_at_quantile(0.99) as f64 / NS_A_US;
    let until_all_us = until_all.0.value_at_quantile(0.5) as f64 / NS_A_US;
    let value =
        format!("median of {until_all_us:.0} µs until all have it, p99 of delivery {p99_us:.0} µs");
    if until_all_us > (TIMES_P99 * p99_us).max(STALL_MIN_US) {
        Word::suspect(value, "Messages waited for a member whom no percentile of delivery shows.")
    } else {
        Word::valid(value, "No member who waits hides behind the percentiles.")
    }
}

/// The time that somebody waits who comes at any moment, at most, 99 times in 100,
/// in µs: each wait counts by how long it took. `None` where the distribution is
/// not known.
pub fn p99_by_time_us(times: &Percentiles) -> Option<f64> {
    let waits = Waits::of(times)?;
    let rest = 0.01 * waits.total_ns();
    let mut above = 0.0;
    let mut slowest_first: Vec<(f64, f64)> = waits.parts().collect();
    slowest_first.reverse();
    for (wait_ns, all_ns) in slowest_first {
        above += all_ns;
        if above >= rest {
            return Some(wait_ns / NS_A_US);
        }
    }
    None
}

/// Times of answers.
struct Waits(Histogram<u64>);

impl Waits {
    fn of(times: &Percentiles) -> Option<Waits> {
        histogram::text::decode(&times.histogram).filter(|all| !all.is_empty()).map(Waits)
    }

    /// Each time, and all that was waited in such times, in ns.
    fn parts(&self) -> impl Iterator<Item = (f64, f64)> {
        self.0.iter_recorded().map(|it| {
            let wait = it.value_iterated_to() as f64;
            (wait, wait * it.count_at_value() as f64)
        })
    }

    fn total_ns(&self) -> f64 {
        self.parts().map(|(_, all)| all).sum()
    }

    fn share_above(&self, us: f64) -> f64 {
        let above: f64 =
            self.parts().filter(|(wait, _)| *wait > us * NS_A_US).map(|(_, all)| all).sum();
        above / self.total_ns().max(1.0)
    }
}

#[cfg(test)]
mod tests {
    use result::finding::Verdict;

    use super::super::sound::{histogram, sound, word_after_load, word_if_any, word_of_a_gateway};
    use super::*;

    #[test]
    fn a_stall_that_no_percentile_shows_casts_doubt() {
        // 100 connections stood still for 400 ms, of 4 s with 50,000 answers each.
        let stalled = histogram(&[(2_000, 180_000), (400_000, 100)]);
        let word = word_after_load(&HIDDEN_TAIL, |load| load.work.response_us.histogram = stalled);
        assert_eq!(word.verdict, Verdict::Suspect);
        assert_eq!(word.value, "10.0 % in waits above 20 ms");
    }

    #[test]
    fn a_client_that_was_away_itself_is_named() {
        let stalled = histogram(&[(2_000, 180_000), (400_000, 100)]);
        let word = word_after_load(&HIDDEN_TAIL, |load| {
            load.work.response_us.histogram = stalled;
            load.client.away_s = Some(0.4);
        });
        assert_eq!(word.verdict, Verdict::Suspect);
        assert_eq!(word.value, "10.0 % in waits above 20 ms, the client away for 400 ms");
        assert!(word.says.starts_with("The client stood still"), "{}", word.says);
    }

    #[test]
    fn an_absence_of_the_client_explains_no_longer_wait() {
        let stalled = histogram(&[(2_000, 180_000), (400_000, 100)]);
        let word = word_after_load(&HIDDEN_TAIL, |load| {
            load.work.response_us.histogram = stalled;
            load.client.away_s = Some(0.03);
        });
        assert!(word.says.starts_with("The server stood still"), "{}", word.says);
    }

    #[test]
    fn a_slow_tail_that_percentiles_show_is_no_stall() {
        let slow = histogram(&[(2_000, 180_000), (60_000, 4_000)]);
        let word = word_after_load(&HIDDEN_TAIL, |load| load.work.response_us.histogram = slow);
        assert_eq!(word.verdict, Verdict::Valid, "{}", word.value);
    }

    #[test]
    fn hiccups_of_a_quick_server_are_no_stall() {
        let quick = histogram(&[(50, 40_000), (5_000, 60)]);
        let word = word_after_load(&HIDDEN_TAIL, |load| load.work.response_us.histogram = quick);
        assert_eq!(word.verdict, Verdict::Valid, "{}", word.value);
        assert_eq!(word.value, "0.0 % in waits above 10 ms");
    }

    #[test]
    fn an_open_loop_has_it_in_its_response_times() {
        let (mut slot, mut evidence) = sound();
        slot.setting.pace = result::plan::Pace::Own { percent: 50 };
        evidence.work.as_mut().unwrap().response_us.histogram =
            histogram(&[(2_000, 180_000), (400_000, 100)]);
        assert_eq!(word_if_any(&HIDDEN_TAIL, &slot, &evidence), None);
    }

    #[test]
    fn an_unknown_distribution_is_not_checked() {
        let word = word_after_load(&HIDDEN_TAIL, |load| load.work.response_us.histogram.clear());
        assert_eq!(word.verdict, Verdict::NotChecked);
    }

    /// Else a broadcast would be as quick as it is to most.
    #[test]
    fn a_member_who_always_waits_is_found_though_deliveries_are_quick() {
        let with = |until_all_us: u64, p99_us: u64| {
            word_of_a_gateway(&HIDDEN_TAIL, |evidence| {
                let until_all = histogram(&[(until_all_us, 101), (1_000, 100)]);
                evidence.deliveries.as_mut().unwrap().until_all_us.histogram = until_all;
                let of_each = histogram(&[(500, 98), (p99_us, 2)]);
                evidence.work.as_mut().unwrap().response_us.histogram = of_each;
            })
        };
        let word = with(100_000, 1_000);
        assert_eq!(word.verdict, Verdict::Suspect, "{word:?}");
        assert!(word.value.ends_with("until all have it, p99 of delivery 1000 µs"), "{word:?}");
        assert_eq!(with(100_000, 11_000).verdict, Verdict::Valid, "p99 shows most of it");
        assert_eq!(with(9_000, 100).verdict, Verdict::Valid, "so short is a scheduler's turn");
        let unknown = word_of_a_gateway(&HIDDEN_TAIL, |evidence| {
            evidence.deliveries.as_mut().unwrap().until_all_us.histogram.clear();
        });
        assert_eq!(unknown.verdict, Verdict::NotChecked);
    }

    #[test]
    fn counted_by_time_a_stall_is_as_long_as_it_was() {
        let times = |parts| Percentiles { histogram: histogram(parts), ..Percentiles::default() };
        let us = p99_by_time_us(&times(&[(2_000, 180_000), (400_000, 100)])).unwrap();
        assert!((us / 400_000.0 - 1.0).abs() < 0.001, "{us}");
        let us = p99_by_time_us(&times(&[(2_000, 180_000)])).unwrap();
        assert!((us / 2_000.0 - 1.0).abs() < 0.001, "{us}");
    }
}
