//! What is told while it is measured, and kept in a file.

use std::fmt::Display;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::time::SystemTime;

use comfy_table::{Table, presets};

/// A heading and paragraphs in Markdown.
#[derive(Debug)]
pub struct Page {
    heading: &'static str,
    /// What of `make` writes it.
    target: &'static str,
    paragraphs: Vec<String>,
}

/// What stands in the file from here on was measured at another time.
const BEFORE: &str = "\n## Before";

impl Page {
    /// Without a paragraph.
    pub fn new(heading: &'static str, target: &'static str) -> Page {
        Page { heading, target, paragraphs: Vec::new() }
    }

    /// Prints a paragraph, and keeps it.
    pub fn say(&mut self, paragraph: impl Display) {
        let paragraph = paragraph.to_string();
        println!("{paragraph}\n");
        self.paragraphs.push(paragraph);
    }

    /// Says what a reader has to know beside it, if there is such.
    pub fn say_notes(&mut self, notes: &[String]) {
        if notes.is_empty() {
            return;
        }
        let notes: Vec<String> = notes.iter().map(|note| format!("- {note}")).collect();
        self.say(format!("To know beside it:\n\n{}", notes.join("\n")));
    }

    /// Writes all to a file, of which the part that was measured before stays.
    pub fn write(&self, file: &Path) -> Result<(), String> {
        let fail = |error: std::io::Error| format!("{}: {error}", file.display());
        let there = match fs::read_to_string(file) {
            Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
            read => read.map_err(fail)?,
        };
        let before = there.find(BEFORE).map_or("", |at| &there[at..]);
        let text = format!("{}\n\n{}\n{before}", self.head(), self.paragraphs.join("\n\n"));
        fs::write(file, text).map_err(fail)
    }

    fn head(&self) -> String {
        let mut command = Vec::new();
        let mut arguments = std::env::args().skip(1);
        while let Some(argument) = arguments.next() {
            // Where it is written is told by the file itself.
            match argument.as_str() {
                "--write" => drop(arguments.next()),
                _ => command.push(argument),
            }
        }
        let machine = lab::place::machine::describe();
        let date = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
        let date = date.split('T').next().unwrap_or_default();
        format!(
            "# {}\n\nWritten by `proof {}` (`make {}`) on {date}, on {} processors of {}, {}. \
             Nothing here is typed.",
            self.heading,
            command.join(" "),
            self.target,
            machine.cpus.len(),
            machine.cpu,
            machine.kernel
        )
    }
}

/// A table that is one in Markdown as well as in a terminal.
pub fn markdown() -> Table {
    let mut table = Table::new();
    table.load_style(presets::ASCII_MARKDOWN);
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_measured_before_stays_and_all_else_is_written_anew() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("page.md");
        let page = |paragraph: &str| Page {
            paragraphs: vec![paragraph.into()],
            ..Page::new("What was measured", "measure")
        };
        page("first").write(&file).unwrap();
        let recorded = "\n## Before, at another commit\n\nold\n";
        let written = fs::read_to_string(&file).unwrap();
        fs::write(&file, format!("{written}{recorded}")).unwrap();
        for paragraph in ["second", "third"] {
            page(paragraph).write(&file).unwrap();
            let written = fs::read_to_string(&file).unwrap();
            assert!(written.contains(&format!("\n{paragraph}\n")), "{written}");
            assert!(written.ends_with(recorded), "{written}");
            assert!(!written.contains("first"), "{written}");
        }
    }
}
