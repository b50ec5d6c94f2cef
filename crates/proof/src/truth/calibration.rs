//! The calibration server: it takes a known time for each request, and records
//! the time that it took in truth.
//!
//! The record runs from the arrival of a request, which the kernel stamps, to the
//! moment before the answer is sent. So it holds what a busy machine adds on the
//! server's side, and what a client says beyond it is the client's.
//!
//! It works on one thing at a time on each connection: on the request that came first,
//! from its arrival on, for its time. Whatever else has come there by then is answered
//! together with it, in one write, so that pipelined requests stay together.
//!
//! Or the machine's, if that stopped the client's processor: a virtual machine's host
//! does so for parts of a millisecond, and tells nobody. Where both are on one processor
//! it stops both. The client goes first there: it has its answer, and asks again, while the
//! server is still in the call that sends it.

use std::collections::VecDeque;
use std::io::{self, IoSliceMut, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::str::FromStr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use clap::Parser;
use nix::sys::socket::{ControlMessageOwned, MsgFlags, recvmsg, setsockopt, sockopt};
use nix::sys::time::TimeSpec;
use rustix::event::{PollFd, PollFlags, Timespec};
use serde::{Deserialize, Serialize};

use crate::truth::service::Service;

/// The path that answers with the record, and isn't recorded itself.
pub const RECORD: &str = "/record";
/// The path that answers with every request, as lines of [`Seen`].
pub const REQUESTS: &str = "/requests";

/// The quantiles that a record has.
pub const QUANTILES: [f64; 4] = [0.5, 0.9, 0.99, 0.999];

/// Serves, and records, until it is stopped.
#[derive(Debug, Parser)]
pub struct CalibrationServerArguments {
    /// Where to listen.
    #[arg(long)]
    address: SocketAddr,
    /// The service time: `5ms`, `92%2ms,8%20ms`, `exponential:5ms`, or `ticks:5ms`.
    #[arg(long)]
    service: Service,
}

/// What the server saw.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Requests read.
    pub received: u64,
    /// Requests answered.
    pub answered: u64,
    /// µs from arrival to answer, at each of [`QUANTILES`]; none without answers.
    pub times_us: Vec<f64>,
    /// Answers a second in its busiest tenth of a second.
    pub busiest_rate: f64,
}

impl Record {
    /// The time at one of [`QUANTILES`] in µs.
    pub fn time_us(&self, quantile: f64) -> Option<f64> {
        let at = QUANTILES.iter().position(|known| *known == quantile)?;
        self.times_us.get(at).copied()
    }
}

/// A request, as the server saw it. Times are nanoseconds of the machine's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seen {
    /// Its number: that in its path, `/12`, or else that of its arrival.
    pub number: u64,
    /// Its connection's number.
    pub connection: u64,
    /// When the kernel had it.
    pub arrived: u64,
    /// The moment before its answer was sent.
    pub answered: u64,
}

impl Seen {
    /// How long the server took.
    pub fn took(&self) -> Duration {
        Duration::from_nanos(self.answered.saturating_sub(self.arrived))
    }

    fn line(&self) -> String {
        let Seen { number, connection, arrived, answered } = self;
        format!("{number} {connection} {arrived} {answered}\n")
    }
}

impl FromStr for Seen {
    type Err = String;

    fn from_str(line: &str) -> Result<Seen, String> {
        let numbers: Option<Vec<u64>> =
            line.split_ascii_whitespace().map(|number| number.parse().ok()).collect();
        match numbers.as_deref() {
            Some(&[number, connection, arrived, answered]) => {
                Ok(Seen { number, connection, arrived, answered })
            }
            _ => Err(format!("the calibration server's line {line:?} is no request")),
        }
    }
}

/// The time that counts as busy.
const BUSY: Duration = Duration::from_millis(100);

#[derive(Debug)]
struct CalibrationServer {
    service: Service,
    received: AtomicU64,
    answers: Mutex<Vec<Seen>>,
}

