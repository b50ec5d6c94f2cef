//! What control groups count, of either version.

use std::fs;
use std::path::{Path, PathBuf};

use super::{Group, Trees};
use crate::proc_file;

/// What a group counted since it was made.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Counted {
    /// CPU seconds of all that was ever in it.
    pub cpu_s: Option<f64>,
    /// CPU seconds of that in the kernel.
    pub system_cpu_s: Option<f64>,
    /// The most memory that it held.
    pub memory_peak_bytes: Option<u64>,
    /// Memory in files that have none on a disk: of memfd_create(2), in `/dev/shm` and other
    /// tmpfs, and System V's. It counts whether a process maps it or not.
    pub shared_bytes: Option<u64>,
    /// Processes that were killed because its memory was used up.
    pub oom_kills: Option<u64>,
    /// Bytes read from disks, and written to them.
    pub io_bytes: Option<(u64, u64)>,
    /// Time that its tasks waited.
    pub pressure: Pressure,
}

/// Seconds in which at least one task waited for it.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Pressure {
    /// A processor.
    pub cpu_s: Option<f64>,
    /// Memory.
    pub memory_s: Option<f64>,
    /// A disk.
    pub io_s: Option<f64>,
}

/// How often groups were kept from running by their CPU quota.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Throttled {
    /// Periods in which the quota was used up.
    pub periods: u64,
    /// Time that tasks were kept from running.
    pub seconds: f64,
}

const NS: f64 = 1e9;
const US: f64 = 1e6;

impl Group {
    /// Its CPU seconds, which is all that is read several times a second.
    pub fn cpu_s(&self) -> Option<f64> {
        let v2 = || Some(number(&read(&self.v2, "cpu.stat")?, "usage_usec")? as f64 / US);
        let v1 = || Some(read(&self.cpuacct, "cpuacct.usage")?.trim().parse::<f64>().ok()? / NS);
        v2().or_else(v1)
    }

    /// All that it counts. `cpu.stat` and the pressure files are there in version
    /// 2 whichever controllers are on.
    pub fn counted(&self) -> Counted {
        let bytes = |folder, file| read(folder, file)?.trim().parse().ok();
        let system_v2 = || Some(number(&read(&self.v2, "cpu.stat")?, "system_usec")? as f64 / US);
        let system_v1 = || {
            let ticks = number(&read(&self.cpuacct, "cpuacct.stat")?, "system")?;
            Some(ticks as f64 / procfs::ticks_per_second() as f64)
        };
        let shared_v2 = || number(&read(&self.v2, "memory.stat")?, "shmem");
        let shared_v1 = || number(&read(&self.memory, "memory.stat")?, "total_shmem");
        let oom_v2 = || number(&read(&self.v2, "memory.events")?, "oom_kill");
        let oom_v1 = || number(&read(&self.memory, "memory.oom_control")?, "oom_kill");
        Counted {
            cpu_s: self.cpu_s(),
            system_cpu_s: system_v2().or_else(system_v1),
            memory_peak_bytes: bytes(&self.v2, "memory.peak")
                .or_else(|| bytes(&self.memory, "memory.max_usage_in_bytes")),
            shared_bytes: shared_v2().or_else(shared_v1),
            oom_kills: oom_v2().or_else(oom_v1),
            io_bytes: read(&self.v2, "io.stat").map(|text| io_v2(&text)).or_else(|| {
                let file = "blkio.throttle.io_service_bytes_recursive";
                read(&self.blkio, file).map(|text| io_v1(&text))
            }),
            pressure: self.v2.as_deref().map(|v2| pressure(v2, ".pressure")).unwrap_or_default(),
        }
    }
}

impl Trees {
    /// The tightest CPU quota that holds for this process, in cores.
    pub fn cpu_quota_cores(&self) -> Option<f64> {
        let quota = |folder: &PathBuf| {
            let text = |file| fs::read_to_string(folder.join(file)).ok();
            let v2 = || quota_v2(&text("cpu.max")?);
            let v1 = || quota_v1(&text("cpu.cfs_quota_us")?, &text("cpu.cfs_period_us")?);
            v2().or_else(v1)
        };
        self.with_cpu_quota().iter().filter_map(quota).reduce(f64::min)
    }

