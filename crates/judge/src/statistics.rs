//! Statistics over blocks.
//!
//! The unit of replication is a fresh process: one value a block. Two contenders
//! are compared within blocks, where the machine was the same for both, by the
//! logarithm of their ratio: so that twice as fast and half as fast are the same
//! distance from equal.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use histogram::median;

/// The fewest blocks that an interval, a test or a rank is made of. With fewer,
/// no result of a sign-flip test could fall below 5 %.
pub const BLOCKS_MIN: usize = 6;
/// The most blocks: the sign-flip test goes through all 2^n ways.
pub const BLOCKS_MAX: usize = 20;
/// The level of intervals and tests.
pub const SIGNIFICANCE: f64 = 0.05;

/// Orders that a permutation test takes.
const ORDERS: usize = 10_000;
/// The blocks of two runs, if they are no more than these, are dealt in all ways that
/// there are: in 12,870 at most.
const DEALT_IN_ALL_WAYS_MAX: usize = 16;
/// How often a range is halved in the search for the smallest change: to a 65,000th of it.
const HALVINGS: usize = 16;
/// Sums of values that are equal but for rounding are no farther apart, as a share.
const ROUNDING: f64 = 1e-9;

/// The 95 % interval of the median; `None` with fewer than [`BLOCKS_MIN`] values.
///
/// Between the two order statistics whose exact coverage, by the sign test, lies
/// around 95 %, interpolated as Hettmansperger and Sheather have it ("Confidence
/// intervals based on interpolated order statistics", 1986). A bootstrap of the
/// median covers 87 % with seven values, and 92 % with eight, because there are
/// so few medians that a resample can have.
pub fn median_interval(values: &[f64]) -> Option<(f64, f64)> {
    if values.len() < BLOCKS_MIN {
        return None;
    }
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let count = sorted.len();
    let wanted = 1.0 - SIGNIFICANCE;
    // The interval from the value `beyond` places from either end.
    let coverage = |beyond: usize| 1.0 - 2.0 * at_most_of(count, beyond);
    let inner = (1..count / 2).find(|&beyond| coverage(beyond) < wanted)?;
    let outer = inner - 1;
    let step = (coverage(outer) - wanted) / (coverage(outer) - coverage(inner));
    // In order statistics as the paper counts them, from 1.
    let place = inner as f64;
    let rest = count as f64 - place;
    let weight = rest * step / (place + (rest - place) * step);
    let between = |outer: f64, inner: f64| (1.0 - weight) * outer + weight * inner;
    Some((
        between(sorted[outer], sorted[inner]),
        between(sorted[count - 1 - outer], sorted[count - 1 - inner]),
    ))
}

/// How likely at most so many of `count` coins show heads.
fn at_most_of(count: usize, heads: usize) -> f64 {
    let mut ways = 1.0;
    let mut sum = 0.0;
    for so_many in 0..=heads {
        sum += ways;
        ways *= (count - so_many) as f64 / (so_many + 1) as f64;
    }
    sum / 2.0_f64.powi(count as i32)
}

/// The logarithms of the ratios of two contenders, block by block.
pub fn log_ratios(pairs: &[(f64, f64)]) -> Vec<f64> {
    pairs.iter().filter(|(a, b)| *a > 0.0 && *b > 0.0).map(|(a, b)| (a / b).ln()).collect()
}

/// The exact two-sided sign-flip test: the share of all ways to give the values
/// signs in which their sum is at least as far from zero as it is. If both
/// contenders were equal, each sign would be as likely as its opposite.
///
/// # Panics
/// With more than [`BLOCKS_MAX`] values, of which there would be too many ways.
pub fn sign_flip_test(values: &[f64]) -> f64 {
    assert!(values.len() <= BLOCKS_MAX, "a study has at most {BLOCKS_MAX} blocks");
    let seen: f64 = values.iter().sum::<f64>().abs();
    // Sums that are equal but for rounding count as equal.
    let rounding = 1e-9 * values.iter().map(|value| value.abs()).sum::<f64>();
    let ways = 1_u32 << values.len();
    let as_far = (0..ways)
        .filter(|way| {
            let signed = values.iter().enumerate().map(|(at, value)| match way >> at & 1 {
                0 => *value,
                _ => -*value,
            });
            signed.sum::<f64>().abs() >= seen - rounding
        })
        .count();
    as_far as f64 / f64::from(ways)
}

