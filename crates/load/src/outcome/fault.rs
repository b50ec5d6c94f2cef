//! What is wrong with an answer or a connection, as people are shown it.

use crate::outcome::ErrorKind;

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
