//! Which part of a load a plan is, where several hosts offer it together.

use serde::{Deserialize, Serialize};

/// A host's part of a load. Its connections, its rate and its number of requests are those of its
/// own plan; this says how they lie beside the others'.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Share {
    /// Which host it is, from 0.
    pub host: u32,
    /// How many there are.
    pub hosts: u32,
    /// The number of its first thread among those of all hosts: the values that a thread writes
    /// name it.
    pub first_thread: u32,
}

impl Default for Share {
    /// All of it: nobody else offers load.
    fn default() -> Share {
        Share { host: 0, hosts: 1, first_thread: 0 }
    }
}

impl Share {
    /// The number among all hosts' requests of the request that has this number here. Keys,
    /// nonces and the request that is in turn follow from it, so that no two hosts ask the same.
    #[inline]
    pub(crate) fn number(self, here: u64) -> u64 {
        here.wrapping_mul(u64::from(self.hosts)).wrapping_add(u64::from(self.host))
    }

    /// How many of the first `all` requests are this host's.
    pub fn of(self, all: u64) -> u64 {
        let (host, hosts) = (u64::from(self.host), u64::from(self.hosts));
        all.saturating_sub(host).div_ceil(hosts)
    }

    /// How much later its first request is due than the first of all, in gaps between its own:
    /// hosts with equal parts of a constant rate take turns.
    pub(crate) fn begins(self) -> f64 {
        f64::from(self.host) / f64::from(self.hosts)
    }

    /// Whether it is one of the parts that it tells of.
    ///
    /// # Errors
    /// Why not, for people.
    pub(crate) fn check(self) -> Result<(), String> {
        if self.host < self.hosts {
            return Ok(());
        }
        Err(format!("there is no host {} of {}: they count from 0", self.host, self.hosts))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn each_request_is_one_hosts(hosts in 1..9_u32, all in 0..500_u64) {
            let mut numbers: Vec<u64> = (0..hosts)
                .map(|host| Share { host, hosts, ..Share::default() })
                .flat_map(|share| (0..share.of(all)).map(move |here| share.number(here)))
                .collect();
            numbers.sort_unstable();
            prop_assert!(numbers.into_iter().eq(0..all), "one is asked twice, or never");
        }
    }

    #[test]
    fn a_host_that_is_none_of_them_is_refused() {
        assert_eq!(Share::default().check(), Ok(()));
        let beyond = Share { host: 2, hosts: 2, ..Share::default() };
        assert!(beyond.check().unwrap_err().contains("no host 2 of 2"));
    }
}
