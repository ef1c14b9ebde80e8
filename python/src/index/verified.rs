//! Admits documents by exact comparison: a Python function returns the stored documents.

use nearkin::{Admission, Error, Newcomer, Original};
use pyo3::prelude::*;

use crate::columns::documents::Documents;
use crate::error::{InvalidError, engine};
use crate::index::originals::{not_empty, original};
use crate::index::readable::Readable;

/// The function that returns the document of a key, or None.
pub(crate) struct Fetch<'a> {
    readable: &'a Readable,
    function: &'a Py<PyAny>,
}

impl<'a> Fetch<'a> {
    pub(crate) fn new(readable: &'a Readable, function: &'a Py<PyAny>) -> Self {
        Self { readable, function }
    }

    /// Admits newcomers. An exception of the function is raised again.
    pub(crate) fn admit(
        &self,
        py: Python<'_>,
        index: &nearkin::Index,
        newcomers: &[Newcomer<'_>],
        admit: &nearkin::Admit<'_>,
    ) -> PyResult<Vec<Admission>> {
        let mut raised = None;
        let admitted = engine(py, || {
            let mut fetch = |key: &[u8]| {
                Python::attach(|py| {
                    self.call(py, key).map_err(|error| {
                        raised = Some(error);
                        Error::other("the function raised an exception")
                    })
                })
            };
            index.admit_verified(newcomers, &mut admit.clone().verify(&mut fetch))
        });
        match raised {
            Some(error) => Err(error),
            None => admitted,
        }
    }

    fn call(&self, py: Python<'_>, key: &[u8]) -> PyResult<Option<Original>> {
        let key = self.readable.keys.show(py, key)?;
        let document = self.function.bind(py).call1((key,))?;
        let Readable { sketcher, params, .. } = self.readable;
        original(py, &document, sketcher, params)
    }
}

/// The documents of some rows, for exact comparison; `None` if a row is null or has nothing to
/// compare.
pub(crate) fn originals(
    py: Python<'_>,
    documents: &Documents<'_>,
    sketcher: &nearkin::Sketcher,
    rows: std::ops::Range<usize>,
) -> PyResult<Vec<Option<Original>>> {
    let count = rows.len();
    match documents {
        Documents::Texts(column) => {
            let held = column.hold(rows.clone())?;
            let texts = held.texts(rows.start)?;
            let make = |row: usize| match texts.get(row).copied().flatten() {
                Some(text) => not_empty(sketcher.original_text(text)),
                None => Ok(None),
            };
            engine(py, || (0..count).map(make).collect())
        }
        Documents::Items(items) => {
            let sets = items.read(rows, sketcher)?;
            let make = |row: usize| match sets.members(row) {
                Some(set) => not_empty(sketcher.original_items(set)),
                None => Ok(None),
            };
            engine(py, || (0..count).map(make).collect())
        }
        Documents::Signatures(_) => {
            Err(InvalidError::new_err("exact needs the documents, not their signatures"))
        }
    }
}
