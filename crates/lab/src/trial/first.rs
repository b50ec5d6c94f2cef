//! A first look at a server that nobody wrote a contract for: where it listens, and what it
//! answers.

use std::cell::Cell;
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use keeper::kept::{Kept, NotStarted};
use keeper::process_tree;
use load::plan::template::{Request, filled};
use load::{Stop, requests};
use result::plan::Cores;

use super::order::{address, order};
use super::{LINES, WRONG_ANSWERS_FOR, code, ended};
use crate::contract::http_client::{Answer, Connection, Wrong};
use crate::environment;
use crate::place::Host;
use crate::study::contender::{Contender, Speaks};

/// Answers that are looked at: what is the same in all of them may be expected of each.
const ANSWERS: usize = 3;
/// Time for each of them.
const WITHIN: Duration = Duration::from_secs(5);
/// Time for a store's first word.
const PING_WITHIN: Duration = Duration::from_secs(1);
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
    /// Where it was told to listen.
    pub told: SocketAddr,
    /// Its first answers to each request.
    pub answers: Vec<Vec<FirstAnswer>>,
    /// Whether it gave them on one connection, and said of none that it ends that.
    pub keeps_connections: bool,
    /// The backlog of its listen queue; `None` where that can't be known.
    pub listen_backlog: Option<u32>,
    /// The files whose code it runs; none of a server that runs already.
    pub code: Vec<PathBuf>,
}

/// What was seen of a store.
#[derive(Debug)]
pub struct FirstOfStore {
    /// What it is spoken with.
    pub speaks: Speaks,
    /// The files whose code it runs.
    pub code: Vec<PathBuf>,
}

/// An answer, and what it is one to.
#[derive(Debug, Clone)]
pub struct FirstAnswer {
    /// The answer.
    pub answer: Answer,
    /// The number of its request, and what that one's nonce follows from.
    number: u64,
    seed: u64,
}

impl FirstAnswer {
    /// A text with placeholders, as its request has it.
    pub fn filled(&self, text: &str) -> String {
        filled(text, self.number, self.seed)
    }
}

impl First {
    /// The status of its first answer.
    pub fn status(&self) -> u16 {
        status(&self.answers)
    }
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

/// Starts a server, unless it runs already, asks it each of these requests, and stops it. A status
/// that nobody takes is what it answers only if it stays so for as long as a trial waits.
///
/// # Errors
/// [`Nothing`], where it gave no answer.
pub fn look(
    host: &dyn Host,
    contender: &Contender,
    requests: &[Request],
    takes: &dyn Fn(u16) -> bool,
    stop: &Stop,
) -> Result<First, Nothing> {
    let asking = Asking::new(requests, WITHIN, stop);
    let (first, code) = started(host, contender, stop, |kept, address| {
        Looking { host, contender, asking, takes, stop, kept, address }.answers()
    })?;
    Ok(First { code, ..first })
}

/// Starts a store, finds out what it is spoken with, and stops it.
///
/// # Errors
/// [`Nothing`], where it gave no answer.
pub fn speaks(
    host: &dyn Host,
    contender: &Contender,
    stop: &Stop,
) -> Result<FirstOfStore, Nothing> {
    let within = Duration::from_secs_f64(contender.file.ready_within_s);
    let (speaks, code) = started(host, contender, stop, |kept, address| {
        let began = Instant::now();
        loop {
            let answer = host.may_listen(address).then(|| answer_to_ping(address));
            let answer = answer.and_then(Result::ok).unwrap_or_default();
            if answer.starts_with(b"+") || answer.starts_with(b"-") {
                return Ok(Speaks::Redis);
            }
            if answer.starts_with(b"ERROR") {
                return Ok(Speaks::Memcached);
            }
            if let Some(exit) = kept.exited() {
                return Err(ended(kept, &exit, "before it answered"));
            }
            if stop.asked() || began.elapsed() > within {
                let seconds = within.as_secs_f64();
                return Err(format!(
                    "nothing at port {}, which $PORT was, spoke as Redis or memcached does within \
                     {seconds} s of its start",
                    address.port()
                ));
            }
            std::thread::sleep(LOOK_EVERY);
        }
    })?;
    Ok(FirstOfStore { speaks, code })
}

/// The first bytes that a store says to a word that all stores have an answer to: Redis that it
/// is there, or wants a password, memcached that it knows no such word.
fn answer_to_ping(address: SocketAddr) -> std::io::Result<Vec<u8>> {
    let mut stream = TcpStream::connect_timeout(&address, PING_WITHIN)?;
    stream.set_read_timeout(Some(PING_WITHIN))?;
    stream.write_all(b"PING\r\n")?;
    let mut room = [0; 64];
    let count = stream.read(&mut room)?;
    Ok(room[..count].to_vec())
}

/// Starts a server, unless it runs already, looks at it, and stops it. Gives what was seen, and the
/// files whose code it ran, as far as they stay.
fn started<T>(
    host: &dyn Host,
    contender: &Contender,
    stop: &Stop,
    look: impl FnOnce(&Kept, SocketAddr) -> Result<T, String>,
) -> Result<(T, Vec<PathBuf>), Nothing> {
    let address = address(contender, host).map_err(Nothing::Machine)?;
    let place = host.split(Cores::All);
    let silent = |why| Nothing::Silent(why, Vec::new());
    let order = order(contender, host, &place, address, host.scratch()).map_err(silent)?;
    let mut kept = host.start(&order).map_err(|why| match why {
        NotStarted::Program(why) => silent(why),
        NotStarted::Machine(why) => Nothing::Machine(why),
    })?;
    let seen = look(&kept, address);
    // Somebody who sleeps stands in for a server that runs already.
    let all = process_tree::descendants(kept.root()).into_iter();
    let running: Vec<i32> = all.filter(|_| !contender.runs_already()).collect();
    let code = code::files(&running);
    // What it said before it was stopped, not its farewell.
    let last_words = kept.last_lines(LINES).iter().map(|it| environment::hidden(it)).collect();
    if stop.asked() {
        kept.hurry();
    }
    let stopped = kept.stop(0);
    match (seen, stopped) {
        _ if stop.asked() => Err(Nothing::Stopped),
        (Err(why), _) => Err(Nothing::Silent(environment::hidden(&why), last_words)),
        (Ok(_), Err(why)) => Err(Nothing::Machine(why)),
        // What it made for itself in its own folder is gone with that.
        (Ok(seen), Ok(_)) => Ok((seen, code.into_iter().filter(|it| it.is_file()).collect())),
    }
}

/// The status of the first of these answers.
fn status(answers: &[Vec<FirstAnswer>]) -> u16 {
    answers[0][0].answer.status
}

/// What a server is asked, wherever it is.
struct Asking<'a> {
    requests: &'a [Request],
    /// Time for each answer.
    within: Duration,
    stop: &'a Stop,
    /// Requests so far, and what their nonces follow from.
    asked: Cell<u64>,
    seed: u64,
}

