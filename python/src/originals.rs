//! The documents of an index, which the caller's function `fetch` returns by their keys.

use nearkin::{Error, Original, Params, Sketcher};
use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::answers::KeyType;
use crate::dedup::not_empty;
use crate::documents::Documents;
use crate::error::from_engine;

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
        let column = PyList::new(py, [document])?;
        let made = match Documents::new(column.as_any(), &self.params)? {
            Documents::Texts(column) => {
                let held = column.hold(0..1)?;
                let text = held.texts(0)?.first().copied().flatten();
                text.map(|text| self.sketcher.original_text(text))
            }
            Documents::Items(items) => {
                let held = items.hold(0..1)?;
                held.sets(0)?.members(0).map(|items| self.sketcher.original_items(items))
            }
            Documents::Signatures(_) => None,
        };
        made.map_or(Ok(None), not_empty).map_err(|error| from_engine(py, &error))
    }
}
