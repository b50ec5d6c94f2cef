//! MQTT 3.1.1 (OASIS Standard, 29 October 2014) with QoS 0 and 1. A packet is a byte with its kind
//! and flags, a length of one to four bytes, and as many bytes.
//!
//! A room is a topic. A message says itself in which room it was said, so nobody looks at the topic
//! that it comes under.

use std::ops::ControlFlow;
use std::time::Duration;

use super::cut::BrokerConnection;
use super::names::{FIRST_WORD, NAME_BYTES, RoomNames};
use super::{FRAME_BYTES_MAX, NUMBERS, Pushed, Pushing, QuietPing, Seat, malformed, refused};
use crate::outcome::fault::Fault;
use crate::plan::rooms::Qos;
use crate::protocol::Opened;
use crate::protocol::foreign::MQTT;

/// First bytes of packets. PUBLISH has its flags in the lower half.
const CONNECT: u8 = 0x10;
const CONNACK: u8 = 0x20;
const PUBLISH: u8 = 0x30;
const PUBACK: u8 = 0x40;
const SUBSCRIBE: u8 = 0x82;
const SUBACK: u8 = 0x90;
const PINGREQ: u8 = 0xC0;
const PINGRESP: u8 = 0xD0;

/// The half of a first byte that says the kind.
const KIND: u8 = 0xF0;
/// The bit of a length's byte that says that another one follows, of these at most.
const MORE: u8 = 0x80;
const LENGTH_BYTES_MAX: usize = 4;
/// The flag of a CONNECT that wants nothing of an earlier session.
const CLEAN_SESSION: u8 = 0x02;
/// The version of the protocol, which its name stands before.
const VERSION: u8 = 4;
/// The code of a SUBACK that refuses.
const NOT_SUBSCRIBED: u8 = 0x80;
/// The number of the only SUBSCRIBE of a connection. It is acknowledged before there are others.
const SUBSCRIBE_ID: [u8; 2] = [0, 1];
/// A broker may end a connection that is quiet for half as long again. So long before that is
/// time enough for a ping.
const KEEP_ALIVE_S: u16 = 60;
const PING_AFTER: Duration = Duration::from_secs(KEEP_ALIVE_S as u64 / 2);

const _: () = assert!(NUMBERS == u16::MAX as u32, "a packet has a number from 1 on");

/// What is wrong with a packet where nothing more can be said of it.
const NOT_AWAITED: &str = "a packet that isn't awaited";

/// The wire whose frames are packets of MQTT.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MqttWire {
    names: RoomNames,
    qos: Qos,
}

impl MqttWire {
    /// That of the run with this seed.
    pub(crate) fn new(seed: u64, qos: Qos) -> MqttWire {
        MqttWire { names: RoomNames::of_run(seed, '/'), qos }
    }

    /// A robot's client id: letters and digits, 23 at most, which every broker takes.
    fn client_id(self, robot: u32) -> String {
        format!("b{:08x}n{robot}", self.names.run())
    }

    fn subscribe(self, room: u32, out: &mut Vec<u8>) {
        head(SUBSCRIBE, SUBSCRIBE_ID.len() + 2 + NAME_BYTES + 1, out);
        out.extend_from_slice(&SUBSCRIBE_ID);
        text(&self.names.of(room), out);
        out.push(self.qos as u8);
    }

    /// Bytes of a PUBLISH behind its length.
    fn published_bytes(self, message: usize) -> usize {
        let number = if self.confirms() { 2 } else { 0 };
        2 + NAME_BYTES + number + message
    }

