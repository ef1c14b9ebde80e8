//! The kept documents of the batch that is being decided. They are not in the index yet.

use std::collections::HashMap;

use crate::keyed::RandomState;

use crate::{Alike, Params, Signature};
use nearkin_sketch::engine::Agreement;

/// The kept documents of a batch. They are found by the same rule as in the index: an equal band,
/// and enough equal rows.
pub(super) struct Fresh<'d> {
    kept: Vec<FreshDocument<'d>>,
    /// Maps a band (its number and bytes) to the last kept document that has it, as an index into
    /// `kept`.
    bands: HashMap<(usize, &'d [u8]), usize, RandomState>,
    /// For each band of each kept document, the previous kept document with the same band.
    before: Vec<Option<usize>>,
    params: &'d Params,
    alike: Alike,
    equal_rows_min: u32,
}

struct FreshDocument<'d> {
    /// Index of the document in its batch.
    at: usize,
    signature: &'d Signature,
    /// The document that was compared last with this one. Each is compared only once, even if they
    /// share several bands.
    compared: usize,
}

/// A kept document of this batch that is similar to the document being decided.
#[derive(Debug, Clone, Copy)]
pub(super) struct FreshMatch {
    /// Index of the document in its batch.
    pub(super) at: usize,
    pub(super) equal_rows: u32,
}

impl<'d> Fresh<'d> {
    /// Creates the structure with room for this many documents.
    pub(super) fn new(params: &'d Params, alike: Alike, documents: usize) -> Self {
        let bands = documents * params.bands();
        Self {
            kept: Vec::with_capacity(documents),
            bands: HashMap::with_capacity_and_hasher(bands, RandomState::default()),
            before: Vec::with_capacity(bands),
            params,
            alike,
            equal_rows_min: alike.equal_rows_min(params),
        }
    }

    fn bands(&self, signature: &'d Signature) -> impl Iterator<Item = (usize, &'d [u8])> + use<'d> {
        let bands = signature.as_bytes().chunks_exact(self.params.band_bytes());
        bands.take(self.params.bands()).enumerate()
    }

    /// Adds a document, the one with the index `at` in its batch.
    pub(super) fn keep(&mut self, at: usize, signature: &'d Signature) {
        for band in self.bands(signature) {
            self.before.push(self.bands.insert(band, self.kept.len()));
        }
        self.kept.push(FreshDocument { at, signature, compared: usize::MAX });
    }

    /// Calls `found` for each similar document, once, in no particular order. `at` is the index of
    /// the queried document in its batch.
    pub(super) fn matches(
        &mut self,
        at: usize,
        signature: &'d Signature,
        mut found: impl FnMut(FreshMatch),
    ) {
        let by_counts = self.alike.asks_for_containment();
        for band in self.bands(signature) {
            let mut next = self.bands.get(&band).copied();
            while let Some(place) = next {
                next = self.before[place * self.params.bands() + band.0];
                let other = &mut self.kept[place];
                if std::mem::replace(&mut other.compared, at) == at {
                    continue;
                }
                let (one, two) = (signature.as_bytes(), other.signature.as_bytes());
                let lane_bits = self.params.lane_bits();
                let Some(agreement) = Agreement::compare(one, two, lane_bits, self.equal_rows_min)
                else {
                    continue;
                };
                let equal_rows = agreement.equal_rows();
                let counts = (signature.shingle_count(), other.signature.shingle_count());
                if !by_counts || self.alike.holds(self.params, equal_rows, counts) {
                    found(FreshMatch { at: other.at, equal_rows });
                }
            }
        }
    }

    /// The document with the most equal rows; if several have as many, the first of the batch.
    pub(super) fn nearest(&mut self, at: usize, signature: &'d Signature) -> Option<FreshMatch> {
        let mut best: Option<FreshMatch> = None;
        self.matches(at, signature, |found| {
            let is_better = best.is_none_or(|best| {
                found.equal_rows > best.equal_rows
                    || found.equal_rows == best.equal_rows && found.at < best.at
            });
            if is_better {
                best = Some(found);
            }
        });
        best
    }

    /// Indexes of the kept documents in their batch.
    pub(super) fn kept(&self) -> impl Iterator<Item = usize> {
        self.kept.iter().map(|document| document.at)
    }
}
