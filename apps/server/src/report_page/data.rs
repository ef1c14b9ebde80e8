//! The data of a page, as its script reads it. Plain data.

use serde::Serialize;

#[derive(Serialize)]
pub(crate) struct Data {
    pub title: String,
    /// Time at which the page was made, in milliseconds UTC; all times here have this unit.
    pub made: u64,
    /// Number of the last change that the page reflects.
    pub change: u64,
    /// Version of the tool.
    pub version: &'static str,
    /// Description of the index parameters.
    pub params: String,
    /// Rows per signature.
    pub hashes: usize,
    /// Probability that two rows are equal by chance.
    pub(crate) collision: f64,
    /// Minimum similarity that connects two documents on this page. `threshold_index` is the
    /// index's own threshold.
    pub threshold: f64,
    pub(crate) threshold_index: f64,
    pub totals: Totals,
    pub shown: Shown,
    /// Histogram of cluster sizes, by powers of two.
    pub sizes: Vec<Size>,
    /// The largest clusters, largest first. Clusters of equal size are ordered by key.
    pub clusters: Vec<ClusterShown>,
    pub texts: Vec<TextShown>,
    pub pairs: PairCounts,
    pub curve: Curve,
    pub growth: Growth,
    pub folders: FoldersShown,
    /// The way from the page to the files whose paths are relative keys; see `links.rs`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub files: Option<String>,
}

/// Counts over the whole index.
#[derive(Default, Serialize)]
pub(crate) struct Totals {
    pub documents: u64,
    pub clusters: u64,
    /// Number of documents that are in clusters.
    pub(crate) clustered: u64,
    /// Number of redundant documents: all documents in clusters except one per cluster.
    pub(crate) surplus: u64,
    /// Number of redundant documents with the same signature as another one.
    pub copies: u64,
    /// Number of pairs at or above the threshold; a lower bound if counting stopped early.
    pub pairs: u64,
    /// Bytes that would be freed by removing the redundant documents. Counts only those whose size
    /// is known: `free_known` documents.
    pub free: u64,
    pub(crate) free_known: u64,
}

/// How much of the whole index the page shows.
#[derive(Default, Serialize)]
pub(crate) struct Shown {
    pub documents: u64,
    /// Number of documents shown with their texts.
    pub texts: u64,
    /// Number of documents whose texts have changed since they were indexed.
    pub(crate) texts_changed: u64,
    /// Number of documents whose texts were not found.
    pub(crate) texts_missing: u64,
    /// Maximum number of documents shown per cluster.
    pub(crate) members_max: usize,
    /// Maximum number of bytes shown per text.
    pub(crate) text_bytes_max: usize,
    /// `texts_asked`: whether texts were requested. `texts_possible`: whether the documents can
    /// have texts.
    pub(crate) texts_asked: bool,
    pub(crate) texts_possible: bool,
    /// Whether the documents are sets. Their texts are then lists of items, one per line.
    pub sets: bool,
}

/// Counts for the clusters that have `low` to `high` documents each.
#[derive(Serialize)]
pub(crate) struct Size {
    pub low: u64,
    pub high: u64,
    pub clusters: u64,
    pub documents: u64,
}

#[derive(Serialize)]
pub(crate) struct ClusterShown {
    pub size: u64,
    pub first: u64,
    pub last: u64,
    /// Time that a bar covers, in milliseconds.
    pub(crate) span: u64,
    /// Per bar: its start, and the number of new documents. Bars without new documents are omitted.
    pub growth: Vec<(u64, u64)>,
    /// Total size of all documents except the first, where known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub free: Option<u64>,
    /// The documents in key order; the first is the representative. If the cluster is large, this
    /// is a sample.
    pub documents: Vec<DocumentShown>,
    /// For each pair of documents, the number of equal rows of their signatures. Order of the
    /// pairs: (1, 0), (2, 0), (2, 1), (3, 0), ...
    pub rows: Vec<u32>,
}

#[derive(Serialize)]
pub(crate) struct DocumentShown {
    pub key: String,
    /// Whether the key cannot be a line of a list, because it is not shown as it is.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) unlisted: bool,
    /// Whether the document is a file that the page can link to.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub file: bool,
    pub time: u64,
    /// Length of its file, and the time of modification in milliseconds UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) modified: Option<i64>,
    /// Length of its text, in characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) length: Option<usize>,
    /// What a plan says of its file after `keep` or `remove`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) plan: Option<String>,
    #[serde(skip_serializing_if = "TextState::is_unknown")]
    pub text: TextState,
}

/// State of a document's text.
#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum TextState {
    /// Not read, because the page has no room for more texts.
    Unknown,
    /// Index into the list of texts.
    At(usize),
    Changed,
    Missing,
}

impl TextState {
    pub(super) fn is_unknown(&self) -> bool {
        *self == Self::Unknown
    }
}

#[derive(Serialize)]
pub(crate) struct TextShown {
    pub text: String,
    /// Size of the whole text, in bytes.
    pub bytes: usize,
    /// Whether only the beginning is included.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
}

/// Histogram of pairs by equal rows.
#[derive(Serialize)]
pub(crate) struct PairCounts {
    /// Number of equal rows that the first bar stands for; each following bar stands for one row
    /// more. The first bars are below the threshold, to show where it cuts the distribution.
    pub(crate) rows_first: u32,
    /// Minimum number of equal rows of a pair that reaches the threshold.
    pub(crate) rows_min: u32,
    pub counts: Vec<u64>,
    /// The similarity that each bar stands for.
    pub similarities: Vec<f64>,
    /// Whether counting stopped before the last pair.
    pub cut: bool,
}

#[derive(Serialize)]
pub(crate) struct Curve {
    pub bands: usize,
    pub rows: usize,
    /// One point per hundredth of similarity, from 0 to 1: the probability that a pair of this
    /// similarity is a candidate, and the probability that it is returned at the threshold.
    pub points: Vec<(f64, f64)>,
    /// `candidate` and `returned`: the same two probabilities for a pair exactly at the threshold.
    pub candidate: f64,
    pub returned: f64,
    /// Standard error of the estimate at the threshold.
    pub error: f64,
    /// A query threshold that is lower than the page's threshold by two standard errors. With it,
    /// nearly every pair whose similarity is exactly the page's threshold is returned;
    /// `returned_safe` is the probability.
    pub safe: f64,
    pub(crate) returned_safe: f64,
}

/// The documents by time of insertion.
#[derive(Serialize)]
pub(crate) struct Growth {
    /// Time that a bar covers, in milliseconds.
    pub(crate) span: u64,
    pub first: u64,
    pub last: u64,
    /// Per bar: its start, the number of its documents, and how many of them were not the first of
    /// their cluster. Empty bars are omitted.
    pub(crate) spans: Vec<(u64, u64, u64)>,
}

/// Pairs of folders that share clusters of near-duplicates. Pairs with the most documents in these
/// clusters come first.
#[derive(Serialize)]
pub(crate) struct FoldersShown {
    pub rows: Vec<FolderPair>,
    /// Whether there are more pairs than shown.
    pub cut: bool,
}

/// Two folders, or a folder and itself.
#[derive(Serialize)]
pub(crate) struct FolderPair {
    pub a: String,
    pub b: String,
    /// Number of clusters with documents in both folders.
    pub clusters: u64,
    /// `documents_a` and `documents_b`: documents of each folder that are in these clusters.
    /// `all_a` and `all_b`: all documents of each folder.
    pub(crate) documents_a: u64,
    pub(crate) documents_b: u64,
    pub(crate) all_a: u64,
    pub(crate) all_b: u64,
}
