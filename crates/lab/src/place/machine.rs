//! What the machine tells of itself.

use std::fs;
use std::path::Path;

use keeper::cgroup::Trees;
use procfs::Current;
use result::plan::Machine;
use rustix::process::Resource;

use super::processors::{self, Processors};

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
    let processors = Processors::read(Path::new(processors::SYSTEM), &cpus);
    Machine {
        cpu: cpuinfo
            .as_ref()
            .and_then(|info| info.model_name(0).map(str::to_string))
            .unwrap_or_default(),
        smt_siblings: processors.cores,
        numa_nodes: processors.numa_nodes,
        speeds: processors.speeds,
        cpu_quota_cores: Trees::of_this_process().cpu_quota_cores(),
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
    fn every_allowed_processor_is_on_one_core() {
        let machine = describe();
        let mut on_cores: Vec<usize> = machine.cores().concat();
        on_cores.sort_unstable();
        assert_eq!(on_cores, machine.cpus);
    }

    #[test]
    fn processors_of_cores_that_arent_told_count_as_one_core_each() {
        let machine = Machine { cpus: vec![0, 1], ..Machine::default() };
        assert_eq!(machine.cores(), [[0], [1]]);
    }
}
