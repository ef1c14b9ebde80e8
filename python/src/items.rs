//! Columns of sets: each row a list of `str`, `bytes` or `int`, or an Arrow list.
//!
//! Python objects are kept alive and read in place: copying a few bytes per item would take a fifth
//! of the time.

use std::ops::Range;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyString, PyTuple};

use crate::arrow::{self, Chunk};
use crate::columns::{Rows, chunk_at, is_null};
use crate::error::InvalidError;
use crate::keys::{digits, unpacked, whole};

/// A column of sets.
pub(crate) struct Items<'py> {
    rows: Rows<'py>,
}

/// An item, kept alive while it is read.
pub(crate) enum HeldItem<'py> {
    Text(Bound<'py, PyString>),
    Bytes(Bound<'py, PyBytes>),
}

/// Rows of a column, kept alive while they are read.
pub(crate) enum HeldSets<'a, 'py> {
    /// The items of all rows, and the range of each row; `None` for a null row.
    Objects(Vec<HeldItem<'py>>, Vec<Option<Range<usize>>>),
    Arrow(&'a [(usize, Chunk)], Range<usize>),
}

/// The sets of some rows, readable without the interpreter lock.
pub(crate) enum Sets<'a> {
    Objects(Vec<&'a [u8]>, &'a [Option<Range<usize>>]),
    Arrow(&'a [(usize, Chunk)], Range<usize>),
}

/// The items of one row.
#[derive(Clone)]
pub(crate) enum Members<'a> {
    Objects(std::slice::Iter<'a, &'a [u8]>),
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

    /// Holds a range of rows.
    pub(crate) fn hold(&self, range: Range<usize>) -> PyResult<HeldSets<'_, 'py>> {
        if let Rows::Arrow(chunks) = &self.rows {
            return Ok(HeldSets::Arrow(chunks, range));
        }
        let (mut items, mut rows) = (Vec::new(), Vec::with_capacity(range.len()));
        for row in range {
            let set = self.rows.object(row)?;
            rows.push(hold_set(&set, row, &mut items)?);
        }
        Ok(HeldSets::Objects(items, rows))
    }
}

/// A single set.
pub(crate) fn hold_one<'py>(set: &Bound<'py, PyAny>) -> PyResult<HeldSets<'static, 'py>> {
    let mut items = Vec::new();
    let row = hold_set(set, 0, &mut items)?;
    Ok(HeldSets::Objects(items, vec![row]))
}

/// The range of a row's items; `None` for a null row.
fn hold_set<'py>(
    set: &Bound<'py, PyAny>,
    row: usize,
    items: &mut Vec<HeldItem<'py>>,
) -> PyResult<Option<Range<usize>>> {
    let first = items.len();
    if let Ok(list) = set.cast::<PyList>() {
        items.reserve(list.len());
        for item in list {
            items.push(hold_item(item, row)?);
        }
        return Ok(Some(first..items.len()));
    }
    if let Ok(tuple) = set.cast::<PyTuple>() {
        for item in tuple {
            items.push(hold_item(item, row)?);
        }
        return Ok(Some(first..items.len()));
    }
    if set.is_instance_of::<PyString>() || set.is_instance_of::<PyBytes>() {
        return Err(PyTypeError::new_err(format!(
            "items[{row}] must be a set or list of items, not one {}",
            set.get_type().name()?
        )));
    }
    if is_null(set) {
        return Ok(None);
    }
    for item in set.try_iter()? {
        items.push(hold_item(item?, row)?);
    }
    Ok(Some(first..items.len()))
}

#[inline]
fn hold_item(item: Bound<'_, PyAny>, row: usize) -> PyResult<HeldItem<'_>> {
    match item.cast_into::<PyString>() {
        Ok(text) => whole(text).map(HeldItem::Text),
        Err(error) => hold_other(error.into_inner(), row),
    }
}

fn hold_other(item: Bound<'_, PyAny>, row: usize) -> PyResult<HeldItem<'_>> {
    if let Ok(bytes) = item.cast::<PyBytes>() {
        return Ok(HeldItem::Bytes(bytes.clone()));
    }
    if let Some(digits) = digits(&item)? {
        return Ok(HeldItem::Text(digits));
    }
    if let Some(value) = unpacked(&item)? {
        return hold_item(value, row);
    }
    Err(PyTypeError::new_err(format!(
        "items[{row}] must hold str, bytes or int, not {}",
        item.get_type().name()?
    )))
}

impl HeldSets<'_, '_> {
    /// The items as bytes; `first` is the number of the first row, for messages.
    pub(crate) fn sets(&self, first: usize) -> PyResult<Sets<'_>> {
        let (objects, rows) = match self {
            Self::Arrow(chunks, range) => return Ok(Sets::Arrow(chunks, range.clone())),
            Self::Objects(objects, rows) => (objects, rows),
        };
        let mut items = Vec::with_capacity(objects.len());
        for item in objects {
            items.push(match item {
                HeldItem::Bytes(bytes) => bytes.as_bytes(),
                HeldItem::Text(text) => match text.to_str() {
                    Ok(text) => text.as_bytes(),
                    Err(error) => {
                        let message = format!("an item of rows {first}.. is not UTF-8: {error}");
                        return Err(InvalidError::new_err(message));
                    }
                },
            });
        }
        Ok(Sets::Objects(items, rows))
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
