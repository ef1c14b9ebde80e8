//! How rows are decided, as the caller of `nearkin.dedup` says.

use nearkin::{Alike, Guard, Snapshot};
use pyo3::prelude::*;

use crate::columns::documents::Documents;
use crate::error::{InvalidError, engine};
use crate::index::readable::Readable;
use crate::options::{Threads, argument};
use crate::sketch::params::Params;

/// By what rows are decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Deciding {
    /// By the estimate.
    Estimate,
    /// By the shingles of what the estimate finds.
    Confirmed,
    /// By the shingles, with candidates from below the threshold.
    Exact,
}

/// How rows are decided: the fields of `nearkin._dedup.How`.
pub(crate) struct How<'py> {
    pub(crate) params: Bound<'py, Params>,
    threshold: Option<f64>,
    contained: Option<f64>,
    pub(crate) against: Option<Bound<'py, Readable>>,
    pub(crate) drop_blank: bool,
    pub(crate) threads: Option<Threads>,
    pub(crate) keep: String,
    /// By what rows are decided, if they are texts or sets.
    pub(crate) asked: Deciding,
    guard: Option<String>,
    pub(crate) fetch: Option<Bound<'py, PyAny>>,
    /// Whether the result has the words that only one of two texts has.
    pub(crate) differences: bool,
    pub(crate) progress: Option<Bound<'py, PyAny>>,
}

impl<'py> How<'py> {
    pub(crate) fn new(how: &Bound<'py, PyAny>) -> PyResult<Self> {
        let field = |name| how.getattr(name);
        let is = |name| argument::<bool>(&field(name)?, name);
        let asked = match (is("exact")?, is("estimate")?) {
            (true, _) => Deciding::Exact,
            (_, true) => Deciding::Estimate,
            _ => Deciding::Confirmed,
        };
        Ok(Self {
            params: argument(&field("params")?, "params")?,
            threshold: argument(&field("threshold")?, "threshold")?,
            contained: argument(&field("contained")?, "contained")?,
            against: argument(&field("against")?, "against")?,
            drop_blank: argument(&field("drop_blank")?, "drop_blank")?,
            threads: argument(&field("threads")?, "threads")?,
            keep: argument(&field("keep")?, "keep")?,
            asked,
            guard: argument(&field("guard")?, "guard")?,
            fetch: argument(&field("fetch")?, "fetch")?,
            differences: argument(&field("differences")?, "differences")?,
            progress: argument(&field("progress")?, "progress")?,
        })
    }

    /// The condition under which a row is dropped.
    pub(crate) fn alike(&self) -> Alike {
        Alike::from_minima(self.threshold, self.contained, self.params.get().inner.threshold())
    }

    /// The state of the index of `against`.
    pub(crate) fn snapshot(&self, py: Python<'py>) -> PyResult<Option<Snapshot>> {
        self.against.as_ref().map(|against| against.get().snapshot_now(py)).transpose()
    }

    /// By what these documents are decided: signatures by the estimate, because nothing else is
    /// known of their documents.
    pub(crate) fn deciding(&self, documents: &Documents<'_>) -> Deciding {
        match (self.asked, documents) {
            (Deciding::Confirmed, Documents::Signatures(_)) => Deciding::Estimate,
            (asked, _) => asked,
        }
    }

    pub(crate) fn is_guard_given(&self) -> bool {
        self.guard.is_some()
    }

    /// What a row may differ in without being dropped. Sets have no words, the estimate has no
    /// texts, and a part differs from the whole by what only the whole has: there, nothing is
    /// guarded.
    pub(crate) fn guard(
        &self,
        py: Python<'_>,
        params: &nearkin::Params,
        documents: &Documents<'_>,
    ) -> PyResult<Guard> {
        let given = self.guard.as_deref().map(|name| engine(py, || name.parse())).transpose()?;
        let why = match documents {
            _ if self.asked == Deciding::Estimate => "estimate=True",
            Documents::Signatures(_) => "signatures",
            _ if self.contained.is_some() => "contained=",
            Documents::Items(_) => "sets",
            Documents::Texts(_) => return Ok(given.unwrap_or_else(|| Guard::for_params(params))),
        };
        match given {
            None | Some(Guard::None) => Ok(Guard::None),
            Some(_) => {
                Err(InvalidError::new_err(format!("guard= does nothing with {why}: leave it out")))
            }
        }
    }
}
