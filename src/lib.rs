//! Nearkin is an embedded similarity index: a directory on disk that remembers the MinHash
//! signature of every document or set ever inserted, and answers "what do I already have that is
//! like this?".
//!
//! It is crash-safe (write-ahead log, one commit point), memory-mapped, opens in constant time,
//! and takes inserts, replacements, deletes and queries without ever being rebuilt.
//!
//! # Example: find near-duplicates
//!
//! ```
//! # fn main() -> nearkin::Result<()> {
//! # let folder = tempfile::tempdir().unwrap();
//! # let dir = folder.path().join("papers.nearkin");
//! use nearkin::{Index, Options, Params, Shingles};
//!
//! let params = Params::for_threshold(0.7).shingles(Shingles::Words(2)).build()?;
//! let index = Index::open_or_create(&dir, &params, Options::default())?;
//! let sketch = index.sketcher();
//!
//! // Durable when it returns. The same key again replaces.
//! index.insert("p1", &sketch.text("The quick brown fox jumps over the lazy dog")?)?;
//! index.insert("p2", &sketch.text("An entirely different text about something else")?)?;
//!
//! let query = sketch.text("the quick brown fox jumps over the LAZY dog!")?;
//! let answer = index.query(&query).threshold(0.8).limit(10).run()?;
//! assert_eq!(answer.matches.len(), 1);
//! assert_eq!(answer.matches[0].key, b"p1");
//! assert_eq!(answer.matches[0].similarity, 1.0);
//! index.close()?;
//! # Ok(())
//! # }
//! ```
//!
//! # Example: several operations at once
//!
//! A batch is atomic and costs one sync: the way to load many documents.
//!
//! ```
//! # fn main() -> nearkin::Result<()> {
//! # let folder = tempfile::tempdir().unwrap();
//! # let dir = folder.path().join("baskets.nearkin");
//! use nearkin::{Batch, Index, Options, Outcome, Params, Shingles};
//!
//! let params = Params::for_threshold(0.5).shingles(Shingles::Items).build()?;
//! let index = Index::create(&dir, &params, Options::default())?;
//! let sketch = index.sketcher();
//! let batch = Batch::new()
//!     .insert("anna", &sketch.items(["bread", "milk", "tea"])?)
//!     .insert_with_payload("ben", &sketch.items(["bread", "tea", "milk"])?, b"since 2019")
//!     .remove("carla");
//! let written = index.write(batch)?;
//! assert_eq!(written.outcomes, [Outcome::Inserted, Outcome::Inserted, Outcome::Missing]);
//! for found in index.query_key("anna").run()? {
//!     assert_eq!((found.key, found.payload), (b"ben".to_vec(), b"since 2019".to_vec()));
//! }
//! # Ok(())
//! # }
//! ```
//!
//! # Example: choose bands and rows
//!
//! ```
//! # fn main() -> nearkin::Result<()> {
//! use nearkin::Params;
//!
//! // Chosen for a threshold: pairs at 0.7 become candidates with 95 % probability.
//! let params = Params::for_threshold(0.7).build()?;
//! assert_eq!((params.bands(), params.rows_per_band()), (17, 5));
//! assert!(params.candidate_probability(0.7) >= 0.95);
//! // A pair of exactly the threshold is returned about half the time, because the answer is
//! // filtered by the estimate: to catch nearly all pairs of 0.8, ask for 0.7.
//! assert!(params.expected_recall(0.8, 0.7) > 0.95);
//! # Ok(())
//! # }
//! ```
//!
//! # What `Ok` promises
//!
//! Under [`Durability::Sync`], the default, a write that returned `Ok` survives power loss, if the
//! device honours a sync, and queries see it. After any crash the index holds a prefix of the
//! changes in commit order that includes every acknowledged one; batches are never split.
//!
//! # Limits
//!
//! One process has an index open for writing ([`Index`]), and any number read it ([`Reader`]).
//! Keys have 1 to 4,096 bytes, payloads at most 64 KiB. The estimate has a standard error
//! ([`Params::standard_error`]); verify exactly where it matters. The files of an open index must
//! not be changed by anyone else: they are mapped into memory.
//!
//! # Not here
//!
//! Images, vectors, and meaning: two texts are alike if they share words in order (or characters,
//! lines, items), not if they say the same thing.

#[macro_use]
mod planted;

mod catalog;
mod curve;
mod error;
mod format;
#[cfg(any(test, fuzzing))]
pub mod fuzzing;
mod index;
mod memtable;
mod params;
mod passages;
mod segment;
mod sketch;
mod storage;
mod sync;
mod wal;

pub use error::{Error, ErrorKind, Result};
pub use index::{
    Admission, Admit, Answer, Batch, Cluster, Clusters, Collapsed, CollapsedPairs, Decision,
    Document, Durability, Exact, Fetch, Imported, Index, Keep, Maintained, Maintenance, Match,
    Newcomer, Options, Outcome, Pair, Pairs, Progress, Queries, Query, Reader, Recovery, Salvaged,
    Snapshot, Stats, Verification, Written,
};
pub use params::{Maker, Params, ParamsBuilder, Scheme, Shingles, Windows};
pub use passages::{
    Contained, PassageAnswer, PassageIndex, PassageMatch, PassageQuery, PassageView, Passages,
    Prepared,
};
pub use segment::ReadMode;
pub use sketch::{Original, Signature, Sketcher};

/// The README's examples are compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

/// So are the cookbook's.
#[cfg(doctest)]
#[doc = include_str!("../docs/COOKBOOK.md")]
struct Cookbook;

/// And those of quotations.
#[cfg(doctest)]
#[doc = include_str!("../docs/PASSAGES.md")]
struct Quotations;

/// And those of what to do with copies.
#[cfg(doctest)]
#[doc = include_str!("../docs/DUPLICATES.md")]
struct Duplicates;
