//! An append-only log of our own: the honest control, whose every acknowledged write is on the
//! disk, and with [`Faults`] the dishonest ones.
//!
//! Each batch is appended with one write and one `fdatasync`. An index in memory knows where the
//! last value of each key lies; it is made anew at the start by reading all segments. Values are
//! read from the file. Once more than half of the bytes are of no use any more, the oldest
//! segment is written anew, behind the others.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use hashbrown::HashMap;

use self::record::{Found, Record};
use self::segment::Segment;
use super::{Engine, Session};
use crate::batch::Batch;
use crate::error::{Error, Result};
use crate::options::Flags;

mod record;
mod segment;

/// Below that many bytes no segment is written anew.
const COMPACT_FROM_BYTES: u64 = 64 << 20;

/// Ways to break what the log promises, for controls: each has to be found out by whoever
/// measures durability. Without one of them the log is honest.
#[derive(Debug, Clone, Copy)]
pub struct Faults {
    /// A new segment's name is never made durable: the folder isn't synced after the rename.
    forget_folder: bool,
    /// Only each so manieth batch is synced, though all are acknowledged; 1 is honest. With
    /// `--sync none` a segment is only synced when it is full.
    sync_every: u32,
    /// Nothing is held against a checksum or a length at the start, and a batch is written and
    /// synced in two halves, so that a cut in the middle of a record is no matter of luck.
    no_checksum: bool,
}

impl Faults {
    /// # Errors
    /// Flags that make no sense.
    pub fn from(flags: &mut Flags) -> Result<Faults> {
        let otherwise = match flags.one_of("sync", &["commit", "none"])? {
            "commit" => 1,
            _ => u32::MAX,
        };
        let sync_every = flags.parsed("sync-every")?.unwrap_or(otherwise);
        if sync_every == 0 {
            return Err(Error::new("--sync-every has to be 1 or more"));
        }
        let forget_folder = flags.is_set("forget-folder")?;
        Ok(Faults { forget_folder, sync_every, no_checksum: flags.is_set("no-checksum")? })
    }
}

pub struct Log {
    dir: PathBuf,
    faults: Faults,
    writer: Mutex<Writer>,
    index: RwLock<Index>,
}

/// The end of the log. Whoever has it is the only one who writes.
struct Writer {
    /// The segment that is appended to,
    segment: Arc<Segment>,
    /// and from where on.
    at: u64,
    /// Batches since the last sync.
    unsynced: u32,
    /// A batch as bytes.
    bytes: Vec<u8>,
    /// Why nothing is written any more: after a failed sync nobody knows what is on the disk.
    failed: Option<Error>,
}

#[derive(Default)]
struct Index {
    /// By its number, which grows: the order in which records were written.
    segments: BTreeMap<u64, Arc<Segment>>,
    places: HashMap<Box<[u8]>, Place>,
    /// Bytes of records that hold the last value of a key.
    live_bytes: u64,
    /// Bytes of all records.
    all_bytes: u64,
}

/// Where a value lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Place {
    segment: u64,
    /// Where its record begins.
    at: u64,
    value_bytes: u32,
}

impl Index {
    /// A record was written, or read at the start.
    fn add(&mut self, segment: u64, at: u64, key: &[u8], value: Option<&[u8]>) {
        let bytes = |value_bytes: usize| record::bytes(key.len(), value_bytes) as u64;
        self.all_bytes += bytes(value.map_or(0, <[u8]>::len));
        let before = match value {
            Some(value) => {
                self.live_bytes += bytes(value.len());
                // Bounded where requests are read: far below 4 GB.
                let value_bytes = value.len() as u32;
                self.places.insert(key.into(), Place { segment, at, value_bytes })
            }
            None => self.places.remove(key),
        };
        if let Some(before) = before {
            self.live_bytes -= bytes(before.value_bytes as usize);
        }
    }
}

