//! `nearkin.Index`: the writer's handle.

use std::path::{Path, PathBuf};

use nearkin::{ErrorKind, Outcome};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::columns::keys::key_bytes;
use crate::error::{engine, raise};
use crate::index::handle::Handle;
use crate::index::originals::Originals;
use crate::index::readable::{Readable, Source};
use crate::index::reports;
use crate::index::writing::{Admitting, Columns, add, admit};
use crate::options::{INDEX_OPTIONS, Opening, Threads, duration, path_of, paths_of};
use crate::progress::run;
use crate::search::conditions::{Conditions, OF_AN_ADMISSION};
use crate::sketch::params::Params;

/// An index opened for reading and writing: a mapping from keys to signatures, on disk. Any number
/// of threads may use it; other processes read it with :class:`Reader`.
///
/// ``Index(path, params)`` opens the index, or creates it if it does not exist; without ``params``
/// it must exist. Keys are ``str`` (``bytes`` with ``keys="bytes"``); an ``int`` is the same key as
/// its decimal digits.
#[pyclass(extends = Readable, frozen, module = "nearkin")]
pub(crate) struct Index {}

/// Whether to open or to create.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum How {
    Open,
    Create,
    Either,
    InMemory,
}

fn opened(
    py: Python<'_>,
    how: How,
    path: PathBuf,
    params: Option<&Bound<'_, Params>>,
    opening: Opening,
) -> PyResult<PyClassInitializer<Index>> {
    let Opening { options, keys, threads } = opening;
    let params = params.map(|params| params.get().inner.clone());
    let at = path.clone();
    let index = run(py, None, move |_| match (&params, how) {
        (Some(params), How::Create) => nearkin::Index::create(&at, params, options),
        (Some(params), How::InMemory) => nearkin::Index::temporary(params, options),
        (Some(params), How::Either) => nearkin::Index::open_or_create(&at, params, options),
        _ => nearkin::Index::open(&at, options),
    })?;
    let params = index.params().clone();
    let source = Source::Writer(Handle::new(index));
    let path = match how {
        How::InMemory => path,
        _ => std::path::absolute(&path).unwrap_or(path),
    };
    let base = Readable::new(source, path, &params, keys, threads);
    Ok(PyClassInitializer::from(base).add_subclass(Index {}))
}

