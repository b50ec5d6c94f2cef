//! Was the rate steady?

use histogram::median;
use result::evidence::{Interval, Work};
use result::setting::ROOM;

use super::check::{Check, Scope, TrialSeen, Word};

/// How far the rate after a point may be from that before it.
const CHANGE_MAX: f64 = 0.1;
/// A change-point has so many rates on either side, or it is one odd second or interval.
const SIDE_MIN: usize = 2;
/// What one more level costs, in squared noise, times the logarithm of how many rates there are.
const LEVEL_PRICE: f64 = 4.0;
/// More rates aren't divided into levels, which would take their square in steps.
const RATES_MAX: usize = 1_000;
/// The levels on both sides are so many times as far apart as their rates
/// scatter, or the change is chance.
const SCATTERS_MIN: f64 = 4.0;

pub(super) const STEADY: Check = Check {
    id: "steady",
    signal: "The rate second by second, and of programs from line to line. The first half of the window is compared with the second. The window is divided into two levels at the point that fits best. Of programs, warm-up and window together are divided into levels as well: since when are these within 10 % of the last?",
    threshold: "halves within 10 % of each other, invalid where one has no answer; no change-point with two seconds or more on either side (of programs two lines), 10 % between its levels, and four times the scatter around them; of rooms the halves may differ by one message to all of a room",
    why: "A rate that still rises is a warm-up. One that falls has met a limit (memory, ports, a full queue). No single number stands for either. A noisy machine makes up to 10 %, and chance makes jumps of less than four times the scatter. A message to a room of thousands is thousands of deliveries at one moment, on one side of a half's edge or on the other.",
    fix: "Warm up for longer (`warmup_s` of the contender or the profile), or measure for longer and look at the seconds in the report.",
    scope: Scope::Drift { look: |seen, work| Some(look(seen, work)), drift },
};

fn look(seen: &TrialSeen, work: &Work) -> Word {
    let Some((first, second)) = halves(work) else {
        return Word::not_checked("The window has no two whole seconds to compare.")
            .advise("Measure for longer (`measure_s` of the profile).");
    };
    if first == 0.0 || second == 0.0 {
        let which = if first == 0.0 { "first" } else { "second" };
        let what = seen.either("answer", "delivery");
        return Word::invalid(
            format!("no {what} in a half"),
            format!("The {which} half had no {what}."),
        );
    }
    let change = second / first - 1.0;
    let is_more_than_a_message = (second - first).abs() > message(seen, work);
    let value = format!("{:+.1} %", change * 100.0);
    let moved = |change: f64| if change > 0.0 { "rose" } else { "fell" };
    if change.abs() > CHANGE_MAX && is_more_than_a_message {
        let says = format!("The second half {} by more than 10 %.", moved(change));
        return Word::suspect(value + &cores_changed(seen), says)
            .against("halves within 10 % of each other")
            .off_by(second / first);
    }
    if let Some((point, before, after)) = change_point(&rates(work)) {
        let at_s: f64 = work.rates()[..point].iter().map(|(seconds, _)| seconds).sum();
        let at_s = (at_s * 10.0).round() / 10.0;
        let change = after / before - 1.0;
        let value = match before {
            0.0 => format!("no answer before {at_s} s"),
            _ => format!("{:+.1} % from {at_s} s on", change * 100.0),
        };
        let says = format!("The rate {} at one moment, and stayed there.", moved(change));
        return Word::suspect(value + &cores_changed(seen), says)
            .against("no change-point of more than 10 % and four times the scatter")
            .off_by(after / before);
    }
    match (rates(work).len() < 2 * SIDE_MIN, seen.kind.is_asked()) {
        (false, _) => {
            Word::valid(value + &since(work), "All parts of the window have the same rate.")
        }
        (true, true) => Word::valid(
            value,
            "Both halves have the same rate. The window is too short for a change-point.",
        ),
        // Of three lines' intervals the middle one is in neither half.
        (true, false) => Word::not_checked(format!(
            "The first and the last interval have the same rate ({value}). The window is too short \
             for a change-point."
        ))
        .advise("Measure for longer (`measure_s` of the profile)."),
    }
}

/// By how much the rates of two halves differ if one has a message more, which comes to all of its
/// room at once.
fn message(seen: &TrialSeen, work: &Work) -> f64 {
    let room = seen.slot.setting.number(ROOM).unwrap_or(0) as f64;
    room / (rates(work).len() / 2) as f64
}

/// Since when a program's rate has been what it was at the end, beside when its window began.
fn since(work: &Work) -> String {
    let intervals = [&work.warmup[..], &work.intervals].concat();
    let rates: Vec<f64> = intervals.iter().map(Interval::rate).collect();
    let seconds = |of: &[Interval]| of.iter().fold(0.0, |sum, it| sum + it.seconds);
    let (true, Some(at)) = (!work.warmup.is_empty(), steady_from(&rates)) else {
        return String::new();
    };
    let (since, counted) = (seconds(&intervals[..at]), seconds(&work.warmup));
    format!("; its level since {since:.1} s of its work, counted from {counted:.1} s on")
}

