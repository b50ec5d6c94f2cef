//! One member of a room, without its connection: bytes in, bytes out, on any wire.
//!
//! It is for who speaks with a gateway beside the load. What is right there is right under load,
//! because both are written and read alike.

use std::fmt::Debug;

use crate::plan::rooms::Wire;
use crate::protocol::Opened;
use crate::protocol::pushing::frames::FramesWire;
use crate::protocol::pushing::mqtt::MqttWire;
use crate::protocol::pushing::nats::NatsWire;
use crate::protocol::pushing::resp::RespWire;
use crate::protocol::pushing::{NUMBERS, Pushed, Pushing, Seat};

/// What one member says and hears, with what it keeps of its connection.
#[derive(Debug)]
pub struct Member(Box<dyn Side + Send>);

impl Member {
    /// The member with this number, of a room. At brokers the seed parts those who use one at the
    /// same time, and no two members of one seed have the same number.
    pub fn new(wire: Wire, seed: u64, number: u32, room: u32) -> Member {
        let seat = Seat { robot: number, room };
        Member(match wire {
            Wire::Frames => seated(FramesWire, seat),
            Wire::Mqtt { qos } => seated(MqttWire::new(seed, qos), seat),
            Wire::Nats => seated(NatsWire::new(seed), seat),
            Wire::Resp => seated(RespWire::new(seed), seat),
        })
    }

    /// What it says first, to come into its room; nothing where the server speaks first.
    pub fn first_words(&self) -> Vec<u8> {
        self.0.first_words()
    }

    /// Takes bytes while it isn't in its room. Once it is, gives how many of them were used. Appends
    /// to `out` what it has to say to them.
    ///
    /// # Errors
    /// Why it won't come in, in a sentence: bounded and escaped.
    pub fn hear_joining(
        &mut self,
        bytes: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Option<usize>, String> {
        match self.0.hear_joining(bytes, out) {
            Opened::Ready { used } => Ok(Some(used)),
            Opened::Awaits { .. } => Ok(None),
            Opened::Broken(fault) => Err(fault.example),
        }
    }

    /// What goes over its connection when it says this message, of 1 to 65,535 bytes.
    pub fn framed(&mut self, message: &[u8]) -> Vec<u8> {
        self.0.framed(message)
    }

    /// Takes bytes once it is in its room, and hands on each message that is whole with them.
    /// Appends to `out` what it has to say by itself, as that it has a message.
    ///
    /// # Errors
    /// Why the connection is of no more use, in a sentence: bounded and escaped.
    pub fn hear(
        &mut self,
        bytes: &[u8],
        out: &mut Vec<u8>,
        mut heard: impl FnMut(&[u8]),
    ) -> Result<(), String> {
        self.0.hear(bytes, out, &mut heard)
    }
}

/// A member's side of a connection, whichever its wire.
trait Side: Debug {
    fn first_words(&self) -> Vec<u8>;
    fn hear_joining(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Opened;
    fn framed(&mut self, message: &[u8]) -> Vec<u8>;
    fn hear(
        &mut self,
        bytes: &[u8],
        out: &mut Vec<u8>,
        heard: &mut dyn FnMut(&[u8]),
    ) -> Result<(), String>;
}

/// Somebody with a seat on a wire.
#[derive(Debug)]
struct Seated<W: Pushing> {
    wire: W,
    seat: Seat,
    on: W::Connection,
    /// The number of its next message, which begins anew where a wire has no more.
    next: u32,
}

fn seated<W>(wire: W, seat: Seat) -> Box<dyn Side + Send>
where
    W: Pushing<Connection: Debug + Send> + Debug + 'static,
{
    Box::new(Seated { wire, seat, on: W::Connection::default(), next: 0 })
}

impl<W: Pushing<Connection: Debug> + Debug> Side for Seated<W> {
    fn first_words(&self) -> Vec<u8> {
        let mut words = Vec::new();
        self.wire.join(self.seat, &mut words);
        words
    }

    fn hear_joining(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Opened {
        self.wire.hear_joining(&mut self.on, self.seat, bytes, out)
    }

    fn framed(&mut self, message: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        let number = (self.next % NUMBERS) as u16;
        self.next = self.next.wrapping_add(1);
        self.wire.say(self.seat.room, number, message.len(), &mut bytes).copy_from_slice(message);
        bytes
    }

    fn hear(
        &mut self,
        bytes: &[u8],
        out: &mut Vec<u8>,
        heard: &mut dyn FnMut(&[u8]),
    ) -> Result<(), String> {
        let mut messages = |pushed: Pushed<'_>| {
            if let Pushed::Message(message) = pushed {
                heard(message);
            }
        };
        let taken = self.wire.hear(&mut self.on, bytes, out, &mut messages);
        taken.map_err(|fault| fault.example)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::rooms::Qos;

    #[test]
    fn what_a_member_says_is_what_another_hears_byte_by_byte() {
        let mut member = Member::new(Wire::Frames, 1, 0, 7);
        let own = member.first_words();
        let mut words = Vec::new();
        let (last, before) = own.split_last().unwrap();
        assert_eq!(member.hear_joining(before, &mut words), Ok(None));
        assert_eq!(member.hear_joining(&[*last], &mut words), Ok(Some(1)));
        let mut heard = Vec::new();
        for byte in member.framed(b"Mx") {
            member.hear(&[byte], &mut words, |it| heard.push(it.to_vec())).unwrap();
        }
        assert_eq!((heard, words), (vec![b"Mx".to_vec()], vec![]));
        let why = member.hear(&[0, 0], &mut Vec::new(), |_| {}).unwrap_err();
        assert!(why.starts_with("a frame of no bytes"), "{why}");
    }

    /// Else a broker would take a second message for the first one, said again.
    #[test]
    fn each_message_that_is_confirmed_has_a_number_of_its_own_and_what_is_heard_is_confirmed() {
        let qos = Qos::AtLeastOnce;
        let mut member = Member::new(Wire::Mqtt { qos }, 1, 0, 7);
        let [first, second] = [(); 2].map(|()| member.framed(b"x"));
        assert_eq!(first.len(), second.len());
        assert_ne!(first, second);
        let (mut words, mut heard) = (Vec::new(), 0);
        member.hear(b"\x32\x06\x00\x01t\x01\x02h", &mut words, |_| heard += 1).unwrap();
        assert_eq!((heard, &words[..]), (1, &b"\x40\x02\x01\x02"[..]));
    }

    #[test]
    fn who_isnt_let_in_is_told_why() {
        let mut member = Member::new(Wire::Resp, 1, 0, 7);
        let refused = member.hear_joining(b"-NOAUTH HELLO must be called\r\n", &mut Vec::new());
        let why = refused.unwrap_err();
        assert!(why.contains("it wants a password"), "{why}");
    }
}