pub fn run(arguments: CalibrationServerArguments) -> Result<(), String> {
    let fail = |error: io::Error| format!("on {}: {error}", arguments.address);
    let listener = listen_stamped(arguments.address).map_err(fail)?;
    let server = Arc::new(CalibrationServer::new(arguments.service));
    for (connection, stream) in (0..).zip(listener.incoming()) {
        let stream = stream.map_err(fail)?;
        let server = server.clone();
        std::thread::Builder::new()
            .stack_size(64 * 1024)
            // A connection that ends is no concern of ours.
            .spawn(move || server.serve(stream, connection).ok())
            .map_err(fail)?;
    }
    Ok(())
}

impl CalibrationServer {
    fn new(service: Service) -> CalibrationServer {
        CalibrationServer { service, received: AtomicU64::new(0), answers: Mutex::new(Vec::new()) }
    }

    fn serve(&self, mut stream: TcpStream, connection: u64) -> io::Result<()> {
        stream.set_nodelay(true)?;
        let mut inbox = Inbox::default();
        while let Some(first) = inbox.next(&stream)? {
            if let Some(page) = self.page(&first.path)? {
                return answer(&mut stream, &page, 1);
            }
            let mut taken = vec![self.take(&first)];
            let done = self.service.done_at(taken[0].0, first.arrived);
            // What comes meanwhile is read at once: if it lies there with what comes after
            // it, it has the stamp of the last.
            while comes_before(&stream, done)? && inbox.receive(&stream)? {}
            taken.extend(inbox.requests.drain(..).map(|request| self.take(&request)));
            let answered = now();
            answer(&mut stream, "done\n", taken.len())?;
            let seen = |(number, arrived)| Seen { number, connection, arrived, answered };
            self.answers().extend(taken.into_iter().map(seen));
        }
        Ok(())
    }

    /// What tells of the requests until now, and is none of them.
    fn page(&self, path: &str) -> io::Result<Option<String>> {
        Ok(match path {
            RECORD => Some(serde_json::to_string(&self.record())?),
            REQUESTS => Some(self.answers().iter().map(Seen::line).collect()),
            _ => None,
        })
    }

    /// Counts a request; gives its number, and when it came.
    fn take(&self, request: &Request) -> (u64, u64) {
        let order = self.received.fetch_add(1, Ordering::Relaxed);
        let own = request.path.strip_prefix('/').and_then(|number| number.parse().ok());
        (own.unwrap_or(order), request.arrived)
    }

    /// A thread that panicked while it added an answer left the others whole.
    fn answers(&self) -> MutexGuard<'_, Vec<Seen>> {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn record(&self) -> Record {
        let answers = self.answers().clone();
        Record {
            received: self.received.load(Ordering::Relaxed),
            answered: answers.len() as u64,
            times_us: quantiles_us(answers.iter().map(Seen::took).collect()),
            busiest_rate: busiest_rate(answers.iter().map(|seen| seen.answered).collect()),
        }
    }
}

fn quantiles_us(mut times: Vec<Duration>) -> Vec<f64> {
    times.sort_unstable();
    let at = |quantile: f64| {
        let rank = (quantile * times.len() as f64).ceil() as usize;
        times.get(rank.max(1) - 1).map(|time| time.as_secs_f64() * 1e6)
    };
    QUANTILES.into_iter().filter_map(at).collect()
}

fn busiest_rate(mut answered: Vec<u64>) -> f64 {
    answered.sort_unstable();
    let busy = nanoseconds(BUSY);
    let busiest = answered
        .iter()
        .enumerate()
        .map(|(first, &begin)| answered[first..].partition_point(|&at| at < begin + busy));
    busiest.max().unwrap_or(0) as f64 / BUSY.as_secs_f64()
}

/// A request that has come.
#[derive(Debug)]
struct Request {
    path: String,
    /// When the kernel had the last of it, in nanoseconds.
    arrived: u64,
}

