//! Before whom client and server run.
//!
//! A neighbour that keeps the client's core for a few milliseconds shifts what
//! the client says and not what the server recorded: it would look like an error
//! of the generator. So both run in a real-time class, where the right to is
//! given (to root, as a rule). Niceness isn't enough: the kernel lets a process
//! finish its slice. Neither client nor server is ever busy for long here, so
//! nobody starves.

use std::io;

/// Puts this process, and all that it starts, before those of the usual class.
pub fn before_all_others() -> io::Result<()> {
    let lowest = libc::sched_param { sched_priority: 1 };
    // SAFETY: the call reads the structure, which lives until it returns.
    match unsafe { libc::sched_setscheduler(0, libc::SCHED_RR, &raw const lowest) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
