//! The one file that HotSpot puts beside a trial's own folder, whatever it is told
//! of temporary folders: its counters, `/tmp/hsperfdata_USER/PID`. A JVM that ends
//! removes it, and one that is killed can't.
//!
//! While it runs, the counters are read (`sample/hotspot.rs`), so that it isn't
//! simply told to do without (`-XX:-UsePerfData`).

use std::collections::HashSet;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, openat, statat, unlinkat};
use rustix::process::{Pid, test_kill_process};

/// Processes that have ended, of which any may have been a JVM. What they left is looked
/// for once, when all have: a contender may start one a request, and `/tmp` be large.
#[derive(Debug, Default)]
pub(crate) struct Ended(HashSet<i32>);

impl Ended {
    pub(crate) fn add(&mut self, pid: i32) {
        self.0.insert(pid);
    }

    /// Removes what they left.
    pub(crate) fn clean_up(&self) {
        self.clean_up_below(Path::new("/tmp"));
    }

    fn clean_up_below(&self, tmp: &Path) {
        for folder in std::fs::read_dir(tmp).into_iter().flatten().flatten() {
            if !folder.file_name().to_string_lossy().starts_with("hsperfdata_") {
                continue;
            }
            // Anybody may put links there: none is followed.
            let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let Ok(folder) = openat(CWD, folder.path(), flags, Mode::empty()) else { continue };
            for file in Dir::read_from(&folder).into_iter().flatten().flatten() {
                let name = file.file_name();
                if !name.to_str().is_ok_and(|name| self.is_left(name)) {
                    continue;
                }
                let told = statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW);
                let is_file = |mode| FileType::from_raw_mode(mode) == FileType::RegularFile;
                if told.is_ok_and(|it| is_file(it.st_mode)) {
                    let _ = unlinkat(&folder, name, AtFlags::empty());
                }
            }
        }
    }

    /// Whether a file of this name is of one of them, and not of a process of today that
    /// has its number.
    fn is_left(&self, name: &str) -> bool {
        let Ok(pid) = name.parse() else { return false };
        let is_alive = || Pid::from_raw(pid).is_some_and(is_there);
        self.0.contains(&pid) && !is_alive()
    }
}

fn is_there(pid: Pid) -> bool {
    test_kill_process(pid) != Err(rustix::io::Errno::SRCH)
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
        let gone = (i32::MAX - 1).to_string();
        let own = std::process::id().to_string();
        let in_folder = |folder: &str, pid: &str| path(&format!("{folder}/{pid}"));
        for folder in ["hsperfdata_a", "other", "elsewhere"] {
            fs::create_dir(path(folder)).unwrap();
            for pid in [&gone, &own, "72"] {
                fs::write(in_folder(folder, pid), "").unwrap();
            }
        }
        symlink(path("elsewhere"), path("hsperfdata_b")).unwrap();
        let mut ended = Ended::default();
        ended.add(gone.parse().unwrap());
        ended.add(own.parse().unwrap());
        ended.clean_up_below(tmp.path());
        assert!(!in_folder("hsperfdata_a", &gone).exists());
        assert!(in_folder("hsperfdata_a", "72").exists(), "another JVM's");
        assert!(in_folder("hsperfdata_a", &own).exists(), "of who has the number now");
        assert!(in_folder("other", &gone).exists());
        assert!(in_folder("elsewhere", &gone).exists(), "a link was followed");
    }
}
