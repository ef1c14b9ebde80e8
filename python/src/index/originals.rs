//! The documents of an index, which a function of the caller returns by their keys.

use std::ops::Range;

use nearkin::{Admission, Error, ErrorKind, Guard, Newcomer, Original, Params, Sketcher};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString};

use crate::called::call;
use crate::columns::documents::Documents;
use crate::columns::keys::KeyType;
use crate::error::{InvalidError, engine, raise};

/// The documents of an index, by key.
pub(crate) struct Originals {
    /// Called with a key; returns the document (a text or items), or `None`.
    fetch: Py<PyAny>,
    keys: KeyType,
    params: Params,
    sketcher: Sketcher,
    /// What may set a row apart from such a document.
    pub(crate) guard: Guard,
    /// Whether to warn of what the guard keeps.
    pub(crate) warns: bool,
}

impl Originals {
    pub(crate) fn new(fetch: Py<PyAny>, keys: KeyType, params: &Params) -> Self {
        let (params, sketcher) = (params.clone(), Sketcher::new(params));
        Self { fetch, keys, params, sketcher, guard: Guard::None, warns: false }
    }

    /// Texts have their details, which can set them apart. Warns of what is kept, unless the guard
    /// was asked for.
    pub(crate) fn guarded(self, guard: Guard, is_asked_for: bool) -> Self {
        Self { guard, warns: !is_asked_for, ..self }
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
            Error::other("the function raised an exception")
        })
    }

    /// Admits newcomers by exact comparison. An exception of the function is raised again.
    pub(crate) fn admit(
        &self,
        py: Python<'_>,
        index: &nearkin::Index,
        newcomers: &[Newcomer<'_>],
        admit: &nearkin::Admit<'_>,
        named: &(dyn Fn(Error) -> Error + Sync),
    ) -> PyResult<Vec<Admission>> {
        let mut raised = None;
        let admitted = engine(py, || {
            let mut fetch = |key: &[u8]| Python::attach(|py| self.fetch(py, key, &mut raised));
            index.admit_verified(newcomers, &mut admit.clone().verify(&mut fetch)).map_err(named)
        });
        raised.map_or(admitted, Err)
    }

    fn fetched(&self, py: Python<'_>, key: &[u8]) -> PyResult<Option<Original>> {
        let document = call(self.fetch.bind(py), (self.keys.show(py, key)?,))?;
        let of_text = match self.guard {
            Guard::None => Sketcher::original_text,
            _ => Sketcher::detailed_text,
        };
        original(py, &document, (&self.sketcher, of_text), &self.params)
    }
}

/// The exact Jaccard similarity of two texts, by their shingles (``params`` says which), or of two
/// sets of items.
///
/// >>> import nearkin as nk
/// >>> nk.similarity("one two three four", "one two three five", nk.Params(shingles="words:1"))
/// 0.6
#[pyfunction]
#[pyo3(signature = (a, b, params=None))]
pub(crate) fn similarity(
    py: Python<'_>,
    a: &Bound<'_, PyAny>,
    b: &Bound<'_, PyAny>,
    params: Option<&Bound<'_, crate::sketch::params::Params>>,
) -> PyResult<f64> {
    let usual = nearkin::Params::for_threshold(0.7);
    let params = match params {
        Some(params) => params.get().inner.clone(),
        None if a.is_instance_of::<PyString>() => engine(py, || usual.build())?,
        None => engine(py, || usual.shingles(nearkin::Shingles::Items).build())?,
    };
    let sketcher = Sketcher::new(&params);
    let made = |document| original(py, document, (&sketcher, Sketcher::original_text), &params);
    match (made(a)?, made(b)?) {
        (Some(a), Some(b)) => Ok(a.similarity(&b)),
        _ => Err(raise(py, "EmptyError", "a document without content is like no other")),
    }
}

/// The original of one document, a text or items as the parameters require; `None` if the document
/// is null or has nothing to compare.
fn original(
    py: Python<'_>,
    document: &Bound<'_, PyAny>,
    how: (&Sketcher, OfText),
    params: &Params,
) -> PyResult<Option<Original>> {
    let column = PyList::new(py, [document])?;
    let documents = Documents::new(column.as_any(), params)?;
    with_made(&documents, how, 0..1, |make| engine(py, || make(0)))
}

/// Makes the document of a row for exact comparison; `None` if the row is null or has nothing to
/// compare.
pub(crate) type Make<'a> = dyn Fn(usize) -> nearkin::Result<Option<Original>> + Sync + 'a;

/// Calls `work` with a function that makes the documents of `rows`; row 0 is the first of them.
pub(crate) fn with_originals<R>(
    documents: &Documents<'_>,
    sketcher: &Sketcher,
    rows: Range<usize>,
    work: impl FnOnce(&Make<'_>) -> PyResult<R>,
) -> PyResult<R> {
    with_made(documents, (sketcher, Sketcher::original_text), rows, work)
}

/// Like [`with_originals`], for all rows. Texts have their details, which can set them apart.
pub(crate) fn with_detailed<R>(
    documents: &Documents<'_>,
    sketcher: &Sketcher,
    work: impl FnOnce(&Make<'_>) -> PyResult<R>,
) -> PyResult<R> {
    with_made(documents, (sketcher, Sketcher::detailed_text), 0..documents.len(), work)
}

/// Makes a document of a text.
type OfText = fn(&Sketcher, &str) -> nearkin::Result<Original>;

fn with_made<R>(
    documents: &Documents<'_>,
    (sketcher, of_text): (&Sketcher, OfText),
    rows: Range<usize>,
    work: impl FnOnce(&Make<'_>) -> PyResult<R>,
) -> PyResult<R> {
    match documents {
        Documents::Texts(column) => {
            let held = column.hold(rows.clone())?;
            let texts = held.texts(rows.start)?;
            work(&|row| match texts.get(row).copied().flatten() {
                Some(text) => not_empty(of_text(sketcher, text)),
                None => Ok(None),
            })
        }
        Documents::Items(items) => {
            let sets = items.read(rows, sketcher)?;
            work(&|row| match sets.members(row) {
                Some(set) => not_empty(sketcher.original_items(set)),
                None => Ok(None),
            })
        }
        Documents::Signatures(_) => {
            Err(InvalidError::new_err("exact needs the documents, not their signatures"))
        }
    }
}

/// `None` for a document with nothing to compare.
fn not_empty(made: nearkin::Result<Original>) -> nearkin::Result<Option<Original>> {
    match made {
        Ok(original) => Ok(Some(original)),
        Err(error) if error.kind() == ErrorKind::Empty => Ok(None),
        Err(error) => Err(error),
    }
}
