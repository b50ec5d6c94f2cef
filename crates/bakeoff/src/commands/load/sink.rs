//! Where a machine reads results.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use super::exit::Failure;

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
