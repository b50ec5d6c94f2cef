//! What a run leaves behind when both bakeoff and the keeper are killed with
//! SIGKILL: nobody is left to clean up, so the next run does.
//!
//! What a trial makes outside of the run's folder has a name that says whose it
//! is: the process, when that began, and its process namespace. Only where that
//! process is gone is anything removed.

use std::collections::BTreeSet;
use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use procfs::process::Process;

use crate::cgroup::{self, Trees};

const PREFIX: &str = "bakeoff";

/// A name for something that a trial makes, of which there is only one.
pub fn name() -> String {
    let owner = Owner::this_process().unwrap_or_default();
    format!("{}{:012x}", owner.prefix(), fastrand::u64(..1 << 48))
}

/// How the names begin that a process of this process namespace gives, and no other
/// does; `None` if it is gone.
pub fn prefix_of(pid: u32) -> Option<String> {
    let process = Process::new(pid.try_into().ok()?).ok()?;
    Some(Owner::new(&process)?.prefix())
}

/// Whether this is such a name, of whatever process.
pub fn is_name(name: &str) -> bool {
    Owner::of(name).is_some()
}

/// Ends and removes what dead runs of this user left behind: processes in their
/// control groups, the groups, temporary folders.
pub fn remove() {
    groups().iter().for_each(|group| cgroup::end(group));
    temporary().iter().for_each(|folder| remove_folders(folder));
}

/// Where trials make folders: what has to lie on a disk may lie in the other.
fn temporary() -> BTreeSet<PathBuf> {
    [std::env::temp_dir(), "/var/tmp".into()].into()
}

/// What that would remove.
pub fn found() -> Vec<PathBuf> {
    let folders = temporary().into_iter().flat_map(|from| folders(&from));
    groups().into_iter().chain(folders).collect()
}

fn groups() -> Vec<PathBuf> {
    let mut roots = Trees::of_this_process().roots();
    // Controllers of version 1 may have a tree in common.
    roots.sort();
    roots.dedup();
    let all = roots.iter().flat_map(|root| cgroup::within(root));
    all.filter(|folder| is_left(folder)).collect()
}

fn folders(from: &Path) -> Vec<PathBuf> {
    let own_user = rustix::process::geteuid().as_raw();
    let entries = fs::read_dir(from).into_iter().flatten().flatten();
    // Of a link this is the link's own, so none is followed.
    let own = entries
        .filter(|entry| entry.metadata().is_ok_and(|it| it.is_dir() && it.uid() == own_user));
    own.map(|entry| entry.path()).filter(|path| is_left(path)).collect()
}

fn remove_folders(from: &Path) {
    folders(from).iter().for_each(|folder| remove_folder(folder));
}

/// Removes a trial's folder, also where a program made folders in it that nobody may
/// write to, as Go does with the modules that it has loaded.
pub(crate) fn remove_folder(folder: &Path) {
    if fs::remove_dir_all(folder).is_err() {
        make_writable(folder);
        let _ = fs::remove_dir_all(folder);
    }
}

/// Folders only: a file is its folder's to remove. Of a link this is the link's own.
fn make_writable(folder: &Path) {
    let is_folder = fs::symlink_metadata(folder).is_ok_and(|it| it.is_dir());
    if !is_folder || fs::set_permissions(folder, Permissions::from_mode(0o700)).is_err() {
        return;
    }
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.for_each(|entry| make_writable(&entry.path()));
}

/// Whether this belongs to a run of this process namespace that is gone.
fn is_left(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    let Some(owner) = name.and_then(Owner::of) else { return false };
    let here = Owner::this_process().is_some_and(|own| own.namespace == owner.namespace);
    here && !owner.is_alive()
}

/// A process, told apart from all others that had or will have its number.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Owner {
    /// The inode of the process namespace.
    namespace: u64,
    pid: i32,
    /// In clock ticks since the machine started.
    began: u64,
}

impl Owner {
    fn this_process() -> Option<Owner> {
        Owner::new(&Process::myself().ok()?)
    }

    /// A process of this process namespace.
    fn new(process: &Process) -> Option<Owner> {
        let stat = process.stat().ok()?;
        let namespace = fs::metadata("/proc/self/ns/pid").ok()?.ino();
        Some(Owner { namespace, pid: stat.pid, began: stat.starttime })
    }

    /// How the names begin that it gives.
    fn prefix(self) -> String {
        let Owner { namespace, pid, began } = self;
        format!("{PREFIX}-{namespace}-{pid}-{began}-")
    }

