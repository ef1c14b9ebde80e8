//! Response bodies: plain data that becomes JSON. `description.rs` describes the types.

use nearkin::Match;
use serde::Serialize;
#[cfg(test)]
use utoipa::ToSchema;

use super::blob::Blob;
use nearkin_kit::input::originals::ExactFields;

/// A stored document.
#[derive(Serialize)]
#[cfg_attr(test, derive(ToSchema))]
pub(crate) struct Stored {
    pub(crate) key: Blob,
    pub(crate) payload: Blob,
    /// Time of insertion or last replacement, in milliseconds UTC.
    pub(crate) time: u64,
    /// Number of shingles; 0 for signatures made elsewhere.
    pub(crate) shingle_count: u32,
}

/// The text of a stored document, read again from its source.
#[derive(Serialize)]
#[cfg_attr(test, derive(ToSchema))]
#[cfg_attr(test, schema(as = Text))]
pub(crate) struct TextRead {
    pub(crate) key: Blob,
    /// The text; for a set, its items, sorted, one per line.
    pub(crate) text: String,
}

/// The text of a file that a request brought.
#[derive(Serialize)]
#[cfg_attr(test, derive(ToSchema))]
pub(crate) struct FileText {
    /// The text as the commands of the tool read it.
    pub(crate) text: String,
}

/// The result of writing one document.
#[derive(Serialize)]
#[cfg_attr(test, derive(ToSchema))]
pub(crate) struct Written {
    #[cfg_attr(test, schema(value_type = super::tests::description::Outcome))]
    pub(crate) outcome: &'static str,
    /// Number of the change. If nothing had to be written: number of the latest change; the outcome
    /// holds after that change.
    pub(crate) change: u64,
}

/// The result of a batch.
#[derive(Serialize)]
#[cfg_attr(test, derive(ToSchema))]
pub(crate) struct BatchWritten {
    /// In the order of the operations.
    #[cfg_attr(test, schema(value_type = Vec<super::tests::description::Outcome>))]
    pub(crate) outcomes: Vec<&'static str>,
    pub(crate) change: u64,
}

/// A document similar to the query.
#[derive(Serialize)]
#[cfg_attr(test, derive(ToSchema))]
#[cfg_attr(test, schema(as = Match))]
pub(crate) struct Found {
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
    pub(crate) fn new(found: Match, payloads: bool, exact: &ExactFields) -> Self {
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
pub(crate) struct DocumentList {
    pub(crate) documents: Vec<ListedDocument>,
    /// The value of `after` for the next page; missing on the last page.
    #[cfg_attr(test, schema(nullable = false))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) after: Option<Blob>,
    /// Number of the last change that the page reflects.
    pub(crate) change: u64,
}

/// A document of a page.
#[derive(Serialize)]
#[cfg_attr(test, derive(ToSchema))]
pub(crate) struct ListedDocument {
    pub(crate) key: Blob,
    /// Time of insertion or last replacement, in milliseconds UTC.
    pub(crate) time: u64,
    /// Number of shingles; 0 for signatures made elsewhere.
    pub(crate) shingle_count: u32,
    /// With `payloads=true`.
    #[cfg_attr(test, schema(nullable = false))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) payload: Option<Blob>,
}

/// The result of a removal by prefix or by age.
#[derive(Serialize)]
#[cfg_attr(test, derive(ToSchema))]
pub(crate) struct PrefixRemoved {
    /// Number of documents that were removed.
    pub(crate) removed: u64,
}

/// A line: two similar documents.
#[derive(Serialize)]
#[cfg_attr(test, derive(ToSchema))]
#[cfg_attr(test, schema(as = Pair))]
pub(crate) struct PairLine {
    /// The lesser key.
    pub(crate) a: Blob,
    pub(crate) b: Blob,
    /// Estimated Jaccard similarity.
    #[cfg_attr(test, schema(minimum = 0, maximum = 1))]
    pub(crate) similarity: f64,
    pub(crate) equal_rows: u32,
    /// With `contained`: the part of the smaller document that the larger one contains, as
    /// estimated from signatures.
    #[cfg_attr(test, schema(nullable = false, minimum = 0, maximum = 1))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) contained: Option<f64>,
}

/// A line: documents that pairs connect.
#[derive(Serialize)]
#[cfg_attr(test, derive(ToSchema))]
#[cfg_attr(test, schema(as = Cluster))]
pub(crate) struct ClusterLine {
    pub(crate) size: u64,
    /// In ascending order.
    pub(crate) keys: Vec<Blob>,
}

/// The answer to a query, or to several `texts`.
#[derive(Serialize)]
#[serde(untagged)]
pub(crate) enum QueryAnswer {
    One(Answered),
    Many(Answers),
}

/// The answers to several texts.
#[derive(Serialize)]
#[cfg_attr(test, derive(ToSchema))]
pub(crate) struct Answers {
    /// In the order of `texts`.
    pub(crate) answers: Vec<Answered>,
}

/// The answer to a query.
#[derive(Serialize)]
#[cfg_attr(test, derive(ToSchema))]
#[cfg_attr(test, schema(as = Answer))]
pub(crate) struct Answered {
    pub(crate) matches: Vec<Found>,
    /// Number of matches at or above the threshold, before the limit.
    pub(crate) found: u64,
    /// The threshold that was applied.
    #[cfg_attr(test, schema(minimum = 0, maximum = 1))]
    pub(crate) threshold: f64,
    /// Probability that a document exactly at the threshold is among the matches; with `contained`:
    /// that a text is compared with one twice as long that contains this part of it.
    #[cfg_attr(test, schema(minimum = 0, maximum = 1))]
    pub(crate) expected_recall: f64,
    /// Whether all candidates were compared.
    pub(crate) complete: bool,
    /// Number of the last change that the answer reflects.
    pub(crate) change: u64,
    /// Present if the index was built for a higher threshold than the query needs.
    #[cfg_attr(test, schema(nullable = false))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) warning: Option<String>,
}

/// The decision on a new document.
#[derive(Serialize)]
#[cfg_attr(test, derive(ToSchema))]
#[cfg_attr(test, schema(as = Admission))]
pub(crate) struct Admitted {
    pub(crate) decision: Decided,
    /// The duplicates that caused a rejection.
    pub(crate) duplicates: Vec<Found>,
    /// Less similar documents, if `relate` was given.
    pub(crate) related: Vec<Found>,
    /// The duplicates that the document replaced.
    pub(crate) removed: Vec<Found>,
    /// False if `max_candidates` was given and reached: a duplicate may then be missed.
    pub(crate) complete: bool,
    /// Number of the last change before the decision: the decision takes all changes up to this one
    /// into account.
    pub(crate) change: u64,
}

/// `replaced` and `unchanged`: the document was admitted, and its key already had a document.
#[derive(Serialize)]
#[cfg_attr(test, derive(ToSchema))]
#[serde(rename_all = "snake_case")]
#[cfg_attr(test, schema(as = Decision))]
pub(crate) enum Decided {
    Admitted,
    Replaced,
    Unchanged,
    Rejected,
}

/// Converts matches; includes payloads if requested.
pub(crate) fn found(matches: Vec<Match>, payloads: bool) -> Vec<Found> {
    let found = |found: Match| Found::new(found, payloads, &ExactFields::default());
    matches.into_iter().map(found).collect()
}
