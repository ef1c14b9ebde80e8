//! Columns from Python: lists, tuples, Arrow, and every other type that `nearkin._columns` converts
//! to a list.
//!
//! Rows are *held* one range at a time: their Python objects are kept alive, so that their memory
//! can be read without the interpreter lock.

use std::ops::Range;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyString, PyTuple};

use crate::arrow::{Chunk, chunks_of};
use crate::called::call;
use crate::columns::keys::{digits, unpacked, whole};
use crate::error::InvalidError;

/// The purpose of a column. It determines the accepted types, and the name in messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    Texts,
    Keys,
    Payloads,
    Signatures,
    Shingles,
}

impl Role {
    fn name(self) -> &'static str {
        match self {
            Self::Texts => "texts",
            Self::Keys => "keys",
            Self::Payloads => "payloads",
            Self::Signatures => "signatures",
            Self::Shingles => "shingles",
        }
    }

    fn accepts(self) -> &'static str {
        match self {
            Self::Texts => "str",
            Self::Keys => "str, bytes or int",
            Self::Payloads => "bytes or str",
            Self::Signatures | Self::Shingles => "bytes",
        }
    }
}

/// The storage of the rows.
pub(crate) enum Rows<'py> {
    List(Bound<'py, PyList>),
    Tuple(Bound<'py, PyTuple>),
    /// Arrow arrays, each with the number of its first row.
    Arrow(Vec<(usize, Chunk)>),
}

impl<'py> Rows<'py> {
    /// Accepts any column; `name` is used in messages.
    pub(crate) fn from_object(object: &Bound<'py, PyAny>, name: &str) -> PyResult<Self> {
        if let Some(rows) = Self::from_sequence(object) {
            return Ok(rows);
        }
        let module = object.py().import("nearkin._columns")?;
        let object = call(&module.getattr("column")?, (object, name))?;
        if let Some(rows) = Self::from_sequence(&object) {
            return Ok(rows);
        }
        let chunks = chunks_of(&object, name)?.ok_or_else(|| {
            PyTypeError::new_err(format!("{name} must be a list or an Arrow column"))
        })?;
        Ok(Self::Arrow(chunks))
    }

    fn from_sequence(object: &Bound<'py, PyAny>) -> Option<Self> {
        if let Ok(list) = object.cast::<PyList>() {
            return Some(Self::List(list.clone()));
        }
        object.cast::<PyTuple>().ok().map(|tuple| Self::Tuple(tuple.clone()))
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            Self::List(list) => list.len(),
            Self::Tuple(tuple) => tuple.len(),
            Self::Arrow(chunks) => chunks.last().map_or(0, |(first, chunk)| first + chunk.len()),
        }
    }

    /// The Python object of a row of a list or tuple.
    pub(crate) fn object(&self, row: usize) -> PyResult<Bound<'py, PyAny>> {
        match self {
            // Another thread may have shortened the list; this raises `IndexError`.
            Self::List(list) => list.get_item(row),
            Self::Tuple(tuple) => tuple.get_item(row),
            Self::Arrow(_) => Err(PyTypeError::new_err("an Arrow column has no objects")),
        }
    }
}

/// The array that contains a row, and the row's position in it.
pub(crate) fn chunk_at(chunks: &[(usize, Chunk)], row: usize) -> Option<(&Chunk, usize)> {
    let at = chunks.partition_point(|(first, _)| *first <= row).checked_sub(1)?;
    chunks.get(at).map(|(first, chunk)| (chunk, row - first))
}

/// Number of rows between two checks for signals.
const ROWS_BETWEEN_SIGNALS: usize = 4_096;

/// Checks for signals at some rows of a long column.
pub(crate) fn check_signals_at(row: usize, py: Python<'_>) -> PyResult<()> {
    if row.is_multiple_of(ROWS_BETWEEN_SIGNALS) { py.check_signals() } else { Ok(()) }
}

/// A column of text or bytes.
pub(crate) struct Column<'py> {
    py: Python<'py>,
    rows: Rows<'py>,
    role: Role,
}

