//! The server that all clients are measured against: nginx, doing as little as
//! it can.

use std::time::{Duration, Instant};

use crate::interrupt::Interrupt;
use crate::place::Place;
use crate::server::{Recipe, Server};

/// One nginx of our own configuration. Dropping it stops it.
#[derive(Debug)]
pub struct Nginx(Server);

/// What `/` answers: about as much as a small API does.
const BODY: &str = "hello from a server that does next to nothing, so that it is the client \
                    that is measured, and not it";

impl Nginx {
    /// Starts it on its processor, with a file `/<bytes>` of each size.
    pub fn start(place: &Place, sizes: &[usize], interrupt: &Interrupt) -> Result<Nginx, String> {
        let files = sizes.iter().map(|size| (size.to_string(), "x".repeat(*size)));
        let recipe = |address: std::net::SocketAddr, folder: &str| {
            let configuration = include_str!("nginx.conf")
                .replace("@ADDRESS@", &address.to_string())
                .replace("@FOLDER@", folder)
                .replace("@BODY@", BODY);
            let command = ["nginx", "-e", "stderr", "-p", folder, "-c", "nginx.conf"];
            Recipe {
                command: command.map(String::from).to_vec(),
                files: files.chain([("nginx.conf".to_string(), configuration)]).collect(),
                ready: "/",
            }
        };
        let started = Server::start(recipe, place, interrupt);
        started.map(Nginx).map_err(|why| format!("{why} (`setup/install bench` installs nginx)"))
    }

    /// The URL of a path on it.
    pub fn url(&self, path: &str) -> String {
        self.0.url(path)
    }

    /// Requests that it has handled since its start, this one not among them.
    pub fn requests(&self) -> Result<u64, String> {
        // After a line with names: accepted, handled, requests.
        let status = self.0.get("/status")?;
        status
            .lines()
            .nth(2)
            .and_then(|line| line.split_ascii_whitespace().nth(2))
            .and_then(|requests| requests.parse::<u64>().ok())
            .map(|requests| requests - 1)
            .ok_or_else(|| format!("nginx's status is not as it is documented: {status:?}"))
    }

    /// Waits until it has taken on all connections that were made before, and gives how
    /// many it has, this one not among them.
    pub fn connections(&self) -> Result<u64, String> {
        // Connections are accepted in the order in which they were made.
        let status = self.0.get("/status")?;
        let active = status.strip_prefix("Active connections: ");
        active
            .and_then(|rest| rest.split_ascii_whitespace().next()?.parse::<u64>().ok())
            .map(|active| active - 1)
            .ok_or_else(|| format!("nginx's status is not as it is documented: {status:?}"))
    }

    /// Waits until no connection but our own is open, so that one client's
    /// farewell is not the next one's load.
    pub fn settle(&self, interrupt: &Interrupt) -> Result<(), String> {
        let deadline = Instant::now() + Duration::from_secs(10);
        while self.connections()? > 0 {
            interrupt.check()?;
            if Instant::now() >= deadline {
                return Err("connections are still open 10 s after their client ended".into());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }
}
