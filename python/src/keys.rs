//! Converts keys and texts given by Python.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyFloat, PyString};

use crate::error::InvalidError;

/// The bytes of a key: the UTF-8 of a `str`, `bytes`, or the digits of an integer.
pub(crate) fn key_bytes(key: &Bound<'_, PyAny>) -> PyResult<Vec<u8>> {
    if let Ok(text) = key.cast::<PyString>() {
        let text = text.to_str().map_err(|error| {
            InvalidError::new_err(format!("the key cannot be encoded as UTF-8: {error}"))
        })?;
        return Ok(text.as_bytes().to_vec());
    }
    if let Ok(bytes) = key.cast::<PyBytes>() {
        return Ok(bytes.as_bytes().to_vec());
    }
    if let Some(digits) = digits(key)? {
        return Ok(digits.to_str()?.as_bytes().to_vec());
    }
    if let Some(value) = unpacked(key)? {
        return key_bytes(&value);
    }
    let found = key.get_type().name()?;
    Err(PyTypeError::new_err(format!("a key must be str, bytes or int, not {found}")))
}

/// The decimal digits of an integer, of Python or numpy; `None` for other objects.
pub(crate) fn digits<'py>(object: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyString>>> {
    // A bool of numpy and a float have the method `__index__` or none, depending on the version.
    let is_bool = object.is_instance_of::<PyBool>() || object.get_type().name()? == "bool";
    if is_bool || object.is_instance_of::<PyFloat>() {
        return Ok(None);
    }
    match object.getattr_opt("__index__")? {
        // An array has the method, too, but only an array of one element.
        Some(_) if object.hasattr("__len__")? => Ok(None),
        Some(index) => index.call0()?.str().map(Some),
        None => Ok(None),
    }
}

/// The Python value of a scalar of pyarrow; `None` for other objects.
pub(crate) fn unpacked<'py>(object: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let module = object.get_type().module()?;
    if !module.to_str()?.starts_with("pyarrow") {
        return Ok(None);
    }
    object.getattr_opt("as_py")?.map(|method| method.call0()).transpose()
}

/// The text itself, or a copy in which each surrogate without its other half is U+FFFD: UTF-8
/// cannot express it. Python's `json` makes such texts.
pub(crate) fn whole(text: Bound<'_, PyString>) -> PyResult<Bound<'_, PyString>> {
    if text.to_str().is_ok() {
        return Ok(text);
    }
    let bytes = text.call_method1("encode", ("utf-16-le", "surrogatepass"))?;
    Ok(bytes.call_method1("decode", ("utf-16-le", "replace"))?.cast_into::<PyString>()?)
}
