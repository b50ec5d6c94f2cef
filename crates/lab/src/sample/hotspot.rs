//! The counters that HotSpot keeps in a file (`-XX:+UsePerfData`, its default),
//! read from outside while the contender runs.
//!
//! The file is `/tmp/hsperfdata_USER/PID`, whatever `TMPDIR` and
//! `java.io.tmpdir` say. Its form, version 2.0, stands in OpenJDK's
//! `perfMemory.hpp` and `perfData.cpp`: a prologue of 32 bytes, then entries,
//! each with its length, the offset of its name, and that of its data. It is the
//! contender's file: nothing in it is believed unchecked.

use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::PathBuf;

use rustix::fs::OFlags;

/// HotSpot makes it 32 KiB, more with `-XX:PerfDataMemorySize`.
const BYTES_MAX: u64 = 1 << 20;
/// There are some hundred.
const ENTRIES_MAX: i32 = 4096;
const TEXT_BYTES_MAX: usize = 128;
/// No HotSpot has as many.
const COLLECTORS_MAX: u32 = 10;
/// Folders that are looked through for the file.
const USERS_MAX: usize = 256;

/// Where the counters of a process are.
#[derive(Debug)]
pub(super) struct PerfData {
    path: PathBuf,
    owner: u32,
}

impl PerfData {
    /// Looks for the file of a process; `None` if it has none, as is usual for
    /// all that is no JVM.
    pub fn of(pid: i32) -> Option<PerfData> {
        let owner = fs::metadata(format!("/proc/{pid}")).ok()?.uid();
        // As the process sees it, should it have a root of its own.
        let folders = fs::read_dir(format!("/proc/{pid}/root/tmp")).ok()?.flatten();
        let is_users =
            |name: &std::ffi::OsStr| name.to_str().is_some_and(|it| it.starts_with("hsperfdata_"));
        folders
            .filter(|folder| is_users(&folder.file_name()))
            .take(USERS_MAX)
            .map(|folder| PerfData { path: folder.path().join(pid.to_string()), owner })
            .find(|data| data.open().is_some())
    }

    /// The file, if it is one, of that user, and of a likely size.
    fn open(&self) -> Option<File> {
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let mut options = File::options();
        options.read(true).custom_flags(flags.bits() as i32);
        let file = options.open(&self.path).ok()?;
        let told = file.metadata().ok()?;
        (told.is_file() && told.uid() == self.owner && told.len() <= BYTES_MAX).then_some(file)
    }

    /// Seconds for which garbage collections made the application stand still.
    pub fn gc_pause_s(&self) -> Option<f64> {
        let mut bytes = Vec::new();
        self.open()?.take(BYTES_MAX).read_to_end(&mut bytes).ok()?;
        gc_pause_s(&bytes)
    }
}

const MAGIC: [u8; 4] = [0xca, 0xfe, 0xc0, 0xc0];
const LONG: u8 = b'J';

/// A text as C has it, cut where it is endless.
fn until_zero(bytes: &[u8]) -> &[u8] {
    let bytes = &bytes[..bytes.len().min(TEXT_BYTES_MAX)];
    bytes.split(|byte| *byte == 0).next().unwrap_or_default()
}

/// One entry.
struct Entry<'a> {
    name: &'a [u8],
    kind: u8,
    data: &'a [u8],
    big_endian: bool,
}

impl Entry<'_> {
    fn long(&self) -> Option<i64> {
        let bytes = *self.data.first_chunk()?;
        let value = if self.big_endian { i64::from_be_bytes } else { i64::from_le_bytes };
        (self.kind == LONG).then(|| value(bytes))
    }

    fn text(&self) -> &[u8] {
        until_zero(self.data)
    }
}

/// All entries that can be read.
fn entries(bytes: &[u8]) -> Option<impl Iterator<Item = Entry<'_>>> {
    if bytes.get(..4)? != MAGIC {
        return None;
    }
    let big_endian = match bytes.get(4)? {
        0 => true,
        1 => false,
        _ => return None,
    };
    let is_version_2 = *bytes.get(5)? == 2;
    let is_accessible = *bytes.get(7)? == 1;
    if !is_version_2 || !is_accessible {
        return None;
    }
    let int = move |at: usize| -> Option<i32> {
        let bytes = *bytes.get(at..)?.first_chunk()?;
        Some(if big_endian { i32::from_be_bytes(bytes) } else { i32::from_le_bytes(bytes) })
    };
    let offset = move |at| usize::try_from(int(at)?).ok();
    let mut next = offset(24)?;
    let mut left = int(28)?.min(ENTRIES_MAX);
    Some(std::iter::from_fn(move || {
        left = left.checked_sub(1).filter(|left| *left >= 0)?;
        let start = next;
        // An entry is longer than its head, so that this comes to an end.
        let length = offset(start)?.max(20);
        next = start.checked_add(length)?;
        let entry = bytes.get(start..next)?;
        Some(Entry {
            name: until_zero(entry.get(offset(start + 4)?..)?),
            kind: *entry.get(12)?,
            data: entry.get(offset(start + 16)?..)?,
            big_endian,
        })
    }))
}

