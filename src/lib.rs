//! Nearkin is an embedded similarity index: a directory on disk that keeps the MinHash signature of
//! every document or set ever inserted, and answers "what do I already have that is like this?" in
//! microseconds. Inserts, replacements and deletes survive power loss, and the index is never
//! rebuilt.
//!
//! # A first program
//!
//! Two texts are compared by their *shingles*, here every two consecutive words. Their *similarity*
//! (Jaccard) is the number of shingles that they share, divided by the number of different shingles
//! that the two texts have together. The index stores a *signature* of 128 bytes per document; from
//! two signatures it estimates the similarity.
//!
//! ```
//! # fn main() -> nearkin::Result<()> {
//! # let folder = tempfile::tempdir().unwrap();
//! # let dir = folder.path().join("papers.nearkin");
//! use nearkin::{Admit, Index, Options, Params, Shingles};
//!
//! // 1. Parameters are chosen once, and stored with the index. A pair of
//! //    similarity 0.7 is to be compared with 95 % probability.
//! let params = Params::for_threshold(0.7).shingles(Shingles::Words(2)).build()?;
//! let index = Index::open_or_create(&dir, &params, Options::default())?;
//!
//! // 2. A sketcher makes signatures. It is pure: share it between threads.
//! let sketch = index.sketcher();
//! let fox = sketch.text("The quick brown fox jumps over the lazy dog")?;
//!
//! // 3. A key is any 1 to 4,096 bytes; the same key again replaces the
//! //    document. The insert is durable when it returns.
//! index.insert("p1", &fox)?;
//! index.insert("p2", &sketch.text("An entirely different text about something else")?)?;
//!
//! // 4. A query returns what is at least this similar, the most similar first.
//! let query = sketch.text("the quick brown fox jumps over the LAZY dog!")?;
//! let answer = index.query(&query).threshold(0.8).limit(10).run()?;
//! assert_eq!(answer.matches.len(), 1);
//! assert_eq!(answer.matches[0].key, b"p1");
//! assert_eq!(answer.matches[0].similarity, 1.0);
//!
//! // 5. Check and insert in one step: of two copies that arrive at once,
//! //    one is rejected.
//! let admission = index.admit("p3", &query, &Admit::at(0.9))?;
//! assert!(!admission.is_admitted());
//!
//! // 6. Reopening a closed index has nothing to replay.
//! index.close()?;
//! # Ok(())
//! # }
//! ```
//!
//! Three programs to start from are in [examples]: a folder check, an upload service with axum and
//! a nightly batch job.
//!
//! # Which type for what
//!
//! | to | use |
//! |---|---|
//! | choose shingles, threshold and bands | [`Params`], [`ParamsBuilder`], [`Shingles`] |
//! | make signatures of texts, sets or rows | [`Sketcher`], [`Signature`], [`Item`] |
//! | open an index for writing | [`Index`], [`Options`], [`Durability`], [`Maintenance`] |
//! | write several documents as one atomic change | [`Batch`], [`Edit`], [`Written`], [`Outcome`] |
//! | keep your own bytes with a document | [`Index::insert_with_payload`], [`Index::set_payload`] |
//! | find what is like a signature or a document | [`Query`], [`Queries`], [`Answer`], [`Match`] |
//! | turn near-copies away, in one step | [`Admit`], [`Newcomer`], [`Admission`], [`Decision`] |
//! | find all pairs and clusters | [`Index::pairs`], [`Index::clusters`], [`Pair`], [`Cluster`] |
//! | drop near-duplicates among many documents, exactly | [`Dedup`], [`Duplicate`] |
//! | cut out passages that stood before | [`RepeatFilter`], [`Repeats`], [`readable_cuts`] |
//! | find test questions in training data | [`Questions`], [`ContainsQuestion`] |
//! | compare the documents themselves | [`Snapshot::exact_matches`], [`Exact`], [`Original`] |
//! | read at one moment while writing goes on | [`Snapshot`] |
//! | read in another process while one writes | [`Reader`] |
//! | build and read an index on a cluster | [`shards`] |
//! | find quotations in longer texts | [`passages::PassageIndex`], [`passages::PassageCutter`] |
//! | back up, verify, repair | [`Index::backup`], [`Index::verify`], [`Index::salvage`] |
//! | merge indexes, or change the threshold | [`Index::import`], [`Index::rebuild`] |
//! | let documents expire, or remove a tenant | [`Options::ttl`], [`Index::remove_prefix`] |
//! | remove all documents | [`Index::clear`] |
//! | act on an error | [`Error`], [`ErrorKind`] |
//! | hear of flushes, compactions and failures | [`Options::on_event`], [`Event`] |
//!
//! # Guides
//!
//! - [Cookbook](guide::cookbook): complete answers to "how do I ...".
//! - [Copies, crowds and stories](guide::duplicates): what to do with near-duplicates once they are
//!   found.
//! - [Passages](guide::passages): what is quoted where.
//! - [Readers in other processes](guide::readers).
//! - [Durability](guide::durability): what `Ok` promises, and how that is tested.
//! - [Tuning](guide::tuning): which shingles, which threshold, which bands.
//!
//! # Features
//!
//! | feature | default | adds |
//! |---|---|---|
//! | `serde` | off | `Serialize` and `Deserialize` for parameters and result types |
//! | `log` | off | every [`Event`] as a record of the crate `log`, target `nearkin` |
//!
//! The library has no other feature. The command-line tool is the package `nearkin-cli`.
//!
//! # The similarity is an estimate
//!
//! A pair whose similarity is *exactly* the threshold is returned about half of the time, because
//! answers are filtered by the estimate. To catch nearly all pairs of at least T, query [for
//! verification](Query::for_verification), which also returns matches down to three standard errors
//! below T, and compare the documents exactly.
//!
//! ```
//! # fn main() -> nearkin::Result<()> {
//! use nearkin::Params;
//!
//! let params = Params::for_threshold(0.7).build()?;
//! assert_eq!((params.bands(), params.rows_per_band()), (17, 5));
//! assert!(params.candidate_probability(0.7) >= 0.95);
//! assert!(params.expected_recall(0.7, 0.7) < 0.6); // pairs of 0.7, queried with 0.7
//! assert!(params.expected_recall(0.8, 0.7) > 0.95); // pairs of 0.8, queried with 0.7
//! # Ok(())
//! # }
//! ```
//!
//! # What `Ok` promises
//!
//! Under [`Durability::Sync`], the default, a write that returned `Ok` survives power loss, if the
//! device honours syncs, and queries see it. After any crash, the index contains a prefix of the
//! changes in commit order. This prefix includes every acknowledged change, and batches are never
//! split. A batch costs one sync, so load many documents in batches:
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
//! let answer = index.query_key("anna").run()?;
//! assert_eq!(answer.matches[0].key, b"ben");
//! assert_eq!(answer.matches[0].payload, b"since 2019");
//! # Ok(())
//! # }
//! ```
//!
//! # Limits
//!
//! One process has an index open for writing ([`Index`]), and any number of processes read it
//! ([`Reader`]). Keys have 1 to 4,096 bytes, payloads at most 64 KiB. Similarities are estimates
//! with a known standard error ([`Params::standard_error`]). Other programs must not change the
//! files of an open index, because these are mapped into memory. Images, vectors and meaning are
//! out of scope: two texts are alike if they share words in order (or characters, lines, items),
//! not if they say the same thing.
//!
//! [examples]: https://github.com/nearkin/nearkin/blob/main/examples/README.md