impl<'a> Asking<'a> {
    fn new(requests: &'a [Request], within: Duration, stop: &'a Stop) -> Asking<'a> {
        Asking { requests, within, stop, asked: Cell::new(0), seed: fastrand::u64(..) }
    }

    /// Its answers to several times each request, and whether it gave them on one connection.
    fn answers(&self, address: SocketAddr) -> Result<(Vec<Vec<FirstAnswer>>, bool), Wrong> {
        if let Ok(answers) = self.on_one_connection(address, ANSWERS) {
            return Ok((answers, true));
        }
        let mut all: Vec<Vec<FirstAnswer>> = vec![Vec::new(); self.requests.len()];
        for _ in 0..ANSWERS {
            for (answers, request) in all.iter_mut().zip(self.requests) {
                answers.push(self.answer(&mut self.open(address)?, address, request)?);
            }
        }
        Ok((all, false))
    }

    fn open(&self, address: SocketAddr) -> Result<Connection, Wrong> {
        Connection::open_until(address, self.within, self.stop)
    }

    fn on_one_connection(
        &self,
        address: SocketAddr,
        count: usize,
    ) -> Result<Vec<Vec<FirstAnswer>>, Wrong> {
        let mut connection = self.open(address)?;
        let mut all: Vec<Vec<FirstAnswer>> = vec![Vec::new(); self.requests.len()];
        for _ in 0..count {
            for (answers, request) in all.iter_mut().zip(self.requests) {
                let answer = self.answer(&mut connection, address, request)?;
                // Under load the connection would be given up here, whatever the server does.
                if !answer.answer.keep_alive {
                    return Err(Wrong::Closed);
                }
                answers.push(answer);
            }
        }
        Ok(all)
    }

    /// The answer to one request.
    fn answer(
        &self,
        on: &mut Connection,
        address: SocketAddr,
        request: &Request,
    ) -> Result<FirstAnswer, Wrong> {
        let number = self.asked.replace(self.asked.get() + 1);
        // Else who takes two seconds for each would seem to end the connection.
        on.begin_anew();
        on.send(&requests::bytes(request, &address.to_string(), number, self.seed))?;
        let answer = on.receive(request.method == "HEAD")?;
        Ok(FirstAnswer { answer, number, seed: self.seed })
    }
}

