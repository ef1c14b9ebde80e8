//! Which documents of a bucket are pairs: the law, without an index.

use super::bands::count_of;
use crate::format::bytes::index;
use crate::index::check_threshold;
use crate::sketch::{Agreement, first_shared_band};
use crate::{Error, Params, Result};
use std::ops::Range;

/// Decides which documents of one bucket are pairs: those that have enough equal rows and share no
/// band before this one. A pair is thus found once, however many buckets it meets in.
///
/// Two documents of a bucket need not share its band (hashes of different rows may be equal): this
/// is checked, too. Pure and `Sync`.
#[derive(Debug, Clone)]
pub struct Verifier {
    params: Params,
    equal_rows_min: u32,
}

/// Two documents of one call that are a pair.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct VerifiedPair {
    /// The number of a document in the call: of its first batch, where there are two.
    pub a: usize,
    /// The number of the other one: of the second batch, where there are two.
    pub b: usize,
    /// How many rows are equal: what answers are ordered by.
    pub equal_rows: u32,
    /// The estimate of the Jaccard similarity.
    pub similarity: f64,
}

impl Verifier {
    /// For pairs of at least this similarity. Errors: `Invalid` (threshold not from 0 to 1).
    pub fn new(params: &Params, threshold: f64) -> Result<Self> {
        check_threshold(threshold)?;
        Ok(Self { params: params.clone(), equal_rows_min: params.equal_rows_min(threshold) })
    }

    /// The equal rows of two documents of a bucket of `band`, if they are a pair that counts there.
    /// Errors: `Invalid` (a signature of another length, no such band).
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

    /// The pairs among the documents of a bucket, or of a part of one. `signatures` are their bytes
    /// end to end. Costs n^2 / 2 comparisons. Errors: `Invalid`.
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

    /// The pairs between two parts of a bucket, which have no document in common. Errors:
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
        let agreement = Agreement::of(a, b, params.lane_bits(), self.equal_rows_min)?;
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

/// The parts that a bucket of `count` documents is compared in, where it is too large for one task:
/// pairs of blocks of at most `block` documents. Of two equal ranges the pairs among one block are
/// asked for ([`Verifier::bucket`]), of others those between two ([`Verifier::between`]).
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
