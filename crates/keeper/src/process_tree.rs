//! The descendants of a process, and what they have used.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use procfs::FromRead;
use procfs::process::{FDTarget, Process, Stat};

use crate::proc_file;
use crate::text::harmless;

/// Whether the kernel lists each thread's children (`CONFIG_PROC_CHILDREN`).
pub fn kernel_lists_children() -> bool {
    static LISTS: LazyLock<bool> =
        LazyLock::new(|| Path::new("/proc/thread-self/children").exists());
    *LISTS
}

/// All living descendants of a process, nearest first, without itself.
///
/// A process may fork while this looks, so a killer has to look again until
/// nobody is left.
pub fn descendants(root: i32) -> Vec<i32> {
    if kernel_lists_children() { below(root, children) } else { by_parents(root) }
}

/// The same by the parents of all processes that can be seen.
fn by_parents(root: i32) -> Vec<i32> {
    let mut by_parent: HashMap<i32, Vec<i32>> = HashMap::new();
    for stat in all_processes().into_iter().flatten().filter_map(stat) {
        by_parent.entry(stat.ppid).or_default().push(stat.pid);
    }
    below(root, |pid| by_parent.remove(&pid).unwrap_or_default())
}

fn below(root: i32, mut children: impl FnMut(i32) -> Vec<i32>) -> Vec<i32> {
    let mut found = Vec::new();
    let mut next = vec![root];
    while let Some(pid) = next.pop() {
        for child in children(pid) {
            if !found.contains(&child) {
                found.push(child);
                next.push(child);
            }
        }
    }
    found
}

/// The numbers of all processes that can be seen.
fn all_processes() -> Option<impl Iterator<Item = i32>> {
    let entries = fs::read_dir("/proc").ok()?.flatten();
    Some(entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()))
}

/// The children of this process that are in another session than it, those that have ended
/// among them until it has waited for them.
pub fn children_of_other_sessions() -> Vec<i32> {
    let own = std::process::id() as i32;
    let Some(session) = stat(own).map(|stat| stat.session) else { return Vec::new() };
    let children = if kernel_lists_children() {
        children(own)
    } else {
        all_processes().into_iter().flatten().collect()
    };
    let stats = children.into_iter().filter_map(stat);
    stats.filter(|it| it.ppid == own && it.session != session).map(|it| it.pid).collect()
}

/// The children of all threads of a process; none if it is gone.
fn children(pid: i32) -> Vec<i32> {
    let Ok(tasks) = fs::read_dir(format!("/proc/{pid}/task")) else { return Vec::new() };
    tasks
        .flatten()
        .filter_map(|task| fs::read_to_string(task.path().join("children")).ok())
        .flat_map(|line| {
            line.split_ascii_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<_>>()
        })
        .collect()
}

/// What one process has used since its start, and holds now.
#[derive(Debug, Clone, PartialEq)]
pub struct Member {
    /// Its number.
    pub pid: i32,
    /// The name it gives itself, made harmless.
    pub name: String,
    /// CPU seconds of its own.
    pub cpu_s: f64,
    /// What else it has used.
    pub used: Used,
    /// Resident memory, in bytes. What it shares with others counts in full.
    pub rss_bytes: u64,
    /// What of that lies in files in memory, such as those of memfd_create(2).
    pub shared_bytes: Option<u64>,
    /// Memory that is in swap, in bytes.
    pub swap_bytes: Option<u64>,
    /// Threads.
    pub threads: u32,
    /// Files that it has open.
    pub open_files: Option<u64>,
}

/// What a process has used since its start, its ended children's included, if it has waited
/// for them. So a child's end moves its share, and the sum over a family only grows; of
/// one of them alone it may leap.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Used {
    /// CPU seconds in the kernel.
    pub system_cpu_s: f64,
    /// Page faults that had to wait for a disk.
    pub major_faults: u64,
    /// Bytes that came from disks, and those handed to them; `None` where the kernel
    /// doesn't tell.
    pub disk_bytes: Option<(u64, u64)>,
}

impl Used {
    fn of(pid: i32, stat: &Stat) -> Used {
        Used {
            system_cpu_s: seconds(stat.stime + stat.cstime.max(0) as u64),
            major_faults: stat.majflt + stat.cmajflt,
            disk_bytes: disk_bytes(pid),
        }
    }

    /// What two have used together.
    pub fn and(self, other: Used) -> Used {
        let disk_bytes = self.disk_bytes.zip(other.disk_bytes);
        Used {
            system_cpu_s: self.system_cpu_s + other.system_cpu_s,
            major_faults: self.major_faults + other.major_faults,
            disk_bytes: disk_bytes.map(|(one, other)| (one.0 + other.0, one.1 + other.1)),
        }
    }
}

