//! How the kernel describes the processors of a machine, in files below `/sys/devices/system`.

use std::cmp::Reverse;
use std::fs;
use std::path::Path;

/// Where the kernel has these files.
pub(super) const SYSTEM: &str = "/sys/devices/system";

/// Processors whose top speeds differ by less count as equally fast: the best cores of a kind
/// may be given some percent more than the rest of that kind.
const SPEED_TOLERANCE: f64 = 0.1;

/// Some of a machine's processors, in groups. Where the kernel doesn't tell of one of them,
/// there are no groups.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Processors {
    /// Those that share a physical core.
    pub cores: Vec<Vec<usize>>,
    /// Those of one NUMA node, next to the same memory.
    pub numa_nodes: Vec<Vec<usize>>,
    /// Those that are equally fast, the fastest first.
    pub speeds: Vec<Vec<usize>>,
}

impl Processors {
    /// Those of these numbers, as the files below `system` describe them.
    pub fn read(system: &Path, cpus: &[usize]) -> Processors {
        let groups = |groups: Option<Vec<Vec<usize>>>| groups.unwrap_or_default();
        Processors {
            cores: groups(cores(system, cpus)),
            numa_nodes: groups(numa_nodes(system, cpus)),
            speeds: groups(speeds(system, cpus)),
        }
    }
}

/// The processors of this machine that share a processor's physical core, itself among them.
pub(crate) fn siblings(cpu: usize) -> Option<Vec<usize>> {
    siblings_of(Path::new(SYSTEM), cpu)
}

fn siblings_of(system: &Path, cpu: usize) -> Option<Vec<usize>> {
    list_in(&system.join(format!("cpu/cpu{cpu}/topology/thread_siblings_list")))
}

fn cores(system: &Path, cpus: &[usize]) -> Option<Vec<Vec<usize>>> {
    let mut cores: Vec<Vec<usize>> = Vec::new();
    for &cpu in cpus {
        if !cores.iter().any(|core| core.contains(&cpu)) {
            cores.push(among(cpus, &siblings_of(system, cpu)?));
        }
    }
    Some(cores)
}

fn numa_nodes(system: &Path, cpus: &[usize]) -> Option<Vec<Vec<usize>>> {
    let name = |entry: fs::DirEntry| entry.file_name().into_string().ok();
    let names = fs::read_dir(system.join("node")).ok()?.flatten().filter_map(name);
    let mut numbers: Vec<usize> =
        names.filter_map(|name| name.strip_prefix("node")?.parse().ok()).collect();
    numbers.sort_unstable();
    let list = |number: usize| list_in(&system.join(format!("node/node{number}/cpulist")));
    // One may have memory alone.
    let nodes = numbers.into_iter().filter_map(list).map(|node| among(cpus, &node));
    let nodes: Vec<Vec<usize>> = nodes.filter(|node| !node.is_empty()).collect();
    cpus.iter().all(|cpu| nodes.iter().any(|node| node.contains(cpu))).then_some(nodes)
}

fn speeds(system: &Path, cpus: &[usize]) -> Option<Vec<Vec<usize>>> {
    // What the scheduler takes a processor for, where these differ, or else its highest
    // frequency. The two have different units, so that all must have the same.
    let of_all = |file: &str| {
        let speed = |&cpu: &usize| {
            let text = fs::read_to_string(system.join(format!("cpu/cpu{cpu}/{file}"))).ok()?;
            Some((cpu, text.trim().parse::<u64>().ok()?))
        };
        cpus.iter().map(speed).collect::<Option<Vec<_>>>()
    };
    let mut speeds = of_all("cpu_capacity").or_else(|| of_all("cpufreq/cpuinfo_max_freq"))?;
    speeds.sort_by_key(|&(cpu, speed)| (Reverse(speed), cpu));
    let is_alike =
        |a: &(usize, u64), b: &(usize, u64)| b.1 as f64 >= a.1 as f64 * (1.0 - SPEED_TOLERANCE);
    let mut groups: Vec<Vec<(usize, u64)>> = Vec::new();
    for one in speeds {
        match groups.last_mut().filter(|group| is_alike(&group[0], &one)) {
            Some(group) => group.push(one),
            None => groups.push(vec![one]),
        }
    }
    let numbers = |group: Vec<(usize, u64)>| {
        let mut cpus: Vec<usize> = group.into_iter().map(|(cpu, _)| cpu).collect();
        cpus.sort_unstable();
        cpus
    };
    Some(groups.into_iter().map(numbers).collect())
}

