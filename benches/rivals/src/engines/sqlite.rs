//! SQLite: a table clustered by (band, hash, document), with prepared statements, one transaction
//! per batch, a large cache and a mapped file.

use super::{Engine, Entry, Reader, Staged, entries, stored, verify};
use crate::made::{BANDS, Signature, band};
use crate::results::Result;
use rusqlite::{Connection, OptionalExtension, params};
use std::path::{Path, PathBuf};
use std::time::Duration;

pub struct Sqlite {
    connection: Connection,
    path: PathBuf,
    staged: Staged,
}

fn connect(path: &Path) -> Result<Connection> {
    let connection = Connection::open(path)?;
    // Other processes may be writing (stage `shared`).
    connection.busy_timeout(Duration::from_secs(60))?;
    connection.execute_batch(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA cache_size = -524288;
         PRAGMA mmap_size = 34359738368; PRAGMA temp_store = MEMORY;",
    )?;
    connection.set_prepared_statement_cache_capacity(16);
    Ok(connection)
}

impl Sqlite {
    pub fn open(folder: &Path) -> Result<Self> {
        let path = folder.join("index.sqlite");
        let connection = connect(&path)?;
        connection.execute_batch(
            "CREATE TABLE IF NOT EXISTS bands(
                 band INTEGER, hash INTEGER, document INTEGER,
                 PRIMARY KEY (band, hash, document)) WITHOUT ROWID;
             CREATE TABLE IF NOT EXISTS signatures(document INTEGER PRIMARY KEY, lanes BLOB);",
        )?;
        Ok(Self { connection, path, staged: Staged::default() })
    }
}

fn signature(connection: &Connection, document: u32) -> Result<Option<Signature>> {
    let mut select =
        connection.prepare_cached("SELECT lanes FROM signatures WHERE document = ?1")?;
    let mut rows = select.query([document])?;
    match rows.next()? {
        Some(row) => Ok(Some(stored(row.get_ref(0)?.as_blob()?)?)),
        None => Ok(None),
    }
}

/// Reinterprets the 64 bits of a hash as a signed integer, because SQLite has no unsigned ones.
fn integer(hash: u64) -> i64 {
    hash.cast_signed()
}

impl Engine for Sqlite {
    fn stage(&mut self, first: u32, signatures: &[Signature]) -> Result<()> {
        self.staged.take(first, signatures);
        Ok(())
    }

    fn insert(&mut self) -> Result<()> {
        let entries = entries(self.staged.documents());
        let transaction = self.connection.transaction()?;
        {
            let mut bands = transaction.prepare_cached("INSERT INTO bands VALUES (?1, ?2, ?3)")?;
            for Entry { band, hash, document } in entries {
                bands.execute(params![band, integer(hash), document])?;
            }
            let mut signatures =
                transaction.prepare_cached("INSERT INTO signatures VALUES (?1, ?2)")?;
            for (document, lanes) in self.staged.documents() {
                signatures.execute(params![document, lanes.as_slice()])?;
            }
        }
        Ok(transaction.commit()?)
    }

    fn remove(&mut self, documents: &[u32]) -> Result<()> {
        let transaction = self.connection.transaction()?;
        {
            let mut dead = Vec::new();
            for document in documents {
                dead.extend(signature(&transaction, *document)?.map(|lanes| (*document, lanes)));
            }
            let mut bands = transaction.prepare_cached(
                "DELETE FROM bands WHERE band = ?1 AND hash = ?2 AND document = ?3",
            )?;
            for Entry { band, hash, document } in
                entries(dead.iter().map(|(document, lanes)| (*document, lanes)))
            {
                bands.execute(params![band, integer(hash), document])?;
            }
            let mut signatures =
                transaction.prepare_cached("DELETE FROM signatures WHERE document = ?1")?;
            for document in documents {
                signatures.execute([document])?;
            }
        }
        Ok(transaction.commit()?)
    }

    fn settle(&mut self) -> Result<()> {
        let truncate = "PRAGMA wal_checkpoint(TRUNCATE)";
        self.connection.query_row(truncate, [], |_| Ok(())).optional()?;
        Ok(())
    }

    fn reader(&self) -> Result<Box<dyn Reader + '_>> {
        let connection = connect(&self.path)?;
        connection.execute_batch("BEGIN")?;
        Ok(Box::new(Queries { connection, staged: Vec::new(), candidates: Vec::new() }))
    }

    fn close(self: Box<Self>) -> Result<()> {
        self.connection.close().map_err(|(_, error)| error.into())
    }
}

struct Queries {
    connection: Connection,
    staged: Vec<Signature>,
    candidates: Vec<u32>,
}

impl Reader for Queries {
    fn stage(&mut self, queries: &[Signature]) -> Result<()> {
        self.staged = queries.to_vec();
        Ok(())
    }

    fn query(&mut self, at: usize, found: &mut Vec<u32>) -> Result<()> {
        let query = &self.staged[at];
        let mut bucket = self
            .connection
            .prepare_cached("SELECT document FROM bands WHERE band = ?1 AND hash = ?2")?;
        for number in 0..BANDS {
            let mut rows = bucket.query(params![number as i64, integer(band(query, number))])?;
            while let Some(row) = rows.next()? {
                self.candidates.push(row.get(0)?);
            }
        }
        verify(query, &mut self.candidates, found, |document| signature(&self.connection, document))
    }
}
