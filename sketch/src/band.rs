//! Hashes of a band (`BandKey`) and of a document's key.
//!
//! Frozen: see `docs/reference/SIGNATURES.md`.

use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

/// The `BandKey` of one band: XXH3-64 of its bytes as stored, seed 0.
#[inline(always)]
pub fn band_key(band: &[u8]) -> u64 {
    // Gives the same hash; for a constant length the compiler emits a third of the code.
    if let [a, b, c, d, e, f, g, h] = *band {
        return xxh3_64(&[a, b, c, d, e, f, g, h]);
    }
    xxh3_64(band)
}

/// The hash of a document's key: XXH3-64 with the parameters' seed.
#[inline]
pub fn key_hash(key: &[u8], seed: u64) -> u64 {
    xxh3_64_with_seed(key, seed)
}
