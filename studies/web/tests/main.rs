//! The contenders of the web study where they are treated as its load never treats them.
//!
//! - [`hostile`]: what no client of the study sends;
//! - [`open_files`]: hardly any files that may be open;
//! - [`server`]: a contender that a test starts.

mod hostile;
mod open_files;
mod server;
#[path = "../../../crates/bakeoff/tests/fixture/skipped.rs"]
mod skipped;
