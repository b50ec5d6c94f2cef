//! Tokyo Cabinet's hash database, in the design of Tokyo Tyrant: a file mapped into memory, that the
//! kernel writes when it likes.
//!
//! `--sync none` (the default, as of Tokyo Tyrant): nothing is synced before the end. `--sync commit`:
//! the file is synced after each batch. `--bnum N`: buckets, 131,071 unless said otherwise; they are
//! made once, with the file.

use std::ffi::{c_char, c_int, c_void};
use std::path::Path;

use super::{Engine, Session, ffi};
use crate::batch::Batch;
use crate::error::{Error, Result};
use crate::options::Flags;

/// `tchdb.h` of version 1.4.
mod c {
    use super::{c_char, c_int, c_void};

    pub const WRITER: c_int = 1 << 1;
    pub const CREATE: c_int = 1 << 2;
    /// A file of more than 2 GB.
    pub const LARGE: u8 = 1;
    /// `TCENOREC`.
    pub const NO_RECORD: c_int = 22;

    #[link(name = "tokyocabinet")]
    unsafe extern "C" {
        pub fn tchdbnew() -> *mut c_void;
        pub fn tchdbdel(db: *mut c_void);
        pub fn tchdberrmsg(code: c_int) -> *const c_char;
        pub fn tchdbecode(db: *mut c_void) -> c_int;
        pub fn tchdbsetmutex(db: *mut c_void) -> bool;
        pub fn tchdbtune(db: *mut c_void, buckets: i64, apow: i8, fpow: i8, options: u8) -> bool;
        pub fn tchdbopen(db: *mut c_void, path: *const c_char, mode: c_int) -> bool;
        pub fn tchdbclose(db: *mut c_void) -> bool;
        pub fn tchdbput(
            db: *mut c_void,
            key: *const c_void,
            key_bytes: c_int,
            value: *const c_void,
            value_bytes: c_int,
        ) -> bool;
        pub fn tchdbout(db: *mut c_void, key: *const c_void, key_bytes: c_int) -> bool;
        pub fn tchdbget(
            db: *mut c_void,
            key: *const c_void,
            key_bytes: c_int,
            value_bytes: *mut c_int,
        ) -> *mut c_void;
        pub fn tchdbsync(db: *mut c_void) -> bool;
        pub fn tchdbvanish(db: *mut c_void) -> bool;
        pub fn tchdbrnum(db: *mut c_void) -> u64;
    }
}

pub struct TokyoCabinet {
    db: *mut c_void,
    sync: bool,
}

// SAFETY: the database has a mutex (`tchdbsetmutex`), and an error code for each thread.
unsafe impl Send for TokyoCabinet {}
// SAFETY: as above.
unsafe impl Sync for TokyoCabinet {}

// Keys and values are bounded where requests are read: far below 2 GB.
fn length(bytes: &[u8]) -> c_int {
    bytes.len() as c_int
}

impl TokyoCabinet {
    /// # Errors
    /// Where Tokyo Cabinet can't open what is there.
    pub fn open(dir: &Path, flags: &mut Flags) -> Result<TokyoCabinet> {
        let sync = flags.one_of("sync", &["none", "commit"])? == "commit";
        let buckets: i64 = flags.parsed("bnum")?.unwrap_or(131_071);
        let path = ffi::path(&dir.join("store.tch"))?;
        // SAFETY: the path lives meanwhile.
        unsafe {
            let tokyo = TokyoCabinet { db: c::tchdbnew(), sync };
            // -1: the default alignment and pool of free blocks.
            tokyo.check(
                c::tchdbsetmutex(tokyo.db)
                    && c::tchdbtune(tokyo.db, buckets, -1, -1, c::LARGE)
                    && c::tchdbopen(tokyo.db, path.as_ptr(), c::WRITER | c::CREATE),
            )?;
            Ok(tokyo)
        }
    }

    fn check(&self, is_done: bool) -> Result<()> {
        if is_done {
            return Ok(());
        }
        // SAFETY: the database lives, and its texts are constants.
        let why = unsafe { ffi::text(c::tchdberrmsg(c::tchdbecode(self.db))) };
        Err(Error::new(format!("Tokyo Cabinet: {why}")))
    }

    /// As [`TokyoCabinet::check`], of what also says so where a key has no value.
    fn check_found(&self, is_done: bool) -> Result<()> {
        // SAFETY: the database lives.
        let is_missing = !is_done && unsafe { c::tchdbecode(self.db) } == c::NO_RECORD;
        self.check(is_done || is_missing)
    }
}

impl Drop for TokyoCabinet {
    fn drop(&mut self) {
        // SAFETY: nobody uses it afterwards. One that is open is closed.
        unsafe { c::tchdbdel(self.db) };
    }
}

impl Engine for TokyoCabinet {
    fn session(&self) -> Result<Box<dyn Session + '_>> {
        Ok(Box::new(self))
    }

    fn close(self: Box<Self>) -> Result<()> {
        // SAFETY: the database is open.
        self.check(unsafe { c::tchdbsync(self.db) && c::tchdbclose(self.db) })
    }
}

impl Session for &TokyoCabinet {
    fn get(&mut self, key: &[u8], found: &mut dyn FnMut(&[u8])) -> Result<()> {
        let mut bytes = 0;
        // SAFETY: what was found was made by `malloc`, and has to be given back.
        unsafe {
            let value = c::tchdbget(self.db, key.as_ptr().cast(), length(key), &raw mut bytes);
            if value.is_null() {
                return self.check_found(false);
            }
            found(ffi::bytes(value, bytes as usize));
            libc::free(value);
        }
        Ok(())
    }

    fn commit(&mut self, batch: &Batch) -> Result<()> {
        for (key, kept) in batch.writes() {
            let (begin, bytes) = (key.as_ptr().cast(), length(key));
            // SAFETY: keys and values are copied.
            unsafe {
                match kept {
                    Some(kept) => {
                        let (value, length) = (kept.as_ptr().cast(), length(kept));
                        self.check(c::tchdbput(self.db, begin, bytes, value, length))?;
                    }
                    None => self.check_found(c::tchdbout(self.db, begin, bytes))?,
                }
            }
        }
        // SAFETY: the database is open.
        self.check(!self.sync || unsafe { c::tchdbsync(self.db) })
    }

    fn count(&mut self) -> Result<u64> {
        // SAFETY: the database is open.
        Ok(unsafe { c::tchdbrnum(self.db) })
    }

    fn clear(&mut self) -> Result<()> {
        // SAFETY: the database is open.
        self.check(unsafe { c::tchdbvanish(self.db) })
    }
}
