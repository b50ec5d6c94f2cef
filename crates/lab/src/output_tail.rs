//! The end of what a program wrote: bounded, whatever it writes.

use std::io::Read;

/// What is kept of a program's output.
const BYTES_MAX: usize = 64 * 1024;
/// The longest line that is shown.
const LINE_CHARS_MAX: usize = 300;

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

/// A line of foreign text as it may be shown.
pub fn harmless(line: &str) -> String {
    let mut shown: String = line
        .trim_end()
        .chars()
        .take(LINE_CHARS_MAX)
        .map(|c| match c {
            '\t' => ' ',
            c if c.is_control() => '\u{fffd}',
            c => c,
        })
        .collect();
    if line.trim_end().chars().nth(LINE_CHARS_MAX).is_some() {
        shown.push('…');
    }
    shown
}

/// Reads to the end, handing on each piece.
pub fn drain(mut from: impl Read, mut take: impl FnMut(&[u8])) {
    // As much as a pipe holds.
    let mut piece = [0; 64 * 1024];
    loop {
        match from.read(&mut piece) {
            Ok(0) => return,
            Ok(count) => take(&piece[..count]),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(_) => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
