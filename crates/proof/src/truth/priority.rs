//! Before whom client and server run.
//!
//! A neighbour that keeps the client's core for a few milliseconds shifts what
//! the client says and not what the server recorded: it would look like an error
//! of the generator. So both run in a real-time class, where the right to is
//! given (to root, as a rule). Niceness isn't enough: the kernel lets a process
//! finish its slice. Neither client nor server is ever busy for long here, so
//! nobody starves.
//!
//! The client goes before the server, not the server behind everything else of ours:
//! a process that waits for the end of its child's threads spins in the kernel until they
//! are gone (Linux 6.18, `shrink_dcache_parent`), and where it goes before them, on
//! their processor, they never are.

use std::io;

/// Puts this process, and all that it starts, before those of the usual class.
pub fn before_all_others() -> io::Result<()> {
    real_time(1)
}

/// Starts something that goes before this process and what it started until now, if those
/// are before all others.
pub fn before_the_server<T>(start: impl FnOnce() -> T) -> T {
    let is_raised = real_time(2).is_ok();
    let started = start();
    if is_raised {
        // What was allowed before is allowed still.
        let _ = real_time(1);
    }
    started
}

/// The calling thread's class, and that of what it starts from now on.
fn real_time(sched_priority: i32) -> io::Result<()> {
    let parameters = libc::sched_param { sched_priority };
    // SAFETY: the call reads the structure, which lives until it returns.
    match unsafe { libc::sched_setscheduler(0, libc::SCHED_RR, &raw const parameters) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