/// What a process and those that it has waited for have used; `None` if it is gone.
pub fn used(pid: i32) -> Option<Used> {
    stat(pid).map(|stat| Used::of(pid, &stat))
}

/// What a process has used; `None` if it is gone.
pub fn member(pid: i32) -> Option<Member> {
    let stat = stat(pid)?;
    let status = proc_file::text(format!("/proc/{pid}/status"));
    let bytes = |name| bytes_in(status.as_ref()?, name);
    Some(Member {
        pid,
        cpu_s: seconds(stat.utime + stat.stime),
        used: Used::of(pid, &stat),
        rss_bytes: stat.rss * procfs::page_size(),
        shared_bytes: bytes("RssShmem:"),
        swap_bytes: bytes("VmSwap:"),
        threads: stat.num_threads.max(0) as u32,
        open_files: open_files(pid),
        name: harmless(&stat.comm),
    })
}

/// A process's counters, read at once: of all processes several times in a trial.
fn stat(pid: i32) -> Option<Stat> {
    Stat::from_read(&*proc_file::line(&format!("/proc/{pid}/stat"))?).ok()
}

fn cpu_s(stat: &Stat) -> f64 {
    let reaped = (stat.cutime + stat.cstime).max(0) as u64;
    seconds(stat.utime + stat.stime + reaped)
}

fn seconds(ticks: u64) -> f64 {
    ticks as f64 / procfs::ticks_per_second() as f64
}

/// CPU seconds of a process, its reaped children's included; `None` if it is gone.
pub fn cpu_of_one(pid: i32) -> Option<f64> {
    stat(pid).map(|stat| cpu_s(&stat))
}

/// CPU seconds of these processes, their reaped children's included, and of what
/// ended below `root`, which is left out itself. `None` where nobody is alive.
pub fn cpu_of(root: i32, pids: &[i32]) -> Option<f64> {
    let alive: Vec<f64> = pids.iter().filter_map(|&pid| cpu_of_one(pid)).collect();
    let root = stat(root)?;
    let reaped = (root.cutime + root.cstime).max(0) as f64 / procfs::ticks_per_second() as f64;
    (!alive.is_empty()).then(|| alive.iter().sum::<f64>() + reaped)
}

/// Resident memory of a process.
pub fn rss_bytes(pid: i32) -> Option<u64> {
    let line = String::from_utf8(proc_file::line(&format!("/proc/{pid}/statm"))?).ok()?;
    // Pages, after those of the whole size (proc(5)).
    Some(line.split(' ').nth(1)?.parse::<u64>().ok()? * procfs::page_size())
}

/// Bytes that came from disks for a process, and those that it handed to them; `None`
/// where the kernel doesn't tell.
pub fn disk_bytes(pid: i32) -> Option<(u64, u64)> {
    let text = proc_file::text(format!("/proc/{pid}/io"))?;
    let number = |name| text.lines().find_map(|line| line.strip_prefix(name))?.parse().ok();
    Some((number("read_bytes: ")?, number("write_bytes: ")?))
}

/// A size in `/proc/PID/status`.
fn bytes_in(status: &str, name: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    Some(line.trim().strip_suffix(" kB")?.parse::<u64>().ok()? * 1024)
}

/// From Linux 6.2 on the folder's size tells it, which saves a look at
/// thousands of entries.
fn open_files(pid: i32) -> Option<u64> {
    let folder = format!("/proc/{pid}/fd");
    match fs::metadata(&folder).ok()?.len() {
        0 => Some(fs::read_dir(&folder).ok()?.count() as u64),
        count => Some(count),
    }
}

/// Whether one of these processes has a ring of io_uring open; `None` where none is seen,
/// and the files of one can't be.
pub fn use_io_uring(pids: &[i32]) -> Option<bool> {
    let is_ring = |file: &Path| fs::read_link(file).is_ok_and(|it| it == Path::new(RING));
    let mut is_known = !pids.is_empty();
    for pid in pids {
        let Ok(files) = fs::read_dir(format!("/proc/{pid}/fd")) else {
            is_known = false;
            continue;
        };
        if files.flatten().any(|file| is_ring(&file.path())) {
            return Some(true);
        }
    }
    is_known.then_some(false)
}

/// What a ring's file is called in a process's list of open ones.
const RING: &str = "anon_inode:[io_uring]";

/// The parent of the kernel's threads; no program of a user can be its child.
const KTHREADD: i32 = 2;

