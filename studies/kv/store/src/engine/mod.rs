//! What keeps the values: one small trait, and a file for each engine.

use std::path::Path;

use crate::batch::Batch;
use crate::error::{Error, Result};
use crate::options::Flags;

#[cfg(feature = "bdb")]
mod bdb;
#[cfg(any(
    feature = "bdb",
    feature = "lmdb",
    feature = "rocksdb",
    feature = "sqlite",
    feature = "tkrzw",
    feature = "tokyo"
))]
mod ffi;
#[cfg(feature = "fjall")]
mod fjall;
#[cfg(feature = "lmdb")]
mod lmdb;
mod log;
mod map;
mod null;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(feature = "redb")]
mod redb;
#[cfg(feature = "rocksdb")]
mod rocksdb;
#[cfg(feature = "sqlite")]
mod sqlite;
#[cfg(feature = "tkrzw")]
mod tkrzw;
#[cfg(feature = "tokyo")]
mod tokyo;

/// Keeps keys of 1 to 250 bytes, each with some bytes.
pub trait Engine: Send + Sync {
    /// What one thread uses the engine by.
    ///
    /// # Errors
    /// Where the engine has no room for one more.
    fn session(&self) -> Result<Box<dyn Session + '_>>;

    /// Ends in order: what was committed is where it is after a commit, and what the engine
    /// puts off till its end is done.
    ///
    /// # Errors
    /// What the engine couldn't do; the program ends all the same.
    fn close(self: Box<Self>) -> Result<()>;
}

/// One thread's way to an engine. What another thread committed before a turn began is seen in it.
pub trait Session {
    /// Hands over what is kept for a key; doesn't where there is nothing.
    ///
    /// # Errors
    /// Where the engine can't tell.
    fn get(&mut self, key: &[u8], found: &mut dyn FnMut(&[u8])) -> Result<()>;

    /// Does all writes. They are as durable afterwards as the engine makes them
    /// with the flags that it was opened with.
    ///
    /// # Errors
    /// Where a write wasn't done: then none of them may be acknowledged.
    fn commit(&mut self, batch: &Batch) -> Result<()>;

    /// How many keys there are.
    ///
    /// # Errors
    /// Where the engine can't tell.
    fn count(&mut self) -> Result<u64>;

    /// Removes all keys. Nobody else writes meanwhile.
    ///
    /// # Errors
    /// Where some may be left.
    fn clear(&mut self) -> Result<()>;

    /// What was kept for several reads of a turn is let go: the next one sees what was committed
    /// until then. Follows each commit, and a turn that had none.
    fn end_turn(&mut self) {}
}

/// Opens an engine by its name, on a folder that is this process's alone.
///
/// # Errors
/// An unknown name, flags that the engine doesn't know, and data that can't be opened.
pub fn open(name: &str, dir: &Path, flags: &mut Flags) -> Result<Box<dyn Engine>> {
    Ok(match name {
        "null" => Box::new(null::Null),
        "map" => Box::<map::Map>::default(),
        "log" => Box::new(log::Log::open(dir, log::Faults::from(flags)?)?),
        #[cfg(feature = "lmdb")]
        "lmdb" => Box::new(lmdb::Lmdb::open(dir, flags)?),
        #[cfg(feature = "rocksdb")]
        "rocksdb" => Box::new(rocksdb::RocksDb::open(dir, flags)?),
        #[cfg(feature = "bdb")]
        "bdb" => Box::new(bdb::BerkeleyDb::open(dir, flags)?),
        #[cfg(feature = "tokyo")]
        "tokyo" => Box::new(tokyo::TokyoCabinet::open(dir, flags)?),
        #[cfg(feature = "sqlite")]
        "sqlite" => Box::new(sqlite::Sqlite::open(dir, flags)?),
        #[cfg(feature = "tkrzw")]
        "tkrzw" => Box::new(tkrzw::Tkrzw::open(dir, flags)?),
        #[cfg(feature = "redb")]
        "redb" => Box::new(redb::Redb::open(dir, flags)?),
        #[cfg(feature = "fjall")]
        "fjall" => Box::new(fjall::Fjall::open(dir, flags)?),
        #[cfg(feature = "postgres")]
        "postgres" => Box::new(postgres::Postgres::open(dir, flags)?),
        other => {
            let known = names().collect::<Vec<_>>().join(", ");
            return Err(Error::new(format!(
                "there is no engine {other} in this build, which has {known}; others are built \
                 in by cargo's feature of their name"
            )));
        }
    })
}

/// The engines of this build.
pub fn names() -> impl Iterator<Item = &'static str> {
    [
        ("null", true),
        ("map", true),
        ("log", true),
        ("lmdb", cfg!(feature = "lmdb")),
        ("rocksdb", cfg!(feature = "rocksdb")),
        ("bdb", cfg!(feature = "bdb")),
        ("tokyo", cfg!(feature = "tokyo")),
        ("sqlite", cfg!(feature = "sqlite")),
        ("tkrzw", cfg!(feature = "tkrzw")),
        ("redb", cfg!(feature = "redb")),
        ("fjall", cfg!(feature = "fjall")),
        ("postgres", cfg!(feature = "postgres")),
    ]
    .into_iter()
    .filter_map(|(name, is_there)| is_there.then_some(name))
}

#[cfg(test)]
mod tests;
