//! Converts keys and texts: those given by Python, and keys for Python.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyFloat, PyString};

use crate::arrow::Kind;
use crate::called::call;
use crate::error::{InvalidError, raise};

/// The Python type of keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyType {
    Text,
    Bytes,
}

impl KeyType {
    /// A key as a Python object. In an index of text keys, a key that is not UTF-8 is an error.
    pub(crate) fn show<'py>(self, py: Python<'py>, key: &[u8]) -> PyResult<Bound<'py, PyAny>> {
        if self == Self::Bytes {
            return Ok(PyBytes::new(py, key).into_any());
        }
        match str::from_utf8(key) {
            Ok(text) => Ok(PyString::new(py, text).into_any()),
            Err(_) => Err(raise(py, "InvalidError", &not_utf8(key))),
        }
    }

    /// Fails if a key cannot be shown in this key type.
    pub(crate) fn check(self, py: Python<'_>, key: &[u8]) -> PyResult<()> {
        if self == Self::Text && str::from_utf8(key).is_err() {
            return Err(raise(py, "InvalidError", &not_utf8(key)));
        }
        Ok(())
    }
}

pub(crate) fn not_utf8(key: &[u8]) -> String {
    format!("the key {} is not UTF-8: open the index with keys='bytes'", key.escape_ascii())
}

/// The type of a column that holds keys.
pub(crate) fn key_kind(keys: KeyType) -> Kind {
    if keys == KeyType::Text { Kind::Text } else { Kind::Bytes }
}

/// Parses the Python type of keys.
pub(crate) fn key_type(name: &str) -> PyResult<KeyType> {
    match name {
        "str" => Ok(KeyType::Text),
        "bytes" => Ok(KeyType::Bytes),
        other => {
            Err(InvalidError::new_err(format!("keys must be 'str' or 'bytes', not {other:?}")))
        }
    }
}

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
        Some(index) => call(&index, ())?.str().map(Some),
        None => Ok(None),
    }
}

/// The Python value of a scalar of pyarrow; `None` for other objects.
pub(crate) fn unpacked<'py>(object: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let module = object.get_type().module()?;
    if !module.to_str()?.starts_with("pyarrow") {
        return Ok(None);
    }
    object.getattr_opt("as_py")?.map(|method| call(&method, ())).transpose()
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
