//! Converts keys given by Python to bytes.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyInt, PyString};

/// The bytes of a key: the UTF-8 of a `str`, or the digits of an `int`.
pub(crate) fn key_bytes(key: &Bound<'_, PyAny>) -> PyResult<Vec<u8>> {
    if let Ok(text) = key.cast::<PyString>() {
        return Ok(text.to_str()?.as_bytes().to_vec());
    }
    if let Ok(bytes) = key.cast::<PyBytes>() {
        return Ok(bytes.as_bytes().to_vec());
    }
    if key.is_instance_of::<PyInt>() && !key.is_instance_of::<PyBool>() {
        return Ok(key.str()?.to_str()?.as_bytes().to_vec());
    }
    let found = key.get_type().name()?;
    Err(PyTypeError::new_err(format!("a key must be str, bytes or int, not {found}")))
}
