//! A table in PostgreSQL, on a server that is started with the store and reached by a socket in its
//! folder: what many would use in the end.
//!
//! `--sync commit` (the default): a commit is on the disk when it returns. `--sync none`:
//! `synchronous_commit=off`. `--bin DIR`: where PostgreSQL's programs are; else they are found on the
//! PATH.

use std::path::{Path, PathBuf};

use postgres::{Client, Config, NoTls, Statement};

use self::server::Server;
use super::{Engine, Session};
use crate::batch::Batch;
use crate::error::{Error, Result};
use crate::options::Flags;

mod server;

pub struct Postgres {
    server: Server,
    config: Config,
}

fn failed(why: postgres::Error) -> Error {
    // What it says of itself is in what caused it.
    match std::error::Error::source(&why) {
        Some(cause) => Error::new(format!("PostgreSQL: {cause}")),
        None => Error::new(format!("PostgreSQL: {why}")),
    }
}

impl Postgres {
    /// Starts the server, and makes the table if there is none.
    ///
    /// # Errors
    /// Where it can't.
    pub fn open(dir: &Path, flags: &mut Flags) -> Result<Postgres> {
        let synchronous_commit = match flags.one_of("sync", &["commit", "none"])? {
            "commit" => "on",
            _ => "off",
        };
        let programs = flags.text("bin")?.map(PathBuf::from);
        let dir = dir.canonicalize().map_err(Error::when(dir.display()))?;
        let server = Server::start(&dir, programs.as_deref())?;
        let mut config = Config::new();
        config.host(&server.folder()).user("store").dbname("postgres");
        config.options(&format!("-c synchronous_commit={synchronous_commit}"));
        let mut client = config.connect(NoTls).map_err(failed)?;
        client
            .batch_execute(
                "SET client_min_messages = warning; \
                 CREATE TABLE IF NOT EXISTS store (key bytea PRIMARY KEY, value bytea NOT NULL)",
            )
            .map_err(failed)?;
        Ok(Postgres { server, config })
    }
}

impl Engine for Postgres {
    fn session(&self) -> Result<Box<dyn Session + '_>> {
        let mut client = self.config.connect(NoTls).map_err(failed)?;
        let mut prepare = |sql| client.prepare(sql).map_err(failed);
        Ok(Box::new(PostgresSession {
            get: prepare("SELECT value FROM store WHERE key = $1")?,
            put: prepare(
                "INSERT INTO store SELECT * FROM unnest($1::bytea[], $2::bytea[]) \
                 ON CONFLICT (key) DO UPDATE SET value = EXCLUDED.value",
            )?,
            delete: prepare("DELETE FROM store WHERE key = ANY($1::bytea[])")?,
            count: prepare("SELECT count(*) FROM store")?,
            client,
        }))
    }

    fn close(self: Box<Self>) -> Result<()> {
        self.server.stop()
    }
}

struct PostgresSession {
    client: Client,
    get: Statement,
    put: Statement,
    delete: Statement,
    count: Statement,
}

impl Session for PostgresSession {
    fn get(&mut self, key: &[u8], found: &mut dyn FnMut(&[u8])) -> Result<()> {
        if let Some(row) = self.client.query_opt(&self.get, &[&key]).map_err(failed)? {
            found(row.try_get(0).map_err(failed)?);
        }
        Ok(())
    }

    fn commit(&mut self, batch: &Batch) -> Result<()> {
        let (mut puts, mut deletes) = (Vec::new(), Vec::new());
        for (key, kept) in batch.writes() {
            match kept {
                Some(kept) => puts.push((key, kept)),
                None => deletes.push(key),
            }
        }
        // In one order for all threads: none waits for a row while another waits for its own.
        puts.sort_unstable();
        let (keys, values): (Vec<&[u8]>, Vec<&[u8]>) = puts.into_iter().unzip();
        // A statement alone is a transaction without being asked for one.
        if deletes.is_empty() {
            return self.client.execute(&self.put, &[&keys, &values]).map(drop).map_err(failed);
        }
        let mut transaction = self.client.transaction().map_err(failed)?;
        transaction.execute(&self.put, &[&keys, &values]).map_err(failed)?;
        transaction.execute(&self.delete, &[&deletes]).map_err(failed)?;
        transaction.commit().map_err(failed)
    }

    fn count(&mut self) -> Result<u64> {
        let row = self.client.query_one(&self.count, &[]).map_err(failed)?;
        row.try_get::<_, i64>(0).map(i64::unsigned_abs).map_err(failed)
    }

    fn clear(&mut self) -> Result<()> {
        self.client.batch_execute("TRUNCATE store").map_err(failed)
    }
}
