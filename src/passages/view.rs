//! A snapshot of a passage index, and the answers of its queries.

use std::fmt;
use std::ops::Range;

use super::cut::PassageCutter;
use crate::{Key, Snapshot};

/// A snapshot of a passage index.
#[derive(Debug, Clone)]
pub struct PassageView {
    pub(super) snapshot: Snapshot,
    pub(super) cutter: PassageCutter,
}

/// A quotation: a run of words of the query, with small gaps, that occurs in a stored text. In an
/// index of fingerprints places and counts are those of the words; of each stored word eight bits
/// are compared, so a run is a word too long at one end in 128.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct PassageMatch {
    /// Byte range in the query, from the first matching word to the last.
    pub query: Range<u64>,
    /// Byte range in the stored text as it was inserted. With windows the range is approximate: at
    /// each end it may be too long by up to a window.
    pub stored: Range<u64>,
    /// The same ranges in words, if the index has fingerprints.
    #[cfg_attr(feature = "serde", serde(default))]
    pub in_words: Option<(Range<u64>, Range<u64>)>,
    /// Number of matching words of the query.
    pub words: u64,
    /// Number of words of the longest run without a gap, if the index has fingerprints.
    #[cfg_attr(feature = "serde", serde(default))]
    pub longest: Option<u64>,
    /// The largest estimated Jaccard similarity between a query window and a stored window of the
    /// quotation. With fingerprints: matching words divided by those of the longer of both ranges.
    pub similarity: f64,
}

/// A stored text that has passages in common with the query.
#[derive(Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Contained {
    /// The text's key.
    pub key: Vec<u8>,
    /// The caller's own bytes.
    pub payload: Vec<u8>,
    /// The fraction of the query's words that match. Of fingerprints, common words count neither
    /// above nor below.
    pub share: f64,
    /// The fraction of the stored text's words that match, if the index has fingerprints.
    #[cfg_attr(feature = "serde", serde(default))]
    pub stored_share: Option<f64>,
    /// The matching passages, in the order of the stored text.
    pub passages: Vec<PassageMatch>,
}

/// The answer of a passage query. The texts with the largest share come first; texts with equal
/// shares are sorted by key.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct PassageAnswer {
    /// The texts, at most as many as the limit.
    pub texts: Vec<Contained>,
    /// Number of texts with a matching passage, regardless of the limit.
    pub found: u64,
    /// Number of words of the query. A text without words that is not blank counts as one word.
    pub words: u64,
    /// Whether the query ran to its end: see [`Answer::complete`](crate::Answer::complete).
    pub complete: bool,
    /// Number of the last change that the answer reflects.
    pub change: u64,
}

impl fmt::Debug for Contained {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut contained = f.debug_struct("Contained");
        contained.field("key", &Key::from(&self.key)).field("payload_bytes", &self.payload.len());
        contained.field("share", &self.share).field("stored_share", &self.stored_share);
        contained.field("passages", &self.passages).finish()
    }
}

#[expect(clippy::cast_precision_loss, reason = "no text has 2^53 words")]
pub(super) fn ratio(part: usize, whole: usize) -> f64 {
    part as f64 / whole as f64
}