#[macro_use]
mod testing;

mod catalog;
mod dedup;
mod error;
mod filter;
mod format;
mod index;
mod keyed;
mod memtable;
pub mod passages;
mod segment;
pub mod shards;
mod storage;
mod sync;
mod wal;

pub use dedup::{
    Against, Apart, Audit, AuditCounts, AuditRow, Audited, ContainsQuestion, CutText, Dedup,
    Duplicate, Evidence, FetchByRank, FetchRanks, FetchRows, Judge, Judgement, LookedUp,
    QuestionFound, Questions, QuestionsBuilder, RepeatFilter, Repeated, Repeats, Suspects,
    Verified, readable_cuts,
};
pub(crate) use error::{OrIo, closed_error, io_error};
pub use index::{
    Admission, Admit, Alike, Answer, Batch, Cluster, Clusters, Collapsed, CollapsedPairs,
    Comparisons, ConditionSetting, Conditions, Decision, Document, DocumentView, Documents,
    Durability, Edit, Event, Exact, Fetch, Freshness, Guard, Imported, Index, Keep, Key, Keys,
    Link, Maintained, Maintenance, Margin, Match, Newcomer, Options, Outcome, Pair, Pairs,
    Progress, Queries, Query, Reader, Recovery, Salvaged, SettingValue, Snapshot, Stats,
    Verification, VerifiedAdmit, Written,
};
pub use nearkin_sketch::{
    Common, CommonLearner, CommonShingle, Containment, Details, Difference, Error, ErrorKind,
    FoldOptions, Item, ItemHash, Normalise, Original, Overlap, Params, ParamsBuilder, Preset,
    Result, Scheme, SchemeName, Shingles, Signature, SimilarityText, Sketcher, TextShingles,
    Variety, Windows,
};
pub use segment::ReadMode;
#[cfg(any(test, fuzzing))]
pub use testing::fuzzing;

/// Guides: what to do with the index, task by task. Their programs are compiled and run as tests.
#[cfg(any(doc, doctest))]
pub mod guide {
    /// Complete answers to "how do I ...".
    ///
    #[expect(rustdoc::invalid_codeblock_attributes, reason = "blocks name the files of a session")]
    #[doc = include_str!("../docs/guide/COOKBOOK.md")]
    pub mod cookbook {}

    /// How to turn copies away, recommend similar documents, and handle crowds of copies.
    ///
    #[doc = include_str!("../docs/guide/DUPLICATES.md")]
    pub mod duplicates {}

    /// How an index of passages finds which texts quote which.
    ///
    #[doc = include_str!("../docs/guide/PASSAGES.md")]
    pub mod passages {}

    /// How any number of processes read an index while another one writes it.
    ///
    #[doc = include_str!("../docs/guide/READERS.md")]
    pub mod readers {}

    /// What `Ok` promises, what a crash can leave, and how both are tested.
    ///
    #[doc = include_str!("../docs/reference/DURABILITY.md")]
    pub mod durability {}

    /// How to choose shingles, a threshold and bands.
    ///
    #[doc = include_str!("../docs/guide/TUNING.md")]
    pub mod tuning {}
}

/// Compiles the program in the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

/// Compiles the programs in the page about queries, which is written for servers.
#[cfg(doctest)]
#[doc = include_str!("../docs/reference/QUERIES.md")]
struct ForServers;
