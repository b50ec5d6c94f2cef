//! The disk that a folder lies on.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::{major, minor};

/// How often that disk was flushed since the machine started, whoever asked for it; `None`
/// where it doesn't tell: there is no disk below a file system in memory, and kernels before 5.5
/// don't count.
pub fn flushes(folder: &Path) -> Option<u64> {
    let device = std::fs::metadata(folder).ok()?.dev();
    let disks = procfs::diskstats().ok()?;
    let is_it = |disk: &&procfs::DiskStat| {
        (disk.major, disk.minor) == (major(device) as i32, minor(device) as i32)
    };
    disks.iter().find(is_it)?.flushes
}
