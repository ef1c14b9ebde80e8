//! The kept documents of the batch that is being decided. They are not in the index yet.

use std::hash::BuildHasher as _;

use crate::keyed::RandomState;

use crate::{Alike, Params, Signature};
use nearkin_sketch::engine::Agreement;

/// The kept documents of a batch. They are found by the same rule as in the index: an equal band,
/// and enough equal rows.
pub(super) struct Fresh<'d> {
    kept: Vec<FreshDocument<'d>>,
    /// A hash table of the bands of kept documents. A slot holds the last band of its chain: its
    /// number among the bands of all kept documents, counted from 1, in the low bits, and a part of
    /// its hash above. 0 is free.
    slots: Vec<u64>,
    /// For each band of each kept document, the one before in its chain, as in a slot.
    before: Vec<u64>,
    hasher: RandomState,
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

/// The bits of a slot that hold the number of a band.
const NUMBER: u64 = (1 << 40) - 1;

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
            slots: vec![0; (2 * bands).next_power_of_two()],
            before: Vec::with_capacity(bands),
            hasher: RandomState::default(),
            params,
            alike,
            equal_rows_min: alike.equal_rows_min(params),
        }
    }

    fn bands(&self, signature: &'d Signature) -> impl Iterator<Item = (usize, &'d [u8])> + use<'d> {
        let bands = signature.as_bytes().chunks_exact(self.params.band_bytes());
        bands.take(self.params.bands()).enumerate()
    }

    /// The slot of a band (its number and bytes), and the part of its hash that is stored.
    fn slot(&self, band: (usize, &[u8])) -> (usize, u64) {
        let hash = self.hasher.hash_one(band);
        let slot = usize::try_from(hash & NUMBER).unwrap_or(0) & (self.slots.len() - 1);
        (slot, hash & !NUMBER)
    }

    /// Adds a document, the one with the index `at` in its batch.
    pub(super) fn keep(&mut self, at: usize, signature: &'d Signature) {
        for band in self.bands(signature) {
            let (slot, hash) = self.slot(band);
            self.before.push(self.slots[slot]);
            self.slots[slot] = hash | self.before.len() as u64 & NUMBER;
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
        let (by_counts, bands) = (self.alike.asks_for_containment(), self.params.bands());
        for band in self.bands(signature) {
            let (slot, hash) = self.slot(band);
            let mut next = self.slots[slot];
            while next != 0 {
                let (entry, number) = (next, usize::try_from((next & NUMBER) - 1).unwrap_or(0));
                next = self.before[number];
                if entry & !NUMBER != hash || number % bands != band.0 {
                    continue;
                }
                let other = &mut self.kept[number / bands];
                let begin = band.0 * band.1.len();
                let bytes = &other.signature.as_bytes()[begin..begin + band.1.len()];
                if bytes != band.1 || std::mem::replace(&mut other.compared, at) == at {
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
