//! Indexes made from other ones: rebuilt with other bands, or salvaged from a damaged index.

use std::path::PathBuf;

use nearkin::Options;
use pyo3::prelude::*;

use crate::index::readable::Readable;
use crate::options::path_of;
use crate::progress::run;
use crate::sketch::params::Params;

/// A snapshot of another index, given as an open object or as a path.
pub(crate) fn snapshot_of(other: &Bound<'_, PyAny>) -> PyResult<nearkin::Snapshot> {
    let py = other.py();
    if let Ok(readable) = other.cast::<Readable>() {
        return readable.get().snapshot_now(py);
    }
    let path = path_of(other)?;
    let reader = run(py, None, move |_| nearkin::Reader::open(&path, Options::default()))?;
    Ok(reader.snapshot())
}

/// Makes a new index at ``path`` from the signatures of another one, with other bands or another
/// threshold. Returns the number of documents. The texts are not needed.
#[pyfunction]
#[pyo3(signature = (source, path, params, *, progress=None))]
pub(crate) fn rebuild(
    py: Python<'_>,
    source: &Bound<'_, PyAny>,
    #[pyo3(from_py_with = path_of)] path: PathBuf,
    params: &Bound<'_, Params>,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<u64> {
    let (from, params) = (snapshot_of(source)?, params.get().inner.clone());
    let callback = crate::progress::callback(py, progress, "rebuild")?;
    run(py, callback.as_ref(), move |tick| {
        nearkin::Index::rebuild_with(&from, &path, &params, Options::default(), tick)
    })
}

/// Copies everything readable from a damaged index to a new index at ``out``. Returns a description
/// of the losses. The damaged index is not changed.
#[pyfunction]
#[pyo3(signature = (path, out, params=None))]
pub(crate) fn salvage(
    py: Python<'_>,
    #[pyo3(from_py_with = path_of)] path: PathBuf,
    #[pyo3(from_py_with = path_of)] out: PathBuf,
    params: Option<&Bound<'_, Params>>,
) -> PyResult<String> {
    let params = params.map(|params| params.get().inner.clone());
    let done = run(py, None, move |_| {
        nearkin::Index::salvage(&path, &out, params.as_ref(), Options::default())
    })?;
    Ok(format!("{done:#?}"))
}
