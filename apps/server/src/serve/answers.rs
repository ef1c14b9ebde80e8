//! Response bodies: plain data that becomes JSON. `description.rs` describes the types.

use nearkin::{Match, Outcome};
use serde::Serialize;
#[cfg(test)]
use utoipa::ToSchema;

use super::bodies::Blob;
use nearkin_kit::input::originals::ExactFields;

/// A stored document.
#[derive(Serialize)]
#[cfg_attr(test, derive(ToSchema))]
pub(super) struct Stored {
    pub(super) key: Blob,
    pub(super) payload: Blob,
    /// Time of insertion or last replacement, in milliseconds UTC.
    pub(super) time: u64,
    /// Number of shingles; 0 for signatures made elsewhere.
    pub(super) shingle_count: u32,
}

/// The text of a stored document, read again from its source.
#[derive(Serialize)]
#[cfg_attr(test, derive(ToSchema))]
#[cfg_attr(test, schema(as = Text))]
pub(super) struct TextRead {
    pub(super) key: Blob,
    /// The text; for a set, its items, sorted, one per line.
    pub(super) text: String,
}

/// The result of writing one document.
#[derive(Serialize)]
#[cfg_attr(test, derive(ToSchema))]
pub(super) struct Written {
    pub(super) outcome: Word,
    /// Number of the change. If nothing had to be written: number of the latest change; the outcome
    /// holds after that change.
    pub(super) change: u64,
}

/// The result of a batch.
#[derive(Serialize)]
#[cfg_attr(test, derive(ToSchema))]
pub(super) struct BatchWritten {
    /// In the order of the operations.
    pub(super) outcomes: Vec<Word>,
    pub(super) change: u64,
}

/// A document similar to the query.
#[derive(Serialize)]
#[cfg_attr(test, derive(ToSchema))]
#[cfg_attr(test, schema(as = Match))]
pub(super) struct Found {
    key: Blob,
    /// Estimated Jaccard similarity.
    #[cfg_attr(test, schema(minimum = 0, maximum = 1))]
    similarity: f64,
    /// Standard error of the estimate.
    standard_error: f64,
    /// Number of equal rows of the two signatures; matches are ordered by it.
    equal_rows: u32,
    /// Milliseconds UTC.
    time: u64,
    #[cfg_attr(test, schema(nullable = false))]
    #[serde(skip_serializing_if = "Option::is_none")]
    payload: Option<Blob>,
    /// With `contained`: the part of the smaller document that the larger one contains, as
    /// estimated from signatures.
    #[cfg_attr(test, schema(nullable = false, minimum = 0, maximum = 1))]
    #[serde(skip_serializing_if = "Option::is_none")]
    contained: Option<f64>,
    /// With `exact`: the Jaccard similarity of the documents themselves.
    #[cfg_attr(test, schema(nullable = false, minimum = 0, maximum = 1))]
    #[serde(skip_serializing_if = "Option::is_none")]
    exact: Option<f64>,
    /// With `exact` and `contained`: the containment of the documents themselves.
    #[cfg_attr(test, schema(nullable = false, minimum = 0, maximum = 1))]
    #[serde(skip_serializing_if = "Option::is_none")]
    exact_contained: Option<f64>,
    /// With `exact`, true if the text of this document has changed since it was added, so that it
    /// could not be compared.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[cfg_attr(test, schema(default = false))]
    stale: bool,
    /// With `exact`, true if the text of this document was not found.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[cfg_attr(test, schema(default = false))]
    missing: bool,
}

impl Found {
    pub(super) fn new(found: Match, payloads: bool, exact: &ExactFields) -> Self {
        Self {
            key: Blob(found.key),
            similarity: found.similarity,
            standard_error: found.standard_error,
            equal_rows: found.equal_rows,
            time: found.time,
            payload: payloads.then_some(Blob(found.payload)),
            contained: found.containment.map(|containment| containment.estimate),
            exact: exact.exact,
            exact_contained: exact.exact_contained,
            stale: exact.stale,
            missing: exact.missing,
        }
    }
}

/// A page of documents, in ascending order of their keys as bytes.
#[derive(Serialize)]
#[cfg_attr(test, derive(ToSchema))]
pub(super) struct DocumentList {
    pub(super) documents: Vec<ListedDocument>,
    /// The value of `after` for the next page; missing on the last page.
    #[cfg_attr(test, schema(nullable = false))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) after: Option<Blob>,
    /// Number of the last change that the page reflects.
    pub(super) change: u64,
}

