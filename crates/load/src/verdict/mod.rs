//! What is made of an outcome.
//!
//! - [`condition`]: `p99 < 10ms` and the like, cut into parts by [`comparison`], about a
//!   [`metric`];
//! - [`limit`]: what to know before using the figures;
//! - [`search`]: the highest rate at which a condition holds.

pub mod comparison;
pub mod condition;
pub mod limit;
pub mod metric;
pub mod search;
