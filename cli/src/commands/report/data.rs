//! The data of a page, as its script reads it. Plain data.

use serde::Serialize;

#[derive(Serialize)]
pub(crate) struct Data {
    pub(super) title: String,
    /// Time at which the page was made, in milliseconds UTC; all times here have this unit.
    pub(super) made: u64,
    /// Number of the last change that the page reflects.
    pub(super) change: u64,
    /// Version of the tool.
    pub(super) version: &'static str,
    /// Description of the index parameters.
    pub(super) params: String,
    /// Rows per signature.
    pub(super) hashes: usize,
    /// Probability that two rows are equal by chance.
    pub(super) collision: f64,
    /// Minimum similarity that connects two documents on this page. `threshold_index` is the
    /// index's own threshold.
    pub(crate) threshold: f64,
    pub(super) threshold_index: f64,
    pub(crate) totals: Totals,
    pub(crate) shown: Shown,
    /// Histogram of cluster sizes, by powers of two.
    pub(super) sizes: Vec<Size>,
    /// The largest clusters, largest first. Clusters of equal size are ordered by key.
    pub(crate) clusters: Vec<ClusterShown>,
    pub(super) texts: Vec<TextShown>,
    pub(crate) pairs: PairCounts,
    pub(super) curve: Curve,
    pub(super) growth: Growth,
    pub(super) folders: FoldersShown,
    /// The way from the page to the files whose paths are relative keys; see `links.rs`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) files: Option<String>,
}

/// Counts over the whole index.
#[derive(Default, Serialize)]
pub(crate) struct Totals {
    pub(crate) documents: u64,
    pub(crate) clusters: u64,
    /// Number of documents that are in clusters.
    pub(crate) clustered: u64,
    /// Number of redundant documents: all documents in clusters except one per cluster.
    pub(crate) surplus: u64,
    /// Number of redundant documents with the same signature as another one.
    pub(crate) copies: u64,
    /// Number of pairs at or above the threshold; a lower bound if counting stopped early.
    pub(crate) pairs: u64,
    /// Bytes that would be freed by removing the redundant documents. Counts only those whose size
    /// is known: `free_known` documents.
    pub(crate) free: u64,
    pub(crate) free_known: u64,
}

/// How much of the whole index the page shows.
#[derive(Default, Serialize)]
pub(crate) struct Shown {
    pub(crate) documents: u64,
    /// Number of documents shown with their texts.
    pub(crate) texts: u64,
    /// Number of documents whose texts have changed since they were indexed.
    pub(crate) texts_changed: u64,
    /// Number of documents whose texts were not found.
    pub(crate) texts_missing: u64,
    /// Maximum number of documents shown per cluster.
    pub(super) members_max: usize,
    /// Maximum number of bytes shown per text.
    pub(super) text_bytes_max: usize,
    /// `texts_asked`: whether texts were requested. `texts_possible`: whether the documents can
    /// have texts.
    pub(super) texts_asked: bool,
    pub(super) texts_possible: bool,
    /// Whether the documents are sets. Their texts are then lists of items, one per line.
    pub(super) sets: bool,
}

/// Counts for the clusters that have `low` to `high` documents each.
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
    /// Time that a bar covers, in milliseconds.
    pub(super) span: u64,
    /// Per bar: its start, and the number of new documents. Bars without new documents are omitted.
    pub(super) growth: Vec<(u64, u64)>,
    /// Total size of all documents except the first, where known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) free: Option<u64>,
    /// The documents in key order; the first is the representative. If the cluster is large, this
    /// is a sample.
    pub(super) documents: Vec<DocumentShown>,
    /// For each pair of documents, the number of equal rows of their signatures. Order of the
    /// pairs: (1, 0), (2, 0), (2, 1), (3, 0), ...
    pub(super) rows: Vec<u32>,
}

#[derive(Serialize)]
pub(super) struct DocumentShown {
    pub(super) key: String,
    /// Whether the key cannot be a line of a list, because it is not shown as it is.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) unlisted: bool,
    /// Whether the document is a file that the page can link to.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) file: bool,
    pub(super) time: u64,
    #[serde(skip_serializing_if = "TextState::is_unknown")]
    pub(super) text: TextState,
}

/// State of a document's text.
#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum TextState {
    /// Not read, because the page has no room for more texts.
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
    /// Size of the whole text, in bytes.
    pub(super) bytes: usize,
    /// Whether only the beginning is included.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) cut: bool,
}

/// Histogram of pairs by equal rows.
#[derive(Serialize)]
pub(crate) struct PairCounts {
    /// Number of equal rows that the first bar stands for; each following bar stands for one row
    /// more. The first bars are below the threshold, to show where it cuts the distribution.
    pub(super) rows_first: u32,
    /// Minimum number of equal rows of a pair that reaches the threshold.
    pub(super) rows_min: u32,
    pub(super) counts: Vec<u64>,
    /// The similarity that each bar stands for.
    pub(super) similarities: Vec<f64>,
    /// Whether counting stopped before the last pair.
    pub(crate) cut: bool,
}

#[derive(Serialize)]
pub(super) struct Curve {
    pub(super) bands: usize,
    pub(super) rows: usize,
    /// One point per hundredth of similarity, from 0 to 1: the probability that a pair of this
    /// similarity is a candidate, and the probability that it is returned at the threshold.
    pub(super) points: Vec<(f64, f64)>,
    /// `candidate` and `returned`: the same two probabilities for a pair exactly at the threshold.
    pub(super) candidate: f64,
    pub(super) returned: f64,
    /// Standard error of the estimate at the threshold.
    pub(super) error: f64,
    /// A query threshold that is lower than the page's threshold by two standard errors. With it,
    /// nearly every pair whose similarity is exactly the page's threshold is returned;
    /// `returned_safe` is the probability.
    pub(super) safe: f64,
    pub(super) returned_safe: f64,
}

/// The documents by time of insertion.
#[derive(Serialize)]
pub(super) struct Growth {
    /// Time that a bar covers, in milliseconds.
    pub(super) span: u64,
    pub(super) first: u64,
    pub(super) last: u64,
    /// Per bar: its start, the number of its documents, and how many of them were not the first of
    /// their cluster. Empty bars are omitted.
    pub(super) spans: Vec<(u64, u64, u64)>,
}

/// Pairs of folders that share clusters of near-duplicates. Pairs with the most documents in these
/// clusters come first.
#[derive(Serialize)]
pub(super) struct FoldersShown {
    pub(super) rows: Vec<FolderPair>,
    /// Whether there are more pairs than shown.
    pub(super) cut: bool,
}

/// Two folders, or a folder and itself.
#[derive(Serialize)]
pub(super) struct FolderPair {
    pub(super) a: String,
    pub(super) b: String,
    /// Number of clusters with documents in both folders.
    pub(super) clusters: u64,
    /// `documents_a` and `documents_b`: documents of each folder that are in these clusters.
    /// `all_a` and `all_b`: all documents of each folder.
    pub(super) documents_a: u64,
    pub(super) documents_b: u64,
    pub(super) all_a: u64,
    pub(super) all_b: u64,
}
