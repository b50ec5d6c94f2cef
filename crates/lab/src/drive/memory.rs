//! How much memory a contender holds: at a moment, and again and again.

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use keeper::process_tree;
use load::Moment;

/// Between two readings.
const READ_EVERY: Duration = Duration::from_millis(50);

/// A moment, and the resident bytes of all processes of a contender.
pub(super) type Held = (Moment, u64);

/// The resident memory of all descendants of a process, in bytes; `None` where none is seen.
pub(super) fn resident_bytes(root: i32) -> Option<u64> {
    let pids = process_tree::descendants(root);
    pids.into_iter().filter_map(process_tree::rss_bytes).reduce(|all, one| all + one)
}

/// The same again and again, until the other end of this is dropped.
pub(super) fn watched(root: i32, over: &Receiver<()>) -> Vec<Held> {
    let mut all = Vec::new();
    loop {
        all.extend(resident_bytes(root).map(|bytes| (Moment::now(), bytes)));
        match over.recv_timeout(READ_EVERY) {
            Err(RecvTimeoutError::Timeout) => {}
            Ok(()) | Err(RecvTimeoutError::Disconnected) => return all,
        }
    }
}

/// The most that was held before a moment, and from then on; `None` where nothing was read.
pub(super) fn most_around(all: &[Held], moment: Moment) -> (Option<u64>, Option<u64>) {
    let most = |is_later: bool| {
        let of = all.iter().filter(|(at, _)| (*at >= moment) == is_later);
        of.map(|(_, bytes)| *bytes).max()
    };
    (most(false), most(true))
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn the_most_is_told_before_a_moment_and_from_then_on() {
        let at = |seconds| Moment::at(Duration::from_secs(seconds));
        let all = [(at(1), 50), (at(2), 40), (at(3), 90), (at(4), 30)];
        assert_eq!(most_around(&all, at(3)), (Some(50), Some(90)));
        assert_eq!(most_around(&all, at(9)), (Some(90), None));
        assert_eq!(most_around(&[], at(1)), (None, None));
    }

    #[test]
    fn a_descendants_memory_is_read_until_nobody_waits_for_more() {
        let mut child = Command::new("sleep").arg("60").stdout(Stdio::null()).spawn().unwrap();
        let (end, ended) = mpsc::channel();
        let read = std::thread::scope(|scope| {
            let watch = scope.spawn(move || watched(std::process::id() as i32, &ended));
            std::thread::sleep(3 * READ_EVERY);
            drop(end);
            watch.join().unwrap()
        });
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!read.is_empty() && read.iter().all(|(_, bytes)| *bytes > 0), "{read:?}");
    }
}
