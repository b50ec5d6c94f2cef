//! How long the calibration server works on a request: known before.

use std::str::FromStr;
use std::time::Duration;

/// A distribution of service times with few values.
#[derive(Debug, Clone, PartialEq)]
pub struct Service(Vec<Share>);

/// So many of a hundred requests take this long.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Share {
    percent: u64,
    time: Duration,
}

impl Service {
    /// How long the request takes that is the `number`th. Which requests take
    /// how long looks like chance and is the same in every run.
    pub fn time(&self, number: u64) -> Duration {
        let drawn = mix(number) % 100;
        let mut below = 0;
        for share in &self.0 {
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

/// From `5ms`, or `92%2ms,8%20ms`.
impl FromStr for Service {
    type Err = String;

    fn from_str(text: &str) -> Result<Service, String> {
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
                Ok(Service(shares))
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
    fn what_is_no_whole_is_refused() {
        for text in ["", "5", "90%1ms", "90%1ms,20%2ms", "x%1ms"] {
            assert!(text.parse::<Service>().is_err(), "{text} was taken");
        }
    }
}
