//! The calibration relay: it hands messages on to the members of rooms at known times, and records
//! when it did so in truth.
//!
//! It speaks frames, as `docs/load.md` has them. It takes one message after the other, in the order
//! in which they came, whatever room they are of. Each takes a constant time, then its first member
//! has it, and each further one has it a constant time after the one before. So all rooms together
//! wait in one queue with one server.
//!
//! The record has when the kernel took each message, and the moment before each member's copy was
//! sent. What a client says beyond it is the client's.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::net::{SocketAddr, TcpStream};
use std::str::FromStr;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use clap::Parser;

use crate::interrupt::Interrupt;
use crate::server::Server;
use crate::truth::calibration::{answer, listen_stamped, nanoseconds, now, receive_stamped};

/// The path that answers with every message that was handed on, as lines of [`Passed`]. A client
/// asks for it by HTTP, on a connection that joined no room.
pub const PASSED: &str = "/passed";

/// Relays, and records, until it is stopped.
#[derive(Debug, Parser)]
pub struct CalibrationRelayArguments {
    /// Where to listen.
    #[arg(long)]
    address: SocketAddr,
    /// From when it turns to a message until the first member has it, such as `2ms`.
    #[arg(long, value_parser = humantime::parse_duration)]
    service: Duration,
    /// From one member to the next, such as `100us`.
    #[arg(long, value_parser = humantime::parse_duration)]
    gap: Duration,
}

/// The subcommand of this program that is the relay.
const RELAY: &str = "calibration-relay";

/// Starts one that takes so long for a message until the first member has it, and so long from one
/// member to the next, in µs.
///
/// # Errors
/// If it doesn't come up.
pub fn start(
    service_us: u32,
    gap_us: u32,
    cpus: &[usize],
    interrupt: &Interrupt,
) -> Result<Server, String> {
    let (service, gap) = (format!("{service_us}us"), format!("{gap_us}us"));
    let arguments = ["--service".into(), service, "--gap".into(), gap];
    let is_ready = |relay: &Server| relay.get(PASSED).is_ok();
    Server::of_this_program(RELAY, arguments, cpus, is_ready, interrupt)
}

/// A message that was handed on. Times are nanoseconds of the machine's clock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Passed {
    /// Whether it says that it is of the window.
    pub is_of_window: bool,
    /// When it was due, in nanoseconds of the client's clock, as it says.
    pub intended: u64,
    /// When the kernel had it.
    pub arrived: u64,
    /// When its turn came: at its arrival, or when the message before was done.
    pub begun: u64,
    /// The moment before each member's copy was sent.
    pub sent: Vec<u64>,
}

impl Passed {
    fn line(&self) -> String {
        let Passed { is_of_window, intended, arrived, begun, sent } = self;
        let sent: Vec<String> = sent.iter().map(u64::to_string).collect();
        let sent = sent.join(" ");
        format!("{} {intended} {arrived} {begun} {sent}\n", u8::from(*is_of_window))
    }
}

impl FromStr for Passed {
    type Err = String;

    fn from_str(line: &str) -> Result<Passed, String> {
        let numbers: Option<Vec<u64>> =
            line.split_ascii_whitespace().map(|number| number.parse().ok()).collect();
        match numbers.as_deref() {
            Some(&[of_window, intended, arrived, begun, ref sent @ ..]) if !sent.is_empty() => {
                let sent = sent.to_vec();
                Ok(Passed { is_of_window: of_window == 1, intended, arrived, begun, sent })
            }
            _ => Err(format!("the calibration relay's line {line:?} is no message")),
        }
    }
}

type Log = Arc<Mutex<Vec<Passed>>>;

/// One in a room.
struct Member {
    address: SocketAddr,
    stream: TcpStream,
}

/// What came on a connection.
enum Came {
    Joined { robot: Member, room: u32, frame: Vec<u8> },
    Said { room: u32, frame: Vec<u8>, arrived: u64 },
    Left { room: u32, address: SocketAddr },
}

