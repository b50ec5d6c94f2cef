//! Frames: an encoder of requests and an incremental decoder of answers, which takes any split
//! of the byte stream. What an answer is worth, the [work](crate::work) says. Servers that speak by
//! themselves are [`pushing`].

pub(crate) mod foreign;
pub mod http1;
pub(crate) mod pushing;
#[cfg(any(test, feature = "fuzzing"))]
pub mod splits;
pub mod store;

use crate::outcome::fault::Fault;
use crate::outcome::{AnswerKind, KeysSeen};
use crate::work::Asked;

/// Turns numbered requests into bytes, and bytes into answers. It knows no socket and no clock.
///
/// One instance serves a thread; what belongs to one connection is apart, in
/// [`Protocol::Connection`].
pub(crate) trait Protocol: Send + Sync {
    /// What is kept of a connection, above all of an answer that came only in part.
    type Connection: Default;

    /// Whether a connection may have something to say before its first request.
    const OPENS: bool = false;

    /// The same for the thread with this number.
    fn of_thread(&self, thread: usize) -> Self;

    /// A new connection has heard this: nothing, when it is just established. Appends to `room`
    /// what it has to say before its first request.
    fn open(&mut self, _on: &mut Self::Connection, _heard: &[u8], _room: &mut Vec<u8>) -> Opened {
        Opened::Ready { used: 0 }
    }

    /// The bytes of the request with this number, if they need no rendering.
    fn fixed(&self, number: u64) -> Option<&[u8]>;

    /// Appends the bytes of the request with this number to `room`.
    fn ask(&mut self, number: u64, room: &mut Vec<u8>);

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

    /// What an answer lacks that came in part, for people; `None` where nothing of it came.
    fn lacks(&self, connection: &Self::Connection) -> Option<String>;

    /// What is spoken, as [`foreign`] calls it.
    fn spoken(&self) -> &'static str;

    /// How many of these bytes are whole messages that the server may send though nobody asked
    /// for them.
    fn may_be_unasked(&mut self, _bytes: &[u8]) -> usize {
        0
    }

    /// Whether the server may speak before it is asked.
    fn may_speak_first(&self) -> bool {
        false
    }

    /// Whether these bytes, which nobody asked for, are how a server tells why it ends a
    /// connection. Then nobody takes them for an answer.
    fn is_last_word(&self, _bytes: &[u8]) -> bool {
        false
    }

    /// What these bytes, which nobody asked for, say where a server refuses a connection by them:
    /// in its words, with what can be done.
    fn refusal(&self, _bytes: &[u8]) -> Option<String> {
        None
    }

    /// Whether a server says by such an answer that it ends a connection on which it saw no
    /// request, as it does after a while.
    fn is_farewell(_kind: AnswerKind) -> bool {
        false
    }

    /// Why there is nothing behind an answer of this kind, for people; empty where its frame
    /// says where it ends.
    fn ends_with_its_head(&self, _number: u64, _kind: AnswerKind) -> &'static str {
        ""
    }

    /// The server ended its side while this answer was awaited.
    fn end(&mut self, connection: &mut Self::Connection, of: Asked) -> Fed;

    /// The classes of requests whose times are told apart, by name: see [`Work::classes`].
    fn classes(&self) -> Vec<String>;

    /// The class of the request with this number: see [`Work::class`].
    fn class(&self, number: u64) -> u16;

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
        /// What kind of answer it is.
        kind: AnswerKind,
        /// Why it doesn't count as good, if it doesn't.
        fault: Option<Box<Fault>>,
        /// Whether the connection may carry another request.
        reusable: bool,
    },
    /// These bytes are no answer; the connection is of no more use.
    Broken(Box<Fault>),
}

/// How far a new connection is.
#[derive(Debug, PartialEq)]
pub(crate) enum Opened {
    /// It is ready for requests.
    Ready {
        /// Bytes used of what it heard.
        used: usize,
    },
    /// It has to hear more. All bytes were used.
    Awaits {
        /// So many bytes are still to come, at least.
        missing: u64,
    },
    /// It will never be ready: that is why.
    Broken(Box<Fault>),
}
