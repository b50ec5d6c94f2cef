//! Numbers as people read them: three significant digits and a fitting unit.

/// A range's two ends.
pub type Range = (f64, f64);

/// A large number, as `31.2k`.
pub fn count(number: f64) -> String {
    let scale = Scale::of(number, &THOUSANDS, number.fract() == 0.0);
    format!("{}{}", scale.digits(number), scale.unit)
}

/// A range of large numbers, as `30.9–31.6k`.
pub fn count_range((low, high): Range) -> String {
    let scale = Scale::of(high, &THOUSANDS, low.fract() == 0.0 && high.fract() == 0.0);
    format!("{}–{}{}", scale.digits(low), scale.digits(high), scale.unit)
}

/// A time given in µs, as `1.25 ms`.
pub fn time(us: f64) -> String {
    let scale = Scale::of(us, &TIMES, false);
    format!("{} {}", scale.digits(us), scale.unit)
}

/// A number without a unit, to three digits.
pub fn plain(number: f64) -> String {
    Scale::of(number, &ONE, false).digits(number)
}

/// A range of numbers without a unit, as `16.9–17.6`.
pub fn plain_range((low, high): Range) -> String {
    let scale = Scale::of(high, &ONE, false);
    format!("{}–{}", scale.digits(low), scale.digits(high))
}

/// A round number, as `20k` or `2.5`.
pub fn tick(number: f64) -> String {
    let scale = Scale::of(number, &THOUSANDS, true);
    format!("{}{}", three_digits(number / scale.factor), scale.unit)
}

/// A share as a percentage, as `87 %`.
pub fn percent(share: f64) -> String {
    format!("{} %", percentage(share))
}

/// A range of shares as percentages, as `85–89`.
pub fn percent_range((low, high): Range) -> String {
    format!("{}–{}", percentage(low), percentage(high))
}

/// Whole per cent; one place more below ten and close to a hundred, where the
/// first place decides, and as many as it takes to tell it from nothing.
fn percentage(share: f64) -> String {
    let percent = share * 100.0;
    if !percent.is_finite() {
        return NOTHING.into();
    }
    let places = match percent.abs() {
        tiny if tiny > 1e-6 && tiny < 0.1 => (-tiny.log10()).ceil() as usize,
        few if few < 9.95 => 1,
        _ => usize::from((98.95..101.05).contains(&percent)),
    };
    let text = format!("{percent:.places$}");
    text.strip_suffix(".0").map(str::to_string).unwrap_or(text)
}

/// A whole number with its thousands apart, as `1,000`.
pub fn whole(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A number of bytes, as `7.75 GiB`.
pub fn bytes(bytes: u64) -> String {
    let scale = Scale::of(bytes as f64, &BYTES, true);
    format!("{} {}", scale.digits(bytes as f64), scale.unit)
}

/// A number to five digits, for scripts that sort by it.
pub fn digits(number: f64) -> String {
    let places = (4.0 - number.abs().log10().floor()).clamp(0.0, 12.0);
    let text = format!("{number:.*}", if number == 0.0 { 0 } else { places as usize });
    if text.contains('.') {
        text.trim_end_matches(['0']).trim_end_matches('.').into()
    } else {
        text
    }
}

/// A plural where there is not exactly one, as `6 blocks`.
pub fn of(number: u64, thing: &str) -> String {
    format!("{} {thing}{}", whole(number), if number == 1 { "" } else { "s" })
}

/// Put before a number that is a lower bound.
pub fn at_least(is: bool) -> &'static str {
    if is { "≥" } else { "" }
}

/// Put before a number that is an upper bound.
pub fn at_most(is: bool) -> &'static str {
    if is { "≤" } else { "" }
}

/// Shown where there is no number.
pub const NOTHING: &str = "–";

