//! Exit codes that commands have in common; docs/exit-codes.md has all.

/// Wrong arguments or files.
pub const BAD_INPUT: u8 = 2;
/// The machine failed, such as by a full disk.
pub const SYSTEM: u8 = 4;
/// Ended by SIGINT: 128 and the signal's number, as shells have it.
pub const INTERRUPTED: u8 = 130;
