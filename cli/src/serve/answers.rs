//! What answers carry: plain data that becomes JSON. `description.rs` describes it.

use nearkin::{Match, Outcome};
use serde::Serialize;
use utoipa::ToSchema;

use super::bodies::Blob;

/// A stored document.
#[derive(Serialize, ToSchema)]
pub(super) struct Stored {
    pub(super) key: Blob,
    pub(super) payload: Blob,
    /// When it was inserted or last replaced, in milliseconds UTC.
    pub(super) time: u64,
    /// Shingles; 0 for signatures made elsewhere.
    pub(super) shingle_count: u32,
}

/// The text of a stored document, read again.
#[derive(Serialize, ToSchema)]
#[schema(as = Text)]
pub(super) struct TextRead {
    pub(super) key: Blob,
    /// The text; for a set, its items, sorted, one a line.
    pub(super) text: String,
}

/// What became of one document.
#[derive(Serialize, ToSchema)]
pub(super) struct Written {
    pub(super) outcome: Word,
    /// The number of the change; where nothing had to be written, of the one that was looked at.
    pub(super) change: u64,
}

/// What became of a batch.
#[derive(Serialize, ToSchema)]
pub(super) struct BatchWritten {
    /// In the order of the operations.
    pub(super) outcomes: Vec<Word>,
    pub(super) change: u64,
}

/// A document similar to the one asked for.
#[derive(Serialize, ToSchema)]
#[schema(as = Match)]
pub(super) struct Found {
    key: Blob,
    /// The estimate of the Jaccard similarity.
    #[schema(minimum = 0, maximum = 1)]
    similarity: f64,
    /// The standard error of that estimate.
    standard_error: f64,
    /// Equal rows of the two signatures, by which matches are ordered.
    equal_rows: u32,
    /// Milliseconds UTC.
    time: u64,
    #[schema(nullable = false)]
    #[serde(skip_serializing_if = "Option::is_none")]
    payload: Option<Blob>,
}

/// The answer to a query.
#[derive(Serialize, ToSchema)]
#[schema(as = Answer)]
pub(super) struct Answered {
    pub(super) matches: Vec<Found>,
    /// How many reach the threshold, the limit aside.
    pub(super) found: u64,
    /// The one that was used.
    #[schema(minimum = 0, maximum = 1)]
    pub(super) threshold: f64,
    /// The chance that a document of exactly the threshold's similarity is among them.
    #[schema(minimum = 0, maximum = 1)]
    pub(super) expected_recall: f64,
    /// Whether all candidates were compared.
    pub(super) complete: bool,
    /// The last change the answer takes into account.
    pub(super) change: u64,
    /// If the index was built for higher thresholds.
    #[schema(nullable = false)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) warning: Option<String>,
}

/// What was decided on a newcomer.
#[derive(Serialize, ToSchema)]
#[schema(as = Admission)]
pub(super) struct Admitted {
    pub(super) decision: Decided,
    /// What it was rejected for.
    pub(super) duplicates: Vec<Found>,
    /// Less similar documents, if they were asked for.
    pub(super) related: Vec<Found>,
    /// The duplicates that it replaced.
    pub(super) removed: Vec<Found>,
    /// The change whose state it was decided on.
    pub(super) change: u64,
}

/// `replaced` and `unchanged` are admitted: the key had a document before.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = Decision)]
pub(super) enum Decided {
    Admitted,
    Replaced,
    Unchanged,
    Rejected,
}

/// `superseded`: a later operation of the batch has the same key. `other`: one that this version
/// has no name for.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = Outcome)]
pub(super) enum Word {
    Inserted,
    Replaced,
    Unchanged,
    Removed,
    Missing,
    Superseded,
    Other,
}

/// Matches as they are answered, with their payloads if that was asked for.
pub(super) fn found(matches: Vec<Match>, payloads: bool) -> Vec<Found> {
    let found = |found: Match| Found {
        key: Blob(found.key),
        similarity: found.similarity,
        standard_error: found.standard_error,
        equal_rows: found.equal_rows,
        time: found.time,
        payload: payloads.then_some(Blob(found.payload)),
    };
    matches.into_iter().map(found).collect()
}

/// An outcome in a word.
pub(super) fn word(outcome: Outcome) -> Word {
    match outcome {
        Outcome::Inserted => Word::Inserted,
        Outcome::Replaced => Word::Replaced,
        Outcome::Unchanged => Word::Unchanged,
        Outcome::Removed => Word::Removed,
        Outcome::Missing => Word::Missing,
        Outcome::Superseded => Word::Superseded,
        _ => Word::Other,
    }
}
