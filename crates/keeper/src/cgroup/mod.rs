//! Control groups: in a trial one for the contender, and one for its client.
//!
//! A group tells what all of its processes used, whether they still live or
//! not, and none of them leaves it by forking, so it is also how everything is
//! found that has to end. Version 2 has one tree of groups, version 1 a tree a
//! controller, and a machine may have both at once: a group of ours is a folder
//! in each tree that has something to tell.
//!
//! The folder lies in bakeoff's own group, so that limits of the user's hold for
//! contender and client as well. Nothing is changed in any group that isn't ours.

mod counters;
mod trees;

use std::fs::{self, File, OpenOptions};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};
use serde::{Deserialize, Serialize};

use crate::proc_file;
use crate::until::until;

pub use counters::{Counted, Pressure, Throttled, pressure};
pub use trees::Trees;

/// The file that lists a group's processes, and takes new ones.
const PROCESSES: &str = "cgroup.procs";
/// For groups whose processes were just killed to be empty.
const EMPTY_WITHIN: Duration = Duration::from_secs(10);
/// Groups that a contender made in its own are looked at so deep.
const DEPTH_MAX: u32 = 16;

/// A group: its folder in each tree. They need not be there: a keeper makes and
/// removes them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Group {
    /// In the tree of version 2.
    pub v2: Option<PathBuf>,
    /// In that of `cpuacct` of version 1, where there is no version 2.
    pub cpuacct: Option<PathBuf>,
    /// In that of `memory` of version 1.
    pub memory: Option<PathBuf>,
    /// In that of `blkio` of version 1.
    pub blkio: Option<PathBuf>,
}

