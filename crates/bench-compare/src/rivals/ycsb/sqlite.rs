//! SQLite: a record is a value of a table with a key.

use std::path::{Path, PathBuf};
use std::time::Duration;

use ostrakon_cell::Result;
use ostrakon_lab::ycsb::Database;
use rusqlite::{Connection, OptionalExtension as _, TransactionBehavior};

use super::key_value::{KeyValue, RecordClient};
use super::{YcsbEngine, failed};
use crate::Outcome;
use crate::rivals::engine::Setting;

/// One writer at a time: how long another waits for it.
const WAIT: Duration = Duration::from_secs(600);

/// A database file. Each client has a connection, and each connection a cache of the size that other engines share.
pub(super) struct Sqlite {
    file: PathBuf,
    cache_kib: u64,
}

impl Sqlite {
    pub(super) fn open(setting: &Setting) -> Outcome<Self> {
        std::fs::create_dir_all(&setting.dir)?;
        let engine = Self {
            file: setting.dir.join("usertable.sqlite"),
            cache_kib: setting.store.cache_bytes() >> 10,
        };
        let create = "CREATE TABLE IF NOT EXISTS usertable (key BLOB PRIMARY KEY, record BLOB)";
        engine.connect()?.connection.execute(create, [])?;
        Ok(engine)
    }

    fn connect(&self) -> std::result::Result<Client, rusqlite::Error> {
        let connection = Connection::open(Path::new(&self.file))?;
        connection.busy_timeout(WAIT)?;
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.pragma_update(None, "synchronous", "FULL")?;
        // Negative: in KiB, not in pages.
        let cache = i64::try_from(self.cache_kib).unwrap_or(i64::MAX);
        connection.pragma_update(None, "cache_size", -cache)?;
        Ok(Client { connection })
    }
}

impl YcsbEngine for Sqlite {
    fn client(&self) -> Result<Box<dyn Database + '_>> {
        let client = self.connect().map_err(failed)?;
        Ok(Box::new(RecordClient::new(client)))
    }

    fn settle(&self) -> Outcome<()> {
        let connection = self.connect()?.connection;
        let checkpoint = "PRAGMA wal_checkpoint(TRUNCATE)";
        let blocked: i64 = connection.query_row(checkpoint, [], |row| row.get(0))?;
        match blocked {
            0 => Ok(()),
            _ => Err("another connection of SQLite blocked the checkpoint".into()),
        }
    }
}

struct Client {
    connection: Connection,
}

impl KeyValue for Client {
    fn get(&self, key: &[u8], visit: &mut dyn FnMut(&[u8])) -> Result<bool> {
        let query = "SELECT record FROM usertable WHERE key = ?1";
        let mut query = self.connection.prepare_cached(query).map_err(failed)?;
        let found = query.query_row([key], |row| {
            visit(row.get_ref(0)?.as_blob()?);
            Ok(())
        });
        Ok(found.optional().map_err(failed)?.is_some())
    }

    fn from(&self, start: &[u8], visit: &mut dyn FnMut(&[u8]) -> bool) -> Result<()> {
        let query = "SELECT record FROM usertable WHERE key >= ?1 ORDER BY key";
        let mut query = self.connection.prepare_cached(query).map_err(failed)?;
        let mut rows = query.query([start]).map_err(failed)?;
        while let Some(row) = rows.next().map_err(failed)? {
            let record = row.get_ref(0).map_err(failed)?;
            if !visit(record.as_blob().map_err(failed)?) {
                break;
            }
        }
        Ok(())
    }

    fn write(&self, records: &[(Vec<u8>, Vec<u8>)]) -> Result<()> {
        // It takes the lock for writing at once: a transaction that asks for it later may have to start again.
        let begun =
            rusqlite::Transaction::new_unchecked(&self.connection, TransactionBehavior::Immediate);
        let transaction = begun.map_err(failed)?;
        let insert = "INSERT OR REPLACE INTO usertable (key, record) VALUES (?1, ?2)";
        let mut insert = transaction.prepare_cached(insert).map_err(failed)?;
        for (key, record) in records {
            insert.execute((key, record)).map_err(failed)?;
        }
        drop(insert);
        transaction.commit().map_err(failed)
    }
}
