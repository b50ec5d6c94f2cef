//! Ctrl-C.
//!
//! signal-hook, and not the simpler ctrlc, because it can give a signal its
//! default effect back: the first ends the run, which then prints what it has;
//! the second kills.

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use load::Stop;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::{flag, low_level};

/// Lets SIGINT and SIGTERM stop the run.
///
/// # Errors
/// The kernel's, which is not known to have any here.
pub fn stops(stop: &Stop) -> io::Result<()> {
    let came_before = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        // In this order: the first looks for an earlier signal of either kind, the
        // second remembers this one.
        flag::register_conditional_default(signal, came_before.clone())?;
        flag::register(signal, came_before.clone())?;
        let stop = stop.clone();
        // SAFETY: it does no more than store a flag, which a signal handler may.
        unsafe { low_level::register(signal, move || stop.now()) }?;
    }
    Ok(())
}
