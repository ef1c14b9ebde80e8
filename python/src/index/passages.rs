//! `nearkin.PassageIndex`: finds texts that share quotations.

use std::mem::take;
use std::path::PathBuf;

use nearkin::Outcome;
use nearkin::passages::Prepared;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::columns::column::{Column, Role};
use crate::columns::keys::{KeyType, key_bytes};
use crate::error::{at_row, engine, raise};
use crate::index::handle::Handle;
use crate::index::reports::{self, Added};
use crate::index::writing::HeldRows;
use crate::interrupt::is_interrupted;
use crate::options::{Opening, PASSAGE_OPTIONS, Threads, path_of};
use crate::parallel::in_parts;
use crate::progress::run;
use crate::search::conditions::{Conditions, OF_A_SEARCH};
use crate::search::quotations::{Passages, TextPair, ask};
use crate::sketch::params::Params;

/// Number of texts that are cut into passages at a time.
const TEXTS_HELD: usize = 1_024;
/// Maximum size of a batch in the log, in bytes.
const BATCH_BYTES: usize = 4 << 20;

/// Texts with keys, found by their quotations. A text is cut into passages (see
/// :attr:`Params.passages`). A query finds the texts that contain parts of it, with the places and
/// lengths of these parts.
#[pyclass(frozen, module = "nearkin")]
pub(crate) struct PassageIndex {
    inner: Handle<nearkin::passages::PassageIndex>,
    path: PathBuf,
    params: nearkin::Params,
    keys: KeyType,
    threads: Option<Threads>,
}

