//! What a page shows, as its script reads it. Plain data.

use serde::Serialize;

#[derive(Serialize)]
pub(crate) struct Data {
    pub(super) title: String,
    /// When the page was made, in milliseconds UTC, as all times here.
    pub(super) made: u64,
    /// The number of the last change that it takes into account.
    pub(super) change: u64,
    /// The version of the tool.
    pub(super) version: &'static str,
    /// The parameters in words.
    pub(super) params: String,
    /// Rows of a signature.
    pub(super) hashes: usize,
    /// The chance that two rows are equal by accident.
    pub(super) collision: f64,
    /// The least similarity that connects two documents here, and the index's own.
    pub(crate) threshold: f64,
    pub(super) threshold_index: f64,
    pub(crate) totals: Totals,
    pub(crate) shown: Shown,
    /// How many clusters and documents of them there are by size, in powers of two.
    pub(super) sizes: Vec<Size>,
    /// The largest, largest first; equal ones by key.
    pub(crate) clusters: Vec<ClusterShown>,
    pub(super) texts: Vec<TextShown>,
    pub(crate) pairs: PairCounts,
    pub(super) curve: Curve,
    pub(super) growth: Growth,
    pub(super) folders: FoldersShown,
}

/// Counts of the whole index.
#[derive(Default, Serialize)]
pub(crate) struct Totals {
    pub(crate) documents: u64,
    pub(crate) clusters: u64,
    /// Documents in clusters.
    pub(crate) clustered: u64,
    /// Those of them that could go if one of each cluster stays.
    pub(crate) surplus: u64,
    /// Those of the surplus that have the signature of another document.
    pub(crate) copies: u64,
    /// Pairs at the threshold and above, as far as they were counted.
    pub(crate) pairs: u64,
    /// Bytes that could be freed, as far as they are known: those of `free_known` documents of
    /// the surplus.
    pub(crate) free: u64,
    pub(crate) free_known: u64,
}

/// How much of it is on the page.
#[derive(Default, Serialize)]
pub(crate) struct Shown {
    pub(crate) documents: u64,
    /// Documents with their text.
    pub(crate) texts: u64,
    /// Documents whose text is no longer the one that was indexed.
    pub(crate) texts_changed: u64,
    /// Documents that were not found.
    pub(crate) texts_missing: u64,
    /// Most documents shown of a cluster.
    pub(super) members_max: usize,
    /// Bytes shown of one text, at most.
    pub(super) text_bytes_max: usize,
    /// Whether texts were looked for, and whether documents can have one at all.
    pub(super) texts_asked: bool,
    pub(super) texts_possible: bool,
    /// Whether the documents are sets, whose texts are their items, one a line.
    pub(super) sets: bool,
}

/// Clusters of `low` to `high` documents.
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
    /// The span of time that growth is counted by, in milliseconds.
    pub(super) span: u64,
    /// When a span with new documents began, and how many came.
    pub(super) growth: Vec<(u64, u64)>,
    /// Bytes of all its documents but the first, where they are known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) free: Option<u64>,
    /// In order of keys; the first is the representative. A sample where there are more.
    pub(super) documents: Vec<DocumentShown>,
    /// The equal rows of documents 1 and 0, 2 and 0, 2 and 1, 3 and 0, ...
    pub(super) rows: Vec<u32>,
}

#[derive(Serialize)]
pub(super) struct DocumentShown {
    pub(super) key: String,
    pub(super) time: u64,
    #[serde(skip_serializing_if = "TextState::is_unknown")]
    pub(super) text: TextState,
}

/// What became of a document's text.
#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum TextState {
    /// Not looked for: there is no place for more.
    Unknown,
    /// Its place among the texts.
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
    /// Bytes of the whole text.
    pub(super) bytes: usize,
    /// Whether this is only its beginning.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) cut: bool,
}

/// How many pairs have how many equal rows.
#[derive(Serialize)]
pub(crate) struct PairCounts {
    /// Equal rows of the first count. Below the threshold's they serve to show where it lies.
    pub(super) rows_first: u32,
    /// The least that reaches the threshold.
    pub(super) rows_min: u32,
    pub(super) counts: Vec<u64>,
    /// The similarity of each count.
    pub(super) similarities: Vec<f64>,
    /// Whether counting ended before all were seen.
    pub(crate) cut: bool,
}

#[derive(Serialize)]
pub(super) struct Curve {
    pub(super) bands: usize,
    pub(super) rows: usize,
    /// By hundredths of similarity, from 0 to 1: the chance to be a candidate, and to be
    /// returned at the threshold.
    pub(super) points: Vec<(f64, f64)>,
    /// The chances at exactly the threshold.
    pub(super) candidate: f64,
    pub(super) returned: f64,
    /// One standard error of the estimate there.
    pub(super) error: f64,
    /// The threshold to ask for to catch nearly all pairs of this one, and the chance then.
    pub(super) safe: f64,
    pub(super) returned_safe: f64,
}

/// Documents by the time they were added.
#[derive(Serialize)]
pub(super) struct Growth {
    /// In milliseconds.
    pub(super) span: u64,
    pub(super) first: u64,
    pub(super) last: u64,
    /// When a span began; documents of it; those of them that were not the first of their
    /// cluster. Empty spans are left out.
    pub(super) spans: Vec<(u64, u64, u64)>,
}

/// Pairs of folders that share near-duplicates, those that share most first.
#[derive(Serialize)]
pub(super) struct FoldersShown {
    pub(super) rows: Vec<FolderPair>,
    /// Whether there are more.
    pub(super) cut: bool,
}

/// Two folders, or one and itself.
#[derive(Serialize)]
pub(super) struct FolderPair {
    pub(super) a: String,
    pub(super) b: String,
    /// Clusters with documents of both.
    pub(super) clusters: u64,
    /// Documents of each that are in these clusters, and all that it has.
    pub(super) documents_a: u64,
    pub(super) documents_b: u64,
    pub(super) all_a: u64,
    pub(super) all_b: u64,
}
