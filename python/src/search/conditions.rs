//! The conditions of a search: keyword arguments of Python, as those of the engine.

use nearkin::passages::PassageQuery;
use nearkin::{Alike, Queries, Query};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::options::{Count, argument, keywords};

/// The condition under which two documents match: their similarity is at least `threshold`
/// (default: `own`). With `contained`, their containment must also be at least `contained`, and the
/// default of `threshold` is 0.
pub(crate) fn alike(own: f64, threshold: Option<f64>, contained: Option<f64>) -> Alike {
    match contained {
        Some(contained) => Alike::contained(contained).and_similar(threshold.unwrap_or(0.0)),
        None => Alike::similar(threshold.unwrap_or(own)),
    }
}

/// The conditions of a search.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Conditions {
    pub(crate) threshold: Option<f64>,
    pub(crate) contained: Option<f64>,
    limit: Option<Count>,
    max_candidates: Option<Count>,
    /// Whether the search goes three standard errors below the minimum.
    for_verification: bool,
}

/// The conditions of a query by one document.
pub(crate) const OF_A_QUERY: &[&str] = &["threshold", "contained", "limit", "max_candidates"];
/// The conditions of queries by a column of documents.
pub(crate) const OF_QUERIES: &[&str] =
    &["threshold", "contained", "limit", "max_candidates", "for_verification"];
/// The conditions of a query for passages.
pub(crate) const OF_PASSAGES: &[&str] = &["threshold", "limit", "max_candidates"];
/// The conditions of pairs whose threshold is a parameter of its own.
pub(crate) const OF_PAIRS: &[&str] = &["contained"];
/// Those of the steps of a job.
pub(crate) const OF_A_STEP: &[&str] = &["contained", "for_verification"];

impl Conditions {
    /// Reads the keyword arguments of `method`, which takes those of `names`.
    pub(crate) fn new(
        method: &str,
        names: &[&str],
        given: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let mut conditions = Self::default();
        keywords(method, names, given, |name, value| {
            match name {
                "threshold" => conditions.threshold = argument(value, name)?,
                "contained" => conditions.contained = argument(value, name)?,
                "limit" => conditions.limit = argument(value, name)?,
                "max_candidates" => conditions.max_candidates = argument(value, name)?,
                _ => conditions.for_verification = argument(value, name)?,
            }
            Ok(())
        })?;
        Ok(conditions)
    }

    /// These conditions with this threshold.
    pub(crate) fn with(self, threshold: Option<f64>) -> Self {
        Self { threshold, ..self }
    }

    /// Queries under these conditions.
    pub(crate) fn of_queries(self, queries: Queries<'_>) -> Queries<'_> {
        let queries = self.of_batch(queries);
        if self.for_verification { queries.for_verification() } else { queries }
    }

    /// The condition of a pair; `own` is the threshold of the index.
    pub(crate) fn alike(self, own: f64) -> Alike {
        let alike = alike(own, self.threshold, self.contained);
        if self.for_verification { alike.for_verification() } else { alike }
    }
}

/// Sets each condition that was given.
macro_rules! apply {
    ($name:ident, $query:ident, $($setter:ident),*) => {
        impl Conditions {
            pub(crate) fn $name(self, mut query: $query<'_>) -> $query<'_> {
                $(if let Some(value) = self.$setter {
                    query = query.$setter(value.into());
                })*
                query
            }
        }
    };
}

apply!(of_query, Query, threshold, contained, limit, max_candidates);
apply!(of_batch, Queries, threshold, contained, limit, max_candidates);
apply!(of_passages, PassageQuery, threshold, limit, max_candidates);
