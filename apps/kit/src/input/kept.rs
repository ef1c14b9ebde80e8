//! Documents that were read again, because pairs name the same documents repeatedly.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use nearkin::{Details, Original};

/// Maximum number of documents, and of their shingles; 8 bytes of what can set a text apart count
/// as one.
const DOCUMENTS_MAX: usize = 1_024;
const SHINGLES_MAX: usize = 8 << 20;

/// The documents that were read last, by key.
#[derive(Default)]
pub(super) struct KeptDocuments(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    /// `None`: there is no such document.
    documents: HashMap<Vec<u8>, Option<Arc<Original>>>,
    shingles: usize,
}

impl KeptDocuments {
    /// The document with this key, if it is here and suits; otherwise what `read` returns, which is
    /// kept.
    pub(super) fn get_or_read(
        &self,
        key: &[u8],
        suits: impl Fn(&Original) -> bool,
        read: impl Fn() -> Option<Original>,
    ) -> Option<Original> {
        let kept = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = kept().documents.get(key)
            && known.as_deref().is_none_or(&suits)
        {
            return known.as_deref().cloned();
        }
        let original = read().map(Arc::new);
        kept().keep(key, original.clone());
        original.as_deref().cloned()
    }
}

impl Kept {
    fn keep(&mut self, key: &[u8], document: Option<Arc<Original>>) {
        let size = document.as_deref().map_or(0, size);
        if self.documents.len() >= DOCUMENTS_MAX || self.shingles + size > SHINGLES_MAX {
            *self = Self::default();
        }
        self.shingles += size;
        self.documents.insert(key.to_vec(), document);
    }
}

fn size(document: &Original) -> usize {
    document.shingle_hashes().len() + document.details().map_or(0, Details::bytes) / 8
}