/// The first rate of those that are all of the last level, as Barrett and others have it
/// ("Virtual machine warmup blows hot and cold", 2017); `None` of too few rates, or too many.
fn steady_from(rates: &[f64]) -> Option<usize> {
    let levels = levels(rates)?;
    let (_, last) = *levels.last()?;
    let is_last = |(_, level): &&(usize, f64)| (level - last).abs() <= CHANGE_MAX * last;
    levels.iter().rev().take_while(is_last).last().map(|(at, _)| *at)
}

/// The levels that rates are best divided into: the first rate of each, and its mean.
///
/// Of all divisions the one whose squared distances, with a price for each level, are the
/// least: optimal partitioning (Jackson and others, "An algorithm for optimal partitioning of
/// data on an interval", 2005).
fn levels(rates: &[f64]) -> Option<Vec<(usize, f64)>> {
    if !(2 * SIDE_MIN..=RATES_MAX).contains(&rates.len()) {
        return None;
    }
    let price = LEVEL_PRICE * (rates.len() as f64).ln() * noise(rates).powi(2);
    let squares = Squares::of(rates);
    // Of the first so many rates: the least price, and where their last level begins.
    let mut best = vec![(f64::INFINITY, 0); rates.len() + 1];
    best[0] = (-price, 0);
    for end in SIDE_MIN..=rates.len() {
        let begins =
            (0..=end - SIDE_MIN).map(|at| (best[at].0 + squares.within(at, end) + price, at));
        best[end] = begins.min_by(|a, b| a.0.total_cmp(&b.0))?;
    }
    let mut levels = Vec::new();
    let mut end = rates.len();
    while end > 0 {
        let begin = best[end].1;
        levels.push((begin, mean(&rates[begin..end])));
        end = begin;
    }
    levels.reverse();
    Some(levels)
}

/// How far rates lie from each other where no level ends: from the median distance of one from
/// the next, which a few jumps don't move; at least a hundredth of them.
fn noise(rates: &[f64]) -> f64 {
    let steps: Vec<f64> = rates.windows(2).map(|pair| (pair[1] - pair[0]).abs()).collect();
    // What that median is of a normal distribution, by its standard deviation.
    let of_normal = 0.6745 * f64::sqrt(2.0);
    (median(&steps).unwrap_or(0.0) / of_normal).max(0.01 * mean(rates))
}

/// Sums from which the squared distances of any stretch of rates from its mean follow.
struct Squares(Vec<(f64, f64)>);

impl Squares {
    fn of(rates: &[f64]) -> Squares {
        let sums = rates.iter().scan((0.0, 0.0), |(sum, squares), rate| {
            (*sum, *squares) = (*sum + rate, *squares + rate * rate);
            Some((*sum, *squares))
        });
        Squares([(0.0, 0.0)].into_iter().chain(sums).collect())
    }

    fn within(&self, from: usize, to: usize) -> f64 {
        let (sum, squares) = (self.0[to].0 - self.0[from].0, self.0[to].1 - self.0[from].1);
        squares - sum * sum / (to - from) as f64
    }
}

/// How far the contender's cores themselves changed over the load, by the one that did
/// most: on a rented machine one that wakes is often put beside a busy neighbour, and
/// moved away within seconds.
fn cores_changed(seen: &TrialSeen) -> String {
    let ratios = seen.evidence.core_speeds.iter().filter_map(|it| {
        let (before, after) = it.whole_before.zip(it.whole_after)?;
        (before > 0.0 && after > 0.0).then_some(after / before)
    });
    let most = ratios.max_by(|a, b| a.ln().abs().total_cmp(&b.ln().abs()));
    most.map_or(String::new(), |ratio| {
        let change = (ratio - 1.0) * 100.0;
        format!(", its cores' own speed {change:+.1} %")
    })
}

/// How far the rate went within the window, as a logarithm.
fn drift(work: &Work) -> Option<f64> {
    let (first, second) = halves(work)?;
    (first > 0.0 && second > 0.0).then(|| (second / first).ln())
}

/// Its rates in turn.
pub(super) fn rates(work: &Work) -> Vec<f64> {
    work.rates().into_iter().map(|(_, rate)| rate).collect()
}

/// The mean rates of the first half and the second; `None` of less than two whole
/// seconds or intervals. Of an odd number, the middle one belongs to neither half.
fn halves(work: &Work) -> Option<(f64, f64)> {
    let rates = rates(work);
    let half = rates.len() / 2;
    (half > 0).then(|| (mean(&rates[..half]), mean(&rates[rates.len() - half..])))
}

