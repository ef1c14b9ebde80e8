//! Results of operations as named tuples of `nearkin._types`.

use nearkin::{Outcome, Stats, Verification};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::error::message_of;
use crate::search::answers::json_of;

fn class<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    py.import("nearkin._types")?.getattr(name)
}

/// Converts to a `nearkin.Stats`.
pub(crate) fn stats<'py>(py: Python<'py>, stats: &Stats) -> PyResult<Bound<'py, PyAny>> {
    let fields = py.import("json")?.call_method1("loads", (json_of(py, stats)?,))?;
    class(py, "Stats")?.call((), Some(fields.cast::<PyDict>()?))
}

/// Converts to a `nearkin.Verification`.
pub(crate) fn verification<'py>(
    py: Python<'py>,
    found: &Verification,
) -> PyResult<Bound<'py, PyAny>> {
    let problems: Vec<String> = found.problems.iter().map(message_of).collect();
    class(py, "Verification")?.call1((found.documents, problems))
}

/// Counts of the outcomes of `add`, by row.
#[derive(Debug, Default)]
pub(crate) struct Added {
    pub(crate) inserted: u64,
    pub(crate) replaced: u64,
    pub(crate) unchanged: u64,
    pub(crate) superseded: u64,
    pub(crate) empty: Vec<usize>,
    pub(crate) emptied: u64,
}

impl Added {
    /// Counts the outcomes of a batch; `blank` says which of its rows are blank.
    pub(crate) fn count(&mut self, outcomes: &[Outcome], blank: &[bool]) {
        for (outcome, is_blank) in outcomes.iter().zip(blank) {
            match outcome {
                _ if *is_blank => self.emptied += u64::from(*outcome == Outcome::Removed),
                Outcome::Inserted => self.inserted += 1,
                Outcome::Replaced => self.replaced += 1,
                Outcome::Unchanged => self.unchanged += 1,
                _ => self.superseded += 1,
            }
        }
    }

    /// Converts to a `nearkin.Added`.
    pub(crate) fn into_py(self, py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
        let Self { inserted, replaced, unchanged, superseded, empty, emptied } = self;
        let empty = PyTuple::new(py, empty)?;
        class(py, "Added")?.call1((inserted, replaced, unchanged, superseded, empty, emptied))
    }
}

/// Converts to a `nearkin.Imported`.
pub(crate) fn imported(py: Python<'_>, done: nearkin::Imported) -> PyResult<Bound<'_, PyAny>> {
    class(py, "Imported")?.call1((done.inserted, done.replaced, done.unchanged))
}
