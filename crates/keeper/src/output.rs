//! The end of what a program wrote: bounded, whatever it writes.

use std::io::{self, PipeReader, Read};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use rustix::event::{PollFd, PollFlags, Timespec};

use crate::affinity;
use crate::text::harmless;

/// What is kept of a program's output.
const BYTES_MAX: usize = 64 * 1024;

/// The last bytes of an output.
#[derive(Debug, Default)]
pub struct OutputTail {
    /// Up to twice what is kept, so that the rest is moved seldom.
    bytes: Vec<u8>,
    written: u64,
}

impl OutputTail {
    /// Takes what was written.
    pub fn push(&mut self, written: &[u8]) {
        self.written += written.len() as u64;
        let written = &written[written.len().saturating_sub(BYTES_MAX)..];
        if self.bytes.len() + written.len() > 2 * BYTES_MAX {
            let kept = BYTES_MAX - written.len();
            self.bytes.drain(..self.bytes.len() - kept);
        }
        self.bytes.extend_from_slice(written);
    }

    /// Bytes that were written in all.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// The last lines that say something, made harmless: no control characters,
    /// no endless line.
    pub fn last_lines(&self, count: usize) -> Vec<String> {
        let bytes = &self.bytes[self.bytes.len().saturating_sub(BYTES_MAX)..];
        let text = String::from_utf8_lossy(bytes);
        let lines: Vec<String> =
            text.lines().filter(|line| !line.trim().is_empty()).map(harmless).collect();
        lines[lines.len().saturating_sub(count)..].to_vec()
    }
}

/// An output that is being written, and the end of what was read of it.
#[derive(Debug)]
pub struct Output {
    from: PipeReader,
    tail: OutputTail,
}

impl Output {
    /// Of this pipe, of which nothing is read yet.
    fn new(from: PipeReader) -> Output {
        Output { from, tail: OutputTail::default() }
    }

    /// Of this pipe, which a thread reads to its end, so that nobody who writes ever waits.
    /// It does so on these processors; on any, if none is named.
    ///
    /// # Errors
    /// The kernel's.
    pub fn followed(
        from: PipeReader,
        cpus: Vec<usize>,
    ) -> io::Result<(Arc<Mutex<Output>>, JoinHandle<()>)> {
        // A second handle, to wait for more without holding on to the output.
        let pipe = from.try_clone()?;
        let output = Arc::new(Mutex::new(Output::new(from)));
        let reader = std::thread::spawn({
            let output = output.clone();
            move || {
                if !cpus.is_empty() {
                    let _ = affinity::pin(&cpus);
                }
                loop {
                    let _ = rustix::event::poll(&mut [PollFd::new(&pipe, PollFlags::IN)], None);
                    if !lock(&output).catch_up() {
                        return;
                    }
                }
            }
        });
        Ok((output, reader))
    }

    /// Reads all that waits in the pipe, and waits for nothing. Whether more may come.
    fn catch_up(&mut self) -> bool {
        // As much as a pipe holds.
        let mut piece = [0; 64 * 1024];
        let mut fds = [PollFd::new(&self.from, PollFlags::IN)];
        if !matches!(rustix::event::poll(&mut fds, Some(&Timespec::default())), Ok(1..)) {
            return true;
        }
        match self.from.read(&mut piece) {
            Ok(0) => return false,
            Ok(count) => self.tail.push(&piece[..count]),
            Err(error) => return error.kind() == io::ErrorKind::Interrupted,
        }
        true
    }

    /// The end of what was written until now: a program that has just ended is quoted
    /// whole, although nobody may have come to read its last words.
    pub fn tail(&mut self) -> &OutputTail {
        self.catch_up();
        &self.tail
    }
}

/// A thread that panicked with it has broken nothing that matters here.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;
    use crate::text::LINE_CHARS_MAX;

    #[test]
    fn only_the_end_of_an_endless_output_is_kept() {
        let mut tail = OutputTail::default();
        for number in 0..1_000_000 {
            tail.push(format!("line {number}\n").as_bytes());
        }
        assert!(tail.bytes.len() <= 2 * BYTES_MAX, "memory must not grow with the output");
        assert_eq!(tail.last_lines(2), ["line 999998", "line 999999"]);
        let before = tail.written();
        tail.push(&vec![b'x'; 10 * BYTES_MAX]);
        assert!(tail.bytes.len() <= 2 * BYTES_MAX);
        assert_eq!(tail.written() - before, 10 * BYTES_MAX as u64, "what is not kept is counted");
    }

    #[test]
    fn what_nobody_came_to_read_is_quoted_while_others_hold_the_pipe() {
        let (from, mut to) = io::pipe().unwrap();
        let mut output = Output::new(from);
        assert_eq!(output.tail().last_lines(1), [""; 0], "it waits for a silent program");
        to.write_all(b"no licence found\n").unwrap();
        assert_eq!(output.tail().last_lines(1), ["no licence found"]);
        drop(to);
        assert!(!output.catch_up(), "the end isn't seen");
    }

    #[test]
    fn terminal_escapes_and_long_lines_are_made_harmless() {
        assert_eq!(harmless("\u{1b}[31mred\u{7}"), "\u{fffd}[31mred\u{fffd}");
        let long = harmless(&"y".repeat(10_000));
        assert_eq!(long.chars().count(), LINE_CHARS_MAX + 1);
        assert!(long.ends_with('…'));
    }

    #[test]
    fn bytes_that_are_no_text_do_no_harm() {
        let mut tail = OutputTail::default();
        tail.push(b"\xff\xfe\x00\n\n  \nend");
        assert_eq!(tail.last_lines(9), ["\u{fffd}\u{fffd}\u{fffd}", "end"]);
    }
}
