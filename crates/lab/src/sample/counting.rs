//! Whether all connections are there that were asked for: they are counted in the window,
//! where they are kept, when it begins in any case, and again where that is cheap. A server
//! may have some in its queue at one moment, and none at the next.

use super::machine::{self, TcpSockets};
use super::own_cpu_s;
use crate::sample::connections;

/// To count connections the kernel goes through all of the machine, those that have ended
/// and wait among them, and twice for a server that listens on IPv6: so long for each, as
/// measured.
const S_A_WAITING: f64 = 0.3e-6;
/// Connections within the machine have two ends, of which one is counted.
const S_AN_END: f64 = 0.6e-6;

/// Counts connections.
#[derive(Debug)]
pub(super) struct Counting {
    port: u16,
    /// As many as the client was asked to make, where they are kept.
    asked: Option<u32>,
    /// CPU seconds that it may take, but for the first count if connections are missing.
    cost_max_s: f64,
    spent_s: f64,
    /// What it cost the last time.
    last_s: f64,
    /// The machine's before the first of them; `None` where it has one end of each only.
    sockets_before: Option<TcpSockets>,
    has_told: bool,
}

impl Counting {
    /// To be made before the first connection. Where the load comes from here, the machine has both
    /// ends of each.
    pub fn new(port: u16, asked: Option<u32>, cost_max_s: f64, from_here: bool) -> Counting {
        Counting {
            port,
            asked,
            cost_max_s,
            spent_s: 0.0,
            last_s: 0.0,
            sockets_before: machine::tcp_sockets().filter(|_| from_here),
            has_told: false,
        }
    }

    /// The connections at the port, within the window.
    pub fn established(&mut self) -> Option<u32> {
        let (asked, port) = (self.asked?, self.port);
        self.told_or_counted(asked, machine::tcp_sockets(), || connections::established(port))
    }

    fn told_or_counted(
        &mut self,
        asked: u32,
        sockets: Option<TcpSockets>,
        count: impl FnOnce() -> Option<u32>,
    ) -> Option<u32> {
        let is_first = !std::mem::replace(&mut self.has_told, true);
        let cost_s = cost_s(sockets.unwrap_or_default()).max(self.last_s);
        if self.spent_s + cost_s > self.cost_max_s {
            if self.are_all_there(asked, sockets) {
                return Some(asked);
            }
            if !is_first {
                return None;
            }
        }
        let before = own_cpu_s();
        let counted = count();
        self.last_s = own_cpu_s() - before;
        self.spent_s += self.last_s;
        counted
    }

    /// Whether the kernel's own count of all sockets, which costs nothing, grew by both
    /// ends of as many connections as were asked for.
    fn are_all_there(&self, asked: u32, sockets: Option<TcpSockets>) -> bool {
        let known = self.sockets_before.zip(sockets);
        known.is_some_and(|(before, now)| now.open >= before.open + 2 * u64::from(asked))
    }
}

fn cost_s(there_are: TcpSockets) -> f64 {
    there_are.open as f64 * S_AN_END + there_are.time_wait as f64 * S_A_WAITING
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of 100 connections asked for, with ten sockets before.
    fn of_100() -> Counting {
        let sockets_before = Some(TcpSockets { open: 10, time_wait: 0 });
        Counting { sockets_before, ..Counting::new(1, Some(100), 0.005, true) }
    }

    /// What is told with so many sockets, where the kernel would count 64 connections.
    fn told(counting: &mut Counting, open: u64, time_wait: u64) -> Option<u32> {
        counting.told_or_counted(100, Some(TcpSockets { open, time_wait }), || Some(64))
    }

    #[test]
    fn where_it_is_cheap_connections_are_counted_each_time() {
        let mut counting = of_100();
        for _ in 0..2 {
            let counted = told(&mut counting, 210, 0);
            assert_eq!(counted, Some(64), "at the port, whatever else is open");
        }
        counting.spent_s = 0.0049;
        assert_eq!(told(&mut counting, 209, 0), None, "until its share is spent");
    }

    #[test]
    fn where_it_costs_much_and_all_ends_are_there_nobody_counts() {
        assert_eq!(told(&mut of_100(), 210, 131_072), Some(100));
    }

    #[test]
    fn where_an_end_is_missing_connections_are_counted_once_whatever_it_costs() {
        let mut counting = of_100();
        assert_eq!(told(&mut counting, 209, 131_072), Some(64));
        assert_eq!(told(&mut counting, 209, 131_072), None);
        assert_eq!(told(&mut counting, 210, 131_072), Some(100), "they have come");
    }

    #[test]
    fn where_none_is_kept_nothing_is_counted() {
        assert_eq!(Counting::new(1, None, 1.0, true).established(), None);
        if Counting::new(1, Some(0), 1.0, true).established().is_none() {
            crate::skipped::skipped("this kernel doesn't offer sock_diag");
        }
    }
}
