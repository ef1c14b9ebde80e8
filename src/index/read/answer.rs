//! The results of reads: plain data.

use crate::index::state::recovery::Recovery;
use crate::{Containment, Overlap, Params, Signature, SimilarityText};
use nearkin_sketch::engine::Excerpt;
use std::fmt;
use std::ops::ControlFlow;

/// A stored document. (`Debug` shows the beginnings of long keys and payloads.)
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Document {
    /// The key that the caller gave the document.
    pub key: Vec<u8>,
    /// The caller's payload.
    pub payload: Vec<u8>,
    /// When the document was inserted or last replaced, in milliseconds since the Unix epoch.
    pub time: u64,
    /// Its signature.
    pub signature: Signature,
}

impl Document {
    /// A new document, for [`Batch::insert_document`](crate::Batch::insert_document). Its payload
    /// is empty and its time is 0.
    pub fn new(key: impl Into<Vec<u8>>, signature: Signature) -> Self {
        Self { key: key.into(), payload: Vec::new(), time: 0, signature }
    }

    /// Adds a payload of up to 64 KiB.
    #[must_use]
    pub fn with_payload(mut self, payload: impl Into<Vec<u8>>) -> Self {
        self.payload = payload.into();
        self
    }

    /// Sets the time when the document was inserted or last replaced, in milliseconds since the
    /// Unix epoch.
    #[must_use]
    pub fn with_time(mut self, time: u64) -> Self {
        self.time = time;
        self
    }
}

/// A document similar to the query. (`Debug` shows the beginnings of long keys and payloads.)
#[derive(Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Match {
    /// The document's key.
    pub key: Vec<u8>,
    /// The caller's own bytes.
    pub payload: Vec<u8>,
    /// When the document was inserted or last replaced, in milliseconds since the Unix epoch.
    pub time: u64,
    /// The number of equal rows, out of k. Matches are filtered and ordered by this number.
    pub equal_rows: u32,
    /// The estimated Jaccard similarity, clamped to 0 and above.
    pub similarity: f64,
    /// The standard error of that estimate.
    pub standard_error: f64,
    /// How much of the smaller document is contained in the larger one. Set only by
    /// [`Query::contained`](crate::Query::contained).
    pub containment: Option<Containment>,
    /// What the two documents have in common, counted in shingles. Set only by
    /// [`Admit::verify`](crate::Admit::verify); the newcomer's count of shingles comes first.
    #[cfg_attr(feature = "serde", serde(default))]
    pub overlap: Option<Overlap>,
}

impl Match {
    /// The similarity as text: exact if the documents were compared
    /// ([`Admit::verify`](crate::Admit::verify)), otherwise the estimate.
    pub fn similarity_text(&self) -> SimilarityText {
        match self.overlap {
            Some(overlap) => SimilarityText::Exact(overlap.similarity),
            None => SimilarityText::Estimate(self.similarity),
        }
    }

    /// This match and the query document as a pair, with the smaller key first. For
    /// [`Snapshot::exact_pair`](crate::Snapshot::exact_pair).
    pub fn pair_with(&self, key: impl Into<Vec<u8>>) -> Pair {
        Pair {
            a: key.into(),
            b: self.key.clone(),
            equal_rows: self.equal_rows,
            similarity: self.similarity,
            containment: self.containment,
        }
    }
}

/// The answer to a query: the matches, most similar first, ties by key.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Answer {
    /// The matches, at most as many as the limit.
    pub matches: Vec<Match>,
    /// The number of documents that reach the threshold and pass the filter, regardless of the
    /// limit.
    pub found: u64,
    /// The threshold of the query, or the index's own.
    pub threshold: f64,
    /// Whether the query ran to its end. False if there were more candidates than its
    /// [`Conditions`](crate::Conditions) allow, or if a deadline or a cancellation stopped it; then
    /// matches may be missing.
    pub complete: bool,
    /// The number of the last change that the answer takes into account.
    pub change: u64,
}

