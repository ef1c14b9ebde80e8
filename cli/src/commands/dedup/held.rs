//! Documents that one pass made and the next ones need.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use nearkin::{Details, Original};

use nearkin_kit::args::machine;

/// Maximum size of all documents that stay in memory, in bytes.
const HELD_BYTES_MAX: usize = 256 << 20;
/// Approximate memory of a document without its signature, shingles and text, in bytes.
const DOCUMENT_BYTES: usize = 400;

/// Documents that one pass made and the next ones need, by their lines. Those that do not fit are
/// made again.
#[derive(Default)]
pub(super) struct Held(Mutex<HeldDocuments>);

#[derive(Default)]
struct HeldDocuments {
    by_line: HashMap<u64, Original>,
    bytes: usize,
}

impl Held {
    pub(super) fn get(&self, line: u64) -> Option<Original> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).by_line.get(&line).cloned()
    }

    pub(super) fn put(&self, line: u64, document: &Original) {
        let bytes = bytes_of(document);
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if held.bytes + bytes <= machine::memory_part(8, HELD_BYTES_MAX) {
            let before = held.by_line.insert(line, document.clone());
            held.bytes = held.bytes + bytes - before.as_ref().map_or(0, bytes_of);
        }
    }
}

fn bytes_of(document: &Original) -> usize {
    let details = document.details().map_or(0, Details::bytes);
    let signature = document.signature().as_bytes().len();
    size_of_val(document.shingle_hashes()) + details + signature + DOCUMENT_BYTES
}

#[cfg(test)]
mod tests {
    use super::*;
    use nearkin::{Params, Sketcher};

    #[test]
    fn what_does_not_fit_is_made_again() {
        let sketcher = Sketcher::new(&Params::builder().build().unwrap());
        let document = sketcher.detailed_text("four words of text").unwrap();
        let held = Held::default();
        held.put(1, &document);
        assert_eq!(held.get(1), Some(document.clone()));
        held.0.lock().unwrap().bytes = HELD_BYTES_MAX;
        held.put(2, &document);
        assert!(held.get(1).is_some() && held.get(2).is_none());
    }
}
