//! Readings over time: how much a counter grew between two moments, which
//! seldom are moments of a reading.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::threads::Thread;
use super::{Most, Reading};

/// Without a reading for so long, what was used within a window isn't known: bakeoff was
/// stopped (Ctrl-Z), and the load, a process of its own, went on. What is read now and
/// then, because it costs much, tells of such a time as a whole, but not of its seconds.
pub(super) const GAP_MAX: Duration = Duration::from_secs(2);

/// What is at a moment, as memory, is what it was at a reading so near to it.
pub(super) const NEAR: Duration = Duration::from_secs(1);

/// A reading stands for a moment that lies so far beyond it at most.
const REACH: Duration = Duration::from_millis(800);

/// A counter's readings, where it could be read, in their order.
pub(super) type Series = Vec<(Instant, f64)>;

/// What readings have of a counter.
pub(super) fn series(readings: &[Reading], of: impl Fn(&Reading) -> Option<f64>) -> Series {
    readings.iter().filter_map(|reading| Some((reading.at, of(reading)?))).collect()
}

/// How much a counter grew within a time.
#[derive(Debug, Clone, Copy)]
pub(super) struct Growth {
    pub amount: f64,
    pub seconds: f64,
}

impl Growth {
    pub fn exact(self) -> Option<f64> {
        Some(rounded(self.amount))
    }

    pub fn count(self) -> Option<u64> {
        Some(self.amount.round() as u64)
    }

    /// Of the time, by a counter of seconds.
    pub fn share(self) -> Option<f64> {
        (self.seconds > 0.0).then(|| rounded((self.amount / self.seconds).clamp(0.0, 1.0)))
    }
}

/// To a tenth of a millisecond: readings are no more exact, and the digits would
/// be most of the file.
pub(super) fn rounded(value: f64) -> f64 {
    (value * 1e4).round() / 1e4
}

/// Where a counter's growth belongs.
pub(super) type Write<To> = fn(&mut To, Growth);
/// Where a counter is read, and where its growth belongs.
pub(super) type Counter<Of, To> = (fn(&Of) -> Option<f64>, Write<To>);

/// The series of each of these counters, and where its growth belongs.
pub(super) fn counters<To>(
    readings: &[Reading],
    of_each: &[Counter<Reading, To>],
    of_most: &[Counter<Most, To>],
) -> Vec<(Series, Write<To>)> {
    let of_each = of_each.iter().map(|&(of, write)| (series(readings, of), write));
    let of_most = of_most
        .iter()
        .map(|&(of, write)| (series(readings, |reading| of(reading.most.as_ref()?)), write));
    of_each.chain(of_most).collect()
}

/// How much a counter grew between two moments.
pub(super) fn growth(series: &Series, from: Instant, to: Instant) -> Option<f64> {
    Some((at(series, to)? - at(series, from)?).max(0.0))
}

/// A counter's value at a moment, between the two readings around it. Somewhat
/// beyond the readings, the nearest one stands for it.
fn at(series: &Series, moment: Instant) -> Option<f64> {
    let (before, after) = series.split_at(series.partition_point(|(at, _)| *at <= moment));
    match (before.last(), after.first()) {
        (Some(before), Some(after)) => {
            let share = (moment - before.0).as_secs_f64() / (after.0 - before.0).as_secs_f64();
            Some(before.1 + (after.1 - before.1) * share)
        }
        (Some(before), None) if moment - before.0 <= REACH => Some(before.1),
        (None, Some(after)) if after.0 - moment <= REACH => Some(after.1),
        _ => None,
    }
}

/// Whether the readings between two moments, and around them, lie no farther apart than
/// this: else what is between them is made up evenly.
pub(super) fn is_seen<T>(
    readings: &[(Instant, T)],
    from: Instant,
    to: Instant,
    apart_max: Duration,
) -> bool {
    let is_far = |pair: &[(Instant, T)]| pair[1].0 - pair[0].0 > apart_max;
    !around(readings, from, to).windows(2).any(is_far)
}

/// The readings between two moments, with the one before them and the one after.
fn around<T>(readings: &[(Instant, T)], from: Instant, to: Instant) -> &[(Instant, T)] {
    let first = readings.partition_point(|(at, _)| *at <= from).saturating_sub(1);
    let end = (readings.partition_point(|(at, _)| *at < to) + 1).min(readings.len());
    &readings[first..end.max(first)]
}

/// Counters of what comes and goes, such as threads: readings of all that were
/// there, by key.
pub(super) type KeyedSeries<K> = Vec<(Instant, BTreeMap<K, f64>)>;

/// What readings have of such counters.
pub(super) fn table<K>(
    readings: &[Reading],
    of: impl Fn(&Reading) -> Option<BTreeMap<K, f64>>,
) -> KeyedSeries<K> {
    readings.iter().filter_map(|reading| Some((reading.at, of(reading)?))).collect()
}

/// What a reading has of each of the contender's threads.
pub(super) fn servers(
    reading: &Reading,
    of: impl Fn(&Thread) -> Option<f64>,
) -> Option<BTreeMap<i32, f64>> {
    Some(by_tid(reading.threads.as_ref()?.servers.as_ref()?, of))
}

