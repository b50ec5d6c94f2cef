//! Reads one stream that a server pushes in any split, and says what came of it: what the fuzz
//! target and its seeds hold the wires to.

use super::cut::{BrokerConnection, CutFrame};
use super::frames::FramesWire;
use super::mqtt::MqttWire;
use super::nats::NatsWire;
use super::resp::RespWire;
use super::{FRAME_BYTES_MAX, Pushed, Pushing, Seat};
use crate::outcome::ErrorKind;
use crate::outcome::fault::Fault;
use crate::plan::rooms::Qos;
use crate::protocol::Opened;
use crate::protocol::splits::{kind, random_cuts};

const SEED: u64 = 7;
const SEAT: Seat = Seat { robot: 3, room: 1 };

/// What came of a stream.
#[derive(Debug, Default, PartialEq)]
pub struct CameOfPushes {
    /// Where in the stream the robot came into its room, if it did.
    pub joined_at: Option<usize>,
    /// Message by message.
    pub messages: Vec<Vec<u8>>,
    /// Confirmation by confirmation: the numbers of messages, or none.
    pub confirmed: Vec<Option<u16>>,
    /// All that the connection said by itself.
    pub said: Vec<u8>,
    /// Why it is of no more use, if it isn't.
    pub fault: Option<ErrorKind>,
}

/// A connection whose kept bytes are bounded.
pub(super) trait Bounded {
    fn cut(&self) -> &CutFrame;
}

impl Bounded for CutFrame {
    fn cut(&self) -> &CutFrame {
        self
    }
}

impl Bounded for BrokerConnection {
    fn cut(&self) -> &CutFrame {
        &self.cut
    }
}

/// Reads one input of the fuzz target whole and in several splits, which must all come to the
/// same; gives what came of it, or `None` where the input is too short to be one.
///
/// The first byte is the wire: `0` frames, `1` MQTT with QoS 0, `2` with QoS 1, `3` NATS, `4`
/// RESP3. The second byte decides the splits. The rest is the stream, from the connection's first
/// byte on.
///
/// # Panics
/// Where a split leads to something else, or a decoder goes beyond a bound.
pub fn in_any_split(input: &[u8]) -> Option<CameOfPushes> {
    let [wire, seed, stream @ ..] = input else { return None };
    Some(match (wire & 7) % 5 {
        0 => in_splits(FramesWire, *seed, stream),
        1 => in_splits(MqttWire::new(SEED, Qos::AtMostOnce), *seed, stream),
        2 => in_splits(MqttWire::new(SEED, Qos::AtLeastOnce), *seed, stream),
        3 => in_splits(NatsWire::new(SEED), *seed, stream),
        _ => in_splits(RespWire::new(SEED), *seed, stream),
    })
}

fn in_splits<W: Pushing<Connection: Bounded>>(wire: W, seed: u8, stream: &[u8]) -> CameOfPushes {
    let read = |cuts: Vec<usize>| read(&wire, stream, cuts);
    let whole = read(Vec::new());
    let cut = usize::from(seed) * stream.len() / 256;
    assert_eq!(read(vec![cut]), whole, "cut at {cut}");
    assert_eq!(read((0..stream.len()).collect()), whole, "byte by byte");
    for longest in [2, 7, 40] {
        let cuts = random_cuts(stream.len(), longest, u64::from(seed));
        assert_eq!(read(cuts.clone()), whole, "cuts {cuts:?}");
    }
    whole
}

/// Reads a stream cut at these places (ascending), as one connection.
fn read<W: Pushing<Connection: Bounded>>(
    wire: &W,
    stream: &[u8],
    cuts: Vec<usize>,
) -> CameOfPushes {
    let (mut came, fault) = read_to_fault(wire, stream, cuts);
    came.fault = fault.map(|fault| kind(&fault));
    came
}

/// The same, with all that is told of a fault.
fn read_to_fault<W: Pushing<Connection: Bounded>>(
    wire: &W,
    stream: &[u8],
    cuts: Vec<usize>,
) -> (CameOfPushes, Option<Box<Fault>>) {
    let mut on = W::Connection::default();
    let mut came = CameOfPushes::default();
    wire.join(SEAT, &mut came.said);
    let mut start = 0;
    for end in cuts.into_iter().chain([stream.len()]) {
        let mut piece = &stream[start..end];
        if came.joined_at.is_none() {
            match wire.hear_joining(&mut on, SEAT, piece, &mut came.said) {
                Opened::Awaits { missing } => {
                    assert!(missing > 0, "nothing is missing, and it isn't inside");
                    piece = &[];
                }
                Opened::Ready { used } => {
                    assert!(used > 0 && used <= piece.len(), "{used} bytes used");
                    assert_eq!(on.cut().kept(), 0, "something of the first words is kept");
                    came.joined_at = Some(start + used);
                    piece = &piece[used..];
                }
                Opened::Broken(fault) => {
                    return (came, Some(fault));
                }
            }
        }
        let CameOfPushes { messages, confirmed, said, .. } = &mut came;
        let mut heard = |pushed: Pushed<'_>| match pushed {
            Pushed::Message(message) => messages.push(message.to_vec()),
            Pushed::Confirmed(number) => confirmed.push(number),
        };
        if !piece.is_empty()
            && let Err(fault) = wire.hear(&mut on, piece, said, &mut heard)
        {
            return (came, Some(fault));
        }
        assert!(on.cut().kept() <= FRAME_BYTES_MAX, "too much is kept");
        start = end;
    }
    (came, None)
}

/// What is told of a stream that a connection can't go on with.
#[cfg(test)]
pub(super) fn told<W: Pushing<Connection: Bounded>>(wire: W, stream: &[u8]) -> String {
    let (came, fault) = read_to_fault(&wire, stream, Vec::new());
    fault.unwrap_or_else(|| panic!("nothing is wrong with it: {came:?}")).example
}