    /// The tightest limit to memory that holds for this process.
    pub fn memory_limit_bytes(&self) -> Option<u64> {
        let limit = |folder: &PathBuf| {
            let text = |file| fs::read_to_string(folder.join(file)).ok();
            let limit = text("memory.max").or_else(|| text("memory.limit_in_bytes"))?;
            memory_limit(&limit)
        };
        self.with_memory_limit().iter().filter_map(limit).min()
    }

    /// How often the quota of a group that this process is in was used up. `None`
    /// where no group can be seen that could have one.
    pub fn throttled(&self) -> Option<Throttled> {
        throttled(&self.with_cpu_quota())
    }
}

fn throttled(folders: &[PathBuf]) -> Option<Throttled> {
    let texts = folders.iter().filter_map(|it| proc_file::text(it.join("cpu.stat")));
    texts.fold(None, |sum: Option<Throttled>, text| {
        let Throttled { periods, seconds } = sum.unwrap_or_default();
        // Absent where the controller is off, so that there can be no quota.
        let micros = number(&text, "throttled_usec").map(|micros| micros as f64 / US);
        let nanos = number(&text, "throttled_time").map(|nanos| nanos as f64 / NS);
        Some(Throttled {
            periods: periods + number(&text, "nr_throttled").unwrap_or(0),
            seconds: seconds + micros.or(nanos).unwrap_or(0.0),
        })
    })
}

fn read(folder: &Option<PathBuf>, file: &str) -> Option<String> {
    proc_file::text(folder.as_ref()?.join(file))
}

/// A number of a file with a name and a number a line.
fn number(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))?;
    line.trim().parse().ok()
}

/// Time under pressure, from the files of a folder whose names end so: those of
/// a group have `.pressure`, those of the machine in `/proc/pressure` nothing.
pub fn pressure(folder: &Path, suffix: &str) -> Pressure {
    let of = |what: &str| {
        let text = proc_file::text(folder.join(format!("{what}{suffix}")))?;
        some_pressure_s(&text)
    };
    Pressure { cpu_s: of("cpu"), memory_s: of("memory"), io_s: of("io") }
}

/// From `some avg10=… avg60=… avg300=… total=µs`.
fn some_pressure_s(text: &str) -> Option<f64> {
    let line = text.lines().find_map(|line| line.strip_prefix("some "))?;
    let total = line.split(' ').find_map(|word| word.strip_prefix("total="))?;
    Some(total.parse::<u64>().ok()? as f64 / US)
}

/// Bytes read and written: `8:0 rbytes=… wbytes=… …`, a line a disk.
fn io_v2(text: &str) -> (u64, u64) {
    let sum = |name: &str| -> u64 {
        let words = text.split_whitespace().filter_map(|word| word.strip_prefix(name));
        words.filter_map(|number| number.parse::<u64>().ok()).sum()
    };
    (sum("rbytes="), sum("wbytes="))
}

/// The same of version 1: `8:0 Read …` and `8:0 Write …`.
fn io_v1(text: &str) -> (u64, u64) {
    let sum = |name: &str| -> u64 {
        let lines = text.lines().filter_map(|line| line.split_once(' ')?.1.strip_prefix(name));
        lines.filter_map(|number| number.trim().parse::<u64>().ok()).sum()
    };
    (sum("Read "), sum("Write "))
}

/// `max 100000`, or the quota and its period, in µs.
fn quota_v2(text: &str) -> Option<f64> {
    let (quota, period) = text.trim().split_once(' ')?;
    quota_v1(quota, period)
}

/// -1 is no quota.
fn quota_v1(quota: &str, period: &str) -> Option<f64> {
    let quota: f64 = quota.trim().parse().ok()?;
    let period: f64 = period.trim().parse().ok()?;
    (quota > 0.0 && period > 0.0).then_some(quota / period)
}