impl Answer {
    /// The matches, most similar first.
    ///
    /// ```
    /// # fn main() -> nearkin::Result<()> {
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let dir = folder.path().join("papers.nearkin");
    /// # use nearkin::{Index, Options, Params};
    /// # let params = Params::for_threshold(0.7).build()?;
    /// # let index = Index::create(&dir, &params, Options::default())?;
    /// let text = index.sketcher().text("the quick brown fox")?;
    /// index.insert("p1", &text)?;
    /// let answer = index.query(&text).run()?;
    /// for found in &answer {
    ///     assert_eq!(found.key, b"p1");
    /// }
    /// assert_eq!(answer.iter().count(), 1);
    /// # Ok(())
    /// # }
    /// ```
    pub fn iter(&self) -> std::slice::Iter<'_, Match> {
        self.matches.iter()
    }

    /// Whether a document exactly at the threshold is found with a probability below one half. Then
    /// the bands were chosen for a higher threshold, and matching documents may be missing from
    /// this answer.
    pub fn is_unlikely(&self, params: &Params) -> bool {
        params.candidate_probability(self.threshold) < 0.5
    }

    /// The probability that a document exactly at the threshold was returned, computed from the
    /// parameters of the index. For other similarities, see [`Params::expected_recall`]. Costs
    /// about k^2 multiplications.
    pub fn expected_recall(&self, params: &Params) -> f64 {
        params.expected_recall(self.threshold, self.threshold)
    }
}

impl fmt::Debug for Document {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut document = f.debug_struct("Document");
        document.field("key", &Excerpt(&self.key)).field("payload", &Excerpt(&self.payload));
        document.field("time", &self.time).field("signature", &self.signature).finish()
    }
}

impl fmt::Debug for Match {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut found = f.debug_struct("Match");
        found.field("key", &Excerpt(&self.key)).field("payload", &Excerpt(&self.payload));
        found.field("time", &self.time).field("equal_rows", &self.equal_rows);
        found.field("similarity", &self.similarity);
        found.field("standard_error", &self.standard_error);
        found.field("containment", &self.containment).field("overlap", &self.overlap).finish()
    }
}

impl<'a> IntoIterator for &'a Answer {
    type Item = &'a Match;
    type IntoIter = std::slice::Iter<'a, Match>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl IntoIterator for Answer {
    type Item = Match;
    type IntoIter = std::vec::IntoIter<Match>;

    fn into_iter(self) -> Self::IntoIter {
        self.matches.into_iter()
    }
}

/// Two similar documents.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Pair {
    /// The smaller key, compared as bytes.
    pub a: Vec<u8>,
    /// The larger key.
    pub b: Vec<u8>,
    /// The number of equal rows, out of k.
    pub equal_rows: u32,
    /// The estimated Jaccard similarity. Negative estimates are clamped to 0.
    pub similarity: f64,
    /// How much of the smaller document is contained in the larger one. Set only by
    /// [`Alike::contained`](crate::Alike::contained).
    pub containment: Option<Containment>,
}

/// Two or more documents connected by pairs.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Cluster {
    /// The keys in ascending order; the first is the representative.
    pub keys: Vec<Vec<u8>>,
    /// When each document was inserted or last replaced, in milliseconds since the Unix epoch, in
    /// the order of the keys.
    pub times: Vec<u64>,
}

/// A crowd of documents with equal signatures, or a pair of documents from different crowds.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Collapsed {
    /// Two or more documents with the same signature (and the same number of shingles, if the
    /// condition includes a minimum containment). Any two of them are a pair with all rows equal;
    /// these pairs are not listed separately.
    #[non_exhaustive]
    Crowd {
        /// The smallest key, which represents the crowd.
        key: Vec<u8>,
        /// The number of documents in the crowd.
        count: u64,
    },
    /// Two documents and their crowds. Each document with the signature of the first one forms a
    /// pair with each document with the signature of the second one; all these pairs have the same
    /// number of equal rows.
    #[non_exhaustive]
    Pair {
        /// The two documents, or the representatives of their crowds.
        pair: Pair,
        /// The number of documents with the signature of [`Pair::a`], including itself.
        a_count: u64,
        /// The number of documents with the signature of [`Pair::b`], including itself.
        b_count: u64,
    },
}

/// The progress of a long operation; `done` never exceeds `total`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Progress {
    /// Units done: documents or bytes, depending on the operation.
    pub done: u64,
    /// Total number of units.
    pub total: u64,
}

/// Called with the progress of an operation; the result says whether to continue.
pub(crate) type ProgressReport<'a> = &'a mut dyn FnMut(Progress) -> ControlFlow<()>;

