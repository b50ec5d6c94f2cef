//! Protocols whose server speaks by itself: what one says on a connection, others hear on theirs.
//!
//! Here nothing is asked and nothing answered. So nothing of [`Protocol`](super::Protocol) fits: no
//! connection is ever free, and there is nothing to ask again.

pub(crate) mod frames;

use crate::outcome::fault::Fault;
use crate::protocol::Opened;

/// Turns what robots say into bytes, and bytes into what they hear. It knows no socket, no clock,
/// and nothing of what a message holds.
pub(crate) trait Pushing: Send + Sync {
    /// What is kept of a connection, above all of what came in part.
    type Connection: Default;

    /// Appends the first words of a new connection whose robot wants to come into this room.
    fn join(&self, room: u32, out: &mut Vec<u8>);

    /// A connection whose robot isn't in its room yet has heard this.
    fn hear_joining(&self, on: &mut Self::Connection, room: u32, bytes: &[u8]) -> Opened;

    /// Appends a message of so many bytes to `out`, all of them zeros; gives where they lie, to be
    /// written over.
    fn say<'a>(&self, bytes: usize, out: &'a mut Vec<u8>) -> &'a mut [u8];

    /// How many bytes a message of so many has with what is around it.
    fn said_bytes(&self, bytes: usize) -> usize;

    /// Hands on each message that is whole with these bytes.
    ///
    /// # Errors
    /// Why these are none: the connection is of no more use.
    fn hear(
        &self,
        on: &mut Self::Connection,
        bytes: &[u8],
        heard: &mut impl FnMut(&[u8]),
    ) -> Result<(), Box<Fault>>;
}
