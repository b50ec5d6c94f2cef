//! Tkrzw's hash database, the heir of Tokyo Cabinet by the same author.
//!
//! `--sync none` (the default, as of [`tokyo`](super)): nothing is synced before the end. `--sync
//! commit`: the file is synced after each batch. `--buckets N`: 1,048,583 unless said otherwise; they
//! are made once, with the file.

use std::ffi::{CString, c_char, c_void};
use std::path::Path;
use std::ptr;

use super::{Engine, Session, ffi};
use crate::batch::Batch;
use crate::error::{Error, Result};
use crate::options::Flags;

/// `tkrzw_langc.h` of version 1.0.
mod c {
    use super::{c_char, c_void};

    pub const NOT_FOUND: i32 = 7;

    #[repr(C)]
    pub struct Status {
        pub code: i32,
        pub message: *const c_char,
    }

    #[link(name = "tkrzw")]
    unsafe extern "C" {
        /// Of this thread's last operation.
        pub fn tkrzw_get_last_status() -> Status;
        pub fn tkrzw_status_code_name(code: i32) -> *const c_char;
        pub fn tkrzw_dbm_open(
            path: *const c_char,
            writable: bool,
            parameters: *const c_char,
        ) -> *mut c_void;
        pub fn tkrzw_dbm_close(dbm: *mut c_void) -> bool;
        pub fn tkrzw_dbm_set(
            dbm: *mut c_void,
            key: *const c_char,
            key_bytes: i32,
            value: *const c_char,
            value_bytes: i32,
            overwrite: bool,
        ) -> bool;
        pub fn tkrzw_dbm_remove(dbm: *mut c_void, key: *const c_char, key_bytes: i32) -> bool;
        pub fn tkrzw_dbm_get(
            dbm: *mut c_void,
            key: *const c_char,
            key_bytes: i32,
            value_bytes: *mut i32,
        ) -> *mut c_char;
        pub fn tkrzw_dbm_count(dbm: *mut c_void) -> i64;
        pub fn tkrzw_dbm_clear(dbm: *mut c_void) -> bool;
        pub fn tkrzw_dbm_synchronize(
            dbm: *mut c_void,
            hard: bool,
            processor: *const c_void,
            argument: *mut c_void,
            parameters: *const c_char,
        ) -> bool;
    }
}

pub struct Tkrzw {
    dbm: *mut c_void,
    sync: bool,
}

// SAFETY: "every operation is thread-safe" (tkrzw.org, of all its databases).
unsafe impl Send for Tkrzw {}
// SAFETY: as above.
unsafe impl Sync for Tkrzw {}

// Keys and values are bounded where requests are read: far below 2 GB.
fn length(bytes: &[u8]) -> i32 {
    bytes.len() as i32
}

fn check(is_done: bool) -> Result<()> {
    if is_done {
        return Ok(());
    }
    // SAFETY: both texts live until this thread's next operation.
    let (name, message) = unsafe {
        let status = c::tkrzw_get_last_status();
        (ffi::text(c::tkrzw_status_code_name(status.code)), ffi::text(status.message))
    };
    Err(Error::new(format!("Tkrzw: {name} {message}")))
}

/// As [`check`], of what also says so where a key has no value.
fn check_found(is_done: bool) -> Result<()> {
    // SAFETY: takes nothing.
    let is_missing = !is_done && unsafe { c::tkrzw_get_last_status() }.code == c::NOT_FOUND;
    check(is_done || is_missing)
}

impl Tkrzw {
    /// # Errors
    /// Where Tkrzw can't open what is there.
    pub fn open(dir: &Path, flags: &mut Flags) -> Result<Tkrzw> {
        let sync = flags.one_of("sync", &["none", "commit"])? == "commit";
        let buckets: u64 = flags.parsed("buckets")?.unwrap_or(1_048_583);
        let path = ffi::path(&dir.join("store.tkh"))?;
        let parameters = CString::new(format!("dbm=HashDBM,num_buckets={buckets}"));
        let parameters = parameters.map_err(Error::when("Tkrzw"))?;
        // SAFETY: both texts live meanwhile.
        let dbm = unsafe { c::tkrzw_dbm_open(path.as_ptr(), true, parameters.as_ptr()) };
        check(!dbm.is_null())?;
        Ok(Tkrzw { dbm, sync })
    }

    /// Makes durable what was written.
    fn synchronize(&self) -> Result<()> {
        // SAFETY: the database is open; nothing is to be called, and the text is a constant.
        check(unsafe {
            c::tkrzw_dbm_synchronize(self.dbm, true, ptr::null(), ptr::null_mut(), c"".as_ptr())
        })
    }
}

impl Drop for Tkrzw {
    fn drop(&mut self) {
        // SAFETY: nobody uses it afterwards. What was wrong with it `close` has told.
        unsafe { c::tkrzw_dbm_close(self.dbm) };
    }
}

impl Engine for Tkrzw {
    fn session(&self) -> Result<Box<dyn Session + '_>> {
        Ok(Box::new(self))
    }

    fn close(self: Box<Self>) -> Result<()> {
        self.synchronize()
    }
}

impl Session for &Tkrzw {
    fn get(&mut self, key: &[u8], found: &mut dyn FnMut(&[u8])) -> Result<()> {
        let mut bytes = 0;
        // SAFETY: what was found was made by `malloc`, and has to be given back.
        unsafe {
            let value =
                c::tkrzw_dbm_get(self.dbm, key.as_ptr().cast(), length(key), &raw mut bytes);
            if value.is_null() {
                return check_found(false);
            }
            found(ffi::bytes(value.cast(), bytes as usize));
            libc::free(value.cast());
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
                        check(c::tkrzw_dbm_set(self.dbm, begin, bytes, value, length, true))?;
                    }
                    None => check_found(c::tkrzw_dbm_remove(self.dbm, begin, bytes))?,
                }
            }
        }
        match self.sync {
            true => self.synchronize(),
            false => Ok(()),
        }
    }

    fn count(&mut self) -> Result<u64> {
        // SAFETY: the database is open.
        let count = unsafe { c::tkrzw_dbm_count(self.dbm) };
        u64::try_from(count).map_err(|_| Error::new("Tkrzw can't tell how many keys it has"))
    }

    fn clear(&mut self) -> Result<()> {
        // SAFETY: the database is open.
        check(unsafe { c::tkrzw_dbm_clear(self.dbm) })
    }
}
