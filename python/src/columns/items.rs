//! Columns of sets: each row a list of `str`, `bytes` or `int`, or an Arrow list.
//!
//! A Python object is looked at once, and hashed then: looking at it takes as long as hashing it,
//! and keeping it alive for a second look takes longer than both.

use std::ops::Range;

use nearkin::{ItemHash, Sketcher};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyString, PyTuple};

use crate::arrow::{self, Chunk};
use crate::called::elements;
use crate::columns::column::{Rows, check_signals_at, chunk_at, is_null};
use crate::columns::keys::{digits, unpacked, whole};

/// A column of sets.
pub(crate) struct Items<'py> {
    rows: Rows<'py>,
}

/// The sets of some rows, readable without the interpreter lock.
pub(crate) enum Sets<'a> {
    /// The items of all rows, and the range of each row; `None` for a null row.
    Objects(Vec<ItemHash>, Vec<Option<Range<usize>>>),
    Arrow(&'a [(usize, Chunk)], Range<usize>),
}

/// The items of one row.
#[derive(Clone)]
pub(crate) enum Members<'a> {
    Objects(std::slice::Iter<'a, ItemHash>),
    Arrow(&'a Chunk, Range<usize>),
}

impl<'a> Iterator for Members<'a> {
    type Item = nearkin::Item<'a>;

    #[inline]
    fn next(&mut self) -> Option<nearkin::Item<'a>> {
        match self {
            Self::Objects(items) => items.next().map(|item| (*item).into()),
            Self::Arrow(chunk, list) => {
                let chunk = *chunk;
                list.find_map(|at| chunk.item(at)).map(|item| match item {
                    arrow::Item::Bytes(bytes) => bytes.into(),
                    arrow::Item::Integer(number) => number.into(),
                })
            }
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        match self {
            Self::Objects(items) => items.size_hint(),
            Self::Arrow(_, list) => (0, Some(list.len())),
        }
    }
}

impl<'py> Items<'py> {
    pub(crate) fn new(object: &Bound<'py, PyAny>) -> PyResult<Self> {
        let rows = Rows::from_object(object, "items")?;
        if let Rows::Arrow(chunks) = &rows
            && chunks.iter().any(|(_, chunk)| !chunk.is_of_lists())
        {
            let message = "items in an Arrow column must be lists of text, bytes or integers";
            return Err(PyTypeError::new_err(message));
        }
        Ok(Self { rows })
    }

    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Reads a range of rows.
    pub(crate) fn read(&self, range: Range<usize>, sketcher: &Sketcher) -> PyResult<Sets<'_>> {
        let py = match &self.rows {
            Rows::Arrow(chunks) => return Ok(Sets::Arrow(chunks, range)),
            Rows::List(list) => list.py(),
            Rows::Tuple(tuple) => tuple.py(),
        };
        let mut reading = Reading { sketcher, row: 0, hashes: Vec::new() };
        let mut rows = Vec::with_capacity(range.len());
        for row in range {
            check_signals_at(row, py)?;
            reading.row = row;
            rows.push(reading.set(&self.rows.object(row)?)?);
        }
        Ok(Sets::Objects(reading.hashes, rows))
    }
}

/// Reads a single set.
pub(crate) fn read_one(set: &Bound<'_, PyAny>, sketcher: &Sketcher) -> PyResult<Sets<'static>> {
    let mut reading = Reading { sketcher, row: 0, hashes: Vec::new() };
    let row = reading.set(set)?;
    Ok(Sets::Objects(reading.hashes, vec![row]))
}

/// Hashes the items of rows, one row after the other.
struct Reading<'a> {
    sketcher: &'a Sketcher,
    /// The number of the current row, for messages.
    row: usize,
    hashes: Vec<ItemHash>,
}

impl Reading<'_> {
    /// The range of a row's items; `None` for a null row.
    fn set(&mut self, set: &Bound<'_, PyAny>) -> PyResult<Option<Range<usize>>> {
        let first = self.hashes.len();
        if let Ok(list) = set.cast::<PyList>() {
            self.hashes.reserve(list.len());
            for item in list {
                self.item(&item)?;
            }
            return Ok(Some(first..self.hashes.len()));
        }
        if let Ok(tuple) = set.cast::<PyTuple>() {
            self.hashes.reserve(tuple.len());
            for item in tuple.iter_borrowed() {
                self.item(&item)?;
            }
            return Ok(Some(first..self.hashes.len()));
        }
        if set.is_instance_of::<PyString>() || set.is_instance_of::<PyBytes>() {
            return Err(PyTypeError::new_err(format!(
                "items[{}] must be a set or list of items, not one {}",
                self.row,
                set.get_type().name()?
            )));
        }
        if is_null(set) {
            return Ok(None);
        }
        for item in elements(set)? {
            self.item(&item?)?;
        }
        Ok(Some(first..self.hashes.len()))
    }

    #[inline]
    fn item(&mut self, item: &Bound<'_, PyAny>) -> PyResult<()> {
        if let Ok(text) = item.cast_exact::<PyString>()
            && let Ok(text) = text.to_str()
        {
            self.hashes.push(self.sketcher.hash_item(text));
            return Ok(());
        }
        self.other(item)
    }

    #[inline(never)]
    fn other(&mut self, item: &Bound<'_, PyAny>) -> PyResult<()> {
        let sketcher = self.sketcher;
        let hash = if let Ok(bytes) = item.cast::<PyBytes>() {
            sketcher.hash_item(bytes.as_bytes())
        } else if let Ok(text) = item.cast::<PyString>() {
            sketcher.hash_item(whole(text.clone())?.to_str()?)
        } else if let Some(digits) = digits(item)? {
            sketcher.hash_item(digits.to_str()?)
        } else if let Some(value) = unpacked(item)? {
            return self.item(&value);
        } else {
            return Err(PyTypeError::new_err(format!(
                "items[{}] must hold str, bytes or int, not {}",
                self.row,
                item.get_type().name()?
            )));
        };
        self.hashes.push(hash);
        Ok(())
    }
}

impl Sets<'_> {
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Objects(_, rows) => rows.len(),
            Self::Arrow(_, range) => range.len(),
        }
    }

    /// Approximate size of a row's items in bytes. It limits how many rows are sketched between two
    /// checks for signals.
    pub(crate) fn weight(&self, row: usize) -> usize {
        let count = match self {
            Self::Objects(_, rows) => rows.get(row).cloned().flatten().map_or(0, |row| row.len()),
            // Reading the exact lengths of the items would take as long as hashing them, so 8 bytes
            // per item are assumed.
            Self::Arrow(chunks, range) => chunk_at(chunks, range.start + row)
                .and_then(|(chunk, row)| chunk.list(row))
                .map_or(0, |list| list.len()),
        };
        8 * count
    }

    /// The items of a row; `None` where the row is null.
    pub(crate) fn members(&self, row: usize) -> Option<Members<'_>> {
        match self {
            Self::Objects(items, rows) => {
                let row = rows.get(row)?.clone()?;
                Some(Members::Objects(items.get(row)?.iter()))
            }
            Self::Arrow(chunks, range) => {
                let (chunk, row) = chunk_at(chunks, range.start + row)?;
                Some(Members::Arrow(chunk, chunk.list(row)?))
            }
        }
    }
}
