//! Frames: a length of two bytes, big-endian, and as many bytes, from 1 to 65,535 (Erlang's
//! `{packet, 2}`).
//!
//! `J` and a room's number, of four bytes and big-endian, joins that room, and comes back as it is.
//! Any other frame goes as it is to all members of its sender's room.

use std::ops::ControlFlow;

use super::cut::CutFrame;
use super::{Pushed, Pushing, Seat, malformed};
use crate::outcome::fault::Fault;
use crate::protocol::Opened;
use crate::protocol::foreign::FRAMES;

/// Bytes of a length.
pub(crate) const LENGTH: usize = 2;
/// Bytes of the frame that joins a room, with its length.
const JOIN: usize = LENGTH + 5;

/// The wire whose frames are lengths and bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FramesWire;

/// How many bytes the frame has that begins so, its length among them; `None` where that hasn't
/// come whole.
///
/// # Errors
/// Where it would be empty, which no frame is.
fn frame_bytes(begin: &[u8]) -> Result<Option<usize>, Box<Fault>> {
    let Some(length) = begin.first_chunk::<LENGTH>() else { return Ok(None) };
    match u16::from_be_bytes(*length) {
        0 => Err(malformed(FRAMES, begin, "a frame of no bytes")),
        length => Ok(Some(LENGTH + usize::from(length))),
    }
}

/// The frame that joins a room.
fn joining(room: u32) -> [u8; JOIN] {
    let [a, b, c, d] = room.to_be_bytes();
    [0, (JOIN - LENGTH) as u8, b'J', a, b, c, d]
}

impl Pushing for FramesWire {
    type Connection = CutFrame;

    fn join(&self, seat: Seat, out: &mut Vec<u8>) {
        out.extend_from_slice(&joining(seat.room));
    }

    fn hear_joining(
        &self,
        on: &mut CutFrame,
        seat: Seat,
        bytes: &[u8],
        _out: &mut Vec<u8>,
    ) -> Opened {
        let own = joining(seat.room);
        let own_bytes = |begin: &[u8]| {
            if own.starts_with(&begin[..begin.len().min(JOIN)]) {
                Ok(Some(JOIN))
            } else {
                Err(malformed(FRAMES, begin, "its own first words don't come back, but"))
            }
        };
        on.opened(bytes, own_bytes, |_| Ok(ControlFlow::Break(())))
    }

