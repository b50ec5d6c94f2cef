//! Berkeley DB 5.3, in the design of MemcacheDB: a B-tree with transactions and a log, a thread that
//! makes checkpoints, and recovery at the start.
//!
//! `--sync commit` (the default): the log is synced before writes are acknowledged. `--sync none`:
//! it isn't even written then (`DB_TXN_NOSYNC`, MemcacheDB's `-N`). `--checkpoint-s N`: 300 unless
//! said otherwise, `--cache-mib N`: 64, `--log-buffer-kib N`: 256; MemcacheDB's `-C`, `-m` and `-L`.

use std::ffi::{c_char, c_int, c_void};
use std::path::Path;
use std::ptr;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use super::{Engine, Session, ffi};
use crate::batch::Batch;
use crate::error::{Error, Result};
use crate::options::Flags;

/// What `bdb.c` has.
mod c {
    use super::{c_char, c_int, c_void};

    #[repr(C)]
    pub struct Value {
        pub bytes: *mut c_void,
        pub length: u32,
    }

    unsafe extern "C" {
        pub fn store_bdb_open(
            dir: *const c_char,
            cache_mib: u32,
            log_buffer_kib: u32,
            sync: c_int,
            opened: *mut *mut c_void,
        ) -> c_int;
        pub fn store_bdb_close(it: *mut c_void);
        pub fn store_bdb_get(
            it: *mut c_void,
            key: *const c_void,
            key_length: u32,
            value: *mut Value,
        ) -> c_int;
        pub fn store_bdb_begin(it: *mut c_void, txn: *mut *mut c_void) -> c_int;
        pub fn store_bdb_put(
            it: *mut c_void,
            txn: *mut c_void,
            key: *const c_void,
            key_length: u32,
            bytes: *const c_void,
            length: u32,
        ) -> c_int;
        pub fn store_bdb_delete(
            it: *mut c_void,
            txn: *mut c_void,
            key: *const c_void,
            key_length: u32,
        ) -> c_int;
        pub fn store_bdb_commit(txn: *mut c_void, deferred: c_int) -> c_int;
        pub fn store_bdb_abort(txn: *mut c_void);
        pub fn store_bdb_delete_some(
            it: *mut c_void,
            txn: *mut c_void,
            most: u32,
            deleted: *mut u32,
        ) -> c_int;
        pub fn store_bdb_count(it: *mut c_void, count: *mut u64) -> c_int;
        pub fn store_bdb_checkpoint(it: *mut c_void) -> c_int;
        pub fn store_bdb_is_not_found(error: c_int) -> c_int;
        pub fn store_bdb_is_deadlock(error: c_int) -> c_int;
        pub fn store_bdb_error(error: c_int) -> *const c_char;
    }
}

/// Writes of one transaction: each holds locks on the pages that it changed.
const TRANSACTION_WRITES_MAX: usize = 256;
/// How often an operation is tried that stood in another's way.
const TRIES: u32 = 1000;

pub struct BerkeleyDb {
    environment: Arc<Environment>,
    /// Of two who write, each could wait for the other's pages: one does at a time.
    writer: Mutex<()>,
    checkpoints: Checkpoints,
}

struct Environment(*mut c_void);

// SAFETY: environment and database were opened for use by several threads (DB_THREAD).
unsafe impl Send for Environment {}
// SAFETY: as above.
unsafe impl Sync for Environment {}

impl Drop for Environment {
    fn drop(&mut self) {
        // SAFETY: nobody uses it afterwards.
        unsafe { c::store_bdb_close(self.0) };
    }
}

/// The thread that makes checkpoints, and what ends it.
struct Checkpoints {
    end: Sender<()>,
    thread: JoinHandle<()>,
}

fn check(code: c_int) -> Result<()> {
    match code {
        0 => Ok(()),
        code => {
            // SAFETY: its texts are constants.
            let why = unsafe { ffi::text(c::store_bdb_error(code)) };
            Err(Error::new(format!("Berkeley DB: {why}")))
        }
    }
}

/// Does something again where it was given up so that another could go on.
fn again_after_deadlocks(mut step: impl FnMut() -> c_int) -> c_int {
    let mut code = step();
    for _ in 1..TRIES {
        // SAFETY: compares a number.
        if unsafe { c::store_bdb_is_deadlock(code) } == 0 {
            break;
        }
        code = step();
    }
    code
}

fn is_not_found(code: c_int) -> bool {
    // SAFETY: compares a number.
    unsafe { c::store_bdb_is_not_found(code) != 0 }
}

// Keys and values are bounded where requests are read: far below 4 GB.
fn length(bytes: &[u8]) -> u32 {
    bytes.len() as u32
}

impl BerkeleyDb {
    /// Recovers what is there, and opens it.
    ///
    /// # Errors
    /// Where Berkeley DB can't.
    pub fn open(dir: &Path, flags: &mut Flags) -> Result<BerkeleyDb> {
        let sync = flags.one_of("sync", &["commit", "none"])? == "commit";
        let cache_mib = flags.parsed("cache-mib")?.unwrap_or(64);
        let log_buffer_kib = flags.parsed("log-buffer-kib")?.unwrap_or(256);
        let between = Duration::from_secs(flags.parsed("checkpoint-s")?.unwrap_or(300));
        let path = ffi::path(dir)?;
        let mut opened = ptr::null_mut();
        // SAFETY: the path lives meanwhile.
        check(unsafe {
            c::store_bdb_open(
                path.as_ptr(),
                cache_mib,
                log_buffer_kib,
                sync.into(),
                &raw mut opened,
            )
        })?;
        let environment = Arc::new(Environment(opened));
        let checkpoints = Checkpoints::begin(environment.clone(), between);
        Ok(BerkeleyDb { environment, writer: Mutex::default(), checkpoints })
    }

