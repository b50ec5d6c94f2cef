//! Files that processes have open.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// The unit of a file's blocks, whatever the file system's are (stat(2)).
pub const BLOCK_BYTES: u64 = 512;
/// The owner's right to write.
const MAY_WRITE: u32 = 0o200;
/// The file systems that have no disk: tmpfs, ramfs, hugetlbfs (statfs(2)).
const IN_MEMORY: [u64; 3] = [0x0102_1994, 0x8584_58f6, 0x9584_58f6];

/// Bytes that files on disks take which these processes have open for writing, and that don't lie
/// in a folder: elsewhere, or without a name any more. `None` where none of the processes is seen,
/// and where the files of one can't be.
pub fn written_outside(pids: &[i32], folder: &Path) -> Option<u64> {
    let folder = folder.canonicalize().ok()?;
    let mut outside = BTreeMap::new();
    for pid in pids {
        let files = match fs::read_dir(format!("/proc/{pid}/fd")) {
            Ok(files) => files,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(_) => return None,
        };
        for link in files.flatten().map(|file| file.path()) {
            // The link's rights are those of the open file (proc_pid_fd(5)).
            let is_written = fs::symlink_metadata(&link).is_ok_and(|it| it.mode() & MAY_WRITE > 0);
            let Ok(file) = fs::metadata(&link) else { continue };
            let lies_within =
                || file.nlink() > 0 && fs::read_link(&link).is_ok_and(|it| it.starts_with(&folder));
            if is_written && file.is_file() && !lies_within() && !is_in_memory(&link) {
                outside.insert((file.dev(), file.ino()), file.blocks() * BLOCK_BYTES);
            }
        }
    }
    (!pids.is_empty()).then(|| outside.values().sum())
}

fn is_in_memory(file: &Path) -> bool {
    rustix::fs::statfs(file).is_ok_and(|it| IN_MEMORY.contains(&(it.f_type as u64)))
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Write;

    use super::*;

    /// Else the files of a store that lie elsewhere are taken for none.
    #[test]
    fn files_that_are_written_outside_of_a_folder_are_added_up() {
        // Where these sources lie there is a disk, mostly.
        let here = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let folder = here.path().join("own");
        fs::create_dir(&folder).unwrap();
        let me = [std::process::id() as i32];
        let of_me = || written_outside(&me, &folder).unwrap();
        let filled = |path: &Path| {
            let mut file = File::create(path).unwrap();
            file.write_all(&[b'x'; 100_000]).unwrap();
            file.sync_all().unwrap();
            file
        };
        let before = of_me();
        let within = filled(&folder.join("log"));
        assert_eq!(of_me(), before, "it lies in the folder");
        let outside = filled(&here.path().join("log"));
        if is_in_memory(here.path()) {
            return crate::skipped::skipped("the sources lie in memory");
        }
        let with_one = of_me() - before;
        assert!((100_000..200_000).contains(&with_one), "{with_one}");
        fs::remove_file(folder.join("log")).unwrap();
        assert!(of_me() - before >= 200_000, "a file without a name takes its place too");
        drop((within, outside));
        let _read = File::open(here.path().join("log")).unwrap();
        assert_eq!(of_me(), before, "it is only read");
    }

    #[test]
    fn of_processes_that_are_not_seen_nothing_is_known() {
        assert_eq!(written_outside(&[], Path::new("/")), None);
    }
}