    /// The message of a PUBLISH, which is acknowledged where it asks for that.
    fn message<'a>(self, packet: &'a [u8], out: &mut Vec<u8>) -> Result<&'a [u8], Box<Fault>> {
        let behind_topic = || {
            let (length, rest) = body(packet).split_first_chunk::<2>()?;
            rest.get(usize::from(u16::from_be_bytes(*length))..)
        };
        let what = "a message whose topic doesn't end";
        let rest = behind_topic().ok_or_else(|| malformed(MQTT, packet, what))?;
        match packet[0] >> 1 & 3 {
            0 => Ok(rest),
            1 if self.confirms() => {
                let what = "a message without its number";
                let (id, message) =
                    rest.split_first_chunk::<2>().ok_or_else(|| malformed(MQTT, packet, what))?;
                head(PUBACK, id.len(), out);
                out.extend_from_slice(id);
                Ok(message)
            }
            qos => {
                let what = format!("a message with QoS {qos}, where {} was asked", self.qos as u8);
                Err(malformed(MQTT, packet, &what))
            }
        }
    }

    /// Why a broker doesn't take a connection, by the code of its CONNACK, and what can be done.
    fn refusal(self, code: u8, robot: u32) -> Box<Fault> {
        let why: String = match code {
            1 => "it doesn't speak version 3.1.1, which is the only one spoken here".into(),
            2 => format!("let it take client ids such as {}", self.client_id(robot)),
            3 => "it isn't ready yet; wait until it is".into(),
            4 | 5 => "it wants a user name and a password, which robots don't give; let it take \
                      clients without (in mosquitto allow_anonymous true)"
                .into(),
            _ => "which is no code of MQTT 3.1.1".into(),
        };
        refused(format!("the broker refused the connection with code {code}: {why}"))
    }

    /// Whether a SUBACK gives what was asked for.
    fn subscribed(self, packet: &[u8], room: u32) -> Result<(), Box<Fault>> {
        let &[a, b, granted] = body(packet) else {
            return Err(malformed(MQTT, packet, "no answer to a subscription"));
        };
        let name = String::from_utf8_lossy(&self.names.of(room)).into_owned();
        match granted {
            _ if [a, b] != SUBSCRIBE_ID => Err(malformed(MQTT, packet, NOT_AWAITED)),
            _ if granted == self.qos as u8 => Ok(()),
            NOT_SUBSCRIBED => Err(refused(format!(
                "the broker refused the subscription to {name}: let its clients read and write \
                 {FIRST_WORD}/#"
            ))),
            _ => Err(refused(format!(
                "the broker grants QoS {granted} for {name}, where {} was asked; take another \
                 --qos, or let it grant that",
                self.qos as u8
            ))),
        }
    }
}

/// A packet's first byte and its length.
fn head(first: u8, mut length: usize, out: &mut Vec<u8>) {
    out.push(first);
    while length >= usize::from(MORE) {
        out.push(length as u8 | MORE);
        length >>= 7;
    }
    out.push(length as u8);
}

/// Bytes of such a head.
fn head_bytes(length: usize) -> usize {
    2 + (1..LENGTH_BYTES_MAX).filter(|more| length >> (7 * more) > 0).count()
}

/// Text with its length, of two bytes.
fn text(text: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&(text.len() as u16).to_be_bytes());
    out.extend_from_slice(text);
}

/// How many bytes the packet has that begins so; `None` where its length hasn't come whole.
///
/// # Errors
/// Where it is none that a broker sends, or longer than any of this run.
fn packet_bytes(begin: &[u8]) -> Result<Option<usize>, Box<Fault>> {
    let Some((first, digits)) = begin.split_first() else { return Ok(None) };
    let is_a_brokers =
        first & KIND == PUBLISH || [CONNACK, PUBACK, SUBACK, PINGRESP].contains(first);
    if !is_a_brokers {
        return Err(malformed(MQTT, begin, NOT_AWAITED));
    }
    let mut length = 0;
    for (at, digit) in digits.iter().take(LENGTH_BYTES_MAX).enumerate() {
        length |= usize::from(digit & !MORE) << (7 * at);
        if digit & MORE == 0 {
            let whole = 2 + at + length;
            if whole > FRAME_BYTES_MAX {
                let what = format!("a packet of {whole} bytes, where {FRAME_BYTES_MAX} are most");
                return Err(malformed(MQTT, begin, &what));
            }
            return Ok(Some(whole));
        }
    }
    if digits.len() < LENGTH_BYTES_MAX {
        return Ok(None);
    }
    Err(malformed(MQTT, begin, "a packet whose length has more than four bytes"))
}

