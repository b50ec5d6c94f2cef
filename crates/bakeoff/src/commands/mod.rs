//! One file a subcommand.

pub mod load;
