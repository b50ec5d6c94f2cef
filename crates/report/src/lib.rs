//! A run as people read it: [`terminal`] for the one who waits at the
//! terminal.
//!
//! Knows `result` only. Both forms say the same things in the same order: the
//! finding, each load's figures, who is absent, what to know before using a
//! figure. What they share is in three files:
//!
//! - `summary`: the headline, a load's name, findings grouped;
//! - `latency`: percentiles over a row's trials;
//! - `units`: numbers as people read them.
//!
//! Much of a run comes from the servers under test, so nothing in it is trusted:
//! `text` makes what can't be seen visible, and the template escapes the rest.

mod latency;
mod summary;
mod terminal;
pub mod text;
pub mod units;

pub use terminal::{Terminal, terminal};