#[pymethods]
impl PassageIndex {
    #[new]
    #[pyo3(signature = (path, params=None, **options), text_signature = "(path, params=None, *, \
        durability=None, read_mode=None, memory_bytes=None, memtable_bytes=None, \
        keys='str', threads=None)")]
    fn new(
        py: Python<'_>,
        #[pyo3(from_py_with = path_of)] path: PathBuf,
        params: Option<&Bound<'_, Params>>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let opening = Opening::new("PassageIndex", PASSAGE_OPTIONS, options, &path)?;
        let Opening { options, keys, threads } = opening;
        let params = params.map(|params| params.get().inner.clone());
        let at = path.clone();
        let inner = run(py, None, move |_| {
            let index = match &params {
                // Checks the parameters before any file is created.
                Some(params) => nearkin::passages::PassageCutter::new(params)
                    .and_then(|_| nearkin::Index::open_or_create(&at, params, options)),
                None => nearkin::Index::open(&at, options),
            };
            nearkin::passages::PassageIndex::new(index?)
        })?;
        let params = inner.index().params().clone();
        let path = std::path::absolute(&path).unwrap_or(path);
        Ok(Self { inner: Handle::new(inner), path, params, keys, threads })
    }

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

    /// Inserts a text with all its passages, or replaces the one with this key, as one change.
    /// Returns ``True`` if something was written. Without a payload, the stored one is kept;
    /// ``b""`` clears it.
    #[pyo3(signature = (key, text, *, payload=None))]
    fn insert(
        &self,
        py: Python<'_>,
        key: &Bound<'_, PyAny>,
        text: &str,
        payload: Option<&[u8]>,
    ) -> PyResult<bool> {
        let (key, index) = (key_bytes(key)?, self.inner.get(py)?);
        self.keys.check(py, &key)?;
        let outcome = engine(py, || match payload {
            Some(payload) => index.insert_with_payload(&key, text, payload),
            None => index.insert(&key, text),
        })?;
        Ok(outcome != Outcome::Unchanged)
    }

    /// Sets the payload of the text with this key and leaves its passages unchanged. Returns
    /// whether the text exists.
    fn set_payload(
        &self,
        py: Python<'_>,
        key: &Bound<'_, PyAny>,
        payload: &[u8],
    ) -> PyResult<bool> {
        let (key, index) = (key_bytes(key)?, self.inner.get(py)?);
        Ok(engine(py, || index.set_payload(key, payload))? != Outcome::Missing)
    }

    fn __setitem__(&self, py: Python<'_>, key: &Bound<'_, PyAny>, text: &str) -> PyResult<()> {
        self.insert(py, key, text, None).map(|_| ())
    }

    /// Adds a column of texts with a column of keys, in batches. Where ``payloads`` is null or
    /// missing, a stored payload is kept.
    #[pyo3(signature = (keys, texts, *, payloads=None, progress=None, threads=None))]
    fn add<'py>(
        &self,
        py: Python<'py>,
        keys: &Bound<'py, PyAny>,
        texts: &Bound<'py, PyAny>,
        payloads: Option<Bound<'py, PyAny>>,
        progress: Option<Bound<'py, PyAny>>,
        threads: Option<Threads>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let index = self.inner.get(py)?;
        let (keys, texts) = (Column::new(keys, Role::Keys)?, Column::new(texts, Role::Texts)?);
        texts.check_length(keys.len(), "keys")?;
        let payloads = payloads.map(|column| Column::new(&column, Role::Payloads)).transpose()?;
        if let Some(payloads) = &payloads {
            texts.check_length(payloads.len(), "payloads")?;
        }
        let callback = crate::progress::callback(py, progress, "add")?;
        let threads = crate::parallel::threads(threads.or(self.threads));
        let (count, mut added) = (texts.len(), Added::default());
        for begin in (0..count).step_by(TEXTS_HELD) {
            let rows = begin..count.min(begin + TEXTS_HELD);
            let held = HeldRows::new(&keys, payloads.as_ref(), rows.clone())?;
            let (some_keys, payloads) = held.read(py, self.keys)?;
            let texts_held = texts.hold(rows.clone())?;
            let some_texts = texts_held.texts(begin)?;
            let prepare = |at: usize| {
                let payload = payloads.get(at).copied().flatten();
                let (Some(Some(key)), Some(Some(text))) = (some_keys.get(at), some_texts.get(at))
                else {
                    return Ok(None);
                };
                let named = |error: nearkin::Error| error.of_document(begin + at, count, key);
                prepared(&index, key, text, payload).map_err(named)
            };
            let (empty, emptied) = (&mut added.empty, &mut added.emptied);
            let outcomes = engine(py, || {
                let parts = in_parts(threads, rows.len(), 8, |part| {
                    part.map(prepare).collect::<nearkin::Result<Vec<_>>>()
                });
                let (mut ready, mut numbers) = (Vec::new(), Vec::new());
                let (mut bytes, mut outcomes) = (0, Vec::new());
                let write = |ready: &mut Vec<Prepared>, numbers: &mut Vec<usize>| {
                    let named = |error| at_row(error, &take(numbers), count);
                    index.write(&take(ready)).map_err(named)
                };
                let all = parts.into_iter().collect::<nearkin::Result<Vec<_>>>()?;
                for (one, row) in all.into_iter().flatten().zip(rows.clone()) {
                    if is_interrupted() {
                        return Ok(outcomes);
                    }
                    let Some(one) = one else {
                        empty.push(row);
                        let at = row - begin;
                        // A blank text removes the stored one; a null row does not.
                        if let (Some(Some(key)), Some(Some(_))) =
                            (some_keys.get(at), some_texts.get(at))
                        {
                            outcomes.extend(write(&mut ready, &mut numbers)?);
                            bytes = 0;
                            *emptied += u64::from(index.remove(*key)? == Outcome::Removed);
                        }
                        continue;
                    };
                    bytes += one.wal_bytes();
                    ready.push(one);
                    numbers.push(row);
                    if bytes >= BATCH_BYTES {
                        outcomes.extend(write(&mut ready, &mut numbers)?);
                        bytes = 0;
                    }
                }
                outcomes.extend(write(&mut ready, &mut numbers)?);
                Ok(outcomes)
            })?;
            added.count(&outcomes, &vec![false; outcomes.len()]);
            crate::progress::report(py, callback.as_ref(), rows.end as u64, count as u64)?;
        }
        added.into_py(py)
    }

    fn __delitem__(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<()> {
        if self.discard(py, key)? {
            return Ok(());
        }
        let message = format!("no text has the key {}", key.repr()?);
        Err(raise(py, "MissingKeyError", &message))
    }

    /// Removes the text with this key. Returns whether it existed.
    fn discard(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        let (key, index) = (key_bytes(key)?, self.inner.get(py)?);
        Ok(engine(py, || index.remove(key))? == Outcome::Removed)
    }

    fn __contains__(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        let (key, index) = (key_bytes(key)?, self.inner.get(py)?);
        engine(py, || index.view().contains(key))
    }

    /// Number of texts. Reads every passage.
    fn count(&self, py: Python<'_>) -> PyResult<u64> {
        let view = self.inner.get(py)?.view();
        run(py, None, move |_| view.count_texts())
    }

    /// The texts that contain parts of this one. A passage counts if its similarity is at least
    /// ``threshold`` (default: that of the index). ``limit``, ``prefix``, ``after``, ``before`` and
    /// ``filter`` are about texts. All ``conditions``: see :class:`Readable`.
    #[pyo3(signature = (text, **conditions))]
    fn query(
        &self,
        py: Python<'_>,
        text: &str,
        conditions: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Passages> {
        let conditions = Conditions::new(py, "query", OF_A_SEARCH, self.keys, conditions)?;
        let view = self.inner.get(py)?.view();
        ask(py, &view, text, self.keys, conditions)
    }

    /// All pairs of texts that share a run of words, those of the longest run first. Only for an
    /// index of fingerprints (``Params.preset("quotes")``). ``prefix``, ``after``, ``before``,
    /// ``filter``, ``contained`` (the larger of both shares), ``limit`` and ``deadline`` apply: see
    /// :class:`Readable`. Holds the words of all texts in memory, about 10 bytes a word.
    #[pyo3(signature = (**conditions))]
    fn pairs(
        &self,
        py: Python<'_>,
        conditions: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Vec<TextPair>> {
        let conditions = Conditions::new(py, "pairs", OF_A_SEARCH, self.keys, conditions)?;
        let view = self.inner.get(py)?.view();
        let pairs = run(py, None, move |_| view.pairs(&conditions.engine))?;
        Ok(pairs.into_iter().map(|inner| TextPair { inner, keys: self.keys }).collect())
    }

    /// Groups of texts, each a list of keys, that pairs connect whose longest run stands out; with
    /// ``contained``, all pairs that reach it. Otherwise like :meth:`pairs`.
    #[pyo3(signature = (**conditions))]
    fn clusters<'py>(
        &self,
        py: Python<'py>,
        conditions: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Vec<Vec<Bound<'py, PyAny>>>> {
        let conditions = Conditions::new(py, "clusters", OF_A_SEARCH, self.keys, conditions)?;
        let view = self.inner.get(py)?.view();
        let groups = run(py, None, move |_| view.clusters(&conditions.engine))?;
        let keys = |group: &Vec<Vec<u8>>| group.iter().map(|key| self.keys.show(py, key)).collect();
        groups.iter().map(keys).collect()
    }

    /// Merges everything into one segment without dead documents.
    #[pyo3(signature = (*, progress=None))]
    fn compact<'py>(&self, py: Python<'py>, progress: Option<Bound<'py, PyAny>>) -> PyResult<()> {
        let in_use = self.inner.get(py)?;
        let index = in_use.shared();
        let callback = crate::progress::callback(py, progress, "compact")?;
        run(py, callback.as_ref(), move |tick| index.index().compact_with(tick))
    }

    /// Copies the index to a new folder.
    fn backup(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = path_of)] path: PathBuf,
    ) -> PyResult<()> {
        let index = self.inner.get(py)?.shared();
        run(py, None, move |_| index.index().backup(&path))
    }

    /// Checks all files, and lists all damage.
    #[pyo3(signature = (*, progress=None))]
    fn verify<'py>(
        &self,
        py: Python<'py>,
        progress: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let in_use = self.inner.get(py)?;
        let index = in_use.shared();
        let callback = crate::progress::callback(py, progress, "verify")?;
        let found = run(py, callback.as_ref(), move |tick| index.index().verify_with(tick))?;
        reports::verification(py, &found)
    }

    /// The state of the index in numbers. Each passage counts as a document.
    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let index = self.inner.get(py)?;
        let stats = engine(py, || index.index().stats())?;
        reports::stats(py, &stats)
    }

    /// Closes the index. Waits for the calls of other threads.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.inner.close(py, nearkin::passages::PassageIndex::close)
    }

    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    #[pyo3(signature = (*exception))]
    fn __exit__(&self, py: Python<'_>, exception: &Bound<'_, PyAny>) -> PyResult<()> {
        let _ = exception;
        self.close(py)
    }

    fn __repr__(&self) -> String {
        let state = if self.inner.is_closed() { "closed" } else { "open" };
        let windows = self.params.passages().map_or_else(String::new, |all| all.to_string());
        format!("PassageIndex('{}', passages {windows}, {state})", self.path.display())
    }
}

/// Cuts a text into passages; `None` if it is blank.
fn prepared(
    index: &nearkin::passages::PassageIndex,
    key: &[u8],
    text: &str,
    payload: Option<&[u8]>,
) -> nearkin::Result<Option<Prepared>> {
    match index.cutter().prepare(key, text, payload) {
        Ok(prepared) => Ok(Some(prepared)),
        Err(error) if error.kind() == nearkin::ErrorKind::Empty => Ok(None),
        Err(error) => Err(error),
    }
}
