//! Exact deduplication: documents come in order of preference, and one is dropped if its shingles
//! are similar enough to those of a document kept before.
//!
//! A layer on top of the index. The caller reads and fetches the documents.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::fmt;
use std::mem::size_of;
use std::sync::Arc;

use ahash::RandomState;

use crate::sketch::Agreement;
use crate::{
    Alike, Answer, Batch, Error, Index, Key, Original, Overlap, Params, Result, Signature,
};

/// Maximum size of the cache of kept documents in bytes.
const AT_HAND_MAX: usize = if cfg!(test) { 4 << 10 } else { 64 << 20 };
/// Approximate memory of a document without its shingles, in bytes.
const DOCUMENT_BYTES: usize = size_of::<Original>() + 256;

/// Number of thresholds for which [`Dedup::params`] tries to choose bands, lowest first, before it
/// falls back to the highest one.
const STEPS: u32 = 4;

/// A closure that returns the document of a rank, or `None` if there is none.
pub type FetchByRank<'a> = dyn FnMut(u64) -> Result<Option<Original>> + 'a;

/// Drops near-duplicates by comparing documents exactly: a document is dropped only if its shingles
/// are [`Alike`] those of a document that is kept.
///
/// Documents come in order of preference, each with an ascending number, its *rank*. A document is
/// dropped if it is like a document kept before; otherwise it is kept. So every dropped document is
/// like a kept one, and there are no chains.
///
/// The caller opens an index for the signatures of the kept documents. Their keys are the ranks
/// ([`Key`] of a `u64`). Candidates are all kept documents with an estimate of at least the
/// threshold minus three standard errors ([`Alike::for_verification`]); they are fetched and
/// compared. A pair that shares no band is not found; with [`Dedup::params`] that is rare.
///
/// Exact means that all shingles are compared. [`Shingles::Words`](crate::Shingles::Words) does not
/// see punctuation: `C++` and `C#`, `-5` and `5` are equal. `Tokens`, `Chars`, `Lines` and
/// [`Preset::Code`](crate::Preset::Code) see it.
///
/// The result depends only on the documents and their order. The size of the batches has no
/// influence, nor has reopening the index in between.
///
/// ```
/// # fn main() -> nearkin::Result<()> {
/// # let folder = tempfile::tempdir().unwrap();
/// # let dir = folder.path().join("kept");
/// use nearkin::{Dedup, Index, Options, Params, Shingles};
///
/// let texts = [
///     "the bridge is closed until further notice",
///     "the bridge is closed until further notice by order of the mayor",
///     "The bridge is closed until further notice!",
/// ];
/// let params = Params::for_threshold(0.7).shingles(Shingles::Words(1)).build()?;
/// let kept = Index::create(&dir, &Dedup::params(&params, 0.7)?, Options::default())?;
/// let sketcher = kept.sketcher();
/// let original = |text: &str| sketcher.original_text(text);
/// let mut documents = Vec::new();
/// for (rank, text) in (0..).zip(texts) {
///     documents.push((rank, original(text)?));
/// }
/// let mut fetch = |rank: u64| original(texts[rank as usize]).map(Some);
/// let decided = Dedup::new(&kept, 0.7)?.decide(documents, &mut fetch)?;
/// assert!(decided[0].is_none() && decided[1].is_none());
/// let copy = decided[2].as_ref().unwrap();
/// assert_eq!((copy.of, copy.overlap.similarity), (0, 1.0));
/// # Ok(())
/// # }
/// ```
pub struct Dedup<'a> {
    kept: &'a Index,
    alike: Alike,
    /// The last rank that was decided.
    last: Option<u64>,
    /// Cache of kept documents.
    at_hand: HashMap<u64, Arc<Original>, RandomState>,
    bytes_at_hand: usize,
}

/// The reason why a document is dropped.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Duplicate {
    /// The rank of the kept document that is most similar. If several are equally similar, the most
    /// preferred one.
    pub of: u64,
    /// The exact overlap of the dropped document with the kept one.
    pub overlap: Overlap,
}

impl<'a> Dedup<'a> {
    /// Returns parameters for the index of kept documents: `params` with other bands. The bands
    /// reach the recall target three standard errors below the threshold, or as close to that as
    /// the number of hashes allows. The signatures stay the same.
    ///
    /// # Errors
    ///
    /// `Invalid` (a threshold outside 0 to 1, or one that needs more hashes).
    pub fn params(params: &Params, alike: impl Into<Alike>) -> Result<Params> {
        let needed = alike.into().check()?.similarity_needed();
        let low = params.search_threshold(needed).max(0.05).min(needed);
        let made = |step: u32| {
            let threshold = low + (needed - low) * f64::from(step) / f64::from(STEPS);
            params.to_builder().threshold(threshold).choose_bands().build()
        };
        (0..STEPS).find_map(|step| made(step).ok()).map_or_else(|| made(STEPS), Ok)
    }

