//! LMDB: maps (band, hash) to documents, which are sorted duplicates of fixed length.

use super::{Engine, Reader, Staged, entries, stored, verify};
use crate::made::{BANDS, Signature, band};
use crate::results::Result;
use heed::types::Bytes;
use heed::{Database, DatabaseFlags, Env, EnvOpenOptions, RoTxn, WithoutTls};
use std::path::Path;

type Table = Database<Bytes, Bytes>;

pub struct Lmdb {
    environment: Env<WithoutTls>,
    bands: Table,
    signatures: Table,
    staged: Staged,
}

impl Lmdb {
    pub fn open(folder: &Path) -> Result<Self> {
        let mut options = EnvOpenOptions::new().read_txn_without_tls();
        options.map_size(64 << 30).max_dbs(2);
        // SAFETY: no other program opens or changes the files in this scratch folder while they are
        // mapped.
        let environment = unsafe { options.open(folder)? };
        let mut transaction = environment.write_txn()?;
        let mut bands = environment.database_options().types::<Bytes, Bytes>();
        bands.name("bands").flags(DatabaseFlags::DUP_SORT | DatabaseFlags::DUP_FIXED);
        let bands = bands.create(&mut transaction)?;
        let signatures = environment.create_database(&mut transaction, Some("signatures"))?;
        transaction.commit()?;
        Ok(Self { environment, bands, signatures, staged: Staged::default() })
    }
}

impl Engine for Lmdb {
    fn stage(&mut self, first: u32, signatures: &[Signature]) -> Result<()> {
        self.staged.take(first, signatures);
        Ok(())
    }

    fn insert(&mut self) -> Result<()> {
        let mut transaction = self.environment.write_txn()?;
        for entry in entries(self.staged.documents()) {
            let key = entry.key();
            self.bands.put(&mut transaction, &key[..9], &key[9..])?;
        }
        for (document, lanes) in self.staged.documents() {
            self.signatures.put(&mut transaction, &document.to_be_bytes(), lanes)?;
        }
        Ok(transaction.commit()?)
    }

    fn remove(&mut self, documents: &[u32]) -> Result<()> {
        let mut transaction = self.environment.write_txn()?;
        let mut dead = Vec::new();
        for document in documents {
            let lanes = self.signatures.get(&transaction, &document.to_be_bytes())?;
            if let Some(lanes) = lanes {
                dead.push((*document, stored(lanes)?));
            }
        }
        for entry in entries(dead.iter().map(|(document, lanes)| (*document, lanes))) {
            let key = entry.key();
            self.bands.delete_one_duplicate(&mut transaction, &key[..9], &key[9..])?;
        }
        for document in documents {
            self.signatures.delete(&mut transaction, &document.to_be_bytes())?;
        }
        Ok(transaction.commit()?)
    }

    fn settle(&mut self) -> Result<()> {
        Ok(())
    }

    fn reader(&self) -> Result<Box<dyn Reader + '_>> {
        Ok(Box::new(Queries {
            transaction: self.environment.read_txn()?,
            bands: self.bands,
            signatures: self.signatures,
            staged: Vec::new(),
            candidates: Vec::new(),
        }))
    }

    fn close(self: Box<Self>) -> Result<()> {
        self.environment.prepare_for_closing().wait();
        Ok(())
    }
}

struct Queries<'a> {
    transaction: RoTxn<'a, WithoutTls>,
    bands: Table,
    signatures: Table,
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
        let mut key = [0; 9];
        for number in 0..BANDS {
            key[0] = number as u8;
            key[1..].copy_from_slice(&band(query, number).to_be_bytes());
            // Most buckets are empty, and a plain get detects that fastest.
            if self.bands.get(&self.transaction, &key)?.is_none() {
                continue;
            }
            for entry in self.bands.get_duplicates(&self.transaction, &key)?.into_iter().flatten() {
                self.candidates.push(u32::from_be_bytes(entry?.1.try_into()?));
            }
        }
        verify(query, &mut self.candidates, found, |document| {
            let lanes = self.signatures.get(&self.transaction, &document.to_be_bytes())?;
            lanes.map(stored).transpose()
        })
    }
}
