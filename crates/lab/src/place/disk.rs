//! The disk that a folder lies on.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use procfs::process::{MountInfo, Process};
use result::evidence::FileSystem;
use rustix::fs::{Access, access, major, minor, statfs};

/// Magic numbers of file systems, as linux/magic.h has them.
const TMPFS: u64 = 0x0102_1994;
const RAMFS: u64 = 0x8584_58f6;
const OVERLAY: u64 = 0x794c_7630;
/// Where folders go whose data have to lie on a disk, if those of `$TMPDIR` lie in memory. It
/// keeps what is in it over a restart (hier(7)), so it is on a disk where there is one.
pub const ON_DISK: &str = "/var/tmp";

/// How often that disk was flushed since the machine started, whoever asked for it; `None`
/// where it doesn't tell: there is no disk below a file system in memory, kernels before 5.5 don't
/// count, and neither do disks that are made of others (LVM, LUKS). A disk without a cache of its
/// own is never flushed.
pub fn flushes(folder: &Path) -> Option<u64> {
    let device = std::fs::metadata(folder).ok()?.dev();
    let disks = procfs::diskstats().ok()?;
    let is_it = |disk: &&procfs::DiskStat| {
        (disk.major, disk.minor) == (major(device) as i32, minor(device) as i32)
    };
    disks.iter().find(is_it)?.flushes.filter(|&count| count > 0 && has_cache(device))
}

/// Whether a disk, or the one that it is a part of, has a cache that has to be flushed.
fn has_cache(device: u64) -> bool {
    let folder = format!("/sys/dev/block/{}:{}", major(device), minor(device));
    let caches = ["queue/write_cache", "../queue/write_cache"];
    let said =
        caches.iter().find_map(|name| std::fs::read_to_string(format!("{folder}/{name}")).ok());
    said.is_some_and(|cache| cache.trim() == "write back")
}

/// The file system that a folder lies on, and of an overlay the one below; `None` where the kernel
/// doesn't tell.
pub fn file_system(folder: &Path) -> Option<FileSystem> {
    let magic = |folder: &Path| Some(statfs(folder).ok()?.f_type as u64 & 0xffff_ffff);
    let is_in_memory = |magic: u64| magic == TMPFS || magic == RAMFS;
    let of_folder = magic(folder)?;
    let mounts = Process::myself().and_then(|it| it.mountinfo()).map(|it| it.0).unwrap_or_default();
    let mount = mount_of(&mounts, &folder.canonicalize().ok()?)?;
    let below = upper_folder(mount).filter(|_| of_folder == OVERLAY);
    let in_memory = is_in_memory(of_folder) || below.and_then(magic).is_some_and(is_in_memory);
    Some(FileSystem { name: mount.fs_type.clone(), in_memory })
}

/// The mount that a folder lies on: the last one of the longest path.
fn mount_of<'a>(mounts: &'a [MountInfo], folder: &Path) -> Option<&'a MountInfo> {
    let above = mounts.iter().filter(|mount| folder.starts_with(&mount.mount_point));
    above.max_by_key(|mount| mount.mount_point.as_os_str().len())
}

/// Where an overlay's writes go.
fn upper_folder(overlay: &MountInfo) -> Option<&Path> {
    overlay.super_options.get("upperdir")?.as_deref().map(Path::new)
}

/// The folder for what has to lie on a disk: `$TMPDIR`, or another where that lies in memory, and
/// there is one.
pub fn folder_for_data() -> PathBuf {
    folder_on_disk(std::env::temp_dir(), Path::new(ON_DISK))
}

fn folder_on_disk(first: PathBuf, other: &Path) -> PathBuf {
    let in_memory = |folder: &Path| file_system(folder).is_some_and(|it| it.in_memory);
    let is_better =
        in_memory(&first) && !in_memory(other) && access(other, Access::WRITE_OK).is_ok();
    if is_better { other.into() } else { first }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Else a sync costs nothing, and a store that syncs each write has the rate of memory.
    #[test]
    fn a_folder_in_memory_is_known_and_another_taken_where_there_is_one() {
        let memory = Path::new("/dev/shm");
        let Some(seen) = file_system(memory) else { return };
        assert!(seen.in_memory, "{seen:?}");
        let disk = Path::new(env!("CARGO_MANIFEST_DIR"));
        if file_system(disk).is_none_or(|it| it.in_memory) {
            return crate::skipped::skipped("the sources lie in memory");
        }
        assert_eq!(folder_on_disk(memory.into(), disk), disk);
        assert_eq!(folder_on_disk(disk.into(), memory), disk);
        assert_eq!(folder_on_disk(memory.into(), memory), memory, "there is no other");
    }

    #[test]
    fn the_mount_that_a_folder_lies_on_is_the_nearest_and_an_overlay_tells_what_is_below() {
        let line = |line: &str| MountInfo::from_line(line).unwrap();
        let mounts = [
            line("1 1 254:0 / / rw - ext4 /dev/vda rw"),
            line("2 1 0:1 / /a rw - overlay overlay rw,lowerdir=/l,upperdir=/u/x,workdir=/w"),
            line("3 1 0:2 / /ab rw - tmpfs tmpfs rw"),
        ];
        let on = |folder: &str| mount_of(&mounts, Path::new(folder)).unwrap();
        assert_eq!(on("/a/b").fs_type, "overlay");
        assert_eq!(on("/abc").fs_type, "ext4");
        assert_eq!(upper_folder(on("/a/b")), Some(Path::new("/u/x")));
        assert_eq!(upper_folder(on("/abc")), None);
    }
}