    fn say<'a>(
        &self,
        _room: u32,
        _number: u16,
        bytes: usize,
        out: &'a mut Vec<u8>,
    ) -> &'a mut [u8] {
        let length = u16::try_from(bytes).expect("a plan has no longer messages");
        out.extend_from_slice(&length.to_be_bytes());
        let begin = out.len();
        out.resize(begin + bytes, 0);
        &mut out[begin..]
    }

    fn said_bytes(&self, bytes: usize) -> usize {
        LENGTH + bytes
    }

    fn hear(
        &self,
        on: &mut CutFrame,
        bytes: &[u8],
        _out: &mut Vec<u8>,
        heard: &mut impl FnMut(Pushed<'_>),
    ) -> Result<(), Box<Fault>> {
        let take = |frame: &[u8]| {
            heard(Pushed::Message(&frame[LENGTH..]));
            Ok(ControlFlow::Continue(()))
        };
        on.each(bytes, frame_bytes, take).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;
    use crate::outcome::ErrorKind;

    /// What is heard of a stream that comes in pieces which end at these places.
    fn heard(stream: &[u8], cuts: &[usize]) -> (Vec<Vec<u8>>, Option<ErrorKind>) {
        let (mut on, mut all, mut at) = (CutFrame::default(), Vec::new(), 0);
        for &end in cuts.iter().chain(&[stream.len()]) {
            let mut heard = |it: Pushed<'_>| match it {
                Pushed::Message(message) => all.push(message.to_vec()),
                other => panic!("frames have no {other:?}"),
            };
            let piece = &stream[at..end];
            if let Err(fault) = FramesWire.hear(&mut on, piece, &mut Vec::new(), &mut heard) {
                return (all, Some(fault.kind));
            }
            assert!(on.kept() < LENGTH + 65_535, "more is kept than a frame lacks");
            at = end;
        }
        (all, None)
    }

    fn stream_of(frames: &[Vec<u8>]) -> Vec<u8> {
        let mut stream = Vec::new();
        for frame in frames {
            FramesWire.say(0, 0, frame.len(), &mut stream).copy_from_slice(frame);
        }
        stream
    }

    proptest! {
        /// Else a message is lost, or another's bytes are taken for it, where the network cuts it.
        #[test]
        fn the_same_is_heard_wherever_the_stream_is_cut(
            frames in vec(vec(any::<u8>(), 1..300), 0..6),
            mut cuts in vec(any::<prop::sample::Index>(), 0..9),
        ) {
            let stream = stream_of(&frames);
            let mut cuts: Vec<usize> =
                cuts.drain(..).map(|cut| cut.index(stream.len() + 1)).collect();
            cuts.sort_unstable();
            prop_assert_eq!(heard(&stream, &cuts), (frames, None));
        }

        #[test]
        fn whatever_a_server_sends_is_read_within_its_bounds(
            stream in vec(any::<u8>(), 0..400),
            cut in any::<prop::sample::Index>(),
        ) {
            let cut = cut.index(stream.len() + 1);
            prop_assert_eq!(heard(&stream, &[cut]), heard(&stream, &[]));
        }
    }

    #[test]
    fn frames_are_heard_cut_at_every_byte_and_byte_by_byte() {
        let frames = [vec![0], vec![0, 1, 0, 1], (0..=255).collect(), vec![b'J'; 5], vec![7; 300]];
        let stream = stream_of(&frames);
        for cut in 0..=stream.len() {
            assert_eq!(heard(&stream, &[cut]), (frames.to_vec(), None), "cut at {cut}");
        }
        let each: Vec<usize> = (0..=stream.len()).collect();
        assert_eq!(heard(&stream, &each), (frames.to_vec(), None));
        let longest = vec![vec![9; 65_535]];
        assert_eq!(heard(&stream_of(&longest), &[1, 2, 3, 40_000]), (longest, None));
    }

    #[test]
    fn an_empty_frame_is_none() {
        let stream = [&stream_of(&[vec![1]])[..], &[0, 0, 5]].concat();
        for cut in 0..=stream.len() {
            assert_eq!(
                heard(&stream, &[cut]),
                (vec![vec![1]], Some(ErrorKind::Malformed)),
                "{cut}"
            );
        }
    }

    const SEAT: Seat = Seat { robot: 9, room: 0x0102_0304 };

    fn hear_joining(on: &mut CutFrame, bytes: &[u8]) -> Opened {
        FramesWire.hear_joining(on, SEAT, bytes, &mut Vec::new())
    }

    #[test]
    fn a_robot_is_in_its_room_once_its_own_words_come_back() {
        let mut words = Vec::new();
        FramesWire.join(SEAT, &mut words);
        assert_eq!(words, [0, 5, b'J', 1, 2, 3, 4]);
        let more = [&words[..], &stream_of(&[vec![8]])].concat();
        for cut in 0..JOIN {
            let mut on = CutFrame::default();
            let first = hear_joining(&mut on, &more[..cut]);
            assert_eq!(first, Opened::Awaits { missing: 1 }, "cut at {cut}");
            let second = hear_joining(&mut on, &more[cut..]);
            assert_eq!(second, Opened::Ready { used: JOIN - cut }, "cut at {cut}");
            assert_eq!(on.kept(), 0, "of what is next nothing was heard yet");
        }
    }

    #[test]
    fn who_doesnt_send_first_words_back_is_told_by_what_came() {
        let told = |bytes: &[u8]| match hear_joining(&mut CutFrame::default(), bytes) {
            Opened::Broken(fault) => fault.example,
            other => panic!("{other:?}"),
        };
        let another_room = told(&[0, 5, b'J', 0, 0, 0, 8]);
        assert!(another_room.starts_with("its own first words don't come back"), "{another_room}");
        let http = told(b"HTTP/1.1 400 Bad Request\r\n");
        assert!(http.starts_with("the server speaks HTTP"), "{http}");
    }
}
