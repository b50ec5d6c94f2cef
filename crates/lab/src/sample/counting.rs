//! Whether all connections are there that were asked for: they are counted once, when the
//! window has begun, where they are kept.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::machine::{self, TcpSockets};
use crate::connections;

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
    /// As many as the client was asked to make.
    asked: u32,
    /// What it may take, unless connections are missing.
    cost_max_s: f64,
    /// The machine's before the first of them.
    sockets_before: Option<TcpSockets>,
    in_window: Arc<AtomicBool>,
    is_done: bool,
}

impl Counting {
    /// To be made before the first connection.
    pub fn new(port: u16, asked: u32, cost_max_s: f64, in_window: Arc<AtomicBool>) -> Counting {
        let sockets_before = machine::tcp_sockets();
        Counting { port, asked, cost_max_s, sockets_before, in_window, is_done: false }
    }

    /// Whether this is the time to count.
    pub fn is_owed(&self) -> bool {
        !self.is_done && self.in_window.load(Ordering::Relaxed)
    }

    /// The connections at the port, once.
    pub fn established(&mut self) -> Option<u32> {
        if !self.is_owed() {
            return None;
        }
        self.is_done = true;
        self.told_or_counted(machine::tcp_sockets(), || connections::established(self.port))
    }

    fn told_or_counted(
        &self,
        sockets: Option<TcpSockets>,
        count: impl FnOnce() -> Option<u32>,
    ) -> Option<u32> {
        let is_dear = cost_s(sockets.unwrap_or_default()) > self.cost_max_s;
        match is_dear && self.are_all_there(sockets) {
            true => Some(self.asked),
            false => count(),
        }
    }

    /// Whether the kernel's own count of all sockets, which costs nothing, grew by both
    /// ends of as many connections as were asked for.
    fn are_all_there(&self, sockets: Option<TcpSockets>) -> bool {
        let known = self.sockets_before.zip(sockets);
        known.is_some_and(|(before, now)| now.open >= before.open + 2 * u64::from(self.asked))
    }
}

fn cost_s(there_are: TcpSockets) -> f64 {
    there_are.open as f64 * S_AN_END + there_are.time_wait as f64 * S_A_WAITING
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is told of 100 connections asked for, of which the kernel would count 64, with
    /// ten sockets before and so many now.
    fn told(open: u64, time_wait: u64) -> Option<u32> {
        let counting = Counting {
            port: 1,
            asked: 100,
            cost_max_s: 0.005,
            sockets_before: Some(TcpSockets { open: 10, time_wait }),
            in_window: Arc::default(),
            is_done: true,
        };
        counting.told_or_counted(Some(TcpSockets { open, time_wait }), || Some(64))
    }

    #[test]
    fn where_it_is_cheap_connections_are_counted() {
        assert_eq!(told(210, 0), Some(64), "at the port, whatever else is open");
    }

    #[test]
    fn where_it_costs_much_and_all_ends_are_there_nobody_counts() {
        assert_eq!(told(210, 131_072), Some(100));
    }

    #[test]
    fn where_an_end_is_missing_connections_are_counted_whatever_it_costs() {
        assert_eq!(told(209, 131_072), Some(64));
    }

    #[test]
    fn they_are_counted_once_and_in_the_window() {
        let in_window = Arc::new(AtomicBool::new(false));
        let mut counting = Counting::new(1, 0, 1.0, in_window.clone());
        assert_eq!(counting.established(), None, "it hasn't begun");
        in_window.store(true, Ordering::Relaxed);
        if machine::tcp_sockets().is_none() || counting.established().is_none() {
            return crate::skipped::skipped("this kernel doesn't offer sock_diag");
        }
        assert_eq!(counting.established(), None, "once is enough");
    }
}
