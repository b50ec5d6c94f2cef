//! A run as people read it: [`terminal`](fn@terminal) for the one who waits
//! there, [`html`](fn@html) for everybody else.
//!
//! Knows `result` only. Both forms say the same things in the same order: the
//! finding, each load's figures, who is absent, what to know before using a
//! figure. What they share is in three files:
//!
//! - `summary`: the headline, names of loads, findings grouped;
//! - `latency`: percentiles over a row's trials;
//! - `units`: numbers as people read them.
//!
//! Much of a run comes from the servers under test, so nothing in it is trusted:
//! `text` makes what can't be seen visible, and the template escapes the rest.

mod html;
mod latency;
mod summary;
mod terminal;
pub mod text;
mod then_and_now;
pub mod units;

pub use html::html;
pub use summary::load_names;
pub use terminal::{Terminal, terminal};
