//! Converts the keyword arguments that open an index, and times given by Python.

use std::path::{Path, PathBuf};
use std::time::Duration;

use nearkin::Options;
use pyo3::conversion::FromPyObjectOwned;
use pyo3::exceptions::{PyOverflowError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyString};

use crate::called::{call, elements};
use crate::columns::keys::{KeyType, key_type};
use crate::error::InvalidError;
use crate::events;

/// A duration: a `timedelta`, or seconds.
pub(crate) fn duration(value: &Bound<'_, PyAny>, name: &str) -> PyResult<Duration> {
    let seconds = match value.getattr_opt("total_seconds")? {
        Some(method) => call(&method, ())?.extract::<f64>()?,
        None => value.extract::<f64>().map_err(|_| {
            PyTypeError::new_err(format!("{name} must be a timedelta or a number of seconds"))
        })?,
    };
    Duration::try_from_secs_f64(seconds)
        .map_err(|error| InvalidError::new_err(format!("{name}: {error}")))
}

/// The path of a file or folder: `str`, `bytes` or `os.PathLike`, as for `open`.
pub(crate) fn path_of(path: &Bound<'_, PyAny>) -> PyResult<PathBuf> {
    if path.is_instance_of::<PyString>() {
        return path.extract();
    }
    call(&path.py().import("os")?.getattr("fsdecode")?, (path,))?.extract()
}

/// Several paths.
pub(crate) fn paths_of(paths: &Bound<'_, PyAny>) -> PyResult<Vec<PathBuf>> {
    if paths.is_instance_of::<PyString>() || paths.is_instance_of::<PyBytes>() {
        return Err(PyTypeError::new_err("must be a list of paths, not one path"));
    }
    elements(paths)?.map(|path| path_of(&path?)).collect()
}

/// Converts a time to milliseconds since 1970 (UTC).
pub(crate) fn ms_of(time: &Bound<'_, PyAny>) -> PyResult<u64> {
    call(&time.py().import("nearkin._columns")?.getattr("ms_of")?, (time,))?.extract()
}

/// A duration as the engine's setting: milliseconds.
fn ms_text(value: &Bound<'_, PyAny>, name: &str) -> PyResult<String> {
    Ok((duration(value, name)?.as_secs_f64() * 1_000.0).to_string())
}

/// Reads the keyword arguments of `method`, which takes those of `names`.
pub(crate) fn keywords<'py>(
    method: &str,
    names: &[&str],
    given: Option<&Bound<'py, PyDict>>,
    mut set: impl FnMut(&str, &Bound<'py, PyAny>) -> PyResult<()>,
) -> PyResult<()> {
    for (name, value) in given.into_iter().flatten() {
        let name: String = name.extract()?;
        if !names.contains(&name.as_str()) {
            let closest = value.py().import("nearkin._errors")?.getattr("closest")?;
            let meant: String = closest.call1((&name, names.to_vec()))?.extract()?;
            let message = format!("{method}() got an unexpected keyword argument '{name}'{meant}");
            return Err(PyTypeError::new_err(message));
        }
        set(&name, &value)?;
    }
    Ok(())
}

/// How an index is opened.
pub(crate) struct Opening {
    pub(crate) options: Options,
    pub(crate) keys: KeyType,
    pub(crate) threads: Option<Threads>,
}

/// The keyword arguments that open an index of passages.
pub(crate) const PASSAGE_OPTIONS: &[&str] =
    &["durability", "read_mode", "memory_bytes", "memtable_bytes", "keys", "threads"];
/// Those that open an index.
pub(crate) const INDEX_OPTIONS: &[&str] = &[
    "durability",
    "ttl",
    "read_mode",
    "memory_bytes",
    "memtable_bytes",
    "shared",
    "lock_wait",
    "keys",
    "threads",
];

impl Opening {
    /// Reads the keyword arguments for the index at `path`.
    pub(crate) fn new(
        method: &str,
        names: &[&str],
        given: Option<&Bound<'_, PyDict>>,
        path: &Path,
    ) -> PyResult<Self> {
        let mut opening = Self { options: Options::default(), keys: KeyType::Text, threads: None };
        let mut settings = Vec::new();
        keywords(method, names, given, |name, value| {
            match name {
                "keys" => opening.keys = key_type(&argument::<String>(value, name)?)?,
                _ if value.is_none() => {}
                "threads" => opening.threads = argument(value, name)?,
                _ => settings.push(setting(name, value)?),
            }
            Ok(())
        })?;
        opening.options = options_of(settings)?.on_event(events::listener(path));
        Ok(opening)
    }
}