/// CPU seconds of all processes but these, their ended children among them: so what a
/// short-lived process used is not lost, but turns up with its parent. The
/// kernel's threads for network traffic and for writing to disks are left out: under
/// load, what they do is the load's own. `None` where not all can be seen.
///
/// Nothing is subtracted: a child that nobody waits for is in no sum once it has ended,
/// and in its control group's it is.
pub fn cpu_of_all_but(known: &BTreeSet<i32>) -> Option<f64> {
    // A container, or a /proc that hides what is others', doesn't show the kernel's threads.
    stat(KTHREADD).filter(|stat| stat.comm == "kthreadd")?;
    let pids = all_processes()?.filter(|pid| !known.contains(pid));
    let used = pids.filter_map(|pid| {
        let stat = stat(pid)?;
        (!works_for_load(&stat)).then(|| cpu_s(&stat))
    });
    Some(used.sum())
}

/// Whether this is a thread of the kernel that moves what processes send or write: packets
/// (`ksoftirqd`), a journal (`jbd2`), pages on their way to a disk (`kworker`). A process of
/// others that has them work has CPU time of its own as well.
fn works_for_load(stat: &Stat) -> bool {
    let names = ["ksoftirqd/", "jbd2/", "kworker/"];
    stat.ppid == KTHREADD && names.iter().any(|name| stat.comm.starts_with(name))
}

/// The sockets that a process and its descendants hold, by inode.
#[derive(Debug, Default)]
pub struct Sockets {
    inodes: HashSet<u64>,
    /// Whether some of these processes don't let their files be seen, as one that has changed
    /// its user.
    are_more: bool,
}

impl Sockets {
    /// Those of a process and its descendants.
    pub fn of(root: i32) -> Sockets {
        let mut sockets = Sockets::default();
        for pid in std::iter::once(root).chain(descendants(root)) {
            let Ok(process) = Process::new(pid) else { continue };
            let Ok(files) = process.fd() else {
                sockets.are_more |= process.is_alive();
                continue;
            };
            sockets.inodes.extend(files.flatten().filter_map(|file| match file.target {
                FDTarget::Socket(inode) => Some(inode),
                _ => None,
            }));
        }
        sockets
    }

    /// Whether this is one of them.
    pub fn has(&self, inode: u64) -> bool {
        self.inodes.contains(&inode)
    }

    /// Whether one that nobody is seen to hold may be one of them.
    pub fn may_have_more(&self) -> bool {
        self.are_more
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn grandchildren_are_found_and_their_memory_is_counted() {
        let mut child = Command::new("sh").args(["-c", "sleep 60 & wait"]).spawn().unwrap();
        let me = std::process::id() as i32;
        // Until the grandchild is `sleep`, it is about to lose the memory it has.
        let is_sleep =
            |pid: &i32| member(*pid).is_some_and(|it| it.name == "sleep" && it.rss_bytes > 0);
        let deadline = Instant::now() + Duration::from_secs(60);
        let tree = loop {
            let tree = descendants(child.id() as i32);
            if tree.first().is_some_and(is_sleep) || Instant::now() > deadline {
                break tree;
            }
            std::thread::yield_now();
        };
        assert!(descendants(me).contains(&tree[0]), "a grandchild is a descendant too");
        assert_eq!(by_parents(child.id() as i32), tree, "where the kernel lists no children");
        let sleep = member(tree[0]).expect("the grandchild is alive");
        assert!(sleep.rss_bytes > 0 && sleep.threads == 1, "{sleep:?}");
        assert!(sleep.open_files >= Some(3), "{sleep:?}");
        assert!(cpu_of(child.id() as i32, &tree).is_some());
        let grandchild = rustix::process::Pid::from_raw(tree[0]).unwrap();
        rustix::process::kill_process(grandchild, rustix::process::Signal::KILL).unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn of_processes_that_are_gone_nothing_can_be_told() {
        assert_eq!(member(i32::MAX), None);
        assert_eq!(cpu_of(std::process::id() as i32, &[i32::MAX]), None);
    }

    /// Else its waits for the network are taken for those for a disk (`judge/pressure.rs`).
    #[test]
    fn a_ring_of_io_uring_is_found_among_open_files() {
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let (me, other) = (std::process::id() as i32, child.id() as i32);
        let of_other = use_io_uring(&[other]);
        let ring = io_uring::IoUring::new(1);
        let of_both = use_io_uring(&[other, me]);
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!((of_other, use_io_uring(&[])), (Some(false), None));
        assert_eq!(use_io_uring(&[i32::MAX]), None, "whose files can't be seen");
        match ring {
            Ok(_) => assert_eq!(of_both, Some(true)),
            Err(_) => crate::skipped::skipped("io_uring is forbidden here"),
        }
    }

    #[test]
    fn a_listening_socket_is_found_by_its_inode() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let inode = procfs::net::tcp()
            .unwrap()
            .into_iter()
            .find(|entry| entry.local_address.port() == port)
            .unwrap()
            .inode;
        assert!(Sockets::of(std::process::id() as i32).has(inode));
    }
}
