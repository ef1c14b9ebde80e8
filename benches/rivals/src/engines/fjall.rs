//! fjall: the keys are (band, hash, document) with empty values, and are read by prefix.

use super::{Engine, Reader, Staged, entries, stored, verify};
use crate::made::{BANDS, Signature, band};
use crate::results::Result;
use fjall::{Database, Keyspace, KeyspaceCreateOptions, PersistMode, Readable, Snapshot};
use std::path::Path;

pub struct Fjall {
    database: Database,
    bands: Keyspace,
    signatures: Keyspace,
    staged: Staged,
}

impl Fjall {
    pub fn open(folder: &Path) -> Result<Self> {
        let database = Database::builder(folder.join("index")).cache_size(512 << 20).open()?;
        let bands = database.keyspace("bands", KeyspaceCreateOptions::default)?;
        let signatures = database.keyspace("signatures", KeyspaceCreateOptions::default)?;
        Ok(Self { database, bands, signatures, staged: Staged::default() })
    }
}

impl Engine for Fjall {
    fn stage(&mut self, first: u32, signatures: &[Signature]) -> Result<()> {
        self.staged.take(first, signatures);
        Ok(())
    }

    fn insert(&mut self) -> Result<()> {
        let mut batch = self.database.batch().durability(Some(PersistMode::SyncData));
        for entry in entries(self.staged.documents()) {
            batch.insert(&self.bands, entry.key(), []);
        }
        for (document, lanes) in self.staged.documents() {
            batch.insert(&self.signatures, document.to_be_bytes(), lanes.as_slice());
        }
        Ok(batch.commit()?)
    }

    fn remove(&mut self, documents: &[u32]) -> Result<()> {
        let mut dead = Vec::new();
        for document in documents {
            if let Some(lanes) = self.signatures.get(document.to_be_bytes())? {
                dead.push((*document, stored(&lanes)?));
            }
        }
        let mut batch = self.database.batch().durability(Some(PersistMode::SyncData));
        for entry in entries(dead.iter().map(|(document, lanes)| (*document, lanes))) {
            batch.remove(&self.bands, entry.key());
        }
        for document in documents {
            batch.remove(&self.signatures, document.to_be_bytes());
        }
        Ok(batch.commit()?)
    }

    fn settle(&mut self) -> Result<()> {
        for keyspace in [&self.bands, &self.signatures] {
            keyspace.rotate_memtable_and_wait()?;
            keyspace.major_compact()?;
        }
        Ok(())
    }

    fn reader(&self) -> Result<Box<dyn Reader + '_>> {
        Ok(Box::new(Queries {
            snapshot: self.database.snapshot(),
            bands: &self.bands,
            signatures: &self.signatures,
            staged: Vec::new(),
            candidates: Vec::new(),
        }))
    }

    fn close(self: Box<Self>) -> Result<()> {
        Ok(())
    }
}

struct Queries<'a> {
    snapshot: Snapshot,
    bands: &'a Keyspace,
    signatures: &'a Keyspace,
    staged: Vec<Signature>,
    candidates: Vec<u32>,
}

impl Reader for Queries<'_> {
    fn stage(&mut self, queries: &[Signature]) -> Result<()> {
        self.staged = queries.to_vec();
        Ok(())
    }

    fn query(&mut self, at: usize, found: &mut Vec<u32>) -> Result<()> {
        let query = &self.staged[at];
        let mut prefix = [0; 9];
        for number in 0..BANDS {
            prefix[0] = number as u8;
            prefix[1..].copy_from_slice(&band(query, number).to_be_bytes());
            for entry in self.snapshot.prefix(self.bands, prefix) {
                let key = entry.key()?;
                self.candidates.push(u32::from_be_bytes(key[9..].try_into()?));
            }
        }
        verify(query, &mut self.candidates, found, |document| {
            let lanes = self.snapshot.get(self.signatures, document.to_be_bytes())?;
            lanes.map(|lanes| stored(&lanes)).transpose()
        })
    }
}