/// A server that was started, and is looked at.
struct Looking<'a> {
    host: &'a dyn Host,
    contender: &'a Contender,
    asking: Asking<'a>,
    /// Whether a status may be that of a right answer.
    takes: &'a dyn Fn(u16) -> bool,
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
        let (mut last, mut first_wrong) = (None, None);
        loop {
            let mut seen = Vec::new();
            for address in self.candidates(began) {
                match self.asking.answers(address) {
                    Ok((answers, keeps_connections)) if status(&answers) != UNAVAILABLE => {
                        seen.push(First {
                            address,
                            told: self.address,
                            answers,
                            keeps_connections,
                            listen_backlog: self.listen_backlog(address),
                            code: Vec::new(),
                        });
                    }
                    Ok(_) => last = Some(format!("status {UNAVAILABLE}")),
                    Err(wrong) => last = Some(wrong.to_string()),
                }
            }
            // Of several ports one may be for something else, such as metrics.
            let first = seen.into_iter().min_by_key(First::status);
            // Some have no page yet while they start.
            let is_early = first.as_ref().is_some_and(|first| !(self.takes)(first.status()))
                && first_wrong.get_or_insert_with(Instant::now).elapsed() < WRONG_ANSWERS_FOR
                && !self.stop.asked();
            if let Some(first) = first.filter(|_| !is_early) {
                // Trials take nobody for a server who has ended, though a child of his answers.
                return match self.kept.exited() {
                    Some(exit) => Err(ended(self.kept, &exit, "before all its answers were in")),
                    None => Ok(first),
                };
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

    /// The backlog of its listen queue. That of a server which runs elsewhere can't be known.
    fn listen_backlog(&self, address: SocketAddr) -> Option<u32> {
        let is_here = !self.contender.runs_already() || address.ip().is_loopback();
        is_here.then(|| self.host.listen_backlog(address.port())).flatten()
    }

    /// Where it may answer: where it was told to, or, once it had the time to obey, wherever it
    /// listens.
    fn candidates(&self, began: Instant) -> Vec<SocketAddr> {
        if self.contender.runs_already() {
            return vec![self.address];
        }
        let all = self.host.listening(self.kept.root());
        let own: Vec<SocketAddr> =
            all.iter().filter(|it| it.port() == self.address.port()).copied().collect();
        let listening = match &own[..] {
            [] if began.elapsed() < ELSEWHERE_AFTER => Vec::new(),
            [] => all,
            _ => own,
        };
        let mut candidates: Vec<SocketAddr> = listening.into_iter().flat_map(reached_at).collect();
        // Where it was told to listen comes first, and whatever it listens on is asked once.
        candidates.sort_by_key(|it| (*it != self.address, it.is_ipv6()));
        candidates.dedup();
        candidates
    }

    /// That there was no answer, and what was seen instead.
    fn silence(&self, within: Duration, last: Option<String>) -> String {
        let within = within.as_secs_f64();
        let last = last.map_or(String::new(), |last| format!("; at last: {last}"));
        if self.contender.runs_already() {
            return format!("nobody answered at http://{} within {within} s{last}", self.address);
        }
        let listening = self.host.listening(self.kept.root());
        let listening: Vec<String> = listening.iter().map(SocketAddr::to_string).collect();
        let listens = if listening.is_empty() {
            format!("it listens on no port, and was given {} as $PORT", self.address.port())
        } else {
            format!("it listens on {}", listening.join(", "))
        };
        format!("it gave no answer within {within} s of its start: {listens}{last}")
    }
}

/// Where one on this machine reaches a server that listens at an address: on all addresses it
/// listens on those of this machine's own, and `::` has those of IPv4 among them unless the server
/// took it for IPv6 alone.
fn reached_at(listening: SocketAddr) -> Vec<SocketAddr> {
    let here: [IpAddr; 2] = [Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()];
    let ips = match listening.ip().to_canonical() {
        IpAddr::V4(ip) if ip.is_unspecified() => here[..1].to_vec(),
        IpAddr::V6(ip) if ip.is_unspecified() => here.to_vec(),
        ip => vec![ip],
    };
    ips.into_iter().map(|ip| SocketAddr::new(ip, listening.port())).collect()
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    /// Else all are asked with a connection a request, because one of them thinks for two seconds.
    #[test]
    fn a_server_that_is_slow_with_each_answer_keeps_its_connections() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            while stream.read(&mut [0; 4096]).is_ok_and(|count| count > 0) {
                std::thread::sleep(Duration::from_millis(800));
                let answer = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
                if stream.write_all(answer.as_bytes()).is_err() {
                    break;
                }
            }
        });
        // All three take longer than one may.
        let (requests, stop) = ([Request::get("/")], Stop::default());
        let asking = Asking::new(&requests, Duration::from_secs(2), &stop);
        let (answers, keeps_connections) = asking.answers(address).unwrap();
        assert_eq!((answers[0].len(), keeps_connections), (ANSWERS, true));
    }

    #[test]
    fn a_server_is_asked_where_it_listens_in_either_family() {
        let of = |listening: &str| {
            let all = reached_at(listening.parse().unwrap());
            all.iter().map(SocketAddr::to_string).collect::<Vec<_>>()
        };
        assert_eq!(of("0.0.0.0:80"), ["127.0.0.1:80"]);
        assert_eq!(of("[::]:80"), ["127.0.0.1:80", "[::1]:80"]);
        assert_eq!(of("[::1]:80"), ["[::1]:80"]);
        assert_eq!(of("[::ffff:127.0.0.1]:80"), ["127.0.0.1:80"]);
        assert_eq!(of("127.0.1.1:80"), ["127.0.1.1:80"]);
    }
}
