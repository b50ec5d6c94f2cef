//! Statistics over blocks.
//!
//! The unit of replication is a fresh process: one value a block. Two contenders
//! are compared within blocks, where the machine was the same for both, by the
//! logarithm of their ratio: so that twice as fast and half as fast are the same
//! distance from equal.

/// The fewest blocks that an interval, a test or a rank is made of. With fewer,
/// no result of a sign-flip test could fall below 5 %.
pub const BLOCKS_MIN: usize = 6;
/// The most blocks: the sign-flip test goes through all 2^n ways.
pub const BLOCKS_MAX: usize = 20;
/// The level of intervals and tests.
pub const SIGNIFICANCE: f64 = 0.05;

/// Resamples of a bootstrap.
const RESAMPLES: usize = 10_000;
/// Orders that a permutation test takes.
const ORDERS: usize = 10_000;

/// The median; `None` of nothing.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    median_of_sorted(&sorted)
}

fn median_of_sorted(sorted: &[f64]) -> Option<f64> {
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        odd if odd % 2 == 1 => Some(sorted[middle]),
        _ => Some((sorted[middle - 1] + sorted[middle]) / 2.0),
    }
}

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

/// The 95 % interval of the difference of two medians, `b` less `a`, by a
/// percentile bootstrap; `None` with fewer than [`BLOCKS_MIN`] values in either.
///
/// Each side is drawn by itself, because nothing pairs the blocks of two runs:
/// they were made at different times. With so few values a bootstrap is somewhat
/// too narrow; what has changed rests on [`rank_sum_test`].
pub fn difference_interval(a: &[f64], b: &[f64], seed: u64) -> Option<(f64, f64)> {
    if a.len().min(b.len()) < BLOCKS_MIN {
        return None;
    }
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut drawn_median = |values: &[f64]| {
        let mut drawn: Vec<f64> =
            values.iter().map(|_| values[rng.usize(..values.len())]).collect();
        drawn.sort_by(f64::total_cmp);
        median_of_sorted(&drawn)
    };
    let mut differences: Vec<f64> =
        (0..RESAMPLES).filter_map(|_| Some(-drawn_median(a)? + drawn_median(b)?)).collect();
    differences.sort_by(f64::total_cmp);
    let tail = (RESAMPLES as f64 * SIGNIFICANCE / 2.0) as usize;
    Some((differences[tail], differences[RESAMPLES - 1 - tail]))
}

/// The exact two-sided rank-sum test (Wilcoxon, Mann and Whitney) of values that
/// nothing pairs: the share of all ways to divide them into two groups of these
/// sizes whose ranks lie at least as far apart. Equal values share their ranks.
pub fn rank_sum_test(a: &[f64], b: &[f64]) -> f64 {
    let mut all: Vec<(f64, bool)> =
        a.iter().map(|&value| (value, true)).chain(b.iter().map(|&value| (value, false))).collect();
    all.sort_by(|one, other| one.0.total_cmp(&other.0));
    // Doubled, the shared ranks are whole numbers.
    let ranks: Vec<usize> = all
        .iter()
        .map(|(value, _)| {
            let below = all.partition_point(|(other, _)| other < value);
            let not_above = all.partition_point(|(other, _)| other <= value);
            below + 1 + not_above
        })
        .collect();
    let seen: usize = ranks.iter().zip(&all).filter(|(_, one)| one.1).map(|(rank, _)| rank).sum();

    // How many ways choose `taken` values with ranks of this sum.
    let sums = ranks.iter().sum::<usize>() + 1;
    let mut ways = vec![vec![0.0_f64; sums]; a.len() + 1];
    ways[0][0] = 1.0;
    for &rank in &ranks {
        for taken in (1..=a.len()).rev() {
            for sum in (rank..sums).rev() {
                ways[taken][sum] += ways[taken - 1][sum - rank];
            }
        }
    }
    let expected = (a.len() * (all.len() + 1)) as f64;
    let distance = |sum: usize| (sum as f64 - expected).abs();
    let as_far =
        ways[a.len()].iter().enumerate().filter(|(sum, _)| distance(*sum) >= distance(seen));
    as_far.map(|(_, ways)| ways).sum::<f64>() / ways[a.len()].iter().sum::<f64>()
}

