//! gaoya: the fastest in-memory index. Its content is lost at exit.
//!
//! A row has one byte, as with all engines here. (gaoya's own hashers make rows of four bytes,
//! which is slower.) The container is the one for small buckets, the fastest of gaoya's three.

use super::{Engine, Reader};
use crate::made::{BAND_ROWS, BANDS, EQUAL_ROWS_MIN, ROWS, Signature};
use crate::results::Result;
use gaoya::minhash::{MinHashIndex, SmallVecContainer};

type Index = MinHashIndex<u8, u32, SmallVecContainer<u32, 4>>;

pub struct Gaoya {
    index: Index,
    first: u32,
    staged: Vec<Vec<u8>>,
}

impl Gaoya {
    pub fn new() -> Self {
        let threshold = f64::from(EQUAL_ROWS_MIN) / ROWS as f64;
        let index = Index::new_index(BANDS, BAND_ROWS, threshold);
        Self { index, first: 0, staged: Vec::new() }
    }
}

impl Engine for Gaoya {
    fn stage(&mut self, first: u32, signatures: &[Signature]) -> Result<()> {
        self.first = first;
        self.staged = signatures.iter().map(|rows| rows.to_vec()).collect();
        Ok(())
    }

    fn insert(&mut self) -> Result<()> {
        for (document, signature) in (self.first..).zip(self.staged.drain(..)) {
            self.index.insert(document, signature);
        }
        Ok(())
    }

    fn remove(&mut self, documents: &[u32]) -> Result<()> {
        for document in documents {
            self.index.remove(document);
        }
        Ok(())
    }

    fn settle(&mut self) -> Result<()> {
        Ok(())
    }

    fn reader(&self) -> Result<Box<dyn Reader + '_>> {
        Ok(Box::new(Queries { index: &self.index, staged: Vec::new() }))
    }

    fn close(self: Box<Self>) -> Result<()> {
        Ok(())
    }
}

struct Queries<'a> {
    index: &'a Index,
    staged: Vec<Vec<u8>>,
}

impl Reader for Queries<'_> {
    fn stage(&mut self, queries: &[Signature]) -> Result<()> {
        self.staged = queries.iter().map(|rows| rows.to_vec()).collect();
        Ok(())
    }

    fn query(&mut self, at: usize, found: &mut Vec<u32>) -> Result<()> {
        found.extend(self.index.query(&self.staged[at]));
        Ok(())
    }
}
