//! Columns of documents to sketch: texts, sets of items, or signatures.

use std::ops::Range;

use nearkin::{Error, ErrorKind, Shingles, Signature};
use pyo3::prelude::*;

use crate::columns::column::{Column, Role};
use crate::columns::items::Items;
use crate::error::{InvalidError, engine, raise};
use crate::parallel::in_parts;
use crate::progress::report;
use crate::sketch::signatures::{Signatures, Sink};

/// Number of sketched rows after which `Documents::sketch` calls `take`.
const ROWS_TAKEN: usize = 16_384;
/// Number of texts that a single thread holds at a time: few enough to stay in the processor's
/// cache until they are sketched.
const TEXTS_HELD: usize = 256;
/// Number of sets that a single thread holds at a time. Fewer than texts, because each item is a
/// separate Python object.
const SETS_HELD: usize = 32;
/// If several threads sketch, the number of texts or sets held at a time is multiplied by this:
/// threads are started for each of these ranges, and starting them takes time.
const FOR_THREADS: usize = 32;
/// Bytes of text sketched between two checks for signals: about 10 ms on one processor.
const BYTES_BETWEEN_SIGNALS: usize = 8 << 20;
/// Number of rows that each of several threads takes at a time.
const ROWS_OF_A_PART: usize = 128;

/// A column of documents.
pub(crate) enum Documents<'py> {
    Texts(Column<'py>),
    Items(Items<'py>),
    Signatures(Bound<'py, Signatures>),
}

/// Rows that distinguish blank from null: null is `None`, blank is `Some(None)`.
pub(crate) type NewState = Option<Option<Signature>>;

impl Sink for Vec<NewState> {
    fn push(&mut self, signature: Option<Signature>) {
        Self::push(self, signature.map(Some));
    }

    fn push_blank(&mut self) {
        Self::push(self, Some(None));
    }
}

impl Sink for Vec<Option<Signature>> {
    fn push(&mut self, signature: Option<Signature>) {
        Self::push(self, signature);
    }
}

/// Settings of a sketching run.
#[derive(Clone, Copy)]
pub(crate) struct Sketching<'a> {
    pub(crate) sketcher: &'a nearkin::Sketcher,
    pub(crate) threads: usize,
    /// Told the number of rows taken, and of all.
    pub(crate) progress: Option<&'a Py<PyAny>>,
}

impl<'py> Documents<'py> {
    /// Accepts a column: `Signatures`, sets of items if the parameters say so, or else texts.
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

    /// Raises `ValueError` if another column has a different number of rows.
    pub(crate) fn check_length(&self, other: usize, name: &str) -> PyResult<()> {
        if self.len() == other {
            return Ok(());
        }
        Err(InvalidError::new_err(format!("{} documents, but {other} {name}", self.len())))
    }

    /// Sketches all rows, a range at a time, each range on all threads. Calls `take` with a range
    /// of rows and the sinks that hold its signatures, in order, and checks for signals in between.
    pub(crate) fn sketch<S: Sink>(
        &self,
        py: Python<'py>,
        how: Sketching<'_>,
        mut take: impl FnMut(Range<usize>, Vec<S>) -> PyResult<()>,
    ) -> PyResult<()> {
        let (count, mut taken, mut begin) = (self.len(), 0, 0);
        let (mut ready, mut weight) = (Vec::new(), 0);
        let several = if how.threads > 1 { FOR_THREADS } else { 1 };
        while begin < count {
            let most = match self {
                Self::Texts(_) => TEXTS_HELD * several,
                Self::Items(_) => SETS_HELD * several,
                Self::Signatures(_) => ROWS_TAKEN,
            };
            let rows = begin..count.min(begin + most);
            begin = rows.end;
            match self {
                Self::Texts(column) => weight += texts(py, column, rows, how, &mut ready)?,
                Self::Items(items) => weight += sets(py, items, rows, how, &mut ready)?,
                Self::Signatures(signatures) => {
                    let mut sink = S::default();
                    for row in rows {
                        sink.push(signatures.get().signature(py, row)?);
                    }
                    ready.push(sink);
                }
            }
            py.check_signals()?;
            let enough = weight >= BYTES_BETWEEN_SIGNALS || begin - taken >= ROWS_TAKEN;
            if enough || begin == count {
                take(taken..begin, std::mem::take(&mut ready))?;
                report(py, how.progress, begin as u64, count as u64)?;
                (taken, weight) = (begin, 0);
            }
        }
        Ok(())
    }
}

/// Sketches texts. Returns their total size in bytes.
fn texts<S: Sink>(
    py: Python<'_>,
    column: &Column<'_>,
    rows: Range<usize>,
    how: Sketching<'_>,
    ready: &mut Vec<S>,
) -> PyResult<usize> {
    let held = column.hold(rows.clone())?;
    let texts = held.texts(rows.start)?;
    let weight = |row: usize| texts.get(row).copied().flatten().map_or(0, str::len);
    let (parts, sum) = by_weight(texts.len(), weight);
    for part in parts {
        let some = texts.get(part.clone()).unwrap_or_default();
        let sketch = |row: usize| match some.get(row).copied().flatten() {
            Some(text) => how.sketcher.text(text).map(Some),
            None => Ok(None),
        };
        let made = engine(py, || sketched(some.len(), how.threads, sketch))?;
        ready.extend(made);
        py.check_signals()?;
    }
    Ok(sum)
}

/// Sketches sets. Returns their total weight, which is their approximate size in bytes.
fn sets<S: Sink>(
    py: Python<'_>,
    items: &Items<'_>,
    rows: Range<usize>,
    how: Sketching<'_>,
    ready: &mut Vec<S>,
) -> PyResult<usize> {
    let sets = items.read(rows, how.sketcher)?;
    let (parts, sum) = by_weight(sets.len(), |row| sets.weight(row));
    for part in parts {
        let sketch = |row: usize| {
            let made = sets.members(part.start + row).map(|items| how.sketcher.items(items));
            made.transpose()
        };
        let made = engine(py, || sketched(part.len(), how.threads, sketch))?;
        ready.extend(made);
        py.check_signals()?;
    }
    Ok(sum)
}

/// Splits rows into parts. A part ends when its weight reaches the amount that may be sketched
/// between two checks for signals. Returns the parts and the total weight.
fn by_weight(count: usize, weight: impl Fn(usize) -> usize) -> (Vec<Range<usize>>, usize) {
    let (mut parts, mut begin, mut sum, mut all) = (Vec::new(), 0, 0, 0);
    for row in 0..count {
        let own = weight(row);
        (sum, all) = (sum + own, all + own);
        if sum >= BYTES_BETWEEN_SIGNALS {
            parts.push(begin..row + 1);
            (begin, sum) = (row + 1, 0);
        }
    }
    if begin < count {
        parts.push(begin..count);
    }
    (parts, all)
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
                // The caller of `sketch` decides what it means that there is nothing to compare.
                Err(error) if error.kind() == ErrorKind::Empty => sink.push_blank(),
                Err(error) => return Err(error),
            }
        }
        Ok(sink)
    };
    // A single thread takes all rows in one part.
    let rows = if threads > 1 { ROWS_OF_A_PART } else { count };
    in_parts(threads, count, rows, part).into_iter().collect()
}
