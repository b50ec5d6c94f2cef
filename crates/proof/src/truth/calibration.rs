//! The calibration server: it takes a known time for each request, and records
//! the time that it took in truth.
//!
//! The record runs from the arrival of a request, which the kernel stamps, to the
//! moment before the answer is sent. So it holds what a busy machine adds on the
//! server's side, and what a client says beyond it is the client's.
//!
//! Or the machine's, if that stopped the client's processor: a virtual machine's host
//! does so for parts of a millisecond, and tells nobody. Where both are on one processor
//! it stops both. The client goes first there: it has its answer, and asks again, while the
//! server is still in the call that sends it.

use std::io::{self, IoSliceMut, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use clap::Parser;
use nix::sys::socket::{ControlMessageOwned, MsgFlags, recvmsg, setsockopt, sockopt};
use nix::sys::time::TimeSpec;
use serde::{Deserialize, Serialize};

use crate::truth::service::Service;

/// The path that answers with the record, and isn't recorded itself.
pub const RECORD: &str = "/record";

/// The quantiles that a record has.
pub const QUANTILES: [f64; 4] = [0.5, 0.9, 0.99, 0.999];

/// Serves, and records, until it is stopped.
#[derive(Debug, Parser)]
pub struct Arguments {
    /// Where to listen.
    #[arg(long)]
    address: SocketAddr,
    /// The service time: `5ms`, or `92%2ms,8%20ms`.
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

/// An answer.
#[derive(Debug, Clone, Copy)]
struct Answered {
    at: SystemTime,
    took: Duration,
}

/// The time that counts as busy.
const BUSY: Duration = Duration::from_millis(100);

#[derive(Debug)]
struct Server {
    service: Service,
    received: AtomicU64,
    answers: Mutex<Vec<Answered>>,
}

pub fn run(arguments: Arguments) -> Result<(), String> {
    let fail = |error: io::Error| format!("on {}: {error}", arguments.address);
    // Sleeping to the microsecond: the default is late by 50 µs.
    nix::sys::prctl::set_timerslack(1).map_err(|error| fail(error.into()))?;
    let listener = TcpListener::bind(arguments.address).map_err(fail)?;
    // Clients may come all at once; connections inherit the time stamps.
    rustix::net::listen(&listener, 4096).map_err(|error| fail(error.into()))?;
    setsockopt(&listener, sockopt::ReceiveTimestampns, &true)
        .map_err(|error| fail(error.into()))?;
    let server = Arc::new(Server::new(arguments.service));
    for stream in listener.incoming() {
        let stream = stream.map_err(fail)?;
        let server = server.clone();
        std::thread::Builder::new()
            .stack_size(64 * 1024)
            // A connection that ends is no concern of ours.
            .spawn(move || server.serve(stream).ok())
            .map_err(fail)?;
    }
    Ok(())
}

impl Server {
    fn new(service: Service) -> Server {
        Server { service, received: AtomicU64::new(0), answers: Mutex::new(Vec::new()) }
    }

    fn serve(&self, mut stream: TcpStream) -> io::Result<()> {
        stream.set_nodelay(true)?;
        let mut pending = Vec::new();
        let mut arrived = UNIX_EPOCH;
        loop {
            let end = loop {
                match pending.windows(4).position(|bytes| bytes == b"\r\n\r\n") {
                    Some(at) => break at + 4,
                    None => arrived = receive(&stream, &mut pending)?,
                }
            };
            let for_record = pending.starts_with(format!("GET {RECORD} ").as_bytes());
            pending.drain(..end);
            if for_record {
                let record = serde_json::to_string(&self.record())?;
                return answer(&mut stream, &record);
            }
            let number = self.received.fetch_add(1, Ordering::Relaxed);
            std::thread::sleep(self.service.time(number));
            let at = SystemTime::now();
            answer(&mut stream, "done\n")?;
            let took = at.duration_since(arrived).unwrap_or_default();
            self.answers().push(Answered { at, took });
        }
    }

    /// A thread that panicked while it added an answer left the others whole.
    fn answers(&self) -> MutexGuard<'_, Vec<Answered>> {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn record(&self) -> Record {
        let answers = self.answers().clone();
        Record {
            received: self.received.load(Ordering::Relaxed),
            answered: answers.len() as u64,
            times_us: quantiles_us(answers.iter().map(|answer| answer.took).collect()),
            busiest_rate: busiest_rate(answers.iter().map(|answer| answer.at).collect()),
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

fn busiest_rate(mut answered: Vec<SystemTime>) -> f64 {
    answered.sort_unstable();
    let busiest = answered
        .iter()
        .enumerate()
        .map(|(first, &begin)| answered[first..].partition_point(|&at| at < begin + BUSY));
    busiest.max().unwrap_or(0) as f64 / BUSY.as_secs_f64()
}

/// Reads more bytes, and tells when the kernel got the last of them.
fn receive(stream: &TcpStream, into: &mut Vec<u8>) -> io::Result<SystemTime> {
    let mut bytes = [0; 4096];
    let mut control = nix::cmsg_space!(TimeSpec);
    let mut slices = [IoSliceMut::new(&mut bytes)];
    let received =
        recvmsg::<()>(stream.as_raw_fd(), &mut slices, Some(&mut control), MsgFlags::empty())?;
    let stamp = received.cmsgs()?.find_map(|message| match message {
        ControlMessageOwned::ScmTimestampns(stamp) => Some(UNIX_EPOCH + Duration::from(stamp)),
        _ => None,
    });
    let count = received.bytes;
    match count {
        0 => Err(io::ErrorKind::UnexpectedEof.into()),
        _ => {
            into.extend_from_slice(&bytes[..count]);
            // Bytes from before the stamps were switched on have none.
            Ok(stamp.unwrap_or_else(SystemTime::now))
        }
    }
}

fn answer(stream: &mut TcpStream, body: &str) -> io::Result<()> {
    let length = body.len();
    let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n{body}");
    stream.write_all(answer.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(milliseconds: impl Iterator<Item = u64>) -> Record {
        let took = milliseconds.map(Duration::from_millis);
        let answers = took.map(|took| Answered { at: UNIX_EPOCH + took, took }).collect();
        Server { answers: Mutex::new(answers), ..Server::new("1ms".parse().unwrap()) }.record()
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
}