impl Log {
    /// Reads what is there, and begins a new segment.
    ///
    /// # Errors
    /// Where files can't be read or made, and where records are broken that were whole once.
    pub fn open(dir: &Path, faults: Faults) -> Result<Log> {
        let mut index = Index::default();
        let numbers = segment::numbers(dir)?;
        for (number, is_last) in
            numbers.iter().enumerate().map(|(at, number)| (*number, at + 1 == numbers.len()))
        {
            let segment = replay(dir, number, is_last, &faults, &mut index)?;
            index.segments.insert(number, Arc::new(segment));
        }
        // Never into one that was written before: behind its last whole record may be others
        // that nobody was told of, and that must not come back later.
        let next = numbers.last().map_or(1, |last| last + 1);
        let segment = Arc::new(Segment::create(dir, next, 0, !faults.forget_folder)?);
        index.segments.insert(next, segment.clone());
        let writer = Writer { segment, at: 0, unsynced: 0, bytes: Vec::new(), failed: None };
        Ok(Log { dir: dir.into(), faults, writer: Mutex::new(writer), index: RwLock::new(index) })
    }

    // The index and the writer are whole after each step, also where a thread ended within one.
    fn read(&self) -> RwLockReadGuard<'_, Index> {
        self.index.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Index> {
        self.index.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Appends records that `encode` makes, syncs them, and then has the index know them.
    fn append(&self, writer: &mut Writer, encode: impl FnOnce(&mut Vec<u8>)) -> Result<()> {
        if let Some(why) = &writer.failed {
            return Err(why.clone());
        }
        writer.bytes.clear();
        encode(&mut writer.bytes);
        if writer.at + writer.bytes.len() as u64 > writer.segment.bytes() {
            self.begin_segment(writer)?;
        }
        if let Err(why) = self.make_durable(writer) {
            writer.failed = Some(why.clone());
            return Err(why);
        }
        let mut index = self.write();
        let (number, begin) = (writer.segment.number(), writer.at);
        for Found { at, record: Record { key, value } } in record::all_unchecked(&writer.bytes) {
            index.add(number, begin + at as u64, key, value);
        }
        writer.at += writer.bytes.len() as u64;
        Ok(())
    }

    fn begin_segment(&self, writer: &mut Writer) -> Result<()> {
        writer.segment.sync()?;
        let next = writer.segment.number() + 1;
        let (room, is_durable) = (writer.bytes.len(), !self.faults.forget_folder);
        writer.segment = Arc::new(Segment::create(&self.dir, next, room, is_durable)?);
        writer.at = 0;
        writer.unsynced = 0;
        self.write().segments.insert(next, writer.segment.clone());
        Ok(())
    }

    fn make_durable(&self, writer: &mut Writer) -> Result<()> {
        let bytes = &writer.bytes;
        // A fault: see there.
        let half = if self.faults.no_checksum { bytes.len() / 2 } else { 0 };
        if half > 0 {
            writer.segment.write_at(&bytes[..half], writer.at)?;
            writer.segment.sync()?;
        }
        writer.segment.write_at(&bytes[half..], writer.at + half as u64)?;
        writer.unsynced += 1;
        if writer.unsynced >= self.faults.sync_every {
            writer.segment.sync()?;
            writer.unsynced = 0;
        }
        Ok(())
    }

    /// Writes the oldest segment's values anew, and removes it, while too much is of no use.
    fn compact(&self, writer: &mut Writer) -> Result<()> {
        loop {
            let oldest = {
                let index = self.read();
                let is_due =
                    index.all_bytes > COMPACT_FROM_BYTES && index.live_bytes < index.all_bytes / 2;
                match index.segments.first_key_value() {
                    Some((&number, oldest)) if is_due && number != writer.segment.number() => {
                        oldest.clone()
                    }
                    _ => return Ok(()),
                }
            };
            let number = oldest.number();
            let content = oldest.read_all()?;
            let mut bytes = 0;
            let index = self.read();
            let live: Vec<Record> = record::all(&content)
                .inspect(|found| bytes += found.record.bytes() as u64)
                .filter(|found| {
                    let is_it =
                        |place: &Place| (place.segment, place.at) == (number, found.at as u64);
                    index.places.get(found.record.key).is_some_and(is_it)
                })
                .map(|found| found.record)
                .collect();
            drop(index);
            if !live.is_empty() {
                self.append(writer, |to| live.iter().for_each(|record| record.encode(to)))?;
            }
            // What removes a key is needed as long as an older segment may have the key: there
            // is none older than the oldest.
            oldest.remove(&self.dir)?;
            let mut index = self.write();
            index.all_bytes -= bytes;
            index.segments.remove(&number);
        }
    }
}

/// Reads a segment into the index.
fn replay(
    dir: &Path,
    number: u64,
    is_last: bool,
    faults: &Faults,
    index: &mut Index,
) -> Result<Segment> {
    let segment = Segment::open(dir, number)?;
    let content = segment.read_all()?;
    let mut end = 0;
    let mut add = |Found { at, record }: Found| {
        index.add(number, at as u64, record.key, record.value);
        end = at + record.bytes();
    };
    if faults.no_checksum {
        record::all_unchecked(&content).for_each(&mut add);
        return Ok(segment);
    }
    record::all(&content).for_each(&mut add);
    if content[end..].iter().any(|&byte| byte != 0) {
        // A batch that was cut off while it was written: nobody was told that it is there.
        if !is_last {
            return Err(Error::new(format!(
                "{}: broken behind byte {end}, though later segments were begun: what it held \
                 is lost",
                segment.path(dir).display()
            )));
        }
        segment.cut(end as u64)?;
    }
    Ok(segment)
}

impl Engine for Log {
    fn session(&self) -> Result<Box<dyn Session + '_>> {
        Ok(Box::new(LogSession { log: self, value: Vec::new() }))
    }