fn among(cpus: &[usize], of: &[usize]) -> Vec<usize> {
    of.iter().copied().filter(|cpu| cpus.contains(cpu)).collect()
}

/// Reads a list of processors as the kernel writes it: `0-2,8`.
fn list_in(file: &Path) -> Option<Vec<usize>> {
    let text = fs::read_to_string(file).ok()?;
    let mut cpus = Vec::new();
    for part in text.trim().split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        cpus.extend(first.parse::<usize>().ok()?..=last.parse().ok()?);
    }
    Some(cpus)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The files of a machine, each by its path below `system`.
    fn machine(files: &[(&str, &str)]) -> tempfile::TempDir {
        let system = tempfile::tempdir().unwrap();
        for (file, text) in files {
            let path = system.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, format!("{text}\n")).unwrap();
        }
        system
    }

    /// As a laptop with two fast cores of two processors and four slow ones describes itself.
    #[test]
    fn a_recorded_machine_with_two_kinds_of_cores_is_read() {
        let recorded = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/hybrid");
        let read = |cpus: &[usize]| Processors::read(&recorded, cpus);
        let all = read(&[0, 1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(all.cores, [vec![0, 1], vec![2, 3], vec![4], vec![5], vec![6], vec![7]]);
        assert_eq!(all.numa_nodes, [[0, 1, 2, 3, 4, 5, 6, 7]]);
        assert_eq!(all.speeds, [[0, 1, 2, 3], [4, 5, 6, 7]], "5.0 and 5.2 GHz are one kind");
        let part = read(&[1, 2, 6]);
        assert_eq!(part.cores, [[1], [2], [6]], "the siblings belong to somebody else");
        assert_eq!(part.speeds, [vec![1, 2], vec![6]]);
    }

    #[test]
    fn the_schedulers_word_comes_before_frequencies() {
        let system = machine(&[
            ("cpu/cpu0/cpu_capacity", "446"),
            ("cpu/cpu1/cpu_capacity", "1024"),
            ("cpu/cpu0/cpufreq/cpuinfo_max_freq", "2000000"),
            ("cpu/cpu1/cpufreq/cpuinfo_max_freq", "2000000"),
        ]);
        assert_eq!(Processors::read(system.path(), &[0, 1]).speeds, [[1], [0]]);
    }

    #[test]
    fn a_node_of_memory_alone_has_no_processors() {
        let system = machine(&[
            ("node/node0/cpulist", "0-1,4"),
            ("node/node1/cpulist", "2-3"),
            ("node/node2/cpulist", ""),
            ("node/possible", "0-2"),
        ]);
        let nodes = |cpus: &[usize]| Processors::read(system.path(), cpus).numa_nodes;
        assert_eq!(nodes(&[0, 1, 2, 3, 4]), [vec![0, 1, 4], vec![2, 3]]);
        assert_eq!(nodes(&[3]), [[3]]);
        assert!(nodes(&[0, 9]).is_empty(), "of 9 nobody tells");
    }

    #[test]
    fn what_isnt_told_is_not_made_up() {
        let system = machine(&[
            ("cpu/cpu0/topology/thread_siblings_list", "0"),
            ("cpu/cpu0/cpufreq/cpuinfo_max_freq", "2000000"),
        ]);
        assert_eq!(Processors::read(system.path(), &[0, 1]), Processors::default());
    }

    #[test]
    fn the_kernels_lists_of_processors_are_read() {
        let system = machine(&[("range", "0-2,8"), ("one", "3"), ("none", ""), ("bad", "0-x")]);
        let read = |file| list_in(&system.path().join(file));
        assert_eq!(read("range"), Some(vec![0, 1, 2, 8]));
        assert_eq!(read("one"), Some(vec![3]));
        assert_eq!((read("none"), read("bad"), read("missing")), (None, None, None));
    }
}