/// A document of a page.
#[derive(Serialize)]
#[cfg_attr(test, derive(ToSchema))]
pub(super) struct ListedDocument {
    pub(super) key: Blob,
    /// Time of insertion or last replacement, in milliseconds UTC.
    pub(super) time: u64,
    /// Number of shingles; 0 for signatures made elsewhere.
    pub(super) shingle_count: u32,
    /// With `payloads=true`.
    #[cfg_attr(test, schema(nullable = false))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) payload: Option<Blob>,
}

/// The result of a removal by prefix.
#[derive(Serialize)]
#[cfg_attr(test, derive(ToSchema))]
pub(super) struct PrefixRemoved {
    /// Number of documents that were removed.
    pub(super) removed: u64,
}

/// A line: two similar documents.
#[derive(Serialize)]
#[cfg_attr(test, derive(ToSchema))]
#[cfg_attr(test, schema(as = Pair))]
pub(super) struct PairLine {
    /// The lesser key.
    pub(super) a: Blob,
    pub(super) b: Blob,
    /// Estimated Jaccard similarity.
    #[cfg_attr(test, schema(minimum = 0, maximum = 1))]
    pub(super) similarity: f64,
    pub(super) equal_rows: u32,
    /// With `contained`: the part of the smaller document that the larger one contains, as
    /// estimated from signatures.
    #[cfg_attr(test, schema(nullable = false, minimum = 0, maximum = 1))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) contained: Option<f64>,
}

/// A line: documents that pairs connect.
#[derive(Serialize)]
#[cfg_attr(test, derive(ToSchema))]
#[cfg_attr(test, schema(as = Cluster))]
pub(super) struct ClusterLine {
    pub(super) size: u64,
    /// In ascending order.
    pub(super) keys: Vec<Blob>,
}

/// The answer to a query, or to several `texts`.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum QueryAnswer {
    One(Answered),
    Many(Answers),
}

/// The answers to several texts.
#[derive(Serialize)]
#[cfg_attr(test, derive(ToSchema))]
pub(super) struct Answers {
    /// In the order of `texts`.
    pub(super) answers: Vec<Answered>,
}

/// The answer to a query.
#[derive(Serialize)]
#[cfg_attr(test, derive(ToSchema))]
#[cfg_attr(test, schema(as = Answer))]
pub(super) struct Answered {
    pub(super) matches: Vec<Found>,
    /// Number of matches at or above the threshold, before the limit.
    pub(super) found: u64,
    /// The threshold that was applied.
    #[cfg_attr(test, schema(minimum = 0, maximum = 1))]
    pub(super) threshold: f64,
    /// Probability that a document exactly at the threshold is among the matches; with `contained`:
    /// that a text is compared with one twice as long that contains this part of it.
    #[cfg_attr(test, schema(minimum = 0, maximum = 1))]
    pub(super) expected_recall: f64,
    /// Whether all candidates were compared.
    pub(super) complete: bool,
    /// Number of the last change that the answer reflects.
    pub(super) change: u64,
    /// Present if the index was built for a higher threshold than the query needs.
    #[cfg_attr(test, schema(nullable = false))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) warning: Option<String>,
}

/// The decision on a new document.
#[derive(Serialize)]
#[cfg_attr(test, derive(ToSchema))]
#[cfg_attr(test, schema(as = Admission))]
pub(super) struct Admitted {
    pub(super) decision: Decided,
    /// The duplicates that caused a rejection.
    pub(super) duplicates: Vec<Found>,
    /// Less similar documents, if `relate` was given.
    pub(super) related: Vec<Found>,
    /// The duplicates that the document replaced.
    pub(super) removed: Vec<Found>,
    /// Number of the last change before the decision: the decision takes all changes up to this one
    /// into account.
    pub(super) change: u64,
}

/// `replaced` and `unchanged`: the document was admitted, and its key already had a document.
#[derive(Serialize)]
#[cfg_attr(test, derive(ToSchema))]
#[serde(rename_all = "snake_case")]
#[cfg_attr(test, schema(as = Decision))]
pub(super) enum Decided {
    Admitted,
    Replaced,
    Unchanged,
    Rejected,
}

/// `superseded`: a later operation of the batch has the same key. `other`: an outcome that this
/// version has no name for.
#[derive(Serialize)]
#[cfg_attr(test, derive(ToSchema))]
#[serde(rename_all = "snake_case")]
#[cfg_attr(test, schema(as = Outcome))]
pub(super) enum Word {
    Inserted,
    Replaced,
    Unchanged,
    Removed,
    Missing,
    Superseded,
    Other,
}

/// Converts matches; includes payloads if requested.
pub(super) fn found(matches: Vec<Match>, payloads: bool) -> Vec<Found> {
    let found = |found: Match| Found::new(found, payloads, &ExactFields::default());
    matches.into_iter().map(found).collect()
}

/// One word for an outcome.
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