/// What has come on a connection and isn't answered yet.
#[derive(Debug, Default)]
struct Inbox {
    requests: VecDeque<Request>,
    /// The begin of the next.
    bytes: Vec<u8>,
}

impl Inbox {
    /// Waits for a request; there is none after the connection's end.
    fn next(&mut self, stream: &TcpStream) -> io::Result<Option<Request>> {
        while self.requests.is_empty() {
            if !self.receive(stream)? {
                return Ok(None);
            }
        }
        Ok(self.requests.pop_front())
    }

    /// Reads what there is; tells whether the connection goes on.
    fn receive(&mut self, stream: &TcpStream) -> io::Result<bool> {
        let (count, arrived) = receive_stamped(stream, &mut self.bytes)?;
        while let Some(at) = self.bytes.windows(4).position(|bytes| bytes == b"\r\n\r\n") {
            let head: Vec<u8> = self.bytes.drain(..at + 4).collect();
            let path = head.split(|&byte| byte == b' ').nth(1).unwrap_or_default();
            let path = String::from_utf8_lossy(path).into_owned();
            self.requests.push_back(Request { path, arrived });
        }
        Ok(count > 0)
    }
}

/// Listens where arrivals are stamped by the kernel, and has this thread, and those that it starts,
/// sleep to the microsecond: the default is late by 50 µs.
pub fn listen_stamped(address: SocketAddr) -> io::Result<TcpListener> {
    nix::sys::prctl::set_timerslack(1)?;
    let listener = TcpListener::bind(address)?;
    // Clients may come all at once; connections inherit the time stamps.
    rustix::net::listen(&listener, 4096)?;
    setsockopt(&listener, sockopt::ReceiveTimestampns, &true)?;
    Ok(listener)
}

/// Waits for bytes and adds them to these; gives how many, and when the kernel had the last of
/// them, in nanoseconds.
pub fn receive_stamped(stream: &TcpStream, into: &mut Vec<u8>) -> io::Result<(usize, u64)> {
    let mut bytes = [0; 4096];
    let mut control = nix::cmsg_space!(TimeSpec);
    let mut slices = [IoSliceMut::new(&mut bytes)];
    let received =
        recvmsg::<()>(stream.as_raw_fd(), &mut slices, Some(&mut control), MsgFlags::empty())?;
    let stamp = received.cmsgs()?.find_map(|message| match message {
        ControlMessageOwned::ScmTimestampns(stamp) => Some(nanoseconds(stamp.into())),
        _ => None,
    });
    let count = received.bytes;
    into.extend_from_slice(&bytes[..count]);
    // Bytes from before the stamps were switched on have none.
    Ok((count, stamp.unwrap_or_else(now)))
}

/// Waits for more bytes until a time; tells whether there are any.
fn comes_before(stream: &TcpStream, until: u64) -> io::Result<bool> {
    let left = until.saturating_sub(now());
    if left == 0 {
        return Ok(false);
    }
    let left = Timespec { tv_sec: (left / SECOND) as i64, tv_nsec: (left % SECOND) as i64 };
    Ok(rustix::event::poll(&mut [PollFd::new(stream, PollFlags::IN)], Some(&left))? > 0)
}

/// Nanoseconds a second.
const SECOND: u64 = 1_000_000_000;

/// The clock by which the kernel stamps what arrives, in nanoseconds.
pub fn now() -> u64 {
    nanoseconds(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default())
}

pub fn nanoseconds(time: Duration) -> u64 {
    time.as_nanos() as u64
}

