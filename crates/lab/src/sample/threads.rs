//! Threads: what each used, and what its name tells of its work.
//!
//! A virtual machine gives its threads names, and the kernel counts CPU time a
//! thread: so it can be told from outside what compiling took, whichever
//! collector, version or setting a contender has.

use std::collections::{BTreeMap, HashMap};
use std::fs;

use keeper::proc_file;
use keeper::text::harmless;
use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity};

/// With more threads than these, reading them would take from what is measured.
const THREADS_MAX: usize = 1024;

/// What one thread has used since its start.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Thread {
    pub pid: i32,
    pub tid: i32,
    pub name: String,
    pub cpu_s: f64,
    /// Time that it was ready to run, and another ran.
    pub run_delay_s: f64,
    /// Times that it was given a processor.
    pub switches: u64,
}

/// Reads threads, and remembers their names: virtual machines give them before a
/// thread does anything else.
#[derive(Debug, Default)]
pub(super) struct Threads {
    names: HashMap<i32, String>,
}

impl Threads {
    /// The threads of these processes; `None` where the kernel doesn't tell, or
    /// they are too many.
    pub fn read(&mut self, pids: &[i32]) -> Option<Vec<Thread>> {
        let mut threads = Vec::new();
        for &pid in pids {
            for tid in numbers(pid) {
                // A thread may end while this looks.
                let folder = format!("/proc/{pid}/task/{tid}");
                let Some(line) = proc_file::line(&format!("{folder}/schedstat")) else { continue };
                let line = String::from_utf8(line).ok()?;
                let (cpu_s, run_delay_s, switches) = scheduled(&line)?;
                let name = self.names.entry(tid).or_insert_with(|| {
                    let name = proc_file::line(&format!("{folder}/comm")).unwrap_or_default();
                    harmless(&String::from_utf8_lossy(&name))
                });
                let name = name.clone();
                threads.push(Thread { pid, tid, name, cpu_s, run_delay_s, switches });
                if threads.len() > THREADS_MAX {
                    return None;
                }
            }
        }
        // Where the kernel has the file, but doesn't count, all are 0.
        threads.iter().any(|thread| thread.switches > 0).then_some(threads)
    }
}

/// The numbers of a process's threads; none if it is gone.
fn numbers(pid: i32) -> impl Iterator<Item = i32> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    tasks.filter_map(|it| it.file_name().to_str()?.parse().ok())
}

/// The processors that each thread of these processes may run on, by its number: it may
/// have bound itself. Those that end while this looks are left out.
pub(super) fn allowed(pids: &[i32]) -> BTreeMap<i32, Vec<usize>> {
    let threads = pids.iter().flat_map(|&pid| numbers(pid)).take(THREADS_MAX);
    let allowed = threads.filter_map(|tid| {
        let set = sched_getaffinity(Pid::from_raw(tid)).ok()?;
        let cpus: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|&cpu| set.is_set(cpu)).collect();
        Some((tid, cpus))
    });
    allowed.collect()
}

/// From `CPU-ns waiting-ns times`.
fn scheduled(text: &str) -> Option<(f64, f64, u64)> {
    let mut numbers = text.split_whitespace().map(|word| word.parse::<u64>().ok());
    let (cpu, delay, switches) = (numbers.next()??, numbers.next()??, numbers.next()??);
    Some((cpu as f64 / 1e9, delay as f64 / 1e9, switches))
}

/// A name without its numbers, so that threads of one kind have one name.
pub(super) fn kind(name: &str) -> String {
    let mut kind = String::with_capacity(name.len());
    for c in name.chars() {
        match c.is_ascii_digit() {
            true if kind.ends_with('N') => {}
            true => kind.push('N'),
            false => kind.push(c),
        }
    }
    kind
}

/// Whether a thread of this name compiles for HotSpot, and does nothing else.
/// The kernel keeps 15 bytes of `C2 CompilerThread0`.
pub(super) fn is_hotspot_compiler(name: &str) -> bool {
    ["C1 Compiler", "C2 Compiler", "JVMCI Compiler"].iter().any(|known| name.starts_with(known))
}

/// Whether only HotSpot has a thread of this name.
pub(super) fn is_hotspot(name: &str) -> bool {
    is_hotspot_compiler(name) || name.starts_with("VM Periodic")
}

/// Whether only the Erlang VM has a thread of this name: `erts_sched_1` from
/// version 26 on, `1_scheduler` before.
pub(super) fn is_erlang(name: &str) -> bool {
    matches!(&*kind(name), "erts_sched_N" | "N_scheduler")
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use keeper::affinity::pin;

    use super::*;

    #[test]
    fn numbers_in_names_are_left_out() {
        assert_eq!(kind("GC Thread#11"), "GC Thread#N");
        assert_eq!(kind("12_dirty_cpu_sch"), "N_dirty_cpu_sch");
        assert_eq!(kind("nginx"), "nginx");
        assert_eq!(kind(""), "");
    }

    #[test]
    fn virtual_machines_are_known_by_their_threads() {
        assert!(is_hotspot("VM Periodic Tas") && is_hotspot("C1 CompilerThre"));
        assert!(!is_hotspot("java") && !is_hotspot_compiler("VM Periodic Tas"));
        assert!(is_erlang("1_scheduler") && is_erlang("erts_sched_12"));
        assert!(!is_erlang("1_dirty_cpu_sch") && !is_erlang("scheduler"));
    }

    #[test]
    fn the_schedulers_numbers_are_read() {
        assert_eq!(scheduled("1500000000 250000000 42\n"), Some((1.5, 0.25, 42)));
        assert_eq!(scheduled("1500000000 250000000\n"), None);
        assert_eq!(scheduled(""), None);
    }

    #[test]
    fn where_a_thread_may_run_is_told_of_each() {
        let all = load::allowed_cpus().unwrap();
        let (one, many) = (all[all.len() - 1..].to_vec(), all);
        let of_child = |cpus: &[usize]| {
            // What it starts inherits where it may run.
            pin(cpus).unwrap();
            let mut child = Command::new("sleep").arg("60").spawn().unwrap();
            let pid = child.id() as i32;
            let allowed = allowed(&[pid]);
            child.kill().unwrap();
            child.wait().unwrap();
            (allowed, BTreeMap::from([(pid, cpus.to_vec())]))
        };
        // In a thread that ends, so that no other test is bound by it.
        let children = std::thread::scope(|scope| {
            let bound = scope.spawn(|| [of_child(&one), of_child(&many)]);
            bound.join().unwrap()
        });
        for (told, expected) in children {
            assert_eq!(told, expected);
        }
        assert!(allowed(&[i32::MAX]).is_empty(), "it is gone");
    }

    #[test]
    fn a_thread_is_seen_by_its_name() {
        let (stop, stopped) = std::sync::mpsc::channel::<()>();
        let thread = std::thread::Builder::new().name("seen-here".into());
        let thread = thread.spawn(move || stopped.recv()).unwrap();
        let mut threads = Threads::default();
        let seen = threads.read(&[std::process::id() as i32]);
        drop(stop);
        let _ = thread.join().unwrap();
        let Some(seen) = seen else {
            crate::skipped::skipped("this kernel doesn't count by thread");
            return;
        };
        // Its name is set by the thread itself, maybe later than this looked.
        assert!(seen.len() >= 2, "{seen:?}");
        assert!(seen.iter().any(|thread| thread.cpu_s > 0.0), "{seen:?}");
        assert_eq!(threads.read(&[i32::MAX]), None);
    }
}
