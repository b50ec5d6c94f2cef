//! Short files of `/proc`, read with three system calls: the sampler reads some
//! hundred a second.

use rustix::fs::{Mode, OFlags};

/// A file that holds a line or less. The kernel gives such a file whole to a
/// buffer that has room for it.
pub fn line(path: &str) -> Option<Vec<u8>> {
    let file = rustix::fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).ok()?;
    let mut bytes = vec![0; 2048];
    let length = rustix::io::read(&file, &mut bytes[..]).ok()?;
    bytes.truncate(length);
    Some(bytes)
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
}
