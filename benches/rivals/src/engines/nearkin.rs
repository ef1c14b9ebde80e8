//! Nearkin with its defaults, except for batches of the maximum size.

use super::{Engine, Reader};
use crate::made::{BAND_ROWS, BANDS, EQUAL_ROWS_MIN, ROWS, Signature};
use crate::results::Result;
use nearkin::{Batch, Index, Options, Params, Shingles, Snapshot};
use std::path::Path;

/// The parameters that all engines use.
pub fn params() -> Result<Params> {
    let shape = Params::for_threshold(0.7).hashes(ROWS).bands(BANDS, BAND_ROWS);
    Ok(shape.lane_bits(8).shingles(Shingles::Words(3)).build()?)
}

/// The threshold that requires exactly `EQUAL_ROWS_MIN` equal rows.
pub fn threshold(params: &Params) -> f64 {
    params.similarity(EQUAL_ROWS_MIN)
}

/// The key of a document: eight bytes.
pub fn key(document: u32) -> [u8; 8] {
    u64::from(document).to_be_bytes()
}

/// Maximum size of a batch, which is the largest that Nearkin permits. The default is half as much,
/// slightly too small for a batch of 100,000 documents.
const BATCH_BYTES_MAX: usize = 32 << 20;

/// Number of queries per call, if all are known in advance.
const BATCH: usize = 1_000;

/// An open index, and the documents staged for it.
pub struct Nearkin {
    pub index: Index,
    first: u32,
    staged: Vec<nearkin::Signature>,
}

impl Nearkin {
    pub fn open(folder: &Path) -> Result<Self> {
        Self::open_with(folder, Options::default().batch_bytes_max(BATCH_BYTES_MAX))
    }

    pub fn open_with(folder: &Path, options: Options) -> Result<Self> {
        let index = Index::open_or_create(folder.join("index"), &params()?, options)?;
        Ok(Self { index, first: 0, staged: Vec::new() })
    }
}

fn convert(params: &Params, signatures: &[Signature]) -> Result<Vec<nearkin::Signature>> {
    let one = |rows| Ok(nearkin::Signature::from_bytes(params, rows, 200)?);
    signatures.iter().map(|rows| one(rows.as_slice())).collect()
}

impl Engine for Nearkin {
    fn stage(&mut self, first: u32, signatures: &[Signature]) -> Result<()> {
        self.first = first;
        self.staged = convert(self.index.params(), signatures)?;
        Ok(())
    }

    fn insert(&mut self) -> Result<()> {
        if let [one] = self.staged.as_slice() {
            self.index.insert(key(self.first), one)?;
            return Ok(());
        }
        let mut batch = Batch::new();
        for (document, signature) in (self.first..).zip(&self.staged) {
            batch = batch.insert(key(document), signature);
        }
        self.index.write(batch)?;
        Ok(())
    }

    fn remove(&mut self, documents: &[u32]) -> Result<()> {
        let batch = documents.iter().fold(Batch::new(), |batch, one| batch.remove(key(*one)));
        self.index.write(batch)?;
        Ok(())
    }

    fn settle(&mut self) -> Result<()> {
        Ok(self.index.compact()?)
    }

    fn reader(&self) -> Result<Box<dyn Reader + '_>> {
        let threshold = threshold(self.index.params());
        Ok(Box::new(Queries { snapshot: self.index.snapshot(), threshold, staged: Vec::new() }))
    }

    fn close(self: Box<Self>) -> Result<()> {
        Ok(self.index.close()?)
    }
}

struct Queries {
    snapshot: Snapshot,
    threshold: f64,
    staged: Vec<nearkin::Signature>,
}

impl Reader for Queries {
    fn stage(&mut self, queries: &[Signature]) -> Result<()> {
        self.staged = convert(self.snapshot.params(), queries)?;
        Ok(())
    }

    fn query(&mut self, at: usize, found: &mut Vec<u32>) -> Result<()> {
        let answer = self.snapshot.query(&self.staged[at]).threshold(self.threshold).run()?;
        for one in answer {
            let number = u64::from_be_bytes(one.key.as_slice().try_into()?);
            found.push(u32::try_from(number)?);
        }
        Ok(())
    }

    /// Queries in batches, as a service with many queries would.
    fn query_all(&mut self, count: usize) -> Result<u64> {
        let mut matches = 0;
        for batch in self.staged[..count].chunks(BATCH) {
            let answers = self.snapshot.queries(batch).threshold(self.threshold).run()?;
            matches += answers.iter().map(|answer| answer.matches.len() as u64).sum::<u64>();
        }
        Ok(matches)
    }
}