    fn close(self: Box<Self>) -> Result<()> {
        let writer = self.writer.into_inner().unwrap_or_else(PoisonError::into_inner);
        writer.segment.sync()
    }
}

struct LogSession<'e> {
    log: &'e Log,
    /// A value that was read.
    value: Vec<u8>,
}

impl Session for LogSession<'_> {
    fn get(&mut self, key: &[u8], found: &mut dyn FnMut(&[u8])) -> Result<()> {
        let (segment, place) = {
            let index = self.log.read();
            let Some(&place) = index.places.get(key) else { return Ok(()) };
            let Some(segment) = index.segments.get(&place.segment) else { return Ok(()) };
            (segment.clone(), place)
        };
        self.value.resize(place.value_bytes as usize, 0);
        segment.read_at(&mut self.value, place.at + record::value_begin(key.len()) as u64)?;
        found(&self.value);
        Ok(())
    }

    fn commit(&mut self, batch: &Batch) -> Result<()> {
        let mut writer = self.log.writer.lock().unwrap_or_else(PoisonError::into_inner);
        let before = writer.segment.number();
        self.log.append(&mut writer, |to| {
            batch.writes().for_each(|(key, value)| Record { key, value }.encode(to));
        })?;
        if writer.segment.number() != before {
            self.log.compact(&mut writer)?;
        }
        Ok(())
    }

    fn count(&mut self) -> Result<u64> {
        Ok(self.log.read().places.len() as u64)
    }

    fn clear(&mut self) -> Result<()> {
        let keys: Vec<Box<[u8]>> = self.log.read().places.keys().cloned().collect();
        if keys.is_empty() {
            return Ok(());
        }
        let mut writer = self.log.writer.lock().unwrap_or_else(PoisonError::into_inner);
        self.log.append(&mut writer, |to| {
            keys.iter().for_each(|key| Record { key, value: None }.encode(to));
        })
    }
}

/// Makes names in a folder durable.
fn sync_folder(dir: &Path) -> Result<()> {
    File::open(dir)
        .and_then(|folder| folder.sync_all())
        .map_err(Error::when(format!("{}: its names can't be synced", dir.display())))
}

/// Removes a file, and makes sure that it stays so.
fn remove(dir: &Path, path: &Path) -> Result<()> {
    fs::remove_file(path).map_err(Error::when(path.display()))?;
    sync_folder(dir)
}

#[cfg(test)]
mod tests;
