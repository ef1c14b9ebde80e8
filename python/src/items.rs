//! Columns of sets: each row a list of `str`, `bytes` or `int`, or an Arrow list.

use std::ops::Range;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyFloat, PyList, PyString, PyTuple};

use crate::arrow::{Chunk, Item};
use crate::columns::{Rows, chunk_at, is_null};

/// A column of sets.
pub(crate) struct Items<'py> {
    rows: Rows<'py>,
}

/// An item that stays alive while it is read.
pub(crate) enum HeldItem<'py> {
    Text(Bound<'py, PyString>),
    Bytes(Bound<'py, PyBytes>),
}

/// Rows of a column that stay alive while they are read.
pub(crate) enum HeldSets<'a, 'py> {
    /// The items of all rows, and where those of each row end.
    Objects(Vec<HeldItem<'py>>, Vec<Option<usize>>),
    Arrow(&'a [(usize, Chunk)], Range<usize>),
}

/// Arrays, and the rows of them that are held.
type Lists<'a> = (&'a [(usize, Chunk)], Range<usize>);

/// The items of some rows as bytes, to be read without the interpreter lock.
pub(crate) struct Sets<'a> {
    /// `None`: in the array, the digits of numbers to be made when they are read.
    items: Vec<&'a [u8]>,
    ends: Vec<Option<usize>>,
    arrow: Option<Lists<'a>>,
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
        let (mut items, mut ends) = (Vec::new(), Vec::with_capacity(range.len()));
        for row in range {
            let set = self.rows.object(row)?;
            let is_set = hold_set(&set, row, &mut items)?;
            ends.push(is_set.then_some(items.len()));
        }
        Ok(HeldSets::Objects(items, ends))
    }
}

/// One set, given alone.
pub(crate) fn hold_one<'py>(set: &Bound<'py, PyAny>) -> PyResult<HeldSets<'static, 'py>> {
    let mut items = Vec::new();
    let is_set = hold_set(set, 0, &mut items)?;
    let end = is_set.then_some(items.len());
    Ok(HeldSets::Objects(items, vec![end]))
}

/// Whether the row is a set, and not null.
fn hold_set<'py>(
    set: &Bound<'py, PyAny>,
    row: usize,
    items: &mut Vec<HeldItem<'py>>,
) -> PyResult<bool> {
    if let Ok(list) = set.cast::<PyList>() {
        items.reserve(list.len());
        for item in list {
            items.push(hold_item(item, row)?);
        }
        return Ok(true);
    }
    if let Ok(tuple) = set.cast::<PyTuple>() {
        for item in tuple {
            items.push(hold_item(item, row)?);
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
        items.push(hold_item(item?, row)?);
    }
    Ok(true)
}

#[inline]
fn hold_item(item: Bound<'_, PyAny>, row: usize) -> PyResult<HeldItem<'_>> {
    match item.cast_into::<PyString>() {
        Ok(text) => Ok(HeldItem::Text(text)),
        Err(error) => hold_other(error.into_inner(), row),
    }
}

fn hold_other(item: Bound<'_, PyAny>, row: usize) -> PyResult<HeldItem<'_>> {
    if let Ok(bytes) = item.cast::<PyBytes>() {
        return Ok(HeldItem::Bytes(bytes.clone()));
    }
    let refused = item.is_instance_of::<PyBool>() || item.is_instance_of::<PyFloat>();
    // Integers of Python and of numpy.
    if !refused && let Some(index) = item.getattr_opt("__index__")? {
        return index.call0()?.str().map(HeldItem::Text);
    }
    Err(PyTypeError::new_err(format!(
        "items[{row}] must hold str, bytes or int, not {}",
        item.get_type().name()?
    )))
}

impl HeldSets<'_, '_> {
    /// The items as bytes; `first` is the number of the first row, for messages.
    pub(crate) fn sets(&self, first: usize) -> PyResult<Sets<'_>> {
        let (objects, ends) = match self {
            Self::Arrow(chunks, range) => {
                let arrow = Some((*chunks, range.clone()));
                return Ok(Sets { items: Vec::new(), ends: Vec::new(), arrow });
            }
            Self::Objects(objects, ends) => (objects, ends),
        };
        let mut items = Vec::with_capacity(objects.len());
        for item in objects {
            items.push(match item {
                HeldItem::Bytes(bytes) => bytes.as_bytes(),
                HeldItem::Text(text) => match text.to_str() {
                    Ok(text) => text.as_bytes(),
                    Err(error) => {
                        let message = format!("an item of rows {first}.. is not UTF-8: {error}");
                        return Err(PyValueError::new_err(message));
                    }
                },
            });
        }
        Ok(Sets { items, ends: ends.clone(), arrow: None })
    }
}

impl Sets<'_> {
    pub(crate) fn len(&self) -> usize {
        self.arrow.as_ref().map_or(self.ends.len(), |(_, range)| range.len())
    }

    /// Bytes of items of a row, for dividing work.
    pub(crate) fn weight(&self, row: usize) -> usize {
        match &self.arrow {
            // About: reading the lengths would cost as much as hashing.
            Some((chunks, range)) => chunk_at(chunks, range.start + row)
                .and_then(|(chunk, row)| chunk.list(row))
                .map_or(0, |list| list.len() * 8),
            None => self.range(row).map_or(0, |range| range.len() * 8),
        }
    }

    fn range(&self, row: usize) -> Option<Range<usize>> {
        let end = (*self.ends.get(row)?)?;
        let before = self.ends.get(..row)?.iter().rev().find_map(|end| *end);
        Some(before.unwrap_or(0)..end)
    }

    /// Calls `work` with the items of a row; `None` where the row is null.
    pub(crate) fn with<R>(&self, row: usize, work: impl FnOnce(&[&[u8]]) -> R) -> Option<R> {
        let Some((chunks, range)) = &self.arrow else {
            return Some(work(self.items.get(self.range(row)?)?));
        };
        let (chunk, row) = chunk_at(chunks, range.start + row)?;
        let list = chunk.list(row)?;
        let items: Vec<Item<'_>> = list.filter_map(|at| chunk.item(at)).collect();
        let number = |item: &Item<'_>| match item {
            Item::Integer(number) => number.to_string(),
            Item::Bytes(_) => String::new(),
        };
        let digits: Vec<String> = items.iter().map(number).collect();
        let bytes = items.iter().zip(&digits).map(|(item, digits)| match item {
            Item::Bytes(bytes) => *bytes,
            Item::Integer(_) => digits.as_bytes(),
        });
        Some(work(&bytes.collect::<Vec<_>>()))
    }
}
