//! Kept documents by their shingles. Documents of one form share bands with all others of the form;
//! here a document is compared only with those that share enough of its rare shingles.

use std::collections::{BTreeSet, HashMap};

use crate::keyed::RandomState;
use crate::{Details, Original};

/// Maximum size in bytes.
const BYTES_MAX: usize = small!(form_index::BYTES_MAX, 256 << 20);
/// Approximate memory for a shingle of a document, and for a document beside what varies.
const SHINGLE_BYTES: usize = 40;
const DOCUMENT_BYTES: usize = 512;
/// Documents that are compared whatever they share, so that fewer shingles are looked up.
const FEW: usize = 16;
/// Number of entries that a search reads at most, on average, where it saves comparisons.
const STEPS_MAX: u64 = small!(form_index::STEPS_MAX, 8_192);
/// Number of searches from which on that average counts.
const SEARCHES_MIN: u64 = small!(form_index::SEARCHES_MIN, 256);
/// Marks the end of a list.
const NONE: u32 = u32::MAX;

/// The documents that have a shingle.
#[derive(Clone, Copy)]
struct List {
    count: u32,
    /// The last of them, as a place in `entries`.
    last: u32,
}

/// Kept documents, and which of them have a shingle.
///
/// If the rarest n of a document's shingles were looked up, and another document has s of these,
/// then the two share at most s shingles more than the first has beside the n. Few documents pass
/// this bound, although all of a form share most of their shingles.
pub(super) struct FormIndex {
    documents: Vec<(u64, Original)>,
    lists: HashMap<u64, List, RandomState>,
    /// A document, and the entry before it in its list.
    entries: Vec<(u32, u32)>,
    /// The documents by their number of shingles.
    sizes: BTreeSet<(usize, u32)>,
    /// For each document, the number of shingles looked up that it has. Zeros between searches.
    shared: Vec<u32>,
    /// The minimum similarity.
    least: f64,
    bytes: usize,
    /// Number of searches, and of the entries that they have read.
    searches: u64,
    steps: u64,
}

impl FormIndex {
    /// `least` is above 0.
    pub(super) fn new(least: f64) -> Self {
        Self {
            documents: Vec::new(),
            lists: HashMap::default(),
            entries: Vec::new(),
            sizes: BTreeSet::new(),
            shared: Vec::new(),
            least,
            bytes: 0,
            searches: 0,
            steps: 0,
        }
    }

    /// The approximate memory of a document, in bytes.
    pub(super) fn bytes_of(document: &Original) -> usize {
        let varying =
            document.signature().as_bytes().len() + document.details().map_or(0, Details::bytes);
        DOCUMENT_BYTES + SHINGLE_BYTES * document.shingle_hashes().len() + varying
    }

    /// The least memory of so many documents, in bytes.
    pub(super) fn bytes_of_documents(count: u64) -> usize {
        usize::try_from(count).unwrap_or(usize::MAX).saturating_mul(DOCUMENT_BYTES)
    }

    /// Whether there is room for so many more bytes.
    pub(super) fn has_room(&self, more: usize) -> bool {
        self.bytes.saturating_add(more) <= BYTES_MAX
    }

    /// Whether searches read so many entries that they save nothing: no shingles are rare.
    pub(super) fn is_slow(&self) -> bool {
        self.searches >= SEARCHES_MIN && self.steps / self.searches > STEPS_MAX
    }

    /// Adds a kept document.
    pub(super) fn keep(&mut self, rank: u64, document: Original) {
        let number = u32::try_from(self.documents.len()).unwrap_or(NONE);
        self.bytes += Self::bytes_of(&document);
        for shingle in document.shingle_hashes() {
            let list = self.lists.entry(*shingle).or_insert(List { count: 0, last: NONE });
            let at = u32::try_from(self.entries.len()).unwrap_or(NONE);
            self.entries.push((number, list.last));
            *list = List { count: list.count + 1, last: at };
        }
        self.sizes.insert((document.shingle_hashes().len(), number));
        self.shared.push(0);
        self.documents.push((rank, document));
    }

    /// The rank of a document, and the document.
    pub(super) fn document(&self, number: u32) -> (u64, &Original) {
        let (rank, document) = &self.documents[number as usize];
        (*rank, document)
    }

