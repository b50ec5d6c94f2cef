//! Source addresses: where one has too few ports, several are used in turn.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// Gives each new connection its source address.
///
/// A connection is told from others by its two addresses and ports, so that one
/// source address has some 28,000 connections to a server, those included that
/// wait for late segments (`TIME_WAIT`, 60 s). On loopback all of 127.0.0.0/8 is
/// ours, which makes the limit disappear.
#[derive(Debug, Clone)]
pub(crate) enum Sources {
    /// As the kernel chooses.
    Any,
    /// 127.x.y.1 in turn.
    Loopback { next: u32 },
}

/// So many connections that are kept have one source address, and a port of it each.
pub const ONE_SOURCE_MAX: u32 = 10_000;

/// Source addresses that are taken in turn: room for 28,000 × 240 connections
/// within a minute, ten times what a core can open.
const ADDRESSES: u32 = 240;

impl Sources {
    /// What a thread needs that opens so many connections to this target.
    /// Threads begin at addresses of their own.
    pub(crate) fn new(target: SocketAddr, one_shot: bool, connections: u32, thread: usize) -> Self {
        let many = one_shot || connections > ONE_SOURCE_MAX;
        match target.ip() {
            IpAddr::V4(address) if address.is_loopback() && many => {
                Sources::Loopback { next: (thread as u32 * 37) % ADDRESSES }
            }
            _ => Sources::Any,
        }
    }

    /// The source address of the next connection; `None` for the kernel's choice.
    pub(crate) fn next(&mut self) -> Option<Ipv4Addr> {
        match self {
            Sources::Any => None,
            Sources::Loopback { next } => {
                *next = (*next + 1) % ADDRESSES;
                // 127.0.0.0/16 is left to others: servers sit there.
                Some(Ipv4Addr::new(127, 1 + *next as u8, 0, 1))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_sources_are_loopback_and_all_used() {
        let mut sources = Sources::new("127.0.0.1:80".parse().unwrap(), true, 1, 3);
        let mut seen: Vec<Ipv4Addr> = (0..ADDRESSES * 2).filter_map(|_| sources.next()).collect();
        assert!(seen.iter().all(Ipv4Addr::is_loopback));
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), ADDRESSES as usize);
    }

    #[test]
    fn other_targets_keep_the_kernels_choice() {
        for target in ["192.0.2.1:80", "[::1]:80"] {
            assert_eq!(Sources::new(target.parse().unwrap(), true, 1, 0).next(), None);
        }
        let few_kept_alive = Sources::new("127.0.0.1:80".parse().unwrap(), false, 100, 0).next();
        assert_eq!(few_kept_alive, None);
    }
}