/// The slope of the line through values in their order, one apart, by least
/// squares; `None` of fewer than two.
pub fn slope(values: &[f64]) -> Option<f64> {
    let middle = (values.len() as f64 - 1.0) / 2.0;
    let places = || (0..values.len()).map(|place| place as f64 - middle);
    let squares: f64 = places().map(|place| place * place).sum();
    let products: f64 = places().zip(values).map(|(place, value)| place * value).sum();
    (squares > 0.0).then_some(products / squares)
}

/// A permutation test for a trend, two-sided: the share of orders of the values
/// whose slope is at least as far from zero as that of theirs. Of many orders a
/// sample is taken, always the same.
pub fn trend_test(values: &[f64]) -> f64 {
    let steepness = |values: &[f64]| slope(values).unwrap_or(0.0).abs();
    let rounding = 1e-9 * values.iter().map(|value| value.abs()).sum::<f64>();
    let seen = steepness(values) - rounding;
    let mut rng = fastrand::Rng::with_seed(1);
    let mut order = values.to_vec();
    let as_steep = (0..ORDERS)
        .filter(|_| {
            rng.shuffle(&mut order);
            steepness(&order) >= seen
        })
        .count();
    as_steep as f64 / ORDERS as f64
}

/// The noise floor from an A/A pair's log-ratios: the ratio, above 1, up to which
/// identical entries differ. It is the end of the median's interval that is
/// farther from equal; `None` with too few blocks for one.
pub fn noise_floor(log_ratios: &[f64]) -> Option<f64> {
    let (low, high) = median_interval(log_ratios)?;
    Some(low.abs().max(high.abs()).exp())
}

/// On which side of equal these log-ratios of blocks lie, beyond chance and beyond the noise
/// floor; `None` where that can't be told. Ranks, ties and conditions are decided by it.
pub fn side(log_ratios: &[f64], noise_floor: Option<f64>) -> Option<Ordering> {
    if log_ratios.len() < BLOCKS_MIN || sign_flip_test(log_ratios) > SIGNIFICANCE {
        return None;
    }
    let (ahead, floor) = (median(log_ratios)?, noise_floor?);
    match (ahead.exp() > floor, (-ahead).exp() > floor) {
        (true, _) => Some(Ordering::Greater),
        (_, true) => Some(Ordering::Less),
        _ => None,
    }
}

/// The smallest median on this side of equal, as a logarithm, that blocks which scatter as
/// these do would have shown by [`side`]; `None` where none would have been enough.
pub fn smallest_seen(
    log_ratios: &[f64],
    noise_floor: Option<f64>,
    towards: Ordering,
) -> Option<f64> {
    let middle = median(log_ratios)?;
    let sign = if towards == Ordering::Less { -1.0 } else { 1.0 };
    let is_seen = |by: f64| {
        let moved: Vec<f64> = log_ratios.iter().map(|it| it - middle + sign * by).collect();
        side(&moved, noise_floor) == Some(towards)
    };
    let farthest = log_ratios.iter().map(|it| (it - middle).abs()).fold(0.0, f64::max);
    // All blocks lie on one side then, beyond the noise.
    let (mut unseen, mut seen) = (0.0, (farthest + noise_floor?.ln().max(0.0)) * 1.01 + ROUNDING);
    if !is_seen(seen) {
        return None;
    }
    for _ in 0..HALVINGS {
        let by = (unseen + seen) / 2.0;
        if is_seen(by) { seen = by } else { unseen = by }
    }
    Some(sign * seen)
}

