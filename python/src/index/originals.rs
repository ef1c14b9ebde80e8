//! The documents of an index, which the caller's function `fetch` returns by their keys.

use nearkin::{Error, ErrorKind, Original, Params, Sketcher};
use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::columns::documents::Documents;
use crate::columns::keys::KeyType;
use crate::error::engine;

/// The documents of an index, by key.
pub(crate) struct Originals {
    /// Called with a key; returns the document (a text or items), or `None`.
    fetch: Py<PyAny>,
    keys: KeyType,
    params: Params,
    sketcher: Sketcher,
}

impl Originals {
    pub(crate) fn new(fetch: Py<PyAny>, keys: KeyType, params: &Params) -> Self {
        Self { fetch, keys, params: params.clone(), sketcher: Sketcher::new(params) }
    }

    /// The document of a key. An exception is stored in `raised`, and ends the caller's call.
    pub(crate) fn fetch(
        &self,
        py: Python<'_>,
        key: &[u8],
        raised: &mut Option<PyErr>,
    ) -> nearkin::Result<Option<Original>> {
        self.fetched(py, key).map_err(|error| {
            *raised = Some(error);
            Error::other("fetch raised an exception")
        })
    }

    fn fetched(&self, py: Python<'_>, key: &[u8]) -> PyResult<Option<Original>> {
        let document = self.fetch.call1(py, (self.keys.show(py, key)?,))?;
        original(py, document.bind(py), &self.sketcher, &self.params)
    }
}

/// The original of one document, a text or items as the parameters require; `None` if the document
/// is null or has nothing to compare.
pub(crate) fn original(
    py: Python<'_>,
    document: &Bound<'_, PyAny>,
    sketcher: &Sketcher,
    params: &Params,
) -> PyResult<Option<Original>> {
    let column = PyList::new(py, [document])?;
    match Documents::new(column.as_any(), params)? {
        Documents::Texts(column) => {
            let held = column.hold(0..1)?;
            let text = held.texts(0)?.first().copied().flatten();
            engine(py, || text.map_or(Ok(None), |text| not_empty(sketcher.original_text(text))))
        }
        Documents::Items(items) => {
            let sets = items.read(0..1, sketcher)?;
            let items = sets.members(0);
            engine(py, || items.map_or(Ok(None), |set| not_empty(sketcher.original_items(set))))
        }
        Documents::Signatures(_) => Ok(None),
    }
}

/// `None` for a document with nothing to compare.
pub(crate) fn not_empty(made: nearkin::Result<Original>) -> nearkin::Result<Option<Original>> {
    match made {
        Ok(original) => Ok(Some(original)),
        Err(error) if error.kind() == ErrorKind::Empty => Ok(None),
        Err(error) => Err(error),
    }
}
