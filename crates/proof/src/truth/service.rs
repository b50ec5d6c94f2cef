//! How long the calibration server works on a request: known before.

use std::str::FromStr;
use std::time::Duration;

/// A distribution of service times.
#[derive(Debug, Clone, PartialEq)]
pub enum Service {
    /// One of a few values.
    Shares(Vec<Share>),
    /// Exponential, with this mean.
    Exponential(Duration),
    /// Until the clock's next tick, of which one comes every so often: on all connections at
    /// once, so that a client has as much to do at once as it can have.
    Ticks(Duration),
}

/// So many of a hundred requests take this long.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Share {
    percent: u64,
    time: Duration,
}

impl Service {
    /// The service times of so many requests, on average.
    pub fn mean(&self, requests: u64) -> Duration {
        let sum: Duration = (0..requests).map(|number| self.time(number)).sum();
        sum.div_f64(requests.max(1) as f64)
    }

    /// When the request is done that is the `number`th and came at this time, both in
    /// nanoseconds of the clock.
    pub fn done_at(&self, number: u64, arrived: u64) -> u64 {
        let time = self.time(number).as_nanos() as u64;
        match self {
            Service::Ticks(_) => (arrived / time.max(1) + 1) * time,
            Service::Shares(_) | Service::Exponential(_) => arrived + time,
        }
    }

    /// How long the request takes that is the `number`th, or the longest that it may. Which
    /// requests take how long looks like chance and is the same in every run.
    fn time(&self, number: u64) -> Duration {
        let drawn = mix(number);
        let shares = match self {
            Service::Shares(shares) => shares,
            Service::Ticks(every) => return *every,
            Service::Exponential(mean) => {
                // 53 bits of chance give a number in (0, 1].
                let uniform = ((drawn >> 11) + 1) as f64 / (1_u64 << 53) as f64;
                return mean.mul_f64(-uniform.ln());
            }
        };
        let drawn = drawn % 100;
        let mut below = 0;
        for share in shares {
            below += share.percent;
            if drawn < below {
                return share.time;
            }
        }
        unreachable!("the shares are a hundred in all")
    }
}

/// Bits of the number spread over the whole word: the finaliser of SplitMix64.
fn mix(number: u64) -> u64 {
    let mut bits = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

/// From `5ms`, `92%2ms,8%20ms`, `exponential:5ms`, or `ticks:5ms`.
impl FromStr for Service {
    type Err = String;

    fn from_str(text: &str) -> Result<Service, String> {
        if let Some((law, time)) = text.split_once(':') {
            let time = humantime::parse_duration(time).map_err(|why| format!("{text}: {why}"))?;
            return match law {
                "exponential" => Ok(Service::Exponential(time)),
                "ticks" => Ok(Service::Ticks(time)),
                _ => Err(format!("{law} is neither exponential nor ticks")),
            };
        }
        let share = |part: &str| {
            let (percent, time) = part.split_once('%').unwrap_or(("100", part));
            Some(Share {
                percent: percent.parse().ok()?,
                time: humantime::parse_duration(time).ok()?,
            })
        };
        let shares: Option<Vec<Share>> = text.split(',').map(share).collect();
        match shares {
            Some(shares) if shares.iter().map(|share| share.percent).sum::<u64>() == 100 => {
                Ok(Service::Shares(shares))
            }
            _ => Err(format!("{text} is neither a time nor shares of a hundred, as 90%1ms,10%5ms")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_kept_and_the_same_in_every_run() {
        let service: Service = "92%2ms,8%20ms".parse().unwrap();
        let times: Vec<Duration> = (0..100_000).map(|number| service.time(number)).collect();
        let slow = times.iter().filter(|time| **time == Duration::from_millis(20)).count();
        assert!((7_600..8_400).contains(&slow), "{slow} of 100,000 are slow instead of 8 %");
        assert_eq!(service.time(12_345), times[12_345]);
    }

    #[test]
    fn a_single_time_is_for_all() {
        let service: Service = "5ms".parse().unwrap();
        assert_eq!(service.time(7), Duration::from_millis(5));
    }

    #[test]
    fn exponential_times_have_their_mean_as_deviation() {
        let service: Service = "exponential:5ms".parse().unwrap();
        let times = (0..100_000).map(|number| service.time(number).as_secs_f64() / 5e-3);
        let times: Vec<f64> = times.collect();
        let mean = times.iter().sum::<f64>() / 1e5;
        let squares = times.iter().map(|time| (time - mean).powi(2)).sum::<f64>() / 1e5;
        assert!((mean - 1.0).abs() < 0.02, "a mean of {mean} instead of 1");
        assert!((squares.sqrt() - 1.0).abs() < 0.02, "a deviation of {}", squares.sqrt());
    }

    #[test]
    fn a_tick_is_for_all_that_came_since_the_last() {
        let service: Service = "ticks:10ns".parse().unwrap();
        let done = [0, 1, 9, 10, 11].map(|arrived| service.done_at(3, arrived));
        assert_eq!(done, [10, 10, 10, 20, 20]);
        assert_eq!("10ns".parse::<Service>().unwrap().done_at(3, 11), 21);
    }

    #[test]
    fn what_is_no_whole_is_refused() {
        for text in ["", "5", "90%1ms", "90%1ms,20%2ms", "x%1ms", "exponential:", "x:5ms"] {
            assert!(text.parse::<Service>().is_err(), "{text} was taken");
        }
    }
}
