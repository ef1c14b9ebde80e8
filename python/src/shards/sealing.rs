//! `nearkin.shards.seal`, and the objects that travel between a task and the process that commits.

use std::path::PathBuf;

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};

use crate::error::from_engine;
use crate::index::writing::Columns;
use crate::options::{Threads, path_of};
use crate::progress::run;
use crate::sketch::params::Params;

/// The identity of a sealed file, stored in its header: the id of an index (16 bytes) and the
/// number of the file. :meth:`Shards.ticket` makes one; for :meth:`Index.adopt`, any ticket will
/// do. Picklable.
///
/// >>> from nearkin.shards import Ticket
/// >>> Ticket(bytes(16), 7).number
/// 7
#[pyclass(frozen, eq, hash, module = "nearkin.shards")]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Ticket {
    pub(crate) inner: nearkin::shards::Ticket,
}

#[pymethods]
impl Ticket {
    #[new]
    fn new(py: Python<'_>, uuid: [u8; 16], number: u64) -> PyResult<Self> {
        let inner = nearkin::shards::Ticket::new(uuid, number);
        inner.map(|inner| Self { inner }).map_err(|error| from_engine(py, &error))
    }

    /// The id of the index.
    #[getter]
    fn uuid<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.inner.uuid())
    }

    /// The number of the file.
    #[getter]
    fn number(&self) -> u64 {
        self.inner.number()
    }

    fn __reduce__<'py>(
        slf: &Bound<'py, Self>,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let (py, this) = (slf.py(), slf.get());
        let arguments = (this.uuid(py), this.number());
        Ok((slf.get_type().into_any(), arguments.into_pyobject(py)?))
    }

    fn __repr__(&self) -> String {
        format!("Ticket(number={})", self.inner.number())
    }
}

/// The description of a sealed segment file, as a manifest lists it. A task returns it, as an
/// object or as 72 bytes, to the process that commits. Picklable.
#[pyclass(frozen, eq, module = "nearkin.shards")]
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Sealed {
    pub(crate) inner: nearkin::shards::Sealed,
}

#[pymethods]
impl Sealed {
    /// The inverse of :meth:`to_bytes`.
    #[staticmethod]
    fn from_bytes(py: Python<'_>, data: &[u8]) -> PyResult<Self> {
        let inner = nearkin::shards::Sealed::from_bytes(data);
        inner.map(|inner| Self { inner }).map_err(|error| from_engine(py, &error))
    }

    /// The 72 bytes that a task returns to the process that lists the file.
    fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.inner.to_bytes())
    }

    fn __bytes__<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        self.to_bytes(py)
    }

    /// The number of the file.
    #[getter]
    fn number(&self) -> u64 {
        self.inner.number()
    }

    /// Number of documents in the file.
    #[getter]
    fn documents(&self) -> u64 {
        self.inner.documents()
    }

    /// The length of the file in bytes.
    #[getter]
    fn file_bytes(&self) -> u64 {
        self.inner.file_bytes()
    }

    /// The hash of the end of the file. The end holds the checksums of the whole file.
    #[getter]
    fn file_hash(&self) -> u64 {
        self.inner.hash()
    }

    fn __reduce__<'py>(
        slf: &Bound<'py, Self>,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let py = slf.py();
        Ok((slf.getattr("from_bytes")?, (slf.get().to_bytes(py),).into_pyobject(py)?))
    }

    fn __repr__(&self) -> String {
        let (number, documents) = (self.inner.number(), self.inner.documents());
        format!("Sealed(number={number}, documents={documents})")
    }
}

/// Makes one immutable segment file of documents at ``path``, without an index, a log or a catalog.
/// The same documents, in any order, result in the same bytes at every attempt and on every
/// machine.
///
/// ``documents`` are texts, sets of items (if the parameters say so), or :class:`Signatures`.
/// ``payloads`` is a column of bytes. ``times`` is a column of datetimes or of milliseconds, or one
/// time for all (default: 0, so that the file does not depend on the clock). Raises ``EmptyError``
/// for a document without anything to compare, ``InvalidError`` for a key that occurs twice, and
/// ``ExistsError`` if there is a file at ``path``. Then :meth:`Index.adopt` or :class:`Shards`
/// takes the file into an index.
#[pyfunction]
#[pyo3(signature = (params, keys, documents, ticket, path, *, payloads=None, times=None,
    threads=None))]
#[expect(clippy::too_many_arguments, reason = "the keywords of Python")]
pub(crate) fn seal<'py>(
    py: Python<'py>,
    params: &Bound<'py, Params>,
    keys: &Bound<'py, PyAny>,
    documents: &Bound<'py, PyAny>,
    ticket: &Bound<'py, Ticket>,
    #[pyo3(from_py_with = path_of)] path: PathBuf,
    payloads: Option<Bound<'py, PyAny>>,
    times: Option<Bound<'py, PyAny>>,
    threads: Option<Threads>,
) -> PyResult<Sealed> {
    let params = params.get().inner.clone();
    let columns = Columns::with_params(py, &params, keys, documents, payloads, times)?;
    let made = columns.sealable(py, &params, crate::parallel::threads(threads))?;
    let ticket = ticket.get().inner;
    let inner = run(py, None, move |_| nearkin::shards::seal(&params, made, &ticket, &path))?;
    Ok(Sealed { inner })
}
