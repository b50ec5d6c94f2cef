//! Where results are written to.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use super::exit::Failure;

/// What people read, line by line.
pub struct Output {
    /// Nothing, if nobody wants to read, or nothing more can be written.
    to: Option<Box<dyn Write>>,
    /// Why nothing more could be.
    failure: Option<Failure>,
}

impl Output {
    /// Standard output, or standard error where a machine reads the former.
    pub fn new(quiet: bool, stdout_is_taken: bool) -> Output {
        let to: Box<dyn Write> =
            if stdout_is_taken { Box::new(io::stderr()) } else { Box::new(io::stdout()) };
        Output { to: (!quiet).then_some(to), failure: None }
    }

    /// Prints a text, as long as that goes well: where it doesn't, the result can still
    /// be written elsewhere.
    pub fn print(&mut self, text: &str) {
        let Some(to) = &mut self.to else { return };
        if let Err(error) = to.write_all(text.as_bytes()).and_then(|()| to.flush()) {
            self.to = None;
            // A reader that has gone (`| head`) is no failure: the result is told by the
            // exit code all the same.
            if error.kind() != io::ErrorKind::BrokenPipe {
                self.failure = Some(Failure::system("printing the result", &error));
            }
        }
    }

    /// Why not everything was printed: a full disk and the like.
    pub fn failure(self) -> Option<Failure> {
        self.failure
    }
}

/// Says on standard error what went wrong. If nobody listens there, the exit
/// code still tells (`eprintln!` would panic).
pub fn complain(sentence: &str) {
    let _ = writeln!(io::stderr(), "bakeoff load: {sentence}");
}

/// A file for a machine to read, or standard output.
pub struct Sink {
    path: PathBuf,
    file: Option<File>,
}

impl Sink {
    /// Opens a file; `-` is standard output.
    ///
    /// # Errors
    /// The file's name and what the kernel says.
    pub fn open(path: &Path) -> Result<Sink, Failure> {
        let file = if path.as_os_str() == "-" {
            None
        } else {
            Some(File::create(path).map_err(|error| {
                Failure::bad_input(format!("{} can't be written: {error}", path.display()))
            })?)
        };
        Ok(Sink { path: path.into(), file })
    }

    /// Whether it is standard output.
    pub fn is_stdout(&self) -> bool {
        self.file.is_none()
    }

    /// Writes all of it.
    ///
    /// # Errors
    /// The file's name and what the kernel says.
    pub fn write(
        self,
        content: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), Failure> {
        let to: Box<dyn Write> = match self.file {
            Some(file) => Box::new(file),
            None => Box::new(io::stdout()),
        };
        let mut to = BufWriter::new(to);
        content(&mut to)
            .and_then(|()| to.flush())
            .map_err(|error| Failure::system(&format!("writing {}", self.path.display()), &error))
    }
}
