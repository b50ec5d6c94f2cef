//! LMDB, by the C interface of Debian's library: a B+ tree in a memory-mapped file.
//!
//! `--sync commit` (the default): a commit is on the disk when it returns. `--sync none`
//! (`MDB_NOSYNC`): the kernel writes when it likes. `--map-gib N`: how large the file may grow, 64 GiB
//! unless said otherwise; that takes addresses, and no memory.

use std::ffi::{c_char, c_int, c_uint, c_void};
use std::mem::MaybeUninit;
use std::path::Path;
use std::ptr;

use super::{Engine, Session, ffi};
use crate::batch::Batch;
use crate::error::{Error, Result};
use crate::options::Flags;

/// `lmdb.h` of version 0.9.
mod c {
    use super::{c_char, c_int, c_uint, c_void};

    pub const NOSYNC: c_uint = 0x10000;
    pub const RDONLY: c_uint = 0x20000;
    pub const NOTLS: c_uint = 0x20_0000;
    pub const NOTFOUND: c_int = -30798;

    #[repr(C)]
    pub struct Val {
        pub size: usize,
        pub data: *mut c_void,
    }

    #[repr(C)]
    pub struct Stat {
        pub psize: c_uint,
        pub depth: c_uint,
        pub branch_pages: usize,
        pub leaf_pages: usize,
        pub overflow_pages: usize,
        pub entries: usize,
    }

    #[link(name = "lmdb")]
    unsafe extern "C" {
        pub fn mdb_strerror(error: c_int) -> *const c_char;
        pub fn mdb_env_create(env: *mut *mut c_void) -> c_int;
        pub fn mdb_env_set_mapsize(env: *mut c_void, bytes: usize) -> c_int;
        pub fn mdb_env_set_maxreaders(env: *mut c_void, readers: c_uint) -> c_int;
        pub fn mdb_env_open(
            env: *mut c_void,
            path: *const c_char,
            flags: c_uint,
            mode: c_uint,
        ) -> c_int;
        pub fn mdb_env_sync(env: *mut c_void, force: c_int) -> c_int;
        pub fn mdb_env_close(env: *mut c_void);
        pub fn mdb_txn_begin(
            env: *mut c_void,
            parent: *mut c_void,
            flags: c_uint,
            txn: *mut *mut c_void,
        ) -> c_int;
        pub fn mdb_txn_commit(txn: *mut c_void) -> c_int;
        pub fn mdb_txn_abort(txn: *mut c_void);
        pub fn mdb_txn_reset(txn: *mut c_void);
        pub fn mdb_txn_renew(txn: *mut c_void) -> c_int;
        pub fn mdb_dbi_open(
            txn: *mut c_void,
            name: *const c_char,
            flags: c_uint,
            dbi: *mut c_uint,
        ) -> c_int;
        pub fn mdb_get(txn: *mut c_void, dbi: c_uint, key: *mut Val, data: *mut Val) -> c_int;
        pub fn mdb_put(
            txn: *mut c_void,
            dbi: c_uint,
            key: *mut Val,
            data: *mut Val,
            flags: c_uint,
        ) -> c_int;
        pub fn mdb_del(txn: *mut c_void, dbi: c_uint, key: *mut Val, data: *mut Val) -> c_int;
        pub fn mdb_drop(txn: *mut c_void, dbi: c_uint, delete: c_int) -> c_int;
        pub fn mdb_stat(txn: *mut c_void, dbi: c_uint, stat: *mut Stat) -> c_int;
    }
}

/// More than there are threads.
const READERS: c_uint = 1100;

pub struct Lmdb {
    env: *mut c_void,
    dbi: c_uint,
}

// SAFETY: an environment and a database's number may be used by all threads (lmdb.h,
// "Restrictions/caveats").
unsafe impl Send for Lmdb {}
// SAFETY: as above.
unsafe impl Sync for Lmdb {}

fn check(code: c_int) -> Result<()> {
    match code {
        0 => Ok(()),
        // SAFETY: its texts are constants.
        code => Err(Error::new(format!("LMDB: {}", unsafe { ffi::text(c::mdb_strerror(code)) }))),
    }
}

fn val(bytes: &[u8]) -> c::Val {
    c::Val { size: bytes.len(), data: bytes.as_ptr().cast_mut().cast() }
}

impl Lmdb {
    /// # Errors
    /// Where LMDB can't open what is there.
    pub fn open(dir: &Path, flags: &mut Flags) -> Result<Lmdb> {
        let sync = match flags.one_of("sync", &["commit", "none"])? {
            "commit" => 0,
            _ => c::NOSYNC,
        };
        let map_gib: usize = flags.parsed("map-gib")?.unwrap_or(64);
        let path = ffi::path(dir)?;
        let mut lmdb = Lmdb { env: ptr::null_mut(), dbi: 0 };
        // SAFETY: the pointers are to what lives meanwhile; the environment is closed by `drop`,
        // also where it couldn't be opened, as lmdb.h asks for.
        unsafe {
            check(c::mdb_env_create(&raw mut lmdb.env))?;
            check(c::mdb_env_set_mapsize(lmdb.env, map_gib << 30))?;
            check(c::mdb_env_set_maxreaders(lmdb.env, READERS))?;
            check(c::mdb_env_open(lmdb.env, path.as_ptr(), sync | c::NOTLS, 0o644))?;
            let txn = lmdb.begin(0)?;
            check(c::mdb_dbi_open(txn, ptr::null(), 0, &raw mut lmdb.dbi))?;
            check(c::mdb_txn_commit(txn))?;
        }
        Ok(lmdb)
    }

