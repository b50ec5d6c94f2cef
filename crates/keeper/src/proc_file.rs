//! Files of `/proc` and of control groups, read with three or four system calls: the
//! sampler reads some hundred a second. They say of themselves that they are empty, so
//! that `std::fs::read_to_string` begins with 32 bytes and takes up to ten reads a file.

use std::path::Path;

use rustix::fd::OwnedFd;
use rustix::fs::{Mode, OFlags};

/// A file that holds a line or less. The kernel gives such a file whole to a
/// buffer that has room for it.
pub fn line(path: &str) -> Option<Vec<u8>> {
    let file = open(path.as_ref())?;
    let mut bytes = vec![0; 2048];
    let length = rustix::io::read(&file, &mut bytes[..]).ok()?;
    bytes.truncate(length);
    Some(bytes)
}

/// A file of any length; `None` if it can't be read to its end, or isn't text.
pub fn text(path: impl AsRef<Path>) -> Option<String> {
    let file = open(path.as_ref())?;
    let mut bytes = vec![0; 8192];
    let mut length = 0;
    loop {
        match rustix::io::read(&file, &mut bytes[length..]).ok()? {
            0 => break,
            more => length += more,
        }
        if length == bytes.len() {
            bytes.resize(2 * length, 0);
        }
    }
    bytes.truncate(length);
    String::from_utf8(bytes).ok()
}

fn open(path: &Path) -> Option<OwnedFd> {
    rustix::fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_whole() {
        let whole = std::fs::read("/proc/self/comm").unwrap();
        assert_eq!(line("/proc/self/comm"), Some(whole));
        assert_eq!(line("/proc/0/stat"), None, "there is no such process");
    }

    #[test]
    fn a_text_is_read_whole_whatever_its_length() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("text");
        for length in [0, 1, 8191, 8192, 8193, 16_384, 100_000] {
            let whole: String = ('a'..='z').cycle().take(length).collect();
            std::fs::write(&path, &whole).unwrap();
            assert!(text(&path) == Some(whole), "of {length} bytes");
        }
        std::fs::write(&path, [b'a', 0xff]).unwrap();
        assert_eq!(text(&path), None, "that is no text");
        assert_eq!(text(folder.path()), None, "a folder can't be read");
    }

    #[test]
    fn a_text_that_the_kernel_gives_page_by_page_is_read_whole() {
        let whole = std::fs::read_to_string("/proc/kallsyms").unwrap_or_default();
        if whole.is_empty() {
            return crate::skipped::skipped("this kernel doesn't tell its symbols");
        }
        assert!(text("/proc/kallsyms") == Some(whole));
    }
}
