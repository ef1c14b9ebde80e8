//! The extension module `nearkin._nearkin`: the engine as Python classes.
//!
//! It contains no algorithm: the library computes all answers. `nearkin/` is the Python layer.

use pyo3::prelude::*;

mod answers;
mod arrow;
mod columns;
mod compared;
mod condition;
mod copies;
mod datasketch;
mod dedup;
mod documents;
mod error;
mod estimate;
mod events;
mod fates;
mod graph;
mod index;
mod integers;
mod items;
mod keys;
mod lock;
mod options;
mod originals;
mod parallel;
mod params;
mod passages;
mod progress;
mod queries;
mod quotations;
mod readable;
mod reader;
mod reader_state;
mod reports;
mod sealing;
mod sharded;
mod shards;
mod sieve;
mod signatures;
mod sketcher;
mod streams;
mod table;
mod verified;
mod writing;

/// Panics, so that a test can check how panics are converted.
#[pyfunction]
fn _panic(py: Python<'_>, message: String) -> PyResult<()> {
    error::unlocked(py, || panic!("{message}"))
}

/// Whether a row is without a value, for the columns that are put together in Python.
#[pyfunction]
fn _is_null(object: &Bound<'_, PyAny>) -> bool {
    columns::is_null(object)
}

/// The extension module; import `nearkin` instead.
#[pymodule]
fn _nearkin(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_function(wrap_pyfunction!(_panic, module)?)?;
    module.add_function(wrap_pyfunction!(_is_null, module)?)?;
    params::register(module)?;
    signatures::register(module)?;
    sketcher::register(module)?;
    answers::register(module)?;
    table::register(module)?;
    streams::register(module)?;
    readable::register(module)?;
    reader::register(module)?;
    index::register(module)?;
    copies::register(module)?;
    passages::register(module)?;
    quotations::register(module)?;
    dedup::register(module)?;
    sieve::register(module)?;
    datasketch::register(module)?;
    shards::register(module)?;
    Ok(())
}
