//! RESP3's publish and subscribe, as Redis has it from version 6 on. A robot subscribes and
//! publishes on the same connection, which version 2 doesn't allow.
//!
//! A room is a channel. A message says itself in which room it was said, so nobody looks at the
//! channel that it comes under. What `PUBLISH` is answered with, the number of those who hear it,
//! confirms the message: answers come in the order of commands.

use std::ops::ControlFlow;

use memchr::memchr;

use super::cut::BrokerConnection;
use super::names::{FIRST_WORD, NAME_BYTES, RoomNames};
use super::{FRAME_BYTES_MAX, Pushed, Pushing, Seat, malformed, not_spoken, refused};
use crate::outcome::fault::{Fault, show};
use crate::plan::rooms::MESSAGE_BYTES;
use crate::protocol::Opened;
use crate::protocol::foreign::RESP;
use crate::protocol::store::resp::{
    ATTRIBUTE, NestedBounds, PUSH, array, bulk, bulk_head, refusal, value_end,
};

/// What is taken of a server: a push has three or four strings.
const BOUNDS: NestedBounds = NestedBounds { depth: 4, string_bytes: *MESSAGE_BYTES.end() as usize };
const LINE_END: &[u8] = b"\r\n";

/// The wire whose frames are values of RESP3.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RespWire {
    names: RoomNames,
}

impl RespWire {
    /// That of the run with this seed.
    pub(crate) fn new(seed: u64) -> RespWire {
        RespWire { names: RoomNames::of_run(seed, ':') }
    }
}

/// How many bytes the value has that begins so; `None` where it hasn't come whole.
///
/// # Errors
/// Where it is none, or longer than any of this run.
fn value_bytes(begin: &[u8]) -> Result<Option<usize>, Box<Fault>> {
    const SIGNS: &[u8] = b"+-:$*_#,(!=%~>|";
    if begin.first().is_some_and(|sign| !SIGNS.contains(sign)) {
        return Err(malformed(RESP, begin, "no value of RESP"));
    }
    match value_end(&begin[..begin.len().min(FRAME_BYTES_MAX)], BOUNDS) {
        Ok(None) if begin.len() >= FRAME_BYTES_MAX => {
            Err(malformed(RESP, begin, "a value without an end"))
        }
        Ok(end) => Ok(end),
        Err(why) => Err(not_spoken(RESP, begin, why)),
    }
}

/// The kind of a push, and the last of its strings: of a message the message.
fn kind_and_last(push: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut at = memchr(b'\n', push)? + 1;
    let (mut kind, mut last) = (None, &push[..0]);
    while at < push.len() {
        let end = at + value_end(&push[at..], BOUNDS).ok()??;
        last = &push[at..end];
        kind.get_or_insert(last);
        at = end;
    }
    Some((string(kind?)?, last))
}

/// The kind of a push.
fn kind_of(push: &[u8]) -> Option<&[u8]> {
    kind_and_last(push).map(|(kind, _)| kind)
}

/// The bytes of a whole string; `None` of another value.
fn string(value: &[u8]) -> Option<&[u8]> {
    let line = memchr(b'\n', value)? + 1;
    let value = value.strip_suffix(LINE_END)?;
    match value.first()? {
        b'$' => value.get(line..),
        b'+' => value.get(1..),
        _ => None,
    }
}

/// The server's own words, with what can be done.
fn error(value: &[u8]) -> Box<Fault> {
    let words = refusal(value).ok().flatten().unwrap_or_default();
    let advice: String = match words.split(|byte| *byte == b' ').next() {
        Some(b"NOAUTH" | b"WRONGPASS") => {
            ": it wants a password, which robots don't give; let it take clients without".into()
        }
        Some(b"NOPERM") => {
            format!(": let its clients publish and subscribe to the channels {FIRST_WORD}:*")
        }
        Some(b"NOPROTO") => NO_RESP3.into(),
        Some(b"ERR") if words.starts_with(b"ERR unknown command") => NO_RESP3.into(),
        Some(b"ERR") if words.starts_with(b"ERR max number of clients") => {
            ": raise its maxclients, or take fewer robots (--rooms, --members)".into()
        }
        _ => String::new(),
    };
    refused(format!("the server refused, in its words: \"{}\"{advice}", show(words)))
}

const NO_RESP3: &str = ": it speaks no RESP3, which rooms take; Redis does from version 6 on";

impl Pushing for RespWire {
    type Connection = BrokerConnection;

    fn join(&self, seat: Seat, out: &mut Vec<u8>) {
        array(2, out);
        bulk(b"HELLO", out);
        bulk(b"3", out);
        array(2, out);
        bulk(b"SUBSCRIBE", out);
        bulk(&self.names.of(seat.room), out);
    }

    fn hear_joining(
        &self,
        on: &mut BrokerConnection,
        _seat: Seat,
        bytes: &[u8],
        _out: &mut Vec<u8>,
    ) -> Opened {
        let BrokerConnection { cut, is_greeted } = on;
        cut.opened(bytes, value_bytes, |value| {
            match value[0] {
                b'-' | b'!' => return Err(error(value)),
                b'%' if !*is_greeted => *is_greeted = true,
                PUSH if *is_greeted && matches!(kind_of(value), Some(b"subscribe")) => {
                    return Ok(ControlFlow::Break(()));
                }
                PUSH | ATTRIBUTE => {}
                _ => return Err(malformed(RESP, value, "no answer to HELLO 3 or SUBSCRIBE")),
            }
            Ok(ControlFlow::Continue(()))
        })
    }