    fn of(name: &str) -> Option<Owner> {
        let mut parts = name.split('-');
        if parts.next()? != PREFIX {
            return None;
        }
        let owner = Owner {
            namespace: parts.next()?.parse().ok()?,
            pid: parts.next()?.parse().ok()?,
            began: parts.next()?.parse().ok()?,
        };
        (parts.next().is_some_and(|last| last.len() == 12) && parts.next().is_none())
            .then_some(owner)
    }

    fn is_alive(&self) -> bool {
        let stat = Process::new(self.pid).and_then(|process| process.stat());
        stat.is_ok_and(|stat| stat.starttime == self.began && stat.state != 'Z')
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    /// A name that a process would give which is gone by now.
    fn name_of_the_dead() -> String {
        let mut child = Command::new("true").spawn().unwrap();
        let pid = child.id() as i32;
        child.wait().unwrap();
        let own = Owner::this_process().unwrap();
        format!("{PREFIX}-{}-{pid}-1-000000000000", own.namespace)
    }

    #[test]
    fn only_what_belongs_to_a_dead_run_is_removed() {
        let tmp = tempfile::tempdir().unwrap();
        let living = name();
        let foreign = name_of_the_dead().replacen(PREFIX, "other", 1);
        let elsewhere = format!("{PREFIX}-1-1-1-000000000000");
        let reused = format!("{}-000000000000", {
            let own = Owner::this_process().unwrap();
            format!("{PREFIX}-{}-{}-{}", own.namespace, own.pid, own.began + 1)
        });
        let old = format!("{PREFIX}-0123456789ab");
        let dead = name_of_the_dead();
        for name in [&living, &foreign, &elsewhere, &reused, &old, &dead] {
            fs::create_dir(tmp.path().join(name)).unwrap();
            fs::write(tmp.path().join(name).join("file"), "").unwrap();
        }
        let kept = tmp.path().join(&living);
        std::os::unix::fs::symlink(&kept, tmp.path().join(name_of_the_dead())).unwrap();
        assert_eq!(folders(tmp.path()).len(), 2, "what is to be removed can be told before");
        remove_folders(tmp.path());
        let left = |name: &str| tmp.path().join(name).join("file").exists();
        assert!(left(&living), "its run lives");
        assert!(left(&foreign) && left(&old), "it is not ours");
        assert!(left(&elsewhere), "its process namespace can't be seen from here");
        assert!(!left(&reused), "another process has the number now");
        assert!(!left(&dead));
    }

    #[test]
    fn a_folder_that_nobody_may_write_to_is_removed_as_well() {
        use rustix::thread::{CapabilitySet, CapabilitySets, set_capabilities};

        let tmp = tempfile::tempdir().unwrap();
        let modules = tmp.path().join("go/mod");
        fs::create_dir_all(&modules).unwrap();
        fs::write(modules.join("file"), "").unwrap();
        for folder in [&modules, &tmp.path().join("go")] {
            fs::set_permissions(folder, Permissions::from_mode(0o555)).unwrap();
        }
        // Whoever is root may write everywhere, which is given up here.
        let none = CapabilitySet::empty();
        let sets = CapabilitySets { effective: none, permitted: none, inheritable: none };
        set_capabilities(None, sets).unwrap();
        assert!(fs::remove_dir_all(tmp.path().join("go")).is_err(), "nothing is shown otherwise");
        remove_folder(&tmp.path().join("go"));
        assert!(!tmp.path().join("go").exists());
    }

    #[test]
    fn a_name_is_told_to_be_of_its_process_and_not_of_one_that_had_its_number() {
        let own = Owner::this_process().unwrap();
        let earlier = Owner { began: own.began - 1, ..own };
        // As 12 and 123 would be.
        let shorter = Owner { began: own.began / 10, ..own };
        let prefix = prefix_of(std::process::id()).unwrap();
        assert!(name().starts_with(&prefix), "{prefix}");
        for other in [earlier, shorter] {
            assert!(!name().starts_with(&other.prefix()), "{other:?}");
        }
        let mut child = Command::new("true").spawn().unwrap();
        assert!(prefix_of(child.id()).is_some_and(|it| it != prefix), "it isn't waited for yet");
        child.wait().unwrap();
    }

    #[test]
    fn names_are_read_as_they_are_written() {
        let name = name();
        assert_eq!(Owner::of(&name), Owner::this_process());
        assert!(Owner::of(&name).unwrap().is_alive());
        for foreign in
            ["bakeoff", "bakeoff-1-2", "bakeoff-1-2-3", "bakeoff-1-2-3-x", "bakeoff-a-b-c"]
        {
            assert_eq!(Owner::of(foreign), None, "{foreign}");
        }
    }
}
