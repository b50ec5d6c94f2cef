use super::*;
use crate::value::Head;

const HONEST: Faults = Faults { forget_folder: false, sync_every: 1, no_checksum: false };

fn put(log: &Log, key: &[u8], value: &[u8]) {
    let mut batch = Batch::default();
    batch.put(key, &Head::default(), value);
    log.session().unwrap().commit(&batch).unwrap();
}

fn get(log: &Log, key: &[u8]) -> Option<Vec<u8>> {
    let mut value = None;
    let found = &mut |kept: &[u8]| value = Head::split(kept).map(|(_, value)| value.to_vec());
    log.session().unwrap().get(key, found).unwrap();
    value
}

/// A log of three values whose last record is cut so many bytes before its end.
fn cut(faults: Faults, missing: usize) -> (tempfile::TempDir, Result<Log>) {
    let dir = tempfile::tempdir().unwrap();
    let log = Log::open(dir.path(), HONEST).unwrap();
    for (key, value) in [(b"a", b"first value"), (b"b", b"other value"), (b"a", b"third value")] {
        put(&log, key, value);
    }
    let end = log.writer.lock().unwrap().at;
    drop(log);
    let segment = Segment::open(dir.path(), 1).unwrap();
    segment.cut(end - missing as u64).unwrap();
    let log = Log::open(dir.path(), faults);
    (dir, log)
}

#[test]
fn a_record_that_was_cut_anywhere_is_none_and_those_before_are_there() {
    let record = record::bytes(1, Head::default().bytes().len() + b"third value".len());
    for missing in 1..=record {
        let (dir, log) = cut(HONEST, missing);
        let log = log.unwrap();
        assert_eq!(get(&log, b"a").as_deref(), Some(&b"first value"[..]), "{missing} missing");
        assert_eq!(get(&log, b"b").as_deref(), Some(&b"other value"[..]), "{missing} missing");
        // Nor does what is left of it come back later.
        put(&log, b"c", b"4");
        drop(log);
        let log = Log::open(dir.path(), HONEST).unwrap();
        assert_eq!(get(&log, b"a").as_deref(), Some(&b"first value"[..]), "{missing} missing");
        assert_eq!(get(&log, b"c").as_deref(), Some(&b"4"[..]), "{missing} missing");
    }
}

#[test]
fn without_checksums_a_record_that_was_cut_is_served_as_it_is() {
    let (_dir, log) = cut(Faults { no_checksum: true, ..HONEST }, 5);
    assert_eq!(get(&log.unwrap(), b"a").as_deref(), Some(&b"third \0\0\0\0\0"[..]));
}

#[test]
fn what_is_broken_before_the_last_segment_is_told_and_not_passed_over() {
    let dir = tempfile::tempdir().unwrap();
    for _ in 0..2 {
        let log = Log::open(dir.path(), HONEST).unwrap();
        put(&log, b"a", b"1");
        put(&log, b"b", b"2");
    }
    let segment = Segment::open(dir.path(), 1).unwrap();
    segment.write_at(b"x", record::value_begin(1) as u64).unwrap();
    let why = Log::open(dir.path(), HONEST).err().map(|why| why.to_string()).unwrap_or_default();
    assert!(why.contains("00000001.log: broken behind byte 0"), "{why:?}");
}

#[test]
fn a_log_that_is_mostly_of_no_use_is_made_smaller_and_loses_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let log = Log::open(dir.path(), HONEST).unwrap();
    let value = |number: u32| vec![number as u8; 1 << 20];
    put(&log, b"kept", b"from the begin on");
    put(&log, b"gone", b"from the begin on");
    let mut batch = Batch::default();
    batch.delete(b"gone");
    log.session().unwrap().commit(&batch).unwrap();
    for number in 0..200 {
        put(&log, &(number % 20_u32).to_le_bytes(), &value(number));
    }
    let check = |log: &Log| {
        assert_eq!(get(log, b"kept").as_deref(), Some(&b"from the begin on"[..]));
        assert_eq!(get(log, b"gone"), None);
        for key in 0..20_u32 {
            assert_eq!(get(log, &key.to_le_bytes()), Some(value(180 + key)), "{key}");
        }
    };
    check(&log);
    let bytes = |index: &Index| index.segments.values().map(|segment| segment.bytes()).sum::<u64>();
    assert!(bytes(&log.read()) < 100 << 20, "{} bytes of 200 MiB", bytes(&log.read()));
    drop(log);
    let log = Log::open(dir.path(), HONEST).unwrap();
    check(&log);
    assert!(bytes(&log.read()) < 100 << 20);
}

#[test]
fn a_segment_whose_name_was_never_made_whole_is_none() {
    let dir = tempfile::tempdir().unwrap();
    put(&Log::open(dir.path(), HONEST).unwrap(), b"a", b"1");
    fs::write(dir.path().join("00000002.new"), b"half").unwrap();
    let log = Log::open(dir.path(), HONEST).unwrap();
    assert_eq!(get(&log, b"a").as_deref(), Some(&b"1"[..]));
}
