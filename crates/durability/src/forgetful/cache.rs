//! A disk with a cache that it may lose: what was written since the last flush is kept apart,
//! and a cut drops all of it, or a part.
//!
//! The unit is a block of 4 KiB, which is written whole or not at all, as by the disks of
//! today: what ext4 asks of one. What a part of the cache becomes durable is drawn block by
//! block, so that later writes may be there and earlier ones not, as with a disk that writes
//! in its own order. Of a block that was written several times since the flush, the last
//! content is kept or none.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::image;

/// Bytes of a block.
pub const BLOCK: usize = 4096;

/// A disk and its cache.
#[derive(Debug)]
pub struct Cache {
    disk: File,
    /// What was written since the last flush, by the block's number.
    dirty: BTreeMap<u64, Box<[u8]>>,
    /// More blocks than these are in no cache: then one is written to the disk.
    blocks_max: usize,
    /// Whether the power is off: then nothing is written any more.
    is_off: bool,
}

impl Cache {
    /// An empty cache over a disk whose size is a number of whole blocks.
    pub fn new(disk: File, blocks_max: usize) -> Cache {
        Cache { disk, dirty: BTreeMap::new(), blocks_max, is_off: false }
    }

    /// Reads what was written last, flushed or not. Bytes beyond the disk's end are none.
    ///
    /// # Errors
    /// The kernel's, on the file that is the disk.
    pub fn read(&self, offset: u64, length: usize) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; length];
        let mut read = 0;
        while read < length {
            match self.disk.read_at(&mut bytes[read..], offset + read as u64)? {
                0 => break,
                more => read += more,
            }
        }
        bytes.truncate(read);
        for (number, at, part) in parts(offset, read) {
            if let Some(block) = self.dirty.get(&number) {
                bytes[part.clone()].copy_from_slice(&block[at..at + part.len()]);
            }
        }
        Ok(bytes)
    }

    /// Writes into the cache; nowhere, where the power is off.
    ///
    /// # Errors
    /// The kernel's, on the file that is the disk.
    pub fn write(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        if self.is_off {
            return Ok(());
        }
        for (number, at, part) in parts(offset, bytes.len()) {
            let block = match self.dirty.entry(number) {
                std::collections::btree_map::Entry::Occupied(entry) => entry.into_mut(),
                std::collections::btree_map::Entry::Vacant(entry) => {
                    let mut block = vec![0; BLOCK].into_boxed_slice();
                    if part.len() < BLOCK {
                        self.disk.read_exact_at(&mut block, number * BLOCK as u64)?;
                    }
                    entry.insert(block)
                }
            };
            block[at..at + part.len()].copy_from_slice(&bytes[part]);
            while self.dirty.len() > self.blocks_max {
                self.write_first_back()?;
            }
        }
        Ok(())
    }

    /// Makes all durable that was written; nothing, where the power is off.
    ///
    /// # Errors
    /// The kernel's, on the file that is the disk.
    pub fn flush(&mut self) -> io::Result<()> {
        while !self.dirty.is_empty() {
            self.write_first_back()?;
        }
        Ok(())
    }

    /// The power goes: of what wasn't flushed that is durable which `keeps` says, by the
    /// block's number.
    ///
    /// # Errors
    /// The kernel's, on the file that is the disk.
    pub fn cut(&mut self, mut keeps: impl FnMut(u64) -> bool) -> io::Result<()> {
        self.dirty.retain(|&number, _| keeps(number));
        self.flush()?;
        self.is_off = true;
        Ok(())
    }

    /// The power comes back.
    pub fn come_back(&mut self) {
        self.is_off = false;
    }

    /// What is durable, as a file that has no name in this folder.
    ///
    /// # Errors
    /// The kernel's, for people.
    pub fn picture(&self, folder: &Path) -> Result<File, String> {
        image::copy(&self.disk, folder)
    }

    /// The disk is what it was in this picture, and its cache is empty.
    pub fn go_back_to(&mut self, picture: File) {
        self.disk = picture;
        self.dirty.clear();
    }

    fn write_first_back(&mut self) -> io::Result<()> {
        let Some((number, block)) = self.dirty.pop_first() else { return Ok(()) };
        self.disk.write_all_at(&block, number * BLOCK as u64)
    }
}

