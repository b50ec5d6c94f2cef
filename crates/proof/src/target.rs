//! A server that clients are measured against: it counts its requests and connections.

use std::time::{Duration, Instant};

use crate::interrupt::Interrupt;
use crate::server::Server;

/// The path that answers with the counts, as nginx's `stub_status` does.
pub const STATUS: &str = "/status";

/// One such server. Dropping it stops it.
#[derive(Debug)]
pub struct Target(Server);

impl Target {
    /// A server that answers [`STATUS`].
    pub fn new(server: Server) -> Target {
        Target(server)
    }

    /// The URL of a path on it.
    pub fn url(&self, path: &str) -> String {
        self.0.url(path)
    }

    /// Requests that it has handled since its start, this one not among them.
    pub fn requests(&self) -> Result<u64, String> {
        // After a line with names: accepted, handled, requests.
        let status = self.0.get(STATUS)?;
        status
            .lines()
            .nth(2)
            .and_then(|line| line.split_ascii_whitespace().nth(2))
            .and_then(|requests| requests.parse::<u64>().ok())
            .map(|requests| requests - 1)
            .ok_or_else(|| not_understood(&status))
    }

    /// Waits until it has taken on all connections that were made before, and gives how
    /// many it has, this one not among them.
    pub fn connections(&self) -> Result<u64, String> {
        // Connections are accepted in the order in which they were made.
        let status = self.0.get(STATUS)?;
        let active = status.strip_prefix("Active connections: ");
        active
            .and_then(|rest| rest.split_ascii_whitespace().next()?.parse::<u64>().ok())
            .map(|active| active - 1)
            .ok_or_else(|| not_understood(&status))
    }

    /// CPU seconds of its processes so far, as far as the kernel tells.
    pub fn cpu_s(&self) -> Option<f64> {
        self.0.cpu_s()
    }

    /// Waits until no connection but our own is open: see [`settle`].
    pub fn settle(&self, interrupt: &Interrupt) -> Result<(), String> {
        settle(|| self.connections(), interrupt)
    }
}

/// Waits until nobody is connected, so that one client's farewell is not the next one's load.
pub fn settle(
    connections: impl Fn() -> Result<u64, String>,
    interrupt: &Interrupt,
) -> Result<(), String> {
    let deadline = Instant::now() + Duration::from_secs(10);
    while connections()? > 0 {
        interrupt.check()?;
        if Instant::now() >= deadline {
            return Err("connections are still open 10 s after their client ended".into());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

fn not_understood(status: &str) -> String {
    format!("the server's status is not as nginx documents it: {status:?}")
}