#[pymethods]
impl Index {
    #[new]
    #[pyo3(signature = (path, params=None, **options), text_signature = "(path, params=None, *, \
        durability=None, ttl=None, read_mode=None, memory_bytes=None, memtable_bytes=None, \
        shared=None, lock_wait=None, keys='str', threads=None)")]
    fn new(
        py: Python<'_>,
        #[pyo3(from_py_with = path_of)] path: PathBuf,
        params: Option<&Bound<'_, Params>>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<PyClassInitializer<Self>> {
        let opening = Opening::new("Index", INDEX_OPTIONS, options, &path)?;
        let how = if params.is_some() { How::Either } else { How::Open };
        opened(py, how, path, params, opening)
    }

    /// Opens an existing index.
    #[staticmethod]
    #[pyo3(signature = (path, **options), text_signature = "(path, *, durability=None, ttl=None, \
        read_mode=None, memory_bytes=None, memtable_bytes=None, shared=None, lock_wait=None, \
        keys='str', threads=None)")]
    fn open(
        py: Python<'_>,
        #[pyo3(from_py_with = path_of)] path: PathBuf,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Py<Self>> {
        let opening = Opening::new("open", INDEX_OPTIONS, options, &path)?;
        Py::new(py, opened(py, How::Open, path, None, opening)?)
    }

    /// Makes an index in memory, which leaves nothing behind.
    ///
    /// >>> import nearkin as nk
    /// >>> ix = nk.Index.temporary(nk.Params(threshold=0.7))
    /// >>> _ = ix.insert("a", "the ferry was cancelled on monday")
    /// >>> len(ix)
    /// 1
    #[staticmethod]
    #[pyo3(signature = (params, **options), text_signature = "(params, *, ttl=None, \
        memory_bytes=None, memtable_bytes=None, \
        keys='str', threads=None)")]
    fn temporary(
        py: Python<'_>,
        params: &Bound<'_, Params>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Py<Self>> {
        let path = PathBuf::from("(in memory)");
        let opening = Opening::new("temporary", INDEX_OPTIONS, options, &path)?;
        Py::new(py, opened(py, How::InMemory, path, Some(params), opening)?)
    }

    /// Creates a new index.
    #[staticmethod]
    #[pyo3(signature = (path, params, **options), text_signature = "(path, params, *, \
        durability=None, ttl=None, read_mode=None, memory_bytes=None, memtable_bytes=None, \
        shared=None, lock_wait=None, keys='str', threads=None)")]
    fn create(
        py: Python<'_>,
        #[pyo3(from_py_with = path_of)] path: PathBuf,
        params: &Bound<'_, Params>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Py<Self>> {
        let opening = Opening::new("create", INDEX_OPTIONS, options, &path)?;
        Py::new(py, opened(py, How::Create, path, Some(params), opening)?)
    }

    /// Adds a column of documents with a column of keys. A stored document with one of these keys
    /// is replaced.
    ///
    /// ``documents`` are texts, sets of items (if the parameters say so), or :class:`Signatures`.
    /// ``payloads`` is a column of bytes; where it is null or missing, a stored payload is kept.
    /// ``times`` is a column of datetimes or of milliseconds, or one time for all. The documents
    /// are written in batches, each of them atomic and durable. Null rows are not written. A blank
    /// text or an empty set removes the document stored under its key, which would otherwise be
    /// found by a text that it no longer has. The result lists these rows.
    #[pyo3(signature = (keys, documents, *, payloads=None, times=None, progress=None,
        threads=None))]
    fn add<'py>(
        slf: &Bound<'py, Self>,
        keys: &Bound<'py, PyAny>,
        documents: &Bound<'py, PyAny>,
        payloads: Option<Bound<'py, PyAny>>,
        times: Option<Bound<'py, PyAny>>,
        progress: Option<Bound<'py, PyAny>>,
        threads: Option<Threads>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (py, base) = (slf.py(), slf.as_super().get());
        let columns = Columns::new(base, py, keys, documents, payloads, times)?;
        let callback = crate::progress::callback(py, progress, "add")?;
        let threads = crate::parallel::threads(threads.or(base.threads));
        add(py, base, &columns, callback.as_ref(), threads)?.into_py(py)
    }

    /// Inserts or replaces one document. Returns ``True`` if something was written. Without a
    /// payload, the stored one is kept; ``b""`` clears it.
    #[pyo3(signature = (key, document, *, payload=None, time=None))]
    fn insert(
        slf: &Bound<'_, Self>,
        key: &Bound<'_, PyAny>,
        document: &Bound<'_, PyAny>,
        payload: Option<&[u8]>,
        time: Option<Bound<'_, PyAny>>,
    ) -> PyResult<bool> {
        let (py, base) = (slf.py(), slf.as_super().get());
        base.check_of_documents(py)?;
        let (key, index) = (key_bytes(key)?, base.writer(py)?);
        base.keys.check(py, &key)?;
        let signature = base.sketched(py, document)?;
        let time = time.map(|time| crate::options::ms_of(&time)).transpose()?;
        let edit = crate::index::writing::put(&key, payload, time, Some(&signature));
        let batch: nearkin::Batch = [edit].into_iter().collect();
        let written = engine(py, || index.write(&batch))?;
        Ok(!matches!(written.outcomes.as_slice(), [Outcome::Unchanged]))
    }

    /// Sets the payload of the document with this key and changes nothing else. Returns whether the
    /// document exists.
    fn set_payload(
        slf: &Bound<'_, Self>,
        key: &Bound<'_, PyAny>,
        payload: &[u8],
    ) -> PyResult<bool> {
        let (py, base) = (slf.py(), slf.as_super().get());
        base.check_of_documents(py)?;
        let (key, index) = (key_bytes(key)?, base.writer(py)?);
        Ok(engine(py, || index.set_payload(key, payload))? != Outcome::Missing)
    }

    fn __setitem__(
        slf: &Bound<'_, Self>,
        key: &Bound<'_, PyAny>,
        document: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        Self::insert(slf, key, document, None, None).map(|_| ())
    }

    fn __delitem__(slf: &Bound<'_, Self>, key: &Bound<'_, PyAny>) -> PyResult<()> {
        if Self::discard(slf, key)? {
            return Ok(());
        }
        let message = format!("no document has the key {}", key.repr()?);
        Err(raise(slf.py(), "MissingKeyError", &message))
    }

    /// Removes the document with this key. Returns whether it existed.
    fn discard(slf: &Bound<'_, Self>, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        let (py, base) = (slf.py(), slf.as_super().get());
        base.check_of_documents(py)?;
        let (key, index) = (key_bytes(key)?, base.writer(py)?);
        Ok(engine(py, || index.remove(key))? == Outcome::Removed)
    }

    /// Removes the documents with these keys, in batches. Returns the number of removed documents.
    fn remove<'py>(slf: &Bound<'py, Self>, keys: &Bound<'py, PyAny>) -> PyResult<u64> {
        let (py, base) = (slf.py(), slf.as_super().get());
        base.check_of_documents(py)?;
        crate::index::writing::remove(py, base, keys)
    }

    /// Removes every document whose key starts with ``prefix``. Returns the number of removed
    /// documents. An empty prefix is refused: :meth:`clear` removes all.
    fn remove_prefix(slf: &Bound<'_, Self>, prefix: &Bound<'_, PyAny>) -> PyResult<u64> {
        let (py, base) = (slf.py(), slf.as_super().get());
        base.check_of_documents(py)?;
        let (prefix, index) = (key_bytes(prefix)?, base.writer(py)?.shared());
        run(py, None, move |tick| index.remove_prefix_with(prefix, tick))
    }

    /// Removes every document. Returns the number of removed documents.
    fn clear(slf: &Bound<'_, Self>) -> PyResult<u64> {
        let (py, base) = (slf.py(), slf.as_super().get());
        base.check_of_documents(py)?;
        let index = base.writer(py)?.shared();
        run(py, None, move |tick| index.clear_with(tick))
    }

    /// Removes every document whose time is before ``time``. Returns the number of removed
    /// documents.
    fn remove_before(slf: &Bound<'_, Self>, time: &Bound<'_, PyAny>) -> PyResult<u64> {
        let (py, base) = (slf.py(), slf.as_super().get());
        base.check_of_documents(py)?;
        let (time, index) = (crate::options::ms_of(time)?, base.writer(py)?.shared());
        run(py, None, move |tick| index.remove_before_with(time, tick))
    }

    /// Inserts each document unless it is too similar to a stored one or to an earlier one in the
    /// column. The search and the decision are one atomic step.
    ///
    /// Returns a :class:`Table` with one row per document: key, decision, of_key, similarity.
    /// ``admitted``: the document is stored; ``replaced`` and ``unchanged`` say so, too, and that
    /// its key already had a document. ``of_key`` is the most similar document with a similarity of
    /// at least ``relate``, if any; with ``keep="newest"`` or ``"longest"`` first one of at least
    /// ``reject``, which was removed. ``rejected``: ``of_key`` is the most similar document with a
    /// similarity of at least ``reject``. ``empty``: the document has nothing to compare, and
    /// nothing was written.
    ///
    /// With ``contained``, two documents are duplicates if the larger one contains at least this
    /// fraction of the smaller one, and if their similarity is at least ``reject``, which is then 0
    /// by default. The table has an additional column ``contained``.
    ///
    /// Further ``conditions`` say which stored documents count: those of :class:`Readable`, from
    /// the bound on candidates to ``deadline``. A prefix is
    /// a tenant's part of an index that several share; keys without it are an ``InvalidError``.
    /// After the ``deadline``, ``CancelledError`` is raised; what was decided before stays.
    ///
    /// With ``exact``, a function that returns the stored document of a key (or None), documents
    /// are compared shingle by shingle, and estimates only find candidates: nothing is rejected or
    /// replaced unless it is that similar. The table shows the evidence: ``shared`` shingles out of
    /// ``shingles`` and ``of_shingles``. ``unverified`` counts candidates that the function did not
    /// return, or returned with another text than was indexed: they reject nothing. The function is
    /// called without a lock. If several threads admit, make a document available to it before
    /// admitting it.
    #[pyo3(signature = (keys, documents, *, reject=None, relate=None, keep="first", exact=None,
        payloads=None, times=None, progress=None, threads=None, **conditions))]
    #[expect(clippy::too_many_arguments, reason = "the keywords of Python")]
    fn admit<'py>(
        slf: &Bound<'py, Self>,
        keys: &Bound<'py, PyAny>,
        documents: &Bound<'py, PyAny>,
        reject: Option<f64>,
        relate: Option<f64>,
        keep: &str,
        exact: Option<Py<PyAny>>,
        payloads: Option<Bound<'py, PyAny>>,
        times: Option<Bound<'py, PyAny>>,
        progress: Option<Bound<'py, PyAny>>,
        threads: Option<Threads>,
        conditions: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<crate::tables::table::Table> {
        let (py, base) = (slf.py(), slf.as_super().get());
        let columns = Columns::new(base, py, keys, documents, payloads, times)?;
        let conditions = Conditions::new(py, "admit", OF_AN_ADMISSION, base.keys, conditions)?;
        let admitting = Admitting::new(conditions.with_threshold(reject), relate, keep)?;
        let callback = crate::progress::callback(py, progress, "admit")?;
        let threads = crate::parallel::threads(threads.or(base.threads));
        let fetch = exact.map(|function| Originals::new(function, base.keys, &base.params));
        admit(py, base, &columns, (&admitting, fetch.as_ref()), callback.as_ref(), threads)
    }

    /// Copies every document of another index (a path, or an open index) with its signature. The
    /// parameters must be equal, except for bands and threshold.
    #[pyo3(signature = (other, *, progress=None))]
    fn import_from<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
        progress: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (py, base) = (slf.py(), slf.as_super().get());
        let (from, in_use) = (crate::index::copies::snapshot_of(other)?, base.writer(py)?);
        let index = in_use.shared();
        let callback = crate::progress::callback(py, progress, "import")?;
        let done = run(py, callback.as_ref(), move |tick| index.import_with(&from, tick))?;
        reports::imported(py, done)
    }

    /// Takes files made by :func:`nearkin.shards.seal` into the index, all in one commit. Nothing
    /// is sketched. ``how`` says what happens if a key is already live or occurs in two files:
    /// ``"refuse"`` raises ``ExistsError``, ``"replace"`` keeps the last version. The files
    /// themselves are not removed.
    #[pyo3(signature = (paths, how="refuse"))]
    fn adopt<'py>(
        slf: &Bound<'py, Self>,
        #[pyo3(from_py_with = paths_of)] paths: Vec<PathBuf>,
        how: &str,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (py, index) = (slf.py(), slf.as_super().get().writer(slf.py())?.shared());
        let how = crate::shards::manifest::adopt_of(how)?;
        let done = run(py, None, move |_| index.adopt(&paths, how))?;
        reports::imported(py, done)
    }

    /// Merges everything into one segment without dead documents. Reads and writes continue
    /// meanwhile.
    #[pyo3(signature = (*, progress=None))]
    fn compact<'py>(slf: &Bound<'py, Self>, progress: Option<Bound<'py, PyAny>>) -> PyResult<()> {
        let (py, in_use) = (slf.py(), slf.as_super().get().writer(slf.py())?);
        let index = in_use.shared();
        let callback = crate::progress::callback(py, progress, "compact")?;
        run(py, callback.as_ref(), move |tick| index.compact_with(tick))
    }

    /// Checks everything: all checksums, and all tables against the signatures.
    #[pyo3(signature = (*, progress=None))]
    fn verify<'py>(
        slf: &Bound<'py, Self>,
        progress: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (py, in_use) = (slf.py(), slf.as_super().get().writer(slf.py())?);
        let index = in_use.shared();
        let callback = crate::progress::callback(py, progress, "verify")?;
        let found = run(py, callback.as_ref(), move |tick| index.verify_with(tick))?;
        reports::verification(py, &found)
    }

    /// Makes a copy of the index in a new folder, while reads and writes continue.
    fn backup(
        slf: &Bound<'_, Self>,
        #[pyo3(from_py_with = path_of)] path: PathBuf,
    ) -> PyResult<()> {
        let (py, index) = (slf.py(), slf.as_super().get().writer(slf.py())?.shared());
        run(py, None, move |_| index.backup(&path))
    }

    /// Writes the documents that are in memory to a segment now.
    fn flush(slf: &Bound<'_, Self>) -> PyResult<()> {
        let (py, index) = (slf.py(), slf.as_super().get().writer(slf.py())?.shared());
        run(py, None, move |_| index.flush())
    }

    /// Sees what other processes have written through handles with shared=True. Returns whether
    /// there was anything new.
    fn refresh(slf: &Bound<'_, Self>) -> PyResult<bool> {
        let (py, index) = (slf.py(), slf.as_super().get().writer(slf.py())?.shared());
        run(py, None, move |_| index.refresh())
    }

    /// Refreshes until the change of this number is visible, for at most ``wait`` (seconds or a
    /// timedelta). Returns whether it is.
    fn refresh_until(
        slf: &Bound<'_, Self>,
        change: u64,
        wait: &Bound<'_, PyAny>,
    ) -> PyResult<bool> {
        let (py, index) = (slf.py(), slf.as_super().get().writer(slf.py())?.shared());
        let wait = duration(wait, "wait")?;
        run(py, None, move |_| index.refresh_until(change, wait))
    }

    /// Makes all earlier writes durable. Returns the number of the last durable change. A Reader
    /// that is refreshed afterwards sees them; without it, after about a second.
    fn sync(slf: &Bound<'_, Self>) -> PyResult<u64> {
        let (py, index) = (slf.py(), slf.as_super().get().writer(slf.py())?.shared());
        run(py, None, move |_| index.sync())
    }

    /// The state of the index in numbers.
    fn stats<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let (py, index) = (slf.py(), slf.as_super().get().writer(slf.py())?);
        let stats = engine(py, || index.stats())?;
        reports::stats(py, &stats)
    }

    /// Whether the index is closed.
    #[getter]
    fn closed(slf: &Bound<'_, Self>) -> bool {
        matches!(&slf.as_super().get().source, Source::Writer(index) if index.is_closed())
    }

    /// Closes the index, so that the next open has nothing to replay. Waits for running calls of
    /// other threads. Does nothing if the index is already closed.
    fn close(slf: &Bound<'_, Self>) -> PyResult<()> {
        match &slf.as_super().get().source {
            Source::Writer(index) => index.close(slf.py(), nearkin::Index::close),
            _ => Ok(()),
        }
    }

    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    #[pyo3(signature = (*exception))]
    fn __exit__(slf: &Bound<'_, Self>, exception: &Bound<'_, PyAny>) -> PyResult<()> {
        let _ = exception;
        Self::close(slf)
    }

    fn __reduce__(slf: &Bound<'_, Self>) -> PyResult<()> {
        let path = slf.as_super().get().path.display().to_string();
        Err(PyTypeError::new_err(format!(
            "an Index cannot be pickled, one process writes it: pass nearkin.Reader({path:?})"
        )))
    }

    fn __repr__(slf: &Bound<'_, Self>) -> String {
        let (py, base) = (slf.py(), slf.as_super().get());
        let path = base.path.display();
        match base.snapshot_now(py) {
            Ok(seen) => {
                format!("Index('{path}', {} documents, {})", seen.len(), base.params.shingles())
            }
            Err(_) => format!("Index('{path}', closed)"),
        }
    }
}

/// Whether there is an index in this folder.
#[pyfunction]
pub(crate) fn exists(
    py: Python<'_>,
    #[pyo3(from_py_with = path_of)] path: PathBuf,
) -> PyResult<bool> {
    let look = |path: &Path| match nearkin::Index::exists(path) {
        // The path is a file, or a folder with other content.
        Err(error) if error.kind() == ErrorKind::Invalid => Ok(false),
        looked => looked,
    };
    engine(py, || look(&path))
}