    /// Does something in a transaction of its own, and commits it.
    fn transact(&self, deferred: bool, writes: impl Fn(*mut c_void) -> c_int) -> Result<()> {
        let it = self.environment.0;
        check(again_after_deadlocks(|| {
            let mut txn = ptr::null_mut();
            // SAFETY: the environment is open; the transaction isn't used after its end.
            unsafe {
                match c::store_bdb_begin(it, &raw mut txn) {
                    0 => {}
                    code => return code,
                }
                match writes(txn) {
                    0 => c::store_bdb_commit(txn, deferred.into()),
                    code => {
                        c::store_bdb_abort(txn);
                        code
                    }
                }
            }
        }))
    }
}

impl Checkpoints {
    fn begin(environment: Arc<Environment>, between: Duration) -> Checkpoints {
        let (end, ended) = channel();
        let thread = std::thread::spawn(move || {
            while ended.recv_timeout(between) == Err(RecvTimeoutError::Timeout) {
                // SAFETY: the environment is open.
                if let Err(why) = check(unsafe { c::store_bdb_checkpoint(environment.0) }) {
                    eprintln!("store: no checkpoint: {why}");
                }
            }
        });
        Checkpoints { end, thread }
    }
}

impl Engine for BerkeleyDb {
    fn session(&self) -> Result<Box<dyn Session + '_>> {
        let value = c::Value { bytes: ptr::null_mut(), length: 0 };
        Ok(Box::new(BerkeleyDbSession { bdb: self, value }))
    }

    fn close(self: Box<Self>) -> Result<()> {
        let Checkpoints { end, thread } = self.checkpoints;
        drop(end);
        thread.join().map_err(|_| Error::new("the thread of checkpoints ended by a panic"))?;
        // SAFETY: the environment is open.
        check(unsafe { c::store_bdb_checkpoint(self.environment.0) })
    }
}

struct BerkeleyDbSession<'e> {
    bdb: &'e BerkeleyDb,
    /// Room for what was read.
    value: c::Value,
}

impl Drop for BerkeleyDbSession<'_> {
    fn drop(&mut self) {
        // SAFETY: Berkeley DB made it by `realloc`, or it is null.
        unsafe { libc::free(self.value.bytes) };
    }
}

impl Session for BerkeleyDbSession<'_> {
    fn get(&mut self, key: &[u8], found: &mut dyn FnMut(&[u8])) -> Result<()> {
        let (it, value) = (self.bdb.environment.0, &raw mut self.value);
        // SAFETY: the room is this session's, and nobody changes it while it is looked at.
        unsafe {
            match again_after_deadlocks(|| {
                c::store_bdb_get(it, key.as_ptr().cast(), length(key), value)
            }) {
                code if is_not_found(code) => {}
                code => {
                    check(code)?;
                    found(ffi::bytes(self.value.bytes, self.value.length as usize));
                }
            }
        }
        Ok(())
    }

    fn commit(&mut self, batch: &Batch) -> Result<()> {
        let it = self.bdb.environment.0;
        let _writer = self.bdb.writer.lock().unwrap_or_else(PoisonError::into_inner);
        let writes: Vec<_> = batch.writes().collect();
        let mut parts = writes.chunks(TRANSACTION_WRITES_MAX).peekable();
        while let Some(part) = parts.next() {
            // The log is one file in its order: when the last is synced, all are.
            let deferred = parts.peek().is_some();
            self.bdb.transact(deferred, |txn| {
                for (key, kept) in part {
                    let (begin, length_) = (key.as_ptr().cast(), length(key));
                    // SAFETY: the transaction is this thread's; keys and values are copied.
                    let code = unsafe {
                        match kept {
                            Some(kept) => c::store_bdb_put(
                                it,
                                txn,
                                begin,
                                length_,
                                kept.as_ptr().cast(),
                                length(kept),
                            ),
                            None => match c::store_bdb_delete(it, txn, begin, length_) {
                                code if is_not_found(code) => 0,
                                code => code,
                            },
                        }
                    };
                    if code != 0 {
                        return code;
                    }
                }
                0
            })?;
        }
        Ok(())
    }

    /// By reading all pages: what Berkeley DB tells without may be long over.
    fn count(&mut self) -> Result<u64> {
        let (it, mut count) = (self.bdb.environment.0, 0);
        // SAFETY: the database is open.
        check(again_after_deadlocks(|| unsafe { c::store_bdb_count(it, &raw mut count) }))?;
        Ok(count)
    }

    fn clear(&mut self) -> Result<()> {
        let it = self.bdb.environment.0;
        let _writer = self.bdb.writer.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let deleted = std::cell::Cell::new(0_u32);
            self.bdb.transact(false, |txn| {
                let most = TRANSACTION_WRITES_MAX as u32;
                // SAFETY: the transaction is this thread's.
                match unsafe { c::store_bdb_delete_some(it, txn, most, deleted.as_ptr()) } {
                    code if is_not_found(code) => 0,
                    code => code,
                }
            })?;
            if deleted.get() == 0 {
                return Ok(());
            }
        }
    }
}
