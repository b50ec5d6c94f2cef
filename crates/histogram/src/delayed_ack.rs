//! Answers that waited for an acknowledgement, and not for the server.
//!
//! A server that writes an answer's head and its body apart, without `TCP_NODELAY`, has the
//! body held back until the head is acknowledged (Nagle's algorithm, RFC 896). Whoever waits
//! for the body has nothing to send meanwhile, and acknowledges the head when the kernel's
//! timer runs out: after 40 ms on Linux (`TCP_DELACK_MIN`), and up to 10 ms more where its
//! clock ticks 100 times a second.

use std::ops::Range;

use hdrhistogram::Histogram;

const NS_A_MS: u64 = 1_000_000;
/// Where such answers lie, in ms; a little lower, since a histogram's values are rounded.
const THERE: Range<u64> = 39..50;
/// As wide, on both sides of it, with as much between as answers of such a server scatter.
const BELOW: Range<u64> = 27..38;
const ABOVE: Range<u64> = 52..63;
/// The least share of all answers that is worth a word.
const SHARE_MIN: f64 = 0.05;
/// With fewer of them, it may be chance.
const ANSWERS_MIN: u64 = 20;
/// Of the answers there, so many may lie on one of its sides: more are those of a server
/// that takes about so long.
const BESIDE_MAX: f64 = 0.1;

/// The share of answers whose times cluster where acknowledgements are late; `None` where
/// none do. A server that works for just as long looks the same.
pub fn share(service_ns: &Histogram<u64>) -> Option<f64> {
    let within = |ms: Range<u64>| -> u64 {
        let ns = ms.start * NS_A_MS..ms.end * NS_A_MS;
        service_ns
            .iter_recorded()
            .filter(|it| ns.contains(&it.value_iterated_to()))
            .map(|it| it.count_at_value())
            .sum()
    };
    let there = within(THERE);
    let share = there as f64 / service_ns.len().max(1) as f64;
    let beside = within(BELOW).max(within(ABOVE));
    let stands_out = beside as f64 <= BESIDE_MAX * there as f64;
    (there >= ANSWERS_MIN && share >= SHARE_MIN && stands_out).then_some(share)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Times in µs, so many of each.
    fn of(times: impl IntoIterator<Item = (u64, u64)>) -> Option<f64> {
        let mut histogram = Histogram::new(3).unwrap();
        times.into_iter().for_each(|(us, count)| histogram.record_n(us * 1_000, count).unwrap());
        share(&histogram)
    }

    fn evenly(us: Range<u64>) -> impl Iterator<Item = (u64, u64)> {
        us.step_by(100).map(|us| (us, 1))
    }

    #[test]
    fn answers_that_wait_for_an_acknowledgement_are_found_all_or_some() {
        assert_eq!(of([(43_600, 100)]), Some(1.0));
        assert_eq!(of([(40_010, 100)]), Some(1.0), "where the clock ticks 1,000 times a second");
        assert_eq!(of([(300, 900), (44_100, 100)]), Some(0.1));
        assert_eq!(of(evenly(40_000..49_900)), Some(1.0), "where it ticks 100 times");
        assert_eq!(of(evenly(100..5_000).chain([(42_000, 20)])), Some(20.0 / 69.0));
    }

    #[test]
    fn a_server_that_takes_about_so_long_is_not_accused() {
        assert_eq!(of(evenly(30_000..60_000)), None);
        assert_eq!(of(evenly(20_000..50_000)), None);
        assert_eq!(of(evenly(39_000..80_000)), None);
        assert_eq!(of(evenly(36_000..50_000)), None);
        for us in [20_000, 38_000, 60_000, 100_000, 200_000] {
            assert_eq!(of([(us, 1_000)]), None, "{us}");
        }
    }

    #[test]
    fn few_answers_are_chance() {
        assert_eq!(of([(43_600, 19)]), None);
        assert_eq!(of([(300, 10_000), (43_600, 100)]), None, "1 % of them is no cause of a rate");
        assert_eq!(of([]), None);
    }
}
