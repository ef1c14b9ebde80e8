//! redb: the keys are (band, hash, document) with empty values. A second table has the signatures.

use super::{Engine, Reader, Staged, entries, stored, verify};
use crate::made::{BANDS, Signature, band};
use crate::results::Result;
use redb::{Database, Durability, ReadOnlyTable, ReadableDatabase, TableDefinition};
use std::path::Path;

type Key = (u8, u64, u32);

const BAND_TABLE: TableDefinition<Key, ()> = TableDefinition::new("bands");
const SIGNATURES: TableDefinition<u32, &[u8; 128]> = TableDefinition::new("signatures");

pub struct Redb {
    database: Database,
    staged: Staged,
}

impl Redb {
    pub fn open(folder: &Path) -> Result<Self> {
        let database =
            Database::builder().set_cache_size(1 << 30).create(folder.join("index.redb"))?;
        let create = database.begin_write()?;
        create.open_table(BAND_TABLE)?;
        create.open_table(SIGNATURES)?;
        create.commit()?;
        Ok(Self { database, staged: Staged::default() })
    }
}

impl Engine for Redb {
    fn stage(&mut self, first: u32, signatures: &[Signature]) -> Result<()> {
        self.staged.take(first, signatures);
        Ok(())
    }

    fn insert(&mut self) -> Result<()> {
        let mut transaction = self.database.begin_write()?;
        transaction.set_durability(Durability::Immediate)?;
        {
            let mut bands = transaction.open_table(BAND_TABLE)?;
            for entry in entries(self.staged.documents()) {
                bands.insert((entry.band, entry.hash, entry.document), ())?;
            }
            let mut signatures = transaction.open_table(SIGNATURES)?;
            for (document, lanes) in self.staged.documents() {
                signatures.insert(document, lanes)?;
            }
        }
        Ok(transaction.commit()?)
    }

    fn remove(&mut self, documents: &[u32]) -> Result<()> {
        let mut transaction = self.database.begin_write()?;
        transaction.set_durability(Durability::Immediate)?;
        {
            let mut signatures = transaction.open_table(SIGNATURES)?;
            let mut dead = Vec::new();
            for document in documents {
                let lanes = signatures.remove(document)?;
                dead.extend(lanes.map(|lanes| (*document, *lanes.value())));
            }
            let mut bands = transaction.open_table(BAND_TABLE)?;
            for entry in entries(dead.iter().map(|(document, lanes)| (*document, lanes))) {
                bands.remove((entry.band, entry.hash, entry.document))?;
            }
        }
        Ok(transaction.commit()?)
    }

    fn settle(&mut self) -> Result<()> {
        Ok(())
    }

    fn reader(&self) -> Result<Box<dyn Reader + '_>> {
        let transaction = self.database.begin_read()?;
        Ok(Box::new(Queries {
            bands: transaction.open_table(BAND_TABLE)?,
            signatures: transaction.open_table(SIGNATURES)?,
            staged: Vec::new(),
            candidates: Vec::new(),
        }))
    }

    fn close(self: Box<Self>) -> Result<()> {
        Ok(())
    }
}

struct Queries {
    bands: ReadOnlyTable<Key, ()>,
    signatures: ReadOnlyTable<u32, &'static [u8; 128]>,
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
        for number in 0..BANDS {
            let (place, hash) = (number as u8, band(query, number));
            for entry in self.bands.range((place, hash, 0)..=(place, hash, u32::MAX))? {
                self.candidates.push(entry?.0.value().2);
            }
        }
        verify(query, &mut self.candidates, found, |document| {
            let lanes = self.signatures.get(document)?;
            lanes.map(|lanes| stored(lanes.value())).transpose()
        })
    }
}
