//! What is asked, and what an answer is worth. It knows no bytes of a frame, no socket and no
//! clock.
//!
//! - [`keys`]: operations on keys of a store, whose values have to be those that were written;
//! - `pages`: pages, whose statuses and bodies have to be those that are expected;
//! - `expected`: the text that a body must hold or be;
//! - `message`: what robots say to each other, which has to come as it was said.

pub(crate) mod expected;
pub mod keys;
pub(crate) mod message;
pub(crate) mod pages;

use crate::outcome::KeysSeen;
use crate::outcome::fault::Fault;

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

/// What numbered requests ask, and what their answers are worth. One instance serves a thread.
pub(crate) trait Work: Clone + Send + Sync {
    /// What is kept of an answer that came only in part.
    type Looked: Default;
    /// An answer, as its frames tell it.
    type Answer<'a>;

    /// The same for the thread with this number.
    fn of_thread(&self, thread: usize) -> Self;

    /// The classes of requests whose times are told apart, by name.
    fn classes(&self) -> Vec<String>;

    /// The class of a request, by its place among several and its number: its place in
    /// [`Work::classes`], or the number of these where it is of none.
    fn class(&self, of: (usize, u64)) -> u16;

    /// A piece of an answer goes by: to which request of several, and to which number.
    fn look(&mut self, _looked: &mut Self::Looked, _of: (usize, u64), _piece: &[u8]) {}

    /// What is wrong with the answer to a request, if anything is.
    fn worth(&mut self, of: Asked, answer: Self::Answer<'_>) -> Option<Box<Fault>>;

    /// What was read of keys so far, where that is asked for.
    fn keys_seen(&self) -> Option<KeysSeen> {
        None
    }
}