/// The sum over all collectors, but for the cycles that run beside the
/// application; a collector's counter has a name that says which it is.
fn gc_pause_s(bytes: &[u8]) -> Option<f64> {
    let find = |name: &str| entries(bytes)?.find(|entry| entry.name == name.as_bytes());
    let frequency = find("sun.os.hrt.frequency")?.long().filter(|hertz| *hertz > 0)?;
    let pauses = (0..COLLECTORS_MAX).filter_map(|collector| {
        let time = find(&format!("sun.gc.collector.{collector}.time"))?.long()?;
        let title = find(&format!("sun.gc.collector.{collector}.name"));
        let is_beside = title.is_some_and(|it| it.text().ends_with(b"cycles"));
        (!is_beside).then_some(time.max(0) as f64)
    });
    Some(pauses.reduce(|sum, ticks| sum + ticks)? / frequency as f64)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn long(value: i64) -> (u8, Vec<u8>) {
        (LONG, value.to_le_bytes().to_vec())
    }

    fn text(value: &str) -> (u8, Vec<u8>) {
        (b'B', format!("{value}\0").into_bytes())
    }

    /// A file with these entries, as HotSpot lays them out.
    fn file(content: &[(&str, (u8, Vec<u8>))]) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend([1, 2, 0, 1]);
        bytes.extend([0; 16]);
        bytes.extend(32_i32.to_le_bytes());
        bytes.extend((content.len() as i32).to_le_bytes());
        for (name, (kind, data)) in content {
            let data_at = (20 + name.len() + 1).next_multiple_of(8);
            let length = (data_at + data.len()).next_multiple_of(8);
            let mut entry = Vec::new();
            for number in [length, 20, if *kind == LONG { 0 } else { data.len() }] {
                entry.extend((number as i32).to_le_bytes());
            }
            entry.extend([*kind, 1, 3, 2]);
            entry.extend((data_at as i32).to_le_bytes());
            entry.extend(name.as_bytes());
            entry.resize(data_at, 0);
            entry.extend(data);
            entry.resize(length, 0);
            bytes.extend(entry);
        }
        bytes
    }

    fn sound() -> Vec<u8> {
        file(&[
            ("sun.gc.collector.0.name", text("G1 young collection pauses")),
            ("sun.gc.collector.0.time", long(1_500_000)),
            ("sun.gc.collector.1.name", text("G1 full collection pauses")),
            ("sun.gc.collector.1.time", long(500_000)),
            ("sun.gc.collector.2.name", text("ZGC major collection cycles")),
            ("sun.gc.collector.2.time", long(77_000_000)),
            ("sun.os.hrt.frequency", long(1_000_000)),
        ])
    }

    #[test]
    fn pauses_are_summed_and_concurrent_cycles_are_not() {
        assert_eq!(gc_pause_s(&sound()), Some(2.0));
    }

    #[test]
    fn what_is_missing_is_none() {
        assert_eq!(gc_pause_s(&file(&[("sun.os.hrt.frequency", long(1_000_000))])), None);
        assert_eq!(gc_pause_s(&file(&[("sun.gc.collector.0.time", long(1))])), None);
        let zero = [("sun.os.hrt.frequency", long(0)), ("sun.gc.collector.0.time", long(1))];
        assert_eq!(gc_pause_s(&file(&zero)), None, "a frequency of 0 would divide by it");
        assert_eq!(gc_pause_s(b""), None);
        assert_eq!(gc_pause_s(b"\xca\xfe\xba\xbe and so on"), None);
    }

    #[test]
    fn a_file_cut_anywhere_does_no_harm() {
        let whole = sound();
        for length in 0..whole.len() {
            let _ = gc_pause_s(&whole[..length]);
        }
    }

    #[test]
    fn a_file_that_is_still_being_made_is_not_read() {
        let mut bytes = sound();
        bytes[7] = 0;
        assert_eq!(gc_pause_s(&bytes), None);
    }

    proptest! {
        #[test]
        fn anything_does_no_harm(
            noise in prop::collection::vec((0_usize..700, any::<u8>()), 0..40),
            tail in prop::collection::vec(any::<u8>(), 0..200),
        ) {
            let mut bytes = sound();
            for (at, byte) in noise {
                if let Some(target) = bytes.get_mut(at) {
                    *target = byte;
                }
            }
            bytes.extend(&tail);
            let seconds = gc_pause_s(&bytes);
            prop_assert!(seconds.is_none_or(|it| it.is_finite() && it >= 0.0));
            let _ = gc_pause_s(&tail);
        }
    }
}
