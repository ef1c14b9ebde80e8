//! The rows of the band join, and which shard a key belongs to.

use crate::sketch::band_key;
use crate::{Error, Params, Result};
use std::ops::Range;

/// One row of the band join: a document is in the bucket (`band`, `band_key`).
///
/// 17 bytes where the bands have numbers below 256, else 18. Two documents that share the band are
/// in the same bucket; that two documents of a bucket share it, [`Verifier`](super::Verifier)
/// decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub struct BandEntry {
    /// The number of the band, from 0.
    pub band: u16,
    /// The hash of the rows of the band, as `docs/SIGNATURES.md` defines it.
    pub band_key: u64,
    /// The caller's number of the document.
    pub document: u64,
}

/// The rows of the band join for a batch of documents: of each document in turn one row per band
/// of `bands`.
///
/// `signatures` are the bytes of the signatures ([`crate::Signature::as_bytes`]) end to end, and
/// `documents` the caller's numbers for them. A range smaller than all bands makes the join in
/// several passes, each with a smaller shuffle. Errors: `Invalid` if there
/// are not [`Params::signature_bytes`] bytes per document, or no such bands.
///
/// ```
/// # fn main() -> nearkin::Result<()> {
/// use nearkin::shards::band_entries;
/// use nearkin::{Params, Sketcher};
///
/// let params = Params::for_threshold(0.7).build()?;
/// let signature = Sketcher::new(&params).text("a text of a few words")?;
/// let entries = band_entries(&params, signature.as_bytes(), &[41], 0..params.bands())?;
/// assert_eq!(entries.len(), params.bands());
/// assert!(entries.iter().all(|entry| entry.document == 41));
/// # Ok(())
/// # }
/// ```
pub fn band_entries(
    params: &Params,
    signatures: &[u8],
    documents: &[u64],
    bands: Range<usize>,
) -> Result<Vec<BandEntry>> {
    let count = count_of(params, signatures)?;
    if count != documents.len() {
        let message = format!("{count} signatures, but {} documents", documents.len());
        return Err(Error::invalid(message));
    }
    if bands.start > bands.end || bands.end > params.bands() {
        return Err(Error::invalid(format!(
            "the bands {} to {} are asked for; there are the bands 0 to {}",
            bands.start,
            bands.end,
            params.bands()
        )));
    }
    let mut entries = Vec::with_capacity(count * bands.len());
    let signatures = signatures.chunks_exact(params.signature_bytes());
    for (signature, &document) in signatures.zip(documents) {
        let all = signature.chunks_exact(params.band_bytes()).zip(0..);
        for (rows, band) in all.take(bands.end).skip(bands.start) {
            entries.push(BandEntry { band, band_key: band_key(rows), document });
        }
    }
    Ok(entries)
}

/// How many signatures lie end to end in `signatures`.
pub(super) fn count_of(params: &Params, signatures: &[u8]) -> Result<usize> {
    let each = params.signature_bytes();
    if signatures.len().is_multiple_of(each) {
        return Ok(signatures.len() / each);
    }
    let bytes = signatures.len();
    Err(Error::invalid(format!("{bytes} bytes are no whole number of signatures of {each} bytes")))
}

/// The shard that a key belongs to: XXH3-64 of its bytes (seed 0) modulo `shards`.
///
/// The same on every machine and in every version, so that a later version of a document comes to
/// the shard of the one before. Of no shards at all it is 0.
///
/// ```
/// use nearkin::shards::shard_of;
///
/// assert_eq!(shard_of("p1", 7), shard_of("p1", 7));
/// assert!(shard_of("p1", 7) < 7);
/// ```
pub fn shard_of(key: impl AsRef<[u8]>, shards: u32) -> u32 {
    crate::index::shard_of(key.as_ref(), shards)
}
