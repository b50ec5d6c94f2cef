//! Frames of rooms, for who speaks with a gateway beside the load: what is right there is right
//! under load, because both are written and read alike.

use crate::protocol::pushing::frames::{FramesWire, LENGTH};
use crate::protocol::pushing::{Pushed, Pushing, Seat};

/// What the frame holds that joins a room. It has to come back as it is.
pub fn joining(room: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    FramesWire.join(Seat { robot: 0, room }, &mut bytes);
    bytes.split_off(LENGTH)
}

/// The frame of a message of 1 to 65,535 bytes.
pub fn framed(message: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    // Neither its room nor its number is in a frame.
    FramesWire.say(0, 0, message.len(), &mut bytes).copy_from_slice(message);
    bytes
}

/// Reads one frame after the other from the bytes of a connection.
#[derive(Debug, Default)]
pub struct FrameReader(<FramesWire as Pushing>::Connection);

impl FrameReader {
    /// Takes bytes, and hands on what each frame holds that is whole with them.
    ///
    /// # Errors
    /// Why these are none, for people: bounded and escaped. The connection is of no more use then.
    pub fn take(&mut self, bytes: &[u8], mut heard: impl FnMut(&[u8])) -> Result<(), String> {
        let mut messages = |pushed: Pushed<'_>| {
            if let Pushed::Message(message) = pushed {
                heard(message);
            }
        };
        // Nobody answers a frame by itself.
        let mut words = Vec::new();
        FramesWire
            .hear(&mut self.0, bytes, &mut words, &mut messages)
            .map_err(|fault| fault.example)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_framed_is_read_and_what_is_none_is_told() {
        let stream = [framed(&joining(7)), framed(b"Mx")].concat();
        let (mut reader, mut heard) = (FrameReader::default(), Vec::new());
        for byte in &stream {
            reader.take(&[*byte], |it| heard.push(it.to_vec())).unwrap();
        }
        assert_eq!(heard, [&b"J\0\0\0\x07"[..], b"Mx"]);
        let why = reader.take(&[0, 0], |_| {}).unwrap_err();
        assert!(why.starts_with("a frame of no bytes"), "{why}");
    }
}
