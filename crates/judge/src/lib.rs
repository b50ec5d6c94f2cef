//! From evidence to what may be said of it. Nothing here reads a file or a clock.
//!
//! - [`checks`]: one file a check, from evidence to findings;
//! - [`rates`]: the rates of paces, from the free pace of the same run;
//! - `figures`: what a trial gives for each figure;
//! - [`statistics`]: over blocks: medians, ratios and intervals;
//! - [`core_speed`]: how fast the cores were;
//! - [`outcomes`]: what follows: ranks with ties, curves, and what became of claims;
//! - [`conditions`]: whether a figure is more than another, decided as ranks are;
//! - [`compare`]: what changed between two runs;
//! - `samples`: runs made up for tests.

pub mod checks;
pub mod compare;
pub mod conditions;
pub mod core_speed;
mod figures;
pub mod outcomes;
pub mod rates;
#[cfg(any(test, feature = "samples"))]
pub mod samples;
pub mod statistics;