/// Relays until it is stopped.
///
/// # Errors
/// If the address can't be had, or threads can't.
pub fn run(arguments: &CalibrationRelayArguments) -> Result<(), String> {
    let &CalibrationRelayArguments { address, service, gap } = arguments;
    let fail = |error: io::Error| format!("on {address}: {error}");
    let listener = listen_stamped(address).map_err(fail)?;
    let record = Log::default();
    let (turns, came) = channel();
    let passed = record.clone();
    let relay = Relay { service: nanoseconds(service), gap: nanoseconds(gap), record: passed };
    std::thread::Builder::new().spawn(move || relay.hand_on(came)).map_err(fail)?;
    for stream in listener.incoming() {
        let stream = stream.map_err(fail)?;
        let (turns, record) = (turns.clone(), record.clone());
        std::thread::Builder::new()
            .stack_size(64 * 1024)
            .spawn(move || attend(stream, &turns, &record).ok())
            .map_err(fail)?;
    }
    Ok(())
}

/// Hears a connection until its end. Then it is in no room any more: a client may try for one robot
/// whether anybody is let in.
fn attend(stream: TcpStream, turns: &Sender<Came>, record: &Log) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let address = stream.peer_addr()?;
    let mut room = None;
    let ended = hear(stream, address, &mut room, turns, record);
    if let Some(room) = room {
        // Without a relay there are no rooms.
        let _ = turns.send(Came::Left { room, address });
    }
    ended
}

/// Reads frames from a connection until its end.
fn hear(
    mut stream: TcpStream,
    address: SocketAddr,
    room: &mut Option<u32>,
    turns: &Sender<Came>,
    record: &Log,
) -> io::Result<()> {
    let mut bytes = Vec::new();
    loop {
        let (count, arrived) = receive_stamped(&stream, &mut bytes)?;
        if count == 0 {
            return Ok(());
        }
        // Whoever is answered before all was said could not say the rest.
        let asks = bytes.starts_with(b"GET ") && bytes.ends_with(b"\r\n\r\n");
        if room.is_none() && asks {
            let record = record.lock().unwrap_or_else(PoisonError::into_inner);
            let page: String = record.iter().map(Passed::line).collect();
            drop(record);
            return answer(&mut stream, &page, 1);
        }
        while let Some(frame) = first_frame(&mut bytes) {
            let came = match (&frame[2..], *room) {
                (&[b'J', a, b, c, d], _) => {
                    let joined = u32::from_be_bytes([a, b, c, d]);
                    *room = Some(joined);
                    let robot = Member { address, stream: stream.try_clone()? };
                    Came::Joined { robot, room: joined, frame }
                }
                (_, Some(room)) => Came::Said { room, frame, arrived },
                (_, None) => return Err(io::ErrorKind::InvalidData.into()),
            };
            if turns.send(came).is_err() {
                return Ok(());
            }
        }
    }
}

/// Takes the first frame with its length off these bytes, if it is whole.
fn first_frame(bytes: &mut Vec<u8>) -> Option<Vec<u8>> {
    let length = u16::from_be_bytes(*bytes.first_chunk()?);
    let end = 2 + usize::from(length);
    (bytes.len() >= end).then(|| bytes.drain(..end).collect())
}

/// Who hands messages on: one at a time.
struct Relay {
    /// In nanoseconds, as in [`CalibrationRelayArguments`].
    service: u64,
    gap: u64,
    record: Log,
}

impl Relay {
    fn hand_on(&self, came: Receiver<Came>) {
        let mut rooms: BTreeMap<u32, Vec<Member>> = BTreeMap::new();
        let mut free = 0;
        for came in came {
            match came {
                Came::Joined { mut robot, room, frame } => {
                    // Who is gone by now is told nothing.
                    let _ = robot.stream.write_all(&frame);
                    rooms.entry(room).or_default().push(robot);
                }
                Came::Said { room, frame, arrived } => {
                    let members = rooms.entry(room).or_default();
                    let passed = self.hand_to(members, &frame, arrived, free);
                    free = passed.sent.last().copied().unwrap_or(free);
                    self.record.lock().unwrap_or_else(PoisonError::into_inner).push(passed);
                }
                Came::Left { room, address } => {
                    rooms.entry(room).or_default().retain(|member| member.address != address);
                }
            }
        }
    }

