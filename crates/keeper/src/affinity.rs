//! On which processors a thread runs.

use std::io;

use rustix::thread::CpuSet;

/// Binds the calling thread, and all that it starts, to the processors.
pub fn pin(cpus: &[usize]) -> io::Result<()> {
    let mut set = CpuSet::new();
    // More than these a set can't hold.
    for &cpu in cpus.iter().filter(|&&cpu| cpu < CpuSet::MAX_CPU) {
        set.set(cpu);
    }
    rustix::thread::sched_setaffinity(None, &set).map_err(io::Error::from)
}

/// The processors that the calling thread may run on.
///
/// # Errors
/// As the kernel tells.
pub fn allowed() -> io::Result<Vec<usize>> {
    let set = rustix::thread::sched_getaffinity(None)?;
    Ok((0..CpuSet::MAX_CPU).filter(|&cpu| set.is_set(cpu)).collect())
}

/// A thread that runs on other processors until this is dropped; where they were before if it
/// can't be moved.
pub struct Moved(Option<CpuSet>);

impl Moved {
    /// Moves the calling thread, and all that it starts meanwhile.
    pub fn to(cpus: &[usize]) -> Moved {
        let before = rustix::thread::sched_getaffinity(None).ok();
        Moved(before.filter(|_| pin(cpus).is_ok()))
    }
}

impl Drop for Moved {
    fn drop(&mut self) {
        if let Some(before) = &self.0 {
            let _ = rustix::thread::sched_setaffinity(None, before);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_elsewhere_with_all_that_it_starts_until_it_is_back() {
        let allowed = || allowed().unwrap();
        let before = allowed();
        let last = before[before.len() - 1];
        let moved = Moved::to(&[last]);
        assert_eq!(allowed(), [last]);
        assert_eq!(std::thread::spawn(allowed).join().unwrap(), [last]);
        drop(moved);
        assert_eq!(allowed(), before);
        drop(Moved::to(&[]));
        assert_eq!(allowed(), before, "it can't be nowhere");
    }
}
