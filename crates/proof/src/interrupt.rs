//! Ctrl-C and its like, as something to ask for.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

/// Whether the user wants an end. Everything that waits asks now and then, so
/// that servers are stopped and folders removed on the way out.
#[derive(Debug, Clone, Default)]
pub struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Takes the signals over from their default, which is to die at once.
    pub fn listen() -> Result<Interrupt, String> {
        let interrupt = Interrupt::default();
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            signal_hook::flag::register(signal, interrupt.0.clone())
                .map_err(|error| format!("couldn't listen for signal {signal}: {error}"))?;
        }
        Ok(interrupt)
    }

    /// An error once the user wants an end.
    pub fn check(&self) -> Result<(), String> {
        if self.0.load(Ordering::Relaxed) { Err("interrupted".into()) } else { Ok(()) }
    }
}
