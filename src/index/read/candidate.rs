//! What a search looks for, what it compares, and what it finds.

use crate::Params;
use crate::format::bytes::index;
use crate::index::state::versions::Place;
use nearkin_sketch::engine::{Agreement, count_equal_rows, first_shared_band, shares_a_band};

/// A live document that satisfies the law for one of the signatures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Found {
    /// The index of the signature in the call of [`Search::run`].
    pub(crate) probe: u32,
    pub(crate) place: Place,
    pub(crate) equal_rows: u32,
}

/// The data by which a search decides whether a candidate is a match.
#[derive(Debug, Clone, Copy)]
pub(super) struct SearchTerms<'s> {
    pub(super) signatures: &'s [&'s [u8]],
    equal_rows_min: u32,
    band_rows: usize,
    lane_bits: u32,
}

impl<'s> SearchTerms<'s> {
    pub(super) fn new(params: &Params, signatures: &'s [&'s [u8]], equal_rows_min: u32) -> Self {
        let (band_rows, lane_bits) = (params.rows_per_band(), params.lane_bits());
        Self { signatures, equal_rows_min, band_rows, lane_bits }
    }

    /// The number of equal rows of a candidate. `bands` holds the first and the last band in which
    /// the look-ups found the candidate.
    ///
    /// Returns `None` if there are too few equal rows. Also returns `None` if the first band that
    /// the candidate shares lies outside `bands`: then the look-up of that band counts the
    /// candidate.
    #[inline]
    pub(super) fn score(&self, probe: u32, bands: (u32, u32), candidate: &[u8]) -> Option<u32> {
        let (bits, least) = (self.lane_bits, self.equal_rows_min);
        let agreement = Agreement::compare(self.signatures[index(probe)], candidate, bits, least)?;
        let shared = first_shared_band(&agreement, index(bands.1), self.band_rows)?;
        (shared >= index(bands.0)).then(|| agreement.equal_rows())
    }

    /// The number of equal rows of a candidate, if there are enough and it shares one of the first
    /// `bands` bands. Most candidates of a crowd have too few equal rows, so the rows are counted
    /// first: that costs less than finding out which rows are equal.
    #[inline]
    pub(super) fn score_in_any_band(
        &self,
        probe: u32,
        bands: usize,
        candidate: &[u8],
    ) -> Option<u32> {
        let signature = self.signatures[index(probe)];
        let equal_rows = count_equal_rows(signature, candidate, self.lane_bits);
        let band_bytes = self.band_rows * index(self.lane_bits / 8);
        let is_match = equal_rows >= self.equal_rows_min
            && shares_a_band(signature, candidate, band_bytes, bands);
        is_match.then_some(equal_rows)
    }
}

/// A queued candidate whose signature was prefetched. It is compared once, for all bands in which
/// it was found while it was queued.
#[derive(Debug, Clone, Copy)]
pub(super) struct Candidate {
    pub(super) place: Place,
    pub(super) probe: u32,
    pub(super) first_band: u32,
    pub(super) last_band: u32,
}