/// What is behind the length of a whole packet.
fn body(packet: &[u8]) -> &[u8] {
    let more = packet[1..].iter().take_while(|digit| **digit & MORE != 0).count();
    &packet[2 + more..]
}

impl Pushing for MqttWire {
    type Connection = BrokerConnection;

    fn join(&self, seat: Seat, out: &mut Vec<u8>) {
        const NAME: &[u8] = b"MQTT";
        let id = self.client_id(seat.robot);
        head(CONNECT, 2 + NAME.len() + 2 + 2 + 2 + id.len(), out);
        text(NAME, out);
        out.extend_from_slice(&[VERSION, CLEAN_SESSION]);
        out.extend_from_slice(&KEEP_ALIVE_S.to_be_bytes());
        text(id.as_bytes(), out);
    }

    fn hear_joining(
        &self,
        on: &mut BrokerConnection,
        seat: Seat,
        bytes: &[u8],
        out: &mut Vec<u8>,
    ) -> Opened {
        let BrokerConnection { cut, is_greeted } = on;
        cut.opened(bytes, packet_bytes, |packet| {
            match (packet[0], body(packet), *is_greeted) {
                (CONNACK, [_, 0], false) => {
                    *is_greeted = true;
                    self.subscribe(seat.room, out);
                }
                (CONNACK, [_, code], false) => return Err(self.refusal(*code, seat.robot)),
                (SUBACK, _, true) => {
                    self.subscribed(packet, seat.room)?;
                    return Ok(ControlFlow::Break(()));
                }
                // It may send what others say before it says that it does so.
                (first, _, true) if first & KIND == PUBLISH => {
                    self.message(packet, out)?;
                }
                _ => return Err(malformed(MQTT, packet, NOT_AWAITED)),
            }
            Ok(ControlFlow::Continue(()))
        })
    }

    fn say<'a>(&self, room: u32, number: u16, bytes: usize, out: &'a mut Vec<u8>) -> &'a mut [u8] {
        head(PUBLISH | ((self.qos as u8) << 1), self.published_bytes(bytes), out);
        text(&self.names.of(room), out);
        if self.confirms() {
            // There is no number 0.
            out.extend_from_slice(&(number + 1).to_be_bytes());
        }
        let begin = out.len();
        out.resize(begin + bytes, 0);
        &mut out[begin..]
    }

    fn said_bytes(&self, bytes: usize) -> usize {
        let length = self.published_bytes(bytes);
        head_bytes(length) + length
    }

    fn hear(
        &self,
        on: &mut BrokerConnection,
        bytes: &[u8],
        out: &mut Vec<u8>,
        heard: &mut impl FnMut(Pushed<'_>),
    ) -> Result<(), Box<Fault>> {
        let take = |packet: &[u8]| {
            match (packet[0], body(packet)) {
                (first, _) if first & KIND == PUBLISH => {
                    heard(Pushed::Message(self.message(packet, out)?));
                }
                (PUBACK, &[high, low]) if self.confirms() && [high, low] != [0, 0] => {
                    heard(Pushed::Confirmed(Some(u16::from_be_bytes([high, low]) - 1)));
                }
                (PINGRESP, []) => {}
                _ => return Err(malformed(MQTT, packet, NOT_AWAITED)),
            }
            Ok(ControlFlow::Continue(()))
        };
        on.cut.each(bytes, packet_bytes, take).map(drop)
    }

    fn confirms(&self) -> bool {
        self.qos == Qos::AtLeastOnce
    }

    fn ping(&self) -> Option<QuietPing> {
        Some(QuietPing { after: PING_AFTER, words: &[PINGREQ, 0] })
    }
}

#[cfg(test)]
mod tests {
    use super::super::splits::{came, said, told};
    use super::*;

    const ACCEPTED: &[u8] = b"\x20\x02\x00\x00";

    fn wire(qos: Qos) -> MqttWire {
        MqttWire::new(7, qos)
    }

    /// What a robot hears behind what brings it into its room.
    fn inside(qos: Qos, stream: &[u8]) -> Vec<u8> {
        [ACCEPTED, &[SUBACK, 3, 0, 1, qos as u8], stream].concat()
    }