/// How far the values of one run lie from those of another.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Difference {
    /// The difference.
    pub median: f64,
    /// Its interval, of 95 % at least.
    pub interval: (f64, f64),
}

/// How far the values `b` lie from the values `a`, as Hodges and Lehmann have it
/// ("Estimates of location based on rank tests", 1963): the median of the differences
/// of each of `b` to each of `a`. `None` with too few values for an interval.
///
/// Nothing pairs the blocks of two runs, because they were made at different times.
/// The interval goes from one of these differences, in their order, to the one as far
/// from the other end. How far that has to be follows from the rank-sum test (Wilcoxon,
/// Mann and Whitney), exactly and whatever the values are: the five smallest and the
/// five largest of 36 lie beyond 95.9 %.
pub fn difference(a: &[f64], b: &[f64]) -> Option<Difference> {
    let beyond = beyond_interval(a.len(), b.len())?;
    let mut differences: Vec<f64> =
        b.iter().flat_map(|to| a.iter().map(move |from| to - from)).collect();
    differences.sort_by(f64::total_cmp);
    let interval = (differences[beyond], differences[differences.len() - 1 - beyond]);
    Some(Difference { median: median(&differences)?, interval })
}

/// How many of the differences between so many values and so many others lie beyond
/// their 95 % interval, at each end; `None` where all of them are too few for one.
fn beyond_interval(count: usize, others: usize) -> Option<usize> {
    // In how many ways so many of the differences are negative, if all values are of
    // one kind: the coefficients of a Gaussian binomial, made factor by factor.
    let differences = count * others;
    let mut ways = vec![0.0; differences + 1];
    ways[0] = 1.0;
    for factor in 1..=count {
        for sum in (others + factor..=differences).rev() {
            ways[sum] -= ways[sum - others - factor];
        }
        for sum in factor..=differences {
            ways[sum] += ways[sum - factor];
        }
    }
    let all: f64 = ways.iter().sum();
    let mut so_few = 0.0;
    let beyond = ways.iter().take_while(|ways| {
        so_few += **ways;
        so_few <= SIGNIFICANCE / 2.0 * all
    });
    beyond.count().checked_sub(1)
}

/// Of each of many figures that two runs have, block by block: how often chance alone
/// would part any of them as far as this one is (the single step of Westfall and Young,
/// "Resampling-Based Multiple Testing", 1993).
///
/// The blocks of both runs are dealt anew into two runs, in all ways or in a sample of
/// them, and the figure that is farthest apart then is held against each as it was.
/// Blocks are dealt as a whole, so that figures that move together do so here. If nothing
/// differs, anything falls to 5 % or less in at most 5 % of cases, however many are
/// looked at; and one that differs by far does so by itself, because hardly a deal
/// parts the blocks as they were. A test that looks at one figure only can't do both:
/// with six blocks its least p is 2/924, and of 24 figures none could be called alone.
///
/// Figures with other numbers of blocks are dealt apart, and share the 5 %.
pub fn chances_of_any(figures: &[(Vec<f64>, Vec<f64>)]) -> Vec<f64> {
    let sizes = |(a, b): &(Vec<f64>, Vec<f64>)| (a.len(), b.len());
    let groups: BTreeSet<(usize, usize)> = figures.iter().map(sizes).collect();
    let mut chances = vec![1.0; figures.len()];
    for &(of_a, of_b) in &groups {
        let group: Vec<usize> =
            (0..figures.len()).filter(|&at| sizes(&figures[at]) == (of_a, of_b)).collect();
        let scaled: Vec<Vec<f64>> = group.iter().map(|&at| to_one_scale(&figures[at])).collect();
        // The sum of all is 0: the more one run has of it, the farther are both apart.
        let apart = |values: &[f64], a: &[usize]| a.iter().map(|&at| values[at]).sum::<f64>().abs();
        let farthest_of =
            |a: &Vec<usize>| scaled.iter().map(|values| apart(values, a)).fold(0.0, f64::max);
        let mut farthest: Vec<f64> = deals(of_a, of_a + of_b).iter().map(farthest_of).collect();
        farthest.sort_by(f64::total_cmp);
        let as_it_was: Vec<usize> = (0..of_a).collect();
        for (&at, values) in group.iter().zip(&scaled) {
            let seen = apart(values, &as_it_was) - ROUNDING;
            let nearer = farthest.partition_point(|apart| *apart < seen);
            let share = (farthest.len() - nearer) as f64 / farthest.len() as f64;
            chances[at] = (share * groups.len() as f64).min(1.0);
        }
    }
    chances
}