impl Group {
    fn each(&self) -> [(&'static str, &Option<PathBuf>); 4] {
        [
            ("v2", &self.v2),
            ("cpuacct", &self.cpuacct),
            ("memory", &self.memory),
            ("blkio", &self.blkio),
        ]
    }

    fn folders(&self) -> impl Iterator<Item = &Path> {
        self.each().into_iter().filter_map(|(_, folder)| folder.as_deref())
    }

    /// Whether there is no tree that it could be in.
    pub fn is_nowhere(&self) -> bool {
        self.folders().next().is_none()
    }

    /// The names of its trees, for people.
    pub fn trees(&self) -> Vec<String> {
        let made = self.each().into_iter().filter(|(_, folder)| folder.is_some());
        made.map(|(name, _)| name.to_string()).collect()
    }

    /// Makes the folders, and opens what a process has to write `0` to for going
    /// into them. A folder that can't be made is gone without: what it would
    /// have told stays unknown.
    pub fn make(&self) -> Vec<File> {
        let made = self.folders().filter(|folder| fs::create_dir(folder).is_ok());
        made.filter_map(|folder| OpenOptions::new().write(true).open(folder.join(PROCESSES)).ok())
            .collect()
    }

    /// The group as far as it holds a process.
    pub fn inhabited(&self) -> Group {
        let inhabited = |folder: &Option<PathBuf>| {
            folder.clone().filter(|folder| !processes_in(folder).is_empty())
        };
        Group {
            v2: inhabited(&self.v2),
            cpuacct: inhabited(&self.cpuacct),
            memory: inhabited(&self.memory),
            blkio: inhabited(&self.blkio),
        }
    }

    /// Its processes.
    pub fn processes(&self) -> Vec<i32> {
        self.folders().next().map(all_processes_in).unwrap_or_default()
    }

    /// Kills every process in it, until none is left.
    ///
    /// # Errors
    /// One sentence, if some outlive it.
    pub fn kill(&self) -> Result<(), String> {
        self.folders().try_for_each(kill)
    }

    /// Removes the folders, and those that the contender made in them.
    pub fn remove(&self) {
        self.folders().for_each(remove);
    }
}

/// Kills all that is in a group's folder, and removes it.
pub fn end(folder: &Path) {
    let _ = kill(folder);
    remove(folder);
}

fn kill(folder: &Path) -> Result<(), String> {
    let deadline = Instant::now() + EMPTY_WITHIN;
    loop {
        let left = all_processes_in(folder);
        if left.is_empty() {
            return Ok(());
        }
        if Instant::now() >= deadline {
            return Err(format!("the processes {left:?} outlived SIGKILL for 10 s"));
        }
        // Version 2 kills all at once, from Linux 5.14 on. Elsewhere one may fork
        // before its turn comes; the next look finds its child.
        if fs::write(folder.join("cgroup.kill"), "1").is_err() {
            for pid in left.into_iter().filter_map(Pid::from_raw) {
                let _ = rustix::process::kill_process(pid, Signal::KILL);
            }
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn remove(folder: &Path) {
    let try_once = || {
        within(folder).iter().rev().try_for_each(fs::remove_dir)?;
        fs::remove_dir(folder)
    };
    // A group stays busy until its last process is taken off.
    until(Duration::from_secs(2), || !folder.exists() || try_once().is_ok());
}

/// Processes of one folder. Those of other process namespaces, which have no
/// number here, are left out.
fn processes_in(folder: &Path) -> Vec<i32> {
    let text = proc_file::text(folder.join(PROCESSES)).unwrap_or_default();
    text.lines().filter_map(|line| line.parse().ok()).filter(|&pid| pid > 1).collect()
}

fn all_processes_in(folder: &Path) -> Vec<i32> {
    let mut processes = processes_in(folder);
    for inner in within(folder) {
        processes.extend(processes_in(&inner));
    }
    processes
}

/// The groups within a group, each after the one that it lies in.
pub fn within(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut next = vec![(folder.to_path_buf(), 0)];
    while let Some((folder, depth)) = next.pop() {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        for entry in entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())) {
            found.push(entry.path());
            if depth < DEPTH_MAX {
                next.push((entry.path(), depth + 1));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::CommandExt;
    use std::process::{Child, Command};

    use super::*;
    use crate::leftovers;

    /// A group of this machine, gone at the end of a test.
    struct Made(Group, Vec<File>);

    impl Made {
        fn new() -> Option<Made> {
            let group = Trees::of_this_process().group(&leftovers::name(), false);
            let doors = group.make();
            if doors.is_empty() {
                crate::skipped::skipped("no control group can be made here");
                return None;
            }
            Some(Made(group, doors))
        }

        fn start(&self, command: &str) -> Child {
            let doors: Vec<File> = self.1.iter().map(|door| door.try_clone().unwrap()).collect();
            let mut shell = Command::new("sh");
            shell.args(["-c", command]);
            // SAFETY: only a write(2) between fork and exec.
            unsafe {
                shell.pre_exec(move || {
                    doors.iter().try_for_each(|door| Ok(rustix::io::write(door, b"0").map(drop)?))
                });
            }
            shell.spawn().unwrap()
        }
    }

    impl Drop for Made {
        fn drop(&mut self) {
            let _ = self.0.kill();
            self.0.remove();
        }
    }

    #[test]
    fn what_forks_away_stays_in_its_group_and_is_killed_with_it() {
        let Some(made) = Made::new() else { return };
        let mut child = made.start("setsid sleep 60 & setsid sleep 60 & wait");
        let deadline = Instant::now() + Duration::from_secs(60);
        while made.0.processes().len() < 3 && Instant::now() < deadline {
            std::thread::yield_now();
        }
        assert_eq!(made.0.processes().len(), 3, "a shell and two that left its session");
        assert_eq!(made.0.inhabited(), made.0, "it is in every tree");
        made.0.kill().unwrap();
        assert!(made.0.processes().is_empty(), "some outlived it");
        child.wait().unwrap();
        made.0.remove();
        assert!(made.0.folders().all(|folder| !folder.exists()), "a folder is left");
    }

    #[test]
    fn groups_that_a_contender_made_in_its_own_go_with_it() {
        let Some(made) = Made::new() else { return };
        for folder in made.0.folders() {
            fs::create_dir_all(folder.join("deep/deeper")).unwrap();
        }
        let mut child = made.start("exec sleep 60");
        let deepest = made.0.folders().next().unwrap().join("deep/deeper").join(PROCESSES);
        fs::write(deepest, child.id().to_string()).unwrap();
        assert_eq!(made.0.processes(), [child.id() as i32]);
        made.0.kill().unwrap();
        child.wait().unwrap();
        made.0.remove();
        assert!(made.0.folders().all(|folder| !folder.exists()), "a folder is left");
    }

    #[test]
    fn what_a_group_used_is_counted() {
        let Some(made) = Made::new() else { return };
        let before = made.0.counted();
        let mut child = made.start("i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done");
        child.wait().unwrap();
        let after = made.0.counted();
        let cpu = after.cpu_s.zip(before.cpu_s).map(|(after, before)| after - before);
        assert!(cpu.is_some() || after.memory_peak_bytes.is_some(), "nothing is counted");
        assert!(cpu.is_none_or(|cpu| cpu > 0.0), "a group counts what has ended too: {cpu:?}");
        assert!(after.memory_peak_bytes.is_none_or(|peak| peak > 0));
        assert!(after.oom_kills.is_none_or(|kills| kills == 0));
    }
}
