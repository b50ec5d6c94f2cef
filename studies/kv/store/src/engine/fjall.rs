//! fjall: a log-structured merge tree in Rust, with its defaults.
//!
//! `--sync commit` (the default): a batch is in the journal and synced (`PersistMode::SyncData`)
//! before it is acknowledged. `--sync none`: it is handed to the kernel (`PersistMode::Buffer`).

use std::path::Path;

use fjall::{Database, Keyspace, KeyspaceCreateOptions, PersistMode};

use super::{Engine, Session};
use crate::batch::Batch;
use crate::error::{Error, Result};
use crate::options::Flags;

pub struct Fjall {
    database: Database,
    keyspace: Keyspace,
    persist: PersistMode,
}

fn failed(why: fjall::Error) -> Error {
    Error::when("fjall")(why)
}

impl Fjall {
    /// # Errors
    /// Where fjall can't open what is there.
    pub fn open(dir: &Path, flags: &mut Flags) -> Result<Fjall> {
        let persist = match flags.one_of("sync", &["commit", "none"])? {
            "commit" => PersistMode::SyncData,
            _ => PersistMode::Buffer,
        };
        let database = Database::builder(dir.join("fjall")).open().map_err(failed)?;
        let options = KeyspaceCreateOptions::default;
        let keyspace = database.keyspace("store", options).map_err(failed)?;
        // A keyspace that a stop took away would take its journal's records with it.
        database.persist(PersistMode::SyncAll).map_err(failed)?;
        Ok(Fjall { database, keyspace, persist })
    }
}

impl Engine for Fjall {
    fn session(&self) -> Result<Box<dyn Session + '_>> {
        Ok(Box::new(self))
    }

    fn close(self: Box<Self>) -> Result<()> {
        self.database.persist(PersistMode::SyncAll).map_err(failed)
    }
}

impl Session for &Fjall {
    fn get(&mut self, key: &[u8], found: &mut dyn FnMut(&[u8])) -> Result<()> {
        if let Some(value) = self.keyspace.get(key).map_err(failed)? {
            found(&value);
        }
        Ok(())
    }

    fn commit(&mut self, batch: &Batch) -> Result<()> {
        let mut writes = self.database.batch().durability(Some(self.persist));
        for (key, kept) in batch.writes() {
            match kept {
                Some(kept) => writes.insert(&self.keyspace, key, kept),
                None => writes.remove(&self.keyspace, key),
            }
        }
        writes.commit().map_err(failed)
    }

    /// By reading all keys: what fjall tells without is an estimate.
    fn count(&mut self) -> Result<u64> {
        self.keyspace.len().map(|keys| keys as u64).map_err(failed)
    }

    fn clear(&mut self) -> Result<()> {
        self.keyspace.clear().map_err(failed)
    }
}