/// A keyword argument as a setting of the engine: times are seconds here, milliseconds there.
fn setting(name: &str, value: &Bound<'_, PyAny>) -> PyResult<(String, String)> {
    let text = match name {
        "ttl" | "lock_wait" => return Ok((format!("{name}_ms"), ms_text(value, name)?)),
        "durability" if !value.is_instance_of::<PyString>() => ms_text(value, name)?,
        "shared" => argument::<bool>(value, name)?.to_string(),
        "memory_bytes" | "memtable_bytes" => argument::<Count>(value, name)?.0.to_string(),
        "durability" => among(
            name,
            argument(value, name)?,
            ["sync", "os"],
            "'sync', 'os' or a number of seconds",
        )?,
        _ => return read_mode_of(argument(value, name)?),
    };
    Ok((name.to_owned(), text))
}

/// How segments are read, as a setting of the engine.
pub(crate) fn read_mode_of(text: String) -> PyResult<(String, String)> {
    let text = among("read_mode", text, ["mmap", "pread"], "'mmap' or 'pread'")?;
    Ok(("read_mode".to_owned(), text))
}

fn among(name: &str, text: String, values: [&str; 2], must_be: &str) -> PyResult<String> {
    if values.contains(&&*text) {
        return Ok(text);
    }
    Err(InvalidError::new_err(format!("{name} must be {must_be}, not {text:?}")))
}

/// The options of these settings.
pub(crate) fn options_of(
    settings: impl IntoIterator<Item = (String, String)>,
) -> PyResult<Options> {
    let wrong = |error: nearkin::Error| InvalidError::new_err(error.to_string());
    Options::from_settings(settings).map_err(wrong)
}

/// An argument that is not a parameter of the function: its error names it, as PyO3 does.
pub(crate) fn argument<'py, T: FromPyObjectOwned<'py>>(
    value: &Bound<'py, PyAny>,
    name: &str,
) -> PyResult<T> {
    value.extract::<T>().map_err(|error| {
        let error: PyErr = Into::into(error);
        if !error.is_instance_of::<PyTypeError>(value.py()) {
            return error;
        }
        PyTypeError::new_err(format!("argument '{name}': {}", error.value(value.py())))
    })
}

/// A number that Python gives: 0 or more.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Count(pub(crate) usize);

impl<'py> FromPyObject<'_, 'py> for Count {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if object.is_instance_of::<PyBool>() {
            return Err(PyTypeError::new_err("must be an int, not bool"));
        }
        match object.extract() {
            Err(error) if PyErr::is_instance_of::<PyOverflowError>(&error, object.py()) => {
                let found = object.str()?;
                Err(InvalidError::new_err(format!("a number must be 0 or more, not {found}")))
            }
            extracted => extracted.map(Self),
        }
    }
}

/// A similarity or share: a number.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Share(pub(crate) f64);

impl<'py> FromPyObject<'_, 'py> for Share {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        object.extract().map(Self).map_err(|_| wrong(object, "a number from 0 to 1, such as 0.85"))
    }
}

/// The text of a parameter that has a form of its own.
pub(crate) struct Spelled(pub(crate) String);

impl<'py> FromPyObject<'_, 'py> for Spelled {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        object.extract().map(Self).map_err(|_| wrong(object, "a str, such as 'words:3'"))
    }
}

fn wrong(object: Borrowed<'_, '_, PyAny>, must_be: &str) -> PyErr {
    let found = object.repr().map_or_else(|_| "that".to_owned(), |found| found.to_string());
    PyTypeError::new_err(format!("must be {must_be}, not {found}"))
}

/// A number of threads: 1 or more.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Threads(pub(crate) usize);

impl<'py> FromPyObject<'_, 'py> for Threads {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        match object.extract::<Count>() {
            Ok(Count(count)) if count > 0 => Ok(Self(count)),
            Err(error) if !error.is_instance_of::<InvalidError>(object.py()) => Err(error),
            _ => {
                let message =
                    format!("threads must be 1 or more (None: all), not {}", object.str()?);
                Err(InvalidError::new_err(message))
            }
        }
    }
}