/// The blocks that a range of bytes touches: the number of each, where in it the range begins,
/// and which of the range's bytes are its.
fn parts(offset: u64, length: usize) -> impl Iterator<Item = (u64, usize, std::ops::Range<usize>)> {
    let mut done = 0;
    std::iter::from_fn(move || {
        let from = offset + done as u64;
        let at = (from % BLOCK as u64) as usize;
        let end = length.min(done + BLOCK - at);
        let part = done..end;
        done = end;
        (!part.is_empty()).then_some((from / BLOCK as u64, at, part))
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    const BLOCKS: usize = 6;
    const BYTES: usize = BLOCKS * BLOCK;

    /// What may happen to a disk.
    #[derive(Debug, Clone)]
    enum Step {
        Write { offset: usize, length: usize, byte: u8 },
        Read { offset: usize, length: usize },
        Flush,
        Cut { kept: BTreeSet<u64> },
        ComeBack,
        GoBackTo { byte: u8 },
    }

    fn step() -> impl Strategy<Value = Step> {
        let range = || (0..BYTES, 1..2 * BLOCK);
        prop_oneof![
            6 => (range(), any::<u8>())
                .prop_map(|((offset, length), byte)| Step::Write { offset, length, byte }),
            3 => range().prop_map(|(offset, length)| Step::Read { offset, length }),
            2 => Just(Step::Flush),
            1 => prop::collection::btree_set(0..BLOCKS as u64, 0..BLOCKS)
                .prop_map(|kept| Step::Cut { kept }),
            1 => Just(Step::ComeBack),
            1 => any::<u8>().prop_map(|byte| Step::GoBackTo { byte }),
        ]
    }

    /// What a disk with a cache is: two pictures of all bytes, of which a flush makes one.
    struct Model {
        durable: Vec<u8>,
        seen: Vec<u8>,
        is_off: bool,
    }

    impl Model {
        fn take(&mut self, step: &Step) {
            match step {
                Step::Write { offset, length, byte } if !self.is_off => {
                    let end = (offset + length).min(BYTES);
                    self.seen[*offset..end].fill(*byte);
                }
                Step::Flush if !self.is_off => self.durable = self.seen.clone(),
                Step::Cut { kept } => {
                    for number in kept {
                        let block = *number as usize * BLOCK..(*number as usize + 1) * BLOCK;
                        self.durable[block.clone()].copy_from_slice(&self.seen[block]);
                    }
                    self.seen = self.durable.clone();
                    self.is_off = true;
                }
                Step::ComeBack => self.is_off = false,
                Step::GoBackTo { byte } => {
                    self.durable.fill(*byte);
                    self.seen.fill(*byte);
                }
                Step::Write { .. } | Step::Read { .. } | Step::Flush => {}
            }
        }
    }

    fn disk() -> File {
        let disk = tempfile::tempfile().unwrap();
        disk.set_len(BYTES as u64).unwrap();
        disk
    }

    fn take(cache: &mut Cache, step: &Step) {
        match step {
            Step::Write { offset, length, byte } => {
                let length = (*length).min(BYTES - offset);
                cache.write(*offset as u64, &vec![*byte; length]).unwrap();
            }
            Step::Read { .. } => {}
            Step::Flush => cache.flush().unwrap(),
            Step::Cut { kept } => cache.cut(|number| kept.contains(&number)).unwrap(),
            Step::ComeBack => cache.come_back(),
            Step::GoBackTo { byte } => {
                let picture = disk();
                picture.write_all_at(&[*byte; BYTES], 0).unwrap();
                cache.go_back_to(picture);
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]

        #[test]
        fn a_cache_is_what_two_pictures_of_a_disk_are(
            steps in prop::collection::vec(step(), 1..60),
        ) {
            let mut cache = Cache::new(disk(), usize::MAX);
            let mut model = Model { durable: vec![0; BYTES], seen: vec![0; BYTES], is_off: false };
            for step in &steps {
                take(&mut cache, step);
                model.take(step);
                let (offset, length) = match step {
                    Step::Read { offset, length } => (*offset, *length),
                    _ => (0, BYTES + 1),
                };
                let read = cache.read(offset as u64, length).unwrap();
                let end = (offset + length).min(BYTES);
                prop_assert!(read == model.seen[offset..end], "after {step:?}");
                let mut on_disk = vec![0; BYTES];
                cache.disk.read_exact_at(&mut on_disk, 0).unwrap();
                prop_assert!(on_disk == model.durable, "the disk itself after {step:?}");
            }
        }

        /// A small cache has to write back early: then a block is as it was at the last flush,
        /// or as it was at some time since.
        #[test]
        fn a_full_cache_loses_nothing_that_was_flushed_and_makes_nothing_up(
            steps in prop::collection::vec(step(), 1..60),
            blocks_max in 0..4_usize,
        ) {
            let mut cache = Cache::new(disk(), blocks_max);
            let nothing = vec![0; BLOCK];
            let mut since_flush: Vec<Vec<Vec<u8>>> = vec![vec![nothing]; BLOCKS];
            for step in &steps {
                take(&mut cache, step);
                let now = cache.read(0, BYTES).unwrap();
                for (versions, block) in since_flush.iter_mut().zip(now.chunks(BLOCK)) {
                    match step {
                        Step::Flush | Step::GoBackTo { .. } => versions.clear(),
                        Step::Cut { .. } => {
                            prop_assert!(versions.iter().any(|it| it == block), "{step:?}");
                            versions.clear();
                        }
                        _ => {}
                    }
                    versions.push(block.to_vec());
                }
            }
        }
    }
}
