//! A line of what was looked at, what that does to a run, and all lines as text.

use report::text::visible;
use report::{Terminal, units};
use result::finding::Verdict;
use result::plan::{Cores, Machine};

use super::super::exit_codes::SYSTEM;

/// Not one contender of the study can be had.
const NOBODY: u8 = 1;
/// A run could be made, and its figures would be invalid.
const NO_FIGURE: u8 = 3;

/// Of the column of words.
const WORD_WIDTH: usize = 13;

/// What something does to a run, from nothing to the worst.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Harm {
    /// Nothing.
    Fine,
    /// A part is missing or could be better, and the figures stand.
    Note,
    /// A check can't look, or speaks against figures.
    Said(Verdict),
    /// There is nobody to measure.
    Nobody,
    /// No run can be made.
    Stops,
}

impl Harm {
    pub fn word(self) -> &'static str {
        match self {
            Harm::Fine => "fine",
            Harm::Note => "note",
            Harm::Said(verdict) => verdict.word(),
            Harm::Nobody => "nobody",
            Harm::Stops => "stops",
        }
    }

    /// What it comes to as the worst of all, and the exit code.
    pub fn conclusion(self) -> (&'static str, u8) {
        match self {
            Harm::Fine | Harm::Note => ("Nothing stands in the way.", 0),
            Harm::Said(Verdict::Invalid) => {
                ("A run can be made, and figures made now would be invalid.", NO_FIGURE)
            }
            Harm::Said(_) => {
                ("A run can be made. Of some of its figures, what stands above would be said.", 0)
            }
            Harm::Nobody => ("Nobody is left to measure.", NOBODY),
            Harm::Stops => ("No run can be made here as it is.", SYSTEM),
        }
    }
}

impl From<Verdict> for Harm {
    fn from(verdict: Verdict) -> Harm {
        if verdict == Verdict::Valid { Harm::Fine } else { Harm::Said(verdict) }
    }
}

/// One thing that was looked at.
#[derive(Debug)]
pub struct Line {
    pub harm: Harm,
    pub what: String,
    pub found: String,
    /// What to do about it; empty where there is nothing to be done.
    advice: String,
}

impl Line {
    pub fn new(harm: impl Into<Harm>, what: impl Into<String>, found: impl Into<String>) -> Line {
        let (harm, what, found) = (harm.into(), what.into(), found.into());
        Line { harm, what, found, advice: String::new() }
    }

    pub fn fine(what: impl Into<String>, found: impl Into<String>) -> Line {
        Line::new(Harm::Fine, what, found)
    }

    pub fn note(what: impl Into<String>, found: impl Into<String>) -> Line {
        Line::new(Harm::Note, what, found)
    }

    pub fn advise(self, advice: impl Into<String>) -> Line {
        Line { advice: advice.into(), ..self }
    }

    pub fn sentence(&self) -> String {
        let Line { what, found, advice, .. } = self;
        if advice.is_empty() {
            format!("{what}: {found}")
        } else {
            format!("{what}: {}. {advice}", found.trim_end_matches('.'))
        }
    }
}

pub fn worst(lines: &[Line]) -> Harm {
    lines.iter().map(|line| line.harm).max().unwrap_or(Harm::Fine)
}

/// Where a contender is measured, in words.
pub fn on(cores: Cores) -> &'static str {
    match cores {
        Cores::One => "on one core",
        Cores::All => "on all cores",
    }
}

pub fn text(machine: &Machine, lines: &[Line], terminal: Terminal) -> String {
    let hanging = " ".repeat(WORD_WIDTH);
    // A command is to be read, and copied, as it is.
    let options = textwrap::Options::new(terminal.columns.into())
        .word_separator(textwrap::WordSeparator::AsciiSpace)
        .word_splitter(textwrap::WordSplitter::NoHyphenation)
        .break_words(false)
        .subsequent_indent(&hanging);
    let filled = lines.iter().map(|line| {
        let line = format!("{:WORD_WIDTH$}{}", line.harm.word(), visible(&line.sentence()));
        textwrap::fill(&line, &options) + "\n"
    });
    let filled: String = filled.collect();
    let (conclusion, _) = worst(lines).conclusion();
    format!("{}\n\n{filled}\n{conclusion}\n", visible(&heading(machine)))
}

/// The machine, as far as it tells.
fn heading(machine: &Machine) -> String {
    let memory = machine.memory_bytes.map(|bytes| format!("{} of memory", units::bytes(bytes)));
    let is_virtual = machine.virtual_machine == Some(true);
    let parts = [
        &*machine.cpu,
        memory.as_deref().unwrap_or_default(),
        &machine.kernel,
        &machine.distribution,
        if is_virtual { "a virtual machine" } else { "" },
    ];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ")
}
