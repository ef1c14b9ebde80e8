//! Pure functions of batches, with which a cluster of machines finds all pairs and clusters.
//!
//! An answer depends only on the parameters and on which documents are live: it is identical, to
//! the bit, for any number of shards. An engine that moves batches between machines (Spark, Ray, a
//! shell script) does the rest: see `docs/reference/SHARDS.md`.
//!
//! The steps to find all pairs:
//!
//! 1. replace documents with equal signatures by one of them;
//! 2. [`band_entries`]: make one row (band, BandKey, document) per document and band;
//! 3. group the rows by (band, BandKey), and drop groups of one document;
//! 4. [`Verifier`]: compare the documents of each group; a pair counts only at the first band that
//!    it shares, so the results need not be deduplicated;
//! 5. for clusters, [`components`] of the pairs: on one machine as long as the pairs fit there,
//!    otherwise by rounds of [`large_star`] and [`small_star`]. [`Verifier::connect`] connects a
//!    bucket without all its pairs;
//! 6. for deduplication, [`dropped`]: computes from the pairs of whole components which documents
//!    to drop.
//!
//! ```
//! # fn main() -> nearkin::Result<()> {
//! use nearkin::shards::{Verifier, band_entries, components};
//! use nearkin::{Params, Shingles, Sketcher};
//! use std::collections::BTreeMap;
//!
//! let params = Params::for_threshold(0.7).shingles(Shingles::Words(1)).build()?;
//! let sketcher = Sketcher::new(&params);
//! let texts = ["one two three four five", "other words", "one two three four six"];
//! let mut signatures = Vec::new();
//! for text in texts {
//!     signatures.extend_from_slice(sketcher.text(text)?.as_bytes());
//! }
//!
//! // What a cluster shuffles: 17 bytes per document and band.
//! let mut groups = BTreeMap::new();
//! for entry in band_entries(&params, &signatures, &[0, 1, 2], 0..params.bands())? {
//!     groups.entry((entry.band, entry.band_key)).or_insert_with(Vec::new).push(entry.document);
//! }
//! let verifier = Verifier::new(&params, 0.5)?;
//! let mut edges = Vec::new();
//! for ((band, _), documents) in groups {
//!     let of = |document: &u64| {
//!         let begin = *document as usize * params.signature_bytes();
//!         &signatures[begin..begin + params.signature_bytes()]
//!     };
//!     let group = documents.iter().flat_map(of).copied().collect::<Vec<_>>();
//!     for pair in verifier.bucket(band, &group)? {
//!         edges.push((documents[pair.a], documents[pair.b]));
//!     }
//! }
//! assert_eq!(edges, [(0, 2)]);
//! assert_eq!(components(edges), [(0, 0), (2, 0)]);
//! # Ok(())
//! # }
//! ```

mod bands;
mod connect;
mod keep;
mod stars;
#[cfg(test)]
mod tests;
mod verify;

pub use crate::index::seal;
pub use crate::index::{Adopt, Manifest, ManifestFile, Sealed, Shards, Ticket};
pub use bands::{BandEntry, band_entries, shard_of};
pub use keep::dropped;
pub use stars::{are_stars, components, large_star, small_star};
pub use verify::{VerifiedPair, Verifier, blocks};
