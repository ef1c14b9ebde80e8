//! A cache of kept documents with their shingles.

use std::collections::HashMap;
use std::mem::size_of;
use std::sync::Arc;

use crate::keyed::RandomState;

use super::{FetchByRank, FetchRanks};
use crate::{Details, Error, Original, Result};

/// Maximum size in bytes.
const BYTES_MAX: usize = small!(cache::BYTES_MAX, 64 << 20);
/// Approximate memory of a document without its shingles, in bytes.
const DOCUMENT_BYTES: usize = size_of::<Original>() + 256;

/// Kept documents by rank. It is emptied when it is full.
#[derive(Default)]
pub(super) struct Cache {
    documents: HashMap<u64, Arc<Original>, RandomState>,
    bytes: usize,
}

impl Cache {
    pub(super) fn cached(&self, rank: u64) -> Option<Arc<Original>> {
        self.documents.get(&rank).map(Arc::clone)
    }

    /// The document of a rank; fetched if it is not here.
    pub(super) fn get(&mut self, rank: u64, fetch: &mut FetchByRank<'_>) -> Result<Arc<Original>> {
        if let Some(document) = self.cached(rank) {
            return Ok(document);
        }
        let Some(document) = fetch(rank)? else {
            return Err(Error::invalid(format!(
                "fetch returned no document for rank {rank}; it must return every kept document"
            )));
        };
        let document = Arc::new(document);
        self.put(rank, Arc::clone(&document));
        Ok(document)
    }

    /// Fetches the documents of these ranks that are not here, all at once.
    pub(super) fn fetch(&mut self, mut ranks: Vec<u64>, fetch: &mut FetchRanks<'_>) -> Result<()> {
        ranks.sort_unstable();
        ranks.dedup();
        ranks.retain(|rank| !self.documents.contains_key(rank));
        if !ranks.is_empty() {
            let fetched = fetch(&ranks)?;
            for (rank, document) in ranks.into_iter().zip(fetched) {
                if let Some(document) = document {
                    self.put(rank, Arc::new(document));
                }
            }
        }
        Ok(())
    }

    pub(super) fn put(&mut self, rank: u64, document: Arc<Original>) {
        let details = document.details().map_or(0, Details::bytes);
        let bytes = size_of_val(document.shingle_hashes()) + details + DOCUMENT_BYTES;
        if self.bytes + bytes > BYTES_MAX {
            self.documents.clear();
            self.bytes = 0;
        }
        self.bytes += bytes;
        self.documents.insert(rank, document);
    }
}
