//! A first look at a server that nobody wrote a contract for: where it listens, and what it
//! answers.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::{Duration, Instant};

use keeper::kept::{Kept, NotStarted};
use load::Stop;
use result::plan::Cores;

use super::order::order;
use super::{LINES, ended};
use crate::contract::http_client::{Answer, Connection, Wrong};
use crate::place::Host;
use crate::study::contender::Contender;

/// Answers that are looked at: what is the same in all of them may be expected of each.
const ANSWERS: usize = 3;
/// Time for all of them on one connection.
const WITHIN: Duration = Duration::from_secs(5);
/// Between two looks whether it listens.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// How long a server that listens elsewhere may take until it listens where it was told: some
/// have a second port that is open first.
const ELSEWHERE_AFTER: Duration = Duration::from_secs(1);
/// What a server says that isn't ready yet (RFC 9110, 15.6.4).
const UNAVAILABLE: u16 = 503;

/// What was seen of a server.
#[derive(Debug)]
pub struct First {
    /// Where it answers.
    pub address: SocketAddr,
    /// Whether that is where it was told to listen.
    pub as_told: bool,
    /// Its first answers.
    pub answers: Vec<Answer>,
    /// Whether it gave them on one connection.
    pub keeps_connections: bool,
}

/// Why nothing was seen.
#[derive(Debug)]
pub enum Nothing {
    /// It gave no answer, and why; with the last lines of its output.
    Silent(String, Vec<String>),
    /// The machine lets nobody start, and why.
    Machine(String),
    /// Somebody asked for the end.
    Stopped,
}

/// Starts a server, unless it runs already, asks it for this path, and stops it.
///
/// # Errors
/// [`Nothing`], where it gave no answer.
pub fn look(
    host: &dyn Host,
    contender: &Contender,
    path: &str,
    stop: &Stop,
) -> Result<First, Nothing> {
    let address = match &contender.file.address {
        Some(address) => *address.get_ref(),
        None => host.free_address().map_err(Nothing::Machine)?,
    };
    let place = host.split(Cores::All);
    let silent = |why| Nothing::Silent(why, Vec::new());
    let order = order(contender, host, &place, address, host.scratch()).map_err(silent)?;
    let mut kept = host.start(&order).map_err(|why| match why {
        NotStarted::Program(why) => silent(why),
        NotStarted::Machine(why) => Nothing::Machine(why),
    })?;
    let seen = Looking { host, contender, path, stop, kept: &kept, address }.answers();
    // What it said before it was stopped, not its farewell.
    let last_words = kept.last_lines(LINES);
    if stop.asked() {
        kept.hurry();
    }
    let stopped = kept.stop(0);
    match (seen, stopped) {
        _ if stop.asked() => Err(Nothing::Stopped),
        (Err(why), _) => Err(Nothing::Silent(why, last_words)),
        (Ok(_), Err(why)) => Err(Nothing::Machine(why)),
        (Ok(first), Ok(_)) => Ok(first),
    }
}

/// A server that was started, and is looked at.
struct Looking<'a> {
    host: &'a dyn Host,
    contender: &'a Contender,
    path: &'a str,
    stop: &'a Stop,
    kept: &'a Kept,
    /// Where it was told to listen, or is said to.
    address: SocketAddr,
}

impl Looking<'_> {
    /// Waits until it answers, and asks it again.
    ///
    /// # Errors
    /// Why there is no answer, in a sentence.
    fn answers(&self) -> Result<First, String> {
        let within = Duration::from_secs_f64(self.contender.file.ready_within_s);
        let began = Instant::now();
        let mut last = None;
        loop {
            let mut seen = Vec::new();
            for address in self.candidates(began) {
                match self.asked(address) {
                    Ok(first) if first.answers[0].status != UNAVAILABLE => seen.push(first),
                    Ok(_) => last = Some(format!("status {UNAVAILABLE}")),
                    Err(wrong) => last = Some(wrong.to_string()),
                }
            }
            // Of several ports one may be for something else, such as metrics.
            if let Some(first) = seen.into_iter().min_by_key(|it| it.answers[0].status) {
                return Ok(first);
            }
            if let Some(exit) = self.kept.exited() {
                return Err(ended(self.kept, &exit, "before it answered"));
            }
            if self.stop.asked() || began.elapsed() > within {
                return Err(self.silence(within, last));
            }
            std::thread::sleep(LOOK_EVERY);
        }
    }

    /// Where it may answer: where it was told to, or, once it had the time to obey, wherever it
    /// listens.
    fn candidates(&self, began: Instant) -> Vec<SocketAddr> {
        if self.contender.runs_already() {
            return vec![self.address];
        }
        let ports = self.host.listening_ports(self.kept.root());
        if ports.contains(&self.address.port()) {
            return vec![self.address];
        }
        if began.elapsed() < ELSEWHERE_AFTER {
            return Vec::new();
        }
        let here: [IpAddr; 2] = [Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()];
        ports.iter().flat_map(|&port| here.map(|ip| SocketAddr::new(ip, port))).collect()
    }

    /// Asks several times, on one connection if the server keeps it.
    fn asked(&self, address: SocketAddr) -> Result<First, Wrong> {
        let of = |answers, keeps_connections| First {
            address,
            as_told: address == self.address,
            answers,
            keeps_connections,
        };
        if let Ok(answers) = self.on_one_connection(address, ANSWERS) {
            return Ok(of(answers, true));
        }
        let one = |_| self.on_one_connection(address, 1);
        let answers: Result<Vec<_>, Wrong> = (0..ANSWERS).map(one).collect();
        Ok(of(answers?.concat(), false))
    }

    fn on_one_connection(&self, address: SocketAddr, count: usize) -> Result<Vec<Answer>, Wrong> {
        let mut connection = Connection::open_until(address, WITHIN, self.stop)?;
        let request = format!("GET {} HTTP/1.1\r\nHost: {address}\r\n\r\n", self.path);
        let mut answers = Vec::new();
        for _ in 0..count {
            connection.send(request.as_bytes())?;
            answers.push(connection.receive(false)?);
        }
        Ok(answers)
    }

    /// That there was no answer, and what was seen instead.
    fn silence(&self, within: Duration, last: Option<String>) -> String {
        let within = within.as_secs_f64();
        let last = last.map_or(String::new(), |last| format!("; at last: {last}"));
        if self.contender.runs_already() {
            return format!("nobody answered at http://{} within {within} s{last}", self.address);
        }
        let ports = self.host.listening_ports(self.kept.root());
        let ports: Vec<String> = ports.iter().map(u16::to_string).collect();
        let listens = match ports.is_empty() {
            true => {
                format!("it listens on no port, and was given {} as $PORT", self.address.port())
            }
            false => format!("it listens on {}", ports.join(", ")),
        };
        format!("it gave no answer within {within} s of its start: {listens}{last}")
    }
}
