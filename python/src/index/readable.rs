//! `nearkin.Readable`: the read-only methods; the base class of Index, Reader and Snapshot.

use std::path::PathBuf;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::columns::documents::{Documents, Sketching};
use crate::columns::keys::{KeyType, key_bytes};
use crate::error::{engine, from_engine_by_key, raise, unlocked};
use crate::index::handle::{Handle, InUse};
use crate::index::reader_state::ReaderState;
use crate::options::Threads;
use crate::progress::{Tick, callback, run, run_here};
use crate::search::answers::{Answer, Document};
use crate::search::conditions::{Conditions, OF_A_SEARCH};
use crate::search::queries::query_many;
use crate::sketch::params::Params;
use crate::sketch::signature::Signature;
use crate::sketch::sketcher::{Sketcher, one_document};
use crate::tables::streams::{ClustersSource, KeysSource, PairsSource};
use crate::tables::table::{Stream, Table, converted};

/// The object that provides snapshots.
pub(crate) enum Source {
    Writer(Handle<nearkin::Index>),
    Reader(Box<ReaderState>),
    Frozen(nearkin::Snapshot),
}

/// Read-only methods of :class:`Index`, :class:`Reader` and :class:`Snapshot`.
///
/// Every search takes these ``conditions``, by keyword; ``None`` is none:
///
/// - ``threshold``: the least similarity, 0 to 1. Default: that of the index; 0 with ``contained``.
/// - ``contained``: the larger of the two documents contains at least this fraction of the smaller
///   one, 0 to 1.
/// - ``limit``: the most results.
/// - ``max_candidates``: the most candidates compared for each document asked for. If there are
///   more, :attr:`Answer.complete` is false. Not for pairs and clusters.
/// - ``for_verification``: searches from three standard errors below these minima, for a caller
///   that compares the documents afterwards (:func:`nearkin.shards.compare`).
/// - ``prefix``: only documents whose keys begin with it (``str`` or ``bytes``).
/// - ``after``, ``before``: only documents inserted or last replaced at this time or later, or
///   before this time (a ``datetime``, or milliseconds since 1970).
/// - ``filter``: a function that gets a :class:`DocumentView` (key, payload, time) and returns
///   whether the document may be in the answer. It is called on the thread of the search, without
///   a lock. An exception of it ends the search.
/// - ``deadline``: the most time, from the call on: seconds, or a ``timedelta``. A query then
///   returns what it found, and :attr:`Answer.complete` is false; a search that returns a table or
///   a stream raises ``CancelledError``.
#[pyclass(subclass, frozen, module = "nearkin")]
pub(crate) struct Readable {
    pub(crate) source: Source,
    pub(crate) path: PathBuf,
    pub(crate) params: nearkin::Params,
    pub(crate) sketcher: nearkin::Sketcher,
    pub(crate) keys: KeyType,
    pub(crate) threads: Option<Threads>,
    process: u32,
}

impl Drop for Readable {
    fn drop(&mut self) {
        if self.process == std::process::id() {
            return;
        }
        // In a forked child, the snapshot is leaked and not closed: its locks belong to the parent.
        if let Source::Frozen(snapshot) = &self.source {
            std::mem::forget(snapshot.clone());
        }
    }
}

impl Readable {
    pub(crate) fn new(
        source: Source,
        path: PathBuf,
        params: &nearkin::Params,
        keys: KeyType,
        threads: Option<Threads>,
    ) -> Self {
        let sketcher = nearkin::Sketcher::new(params);
        let params = params.clone();
        Self { source, path, params, sketcher, keys, threads, process: std::process::id() }
    }

    /// The writer. Fails with `ClosedError` if it was closed, or in a forked child.
    pub(crate) fn writer(&self, py: Python<'_>) -> PyResult<InUse<nearkin::Index>> {
        match &self.source {
            Source::Writer(index) => index.get(py),
            _ => Err(PyTypeError::new_err("opened for reading only")),
        }
    }

    pub(crate) fn snapshot_now(&self, py: Python<'_>) -> PyResult<nearkin::Snapshot> {
        match &self.source {
            Source::Writer(_) => self.writer(py).map(|index| index.snapshot()),
            Source::Reader(state) => state.snapshot(py, &self.path),
            Source::Frozen(snapshot) => Ok(snapshot.clone()),
        }
    }

    pub(crate) fn check_of_documents(&self, py: Python<'_>) -> PyResult<()> {
        match self.params.passages() {
            None => Ok(()),
            Some(windows) => Err(raise(
                py,
                "InvalidError",
                &format!("the index is of passages ({windows}): open it as PassageIndex"),
            )),
        }
    }

    /// The conditions of a search of this index.
    fn conditions(
        &self,
        py: Python<'_>,
        method: &str,
        given: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Conditions> {
        Conditions::new(py, method, OF_A_SEARCH, self.keys, given)
    }

    /// The signature of one document that was passed to a query or a write.
    pub(crate) fn sketched(
        &self,
        py: Python<'_>,
        document: &Bound<'_, PyAny>,
    ) -> PyResult<nearkin::Signature> {
        one_document(py, &self.sketcher, &self.params, document)
    }
}

#[pymethods]
impl Readable {
    /// The folder of the index.
    #[getter]
    fn path(&self) -> PathBuf {
        self.path.clone()
    }

