//! What the machine tells of itself.

use std::fs;

use procfs::Current;
use result::plan::Machine;
use rustix::process::Resource;

/// Settings of the kernel that decide what load can arrive.
const SYSCTL: [&str; 12] = [
    "fs.file-max",
    "kernel.io_uring_disabled",
    "net.core.netdev_max_backlog",
    "net.core.rmem_max",
    "net.core.somaxconn",
    "net.core.wmem_max",
    "net.ipv4.ip_local_port_range",
    "net.ipv4.tcp_fin_timeout",
    "net.ipv4.tcp_max_syn_backlog",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_syncookies",
    "net.ipv4.tcp_wmem",
];

/// Asks the machine. What it doesn't tell is missing.
pub fn describe() -> Machine {
    let cpuinfo = procfs::CpuInfo::current().ok();
    let cpus = load::allowed_cpus().unwrap_or_default();
    Machine {
        cpu: cpuinfo
            .as_ref()
            .and_then(|info| info.model_name(0).map(str::to_string))
            .unwrap_or_default(),
        smt_siblings: smt_siblings(&cpus, siblings_of),
        memory_bytes: procfs::Meminfo::current().ok().map(|memory| memory.mem_total),
        kernel: {
            let name = rustix::system::uname();
            format!("{} {}", name.sysname().to_string_lossy(), name.release().to_string_lossy())
        },
        distribution: distribution(),
        virtual_machine: cpuinfo
            .and_then(|info| info.flags(0).map(|flags| flags.contains(&"hypervisor"))),
        open_files_max: rustix::process::getrlimit(Resource::Nofile).maximum.unwrap_or(u64::MAX),
        sysctl: SYSCTL.iter().filter_map(|name| Some((name.to_string(), sysctl(name)?))).collect(),
        cpus,
    }
}

/// Those of the processors that share a physical core, as groups; none where one's siblings
/// aren't told.
fn smt_siblings(
    cpus: &[usize],
    siblings_of: impl Fn(usize) -> Option<Vec<usize>>,
) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for &cpu in cpus {
        if groups.iter().any(|group| group.contains(&cpu)) {
            continue;
        }
        let Some(mut group) = siblings_of(cpu) else { return Vec::new() };
        group.retain(|sibling| cpus.contains(sibling));
        groups.push(group);
    }
    groups
}

/// The processors that share a processor's physical core, itself among them.
fn siblings_of(cpu: usize) -> Option<Vec<usize>> {
    let path = format!("/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list");
    cpu_list(fs::read_to_string(path).ok()?.trim())
}

/// Reads a list of processors as the kernel writes it: `0-2,8`.
fn cpu_list(text: &str) -> Option<Vec<usize>> {
    let mut cpus = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        cpus.extend(first.parse::<usize>().ok()?..=last.parse().ok()?);
    }
    Some(cpus)
}

fn distribution() -> String {
    let text = fs::read_to_string("/etc/os-release").unwrap_or_default();
    text.lines()
        .find_map(|line| line.strip_prefix("PRETTY_NAME="))
        .map(|name| name.trim_matches('"').to_string())
        .unwrap_or_default()
}

fn sysctl(name: &str) -> Option<String> {
    let text = fs::read_to_string(format!("/proc/sys/{}", name.replace('.', "/"))).ok()?;
    Some(text.split_whitespace().collect::<Vec<_>>().join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_lists_of_processors_are_read() {
        assert_eq!(cpu_list("0-2,8"), Some(vec![0, 1, 2, 8]));
        assert_eq!(cpu_list("3"), Some(vec![3]));
        assert_eq!(cpu_list(""), None);
    }

    #[test]
    fn every_allowed_processor_is_on_one_core() {
        let machine = describe();
        let mut on_cores: Vec<usize> = machine.cores().concat();
        on_cores.sort_unstable();
        assert_eq!(on_cores, machine.cpus);
    }

    #[test]
    fn siblings_that_arent_told_are_not_made_up() {
        let told = |cpu: usize| Some(vec![cpu % 2, cpu % 2 + 2]);
        assert_eq!(smt_siblings(&[0, 1, 2], told), [vec![0, 2], vec![1]]);
        let told_of_one = |cpu: usize| (cpu == 0).then(|| vec![0]);
        assert!(smt_siblings(&[0, 1], told_of_one).is_empty());
        let machine = Machine { cpus: vec![0, 1], ..Machine::default() };
        assert_eq!(machine.cores(), [[0], [1]]);
    }
}
