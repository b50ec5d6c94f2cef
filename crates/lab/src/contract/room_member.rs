//! A member of a room, for single messages: what a gateway does with them is said beside the load.
//!
//! All that a gateway says is hostile: it is read as the load reads it, and each wait ends in time.

use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use load::Stop;
use load::frames::{FrameReader, framed, joining};

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
    reader: FrameReader,
    heard: VecDeque<Vec<u8>>,
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
    ) -> Result<RoomMember, RoomWrong> {
        let stream = InTime::connect(address, within, stop)
            .map_err(|missed| RoomWrong::NoConnection(io::Error::from(missed).to_string()))?;
        Ok(RoomMember { stream, within, reader: FrameReader::default(), heard: VecDeque::new() })
    }

    /// Joins a room, and awaits that it is in.
    ///
    /// # Errors
    /// [`RoomWrong`], if its own words didn't come back.
    pub fn join(&mut self, room: u32) -> Result<(), RoomWrong> {
        let own = joining(room);
        self.say(&own)?;
        let heard = self.hear()?;
        if heard == own {
            return Ok(());
        }
        let what = format!("its own first words don't come back, but {}", shown(&heard));
        Err(RoomWrong::Message(what))
    }

    /// Says a message.
    ///
    /// # Errors
    /// [`RoomWrong`], if the gateway didn't take it.
    pub fn say(&mut self, message: &[u8]) -> Result<(), RoomWrong> {
        self.send(&framed(message))
    }

    /// Sends bytes as they are, of which a frame may be a part.
    ///
    /// # Errors
    /// [`RoomWrong`], if the gateway didn't take them.
    pub fn send(&mut self, bytes: &[u8]) -> Result<(), RoomWrong> {
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

    /// Says a message again and again, and hears none, until the gateway takes no more for a
    /// moment, or has taken so many bytes; how many it took.
    pub fn say_until_it_stops(&mut self, message: &[u8], bytes_max: usize) -> usize {
        const MOMENT: Duration = Duration::from_millis(300);
        let frame = framed(message);
        let mut taken = 0;
        while taken < bytes_max {
            self.stream.begin_for(MOMENT);
            if self.stream.send(&frame).is_err() {
                break;
            }
            taken += frame.len();
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
            let count = self.stream.receive(&mut room);
            let count = count.map_err(|missed| self.missed(missed))?;
            if count == 0 {
                return Err(RoomWrong::Ended("the gateway closed it".into()));
            }
            let heard = &mut self.heard;
            let taken = self.reader.take(&room[..count], |message| heard.push_back(message.into()));
            taken.map_err(RoomWrong::Message)?;
        }
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