/// What [`Index::maintain`](crate::Index::maintain) did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Maintained {
    /// Nothing was due.
    Nothing,
    /// The memtable became a segment.
    Flushed,
    /// A compaction advanced; there is more to do.
    Compacting,
    /// A compaction finished and its input files were deleted.
    Compacted,
    /// The changes of the last interval were synced: see
    /// [`Durability::Interval`](crate::Durability::Interval).
    Synced,
    /// Up to 1,000 documents older than [`Options::ttl`](crate::Options::ttl) were removed; there
    /// may be more.
    Expired,
    /// The horizon, which is the offset up to which the WAL is known to be synced, was recorded in
    /// the WAL.
    Noted,
}

/// The state of an index in numbers.
///
/// With the feature `serde`, an object of fields with these names, which do not change. The fields
/// `changes_replayed`, `bytes_cut` and `files_swept` of [`Stats::recovery`] stand in the object,
/// too.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Stats {
    /// Live documents.
    pub documents: u64,
    /// Dead documents that still take space; compaction frees it.
    pub dead: u64,
    /// Segments.
    pub segments: u64,
    /// Documents in the memtable, dead ones included.
    pub memtable_documents: u64,
    /// Bytes of memory used by the memtable's documents.
    pub memtable_bytes: u64,
    /// Bytes of the handle's own memory that lasts: the memtable, and the filter over small
    /// segments (at most 32 MiB, or half of [`Options::memtable_bytes_max`] if that is less). A
    /// flush or a compaction takes up to [`Options::merge_bytes_max`] more while it runs.
    ///
    /// [`Options::memtable_bytes_max`]: crate::Options::memtable_bytes_max
    /// [`Options::merge_bytes_max`]: crate::Options::merge_bytes_max
    pub own_bytes: u64,
    /// Bytes of segments that are mapped. The pages that were read count as resident memory of the
    /// process, but they belong to the page cache: the system takes them back when it needs memory.
    /// 0 with [`ReadMode::Pread`](crate::ReadMode::Pread).
    pub mapped_bytes: u64,
    /// Bytes of all files of the index.
    pub bytes_on_disk: u64,
    /// The number of the last change that queries see.
    pub change: u64,
    /// The number of the last change that survives power loss.
    pub durable_change: u64,
    /// The number of the last change that segments and catalog contain.
    pub floor: u64,
    /// Bytes that were read by system calls since open. Reads through memory maps do not count.
    pub bytes_read: u64,
    /// Bytes written since open: WAL, segments, dead files and catalog.
    pub bytes_written: u64,
    /// Syncs since open, of files and folders.
    pub syncs: u64,
    /// Number of snapshots of older states that are still held, including those of running queries.
    /// The files they need stay on disk.
    pub snapshots_pinning: u64,
    /// The Unicode versions that the index was created with.
    pub unicode_created: String,
    /// The Unicode versions of this build. If they differ, texts with characters assigned in
    /// between may get different signatures; nothing else changes.
    pub unicode: String,
    /// The findings of opening.
    #[cfg_attr(feature = "serde", serde(flatten, with = "recovery"))]
    pub recovery: Recovery,
    /// The error of the last maintenance after a write, if it failed. It is retried, but needs
    /// attention: often the disk is full.
    pub maintenance_failure: Option<String>,
}

/// The findings of opening as fields of [`Stats`]: whole, and its numbers by their own names.
#[cfg(feature = "serde")]
mod recovery {
    use super::Recovery;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Serialize, Deserialize)]
    struct Fields {
        recovery: Recovery,
        #[serde(skip_deserializing)]
        changes_replayed: u64,
        #[serde(skip_deserializing)]
        bytes_cut: u64,
        #[serde(skip_deserializing)]
        files_swept: u64,
    }

    pub(super) fn serialize<S: Serializer>(
        recovery: &Recovery,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let recovery = *recovery;
        let Recovery { changes_replayed, bytes_cut, files_swept, .. } = recovery;
        Fields { recovery, changes_replayed, bytes_cut, files_swept }.serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Recovery, D::Error> {
        Ok(Fields::deserialize(deserializer)?.recovery)
    }
}

/// What [`Index::verify`](crate::Index::verify) found.
#[derive(Debug)]
#[non_exhaustive]
pub struct Verification {
    /// Live documents.
    pub documents: u64,
    /// All damage found, each with file and place. Empty means that the index is intact.
    pub problems: Vec<crate::Error>,
}

impl Verification {
    /// Whether the index is intact: no damage was found.
    pub fn is_ok(&self) -> bool {
        self.problems.is_empty()
    }
}
