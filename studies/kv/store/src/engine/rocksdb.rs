//! RocksDB, by the C interface of Debian's library, with its default options: a log-structured
//! merge tree.
//!
//! `--sync commit` (the default): a batch is in the write-ahead log and synced before it is
//! acknowledged. `--sync none`: it is in the log, and not synced.

use std::ffi::{c_char, c_int, c_uchar, c_void};
use std::path::Path;
use std::ptr;

use super::{Engine, Session, ffi};
use crate::batch::Batch;
use crate::error::{Error, Result};
use crate::options::Flags;
use crate::protocol::KEY_BYTES_MAX;

/// `rocksdb/c.h`.
mod c {
    use super::{c_char, c_int, c_uchar, c_void};

    #[link(name = "rocksdb")]
    unsafe extern "C" {
        pub fn rocksdb_options_create() -> *mut c_void;
        pub fn rocksdb_options_destroy(options: *mut c_void);
        pub fn rocksdb_options_set_create_if_missing(options: *mut c_void, yes: c_uchar);
        pub fn rocksdb_options_increase_parallelism(options: *mut c_void, threads: c_int);
        pub fn rocksdb_writeoptions_create() -> *mut c_void;
        pub fn rocksdb_writeoptions_destroy(options: *mut c_void);
        pub fn rocksdb_writeoptions_set_sync(options: *mut c_void, yes: c_uchar);
        pub fn rocksdb_readoptions_create() -> *mut c_void;
        pub fn rocksdb_readoptions_destroy(options: *mut c_void);
        pub fn rocksdb_readoptions_set_fill_cache(options: *mut c_void, yes: c_uchar);
        pub fn rocksdb_open(
            options: *const c_void,
            name: *const c_char,
            error: *mut *mut c_char,
        ) -> *mut c_void;
        pub fn rocksdb_close(db: *mut c_void);
        pub fn rocksdb_flush_wal(db: *mut c_void, sync: c_uchar, error: *mut *mut c_char);
        pub fn rocksdb_get_pinned(
            db: *mut c_void,
            options: *const c_void,
            key: *const c_char,
            key_bytes: usize,
            error: *mut *mut c_char,
        ) -> *mut c_void;
        pub fn rocksdb_pinnableslice_value(
            slice: *const c_void,
            bytes: *mut usize,
        ) -> *const c_char;
        pub fn rocksdb_pinnableslice_destroy(slice: *mut c_void);
        pub fn rocksdb_writebatch_create() -> *mut c_void;
        pub fn rocksdb_writebatch_destroy(batch: *mut c_void);
        pub fn rocksdb_writebatch_clear(batch: *mut c_void);
        pub fn rocksdb_writebatch_put(
            batch: *mut c_void,
            key: *const c_char,
            key_bytes: usize,
            value: *const c_char,
            value_bytes: usize,
        );
        pub fn rocksdb_writebatch_delete(batch: *mut c_void, key: *const c_char, key_bytes: usize);
        pub fn rocksdb_writebatch_delete_range(
            batch: *mut c_void,
            from: *const c_char,
            from_bytes: usize,
            to: *const c_char,
            to_bytes: usize,
        );
        pub fn rocksdb_write(
            db: *mut c_void,
            options: *const c_void,
            batch: *mut c_void,
            error: *mut *mut c_char,
        );
        pub fn rocksdb_create_iterator(db: *mut c_void, options: *const c_void) -> *mut c_void;
        pub fn rocksdb_iter_seek_to_first(iterator: *mut c_void);
        pub fn rocksdb_iter_valid(iterator: *const c_void) -> c_uchar;
        pub fn rocksdb_iter_next(iterator: *mut c_void);
        pub fn rocksdb_iter_get_error(iterator: *const c_void, error: *mut *mut c_char);
        pub fn rocksdb_iter_destroy(iterator: *mut c_void);
        pub fn rocksdb_free(memory: *mut c_void);
    }
}

pub struct RocksDb {
    db: *mut c_void,
    write_options: *mut c_void,
    read_options: *mut c_void,
    /// For reads of everything, which would drive everything else out of the cache.
    scan_options: *mut c_void,
}

// SAFETY: a database may be used by all threads without a lock of their own, and so may options
// that nobody changes any more (RocksDB's wiki, "Basic Operations: Concurrency").
unsafe impl Send for RocksDb {}
// SAFETY: as above.
unsafe impl Sync for RocksDb {}

/// Calls what says what is wrong by a text of its own.
fn check<T>(call: impl FnOnce(*mut *mut c_char) -> T) -> Result<T> {
    let mut error = ptr::null_mut();
    let value = call(&raw mut error);
    if error.is_null() {
        return Ok(value);
    }
    // SAFETY: where there is an error it is a text, which has to be given back.
    let why = unsafe {
        let why = ffi::text(error);
        c::rocksdb_free(error.cast());
        why
    };
    Err(Error::new(format!("RocksDB: {why}")))
}

