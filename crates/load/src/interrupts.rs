//! Time that processors spend on interrupts, where the kernel counts it apart.
//!
//! Over loopback a packet is delivered within an interrupt of its sender. Most kernels count
//! that as CPU time of the program that they interrupt. With `CONFIG_IRQ_TIME_ACCOUNTING`, on
//! in the kernels of Fedora and its relatives, they count it as nobody's: who looks at the
//! programs' time alone takes a full core for one with time to spare.

use std::sync::OnceLock;

use rustix::param::clock_ticks_per_second;

/// Where the times of hardware and of software interrupts stand in a line of `/proc/stat`,
/// after user, nice, system, idle and I/O wait (proc_stat(5)).
const HARDWARE: usize = 5;
const SOFTWARE: usize = 6;

/// Seconds since the machine started that these processors spent on interrupts; `None` where
/// the kernel counts those as time of programs.
pub fn seconds_apart(cpus: &[usize]) -> Option<f64> {
    if !are_apart() {
        return None;
    }
    Some(ticks_apart(&stat()?, cpus)? as f64 / clock_ticks_per_second() as f64)
}

/// Whether the kernel counts interrupts apart from the time of programs.
pub fn are_apart() -> bool {
    // To read the file takes a while on a large machine.
    static ARE_APART: OnceLock<bool> = OnceLock::new();
    *ARE_APART.get_or_init(|| stat().is_some_and(|stat| ticks_apart(&stat, &[]).is_some()))
}

fn stat() -> Option<String> {
    std::fs::read_to_string("/proc/stat").ok()
}

/// From `/proc/stat`, in the kernel's ticks.
///
/// A kernel that counts by ticks alone never sees one come within a hardware interrupt,
/// which the tick is itself; one that takes the time of each has some after its first.
fn ticks_apart(stat: &str, cpus: &[usize]) -> Option<u64> {
    let times = |name: &str| -> Option<Vec<u64>> {
        let mut lines = stat.lines().map(str::split_ascii_whitespace);
        let line = lines.find_map(|mut words| (words.next()? == name).then_some(words))?;
        Some(line.map_while(|word| word.parse().ok()).collect())
    };
    if *times("cpu")?.get(HARDWARE)? == 0 {
        return None;
    }
    cpus.iter().try_fold(0, |all, cpu| {
        let times = times(&format!("cpu{cpu}"))?;
        Some(all + times.get(HARDWARE)? + times.get(SOFTWARE)?)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of a kernel that takes the time of each interrupt.
    const APART: &str = "cpu  900 8 700 500 9 60 330 4 0 0\n\
                         cpu0 500 4 400 200 5 40 230 2 0 0\n\
                         cpu1 400 4 300 300 4 20 100 2 0 0\n\
                         intr 12345\n";

    #[test]
    fn interrupts_that_are_counted_apart_are_those_of_the_processors_asked_for() {
        assert_eq!(ticks_apart(APART, &[0]), Some(270));
        assert_eq!(ticks_apart(APART, &[0, 1]), Some(390));
        assert_eq!(ticks_apart(APART, &[]), Some(0));
        assert_eq!(ticks_apart(APART, &[0, 7]), None, "there is no processor 7");
    }

    #[test]
    fn interrupts_that_are_counted_as_the_programs_are_not_counted_again() {
        let by_ticks = "cpu  900 8 700 500 9 0 330 4 0 0\ncpu0 900 8 700 500 9 0 330 4 0 0\n";
        assert_eq!(ticks_apart(by_ticks, &[0]), None);
    }

    #[test]
    fn what_is_no_such_file_tells_nothing() {
        for text in ["", "cpu", "cpu  1 2 3", "cpu0 1 2 3 4 5 6 7"] {
            assert_eq!(ticks_apart(text, &[0]), None, "{text}");
        }
    }
}