/// One object of a column.
pub(crate) enum HeldObject<'py> {
    Null,
    Text(Bound<'py, PyString>),
    Bytes(Bound<'py, PyBytes>),
}

/// Rows of a column, kept alive while they are read.
pub(crate) enum Held<'a, 'py> {
    Objects(Role, Vec<HeldObject<'py>>),
    Arrow(&'a [(usize, Chunk)], Range<usize>),
}

impl<'py> Column<'py> {
    pub(crate) fn new(object: &Bound<'py, PyAny>, role: Role) -> PyResult<Self> {
        let rows = Rows::from_object(object, role.name())?;
        if let Rows::Arrow(chunks) = &rows {
            for (_, chunk) in chunks {
                let fits = chunk.is_of_bytes() || role == Role::Keys && chunk.is_of_integers();
                if !fits {
                    let (name, accepts) = (role.name(), role.accepts());
                    return Err(PyTypeError::new_err(format!("{name} must be {accepts}")));
                }
            }
        }
        Ok(Self { py: object.py(), rows, role })
    }

    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Raises `ValueError` if another column has a different number of rows.
    pub(crate) fn check_length(&self, other: usize, name: &str) -> PyResult<()> {
        if self.len() == other {
            return Ok(());
        }
        let message = format!("{} {}, but {other} {name}", self.len(), self.role.name());
        Err(InvalidError::new_err(message))
    }

    /// Holds a range of rows.
    pub(crate) fn hold(&self, range: Range<usize>) -> PyResult<Held<'_, 'py>> {
        let rows = match &self.rows {
            Rows::Arrow(chunks) => match chunks.as_slice() {
                [(_, first), ..] if self.role == Role::Keys && first.is_of_integers() => {
                    return Ok(Held::Objects(self.role, self.digits(chunks, range)));
                }
                chunks => return Ok(Held::Arrow(chunks, range)),
            },
            rows => rows,
        };
        let held = range.map(|row| {
            check_signals_at(row, self.py)?;
            self.held(&rows.object(row)?, row)
        });
        held.collect::<PyResult<Vec<_>>>().map(|held| Held::Objects(self.role, held))
    }

    /// Integers of an Arrow column, as decimal digits.
    fn digits(&self, chunks: &[(usize, Chunk)], range: Range<usize>) -> Vec<HeldObject<'py>> {
        let digits = |row| match chunk_at(chunks, row).and_then(|(chunk, row)| chunk.integer(row)) {
            Some(number) => HeldObject::Text(PyString::new(self.py, &number.to_string())),
            None => HeldObject::Null,
        };
        range.map(digits).collect()
    }

    fn held(&self, object: &Bound<'py, PyAny>, row: usize) -> PyResult<HeldObject<'py>> {
        if let Ok(text) = object.cast::<PyString>() {
            let text = text.clone();
            // A key is never changed: two keys could become one.
            let is_text = self.role == Role::Texts;
            return Ok(HeldObject::Text(if is_text { whole(text)? } else { text }));
        }
        if self.role != Role::Texts
            && let Ok(bytes) = object.cast::<PyBytes>()
        {
            return Ok(HeldObject::Bytes(bytes.clone()));
        }
        if is_null(object) {
            return Ok(HeldObject::Null);
        }
        if self.role == Role::Keys
            && let Some(digits) = digits(object)?
        {
            return Ok(HeldObject::Text(digits));
        }
        if let Some(value) = unpacked(object)? {
            return self.held(&value, row);
        }
        Err(wrong_type(self.role, row, object))
    }
}

/// The error for an object of the wrong type.
fn wrong_type(role: Role, row: usize, object: &Bound<'_, PyAny>) -> PyErr {
    let found = object.get_type().name().map_or_else(|_| "?".to_owned(), |name| name.to_string());
    let (name, accepts) = (role.name(), role.accepts());
    PyTypeError::new_err(format!("{name}[{row}] must be {accepts}, not {found}"))
}

/// `None`, `pandas.NA`, and what is unequal to itself, as NaN and NaT are: a row without a value.
pub(crate) fn is_null(object: &Bound<'_, PyAny>) -> bool {
    if object.is_none() || object.get_type().name().is_ok_and(|name| name == "NAType") {
        return true;
    }
    // An array compares element by element, and a signalling NaN refuses to be compared.
    object.ne(object).unwrap_or(false)
}

impl Held<'_, '_> {
    /// The rows as bytes; `first` is the number of the first row, for messages.
    pub(crate) fn bytes(&self, first: usize) -> PyResult<Vec<Option<&[u8]>>> {
        match self {
            Self::Objects(role, objects) => {
                let numbered = objects.iter().zip(first..);
                numbered.map(|(object, row)| object.bytes(*role, row)).collect()
            }
            Self::Arrow(chunks, range) => {
                Ok(range.clone().map(|row| row_at(chunks, row)).collect())
            }
        }
    }

    /// The rows as text.
    pub(crate) fn texts(&self, first: usize) -> PyResult<Vec<Option<&str>>> {
        match self {
            Self::Objects(role, objects) => {
                let numbered = objects.iter().zip(first..);
                numbered.map(|(object, row)| object.text(*role, row)).collect()
            }
            Self::Arrow(chunks, range) => {
                let mut texts = Vec::with_capacity(range.len());
                for row in range.clone() {
                    let text = row_at(chunks, row).map(str::from_utf8).transpose();
                    texts.push(text.map_err(|error| {
                        InvalidError::new_err(format!("texts[{row}] is not UTF-8: {error}"))
                    })?);
                }
                Ok(texts)
            }
        }
    }
}

impl HeldObject<'_> {
    fn bytes(&self, role: Role, row: usize) -> PyResult<Option<&[u8]>> {
        Ok(match self {
            Self::Null => None,
            Self::Bytes(bytes) => Some(bytes.as_bytes()),
            Self::Text(text) => Some(utf8(text, role, row)?.as_bytes()),
        })
    }

    fn text(&self, role: Role, row: usize) -> PyResult<Option<&str>> {
        match self {
            Self::Text(text) => {
                check_signals_at(row, text.py())?;
                utf8(text, role, row).map(Some)
            }
            Self::Null | Self::Bytes(_) => Ok(None),
        }
    }
}

fn row_at(chunks: &[(usize, Chunk)], row: usize) -> Option<&[u8]> {
    chunk_at(chunks, row).and_then(|(chunk, row)| chunk.bytes(row))
}

/// The UTF-8 bytes of a `str`; for ASCII without a copy.
fn utf8<'a>(text: &'a Bound<'_, PyString>, role: Role, row: usize) -> PyResult<&'a str> {
    text.to_str().map_err(|error| {
        let name = role.name();
        InvalidError::new_err(format!("{name}[{row}] cannot be encoded as UTF-8: {error}"))
    })
}
