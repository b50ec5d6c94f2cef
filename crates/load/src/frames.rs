//! Frames of rooms, for who speaks with a gateway beside the load: what is right there is right
//! under load, because both are written and read alike.

use crate::protocol::pushing::Pushing;
use crate::protocol::pushing::frames::{CutFrame, FramesWire, LENGTH};

/// What the frame holds that joins a room. It has to come back as it is.
pub fn joining(room: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    FramesWire.join(room, &mut bytes);
    bytes.split_off(LENGTH)
}

/// The frame of a message of 1 to 65,535 bytes.
pub fn framed(message: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    FramesWire.say(message.len(), &mut bytes).copy_from_slice(message);
    bytes
}

/// Reads one frame after the other from the bytes of a connection.
#[derive(Debug, Default)]
pub struct FrameReader(CutFrame);

impl FrameReader {
    /// Takes bytes, and hands on what each frame holds that is whole with them.
    ///
    /// # Errors
    /// Why these are none, for people: bounded and escaped. The connection is of no more use then.
    pub fn take(&mut self, bytes: &[u8], mut heard: impl FnMut(&[u8])) -> Result<(), String> {
        FramesWire.hear(&mut self.0, bytes, &mut heard).map_err(|fault| fault.example)
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
