//! A small server in front of an engine that keeps keys and values: what the network costs and what
//! the engine costs can be told apart, since only the engine differs.
//!
//! ```text
//! store --engine NAME [--host H] [--port P] [--dir DIR] [--cores N] [flags of the engine]
//! ```

use std::fs::{self, File};
use std::io;
use std::net::SocketAddr;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::process::ExitCode;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::error::{Error, Result};
use crate::options::{Flags, Options};
use crate::server::Server;

mod batch;
mod engine;
mod error;
mod options;
mod protocol;
mod server;
mod value;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("store: {why}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<()> {
    let mut flags = Flags::read(std::env::args().skip(1))?;
    let options = Options::take(&mut flags)?;
    // Before any thread is there, so that none takes a signal in its own way.
    let mut signals = Signals::new([SIGINT, SIGTERM]).map_err(Error::when("signals"))?;
    let _lock = lock(&options.dir)?;
    let engine = engine::open(&options.engine, &options.dir, &mut flags)?;
    flags.end(&options.engine)?;
    let server = Server::listen(SocketAddr::new(options.host, options.port), options.cores)?;
    let stop = server.stop();
    std::thread::spawn(move || {
        if signals.forever().next().is_some() {
            stop.ask();
        }
    });
    let served = server.serve(&*engine, &options.engine);
    let closed = engine.close();
    served.and(closed)
}

/// Takes the folder for this process, as long as what is given back lives: of two on the same data
/// each would overwrite what the other wrote.
fn lock(dir: &Path) -> Result<File> {
    fs::create_dir_all(dir).map_err(Error::when(dir.display()))?;
    let path = dir.join("lock");
    let file = File::create(&path).map_err(Error::when(path.display()))?;
    // SAFETY: takes a descriptor, which lives as long as the file, and no pointers.
    if unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } == 0 {
        return Ok(file);
    }
    Err(match io::Error::last_os_error() {
        why if why.kind() == io::ErrorKind::WouldBlock => {
            Error::new(format!("{}: another store has this folder", dir.display()))
        }
        why => Error::when(path.display())(why),
    })
}
