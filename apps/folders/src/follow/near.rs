//! Searches near-duplicates of new documents, in time that grows linearly with their number.
//!
//! In a crowd (many documents that are similar to each other), comparing every new document with
//! all earlier ones would take quadratic time. So a search is bounded. It is widened only if it
//! found less than what is shown, and only as long as the run has credit for that.

use nearkin::{Match, Signature};

use super::store::{Bounded, Store};
use nearkin_kit::failure::Failure;
use nearkin_kit::interrupt;

/// Bound of the first search for a document, in candidates. Larger than a batch, because the newest
/// candidates of a document may be later files of its own batch.
const CANDIDATES: usize = 128;

/// Factor by which the bound of a search grows.
const WIDER: usize = 4;

/// Candidates that all wider searches of a run may have: a fixed number, which takes about half a
/// second, and this many more per document. A similar document is a candidate once per shared band.
const CREDIT: usize = 64_000_000;
const CREDIT_PER_DOCUMENT: usize = 256;

/// Searches the near-duplicates of the documents of a run.
#[derive(Debug)]
pub(crate) struct NearDuplicates {
    /// Maximum number of near-duplicates to name per document; 0 searches for none.
    limit: usize,
    credit: usize,
}

/// What to find out about a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Depth {
    /// Its most similar near-duplicates.
    Names,
    /// Only whether it has any.
    Existence,
}

/// The near-duplicates of a document.
#[derive(Debug, Default)]
pub(crate) struct NearFound {
    pub matches: Vec<Match>,
    /// Whether none was found before the search was cut short.
    pub(crate) is_undecided: bool,
}

impl NearDuplicates {
    pub(crate) fn new(limit: usize) -> Self {
        Self { limit, credit: CREDIT }
    }

    pub(crate) fn are_searched(&self) -> bool {
        self.limit > 0
    }

    /// The near-duplicates of a document among those that may be named, the most similar first.
    /// Once the credit is used up, they are some near-duplicates, not always the most similar.
    pub(crate) fn find(
        &mut self,
        store: &Store,
        (key, signature): (&[u8], &Signature),
        wanted: Depth,
        may_name: impl Fn(&[u8]) -> bool + Send + Sync,
    ) -> Result<NearFound, Failure> {
        if self.limit == 0 {
            return Ok(NearFound::default());
        }
        let limit = if wanted == Depth::Names { self.limit } else { 1 };
        let mut candidates = CANDIDATES;
        self.credit = self.credit.saturating_add(CREDIT_PER_DOCUMENT);
        loop {
            let bounds = (limit, candidates);
            let Bounded { matches, complete } = store.like(key, signature, bounds, &may_name)?;
            let is_enough = wanted == Depth::Existence && !matches.is_empty();
            candidates = candidates.saturating_mul(WIDER);
            // After a signal, the lines of documents that are written already are printed soon.
            if complete || is_enough || candidates > self.credit || interrupt::came() {
                let is_undecided = matches.is_empty() && !complete;
                return Ok(NearFound { matches, is_undecided });
            }
            self.credit -= candidates;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nearkin::{Batch, Index, Options, Params};
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn a_search_in_a_crowd_is_bounded_when_the_credit_is_used_up() {
        let index =
            Index::temporary(&Params::for_threshold(0.7).build().unwrap(), Options::default());
        let index = index.unwrap();
        let signature = index.sketcher().text("one line that all files hold").unwrap();
        let keys: Vec<String> = (0..5_000).map(|number| format!("{number:04}")).collect();
        index
            .write(keys.iter().fold(Batch::new(), |batch, key| batch.insert(key, &signature)))
            .unwrap();
        let store = Store::Index(index);
        let looks = AtomicUsize::new(0);
        let find = |near: &mut NearDuplicates, wanted| {
            looks.store(0, Ordering::Relaxed);
            let may_name = |_: &[u8]| {
                looks.fetch_add(1, Ordering::Relaxed);
                true
            };
            let found = near.find(&store, (b"4999", &signature), wanted, may_name).unwrap();
            let keys = found.matches.into_iter().map(|found| String::from_utf8(found.key).unwrap());
            (keys.collect::<Vec<_>>(), looks.load(Ordering::Relaxed))
        };
        let (keys, _) = find(&mut NearDuplicates::new(2), Depth::Names);
        assert_eq!(keys, ["0000", "0001"]);
        let (keys, looks) = find(&mut NearDuplicates::new(2), Depth::Existence);
        assert!(keys.len() == 1 && looks <= CANDIDATES, "{keys:?} {looks}");
        let mut poor = NearDuplicates { credit: 0, ..NearDuplicates::new(2) };
        for _ in 0..10 {
            let (keys, looks) = find(&mut poor, Depth::Names);
            assert!(keys.len() == 2 && looks <= CANDIDATES * (1 + WIDER), "{keys:?} {looks}");
        }
        assert_eq!(find(&mut NearDuplicates::new(0), Depth::Names).0, [""; 0]);
    }
}