pub(super) fn by_tid(
    threads: &[Thread],
    of: impl Fn(&Thread) -> Option<f64>,
) -> BTreeMap<i32, f64> {
    threads.iter().filter_map(|thread| Some((thread.tid, of(thread)?))).collect()
}

/// How much each counter grew between two moments. What wasn't there at the
/// reading before began with 0; what it did after its last reading is lost.
pub(super) fn growths<K: Ord + Copy>(
    table: &KeyedSeries<K>,
    from: Instant,
    to: Instant,
) -> BTreeMap<K, f64> {
    let mut grown = BTreeMap::new();
    for pair in around(table, from, to).windows(2) {
        let [(before, known), (after, now)] = pair else { continue };
        let overlap = to.min(*after).saturating_duration_since(from.max(*before));
        let share = overlap.as_secs_f64() / (*after - *before).as_secs_f64();
        if !overlap.is_zero() {
            for (key, value) in now {
                let more = (value - known.get(key).unwrap_or(&0.0)).max(0.0);
                *grown.entry(*key).or_default() += more * share;
            }
        }
    }
    grown
}

/// The growth of all of them together. `None` where the readings don't reach
/// around the moments.
pub(super) fn growth_of_all<K: Ord + Copy>(
    table: &KeyedSeries<K>,
    from: Instant,
    to: Instant,
) -> Option<f64> {
    reaches_around(table, from, to).then(|| growths(table, from, to).values().sum())
}

/// The growth of the one that grew most. `None` where the readings don't reach around the
/// moments.
pub(super) fn largest_growth<K: Ord + Copy>(
    table: &KeyedSeries<K>,
    from: Instant,
    to: Instant,
) -> Option<f64> {
    let grown = reaches_around(table, from, to).then(|| growths(table, from, to))?;
    grown.into_values().reduce(f64::max)
}

fn reaches_around<K>(table: &KeyedSeries<K>, from: Instant, to: Instant) -> bool {
    let (Some((first, _)), Some((last, _))) = (table.first(), table.last()) else { return false };
    *first <= from + REACH && to <= *last + REACH && table.len() > 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(start: Instant, values: &[(u64, f64)]) -> Series {
        values.iter().map(|(ms, value)| (start + Duration::from_millis(*ms), *value)).collect()
    }

    #[test]
    fn edges_lie_between_readings() {
        let start = Instant::now();
        let ms = |ms| start + Duration::from_millis(ms);
        let series = series(start, &[(0, 0.0), (1000, 10.0), (2000, 30.0)]);
        assert_eq!(growth(&series, ms(500), ms(1500)), Some(15.0));
        assert_eq!(growth(&series, ms(500), ms(2500)), Some(25.0), "the last reading reaches");
    }

    #[test]
    fn a_growth_is_a_share_of_a_time_that_passed() {
        let share = |amount, seconds| Growth { amount, seconds }.share();
        assert_eq!((share(0.5, 2.0), share(3.0, 2.0)), (Some(0.25), Some(1.0)));
        assert_eq!(share(0.0, 0.0), None, "nothing is no share of nothing");
    }

    #[test]
    fn what_lies_in_a_gap_is_not_seen() {
        let start = Instant::now();
        let ms = |ms| start + Duration::from_millis(ms);
        let series = series(start, &[(0, 0.0), (1000, 10.0), (4000, 30.0), (5000, 40.0)]);
        let is_seen = |from, to| is_seen(&series, ms(from), ms(to), Duration::from_secs(2));
        assert!(is_seen(0, 1000) && is_seen(4000, 5000), "beside it");
        assert!(!is_seen(2000, 3000), "within it");
        assert!(!is_seen(500, 1500) && !is_seen(3500, 4500), "a part of it");
    }

    #[test]
    fn a_window_that_nobody_sampled_tells_nothing() {
        let start = Instant::now();
        let late = start + Duration::from_secs(10);
        let series = series(start, &[(0, 0.0), (1000, 1.0)]);
        assert_eq!(growth(&series, late, late + Duration::from_secs(1)), None);
    }

    #[test]
    fn what_comes_and_goes_is_counted_while_it_is_there() {
        let start = Instant::now();
        let ms = |ms| start + Duration::from_millis(ms);
        let table: KeyedSeries<i32> = vec![
            (ms(0), BTreeMap::from([(1, 5.0), (2, 1.0)])),
            (ms(1000), BTreeMap::from([(1, 6.0), (3, 0.5)])),
            (ms(2000), BTreeMap::from([(1, 8.0), (3, 1.5)])),
        ];
        let grown = growths(&table, ms(500), ms(2000));
        assert_eq!(grown, BTreeMap::from([(1, 2.5), (3, 1.25)]));
        assert_eq!(growth_of_all(&table, ms(0), ms(2000)), Some(4.5));
        assert_eq!(growth_of_all(&table, ms(5000), ms(6000)), None);
        assert_eq!(growth_of_all(&KeyedSeries::<i32>::new(), ms(0), ms(1)), None);
    }
}
