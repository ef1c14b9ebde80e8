//! Lists of common shingles, from Python values.

use nearkin::Common;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};

use crate::called::elements;
use crate::error::from_engine;

/// The list that a caller gives: as text, as the bytes of a file, or as hashes.
pub(crate) fn common_of(py: Python<'_>, given: &Bound<'_, PyAny>) -> PyResult<Common> {
    let fail = |error: nearkin::Error| from_engine(py, &error);
    if let Ok(text) = given.cast::<PyString>() {
        return text.to_str()?.parse().map_err(fail);
    }
    if let Ok(bytes) = given.cast::<PyBytes>() {
        let text = str::from_utf8(bytes.as_bytes());
        let text = text.map_err(|_| PyValueError::new_err("common is not UTF-8"))?;
        return text.parse().map_err(fail);
    }
    let hashes = elements(given)?.map(|hash| hash?.extract::<u64>());
    Common::from_hashes(hashes.collect::<PyResult<Vec<_>>>()?).map_err(fail)
}