    /// The documents that may be similar to this one, each once: all that are, and a few more.
    pub(super) fn candidates(&mut self, document: &Original) -> Vec<u32> {
        let (least, size) = (self.least, document.shingle_hashes().len());
        let find = |shingle: &u64| self.lists.get(shingle).copied();
        let mut lists: Vec<List> = document.shingle_hashes().iter().filter_map(find).collect();
        lists.sort_unstable_by_key(|list| list.count);
        // Shingles that no document has count as looked up.
        let missing = size - lists.len();
        let smallest = self.sizes.range((self.smallest(size), 0)..);
        let other = smallest.clone().nth(FEW).map_or(usize::MAX, |(size, _)| *size);
        // From this size on, a document without a shared shingle is not similar enough.
        let enough =
            |looked_up: usize, other| ((size - looked_up) as f64) < needed(least, size, other);
        self.searches += 1;
        let mut touched = Vec::new();
        let (mut looked_up, mut more) = (missing, 0);
        for list in &lists {
            if enough(looked_up, other) {
                // The next ones are looked up only as long as that is cheaper than comparing.
                more += 1;
                if more > FEW || list.count as usize > FEW + touched.len() {
                    break;
                }
            }
            looked_up += 1;
            let mut at = list.last;
            while let Some((number, before)) = self.entries.get(at as usize).copied() {
                at = before;
                self.steps += 1;
                let shared = &mut self.shared[number as usize];
                if *shared == 0 {
                    touched.push(number);
                }
                *shared += 1;
            }
        }
        let mut found = Vec::new();
        for (other, number) in smallest {
            if enough(looked_up, *other) {
                break;
            }
            if self.shared[*number as usize] == 0 {
                found.push(*number);
            }
        }
        let rest = size - looked_up;
        for number in touched {
            let other = self.documents[number as usize].1.shingle_hashes().len();
            let most = std::mem::take(&mut self.shared[number as usize]) as usize + rest;
            if most.min(other).min(size) as f64 >= needed(least, size, other) {
                found.push(number);
            }
        }
        found
    }

    /// A lower bound of the size of documents that are similar to one of this size.
    fn smallest(&self, size: usize) -> usize {
        let least = (self.least * size as f64 - 1e-3).max(0.0);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count")]
        let least = least as usize;
        least
    }
}

/// The number of shingles that two documents share that are similar enough, minus a margin for
/// rounding errors.
fn needed(least: f64, one: usize, other: usize) -> f64 {
    least * (one as f64 + other as f64) / (1.0 + least) - 1e-6
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Params, Shingles, Sketcher};

    fn set(sketcher: &Sketcher, items: impl IntoIterator<Item = u32>) -> Original {
        sketcher.original_items(items).unwrap()
    }

    fn sketcher() -> Sketcher {
        Sketcher::new(&Params::builder().shingles(Shingles::Items).build().unwrap())
    }

    #[test]
    fn all_that_are_similar_are_candidates() {
        let (sketcher, mut state) = (sketcher(), 3_u64);
        let mut random = |below: u32| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            u32::try_from((state >> 33) % u64::from(below)).unwrap()
        };
        let sets: Vec<Original> = (0..400)
            .map(|_| {
                let (form, length) = (random(3) * 100, 1 + random(60));
                let common = form..form + length;
                let own: Vec<u32> = (0..random(30)).map(|_| 1_000 + random(300)).collect();
                set(&sketcher, common.chain(own))
            })
            .collect();
        for least in [0.1, 0.3, 0.5, 0.7, 0.9, 1.0] {
            let mut crowd = FormIndex::new(least);
            let (mut candidates, mut similar) = (0, 0);
            for (rank, document) in (0..).zip(&sets) {
                let found = crowd.candidates(document);
                let mut ranks: Vec<u64> = found.iter().map(|n| crowd.document(*n).0).collect();
                ranks.sort_unstable();
                assert!(ranks.windows(2).all(|two| two[0] < two[1]), "each once");
                let is_similar = |one: &Original| one.similarity(document) >= least;
                for (other, _) in (0..rank).zip(&sets).filter(|(_, one)| is_similar(one)) {
                    assert!(ranks.binary_search(&other).is_ok(), "{least}: {rank} and {other}");
                    similar += 1;
                }
                candidates += found.len();
                crowd.keep(rank, document.clone());
            }
            assert!(similar > 20 || least > 0.9, "{least}: {similar}");
            assert!(candidates < 400 * 399 / 2, "{least}: {candidates}");
        }
    }

    /// Two in five of the shingles of a form's documents are their own.
    #[test]
    fn documents_of_one_form_are_not_all_candidates() {
        let (sketcher, mut crowd) = (sketcher(), FormIndex::new(0.7));
        let mut candidates = 0;
        for rank in 0..400_u32 {
            let number = 1_000 + rank * 40;
            // A value that many have in common with others.
            let values = [500 + rank % 12, 600 + rank % 31];
            let document = set(&sketcher, (0..90).chain(values).chain(number..number + 25));
            candidates += crowd.candidates(&document).len();
            crowd.keep(rank.into(), document);
        }
        assert!(candidates < 400 * 2 * FEW, "{candidates}");
        assert!(FormIndex::new(0.7).has_room(1) && !crowd.has_room(usize::MAX));
        assert!(crowd.bytes > 400 * 117 * SHINGLE_BYTES && !crowd.is_slow());
    }
}
