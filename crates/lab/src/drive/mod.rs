//! Puts work on a contender that runs, and says what it saw.

pub mod client;
pub(crate) mod generator;