type Units = [(f64, &'static str)];

const THOUSANDS: [(f64, &str); 4] = [(1.0, ""), (1e3, "k"), (1e6, "M"), (1e9, "G")];
const TIMES: [(f64, &str); 4] = [(1e-3, "ns"), (1.0, "µs"), (1e3, "ms"), (1e6, "s")];
const BYTES: [(f64, &str); 4] =
    [(1.0, "B"), (1024.0, "KiB"), (1048576.0, "MiB"), (1073741824.0, "GiB")];
const ONE: [(f64, &str); 1] = [(1.0, "")];

/// A unit, and how many places a number in it has.
struct Scale {
    factor: f64,
    unit: &'static str,
    places: usize,
}

impl Scale {
    /// The largest unit that leaves at least one before the point. Whole numbers have
    /// no places where they are told without a factor.
    fn of(number: f64, units: &Units, is_whole: bool) -> Scale {
        let rounded = three_digits(number).abs();
        let &(factor, unit) =
            units.iter().rev().find(|(factor, _)| rounded >= *factor).unwrap_or(&units[0]);
        let whole_digits = match rounded / factor {
            scaled if scaled >= 100.0 => 3,
            scaled if scaled >= 10.0 => 2,
            _ => 1,
        };
        let places = match rounded / factor {
            _ if is_whole && factor == 1.0 => 0,
            // Two digits that tell it from nothing.
            tiny if (1e-9..0.1).contains(&tiny) => 1 + (-tiny.log10()).ceil() as usize,
            _ => 3 - whole_digits,
        };
        Scale { factor, unit, places }
    }

    fn digits(&self, number: f64) -> String {
        if !number.is_finite() {
            return NOTHING.into();
        }
        format!("{:.*}", self.places, number / self.factor)
    }
}

/// Rounded to three significant digits, so that 999.7 µs becomes 1.00 ms and
/// not 1000 µs.
pub fn three_digits(number: f64) -> f64 {
    format!("{number:.2e}").parse().unwrap_or(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_keep_three_digits() {
        let shown = [0.0, 7.0, 987.4, 1_000.0, 12_345.0, 999_900.0, 1_234_567.0].map(count);
        assert_eq!(
            shown,
            ["0", "7", "987", "1.00k", "12.3k", "1.00M", "1.23M"],
            "a rate lost digits or has the wrong unit"
        );
    }

    #[test]
    fn a_part_of_a_microsecond_is_not_rounded_to_none() {
        assert_eq!(
            [0.25, 0.0999, 0.0124, 0.05, 0.0].map(plain),
            ["0.25", "0.100", "0.012", "0.050", "0.00"]
        );
        assert_eq!(plain_range((0.0104, 0.0131)), "0.010–0.013");
    }

    #[test]
    fn a_rate_of_a_few_answers_is_not_rounded_to_none() {
        assert_eq!([0.4, 7.25, 57.31].map(count), ["0.40", "7.25", "57.3"]);
        assert_eq!(count_range((0.4, 1.0)), "0.40–1.00");
        assert_eq!(count_range((0.0, 12.0)), "0–12");
    }

    #[test]
    fn a_tick_has_no_more_digits_than_it_needs() {
        let shown = [0.0, 3.0 * 0.1, 2.5, 3.0 * 200_000.0, 1.5e6].map(tick);
        assert_eq!(shown, ["0", "0.3", "2.5", "600k", "1.5M"]);
    }

    #[test]
    fn times_take_the_fitting_unit() {
        let shown = [0.25, 9.96, 85.0, 999.7, 1_250.0, 42_000.0, 3_079_000.0].map(time);
        assert_eq!(
            shown,
            ["250 ns", "9.96 µs", "85.0 µs", "1.00 ms", "1.25 ms", "42.0 ms", "3.08 s"],
            "a time has the wrong unit"
        );
    }

    #[test]
    fn both_ends_of_a_range_have_one_unit() {
        assert_eq!(count_range((950.0, 1_020.0)), "0.95–1.02k");
        assert_eq!(plain_range((9.5, 10.2)), "9.5–10.2");
    }

    #[test]
    fn percentages_show_the_place_that_decides() {
        let shown = [0.0523, 0.87, 0.994, 1.0, 1.2].map(percent);
        assert_eq!(shown, ["5.2 %", "87 %", "99.4 %", "100 %", "120 %"]);
        let tiny = [0.0, 0.001, 0.000_4, 0.000_004, 1e-30].map(percent);
        assert_eq!(tiny, ["0 %", "0.1 %", "0.04 %", "0.0004 %", "0 %"]);
    }

    #[test]
    fn what_is_no_number_is_not_shown_as_one() {
        assert_eq!(count(f64::NAN), "–");
        assert_eq!(percent(f64::INFINITY), "– %");
    }

    #[test]
    fn thousands_stand_apart() {
        assert_eq!([7, 999, 1_000, 1_234_567].map(whole), ["7", "999", "1,000", "1,234,567"]);
        assert_eq!(of(1, "block"), "1 block");
        assert_eq!(of(6, "block"), "6 blocks");
    }

    #[test]
    fn five_digits_are_enough_to_sort_by() {
        let numbers = [0.0, 0.342_443_589_340_714, 12.082_222, 132_314.5, 7.0, 1e-30];
        assert_eq!(numbers.map(digits), ["0", "0.34244", "12.082", "132314", "7", "0"]);
    }

    #[test]
    fn memory_is_in_binary_units() {
        assert_eq!(bytes(512), "512 B");
        assert_eq!(bytes(8_321_499_136), "7.75 GiB");
    }
}
