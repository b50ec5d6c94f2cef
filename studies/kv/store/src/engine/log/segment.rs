//! A segment: a file of the log.
//!
//! It is written full of zeros before its first use, so that no later write changes where its
//! blocks lie or how long it is: a sync has nothing to write but the data then, and no journal.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::{remove, sync_folder};
use crate::error::{Error, Result};

/// How long a segment is, unless one batch takes more.
const SEGMENT_BYTES: usize = 8 << 20;
/// What the name of one ends with, and while it is made.
const WHOLE: &str = "log";
const BEING_MADE: &str = "new";

#[derive(Debug)]
pub struct Segment {
    number: u64,
    file: File,
    bytes: u64,
}

impl Segment {
    /// Makes one with room for so many bytes. Whether its name is durable too is asked for by
    /// who knows of faults.
    ///
    /// # Errors
    /// Where the files can't be made.
    pub fn create(dir: &Path, number: u64, room: usize, is_durable: bool) -> Result<Segment> {
        let (made, whole) = (path(dir, number, BEING_MADE), path(dir, number, WHOLE));
        let failed = |why| Error::when(format!("{}: no new segment", made.display()))(why);
        let bytes = SEGMENT_BYTES.max(room);
        // One that a stop left unfinished is in the way of nobody: it is made anew.
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(true)
            .open(&made)
            .map_err(failed)?;
        file.write_all_at(&vec![0; bytes], 0).map_err(failed)?;
        file.sync_all().map_err(failed)?;
        fs::rename(&made, whole).map_err(failed)?;
        if is_durable {
            sync_folder(dir)?;
        }
        Ok(Segment { number, file, bytes: bytes as u64 })
    }

    /// # Errors
    /// Where it can't be opened.
    pub fn open(dir: &Path, number: u64) -> Result<Segment> {
        let path = path(dir, number, WHOLE);
        let failed = |why| Error::when(path.display())(why);
        let file = OpenOptions::new().read(true).write(true).open(&path).map_err(failed)?;
        let bytes = file.metadata().map_err(failed)?.len();
        Ok(Segment { number, file, bytes })
    }

    pub fn number(&self) -> u64 {
        self.number
    }

    /// How long the file is.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    pub fn path(&self, dir: &Path) -> PathBuf {
        path(dir, self.number, WHOLE)
    }

    /// # Errors
    /// Where the disk has no room, or failed.
    pub fn write_at(&self, bytes: &[u8], at: u64) -> Result<()> {
        self.file.write_all_at(bytes, at).map_err(self.failed("it can't be written"))
    }

    /// # Errors
    /// Where it is shorter than that, or the disk failed.
    pub fn read_at(&self, room: &mut [u8], at: u64) -> Result<()> {
        self.file.read_exact_at(room, at).map_err(self.failed("it can't be read"))
    }

    /// # Errors
    /// Where the disk failed.
    pub fn read_all(&self) -> Result<Vec<u8>> {
        let mut content = vec![0; self.bytes as usize];
        self.read_at(&mut content, 0)?;
        Ok(content)
    }

    /// Makes durable what was written.
    ///
    /// # Errors
    /// Where the disk failed: nobody knows then what is durable.
    pub fn sync(&self) -> Result<()> {
        self.file.sync_data().map_err(self.failed("it can't be synced"))
    }

    /// Makes zeros of all behind this place, durably.
    ///
    /// # Errors
    /// Where the disk failed.
    pub fn cut(&self, at: u64) -> Result<()> {
        let failed = self.failed("it can't be cut");
        self.file.set_len(at).and_then(|()| self.file.set_len(self.bytes)).map_err(failed)?;
        self.file.sync_all().map_err(self.failed("it can't be synced"))
    }

    /// Removes the file, durably. Whoever has it open reads on.
    ///
    /// # Errors
    /// Where it can't be removed.
    pub fn remove(&self, dir: &Path) -> Result<()> {
        remove(dir, &self.path(dir))
    }

    fn failed(&self, what: &str) -> impl FnOnce(std::io::Error) -> Error {
        Error::when(format!("segment {} of the log: {what}", self.number))
    }
}

fn path(dir: &Path, number: u64, ending: &str) -> PathBuf {
    dir.join(format!("{number:08}.{ending}"))
}

/// The numbers of the segments in a folder, in their order.
///
/// # Errors
/// Where the folder can't be read.
pub fn numbers(dir: &Path) -> Result<Vec<u64>> {
    let failed = |why| Error::when(dir.display())(why);
    let mut numbers = Vec::new();
    for entry in fs::read_dir(dir).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.extension().is_some_and(|ending| ending == WHOLE)
            && let Some(number) = path.file_stem().and_then(|name| name.to_str()?.parse().ok())
        {
            numbers.push(number);
        }
    }
    numbers.sort_unstable();
    Ok(numbers)
}