/// The point, a number of rates, that best divides the rates into two levels, and both
/// levels; `None` where they differ by no more than chance.
fn change_point(rates: &[f64]) -> Option<(usize, f64, f64)> {
    let points = SIDE_MIN..(rates.len() + 1).saturating_sub(SIDE_MIN);
    let best = points.min_by(|&a, &b| scatter(rates, a).total_cmp(&scatter(rates, b)))?;
    let (before, after) = rates.split_at(best);
    let (from, to) = (mean(before), mean(after));
    let is_far = (to - from).abs() > SCATTERS_MIN * scatter(rates, best);
    let is_much = (to - from).abs() > CHANGE_MAX * from;
    (is_far && is_much).then_some((best, from, to))
}

/// How far rates scatter around the levels before and after a point.
fn scatter(rates: &[f64], at: usize) -> f64 {
    let (before, after) = rates.split_at(at);
    let squares = |part: &[f64]| -> f64 {
        let level = mean(part);
        part.iter().map(|rate| (rate - level).powi(2)).sum()
    };
    let free = (rates.len() - 2) as f64;
    ((squares(before) + squares(after)) / free).sqrt()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

#[cfg(test)]
mod tests {
    use result::evidence::Second;
    use result::finding::Verdict;
    use result::kind::Kind;

    use super::super::sound::{of_program, word_after, word_after_load, word_of_a_gateway};
    use super::*;

    #[test]
    fn a_rate_that_rises_or_falls_casts_doubt() {
        let with = |good| word_after_load(&STEADY, |load| load.work.per_second[3].good = good);
        assert_eq!(with(50_000).verdict, Verdict::Valid);
        assert_eq!(with(58_000).verdict, Verdict::Valid, "8 % over both seconds of a half");
        assert_eq!(
            (with(25_000).verdict, &*with(25_000).value),
            (Verdict::Suspect, "-25.0 %, its cores' own speed +0.0 %")
        );
        assert_eq!(with(75_000).verdict, Verdict::Suspect);
    }

    #[test]
    fn how_far_the_cores_themselves_changed_is_said() {
        let value = |before, after| {
            let word = word_after(&STEADY, |evidence| {
                evidence.work.as_mut().unwrap().per_second[3].good = 90_000;
                let speed = &mut evidence.core_speeds[0];
                (speed.whole_before, speed.whole_after) = (before, after);
            });
            assert_eq!(word.verdict, Verdict::Suspect);
            word.value
        };
        let changed = value(Some(780.0), Some(975.0));
        assert!(changed.ends_with(" %, its cores' own speed +25.0 %"), "{changed}");
        assert!(!value(None, None).contains("cores"));
    }

    fn with_seconds(rates: &[u64]) -> result::finding::Finding {
        word_after_load(&STEADY, |load| {
            load.work.seconds = rates.len() as f64;
            let second = |&good: &u64| Second { good, ..Second::default() };
            load.work.per_second = rates.iter().map(second).collect();
        })
    }

    #[test]
    fn a_jump_away_from_the_middle_casts_doubt_and_scatter_doesnt() {
        let jump = with_seconds(&[500, 502, 498, 501, 499, 500, 430, 432]);
        assert_eq!(
            (jump.verdict, &*jump.value),
            (Verdict::Suspect, "-13.8 % from 6 s on, its cores' own speed +0.0 %")
        );
        let scatter = with_seconds(&[500, 560, 450, 540, 470, 530, 430, 480]);
        assert_eq!(scatter.verdict, Verdict::Valid, "{scatter:?}");
        let small = with_seconds(&[500, 502, 498, 501, 499, 500, 470, 470]);
        assert_eq!(small.verdict, Verdict::Valid, "{small:?}");
    }

    /// Else a room of thousands would be doubted for where a second begins.
    #[test]
    fn a_gateway_that_delivers_less_and_less_casts_doubt_and_a_message_more_in_a_half_does_not() {
        let with = |messages: [u64; 4]| {
            word_of_a_gateway(&STEADY, |evidence| {
                let seconds = &mut evidence.work.as_mut().unwrap().per_second;
                seconds.iter_mut().zip(messages).for_each(|(it, said)| it.good = 10 * said);
            })
        };
        assert_eq!(with([5_000, 5_000, 4_000, 4_000]).verdict, Verdict::Suspect);
        assert_eq!(with([4, 4, 4, 3]).verdict, Verdict::Valid, "12.5 % less");
        let word = with([4, 4, 3, 3]);
        assert_eq!(word.verdict, Verdict::Suspect, "{word:?}");
        assert_eq!(with([4, 4, 0, 0]).says, "The second half had no delivery.");
    }

    /// A compiler that makes code of a loop only after half of a window of 1.6 s.
    #[test]
    fn a_program_that_gets_warm_in_its_window_is_found_between_its_lines() {
        let with = |rates: [u64; 8]| {
            word_after_load(&STEADY, |load| {
                let interval = |rate: u64| Interval { seconds: 0.2, done: rate / 5 };
                load.work.intervals = rates.map(interval).to_vec();
            })
        };
        let warm = with([500, 505, 600, 600, 595, 600, 605, 600]);
        assert_eq!(
            (warm.verdict, &*warm.value),
            (Verdict::Suspect, "+19.4 % from 0.4 s on, its cores' own speed +0.0 %")
        );
        assert_eq!(with([600, 605, 600, 600, 595, 600, 605, 600]).verdict, Verdict::Valid);
    }

    /// A warm-up that is too short or much too long is seen by it.
    #[test]
    fn of_a_program_it_is_told_since_when_its_level_is_the_last() {
        let value = |warmup: &[u64]| {
            let interval = |&rate: &u64| Interval { seconds: 0.5, done: rate / 2 };
            let word = word_after_load(&STEADY, |load| {
                load.work.warmup = warmup.iter().map(interval).collect();
                load.work.intervals = [600, 602, 598, 600].iter().map(interval).collect();
            });
            assert_eq!(word.verdict, Verdict::Valid, "{word:?}");
            word.value
        };
        let tail =
            |since| format!("; its level since {since} s of its work, counted from 2.0 s on");
        assert!(value(&[100, 104, 598, 604]).ends_with(&tail("1.0")));
        assert!(value(&[598, 600, 604, 602]).ends_with(&tail("0.0")));
        assert!(value(&[600, 602, 300, 302]).ends_with(&tail("2.0")), "it fell, and came back");
        assert_eq!(value(&[]), "-0.3 %", "nobody saw its warm-up");
    }

    #[test]
    fn silence_at_the_windows_beginning_is_told_in_words() {
        let mut rates = vec![1000; 60];
        rates[..2].fill(0);
        let word = with_seconds(&rates);
        assert_eq!(
            (word.verdict, &*word.value),
            (Verdict::Suspect, "no answer before 2 s, its cores' own speed +0.0 %")
        );
        rates.reverse();
        let word = with_seconds(&rates);
        assert!(word.value.starts_with("-100.0 % from 58 s on"), "{word:?}");
    }

    #[test]
    fn a_speed_that_was_not_measured_is_no_change() {
        let word = word_after(&STEADY, |evidence| {
            evidence.work.as_mut().unwrap().per_second[3].good = 90_000;
            evidence.core_speeds[0].whole_before = Some(0.0);
        });
        assert!(!word.value.contains("speed"), "{word:?}");
    }

    #[test]
    fn a_window_of_less_than_two_seconds_is_not_checked() {
        let word = word_after_load(&STEADY, |load| load.work.per_second.truncate(1));
        assert_eq!(word.verdict, Verdict::NotChecked);
        assert_eq!(word.fix, "Measure for longer (`measure_s` of the profile).");
        let word = word_after_load(&STEADY, |load| load.work.seconds = 1.5);
        assert_eq!(word.verdict, Verdict::NotChecked);
    }

    #[test]
    fn what_was_not_looked_at_is_not_said_to_be_alike() {
        for (seconds, too_short) in [(3, true), (4, false)] {
            let word = word_after_load(&STEADY, |load| load.work.per_second.truncate(seconds));
            assert_eq!(word.verdict, Verdict::Valid);
            assert_eq!(word.says.contains("too short for a change-point"), too_short);
        }
    }

    #[test]
    fn three_intervals_of_a_program_have_no_change_point() {
        for (intervals, verdict) in [(3, Verdict::NotChecked), (4, Verdict::Valid)] {
            let (slot, mut evidence) = of_program();
            evidence.work.as_mut().unwrap().intervals.truncate(intervals);
            let seen = TrialSeen { kind: Kind::Program, slot: &slot, evidence: &evidence };
            assert_eq!(STEADY.on_trial(&seen).unwrap().verdict, verdict, "{intervals}");
        }
    }

    #[test]
    fn a_part_of_a_second_at_the_end_is_no_fall() {
        let word = word_after_load(&STEADY, |load| {
            load.work.seconds = 3.2;
            load.work.per_second[3].good = 10_000;
        });
        assert_eq!(word.verdict, Verdict::Valid);
    }

    #[test]
    fn a_half_without_answers_makes_the_figures_invalid() {
        for (which, half) in [("first", 0..2), ("second", 2..4)] {
            let word = word_after_load(&STEADY, |load| {
                load.work.per_second[half].iter_mut().for_each(|second| second.good = 0);
            });
            assert_eq!(word.verdict, Verdict::Invalid);
            assert_eq!(word.says, format!("The {which} half had no answer."));
        }
    }
}
