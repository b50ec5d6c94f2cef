//! NATS, its client protocol: lines, of which `MSG` and `PUB` have as many bytes behind them as they
//! say.
//!
//! A room is a subject. A message says itself in which room it was said, so nobody looks at the
//! subject that it comes under. The server speaks first (`INFO`). It doesn't answer `SUB`, but a
//! `PING` behind that: once `PONG` is there, the robot is in.

use std::ops::ControlFlow;

use memchr::{memchr, memmem};

use super::cut::BrokerConnection;
use super::names::{FIRST_WORD, NAME_BYTES, RoomNames};
use super::{FRAME_BYTES_MAX, Pushed, Pushing, Seat, malformed, refused};
use crate::outcome::fault::{Fault, show};
use crate::protocol::Opened;
use crate::protocol::foreign::NATS;
use crate::protocol::store::length;

/// The most bytes of a line: what `INFO` tells of a cluster with hundreds of servers.
const LINE_BYTES_MAX: usize = 32 << 10;
const LINE_END: &[u8] = b"\r\n";
/// Who speaks. The server answers nothing that has no answer of its own (`verbose`), and sends
/// robots also what they say themselves (`echo`).
const CONNECT: &[u8] =
    b"CONNECT {\"verbose\":false,\"pedantic\":false,\"echo\":true,\"name\":\"bakeoff load\"}\r\n";
const PING: &[u8] = b"PING\r\n";
const PONG: &[u8] = b"PONG\r\n";
/// What `INFO` says of a server that takes no connection without TLS.
const TLS_REQUIRED: &[u8] = b"\"tls_required\":true";

/// The wire whose frames are lines of NATS.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NatsWire {
    names: RoomNames,
}

impl NatsWire {
    /// That of the run with this seed.
    pub(crate) fn new(seed: u64) -> NatsWire {
        NatsWire { names: RoomNames::of_run(seed, '.') }
    }
}