    /// Starts with the index of kept documents, which may contain documents from earlier runs.
    /// Nothing else may write to it.
    ///
    /// # Errors
    ///
    /// `Invalid` (a threshold outside 0 to 1, or a passage index).
    pub fn new(kept: &'a Index, alike: impl Into<Alike>) -> Result<Self> {
        if kept.params().passages().is_some() {
            return Err(Error::invalid("the index of those kept must be one of documents"));
        }
        let alike = alike.into().check()?.for_verification();
        let (at_hand, bytes_at_hand) = (HashMap::default(), 0);
        Ok(Self { kept, alike, last: None, at_hand, bytes_at_hand })
    }

    /// Decides the next documents, in order of their ranks. Returns `None` for each document that
    /// is kept. The kept documents are written to the index as one batch.
    ///
    /// `fetch` returns a document that was kept before; up to 64 MiB of such documents are cached.
    /// Each document costs a query and a comparison with each candidate, on the caller's thread.
    /// Copies of one document cost one comparison each. Documents that share a template, with
    /// similarities up to three standard errors below the threshold, are all compared with each
    /// other; the cost is quadratic in their number.
    ///
    /// # Errors
    ///
    /// `Invalid`: ranks do not ascend, or `fetch` has no document for a kept rank. `Mismatch`:
    /// documents were made with other parameters. Also the errors of `fetch`, of queries and of
    /// writing. On an error none of the given documents is kept.
    pub fn decide(
        &mut self,
        documents: Vec<(u64, Original)>,
        fetch: &mut FetchByRank<'_>,
    ) -> Result<Vec<Option<Duplicate>>> {
        let mut last = self.last;
        for (rank, _) in &documents {
            if last.is_some_and(|last| last >= *rank) {
                return Err(Error::invalid(format!(
                    "ranks must ascend: {rank} comes after {}",
                    last.unwrap_or_default()
                )));
            }
            last = Some(*rank);
        }
        let stored = self.stored(&documents)?;
        let mut fresh = Fresh::new(self.kept.params(), self.alike, &documents);
        let mut decided = Vec::with_capacity(documents.len());
        for (at, stored) in stored.iter().enumerate() {
            let mut candidates = fresh.candidates(at);
            let of_stored = stored.matches.iter().map(|found| KeptCandidate {
                rank: Key::from(&found.key).as_u64().unwrap_or(u64::MAX),
                equal_rows: found.equal_rows,
                fresh: None,
            });
            candidates.extend(of_stored);
            candidates.sort_unstable_by_key(|one| (Reverse(one.equal_rows), one.rank));
            let duplicate = self.best(&documents, at, &candidates, fetch)?;
            if duplicate.is_none() {
                fresh.keep(at);
            }
            decided.push(duplicate);
        }
        let mut batch = Batch::new();
        for at in &fresh.kept {
            let (rank, document) = &documents[*at];
            batch = batch.insert(*rank, document.signature());
        }
        if !batch.is_empty() {
            self.kept.write(batch)?;
        }
        self.last = last;
        for ((rank, document), duplicate) in documents.into_iter().zip(&decided) {
            if duplicate.is_none() {
                self.remember(rank, Arc::new(document));
            }
        }
        Ok(decided)
    }

    /// For each document, its candidates in the index.
    fn stored(&self, documents: &[(u64, Original)]) -> Result<Vec<Answer>> {
        let signatures: Vec<Signature> =
            documents.iter().map(|(_, document)| document.signature().clone()).collect();
        let snapshot = self.kept.snapshot();
        snapshot.queries(&signatures).alike(self.alike).run()
    }

    /// The most similar candidate of which the document is a duplicate, if any.
    fn best(
        &mut self,
        documents: &[(u64, Original)],
        at: usize,
        candidates: &[KeptCandidate],
        fetch: &mut FetchByRank<'_>,
    ) -> Result<Option<Duplicate>> {
        let (_, document) = &documents[at];
        let (mut best, mut alike) = (None::<Duplicate>, self.alike);
        for KeptCandidate { rank, fresh, .. } in candidates {
            let overlap = match fresh {
                Some(other) => alike.overlap(document, &documents[*other].1),
                None => alike.overlap(document, &*self.fetched(*rank, fetch)?),
            };
            let Some(overlap) = overlap else { continue };
            let is_better = best
                .is_none_or(|best| overlap.similarity > best.overlap.similarity || *rank < best.of);
            if is_better {
                best = Some(Duplicate { of: *rank, overlap });
                // From here on, only candidates that are at least as similar matter.
                alike = alike.and_similar(overlap.similarity);
            }
            if overlap.shared as usize == document.shingle_hashes().len()
                && overlap.similarity >= 1.0
            {
                // Identical candidates come first, in order of rank, so this is the best one.
                break;
            }
        }
        Ok(best)
    }

