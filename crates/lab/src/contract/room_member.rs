//! A member of a room, for single messages: what a gateway does with them is said beside the load.
//!
//! It speaks as robots do, whatever the wire. All that a gateway says is hostile: it is read as the
//! load reads it, and each wait ends in time.

use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use load::Stop;
use load::member::Member;

use super::in_time::{InTime, Missed};

/// What is shown of a message that wasn't expected.
const SHOWN_MAX: usize = 40;

/// Why a gateway doesn't do what it has to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RoomWrong {
    /// There is no connection.
    NoConnection(String),
    /// It ended.
    Ended(String),
    /// Nothing came in this time, though something was due, or nothing more was taken.
    TooLate(Duration),
    /// Something else came.
    Message(String),
}

impl fmt::Display for RoomWrong {
    fn fmt(&self, to: &mut fmt::Formatter) -> fmt::Result {
        match self {
            RoomWrong::NoConnection(why) => write!(to, "no connection: {why}"),
            RoomWrong::Ended(why) => write!(to, "the connection ended: {why}"),
            RoomWrong::TooLate(within) => {
                write!(to, "nothing came within {} s", within.as_secs_f64())
            }
            RoomWrong::Message(what) => what.fmt(to),
        }
    }
}

/// A connection with a gateway.
#[derive(Debug)]
pub struct RoomMember {
    stream: InTime,
    within: Duration,
    /// What it says and hears.
    side: Member,
    heard: VecDeque<Vec<u8>>,
    /// What its wire has it say by itself, such as confirmations, and wasn't sent yet.
    own_words: Vec<u8>,
    /// Whether a message of its own is half sent. Other words would be taken for its rest.
    is_within_message: bool,
}

impl RoomMember {
    /// Connects, and joins no room yet. Each wait has to end within this time.
    ///
    /// # Errors
    /// [`RoomWrong::NoConnection`].
    pub fn connect(
        address: SocketAddr,
        within: Duration,
        stop: &Stop,
        side: Member,
    ) -> Result<RoomMember, RoomWrong> {
        let stream = InTime::connect(address, within, stop)
            .map_err(|missed| RoomWrong::NoConnection(io::Error::from(missed).to_string()))?;
        let (heard, own_words, is_within_message) = (VecDeque::new(), Vec::new(), false);
        Ok(RoomMember { stream, within, side, heard, own_words, is_within_message })
    }

    /// Joins its room, and awaits that it is in.
    ///
    /// # Errors
    /// [`RoomWrong`], if the gateway didn't let it in.
    pub fn join(&mut self) -> Result<(), RoomWrong> {
        let mut room = [0; 16 << 10];
        self.own_words = self.side.first_words();
        self.stream.begin_anew();
        loop {
            self.send_own_words()?;
            let count = self.receive(&mut room)?;
            let joined = self.side.hear_joining(&room[..count], &mut self.own_words);
            if let Some(used) = joined.map_err(RoomWrong::Message)? {
                return self.take(&room[used..count]);
            }
        }
    }

    /// What goes over its connection when it says this message.
    pub fn framed(&mut self, message: &[u8]) -> Vec<u8> {
        self.side.framed(message)
    }

    /// Says a message.
    ///
    /// # Errors
    /// [`RoomWrong`], if the gateway didn't take it.
    pub fn say(&mut self, message: &[u8]) -> Result<(), RoomWrong> {
        let bytes = self.framed(message);
        self.send(&bytes)
    }

    /// Sends bytes as they are, which end with a message.
    ///
    /// # Errors
    /// [`RoomWrong`], if the gateway didn't take them.
    pub fn send(&mut self, bytes: &[u8]) -> Result<(), RoomWrong> {
        self.send_part(bytes)?;
        self.is_within_message = false;
        self.send_own_words()
    }

    /// Sends bytes as they are, which end within a message.
    ///
    /// # Errors
    /// [`RoomWrong`], if the gateway didn't take them.
    pub fn send_part(&mut self, bytes: &[u8]) -> Result<(), RoomWrong> {
        self.is_within_message = true;
        self.stream.begin_anew();
        let sent = self.stream.send(bytes);
        sent.map_err(|missed| self.missed(missed))
    }

    /// The next message.
    ///
    /// # Errors
    /// [`RoomWrong`], if none came.
    pub fn hear(&mut self) -> Result<Vec<u8>, RoomWrong> {
        self.stream.begin_anew();
        self.next()
    }

    /// Awaits this message, and takes no other for it.
    ///
    /// # Errors
    /// [`RoomWrong`], if it didn't come, or another did.
    pub fn has_to_hear(&mut self, message: &[u8]) -> Result<(), RoomWrong> {
        let heard = self.hear()?;
        if heard == message {
            return Ok(());
        }
        let what = format!(
            "{} bytes came, {}, in place of {}, {}",
            heard.len(),
            shown(&heard),
            message.len(),
            shown(message)
        );
        Err(RoomWrong::Message(what))
    }

