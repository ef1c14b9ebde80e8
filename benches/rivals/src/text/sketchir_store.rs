//! A store of texts that uses sketchir's `store`. Only a checkpoint syncs, so there is one
//! checkpoint per batch.

use super::Store;
use crate::made::{BAND_ROWS, BANDS, EQUAL_ROWS_MIN, ROWS};
use crate::results::Result;
use durability::FsDirectory;
use sketchir::BlockingConfig;
use sketchir::store::UpdatableIndex;
use std::path::Path;

/// Number of buffered documents at which sketchir seals a segment: one batch. A smaller buffer
/// would gain nothing, because only the checkpoint at the end of a batch makes it durable. A larger
/// one would slow down queries, because every query sketches the unsealed documents again.
const BUFFERED: usize = super::BATCH;

pub struct SketchirStore {
    index: UpdatableIndex,
}

impl Store for SketchirStore {
    const NAME: &'static str = "sketchir";
    const DURABILITY: &'static str = "checkpoint per batch";
    const CHECKED_MAX: usize = 2_000;

    fn open(folder: &Path) -> Result<Self> {
        let config = BlockingConfig {
            num_hashes_per_band: BAND_ROWS,
            num_bands: BANDS,
            ngram_size: 3,
            char_ngrams: false,
        };
        let index = UpdatableIndex::open(FsDirectory::arc(folder)?, BUFFERED, config)?;
        Ok(Self { index })
    }

    fn insert(&mut self, first: u32, texts: &[String]) -> Result<()> {
        self.index.extend((first..).zip(texts.iter().cloned()))?;
        Ok(self.index.checkpoint()?)
    }

    fn compact(&mut self) -> Result<()> {
        Ok(self.index.compact()?)
    }

    fn query(&self, text: &str) -> Result<Vec<u32>> {
        let least = f64::from(EQUAL_ROWS_MIN) / ROWS as f64;
        let found = self.index.near_duplicates_with_similarity(text);
        Ok(found.into_iter().filter(|(_, like)| *like >= least).map(|(one, _)| one).collect())
    }

    fn remove(&mut self, documents: &[u32]) -> Result<()> {
        for document in documents {
            self.index.delete(*document)?;
        }
        Ok(self.index.checkpoint()?)
    }

    fn check_then_add(&mut self, first: u32, texts: &[String]) -> Result<()> {
        let mut new = Vec::new();
        for (document, text) in (first..).zip(texts) {
            if self.query(text)?.is_empty() {
                new.push((document, text.clone()));
            }
        }
        self.index.extend(new)?;
        Ok(self.index.checkpoint()?)
    }

    fn close(self) -> Result<()> {
        Ok(())
    }
}