    fn begin(&self, flags: c_uint) -> Result<*mut c_void> {
        let mut txn = ptr::null_mut();
        // SAFETY: the environment is open.
        check(unsafe { c::mdb_txn_begin(self.env, ptr::null_mut(), flags, &raw mut txn) })?;
        Ok(txn)
    }

    /// Does something in a transaction of its own, and commits it.
    fn write(&self, writes: impl FnOnce(*mut c_void) -> Result<()>) -> Result<()> {
        let txn = self.begin(0)?;
        match writes(txn) {
            // SAFETY: the transaction was begun just before, and isn't used afterwards.
            Ok(()) => check(unsafe { c::mdb_txn_commit(txn) }),
            Err(why) => {
                // SAFETY: as above.
                unsafe { c::mdb_txn_abort(txn) };
                Err(why)
            }
        }
    }
}

impl Drop for Lmdb {
    fn drop(&mut self) {
        // SAFETY: no session is left, and so no transaction.
        unsafe { c::mdb_env_close(self.env) };
    }
}

impl Engine for Lmdb {
    fn session(&self) -> Result<Box<dyn Session + '_>> {
        let reader = self.begin(c::RDONLY)?;
        // SAFETY: begun just before; it is renewed by the first read of a turn.
        unsafe { c::mdb_txn_reset(reader) };
        Ok(Box::new(LmdbSession { lmdb: self, reader, is_reading: false }))
    }

    fn close(self: Box<Self>) -> Result<()> {
        // SAFETY: the environment is open.
        check(unsafe { c::mdb_env_sync(self.env, 1) })
    }
}

struct LmdbSession<'e> {
    lmdb: &'e Lmdb,
    /// A transaction that only reads, and sees what was committed when it was renewed last.
    reader: *mut c_void,
    is_reading: bool,
}

impl LmdbSession<'_> {
    fn read(&mut self) -> Result<*mut c_void> {
        if !self.is_reading {
            // SAFETY: it was reset.
            check(unsafe { c::mdb_txn_renew(self.reader) })?;
            self.is_reading = true;
        }
        Ok(self.reader)
    }
}

impl Drop for LmdbSession<'_> {
    fn drop(&mut self) {
        // SAFETY: nobody uses it afterwards.
        unsafe { c::mdb_txn_abort(self.reader) };
    }
}

impl Session for LmdbSession<'_> {
    fn get(&mut self, key: &[u8], found: &mut dyn FnMut(&[u8])) -> Result<()> {
        let reader = self.read()?;
        let mut value = c::Val { size: 0, data: ptr::null_mut() };
        // SAFETY: the transaction reads; what it found lies in the map until it is reset.
        unsafe {
            match c::mdb_get(reader, self.lmdb.dbi, &mut val(key), &raw mut value) {
                c::NOTFOUND => {}
                code => {
                    check(code)?;
                    found(ffi::bytes(value.data, value.size));
                }
            }
        }
        Ok(())
    }

    fn commit(&mut self, batch: &Batch) -> Result<()> {
        let dbi = self.lmdb.dbi;
        self.lmdb.write(|txn| {
            // SAFETY: the transaction is this thread's; LMDB copies keys and values.
            batch.writes().try_for_each(|(key, kept)| unsafe {
                match kept {
                    Some(kept) => check(c::mdb_put(txn, dbi, &mut val(key), &mut val(kept), 0)),
                    None => match c::mdb_del(txn, dbi, &mut val(key), ptr::null_mut()) {
                        c::NOTFOUND => Ok(()),
                        code => check(code),
                    },
                }
            })
        })
    }

    fn count(&mut self) -> Result<u64> {
        self.end_turn();
        let reader = self.read()?;
        let mut stat = MaybeUninit::<c::Stat>::uninit();
        // SAFETY: it is written where 0 is given back.
        unsafe {
            check(c::mdb_stat(reader, self.lmdb.dbi, stat.as_mut_ptr()))?;
            Ok(stat.assume_init().entries as u64)
        }
    }

    fn clear(&mut self) -> Result<()> {
        self.end_turn();
        let dbi = self.lmdb.dbi;
        // SAFETY: the transaction is this thread's, and nobody else writes.
        self.lmdb.write(|txn| check(unsafe { c::mdb_drop(txn, dbi, 0) }))
    }

    fn end_turn(&mut self) {
        if self.is_reading {
            // SAFETY: it was renewed, and nothing that it found is used any more.
            unsafe { c::mdb_txn_reset(self.reader) };
            self.is_reading = false;
        }
    }
}
