//! gaoya: the fastest in-memory index. Its content is lost at exit.
//!
//! A row has one byte, as with all engines here. (gaoya's own hashers make rows of four bytes,
//! which is slower.) The container is the one for small buckets, the fastest of gaoya's three.
//!
//! gaoya holds no rows but those of its bands. So that its answers are those of the others, all
//! rows are in an array beside it, and candidates are compared by them.

use super::{Engine, Reader};
use crate::made::{BAND_ROWS, BANDS, EQUAL_ROWS_MIN, ROWS_IN_BANDS, Signature, equal_rows};
use crate::results::Result;
use gaoya::minhash::{MinHashIndex, SmallVecContainer};

type Index = MinHashIndex<u8, u32, SmallVecContainer<u32, 4>>;

pub struct Gaoya {
    index: Index,
    /// All rows of every document ever inserted, by its number.
    stored: Vec<Signature>,
    staged: Vec<Signature>,
}

impl Gaoya {
    pub fn new() -> Self {
        // Every candidate passes; `query` compares all rows.
        let index = Index::new_index(BANDS, BAND_ROWS, 0.0);
        Self { index, stored: Vec::new(), staged: Vec::new() }
    }
}

impl Engine for Gaoya {
    fn stage(&mut self, first: u32, signatures: &[Signature]) -> Result<()> {
        debug_assert_eq!(first as usize, self.stored.len(), "documents are numbered in order");
        self.staged = signatures.to_vec();
        Ok(())
    }

    fn insert(&mut self) -> Result<()> {
        for signature in self.staged.drain(..) {
            let document = u32::try_from(self.stored.len())?;
            self.index.insert(document, signature[..ROWS_IN_BANDS].to_vec());
            self.stored.push(signature);
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
        Ok(Box::new(Queries { index: self, staged: Vec::new() }))
    }

    fn close(self: Box<Self>) -> Result<()> {
        Ok(())
    }
}

struct Queries<'a> {
    index: &'a Gaoya,
    /// All rows of each query, and those of its bands.
    staged: Vec<(Signature, Vec<u8>)>,
}

impl Reader for Queries<'_> {
    fn stage(&mut self, queries: &[Signature]) -> Result<()> {
        self.staged = queries.iter().map(|rows| (*rows, rows[..ROWS_IN_BANDS].to_vec())).collect();
        Ok(())
    }

    fn query(&mut self, at: usize, found: &mut Vec<u32>) -> Result<()> {
        let (query, in_bands) = &self.staged[at];
        let is_match = |candidate: &&u32| {
            equal_rows(query, &self.index.stored[**candidate as usize]) >= EQUAL_ROWS_MIN
        };
        found.extend(self.index.index.query(in_bands).into_iter().filter(is_match));
        Ok(())
    }
}
