//! The data of a page, as read by its script. Plain data.

use serde::Serialize;

#[derive(Serialize)]
pub(crate) struct Data {
    pub(super) title: String,
    /// Time of the page in milliseconds UTC, like all times here.
    pub(super) made: u64,
    /// Number of the last change that the page reflects.
    pub(super) change: u64,
    /// Version of the tool.
    pub(super) version: &'static str,
    /// Description of the parameters.
    pub(super) params: String,
    /// Rows per signature.
    pub(super) hashes: usize,
    /// Probability that two rows are equal by chance.
    pub(super) collision: f64,
    /// Minimum similarity that connects two documents on this page, and the index's own.
    pub(crate) threshold: f64,
    pub(super) threshold_index: f64,
    pub(crate) totals: Totals,
    pub(crate) shown: Shown,
    /// Histogram of cluster sizes, in powers of two.
    pub(super) sizes: Vec<Size>,
    /// The largest clusters, largest first; equal ones by key.
    pub(crate) clusters: Vec<ClusterShown>,
    pub(super) texts: Vec<TextShown>,
    pub(crate) pairs: PairCounts,
    pub(super) curve: Curve,
    pub(super) growth: Growth,
    pub(super) folders: FoldersShown,
}

/// Counts over the whole index.
#[derive(Default, Serialize)]
pub(crate) struct Totals {
    pub(crate) documents: u64,
    pub(crate) clusters: u64,
    /// Documents in clusters.
    pub(crate) clustered: u64,
    /// Redundant documents: all in clusters except one per cluster.
    pub(crate) surplus: u64,
    /// Redundant documents with the same signature as another one.
    pub(crate) copies: u64,
    /// Pairs at or above the threshold, as far as counted.
    pub(crate) pairs: u64,
    /// Bytes that removing redundant documents would free; known for `free_known` of them.
    pub(crate) free: u64,
    pub(crate) free_known: u64,
}

/// How much of everything the page shows.
#[derive(Default, Serialize)]
pub(crate) struct Shown {
    pub(crate) documents: u64,
    /// Documents shown with text.
    pub(crate) texts: u64,
    /// Documents whose text has changed since it was indexed.
    pub(crate) texts_changed: u64,
    /// Documents whose text was not found.
    pub(crate) texts_missing: u64,
    /// Maximum documents shown per cluster.
    pub(super) members_max: usize,
    /// Maximum bytes shown per text.
    pub(super) text_bytes_max: usize,
    /// Whether texts were requested, and whether documents can have texts.
    pub(super) texts_asked: bool,
    pub(super) texts_possible: bool,
    /// Whether documents are sets; their texts are items, one per line.
    pub(super) sets: bool,
}

/// Clusters with `low` to `high` documents.
#[derive(Serialize)]
pub(super) struct Size {
    pub(super) low: u64,
    pub(super) high: u64,
    pub(super) clusters: u64,
    pub(super) documents: u64,
}

#[derive(Serialize)]
pub(crate) struct ClusterShown {
    pub(super) size: u64,
    pub(super) first: u64,
    pub(super) last: u64,
    /// Length of a bar in time, in milliseconds.
    pub(super) span: u64,
    /// Start of each bar with new documents, and their number.
    pub(super) growth: Vec<(u64, u64)>,
    /// Bytes of all documents but the first, where known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) free: Option<u64>,
    /// Documents in key order; the first is the representative. A sample of large clusters.
    pub(super) documents: Vec<DocumentShown>,
    /// Equal rows of the pairs (1, 0), (2, 0), (2, 1), (3, 0), ...
    pub(super) rows: Vec<u32>,
}

#[derive(Serialize)]
pub(super) struct DocumentShown {
    pub(super) key: String,
    pub(super) time: u64,
    #[serde(skip_serializing_if = "TextState::is_unknown")]
    pub(super) text: TextState,
}

/// State of a document's text.
#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum TextState {
    /// Not read: the page has no room for more.
    Unknown,
    /// Index into the list of texts.
    At(usize),
    Changed,
    Missing,
}

impl TextState {
    fn is_unknown(&self) -> bool {
        *self == Self::Unknown
    }
}

#[derive(Serialize)]
pub(super) struct TextShown {
    pub(super) text: String,
    /// Size of the whole text.
    pub(super) bytes: usize,
    /// Whether only the beginning is included.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) cut: bool,
}

/// Histogram of pairs by equal rows.
#[derive(Serialize)]
pub(crate) struct PairCounts {
    /// Number of equal rows of the first bar. Bars below the threshold show where it cuts the
    /// distribution.
    pub(super) rows_first: u32,
    /// Minimum equal rows that reach the threshold.
    pub(super) rows_min: u32,
    pub(super) counts: Vec<u64>,
    /// Similarity of each bar.
    pub(super) similarities: Vec<f64>,
    /// Whether counting stopped before the last pair.
    pub(crate) cut: bool,
}

#[derive(Serialize)]
pub(super) struct Curve {
    pub(super) bands: usize,
    pub(super) rows: usize,
    /// For each hundredth of similarity from 0 to 1: the probability of being a candidate, and of
    /// being returned at the threshold.
    pub(super) points: Vec<(f64, f64)>,
    /// The probabilities exactly at the threshold.
    pub(super) candidate: f64,
    pub(super) returned: f64,
    /// Standard error of the estimate at the threshold.
    pub(super) error: f64,
    /// The threshold that would return nearly all pairs of this similarity, and the probability
    /// then.
    pub(super) safe: f64,
    pub(super) returned_safe: f64,
}

/// Documents by time of insertion.
#[derive(Serialize)]
pub(super) struct Growth {
    /// Length of a bar, in milliseconds.
    pub(super) span: u64,
    pub(super) first: u64,
    pub(super) last: u64,
    /// Start of a bar; its documents; and how many of them were not the first of their cluster.
    /// Empty bars are omitted.
    pub(super) spans: Vec<(u64, u64, u64)>,
}

/// Pairs of folders with common near-duplicates, most first.
#[derive(Serialize)]
pub(super) struct FoldersShown {
    pub(super) rows: Vec<FolderPair>,
    /// Whether there are more pairs.
    pub(super) cut: bool,
}

/// Two folders, or a folder and itself.
#[derive(Serialize)]
pub(super) struct FolderPair {
    pub(super) a: String,
    pub(super) b: String,
    /// Clusters with documents in both.
    pub(super) clusters: u64,
    /// Documents of each folder in these clusters, and all documents of the folder.
    pub(super) documents_a: u64,
    pub(super) documents_b: u64,
    pub(super) all_a: u64,
    pub(super) all_b: u64,
}
