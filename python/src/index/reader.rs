//! `nearkin.Reader`: an index opened for reading only.

use std::path::PathBuf;

use nearkin::Options;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::columns::keys::KeyType;
use crate::error::{from_engine, raise};
use crate::index::readable::{Readable, Source};
use crate::index::reader_state::ReaderState;
use crate::lock::lock;
use crate::options::{Threads, options_of, path_of, read_mode_of};
use crate::progress::run;

/// An index opened for reading only. This works whether or not a writer has the index open, from
/// other processes, and on read-only media. A reader shows one state until :meth:`refresh`. A
/// reader can be pickled, and used after a fork: the unpickled reader, or the one in the forked
/// child, opens the index again.
#[pyclass(extends = Readable, frozen, module = "nearkin")]
pub(crate) struct Reader {
    read_mode: String,
}

#[pymethods]
impl Reader {
    #[new]
    #[pyo3(signature = (path, *, read_mode="mmap", keys="str", threads=None))]
    fn new(
        py: Python<'_>,
        #[pyo3(from_py_with = path_of)] path: PathBuf,
        read_mode: &str,
        keys: &str,
        threads: Option<Threads>,
    ) -> PyResult<PyClassInitializer<Self>> {
        let keys = crate::columns::keys::key_type(keys)?;
        let options = options_of([read_mode_of(read_mode.to_owned())?])?;
        let (at, asked) = (path.clone(), options.clone());
        let reader = run(py, None, move |_| nearkin::Reader::open(&at, asked))?;
        let params = reader.params().clone();
        let source = Source::Reader(Box::new(ReaderState::new(reader, options)));
        let base = Readable::new(source, path, &params, keys, threads);
        Ok(PyClassInitializer::from(base).add_subclass(Self { read_mode: read_mode.to_owned() }))
    }

    /// Moves on to the current state. Returns whether that state is newer than the one shown
    /// before.
    fn refresh(slf: &Bound<'_, Self>) -> PyResult<bool> {
        let (py, base) = (slf.py(), slf.as_super().get());
        // In a forked child this opens the reader again.
        let before = base.snapshot_now(py)?.change();
        let Source::Reader(state) = &base.source else { return Ok(false) };
        let Some(reader) = state.take(py, &base.path)? else {
            // Another thread is refreshing or using the reader.
            return Ok(false);
        };
        let (reader, refreshed) = state.run(py, reader, nearkin::Reader::refresh)?;
        let snapshot = reader.snapshot();
        // A reader that was opened again is newer without a refresh.
        let is_newer = snapshot.change() > before;
        state.put_back(reader, Some(snapshot));
        refreshed.map(|newer| newer || is_newer).map_err(|error| from_engine(py, &error))
    }

    /// Copies the index, in the state that this reader shows, to a new folder.
    fn backup(
        slf: &Bound<'_, Self>,
        #[pyo3(from_py_with = path_of)] path: PathBuf,
    ) -> PyResult<()> {
        Self::with(slf, move |reader| reader.backup(&path))
    }

    /// The state of the index in numbers.
    fn stats<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let stats = Self::with(slf, nearkin::Reader::stats)?;
        crate::index::reports::stats(slf.py(), &stats)
    }

    /// Checks all files, and lists all damage.
    #[pyo3(signature = (*, progress=None))]
    fn verify<'py>(
        slf: &Bound<'py, Self>,
        progress: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let callback = crate::progress::callback(py, progress, "verify")?;
        let base = slf.as_super().get();
        base.snapshot_now(py)?;
        let options = Options::default();
        // A separate reader, because the shared one may be refreshed meanwhile.
        let path = base.path.clone();
        let found = run(py, callback.as_ref(), move |tick| {
            nearkin::Reader::open(&path, options)?.verify_with(tick)
        })?;
        crate::index::reports::verification(py, &found)
    }

    /// Releases the files.
    fn close(slf: &Bound<'_, Self>) {
        if let Source::Reader(state) = &slf.as_super().get().source {
            lock(&state.snapshot).take();
            lock(&state.reader).take();
        }
    }

    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    #[pyo3(signature = (*exception))]
    fn __exit__(slf: &Bound<'_, Self>, exception: &Bound<'_, PyAny>) {
        let _ = exception;
        Self::close(slf);
    }

    fn __reduce__<'py>(
        slf: &Bound<'py, Self>,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let (py, base) = (slf.py(), slf.as_super().get());
        let make = py.import("nearkin._pickles")?.getattr("reader_of")?;
        let keys = if base.keys == KeyType::Bytes { "bytes" } else { "str" };
        Ok((
            make,
            (
                base.path.clone(),
                keys,
                base.threads.map(|Threads(count)| count),
                &slf.get().read_mode,
            )
                .into_pyobject(py)?,
        ))
    }

    fn __repr__(slf: &Bound<'_, Self>) -> String {
        let (py, base) = (slf.py(), slf.as_super().get());
        let path = base.path.display();
        match base.snapshot_now(py) {
            Ok(seen) => {
                format!("Reader('{path}', {} documents, change {})", seen.len(), seen.change())
            }
            Err(_) => format!("Reader('{path}', closed)"),
        }
    }
}

impl Reader {
    /// Calls `work` with the reader, which is taken out for the call. `UnsettledError` if another
    /// thread is using it.
    fn with<R: Send + 'static>(
        slf: &Bound<'_, Self>,
        work: impl Send + 'static + FnOnce(&nearkin::Reader) -> nearkin::Result<R>,
    ) -> PyResult<R> {
        let (py, base) = (slf.py(), slf.as_super().get());
        base.snapshot_now(py)?;
        let Source::Reader(state) = &base.source else {
            return Err(raise(py, "ClosedError", "the reader is closed"));
        };
        let Some(reader) = state.take(py, &base.path)? else {
            return Err(raise(py, "UnsettledError", "another thread uses the reader: try again"));
        };
        let (reader, done) = state.run(py, reader, work)?;
        state.put_back(reader, None);
        done.map_err(|error| from_engine(py, &error))
    }
}
