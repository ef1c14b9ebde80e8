//! Which of many documents stay, decided by the documents themselves: in order of preference, each
//! is dropped if it is like one that was kept before.
//!
//! Built on the index, which knows nothing of it. Does not know where documents come from.

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

/// Bytes of kept documents that stay at hand.
const AT_HAND_MAX: usize = if cfg!(test) { 4 << 10 } else { 64 << 20 };
/// What a document takes beside its shingles, about.
const DOCUMENT_BYTES: usize = size_of::<Original>() + 256;

/// Bands are looked for at so many thresholds, the higher ones if there are none for the lower.
const STEPS: u32 = 4;

/// A document, if there is one: given its rank.
pub type FetchByRank<'a> = dyn FnMut(u64) -> Result<Option<Original>> + 'a;

/// Drops near-duplicates, decided by the documents themselves: none is dropped that is not, by its
/// shingles, [`Alike`] one that is kept.
///
/// Documents come in order of preference, each under its *rank*, a number that ascends. A document
/// is dropped if one that was kept before is like it, else it is kept: so what is dropped is like
/// something that is there, and there are no chains. The signatures of those kept are in an index
/// that the caller opens, under their ranks ([`Key`] of a `u64`); what is found there by its
/// signature, from three standard errors below on ([`Alike::for_verification`]), is fetched and
/// compared. A pair that shares no band is not found: [`Dedup::params`] makes that rare.
///
/// The answer depends on the documents and their order only: not on how many are given at a time,
/// nor on whether the index was closed and opened again in between.
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
    /// The last rank that was decided on.
    last: Option<u64>,
    /// Kept documents that were fetched or kept lately.
    at_hand: HashMap<u64, Arc<Original>, RandomState>,
    bytes_at_hand: usize,
}

/// Why a document is dropped.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Duplicate {
    /// The rank of the document that is kept: of those that are like it the most similar one, of
    /// equally similar ones the most preferred.
    pub of: u64,
    /// What the two have in common, by their shingles.
    pub overlap: Overlap,
}

impl<'a> Dedup<'a> {
    /// The parameters of the index of those kept: those given, with bands that find what is alike
    /// enough from three standard errors below on, or as near to that as the hashes allow, at the
    /// recall target of the given ones. The signatures are the same. Errors: `Invalid` (what is
    /// asked for is not from 0 to 1, or needs more hashes).
    pub fn params(params: &Params, alike: impl Into<Alike>) -> Result<Params> {
        let needed = alike.into().check()?.similarity_needed();
        let low = params.search_threshold(needed).max(0.05).min(needed);
        let made = |step: u32| {
            let threshold = low + (needed - low) * f64::from(step) / f64::from(STEPS);
            params.to_builder().threshold(threshold).choose_bands().build()
        };
        (0..STEPS).find_map(|step| made(step).ok()).map_or_else(|| made(STEPS), Ok)
    }

    /// Decides with the index of those kept, which may hold some from before. Its documents are
    /// this one's own. Errors: `Invalid` (what is asked for is not from 0 to 1, or the index is of
    /// passages).
    pub fn new(kept: &'a Index, alike: impl Into<Alike>) -> Result<Self> {
        if kept.params().passages().is_some() {
            return Err(Error::invalid("the index of those kept must be one of documents"));
        }
        let alike = alike.into().check()?.for_verification();
        let (at_hand, bytes_at_hand) = (HashMap::default(), 0);
        Ok(Self { kept, alike, last: None, at_hand, bytes_at_hand })
    }

    /// Decides on the next documents, in order of their ranks; those kept are in the index then,
    /// written as one batch. `None` where a document is kept.
    ///
    /// `fetch` returns a document that was kept before; up to 64 MiB of them are remembered.
    /// Costs a query and a comparison with each candidate a document, on the caller's thread;
    /// memory for the documents given. A crowd of copies costs one comparison each; documents that
    /// share a template, and lie within three standard errors below what is asked for, are
    /// compared with each other, which is quadratic in their number.
    ///
    /// Errors: `Invalid` (ranks that do not ascend, or `fetch` does not have a document that was
    /// kept), `Mismatch` (documents made with other parameters), those of `fetch`, of queries and
    /// of writing. Nothing is kept then of what was given.
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
            let of_stored = stored.matches.iter().map(|found| Candidate {
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

    /// What was kept before and may be like each document.
    fn stored(&self, documents: &[(u64, Original)]) -> Result<Vec<Answer>> {
        let signatures: Vec<Signature> =
            documents.iter().map(|(_, document)| document.signature().clone()).collect();
        let snapshot = self.kept.snapshot();
        snapshot.queries(&signatures).alike(self.alike).run()
    }

    /// The candidate that a document is a duplicate of, if there is one.
    fn best(
        &mut self,
        documents: &[(u64, Original)],
        at: usize,
        candidates: &[Candidate],
        fetch: &mut FetchByRank<'_>,
    ) -> Result<Option<Duplicate>> {
        let (_, document) = &documents[at];
        let (mut best, mut alike) = (None::<Duplicate>, self.alike);
        for Candidate { rank, fresh, .. } in candidates {
            let overlap = match fresh {
                Some(other) => alike.overlap(document, &documents[*other].1),
                None => alike.overlap(document, &*self.fetched(*rank, fetch)?),
            };
            let Some(overlap) = overlap else { continue };
            let is_better = best
                .is_none_or(|best| overlap.similarity > best.overlap.similarity || *rank < best.of);
            if is_better {
                best = Some(Duplicate { of: *rank, overlap });
                // What is less similar does not matter any more.
                alike = alike.and_similar(overlap.similarity);
            }
            if overlap.shared as usize == document.shingle_hashes().len()
                && overlap.similarity >= 1.0
            {
                // All that are equal to it come first, by rank.
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
                "the document of rank {rank}, which was kept, is not there to be compared with"
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

/// A kept document that may be like the one that is decided on.
#[derive(Debug, Clone, Copy)]
struct Candidate {
    rank: u64,
    equal_rows: u32,
    /// Which of those decided on together it is, if it is one.
    fresh: Option<usize>,
}

/// Those kept of the documents decided on together, which the index does not hold yet: found by
/// the same law, which is that a band is equal and enough rows are.
struct Fresh<'d> {
    documents: &'d [(u64, Original)],
    kept: Vec<usize>,
    /// By the number of a band and its bytes: who had it last, as a place in `kept`.
    bands: HashMap<(usize, &'d [u8]), usize, RandomState>,
    /// For each band of each document, the earlier document with the same band.
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

    /// Those that may be like a document, each once.
    fn candidates(&self, at: usize) -> Vec<Candidate> {
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
            self.alike.holds(self.params, equal_rows, counts).then_some(Candidate {
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