impl RocksDb {
    /// # Errors
    /// Where RocksDB can't open what is there.
    pub fn open(dir: &Path, flags: &mut Flags) -> Result<RocksDb> {
        let sync = flags.one_of("sync", &["commit", "none"])? == "commit";
        let path = ffi::path(&dir.join("rocksdb"))?;
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        // SAFETY: options are made, used and given back in this order; `drop` has the others.
        unsafe {
            let options = c::rocksdb_options_create();
            c::rocksdb_options_set_create_if_missing(options, 1);
            // As its documentation recommends: background work on all processors that there are.
            c::rocksdb_options_increase_parallelism(options, threads.min(64) as c_int);
            let opened = check(|error| c::rocksdb_open(options, path.as_ptr(), error));
            c::rocksdb_options_destroy(options);
            let db = opened?;
            let write_options = c::rocksdb_writeoptions_create();
            c::rocksdb_writeoptions_set_sync(write_options, sync.into());
            let scan_options = c::rocksdb_readoptions_create();
            c::rocksdb_readoptions_set_fill_cache(scan_options, 0);
            let read_options = c::rocksdb_readoptions_create();
            Ok(RocksDb { db, write_options, read_options, scan_options })
        }
    }

    fn write(&self, batch: *mut c_void) -> Result<()> {
        // SAFETY: all of them live.
        check(|error| unsafe { c::rocksdb_write(self.db, self.write_options, batch, error) })
    }
}

impl Drop for RocksDb {
    fn drop(&mut self) {
        // SAFETY: no session is left; nobody uses them afterwards.
        unsafe {
            c::rocksdb_close(self.db);
            c::rocksdb_writeoptions_destroy(self.write_options);
            c::rocksdb_readoptions_destroy(self.read_options);
            c::rocksdb_readoptions_destroy(self.scan_options);
        }
    }
}

impl Engine for RocksDb {
    fn session(&self) -> Result<Box<dyn Session + '_>> {
        // SAFETY: takes nothing.
        let batch = unsafe { c::rocksdb_writebatch_create() };
        Ok(Box::new(RocksDbSession { rocks: self, batch }))
    }

    fn close(self: Box<Self>) -> Result<()> {
        // SAFETY: the database is open.
        check(|error| unsafe { c::rocksdb_flush_wal(self.db, 1, error) })
    }
}

struct RocksDbSession<'e> {
    rocks: &'e RocksDb,
    /// Used again and again.
    batch: *mut c_void,
}

impl Drop for RocksDbSession<'_> {
    fn drop(&mut self) {
        // SAFETY: nobody uses it afterwards.
        unsafe { c::rocksdb_writebatch_destroy(self.batch) };
    }
}

impl Session for RocksDbSession<'_> {
    fn get(&mut self, key: &[u8], found: &mut dyn FnMut(&[u8])) -> Result<()> {
        let RocksDb { db, read_options, .. } = *self.rocks;
        // SAFETY: what was found lives until it is given back.
        unsafe {
            let value = check(|error| {
                c::rocksdb_get_pinned(db, read_options, key.as_ptr().cast(), key.len(), error)
            })?;
            if !value.is_null() {
                let mut length = 0;
                let bytes = c::rocksdb_pinnableslice_value(value, &raw mut length);
                found(ffi::bytes(bytes.cast(), length));
                c::rocksdb_pinnableslice_destroy(value);
            }
        }
        Ok(())
    }

    fn commit(&mut self, batch: &Batch) -> Result<()> {
        let to = self.batch;
        // SAFETY: the batch is this session's; keys and values are copied into it.
        unsafe {
            c::rocksdb_writebatch_clear(to);
            for (key, kept) in batch.writes() {
                let (begin, length) = (key.as_ptr().cast(), key.len());
                match kept {
                    Some(kept) => c::rocksdb_writebatch_put(
                        to,
                        begin,
                        length,
                        kept.as_ptr().cast(),
                        kept.len(),
                    ),
                    None => c::rocksdb_writebatch_delete(to, begin, length),
                }
            }
        }
        self.rocks.write(to)
    }

    /// By reading all keys: what RocksDB tells without is an estimate.
    fn count(&mut self) -> Result<u64> {
        let mut count = 0;
        // SAFETY: the iterator is this function's, and given back.
        unsafe {
            let iterator = c::rocksdb_create_iterator(self.rocks.db, self.rocks.scan_options);
            c::rocksdb_iter_seek_to_first(iterator);
            while c::rocksdb_iter_valid(iterator) != 0 {
                count += 1;
                c::rocksdb_iter_next(iterator);
            }
            let done = check(|error| c::rocksdb_iter_get_error(iterator, error));
            c::rocksdb_iter_destroy(iterator);
            done.map(|()| count)
        }
    }

    fn clear(&mut self) -> Result<()> {
        // Behind every key that there may be.
        let last = [0xff; KEY_BYTES_MAX + 1];
        // SAFETY: as of `commit`.
        unsafe {
            c::rocksdb_writebatch_clear(self.batch);
            c::rocksdb_writebatch_delete_range(
                self.batch,
                ptr::NonNull::<c_char>::dangling().as_ptr(),
                0,
                last.as_ptr().cast(),
                last.len(),
            );
        }
        self.rocks.write(self.batch)
    }
}