/// What a server says.
#[derive(Debug, PartialEq)]
enum NatsLine<'a> {
    Info(&'a [u8]),
    Message(&'a [u8]),
    Ping,
    Pong,
    /// What it says where `verbose` is asked for: it means nothing here.
    Ok,
    /// Its own words, as `Slow Consumer`.
    Error(&'a [u8]),
}

/// How many bytes the line has that begins so, with the bytes behind it that belong to it; `None`
/// where it hasn't come whole.
///
/// # Errors
/// Where it is no line of a server.
fn line_bytes(begin: &[u8]) -> Result<Option<usize>, Box<Fault>> {
    match begin.first() {
        None => return Ok(None),
        Some(b'I' | b'M' | b'P' | b'+' | b'-') => {}
        Some(_) => return Err(malformed(NATS, begin, "no line of NATS")),
    }
    let Some(end) = memchr(b'\n', &begin[..begin.len().min(LINE_BYTES_MAX)]) else {
        return if begin.len() < LINE_BYTES_MAX {
            Ok(None)
        } else {
            Err(malformed(NATS, begin, "a line without an end"))
        };
    };
    let line = &begin[..end];
    if !line.starts_with(b"MSG ") {
        return Ok(Some(end + 1));
    }
    let digits = line.trim_ascii_end().rsplit(|byte| *byte == b' ').next().unwrap_or_default();
    match length(digits, FRAME_BYTES_MAX) {
        Some(message) => Ok(Some(end + 1 + message + LINE_END.len())),
        None => {
            let what = format!("a message of more than {FRAME_BYTES_MAX} bytes, or none");
            Err(malformed(NATS, line, &what))
        }
    }
}

/// A whole line, with what belongs to it.
fn line(whole: &[u8]) -> Result<NatsLine<'_>, Box<Fault>> {
    let end = memchr(b'\n', whole).map_or(whole.len(), |end| end + 1);
    let (line, behind) = whole.split_at(end);
    let line = line.trim_ascii_end();
    match line.split(|byte| *byte == b' ').next() {
        Some(b"MSG") => match behind.strip_suffix(LINE_END) {
            Some(message) => Ok(NatsLine::Message(message)),
            None => Err(malformed(NATS, whole, "a message without an end")),
        },
        Some(b"INFO") => Ok(NatsLine::Info(&line[b"INFO".len()..])),
        Some(b"PING") => Ok(NatsLine::Ping),
        Some(b"PONG") => Ok(NatsLine::Pong),
        Some(b"+OK") => Ok(NatsLine::Ok),
        Some(b"-ERR") => {
            let words = line[b"-ERR".len()..].trim_ascii();
            let quoted = words.strip_prefix(b"'").and_then(|words| words.strip_suffix(b"'"));
            Ok(NatsLine::Error(quoted.unwrap_or(words)))
        }
        _ => Err(malformed(NATS, line, "no line of NATS")),
    }
}

/// The server's own words, with what can be done.
fn error(words: &[u8]) -> Box<Fault> {
    let says = |what: &[u8]| memmem::find(words, what).is_some();
    let advice: String = if says(b"Authorization") || says(b"Authentication") {
        ": it wants a user name or a token, which robots don't give; let it take clients without"
            .into()
    } else if says(b"Permissions") {
        format!(": let its clients publish and subscribe to {FIRST_WORD}.>")
    } else if says(b"maximum connections") {
        ": raise its max_connections, or take fewer robots (--rooms, --members)".into()
    } else if says(b"Maximum Payload") {
        ": raise its max_payload, or take shorter messages (--message-bytes)".into()
    } else {
        String::new()
    };
    refused(format!("the server says -ERR {}{advice}", show(words)))
}

impl Pushing for NatsWire {
    type Connection = BrokerConnection;

    /// Nothing: the server speaks first.
    fn join(&self, _seat: Seat, _out: &mut Vec<u8>) {}

    fn hear_joining(
        &self,
        on: &mut BrokerConnection,
        seat: Seat,
        bytes: &[u8],
        out: &mut Vec<u8>,
    ) -> Opened {
        let BrokerConnection { cut, is_greeted } = on;
        cut.opened(bytes, line_bytes, |whole| {
            match line(whole)? {
                NatsLine::Info(info) if memmem::find(info, TLS_REQUIRED).is_some() => {
                    let what = "the server takes connections with TLS alone, which bakeoff load \
                                does not speak yet; let it take others";
                    return Err(refused(what.into()));
                }
                NatsLine::Info(_) if !*is_greeted => {
                    *is_greeted = true;
                    out.extend_from_slice(CONNECT);
                    out.extend_from_slice(b"SUB ");
                    out.extend_from_slice(&self.names.of(seat.room));
                    out.extend_from_slice(b" 1\r\n");
                    out.extend_from_slice(PING);
                }
                NatsLine::Error(words) => return Err(error(words)),
                NatsLine::Pong if *is_greeted => return Ok(ControlFlow::Break(())),
                NatsLine::Ping => out.extend_from_slice(PONG),
                NatsLine::Info(_) | NatsLine::Message(_) | NatsLine::Ok if *is_greeted => {}
                _ => return Err(malformed(NATS, whole, "no INFO, which comes first")),
            }
            Ok(ControlFlow::Continue(()))
        })
    }

    fn say<'a>(&self, room: u32, _number: u16, bytes: usize, out: &'a mut Vec<u8>) -> &'a mut [u8] {
        out.extend_from_slice(b"PUB ");
        out.extend_from_slice(&self.names.of(room));
        out.push(b' ');
        out.extend_from_slice(itoa::Buffer::new().format(bytes).as_bytes());
        out.extend_from_slice(LINE_END);
        let begin = out.len();
        out.resize(begin + bytes, 0);
        out.extend_from_slice(LINE_END);
        &mut out[begin..begin + bytes]
    }

    fn said_bytes(&self, bytes: usize) -> usize {
        let digits = itoa::Buffer::new().format(bytes).len();
        b"PUB ".len() + NAME_BYTES + 1 + digits + LINE_END.len() + bytes + LINE_END.len()
    }

    fn hear(
        &self,
        on: &mut BrokerConnection,
        bytes: &[u8],
        out: &mut Vec<u8>,
        heard: &mut impl FnMut(Pushed<'_>),
    ) -> Result<(), Box<Fault>> {
        let take = |whole: &[u8]| {
            match line(whole)? {
                NatsLine::Message(message) => heard(Pushed::Message(message)),
                NatsLine::Ping => out.extend_from_slice(PONG),
                NatsLine::Error(words) => return Err(error(words)),
                // It tells anew what it is like, or answers what isn't awaited any more.
                NatsLine::Info(_) | NatsLine::Pong | NatsLine::Ok => {}
            }
            Ok(ControlFlow::Continue(()))
        };
        on.cut.each(bytes, line_bytes, take).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::super::splits::{came, said, told};
    use super::*;

    fn wire() -> NatsWire {
        NatsWire::new(7)
    }

    /// What a robot hears behind what brings it into its room.
    fn inside(stream: &[u8]) -> Vec<u8> {
        [b"INFO {\"max_payload\":1048576} \r\nPONG\r\n", stream].concat()
    }

    #[test]
    fn a_robot_subscribes_once_the_server_has_told_of_itself() {
        let came = came(wire(), &inside(b"PING\r\nINFO {}\r\n+OK\r\nPONG\r\n"));
        let subject = String::from_utf8(wire().names.of(1).into()).unwrap();
        let said = format!("SUB {subject} 1\r\nPING\r\nPONG\r\n");
        assert_eq!(came.said, [CONNECT, said.as_bytes()].concat(), "it answers a PING");
        assert_eq!(came.joined_at, Some(inside(b"").len()));
        assert_eq!(came.messages.len(), 0);
    }

    #[test]
    fn a_message_has_its_length_before_it() {
        let subject = String::from_utf8(wire().names.of(1).into()).unwrap();
        assert_eq!(said(wire(), 0, 3), format!("PUB {subject} 3\r\nxxx\r\n").into_bytes());
        [32, 99, 100, 65_535].into_iter().for_each(|bytes| drop(said(wire(), 0, bytes)));
    }

    #[test]
    fn messages_are_heard_whatever_they_hold() {
        let stream = b"MSG s 1 4\r\n\r\n\r\n\r\nMSG s 1 inbox 2\r\nhi\r\nMSG s 1 0\r\n\r\n";
        let came = came(wire(), &inside(stream));
        assert_eq!(came.messages, [&b"\r\n\r\n"[..], b"hi", b""]);
    }

    #[test]
    fn what_a_robot_cant_go_on_with_is_told_with_what_to_do() {
        let streams: [Vec<u8>; 10] = [
            b"INFO {\"tls_required\":true}\r\n".to_vec(),
            b"INFO {}\r\n-ERR 'Authorization Violation'\r\n".to_vec(),
            b"INFO {}\r\n-ERR 'Permissions Violation for Subscription to \"bakeoff.1\"'\r\n"
                .to_vec(),
            b"-ERR 'maximum connections exceeded'\r\n".to_vec(),
            inside(b"-ERR 'Slow Consumer'\r\n"),
            b"PONG\r\n".to_vec(),
            b"HTTP/1.1 400 Bad Request\r\n".to_vec(),
            inside(b"MSG s 1 131073\r\n"),
            inside(b"MSG s 1 1\r\nhi\r\n"),
            inside(b"PUNG\r\n"),
        ];
        let all = streams.map(|stream| told(wire(), &stream));
        insta::assert_snapshot!(all.join("\n"));
        let endless = told(wire(), &b"I".repeat(LINE_BYTES_MAX));
        assert!(endless.starts_with("a line without an end"), "{endless}");
    }
}
