//! What went wrong, as a sentence for people.

use std::fmt;

/// What went wrong, for people: it is told to clients, or ends the program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error(String);

pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    pub fn new(what: impl Into<String>) -> Error {
        Error(what.into())
    }

    /// For `map_err`: what was being done when it went wrong.
    pub fn when<E: fmt::Display>(doing: impl fmt::Display) -> impl FnOnce(E) -> Error {
        move |why| Error(format!("{doing}: {why}"))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, to: &mut fmt::Formatter) -> fmt::Result {
        self.0.fmt(to)
    }
}
