//! Exit codes that commands have in common; docs/exit-codes.md has all.

/// Wrong arguments or files.
pub const BAD_INPUT: u8 = 2;
/// The machine failed, such as by a full disk.
pub const SYSTEM: u8 = 4;
/// Ended by SIGINT: 128 and the signal's number, as shells have it.
pub const INTERRUPTED: u8 = 130;

/// Where several apply: the first of these that is among them, as docs/exit-codes.md has it.
pub fn worst(codes: &[u8]) -> u8 {
    const ORDER: [u8; 5] = [INTERRUPTED, BAD_INPUT, SYSTEM, 1, 3];
    ORDER.into_iter().find(|code| codes.contains(code)).unwrap_or(0)
}