    /// Hands a frame to members, once the message before is done, at `free`.
    fn hand_to(&self, to: &mut [Member], frame: &[u8], arrived: u64, free: u64) -> Passed {
        let begun = arrived.max(free);
        let mut sent = Vec::with_capacity(to.len());
        for (nth, member) in (0..).zip(to) {
            sleep_until(begun + self.service + nth * self.gap);
            sent.push(now());
            // What a member that is gone misses is the client's affair.
            let _ = member.stream.write_all(frame);
        }
        let message = &frame[2..];
        let intended = message.get(16..24).and_then(|bytes| bytes.try_into().ok());
        Passed {
            is_of_window: message.get(1).is_some_and(|flags| flags & 1 == 1),
            intended: intended.map_or(0, u64::from_be_bytes),
            arrived,
            begun,
            sent,
        }
    }
}

fn sleep_until(time: u64) {
    loop {
        let left = time.saturating_sub(now());
        if left == 0 {
            return;
        }
        std::thread::sleep(Duration::from_nanos(left));
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    fn frame(bytes: &[u8]) -> Vec<u8> {
        let length = u16::try_from(bytes.len()).unwrap();
        [&length.to_be_bytes()[..], bytes].concat()
    }

    #[test]
    fn a_frame_is_taken_once_it_is_whole() {
        let mut bytes = [frame(b"one"), frame(b"two")].concat();
        let rest = bytes.split_off(7);
        assert_eq!(first_frame(&mut bytes), Some(frame(b"one")));
        assert_eq!(first_frame(&mut bytes), None, "the second is cut");
        bytes.extend(rest);
        assert_eq!(first_frame(&mut bytes), Some(frame(b"two")));
        assert!(bytes.is_empty());
    }

    #[test]
    fn a_message_reaches_its_room_at_its_times_and_is_recorded() {
        let address = crate::server::free_address().unwrap();
        let (service, gap) = (Duration::from_millis(20), Duration::from_millis(5));
        std::thread::spawn(move || run(&CalibrationRelayArguments { address, service, gap }));
        let join = || {
            let mut robot = loop {
                if let Ok(robot) = TcpStream::connect(address) {
                    break robot;
                }
            };
            let join = frame(b"J\0\0\0\x07");
            robot.write_all(&join).unwrap();
            let mut joined = vec![0; join.len()];
            robot.read_exact(&mut joined).unwrap();
            assert_eq!(joined, join);
            robot
        };
        // Who has left is no member. The relay ends a connection once it is in no room.
        let mut left = join();
        left.shutdown(std::net::Shutdown::Write).unwrap();
        assert_eq!(left.read(&mut [0]).unwrap(), 0);
        let mut robots = [join(), join()];
        let mut message = [0; 32];
        (message[1], message[23]) = (1, 9);
        robots[0].write_all(&frame(&message)).unwrap();
        for robot in &mut robots {
            let mut heard = vec![0; 34];
            robot.read_exact(&mut heard).unwrap();
            assert_eq!(heard, frame(&message));
        }
        // It is written down after its last copy was sent.
        let page = loop {
            let mut asks = TcpStream::connect(address).unwrap();
            write!(asks, "GET {PASSED} HTTP/1.1\r\n\r\n").unwrap();
            let mut page = String::new();
            asks.read_to_string(&mut page).unwrap();
            if !page.ends_with("\r\n\r\n") {
                break page;
            }
        };
        let passed: Passed = page.lines().last().unwrap().parse().unwrap();
        let Passed { is_of_window, intended, arrived, begun, sent } = passed;
        assert!(is_of_window);
        assert_eq!((intended, begun), (9, arrived), "nothing was before it");
        let [first, last] = sent[..] else { panic!("two members: {sent:?}") };
        assert!(first >= begun + 20_000_000, "{sent:?} from {begun} on");
        assert!(last >= begun + 25_000_000, "{sent:?} from {begun} on");
    }

    #[test]
    fn a_line_of_the_record_is_read_as_it_was_written() {
        let sent = vec![30, 40];
        let passed = Passed { is_of_window: true, intended: 5, arrived: 10, begun: 20, sent };
        assert_eq!(passed.line().parse(), Ok(passed));
        for line in ["", "1 2 3 4", "1 2 3 x 5"] {
            assert!(line.parse::<Passed>().is_err(), "{line:?}");
        }
    }
}
