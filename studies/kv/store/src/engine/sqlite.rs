//! SQLite, by the C interface of Debian's library: a table of keys and values, with a write-ahead
//! log.
//!
//! `--sync commit` (the default): `synchronous=FULL`, the log is synced at each commit. `--sync none`:
//! `synchronous=NORMAL`, it is synced before a checkpoint alone.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::Path;
use std::ptr;

use super::{Engine, Session, ffi};
use crate::batch::Batch;
use crate::error::{Error, Result};
use crate::options::Flags;

/// `sqlite3.h` of version 3.
mod c {
    use super::{c_char, c_int, c_void};

    pub const OK: c_int = 0;
    pub const ROW: c_int = 100;
    pub const DONE: c_int = 101;
    pub const READ_WRITE: c_int = 0x2;
    pub const CREATE: c_int = 0x4;
    /// A connection is one thread's.
    pub const NO_MUTEX: c_int = 0x8000;

    #[link(name = "sqlite3")]
    unsafe extern "C" {
        pub fn sqlite3_open_v2(
            path: *const c_char,
            db: *mut *mut c_void,
            flags: c_int,
            vfs: *const c_char,
        ) -> c_int;
        pub fn sqlite3_close_v2(db: *mut c_void) -> c_int;
        pub fn sqlite3_errmsg(db: *mut c_void) -> *const c_char;
        pub fn sqlite3_busy_timeout(db: *mut c_void, ms: c_int) -> c_int;
        pub fn sqlite3_exec(
            db: *mut c_void,
            sql: *const c_char,
            each: *const c_void,
            argument: *mut c_void,
            error: *mut *mut c_char,
        ) -> c_int;
        pub fn sqlite3_prepare_v2(
            db: *mut c_void,
            sql: *const c_char,
            bytes: c_int,
            statement: *mut *mut c_void,
            rest: *mut *const c_char,
        ) -> c_int;
        pub fn sqlite3_finalize(statement: *mut c_void) -> c_int;
        pub fn sqlite3_bind_blob(
            statement: *mut c_void,
            at: c_int,
            bytes: *const c_void,
            length: c_int,
            destructor: *const c_void,
        ) -> c_int;
        pub fn sqlite3_step(statement: *mut c_void) -> c_int;
        pub fn sqlite3_reset(statement: *mut c_void) -> c_int;
        pub fn sqlite3_column_blob(statement: *mut c_void, at: c_int) -> *const c_void;
        pub fn sqlite3_column_bytes(statement: *mut c_void, at: c_int) -> c_int;
        pub fn sqlite3_column_int64(statement: *mut c_void, at: c_int) -> i64;
    }
}

/// How long one waits for another's commit.
const BUSY_MS: c_int = 60_000;

pub struct Sqlite {
    path: CString,
    synchronous: &'static CStr,
}

impl Sqlite {
    /// # Errors
    /// Where SQLite can't open what is there.
    pub fn open(dir: &Path, flags: &mut Flags) -> Result<Sqlite> {
        let synchronous = match flags.one_of("sync", &["commit", "none"])? {
            "commit" => c"PRAGMA synchronous=FULL",
            _ => c"PRAGMA synchronous=NORMAL",
        };
        let sqlite = Sqlite { path: ffi::path(&dir.join("store.sqlite"))?, synchronous };
        let connection = sqlite.connect()?;
        connection.run(c"PRAGMA journal_mode=WAL")?;
        connection.run(
            c"CREATE TABLE IF NOT EXISTS store (key BLOB PRIMARY KEY, value BLOB NOT NULL) \
              WITHOUT ROWID",
        )?;
        Ok(sqlite)
    }

    fn connect(&self) -> Result<Connection> {
        let flags = c::READ_WRITE | c::CREATE | c::NO_MUTEX;
        let mut connection = Connection { db: ptr::null_mut() };
        // SAFETY: the path lives meanwhile; a connection is closed by `drop` also where it
        // couldn't be opened, as sqlite3.h asks for.
        unsafe {
            let opened =
                c::sqlite3_open_v2(self.path.as_ptr(), &raw mut connection.db, flags, ptr::null());
            connection.check(opened)?;
            connection.check(c::sqlite3_busy_timeout(connection.db, BUSY_MS))?;
        }
        connection.run(self.synchronous)?;
        Ok(connection)
    }
}

impl Engine for Sqlite {
    fn session(&self) -> Result<Box<dyn Session + '_>> {
        let connection = self.connect()?;
        let prepare = |sql| connection.prepare(sql);
        Ok(Box::new(SqliteSession {
            get: prepare(c"SELECT value FROM store WHERE key = ?1")?,
            put: prepare(
                c"INSERT INTO store VALUES (?1, ?2) ON CONFLICT (key) DO UPDATE SET value = ?2",
            )?,
            delete: prepare(c"DELETE FROM store WHERE key = ?1")?,
            count: prepare(c"SELECT count(*) FROM store")?,
            is_reading: false,
            connection,
        }))
    }

    fn close(self: Box<Self>) -> Result<()> {
        // What is in the log goes into the file, as the last connection's end would have it.
        self.connect()?.run(c"PRAGMA wal_checkpoint(TRUNCATE)")
    }
}

