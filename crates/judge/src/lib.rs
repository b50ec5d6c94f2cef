//! From evidence to what may be said of it: one check a file gives findings, outcomes follow
//! over the blocks, and two runs are compared. Nothing here reads a file or a clock.

pub mod checks;
pub mod compare;
pub mod core_speed;
mod figures;
pub mod outcomes;
pub mod rates;
#[cfg(any(test, feature = "samples"))]
pub mod samples;
pub mod statistics;
