//! The file that a disk lies in.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::{OFlags, SeekFrom, seek};
use rustix::io::Errno;

/// The size of a disk. Its file has holes where nothing was written.
pub const IMAGE_BYTES: u64 = 8 << 30;
/// Said where a disk is to go back, and wasn't cut off before.
pub const NO_PICTURE: &str = "there is no older picture of the disk";
/// Bytes that are copied at once.
const PIECE: usize = 1 << 20;

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

/// A copy of a disk's file, as it is now, that has no name in this folder. Holes stay holes.
///
/// # Errors
/// The kernel's, for people.
pub fn copy(image: &File, folder: &Path) -> Result<File, String> {
    let copy = unnamed_file(folder)?;
    match copy_data(image, &copy) {
        Ok(()) => Ok(copy),
        Err(error) => {
            Err(format!("couldn't keep a picture of the disk in {}: {error}", folder.display()))
        }
    }
}

fn copy_data(from: &File, to: &File) -> io::Result<()> {
    let mut room = vec![0; PIECE];
    let mut at = 0;
    loop {
        let data = match seek(from, SeekFrom::Data(at)) {
            // There are only holes from here on.
            Err(Errno::NXIO) => return Ok(()),
            found => found?,
        };
        let hole = seek(from, SeekFrom::Hole(data))?;
        at = data;
        while at < hole {
            let piece = &mut room[..PIECE.min((hole - at) as usize)];
            from.read_exact_at(piece, at)?;
            // Not every file system knows its holes: they are read as zeros.
            if piece.iter().any(|&byte| byte != 0) {
                to.write_all_at(piece, at)?;
            }
            at += piece.len() as u64;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use super::*;

    /// Else a store would be started on what its disk never had, or each cut would take the whole
    /// size of a disk.
    #[test]
    fn a_copy_has_the_same_bytes_and_holes() {
        let folder = tempfile::tempdir().unwrap();
        let image = unnamed_file(folder.path()).unwrap();
        let written = [(0, 5), (3 * PIECE as u64 - 2, 4), (IMAGE_BYTES - 7, 7)];
        for (at, length) in written {
            image.write_all_at(&vec![b'x'; length], at).unwrap();
        }
        let copied = copy(&image, folder.path()).unwrap();
        image.write_all_at(b"later", 0).unwrap();
        for (at, length) in written {
            let mut bytes = vec![0; length];
            copied.read_exact_at(&mut bytes, at).unwrap();
            assert_eq!(bytes, vec![b'x'; length], "at {at}");
        }
        let metadata = copied.metadata().unwrap();
        assert_eq!(metadata.len(), IMAGE_BYTES);
        assert!(metadata.blocks() * 512 <= 8 << 20, "{} blocks", metadata.blocks());
    }
}
