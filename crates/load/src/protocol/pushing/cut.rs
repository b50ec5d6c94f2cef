//! Frames that the network cuts: what came of one is kept until its rest is there.

use std::ops::ControlFlow;

use crate::outcome::fault::Fault;
use crate::protocol::Opened;

/// A connection keeps room for frames that were cut up to this size, and no more: a server that
/// sends long ones would else take memory for each connection.
const KEPT: usize = 4096;

/// What is kept of a connection: the first bytes of a frame that was cut.
#[derive(Debug, Default)]
pub(crate) struct CutFrame(Vec<u8>);

/// The same of one whose server answers its first words in two steps.
#[derive(Debug, Default)]
pub(crate) struct BrokerConnection {
    pub(super) cut: CutFrame,
    /// Whether the first step is done.
    pub(super) is_greeted: bool,
}

/// How many bytes the frame has that begins so; `None` where that can't be told yet.
type FrameBytes = Result<Option<usize>, Box<Fault>>;
/// Whether the frame was the last one that is wanted.
type IsLast = Result<ControlFlow<()>, Box<Fault>>;

impl CutFrame {
    /// Hands on each frame that is whole with these bytes, up to one that is the last. Gives how
    /// many of these bytes were used until then; `None` where there was none, and all were used.
    ///
    /// # Errors
    /// What is wrong with a frame: the connection is of no more use.
    pub(super) fn each(
        &mut self,
        bytes: &[u8],
        frame_bytes: impl Fn(&[u8]) -> FrameBytes,
        take: impl FnMut(&[u8]) -> IsLast,
    ) -> Result<Option<usize>, Box<Fault>> {
        let kept = self.0.len();
        if kept == 0 {
            let (used, is_last) = whole(bytes, frame_bytes, take)?;
            if !is_last {
                self.0.extend_from_slice(&bytes[used..]);
            }
            return Ok(is_last.then_some(used));
        }
        self.0.extend_from_slice(bytes);
        let (used, is_last) = whole(&self.0, frame_bytes, take)?;
        self.0.drain(..if is_last { self.0.len() } else { used });
        if self.0.len() <= KEPT {
            self.0.shrink_to(KEPT);
        }
        // What was kept was no whole frame: the last one ends behind it.
        Ok(is_last.then(|| used - kept))
    }

    /// The same of a robot that comes into its room with the last frame.
    pub(super) fn opened(
        &mut self,
        bytes: &[u8],
        frame_bytes: impl Fn(&[u8]) -> FrameBytes,
        take: impl FnMut(&[u8]) -> IsLast,
    ) -> Opened {
        match self.each(bytes, frame_bytes, take) {
            Ok(Some(used)) => Opened::Ready { used },
            Ok(None) => Opened::Awaits { missing: 1 },
            Err(fault) => Opened::Broken(fault),
        }
    }

    /// Bytes that are kept.
    #[cfg(any(test, feature = "fuzzing"))]
    pub(super) fn kept(&self) -> usize {
        self.0.len()
    }
}

/// Hands on whole frames, up to the last; gives where they end, and whether it was there.
fn whole(
    bytes: &[u8],
    frame_bytes: impl Fn(&[u8]) -> FrameBytes,
    mut take: impl FnMut(&[u8]) -> IsLast,
) -> Result<(usize, bool), Box<Fault>> {
    let mut at = 0;
    while let Some(length) = frame_bytes(&bytes[at..])?
        && let Some(frame) = bytes[at..].get(..length)
    {
        at += length;
        if take(frame)?.is_break() {
            return Ok((at, true));
        }
    }
    Ok((at, false))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A frame is a byte that says how many follow.
    fn frame_bytes(begin: &[u8]) -> FrameBytes {
        Ok(begin.first().map(|length| 1 + usize::from(*length)))
    }

    #[test]
    fn the_bytes_behind_the_last_frame_that_is_wanted_arent_used() {
        let stream = [1, 7, 2, 8, 8, 1, 9];
        for cut in 0..5 {
            let mut on = CutFrame::default();
            let mut frames = 0;
            let mut second = |_: &[u8]| {
                frames += 1;
                Ok(if frames == 2 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
            };
            let first = on.opened(&stream[..cut], frame_bytes, &mut second);
            assert_eq!(first, Opened::Awaits { missing: 1 }, "cut at {cut}");
            let rest = on.opened(&stream[cut..], frame_bytes, &mut second);
            assert_eq!(rest, Opened::Ready { used: 5 - cut }, "cut at {cut}");
            assert_eq!(on.kept(), 0, "cut at {cut}: the next frame is somebody else's to take");
        }
    }

    #[test]
    fn a_long_frame_that_was_cut_leaves_no_memory_taken() {
        let mut on = CutFrame::default();
        let long = |begin: &[u8]| Ok((!begin.is_empty()).then_some(60_000));
        for piece in [7; 60_001].chunks(1_000) {
            on.each(piece, long, |_| Ok(ControlFlow::Continue(()))).unwrap();
        }
        assert_eq!(on.kept(), 1);
        assert!(on.0.capacity() <= KEPT, "{} bytes", on.0.capacity());
    }
}
