//! Processors that don't sleep while there is nothing to do.
//!
//! A processor of a virtual machine that sleeps is given to others by its host, and comes back late.
//! Nobody tells that from time that a contender took. A processor that waits for work in a loop isn't
//! given away. docs/decisions/processors-stay-awake.md has the figures.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};

use result::plan::Machine;

/// How late a processor may wake up is told to the kernel here (`PM QoS`, in
/// Documentation/power/pm_qos_interface.rst): a number of 32 bits, in microseconds, which counts for
/// as long as the file is open.
const LATENCY: &str = "/dev/cpu_dma_latency";

/// As long as it lives, processors stay awake.
#[derive(Debug)]
pub struct Awake {
    /// Closed, it would let them sleep.
    _asked: File,
}

impl Awake {
    /// Keeps all processors awake.
    ///
    /// # Errors
    /// Where the kernel has no such file, or this user may not write to it.
    pub fn keep() -> io::Result<Awake> {
        let mut asked = OpenOptions::new().write(true).open(LATENCY)?;
        asked.write_all(&0_i32.to_ne_bytes())?;
        Ok(Awake { _asked: asked })
    }

    /// Keeps those of a virtual machine awake, where it may. Others have nobody to be given to.
    pub fn where_virtual(machine: &Machine) -> Option<Awake> {
        (machine.virtual_machine == Some(true)).then(Awake::keep)?.ok()
    }
}
