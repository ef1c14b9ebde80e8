//! `nearkin.Sketcher`: turns documents into signatures.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple};

use crate::columns::column::{Column, Role};
use crate::columns::documents::{Documents, Sketching};
use crate::columns::items::{Items, read_one};
use crate::columns::keys::whole;
use crate::error::{engine, from_engine};
use crate::options::Threads;
use crate::parallel::threads;
use crate::progress::callback;
use crate::sketch::params::Params;
use crate::sketch::signature::Signature;
use crate::sketch::signatures::{Flat, Signatures, SignaturesBuilder};

/// Makes signatures: pure, thread-safe, picklable. ``threads`` is the number of threads that sketch
/// a column (default: one per processor).
///
/// >>> import nearkin as nk
/// >>> s = nk.Sketcher(nk.Params(shingles="words:2"))
/// >>> s.texts([f"one two {n}" for n in range(2)])
/// Signatures(2 rows, hashes=128)
#[pyclass(frozen, module = "nearkin")]
#[derive(Debug, Clone)]
pub(crate) struct Sketcher {
    pub(crate) params: nearkin::Params,
    pub(crate) inner: nearkin::Sketcher,
    pub(crate) threads: Option<Threads>,
}

impl Sketcher {
    fn signatures<'py>(
        &self,
        py: Python<'py>,
        documents: &Documents<'py>,
        progress: Option<Bound<'py, PyAny>>,
        given: Option<Threads>,
    ) -> PyResult<Signatures> {
        let threads = threads(given.or(self.threads));
        let progress = callback(py, progress, "sketch")?;
        let how = Sketching { sketcher: &self.inner, threads, progress: progress.as_ref() };
        let mut builder = SignaturesBuilder::new(&self.params, documents.len());
        documents.sketch::<Flat>(py, how, |_, parts| {
            for part in &parts {
                builder.append(part);
            }
            Ok(())
        })?;
        Ok(builder.finish())
    }
}

/// The signature of one document: a text, a set of items, or a signature, as the parameters
/// require.
pub(crate) fn one_document(
    py: Python<'_>,
    sketcher: &nearkin::Sketcher,
    params: &nearkin::Params,
    document: &Bound<'_, PyAny>,
) -> PyResult<nearkin::Signature> {
    if let Ok(signature) = document.cast::<Signature>() {
        return Ok(signature.get().inner.clone());
    }
    if params.shingles() == nearkin::Shingles::Items {
        let sets = read_one(document, sketcher)?;
        let made = engine(py, || sets.members(0).map(|items| sketcher.items(items)).transpose())?;
        return made.ok_or_else(|| crate::error::raise(py, "InvalidError", "no document: None"));
    }
    let text = document.cast::<PyString>().map_err(|_| {
        let found = document.get_type().name().map_or_else(|_| "?".into(), |name| name.to_string());
        PyTypeError::new_err(format!("a document must be str, or a Signature, not {found}"))
    })?;
    let text = whole(text.clone())?;
    let text = text.to_str()?;
    engine(py, || sketcher.text(text))
}

#[pymethods]
impl Sketcher {
    #[new]
    #[pyo3(signature = (params, *, threads=None))]
    fn new(params: &Bound<'_, Params>, threads: Option<Threads>) -> Self {
        let params = params.get().inner.clone();
        Self { inner: nearkin::Sketcher::new(&params), params, threads }
    }

    /// The parameters.
    #[getter]
    fn params(&self) -> Params {
        Params::from_inner(self.params.clone())
    }

    /// The signature of one text. ``EmptyError`` if it is blank.
    fn text(&self, py: Python<'_>, text: Bound<'_, PyString>) -> PyResult<Signature> {
        let text = whole(text)?;
        let text = text.to_str()?;
        let inner = engine(py, || self.inner.text(text))?;
        Ok(Signature { params: self.params.clone(), inner })
    }

    /// The signature of one set of ``str``, ``bytes`` or ``int``. 1 and "1" are the same item.
    fn set(&self, py: Python<'_>, items: &Bound<'_, PyAny>) -> PyResult<Signature> {
        if self.params.shingles() != nearkin::Shingles::Items {
            let refused = self.inner.items(std::iter::empty::<&str>());
            return Err(refused.map_or_else(
                |error| from_engine(py, &error),
                |_| crate::error::raise(py, "InvalidError", "the parameters are not for items"),
            ));
        }
        let inner = one_document(py, &self.inner, &self.params, items)?;
        Ok(Signature { params: self.params.clone(), inner })
    }

    /// The signatures of a column of texts: list, tuple, Arrow, pandas, polars or numpy.
    #[pyo3(signature = (texts, *, progress=None, threads=None))]
    fn texts<'py>(
        &self,
        py: Python<'py>,
        texts: &Bound<'py, PyAny>,
        progress: Option<Bound<'py, PyAny>>,
        threads: Option<Threads>,
    ) -> PyResult<Signatures> {
        let documents = Documents::Texts(Column::new(texts, Role::Texts)?);
        self.signatures(py, &documents, progress, threads)
    }

    /// The signatures of a column of sets: lists of ``str``, ``bytes`` or ``int``, or Arrow lists.
    #[pyo3(signature = (items, *, progress=None, threads=None))]
    fn items<'py>(
        &self,
        py: Python<'py>,
        items: &Bound<'py, PyAny>,
        progress: Option<Bound<'py, PyAny>>,
        threads: Option<Threads>,
    ) -> PyResult<Signatures> {
        self.signatures(py, &Documents::Items(Items::new(items)?), progress, threads)
    }

    fn __reduce__<'py>(
        slf: &Bound<'py, Self>,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let py = slf.py();
        let arguments = (slf.get().params(),).into_pyobject(py)?;
        Ok((slf.get_type().into_any(), arguments))
    }

    fn __repr__(&self) -> String {
        format!("Sketcher({})", self.params().__repr__())
    }
}