/// Which of many p-values are discoveries (Benjamini and Hochberg, 1995): of those
/// called, at most 5 % are expected to be chance. If nothing differs at all, chance
/// alone calls anything in at most 5 % of cases, however many are looked at.
pub fn discoveries(p_values: &[f64]) -> Vec<bool> {
    let mut sorted = p_values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let limit = |at: usize| SIGNIFICANCE * (at + 1) as f64 / sorted.len() as f64;
    let largest = (0..sorted.len()).rev().find(|&at| sorted[at] <= limit(at)).map(|at| sorted[at]);
    p_values.iter().map(|p| largest.is_some_and(|largest| *p <= largest)).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn medians_of_odd_even_and_no_values() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
        assert_eq!(median(&[]), None);
    }

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

    /// With so many samples, chance moves a share by less than 1 %.
    const SAMPLES: usize = 4_000;

    #[test]
    fn the_interval_covers_the_true_median_93_to_97_times_of_100() {
        let mut rng = fastrand::Rng::with_seed(7);
        // Noise that is even, that has a long tail to one side, and that has
        // outliers to both.
        type Noise = fn(&mut fastrand::Rng) -> f64;
        let noises: [(&str, Noise); 3] = [
            ("normal", normal),
            ("log-normal", |rng| normal(rng).exp() - 1.0),
            ("with outliers", |rng| normal(rng) * if rng.f64() < 0.1 { 10.0 } else { 1.0 }),
        ];
        for (name, noise) in noises {
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

    #[test]
    fn the_noise_floor_is_above_one_whichever_twin_is_faster() {
        let floor = noise_floor(&[0.02; 6]).unwrap();
        assert!((floor - 0.02_f64.exp()).abs() < 1e-12);
        assert_eq!(noise_floor(&[-0.02; 6]), Some(floor));
        assert_eq!(noise_floor(&[0.02; BLOCKS_MIN - 1]), None, "too few to tell the noise");
    }

    #[test]
    fn the_rank_sum_test_gives_the_known_answers() {
        let ten_times = [10.0, 20.0, 30.0, 40.0, 50.0, 60.0];
        // All of one below all of the other: two ways of the 924 to choose 6 of 12.
        assert_eq!(rank_sum_test(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], &ten_times), 2.0 / 924.0);
        // Ranks 1 and 3 of 4: sums of 2 of 4 are 3, 4, 5, 5, 6, 7; all but the two 5 are as far.
        assert_eq!(rank_sum_test(&[1.0, 3.0], &[2.0, 4.0]), 4.0 / 6.0);
        assert_eq!(rank_sum_test(&[7.0; 6], &[7.0; 6]), 1.0, "equal values aren't apart");
    }

    #[test]
    fn the_interval_of_a_difference_holds_it_and_has_its_sign() {
        let a = [1.0, 1.1, 0.9, 1.0, 1.05, 0.95];
        let b = a.map(|value| value + 0.5);
        let (low, high) = difference_interval(&a, &b, 1).unwrap();
        assert!((0.3..=0.5).contains(&low) && (0.5..0.7).contains(&high), "{low} to {high}");
        assert_eq!(difference_interval(&a[..5], &b, 1), None, "five blocks are too few");
    }

    /// It is somewhat too narrow, as its description says, and what has changed
    /// doesn't rest on it.
    #[test]
    fn the_interval_of_a_difference_covers_the_true_one_90_to_98_times_of_100() {
        const CASES: u64 = 250;
        let mut rng = fastrand::Rng::with_seed(10);
        let covers = (0..CASES).filter(|case| {
            let mut run = || [0.0; BLOCKS_MIN].map(|_: f64| normal(&mut rng));
            let (a, b) = (run(), run().map(|value| value + 0.5));
            let (low, high) = difference_interval(&a, &b, *case).unwrap();
            low <= 0.5 && 0.5 <= high
        });
        let share = covers.count() as f64 / CASES as f64;
        assert!((0.90..=0.98).contains(&share), "{share}");
    }

    #[test]
    fn many_looks_need_more_than_one_chance() {
        assert_eq!(discoveries(&[0.04]), [true]);
        assert_eq!(discoveries(&[0.04, 0.5, 0.6, 0.7]), [false; 4]);
        assert_eq!(discoveries(&[0.04, 0.03, 0.02, 0.05]), [true; 4], "all of them differ");
        assert_eq!(discoveries(&[0.9, 0.001, 0.02, 0.9]), [false, true, true, false]);
        assert!(discoveries(&[]).is_empty());
    }

    /// By simulation: two equal runs of 24 figures and six blocks each.
    #[test]
    fn equal_runs_call_any_change_in_at_most_5_percent_of_cases() {
        const CASES: usize = 500;
        let mut rng = fastrand::Rng::with_seed(2009);
        let mut normal = || (0..12).map(|_| rng.f64()).sum::<f64>() - 6.0;
        let mut called = 0;
        for _ in 0..CASES {
            let p_values: Vec<f64> = (0..24)
                .map(|_| {
                    let mut run = || [0.0; 6].map(|_: f64| 0.02 * normal());
                    rank_sum_test(&run(), &run())
                })
                .collect();
            called += usize::from(discoveries(&p_values).contains(&true));
        }
        // Three standard deviations of a share of 5 % in so many cases.
        let most = CASES as f64 * (0.05 + 3.0 * (0.05 * 0.95 / CASES as f64).sqrt());
        assert!((called as f64) < most, "a change was called in {called} of {CASES} equal runs");
    }

    proptest! {
        #[test]
        fn which_run_is_named_first_doesnt_change_the_rank_sum_test(
            a in prop::collection::vec(-9.0..9.0_f64, 1..9),
            b in prop::collection::vec(-9.0..9.0_f64, 1..9),
        ) {
            let (one, other) = (rank_sum_test(&a, &b), rank_sum_test(&b, &a));
            prop_assert!((one - other).abs() < 1e-9 && 0.0 < one && one <= 1.0, "{one} {other}");
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
