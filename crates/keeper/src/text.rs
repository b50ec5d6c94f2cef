//! Foreign text, made harmless to show.

/// The longest line that is shown.
pub(crate) const LINE_CHARS_MAX: usize = 300;

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