    /// Listens for so long, in which nothing may come. A connection that ends is quiet.
    ///
    /// # Errors
    /// [`RoomWrong::Message`], if something came.
    pub fn hears_nothing_for(&mut self, time: Duration) -> Result<(), RoomWrong> {
        self.stream.begin_for(time);
        match self.next() {
            Ok(heard) => {
                let what = format!("a message came that is another's: {}", shown(&heard));
                Err(RoomWrong::Message(what))
            }
            Err(wrong @ RoomWrong::Message(_)) => Err(wrong),
            Err(RoomWrong::TooLate(_) | RoomWrong::Ended(_) | RoomWrong::NoConnection(_)) => Ok(()),
        }
    }

    /// Whether its connection was ended by now, or is within this time. What came before is of no
    /// interest.
    pub fn is_cut_within(&mut self, time: Duration) -> bool {
        let mut room = [0; 16 << 10];
        self.stream.begin_for(time);
        loop {
            match self.stream.receive(&mut room) {
                Ok(0) | Err(Missed::Failed(_)) => return true,
                Ok(_) => {}
                Err(Missed::Stopped | Missed::TooLate(_)) => return false,
            }
        }
    }

    /// Whether its connection breaks within this time, in which it reads nothing.
    pub fn breaks_within(&mut self, time: Duration) -> bool {
        self.stream.begin_for(time);
        self.stream.breaks()
    }

    /// Says a message again and again, and hears none, until the gateway takes no more for a
    /// moment, or has taken so many bytes; how many it took.
    pub fn say_until_it_stops(&mut self, message: &[u8], bytes_max: usize) -> usize {
        const MOMENT: Duration = Duration::from_millis(300);
        let mut taken = 0;
        while taken < bytes_max {
            let bytes = self.framed(message);
            self.stream.begin_for(MOMENT);
            if self.stream.send(&bytes).is_err() {
                break;
            }
            taken += bytes.len();
        }
        taken
    }

    /// Ends its connection as one that broke.
    ///
    /// # Errors
    /// The kernel's.
    pub fn reset(self) -> Result<(), RoomWrong> {
        self.stream.reset().map_err(|error| RoomWrong::NoConnection(error.to_string()))
    }

    fn next(&mut self) -> Result<Vec<u8>, RoomWrong> {
        let mut room = [0; 16 << 10];
        loop {
            if let Some(message) = self.heard.pop_front() {
                return Ok(message);
            }
            let count = self.receive(&mut room)?;
            self.take(&room[..count])?;
        }
    }

    /// Some bytes of the gateway's.
    fn receive(&mut self, room: &mut [u8]) -> Result<usize, RoomWrong> {
        match self.stream.receive(room) {
            Ok(0) => Err(RoomWrong::Ended("the gateway closed it".into())),
            Ok(count) => Ok(count),
            Err(missed) => Err(self.missed(missed)),
        }
    }

    /// Keeps the messages that are whole with these bytes, and says what it has to say to them.
    fn take(&mut self, bytes: &[u8]) -> Result<(), RoomWrong> {
        let heard = &mut self.heard;
        let taken =
            self.side.hear(bytes, &mut self.own_words, |message| heard.push_back(message.into()));
        taken.map_err(RoomWrong::Message)?;
        self.send_own_words()
    }

    /// Sends what it says by itself, unless that has to wait for the end of a message.
    fn send_own_words(&mut self) -> Result<(), RoomWrong> {
        if self.is_within_message {
            return Ok(());
        }
        let sent = self.stream.send(&self.own_words);
        self.own_words.clear();
        sent.map_err(|missed| self.missed(missed))
    }

    fn missed(&self, missed: Missed) -> RoomWrong {
        match missed {
            Missed::Stopped | Missed::TooLate(_) => RoomWrong::TooLate(self.within),
            Missed::Failed(error) => RoomWrong::Ended(error.to_string()),
        }
    }
}

fn shown(message: &[u8]) -> String {
    format!("\"{}\"", message[..message.len().min(SHOWN_MAX)].escape_ascii())
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;

    use load::plan::rooms::{Qos, Wire};

    use super::*;

    /// Else a broker would take the confirmation for a part of the message, and find fault with both.
    #[test]
    fn a_member_confirms_what_it_hears_once_its_own_message_is_whole() {
        const CONFIRMED: &[u8] = b"\x40\x02\x01\x02";
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let broker = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            for answer in [&b"\x20\x02\x00\x00"[..], b"\x90\x03\x00\x01\x01"] {
                assert!(stream.read(&mut [0; 100]).unwrap() > 0);
                stream.write_all(answer).unwrap();
            }
            stream.read_exact(&mut [0; 5]).unwrap();
            stream.write_all(b"\x32\x06\x00\x01t\x01\x02h").unwrap();
            let mut rest = Vec::new();
            stream.read_to_end(&mut rest).unwrap();
            rest
        });
        let wire = Wire::Mqtt { qos: Qos::AtLeastOnce };
        let (within, stop) = (Duration::from_secs(10), Stop::default());
        let side = Member::new(wire, 1, 2, 3);
        let mut member = RoomMember::connect(address, within, &stop, side).unwrap();
        member.join().unwrap();
        let message = member.framed(b"Message");
        let (part, rest) = message.split_at(5);
        member.send_part(part).unwrap();
        member.has_to_hear(b"h").unwrap();
        member.send(rest).unwrap();
        drop(member);
        assert_eq!(broker.join().unwrap(), [rest, CONFIRMED].concat());
    }
}
