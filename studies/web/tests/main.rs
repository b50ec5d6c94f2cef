//! The contenders of the web study where they are treated as its load never treats them,
//! and what their names promise.
//!
//! - [`hostile`]: what no client of the study sends;
//! - [`kept`]: connections that are to be kept, and are or aren't;
//! - [`open_files`]: hardly any files that may be open;
//! - [`transports`]: what they wait with for connections;
//! - [`server`]: the contenders, started and asked.

mod hostile;
mod kept;
mod open_files;
mod server;
mod transports;
