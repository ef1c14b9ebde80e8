//! `nearkin.shards.Shards`, the writer of a sharded index, and `Manifest`, the list of its files.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use nearkin::shards::Adopt;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};

use crate::arrow::{Builder, Field, Kind};
use crate::columns::column::{Column, Role};
use crate::error::{InvalidError, engine, from_engine, raise};
use crate::index::reports;
use crate::lock::lock;
use crate::options::path_of;
use crate::progress::run;
use crate::shards::sealing::{Sealed, Ticket};
use crate::sketch::params::Params;
use crate::tables::table::Table;

/// Parses `how`: what to do with keys that are already live.
pub(crate) fn adopt_of(how: &str) -> PyResult<Adopt> {
    match how {
        "refuse" => Ok(Adopt::Refuse),
        "replace" => Ok(Adopt::Replace),
        other => {
            let message = format!("how must be 'refuse' or 'replace', not {other:?}");
            Err(InvalidError::new_err(message))
        }
    }
}

/// The writer of a sharded index. Tasks seal and place segments; one commit lists them.
/// :class:`nearkin.Reader` reads the index. ``Shards(path)`` opens it at its newest generation.
///
/// There is no lock. If two commits start from the same generation, one fails with
/// ``UnsettledError`` and changes nothing: call :meth:`refresh` and commit again. A ``Shards``
/// object can be pickled; unpickling opens the index again.
#[pyclass(frozen, module = "nearkin.shards")]
pub(crate) struct Shards {
    path: PathBuf,
    /// Shared with operations that go on after their call was interrupted.
    inner: Arc<Mutex<nearkin::shards::Shards>>,
}

impl Shards {
    fn from_inner(path: PathBuf, inner: nearkin::shards::Shards) -> Self {
        let path = std::path::absolute(&path).unwrap_or(path);
        Self { path, inner: Arc::new(Mutex::new(inner)) }
    }

    /// Calls short `work` without the interpreter lock.
    fn with<R: Send>(
        &self,
        py: Python<'_>,
        work: impl Send + FnOnce(&mut nearkin::shards::Shards) -> nearkin::Result<R>,
    ) -> PyResult<R> {
        engine(py, || work(&mut lock(&self.inner)))
    }

    /// Calls `work` that may take long. If a signal handler raises, it goes on by itself.
    fn run<R: Send + 'static>(
        &self,
        py: Python<'_>,
        work: impl Send + 'static + FnOnce(&mut nearkin::shards::Shards) -> nearkin::Result<R>,
    ) -> PyResult<R> {
        let inner = Arc::clone(&self.inner);
        run(py, None, move |_| work(&mut lock(&inner)))
    }
}

#[pymethods]
impl Shards {
    #[new]
    fn new(py: Python<'_>, #[pyo3(from_py_with = path_of)] path: PathBuf) -> PyResult<Self> {
        let at = path.clone();
        let inner = run(py, None, move |_| nearkin::shards::Shards::open(&at))?;
        Ok(Self::from_inner(path, inner))
    }

    /// Creates a sharded index without documents. The number of shards, from 1 to 65,536, is fixed.
    #[staticmethod]
    fn create(
        py: Python<'_>,
        #[pyo3(from_py_with = path_of)] path: PathBuf,
        params: &Bound<'_, Params>,
        shards: u32,
    ) -> PyResult<Self> {
        let (at, params) = (path.clone(), params.get().inner.clone());
        let inner = run(py, None, move |_| nearkin::shards::Shards::create(&at, &params, shards))?;
        Ok(Self::from_inner(path, inner))
    }

    /// Moves on to the newest generation.
    fn refresh(&self, py: Python<'_>) -> PyResult<()> {
        self.run(py, nearkin::shards::Shards::refresh)
    }

    /// The folder of the index.
    #[getter]
    fn path(&self) -> PathBuf {
        self.path.clone()
    }

    /// The parameters of the index.
    #[getter]
    fn params(&self, py: Python<'_>) -> PyResult<Params> {
        self.with(py, |shards| Ok(Params::from_inner(shards.params().clone())))
    }

    /// The number of shards.
    #[getter]
    fn shards(&self, py: Python<'_>) -> PyResult<u32> {
        self.with(py, |shards| Ok(shards.shards()))
    }

    /// The number of the generation that this handle is at.
    #[getter]
    fn generation(&self, py: Python<'_>) -> PyResult<u64> {
        self.with(py, |shards| Ok(shards.generation()))
    }