    fn fetched(&mut self, rank: u64, fetch: &mut FetchByRank<'_>) -> Result<Arc<Original>> {
        if let Some(document) = self.at_hand.get(&rank) {
            return Ok(Arc::clone(document));
        }
        let Some(document) = fetch(rank)? else {
            return Err(Error::invalid(format!(
                "fetch returned no document for rank {rank}; it must return every kept document"
            )));
        };
        let document = Arc::new(document);
        self.remember(rank, Arc::clone(&document));
        Ok(document)
    }

    fn remember(&mut self, rank: u64, document: Arc<Original>) {
        let bytes = size_of_val(document.shingle_hashes()) + DOCUMENT_BYTES;
        if self.bytes_at_hand + bytes > AT_HAND_MAX {
            self.at_hand.clear();
            self.bytes_at_hand = 0;
        }
        self.bytes_at_hand += bytes;
        self.at_hand.insert(rank, document);
    }
}

impl fmt::Debug for Dedup<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut dedup = f.debug_struct("Dedup");
        dedup.field("kept", self.kept).field("alike", &self.alike).field("last", &self.last);
        dedup.finish_non_exhaustive()
    }
}

/// A kept document that may be like the document being decided.
#[derive(Debug, Clone, Copy)]
struct KeptCandidate {
    rank: u64,
    equal_rows: u32,
    /// The index of the document in the current batch, if it is in this batch.
    fresh: Option<usize>,
}

/// The kept documents of the current batch, which are not in the index yet. They are found by the
/// same rule as in the index: an equal band, and enough equal rows.
struct Fresh<'d> {
    documents: &'d [(u64, Original)],
    kept: Vec<usize>,
    /// Maps a band (its number and bytes) to the last kept document that has it, as an index into
    /// `kept`.
    bands: HashMap<(usize, &'d [u8]), usize, RandomState>,
    /// For each band of each kept document, the previous kept document with the same band.
    before: Vec<Option<usize>>,
    params: &'d Params,
    alike: Alike,
    equal_rows_min: u32,
}

impl<'d> Fresh<'d> {
    fn new(params: &'d Params, alike: Alike, documents: &'d [(u64, Original)]) -> Self {
        let equal_rows_min = alike.equal_rows_min(params);
        let (bands, before, kept) = (HashMap::default(), Vec::new(), Vec::new());
        Self { documents, kept, bands, before, params, alike, equal_rows_min }
    }

    fn signature(&self, at: usize) -> &'d Signature {
        self.documents[at].1.signature()
    }

    fn bands(&self, at: usize) -> impl Iterator<Item = (usize, &'d [u8])> + use<'d> {
        let bytes = self.signature(at).as_bytes();
        bytes.chunks_exact(self.params.band_bytes()).take(self.params.bands()).enumerate()
    }

    fn keep(&mut self, at: usize) {
        for band in self.bands(at) {
            self.before.push(self.bands.insert(band, self.kept.len()));
        }
        self.kept.push(at);
    }

    /// The candidates for a document, each only once.
    fn candidates(&self, at: usize) -> Vec<KeptCandidate> {
        let mut met: Vec<usize> = Vec::new();
        for band in self.bands(at) {
            let mut next = self.bands.get(&band).copied();
            while let Some(place) = next {
                met.push(place);
                next = self.before[place * self.params.bands() + band.0];
            }
        }
        met.sort_unstable();
        met.dedup();
        let own = self.signature(at);
        let candidate = |place: usize| {
            let other = self.kept[place];
            let (one, two) = (own.as_bytes(), self.signature(other).as_bytes());
            let agreement = Agreement::of(one, two, self.params.lane_bits(), self.equal_rows_min)?;
            let equal_rows = agreement.equal_rows();
            let counts = (own.shingle_count(), self.signature(other).shingle_count());
            let rank = self.documents[other].0;
            self.alike.holds(self.params, equal_rows, counts).then_some(KeptCandidate {
                rank,
                equal_rows,
                fresh: Some(other),
            })
        };
        met.into_iter().filter_map(candidate).collect()
    }
}

#[cfg(test)]
mod tests;
