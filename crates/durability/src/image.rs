//! The file that a disk lies in.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::OFlags;

/// The size of a disk. Its file has holes where nothing was written.
pub const IMAGE_BYTES: u64 = 8 << 30;

/// A file of the disk's size in this folder that has no name there.
///
/// # Errors
/// The kernel's, for people.
pub fn unnamed_file(folder: &Path) -> Result<File, String> {
    let open = || OpenOptions::new().read(true).write(true).mode(0o600).clone();
    let made = open().custom_flags(OFlags::TMPFILE.bits() as i32).open(folder).or_else(|_| {
        // Not every file system can make one without a name.
        let path = folder.join("image");
        let made = open().create_new(true).open(&path)?;
        fs::remove_file(&path)?;
        Ok(made)
    });
    made.and_then(|file: File| file.set_len(IMAGE_BYTES).map(|()| file)).map_err(
        |error: io::Error| format!("couldn't make a disk's file in {}: {error}", folder.display()),
    )
}
