//! What answers carry: plain data that becomes JSON. `serve/openapi.json` describes it.

use nearkin::{Match, Outcome};
use serde::Serialize;

use super::bodies::Blob;

/// A stored document.
#[derive(Serialize)]
pub(super) struct Stored {
    pub(super) key: Blob,
    pub(super) payload: Blob,
    pub(super) time: u64,
    pub(super) shingle_count: u32,
}

/// What became of one document.
#[derive(Serialize)]
pub(super) struct Written {
    pub(super) outcome: &'static str,
    pub(super) change: u64,
}

/// What became of a batch.
#[derive(Serialize)]
pub(super) struct BatchWritten {
    pub(super) outcomes: Vec<&'static str>,
    pub(super) change: u64,
}

/// A document like the one asked for.
#[derive(Serialize)]
pub(super) struct Found {
    key: Blob,
    similarity: f64,
    standard_error: f64,
    equal_rows: u32,
    time: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    payload: Option<Blob>,
}

/// The answer to a query.
#[derive(Serialize)]
pub(super) struct Answered {
    pub(super) matches: Vec<Found>,
    pub(super) found: u64,
    pub(super) threshold: f64,
    pub(super) expected_recall: f64,
    pub(super) complete: bool,
    pub(super) change: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) warning: Option<String>,
}

/// What was decided on a newcomer.
#[derive(Serialize)]
pub(super) struct Admitted {
    pub(super) decision: &'static str,
    pub(super) duplicates: Vec<Found>,
    pub(super) related: Vec<Found>,
    pub(super) removed: Vec<Found>,
    pub(super) change: u64,
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
pub(super) fn word(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Inserted => "inserted",
        Outcome::Replaced => "replaced",
        Outcome::Unchanged => "unchanged",
        Outcome::Removed => "removed",
        Outcome::Missing => "missing",
        Outcome::Superseded => "superseded",
        _ => "other",
    }
}
