//! The descendants of a process, and what they have used.

use std::collections::HashSet;
use std::fs;

use procfs::process::{FDTarget, Process};

/// All living descendants of a process, nearest first, without itself.
///
/// A process may fork while this looks, so a killer has to look again until
/// nobody is left.
pub fn descendants(root: i32) -> Vec<i32> {
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

/// What a tree of processes has used since its start, and holds now.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Usage {
    /// CPU seconds, those of ended and reaped members included.
    pub cpu_s: f64,
    /// Resident memory, in bytes. Pages that members share count once each.
    pub rss_bytes: u64,
    /// Threads.
    pub threads: u32,
    /// Bytes handed to the disks; `None` where the kernel doesn't tell.
    pub disk_write_bytes: Option<u64>,
    /// Context switches of the threads that live, wanted or not; `None` where the
    /// kernel doesn't tell.
    pub context_switches: Option<u64>,
}

/// What the descendants of `root` have used; `root` itself is left out, but its
/// ended children are counted. `None` where nobody is alive.
pub fn usage(root: i32) -> Option<Usage> {
    let ticks = procfs::ticks_per_second() as f64;
    let page = procfs::page_size();
    let mut usage =
        Usage { disk_write_bytes: Some(0), context_switches: Some(0), ..Usage::default() };
    let mut alive = false;
    for pid in descendants(root) {
        let Ok(process) = Process::new(pid) else { continue };
        let Ok(stat) = process.stat() else { continue };
        alive = true;
        let reaped = (stat.cutime + stat.cstime).max(0) as u64;
        usage.cpu_s += (stat.utime + stat.stime + reaped) as f64 / ticks;
        usage.rss_bytes += stat.rss * page;
        usage.threads += stat.num_threads.max(0) as u32;
        let written = process.io().ok().map(|io| io.write_bytes);
        usage.disk_write_bytes = usage.disk_write_bytes.zip(written).map(|(sum, own)| sum + own);
        let switches = context_switches(pid);
        usage.context_switches = usage.context_switches.zip(switches).map(|(sum, own)| sum + own);
    }
    let keeper = Process::new(root).and_then(|process| process.stat()).ok()?;
    usage.cpu_s += (keeper.cutime + keeper.cstime).max(0) as f64 / ticks;
    alive.then_some(usage)
}

/// The parent of the kernel's threads; no program of a user can be its child.
const KTHREADD: i32 = 2;

/// CPU seconds of all processes that can be seen, their ended children among
/// them: so what a short-lived process used is not lost, but turns up with its
/// parent. The kernel's threads for network traffic are left out: under load,
/// what they do is the load's own.
pub fn cpu_of_all() -> Option<f64> {
    let ticks = procfs::ticks_per_second() as f64;
    let used = procfs::process::all_processes().ok()?.flatten().filter_map(|process| {
        let stat = process.stat().ok()?;
        let is_traffic = stat.ppid == KTHREADD && stat.comm.starts_with("ksoftirqd/");
        (!is_traffic)
            .then_some((stat.utime + stat.stime) as f64 + (stat.cutime + stat.cstime).max(0) as f64)
    });
    Some(used.sum::<f64>() / ticks)
}

/// Context switches of a process's threads.
fn context_switches(pid: i32) -> Option<u64> {
    let mut sum = 0;
    for task in fs::read_dir(format!("/proc/{pid}/task")).ok()?.flatten() {
        // A thread may end while this looks.
        let Ok(status) = fs::read_to_string(task.path().join("status")) else { continue };
        let counts = status
            .lines()
            .filter_map(|line| line.split_once("voluntary_ctxt_switches:"))
            .map(|(_, count)| count.trim().parse::<u64>().ok());
        sum += counts.sum::<Option<u64>>()?;
    }
    Some(sum)
}

/// The sockets that a process and its descendants hold, by inode.
pub fn sockets(root: i32) -> HashSet<u64> {
    std::iter::once(root)
        .chain(descendants(root))
        .filter_map(|pid| Process::new(pid).ok()?.fd().ok())
        .flatten()
        .flatten()
        .filter_map(|fd| match fd.target {
            FDTarget::Socket(inode) => Some(inode),
            _ => None,
        })
        .collect()
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
        // Until the grandchild is `sleep`, it is about to lose the memory it has;
        // until it sleeps, nothing was switched.
        let is_sleep = |pid: &i32| {
            std::fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name == "sleep\n")
        };
        let sleeps = || {
            let usage = usage(child.id() as i32);
            usage.is_some_and(|usage| usage.rss_bytes > 0 && usage.context_switches > Some(0))
        };
        let deadline = Instant::now() + Duration::from_secs(10);
        let tree = loop {
            let tree = descendants(child.id() as i32);
            if tree.first().is_some_and(is_sleep) && sleeps() || Instant::now() > deadline {
                break tree;
            }
            std::thread::yield_now();
        };
        assert!(descendants(me).contains(&tree[0]), "a grandchild is a descendant too");
        let usage = usage(child.id() as i32).expect("the grandchild is alive");
        assert!(usage.rss_bytes > 0 && usage.threads == 1, "{usage:?}");
        assert!(usage.context_switches > Some(0), "it was switched to at least once");
        let grandchild = rustix::process::Pid::from_raw(tree[0]).unwrap();
        rustix::process::kill_process(grandchild, rustix::process::Signal::KILL).unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn a_process_without_descendants_has_used_nothing_that_could_be_told() {
        assert_eq!(usage(i32::MAX), None);
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
        assert!(sockets(std::process::id() as i32).contains(&inode));
    }
}
