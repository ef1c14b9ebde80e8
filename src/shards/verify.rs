//! Finds the pairs of a bucket by the law, without an index.

use super::bands::count_of;
use crate::format::bytes::index;
use crate::{Alike, Error, Params, Result};
use nearkin_sketch::engine::{Agreement, first_shared_band};
use std::ops::Range;

/// Finds the pairs among the documents of a bucket: they have enough equal rows and share no
/// earlier band. So a pair is found exactly once, however many bands it shares.
///
/// Documents of a bucket need not share the band, because hashes can collide: this is checked, too.
/// Pure and `Sync`.
#[derive(Debug, Clone)]
pub struct Verifier {
    pub(super) params: Params,
    pub(super) equal_rows_min: u32,
}

/// A pair of documents that [`Verifier::bucket`] or [`Verifier::between`] found.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct VerifiedPair {
    /// Index of the first document in its batch: in `signatures`, or in `left` if there are two
    /// batches.
    pub a: usize,
    /// Index of the second document in its batch: in `signatures`, or in `right` if there are two
    /// batches.
    pub b: usize,
    /// Number of equal rows, by which answers are ordered.
    pub equal_rows: u32,
    /// The estimated Jaccard similarity.
    pub similarity: f64,
}

impl Verifier {
    /// A verifier for pairs of at least this similarity, as a number or an [`Alike`]; for pairs
    /// that are compared exactly afterwards, [`Alike::for_verification`].
    ///
    /// Only the similarity decides. A minimum containment depends on counts of shingles, too, which
    /// the caller has: drop the pairs that are not [`Alike::is_reached`], and connect by
    /// [`Verifier::connect_if`].
    ///
    /// # Errors
    ///
    /// `Invalid` (a threshold outside 0 to 1).
    pub fn new(params: &Params, alike: impl Into<Alike>) -> Result<Self> {
        let equal_rows_min = alike.into().check()?.equal_rows_min(params);
        Ok(Self { params: params.clone(), equal_rows_min })
    }

    /// The number of equal rows of two documents of a bucket of `band`, if they are a pair that
    /// counts in this band.
    ///
    /// # Errors
    ///
    /// `Invalid` (a signature of another length, or a band that does not exist).
    pub fn pair(&self, band: u16, a: &[u8], b: &[u8]) -> Result<Option<u32>> {
        self.check_band(band)?;
        let bytes = self.params.signature_bytes();
        if a.len() != bytes || b.len() != bytes {
            let (a, b) = (a.len(), b.len());
            let message = format!("signatures have {bytes} bytes, not {a} and {b}");
            return Err(Error::invalid(message));
        }
        Ok(self.score(band, a, b))
    }

    /// The pairs among the documents of a bucket or of a block of one. `signatures` are their
    /// concatenated bytes. Costs n^2 / 2 comparisons.
    ///
    /// # Errors
    ///
    /// `Invalid`.
    pub fn bucket(&self, band: u16, signatures: &[u8]) -> Result<Vec<VerifiedPair>> {
        self.check_band(band)?;
        count_of(&self.params, signatures)?;
        let mut pairs = Vec::new();
        let all = || signatures.chunks_exact(self.params.signature_bytes()).enumerate();
        for (a, one) in all() {
            for (b, other) in all().skip(a + 1) {
                pairs.extend(self.found(band, (a, one), (b, other)));
            }
        }
        Ok(pairs)
    }

    /// The pairs between two disjoint blocks of a bucket.
    ///
    /// # Errors
    ///
    /// `Invalid`.
    pub fn between(&self, band: u16, left: &[u8], right: &[u8]) -> Result<Vec<VerifiedPair>> {
        self.check_band(band)?;
        count_of(&self.params, left)?;
        count_of(&self.params, right)?;
        let bytes = self.params.signature_bytes();
        let mut pairs = Vec::new();
        for one in left.chunks_exact(bytes).enumerate() {
            for other in right.chunks_exact(bytes).enumerate() {
                pairs.extend(self.found(band, one, other));
            }
        }
        Ok(pairs)
    }

    fn found(
        &self,
        band: u16,
        (a, one): (usize, &[u8]),
        (b, other): (usize, &[u8]),
    ) -> Option<VerifiedPair> {
        let equal_rows = self.score(band, one, other)?;
        Some(VerifiedPair { a, b, equal_rows, similarity: self.params.similarity(equal_rows) })
    }

    fn score(&self, band: u16, a: &[u8], b: &[u8]) -> Option<u32> {
        let params = &self.params;
        let agreement = Agreement::compare(a, b, params.lane_bits(), self.equal_rows_min)?;
        let band = usize::from(band);
        let shared = first_shared_band(&agreement, band, params.rows_per_band());
        (shared == Some(band)).then(|| agreement.equal_rows())
    }

    fn check_band(&self, band: u16) -> Result<()> {
        let bands = self.params.bands();
        if usize::from(band) < bands {
            return Ok(());
        }
        Err(Error::invalid(format!("there is no band {band}: the bands are 0 to {}", bands - 1)))
    }
}

/// Splits the comparison of a bucket of `count` documents into tasks: pairs of blocks of at most
/// `block` documents. Use [`Verifier::bucket`] for two equal ranges, and [`Verifier::between`] for
/// different ones.
///
/// ```
/// use nearkin::shards::blocks;
///
/// let parts: Vec<_> = blocks(5, 3).collect();
/// assert_eq!(parts, [(0..3, 0..3), (0..3, 3..5), (3..5, 3..5)]);
/// ```
pub fn blocks(count: u32, block: u32) -> impl Iterator<Item = (Range<usize>, Range<usize>)> {
    let (count, block) = (index(count), index(block.max(1)));
    let range = move |begin: usize| begin..count.min(begin + block);
    (0..count).step_by(block).flat_map(move |left| {
        (left..count).step_by(block).map(move |right| (range(left), range(right)))
    })
}