    /// The parameters of the index.
    #[getter]
    fn params(&self) -> Params {
        Params::from_inner(self.params.clone())
    }

    /// A sketcher with the parameters of this index.
    #[getter]
    fn sketcher(&self) -> Sketcher {
        Sketcher {
            params: self.params.clone(),
            inner: self.sketcher.clone(),
            threads: self.threads,
        }
    }

    /// Number of the last visible change.
    #[getter]
    fn change(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(self.snapshot_now(py)?.change())
    }

    /// A frozen view: later writes do not change its answers. Cheap to take.
    fn snapshot(&self, py: Python<'_>) -> PyResult<Py<Snapshot>> {
        let snapshot = self.snapshot_now(py)?;
        let source = Source::Frozen(snapshot);
        let base = Self::new(source, self.path.clone(), &self.params, self.keys, self.threads);
        Py::new(py, PyClassInitializer::from(base).add_subclass(Snapshot {}))
    }

    /// Number of documents. Takes constant time.
    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        let count = self.snapshot_now(py)?.len();
        usize::try_from(count).map_err(|_| raise(py, "InvalidError", "more than len() can say"))
    }

    #[expect(clippy::unused_self, reason = "a method of Python")]
    fn __bool__(&self) -> bool {
        // An index is true even without documents, because `if index:` is a test for `None`.
        true
    }

    fn __contains__(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        let (key, snapshot) = (key_bytes(key)?, self.snapshot_now(py)?);
        engine(py, || snapshot.contains(key))
    }

