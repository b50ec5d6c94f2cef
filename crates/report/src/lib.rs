//! A run as people read it: [`terminal_brief`](fn@terminal_brief) for the one who
//! waits there, [`terminal`](fn@terminal) for the one who wants all of it there, [`html`](fn@html) for everybody else, [`markdown`](fn@markdown) to be
//! pasted where people talk, [`csv`](fn@csv) for their own sums, [`export`](mod@export) for
//! trackers of benchmarks, [`badge`](fn@badge) for a page elsewhere. And two runs
//! beside each other, at the terminal: [`comparison`](fn@comparison); and there as well what
//! a store had of its acknowledged writes: [`durability`](fn@durability).
//!
//! Knows `result` only. All forms of a run but CSV say the same things in the same order:
//! the finding, each setting's figures, who is absent, what to know before using a
//! figure. What they share is in nine files:
//!
//! - `figures`: which figures a table has, and how a number of each is written;
//! - `names`: what settings are called;
//! - `lead`: the headline, the chart's comparison, the count of verdicts;
//! - `summary`: notes, sections, findings grouped;
//! - `survived`: what stores kept where they were cut off;
//! - `rate_by_loss`: what that costs them;
//! - `then_and_now`: published figures beside today's;
//! - `latency`: percentiles over a row's trials;
//! - `units`: numbers as people read them.
//!
//! Much of a run comes from the servers under test, so nothing in it is trusted:
//! `text` makes what can't be seen visible, and each form escapes the rest in its own way.

mod badge;
mod claims;
mod comparison;
mod csv;
mod durability;
pub mod export;
mod figures;
mod html;
mod latency;
mod lead;
mod markdown;
mod names;
mod rate_by_loss;
mod summary;
mod survived;
mod terminal;
pub mod text;
mod then_and_now;
pub mod units;

pub use badge::badge;
pub use comparison::comparison;
pub use csv::csv;
pub use durability::{durability, durability_cut};
pub use html::html;
pub use markdown::markdown;
pub use names::{setting_names, work_name};
pub use terminal::{Terminal, terminal, terminal_brief};
