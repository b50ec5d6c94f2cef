//! What the bytes mean: an encoder of requests and an incremental decoder of
//! answers, which takes any split of the byte stream.

pub mod http1;
#[cfg(any(test, feature = "fuzzing"))]
pub mod splits;
pub mod store;

use crate::outcome::{ErrorKind, KeysSeen};
use crate::work::keys::Operation;

/// A request under way, as far as its answer's worth depends on it.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Asked {
    /// Its number in the run.
    pub number: u64,
    /// When it was sent first, in ns of the run's clock.
    pub sent: u64,
    /// When these bytes were seen.
    pub at: u64,
}

#[cfg(any(test, feature = "fuzzing"))]
impl Asked {
    /// The request with this number, at no time.
    pub(crate) fn numbered(number: u64) -> Asked {
        Asked { number, ..Asked::default() }
    }
}

/// Turns numbered requests into bytes, and bytes into answers.
///
/// One instance serves a thread; what belongs to one connection is apart, in
/// [`Protocol::Connection`].
pub(crate) trait Protocol: Send + Sync {
    /// What is kept of a connection, above all of an answer that came only in part.
    type Connection: Default;

    /// Whether a connection may have words of its own to say before its first request, and
    /// await an answer to them.
    const OPENS: bool = false;

    /// The same for the thread with this number.
    fn of_thread(&self, thread: usize) -> Self;

    /// Appends a new connection's first words to `room`, if it has any. It carries requests
    /// once they are answered: see [`Protocol::feed_opening`]. Asked for only if it
    /// [`OPENS`](Protocol::OPENS).
    fn open(&mut self, _on: &mut Self::Connection, _room: &mut Vec<u8>) {}

    /// Takes bytes that answer a connection's first words.
    fn feed_opening(&mut self, _on: &mut Self::Connection, _bytes: &[u8]) -> Opening {
        Opening::Done { used: 0 }
    }

    /// The bytes of the request with this number, if they need no rendering.
    fn fixed_request(&self, number: u64) -> Option<&[u8]>;

    /// Appends the bytes of the request with this number to `room`.
    fn render_request(&mut self, number: u64, room: &mut Vec<u8>);

    /// Whether the request with this number may be asked again where nobody knows whether
    /// it was processed.
    fn is_repeatable(&self, number: u64) -> bool;

    /// The most bytes that a request renders to, or 0 if none needs rendering.
    fn rendered_bytes_max(&self) -> usize;

    /// The most bytes of any request, and of a connection's first words.
    fn request_bytes_max(&self) -> usize;

    /// Whether a part of the answer was taken before.
    fn is_under_way(connection: &Self::Connection) -> bool;

    /// Takes bytes that belong to the answer of a request.
    fn feed(&mut self, connection: &mut Self::Connection, bytes: &[u8], of: Asked) -> Fed;

    /// The server ended its side while this answer was awaited.
    fn end(&mut self, connection: &mut Self::Connection, of: Asked) -> Fed;

    /// The operation on keys that the request with this number is, if it is one.
    fn operation(&self, _number: u64) -> Option<Operation> {
        None
    }

    /// What was read of keys so far, where that is asked for.
    fn keys_seen(&self) -> Option<KeysSeen> {
        None
    }
}

/// What came of bytes.
#[derive(Debug, PartialEq)]
pub(crate) enum Fed {
    /// The answer isn't whole yet; all bytes were used.
    More {
        /// So many bytes are still to come, at least.
        missing: u64,
    },
    /// The answer is whole.
    Answer {
        /// Bytes used; those after them belong to the next answer.
        used: usize,
        /// Its status, below 1000; of a store the number of the operation.
        status: u16,
        /// Why it doesn't count as good, if it doesn't.
        fault: Option<Box<Fault>>,
        /// Whether the connection may carry another request.
        reusable: bool,
    },
    /// These bytes are no answer; the connection is of no more use.
    Broken(Box<Fault>),
}

/// What came of bytes while a connection's first words are to be answered.
#[derive(Debug, PartialEq)]
pub(crate) enum Opening {
    /// The answer isn't whole yet; all bytes were used.
    More {
        /// So many bytes are still to come, at least.
        missing: u64,
    },
    /// The connection is ready for requests.
    Done {
        /// Bytes used.
        used: usize,
    },
    /// It will never be: that is why.
    Broken(Box<Fault>),
}

/// What is wrong with an answer.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Fault {
    /// Its kind.
    pub kind: ErrorKind,
    /// What it looked like, for people: bounded and escaped.
    pub example: String,
}

/// Shows hostile bytes to people: escaped, and cut to a line.
pub(crate) fn show(bytes: &[u8]) -> String {
    show_up_to(120, bytes)
}

/// The same, cut to so many bytes.
pub(crate) fn show_up_to(most: usize, bytes: &[u8]) -> String {
    let mut text = bytes[..bytes.len().min(most)].escape_ascii().to_string();
    if bytes.len() > most {
        text.push('…');
    }
    text
}
