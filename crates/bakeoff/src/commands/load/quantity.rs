//! Rates, durations and lists of processors as arguments have them.

use std::time::Duration;

/// The lowest rate a second: one request in the longest duration.
const RATE_MIN: f64 = 1.0 / A_DAY.as_secs() as f64;
/// The highest, which no machine sends. What was due and never sent is counted one by one
/// when the run is over: that takes up to as long as the run at this rate, and at a higher
/// one many times as long.
const RATE_MAX: f64 = 1e8;

/// A rate a second: `500`, `20k`, `1.5M`.
pub fn rate(text: &str) -> Result<f64, String> {
    let rate = number(text)?;
    if rate < RATE_MIN {
        return Err("a rate is at least one request a day, 0.0000116".into());
    }
    if rate > RATE_MAX {
        return Err("a rate is at most 100M, more than any machine sends".into());
    }
    Ok(rate)
}

/// A number above 0, which may have a unit.
fn number(text: &str) -> Result<f64, String> {
    let (digits, scale) = match text.strip_suffix(['k', 'M']) {
        Some(digits) if text.ends_with('k') => (digits, 1e3),
        Some(digits) => (digits, 1e6),
        None => (text, 1.0),
    };
    match digits.parse::<f64>() {
        Ok(number) if number > 0.0 && number.is_finite() => Ok(number * scale),
        Ok(_) => Err("a rate is above 0".into()),
        Err(_) => Err("a rate is a number a second, as 500, 20k or 1.5M".into()),
    }
}

/// A number of requests: `500`, `20k`, `1M`.
pub fn count(text: &str) -> Result<u64, String> {
    let wrong = || "a number of requests is whole and above 0, as 500, 20k or 1M".to_string();
    let number = number(text).map_err(|_| wrong())?;
    if number.fract() != 0.0 { Err(wrong()) } else { Ok(number as u64) }
}

/// Some of many: so many, or a share of them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Part {
    /// So many.
    Count(u64),
    /// So many of a hundred, above 0 and up to 100.
    Percent(f64),
}

impl Part {
    /// How many these are of so many: one at least.
    pub fn of(self, all: u32) -> u32 {
        match self {
            Part::Count(count) => u32::try_from(count).unwrap_or(u32::MAX),
            Part::Percent(percent) => (f64::from(all) * percent / 100.0).ceil().max(1.0) as u32,
        }
    }
}

/// Some of many: `5`, `1%`.
pub fn part(text: &str) -> Result<Part, String> {
    let wrong = || "a part is a whole number above 0, as 5, or a share of all, as 1%".to_string();
    match text.strip_suffix('%') {
        Some(percent) => match percent.trim().parse::<f64>() {
            Ok(percent) if percent > 0.0 && percent <= 100.0 => Ok(Part::Percent(percent)),
            _ => Err(wrong()),
        },
        None => count(text).map(Part::Count).map_err(|_| wrong()),
    }
}

/// The longest duration.
pub const A_DAY: Duration = Duration::from_secs(86_400);

/// A duration above 0: `10s`, `500ms`, `1m 30s`.
pub fn duration(text: &str) -> Result<Duration, String> {
    match duration_or_none(text)? {
        Duration::ZERO => Err("a duration here is above 0".into()),
        duration => Ok(duration),
    }
}

/// A duration, which may be 0.
pub fn duration_or_none(text: &str) -> Result<Duration, String> {
    match humantime::parse_duration(text) {
        Ok(duration) if duration > A_DAY => Err("a duration here is at most a day".into()),
        Ok(duration) => Ok(duration),
        Err(error) => Err(format!("{error}; write for example 10s, 500ms or 2m")),
    }
}

/// A list of processors, as `taskset` has it: `0,2-3`. Their order is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cpus(pub Vec<usize>);

/// Reads a list of processors.
pub fn cpus(text: &str) -> Result<Cpus, String> {
    /// More than any kernel has.
    const CPU_MAX: usize = 65_535;
    let wrong = |part: &str| format!("\"{part}\" is no processor and no range, as 0 or 2-3");
    let mut cpus = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let number = |digits: &str| digits.trim().parse::<usize>().map_err(|_| wrong(part));
        let (first, last) = (number(first)?, number(last)?);
        if first > last || last > CPU_MAX {
            return Err(wrong(part));
        }
        cpus.extend(first..=last);
    }
    let mut sorted = cpus.clone();
    sorted.sort_unstable();
    sorted.dedup();
    if sorted.len() < cpus.len() {
        return Err("a processor is named twice; -t gives it several threads".into());
    }
    Ok(Cpus(cpus))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_and_counts_have_thousands_and_millions() {
        assert_eq!(rate("500"), Ok(500.0));
        assert_eq!(rate("20k"), Ok(20_000.0));
        assert_eq!(rate("1.5M"), Ok(1_500_000.0));
        assert_eq!(rate("0.5"), Ok(0.5));
        assert_eq!(rate("100M"), Ok(1e8));
        assert_eq!(rate("0.0000116"), Ok(0.0000116), "a complaint advises it");
        assert_eq!(count("2.5k"), Ok(2_500));
        assert_eq!(count("2000M"), Ok(2_000_000_000));
        for wrong in ["", "k", "-1", "0", "inf", "nan", "1e400", "20kk", "20 k", "1G"] {
            assert!(rate(wrong).is_err(), "{wrong:?} was taken for a rate");
        }
        for (wrong, why) in
            [("1e-11", "one request a day"), ("101M", "at most 100M"), ("1e300M", "at most 100M")]
        {
            let complaint = rate(wrong).unwrap_err();
            assert!(complaint.contains(why), "{wrong}: {complaint}");
        }
        for wrong in ["0", "0.5", "1.0001k", ""] {
            assert!(count(wrong).is_err(), "{wrong:?} was taken for a number of requests");
        }
    }

    #[test]
    fn a_part_is_a_number_or_a_share_and_never_nothing() {
        assert_eq!(part("5").unwrap().of(100), 5);
        assert_eq!(part("1%").unwrap().of(6_500), 65);
        assert_eq!(part("0.1%").unwrap().of(100), 1);
        for wrong in ["0", "0%", "-1%", "101%", "1.5", "%", "nan%", ""] {
            let complaint = part(wrong).unwrap_err();
            assert!(complaint.contains("as 5, or a share"), "{wrong:?}: {complaint}");
        }
    }

    #[test]
    fn durations_need_a_unit() {
        assert_eq!(duration("10s"), Ok(Duration::from_secs(10)));
        assert_eq!(duration("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(duration("1m 30s"), Ok(Duration::from_secs(90)));
        assert_eq!(duration_or_none("0s"), Ok(Duration::ZERO));
        for wrong in ["", "10", "s", "0s", "-1s", "2d", "10parsecs"] {
            assert!(duration(wrong).is_err(), "{wrong:?} was taken for a duration");
        }
    }

    #[test]
    fn processors_are_numbers_and_ranges() {
        assert_eq!(cpus("0,2-4"), Ok(Cpus(vec![0, 2, 3, 4])));
        assert_eq!(cpus("3"), Ok(Cpus(vec![3])));
        for wrong in ["", "a", "1-", "3-1", "0,,1", "0-99999999999", "1,0-2"] {
            assert!(cpus(wrong).is_err(), "{wrong:?} was taken for processors");
        }
    }
}