/// A connection, which one thread has.
struct Connection {
    db: *mut c_void,
}

impl Drop for Connection {
    fn drop(&mut self) {
        // SAFETY: nobody uses it afterwards.
        unsafe { c::sqlite3_close_v2(self.db) };
    }
}

impl Connection {
    fn check(&self, code: c_int) -> Result<()> {
        match code {
            c::OK | c::ROW | c::DONE => Ok(()),
            _ => {
                // SAFETY: the connection lives, and its text until the next operation.
                let why = unsafe { ffi::text(c::sqlite3_errmsg(self.db)) };
                Err(Error::new(format!("SQLite: {why}")))
            }
        }
    }

    fn run(&self, sql: &CStr) -> Result<()> {
        // SAFETY: the text lives meanwhile; nothing is to be called.
        self.check(unsafe {
            c::sqlite3_exec(self.db, sql.as_ptr(), ptr::null(), ptr::null_mut(), ptr::null_mut())
        })
    }

    fn prepare(&self, sql: &CStr) -> Result<Statement> {
        let mut statement = Statement(ptr::null_mut());
        let (made, rest) = (&raw mut statement.0, ptr::null_mut());
        // SAFETY: the text lives meanwhile.
        self.check(unsafe { c::sqlite3_prepare_v2(self.db, sql.as_ptr(), -1, made, rest) })?;
        Ok(statement)
    }
}

struct Statement(*mut c_void);

impl Drop for Statement {
    fn drop(&mut self) {
        // SAFETY: nobody uses it afterwards. What was wrong with it was told when it was run.
        unsafe { c::sqlite3_finalize(self.0) };
    }
}

impl Statement {
    /// Runs it with these values, and hands over its row if it has one.
    fn run(
        &self,
        on: &Connection,
        values: &[&[u8]],
        mut row: impl FnMut(&Statement),
    ) -> Result<()> {
        // SAFETY: the values live until the statement is reset, so that none has to be copied.
        unsafe {
            for (at, value) in (1..).zip(values) {
                // Bounded where requests are read: far below 2 GB.
                let length = value.len() as c_int;
                let begin = value.as_ptr().cast();
                on.check(c::sqlite3_bind_blob(self.0, at, begin, length, ptr::null()))?;
            }
            let stepped = c::sqlite3_step(self.0);
            let done = on.check(stepped);
            if stepped == c::ROW {
                row(self);
            }
            c::sqlite3_reset(self.0);
            done
        }
    }
}

struct SqliteSession {
    // Before the connection: in this order they are dropped.
    get: Statement,
    put: Statement,
    delete: Statement,
    count: Statement,
    /// A transaction is open for the reads of this turn.
    is_reading: bool,
    connection: Connection,
}

impl SqliteSession {
    fn begin_reading(&mut self) -> Result<()> {
        if !self.is_reading {
            self.connection.run(c"BEGIN")?;
            self.is_reading = true;
        }
        Ok(())
    }

    fn end_reading(&mut self) -> Result<()> {
        if std::mem::take(&mut self.is_reading) {
            self.connection.run(c"COMMIT")?;
        }
        Ok(())
    }

    fn write(&mut self, writes: impl FnOnce(&SqliteSession) -> Result<()>) -> Result<()> {
        self.end_reading()?;
        self.connection.run(c"BEGIN IMMEDIATE")?;
        match writes(self).and_then(|()| self.connection.run(c"COMMIT")) {
            Ok(()) => Ok(()),
            Err(why) => {
                // It may be rolled back already, which this would complain of.
                drop(self.connection.run(c"ROLLBACK"));
                Err(why)
            }
        }
    }
}

impl Session for SqliteSession {
    fn get(&mut self, key: &[u8], found: &mut dyn FnMut(&[u8])) -> Result<()> {
        self.begin_reading()?;
        self.get.run(&self.connection, &[key], |row| {
            // SAFETY: the value lives until the statement is reset.
            unsafe {
                let begin = c::sqlite3_column_blob(row.0, 0);
                let length = c::sqlite3_column_bytes(row.0, 0);
                found(ffi::bytes(begin, length as usize));
            }
        })
    }

    fn commit(&mut self, batch: &Batch) -> Result<()> {
        self.write(|it| {
            batch.writes().try_for_each(|(key, kept)| match kept {
                Some(kept) => it.put.run(&it.connection, &[key, kept], |_| {}),
                None => it.delete.run(&it.connection, &[key], |_| {}),
            })
        })
    }

    fn count(&mut self) -> Result<u64> {
        self.end_reading()?;
        let mut count = 0;
        // SAFETY: the row is there.
        self.count.run(&self.connection, &[], |row| unsafe {
            count = c::sqlite3_column_int64(row.0, 0).unsigned_abs();
        })?;
        Ok(count)
    }

    fn clear(&mut self) -> Result<()> {
        self.write(|it| it.connection.run(c"DELETE FROM store"))
    }

    fn end_turn(&mut self) {
        // A transaction that only read has nothing that could fail to be committed.
        drop(self.end_reading());
    }
}
