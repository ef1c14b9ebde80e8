//! A match as JSON, for the commands that print matches.

use nearkin::Match;
use serde::Serialize;

use nearkin_kit::output::JsonBytes;

/// A match as JSON.
#[derive(Serialize)]
pub(crate) struct MatchObject<'a> {
    key: JsonBytes<'a>,
    similarity: f64,
    standard_error: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    contained: Option<f64>,
}

impl<'a> MatchObject<'a> {
    pub(crate) fn new(found: &'a Match) -> Self {
        Self {
            key: JsonBytes(&found.key),
            similarity: found.similarity,
            standard_error: found.standard_error,
            contained: found.containment.map(|containment| containment.estimate),
        }
    }
}
