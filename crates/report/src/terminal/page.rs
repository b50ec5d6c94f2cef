//! A page at the terminal: lines and paragraphs, as wide as the terminal is.

use anstyle::{AnsiColor, Style};
use result::finding::Verdict;

use crate::text::visible;

/// What the terminal can show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Terminal {
    /// Its width in characters.
    pub columns: u16,
    /// Whether it may be sent colour and strike-out.
    pub colour: bool,
}

/// What suits files and mails.
impl Default for Terminal {
    fn default() -> Terminal {
        Terminal { columns: 120, colour: false }
    }
}

pub(super) const PLAIN: Style = Style::new();
pub(super) const BOLD: Style = Style::new().bold();
pub(super) const DIM: Style = Style::new().dimmed();

/// What figures and a name need. Narrower terminals break lines, and some claim
/// to have no width at all.
const COLUMNS_MIN: u16 = 72;

/// Narrower than this, columns give way, and names stand for titles.
const WIDE: u16 = 110;

pub(super) struct Page {
    pub(super) out: String,
    pub(super) terminal: Terminal,
}

impl Page {
    pub(super) fn new(terminal: Terminal) -> Page {
        let columns = terminal.columns.max(COLUMNS_MIN);
        Page { out: String::new(), terminal: Terminal { columns, ..terminal } }
    }

    pub(super) fn line(&mut self, line: &str) {
        self.out.push_str(line.trim_end());
        self.out.push('\n');
    }

    /// Text wrapped to the terminal, every line after the first indented as deep
    /// as the text of the first.
    pub(super) fn paragraph(&mut self, style: Style, indent: &str, text: &str) {
        let hanging = " ".repeat(indent.chars().count());
        let options = textwrap::Options::new(self.terminal.columns.into())
            .word_separator(textwrap::WordSeparator::AsciiSpace)
            .initial_indent(indent)
            .subsequent_indent(&hanging);
        let style = if self.terminal.colour { style } else { PLAIN };
        for line in textwrap::wrap(&visible(text), options) {
            self.line(&format!("{style}{line}{style:#}"));
        }
    }

    pub(super) fn is_wide(&self) -> bool {
        self.terminal.columns >= WIDE
    }
}

/// How what speaks against a figure is shown.
pub(super) fn of_verdict(verdict: Verdict) -> Style {
    match verdict {
        Verdict::Invalid => AnsiColor::Red.on_default(),
        _ => AnsiColor::Yellow.on_default(),
    }
}
