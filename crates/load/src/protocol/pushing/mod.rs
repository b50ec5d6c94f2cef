//! Protocols whose server speaks by itself: what one says on a connection, others hear on theirs.
//!
//! Here nothing is asked and nothing answered. So nothing of [`Protocol`](super::Protocol) fits: no
//! connection is ever free, and there is nothing to ask again. The parts:
//!
//! - [`frames`], [`mqtt`], [`nats`], [`resp`]: the wires;
//! - [`cut`]: frames that the network cuts;
//! - [`names`]: what rooms are called at a broker;
//! - `splits`: what the fuzz target holds the wires to.

mod cut;
pub(crate) mod frames;
pub(crate) mod mqtt;
mod names;
pub(crate) mod nats;
pub(crate) mod resp;
#[cfg(any(test, feature = "fuzzing"))]
pub mod splits;

use std::time::Duration;

use crate::outcome::ErrorKind;
use crate::outcome::fault::{Fault, show};
use crate::protocol::{Opened, foreign};

/// A robot says so many messages before their numbers begin anew: MQTT has no more.
pub(crate) const NUMBERS: u32 = 65_535;
/// The most bytes of a frame that is taken. The longest message is half as long.
const FRAME_BYTES_MAX: usize = 128 << 10;

/// Turns what robots say into bytes, and bytes into what they hear. It knows no socket, no clock,
/// and nothing of what a message holds.
pub(crate) trait Pushing: Send + Sync {
    /// What is kept of a connection, above all of what came in part.
    type Connection: Default;

    /// Appends the first words of a new connection, whose robot wants to come into its room.
    fn join(&self, seat: Seat, out: &mut Vec<u8>);

    /// A connection whose robot isn't in its room yet has heard this. Appends to `out` what it has
    /// to say to that.
    fn hear_joining(
        &self,
        on: &mut Self::Connection,
        seat: Seat,
        bytes: &[u8],
        out: &mut Vec<u8>,
    ) -> Opened;

    /// Appends a message of so many bytes to `out`, all of them zeros; gives where they lie, to be
    /// written over. It is said in this room, and is its robot's message with this number, below
    /// [`NUMBERS`].
    fn say<'a>(&self, room: u32, number: u16, bytes: usize, out: &'a mut Vec<u8>) -> &'a mut [u8];

    /// How many bytes a message of so many has with what is around it, in whichever room.
    fn said_bytes(&self, bytes: usize) -> usize;

    /// Hands on what is whole with these bytes. Appends to `out` what the connection has to say by
    /// itself.
    ///
    /// # Errors
    /// Why it is of no more use: the server's words that end it, or bytes that mean nothing.
    fn hear(
        &self,
        on: &mut Self::Connection,
        bytes: &[u8],
        out: &mut Vec<u8>,
        heard: &mut impl FnMut(Pushed<'_>),
    ) -> Result<(), Box<Fault>>;

    /// Whether the server confirms each message to its sender.
    fn confirms(&self) -> bool {
        false
    }

    /// What a robot says that has said nothing for a while, where a server ends such connections.
    fn ping(&self) -> Option<QuietPing> {
        None
    }
}

/// Whose connection it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Seat {
    /// The robot's number in the run.
    pub robot: u32,
    /// The number of its room.
    pub room: u32,
}

/// What a server pushes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pushed<'a> {
    /// What somebody said.
    Message(&'a [u8]),
    /// It has the robot's message of this number; where it tells none, the oldest that it hasn't
    /// confirmed.
    Confirmed(Option<u16>),
}

/// What keeps a quiet connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct QuietPing {
    /// It is said so long after the last word.
    pub after: Duration,
    /// How it goes.
    pub words: &'static [u8],
}

/// Bytes that aren't what is spoken: what they are instead, and how they look.
fn malformed(spoken: &str, bytes: &[u8], what: &str) -> Box<Fault> {
    not_spoken(spoken, bytes, format!("{what}: \"{}\"", show(bytes)))
}

/// The same with a sentence that shows how they look.
fn not_spoken(spoken: &str, bytes: &[u8], sentence: String) -> Box<Fault> {
    let example = foreign::named(spoken, bytes, sentence);
    Box::new(Fault { kind: ErrorKind::Malformed, example })
}

/// The server's own word that it won't, in a sentence.
fn refused(example: String) -> Box<Fault> {
    Box::new(Fault { kind: ErrorKind::ServerError, example })
}