/// The values of both runs by their distance from the mean of all, so scaled that their
/// squares are one in sum; 0 where all are equal.
fn to_one_scale((a, b): &(Vec<f64>, Vec<f64>)) -> Vec<f64> {
    let all = || a.iter().chain(b);
    let mean = all().sum::<f64>() / (a.len() + b.len()) as f64;
    let scatter = all().map(|value| (value - mean).powi(2)).sum::<f64>().sqrt();
    let largest = all().map(|value| value.abs()).fold(0.0, f64::max);
    if scatter <= ROUNDING * largest {
        return vec![0.0; a.len() + b.len()];
    }
    all().map(|value| (value - mean) / scatter).collect()
}

/// Ways to take `taken` of so many places: all that there are, or the first places and a
/// sample, always the same.
fn deals(taken: usize, of: usize) -> Vec<Vec<usize>> {
    if of <= DEALT_IN_ALL_WAYS_MAX {
        let places = |way: u32| (0..of).filter(|at| way >> at & 1 == 1).collect();
        let ways = (0..1_u32 << of).filter(|way| way.count_ones() as usize == taken);
        return ways.map(places).collect();
    }
    let mut rng = fastrand::Rng::with_seed(1);
    let mut order: Vec<usize> = (0..of).collect();
    let first = order[..taken].to_vec();
    let shuffled = (0..ORDERS).map(|_| {
        rng.shuffle(&mut order);
        order[..taken].to_vec()
    });
    std::iter::once(first).chain(shuffled).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_sign_flip_test_gives_the_known_answers() {
        // All on one side: only the two ways with all signs alike are as far.
        assert_eq!(sign_flip_test(&[1.0; 6]), 2.0 / 64.0);
        assert_eq!(sign_flip_test(&[0.1, 0.2, 0.3, 0.4, 0.5]), 2.0 / 32.0);
        // Sums of ±1±2±3 are ±6, ±4, ±2, 0, 0; with 1 - 2 + 3 = 2 all but two ways.
        assert_eq!(sign_flip_test(&[1.0, -2.0, 3.0]), 6.0 / 8.0);
        assert_eq!(sign_flip_test(&[1.0, -1.0]), 1.0);
        assert_eq!(sign_flip_test(&[]), 1.0);
    }

    #[test]
    fn five_blocks_could_never_show_a_difference_and_six_can() {
        assert!(sign_flip_test(&[1.0; BLOCKS_MIN - 1]) > SIGNIFICANCE);
        assert!(sign_flip_test(&[1.0; BLOCKS_MIN]) <= SIGNIFICANCE);
    }

    #[test]
    fn the_interval_of_equal_values_is_that_value() {
        assert_eq!(median_interval(&[7.0; 6]), Some((7.0, 7.0)));
        assert_eq!(median_interval(&[7.0; 5]), None, "five blocks are too few");
    }

    /// By hand, of seven: the outermost two cover 1 - 2/128, the next two
    /// 1 - 16/128. 95 % lies 11/35 of the way in; by the paper's formula that is
    /// 6 · 11/35 / (1 + 5 · 11/35) = 66/90 of the way between the values.
    #[test]
    fn the_interval_of_a_known_sample_is_the_known_one() {
        let values: Vec<f64> = (1..=7).map(f64::from).collect();
        let (low, high) = median_interval(&values).unwrap();
        let expected = 1.0 + 66.0 / 90.0;
        assert!((low - expected).abs() < 1e-9 && (high - (8.0 - expected)).abs() < 1e-9);
    }

    /// Draws of a standard normal distribution.
    fn normal(rng: &mut fastrand::Rng) -> f64 {
        (-2.0 * (1.0 - rng.f64()).ln()).sqrt() * (std::f64::consts::TAU * rng.f64()).cos()
    }

    type Noise = fn(&mut fastrand::Rng) -> f64;

    /// Noise that is even, that has a long tail to one side, and that has outliers to
    /// both. All have the median 0.
    const NOISES: [(&str, Noise); 3] = [
        ("normal", normal),
        ("log-normal", |rng| normal(rng).exp() - 1.0),
        ("with outliers", |rng| normal(rng) * if rng.f64() < 0.1 { 10.0 } else { 1.0 }),
    ];

    /// With so many samples, chance moves a share by less than 1 %.
    const SAMPLES: usize = 4_000;

    #[test]
    fn the_interval_covers_the_true_median_93_to_97_times_of_100() {
        let mut rng = fastrand::Rng::with_seed(7);
        for (name, noise) in NOISES {
            for blocks in BLOCKS_MIN..=BLOCKS_MAX {
                let covers = (0..SAMPLES).filter(|_| {
                    let values: Vec<f64> = (0..blocks).map(|_| noise(&mut rng)).collect();
                    let (low, high) = median_interval(&values).unwrap();
                    low <= 0.0 && 0.0 <= high
                });
                let share = covers.count() as f64 / SAMPLES as f64;
                assert!((0.93..=0.97).contains(&share), "{name}, {blocks} blocks: {share}");
            }
        }
    }

    #[test]
    fn equal_contenders_differ_by_the_test_in_at_most_5_of_100_runs() {
        let mut rng = fastrand::Rng::with_seed(8);
        for blocks in [BLOCKS_MIN, 8, 10] {
            let differs = (0..SAMPLES).filter(|_| {
                let ratios: Vec<f64> = (0..blocks).map(|_| normal(&mut rng)).collect();
                sign_flip_test(&ratios) <= SIGNIFICANCE
            });
            let share = differs.count() as f64 / SAMPLES as f64;
            assert!(share <= SIGNIFICANCE + 0.01, "{blocks} blocks: {share}");
        }
    }

    #[test]
    fn a_slope_is_the_lines() {
        assert_eq!(slope(&[1.0, 3.0, 5.0]), Some(2.0));
        assert_eq!(slope(&[4.0, 1.0, 1.0, 4.0]), Some(0.0));
        assert_eq!(slope(&[1.0]), None);
    }

    /// Of the 720 orders of six rising values two are as steep: 0.28 %.
    #[test]
    fn a_trend_test_tells_a_trend_from_chance() {
        let steady_rise = trend_test(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        assert!((0.0005..0.006).contains(&steady_rise), "{steady_rise}");
        assert!(trend_test(&[1.0, 6.0, 2.0, 5.0, 3.0, 4.0]) > 0.5);
        assert_eq!(trend_test(&[1.0; 6]), 1.0);
    }

    /// The check `replication` has its threshold from here.
    #[test]
    fn of_normal_noise_the_floor_of_six_blocks_is_about_twice_the_median_difference() {
        let mut rng = fastrand::Rng::with_seed(12);
        let one = |_| {
            let ratios: Vec<f64> = (0..6).map(|_| normal(&mut rng)).collect();
            let apart: Vec<f64> = ratios.iter().map(|it| it.abs()).collect();
            (noise_floor(&ratios).unwrap().ln(), median(&apart).unwrap())
        };
        let (floors, medians): (Vec<f64>, Vec<f64>) = (0..10_000).map(one).unzip();
        let times = median(&floors).unwrap() / median(&medians).unwrap();
        assert!((1.8..2.0).contains(&times), "{times:.2} times");
    }

    #[test]
    fn the_noise_floor_is_above_one_whichever_twin_is_faster() {
        let floor = noise_floor(&[0.02; 6]).unwrap();
        assert!((floor - 0.02_f64.exp()).abs() < 1e-12);
        assert_eq!(noise_floor(&[-0.02; 6]), Some(floor));
        assert_eq!(noise_floor(&[0.02; BLOCKS_MIN - 1]), None, "too few to tell the noise");
    }

    #[test]
    fn a_side_is_told_beyond_chance_and_beyond_the_noise_alone() {
        let blocks = [0.05, 0.06, 0.05, 0.07, 0.05, 0.06];
        assert_eq!(side(&blocks, Some(1.02)), Some(Ordering::Greater));
        assert_eq!(side(&blocks.map(|it| -it), Some(1.02)), Some(Ordering::Less));
        assert_eq!(side(&blocks, Some(1.10)), None, "identical entries differ by more");
        assert_eq!(side(&blocks, None), None, "nobody knows what identical entries differ by");
        assert_eq!(side(&blocks[..5], Some(1.02)), None, "chance alone does that in five blocks");
        assert_eq!(side(&[0.1, -0.1, 0.1, -0.1, 0.1, 0.1], Some(1.0)), None);
    }

    #[test]
    fn the_smallest_change_is_where_the_side_begins_to_be_told() {
        let blocks = [0.0, 0.01, -0.01, 0.005, -0.005, 0.02];
        for (towards, floor, expected) in [
            // All six blocks have to lie on one side: the outermost ones decide.
            (Ordering::Greater, 1.001, 0.0125),
            (Ordering::Less, 1.001, -0.0175),
            (Ordering::Greater, 1.05, 1.05_f64.ln()),
            (Ordering::Less, 1.05, -(1.05_f64.ln())),
        ] {
            let least = smallest_seen(&blocks, Some(floor), towards).unwrap();
            assert!((least - expected).abs() < 1e-4, "{towards:?} {floor}: {least}");
        }
        assert_eq!(smallest_seen(&blocks, None, Ordering::Less), None);
        assert_eq!(smallest_seen(&blocks[..5], Some(1.01), Ordering::Less), None);
    }

    /// By hand: of the 924 ways to choose 6 of 12, 1, 1, 2, 3, 5 and 7 have none, one, up to
    /// five of the 36 differences negative, in sum 19, and 11 have six. 19/924 is less than
    /// 2.5 %, 30/924 is not.
    #[test]
    fn the_interval_of_a_difference_is_the_rank_sum_tests() {
        let beyond = |a: usize, b: usize| beyond_interval(a, b);
        assert_eq!(beyond(6, 6), Some(5));
        // From tables of the test's critical values at 5 %, two-sided.
        assert_eq!([beyond(4, 4), beyond(5, 8), beyond(10, 10)], [Some(0), Some(6), Some(23)]);
        assert_eq!([beyond(7, 12), beyond(12, 7), beyond(20, 20)], [Some(18), Some(18), Some(127)]);
        // 1 of 35 ways is more than 2.5 %.
        assert_eq!([beyond(3, 4), beyond(1, 20), beyond(0, 6)], [None; 3]);
    }

    #[test]
    fn a_difference_lies_in_its_interval_and_turns_with_its_sides() {
        let a = [1.0, 1.1, 0.9, 1.0, 1.05, 0.95];
        let b = a.map(|value| value + 0.5);
        let there = difference(&a, &b).unwrap();
        assert!((there.median - 0.5).abs() < 1e-9);
        let (low, high) = there.interval;
        assert!((0.3..0.5).contains(&low) && (0.5..0.7).contains(&high), "{low} to {high}");
        let back = difference(&b, &a).unwrap();
        assert!((back.interval.0 + high).abs() < 1e-9 && (back.interval.1 + low).abs() < 1e-9);
        assert_eq!(difference(&a[..3], &b[..4]), None, "too few for 95 %");
    }

    #[test]
    fn the_interval_of_a_difference_covers_the_true_one_94_to_97_times_of_100() {
        let mut rng = fastrand::Rng::with_seed(10);
        for (name, noise) in NOISES {
            for (blocks_a, blocks_b) in [(6, 6), (6, 9), (7, 7), (8, 20), (12, 12), (20, 20)] {
                let covers = (0..SAMPLES).filter(|_| {
                    let a: Vec<f64> = (0..blocks_a).map(|_| noise(&mut rng)).collect();
                    let b: Vec<f64> = (0..blocks_b).map(|_| noise(&mut rng) + 0.5).collect();
                    let (low, high) = difference(&a, &b).unwrap().interval;
                    low <= 0.5 && 0.5 <= high
                });
                let share = covers.count() as f64 / SAMPLES as f64;
                let blocks = format!("{blocks_a} and {blocks_b} blocks");
                assert!((0.94..=0.97).contains(&share), "{name}, {blocks}: {share}");
            }
        }
    }

    /// Figures of two equal runs, six blocks each. All figures of a block have `together`
    /// in common, times one noise.
    fn equal_runs(
        count: usize,
        together: f64,
        noise: Noise,
        rng: &mut fastrand::Rng,
    ) -> Vec<(Vec<f64>, Vec<f64>)> {
        let blocks: Vec<f64> = (0..12).map(|_| together * noise(rng)).collect();
        let mut run = |of: &[f64]| of.iter().map(|block| block + noise(rng)).collect();
        (0..count).map(|_| (run(&blocks[..6]), run(&blocks[6..]))).collect()
    }

    /// What `bakeoff compare` says of itself (docs/compare.md).
    #[test]
    fn equal_runs_part_anything_in_at_most_5_of_100_cases_however_many_figures_they_have() {
        const CASES: usize = 300;
        let mut rng = fastrand::Rng::with_seed(2009);
        for (name, noise) in NOISES {
            for (count, together) in [(1, 0.0), (24, 0.0), (200, 0.0), (24, 2.0)] {
                let called = (0..CASES).filter(|_| {
                    let chances = chances_of_any(&equal_runs(count, together, noise, &mut rng));
                    chances.iter().any(|chance| *chance <= SIGNIFICANCE)
                });
                let called = called.count();
                // Three standard deviations of a share of 5 % in so many cases.
                let most = CASES as f64 * (0.05 + 3.0 * (0.05 * 0.95 / CASES as f64).sqrt());
                let of = format!("{count} figures, {together} in common");
                assert!((called as f64) < most, "{name}, {of}: {called} of {CASES}");
            }
        }
    }

    #[test]
    fn one_that_differs_by_far_among_200_is_parted_from_them() {
        let mut rng = fastrand::Rng::with_seed(11);
        for (name, noise) in NOISES {
            for case in 0..20 {
                let mut figures = equal_runs(200, 1.0, noise, &mut rng);
                // Ten times as much, of a noise of 2 %.
                figures[70].1.iter_mut().for_each(|value| *value += 10_f64.ln() / 0.02);
                let chances = chances_of_any(&figures);
                assert_eq!(chances[70], 2.0 / 924.0, "{name}, case {case}");
            }
        }
    }

    #[test]
    fn chances_are_exact_where_all_ways_are_gone_through() {
        let chances = |figures: &[(&[f64], &[f64])]| {
            let figures: Vec<_> = figures.iter().map(|(a, b)| (a.to_vec(), b.to_vec())).collect();
            chances_of_any(&figures)
        };
        // By hand: 1 and 2 lie apart from 4 and 8 as far as it goes, which 2 of 6 ways do.
        let apart: (&[f64], &[f64]) = (&[1.0, 2.0], &[4.0, 8.0]);
        assert_eq!(chances(&[apart]), [2.0 / 6.0]);
        // 1 and 4 lie 2.5 below twice the mean, 1 and 2 farther, 1 and 8 nearer.
        let among: (&[f64], &[f64]) = (&[1.0, 4.0], &[2.0, 8.0]);
        assert_eq!(chances(&[among]), [4.0 / 6.0]);
        // Values that are all equal are apart in no way, and in nobody's way.
        let equal: (&[f64], &[f64]) = (&[0.1; 2], &[0.1; 2]);
        assert_eq!(chances(&[apart, equal]), [2.0 / 6.0, 1.0]);
        // Another number of blocks: both have half of the share.
        let of_four: (&[f64], &[f64]) = (&[1.0; 4], &[2.0; 4]);
        assert_eq!(chances(&[apart, of_four]), [4.0 / 6.0, 4.0 / 70.0]);
        assert!(chances(&[]).is_empty());
    }

    #[test]
    fn of_more_ways_a_sample_is_taken_in_which_the_runs_as_they_were_are() {
        let count = |taken, of| deals(taken, of).len();
        assert_eq!([count(6, 12), count(8, 16), count(20, 40)], [924, 12_870, ORDERS + 1]);
        let apart = (vec![0.0; 20], vec![1.0; 20]);
        let chance = chances_of_any(&[apart])[0];
        assert!(chance > 0.0 && chance < 0.001, "{chance}");
    }

    proptest! {
        #[test]
        fn which_run_is_named_first_and_the_unit_dont_change_chances(
            figures in prop::collection::vec(
                (prop::collection::vec(-9.0..9.0_f64, 4), prop::collection::vec(-9.0..9.0_f64, 5)),
                1..5,
            ),
        ) {
            let chances = chances_of_any(&figures);
            // Of logarithms, a unit is what is added.
            let in_other_unit = |values: &[f64]| values.iter().map(|it| it + 3.0).collect();
            let turned: Vec<(Vec<f64>, Vec<f64>)> =
                figures.iter().map(|(a, b)| (in_other_unit(b), in_other_unit(a))).collect();
            for (one, other) in chances.iter().zip(chances_of_any(&turned)) {
                prop_assert!((one - other).abs() < 1e-9 && 0.0 < other && other <= 1.0);
            }
        }

        #[test]
        fn an_interval_holds_the_median_and_stays_within_the_values(
            values in prop::collection::vec(1e-3..1e6_f64, BLOCKS_MIN..=BLOCKS_MAX),
        ) {
            let (low, high) = median_interval(&values).unwrap();
            let median = median(&values).unwrap();
            let smallest = values.iter().copied().fold(f64::INFINITY, f64::min);
            let largest = values.iter().copied().fold(0.0, f64::max);
            // Interpolating rounds.
            let rounding = 1e-9 * largest;
            prop_assert!(smallest <= low + rounding && low <= median + rounding);
            prop_assert!(median <= high + rounding && high <= largest + rounding);
        }

        #[test]
        fn a_unit_of_measure_doesnt_change_a_comparison(
            pairs in prop::collection::vec((1.0..1e3_f64, 1.0..1e3_f64), 1..8),
        ) {
            let scaled: Vec<_> = pairs.iter().map(|(a, b)| (a * 1024.0, b * 1024.0)).collect();
            prop_assert_eq!(log_ratios(&pairs), log_ratios(&scaled));
        }

        #[test]
        fn who_is_named_first_doesnt_change_the_test(
            values in prop::collection::vec(-1.0..1.0_f64, 0..10),
        ) {
            let turned: Vec<f64> = values.iter().map(|value| -value).collect();
            prop_assert_eq!(sign_flip_test(&values), sign_flip_test(&turned));
        }

        #[test]
        fn a_p_value_is_a_share_and_never_below_two_of_all_ways(
            values in prop::collection::vec(-1.0..1.0_f64, 1..10),
        ) {
            let p = sign_flip_test(&values);
            let least = 2.0 / f64::from(1_u32 << values.len());
            prop_assert!((least..=1.0).contains(&p), "{}", p);
        }
    }
}