/// Writes so many answers at once.
pub fn answer(stream: &mut TcpStream, body: &str, count: usize) -> io::Result<()> {
    let length = body.len();
    let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n{body}");
    stream.write_all(answer.repeat(count).as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(milliseconds: impl Iterator<Item = u64>) -> Record {
        let answers = milliseconds
            .map(|took| Seen { number: 0, connection: 0, arrived: 0, answered: took * 1_000_000 })
            .collect();
        CalibrationServer {
            answers: Mutex::new(answers),
            ..CalibrationServer::new("1ms".parse().unwrap())
        }
        .record()
    }

    #[test]
    fn the_busiest_tenth_of_a_second_is_found_wherever_it_lies() {
        let milliseconds = [0, 500, 560, 570, 599, 600, 2000];
        assert_eq!(record(milliseconds.into_iter()).busiest_rate, 40.0);
        assert_eq!(record([].into_iter()).busiest_rate, 0.0);
    }

    #[test]
    fn quantiles_are_the_times_at_their_rank() {
        let times_us = record((1..=1000).rev()).times_us;
        assert_eq!(times_us, [500e3, 900e3, 990e3, 999e3]);
        assert_eq!(record(1..=1).times_us, [1e3; 4]);
        assert!(record(1..1).times_us.is_empty(), "no answers have no quantiles");
    }

    /// A server, and a connection to it that is its number 7.
    fn served(service: &str) -> (Arc<CalibrationServer>, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        setsockopt(&listener, sockopt::ReceiveTimestampns, &true).unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (stream, _) = listener.accept().unwrap();
        let server = Arc::new(CalibrationServer::new(service.parse().unwrap()));
        let serving = server.clone();
        std::thread::spawn(move || serving.serve(stream, 7));
        (server, client)
    }

    fn ask(client: &mut TcpStream, paths: &[&str]) {
        let asked: String =
            paths.iter().map(|path| format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n")).collect();
        client.write_all(asked.as_bytes()).unwrap();
    }

    /// Reads so many answers.
    fn hear(client: &mut TcpStream, count: usize) {
        let mut heard = Vec::new();
        while heard.windows(5).filter(|bytes| bytes == b"done\n").count() < count {
            let mut bytes = [0; 1024];
            let read = std::io::Read::read(client, &mut bytes).unwrap();
            assert!(read > 0, "{}", String::from_utf8_lossy(&heard));
            heard.extend_from_slice(&bytes[..read]);
        }
    }

    #[test]
    fn a_request_is_seen_by_the_number_in_its_path_with_the_time_that_it_took() {
        let (server, mut client) = served("20ms");
        for path in ["/41", "/"] {
            ask(&mut client, &[path]);
            hear(&mut client, 1);
        }
        ask(&mut client, &[REQUESTS]);
        let mut page = String::new();
        std::io::Read::read_to_string(&mut client, &mut page).unwrap();
        let (_, lines) = page.split_once("\r\n\r\n").unwrap();
        let seen: Vec<Seen> = lines.lines().map(|line| line.parse().unwrap()).collect();
        let known: Vec<_> = seen.iter().map(|seen| (seen.number, seen.connection)).collect();
        assert_eq!(known, [(41, 7), (1, 7)], "the second has that of its arrival");
        assert!(seen.iter().all(|seen| seen.took() >= Duration::from_millis(20)), "{seen:?}");
        assert_eq!(server.record().received, 2, "the page is no request");
    }

    #[test]
    fn each_pipelined_request_has_its_own_arrival_and_all_are_answered_together() {
        let (server, mut client) = served("1s");
        ask(&mut client, &["/0", "/1"]);
        std::thread::sleep(Duration::from_millis(100));
        ask(&mut client, &["/2"]);
        hear(&mut client, 3);
        // They are written down after they were answered.
        while server.answers().len() < 3 {
            std::thread::yield_now();
        }
        let took: Vec<Duration> = server.answers().iter().map(Seen::took).collect();
        assert_eq!(took[0], took[1]);
        assert!(took[0] >= Duration::from_secs(1), "{took:?}");
        assert!(took[2] < took[0], "the last came later: {took:?}");
        let answered = server.answers()[0].answered;
        assert!(server.answers().iter().all(|seen| seen.answered == answered));
    }
}