/// No limit is `max`, and with version 1 about the largest number of pages.
fn memory_limit(text: &str) -> Option<u64> {
    text.trim().parse().ok().filter(|&bytes: &u64| bytes < 1 << 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder with files.
    fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            fs::write(folder.path().join(name), text).unwrap();
        }
        folder
    }

    #[test]
    fn version_2_is_read() {
        let files = folder(&[
            (
                "cpu.stat",
                "usage_usec 1500000\nuser_usec 500000\nsystem_usec 1000000\nnr_periods 0\n",
            ),
            ("memory.peak", "4096\n"),
            ("memory.stat", "anon 1\nshmem 2048\nshmem_thp 9\n"),
            ("memory.events", "low 0\noom 3\noom_kill 2\noom_group_kill 0\n"),
            ("io.stat", "8:0 rbytes=10 wbytes=20 rios=1\n259:0 rbytes=1 wbytes=2 rios=1\n"),
            ("cpu.pressure", "some avg10=0.00 avg60=0.00 avg300=0.00 total=2500000\n"),
        ]);
        let group = Group { v2: Some(files.path().into()), ..Group::default() };
        assert_eq!(
            group.counted(),
            Counted {
                cpu_s: Some(1.5),
                system_cpu_s: Some(1.0),
                memory_peak_bytes: Some(4096),
                shared_bytes: Some(2048),
                oom_kills: Some(2),
                io_bytes: Some((11, 22)),
                pressure: Pressure { cpu_s: Some(2.5), memory_s: None, io_s: None },
            }
        );
    }

    #[test]
    fn version_1_is_read() {
        let files = folder(&[
            ("cpuacct.usage", "2500000000\n"),
            ("cpuacct.stat", "user 50\nsystem 200\n"),
            ("memory.max_usage_in_bytes", "8192\n"),
            ("memory.stat", "shmem 1\ntotal_shmem 512\n"),
            ("memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n"),
            (
                "blkio.throttle.io_service_bytes_recursive",
                "8:0 Read 5\n8:0 Write 7\n8:0 Sync 12\n8:0 Total 12\nTotal 12\n",
            ),
        ]);
        let path = Some(files.path().to_path_buf());
        let group = Group { v2: None, cpuacct: path.clone(), memory: path.clone(), blkio: path };
        assert_eq!(
            group.counted(),
            Counted {
                cpu_s: Some(2.5),
                system_cpu_s: Some(200.0 / procfs::ticks_per_second() as f64),
                memory_peak_bytes: Some(8192),
                shared_bytes: Some(512),
                oom_kills: Some(1),
                io_bytes: Some((5, 7)),
                pressure: Pressure::default(),
            }
        );
    }

    #[test]
    fn what_a_kernel_does_not_count_is_none() {
        let files = folder(&[("cpu.stat", "nothing of use\n"), ("memory.peak", "many\n")]);
        let group = Group { v2: Some(files.path().into()), ..Group::default() };
        assert_eq!(group.counted(), Counted::default());
        assert_eq!(Group::default().counted(), Counted::default());
    }

    #[test]
    fn a_quota_that_was_used_up_anywhere_above_is_seen() {
        let v2 = folder(&[("cpu.stat", "usage_usec 9\nnr_throttled 3\nthrottled_usec 1500000\n")]);
        let v1 =
            folder(&[("cpu.stat", "nr_periods 9\nnr_throttled 2\nthrottled_time 500000000\n")]);
        let off = folder(&[("cpu.stat", "usage_usec 9\n")]);
        let of = |folders: &[&tempfile::TempDir]| {
            throttled(&folders.iter().map(|it| it.path().to_path_buf()).collect::<Vec<_>>())
        };
        assert_eq!(of(&[&v2, &v1, &off]), Some(Throttled { periods: 5, seconds: 2.0 }));
        assert_eq!(of(&[&off]), Some(Throttled::default()), "a group without quota can be seen");
        assert_eq!(of(&[]), None, "no group can be seen");
    }

    #[test]
    fn no_limit_is_none() {
        assert_eq!(quota_v2("max 100000\n"), None);
        assert_eq!(quota_v2("150000 100000\n"), Some(1.5));
        assert_eq!(quota_v1("-1\n", "100000\n"), None);
        assert_eq!(quota_v1("50000\n", "100000\n"), Some(0.5));
        assert_eq!(memory_limit("max\n"), None);
        assert_eq!(memory_limit("9223372036854771712\n"), None);
        assert_eq!(memory_limit("1073741824\n"), Some(1 << 30));
    }
}
