//! What is printed for people, on standard output and standard error.
//!
//! Where nobody reads on (`| head`), or nothing more can be written (a full disk), a
//! command does what it was asked for all the same, and its exit code tells. `println!`
//! and `eprintln!` would panic then, so this program has none.

use std::io::{self, Write};

use report::text::visible_lines;

/// What people read, line by line.
pub struct Output {
    /// Nothing, if nobody wants to read, or nothing more can be written.
    to: Option<Box<dyn Write>>,
    /// Why nothing more could be.
    failure: Option<io::Error>,
}

impl Output {
    /// Standard output.
    pub fn to_stdout() -> Output {
        Output { to: Some(Box::new(io::stdout())), failure: None }
    }

    /// Standard error, where a machine reads standard output.
    pub fn to_stderr() -> Output {
        Output { to: Some(Box::new(io::stderr())), failure: None }
    }

    /// Nowhere.
    pub fn to_nobody() -> Output {
        Output { to: None, failure: None }
    }

    /// Prints a text, as long as that goes well.
    pub fn print(&mut self, text: &str) {
        let Some(to) = &mut self.to else { return };
        if let Err(error) = to.write_all(text.as_bytes()).and_then(|()| to.flush()) {
            self.to = None;
            // A reader that has gone is no failure: the exit code tells the result.
            if error.kind() != io::ErrorKind::BrokenPipe {
                self.failure = Some(error);
            }
        }
    }

    /// The same with a line's end.
    pub fn line(&mut self, text: &str) {
        self.print(&format!("{text}\n"));
    }

    /// Why not everything was printed: a full disk and the like.
    pub fn failure(self) -> Option<io::Error> {
        self.failure
    }
}

/// Prints a line on standard error: what is done now, and where results are.
pub fn note(text: &str) {
    part_of_note(&format!("{text}\n"));
}

/// The same without a line's end. It may quote a file that somebody else wrote, and a
/// parser's message has what an escape there stands for.
pub fn part_of_note(text: &str) {
    // Whoever doesn't listen, or can't, is not told so either.
    let _ = io::stderr().write_all(visible_lines(text).as_bytes());
}

/// Says on standard error what went wrong.
pub fn complain(command: &str, sentence: &str) {
    note(&format!("bakeoff {command}: {sentence}"));
}

/// The last lines of a program's output, as a sentence about it goes on.
pub fn last_words(lines: &[String]) -> String {
    if lines.is_empty() {
        "it wrote nothing to its output".into()
    } else {
        format!("its last lines:\n    {}", lines.join("\n    "))
    }
}