/// What came of a stream with which nothing is wrong.
#[cfg(test)]
pub(super) fn came<W: Pushing<Connection: Bounded>>(wire: W, stream: &[u8]) -> CameOfPushes {
    let came = read(&wire, stream, Vec::new());
    assert_eq!(came.fault, None, "{came:?}");
    came
}

/// What a robot says in room 1, with so many bytes, each of them `x`.
#[cfg(test)]
pub(super) fn said(wire: impl Pushing, number: u16, bytes: usize) -> Vec<u8> {
    let mut out = Vec::new();
    wire.say(SEAT.room, number, bytes, &mut out).fill(b'x');
    assert_eq!(out.len(), wire.said_bytes(bytes), "a message of {bytes} bytes has another length");
    out
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use proptest::prelude::*;
    use proptest::sample::Index;

    use super::*;
    use crate::protocol::splits::seeds;

    /// The bytes with which robots come into their rooms, and those that a server sends for what
    /// they say, as far as all of it can be written down before.
    const OPENINGS: [&[u8]; 5] = [
        b"\x00\x05J\x00\x00\x00\x01",
        b"\x20\x02\x00\x00\x90\x03\x00\x01\x00",
        b"\x20\x02\x00\x00\x90\x03\x00\x01\x01",
        b"INFO {}\r\nPONG\r\n",
        b"%1\r\n+proto\r\n:3\r\n>3\r\n$9\r\nsubscribe\r\n$1\r\nx\r\n:1\r\n",
    ];

    /// What a server sends a member that hears this message.
    fn pushed(wire: usize, message: &[u8]) -> Vec<u8> {
        let length = message.len();
        let around = match wire {
            0 => return [&(length as u16).to_be_bytes(), message].concat(),
            1 => {
                let mut packet = vec![0x30];
                let mut rest = length + 3;
                while rest > 127 {
                    packet.push(rest as u8 | 0x80);
                    rest >>= 7;
                }
                packet.push(rest as u8);
                packet.extend_from_slice(b"\x00\x01x");
                return [&packet, message].concat();
            }
            2 => {
                let mut packet = pushed(1, &[&[0, 9], message].concat());
                packet[0] = 0x32;
                return packet;
            }
            3 => format!("MSG bakeoff.x 1 {length}\r\n"),
            _ => format!(">3\r\n$7\r\nmessage\r\n$1\r\nx\r\n${length}\r\n"),
        };
        [around.as_bytes(), message, b"\r\n"].concat()
    }

    proptest! {
        /// Else a message is lost, or another's bytes are taken for it, where the network cuts it.
        #[test]
        fn what_is_pushed_is_heard_in_any_split_of_each_wire(
            wire in 0..5_usize,
            seed: u8,
            messages in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..400), 0..6),
        ) {
            let stream: Vec<Vec<u8>> = messages.iter().map(|it| pushed(wire, it)).collect();
            let head = [b'0' + wire as u8, seed];
            let input = [&head, OPENINGS[wire], &stream.concat()].concat();
            let came = in_any_split(&input).unwrap();
            prop_assert_eq!(came.fault, None);
            prop_assert_eq!(came.joined_at, Some(OPENINGS[wire].len()));
            prop_assert_eq!(came.messages, messages);
        }

        /// What a fuzz target does at first.
        #[test]
        fn a_seed_with_other_bytes_comes_to_the_same_in_any_split(
            which: Index,
            others in prop::collection::vec((any::<Index>(), any::<u8>()), 1..4),
        ) {
            let seeds = seeds("pushed_stream");
            let mut input = which.get(&seeds).1.clone();
            for (at, byte) in others {
                *at.get_mut(&mut input) = byte;
            }
            in_any_split(&input);
        }
    }

    #[test]
    fn the_longest_message_is_heard_of_each_wire() {
        let longest = vec![9; 65_535];
        for (wire, opening) in OPENINGS.into_iter().enumerate() {
            let stream = [opening, &pushed(wire, &longest), &pushed(wire, b"x")].concat();
            let cuts = [1_000, 17_000, 40_000, 65_534].to_vec();
            let messages = vec![longest.clone(), b"x".to_vec()];
            let read = match wire {
                0 => read(&FramesWire, &stream, cuts),
                1 => read(&MqttWire::new(SEED, Qos::AtMostOnce), &stream, cuts),
                2 => read(&MqttWire::new(SEED, Qos::AtLeastOnce), &stream, cuts),
                3 => read(&NatsWire::new(SEED), &stream, cuts),
                _ => read(&RespWire::new(SEED), &stream, cuts),
            };
            assert_eq!((read.fault, read.messages.len()), (None, 2), "wire {wire}");
            assert!(read.messages == messages, "wire {wire}: other bytes were heard");
        }
    }

    /// Else a change that breaks a wire on them, or alters what it makes of them, would show only
    /// where somebody fuzzes.
    #[test]
    fn every_seed_of_the_fuzz_target_comes_to_what_it_did_before_in_any_split() {
        let mut came = String::new();
        for (name, input) in seeds("pushed_stream") {
            let CameOfPushes { joined_at, messages, confirmed, said, fault } =
                in_any_split(&input).expect("a seed is a whole input");
            let messages: Vec<String> =
                messages.iter().map(|it| it.escape_ascii().to_string()).collect();
            let said = said.escape_ascii();
            let _ = writeln!(
                came,
                "{name}\n    joined at {joined_at:?}, {fault:?}\n    heard {messages:?}\n    \
                 confirmed {confirmed:?}\n    said {said}"
            );
        }
        insta::assert_snapshot!(came);
    }
}
