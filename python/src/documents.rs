//! What is to be sketched, whatever it comes as: texts, sets of items, or signatures.

use std::ops::Range;

use nearkin::{Error, ErrorKind, Shingles, Signature};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::columns::{Column, Role};
use crate::error::{engine, raise};
use crate::items::Items;
use crate::parallel::in_parts;
use crate::signatures::Signatures;

/// Rows that are held at once.
const ROWS_HELD: usize = 16_384;
/// Bytes of text sketched between two looks at signals: about 10 ms for one processor.
const BYTES_BETWEEN_SIGNALS: usize = 8 << 20;
/// Rows that a thread takes at a time.
const ROWS_OF_A_PART: usize = 128;

/// A column of documents.
pub(crate) enum Documents<'py> {
    Texts(Column<'py>),
    Items(Items<'py>),
    Signatures(Bound<'py, Signatures>),
}

/// What takes signatures as they are made, on several threads, each with one of its own.
pub(crate) trait Sink: Default + Send {
    /// A row; `None` where there is nothing to compare.
    fn push(&mut self, signature: Option<Signature>);
}

impl Sink for Vec<Option<Signature>> {
    fn push(&mut self, signature: Option<Signature>) {
        Self::push(self, signature);
    }
}

/// How documents are sketched.
#[derive(Clone, Copy)]
pub(crate) struct Sketching<'a> {
    pub(crate) sketcher: &'a nearkin::Sketcher,
    pub(crate) threads: usize,
}

impl<'py> Documents<'py> {
    /// The documents of a column: signatures, items if the parameters say so, else texts.
    pub(crate) fn new(object: &Bound<'py, PyAny>, params: &nearkin::Params) -> PyResult<Self> {
        if let Ok(signatures) = object.cast::<Signatures>() {
            return Ok(Self::Signatures(signatures.clone()));
        }
        if params.scheme() != nearkin::Scheme::Fast && params.scheme() != nearkin::Scheme::Textbook
        {
            let message = format!(
                "signatures of {} are made elsewhere: give Signatures, not documents",
                params.scheme()
            );
            return Err(raise(object.py(), "InvalidError", &message));
        }
        if params.shingles() == Shingles::Items {
            return Items::new(object).map(Self::Items);
        }
        Column::new(object, Role::Texts).map(Self::Texts)
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Texts(column) => column.len(),
            Self::Items(items) => items.len(),
            Self::Signatures(signatures) => signatures.get().len(),
        }
    }

    /// `ValueError` unless another column has as many rows.
    pub(crate) fn check_length(&self, other: usize, name: &str) -> PyResult<()> {
        if self.len() == other {
            return Ok(());
        }
        Err(PyValueError::new_err(format!("{} documents, but {other} {name}", self.len())))
    }

    /// Sketches all rows, some at a time and each of these on all threads, and has `take` called
    /// with the number of the first row and what was made. Signals are looked at in between.
    pub(crate) fn sketch<S: Sink>(
        &self,
        py: Python<'py>,
        how: Sketching<'_>,
        mut take: impl FnMut(Range<usize>, Vec<S>) -> PyResult<()>,
    ) -> PyResult<()> {
        let count = self.len();
        let mut begin = 0;
        while begin < count {
            let end = count.min(begin + ROWS_HELD);
            match self {
                Self::Texts(column) => texts(py, column, begin..end, how, &mut take)?,
                Self::Items(items) => sets(py, items, begin..end, how, &mut take)?,
                Self::Signatures(signatures) => {
                    let mut sink = S::default();
                    for row in begin..end {
                        sink.push(signatures.get().signature(py, row)?);
                    }
                    take(begin..end, vec![sink])?;
                    py.check_signals()?;
                }
            }
            begin = end;
        }
        Ok(())
    }
}

fn texts<S: Sink>(
    py: Python<'_>,
    column: &Column<'_>,
    rows: Range<usize>,
    how: Sketching<'_>,
    take: &mut impl FnMut(Range<usize>, Vec<S>) -> PyResult<()>,
) -> PyResult<()> {
    let held = column.hold(rows.clone())?;
    let texts = held.texts(rows.start)?;
    let weight = |row: usize| texts.get(row).copied().flatten().map_or(0, str::len);
    for part in by_weight(texts.len(), weight) {
        let some = texts.get(part.clone()).unwrap_or_default();
        let sketch = |row: usize| match some.get(row).copied().flatten() {
            Some(text) => how.sketcher.text(text).map(Some),
            None => Ok(None),
        };
        let made = engine(py, || sketched(some.len(), how.threads, sketch))?;
        take(rows.start + part.start..rows.start + part.end, made)?;
        py.check_signals()?;
    }
    Ok(())
}

fn sets<S: Sink>(
    py: Python<'_>,
    items: &Items<'_>,
    rows: Range<usize>,
    how: Sketching<'_>,
    take: &mut impl FnMut(Range<usize>, Vec<S>) -> PyResult<()>,
) -> PyResult<()> {
    let held = items.hold(rows.clone())?;
    let sets = held.sets(rows.start)?;
    for part in by_weight(sets.len(), |row| sets.weight(row)) {
        let sketch = |row: usize| {
            let made = sets.with(part.start + row, |items| how.sketcher.byte_items(items));
            made.transpose()
        };
        let made = engine(py, || sketched(part.len(), how.threads, sketch))?;
        take(rows.start + part.start..rows.start + part.end, made)?;
        py.check_signals()?;
    }
    Ok(())
}

/// Cuts rows where their weight reaches what is sketched between two looks at signals.
fn by_weight(count: usize, weight: impl Fn(usize) -> usize) -> Vec<Range<usize>> {
    let (mut parts, mut begin, mut sum) = (Vec::new(), 0, 0);
    for row in 0..count {
        sum += weight(row);
        if sum >= BYTES_BETWEEN_SIGNALS {
            parts.push(begin..row + 1);
            (begin, sum) = (row + 1, 0);
        }
    }
    if begin < count {
        parts.push(begin..count);
    }
    parts
}

fn sketched<S: Sink>(
    count: usize,
    threads: usize,
    sketch: impl Fn(usize) -> nearkin::Result<Option<Signature>> + Sync,
) -> Result<Vec<S>, Error> {
    let part = |rows: Range<usize>| {
        let mut sink = S::default();
        for row in rows {
            match sketch(row) {
                Ok(signature) => sink.push(signature),
                // Nothing to compare: the row says so, and the caller decides.
                Err(error) if error.kind() == ErrorKind::Empty => sink.push(None),
                Err(error) => return Err(error),
            }
        }
        Ok(sink)
    };
    // With one thread in one piece.
    let rows = if threads > 1 { ROWS_OF_A_PART } else { count };
    in_parts(threads, count, rows, part).into_iter().collect()
}
