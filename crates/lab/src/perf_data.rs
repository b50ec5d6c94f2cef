//! The one file that HotSpot puts beside a trial's own folder, whatever it is told
//! of temporary folders: its counters, `/tmp/hsperfdata_USER/PID`. A JVM that ends
//! removes it, and one that is killed can't.
//!
//! While it runs, the counters are read (`sample/hotspot.rs`), so that it isn't
//! simply told to do without (`-XX:-UsePerfData`).

use std::path::Path;

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, openat, statat, unlinkat};

/// Removes what a process that has ended left, if it was a JVM.
pub(crate) fn remove(pid: i32) {
    remove_below(Path::new("/tmp"), pid);
}

fn remove_below(tmp: &Path, pid: i32) {
    let name = pid.to_string();
    for folder in std::fs::read_dir(tmp).into_iter().flatten().flatten() {
        if !folder.file_name().to_string_lossy().starts_with("hsperfdata_") {
            continue;
        }
        // Anybody may put links there: none is followed.
        let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let Ok(folder) = openat(CWD, folder.path(), flags, Mode::empty()) else { continue };
        let told = statat(&folder, &name, AtFlags::SYMLINK_NOFOLLOW);
        if told.is_ok_and(|it| FileType::from_raw_mode(it.st_mode) == FileType::RegularFile) {
            let _ = unlinkat(&folder, &name, AtFlags::empty());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn the_file_of_that_process_is_removed_and_nothing_else() {
        let tmp = tempfile::tempdir().unwrap();
        let path = |name: &str| tmp.path().join(name);
        for name in ["hsperfdata_a/71", "hsperfdata_a/72", "other/71", "elsewhere/71"] {
            fs::create_dir_all(path(name).parent().unwrap()).unwrap();
            fs::write(path(name), "").unwrap();
        }
        symlink(path("elsewhere"), path("hsperfdata_b")).unwrap();
        remove_below(tmp.path(), 71);
        assert!(!path("hsperfdata_a/71").exists());
        assert!(path("hsperfdata_a/72").exists(), "another JVM's");
        assert!(path("other/71").exists());
        assert!(path("elsewhere/71").exists(), "a link was followed");
    }
}