    /// The note of the last commit that set one.
    #[getter]
    fn note<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let note = self.with(py, |shards| Ok(shards.note().to_vec()))?;
        Ok(PyBytes::new(py, &note))
    }

    /// The ticket of a task. A job draws a random number once, and numbers its tasks. A repeated
    /// attempt of a task gets the same ticket as the first attempt; no other job gets it.
    fn ticket(&self, py: Python<'_>, job: u64, task: u32) -> PyResult<Ticket> {
        let inner = self.with(py, |shards| shards.ticket(job, task))?;
        Ok(Ticket { inner })
    }

    /// Moves a sealed file to its place in the index. It is not read before a commit lists it. If a
    /// second attempt of a task made the same file, the first file is kept and the second is
    /// deleted. A different file with this number is an ``ExistsError``.
    fn place(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = path_of)] path: PathBuf,
        sealed: &Bound<'_, Sealed>,
    ) -> PyResult<()> {
        let sealed = sealed.get().inner;
        self.run(py, move |shards| shards.place(&path, &sealed))
    }

    /// Lists placed segments, given as pairs of (shard, :class:`Sealed`), in one commit. ``how``
    /// says what happens to keys that are already live: ``"refuse"`` (``ExistsError``) or
    /// ``"replace"``. ``note`` is up to 64 KiB of the caller's own data.
    #[pyo3(signature = (segments, how="refuse", note=None))]
    fn append<'py>(
        &self,
        py: Python<'py>,
        segments: Vec<(u32, Bound<'py, Sealed>)>,
        how: &str,
        note: Option<&[u8]>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let how = adopt_of(how)?;
        let segments: Vec<_> =
            segments.iter().map(|(shard, sealed)| (*shard, sealed.get().inner)).collect();
        let note = note.map(<[u8]>::to_vec);
        let done = self.run(py, move |shards| shards.append(&segments, how, note.as_deref()))?;
        reports::imported(py, done)
    }

    /// Removes the documents with these keys in one commit. Returns the number of removed
    /// documents.
    fn remove(&self, py: Python<'_>, keys: &Bound<'_, PyAny>) -> PyResult<u64> {
        let column = Column::new(keys, Role::Keys)?;
        let held = column.hold(0..column.len())?;
        let keys = held.bytes(0)?;
        if let Some(row) = keys.iter().position(Option::is_none) {
            return Err(raise(py, "InvalidError", &format!("keys[{row}] is null")));
        }
        let keys: Vec<Vec<u8>> = keys.into_iter().flatten().map(<[u8]>::to_vec).collect();
        self.run(py, move |shards| shards.remove(&keys))
    }

    /// Merges the segments of a shard into one without dead documents, in one commit. Returns
    /// whether there was anything to merge.
    fn compact(&self, py: Python<'_>, shard: u32) -> PyResult<bool> {
        self.run(py, move |shards| shards.compact(shard))
    }

    /// Deletes files that the newest generation does not list: those of failed tasks, and those of
    /// older generations. Returns the number of deleted files. Call it only while no job is
    /// running.
    fn sweep(&self, py: Python<'_>) -> PyResult<u64> {
        self.run(py, nearkin::shards::Shards::sweep)
    }

    fn __reduce__<'py>(
        slf: &Bound<'py, Self>,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let arguments = (slf.get().path(),).into_pyobject(slf.py())?;
        Ok((slf.get_type().into_any(), arguments))
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let numbers =
            |shards: &mut nearkin::shards::Shards| Ok((shards.shards(), shards.generation()));
        let (count, generation) = self.with(py, numbers)?;
        let path = self.path.display();
        Ok(format!("Shards('{path}', {count} shards, generation {generation})"))
    }
}

const FILES: [Field; 3] = [
    Field::new("path", Kind::Text),
    Field::new("bytes", Kind::Integer),
    Field::new("shard", Kind::Integer),
];

/// One generation of a sharded index, decoded from its manifest. It lists the files that a reader
/// needs. If the index is on storage that is not a file system, fetch these files into a folder,
/// :meth:`check` them, and open the folder.
#[pyclass(frozen, eq, module = "nearkin.shards")]
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Manifest {
    inner: nearkin::shards::Manifest,
}

#[pymethods]
impl Manifest {
    #[new]
    fn new(py: Python<'_>, data: &[u8]) -> PyResult<Self> {
        let inner = nearkin::shards::Manifest::decode(data);
        inner.map(|inner| Self { inner }).map_err(|error| from_engine(py, &error))
    }

    /// The number of the generation.
    #[getter]
    fn generation(&self) -> u64 {
        self.inner.generation()
    }

    /// The number of shards of the index.
    #[getter]
    fn shards(&self) -> u32 {
        self.inner.shards()
    }

    /// The parameters of the index.
    #[getter]
    fn params(&self) -> Params {
        Params::from_inner(self.inner.params().clone())
    }

    /// The note of the last commit that set one.
    #[getter]
    fn note<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.inner.note())
    }

    /// The path of the manifest relative to the folder of the index.
    #[getter]
    fn path(&self) -> PathBuf {
        self.inner.path()
    }

    /// All files that a reader of this generation needs, except the manifest: a :class:`Table` with
    /// the columns path (relative to the folder of the index), bytes and shard.
    fn files(&self) -> Table {
        let mut builder = Builder::new(&FILES);
        for file in self.inner.files() {
            let path = file.path.to_string_lossy();
            builder.row([(&*path).into(), file.bytes.into(), file.shard.into()]);
        }
        Table::new(&FILES, builder.finish())
    }

    /// Reads and checks all files in a folder without mapping them. The error names the first file
    /// that is missing, truncated or damaged, or that belongs to another index.
    fn check(&self, py: Python<'_>, #[pyo3(from_py_with = path_of)] path: PathBuf) -> PyResult<()> {
        let inner = self.inner.clone();
        run(py, None, move |_| inner.check(&path))
    }

    fn __repr__(&self) -> String {
        let (count, generation) = (self.inner.shards(), self.inner.generation());
        format!("Manifest({count} shards, generation {generation})")
    }
}
