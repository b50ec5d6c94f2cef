//! What a program prints, a line at a time, with the time of its arrival: bounded, whatever it
//! prints.

use std::io::{BufRead, BufReader, Read};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

/// Bytes of a line; what is longer is cut.
pub const LINE_BYTES_MAX: usize = 4096;
/// Lines that are told. Those of a program that prints more tell nothing.
pub const LINES_MAX: usize = 20_000;

/// A line that a program printed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Line {
    /// When it arrived, by CLOCK_MONOTONIC, which is one clock for all processes of a machine.
    pub at: Duration,
    /// What it says, without its end.
    pub text: String,
}

/// Tells of each line until nobody prints any more. Whoever prints never waits.
pub(crate) fn tell_of(from: impl Read, tell: impl Fn(Line)) {
    let mut from = BufReader::new(from);
    let mut line = Vec::new();
    for number in 0.. {
        line.clear();
        let read = (&mut from).take(LINE_BYTES_MAX as u64).read_until(b'\n', &mut line);
        if !matches!(read, Ok(1..)) {
            return;
        }
        let time = clock_gettime(ClockId::Monotonic);
        let at = Duration::new(time.tv_sec as u64, time.tv_nsec as u32);
        let is_whole = line.last() == Some(&b'\n');
        if number < LINES_MAX {
            let text = String::from_utf8_lossy(&line).trim_end().to_string();
            tell(Line { at, text });
        }
        if !is_whole && skip_line(&mut from).is_err() {
            return;
        }
    }
}

/// Reads on to the end of a line that was cut.
fn skip_line(from: &mut impl BufRead) -> std::io::Result<()> {
    loop {
        let waiting = from.fill_buf()?;
        let (length, is_end) = match waiting.iter().position(|&byte| byte == b'\n') {
            Some(at) => (at + 1, true),
            None => (waiting.len(), waiting.is_empty()),
        };
        from.consume(length);
        if is_end {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    fn told(printed: &[u8]) -> Vec<String> {
        let lines = RefCell::new(Vec::new());
        tell_of(printed, |line| lines.borrow_mut().push(line.text));
        lines.into_inner()
    }

    #[test]
    fn lines_are_told_whole_and_the_last_without_its_end_too() {
        assert_eq!(told(b"{\"t\": 1}\n\n  x\nend"), ["{\"t\": 1}", "", "  x", "end"]);
        assert_eq!(told(b""), [""; 0]);
    }

    #[test]
    fn an_endless_line_is_cut_and_what_follows_is_told() {
        let printed = [vec![b'y'; 50 * LINE_BYTES_MAX], b"\nafter\n".to_vec()].concat();
        let lines = told(&printed);
        assert_eq!((lines.len(), lines[0].len(), &*lines[1]), (2, LINE_BYTES_MAX, "after"));
    }

    #[test]
    fn endless_lines_are_read_and_told_no_more() {
        assert_eq!(told(&b"x\n".repeat(LINES_MAX + 100)).len(), LINES_MAX);
    }
}
