//! `proof rung`: a rung of the crate `load`'s ladder as a client of its own process, so that what
//! it costs is measured as for every other client.

use std::net::SocketAddr;
use std::time::Duration;

use clap::{Parser, ValueEnum};
use load::Plan;
use load::ladder::Rung;
use load::plan::template::Request;
use load::plan::{BackendChoice, Target};

/// Runs a rung's loop, and prints its answers and its seconds.
#[derive(Debug, Parser)]
pub struct RungArguments {
    /// Connections at once.
    #[arg(short)]
    connections: u32,
    /// Seconds.
    #[arg(short)]
    duration: u64,
    /// A connection for each request.
    #[arg(long)]
    close: bool,
    /// On epoll in place of io_uring.
    #[arg(long)]
    epoll: bool,
    /// How much the loop does.
    #[arg(long, value_enum, default_value = "bare")]
    rung: RungName,
    /// `http://ADDRESS:PORT/PATH`.
    url: String,
}

/// [`Rung`], as it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, ValueEnum)]
pub enum RungName {
    /// [`Rung::Bare`].
    Bare,
    /// [`Rung::Stamps`].
    Stamps,
    /// [`Rung::Flights`].
    Flights,
    /// [`Rung::Books`].
    Books,
}

impl From<RungName> for Rung {
    fn from(name: RungName) -> Rung {
        match name {
            RungName::Bare => Rung::Bare,
            RungName::Stamps => Rung::Stamps,
            RungName::Flights => Rung::Flights,
            RungName::Books => Rung::Books,
        }
    }
}

/// One of them as a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OnLadder {
    /// How much its loop does.
    pub rung: RungName,
    /// Whether it is on epoll in place of io_uring.
    pub epoll: bool,
}

impl OnLadder {
    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match (self.rung, self.epoll) {
            (RungName::Bare, false) => "the bare loop",
            (RungName::Bare, true) => "the bare loop, epoll",
            (RungName::Stamps, false) => "+ stamps",
            (RungName::Stamps, true) => "+ stamps, epoll",
            (RungName::Flights, false) => "+ requests under way",
            (RungName::Flights, true) => "+ requests under way, epoll",
            (RungName::Books, false) => "+ books and histograms",
            (RungName::Books, true) => "+ books and histograms, epoll",
        }
    }

    /// What `proof` is told to run it, for so many connections and seconds.
    pub fn options(self, connections: u32, seconds: u32) -> String {
        let rung = self.rung.to_possible_value().expect("each of them has a name");
        let epoll = if self.epoll { " --epoll" } else { "" };
        format!("rung -c {connections} -d {seconds} --rung {}{epoll}", rung.get_name())
    }
}

pub fn run(arguments: &RungArguments) -> Result<(), String> {
    let not_understood =
        || format!("{} is not of the form http://ADDRESS:PORT/PATH", arguments.url);
    let rest = arguments.url.strip_prefix("http://").ok_or_else(not_understood)?;
    let (authority, path) = rest.split_once('/').ok_or_else(not_understood)?;
    let address: SocketAddr = authority.parse().map_err(|_| not_understood())?;
    let path = format!("/{path}");
    let target = Target { address, authority: authority.into(), path: path.clone() };
    let connection = if arguments.close { "Connection: close\r\n" } else { "" };
    let request = format!("GET {path} HTTP/1.1\r\nHost: {authority}\r\n{connection}\r\n");
    let plan = Plan {
        connections: arguments.connections,
        keep_alive: !arguments.close,
        backend: if arguments.epoll { BackendChoice::Epoll } else { BackendChoice::Uring },
        ..Plan::new(target, vec![Request::get(&path)])
    };
    let duration = Duration::from_secs(arguments.duration);
    let done = load::ladder::run(arguments.rung.into(), &plan, request.as_bytes(), duration)
        .map_err(|error| error.to_string())?;
    println!("{} {}", done.answers, done.took.as_secs_f64());
    Ok(())
}
