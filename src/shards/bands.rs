//! The rows of the band join, and the shard of a key.

use crate::{Error, Params, Result};
use nearkin_sketch::engine::band_key;
use std::ops::Range;

/// A row of the band join: this document is in the bucket (`band`, `band_key`).
///
/// A row can be stored in 17 bytes if band numbers are below 256, otherwise in 18. Documents that
/// share a band are in the same bucket. Because of hash collisions, documents of a bucket need not
/// share the band: [`Verifier`](super::Verifier) checks this.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub struct BandEntry {
    /// Number of the band, from 0.
    pub band: u16,
    /// Hash of the band's rows, defined in `docs/reference/SIGNATURES.md`.
    pub band_key: u64,
    /// The number that the caller gave the document.
    pub document: u64,
}

/// The rows of the band join for a batch of documents: for each document, in order, one row per
/// band of `bands`.
///
/// `signatures` holds the concatenated bytes of the signatures ([`crate::Signature::as_bytes`]),
/// and `documents` the caller's numbers of the documents. If each call gets only a part of the
/// bands, the join takes several passes, each with a smaller shuffle.
///
/// # Errors
///
/// `Invalid`: the length of `signatures` is not [`Params::signature_bytes`] per document, or a band
/// does not exist.
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
            "the bands {} to {} were requested; the bands are 0 to {}",
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

/// The number of signatures in a concatenation.
pub(super) fn count_of(params: &Params, signatures: &[u8]) -> Result<usize> {
    let each = params.signature_bytes();
    if signatures.len().is_multiple_of(each) {
        return Ok(signatures.len() / each);
    }
    let bytes = signatures.len();
    Err(Error::invalid(format!(
        "{bytes} bytes are not a multiple of the signature length, {each} bytes"
    )))
}

/// The shard of a key: XXH3-64 of its bytes (seed 0) modulo `shards`.
///
/// It is the same on every machine and in every version, so all versions of a document are in the
/// same shard. Returns 0 if `shards` is 0.
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