    /// The document with this key, or ``default``.
    #[pyo3(signature = (key, default=None))]
    fn get<'py>(
        &self,
        py: Python<'py>,
        key: &Bound<'py, PyAny>,
        default: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (bytes, snapshot) = (key_bytes(key)?, self.snapshot_now(py)?);
        match engine(py, || snapshot.get(bytes))? {
            Some(inner) => {
                let (params, keys) = (self.params.clone(), self.keys);
                Ok(Document { inner, params, keys }.into_pyobject(py)?.into_any())
            }
            None => Ok(default.unwrap_or_else(|| py.None().into_bound(py))),
        }
    }

    fn __getitem__<'py>(
        &self,
        py: Python<'py>,
        key: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let found = self.get(py, key, None)?;
        if found.is_none() {
            let message = format!("no document has the key {}", key.repr()?);
            return Err(raise(py, "MissingKeyError", &message));
        }
        Ok(found)
    }

    /// The signature of the document with this key, or ``None``.
    fn signature(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<Option<Signature>> {
        let (key, snapshot) = (key_bytes(key)?, self.snapshot_now(py)?);
        let found = engine(py, || snapshot.signature(key))?;
        Ok(found.map(|inner| Signature { params: self.params.clone(), inner }))
    }

    /// Iterates over the keys that start with ``prefix``, in no particular order, in a snapshot of
    /// the index. Scans all keys.
    #[pyo3(signature = (prefix=None))]
    fn keys(&self, py: Python<'_>, prefix: Option<Bound<'_, PyAny>>) -> PyResult<KeysSource> {
        let prefix = prefix.map(|prefix| key_bytes(&prefix)).transpose()?.unwrap_or_default();
        Ok(KeysSource::start(self.snapshot_now(py)?, prefix, self.keys))
    }

    fn __iter__(&self, py: Python<'_>) -> PyResult<KeysSource> {
        self.keys(py, None)
    }

    /// The documents similar to a text (or to a set of items, or a :class:`Signature`), most
    /// similar first. ``conditions``: see :class:`Readable`, for all searches.
    #[pyo3(signature = (document, **conditions))]
    fn query(
        &self,
        py: Python<'_>,
        document: &Bound<'_, PyAny>,
        conditions: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Answer> {
        let conditions = self.conditions(py, "query", conditions)?;
        let signature = self.sketched(py, document)?;
        let snapshot = self.snapshot_now(py)?;
        let answer = engine(py, || snapshot.query(&signature).conditions(conditions.engine).run())?;
        Ok(Answer::new(answer, self.keys))
    }

    /// The documents similar to the stored document with this key, without that document.
    #[pyo3(signature = (key, **conditions))]
    fn query_key(
        &self,
        py: Python<'_>,
        key: &Bound<'_, PyAny>,
        conditions: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Answer> {
        let conditions = self.conditions(py, "query_key", conditions)?;
        let (key, snapshot) = (key_bytes(key)?, self.snapshot_now(py)?);
        let answer = unlocked(py, || snapshot.query_key(&key).conditions(conditions.engine).run())?;
        let answer = answer.map_err(|error| from_engine_by_key(py, &error))?;
        Ok(Answer::new(answer, self.keys))
    }

    /// The documents similar to any of the stored documents with these keys, without those
    /// documents. A match has the highest of its similarities to them.
    #[pyo3(signature = (keys, **conditions))]
    fn query_keys(
        &self,
        py: Python<'_>,
        keys: Vec<Bound<'_, PyAny>>,
        conditions: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Answer> {
        let conditions = self.conditions(py, "query_keys", conditions)?;
        let key = |(row, key): (usize, &Bound<'_, PyAny>)| {
            let named = |error: PyErr| {
                let message = format!("keys[{row}]: {}", error.value(py));
                PyErr::from_type(error.get_type(py), message)
            };
            key_bytes(key).map_err(named)
        };
        let keys = keys.iter().enumerate().map(key).collect::<PyResult<Vec<_>>>()?;
        let snapshot = self.snapshot_now(py)?;
        let answer =
            unlocked(py, || snapshot.query_keys(&keys).conditions(conditions.engine).run())?;
        let answer = answer.map_err(|error| from_engine_by_key(py, &error))?;
        Ok(Answer::new(answer, self.keys))
    }

    /// The documents similar to each document of a column. Returns a :class:`Table` with one row
    /// per match: the number of the document, the key and the similarity. ``contained`` adds a
    /// column with the containment, ``payloads`` one with the payload. With ``filter``, the search
    /// uses one thread.
    #[pyo3(signature = (documents, *, payloads=false, progress=None, threads=None,
        **conditions))]
    fn query_many<'py>(
        &self,
        py: Python<'py>,
        documents: &Bound<'py, PyAny>,
        payloads: bool,
        progress: Option<Bound<'py, PyAny>>,
        threads: Option<Threads>,
        conditions: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Table> {
        let conditions = self.conditions(py, "query_many", conditions)?;
        let documents = Documents::new(documents, &self.params)?;
        let snapshot = self.snapshot_now(py)?;
        let progress = callback(py, progress, "query_many")?;
        let threads = crate::parallel::threads(threads.or(self.threads));
        let progress = progress.as_ref();
        let how = Sketching { sketcher: &self.sketcher, threads, progress };
        query_many(py, self.keys, &snapshot, &documents, &conditions, payloads, how)
    }

    /// In a passage index: the texts that contain parts of this text. See
    /// :meth:`PassageIndex.query`.
    #[pyo3(signature = (text, **conditions))]
    fn query_passages(
        &self,
        py: Python<'_>,
        text: &str,
        conditions: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<crate::search::quotations::Passages> {
        let conditions = self.conditions(py, "query_passages", conditions)?;
        let snapshot = self.snapshot_now(py)?;
        let view = engine(py, || nearkin::passages::PassageView::new(&snapshot))?;
        crate::search::quotations::ask(py, &view, text, self.keys, conditions)
    }

    /// All pairs of similar documents that pass the conditions. Returns a :class:`Stream` with the
    /// columns a, b and similarity, and contained if ``contained`` is given. The ``deadline``
    /// includes the time until the stream is read.
    #[pyo3(signature = (threshold=None, **conditions))]
    fn pairs(
        &self,
        py: Python<'_>,
        threshold: Option<f64>,
        conditions: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Stream> {
        let conditions = self.conditions(py, "pairs", conditions)?.with_threshold(threshold);
        self.check_of_documents(py)?;
        let snapshot = self.snapshot_now(py)?;
        let is_contained = conditions.is_contained;
        let pairs = engine(py, || snapshot.pairs(conditions.engine))?;
        Ok(Stream::new(Box::new(PairsSource::new(pairs, self.keys, is_contained))))
    }

    fn _repr_html_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        converted(slf, "readable_to_html")
    }

    /// The clusters of documents linked by pairs of similar documents that pass the conditions. The
    /// ``limit`` keeps the clusters with the smallest keys. Returns a :class:`Stream` with one row
    /// per member: cluster, key, size of the cluster, time.
    #[pyo3(signature = (threshold=None, *, progress=None, **conditions))]
    fn clusters(
        &self,
        py: Python<'_>,
        threshold: Option<f64>,
        progress: Option<Bound<'_, PyAny>>,
        conditions: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Stream> {
        let conditions = self.conditions(py, "clusters", conditions)?.with_threshold(threshold);
        self.check_of_documents(py)?;
        let snapshot = self.snapshot_now(py)?;
        let callback = crate::progress::callback(py, progress, "clusters")?;
        let has_filter = conditions.has_filter;
        let find = move |tick: Tick<'_>| snapshot.clusters_with(conditions.engine, tick);
        let clusters = if has_filter {
            run_here(py, callback.as_ref(), find)?
        } else {
            run(py, callback.as_ref(), find)?
        };
        Ok(Stream::new(Box::new(ClustersSource::new(clusters, self.keys))))
    }
}

/// A frozen view of an index: later writes do not change its answers.
#[pyclass(extends = Readable, frozen, module = "nearkin")]
pub(crate) struct Snapshot {}

#[pymethods]
impl Snapshot {
    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        let (py, base) = (slf.py(), slf.as_super().get());
        let snapshot = base.snapshot_now(py)?;
        let (count, change) = (snapshot.len(), snapshot.change());
        Ok(format!("Snapshot('{}', {count} documents, change {change})", base.path.display()))
    }
}
