//! A mount namespace of one's own.

use std::io;

use rustix::io::Errno;
use rustix::mount::{MountPropagationFlags, mount_change};
use rustix::thread::{UnshareFlags, unshare_unsafe};

/// From here on, what this thread and its children mount is seen by nobody else, and they see
/// nothing that others mount.
///
/// # Errors
/// What this machine doesn't allow, for people.
pub fn enter() -> Result<(), String> {
    // SAFETY: of what threads may share only the root and current folders are parted from the
    // others, which nothing here relies on.
    unsafe { unshare_unsafe(UnshareFlags::NEWNS) }
        .and_then(|()| {
            // Else mounts would be passed on to where this one came from, and from there.
            mount_change(c"/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)
        })
        .map_err(|error| match error {
            Errno::PERM => "only root may mount a disk".into(),
            error => format!("couldn't enter a mount namespace: {}", io::Error::from(error)),
        })
}