    fn say<'a>(&self, room: u32, _number: u16, bytes: usize, out: &'a mut Vec<u8>) -> &'a mut [u8] {
        array(3, out);
        bulk(b"PUBLISH", out);
        bulk(&self.names.of(room), out);
        bulk_head(bytes, out);
        let begin = out.len();
        out.resize(begin + bytes, 0);
        out.extend_from_slice(LINE_END);
        &mut out[begin..begin + bytes]
    }

    fn said_bytes(&self, bytes: usize) -> usize {
        const AROUND: usize = b"*3\r\n$7\r\nPUBLISH\r\n$25\r\n\r\n$\r\n\r\n".len() + NAME_BYTES;
        AROUND + itoa::Buffer::new().format(bytes).len() + bytes
    }

    fn hear(
        &self,
        on: &mut BrokerConnection,
        bytes: &[u8],
        _out: &mut Vec<u8>,
        heard: &mut impl FnMut(Pushed<'_>),
    ) -> Result<(), Box<Fault>> {
        let take = |value: &[u8]| {
            match value[0] {
                PUSH => match kind_and_last(value) {
                    Some((b"message", last)) => match string(last) {
                        Some(message) => heard(Pushed::Message(message)),
                        None => return Err(malformed(RESP, value, "a message that is no string")),
                    },
                    Some(_) => {}
                    None => return Err(malformed(RESP, value, "a push that doesn't say its kind")),
                },
                b':' => heard(Pushed::Confirmed(None)),
                b'-' | b'!' => return Err(error(value)),
                ATTRIBUTE => {}
                _ => return Err(malformed(RESP, value, "no answer to PUBLISH")),
            }
            Ok(ControlFlow::Continue(()))
        };
        on.cut.each(bytes, value_bytes, take).map(drop)
    }

    fn confirms(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::super::splits::{came, said, told};
    use super::*;

    fn wire() -> RespWire {
        RespWire::new(7)
    }

    /// What a robot hears behind what brings it into its room.
    fn inside(stream: &[u8]) -> Vec<u8> {
        const OPENING: &[u8] = b"%2\r\n$5\r\nproto\r\n:3\r\n$7\r\nmodules\r\n*0\r\n\
            >3\r\n$9\r\nsubscribe\r\n$1\r\nx\r\n:1\r\n";
        [OPENING, stream].concat()
    }

    #[test]
    fn a_robot_greets_and_subscribes() {
        let came = came(wire(), &inside(b""));
        let channel = String::from_utf8(wire().names.of(1).into()).unwrap();
        let said = format!(
            "*2\r\n$5\r\nHELLO\r\n$1\r\n3\r\n*2\r\n$9\r\nSUBSCRIBE\r\n$25\r\n{channel}\r\n"
        );
        assert_eq!(came.said, said.into_bytes());
        assert_eq!(came.joined_at, Some(inside(b"").len()));
    }

    #[test]
    fn a_message_is_published_to_its_channel() {
        let channel = String::from_utf8(wire().names.of(1).into()).unwrap();
        let publish = format!("*3\r\n$7\r\nPUBLISH\r\n$25\r\n{channel}\r\n$3\r\nxxx\r\n");
        assert_eq!(said(wire(), 0, 3), publish.into_bytes());
        [32, 99, 100, 65_535].into_iter().for_each(|bytes| drop(said(wire(), 0, bytes)));
    }

    #[test]
    fn pushes_and_answers_are_told_apart_in_any_order() {
        let stream = b">3\r\n$7\r\nmessage\r\n$1\r\nx\r\n$4\r\n\r\n:1\r\n:2\r\n:1\r\n\
            |1\r\n+ttl\r\n:3\r\n>2\r\n+invalidate\r\n*1\r\n+key\r\n\
            >3\r\n+message\r\n+x\r\n+hi\r\n:0\r\n";
        let came = came(wire(), &inside(stream));
        assert_eq!(came.messages, [&b"\r\n:1"[..], b"hi"]);
        assert_eq!(came.confirmed, [None; 3]);
    }

    #[test]
    fn what_a_robot_cant_go_on_with_is_told_with_what_to_do() {
        let streams: [Vec<u8>; 11] = [
            b"-NOAUTH HELLO must be called with the client already authenticated\r\n".to_vec(),
            b"-ERR unknown command `HELLO`, with args beginning with: `3`, \r\n".to_vec(),
            b"-NOPROTO unsupported protocol version\r\n".to_vec(),
            b"-ERR max number of clients reached\r\n".to_vec(),
            b"%1\r\n+proto\r\n:3\r\n-NOPERM No permissions to access a channel\r\n".to_vec(),
            b"*2\r\n+proto\r\n:2\r\n".to_vec(),
            b"HTTP/1.1 400 Bad Request\r\n".to_vec(),
            inside(b"!9\r\nERR wrong\r\n"),
            inside(b"$2\r\nOK\r\n"),
            inside(b">3\r\n+message\r\n+x\r\n:1\r\n"),
            inside(b">1\r\n:1\r\n"),
        ];
        let all = streams.map(|stream| told(wire(), &stream));
        insta::assert_snapshot!(all.join("\n"));
        let nested = told(wire(), &inside(&b">1\r\n".repeat(5)));
        assert!(nested.starts_with("no value of RESP that is awaited"), "{nested}");
        let long = told(wire(), &inside(b"$65536\r\n"));
        assert!(long.starts_with("no value of RESP that is awaited"), "{long}");
        let string = [&b"$4000\r\n"[..], &b"x".repeat(4000), b"\r\n"].concat();
        let endless = [&b">1000\r\n"[..], &string.repeat(40)].concat();
        let endless = told(wire(), &inside(&endless));
        assert!(endless.starts_with("a value without an end"), "{endless}");
    }
}
