//! A run as people read it: [`terminal_brief`](fn@terminal_brief) for the one who
//! waits there, [`terminal`](fn@terminal) for the one who wants all of it there, [`html`](fn@html) for everybody else, [`markdown`](fn@markdown) to be
//! pasted where people talk, [`csv`](fn@csv) for their own sums, [`export`](mod@export) for
//! trackers of benchmarks, [`badge`](fn@badge) for a page elsewhere. And two runs
//! beside each other, at the terminal: [`comparison`](fn@comparison); and there as well what
//! a store had of its acknowledged writes: [`durability`](fn@durability).
//!
//! Knows `result` only. All forms of a run but CSV say the same things in the same order:
//! the finding, each setting's figures, who is absent, what to know before using a
//! figure. What they share:
//!
//! - `lead` and `headline`: which comparison leads, and the finding in one sentence;
//! - `notes` and `caveats`: what to know of the run, and what stands beside its tables;
//! - `names` and `contenders`: what settings and contenders are called;
//! - `sections`, `standing`, `figures`: the order of tables, ranks and shares in them, and which
//!   figures they have;
//! - `findings`, `missing`, `repeated`: what is against figures, who has none, what was made again;
//! - `claims`, `survived`, `rate_by_loss`, `scripts`, `then_and_now`: what was claimed, what stores
//!   kept where they were cut off, what that costs, what gateways did with robots that aren't usual,
//!   published figures beside today's;
//! - `client_hosts`: the hosts that load came from;
//! - `latency`, `curve`, `trials`: percentiles, maxima and counts over trials;
//! - `units`, `words`, `list`, `distinct`: numbers, sentences, lists, and names that stay apart.
//!
//! Much of a run comes from the servers under test, so nothing in it is trusted:
//! `text` makes what can't be seen visible, and each form escapes the rest in its own way.

mod badge;
mod caveats;
mod claims;
mod client_hosts;
mod comparison;
mod contenders;
mod csv;
mod curve;
mod distinct;
mod durability;
pub mod export;
mod figures;
mod findings;
mod headline;
mod html;
mod latency;
mod lead;
mod list;
mod markdown;
mod missing;
mod names;
mod notes;
mod rate_by_loss;
mod repeated;
mod scripts;
mod sections;
mod standing;
mod survived;
mod terminal;
pub mod text;
mod then_and_now;
mod trials;
pub mod units;
mod words;

pub use badge::badge;
pub use comparison::comparison;
pub use csv::csv;
pub use durability::{durability, durability_cut};
pub use html::html;
pub use markdown::markdown;
pub use names::{setting_names, work_name};
pub use terminal::{Terminal, terminal, terminal_brief};
