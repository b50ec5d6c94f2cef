//! redb: a copy-on-write B+ tree in Rust, with its defaults.
//!
//! `--sync commit` (the default): `Durability::Immediate`. `--sync none`: `Durability::None`, with
//! which a commit is lasting only after one of the other kind: that at the end.

use std::path::Path;

use redb::{
    Database, Durability, ReadOnlyTable, ReadableDatabase, ReadableTableMetadata, TableDefinition,
};

use super::{Engine, Session};
use crate::batch::Batch;
use crate::error::{Error, Result};
use crate::options::Flags;

const TABLE: TableDefinition<&[u8], &[u8]> = TableDefinition::new("store");

pub struct Redb {
    database: Database,
    durability: Durability,
}

fn failed<E: std::fmt::Display>(why: E) -> Error {
    Error::when("redb")(why)
}

impl Redb {
    /// # Errors
    /// Where redb can't open what is there.
    pub fn open(dir: &Path, flags: &mut Flags) -> Result<Redb> {
        let durability = match flags.one_of("sync", &["commit", "none"])? {
            "commit" => Durability::Immediate,
            _ => Durability::None,
        };
        let database = Database::create(dir.join("store.redb")).map_err(failed)?;
        let redb = Redb { database, durability };
        // A read can't make the table.
        redb.write(Durability::Immediate, &Batch::default())?;
        Ok(redb)
    }

    fn write(&self, durability: Durability, batch: &Batch) -> Result<()> {
        let mut transaction = self.database.begin_write().map_err(failed)?;
        transaction.set_durability(durability).map_err(failed)?;
        {
            let mut table = transaction.open_table(TABLE).map_err(failed)?;
            for (key, kept) in batch.writes() {
                match kept {
                    Some(kept) => drop(table.insert(key, kept).map_err(failed)?),
                    None => drop(table.remove(key).map_err(failed)?),
                }
            }
        }
        transaction.commit().map_err(failed)
    }
}

impl Engine for Redb {
    fn session(&self) -> Result<Box<dyn Session + '_>> {
        Ok(Box::new(RedbSession { redb: self, reading: None }))
    }

    fn close(self: Box<Self>) -> Result<()> {
        self.write(Durability::Immediate, &Batch::default())
    }
}

struct RedbSession<'e> {
    redb: &'e Redb,
    /// What was there at the first read of the turn.
    reading: Option<ReadOnlyTable<&'static [u8], &'static [u8]>>,
}

impl RedbSession<'_> {
    fn read(&mut self) -> Result<&ReadOnlyTable<&'static [u8], &'static [u8]>> {
        let table = match self.reading.take() {
            Some(table) => table,
            None => {
                let transaction = self.redb.database.begin_read().map_err(failed)?;
                transaction.open_table(TABLE).map_err(failed)?
            }
        };
        Ok(self.reading.insert(table))
    }
}

impl Session for RedbSession<'_> {
    fn get(&mut self, key: &[u8], found: &mut dyn FnMut(&[u8])) -> Result<()> {
        if let Some(value) = self.read()?.get(key).map_err(failed)? {
            found(value.value());
        }
        Ok(())
    }

    fn commit(&mut self, batch: &Batch) -> Result<()> {
        self.redb.write(self.redb.durability, batch)
    }

    fn count(&mut self) -> Result<u64> {
        self.end_turn();
        self.read()?.len().map_err(failed)
    }

    fn clear(&mut self) -> Result<()> {
        self.end_turn();
        let transaction = self.redb.database.begin_write().map_err(failed)?;
        transaction.delete_table(TABLE).map_err(failed)?;
        transaction.open_table(TABLE).map(drop).map_err(failed)?;
        transaction.commit().map_err(failed)
    }

    fn end_turn(&mut self) {
        self.reading = None;
    }
}