    /// A message of this run's room 1.
    fn topic() -> String {
        String::from_utf8(wire(Qos::AtMostOnce).names.of(1).into()).unwrap()
    }

    #[test]
    fn a_robot_connects_and_subscribes() {
        let came = came(wire(Qos::AtLeastOnce), &inside(Qos::AtLeastOnce, b""));
        let id = wire(Qos::AtLeastOnce).client_id(3);
        let connect = [b"\x10\x17\x00\x04MQTT\x04\x02\x00\x3c\x00\x0b", id.as_bytes()].concat();
        let subscribe = [b"\x82\x1e\x00\x01\x00\x19", topic().as_bytes(), b"\x01"].concat();
        assert_eq!(came.said, [connect, subscribe].concat());
        assert_eq!(came.joined_at, Some(9));
    }

    #[test]
    fn client_ids_are_what_each_broker_takes() {
        let id = wire(Qos::AtMostOnce).client_id(u32::MAX);
        assert!(id.len() <= 23 && id.bytes().all(|byte| byte.is_ascii_alphanumeric()), "{id}");
        assert_ne!(id, MqttWire::new(8, Qos::AtMostOnce).client_id(u32::MAX), "another run's");
    }

    #[test]
    fn a_message_has_a_number_where_it_is_confirmed() {
        let topic = topic();
        let once = said(wire(Qos::AtMostOnce), 4, 3);
        assert_eq!(once, [b"\x30\x1e\x00\x19", topic.as_bytes(), b"xxx"].concat());
        let confirmed = said(wire(Qos::AtLeastOnce), 4, 3);
        assert_eq!(confirmed, [b"\x32\x20\x00\x19", topic.as_bytes(), b"\x00\x05xxx"].concat());
        // Where a length takes a byte more.
        for bytes in (95..105).chain(16_350..16_360).chain([65_535]) {
            said(wire(Qos::AtLeastOnce), 0, bytes);
        }
    }

    #[test]
    fn both_sides_confirm_what_they_get() {
        let qos = Qos::AtLeastOnce;
        let stream =
            b"\x32\x07\x00\x01t\x01\x02hi\x40\x02\x00\x05\xd0\x00\x3a\x06\x00\x01t\x01\x02h";
        let came = came(wire(qos), &inside(qos, stream));
        assert_eq!(came.messages, [&b"hi"[..], b"h"], "also what is sent again");
        assert_eq!(came.confirmed, [Some(4)]);
        assert!(came.said.ends_with(b"\x40\x02\x01\x02\x40\x02\x01\x02"), "{:?}", came.said);
    }

    #[test]
    fn a_broker_that_refuses_is_told_with_what_to_do() {
        let told = |stream: &[u8]| told(wire(Qos::AtLeastOnce), stream);
        let answers: [&[u8]; 6] = [
            b"\x20\x02\x00\x01",
            b"\x20\x02\x00\x02",
            b"\x20\x02\x00\x05",
            b"\x20\x02\x00\x00\x90\x03\x00\x01\x80",
            b"\x20\x02\x00\x00\x90\x03\x00\x01\x00",
            b"HTTP/1.1 400 Bad Request\r\nServer: nginx\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\n\r\n",
        ];
        insta::assert_snapshot!(answers.map(told).join("\n"));
    }

    #[test]
    fn what_no_broker_sends_is_told_by_what_came() {
        let (zero, one) = (Qos::AtMostOnce, Qos::AtLeastOnce);
        let packets: [(Qos, &[u8]); 8] = [
            (one, b"\x34\x05\x00\x01t\x00\x01"),
            (zero, b"\x32\x05\x00\x01t\x00\x01"),
            (one, b"\x32\x03\x00\x01t"),
            (one, b"\x30\x03\x00\x02t"),
            (zero, b"\x40\x02\x00\x01"),
            (one, b"\x40\x02\x00\x00"),
            (one, b"\x30\xff\xff\xff\x7f"),
            (one, b"\x30\xff\xff\xff\xff"),
        ];
        let all = packets.map(|(qos, packet)| told(wire(qos), &inside(qos, packet)));
        insta::assert_snapshot!(all.join("\n"));
    }
}
