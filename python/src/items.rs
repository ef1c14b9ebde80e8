//! Columns of sets: each row a list of `str`, `bytes` or `int`, or an Arrow list.
//!
//! Items of Python objects are copied, end to end: an item has a few bytes, and an object that is
//! kept instead is touched twice more, when its bytes are read and when it is let go.

use std::ops::Range;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyFloat, PyList, PyString, PyTuple};

use crate::arrow::{self, Chunk};
use crate::columns::{Rows, chunk_at, is_null};

/// A column of sets.
pub(crate) struct Items<'py> {
    rows: Rows<'py>,
}

/// The sets of some rows, to be read without the interpreter lock.
pub(crate) enum Sets<'a> {
    Copied(Copied),
    Arrow(&'a [(usize, Chunk)], Range<usize>),
}

/// Items end to end.
#[derive(Default)]
pub(crate) struct Copied {
    bytes: Vec<u8>,
    /// Where each item ends.
    ends: Vec<usize>,
    /// The items of each row; `None` where it is null.
    rows: Vec<Option<Range<usize>>>,
}

/// The items of one row.
#[derive(Clone)]
pub(crate) enum Members<'a> {
    Copied { bytes: &'a [u8], begin: usize, ends: std::slice::Iter<'a, usize> },
    Arrow { chunk: &'a Chunk, list: Range<usize> },
}

impl<'a> Iterator for Members<'a> {
    type Item = nearkin::Item<'a>;

    #[inline]
    fn next(&mut self) -> Option<nearkin::Item<'a>> {
        match self {
            Self::Copied { bytes, begin, ends } => {
                let end = *ends.next()?;
                let item = bytes.get(*begin..end).unwrap_or_default();
                *begin = end;
                Some(item.into())
            }
            Self::Arrow { chunk, list } => {
                let chunk = *chunk;
                list.find_map(|at| chunk.item(at)).map(|item| match item {
                    arrow::Item::Bytes(bytes) => bytes.into(),
                    arrow::Item::Integer(number) => number.into(),
                })
            }
        }
    }
}

impl<'py> Items<'py> {
    pub(crate) fn new(object: &Bound<'py, PyAny>) -> PyResult<Self> {
        let rows = Rows::of(object, "items")?;
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

    /// The sets of a range of rows.
    pub(crate) fn hold(&self, range: Range<usize>) -> PyResult<Sets<'_>> {
        if let Rows::Arrow(chunks) = &self.rows {
            return Ok(Sets::Arrow(chunks, range));
        }
        let mut copied = Copied { rows: Vec::with_capacity(range.len()), ..Copied::default() };
        for row in range {
            copied.take(&self.rows.object(row)?, row)?;
        }
        Ok(Sets::Copied(copied))
    }
}

/// One set, given alone.
pub(crate) fn hold_one(set: &Bound<'_, PyAny>) -> PyResult<Sets<'static>> {
    let mut copied = Copied::default();
    copied.take(set, 0)?;
    Ok(Sets::Copied(copied))
}

impl Copied {
    /// Takes a row: a set, or null.
    fn take(&mut self, set: &Bound<'_, PyAny>, row: usize) -> PyResult<()> {
        let first = self.ends.len();
        let is_set = self.take_items(set, row)?;
        self.rows.push(is_set.then(|| first..self.ends.len()));
        Ok(())
    }

    /// Whether the row is a set, and not null.
    fn take_items(&mut self, set: &Bound<'_, PyAny>, row: usize) -> PyResult<bool> {
        if let Ok(list) = set.cast::<PyList>() {
            self.ends.reserve(list.len());
            for item in list {
                self.take_item(&item, row)?;
            }
            return Ok(true);
        }
        if let Ok(tuple) = set.cast::<PyTuple>() {
            for item in tuple {
                self.take_item(&item, row)?;
            }
            return Ok(true);
        }
        if set.is_instance_of::<PyString>() || set.is_instance_of::<PyBytes>() {
            return Err(PyTypeError::new_err(format!(
                "items[{row}] must be a set or list of items, not one {}",
                set.get_type().name()?
            )));
        }
        if is_null(set) {
            return Ok(false);
        }
        for item in set.try_iter()? {
            self.take_item(&item?, row)?;
        }
        Ok(true)
    }

    #[inline]
    fn take_item(&mut self, item: &Bound<'_, PyAny>, row: usize) -> PyResult<()> {
        match item.cast::<PyString>() {
            Ok(text) => self.take_text(text, row),
            Err(_) => self.take_other(item, row),
        }
    }

    #[inline]
    fn take_text(&mut self, text: &Bound<'_, PyString>, row: usize) -> PyResult<()> {
        match text.to_str() {
            Ok(text) => {
                self.push(text.as_bytes());
                Ok(())
            }
            Err(error) => {
                let message = format!("an item of items[{row}] is not UTF-8: {error}");
                Err(PyValueError::new_err(message))
            }
        }
    }

    fn take_other(&mut self, item: &Bound<'_, PyAny>, row: usize) -> PyResult<()> {
        if let Ok(bytes) = item.cast::<PyBytes>() {
            self.push(bytes.as_bytes());
            return Ok(());
        }
        let refused = item.is_instance_of::<PyBool>() || item.is_instance_of::<PyFloat>();
        // Integers of Python and of numpy.
        if !refused && let Some(index) = item.getattr_opt("__index__")? {
            return self.take_text(&index.call0()?.str()?, row);
        }
        Err(PyTypeError::new_err(format!(
            "items[{row}] must hold str, bytes or int, not {}",
            item.get_type().name()?
        )))
    }

    #[inline]
    fn push(&mut self, item: &[u8]) {
        self.bytes.extend_from_slice(item);
        self.ends.push(self.bytes.len());
    }
}

impl Sets<'_> {
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Copied(copied) => copied.rows.len(),
            Self::Arrow(_, range) => range.len(),
        }
    }

    /// Bytes of items of a row, for dividing work.
    pub(crate) fn weight(&self, row: usize) -> usize {
        let count = match self {
            Self::Copied(copied) => {
                copied.rows.get(row).cloned().flatten().map_or(0, |row| row.len())
            }
            // Reading the lengths would cost as much as hashing.
            Self::Arrow(chunks, range) => chunk_at(chunks, range.start + row)
                .and_then(|(chunk, row)| chunk.list(row))
                .map_or(0, |list| list.len()),
        };
        8 * count
    }

    /// The items of a row; `None` where the row is null.
    pub(crate) fn members(&self, row: usize) -> Option<Members<'_>> {
        match self {
            Self::Copied(copied) => {
                let items = copied.rows.get(row)?.clone()?;
                let begin = items.start.checked_sub(1).and_then(|before| copied.ends.get(before));
                let ends = copied.ends.get(items)?.iter();
                Some(Members::Copied {
                    bytes: &copied.bytes,
                    begin: begin.map_or(0, |end| *end),
                    ends,
                })
            }
            Self::Arrow(chunks, range) => {
                let (chunk, row) = chunk_at(chunks, range.start + row)?;
                Some(Members::Arrow { chunk, list: chunk.list(row)? })
            }
        }
    }
}
